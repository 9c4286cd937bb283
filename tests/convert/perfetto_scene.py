#!/usr/bin/env python3
"""perfetto_scene.py FOLDER OFFSET [THREADS]: a CTF trace of two CPUs, with values of all types, whose clock counts from OFFSET
seconds: switches that follow each other and some that do not, a waker that does not run, frequencies. On CPU 0 run as many threads of different names behind that."""
import os
import struct
import sys

METADATA = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; } := u8;
typealias integer { size = 16; align = 8; } := u16;
typealias integer { size = 32; align = 8; } := u32;
typealias integer { size = 64; align = 8; } := u64;
typealias integer { size = 64; align = 8; base = 16; } := hex;
typealias integer { size = 32; align = 8; signed = true; } := i32;
typealias integer { size = 64; align = 8; signed = true; } := i64;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; u32 stream_id; }; };
clock { name = c; freq = 1000000000; offset_s = %d; };
typealias integer { size = 64; align = 8; map = clock.c.value; } := stamp;
env { hostname = "h"; sysname = "Linux"; kernel_release = "6.1.2-test"; };
stream {
	id = 0;
	packet.context := struct { stamp timestamp_begin; stamp timestamp_end; u32 cpu_id; u64 content_size; u64 packet_size; u32 events_discarded; };
	event.header := struct { u8 id; stamp timestamp; };
	event.context := struct { i32 tid; i32 pid; };
};
event { id = 0; name = "sched_switch"; stream_id = 0; fields := struct { string prev_comm; i32 prev_tid; i32 prev_prio; i64 prev_state; string next_comm; i32 next_tid; i32 next_prio; }; };
event { id = 1; name = "sched_waking"; stream_id = 0; fields := struct { string comm; i32 tid; i32 prio; i32 target_cpu; }; };
event { id = 2; name = "power_cpu_frequency"; stream_id = 0; fields := struct { u32 state; u32 cpu_id; }; };
event { id = 3; name = "types"; stream_id = 0; fields := struct {
	u64 big; i64 small; hex pointer; string text;
	floating_point { exp_dig = 11; mant_dig = 53; align = 8; byte_order = le; } number;
	enum : u8 { zero, one = 1, many = 1 ... 9 } sort;
	u8 count; u16 list[count]; struct { u8 a; string b; } inside; struct { u8 c; } pairs[2];
	enum : u8 { left = 0, right = 1 } tag; variant <tag> { u32 left; string right; } either; enum : u8 { off, on } bits[2]; }; };
"""


def text(value):
    return value.encode("latin-1") + b"\0"


def switch(prev, next_, state=1):
    return 0, text(prev[1]) + struct.pack("<iiq", prev[0], prev[2], state) + text(next_[1]) + struct.pack("<ii", next_[0], next_[2])


def types(number, sort, count, tag):
    return 3, (struct.pack("<QqQ", (1 << 64) - 1 - number, -number, 0xffff800000000000 + number) + text("t\xe9\xff%d" % number) +
               struct.pack("<dBB", number / 3, sort, count) + struct.pack("<%dH" % count, *range(count)) + b"\x07" + text("in") +
               b"\x01\x02" + bytes([tag]) + (text("r") if tag else struct.pack("<I", 77)) + bytes([number % 2, 2]))


def packet(cpu, events, discarded):
    body = b"".join(struct.pack("<BQii", kind, time, tid, tid) + payload for time, tid, (kind, payload) in events)
    size = (8 + 8 + 8 + 4 + 8 + 8 + 4 + len(body)) * 8
    return struct.pack("<IIQQIQQI", 0xC1FC1FC1, 0, events[0][0], events[-1][0], cpu, size, size, discarded) + body


A, B, IDLE = (10, "a", 120), (11, "b\xe9", 100), (0, "swapper", 120)
waking = (1, text("b\xe9") + struct.pack("<iii", 11, 100, 1))
frequency = lambda khz, cpu: (2, struct.pack("<II", khz, cpu))
FIRST = [(1000, 10, types(0, 0, 0, 0)), (1000, 10, frequency(800000, 0)), (1500, 10, waking), (2000, 10, switch(A, B)),
         (2000, 11, types(1, 1, 3, 1)), (3000, 11, switch(B, A, 0x100)), (3001, 12, waking), (3500, 10, waking),
         (4000, 10, frequency(2600000, 0)), (4100, 11, switch(B, IDLE)), (4200, 0, types(2, 200, 1, 0)), (5000, 0, switch(IDLE, (10, "renamed", 120), 0))]
SECOND = [(1200, 0, switch(IDLE, A, 0)), (2500, 10, waking), (2600, 10, switch(A, IDLE))]
THIRD = [(6000, 10, switch(A, B)), (7000, 11, switch(B, IDLE)), (9000, 0, switch(IDLE, B, 0))]

folder, offset = sys.argv[1], int(sys.argv[2])
os.makedirs(folder)
with open(folder + "/metadata", "w") as file:
    file.write(METADATA % offset)
with open(folder + "/s0", "wb") as file:
    file.write(packet(0, FIRST, 0))
    threads = [(i + 100, "thread %d" % i, 120) for i in range(int(sys.argv[3]) if len(sys.argv) > 3 else 0)]
    for i in range(0, len(threads) - 1, 1000):
        file.write(packet(0, [(10000 + i + k, a[0], switch(a, b)) for k, (a, b) in enumerate(zip(threads[i:], threads[i + 1:i + 1001]))], 0))
with open(folder + "/s1", "wb") as file:
    file.write(packet(1, SECOND, 0) + packet(1, THIRD, 3))

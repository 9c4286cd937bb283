#!/usr/bin/python3
"""exit_preempted.py FOLDER - a CTF trace in which thread 10 loses its CPU while it exits, from 3000 to 5000 ns."""
import os
import struct
import sys

METADATA = """/* CTF 1.8 */
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 32; align = 8; signed = true; } := s32;
typealias integer { size = 64; align = 8; signed = true; } := s64;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; u32 stream_id; }; };
env { domain = "kernel"; sysname = "Linux"; tracer_name = "lttng-modules"; };
clock { name = monotonic; freq = 1000000000; };
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := time;
stream { id = 0; packet.context := struct { u32 cpu_id; }; event.header := struct { u32 id; time timestamp; }; };
event { id = 0; name = "sched_switch"; stream_id = 0; fields := struct { string prev_comm; s32 prev_tid; s32 prev_prio; s64 prev_state;
	string next_comm; s32 next_tid; s32 next_prio; }; };
event { id = 1; name = "sched_process_exit"; stream_id = 0; fields := struct { string comm; s32 tid; s32 prio; }; };
event { id = 2; name = "sched_wakeup"; stream_id = 0; fields := struct { string comm; s32 tid; s32 prio; s32 target_cpu; }; };
"""


def switch(t, before, state, after):
    return (struct.pack("<IQ", 0, t) + b"t%d\0" % before + struct.pack("<iiq", before, 20, state)
            + b"t%d\0" % after + struct.pack("<ii", after, 20))


EVENTS = [
    switch(1000, 1, 1, 10),
    struct.pack("<IQ", 1, 2000) + b"t10\0" + struct.pack("<ii", 10, 20),
    struct.pack("<IQ", 2, 2500) + b"t20\0" + struct.pack("<iii", 20, 20, 0),
    switch(3000, 10, 0, 20),
    switch(5000, 20, 1, 10),
    switch(6000, 10, 16, 1),
]

os.makedirs(sys.argv[1])
with open(os.path.join(sys.argv[1], "metadata"), "w") as file:
    file.write(METADATA)
with open(os.path.join(sys.argv[1], "stream"), "wb") as file:
    file.write(struct.pack("<III", 0xc1fc1fc1, 0, 0) + b"".join(EVENTS))

"""Writes CTF 1.8 traces as LTTng's kernel tracer has them: a stream of one packet for each CPU."""
import os
import struct

METADATA = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 32; align = 8; signed = true; } := s32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
typealias integer { size = 64; align = 8; signed = true; } := s64;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; u32 stream_id; }; };
env { domain = "kernel"; sysname = "Linux"; tracer_name = "lttng-modules"; };
clock { name = monotonic; freq = 1000000000; };
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := time;
stream { id = 0; packet.context := struct { u32 cpu_id; };
	event.header := struct { u32 id; time timestamp; };%s };
event { id = 0; name = "sched_switch"; stream_id = 0; fields := struct { string prev_comm; s32 prev_tid; s32 prev_prio; s64 prev_state;
	string next_comm; s32 next_tid; s32 next_prio; }; };
"""


def write(folder, events, of_stream, records):
    """events: {id: (name, fields)} beside sched_switch, which is 0; of_stream: more clauses of the stream;
    records: {cpu: bytes of all its events}."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "metadata"), "w") as file:
        file.write(METADATA % of_stream)
        for number, (name, fields) in events.items():
            file.write('event { id = %d; name = "%s"; stream_id = 0; fields := struct { %s }; };\n'
                       % (number, name, fields))
    for cpu, content in records.items():
        with open(os.path.join(folder, "cpu_%d" % cpu), "wb") as file:
            file.write(struct.pack("<III", 0xc1fc1fc1, 0, cpu) + content)

#!/usr/bin/python3
"""exit_preempted.py FOLDER - a CTF trace in which thread 10 loses its CPU while it exits, from 3000 to 5000 ns."""
import struct
import sys

import kernel_ctf

EVENTS = {1: ("sched_process_exit", "string comm; s32 tid; s32 prio;"),
          2: ("sched_wakeup", "string comm; s32 tid; s32 prio; s32 target_cpu;"),
          3: ("sched_migrate_task", "string comm; s32 tid; s32 prio; s32 orig_cpu; s32 dest_cpu;")} # none is recorded


def switch(t, before, state, after):
    return (struct.pack("<IQ", 0, t) + b"t%d\0" % before + struct.pack("<iiq", before, 20, state)
            + b"t%d\0" % after + struct.pack("<ii", after, 20))


RECORDS = [
    switch(1000, 1, 1, 10),
    struct.pack("<IQ", 1, 2000) + b"t10\0" + struct.pack("<ii", 10, 20),
    struct.pack("<IQ", 2, 2500) + b"t20\0" + struct.pack("<iii", 20, 20, 0),
    switch(3000, 10, 0, 20),
    switch(5000, 20, 1, 10),
    switch(6000, 10, 16, 1),
]

kernel_ctf.write(sys.argv[1], EVENTS, "", {0: b"".join(RECORDS)})

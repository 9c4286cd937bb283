#!/usr/bin/python3
"""Writes a CTF trace of LTTng's kernel tracer with the contexts callstack-kernel and callstack-user, and what was on the stacks.

    made_stacks.py FOLDER [event] [here] [alone]

FOLDER/trace has sched_switch and sched_wait_task on two CPUs. The contexts are those of lttng-modules: a length (__callstack_kernel_length),
then a sequence of addresses, of all events of the stream, or, with the word "event", of sched_switch alone. A stack that is too deep
ends in an address of ones. With "alone" there is no
context tid: the thread is the one that runs. With "here" the trace says that it is of this machine and boot.
FOLDER/stacks.csv: thread, state in which it left the CPU, its frames (the innermost first), how often.
"""
import collections
import csv
import os
import random
import struct
import sys

import kernel_ctf

STACK = "u32 __callstack_%s_length; integer { size = 64; align = 8; signed = false; base = 16; } _callstack_%s[ __callstack_%s_length ];"
CONTEXTS = "struct { s32 tid; %s %s };" % tuple(STACK % (kind, kind, kind) for kind in ("kernel", "user"))
ALL_ONES = (1 << 64) - 1


def main(folder, words):
    rand, now, running = random.Random(20), 1_000_000_000, {0: 100, 1: 101}
    threads, parts, stacks = range(100, 106), {0: [], 1: []}, collections.Counter()
    kernels = [[0xffffffff81000000 + rand.randrange(1 << 20) for _ in range(depth)] for depth in (0, 3, 5, 7)]
    users = [[0x400000 + rand.randrange(1 << 16) for _ in range(depth)] for depth in (0, 2, 4)]

    def stack():
        kernel, user = rand.choice(kernels), rand.choice(users)
        written = kernel + [ALL_ONES] if len(kernel) == 7 else kernel
        return kernel + user, b"".join(struct.pack("<I%dQ" % len(part), len(part), *part) for part in (written, user))

    for _ in range(400):
        now += rand.randrange(1, 9000)
        cpu = rand.randrange(2)
        tid, (frames, written) = running[cpu], stack()
        context = written if "alone" in words else struct.pack("<i", tid) + written
        if rand.random() < 0.2:
            parts[cpu].append(struct.pack("<IQ", 1, now) + (b"" if "event" in words else context) + b"task\0" + struct.pack("<i", rand.choice(threads)))
            continue
        state, to = rand.choice((0, 1, 2)), rand.choice([tid for tid in threads if tid not in running.values()])
        parts[cpu].append(struct.pack("<IQ", 0, now) + context + b"task-%d\0" % tid + struct.pack("<iiq", tid, 20, state) +
                          b"task-%d\0" % to + struct.pack("<ii", to, 20))
        running[cpu] = to
        stacks[tid, ("ready", "sleeping", "blocked")[state], " < ".join("0x%x" % address for address in frames)] += 1
    contexts = CONTEXTS.replace("s32 tid; ", "") if "alone" in words else CONTEXTS
    of_stream, kernel_ctf.METADATA = "\n\tevent.context := " + contexts, kernel_ctf.METADATA.replace('name = "sched_switch";',
        'name = "sched_switch"; context := %s' % contexts if "event" in words else 'name = "sched_switch";')
    if "here" in words:
        with open("/proc/sys/kernel/random/boot_id") as file:
            kernel_ctf.METADATA = kernel_ctf.METADATA.replace("clock {", 'clock { uuid = "%s";' % file.read().strip()).replace(
                "env {", 'env { hostname = "%s"; kernel_release = "%s";' % (os.uname().nodename, os.uname().release))
    kernel_ctf.write(folder + "/trace", {1: ("sched_wait_task", "string comm; s32 tid;")}, "" if "event" in words else of_stream,
                     {cpu: b"".join(own) for cpu, own in parts.items()})
    with open(folder + "/stacks.csv", "w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("tid", "state", "stack", "count"))
        writer.writerows(sorted(key + (count,) for key, count in stacks.items()))


main(sys.argv[1], sys.argv[2:])

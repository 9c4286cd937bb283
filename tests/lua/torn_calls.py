#!/usr/bin/python3
"""torn_calls.py FOLDER [named] - a CTF trace in which the exit of one system call and the entry of the next one are missing.

Then the exit of a call is missing, and the next one is entered; the last call does not return. Calls have numbers,
as raw_syscalls tells them, or with "named" names, as LTTng does.
"""
import struct
import sys

import kernel_ctf

NAMES = {-1: "unknown", 0: "read", 15: "rt_sigreturn", 16: "ioctl", 60: "exit", 203: "sched_setaffinity"}
NAMED = "named" in sys.argv
EVENTS = {1: ("sys_enter", "s64 id;"), 2: ("sys_exit", "s64 id; s64 ret;")}
if NAMED:
    EVENTS = {300 + n: ("syscall_entry_" + name, "") for n, name in NAMES.items()}
    EVENTS.update({600 + n: ("syscall_exit_" + name, "s64 ret;") for n, name in NAMES.items()})


def switch(t, before, after):
    return (struct.pack("<IQ", 0, t) + b"t%d\0" % before + struct.pack("<iiq", before, 20, 1)
            + b"t%d\0" % after + struct.pack("<ii", after, 20))


def enter(t, number):
    return struct.pack("<IQ", 300 + number, t) if NAMED else struct.pack("<IQq", 1, t, number)


def leave(t, number):
    return struct.pack("<IQq", 600 + number, t, 0) if NAMED else struct.pack("<IQqq", 2, t, number, 0)


RECORDS = [
    switch(1000, 1, 10),
    enter(2000, 0), leave(2100, 0),
    enter(3000, 203), leave(4000, 16),  # of two calls
    enter(5000, 15), leave(5300, -1),   # rt_sigreturn's exit has no number
    enter(6000, 0), leave(6200, 0),
    enter(6300, 16), enter(6400, 0), leave(6500, 0),
    enter(6600, 60),
    switch(7000, 10, 1),
]

kernel_ctf.write(sys.argv[1], EVENTS, "", {0: b"".join(RECORDS)})

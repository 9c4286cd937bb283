#!/usr/bin/python3
"""Where raw system calls and calls by name were recorded, each call counts once; and where a trace describes both and has one, that one counts.

Each trace is made here and says what is true: a thread makes three calls, one of which has another name by its number.
"""
import csv
import io
import os
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "repl"))
from results import finish, result, yore
import kernel_ctf

NUMBER = "enum : s64 { write = 1, fstat = 5, mmap = 9 } id;"
NAMED = {"write": (1, "write"), "newfstat": (5, "fstat"), "mmap": (9, "mmap")}  # by the event's name its number and that one's name
EVENTS = {1: ("raw_syscalls:sys_enter", NUMBER + " u64 args[6];"), 2: ("raw_syscalls:sys_exit", NUMBER + " s64 ret;")}
for at, call in enumerate(NAMED):
    EVENTS[3 + 2 * at] = "syscalls:sys_enter_" + call, "s32 __syscall_nr; u64 addr; u64 len;"
    EVENTS[4 + 2 * at] = "syscalls:sys_exit_" + call, "s32 __syscall_nr; s64 ret;"
TID = 7
PERF = "\n\tevent.context := struct { s32 perf_tid; };"  # as perf data convert has it
FTRACE = "\n\tevent.context := struct { s32 common_pid; };"


def write(folder, of_stream, raw, named):
    """Events by name come first, at both ends of a call, as the kernel has it where they were enabled first. Returns the calls of either,
    [(begin, end, name)]."""
    records, t, calls = b"", 1000, {"raw": [], "named": []}
    for k, (call, (number, name)) in enumerate(NAMED.items()):
        told = [(3 + 2 * k, struct.pack("<iQQ", number, 0, 4096), named), (1, struct.pack("<q6Q", number, 0, 4096, 0, 0, 0, 0), raw),
                (4 + 2 * k, struct.pack("<iq", number, 4096), named), (2, struct.pack("<qq", number, 4096), raw)]
        for i, (event, payload, has) in enumerate(told):
            if has:
                records += struct.pack("<IQi", event, t + 100 * i, TID) + payload
        calls["named"].append((t, t + 200, call))
        calls["raw"].append((t + 100, t + 300, name))
        t += 1000
    kernel_ctf.write(folder, EVENTS, of_stream, {0: records})
    return calls


def ask(*words):
    done = subprocess.run([yore, *words, "--no-index", "--format", "csv"], capture_output=True, text=True)
    return list(csv.DictReader(io.StringIO(done.stdout)))


def check(trace, wanted, what, states=True):
    told = [(int(r["begin"]), int(r["end"]), r["name"]) for r in ask("syscalls", trace, "log")]
    result(told == wanted, what + ": syscalls", (told, wanted))
    told = [(int(r["begin"]), int(r["end"] or 0), r["name"]) for r in ask("sql", trace, "SELECT begin, end, name FROM syscalls ORDER BY begin")]
    result(told == wanted, what + ": SQL", (told, wanted))
    middle = wanted[1][1] - 10
    told = [(int(r["begin"]), int(r["end"] or 0), r["name"]) for r in
            ask("sql", trace, "SELECT begin, end, name FROM syscalls(%d, %d) ORDER BY begin" % (middle, wanted[2][1] + 1))]
    result(told == [(middle, *wanted[1][1:]), wanted[2]], what + ": SQL, of a range that begins in a call", (told, wanted))
    told = [(int(r["begin"]), int(r["end"]), r["value"].strip('"')) for r in ask("state", trace, "thread[%d]/syscall" % TID) if r["value"] != "none"]
    if states:  # what a trace of ftrace describes may not occur, so that its state takes either
        result(told == wanted, what + ": state", (told, wanted))
    said = subprocess.run([yore, "memtop", trace, "calls", "--no-index", "--format", "csv"], capture_output=True, text=True).stdout
    result("4096" in said, what + ": memtop has the call of mmap", said)


with tempfile.TemporaryDirectory() as work:
    calls = write(work + "/both", PERF, True, True)
    check(work + "/both", calls["raw"], "both")
    calls = write(work + "/ftrace", FTRACE, True, True)
    check(work + "/ftrace", calls["raw"], "both, of ftrace", states=False)
    calls = write(work + "/described", FTRACE, False, True)
    check(work + "/described", calls["named"], "calls by name, raw ones are described")
    calls = write(work + "/raw", FTRACE, True, False)
    check(work + "/raw", calls["raw"], "raw calls, those by name are described")
finish()

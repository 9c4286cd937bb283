#!/usr/bin/python3
"""What analyses say of threads is what the generator says that they did, also where the recording lacks something.

Every row of the logs of latency, sched, offcpu and syscalls, and of the tables of SQL that tell the same, is looked up in DIR.threads, which the
simulator wrote (fixtures/truth.h): streams that begin late, end early or lack their first packets, and lost events. A row may
be missing where events are; a row that is not so fails. How many rows are told is compared with how many there are.

A wait ends where a thread comes to a CPU, as sched_switch says: each such event that babeltrace2 prints is a row of latency, or the note counts it
among those that are left out, for a reason that the trace has; likewise the times off the CPU of offcpu.
"""
import bisect
import collections
import csv
import io
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "repl"))
from results import finish, result, yore

STATE, SYSCALL = 0, 2
NAMES = {"R": "running", "W": "ready", "S": "sleeping", "I": "sleeping", "D": "blocked"}


CALLS = {"syscalls", "SQL's syscalls"}
WAITS = {"latency", "SQL's wakeups"}
TABLES = {
    "SQL's syscalls": "SELECT tid, end, dur, name FROM syscalls WHERE end IS NOT NULL AND begin > (SELECT min(ts) FROM events)",
    "SQL's wakeups": "SELECT tid, ts + latency AS end, latency AS dur FROM wakeups WHERE latency IS NOT NULL",
    "SQL's thread_state": "SELECT tid, end, dur, state FROM thread_state WHERE state IN ('running', 'ready', 'sleeping', 'blocked')",
}


class Truth:
    def __init__(self, path, names):
        facts = collections.defaultdict(list)
        with open(path + ".threads", "rb") as file:
            for time, tid, fact, value in struct.iter_unpack("<qiIq", file.read()[32:]):
                facts[tid, fact].append((time, value))
        self.states, self.calls = {}, {}
        for (tid, fact), changes in facts.items():
            if fact == STATE:
                self.states[tid] = self.stretches(changes)
            elif fact == SYSCALL:
                for (time, value), (until, _) in zip(changes, changes[1:]):
                    if value >= 0:
                        self.calls[tid, time] = (until, names[value])

    @staticmethod
    def stretches(changes):
        """(begin, state): a thread that is being woken is still what it was."""
        found = []
        for time, value in changes:
            state = NAMES.get(chr(value), chr(value))
            if state != "w" and (not found or found[-1][1] != state):
                found.append((time, state))
        return found

    def whole(self, tid, begin, end, state):
        """Was it that from begin to end, and no longer?"""
        own = self.states.get(tid, [])
        at = bisect.bisect_left(own, (begin, ""))
        return at < len(own) and own[at] == (begin, state) and at + 1 < len(own) and own[at + 1][0] == end

    def held(self, tid, begin, end, state):
        """Was it that all the time?"""
        own = self.states.get(tid, [])
        at = bisect.bisect_right(own, (begin, "~")) - 1
        return at >= 0 and own[at][1] == state and (at + 1 == len(own) or own[at + 1][0] >= end)

    def forked(self, tid, begin, end):
        """A new thread waits from its fork on; the simulator says so a moment later."""
        own = self.states.get(tid, [(0, "")])
        return begin <= own[0][0] <= end and self.held(tid, own[0][0], end, "ready")


def ask(*words):
    done = subprocess.run([yore, *words, "--format", "csv", "--no-index", "--quiet"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{words}: {done.stderr}")
    return list(csv.DictReader(io.StringIO(done.stdout)))


def is_so(truth, name, row):
    tid, end = int(row["tid"]), int(row["end"])
    begin = end - int(row["dur"])
    if name in CALLS:
        return truth.calls.get((tid, begin)) == (end, row["name"])
    if name == "sched":
        return truth.held(tid, begin, end, "running")
    state = row.get("state", "ready")
    if (truth.whole if name in WAITS else truth.held)(tid, begin, end, state):
        return True
    return state == "ready" and truth.forked(tid, begin, end)


NOTE = re.compile(r"note: (?:latency|offcpu): (\d+) of (\d+) (?:waits|times off the CPU) are left out: (.*)")
REASONS = {"lost": r"(\d+) lasted while events were lost", "unrecorded": r"(\d+) lasted while a CPU was not recorded",
           "switch": r"(\d+) lasted while a switch is missing", "wakeup": r"the wake-up of (\d+) is missing", "before": r"(\d+) began before the range"}
NO_END = r"(\d+) had not ended at its end|the end of (\d+) is missing"


def left_out(name, trace):
    """(how many are told, how many ends of them are left out by reason) by the note."""
    done = subprocess.run([yore, name, trace, "--no-index"], capture_output=True, text=True)
    note = NOTE.search(done.stderr)
    if not note:
        return None, {}
    left = {reason: int(match[1]) for reason, match in ((reason, re.search(text, note[3])) for reason, text in REASONS.items()) if match}
    unended = sum(int(a or b) for a, b in re.findall(NO_END, note[3]))
    if sum(left.values()) + unended != int(note[1]):
        sys.exit("%s: the reasons are not all of them: %s" % (trace, note[0]))
    return int(note[2]) - int(note[1]), left


def check_left_out(trace, options):
    """Each switch to a thread is told, or counted with a reason that may be."""
    done = subprocess.run(["babeltrace2", trace], capture_output=True, text=True, check=False)
    if done.returncode:  # it does not read packets that overlap
        return
    switches = len(re.findall(r" sched_switch: .*next_tid = (?!0\b)", done.stdout))
    may_be = {"unrecorded"} | ({"lost"} if re.search("--lose|--overwritten", options) else set()) | ({"switch"} if "--mute" in options else set())
    for name, what in (("latency", "waits"), ("offcpu", "times off the CPU")):
        told, left = left_out(name, trace)
        if name == "latency":
            result(told in (None, len(ask(name, trace, "log"))), "yore-gen %s: %s: the note counts what is told" % (options, name), told)
        result(told is None or told + sum(left.values()) == switches and left.keys() <= may_be,
               "yore-gen %s: %s: each of the %s is told or left out for a reason" % (options, name, what), (told, left, switches))


def check(trace, options, least):
    subprocess.run([os.path.join(os.path.dirname(yore), "fixtures", "yore-gen"), "--out", trace, "--size", "1M", "--threads-truth",
                    *options.split()], check=True, capture_output=True)
    names = {int(row["id"]): row["name"].replace("syscall_entry_", "") for row in ask("sql", trace, "SELECT id, name FROM classes")}
    truth = Truth(trace, names)
    for name, part in least.items():
        rows = ask("sql", trace, TABLES[name]) if name in TABLES else ask(name, trace, "log")
        wrong = [row for row in rows if not is_so(truth, name, row)]
        there = len(truth.calls) if name in CALLS else sum(state == "running" for own in truth.states.values() for _, state in own)
        result(not wrong and len(rows) >= part * there, f"yore-gen {options}: {name}", (len(rows), there, len(wrong), wrong[:3]))
    if shutil.which("babeltrace2"):
        check_left_out(trace, options)


def main():
    tables = {"SQL's syscalls": 0.3, "SQL's wakeups": 0, "SQL's thread_state": 0.3}
    kept = {"latency": 0.9, "sched": 0.9, "offcpu": 0.9, "syscalls": 0.9, **{name: 0.8 for name in TABLES}}
    late = {"latency": 0.1, "sched": 0.6, "offcpu": 0.1, "syscalls": 0.6, **tables}
    some = {"latency": 0, "sched": 0.3, "offcpu": 0, "syscalls": 0.3, **tables}
    with tempfile.TemporaryDirectory() as work:
        for i, (options, least) in enumerate([("", kept), ("--overlap", kept), ("--ended-stream", some), ("--late-stream", late),
                                              ("--overwritten 3", some), ("--lose 0.1", some), ("--lose 0.1 --late-losses", some),
                                              ("--lose 0.1 --contexts", some), ("--late-stream --contexts", late),
                                              ("--mute 0.01", {"latency": 0.8, "sched": 0.8, "syscalls": 0.7, "SQL's syscalls": 0.7})]):
            check(os.path.join(work, str(i)), options, least)
    finish()


main()

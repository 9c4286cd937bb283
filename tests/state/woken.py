#!/usr/bin/python3
"""Threads that are woken before they left their CPU keep running: a real trace, told by babeltrace2.

Of each wake-up the lines that babeltrace2 printed say whether the thread runs: the last sched_switch
that names it brought it to a CPU, and the next one takes it away from there. yore must call it
"running" then, and "ready" otherwise; only where no switch of its CPU came yet it may be unknown.
77 (skipped) when the corpus is not there.
"""
import bisect
import gzip
import json
import os
import re
import subprocess
import sys

CORPUS = os.environ.get("YORE_CORPUS") or os.environ.get("srcdir", ".") + "/../shared/corpus"
YORE = os.environ.get("top_builddir", ".") + "/yore"
TRACE = CORPUS + "/ctf/real/bug446190"
LINES = CORPUS + "/ctf/real/expected/bug446190.txt.gz"
WOKEN, RUNNING = 568, 26


def events():
    """Time, name, and fields by name of wake-ups and switches."""
    with gzip.open(LINES, "rt", errors="replace") as lines:
        for line in lines:
            head = re.match(r"\[(\d+)\.(\d+)\].* (sched_switch|sched_wakeup\w*): \{ cpu_id = (\d+) \}",
                            line)
            if head:
                fields = dict(re.findall(r"(\w+) = (-?\d+)", line))
                yield int(head[1] + head[2]), head[3], int(head[4]), fields


def wake_ups():
    """(time, thread, whether it runs; None: its CPU was not heard of)."""
    running, found = {}, []
    for time, name, cpu, fields in events():
        if name == "sched_switch":
            if int(fields["prev_tid"]) != running.get(cpu, int(fields["prev_tid"])):
                sys.exit("the switches of CPU %d do not follow each other" % cpu)
            running[cpu] = int(fields["next_tid"])
        else:
            tid, target = int(fields["tid"]), int(fields["target_cpu"])
            found.append((time, tid, running[target] == tid if target in running else None))
    return found


def states():
    """By thread: begins of its intervals, and their values."""
    out = subprocess.run([YORE, "state", TRACE, "thread[*]/state", "--format", "json"], check=True,
                         stdout=subprocess.PIPE).stdout
    found = {}
    for line in out.splitlines():
        row = json.loads(line)
        tid = int(re.search(r"\[(\d+)\]", row["path"])[1])
        found.setdefault(tid, []).append((row["begin"] or 0, row["end"], row["value"]))
    return {tid: sorted(rows) for tid, rows in found.items()}


def state_at(rows, time):
    i = bisect.bisect(rows, (time, float("inf"))) - 1
    if i < 0 or (rows[i][1] is not None and rows[i][1] <= time):
        return None
    return rows[i][2]


def main():
    if not os.path.exists(LINES):
        print("skipped: no corpus at %s (YORE_CORPUS says where it is)" % CORPUS)
        sys.exit(77)
    woken, known, wrong = wake_ups(), states(), 0
    for time, tid, runs in woken:
        got = state_at(known.get(tid, []), time)
        wanted = {True: ("running",), False: ("ready",), None: ("ready", "running", None)}[runs]
        if got not in wanted:
            wrong += 1
            print("%d: thread %d is %s, not %s" % (time, tid, got, wanted[0]))
    running = sum(runs is True for _, _, runs in woken)
    print("%d wake-ups, %d of threads that run, %d wrong" % (len(woken), running, wrong))
    if wrong or (len(woken), running) != (WOKEN, RUNNING):
        sys.exit("expected %d, %d, 0" % (WOKEN, RUNNING))


main()

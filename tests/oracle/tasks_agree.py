#!/usr/bin/python3
"""Whether what yore says of CPUs in a recording of tasks is what the samples prove, and no more.

    tasks_agree.py YORE FILE...

By perf's own samples: each interval of cpu[N]/thread = T begins at a tracepoint of T on that CPU, or at a
switch to T of a thread that was left; all tracepoints inside it are T's; it ends where T leaves that CPU or ends, or
with the trace. thread[T]/state is "running" in the very same intervals.
"""
import json
import os
import re
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import perf_tool
import yore_says
from yore_says import Report

SWITCH = "sched:sched_switch"
END = "sched:sched_process_exit"


def intervals(yore, path, what):
    """Those whose value is known."""
    done = yore_says.run(yore, "state", path, what, "--format", "json", "--no-index")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return [row for row in rows if row["value"] is not None]


def ends(samples, path):
    """Times at which a thread ends, on whatever CPU: perf does not always tell it of EXIT."""
    return ({time for own in samples.values() for time, _, name, _ in own if name == END} |
            {record["time"] for record in perf_tool.records(path) if record["type"] == 4})


def samples_of(path):
    """{cpu: [(time, the thread that it is of, name, fields)]} of tracepoints."""
    found = {}
    for sample in perf_tool.inside(path):
        if sample["fields"]:
            item = sample["sample"]
            tid, = struct.unpack_from("<i", bytes.fromhex(sample["raw"]), 4)  # common_pid
            found.setdefault(item["cpu"], []).append(
                (item["time"], tid, sample["name"], sample["fields"]))
    return found


def check_interval(report, where, own, over):
    cpu, begin, end, thread = where
    first = [s for s in own if s[0] == begin]
    if not any(tid == thread or (name == SWITCH and fields["next_pid"] == thread)
               for _, tid, name, fields in first):
        report.differs("%s: nothing proves its beginning" % (where,))
    for time, tid, name, _ in own:
        if begin < time < (end or time + 1) and tid != thread:
            report.differs("%s: %s of %d at %d" % (where, name, tid, time))
        if begin < time < (end or time + 1) and name == SWITCH:
            report.differs("%s: %d left at %d" % (where, tid, time))
    if end and end not in over and not any(
            time == end and name == SWITCH and tid == thread for time, tid, name, _ in own):
        report.differs("%s: nothing proves its end" % (where,))


def agree(yore, path):
    report = Report(os.path.basename(os.path.dirname(os.path.abspath(path))) + ", of tasks")
    samples = samples_of(path)
    over, said = ends(samples, path), {}
    for row in intervals(yore, path, "cpu[*]/thread"):
        cpu = int(re.search(r"\[(\d+)\]", row["path"])[1])
        where = cpu, row["begin"], row["end"], row["value"]
        check_interval(report, where, samples.get(cpu, []), over)
        said.setdefault(row["value"], set()).add((row["begin"], row["end"]))
    for thread, wanted in said.items():
        rows = intervals(yore, path, "thread[%d]/state" % thread)
        runs = {(r["begin"], r["end"]) for r in rows if r["value"] == "running"}
        report.same("when %d runs" % thread, sorted(runs, key=str), sorted(wanted, key=str))
    if not said:
        report.differs("no CPU is known to run anything")
    report.facts += ["%d intervals" % sum(map(len, said.values())), "%d threads" % len(said)]
    return report.close()


sys.exit(0 if all([agree(sys.argv[1], path) for path in sys.argv[2:]]) else 1)

#!/usr/bin/python3
"""Compares which thread ran where, and for how long, with perf's and trace-cmd's sched_switch.

    sched_agree.py YORE perf FILE...      `perf sched timehist`, and its summary beside cputop
    sched_agree.py YORE ftrace FILE...    the sched_switch lines of `trace-cmd report`

10,000 pairs of a CPU and a time for each file, and the other CPUs at these times: the very nanosecond of
a switch, the one before it, and random moments. timehist prints microseconds, so its rows are first laid over the nanoseconds of
perf's own samples, row by row; what they say of the task and of the next one is what is asked for.
Without sched_switch, records of context switches are compared. What ran before a CPU's first switch is
that switch's previous thread, unless events were lost before.
"""
import bisect
import csv
import io
import os
import random
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ftrace_tool
import perf_tool
import state_agree
import yore_says
from yore_says import Report

PAIRS = 10000
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Switch:
    def __init__(self, time, prev, after, tid):
        self.time, self.prev, self.next = time, prev, after
        self.tid = tid - (1 << 32) if tid >= 1 << 31 else tid  # -1 in a task that exits


# perf ------------------------------------------------------------------------------------------

def perf_switches(path):
    """{cpu: [Switch]} and {cpu: [time of a loss]}."""
    found, lost = {}, {}
    for sample in perf_tool.inside(path):
        if sample["name"] == "sched:sched_switch":
            fields, item = sample["fields"], sample["sample"]
            found.setdefault(item["cpu"], []).append(
                Switch(item["time"], fields["prev_pid"], fields["next_pid"], item["tid"]))
    records = perf_tool.records(path)
    for record in records:
        if record["type"] == 2:
            lost.setdefault(record["cpu"], []).append(record["time"])
    if not found:
        found = context_switches(records, perf_tool.attrs(path))
    for events in found.values():
        events.sort(key=lambda e: e.time)
    return found, lost


def context_switches(records, attrs):
    """From SWITCH_CPU_WIDE records: OUT names the next task, IN is of the task that runs."""
    found = {}
    for record in records:
        side = perf_tool.side_values(record) if record["type"] == 15 else None
        if side:
            tid = perf_tool.trailer(record, attrs)["tid"]
            other = side[1]["next_prev_tid"]
            prev, after = (tid, other) if side[1]["out"] else (other, tid)
            if after == -1:  # a task that exits, which its CPU's next record names
                continue
            found.setdefault(record["cpu"], []).append(Switch(record["time"], prev, after, tid))
    return found


ROW = re.compile(r"^ *(\d+)\.(\d{6}) \[(\d+)\] +(?:.*\[|:)(-?\d+)(?:/-?\d+)?\]? +[\d.]+ +[\d.]+ +([\d.]+) +"
                 r"next: .*\[(-?\d+)\] *$")


def timehist_agrees(report, path, found):
    """Each row is one switch away from a thread, at its microsecond."""
    rows = {}
    for line in perf_tool.run("sched", "timehist", "-n", "--no-call-graph", "-i", path).decode().split("\n"):
        match = ROW.match(line)
        if match:
            time = int(match[1]) * 10 ** 6 + int(match[2])
            rows.setdefault(int(match[3]), []).append((time, int(match[4]), int(match[6])))
    if not rows:
        return 0
    count = 0
    for cpu, events in found.items():
        ours = [(e.time // 1000, e.tid, e.next) for e in events if e.prev != 0]
        theirs = sorted(rows.get(cpu, []), key=lambda row: row[0])
        if sorted(ours) != sorted(theirs):
            report.differs("timehist's rows of CPU %d are not its switches: %s" % (
                cpu, sorted(set(ours) ^ set(theirs))[:3]))
        count += len(theirs)
    return count


def run_times(found, begin, end):
    """{tid: ns} as perf's summary has them, by the sample's thread, and by the switch that began it.

    They are of one thread but where that exits (its samples are of -1), or where a switch is missing.
    """
    by_sample, by_switch, besides = {}, {}, {}
    for events in found.values():
        for a, b in zip(events, events[1:]):
            length = min(b.time, end) - max(a.time, begin)
            if length > 0 and b.prev != 0:
                by_sample[b.tid] = by_sample.get(b.tid, 0) + length
            if length > 0 and a.next != 0 and a.next == b.prev:
                by_switch[a.next] = by_switch.get(a.next, 0) + length
            elif length > 0:  # of which of the two other events may tell a part
                for tid in (a.next, b.prev):
                    besides[tid] = besides.get(tid, 0) + length
    return by_sample, by_switch, besides


def summary(path, begin, end):
    """{tid: thousandths of ms} of `perf sched timehist --summary` of a span."""
    return timehist_summary(path, "--time", "%d.%09d,%d.%09d" % (
        *divmod(begin, 10 ** 9), *divmod(end, 10 ** 9)))


def timehist_summary(path, *options):
    said = perf_tool.run("sched", "timehist", "-s", "-i", path, *options).decode()
    found = {}
    for line in said.split("\n"):
        match = re.match(r"^ *(?:.*\[|:)(-?\d+)(?:/-?\d+)?\]? +-?\d+ +\d+ +(\d+)\.(\d{3}) ", line)
        if match:
            tid = int(match[1])
            found[tid] = found.get(tid, 0) + int(match[2]) * 1000 + int(match[3])
    return found


def cputop(program, path, *words):
    """{tid: ns} of `yore cputop`."""
    os.environ["YORE_LUA_DIR"] = os.path.join(TOP, "lua-lib")
    done = yore_says.run(program, "cputop", path, "threads", "--format", "csv", *words)
    rows = csv.DictReader(io.StringIO(done.stdout.decode()))
    return {int(row["tid"]): int(row["total"]) for row in rows}, done


def cputop_agrees(report, program, path, found, in_perf):
    """In a span that begins after each CPU's first switch and ends before its last."""
    begin = max(events[0].time for events in found.values())
    end = min(events[-1].time for events in found.values())
    if begin >= end:
        return
    by_sample, by_switch, besides = run_times(found, begin, end)
    if in_perf:
        for tid, thousandths in summary(path, begin, end).items():
            if abs(by_sample.get(tid, 0) - thousandths * 1000) > 1000:
                report.differs("perf's summary gives %d %d us, its switches %d ns" % (
                    tid, thousandths, by_sample.get(tid, 0)))
    ours, done = cputop(program, path, "--begin", "@%d" % begin, "--end", "@%d" % end)
    if done.returncode not in (0, 3):
        report.differs("cputop: " + done.stderr.decode()[:200])
    for tid in sorted(set(ours) | set(by_switch)):
        sure = by_switch.get(tid, 0)
        if not sure <= ours.get(tid, 0) <= sure + besides.get(tid, 0):
            report.differs("cputop gives thread %d %s ns, not %s" % (
                tid, ours.get(tid), by_switch.get(tid)))
    report.facts.append("%d run times" % len(by_switch))


# trace-cmd ---------------------------------------------------------------------------------------

def ftrace_switches(path):
    lines, drops = ftrace_tool.raw_report(path)
    found, lost = {}, {}
    for line in lines:
        match = re.search(r"prev_pid=(\d+) .* next_pid=(\d+) ", line.text + " ")
        if line.name == "sched_switch" and match:
            found.setdefault(line.cpu, []).append(
                Switch(line.time, int(match[1]), int(match[2]), line.pid))
    for drop in drops:
        after = [line.time for line in lines[drop.before:] if line.cpu == drop.cpu]
        lost.setdefault(drop.cpu, []).append(after[0] if after else 1 << 62)
    return found, lost


# Both ----------------------------------------------------------------------------------------------

def expected(events, lost, time):
    """What may be answered: between the last switch, a loss, and the next one, nothing is known.

    Nor need it be before the first switch and after the last one, where events of other threads or none at
    all may stand, and between two switches that contradict each other.
    """
    i = bisect.bisect_right(events, time, key=lambda e: e.time)
    right = {events[i - 1].next if i else events[0].prev}
    if not i or i == len(events):
        right.add(None)
    elif events[i - 1].next != events[i].prev:
        right |= {None, events[i].prev}
    begin = events[i - 1].time if i else -1 << 62
    end = events[i].time if i < len(events) else 1 << 62
    if any(begin < moment <= end for moment in lost):
        right |= {None, events[i].prev} if i < len(events) else {None}
    return right


def compare(program, kind, path):
    name = path.split("/")[-2] if os.path.basename(path).startswith(("perf.", "trace.")) else \
        os.path.basename(path)
    report = Report(name)
    if not os.path.exists(path):
        report.differs("%s: no such file" % path)
    found, lost = (perf_switches if kind == "perf" else ftrace_switches)(path)
    if not found:
        report.facts.append("no switches")
        return report.close()
    if kind == "perf":
        rows = timehist_agrees(report, path, found)
        report.facts.append("%d rows of timehist" % rows)
    times = [e.time for events in found.values() for e in events]
    random.seed(4)
    low, high, pairs = min(times), max(times), set()
    for _ in range(20 * PAIRS):
        if len(pairs) == PAIRS:
            break
        pairs.add((random.choice(sorted(found)), random.choice((
            random.choice(times), random.choice(times) - 1, random.randint(low, high)))))
    moments = sorted({t for _, t in pairs})
    answers = state_agree.ask(program, path, moments)
    pairs, known, must = [(cpu, time) for cpu in sorted(found) for time in moments], 0, 0
    for cpu, time in pairs:
        value, right = answers.get((time, cpu)), expected(found[cpu], lost.get(cpu, []), time)
        known += value is not None
        must += None not in right
        if value not in right:
            report.differs("cpu[%d]/thread at %d is %r, not %s" % (cpu, time, value, right))
    report.facts.append("%d pairs, %d known, %d of them for sure" % (len(pairs), known, must))
    if known < must:
        report.differs("only %d of %d are known" % (known, must))
    if not lost:
        cputop_agrees(report, program, path, found, kind == "perf" and rows)
    return report.close()


def main():
    program, kind, paths = sys.argv[1], sys.argv[2], sys.argv[3:]
    tool = perf_tool if kind == "perf" else ftrace_tool
    if not tool.installed():
        print("sched_agree.py: skipped: the tool to compare with is not installed (%s)" % kind)
        sys.exit(0)
    good = [compare(program, kind, path) for path in paths]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Compares how long each thread ran in a whole recording with what its switches say.

    run_times.py YORE perf FILE...      switches of `perf script`; also `perf sched timehist --summary`
    run_times.py YORE ftrace FILE...    switches of `trace-cmd report`, or of what it said, in expected/

A CPU's time is divided among threads from its first record to the end of the recording: before its
first switch the thread runs that this switch takes away, after its last one the one that it brings.
Between two switches that name different threads, and after a loss, the recording does not tell. yore
must give each thread the same time to the nanosecond, less exactly what it says to be unknown, which
is printed; and nothing may be unknown that the recording tells. `cputop` must give the same times.

timehist counts between two switches of a CPU alone and prints microseconds, so it is compared with
the switches less the ends of the recording.
"""
import collections
import csv
import io
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ftrace_tool
import perf_tool
import sched_agree
import yore_says
from yore_says import Report

Span = collections.namedtuple("Span", "begin end tid")
LOST = "lost"  # in place of a thread: events are missing; None: the two switches contradict each other


def perf_recording(path):
    """Switches and losses by CPU, when each CPU's records begin, when the last one is."""
    found, lost = sched_agree.perf_switches(path)
    begins, end = {}, 0
    for record in perf_tool.records(path):
        if record["time"] is None:
            continue
        end = max(end, record["time"])
        if record["cpu"] is not None:
            begins[record["cpu"]] = min(record["time"], begins.get(record["cpu"], 1 << 62))
    return found, lost, begins, end


def ftrace_recording(path):
    found, lost = sched_agree.ftrace_switches(path)
    begins, end = {}, 0
    lines, _ = ftrace_tool.raw_report(path)
    for line in lines:
        end = max(end, line.time)
        begins[line.cpu] = min(line.time, begins.get(line.cpu, 1 << 62))
    return found, lost, begins, end


def told(switches, losses, begin, end):
    """What the recording tells of one CPU: [Span], which touch."""
    spans, at, tid = [], begin, switches[0].prev
    for i, switch in enumerate(switches):
        lost = any(at < moment <= switch.time for moment in losses)
        spans.append(Span(at, switch.time, LOST if lost else tid if tid == switch.prev else None))
        at, tid = switch.time, switch.next
    lost = any(at < moment for moment in losses)
    spans.append(Span(at, end, LOST if lost else tid))
    return [span for span in spans if span.begin < span.end]


def said(program, path, first, end):
    """What yore says of each CPU: {cpu: [Span]} of what is known."""
    done = yore_says.run(program, "state", path, "cpu[*]/thread", "--format", "json", "--no-index")
    found = collections.defaultdict(list)
    for line in done.stdout.splitlines():
        item = json.loads(line)
        begin = first if item["begin"] is None else max(item["begin"], first)
        stop = end if item["end"] is None else min(item["end"], end)
        if begin < stop:
            found[int(item["path"][4:item["path"].index("]")])].append(Span(begin, stop, item["value"]))
    return found


def compare_cpu(report, cpu, right, ours):
    """(time of each thread, told but not known, known though not told): parts of one CPU's time."""
    unknown, besides, times, at = 0, 0, collections.Counter(), 0
    for i, span in enumerate(right):
        known = 0
        while at < len(ours) and ours[at].end <= span.begin:
            at += 1
        for own in ours[at:]:
            if own.begin >= span.end:
                break
            part = min(own.end, span.end) - max(own.begin, span.begin)
            known += part
            if span.tid in (None, LOST):
                besides += part  # until the loss, or by other events between the two switches
            elif own.tid != span.tid:
                report.differs("CPU %d: thread %s for %d ns from %d, not %s" % (
                    cpu, own.tid, part, max(own.begin, span.begin), span.tid))
            times[own.tid] += part
        if span.tid not in (None, LOST):
            unknown += span.end - span.begin - known
            # Before the first switch and behind the last one events support it for a part of the time.
            if known < span.end - span.begin and 0 < i < len(right) - 1:
                report.differs("CPU %d: thread %s from %d to %d, of which %d ns are not known" % (
                    cpu, span.tid, span.begin, span.end, span.end - span.begin - known))
    return times, unknown, besides


def cputop(program, path):
    """({tid: ns}, unknown time of all CPUs) of `yore cputop`."""
    found, done = sched_agree.cputop(program, path)
    cpus = yore_says.run(program, "cputop", path, "cpus", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(cpus.stdout.decode())))
    return found, sum(int(row["unknown_time"]) for row in rows) if done.returncode in (0, 3) else None


def timehist_agrees(report, path, found):
    """perf's own sums, to the microsecond that it prints of each."""
    theirs = sched_agree.timehist_summary(path)
    ours = collections.Counter()
    for events in found.values():
        for a, b in zip(events, events[1:]):
            if b.prev != 0:
                ours[b.tid] += b.time - a.time
    for tid, thousandths in theirs.items():
        if abs(ours[tid] - thousandths * 1000) > 1000:
            report.differs("timehist gives thread %d %d us, its switches %d ns" % (
                tid, thousandths, ours[tid]))
    return len(theirs)


def compare(program, kind, path):
    report = Report("/".join(path.split("/")[-2:]))
    found, lost, begins, last = (perf_recording if kind == "perf" else ftrace_recording)(path)
    if not found:
        report.facts.append("no switches")
        return report.close()
    if kind == "perf":
        report.facts.append("%d threads of timehist" % timehist_agrees(report, path, found))
    first, end = min(begins.values()), last + 1
    ours = said(program, path, first, end)
    sums, expected, unknown, besides, all_known = (collections.Counter(), collections.Counter(), 0, 0, 0)
    for cpu, switches in found.items():
        right = told(switches, lost.get(cpu, []), begins[cpu], end)
        times, missing, more = compare_cpu(report, cpu, right, ours.get(cpu, []))
        sums.update(times)
        unknown, besides = unknown + missing, besides + more
        for span in right:
            expected[span.tid] += span.end - span.begin
        for own in ours.get(cpu, []):
            all_known += own.end - own.begin
            if own.begin < begins[cpu]:
                report.differs("CPU %d: known from %d on, its records begin at %d" % (
                    cpu, own.begin, begins[cpu]))
    by_cputop, unknown_there = cputop(program, path)
    for tid in sorted(set(by_cputop) | set(sums) - {0}):
        if by_cputop.get(tid, 0) != sums[tid]:
            report.differs("cputop gives thread %d %s ns, the state %d" % (
                tid, by_cputop.get(tid), sums[tid]))
    cpus = len(set(ours) | set(begins))
    if unknown_there != (end - first) * cpus - all_known:
        report.differs("cputop's unknown time is %s ns, not %d" % (
            unknown_there, (end - first) * cpus - all_known))
    report.facts.append("%d threads, %d ns; not told %d ns, lost %d ns, of which %d are known; "
                        "unknown %d ns" % (len(sums), sum(sums.values()), expected[None], expected[LOST],
                                           besides, unknown_there or 0))
    return report.close()


def main():
    program, kind, paths = sys.argv[1], sys.argv[2], sys.argv[3:]
    installed = (perf_tool if kind == "perf" else ftrace_tool).installed()
    good = True
    for path in paths:
        if not installed and (kind == "perf" or not os.path.exists(ftrace_tool.written(path))):
            print("run_times.py: skipped: %s: the tool to compare with is not installed" % path)
        else:
            good = compare(program, kind, path) and good
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()

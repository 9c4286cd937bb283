#!/usr/bin/python3
"""Compares `yore at TRACE - 'cpu[*]/thread'` with what is known from elsewhere.

    state_agree.py YORE switches TRACE   the trace's sched_switch events, read by babeltrace2
    state_agree.py YORE truth DIR        DIR.truth, which the generator wrote from its own state
    state_agree.py YORE threads DIR      DIR.threads: state and CPU of every thread

10,000 pairs of a CPU and a time: the very nanosecond of a switch, the one before it, and random
moments. Where a trace has no loss, what ran before a CPU's first switch is that switch's prev_tid, from the
begin of its stream on. Where the next switch says that another thread leaves than came, neither must be known.
"""
import bisect
import json
import os
import random
import struct
import subprocess
import sys

PAIRS = 10000


def ask(program, trace, times):
    """{(time, cpu): value}; value None is unknown."""
    text = "".join("@%d\n" % t for t in times)
    process = subprocess.run(
        [program, "at", trace, "-", "cpu[*]/thread", "--format", "json"],
        input=text.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if process.returncode not in (0, 3):
        sys.exit("yore ended with %d: %s" % (process.returncode, process.stderr.decode()[:500]))
    answers = {}
    for line in process.stdout.splitlines():
        item = json.loads(line)
        cpu = int(item["path"][4:item["path"].index("]")])
        answers[(item["ts"], cpu)] = item["value"]
    return answers


def switches(path):
    """{cpu: [(time, prev, next)]}, in order, from babeltrace2 without its muxer."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import events_agree
    found = {}
    for events in events_agree.babeltrace(path).streams.values():
        for time, (name, packet, _, fields) in events:
            if name.split(":")[-1] != "sched_switch":
                continue
            key = "tid" if "next_tid" in fields else "pid"
            found.setdefault(packet["cpu_id"], []).append(
                (time, fields["prev_" + key], fields["next_" + key]))
    return found


def expected_switches(found):
    def expect(cpu, time):
        events = found[cpu]
        i = bisect.bisect_right(events, time, key=lambda e: e[0])
        if not i:  # back to the begin of the CPU's stream at most
            return {events[0][1], None}
        if i == len(events):  # until that stream ends
            return {events[i - 1][2], None}
        came, left = events[i - 1][2], events[i][1]
        return {came} if came == left else {came, left, None}
    told = {cpu: [e[0] for e in events] for cpu, events in found.items()}
    return sorted(found), told, sum(told.values(), []), expect


def expected_truth(path):
    data = open(path + ".truth", "rb").read()
    magic, _, cpus, begin, end = struct.unpack_from("<8sIIqq", data)
    assert magic == b"yoretrth"
    records = {cpu: [] for cpu in range(cpus)}
    for time, tid, cpu, kind in struct.iter_unpack("<qiHH", data[32:]):
        records[cpu].append((time, tid, kind))
    for items in records.values():
        items.sort(key=lambda r: r[0])

    def expect(cpu, time):
        i = bisect.bisect_right(records[cpu], time, key=lambda r: r[0])
        if not i:
            return {None, 0} | {records[cpu][0][1]} if records[cpu] else {None}
        _, tid, kind = records[cpu][i - 1]
        return {tid} if kind == 0 else {None, tid}
    times = [r[0] for items in records.values() for r in items if begin <= r[0] <= end]
    told = {cpu: [r[0] for r in items if r[2] == 0] for cpu, items in records.items()}
    return list(range(cpus)), told, times, expect


# What the simulator calls a state, and what may be known of it from events.
STATES = {"R": {"running", "exiting"},  # it runs on for a while after sched_process_exit
          "W": {"ready"}, "w": {"sleeping", "blocked", "ready"}, "S": {"sleeping"}, "D": {"blocked"},
          "I": {"sleeping"}, "Z": {"exiting", "dead"}, "X": {"dead"}}


def threads(program, path):
    """Every thread's state and CPU at random moments; unknown is right only before the
    first event that tells."""
    data = open(path + ".threads", "rb").read()
    _, _, _, begin, end = struct.unpack_from("<8sIIqq", data)
    facts = {}
    for time, tid, fact, value in struct.iter_unpack("<qiIq", data[32:]):
        facts.setdefault((tid, fact), []).append((time, value))
    random.seed(6)
    moments = sorted(random.randint(begin, end) for _ in range(200))
    names = {"state": 0, "cpu": 1}  # a priority changes without an event
    process = subprocess.run(
        [program, "at", path, "-"] + ["thread[*]/" + name for name in names] + ["--format", "json"],
        input="".join("@%d\n" % t for t in moments).encode(), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, check=True)
    right, wrong, unknown = 0, 0, 0
    for line in process.stdout.splitlines():
        item = json.loads(line)
        tid, name = item["path"][7:].split("]/")
        if tid == "0":
            continue
        known = facts.get((int(tid), names[name]), [])
        i = bisect.bisect_right(known, item["ts"], key=lambda e: e[0])
        if item["value"] is None or not i:
            unknown += 1
            continue
        value = known[i - 1][1]
        same = item["value"] in STATES[chr(value)] if name == "state" else item["value"] == value
        right += same
        wrong += not same
        if not same and wrong <= 8:
            print("  %s at %d is %r, not %r" % (item["path"], item["ts"], item["value"], value))
    good = not wrong and right > 1000
    print("%s %s: %d facts of threads agree, %d do not, %d not known" % (
        "ok  " if good else "FAIL", path, right, wrong, unknown))
    sys.exit(0 if good else 1)


def losses_of(program, trace):
    """{cpu: [(from, until)]}."""
    process = subprocess.run([program, "sql", trace, "SELECT cpu, ts, until FROM losses", "--format", "json"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    found = {}
    for row in (json.loads(line) for line in process.stdout.splitlines()):
        found.setdefault(row["cpu"], []).append((row["ts"], row["until"]))
    return found


def may_be_unknown(losses, told, time):
    """In the last nanosecond of a loss all is unknown once more. Packets that count what they discarded
    until they end have their events inside the loss: what a switch says holds there only where the
    next or the last one is inside, too, and confirms it."""
    i = bisect.bisect_right(told, time)
    since, following = told[i - 1] if i else 0, told[i] if i < len(told) else None
    return any(time == until - 1 or
               begin <= time < until and (since <= begin or following is None or following >= until)
               for begin, until in losses)


def main():
    program, kind, path = sys.argv[1:4]
    if kind == "threads":
        threads(program, path)
    cpus, told, times, expect = (expected_switches(switches(path)) if kind == "switches"
                           else expected_truth(path))
    random.seed(4)
    low, high = min(times), max(times)
    pairs = set()
    while len(pairs) < PAIRS:
        pairs.add((random.choice(cpus), random.choice((
            random.choice(times), random.choice(times) - 1, random.randint(low, high)))))
    answers = ask(program, path, sorted({t for _, t in pairs}))
    wrong = known = 0
    losses = losses_of(program, path)
    for cpu, time in sorted(pairs):
        value, right = answers.get((time, cpu)), expect(cpu, time)
        if may_be_unknown(losses.get(cpu, []), told.get(cpu, []), time):
            right = right | {None}
        known += value is not None
        if value not in right:
            wrong += 1
            if wrong <= 5:
                print("  cpu[%d]/thread at %d is %r, not %s" % (cpu, time, value, right))
    # an answer that is always "unknown" would be right nowhere that matters
    enough = known >= 0.5 * len(pairs)
    print("%s %s: %d of %d pairs agree, %d known" % (
        "FAIL" if wrong or not enough else "ok  ", path, len(pairs) - wrong, len(pairs), known))
    sys.exit(1 if wrong or not enough else 0)


if __name__ == "__main__":
    main()

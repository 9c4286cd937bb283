#!/usr/bin/python3
"""Compares analyses (yore latency, sched, offcpu, syscalls, irq, top ...) with other tools.

    analyses_agree.py YORE perf FILE...      perf's samples, perf sched latency and timehist, perf
                                             trace -s, perf report
    analyses_agree.py YORE ftrace FILE...    trace-cmd report
    analyses_agree.py YORE ctf FOLDER...     babeltrace2's text

With --memory or --stacks before the files memtop alone, or offcpu --by stack, is compared.

The events as the other tool prints them go through a small model of threads, written here: a switch ends one
run and begins another, a wake-up ends a sleep. What yore says must be what the model says, to the
nanosecond; it may leave out what began before the first switch of each CPU, where nothing is known of the
CPU that is woken. Where switches contradict each other, events are missing, and only what lies between
contradictions is compared.
"""
import bisect
import collections
import csv
import io
import os
import re
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ftrace_tool
import perf_tool
import yore_says
from tool_events import ctf_chains, ctf_events, first, ftrace_events, number, perf_chains, perf_events
from yore_says import Report

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ["YORE_LUA_DIR"] = os.path.join(TOP, "lua-lib")

# The model -------------------------------------------------------------------------------------------

STATES = ((1, "sleeping"), (2, "blocked"), (4, "stopped"), (8, "traced"), (0x30, "dead"), (0x40, "parked"),
          (0x80, "sleeping"))

Segment = collections.namedtuple("Segment", "tid begin end state before after cpu")


class Model:
    """Stretches of each thread's state, of which begin and end are known. "unknown": the events do not tell whether it slept.

    perf stops its CPUs one after the other: it comes on each of them, and what runs there behind that is not recorded, while the others still are,
    for milliseconds. A thread that is seen neither to leave nor to come then may run there and leave again. So no state need be known across the
    last events of a CPU on which a thread runs (two_recorders.py finds such threads)."""

    def __init__(self, events, kind_of=None):
        self.now = {}        # tid: [state, since, before]
        self.segments = []
        self.open_until = 0  # by then each CPU has switched
        self.gaps = []       # between switches of a CPU that contradict each other, or before its first one
        self.perhaps = set()  # (tid, begin) of sleeps before which a CPU that was not recorded may have woken the thread
        self.by_runtime = set()  # threads of which sched_stat_runtime tells first
        last, seen = {}, {}
        begun, earlier, named = {}, collections.defaultdict(set), {}  # by CPU its first event and whose are those before its first switch
        ends, firsts, leaving = {}, {}, set()  # leaving: woken while they run, where no sched_wakeup tells whether they were about to leave
        wakes = {"sched_wakeup", "sched_wakeup_new"}
        names = {event.name for event in events}
        # As perf sched record takes it; timehist counts from it, too. A trace.dat has the formats of all events of a system, recorded or not.
        only_waking = "sched_waking" in names and "sched_wakeup" not in names and kind_of != "ftrace"
        for event in events:
            if event.name == "sched_switch":
                firsts.setdefault(event.cpu, event.time)
        self.open_until = max(firsts.values(), default=0)
        for event in events:
            fields = event.fields
            begun.setdefault(event.cpu, event.time)
            ends[event.cpu] = event.time
            if event.cpu not in seen and event.tid is not None:
                earlier[event.cpu].add(event.tid)
            if event.name == "sched_switch":
                previous = first(fields, "prev_tid", "prev_pid")
                following = first(fields, "next_tid", "next_pid")
                # a tracer enables events one by one: switches before the first one may not have been recorded
                where, when = named.get(previous, (event.cpu, 0))
                if event.cpu not in seen and (earlier[event.cpu] - {previous} or previous and where != event.cpu and when > begun[event.cpu]):
                    self.gaps.append((begun[event.cpu], event.time))
                named[previous] = named[following] = event.cpu, event.time
                if last.get(event.cpu, (previous,))[0] != previous:
                    self.gaps.append((last[event.cpu][1], event.time))
                last[event.cpu] = (following, event.time)
                seen.setdefault(event.cpu, event.time)
                state = next((name for bit, name in STATES if fields["prev_state"] & bit), "ready")
                if state in ("sleeping", "blocked", "stopped", "traced") and only_waking:
                    if previous in leaving:
                        state = "unknown"  # it sleeps, or the wake-up came when it was no longer to be stopped from leaving
                    elif not self.came_seen(previous):
                        self.perhaps.add((previous, event.time))
                leaving.discard(following)
                if previous:
                    if self.now.get(previous, [None])[0] != "running":
                        self.now[previous] = ["running", None, None]  # not seen where it came
                    self.turn(previous, state, event.time, event.cpu)
                if following:
                    self.turn(following, "running", event.time, event.cpu)
            elif event.name in wakes or only_waking and event.name == "sched_waking":
                tid = first(fields, "tid", "pid")
                if self.now.get(tid, [None])[0] not in ("running", "ready"):
                    self.turn(tid, "ready", event.time, None)
                if event.name == "sched_waking" and last.get(fields["target_cpu"], (None,))[0] == tid:
                    leaving.add(tid)
            elif event.name == "sched_process_fork":
                tid = first(fields, "child_tid", "child_pid")
                self.now.pop(tid, None)
                self.turn(tid, "new", event.time, None)
                self.now[tid][0] = "ready"
                self.now[tid][2] = "fork"
            elif event.name == "sched_process_free":  # nothing is left of it
                tid = first(fields, "tid", "pid")
                if self.now.get(tid, " ")[0] != "parked":  # before Linux 4.14 that was the number of a dead one
                    self.turn(tid, "freed", event.time, None)
                self.now.pop(tid, None)
            elif event.name == "sched_stat_runtime" and first(fields, "tid", "pid") not in self.now:
                self.by_runtime.add(first(fields, "tid", "pid"))
            elif event.name == "lttng_statedump_process_state" and fields["status"] == 5:
                if fields["tid"] not in self.now:
                    self.turn(fields["tid"], "sleeping", event.time, None)
        self.of_thread = collections.defaultdict(list)
        for segment in self.segments:
            self.of_thread[segment.tid].append(segment)
        self.last_switches = {time for _, time in last.values()}
        self.stops = [(time, ends[cpu]) for cpu, (tid, time) in last.items() if tid] if kind_of == "perf" else []

    def came_seen(self, tid):
        """Did it come on its CPU while all CPUs were recorded? One that was not may have woken it since."""
        state, since, _ = self.now.get(tid, (None, None, None))
        return state == "running" and since is not None and since > self.open_until

    def turn(self, tid, state, time, cpu):
        old = self.now.get(tid)
        if old and old[0] == state:
            return
        if old and old[1] is not None:
            self.segments.append(Segment(tid, old[1], time, old[0], old[2], state, cpu))
        self.now[tid] = [state, time, old[0] if old else None]

    def surely(self, segment):
        """What began before the first switches, ends at a last one, touches a gap or goes on where a CPU stops need not be known."""
        return segment.begin > self.open_until and segment.end not in self.last_switches and segment.state != "unknown" and \
            (segment.tid, segment.begin) not in self.perhaps and not self.may_differ(segment.begin, segment.end) and \
            not self.stops_within(segment, segment.end)

    def stops_within(self, segment, end):
        """Does perf stop a CPU on which a thread runs until then, and may that be this one, which does not run elsewhere?"""
        return segment.state != "running" and any(a <= end and segment.begin <= b for a, b in self.stops)

    def may_differ(self, begin, end):
        """Is it of a time of which some CPU does not tell?"""
        return begin <= self.open_until or any(a <= end and begin <= b for a, b in self.gaps)

    def is_unsure(self, tid, begin, end):
        """Does the model itself not know what the thread did then?"""
        return self.may_differ(begin, end) or any(s.begin < end and begin < s.end and self.may_differ(s.begin, s.end)
                                                  for s in self.of_thread[tid])


def rows_of(program, name, path, *words):
    done = yore_says.run(program, name, path, *words, "--format", "csv", "--no-index", "--quiet")
    if done.returncode not in (0, 3):
        return None, done.stderr.decode().strip().split("\n")[-1]
    def value(text):
        if re.match(r"^-?\d+(\.\d+)?(e[+-]?\d+)?$", text) and ("." in text or "e" in text):
            return float(text)
        return None if text == "" else number(text)
    return [{k: value(v) for k, v in row.items()}
            for row in csv.DictReader(io.StringIO(done.stdout.decode("utf-8", "replace")))], None


def same_sets(report, what, ours, theirs, must, model=None):
    """All that yore says is so, and all that must be known is said. Items of a model have their times behind
    the thread."""
    if model:
        ours = {item for item in ours if item in theirs or not model.is_unsure(*item[:3])}
    for item in sorted(ours - theirs)[:3]:
        report.differs("%s: %s is not so" % (what, item))
    missing = must - ours
    for item in sorted(missing)[:3]:
        report.differs("%s: %s is missing" % (what, item))
    report.wrong += max(0, len(ours - theirs) - 3) + max(0, len(missing) - 3)
    report.facts.append("%d %s, %d of them for sure" % (len(ours), what, len(must)))


def kind(segment):
    return {"running": "preempted", "fork": "new"}.get(segment.before, "woken")


def waits_agree(report, program, path, model):
    rows, why = rows_of(program, "latency", path, "log")
    if rows is None:
        report.differs("latency: " + why)
        return
    waits = [s for s in model.segments if s.state == "ready" and s.after == "running"]
    same_sets(report, "waits", {(r["tid"], r["begin"], r["end"]) for r in rows},
              {s[:3] for s in waits}, {s[:3] for s in waits if model.surely(s)}, model)
    kinds = {s[:3]: kind(s) for s in waits}
    for r in rows:
        if kinds.get((r["tid"], r["begin"], r["end"]), r["kind"]) != r["kind"] and \
                not model.may_differ(r["begin"], r["end"]):
            report.differs("the wait of %d from %d is %s, not %s" % (
                r["tid"], r["begin"], r["kind"], kinds[(r["tid"], r["begin"], r["end"])]))
    stats, _ = rows_of(program, "latency", path)
    lengths = collections.defaultdict(list)
    for r in rows:
        lengths[r["kind"], r["tid"]].append(r["dur"])
    for row in stats:
        own = sorted(lengths[row["table"], row["tid"]])
        rank = lambda p: own[max(0, -(-p * len(own) // 100) - 1)]
        report.same("stats of %s %d" % (row["table"], row["tid"]),
                    (row["count"], row["total"], row["max"], row["p50"], row["p99"]),
                    (len(own), sum(own), own[-1], rank(50), rank(99)))


def runs_agree(report, program, path, model):
    rows, why = rows_of(program, "sched", path, "log")
    if rows is None:
        report.differs("sched: " + why)
        return
    runs = [s for s in model.segments if s.state == "running"]
    cpus = {s[:3]: s.cpu for s in runs}
    same_sets(report, "runs", {(r["tid"], r["end"] - r["dur"], r["end"]) for r in rows},
              {s[:3] for s in runs}, {s[:3] for s in runs if model.surely(s)}, model)
    for r in rows:
        key = (r["tid"], r["end"] - r["dur"], r["end"])
        if r["cpu"] is not None and cpus.get(key, r["cpu"]) != r["cpu"]:
            report.differs("the run %s is on CPU %s, not %s" % (key, r["cpu"], cpus[key]))


def off_agrees(report, program, path, model):
    rows, why = rows_of(program, "offcpu", path, "log")
    if rows is None:
        report.differs("offcpu: " + why)
        return
    off = [s for s in model.segments if s.state not in ("running", "dead", "new", "unknown")]
    theirs = {s[:4] for s in off}
    ours = set()
    for row in rows:
        item = row["tid"], row["begin"], row["end"], row["state"]
        # behind it nothing is known: it may have been cut where the recording of a CPU ends; and perf still
        # tells of an exit when it no longer records the switch with which the thread came to exit
        is_cut = row["after"] is None or row["after"] == "exiting" and row["end"] > min(model.last_switches)
        if item in theirs or not is_cut:
            ours.add(item)
    same_sets(report, "stretches off the CPU", ours, theirs,
              {s[:4] for s in off if model.surely(s)}, model)


def stacks_agree(report, program, path, chains, events):
    """Time off the CPU by state and by the call chain, as the other tool prints it, of the switch with which a thread
    left. The stretches are those of offcpu's log, which off_agrees() compares with the model: a stretch that
    follows another one without a gap has its chain, unless the thread left once more."""
    if not chains:
        return
    log, why = rows_of(program, "offcpu", path, "log")
    rows, why = rows_of(program, "offcpu", path, "--by", "stack") if log is not None else (None, why)
    if rows is None:
        report.differs("offcpu --by stack: " + why)
        return
    left = {(first(e.fields, "prev_pid", "prev_tid"), e.time) for e in events if e.name == "sched_switch"}
    theirs, last, stack = collections.defaultdict(collections.Counter), None, None
    for row in sorted(log, key=lambda r: (r["tid"], r["begin"])):
        own = row["tid"], row["begin"]
        stack = chains.get(row["begin"]) if own in left else stack if own == last else None
        last = row["tid"], row["end"]
        theirs[row["state"], stack or None]["count"] += 1
        theirs[row["state"], stack or None]["total"] += row["end"] - row["begin"]
    report.same("the time off the CPU by stack", {(r["state"], r["stack"]): (r["count"], r["total"]) for r in rows},
                {key: (sums["count"], sums["total"]) for key, sums in theirs.items()})
    report.facts.append("%d stacks off the CPU" % len(theirs))


# System calls, interrupts, migrations --------------------------------------------------------------------

def pairs_agree(report, program, path, events):
    open_, theirs = {}, set()
    for e in events:
        for what, enter, leave, field in (("irq", ("irq_handler_entry",), ("irq_handler_exit",), "irq"),
                                          ("softirq", ("softirq_entry", "irq_softirq_entry"),
                                           ("softirq_exit", "irq_softirq_exit"), "vec")):
            if e.name in enter:
                open_[what, e.cpu] = (e.time, e.fields[field])
            elif e.name in leave and (what, e.cpu) in open_:
                begin, irq = open_.pop((what, e.cpu))
                theirs.add((what, irq, e.cpu, begin, e.time))
    if theirs:
        rows, why = rows_of(program, "irq", path, "log")
        if rows is None:
            report.differs("irq: " + why)
            return
        ours = {(r["kind"], r["irq"], r["cpu"], r["begin"], r["end"]) for r in rows}
        same_sets(report, "interrupts", ours, theirs, theirs)


def migrations_agree(report, program, path, events):
    theirs = [(e.time, first(e.fields, "tid", "pid"), e.fields["orig_cpu"], e.fields["dest_cpu"])
              for e in events if e.name == "sched_migrate_task"]
    if theirs:
        rows, why = rows_of(program, "migrations", path, "log")
        ours = [(r["begin"], r["tid"], r["from"], r["to"]) for r in rows or []]
        report.same("migrations (%s)" % why, sorted(ours), sorted(theirs))
        report.facts.append("%d migrations" % len(theirs))


def calls_of(events):
    """{(tid, begin, end)}: ret of pairs, exits without an entry by tid, and the threads of which an exit is of another
    call than the entry before it: events are missing between them. rt_sigreturn's exit has the number -1. Where raw calls
    were recorded, events by name tell them once more, and are not read."""
    running, open_, found, alone, torn = {}, {}, {}, collections.Counter(), set()
    raw = {"sys_enter", "sys_exit"} <= {e.name for e in events}
    for e in events:
        if e.name == "sched_switch":
            running[e.cpu] = first(e.fields, "next_tid", "next_pid")
        entry = re.match(r"(?:compat_)?(?:syscall_entry_|sys_enter)", e.name)
        leave = re.match(r"(?:compat_)?(?:syscall_exit_|sys_exit)", e.name)
        if not entry and not leave or raw and re.match(r"sys_(enter|exit)_", e.name):
            continue
        tid = e.tid if e.tid is not None else first(e.fields, "tid")
        tid = running.get(e.cpu) if tid is None else tid
        number = signed(first(e.fields, "NR", "id", "__syscall_nr"))
        if entry:
            open_[tid] = e.time, number
            continue
        begin, entered = open_.pop(tid, (None, None))
        if begin is None:
            alone[tid] += 1
        elif isinstance(number, int) and number >= 0 and number != entered:
            torn.add(tid)
        else:
            found[tid, begin, e.time] = e.fields["ret"]
    return found, alone, torn


def signed(n):
    return n - (1 << 64) if isinstance(n, int) and n >= 1 << 63 else n


class Recorded:
    """Where all CPUs tell something, and where threads leave their CPU: what one does while a CPU is not
    recorded may go on there unseen once it has left the one that is."""

    def __init__(self, events):
        firsts, lasts, switched, self.left = {}, {}, {}, collections.defaultdict(list)
        for e in events:
            firsts.setdefault(e.cpu, e.time)
            lasts[e.cpu] = e.time
            if e.name == "sched_switch":
                switched.setdefault(e.cpu, e.time)
                self.left[first(e.fields, "prev_tid", "prev_pid")].append(e.time)
        self.begin, self.end = max(firsts.values(), default=0), min(lasts.values(), default=0)
        self.switched = max(switched.values(), default=0)
        self.gaps = Model(events).gaps

    def tells(self, tid, begin, end):
        inside = self.begin < begin and end < self.end and not any(a <= end and begin <= b for a, b in self.gaps)
        at = bisect.bisect_left(self.left[tid], begin)
        stays = 0 < self.switched < begin and (at == len(self.left[tid]) or self.left[tid][at] > end)
        return inside or stays


def calls_agree(report, program, path, events, kind_of):
    found, alone, torn = calls_of(events)
    if not found:
        return
    rows, why = rows_of(program, "syscalls", path, "log")
    if rows is None:
        report.differs("syscalls: " + why)
        return
    ours = {(r["tid"], r["begin"], r["end"]): r["ret"] for r in rows if r["tid"] is not None}
    if kind_of == "ctf":  # whose they are is known by switches, and before the first one by that one
        switched = max({e.cpu: e.time for e in reversed(events) if e.name == "sched_switch"}.values(), default=0)
        ours = {key: ret for key, ret in ours.items() if key[1] > switched}
        found = {key: ret for key, ret in found.items() if key[1] > switched}
    recorded = Recorded(events)
    same_sets(report, "system calls", set(ours), set(found), {key for key in found if recorded.tells(*key)})
    for key in set(ours) & set(found):
        if signed(ours[key]) != signed(found[key]):
            report.differs("the call %s returned %s, not %s" % (key, ours[key], found[key]))
    if kind_of == "perf":
        # nor threads of which some call is not known: perf trace takes no notice of CPUs that are not recorded
        untold = {key[0] for key in set(found) - set(ours) if not recorded.tells(*key)}
        perf_trace_agrees(report, program, path, alone, torn | untold)


THREAD = re.compile(r"^ .* \((\d+)\), \d+ events")
CALL = re.compile(r"^   (\w+) +(\d+) +(\d+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)%")


def perf_trace_agrees(report, program, path, alone, torn):
    """perf trace -s counts an exit without an entry as a call of no length, takes the exit of any call for that of the
    one before, and knows no call whose exit has no number."""
    said = subprocess.run(["perf", "trace", "-s", "-i", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=perf_tool.ENV, check=False).stdout.decode("utf-8", "replace")
    tid, theirs = None, {}
    for line in said.split("\n"):
        head, call = THREAD.match(line), CALL.match(line)
        if head:
            tid = int(head[1])
        elif call:
            theirs[tid, call[1]] = (int(call[2]), int(call[3]), float(call[4]), float(call[7]))
    rows, why = rows_of(program, "syscalls", path, "threads")
    ours = {(r["tid"], r["name"]): r for r in rows or []}
    for key, (count, failed, total, most) in theirs.items():
        if key[0] in torn:
            continue
        own = ours.get(key, {"count": 0, "failed": 0, "total": 0, "max": 0})
        if not 0 <= count - own["count"] <= alone[key[0]] or not 0 <= failed - own["failed"] <= alone[key[0]] \
                or abs(own["total"] / 1e6 - total) > 0.0011 or abs(own["max"] / 1e6 - most) > 0.0011:
            report.differs("perf trace says of %s %s, yore %s" % (key, (count, failed, total, most), own))
    for key in set(ours) - set(theirs):
        if theirs and key[0] not in torn and key[1] != "rt_sigreturn":
            report.differs("perf trace has no %s" % (key,))
    report.facts.append("%d rows of perf trace -s" % sum(key[0] not in torn for key in theirs))


LATENCY = re.compile(r"^  (?:.*):(\d+) +\| +[\d.]+ ms \| +(\d+) \| avg: +([\d.]+) ms \| max: +([\d.]+) ms \|")


def perf_latency_agrees(report, program, path, model):
    """Of threads of which all waits are known and that were not forked: perf counts from sched_wakeup_new. It takes
    sched_stat_runtime for the begin of a wait of a thread that it has not seen before."""
    said = perf_tool.run("sched", "latency", "-p", "-i", path).decode("utf-8", "replace")
    theirs = {int(m[1]): (int(m[2]), float(m[3]), float(m[4])) for m in map(LATENCY.match, said.split("\n")) if m}
    rows, _ = rows_of(program, "latency", path, "log")
    ours = collections.defaultdict(list)
    for r in rows or []:
        ours[r["tid"]].append(r["dur"])
    waits = collections.defaultdict(list)
    for s in model.segments:
        if s.state == "ready" and s.after == "running":
            waits[s.tid].append(s)
    compared = 0
    for tid, (count, average, most) in theirs.items():
        sure = [s for s in waits[tid] if model.surely(s) and kind(s) != "new"]
        if len(sure) != len(waits[tid]) or not sure or tid in model.by_runtime:
            continue
        if count != len(sure):
            continue  # perf takes a preempted thread for one that sleeps, or counts a second wake-up
        own = ours[tid]
        compared += 1
        if len(own) != count or abs(sum(own) / len(own) / 1e6 - average) > 0.0011 \
                or abs(max(own) / 1e6 - most) > 0.0011:
            report.differs("perf sched latency says of %d %d, %.3f, %.3f, yore %d, %.3f, %.3f" % (
                tid, count, average, most, len(own), sum(own) / max(1, len(own)) / 1e6, max(own, default=0) / 1e6))
    report.facts.append("%d of %d rows of perf sched latency" % (compared, len(theirs)))


TIMEHIST = re.compile(r"^ *(\d+)\.(\d{6}) \[(\d+)\] +(?:.*\[|:)(-?\d+)(?:/-?\d+)?\]? +([\d.]+) +([\d.]+) +([\d.]+) *$")


def timehist_agrees(report, program, path):
    said = perf_tool.run("sched", "timehist", "--no-call-graph", "-i", path).decode("utf-8", "replace")
    theirs = {}
    for match in map(TIMEHIST.match, said.split("\n")):
        if match:
            theirs[int(match[1]) * 10 ** 6 + int(match[2]), int(match[3]), int(match[4])] = \
                tuple(float(match[i]) for i in (5, 6, 7))
    rows, _ = rows_of(program, "sched", path, "log")
    compared = 0
    for r in rows or []:
        key = (r["end"] // 1000, r["cpu"], r["tid"])
        if key not in theirs:
            continue
        wait, _, run = theirs[key]
        compared += 1
        if abs(r["dur"] / 1e6 - run) > 0.0011 or \
                (r["wait"] is not None and abs(r["wait"] / 1e6 - wait) > 0.0011):
            report.differs("timehist says of %s %s, yore %s" % (key, theirs[key], r))
    report.facts.append("%d rows of timehist" % compared)


REPORT = re.compile(r"^ +([\d.]+)% +([\d.]+)% +(\d+) +(\S+) +\[.\] (.*?)(?: +- +-)? *$")


def perf_report_agrees(report, program, path):
    """Self and total of functions that have a name; perf shows totals in hundredths of a percent."""
    said = perf_tool.run("report", "--stdio", "--children", "-g", "none", "--sort", "dso,symbol", "-F",
                         "overhead_children,overhead,period,dso,symbol", "-i", path).decode("utf-8", "replace")
    theirs = {(m[4], m[5]): (float(m[1]), int(m[3])) for m in map(REPORT.match, said.split("\n"))
              if m and not re.match(r"^(0x)?[0-9a-f]{8,}$", m[5])}
    rows, why = rows_of(program, "top", path)
    if rows is None:
        report.differs("top: " + why)
        return
    ours = {(r["module"], r["function"]): r for r in rows if isinstance(r["function"], str)}
    for key, (total, own) in theirs.items():
        row = ours.get(key)
        if not row or row["self"] != own or abs(row["total_percent"] - total) > 0.0051:
            report.differs("perf report says of %s %s, yore %s" % (key, (total, own), row))
    for key in set(ours) - set(theirs):
        report.differs("perf report has no %s" % (key,))
    report.facts.append("%d functions of perf report" % len(theirs))


def path_agrees(report, program, path, model, first_time, last_time, text):
    """Stretches of a critical path touch, fill the range, and are what the model says of their thread."""
    begin, end = model.open_until + 1, last_time
    if begin >= end:
        return
    count, runs = 0, collections.Counter(s.tid for s in model.segments if s.state == "running")
    states = collections.defaultdict(list)
    for s in model.segments:
        states[s.tid].append(s)
    for tid in [tid for tid, _ in runs.most_common(5)]:
        rows, why = rows_of(program, "critical-path", path, "log", "--tid", str(tid), "--begin", text % (begin - first_time),
                            "--end", text % (end - first_time))
        if rows is None:
            report.differs("critical-path of %d: %s" % (tid, why))
            continue
        times = [begin] + [r["end"] for r in rows]
        if [r["begin"] for r in rows] != times[:-1] or times[-1] != end or rows[-1]["tid"] != tid:
            report.differs("the critical path of %d does not fill the range" % tid)
        for r in rows:
            told = [s for s in states[r["tid"]] if s.begin <= r["begin"] and r["end"] <= s.end]
            if told and r["state"] != "unknown" and told[0].state != r["state"] and \
                    r["state"] != "exiting" and not model.may_differ(r["begin"], r["end"]):
                report.differs("on the path of %d, %d is %s from %d, not %s" % (
                    tid, r["tid"], r["state"], r["begin"], told[0].state))
        count += len(rows)
    report.facts.append("%d stretches of critical paths" % count)


def gaps_agree(report, program, path):
    """Unknown stretches are as long as cputop's unknown time."""
    gaps, _ = rows_of(program, "gaps", path, "unknown")
    cpus, _ = rows_of(program, "cputop", path, "cpus")
    for row in cpus or []:
        own = sum(g["dur"] for g in gaps if g["cpu"] == row["cpu"])
        report.same("the unknown time of CPU %s" % row["cpu"], own, row["unknown_time"])


def io_agrees(report, program, path, events):
    """Bytes are what read and write returned, by thread."""
    found = calls_of(events)[0]
    rows, _ = rows_of(program, "io", path, "log")
    logged, _ = rows_of(program, "syscalls", path, "log")
    for r in rows or []:
        ret = signed(found.get((r["tid"], r["begin"], r["end"])))
        if ret is not None and max(ret, 0) != r["bytes"]:
            report.differs("io: %s returned %s" % (r, ret))
    moved = collections.Counter()
    for r in logged or []:
        if r["name"] in ("read", "write", "pread64"):
            moved[r["tid"]] += max(signed(found.get((r["tid"], r["begin"], r["end"]), 0)), 0)
    top, _ = rows_of(program, "io", path, "--where", 'name in ("read", "write", "pread64")')
    for r in top or []:
        report.same("bytes of %s" % r["tid"], r["read"] + r["written"], moved[r["tid"]])


WAITING = {0, 6, 9, 11, 13}  # FUTEX_WAIT, LOCK_PI, WAIT_BITSET, WAIT_REQUEUE_PI, LOCK_PI2


def locks_agree(report, program, path, events, known_from):
    """Each futex call that waits, from entry to exit, with its address; contention of the kernel's locks."""
    running, open_, theirs = {}, {}, set()
    events = futex_calls(path, events)
    for e in events:
        if e.name == "contention_begin":
            open_[e.tid, "lock"] = e
        elif e.name == "contention_end" and (e.tid, "lock") in open_:
            begun = open_.pop((e.tid, "lock"))
            theirs.add((e.tid, begun.time, e.time, begun.fields["lock_addr"] & (1 << 64) - 1))
    for e in events:
        if e.name == "sched_switch":
            running[e.cpu] = first(e.fields, "next_tid", "next_pid")
        if e.name not in ("syscall_entry_futex", "sys_enter_futex", "syscall_exit_futex", "sys_exit_futex"):
            continue
        tid = e.tid if e.tid is not None else running.get(e.cpu)
        if "_ent" in e.name:
            open_[tid] = e
        elif tid in open_:
            begun = open_.pop(tid)
            if begun.fields["op"] & 0x7f in WAITING and begun.time > known_from:
                theirs.add((tid, begun.time, e.time, begun.fields["uaddr"] & (1 << 64) - 1))
    if not theirs:
        return
    rows, why = rows_of(program, "locks", path, "log")
    ours = {(r["tid"], r["begin"], r["end"], r["lock"]) for r in rows or [] if r["begin"] > known_from}
    same_sets(report, "waits for locks (%s)" % why, ours, theirs, theirs)


def memory_agrees(report, program, path, events, span=(0, 1 << 64), words=()):
    """Pages by thread: of an event that has none, the one that runs on its CPU by the switches around it. Of the events in the range
    that the words name."""
    switches = [e for e in events if e.name == "sched_switch"]
    running = {e.cpu: first(e.fields, "prev_tid", "prev_pid") for e in reversed(switches)}
    last = {e.cpu: e.time for e in switches}
    pages, spaces = collections.defaultdict(collections.Counter), {}
    for e in events:
        tid = e.tid if e.tid is not None else running.get(e.cpu) if e.time < last.get(e.cpu, 0) else None
        if e.name == "sched_switch":
            running[e.cpu] = first(e.fields, "next_tid", "next_pid")
        elif not span[0] <= e.time < span[1]:
            continue
        elif e.name == "mm_page_alloc" and (e.fields.get("pfn") == (1 << 64) - 1 or e.fields.get("page") == 0):
            pages[tid]["failed"] += 1
        elif e.name in ("mm_page_alloc", "mm_page_free"):
            taken = e.name == "mm_page_alloc"
            pages[tid]["allocations" if taken else "frees"] += 1
            pages[tid]["allocated" if taken else "freed"] += 1 << e.fields["order"]
        elif e.name == "rss_stat":
            own = spaces.setdefault(e.fields["mm_id"], {"sizes": {}, "max": 0})
            own["sizes"][("file", "anon", "swap", "shmem")[e.fields["member"]]] = e.fields["size"]
            own["resident"] = sum(size for kind, size in own["sizes"].items() if kind != "swap")
            own["max"] = max(own["max"], own["resident"])
    for verb, theirs in (("threads", pages), ("rss", spaces)):
        if not theirs:
            continue
        rows, why = rows_of(program, "memtop", path, verb, *words)
        if rows is None:
            report.differs("memtop: " + why)
            continue
        if verb == "threads":
            names = ("allocated", "freed", "allocations", "frees", "failed")
            ours = {r["tid"]: tuple(r[name] for name in names) for r in rows}
            theirs = {tid: tuple(own[name] for name in names) for tid, own in pages.items()}
            report.same("pages by thread", ours, theirs)
        else:
            ours = sorted(tuple(r[name] or 0 for name in ("resident", "max", "file", "anon", "swap", "shmem"))
                          for r in rows)
            theirs = sorted((own["resident"], own["max"]) + tuple(own["sizes"].get(kind, 0) for kind in
                                                                  ("file", "anon", "swap", "shmem"))
                            for own in spaces.values())
            report.same("resident memory", ours, theirs)
        report.facts.append("%d rows of memtop %s" % (len(theirs), verb))


def without(ranges, begin, end):
    """The ranges of pages less one of them."""
    return [part for a, b in ranges for part in ((a, min(b, begin)), (max(a, end), b)) if part[0] < part[1]]


def mapped_pages(call, begun, ret, pages, row):
    """Changes a process' list of ranges of mapped pages as mmap(2), munmap(2) and mremap(2) say, and its sums in bytes."""
    def span(address, size):
        return address >> 12, (address >> 12) + (size + 4095 >> 12)

    def unmap(begin, end, told):
        had = sum(max(0, min(b, end) - max(a, begin)) for a, b in pages)
        size = max(0, end - begin)
        row["unmapped"] += 4096 * (size if told else had)
        row["unseen"] += 4096 * (size - had) if told else 0
        pages[:] = without(pages, begin, end)

    def put(begin, end):
        row["mapped"] += 4096 * max(0, end - begin)
        unmap(begin, end, False)
        if begin < end:
            pages.append((begin, end))

    if call == "mmap":
        put(*span(ret, begun["len"]))
    elif call == "munmap":
        unmap(*span(begun["addr"], begun["len"]), True)
    else:
        old, new, stays = span(begun["addr"], begun["old_len"]), span(ret, begun["new_len"]), begun["flags"] & 4
        in_place = begun["addr"] == ret and not stays
        if not stays:
            unmap(new[1] if in_place else old[0], old[1], True)
        put(old[1] if in_place else new[0], new[1])


RAW_CALLS = {9: ("mmap", ("addr", "len", "prot", "flags")), 11: ("munmap", ("addr", "len")),
             25: ("mremap", ("addr", "old_len", "new_len", "flags")), 12: ("brk", ("brk",)), 202: ("futex", ("uaddr", "op"))}


def named_call(event, texts):
    """A raw system call of x86-64 as the event of its own that it stands for."""
    name, arguments = RAW_CALLS.get(event.fields.get("id"), (None, None))
    if event.name not in ("sys_enter", "sys_exit") or not name:
        return event
    fields = dict(event.fields)
    if event.name == "sys_enter":
        args = fields["args"]
        if isinstance(args, str):  # of trace-cmd's text, its bytes
            args = {"hex": "".join(re.findall(r"\b[0-9a-f]{2}\b", texts[event.time, event.tid].split("ARRAY")[1]))}
        words = struct.unpack("<6Q", bytes.fromhex(args["hex"]))
        fields.update(zip(arguments, words))
    return event._replace(name=event.name + "_" + name, fields=fields)


def tells_machine(path):
    """Does it say of which machine its numbers are? A trace.dat does by the option UNAME, or by how the kernel's symbols begin."""
    if not path.endswith(".dat"):
        return True
    with open(path, "rb") as file:
        data = file.read()
    # trace-cmd.dat.v7(5): version, byte order, bytes of a long, bytes of a page, compression
    compressed = data[10:12] == b"7\0" and data[18:].split(b"\0", 1)[0] != b"none"
    return compressed or b"__x64_sys_" in data or re.search(rb"Linux \S+ \S+ x86_64", data) is not None


def raw_calls(path, events):
    """Raw system calls as events of their own, where the recording tells of which machine they are."""
    if os.path.isdir(path) or not tells_machine(path) or "sys_enter" not in {e.name for e in events}:
        return events
    texts = {(line.time, line.pid): line.text for line in ftrace_tool.raw_report(path)[0]} if path.endswith(".dat") else None
    return [named_call(e, texts) for e in events]


def futex_calls(path, events):
    """The same of futex: where events by name were recorded beside them, each call counts once."""
    if "sys_enter" in {e.name for e in events} and not os.path.isdir(path) and tells_machine(path):
        events = [e for e in events if e.name not in ("sys_enter_futex", "sys_exit_futex")]
    return raw_calls(path, events)


def memory_calls_agree(report, program, path, events, span=(0, 1 << 64), words=()):
    """Bytes that calls mapped; where events tell their process, also what they unmapped, and heaps, by process."""
    running, open_, rows = {}, {}, collections.defaultdict(collections.Counter)
    pages = collections.defaultdict(list)
    heaps, told = {}, all("pid" in (e.fields or {}) for e in events)
    if not any(re.match("sys_enter_(mmap|munmap|brk)", e.name) for e in events):
        events = raw_calls(path, events)
    for e in events:  # who ran before a CPU's first switch is who leaves it then
        if e.name == "sched_switch":
            running.setdefault(e.cpu, first(e.fields, "prev_tid", "prev_pid"))
    for e in events:
        if e.name == "sched_switch":
            running[e.cpu] = first(e.fields, "next_tid", "next_pid")
        match = re.match(r"(?:syscall_entry|sys_enter|syscall_exit|sys_exit)_(mmap|munmap|mremap|brk)$", e.name)
        if not match or not span[0] <= e.time < span[1]:
            continue
        tid = e.tid or first(e.fields, "tid") or running.get(e.cpu)
        if "_ent" in e.name:
            open_[tid] = e
            continue
        begun, call, ret = open_.pop(tid, None), match[1], signed(e.fields["ret"])
        if begun is None or tid is None:
            continue
        pid = e.fields["pid"] if told else 0
        row = rows[pid]
        row["calls"] += 1
        if -4095 <= ret < 0 or call == "brk" and begun.fields["brk"] not in (0, ret):
            row["failed"] += 1
        elif call != "brk":
            mapped_pages(call, begun.fields, ret, pages[pid], row)
        elif begun.fields["brk"] and told:
            moved = ret - heaps.get(pid, ret)
            row["unknown"] += pid not in heaps
            row["grown" if moved > 0 else "shrunk"] += abs(moved)
        if call == "brk":
            heaps[pid] = ret
    if not rows:
        return
    found, why = rows_of(program, "memtop", path, "calls", *words)
    if found is None:
        report.differs("memtop calls: " + why)
        return
    names = ("mapped", "calls", "failed") + (("unmapped", "unseen", "grown", "shrunk", "unknown") if told else ())
    ours = collections.defaultdict(collections.Counter)
    for r in found:
        for name in names:
            ours[r["pid"] if told else 0][name] += r[name]
    report.same("memory by system calls", {pid: tuple(own[n] for n in names) for pid, own in ours.items()},
                {pid: tuple(own[n] for n in names) for pid, own in rows.items()})
    report.facts.append("%d calls that map memory" % sum(own["calls"] for own in rows.values()))


STACK_LINE = re.compile(r"^=> (?:(.*) \((?:0x)?[0-9a-f]+\)|0?x?([0-9a-f]+))\s*$")
STACK_HEAD = re.compile(r"^.*\[(\d+)\]\s.*?\d+\.\d+: +(\w+): +(.*)$")


def kernel_stacks_agree(report, program, path):
    """How often threads went to sleep with each stack that `trace-cmd report` prints behind the switch, by innermost function; and
    all switches by the thread that leaves and its stack, as flamegraph folds them."""
    done = subprocess.run(["trace-cmd", "report", "-t", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, text=True)
    theirs, folded, last, leaver, stack = collections.Counter(), collections.Counter(), {}, None, []
    for line in done.stdout.splitlines() + [" [000] 0.0: end: end"]:
        head, inner = STACK_HEAD.match(line), STACK_LINE.match(line)
        if head and leaver and stack:
            theirs[" < ".join(stack)] += leaver[2] in "SIW"
            folded[";".join([leaver[1].replace(" ", "_")] + stack[::-1])] += 1
        if head and head[2] == "kernel_stack":
            leaver, stack = last.pop(head[1], None), []
        elif head:
            leaver = None
            last[head[1]] = head[2] == "sched_switch" and re.match(r"(.*?):\d+ \[\d+\] (\S+) ==> ", head[3])
        elif inner and leaver:
            stack.append(inner[1] or inner[2])
    rows, why = rows_of(program, "offcpu", path, "--by", "stack", "--where", 'state == "sleeping"')
    ours = collections.Counter({r["stack"]: r["times"] if "times" in r else r["count"] for r in rows or [] if r["stack"]})
    report.same("sleeps by kernel stack (%s)" % why, dict(ours), {key: n for key, n in theirs.items() if n})
    report.facts.append("%d sleeps with a kernel stack" % sum(theirs.values()))
    said = subprocess.run([program, "flamegraph", path, "--event", "sched_switch"], stdout=subprocess.PIPE, check=False, text=True).stdout
    report.same("switches folded", {key: int(weight) for key, weight in (line.rsplit(" ", 1) for line in said.splitlines())}, dict(folded))
    report.facts.append("%d switches with one" % sum(folded.values()))


def compare(program, kind_of, path, alone):
    name = "analyses " + (path.rstrip("/").split("/")[-2] if os.path.basename(path).startswith(("perf.", "trace."))
                          else os.path.basename(path.rstrip("/")))
    report = Report(name)
    events = {"perf": perf_events, "ftrace": ftrace_events, "ctf": ctf_events}[kind_of](path)
    if events is None:
        report.facts.append("events were lost")
        return report.close()
    names, model = {e.name for e in events}, Model(events, kind_of)
    if alone != "--stacks":
        memory_agrees(report, program, path, events)
        memory_calls_agree(report, program, path, events)
    if kind_of == "perf" and alone != "--memory" and "sched_switch" in names:
        stacks_agree(report, program, path, perf_chains(path), events)
    if kind_of == "ctf" and alone == "--stacks":
        stacks_agree(report, program, path, ctf_chains(path), events)
    if kind_of == "ftrace" and alone == "--stacks" and "kernel_stack" in names:
        kernel_stacks_agree(report, program, path)
    if alone == "--stacks":
        off_agrees(report, program, path, model)
    if alone:
        return report.close()
    if "sched_switch" in names:
        waits_agree(report, program, path, model)
        runs_agree(report, program, path, model)
        off_agrees(report, program, path, model)
        if kind_of == "perf" and not model.gaps:
            timehist_agrees(report, program, path)
        if kind_of == "perf" and {"sched_wakeup", "sched_wakeup_new"} <= names:
            perf_latency_agrees(report, program, path, model)
        path_agrees(report, program, path, model, events[0].time if kind_of == "ctf" else 0,
                    events[-1].time, "+%dns" if kind_of == "ctf" else "@%d")
        gaps_agree(report, program, path)
    if kind_of == "perf" and "callchain" in path:
        perf_report_agrees(report, program, path)
    migrations_agree(report, program, path, events)
    pairs_agree(report, program, path, events)
    calls_agree(report, program, path, events, kind_of)
    switched = max({e.cpu: e.time for e in reversed(events) if e.name == "sched_switch"}.values(), default=0)
    locks_agree(report, program, path, events, switched if kind_of == "ctf" else 0)
    if kind_of != "ctf":
        io_agrees(report, program, path, events)
    return report.close()


def main():
    program, kind_of, paths = sys.argv[1], sys.argv[2], sys.argv[3:]
    if kind_of == "perf" and not perf_tool.installed() or kind_of == "ftrace" and not ftrace_tool.installed():
        print("analyses_agree.py: skipped: the tool to compare with is not installed (%s)" % kind_of)
        sys.exit(0)
    alone = paths.pop(0) if paths[0].startswith("--") else None
    good = [compare(program, kind_of, path, alone) for path in paths]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()

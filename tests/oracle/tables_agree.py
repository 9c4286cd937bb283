#!/usr/bin/python3
"""Compares every table of every analysis, of whole traces and of ranges, with what other tools print.

    tables_agree.py YORE perf|ftrace|ctf [--samples] TRACE...

With --samples call chains alone are compared: perf recorded single processes, and the model of threads is of whole CPUs.
analyses_agree.py compares logs of whole traces. Here are the tables that count, the lists of the longest, and ranges, of which half
of the bounds lie within a millisecond of an end of the trace, or at an event. Two steps:

- what a log lists is compared with a model of threads, calls and pairs that is fed with the events as perf script, trace-cmd report and
  babeltrace2 print them;
- what counts (stats, freq, threads, top ...) is computed again from these lists, by the sums of this file.

What has no log (cputop, switches, sched top, memtop, top) is computed from the other tool's events. All questions of a trace are put to one
prompt, in one go. What a recording does not have is counted as not asked.
"""
import bisect
import collections
import csv
import io
import os
import random
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import analyses_agree as base
import ftrace_tool
import perf_tool
import symbols_agree
import tool_events
import wakers_agree
import yore_says
from analyses_agree import Segment, first, signed
from yore_says import Report

MS, NEVER = 10 ** 6, 1 << 62
RANGES, MANY = 4, 10000
OFF = ("sleeping", "blocked", "ready", "stopped", "traced", "parked")
ASLEEP = set(OFF) - {"ready"}
SOFTIRQS = ("HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU")
READS = {"read", "pread64", "readv", "preadv", "preadv2", "recvfrom", "recvmsg", "recv"}
WRITES = {"write", "pwrite64", "writev", "pwritev", "pwritev2", "sendto", "sendmsg", "send", "sendfile", "sendfile64", "splice"}


# Asking ---------------------------------------------------------------------------------------------

def value_of(text):
    if text.isdigit() or text[:1] == "-" and text[1:].isdigit():
        return int(text)
    if re.match(r"^-?\d+(\.\d+)?(e[+-]?\d+)?$", text) and ("." in text or "e" in text):
        return float(text)
    return None if text == "" else base.number(text)


def tables_of(text):
    """Rows of the tables of one answer in csv; each table that has other columns has a head of its own."""
    rows, head = [], None
    for line in csv.reader(io.StringIO(text)):
        if head is None or line and line[0] == "table":
            head = line
        else:
            rows.append({key: value_of(cell) if key not in ("comm", "next") else cell or None for key, cell in zip(head, line)})
    return rows


def ask(program, path, questions):
    """Answers by question, from one prompt: rows, or the message."""
    lines = []
    for n, words in enumerate(questions):
        lines += ['print("@@ %d")' % n, words + " --format csv"]
    done = subprocess.run([program, "--no-index", path], input="\n".join(lines + ['print("@@ end")', ""]).encode(),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    parts = re.split(r"^@@ (?:\d+|end)\n", done.stdout.decode("utf-8", "replace"), flags=re.M)[1:]
    if len(parts) != len(questions) + 1:
        return None, done.stderr.decode("utf-8", "replace")
    return {words: tables_of(part) if part else None for words, part in zip(questions, parts)}, \
        done.stderr.decode("utf-8", "replace")


# What other tools say ---------------------------------------------------------------------------------

class Run(collections.namedtuple("Run", "tid cpu begin end sure")):
    """A thread on a CPU; sure: both of its switches were seen."""


UNSURE = "unsure"


class Told:
    """The events of one trace as another tool prints them, and what they mean."""

    def __init__(self, kind_of, events, bounds=None):
        self.kind_of, self.events, self.names = kind_of, events, {e.name for e in events}
        self.model = base.Model(events, kind_of)
        self.calls = base.calls_of(events)[0]
        self.recorded = base.Recorded(events)
        self.begin, self.end = bounds or (min(e.time for e in events), max(e.time for e in events) + 1)
        self.last_switch = min(self.model.last_switches, default=0)
        self.open = [Segment(tid, now[1], NEVER, now[0], now[2], None, None)
                     for tid, now in self.model.now.items() if now[1] is not None and
                     (now[0] != "parked" or "exit_syscall" not in self.names)]  # before Linux 4.14 such a thread died
        self.states = collections.defaultdict(list)
        for s in self.model.segments + self.open:
            self.states[s.tid].append(s)
        for own in self.states.values():
            own.sort(key=lambda s: s.begin)
        self.running = self.runs()
        self.wakings = self.read_wakings()
        self.entries, self.named, self.has_names = {}, collections.defaultdict(list), False

    def read_wakings(self):
        """{thread: [(time, waker)]}: the number of a thread, the text of an interrupt, UNSURE where the events as they are printed
        do not tell."""
        found, flags = collections.defaultdict(list), any("common_flags" in e.fields for e in self.events if e.fields)
        for t, tid, waker, sure in wakers_agree.wakings_of(self.events):
            found[tid].append((t, waker if sure and (flags or self.kind_of == "ctf") and waker is not None else UNSURE))
        return found

    def runs(self):
        found, last = [], {}
        for e in self.events:
            if e.name == "sched_switch":
                previous = first(e.fields, "prev_tid", "prev_pid")
                tid, since = last.get(e.cpu, (previous, None))
                found.append(Run(previous, e.cpu, since or self.begin, e.time, since is not None and tid == previous))
                if tid != previous:
                    found.append(Run(tid, e.cpu, since, e.time, False))
                last[e.cpu] = first(e.fields, "next_tid", "next_pid"), e.time
        found += [Run(tid, cpu, since, self.end, False) for cpu, (tid, since) in last.items()]
        self.of_cpu = collections.defaultdict(list)
        for run in sorted(found, key=lambda r: r.begin):
            self.of_cpu[run.cpu].append(run)
        return found

    def who(self, cpu, t):
        """The thread on the CPU at t, after its events; None: not known."""
        own = self.of_cpu[cpu]
        at = bisect.bisect_right(own, t, key=lambda r: r.begin) - 1
        return own[at].tid if at >= 0 and own[at].sure and t < own[at].end else None

    def thread_of(self, event):
        return event.tid if event.tid is not None else self.who(event.cpu, event.time - 1)

    def is_sure(self, s, start, stop):
        """Must the part of the segment in the range be known?"""
        if s.state == "unknown" or (s.tid, s.begin) in self.model.perhaps or s.state == "ready" and self.model.may_differ(s.begin, s.begin):
            return False  # one that is woken where switches are missing may run on that CPU
        if s.end < NEVER:
            return self.model.surely(s) or s.end >= stop and s.begin > self.model.open_until and \
                not self.model.may_differ(max(s.begin, start), stop) and not self.model.stops_within(s, stop)
        return stop <= self.last_switch and s.begin > self.model.open_until and not self.model.may_differ(s.begin, stop)


def ranges(told):
    """Ranges [start, stop): all of the trace; and others, of whose bounds half lie near an end of the trace or of what all CPUs tell."""
    edges = [told.begin, told.end, told.recorded.begin, told.recorded.end]
    def moment():
        if random.random() < 0.5:
            return random.choice(edges) + random.randint(-MS, MS)
        return random.choice(told.events).time + random.choice((-1, 0, 0, 1))
    found = [(None, told.begin, told.end)]
    third = (told.recorded.end - told.recorded.begin) // 3
    if third > 0:  # one of which all CPUs tell, for critical paths
        inside = told.recorded.begin + third, told.recorded.end - third + 1
        found.append((" --begin @%d --end @%d" % inside, *inside))
    for _ in range(1000):
        start, stop = sorted((moment(), moment()))
        if start < stop and start < told.end and stop > told.begin and len(found) <= (RANGES if len(told.events) < MANY else 2):
            found.append((" --begin @%d --end @%d" % (start, stop), max(start, told.begin), min(stop, told.end)))
    return found


# Sums --------------------------------------------------------------------------------------------------

def sums(rows, by):
    """{key: (count, total, min, max, p50, p99)} of a list of rows with dur."""
    lengths = collections.defaultdict(list)
    for r in rows:
        lengths[tuple(r.get(column) for column in by)].append(r["dur"])
    found = {}
    for key, own in lengths.items():
        own.sort()
        rank = lambda p: own[max(0, -(-p * len(own) // 100) - 1)]
        found[key] = {"count": len(own), "total": sum(own), "min": own[0], "max": own[-1], "p50": rank(50), "p99": rank(99),
                      "mean": sum(own) / len(own)}
    return found


def same_sums(report, what, rows, log, by):
    """Each row of a table is the sum of the log's rows of its key, and no key is missing; the longest began then."""
    if rows is None or log is None:
        report.differs("%s: no answer" % what)
        return
    theirs = sums(log, by)
    ours = {tuple(r.get(column) for column in by): r for r in rows}
    if len(ours) != len(rows):
        report.differs("%s: a key stands twice" % what)
    report.same("the keys of " + what, sorted(map(str, ours)), sorted(map(str, theirs)))
    begins = collections.defaultdict(set)
    for r in log:
        begins[tuple(r.get(column) for column in by) + (r["dur"],)].add(r["begin"] if "begin" in r else r["end"] - r["dur"])
    for key, row in ours.items():
        wanted = theirs.get(key)
        for name in wanted or {}:
            if name in row and row[name] != wanted[name] and (name != "mean" or abs(row[name] - wanted[name]) > 1e-5 * wanted[name]):
                report.differs("%s: %s of %s is %r, not %r" % (what, name, key, row[name], wanted[name]))
        if wanted and "max_begin" in row and row["max_begin"] not in begins[key + (row["max"],)]:
            report.differs("%s: the longest of %s did not begin at %s" % (what, key, row["max_begin"]))
    report.tables += 1


def same_freq(report, what, rows, lengths):
    """Buckets of powers of two, without holes."""
    theirs = collections.Counter(n.bit_length() for n in lengths)
    ours = {}
    for r in rows or []:
        low, high = r["low"], r["high"]
        if not (low == 0 and high == 1 or high == 2 * low and low & low - 1 == 0):
            report.differs("%s freq: from %s to %s is no bucket" % (what, low, high))
        ours[high.bit_length() - 1] = r["count"]
    report.same(what + " freq", {k: n for k, n in ours.items() if n}, dict(theirs))
    if rows and abs(rows[-1]["cumulated"] - 100) > 0.001:
        report.differs("%s freq: all are %s %%" % (what, rows[-1]["cumulated"]))
    report.tables += 1


def same_longest(report, what, rows, log):
    """`top` has the ten longest rows of the log, the longest first."""
    key = lambda r: (r["begin"], r["end"])
    longest = sorted((r["dur"] for r in log or []), reverse=True)[:10]
    report.same(what + " top", [r["dur"] for r in rows or []], longest)
    report.same(what + " top is of the log", {key(r) for r in rows or []} - {key(r) for r in log or []}, set())
    report.tables += 1


# Threads -----------------------------------------------------------------------------------------------

def whole_states(told, start, stop, wanted):
    return [s for s in told.model.segments if start <= s.begin and s.end < stop and wanted(s)]


def instead_agrees(report, told, row):
    """The three threads that ran longest during the wait, by the runs of the switches, where all of it is known."""
    ran = collections.Counter()
    for r in told.running:
        part = min(r.end, row["end"]) - max(r.begin, row["begin"])
        if r.cpu == row["cpu"] and r.sure and part > 0:
            ran[r.tid] += part
    if sum(ran.values()) != row["dur"] or told.model.may_differ(row["begin"], row["end"]):
        return
    ours = [(row["instead" + n], row["instead_percent" + n]) for n in ("", "2", "3") if row["instead" + n] is not None]
    shares = sorted((100 * n / row["dur"] for n in ran.values()), reverse=True)[:3]
    if (len(ours) != len(shares) or any(abs(a - b) > 0.001 for (_, a), b in zip(ours, shares))
            or any(abs(100 * ran[tid] / row["dur"] - n) > 0.001 for tid, n in ours)):
        report.differs("latency top: instead of %s from %s ran %s, not %s" % (row["tid"], row["begin"], ours, ran.most_common(3)))
    report.tables += 1


def latency_agrees(report, told, start, stop, get):
    log = get("latency log")
    waits = whole_states(told, start, stop, lambda s: s.state == "ready" and s.after == "running")
    must = {s[:3] for s in waits if told.is_sure(s, start, stop)}
    base.same_sets(report, "waits", {(r["tid"], r["begin"], r["end"]) for r in log}, {s[:3] for s in waits}, must, told.model)
    stats, top, freq = get("latency"), get("latency top"), get("latency freq")
    for r in stats:
        r["kind"] = r["table"]
    same_sums(report, "latency stats", stats, log, ("kind", "tid"))
    for kind in ("woken", "preempted", "new"):
        same_freq(report, "latency " + kind, [r for r in freq if r["table"] == kind], [r["dur"] for r in log if r["kind"] == kind])
    same_longest(report, "latency", top, log)
    for r in top:
        instead_agrees(report, told, r)
        own = told.wakings[r["tid"]]
        at = bisect.bisect_right(own, r["begin"], key=lambda w: w[0]) - 1
        waker = r["waker"] if r["waker_kind"] == "thread" else r["waker_comm"]
        if r["kind"] == "woken" and at >= 0 and own[at][1] not in (UNSURE, waker):
            report.differs("latency top: %s was woken by %s at %s, not %s" % (r["tid"], own[at][1], r["begin"], waker))


def sched_agrees(report, told, start, stop, get):
    log, top = get("sched log"), get("sched")
    runs = [s for s in told.model.segments if s.state == "running" and start <= s.begin and s.end < stop]
    base.same_sets(report, "runs", {(r["tid"], r["end"] - r["dur"], r["end"]) for r in log},
                   {s[:3] for s in runs}, {s[:3] for s in runs if told.is_sure(s, start, stop)}, told.model)
    same_freq(report, "sched", get("sched freq"), [r["dur"] for r in log])
    least, most = collections.Counter(), collections.Counter()
    for r in told.running:
        part = min(r.end, stop) - max(r.begin, start)
        if part > 0 and r.tid:
            most[r.tid] += part
            least[r.tid] += part if r.sure else 0
    gaps = sum(min(b, stop) - max(a, start) for a, b in told.model.gaps if a < stop and b > start)
    ours = {r["tid"]: r["total"] for r in top}
    for tid in set(ours) | {tid for tid, n in least.items() if n}:
        if not least[tid] <= ours.get(tid, 0) <= most[tid] + gaps:
            report.differs("sched top: %s ran for %s, not %s to %s" % (tid, ours.get(tid), least[tid], most[tid] + gaps))
    report.tables += 1
    cputop_agrees(report, told, (start, stop), ours, get)


def cputop_agrees(report, told, span, ran, get):
    start, stop = span
    threads, cpus, gaps = get("cputop threads"), get("cputop cpus"), get("gaps unknown")
    report.same("threads of cputop", {r["tid"]: r["total"] for r in threads}, ran)
    for row in cpus:
        own = [r for r in told.running if r.cpu == row["cpu"] and r.sure and min(r.end, stop) > max(r.begin, start)]
        busy = sum(min(r.end, stop) - max(r.begin, start) for r in own if r.tid)
        idle = sum(min(r.end, stop) - max(r.begin, start) for r in own if not r.tid)
        if row["busy"] < busy or row["unknown_time"] > stop - start - busy - idle or row["busy"] + row["unknown_time"] + idle > stop - start:
            report.differs("cputop: CPU %s is busy for %s, unknown %s; switches say %s and idle %s of %s" % (
                row["cpu"], row["busy"], row["unknown_time"], busy, idle, stop - start))
        report.same("gaps of CPU %s" % row["cpu"], sum(g["dur"] for g in gaps if g["cpu"] == row["cpu"]), row["unknown_time"])
    for g in gaps:
        for r in told.running:
            if r.cpu == g["cpu"] and r.sure and r.begin < g["end"] and g["begin"] < r.end:
                report.differs("gaps: CPU %s is unknown from %s, when %s ran" % (r.cpu, g["begin"], r.tid))
    report.tables += 3


def call_at(told, tid, t):
    """The calls in which the thread may be at t."""
    if not told.entries:
        for (who, begin, end), _ in told.calls.items():
            told.entries.setdefault(who, []).append((begin, end))
    return [c for c in told.entries.get(tid, []) if c[0] < t < c[1]]


def named_calls(told):
    """{thread: [(begin, end, name)]}: by the events' names, or by their numbers on this machine; a call without an exit ends NEVER."""
    if not told.named:
        old_names = "exit_syscall" in {e.name for e in told.events}  # LTTng before 2.6: sys_NAME, and one event for all exits
        enters, leaves = (r"(?:compat_)?sys_(\w+)$", r"exit_syscall$") if old_names else \
            (r"sys_enter()$", r"sys_exit$") if {"sys_enter", "sys_exit"} <= {e.name for e in told.events} else \
            (r"(?:compat_)?(?:syscall_entry_|sys_enter_)(\w+)$", r"(?:compat_)?(?:syscall_exit_|sys_exit_)")
        numbered = told.has_names and told.kind_of != "ctf"  # perf's conversion to CTF leaves out the machine
        names, open_ = numbers_of_calls() if numbered else {}, {}
        for e in told.events:
            entry = re.match(enters, e.name)
            if entry:
                tid = told.thread_of(e)
                number = signed(first(e.fields, "NR", "id"))
                name = entry[1] or (names.get(number) if numbered else number)
                old = open_.get(tid)
                if old:
                    told.named[tid].append((*old[:1], NEVER, old[1]))
                open_[tid] = e.time, name
            elif re.match(leaves, e.name):
                tid = told.thread_of(e)
                if tid in open_:
                    begin, name = open_.pop(tid)
                    told.named[tid].append((begin, e.time, name))
        for tid, (begin, name) in open_.items():
            told.named[tid].append((begin, NEVER, name))
    return told.named


def in_agrees(report, told, row):
    """The call that a thread was in when it left the CPU."""
    tid, t, ours = row["tid"], row["begin"], row["syscall"]
    around = [c for c in named_calls(told)[tid] if c[0] <= t <= c[1]]
    inside = [c for c in around if c[0] < t < c[1] < NEVER and told.recorded.tells(tid, *c[:2])]
    if inside and inside[-1][2] is not None:
        report.calls += 1
        report.same("offcpu: the call of %s at %s" % (tid, t), ours, inside[-1][2])
    elif ours is not None and t > told.recorded.switched and all(c[2] is not None for c in around) and \
            ours not in [c[2] for c in around] and not told.model.may_differ(t, t):
        report.differs("offcpu: %s is in %s at %s, and made no such call" % (tid, ours, t))


def off_agrees(report, told, start, stop, get):
    log = get("offcpu log")
    off = [s for s in told.model.segments + told.open if s.state in OFF and s.begin < stop and s.end > start]
    clip = lambda s: (s.tid, max(s.begin, start), min(s.end, stop), s.state)
    theirs, must = set(map(clip, off)), {clip(s) for s in off if told.is_sure(s, start, stop)}
    ours = set()
    for row in log:
        item = row["tid"], row["begin"], row["end"], row["state"]
        is_cut = row["after"] is None or row["after"] == "exiting" and row["end"] > told.last_switch
        if item in theirs or not is_cut and row["begin"] > start:
            ours.add(item)
        if row.get("in") is None and row.get("syscall") is None and told.kind_of != "ctf" and item in must and \
                call_at(told, item[0], item[1]) and told.recorded.tells(item[0], *call_at(told, item[0], item[1])[0]):
            report.differs("offcpu: %s is in a call at %s, not in none" % item[:2])
        if "syscall" in row and item in theirs and told.recorded.begin < row["begin"]:
            in_agrees(report, told, row)
    base.same_sets(report, "stretches off the CPU", ours, theirs, must, told.model)
    has_calls = any("syscall" in r for r in log)
    thread = ("tid", "state", "syscall") if has_calls else ("tid", "state")
    same_sums(report, "offcpu", get("offcpu"), log, thread)
    same_sums(report, "offcpu --by state", get("offcpu --by state"), log, ("state",))
    same_sums(report, "offcpu --by syscall", get("offcpu --by syscall"), log, thread[1:])
    same_longest(report, "offcpu", get("offcpu top"), log)


def path_of(told, tid, start, stop):
    """Stretches of the path back from the end, (begin, end, what, thread, state, sleeper): as critical-path's help says; ends where the model is not sure."""
    def before(thread, t):
        return next((s for s in told.states[thread] if s.begin < t <= s.end), None)

    path, t, hops = [], stop, 0
    while t > start:
        s = before(tid, t)
        if s is None or not told.is_sure(s, start, stop) or hops > 50:
            break
        own = told.wakings[tid]
        at = bisect.bisect_right(own, t, key=lambda w: w[0]) - 1
        waker = own[at][1] if s.state in ASLEEP and s.end == t and at >= 0 else None
        if waker == UNSURE:
            break
        if isinstance(waker, int) and waker not in (0, tid):
            tid, hops = waker, hops + 1
            continue
        what = "idle" if waker == 0 else waker if isinstance(waker, str) else None
        path.append((max(s.begin, start), t, what, None, s.state, tid) if what else (max(s.begin, start), t, "thread", tid, s.state, None))
        t, hops = s.begin, 0
    return path


def path_agrees(report, told, span, tid, get):
    start, stop = span
    log, table = get("critical-path log --tid %d" % tid), get("critical-path --tid %d" % tid)
    if log is None:
        return
    ours = []
    for r in reversed(log):  # a thread that exits runs
        item = [r["begin"], r["end"], r["what"], r["tid"], "running" if r["state"] == "exiting" else r["state"], r["sleeper"]]
        if ours and ours[-1][2:] == item[2:] and ours[-1][0] == item[1]:
            ours[-1][0] = item[0]
        else:
            ours.append(item)
    theirs = path_of(told, tid, start, stop)
    for a, b in zip(ours, theirs):
        if tuple(a) != b:
            report.differs("the critical path of %d has %s, not %s" % (tid, a, b))
            break
    if sum(r["dur"] for r in log) != stop - start or len(ours) < len(theirs):
        report.differs("the critical path of %d does not fill the range" % tid)
    report.paths += len(theirs)
    summed = [r if r["tid"] is not None else dict(r, state=None) for r in log]  # whoever waits for it, and how
    same_sums(report, "critical-path", table, summed, ("what", "tid", "state"))


# Calls, pairs, counts ------------------------------------------------------------------------------------

def numbers_of_calls():
    try:
        with open("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", encoding="ascii") as file:
            return {int(m[2]): m[1] for m in re.finditer(r"#define __NR_(\w+) (\d+)", file.read())}
    except OSError:
        return {}


def calls_agree(report, told, start, stop, get):
    """Calls of which both ends lie in the range, their names by number, and who failed how."""
    import errno
    log = get("syscalls log")
    theirs = {key: ret for key, ret in told.calls.items() if start <= key[1] and key[2] < stop}
    ours = {(r["tid"], r["begin"], r["end"]): r for r in log if r["tid"] is not None}
    known = max(told.recorded.switched, start) if told.kind_of == "ctf" else 0
    ours = {key: r for key, r in ours.items() if key[1] > known}
    theirs = {key: ret for key, ret in theirs.items() if key[1] > known}
    base.same_sets(report, "system calls", set(ours), set(theirs), {key for key in theirs if told.recorded.tells(*key)})
    for key in set(ours) & set(theirs):
        if signed(ours[key]["ret"]) != signed(theirs[key]):
            report.differs("the call %s returned %s, not %s" % (key, ours[key]["ret"], theirs[key]))
    names, number = numbers_of_calls(), {}
    for e in told.events:
        if e.name == "sys_enter":
            number[e.tid, e.time] = e.fields["id"]
    for key, r in ours.items():
        wanted = number.get(key[:2])
        if told.kind_of == "ctf":  # does not tell of which machine they are
            wanted = None
        elif told.has_names:
            wanted = names.get(wanted)
        if wanted is not None and str(r["name"]) != str(wanted):
            report.differs("the call %s is %s, not %s" % (key, r["name"], wanted))
    failed = [dict(r, dur=1, begin=0) for r in log if r["ret"] is not None and r["ret"] < 0]
    for verb, by in (("syscalls", ("name",)), ("syscalls threads", ("tid", "name"))):
        same_sums(report, verb, get(verb), log, by)
        wanted = sums(failed, by)
        for row in get(verb):
            key = tuple(row[c] for c in by)
            report.same("failures of %s" % (key,), row["failed"], wanted[key]["count"] if key in wanted else 0)
    errors = get("syscalls errors")
    same_sums(report, "syscalls errors", errors, failed, ("name", "ret"))
    for row in errors:
        wanted = {name for name in dir(errno) if getattr(errno, name) == -row["ret"]}
        if wanted and row["error"] not in wanted:
            report.differs("the error %s is %s, not %s" % (row["ret"], row["error"], wanted))
    same_freq(report, "syscalls", get("syscalls freq"), [r["dur"] for r in log])
    same_longest(report, "syscalls", get("syscalls top"), log)
    io_agrees(report, log, get)


def io_agrees(report, calls, get):
    log = get("io log")
    wanted = [r for r in calls if r["name"] in READS | WRITES]
    key = lambda r: (r["begin"], r["end"], r["tid"] or -1, r["name"])
    report.same("calls of io", sorted(map(key, log)), sorted(map(key, wanted)))
    moved = {key(r): max(r["ret"] or 0, 0) for r in wanted}
    for r in log:
        report.same("bytes of %s" % (key(r),), r["bytes"], moved.get(key(r)))
    same_sums(report, "io latency", get("io latency"), log, ("name",))
    same_freq(report, "io", get("io freq"), [r["dur"] for r in log])
    top = get("io")
    same_sums(report, "io top", top, log, ("tid",))
    for row in top:
        for way, names in (("read", READS), ("written", WRITES)):
            report.same("bytes %s by %s" % (way, row["tid"]), row[way],
                        sum(moved.get(key(r), 0) for r in wanted if r["tid"] == row["tid"] and r["name"] in names))


def irq_agrees(report, told, start, stop, get):
    log, open_, theirs = get("irq log"), {}, {}
    kinds = {"irq_handler_entry": "irq", "softirq_entry": "softirq", "irq_softirq_entry": "softirq"}
    for e in told.events:
        if e.name in kinds:
            open_[kinds[e.name], e.cpu] = e
        kind = kinds.get(e.name.replace("exit", "entry"))
        if e.name not in kinds and kind and (kind, e.cpu) in open_:
            begun = open_.pop((kind, e.cpu))
            if start <= begun.time and e.time < stop:
                number = first(begun.fields, "irq", "vec")
                theirs[kind, number, e.cpu, begun.time, e.time] = SOFTIRQS[number] if kind == "softirq" and number < 10 else None
    ours = {(r["kind"], r["irq"], r["cpu"], r["begin"], r["end"]): r["name"] for r in log}
    whole = {key for key in theirs if told.recorded.begin < key[3] and key[4] < told.recorded.end}
    base.same_sets(report, "interrupts", set(ours), set(theirs), whole)
    for key, name in theirs.items():
        if name and ours.get(key, name).upper() != name:
            report.differs("softirq %s is %s, not %s" % (key[1], ours[key], name))
    same_sums(report, "irq", get("irq"), log, ("kind", "irq", "cpu"))
    freq = get("irq freq")
    for kind in ("irq", "softirq"):
        same_freq(report, kind, [r for r in freq if r["table"] == kind], [r["dur"] for r in log if r["kind"] == kind])
    same_longest(report, "irq", get("irq top"), log)


def moves_agree(report, told, start, stop, get):
    theirs = [(e.time, first(e.fields, "tid", "pid"), e.fields["orig_cpu"], e.fields["dest_cpu"])
              for e in told.events if e.name == "sched_migrate_task" and start <= e.time < stop]
    report.same("migrations", sorted((r["begin"], r["tid"], r["from"], r["to"]) for r in get("migrations log")), sorted(theirs))
    report.same("migrations of threads", {r["tid"]: r["count"] for r in get("migrations")}, dict(collections.Counter(m[1] for m in theirs)))
    report.same("migrations of CPUs", {(r["from"], r["to"]): r["count"] for r in get("migrations moves")},
                dict(collections.Counter(m[2:] for m in theirs)))
    report.tables += 3


def switches_agree(report, told, start, stop, get):
    own = [e for e in told.events if e.name == "sched_switch" and start <= e.time < stop]
    report.same("switches of CPUs", {r["cpu"]: r["count"] for r in get("switches cpus")}, dict(collections.Counter(e.cpu for e in own)))
    report.same("switches to threads", {r["tid"]: r["count"] for r in get("switches threads")},
                dict(collections.Counter(first(e.fields, "next_tid", "next_pid") for e in own)))
    for r in get("switches cpus"):
        if abs(r["rate"] - r["count"] * 1e9 / (stop - start)) > 1e-5 * r["rate"]:
            report.differs("switches: CPU %s has %s a second" % (r["cpu"], r["rate"]))
    report.tables += 2


def waits_for_locks(told):
    """(thread, begin, end, address, kind) of futex calls that wait, and of the kernel's own locks."""
    open_, found = {}, []
    for e in told.futexes:
        if e.name == "contention_begin":
            open_[e.tid, "kernel"] = e
        elif e.name == "contention_end" and (e.tid, "kernel") in open_:
            begun = open_.pop((e.tid, "kernel"))
            found.append((e.tid, begun.time, e.time, begun.fields["lock_addr"] & (1 << 64) - 1, "kernel"))
        elif re.match(r"(syscall_entry|sys_enter)_futex$", e.name):
            open_[told.thread_of(e), "futex"] = e
        elif re.match(r"(syscall_exit|sys_exit)_futex$", e.name) and (told.thread_of(e), "futex") in open_:
            tid = told.thread_of(e)
            begun = open_.pop((tid, "futex"))
            if begun.fields["op"] & 0x7f in base.WAITING:
                found.append((tid, begun.time, e.time, begun.fields["uaddr"] & (1 << 64) - 1, "futex"))
    return found


def locks_agree(report, told, start, stop, get):
    log = get("locks log")
    theirs = {w for w in waits_for_locks(told) if start <= w[1] and w[2] < stop}
    if log is None:  # an error: the trace tells no end of any wait
        base.same_sets(report, "waits for locks", set(), theirs, theirs)
        return
    ours = {(r["tid"], r["begin"], r["end"], r["lock"], r["kind"]) for r in log}
    if told.kind_of == "ctf":
        known = lambda items: {w for w in items if w[1] > max(told.recorded.switched, start)}
        ours, theirs = known(ours), known(theirs)
    base.same_sets(report, "waits for locks", ours, theirs, {w for w in theirs if told.recorded.tells(*w[:3])})
    same_sums(report, "locks", get("locks"), log, ("lock", "kind"))
    same_sums(report, "locks threads", get("locks threads"), log, ("lock", "kind", "tid"))
    same_sums(report, "locks holders", get("locks holders"), log, ("lock", "kind", "holder"))
    same_longest(report, "locks", get("locks top"), log)


# Periods: begin, end, key of the begin, key of the end, fields, nested
PERIODS = (
    ("sched_waking", "sched_wakeup", "pid", "pid", {"prio": "begin:prio", "cpu": "end:target_cpu"}, False),
    ("sched_waking", "sched_wakeup", "tid", "tid", {"prio": "begin:prio", "cpu": "end:target_cpu"}, False),
    ("sched_switch", "sched_switch", "next_pid", "prev_pid", {"state": "end:prev_state", "prio": "begin:next_prio"}, False),
    ("sched_switch", "sched_switch", "next_tid", "prev_tid", {"state": "end:prev_state", "prio": "begin:next_prio"}, False),
    ("sys_enter", "sys_exit", "common_pid", "common_pid", {"id": "begin:id", "ret": "end:ret"}, False),
    ("softirq_raise", "softirq_exit", "vec", "vec", {}, True),
    ("irq_softirq_raise", "irq_softirq_exit", "vec", "vec", {}, True),
    ("kmem_kmalloc", "kmem_kfree", "ptr", "ptr", {"size": "begin:bytes_alloc"}, False),
    ("span_begin", "span_end", "vtid", "vtid", {"id": "begin:id", "left": "end:id"}, True),
    ("span_begin", "span_end", "id", "id", {"arg": "begin:arg", "left": "end:arg"}, False),
    ("mm_page_alloc", "mm_page_free", "order", "order", {"type": "begin:migratetype"}, True),
)


def periods_of(events, period):
    """(key, begin, end, fields): an end ends the last begin that is open; a begin replaces it, nested stands on top of it."""
    begin, finish, key, other, fields, nested = period
    open_, found = collections.defaultdict(list), []
    for e in events:
        of = e.fields.get(other, e.tid)
        if e.name == finish and of is not None and open_[of]:
            begun = open_[of].pop()
            found.append((of, begun.time, e.time, tuple((begun if at.startswith("begin") else e).fields.get(at.split(":")[1])
                                                        for at in fields.values())))
        of = e.fields.get(key, e.tid)
        if e.name == begin and of is not None:
            open_[of] = open_[of] + [e] if nested else [e]
    return found


def period_words(told, period):
    """The words of the question; None: the trace has no such events."""
    begin, finish, key, other, fields, nested = period
    if key == "common_pid":
        key = other = {"perf": "context/tid", "ftrace": key}.get(told.kind_of)
    elif not all(key in e.fields for e in told.events if e.name == begin):
        return None
    if not key or not {begin, finish} <= told.names:
        return None
    for field in fields.values():
        at, name = field.split(":")
        if not any(name in e.fields for e in told.events if e.name == (begin if at == "begin" else finish)):
            return None
    at = lambda column: column if column in ("context/tid", "common_pid", "vtid") else "payload/" + column
    return "--from %s --until %s --key %s --until-key %s" % (begin, finish, at(key), at(other)) + \
        "".join(" --field %s=%s" % field for field in fields.items()) + (" --nested" if nested else "")


def periods_agree(report, told, start, stop, get):
    for period in PERIODS:
        words = period_words(told, period)
        if not words:
            continue
        log, fields = get("periods log " + words), list(period[4])
        if log is None:
            report.differs("periods %s: no answer" % words)
            continue
        inside = [e for e in told.events if start <= e.time < stop]
        theirs = set(periods_of(inside, period))
        ours = {(r["key"], r["begin"], r["end"], tuple(signed(r[f]) for f in fields)) for r in log}
        decimal = lambda n: signed(int(n)) if isinstance(n, str) and n.isdigit() else signed(n)  # trace-cmd pads CPUs with zeros
        theirs = {p[:3] + (tuple(map(decimal, p[3])),) for p in theirs}
        whole = {p for p in theirs if told.recorded.begin < p[1] and p[2] < told.recorded.end and
                 not any(a <= p[2] and p[1] <= b for a, b in told.model.gaps)}
        base.same_sets(report, "periods", ours, theirs, whole)
        by = fields[:1] or ["key"]
        same_sums(report, "periods", get("periods " + words), log, ("key",))
        same_sums(report, "periods --by", get("periods " + words + "".join(" --by " + f for f in by)), log, tuple(by))
        same_freq(report, "periods", get("periods freq " + words), [r["dur"] for r in log])
        same_longest(report, "periods", get("periods top " + words), log)


def disks_agree(report, told, start, stop, get):
    open_, log = {}, []
    for e in told.events:
        at = e.fields.get("dev"), e.fields.get("sector")
        if not start <= e.time < stop:
            continue
        if e.name == "block_rq_issue":
            open_[at] = e.time
        elif e.name == "block_rq_complete" and at in open_:
            begin = open_.pop(at)
            log.append({"disk": "%d:%d" % (at[0] >> 20, at[0] & 0xfffff), "dur": e.time - begin, "begin": begin})
    rows = get("io disks")
    surely = [r for r in log if told.recorded.begin < r["begin"] and r["begin"] + r["dur"] < told.recorded.end and
              not any(a <= r["begin"] + r["dur"] and r["begin"] <= b for a, b in told.model.gaps)]
    if len(surely) == len(log):
        same_sums(report, "io disks", rows, log, ("disk",))
    else:  # one that lasts when a CPU begins or ceases to tell, or lacks events, need not be counted
        most, least = (sums(some, ("disk",)) for some in (log, surely))
        for r in rows or []:
            low, high = (of.get((r["disk"],), {"count": 0, "total": 0}) for of in (least, most))
            if not all(low[c] <= r[c] <= high[c] for c in ("count", "total")):
                report.differs("io disks: %s has %s requests, not %s to %s" % (r["disk"], r["count"], low["count"], high["count"]))
        report.same("disks of io", sorted(set(least) - {(r["disk"],) for r in rows or []}), [])
    report.disks += len(log)


# Samples ---------------------------------------------------------------------------------------------------

class Samples:
    """Call chains as perf script prints them: {"time", "tid", "comm", "weight", "frames": [(function, module)], "folded"}."""

    def __init__(self, path):
        self.path, self.list = path, []
        said = perf_tool.run("script", "-i", path, "--ns", "-F", "comm,pid,tid,time,period,event,ip,sym,symoff,dso")
        for line in said.split(b"\n"):
            head = symbols_agree.HEAD.match(line)
            if head:
                time = head["time"].split(b".")
                own = {"time": int(time[0]) * 10 ** 9 + int(time[1]), "tid": int(head["tid"]), "comm": head["comm"].decode(), "lines": [],
                       "weight": int(head["period"] or 1), "event": head["event"]}
            elif symbols_agree.FRAME.match(line):
                if not own["lines"]:
                    self.list.append(own)
                own["lines"].append(line.decode("utf-8", "surrogateescape"))
        for own in self.list:
            own["frames"] = [self.frame(line) for line in own["lines"]]
            while len(own["frames"]) > 1 and own["frames"][-1][0] == "0x0":
                own["frames"].pop()
            names = [symbols_agree.folded_name(line) for line in own["lines"]]
            own["folded"] = own["comm"].replace(" ", "_"), ";".join(names[::-1])

    @staticmethod
    def frame(line):
        ip, name, module = re.match(r"^\s*(\w+) (.+) \(([^()]*(?: \(deleted\))?)\)$", line).groups()
        name = re.sub(r"\+0x[\da-f]+$", "", name)
        return "0x" + ip if name == "[unknown]" else name, module.split("/")[-1]

    def function(self):
        """The one that most samples are in, of those that a word of the command line can name."""
        found = collections.Counter(name for own in self.list for name, _ in set(own["frames"][1:]) if re.match(r"^[A-Za-z_]\w*$", name))
        return found.most_common(1)[0][0] if found else None


class LttngSamples:
    """The same of LTTng's contexts callstack_kernel and callstack_user, as babeltrace2 prints them: addresses that nothing names."""

    def __init__(self, path):
        self.path = path
        self.list = [{"time": time, "tid": tid, "event": event.encode(), "weight": 1,
                      "frames": [(hex(a), "[unknown]") for a in addresses]}
                     for time, event, tid, addresses in tool_events.ctf_stacks(path) if addresses]

    def function(self):
        found = collections.Counter(name for own in self.list for name, _ in set(own["frames"][1:]))
        return min(found, key=lambda name: (-found[name], name)) if found else None


def counted_by(samples, keys_of, self_of):
    """{key: (self, total)}: a sample counts once for each key."""
    found = collections.defaultdict(lambda: [0, 0])
    for own in samples:
        for key in set(keys_of(own)):
            found[key][1] += own["weight"]
        if self_of(own) is not None:
            found[self_of(own)][0] += own["weight"]
    return {key: tuple(sums) for key, sums in found.items()}


def neighbours(own, function, step):
    names = [name for name, _ in own["frames"]]
    return [own["frames"][i + step] for i, name in enumerate(names) if name == function and 0 <= i + step < len(names)]


def top_agrees(report, samples, start, stop, get):
    some = [own for own in samples.list if start <= own["time"] < stop]
    if not some:
        return
    counted = symbols_agree.counted_event(samples.path, [own["event"] for own in some])
    some = [own for own in some if own["event"] == counted]
    weight = sum(own["weight"] for own in some)
    inner = lambda own: own["frames"][0]
    wanted = {
        "top functions": (("function", "module"), counted_by(some, lambda own: own["frames"], inner)),
        "top modules": (("module",), counted_by(some, lambda own: [(m,) for _, m in own["frames"]], lambda own: inner(own)[1:])),
        "top threads": (("tid",), counted_by(some, lambda own: [(own["tid"],)], lambda own: None)),
    }
    of = samples.function()
    if of and any(of == name for own in some for name, _ in own["frames"]):
        wanted["top callers --of " + of] = ("function", "module"), counted_by(some, lambda own: neighbours(own, of, 1), lambda own: None)
        wanted["top callees --of " + of] = ("function", "module"), counted_by(
            some, lambda own: neighbours(own, of, -1), lambda own: inner(own) if len(own["frames"]) > 1 and own["frames"][1][0] == of else None)
    for question, (by, theirs) in wanted.items():
        rows = get(question)
        name = lambda c, v: "0x%x" % v if c == "function" and isinstance(v, int) else v
        ours = {tuple(name(c, r[c]) for c in by): (r.get("self", 0), r["total"]) for r in rows or []}
        for key in sorted(set(ours) | set(theirs), key=str):
            report.same("%s: %s" % (question, key), ours.get(key), theirs.get(key))
        for r in rows or []:
            if weight and abs(r["total_percent"] - 100 * r["total"] / weight) > 0.001:
                report.differs("%s: %s is %s %% of %d" % (question, r["total"], r["total_percent"], weight))
        report.tables += 1
    tree_agrees(report, some, get)
    if some and "folded" not in some[0]:
        return
    folded = collections.Counter()
    for own in some:
        folded[own["folded"]] += 1 if symbols_agree.is_tracepoint(own["event"]) else own["weight"]  # as stackcollapse-perf counts
    rows = get("flamegraph") or []
    report.same("flamegraph", {(r["comm"], r["stack"]): r["weight"] for r in rows}, dict(folded))
    report.tables += 1


def tree_agrees(report, some, get):
    """Each way from an outermost function down, as often as the other tool's stacks begin so."""
    theirs = counted_by(some, lambda own: [tuple(own["frames"][:i - 1:-1] if i else own["frames"][::-1]) for i in range(len(own["frames"]))],
                        lambda own: tuple(own["frames"][::-1]))
    ours, above = {}, []
    for r in get("top tree --min 0") or []:
        name, stack = ("0x%x" % r[c] if isinstance(r[c], int) else r[c] for c in ("function", "stack"))
        above = above[:r["depth"]] + [(name, r["module"])]
        if len(above) != r["depth"] + 1 or stack != ";".join(name for name, _ in above):
            report.differs("top tree: %s is not below %s" % (name, above))
        ours[tuple(above)] = r["self"], r["total"]
    for key in sorted(set(ours) | set(theirs), key=str):
        report.same("top tree: %s" % (key,), ours.get(key), theirs.get(key))
    report.tables += 1


def top_questions(samples):
    of = samples.function()
    return ["top functions", "top tree --min 0", "top modules", "top threads"] + (["flamegraph"] if "folded" in samples.list[0] else []) + \
        (["top %s --of %s" % (verb, of) for verb in ("callers", "callees")] if of else [])


def losses_agree(report, program, path, kind_of):
    """`gaps losses` has as many lost events as the other tool counts; where it counts none, there are none."""
    rows, why = base.rows_of(program, "gaps", path, "losses")
    if rows is None:
        report.differs("gaps: " + why)
        return
    if kind_of == "perf":
        said = perf_tool.run("script", "-i", path, "--show-lost-events").decode("utf-8", "replace")
        theirs = [int(m) for m in re.findall(r"PERF_RECORD_LOST lost (\d+)", said)]
    elif kind_of == "ftrace":
        theirs = [drop.count for drop in ftrace_tool.raw_report(path)[1]]
    else:
        done = subprocess.run(["babeltrace2", path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        theirs = [int(m) for m in re.findall(rb"[Tt]racer discarded (\d+) events", done.stderr)]
    report.same("places of losses", sorted(r["lost"] or -1 for r in rows), sorted(n or -1 for n in theirs))
    report.facts.append("%d places of losses" % len(theirs))


# All of it ------------------------------------------------------------------------------------------------

NEEDS = (
    (latency_agrees, ("sched_switch",), ("latency log", "latency", "latency top", "latency freq")),
    (sched_agrees, ("sched_switch",), ("sched log", "sched", "sched freq", "cputop threads", "cputop cpus", "gaps unknown")),
    (off_agrees, ("sched_switch",), ("offcpu log", "offcpu", "offcpu top", "offcpu --by state", "offcpu --by syscall")),
    (switches_agree, ("sched_switch",), ("switches cpus", "switches threads")),
    (moves_agree, ("sched_migrate_task",), ("migrations log", "migrations", "migrations moves")),
    (irq_agrees, ("softirq_entry", "irq_softirq_entry", "irq_handler_entry"), ("irq log", "irq", "irq freq", "irq top")),
    (locks_agree, ("syscall_entry_futex", "sys_enter_futex", "contention_begin"), ("locks log", "locks", "locks threads", "locks holders", "locks top")),
    (calls_agree, ("calls",), ("syscalls log", "syscalls", "syscalls threads", "syscalls errors", "syscalls freq", "syscalls top", "io log",
                               "io latency", "io freq", "io")),
    (disks_agree, ("block_rq_issue",), ("io disks",)),
)


def questions(told, tids):
    """(compare, [questions]) of what the trace has the events for."""
    names = told.names | ({"calls"} if told.calls else set()) | {e.name for e in told.futexes}
    found = [(compare, list(words)) for compare, needs, words in NEEDS if any(name in names for name in needs)]
    periods = []
    for period in PERIODS:
        words = period_words(told, period)
        if words:
            by = "".join(" --by " + f for f in list(period[4])[:1] or ["key"])
            periods += ["periods log " + words, "periods " + words, "periods " + words + by, "periods freq " + words, "periods top " + words]
    if periods:
        found.append((periods_agree, periods))
    if "sched_switch" in told.names and "sched_waking" in told.names:
        for tid in tids:
            compare = lambda report, told, start, stop, get, tid=tid: path_agrees(report, told, (start, stop), tid, get)
            found.append((compare, ["critical-path log --tid %d" % tid, "critical-path --tid %d" % tid]))
    return found


def compare(program, kind_of, path, alone):
    name = path.rstrip("/").split("/")
    report = Report("tables " + (name[-2] if name[-1].startswith(("perf.", "trace.")) else name[-1]))
    report.tables = report.paths = report.disks = report.calls = 0
    losses_agree(report, program, path, kind_of)
    events = {"perf": base.perf_events, "ftrace": base.ftrace_events, "ctf": base.ctf_events}[kind_of](path)
    if not events:
        return report.close()
    random.seed(len(events))
    times = [r["time"] for r in perf_tool.records(path) if r["time"] is not None] if kind_of == "perf" else None
    told = Told(kind_of, events, times and (min(times), max(times) + 1))
    told.has_names = base.tells_machine(path)  # numbers of calls are of a known machine
    told.futexes = base.futex_calls(path, events)
    runs = collections.Counter(r.tid for r in told.running if r.tid)
    samples = Samples(path) if kind_of == "perf" else LttngSamples(path) if kind_of == "ctf" else None
    chains = [(lambda report, told, *rest: top_agrees(report, samples, *rest), top_questions(samples))] if samples and samples.list else []
    asked = [(words, start, stop, ([] if alone else questions(told, random.sample(sorted(runs), min(2, len(runs))))) + chains)
             for words, start, stop in ranges(told)]
    answers, messages = ask(program, path, [q + (words or "") for words, _, _, some in asked for _, all_ in some for q in all_])
    if answers is None:
        report.differs("the prompt: " + messages[-300:])
        return report.close()
    for words, start, stop, some in asked:
        wrong = report.wrong
        if words:
            base.memory_agrees(report, program, path, events, (start, stop), words.split())
            base.memory_calls_agree(report, program, path, events, (start, stop), words.split())
        for agrees, _ in some:
            agrees(report, told, start, stop, lambda q, words=words: answers[q + (words or "")])
        if report.wrong > wrong:
            print("  that is in%s, %d to %d" % (words or " all of it", start, stop))
    report.facts = [fact for fact in report.facts if "memtop" in fact or "losses" in fact][:3] + ["%d tables, %d stretches of critical paths, in %d ranges" % (report.tables, report.paths, len(asked))] + \
        ["%d %s" % fact for fact in ((report.disks, "requests of disks"), (report.calls, "threads off the CPU in a call")) if fact[0]]
    return report.close()


def main():
    program, kind_of, paths = sys.argv[1], sys.argv[2], sys.argv[3:]
    if kind_of == "perf" and not perf_tool.installed() or kind_of == "ftrace" and not ftrace_tool.installed():
        print("tables_agree.py: skipped: the tool to compare with is not installed (%s)" % kind_of)
        sys.exit(0)
    alone = paths.pop(0) if paths[0] == "--samples" else None
    good = [compare(program, kind_of, path, alone) for path in paths]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Compares who woke each thread with a naive walk over what other tools print.

    wakers_agree.py YORE ctf|perf|ftrace TRACE...

Each sched_waking is by what its CPU does then: a hard interrupt (its handler, or a timer), a softirq, else a thread. Of events of perf and
ftrace common_flags say which of the three. Of LTTng's traces a walk in order of time knows it by the entries and exits of interrupts, softirqs
and timers on that CPU, once it has seen one of each. yore may know nothing only where the walk does not know it either.
"""
import bisect
import collections
import csv
import io
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tool_events
import yore_says
from tool_events import first

SOFTIRQS = "HI TIMER NET_TX NET_RX BLOCK IRQ_POLL TASKLET SCHED HRTIMER RCU".split()
OPENS = {"irq_handler_entry": ("irq", lambda f: (f["irq"], f["name"])), "irq_softirq_entry": ("softirq", lambda f: f["vec"]),
         "softirq_entry": ("softirq", lambda f: f["vec"]), "timer_hrtimer_expire_entry": ("hrtimer", lambda f: True),
         "hrtimer_expire_entry": ("hrtimer", lambda f: True), "timer_expire_entry": ("timer", lambda f: True)}
CLOSES = {"irq_handler_exit": "irq", "irq_softirq_exit": "softirq", "softirq_exit": "softirq", "timer_hrtimer_expire_exit": "hrtimer",
          "hrtimer_expire_exit": "hrtimer", "timer_expire_exit": "timer"}
HARD, SOFT = 8, 16


class Cpu:
    def __init__(self):
        self.now, self.seen = {}, set()

    def take(self, event):
        if event.name in OPENS:
            kind, what = OPENS[event.name]
            self.now[kind] = what(event.fields)
            self.seen.add(kind)
        elif event.name in CLOSES:
            self.now.pop(CLOSES[event.name], None)
            self.seen.add(CLOSES[event.name])

    def waker(self, flags, thread):
        """What wakes, and whether it is certain."""
        now = self.now
        if flags is None:
            sure = {"irq", "softirq", "hrtimer"} <= self.seen
            flags = HARD if "irq" in now or "hrtimer" in now else SOFT if "softirq" in now or "timer" in now else 0
        else:
            sure = True
        if flags & HARD:
            if "hrtimer" in now and now.get("softirq") != 8:
                return "timer", sure
            return ("irq %d %s" % now["irq"] if "irq" in now else "interrupt"), sure
        if flags & SOFT:
            if "timer" in now or "hrtimer" in now:
                return "timer", sure
            return ("softirq " + SOFTIRQS[now["softirq"]] if "softirq" in now else "softirq"), sure
        return thread, sure


def wakings_of(events):
    """(time, thread, waker, is it certain)"""
    cpus, running = collections.defaultdict(Cpu), {}
    for e in events:
        cpus[e.cpu].take(e)
        if e.name == "sched_switch":
            running[e.cpu] = first(e.fields, "next_tid", "next_pid")
        elif e.name == "sched_waking":
            thread = running.get(e.cpu) if e.tid is None else e.tid
            yield (e.time, first(e.fields, "tid", "pid"), *cpus[e.cpu].waker(e.fields.get("common_flags"), thread))


def told_by(yore, path):
    """{thread: ([begins], [(end, value)])} of thread[*]/waker."""
    done = yore_says.run(yore, "state", path, "thread[*]/waker", "--format", "csv", "--no-index", "--quiet")
    rows = collections.defaultdict(list)
    for row in csv.DictReader(io.StringIO(done.stdout.decode())):
        value = row["value"]
        rows[int(row["path"][len("thread["):row["path"].index("]")])].append(
            (int(row["begin"] or -1), int(row["end"] or 1 << 62), int(value) if value.lstrip("-").isdigit() else value))
    return {tid: ([r[0] for r in sorted(own)], [r[1:] for r in sorted(own)]) for tid, own in rows.items()}


def compare(yore, kind, path):
    report = yore_says.Report("wakers " + os.path.basename(path))
    events = {"ctf": tool_events.ctf_events, "perf": tool_events.perf_events, "ftrace": tool_events.ftrace_events}[kind](path)
    if events is None:
        report.facts.append("events were lost: not compared")
        return report.close()
    ours, kinds, unknown = told_by(yore, path), collections.Counter(), 0
    last = {}
    for t, tid, waker, sure in wakings_of(events):
        last[tid, t] = waker, sure
    for (tid, t), (waker, sure) in last.items():
        begins, ends = ours.get(tid, ([], []))
        at = bisect.bisect_right(begins, t) - 1
        value = ends[at][1] if at >= 0 and t < ends[at][0] else None
        if value is None and not sure:
            unknown += 1
        elif value != waker and (value is not None or sure):
            report.differs("at %d thread %d is woken by %r, not by %r" % (t, tid, waker, value))
        kinds["thread" if isinstance(waker, int) else (waker or "none").split()[0]] += 1
    report.facts.append("%d wake-ups: %s; %d unknown" % (len(last), ", ".join("%d by %s" % (n, k) for k, n in kinds.most_common()), unknown))
    if not last or unknown > len(last) / 2:
        report.differs("too little is known")
    return report.close()


if __name__ == "__main__":
    sys.exit(0 if all([compare(sys.argv[1], sys.argv[2], path) for path in sys.argv[3:]]) else 1)

#!/usr/bin/python3
"""Waits, delays and run times of each switch are those of `perf sched timehist`: by sched, latency, offcpu and SQL's wakeups.

    timehist_agree.py YORE FILE...       perf.data files of all CPUs with sched_switch and sched_wakeup, or sched_waking alone
    timehist_agree.py YORE --fresh N     N recordings of this machine, made now

A walk over the events that perf script prints says of each switch how long the thread ran, since when it was off the CPU, when it was woken
meanwhile and when it was forked. timehist's rows must be that walk's, to the microsecond that it prints: so the walk is right, and yore must have
the same, to the nanosecond. timehist counts from sched_waking where that was recorded, yore from sched_wakeup where that was, and of a new thread
from its fork. yore may leave out what began before all CPUs were recorded, or where switches are missing; and, without sched_wakeup, the sleep of
a thread that was woken while it ran: the wake-up may have come when it was about to leave, and then it does not sleep.
"""
import collections
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import analyses_agree
import perf_tool
import tool_events
import yore_says
from analyses_agree import rows_of
from yore_says import Report

ROW = re.compile(r"^ *(\d+)\.(\d{6}) \[(\d+)\] +(?:.*\[|:)(-?\d+)(?:/-?\d+)?\]? +(\d+)\.(\d{3}) +(\d+)\.(\d{3}) +(\d+)\.(\d{3}) *$")
SOME = ["sched:sched_switch", "sched:sched_wakeup", "sched:sched_wakeup_new", "sched:sched_process_fork", "sched:sched_process_exit",
        "sched:sched_migrate_task"]
WAKING = ["sched:sched_waking" if name == "sched:sched_wakeup" else name for name in SOME]  # as perf sched record takes them
LOADS = ["for i in 1 2 3; do (sleep 0.01; cat /usr/bin/perf >/dev/null) & done; wait",
         "seq 1 5000 | sort | tail -n 1 >/dev/null; for i in 1 2 3 4; do /bin/true & done; wait",
         "for i in 1 2 3 4; do (i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); done) & done; wait",
         "dd if=/dev/zero bs=4k count=300 2>/dev/null | dd of=/dev/null bs=1k 2>/dev/null; sleep 0.02"]

# What a thread did when it left its CPU at `end`: it ran from `begin` on (None: not known); before that it was off the CPU from `out` on (None:
# it was not seen to leave), ready when it left, first woken and first about to be woken meanwhile, woken once more, forked, about to be woken while
# it ran before.
Turn = collections.namedtuple("Turn", "tid cpu begin end out ready woken waking again forked leaving")


def turns_of(events, only_waking, open_until):
    """The turns of all threads but the idle ones, by CPU, in order. One that came before all CPUs were recorded may have been woken unseen."""
    found, since, waking = collections.defaultdict(list), {}, {}
    off = collections.defaultdict(lambda: dict.fromkeys(Turn._fields[4:]))
    wakes = ("sched_waking", "sched_wakeup_new") if only_waking else ("sched_wakeup", "sched_wakeup_new")
    for e in events:
        fields = e.fields
        if e.name == "sched_switch":
            begin = since.get(e.cpu)
            tid = fields["prev_pid"]
            if tid:
                known = begin is not None and begin[1] == tid
                found[e.cpu].append(Turn(tid, e.cpu, begin[0] if known else None, e.time, **at_begin(off[tid], begin[0] if known else e.time)))
                off[tid] = dict.fromkeys(off[tid], None)
                off[tid].update(out=e.time, ready=fields["prev_state"] & 0xff == 0, leaving=only_waking and (not known or max(waking.get(tid, 0), open_until) >= begin[0]))
            since[e.cpu] = e.time, fields["next_pid"]
        elif e.name in ("sched_wakeup", "sched_wakeup_new", "sched_waking"):
            own = off[fields["pid"]]
            if e.name in wakes:
                own["again"], own["woken"] = own["woken"] and e.time, own["woken"] or e.time
            if e.name != "sched_wakeup":  # a new thread has no waking before
                own["waking"], waking[fields["pid"]] = own["waking"] or e.time, e.time
        elif e.name == "sched_process_fork":
            off[fields["child_pid"]] = dict(dict.fromkeys(off[fields["child_pid"]]), forked=e.time)
    return found


def at_begin(off, begin):
    """What was told of the thread until it came: it may be woken once more while it runs."""
    return {key: value if key == "ready" or value is None or value <= begin else None for key, value in off.items()}


def timehist_agrees(report, path, turns, has_waking):
    """The rows of a CPU are its turns in order: run, wait and delay, cut to microseconds."""
    rows = collections.defaultdict(list)
    for match in map(ROW.match, perf_tool.run("sched", "timehist", "--no-call-graph", "-i", path).decode("utf-8", "replace").split("\n")):
        if match:
            wait, delay, run = (int(match[i]) * 1000 + int(match[i + 1]) for i in (5, 7, 9))
            rows[int(match[3])].append((int(match[1]) * 10 ** 6 + int(match[2]), int(match[4]), wait, delay, run))
    compared = 0
    for cpu, own in turns.items():
        if [(t.end // 1000) for t in own] != [row[0] for row in rows[cpu]]:
            report.differs("timehist's rows of CPU %d are not its switches" % cpu)
            continue
        for t, (_, tid, wait, delay, run) in zip(own, rows[cpu]):
            if tid != t.tid or t.begin is None:  # samples of a thread that exits are of thread -1, which has all of their sums
                continue
            woken = t.waking if has_waking else t.woken
            ours = (t.begin - (t.out if t.out is not None else t.begin), t.begin - (woken if woken is not None else t.begin), t.end - t.begin)
            compared += 1
            if (wait, delay, run) != tuple(n // 1000 for n in ours):
                report.differs("timehist says of %s wait, delay, run %s us, its events %s ns" % (t, (wait, delay, run), ours))
    report.facts.append("%d rows of timehist" % compared)


class Yore:
    """What yore says of a file, by how the turn is found: by its end, or its begin."""

    def __init__(self, report, program, path):
        def rows(*words):
            found, why = rows_of(program, words[0], path, *words[1:])
            if found is None:
                report.differs("%s: %s" % (words[0], why))
            return found or []
        self.runs = {(r["tid"], r["cpu"], r["end"]): r for r in rows("sched", "log")}
        self.waits = {(r["tid"], r["end"]): r for r in rows("latency", "log")}
        self.wakeups = {(r["tid"], r["ts"] + r["latency"]): r["ts"] for r in rows(
            "sql", "SELECT tid, ts, latency FROM wakeups WHERE latency IS NOT NULL")}
        self.off = collections.defaultdict(dict)
        for r in rows("offcpu", "log"):
            self.off[r["tid"]][r["end"]] = r["begin"], r["state"]

    def off_since(self, tid, t):
        """When the stretches off the CPU begin that touch each other and end at t; None: there is none."""
        since = None
        while t in self.off[tid]:
            t = since = self.off[tid][t][0]
        return since


def must_be_known(model, lasts, t):
    """Do all CPUs tell what the thread did from where it left its CPU until its turn ended, and longer? perf stops them one by one."""
    sleeps = t.ready or not t.leaving
    return t.begin is not None and t.out is not None and sleeps and not model.is_unsure(t.tid, t.out, t.end) and t.end < lasts


def turn_agrees(report, yore, t, must):
    """Of one turn; returns whether the wait before it is told."""
    run = yore.runs.get((t.tid, t.cpu, t.end))
    if must and (not run or run["wait"] is None):
        report.differs("sched does not tell %s: %s" % (t, run))
    if run and (run["dur"] != t.end - t.begin or run["wait"] not in (None, t.begin - (t.out or 0))):
        report.differs("sched says of %s %s" % (t, run))
    since = yore.off_since(t.tid, t.begin)
    if since != t.out and (must or since is not None and t.out is not None and since < t.out):
        report.differs("offcpu says of %s that it was off since %s" % (t, since))
    wait, ready = yore.waits.get((t.tid, t.begin)), ready_since(t)
    if wait and (wait["begin"], wait["kind"]) != ready or must and not wait and ready[0] is not None:
        report.differs("latency says of %s %s, not %s" % (t, wait and (wait["begin"], wait["kind"]), ready))
    woken = ready[0] if ready[1] != "preempted" else None
    if run and run["delay"] is not None and run["delay"] != t.begin - (woken or 0) or must and run and (run["delay"] is None) != (woken is None):
        report.differs("sched says of %s the delay %s" % (t, run["delay"]))
    told = yore.wakeups.get((t.tid, t.begin))
    if told is not None and told != woken or must and woken is not None and told is None:
        report.differs("SQL says of %s that it was woken at %s" % (t, told))
    return wait is not None


def ready_since(t):
    """Since when the thread could have run, and why; None: its wake-up was not recorded, as perf enables events one by one."""
    if t.out is not None:
        return (t.out, "preempted") if t.ready else (t.woken, "woken")
    return (t.forked, "new") if t.forked is not None else (t.woken, "woken")


def compare(program, path):
    report = Report("timehist " + os.path.basename(path))
    events = tool_events.perf_events(path)
    names = {e.name for e in events or []}
    if not names & {"sched_wakeup", "sched_waking"}:
        report.facts.append("not compared: " + ("events were lost" if events is None else "no wake-up was recorded"))
        return report.close()
    events = sorted(events, key=lambda e: e.time)
    model = analyses_agree.Model(events)
    turns = turns_of(events, "sched_wakeup" not in names, model.open_until)
    timehist_agrees(report, path, turns, "sched_waking" in names)
    yore, told, sure = Yore(report, program, path), 0, 0
    last = min(model.last_switches, default=0)
    for t in [t for own in turns.values() for t in own if t.begin is not None]:
        must = must_be_known(model, last, t)
        sure += must
        # the kernel wakes no thread that is ready: between two wake-ups it ran and slept unseen
        if t.again is None and (must or not model.is_unsure(t.tid, t.out if t.out is not None else t.begin, t.end)):
            told += turn_agrees(report, yore, t, must)
    report.facts.append("%d waits, %d must be known" % (told, sure))
    return report.close()


def fresh(program, count):
    good = True
    for i in range(count):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "perf.data")
            events = (SOME, ["sched:*"], WAKING)[i % 3]  # without sched_waking, with it, with it alone
            subprocess.run(["perf", "record", "-q", "-a", "-m", "4M", *[word for name in events for word in ("-e", name)], "-o", path, "--", "timeout",
                            "0.2", "sh", "-c", LOADS[i // 3 % len(LOADS)]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            if not os.path.exists(path) or not os.path.getsize(path):
                print("timehist_agree.py: skipped: perf record -a is refused here")
                return good
            if not compare(program, path):
                good = False
                if "KEEP" in os.environ:
                    subprocess.run(["cp", path, os.path.join(os.environ["KEEP"], "perf-%d.data" % i)], check=True)
    return good


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    program, words = sys.argv[1], sys.argv[2:]
    if not perf_tool.installed():
        print("timehist_agree.py: skipped: perf is not installed")
        sys.exit(0)
    sys.exit(not (fresh(program, int(words[1])) if words[0] == "--fresh" else all([compare(program, path) for path in words])))


main()

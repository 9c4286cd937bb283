#!/usr/bin/python3
"""ovni_state_agree.py YORE CORPUS [DOC] - state of ovni traces against ovniemu's Paraver traces.

Each row of thread.prv and cpu.prv is a series of values over time, per type. yore's state gives the
same series; both are compared at every nanosecond at which either changes. ovniemu shows what a
thread does only while it runs (or is active), and a CPU without one thread as resting; that is
applied to yore's values here. With DOC, the
numbers of changes that agree must be those in its table.
"""
import bisect
import collections
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(__file__))
import ovni_tool  # noqa: E402
import yore_says  # noqa: E402

STATES = {"running": 1, "paused": 2, "dead": 3, "cooling": 4, "warming": 5}
ACTIVE = ("running", "cooling", "warming")
# type → (model, what yore calls it below thread[T], while the thread is: running, active, any)
TYPES = {
    7: ("ovni", "ovni/flushing", "any"),
    10: ("nosv", "nosv/task", "run"), 11: ("nosv", "nosv/type", "run"),
    12: ("nosv", "nosv/app", "run"), 13: ("nosv", "nosv/subsystem", "active"),
    14: ("nosv", "nosv/rank", "run"), 15: ("nosv", "nosv/body", "run"),
    16: ("nosv", "nosv/idle", "run"),
    20: ("tampi", "tampi/subsystem", "active"), 25: ("mpi", "mpi/function", "run"),
    30: ("nodes", "nodes/subsystem", "active"),
    35: ("nanos6", "nanos6/task", "run"), 36: ("nanos6", "nanos6/type", "run"),
    37: ("nanos6", "nanos6/subsystem", "active"), 38: ("nanos6", "nanos6/rank", "run"),
    39: ("nanos6", "nanos6/role", "any"), 40: ("nanos6", "nanos6/idle", "run"),
    45: ("kernel", "kernel/context", "any"),
    50: ("openmp", "openmp/subsystem", "active"), 51: ("openmp", "openmp/label", "active"),
    52: ("openmp", "openmp/task", "active"),
}
UNSORTED = ("suite-ovni-sort",)  # ovniemu ended at the first event out of order


class Series:
    """A value over time; None where there is none."""

    def __init__(self):
        self.times, self.values, self.ends = [], [], None

    def add(self, time, value):
        if self.times and self.times[-1] == time:
            self.values[-1] = value
        else:
            self.times.append(time)
            self.values.append(value)

    def at(self, time):
        i = bisect.bisect_right(self.times, time) - 1
        return self.values[i] if i >= 0 else None


def drawn(text):
    """(row, type) → Series, from a .prv."""
    found = collections.defaultdict(Series)
    for line in text.splitlines()[1:]:
        _, _, _, _, row, time, kind, value = line.split(":")
        found[int(row), int(kind)].add(int(time), int(value))
    return found


def labels(text):
    """(type, label) → value, from a .pcf."""
    found, kind = {}, None
    for block in text.split("EVENT_TYPE\n")[1:]:
        head, _, values = block.partition("\nVALUES\n")
        kind = int(head.split()[1])
        for line in values.splitlines():
            words = line.split(None, 1)
            if len(words) == 2 and words[0].isdigit():
                found.setdefault((kind, words[1].strip()), int(words[0]))
    return found


def rows(text, head):
    """Names of a .row, as they are counted from 1."""
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith(head))
    return [line.strip() for line in lines[at + 1:] if line.strip()]


def loom_order(folder):
    """Names of looms as ovniemu numbers them: by least rank where all have one, else by name."""
    ranks, names = {}, set()
    for place, _, files in os.walk(folder):
        if "stream.json" in files:
            with open(os.path.join(place, "stream.json")) as file:
                said = json.load(file)["ovni"]
            names.add(said["loom"])
            if "rank" in said:
                ranks[said["loom"]] = min(said["rank"], ranks.get(said["loom"], said["rank"]))
    return sorted(names, key=lambda name: (ranks[name] if len(ranks) == len(names) else 0, name))


def asked(program, folder):
    """path → Series, without the host in front."""
    found = collections.defaultdict(Series)
    done = yore_says.run(program, "info", folder, "--no-index")
    hosts = "host[*]/" if done.stdout.decode().count("\nformat") > 1 else ""
    for what in ("thread[*]/**", "loom[*]/cpu[*]/**"):
        done = yore_says.run(program, "state", folder, hosts + what, "--format", "json", "--no-index")
        items = sorted((json.loads(line) for line in done.stdout.splitlines()),
                       key=lambda item: item["begin"] if item["begin"] is not None else -1)
        for item in items:
            path = re.sub(r"^host\[[^]]*\]/", "", item["path"])
            begin = item["begin"] if item["begin"] is not None else -1
            if found[path].times and found[path].times[-1] < begin and \
                    found[path].ends is not None and found[path].ends < begin:
                found[path].add(found[path].ends, None)
            found[path].add(begin, item["value"])
            found[path].ends = item["end"]
    for series in found.values():
        if series.ends is not None:
            series.add(series.ends, None)
    return found


def first_time(program, folder):
    done = yore_says.run(program, "events", folder, "--limit", "1", "--format", "json", "--no-index")
    return json.loads(done.stdout.splitlines()[0])["ts"]


class Case:
    def __init__(self, program, corpus, name):
        self.name = name
        self.folder = os.path.join(corpus, name, "ovni")
        self.read = lambda file: ovni_tool.read(corpus, name, "expected", file)
        self.ours = asked(program, self.folder)
        self.zero = first_time(program, self.folder)
        self.looms = loom_order(self.folder)
        self.cpus = rows(self.read("cpu.row"), "LEVEL THREAD")
        self.counts = collections.Counter()
        self.report = yore_says.Report("ovni/" + name)

    def number(self, kind, value, names):
        """A value as Paraver has it: 0 for none, a label's number, or the number."""
        if value is None or value is False:
            return 0
        if value is True:
            return 1
        if isinstance(value, str):
            return names.get((kind, value), "no number of %r" % value)
        return value + 1 if kind in (14, 38) else value

    def value_of(self, above, kind, time, names):
        """Of a thread or CPU, `above` being its path, without regard of the thread's state."""
        if 100 <= kind < 200:
            found = [self.ours["%s/%s[%d]" % (above[1], what, kind - 100)].at(time)
                     for what in ("mark", "mark_top")]
            value = next((item for item in found if item is not None), None)
        elif kind >= 200:
            value = self.ours["%s/nosv/counter[%d]" % (above[0], kind - 200)].at(time)
        else:
            value = self.ours["%s/%s" % (above[0], TYPES[kind][1])].at(time)
        return self.number(kind, value, names)

    def thread(self, tid, kind, names):
        base = "thread[%s]" % tid
        state = self.ours[base + "/ovni/state"]

        def value(time):
            now = state.at(time)
            if kind == 2:
                return int(tid) if now in ACTIVE else 0
            if kind == 4:
                return STATES.get(now, 0)
            if kind == 6:
                cpu = self.ours[base + "/ovni/cpu"].at(time)
                return 0 if cpu is None else 1 + self.cpu_row(self.ours[base + "/ovni/loom"].at(time),
                                                              cpu)
            shown = TYPES[kind][2] if kind in TYPES else "active"
            if shown == "run" and now != "running" or shown == "active" and now not in ACTIVE:
                return 0
            return self.value_of((base, base + "/ovni"), kind, time, names)
        return value

    def cpu_row(self, loom, phyid):
        place = self.looms.index(loom)
        return self.cpus.index("vCPU %d.*" % place if phyid == -1 else "CPU %d.%d" % (place, phyid))

    def cpu(self, row, kind, names):
        place, phyid = re.match(r"v?CPU (\d+)\.(.*)", self.cpus[row]).groups()
        base = 'loom["%s"]/cpu[%s]' % (self.looms[int(place)], "-1" if phyid == "*" else phyid)

        def value(time):
            if kind in (1, 2, 3):
                found = self.ours["%s/%s" % (base, ("process", "thread", "running")[kind - 1])]
                return found.at(time) or 0
            if kind in (16, 40) and self.ours[base + "/thread"].at(time) is None:
                return names[kind, "Resting"]
            if kind == 7:
                return self.number(7, self.ours[base + "/flushing"].at(time), names)
            return self.value_of((base, base), kind, time, names)
        return value

    def times_of(self, kind, base):
        found = set()
        for path, series in self.ours.items():
            if path.startswith(base + "/"):
                found.update(series.times)
        return found

    def compare(self, file, value_of, base_of, count):
        names = labels(self.read(file + ".pcf"))
        theirs = drawn(self.read(file + ".prv"))
        changes = {}
        for (row, kind), series in sorted(theirs.items()):
            if row - 1 >= count:
                self.report.differs("%s.prv has a row %d" % (file, row))
                continue
            if row not in changes:
                changes[row] = sorted({time - self.zero for time in self.times_of(kind, base_of(row - 1))
                                       if time >= self.zero})
            ours = value_of(row - 1, kind, names)
            model = TYPES[kind][0] if kind in TYPES else "ovni" if kind < 200 else "nosv"
            for time in sorted(set(series.times) | set(changes[row])):
                if kind in (16, 40) and file == "cpu" and time < series.times[0]:
                    continue  # nothing has run there yet
                mine, wanted = ours(time + self.zero), series.at(time) or 0
                if mine != wanted:
                    self.report.differs("%s row %d type %d at %d is %r, not %r"
                                        % (file, row, kind, time, mine, wanted))
            self.counts[model] += len(series.times)

    def run(self):
        threads = [row.split(".")[-1] for row in rows(self.read("thread.row"), "LEVEL THREAD")]
        self.compare("thread", lambda row, kind, names: self.thread(threads[row], kind, names),
                     lambda row: "thread[%s]" % threads[row], len(threads))

        def cpu_base(row):
            place, phyid = re.match(r"v?CPU (\d+)\.(.*)", self.cpus[row]).groups()
            return 'loom["%s"]/cpu[%s]' % (self.looms[int(place)], "-1" if phyid == "*" else phyid)
        self.compare("cpu", self.cpu, cpu_base, len(self.cpus))
        self.report.facts.append(", ".join("%s %d" % item for item in sorted(self.counts.items()))
                                 + " changes")
        return self.report.close()


def main():
    program, corpus = sys.argv[1:3]
    failed, total, cases = 0, collections.Counter(), 0
    for name in ovni_tool.cases(corpus):
        if name.startswith("corrupt-") or name in UNSORTED or \
                not ovni_tool.read(corpus, name, "expected", "thread.prv"):
            continue
        case = Case(program, corpus, name)
        failed += not case.run()
        total += case.counts
        cases += 1
    print("ovni state: %d cases, %s changes; %d failed"
          % (cases, ", ".join("%s %d" % item for item in sorted(total.items())), failed))
    if len(sys.argv) > 3:
        with open(sys.argv[3]) as file:
            table = dict(re.findall(r"^\| (\w+) \| ([\d,]+) \|$", file.read(), re.M))
        told = {model: int(count.replace(",", "")) for model, count in table.items()}
        if told != dict(total):
            print("FAIL %s: its table says %s" % (sys.argv[3], told))
            failed += 1
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())

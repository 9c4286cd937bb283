#!/usr/bin/python3
"""Compares what yore says of generated recordings with what the generator knows of its machine.

    truth_agree.py YORE GENERATOR WAYS COUNT [FIRST]

COUNT recordings, each of another seed, shape and damage: losses, overwritten buffers, streams that
begin late or end early, switches that are missing without a word, recordings of some threads only,
two hosts merged. Of each:

  - `check --state` finds nothing that no machine can do;
  - at sampled moments, half of them within a millisecond of an edge (trace, stream, loss, packet),
    what is known of CPUs and threads is true, and what the recording tells is known;
  - WAYS (tests/state/real_state) finds that the backward pass, timelines, shards and ranges answer
    as replay does, at these moments.

Where a switch is missing without a word, what its CPU's earlier switch named cannot be told from the
truth unless a later event contradicts it: then it must not be known.
"""
import bisect
import collections
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

TOLD, UNTOLD, LOSS, BEFORE, MUTE = range(5)
STATE, CPU = 0, 1
MOMENTS = 60
NEAR = 1000000  # ns

SHAPES = (
    (),
    ("--lose", "0.3"),
    ("--lose", "0.3", "--flush", "0.2", "--index"),
    ("--overwritten", "6"),
    ("--late-stream",),
    ("--ended-stream",),
    ("--late-stream", "--ended-stream", "--lose", "0.2"),
    ("--overwritten", "4", "--ended-stream"),
    ("--overlap", "--overwritten", "3"),
    ("--mute", "0.02"),
    ("--mute", "0.2", "--late-stream"),
    ("--tasks", "3"),
    ("--lose", "0.3", "--late-losses"),
    ("--big-endian", "--large-headers", "--lose", "0.2", "--overwritten", "2"),
    ("--contexts", "--ended-stream", "--late-stream"),
)

# What the simulator calls a state, and what may be known of it from events.
STATES = {"R": {"running", "exiting"}, "W": {"ready"}, "w": {"sleeping", "blocked", "ready"},
          "S": {"sleeping"}, "D": {"blocked"}, "I": {"sleeping"}, "Z": {"exiting", "dead"}, "X": {"dead", None}}


def records(path, layout):
    with open(path, "rb") as file:
        data = file.read()
    _, _, _, begin, end = struct.unpack_from("<8sIIqq", data)
    return begin, end, struct.iter_unpack(layout, data[32:])


class Truth:
    """What one generated machine did, and what its trace tells of it."""

    def __init__(self, path, mute):
        self.mute = mute
        self.begin, self.end, rows = records(path + ".truth", "<qiHH")
        self.cpus = collections.defaultdict(list)
        for time, tid, cpu, kind in rows:
            self.cpus[cpu].append((time, tid, kind))
        for items in self.cpus.values():
            items.sort(key=lambda r: r[0])
        _, _, rows = records(path + ".threads", "<qiIq")
        self.threads = collections.defaultdict(list)
        for time, tid, fact, value in rows:
            if fact in (STATE, CPU):
                self.threads[tid, fact].append((time, chr(value) if fact == STATE else value))
        self.told = {cpu: self.claims(items) for cpu, items in self.cpus.items()}

    @staticmethod
    def claims(items):
        """[(time, until, what the recorded switch at `time` names, contradicted at `until`)]."""
        found, before = [], None
        for time, tid, kind in items:
            if kind == TOLD:
                if found:
                    found[-1] = found[-1][0], time, found[-1][2], found[-1][2] != before
                found.append((time, 1 << 62, tid, False))
            before = tid
        return found

    def cpu(self, cpu, time):
        """(true thread, what may be known besides, must it be known)."""
        items = self.cpus[cpu]
        i = bisect.bisect_right(items, time, key=lambda r: r[0]) - 1
        if i < 0 or time > self.end:  # the last packets end at self.end
            return None, set(), False
        tid, kind = items[i][1:]
        if not self.mute:
            return tid, set(), kind == TOLD
        told = self.told[cpu]
        i = bisect.bisect_right(told, time, key=lambda r: r[0]) - 1
        if i < 0:  # the first one's prev_tid is all there is
            after = told[0] if told else None
            at = bisect.bisect_left(items, after[0], key=lambda r: r[0]) - 1 if after else -1
            return tid, {items[at][1]} if at >= 0 else set(), False
        return tid, set() if told[i][3] else {told[i][2]}, False

    def thread(self, tid, fact, time):
        items = self.threads.get((tid, fact), [])
        i = bisect.bisect_right(items, time, key=lambda r: r[0]) - 1
        return items[i][1] if i >= 0 and time <= self.end else None


def run(*arguments, text=None):
    return subprocess.run(arguments, input=text, capture_output=True, text=True, check=False, timeout=120)


def rows(done):
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def moments_of(yore, trace, truth):
    """Half of them beside an edge."""
    edges = {truth.begin, truth.end}
    for row in rows(run(yore, "dump", *trace, "--format", "json", "--no-index")):
        edges |= {row[name] for name in ("min", "max", "begin", "end") if isinstance(row.get(name), int)}
    for items in truth.cpus.values():
        edges |= {time for time, _, kind in items if kind in (LOSS, BEFORE)}
        switches = [time for time, _, kind in items if kind == TOLD]
        edges |= set(switches[:1] + switches[-1:])
    edges = sorted(edges)
    found = set()
    while len(found) < MOMENTS:
        if random.random() < 0.5:
            found.add(random.choice(edges) + random.choice((-1, 0, 1, random.randint(-NEAR, NEAR))))
        else:
            found.add(random.randint(truth.begin, truth.end))
    return sorted(found)


class Case:
    def __init__(self, yore, name, options):
        self.yore, self.name, self.wrong, self.known, self.asked = yore, name, [], 0, 0
        self.overlap, self.lost = "--overlap" in options, []

    def differs(self, text):
        self.wrong.append(text)

    def check(self, trace):
        done = run(self.yore, "check", "--state", *trace, "--format", "json", "--no-index")
        found = rows(done)
        for row in found:
            if row["kind"] == "violation":
                self.differs("%(what)s %(begin)s to %(end)s; event of %(event)s, %(stream)s" % row)
        if done.returncode not in (0, 1) or not found or found[-1]["kind"] != "sum":
            self.differs("check --state ends with %d: %s" % (done.returncode, done.stderr[:200]))
        elif (done.returncode == 1) != (found[-1]["violations"] > 0):
            self.differs("check --state: exit status and violations differ")

    def forgotten(self, truth, cpu, time):
        """All is unknown once more in the last nanosecond of a loss; what follows, the next switch tells."""
        told = [at for at, _, kind in truth.cpus[cpu] if kind == TOLD]
        i = bisect.bisect_right(told, time)
        since = told[i - 1] if i else 0
        lost = [row for row in self.lost if row["cpu"] == cpu]
        last = any(time in (row["until"] - 1, row["ts"]) for row in lost)
        over = any(since < row["until"] <= time for row in lost)
        again = i == len(told) or any(time < row["until"] and row["ts"] < told[i] for row in lost)
        # events inside a loss: what a switch says holds where the next one is inside, too
        inside = any(row["ts"] <= time < row["until"] and
                     (since <= row["ts"] or i == len(told) or told[i] >= row["until"]) for row in lost)
        return last or over and again or inside

    def compare(self, row, truth, path):
        time, value = row["ts"], row["value"]
        key, name = int(path[path.index("[") + 1:path.index("]")]), path.rsplit("/", 1)[1]
        known = row.get("known", True)
        if self.overlap and time > truth.end:
            return  # packets that overlap end behind what was simulated
        if name == "thread":
            right, besides, must = truth.cpu(key, time)
            self.asked += 1
            self.known += known
            if known and value != right and value not in besides:
                self.differs("%s at %d is %r, not %r" % (row["path"], time, value, right))
            if not known and must and not self.forgotten(truth, key, time):
                self.differs("%s at %d is not known, it is %r" % (row["path"], time, right))
            return
        if key == 0 or truth.mute or not known:
            return
        right = truth.thread(key, STATE if name == "state" else CPU, time)
        good = {right} if name == "cpu" else STATES.get(right, {None, "ready"})  # ready: told by its fork
        if value not in good and not (value is None and right is None):
            self.differs("%s at %d is %r, not %s" % (row["path"], time, value, good))

    def ask(self, trace, truths, times):
        hosts = len(truths) > 1
        names = ["cpu[*]/thread", "thread[*]/state", "thread[*]/cpu"]
        if hosts:
            names = ["host[*]/" + name for name in names]
        text = "".join("@%d\n" % t for t in times)
        self.lost = rows(run(self.yore, "sql", *trace[:1], "SELECT cpu, ts, until FROM losses", *trace[1:],
                             "--format", "json", "--no-index"))
        done = run(self.yore, "at", *trace, "-", *names, "--format", "json", "--no-index", text=text)
        found = rows(done)
        if done.returncode not in (0, 3) or not found:
            self.differs("at ends with %d: %s" % (done.returncode, done.stderr[:200]))
        seen = set()
        for row in found:
            path, truth = row["path"], truths.get("")
            if hosts:
                host = path[path.index('"') + 1:path.index('"]')]
                path, truth = path[path.index('"]') + 3:], truths[host]
            if path.startswith("cpu["):
                seen.add((row["ts"], truth, int(path[4:path.index("]")])))
            self.compare(row, truth, path)
        for truth in truths.values():  # lists leave out what is not known
            for cpu in truth.cpus:
                for time in times:
                    right, _, must = truth.cpu(cpu, time)
                    if (time, truth, cpu) not in seen:
                        self.asked += 1
                        if must and not self.forgotten(truth, cpu, time):
                            self.differs("cpu[%d]/thread at %d is not known, it is %r" % (cpu, time, right))


def generate(generator, folder, name, seed, options):
    path = os.path.join(folder, name)
    cpus = 2 + seed % 6
    size = 40000 + seed * 7919 % 5 * 40000
    done = run(generator, "--out", path, "--seed", str(seed), "--size", str(size), "--cpus", str(cpus),
               "--packet-size", ("1024", "4096", "8192")[seed % 3], "--threads-truth", *options)
    if done.returncode:
        sys.exit("yore-gen: %s" % done.stderr)
    return path


def one(yore, generator, ways, seed):
    random.seed(seed)
    options = SHAPES[seed % len(SHAPES)]
    mute = "--mute" in options or "--tasks" in options
    merged = seed % 9 == 4
    case = Case(yore, "seed %d%s: %s" % (seed, ", two hosts" if merged else "", " ".join(options)),
                options if not merged else (*options, "--ended-stream"))
    with tempfile.TemporaryDirectory() as folder:
        path = generate(generator, folder, "a", seed, (*options, "--host", "a"))
        trace, truths = [path], {"": Truth(path, mute)}
        if merged:
            other = generate(generator, folder, "b", seed + 1000, ("--host", "b", "--ended-stream"))
            trace += ["--with", other]
            truths = {"a": truths[""], "b": Truth(other, False)}
        times = sorted({t for truth in truths.values() for t in moments_of(yore, trace, truth)})
        case.check(trace)
        case.ask(trace, truths, times)
        if not merged:
            done = run(ways, path, "-", str(seed), text="".join("@%d\n" % t for t in times))
            if done.returncode:
                case.differs("ways of answering differ: %s" % (done.stdout + done.stderr)[:400])
    return case


def main():
    yore, generator, ways, count = sys.argv[1:4] + [int(sys.argv[4])]
    first = int(sys.argv[5]) if len(sys.argv) > 5 else 0
    asked = known = bad = 0
    for seed in range(first, first + count):
        case = one(yore, generator, ways, seed)
        asked, known, bad = asked + case.asked, known + case.known, bad + bool(case.wrong)
        for text in case.wrong[:int(os.environ.get("SHOWN", 4))]:
            print("  %s: %s" % (case.name, text))
        if case.wrong:
            print("FAIL %s: %d disagreements" % (case.name, len(case.wrong)), flush=True)
    print("%s %d generated recordings, %d questions, %d known, %d recordings disagree" % (
        "FAIL" if bad else "ok  ", count, asked, known, bad))
    sys.exit(bad != 0)


if __name__ == "__main__":
    main()

"""Analyses and Lua over a generated trace of LTTng: processor and wall seconds of each analysis, from events and
from timelines, beside a walk over all events that decodes their fields (decode.c), and their memory; then
loops of Lua (loops.lua), and questions at moments.
"""
import os
import shutil

from measure import cpu, decode_round, middle, stats_of

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ANALYSES = ("cputop", "latency", "offcpu", "sched", "sched log --limit 10", "syscalls", "io", "irq",
            "locks", "migrations", "switches", "gaps")
LOOPS = (("loop", "a loop over one class, three fields by name"),
         ("values", "a loop over one class, given three fields (asked: 3)"),
         ("every", "a loop over all events, given three fields (asked: 3)"),
         ("batch", "batches of one class, three fields (asked: 12)"),
         ("all", "batches of all events, three fields (asked: 12)"))


def one(build, trace, index, rounds, name, report, walk, what, asked):
    """The best of the rounds: what other work takes away is not the analysis's."""
    words = name.split()
    command = [build + "/yore", words[0], "--stats", "--index-dir", index, trace] + words[1:]
    runs = [cpu(command) for _ in range(rounds)]
    peak = max(stats_of(done).get("peak_anonymous_bytes", 0) for _, _, done in runs)
    report.row("%s, %s (asked: %g)" % (name, what, asked), min(taken for taken, _, _ in runs), "s of CPU",
               walk, "a walk over all fields")
    report.row("%s, %s, wall" % (name, what), min(wall for _, wall, _ in runs), "s")
    report.row("%s, %s, anonymous memory" % (name, what), peak / 1e6, "MB")


def loop(build, trace, index, mode, rounds):
    """(events or moments, CPU seconds)"""
    command = [build + "/yore", "run", "--index-dir", index, SOURCE + "/bench/loops.lua", trace, mode]
    rows = [cpu(command)[2].stdout.split() for _ in range(rounds)]
    return int(rows[0][0]), middle([float(row[1]) for row in rows])


def compare(build, trace, index, work, size, report, walk):
    """Two such traces, of other random numbers."""
    other = work + "/other"
    cpu([build + "/fixtures/yore-gen", "--out", other, "--size", str(size), "--seed", "2", "--no-truth"])
    for name, words in (("compare, all units of a system call", ["--unit", "syscall read"]), ("compare, proposed units", [])):
        taken, wall, done = cpu([build + "/yore", "compare", "--stats", "--index-dir", index, trace, other] + words)
        report.row(name, taken, "s of CPU", 2 * walk, "a walk over all fields of both")
        report.row(name + ", wall (asked: 10)", wall, "s")
        report.row(name + ", memory (asked: 200)", stats_of(done).get("peak_anonymous_bytes", 0) / 1e6, "MB")
    shutil.rmtree(other)


def lua(build, work, _corpus, args, report):
    trace, index = work + "/generated", work + "/index"
    os.environ.setdefault("YORE_LUA_DIR", SOURCE + "/lua-lib")  # analyses need not be installed
    cpu([build + "/fixtures/yore-gen", "--out", trace, "--size", str(args.size), "--no-truth"])
    events, walk = decode_round(build, trace, "all")
    report.row("lua: events", events / 1e6, "M")
    for name in ANALYSES:
        one(build, trace, index, args.rounds, name, report, walk, "from events", 2)
    compare(build, trace, index, work, args.size, report, walk)
    for mode, name in LOOPS:
        count, seconds = loop(build, trace, index, mode, args.rounds)
        report.row("lua: " + name, count / seconds / 1e6, "M events/s", events / walk / 1e6, "a walk of C")
    cpu([build + "/yore", "index", trace, "--timelines", "--index-dir", index])
    for name in ("cputop", "latency", "offcpu"):
        one(build, trace, index, args.rounds, name, report, walk, "from timelines",
            0.1 if name == "cputop" else 2)
    count, seconds = loop(build, trace, index, "at", args.rounds)
    report.row("lua: a question at a moment, from timelines (asked: 20)", seconds / count * 1e6, "us")
    shutil.rmtree(trace)
    shutil.rmtree(index)

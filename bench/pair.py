#!/usr/bin/python3
"""The README's figures of two builds, taken in turn on one machine.

    pair.py OLD NEW [--size BYTES] [--large BYTES] [--rounds N] [--work FOLDER] [--only GLOB]

OLD and NEW are build folders whose programs of bench/ were built, too. Each line has the CPU seconds (of finding
a moment the wall seconds) of both, least of N rounds in which they take turns, and NEW's divided by OLD's. Work of other
programs makes single runs longer and none shorter, so the least says more than the mean. Traces are of $YORE_CORPUS,
repeated, and generated.
"""
import argparse
import fnmatch
import json
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True

from kernel import repeat_ftrace, repeat_perf
from measure import cpu, warm

CTF = ("many-threads", "ros2", "cyg-profile/glxgears-cyg-profile")
PERF = ("sched-syscalls", "switch-events", "lost", "mixed-attrs")
PER_NAME = "SELECT name, count(*) FROM events GROUP BY name"
OUT = ["--format", "text", "--no-index"]


class Pair:
    def __init__(self, args):
        self.builds, self.args, self.worst = (args.old, args.new), args, 0

    def line(self, name, run):
        """`run` takes a build and says how many seconds it took."""
        if not fnmatch.fnmatch(name, self.args.only):
            return
        taken = ([], [])
        for _ in range(self.args.rounds):
            for build, seconds in zip(self.builds, taken):
                seconds.append(run(build))
        old, new = min(taken[0]), min(taken[1])
        self.worst = max(self.worst, new / old)
        print("%-48s %8.3f s %8.3f s  %5.2f" % (name, old, new, new / old), flush=True)

    def process(self, name, words, wall=False):
        """`words`: the command without the build's folder."""
        def run(build):
            with open(os.devnull, "wb") as null:
                return cpu([build + "/" + words[0]] + words[1:], null)[wall]
        self.line(name, run)


def ctf(pair, work, corpus, size):
    for name in CTF:
        source, trace = os.path.join(corpus, "ctf/real", name), work + "/ctf"
        if not os.path.isdir(source):
            print("%s: skipped: not in YORE_CORPUS" % name)
            continue
        name = name.split("/")[0]
        cpu([pair.args.new + "/bench/bench-repeat", source, trace, str(size)])
        pair.process(name + ": all fields, merged", ["bench/bench-decode", trace, "all", "1"])
        pair.process(name + ": text", ["yore", "events", trace] + OUT)
        if name == "many-threads":
            pair.process(name + ": count per name, SQL", ["yore", "sql", "--no-index", trace, PER_NAME])
        shutil.rmtree(trace)


def kernel(pair, work, corpus, size):
    for name in PERF:
        source, trace = os.path.join(corpus, "perf-data", name, "perf.data"), work + "/perf.data"
        if not os.path.exists(source):
            print("perf.data %s: skipped: not in YORE_CORPUS" % name)
            continue
        repeat_perf(pair.args.new, source, trace, size)
        warm(trace)
        pair.process("perf.data %s: records counted" % name, ["bench/bench-decode", trace, "walk", "1"])
        pair.process("perf.data %s: text" % name, ["yore", "events", trace] + OUT)
        os.remove(trace)
    source, trace = os.path.join(corpus, "trace-dat/v6-sched-irq-syscalls/trace.dat"), work + "/trace.dat"
    if os.path.exists(source):
        repeat_ftrace(pair.args.new, source, trace, size)
        warm(trace)
        pair.process("trace.dat: all fields, merged", ["bench/bench-decode", trace, "all", "1"])
        pair.process("trace.dat: text", ["yore", "events", trace] + OUT)
        os.remove(trace)
    else:
        print("trace.dat: skipped: not in YORE_CORPUS")


def generate(build, trace, size):
    cpu([build + "/fixtures/yore-gen", "--out", trace, "--size", str(size), "--no-truth"])
    for name in os.listdir(trace):
        warm(os.path.join(trace, name))


def finding(pair, work, size):
    trace, index = work + "/large", work + "/index"
    generate(pair.args.new, trace, size)

    def indexing(build):
        shutil.rmtree(index, ignore_errors=True)
        return cpu([build + "/yore", "index", trace, "--index-dir", index])[1]

    pair.line("%g GB: yore index, wall" % (size / 1e9), indexing)
    pair.process("%g GB: first at, no index, wall" % (size / 1e9),
                 ["yore", "at", trace, "+%dms" % (size / 1e9 * 4000), "cpu[*]/thread", "--no-index"], wall=True)
    shutil.rmtree(trace)
    shutil.rmtree(index, ignore_errors=True)


def timelines(pair, work, size):
    trace, index = work + "/generated", work + "/index"
    generate(pair.args.new, trace, size)
    said = {build: [] for build in pair.builds}

    def build_them(build):
        shutil.rmtree(index, ignore_errors=True)
        os.mkdir(index)
        said[build].append(json.loads(cpu([build + "/bench/bench-timelines", trace, index, "linux", "1"])[2].stdout))
        return said[build][-1]["build_seconds"]

    pair.line("generated: timelines built", build_them)
    for key, what in (("value_us", "a value, median"), ("state_us", "what lives at a moment")):
        if said[pair.args.old]:
            rows = {build: iter(found) for build, found in said.items()}
            pair.line("generated: timelines, " + what, lambda build, rows=rows, key=key: next(rows[build])[key] / 1e6)
    found = [min(row["bytes"] / row["changes"] for row in rows) for rows in said.values() if rows]
    if found:
        print("%-48s %8.2f   %8.2f" % ("generated: timelines, bytes a change", found[0], found[-1]))
    shutil.rmtree(trace)
    shutil.rmtree(index, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--size", type=int, default=200000000, help="bytes of a repeated trace")
    parser.add_argument("--large", type=int, default=1000000000, help="bytes of the trace in which a moment is found")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="*", help="a pattern of lines")
    parser.add_argument("--work", help="folder for traces; default: a temporary one")
    args = parser.parse_args()
    corpus = os.environ.get("YORE_CORPUS", "")
    pair = Pair(args)
    work = tempfile.mkdtemp(prefix="yore-pair-", dir=args.work)
    print("%-48s %10s %10s" % ("", "old", "new"))
    try:
        ctf(pair, work, corpus, args.size)
        kernel(pair, work, corpus, args.size)
        finding(pair, work, args.large)
        timelines(pair, work, args.size)
    finally:
        shutil.rmtree(work)
    print("the greatest ratio: %.2f" % pair.worst)


if __name__ == "__main__":
    main()

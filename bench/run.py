#!/usr/bin/python3
"""make bench: what yore reaches, each figure beside a peer's or a limit in the same run.

    run.py BUILD [--size BYTES] [--large BYTES] [--rounds N] [--only PART...] [--json FILE]
                 [--plots FOLDER]

ctf: real traces ($YORE_CORPUS) repeated to --size (400 MB) by shifting their packets in time, and a
generated one; CPU seconds, median of interleaved rounds, against `babeltrace2 -c
sink.utils.dummy`, which decodes and merges everything and prints nothing; and, where $YORE_CEILING
has it, against a decoder that leaves out most of the format (ceiling.py). Then text, JSON and CSV
of the real traces, all of them against babeltrace2's text.

finding: generated traces of 0.1, 1 and 10 GB (--large bounds them); wall seconds of whole
processes, bytes read as `--stats` counts them, peak anonymous memory.

cold: see cold.py. growth: how costs grow with streams, attributes and threads. perf, ftrace: see
kernel.py. timelines: see timelines.py and timelines.c. sql: see sql.py. ovni: see ovni.py.
lua: analyses and loops of Lua, see lua.py. windows: questions about short ranges, see windows.py.

Every figure is kept as JSON with the date, the commit and the machine, and drawn (plots.py).
"""
import argparse
import os
import shutil
import statistics
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean

import ceiling
import cold
import growth
import kernel
import lua
import ovni
import plots
import scale
import sql
import timelines
import windows
from measure import (Report, bytes_a_second, cpu, decode_round, middle, seconds_of, stats_of, warm)


def decoding(build, name, trace, rounds, report, wanted=None):
    files = [os.path.join(trace, f) for f in os.listdir(trace)
             if f != "metadata" and os.path.isfile(os.path.join(trace, f))]
    size = sum(os.path.getsize(f) for f in files)
    print("%s (%d MB)" % (name, size // 1000000))
    seconds = {mode: [] for mode in ("heads", "fields", "merge", "all", "peer")}
    events = 0
    for _ in range(rounds):
        for mode in ("heads", "fields", "merge", "all"):
            events, taken = decode_round(build, trace, mode)
            seconds[mode].append(taken)
        seconds["peer"].append(cpu(["babeltrace2", "-c", "sink.utils.dummy", trace])[0])
    rate = {mode: events / statistics.median(taken) / 1e6 for mode, taken in seconds.items()}
    limit = bytes_a_second(build, files) / size * events / 1e6
    report.row(name + ": heads and times", rate["heads"], "M events/s", limit=limit)
    report.row(name + ": all fields, no merge", rate["fields"], "M events/s", limit=limit)
    report.row(name + ": heads and merge", rate["merge"], "M events/s", limit=limit)
    report.row(name + ": all fields and merge", rate["all"], "M events/s", rate["peer"],
               "babeltrace2 dummy", wanted, limit)
    for mode, label in (("heads", "heads and sizes"), ("fields", "all fields")):
        # without an index, opening included; the CPU seconds of the longest way through
        way = {jobs: float(cpu([build + "/bench/bench-sweep", trace, mode, jobs, str(rounds)])[2]
                           .stdout.decode().split()[8]) for jobs in ("1", "2")}
        report.row(name + ": " + label + ", two threads", events / way["2"] / 1e6, "M events/s",
                   events / way["1"] / 1e6, "one thread", 1.5)
    return rate["all"] / rate["peer"]


def writing(build, name, trace, rounds, report):
    """Every event printed to /dev/null; CPU seconds of whole processes."""
    events = int(cpu([build + "/bench/bench-decode", trace, "heads", "1"])[2].stdout.split()[2])
    yore = [build + "/yore", "events", trace, "--no-index", "--format"]
    taken = seconds_of({"peer": ["babeltrace2", trace], "text": yore + ["text"],
                        "json": yore + ["json"], "csv": yore + ["csv"]}, min(rounds, 3))
    rate = {work: events / seconds / 1e6 for work, seconds in taken.items()}
    for work, wanted in (("text", 8), ("json", 5), ("csv", None)):
        report.row("%s: %s" % (name, work), rate[work], "M events/s", rate["peer"],
                   "babeltrace2 text", wanted)
    for work in ("text", "json"):  # in order; the CPU seconds of the longer way through
        way = {jobs: float(cpu([build + "/bench/bench-rows", trace, work, jobs, str(rounds)])[2]
                           .stdout.decode().split()[8]) for jobs in ("1", "2")}
        report.row("%s: %s, two threads" % (name, work), events / way["2"] / 1e6, "M events/s",
                   events / way["1"] / 1e6, "one thread", 1.5)


def filtering(build, work, trace, rounds, report):
    """Events a second that a condition is decided for, on one thread; whole processes."""
    count = [build + "/yore", "events", trace, "--count", "--jobs", "1",
             "--index-dir", work + "/where-index"]
    events = int(cpu(count)[2].stdout)
    conditions = ("next_tid == 0", "ret == 0", "prev_prio > next_prio", 'comm ~ "k*"')
    seconds = {condition: [] for condition in conditions}
    for _ in range(rounds):
        for condition, taken in seconds.items():
            taken.append(cpu(count + ["--where", condition])[0])
    for condition, taken in seconds.items():
        report.row("many-threads: --where '%s' (asked: 25)" % condition,
                   events / middle(taken) / 1e6, "M events/s")


# Whose rules decide: those that come with yore, one line, and some without names of threads.
FIRST_RULES = {"linux": None,
               "one line": "event sched_switch\n\tcpu[section/cpu]/thread = field/next_tid\n",
               "no names": "event sched_switch\n\twas cpu[section/cpu]/thread = field/prev_tid\n"
                           "\tcpu[section/cpu]/thread = field/next_tid\n"
                           "\tthread[field/next_tid]/state = \"on\"\n"}
FIRST_MOMENTS = 16


def first_answers(build, work, trace, label, report):
    """Packets and MB that a first answer reads, names included: the most of some moments, which
    are exact figures of the same trace everywhere, so that they cannot creep."""
    for path, wanted in (("cpu[3]/thread", 4), ("cpu[*]/thread", 24)):
        for name, text in FIRST_RULES.items():
            command = [build + "/yore", "at", trace, path, "--no-index", "--stats"]
            if text:
                with open(work + "/first.rules", "w", encoding="utf-8") as file:
                    file.write(text)
                command += ["--rules", work + "/first.rules"]
            costs = [stats_of(cpu(command[:3] + ["+%d.%ds" % (i % 4, i)] + command[3:])[2])
                     for i in range(1, FIRST_MOMENTS + 1)]
            report.row("%s: first %s, %s: packets (at most %d)" % (label, path, name, wanted),
                       max(cost["packets_decoded"] for cost in costs), "packets")
            report.row("%s: first %s, %s: read" % (label, path, name),
                       max(cost["bytes_read"] for cost in costs) / 1e6, "MB")


def finding(build, work, size, rounds, report):
    label = "%g GB" % (size / 1e9)
    trace, index = work + "/found", work + "/index"
    shutil.rmtree(trace, ignore_errors=True)
    cpu([build + "/fixtures/yore-gen", "--out", trace, "--size", str(size), "--no-truth"])
    files = [os.path.join(trace, f) for f in os.listdir(trace) if f.startswith("channel")]
    total = sum(os.path.getsize(f) for f in files)
    for name in files:  # warm the cache
        warm(name)
    yore = build + "/yore"
    question = ["+%dms" % (size / 1e9 * 4000), "cpu[*]/thread", "--stats", "--index-dir", index]
    indexing, first, later, read, memory = [], [], [], 0, 0
    for i in range(rounds):
        shutil.rmtree(index, ignore_errors=True)
        _, wall, done = cpu([yore, "at", trace] + question)
        first.append(wall)
        read = stats_of(done).get("bytes_read", 0)
        shutil.rmtree(index, ignore_errors=True)
        indexing.append(cpu([yore, "index", trace, "--index-dir", index])[1])
        for _ in range(3):
            _, wall, done = cpu([yore, "at", trace] + question)
            later.append(wall)
            memory = max(memory, stats_of(done).get("peak_anonymous_bytes", 0))
    report.row(label + ": yore index", middle(indexing) * 1000, "ms",
               series=("size of a trace: yore index", size))
    report.row(label + ": first at, no index", middle(first) * 1000, "ms",
               series=("size of a trace: first at", size))
    report.row(label + ": bytes read by it", 100 * read / total, "% of trace")
    report.row(label + ": later at", middle(later) * 1000, "ms",
               series=("size of a trace: later at", size))
    report.row(label + ": anonymous memory", memory / 1e6, "MB",
               series=("size of a trace: memory", size))
    if size >= 1000000000:
        first_answers(build, work, trace, label, report)
    shutil.rmtree(trace)


def ctf(build, work, corpus, args, report):
    ratios = []
    limit = ceiling.Ceiling(build, work)
    if shutil.which("babeltrace2"):
        for name in ("many-threads", "ros2", "cyg-profile/glxgears-cyg-profile"):
            source = os.path.join(corpus, "ctf/real", name)
            if not os.path.isdir(source):
                print("%s: skipped: not in YORE_CORPUS" % name)
                continue
            trace = work + "/repeated"
            cpu([build + "/bench/bench-repeat", source, trace, str(args.size)])
            ratios.append(decoding(build, name.split("/")[0], trace, args.rounds, report,
                                   20))
            if name == "many-threads":
                filtering(build, work, trace, args.rounds, report)
            writing(build, name.split("/")[0], trace, args.rounds, report)
            ceiling.compare(limit, build, name.split("/")[0], trace, work, args.rounds, report)
            shutil.rmtree(trace)
        trace = work + "/generated"
        cpu([build + "/fixtures/yore-gen", "--out", trace, "--size", str(args.size), "--no-truth"])
        decoding(build, "generated", trace, args.rounds, report)
        shutil.rmtree(trace)
        if ratios:
            report.row("real traces, all fields and merge, geometric mean",
                       statistics.geometric_mean(ratios), "times babeltrace2", wanted=27)
    else:
        print("decoding: skipped: babeltrace2 is not installed")


def found(build, work, _corpus, args, report):
    for size in (100000000, 1000000000, 10000000000):
        if size <= args.large:
            finding(build, work, size, 3, report)


PARTS = {"ctf": ctf, "finding": found, "cold": cold.cold, "growth": growth.growth,
         "scale": scale.scales,
         "perf": kernel.perf, "ftrace": kernel.ftrace, "timelines": timelines.timelines, "sql": sql.sql, "ovni": ovni.ovni,
         "lua": lua.lua, "windows": windows.windows}
SIZES = {"ctf": 400000000, "timelines": 400000000, "growth": 200000000, "sql": 100000000,
         "ovni": 400000000, "lua": 345000000, "windows": 1000000000}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--size", type=int, help="bytes of a repeated trace")
    parser.add_argument("--large", type=int, default=10000000000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--json", help="default: BUILD/bench/figures.json")
    parser.add_argument("--plots", help="a folder; default: BUILD/bench/plots")
    parser.add_argument("--work", help="folder for traces; default: a temporary one")
    args = parser.parse_args()
    corpus = os.environ.get("YORE_CORPUS", "")
    report = Report(args.build)
    work = tempfile.mkdtemp(prefix="yore-bench-", dir=args.work)
    asked = args.size
    try:
        for part in args.only:
            args.size = asked or SIZES.get(part, 500000000)
            report.part = part
            PARTS[part](args.build, work, corpus, args, report)
    finally:
        shutil.rmtree(work, ignore_errors=True)
        report.write(args.json or args.build + "/bench/figures.json")
    plots.draw(report.about, report.rows, args.plots or args.build + "/bench/plots")


if __name__ == "__main__":
    main()

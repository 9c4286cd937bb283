#!/usr/bin/python3
"""make bench: what yore reaches, each figure beside a peer's or a limit in the same run.

    run.py BUILD [--size BYTES] [--large BYTES] [--rounds N] [--only PART...] [--json FILE]

Decoding: real traces ($YORE_CORPUS) repeated to --size (400 MB) by shifting their packets in time,
and a generated one; CPU seconds, median of interleaved rounds, against
`babeltrace2 -c sink.utils.dummy`, which decodes and merges everything and prints nothing; and, where
$YORE_CEILING has it, against a decoder that leaves out most of the format (ceiling.py). 1,000 streams
are compared with 8.
Then text, JSON and CSV of the real traces, all of them against babeltrace2's text.

Finding: generated traces of 0.1, 1 and 10 GB (--large bounds them); wall seconds of whole
processes, bytes read as `--stats` counts them, peak anonymous memory.

perf.data and trace.dat: see kernel.py. Timelines: see timelines.c. SQL: see sql.py.

--only names the parts to run: ctf perf ftrace timelines sql.
"""
import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean

import ceiling
import kernel
import sql
from measure import Report, cpu, middle, seconds_of, stats_of, warm


def decode_round(build, trace, mode):
    done = cpu([build + "/bench/bench-decode", trace, mode, "1"])[2]
    words = done.stdout.decode().split()
    return int(words[2]), float(words[8])


def decoding(build, name, trace, rounds, report):
    print("%s (%d MB)" % (name, sum(
        os.path.getsize(os.path.join(trace, f)) for f in os.listdir(trace)
        if os.path.isfile(os.path.join(trace, f))) // 1000000))
    seconds = {mode: [] for mode in ("heads", "fields", "merge", "all", "peer")}
    events = 0
    for _ in range(rounds):
        for mode in ("heads", "fields", "merge", "all"):
            events, taken = decode_round(build, trace, mode)
            seconds[mode].append(taken)
        seconds["peer"].append(cpu(["babeltrace2", "-c", "sink.utils.dummy", trace])[0])
    rate = {mode: events / statistics.median(taken) / 1e6 for mode, taken in seconds.items()}
    report.row(name + ": heads and times", rate["heads"], "M events/s")
    report.row(name + ": all fields, no merge", rate["fields"], "M events/s")
    report.row(name + ": heads and merge", rate["merge"], "M events/s")
    report.row(name + ": all fields and merge", rate["all"], "M events/s", rate["peer"],
               "babeltrace2 dummy")
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
        report.row("many-threads: --where '%s'" % condition, events / middle(taken) / 1e6,
                   "M events/s", 25, "asked for integers")


def many_streams(build, work, rounds, report):
    """What an event costs among 1,000 streams of 1 MB, and among 8 of the same tracer."""
    cost = {}
    traces = {8: work + "/few", 1000: work + "/many"}
    for streams, trace in traces.items():
        cpu([build + "/fixtures/yore-gen", "--out", trace, "--cpus", str(streams), "--size",
             str(max(streams, 100) * 1000000), "--no-truth"])
    for _ in range(rounds):
        for streams, trace in traces.items():
            for mode in ("merge", "all"):
                events, taken = decode_round(build, trace, mode)
                cost.setdefault((mode, streams), []).append(taken / events * 1e9)
    for mode in ("merge", "all"):
        report.row("1,000 streams of 1 MB: " + mode, middle(cost[mode, 1000]), "ns/event",
                   middle(cost[mode, 8]), "8 streams")
    for trace in traces.values():
        shutil.rmtree(trace)


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
    report.row(label + ": yore index", middle(indexing), "s")
    report.row(label + ": first at, no index", middle(first), "s")
    report.row(label + ": bytes read by it", 100 * read / total, "% of trace")
    report.row(label + ": later at", middle(later) * 1000, "ms")
    report.row(label + ": anonymous memory", memory / 1e6, "MB")
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
            ratios.append(decoding(build, name.split("/")[0], trace, args.rounds, report))
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
    many_streams(build, work, args.rounds, report)
    for size in (100000000, 1000000000, 10000000000):
        if size <= args.large:
            finding(build, work, size, 3, report)


def timelines_of(build, work, name, trace, report):
    """Built once and asked in one process; see bench/timelines.c."""
    index = work + "/timelines"
    shutil.rmtree(index, ignore_errors=True)
    os.mkdir(index)
    got = json.loads(cpu([build + "/bench/bench-timelines", trace, index])[2].stdout)
    name += ": timelines"
    seconds = got["build_seconds"]
    report.row(name + ", built", got["changes"] / seconds / 1e6, "M changes/s")
    report.row(name + ", events read for that", got["events"] / seconds / 1e6, "M events/s")
    report.row(name + ", stored", got["bytes"] / got["changes"], "bytes a change")
    report.row(name + ", stored", 100 * got["bytes"] / got["trace_bytes"], "% of trace")
    report.row(name + ", a value, median", got["value_us"], "us")
    report.row(name + ", a value, 99th percentile", got["value_us_99"], "us")
    report.row(name + ", what lives (%d)" % got["state_count"], got["state_us"] / 1000, "ms")
    report.row(name + ", the whole state as answers", got["whole_us"] / 1000, "ms")
    report.row(name + ", all changes with times", got["all_intervals_per_us"], "M a second")
    report.row(name + ", intervals of a busy attribute", got["busy_intervals_per_us"], "M a second")
    shutil.rmtree(index)


def timelines(build, work, corpus, args, report):
    source = os.path.join(corpus, "ctf/real/many-threads")
    if os.path.isdir(source):
        timelines_of(build, work, "many-threads", source, report)
        trace = work + "/repeated"
        cpu([build + "/bench/bench-repeat", source, trace, str(args.size)])
        timelines_of(build, work, "many-threads repeated", trace, report)
        shutil.rmtree(trace)
    trace = work + "/generated"
    cpu([build + "/fixtures/yore-gen", "--out", trace, "--size", str(args.size), "--no-truth"])
    timelines_of(build, work, "generated", trace, report)
    shutil.rmtree(trace)


def main():
    parts = {"ctf": ctf, "perf": kernel.perf, "ftrace": kernel.ftrace, "timelines": timelines,
             "sql": sql.sql}
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--size", type=int, help="bytes of a repeated trace")
    parser.add_argument("--large", type=int, default=10000000000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=parts, default=list(parts))
    parser.add_argument("--json")
    parser.add_argument("--work", help="folder for traces; default: a temporary one")
    args = parser.parse_args()
    corpus = os.environ.get("YORE_CORPUS", "")
    report = Report(args.build)
    work = tempfile.mkdtemp(prefix="yore-bench-", dir=args.work)
    asked = args.size
    try:
        for part in args.only:
            args.size = asked or {"ctf": 400000000, "timelines": 400000000,
                                  "sql": 100000000}.get(part, 500000000)
            parts[part](args.build, work, corpus, args, report)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({**report.about, "rows": report.rows}, file, indent=1)


if __name__ == "__main__":
    main()

"""How costs grow: with streams, with attributes, with threads. (With the size of a trace: run.py.)

All traces are generated, so that one thing changes and the rest stays.
"""
import os
import shutil

from measure import cpu, decode_round, middle
from timelines import build_and_ask


def generate(build, trace, size, *options):
    shutil.rmtree(trace, ignore_errors=True)
    cpu([build + "/fixtures/yore-gen", "--out", trace, "--size", str(size), "--no-truth"] +
        [str(option) for option in options])


def streams(build, work, rounds, report):
    """What an event costs among 1,000 streams of 1 MB, and among fewer of the same tracer."""
    counts = (8, 64, 250, 1000)
    cost = {}
    traces = {count: "%s/streams-%d" % (work, count) for count in counts}
    for count, trace in traces.items():
        generate(build, trace, max(count, 100) * 1000000, "--cpus", count)
    for _ in range(rounds):
        for count, trace in traces.items():
            for mode in ("merge", "all"):
                events, taken = decode_round(build, trace, mode)
                cost.setdefault((mode, count), []).append(taken / events * 1e9)
    for mode, label in (("merge", "heads and merge"), ("all", "all fields and merge")):
        least = middle(cost[mode, counts[0]])
        for count in counts:
            report.row("%d streams: %s" % (count, label), middle(cost[mode, count]), "ns/event",
                       least, "8 streams", 1.5 if count == 1000 else None,
                       series=("streams: " + label, count))
    for trace in traces.values():
        shutil.rmtree(trace)


def threads(build, work, size, rounds, report):
    """Work without order; CPU seconds of the longest way through (sweep.c)."""
    trace = work + "/threads"
    generate(build, trace, size)
    jobs = [1]
    while jobs[-1] * 2 <= os.cpu_count():
        jobs.append(jobs[-1] * 2)
    for mode, label in (("heads", "heads and sizes"), ("fields", "all fields")):
        alone = None
        for count in jobs:
            words = cpu([build + "/bench/bench-sweep", trace, mode, str(count),
                         str(rounds)])[2].stdout.decode().split()
            rate = int(words[2]) / float(words[8]) / 1e6
            alone = alone or rate
            report.row("%d threads: %s" % (count, label), rate, "M events/s", alone, "one thread",
                       series=("threads: " + label, count))
    shutil.rmtree(trace)


def attributes(build, work, size, report):
    """Timelines of linux.rules; what lives grows with the threads of the simulated machine."""
    for count in (64, 1000, 10000, 100000):
        trace = work + "/attributes"
        generate(build, trace, size, "--threads", count)
        got = build_and_ask(build, work, trace)
        name = "%d attributes live: " % got["state_count"]
        for label, value, unit in (
                ("building timelines", got["changes"] / got["build_seconds"] / 1e6,
                 "M changes/s"),
                ("stored", got["bytes"] / got["changes"], "bytes a change"),
                ("a value, median", got["value_us"], "us"),
                ("what lives at a moment", got["state_us"] / 1000, "ms")):
            report.row(name + label, value, unit,
                       series=("attributes that live: " + label, got["state_count"]))
        shutil.rmtree(trace)


def growth(build, work, _corpus, args, report):
    streams(build, work, args.rounds, report)
    threads(build, work, args.size, args.rounds, report)
    attributes(build, work, args.size, report)

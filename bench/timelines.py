"""Timelines: built once and asked in one process; see timelines.c. CPU seconds."""
import json
import os
import shutil

from measure import cpu, middle, stats_of


def build_and_ask(build, work, trace, threads=1):
    """What bench-timelines says."""
    index = work + "/timelines"
    shutil.rmtree(index, ignore_errors=True)
    os.mkdir(index)
    got = json.loads(cpu([build + "/bench/bench-timelines", trace, index, "linux",
                          str(threads)])[2].stdout)
    shutil.rmtree(index)
    return got


def timelines_of(build, work, name, trace, report):
    got = build_and_ask(build, work, trace)
    two = build_and_ask(build, work, trace, 2)
    name += ": timelines, "
    built, rate = got["build_seconds"], got["changes"] / got["build_seconds"] / 1e6
    report.row(name + "built (asked: 10)", rate, "M changes/s")
    report.row(name + "events that rules name (asked: 15)", got["events"] / built / 1e6,
               "M events/s")
    report.row(name + "built on two threads", two["changes"] / two["build_longest"] / 1e6,
               "M changes/s", rate, "one thread", 1.5)
    report.row(name + "stored (asked: 5)", got["bytes"] / got["changes"], "bytes a change")
    report.row(name + "stored", 100 * got["bytes"] / got["trace_bytes"], "% of trace")
    report.row(name + "a value, median (asked: 3)", got["value_us"], "us")
    report.row(name + "a value, 99th percentile (asked: 15)", got["value_us_99"], "us")
    report.row(name + "what lives (%d)" % got["state_count"], got["state_us"] / 1000, "ms")
    report.row(name + "the whole state as answers", got["whole_us"] / 1000, "ms")
    for label, key in (("all changes with times", "all_intervals_per_us"),
                       ("intervals of a busy attribute", "busy_intervals_per_us"),
                       ("the same asked first", "busy_first_per_us")):
        report.row("%s%s (asked: 20)" % (name, label), got[key], "M a second")


def processes(build, work, name, trace, report):
    """`yore index --timelines` as people call it, on one thread and on two: wall seconds."""
    index = work + "/timelines"
    walls, memory = {1: [], 2: []}, 0
    for _ in range(3):
        for jobs, taken in walls.items():
            shutil.rmtree(index, ignore_errors=True)
            _, wall, done = cpu([build + "/yore", "index", trace, "--timelines", "--stats",
                                 "--jobs", str(jobs), "--index-dir", index])
            taken.append(wall)
            memory = max(memory, stats_of(done).get("peak_anonymous_bytes", 0))
    shutil.rmtree(index)
    events = int(cpu([build + "/yore", "events", trace, "--count", "--no-index"])[2].stdout)
    rate = {jobs: events / middle(taken) / 1e6 for jobs, taken in walls.items()}
    report.row(name + ": timelines, all events, a process", rate[1], "M events/s")
    report.row(name + ": timelines, the same on two threads", rate[2], "M events/s", rate[1],
               "one thread", 1.5)
    report.row(name + ": timelines, anonymous memory (asked: 200)", memory / 1e6, "MB")


def timelines(build, work, corpus, args, report):
    source = os.path.join(corpus, "ctf/real/many-threads")
    if os.path.isdir(source):
        timelines_of(build, work, "many-threads", source, report)
        trace = work + "/repeated"
        cpu([build + "/bench/bench-repeat", source, trace, str(args.size)])
        timelines_of(build, work, "many-threads repeated", trace, report)
        processes(build, work, "many-threads repeated", trace, report)
        shutil.rmtree(trace)
    trace = work + "/generated"
    cpu([build + "/fixtures/yore-gen", "--out", trace, "--size", str(args.size), "--no-truth"])
    timelines_of(build, work, "generated", trace, report)
    processes(build, work, "generated", trace, report)
    shutil.rmtree(trace)

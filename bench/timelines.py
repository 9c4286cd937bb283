"""Timelines: built once and asked in one process; see timelines.c. CPU seconds."""
import json
import os
import shutil

from measure import cpu


def build_and_ask(build, work, trace):
    """What bench-timelines says."""
    index = work + "/timelines"
    shutil.rmtree(index, ignore_errors=True)
    os.mkdir(index)
    got = json.loads(cpu([build + "/bench/bench-timelines", trace, index])[2].stdout)
    shutil.rmtree(index)
    return got


def timelines_of(build, work, name, trace, report):
    got = build_and_ask(build, work, trace)
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

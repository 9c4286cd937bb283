"""SQL over a trace, beside SQLite's own tables of the same rows, in memory, and `yore stats`.

CPU seconds of each query as `.timer` says them, median of rounds; table and copy take turns in one
process. Queries that are answered on all threads count the CPU seconds of all of them. Making the
copy was the first look at a class's table, so that these are later ones; what the first takes in a
process of its own is a line, too.
"""
import os
import re
import shutil
import statistics

from measure import cpu, middle, stats_of

QUERIES = [
    # name, what is asked of {}, events over which the figure is told
    ("scan of two columns", "SELECT sum(cpu + 0), max(ts + 0) FROM {}", "events"),
    ("count with a name", "SELECT count(*) FROM {} WHERE name = 'sched_switch'", "events"),
    ("count per name", "SELECT name, count(*) FROM {} GROUP BY name", "events"),
    ("count and last per CPU", "SELECT cpu, count(*), max(ts) FROM {} GROUP BY cpu", "events"),
    ("scan of two fields", "SELECT sum(next_tid + 0), max(next_prio + 0) FROM {}", "sched_switch"),
    ("count per field", "SELECT next_prio, count(*) FROM {} GROUP BY next_prio", "sched_switch"),
    ("count of a field's value", "SELECT count(*) FROM {} WHERE next_tid = 0", "sched_switch"),
    ("count per field of some", "SELECT next_prio, count(*) FROM {} WHERE next_tid > 0 "
     "GROUP BY next_prio", "sched_switch"),
]


def timed(build, trace, statements, work):
    """CPU seconds of each statement behind `.timer on`."""
    path = work + "/queries.sql"
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in statements))
    with open(path, "rb") as file:
        _, _, done = cpu([build + "/yore", "sql", trace, "--index-dir", work + "/index"], stdin=file)
    lines = re.findall(r"^time: real \S+ s, user (\S+) s, system (\S+) s$", done.stdout.decode(), re.M)
    return [float(user) + float(system) for user, system in lines]


def sql(build, work, corpus, args, report):
    source = os.path.join(corpus, "ctf/real/many-threads")
    if not os.path.isdir(source):
        print("sql: skipped: many-threads is not in YORE_CORPUS")
        return
    trace = work + "/sql"
    cpu([build + "/bench/bench-repeat", source, trace, str(args.size)])
    yore = [build + "/yore"]
    index = ["--index-dir", work + "/index"]
    cpu(yore + ["index", trace] + index)
    count = int(cpu(yore + ["events", trace, "--count"] + index)[2].stdout.decode())
    print("SQL over %.1f million events" % (count / 1e6))
    statements = ["CREATE TABLE copy_events AS SELECT ts, cpu, name FROM events;",
                  "CREATE TABLE copy_sched_switch AS SELECT next_tid, next_prio FROM sched_switch;",
                  ".timer on"]
    for _ in range(args.rounds):
        for _, query, table in QUERIES:
            statements += [query.format(table) + ";", query.format("copy_" + table) + ";"]
    seconds = timed(build, trace, statements, work)
    for i, (name, _, _) in enumerate(QUERIES):
        own = middle(seconds[2 * i::2 * len(QUERIES)])
        copy = middle(seconds[2 * i + 1::2 * len(QUERIES)])
        report.row("SQL: " + name, count / own / 1e6, "M events/s", count / copy / 1e6,
                   "SQLite's copy")
    first_asked(build, trace, count, work, seconds, args, report)
    per_name, peer = [], []
    for _ in range(args.rounds):
        per_name.append(cpu(yore + ["sql", trace, QUERIES[2][1].format("events")] + index)[0])
        peer.append(cpu(yore + ["stats", trace] + index)[0])
    report.row("SQL: count per name, whole process", statistics.median(per_name), "s",
               statistics.median(peer), "yore stats", 3)
    converted(build, trace, index, count, work, report)
    shutil.rmtree(trace)
    for size in (100000000, 1000000000, 10000000000):
        if size <= args.large:
            windows(build, work, source, size, args, report)


def first_asked(build, trace, count, work, seconds, args, report):
    """A question about a class's table, before anything is known of where its events are."""
    which = [i for i, (name, _, _) in enumerate(QUERIES) if name == "count of a field's value"][0]
    _, query, table = QUERIES[which]
    first = [timed(build, trace, [".timer on", query.format(table) + ";"], work)[0]
             for _ in range(args.rounds)]
    copy = middle(seconds[2 * which + 1::2 * len(QUERIES)])
    report.row("SQL: the first count of a field's value", count / middle(first) / 1e6,
               "M events/s", count / copy / 1e6, "SQLite's copy")


def converted(build, trace, index, count, work, report):
    """Events a second of CPU time, without state, and with all of it."""
    out = work + "/converted"
    rates, sizes = {}, {}
    for kind in ("parquet", "csv", "chrome", "perfetto", "sqlite"):
        seconds = cpu([build + "/yore", "convert", trace, out, "--to", kind, "--no-state"] + index)[0]
        rates[kind] = count / seconds / 1e6
        if os.path.isdir(out):
            shutil.rmtree(out)
        else:
            sizes[kind] = os.path.getsize(out) / 1e6
            os.remove(out)
        peer = ("chrome",) if kind == "perfetto" else ()
        report.row("convert: " + kind, rates[kind], "M events/s", *(rates[p] for p in peer), *peer)
    report.row("convert: perfetto, size", sizes["perfetto"], "MB", sizes["chrome"], "chrome")
    seconds, _, done = cpu([build + "/yore", "convert", trace, out, "--to", "parquet", "--name",
                            "nothing*", "--stats"] + index)
    report.row("convert: all of the state", count / seconds / 1e6, "M events/s")
    report.row("convert: all of the state, memory", stats_of(done)["peak_anonymous_bytes"] / 1e6,
               "MB")
    shutil.rmtree(out)


def windows(build, work, source, size, args, report):
    """All events of one millisecond, with their fields, at several places of a trace."""
    trace = work + "/windows"
    cpu([build + "/bench/bench-repeat", source, trace, str(size)])
    shutil.rmtree(work + "/index", ignore_errors=True)  # copies are one trace to it
    cpu([build + "/yore", "index", trace, "--index-dir", work + "/index"])
    bounds = cpu([build + "/yore", "sql", trace, "--format", "csv", "--index-dir", work + "/index",
                  "SELECT min(ts), max(ts) FROM events"])[2].stdout.decode().split()[-1]
    first, last = (int(word) for word in bounds.split(","))
    statements = [".timer on"]
    for i in range(args.rounds):
        begin = first + (last - first) * (i + 1) // (args.rounds + 1)
        statements.append("SELECT ts, name, fields FROM events WHERE ts BETWEEN %d AND %d;"
                          % (begin, begin + 1000000))
    report.row("SQL: a window of one millisecond, %g GB" % (size / 1e9),
               1000 * middle(timed(build, trace, statements, work)), "ms")
    shutil.rmtree(trace)

"""SQL over a trace, beside SQLite's own tables of the same rows, in memory, and `yore stats`.

CPU seconds of each query as `.timer` says them, median of rounds; table and copy take turns in one
process. Queries that are answered on all threads count the CPU seconds of all of them.
"""
import os
import re
import shutil
import statistics

from measure import cpu, middle

QUERIES = [
    # name, what is asked of {}, events over which the figure is told
    ("scan of two columns", "SELECT sum(cpu + 0), max(ts + 0) FROM {}", "events"),
    ("count with a name", "SELECT count(*) FROM {} WHERE name = 'sched_switch'", "events"),
    ("count per name", "SELECT name, count(*) FROM {} GROUP BY name", "events"),
    ("count and last per CPU", "SELECT cpu, count(*), max(ts) FROM {} GROUP BY cpu", "events"),
    ("scan of two fields", "SELECT sum(next_tid + 0), max(next_prio + 0) FROM {}", "sched_switch"),
    ("count per field", "SELECT next_prio, count(*) FROM {} GROUP BY next_prio", "sched_switch"),
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
    per_name, peer, window = [], [], []
    first = int(cpu(yore + ["sql", trace, "SELECT min(ts) FROM events"] + index)[2].stdout)
    for i in range(args.rounds):
        per_name.append(cpu(yore + ["sql", trace, QUERIES[2][1].format("events")] + index)[0])
        peer.append(cpu(yore + ["stats", trace] + index)[0])
        begin = first + (i + 1) * 1000000000
        window += timed(build, trace, [
            ".timer on", "SELECT * FROM events WHERE ts BETWEEN %d AND %d;" % (begin, begin + 1000000)],
            work)
    report.row("SQL: count per name, whole process", statistics.median(per_name), "s",
               statistics.median(peer), "yore stats", 3)
    report.row("SQL: a window of one millisecond", 1000 * statistics.median(window), "ms")
    shutil.rmtree(trace)

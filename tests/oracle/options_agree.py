#!/usr/bin/python3
"""The options of analyses mean the same for each of them, in each format.

    options_agree.py YORE TRACE...

Of each table that the trace has the events for: csv, json and LAMI have the same values; the table and the bars have as many lines as csv has
rows; --limit leaves the first rows; --sort orders them by each column, either way, and loses none; --where leaves the rows of a log that Python's
own comparison leaves, and the tables that count are the sums of these. All questions of a trace are put to one prompt.
"""
import collections
import json
import os
import random
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tables_agree
import yore_says
from yore_says import Report

# The log of each analysis, and its tables that are sums of that log by these columns.
LOGS = {
    "latency": ("log", {"stats": ("kind", "tid")}), "sched": ("log", {}), "offcpu": ("log", {"stats": ("tid", "state")}),
    "syscalls": ("log", {"stats": ("name",), "threads": ("tid", "name")}), "irq": ("log", {"stats": ("kind", "irq", "cpu")}),
    "io": ("log", {"latency": ("name",), "top": ("tid",)}),
    "locks": ("log", {"stats": ("lock", "kind"), "threads": ("lock", "kind", "tid"), "holders": ("lock", "kind", "holder")}),
    "periods": ("log", {"stats": ("key",)}),
}
OTHERS = {
    "latency": ("top", "freq"), "sched": ("top", "freq"), "offcpu": ("top", "stats --by state", "stats --by syscall", "stats --by stack"),
    "syscalls": ("top", "freq", "errors"), "irq": ("top", "freq"), "io": ("freq", "disks"), "locks": ("top",), "periods": ("top", "freq"),
    "cputop": ("cpus", "threads"), "switches": ("cpus", "threads"), "migrations": ("stats", "moves", "log"),
    "gaps": ("losses", "unknown"), "memtop": ("threads", "calls", "rss"), "critical-path": ("sum", "log"),
    "top": ("functions", "modules", "threads"), "flamegraph": ("",),
}
WHERE_OF = {"dur", "begin", "tid", "comm", "kind", "cpu", "state", "name", "ret", "bytes", "lock", "key"}
NOT_OF = {"latency": {"waker"}, "syscalls": set()}


def base_questions(program, path):
    """Questions that the trace answers: {words: rows}."""
    asked = []
    for name in sorted(set(LOGS) | set(OTHERS)):
        log, sums = LOGS.get(name, (None, {}))
        verbs = ([log] if log else []) + list(sums) + list(OTHERS.get(name, ()))
        more = {"critical-path": " --tid TID", "periods": " --from sched_waking,sys_enter --until X"}.get(name, "")
        if name == "periods":
            more = " --from sched_waking --until sched_wakeup --key 'payload/tid | payload/pid' --field prio=begin:prio"
        asked += ["%s %s%s" % (name, verb, more) for verb in verbs]
    first, _ = tables_agree.ask(program, path, ["cputop threads"])
    tid = ((first or {}).get("cputop threads") or [{"tid": 1}])[0]["tid"]
    asked = [words.replace("TID", str(tid)) for words in asked]
    answers, messages = tables_agree.ask(program, path, asked)
    return {words: rows for words, rows in (answers or {}).items() if rows}, messages


def texts(program, path, questions):
    """The answers as they are printed, in one go."""
    lines = []
    for n, words in enumerate(questions):
        lines += ['print("@@ %d")' % n, words]
    done = yore_says.run(program, "--no-index", path, text="\n".join(lines + ['print("@@ end")', ""]))
    parts = re.split(r"^@@ (?:\d+|end)\n", done.stdout.decode("utf-8", "replace"), flags=re.M)[1:]
    return dict(zip(questions, parts))


def plain(value):
    """As csv has it: floats of six digits, addresses as numbers."""
    if isinstance(value, float):
        return float("%.6g" % value)
    if isinstance(value, str):
        return tables_agree.base.number(value)
    return value


def lami_values(text):
    """The rows of all tables, each a list of plain values."""
    found = []
    for table in json.loads(text)["results"]:
        for row in table["data"]:
            found.append([cell.get("value", cell.get("low")) if isinstance(cell, dict) and cell.get("class") != "unknown" else
                          None if isinstance(cell, dict) else cell for cell in row])
    return found


def shapes_agree(report, words, rows, said):
    """json, table, bars and LAMI of the same rows."""
    items = [json.loads(line) for line in said[words + " --format json"].splitlines()]
    ours = [{key: plain(value) for key, value in item.items()} for item in items]
    theirs = [{key: plain(value) for key, value in row.items()} for row in rows]
    for a, b in zip(ours, theirs):
        if {k: v for k, v in a.items() if k not in ("comm", "next")} != {k: v for k, v in b.items() if k not in ("comm", "next")}:
            report.differs("%s: json has %s, csv %s" % (words, a, b))
            break
    report.same(words + ": rows of json", len(ours), len(theirs))
    shape = {}
    for kind in ("table", "bars"):
        lines = said[words + " --format " + kind].split("\n")
        more = sum(int(m[1]) for m in (re.match(r"^and (\d+) more$", line) for line in lines) if m)
        body = [line for line in lines if line and not re.match(r"^(range|unknown who ran|unknown |all |and \d+ more|\d+ samples)", line)]
        shape[kind] = len(body)
        if more:
            report.differs("%s: %d more without --limit" % (words, more))
    tables = len({row.get("table") for row in rows})
    for kind, lines in shape.items():
        if lines != len(rows) + 2 * tables and lines < len(rows):
            report.differs("%s: %d lines of the %s, %d rows" % (words, lines, kind, len(rows)))
    lami = said[words + " --format lami"]
    if lami.startswith("{") and not words.startswith("flamegraph"):
        got = lami_values(lami)
        report.same(words + ": rows of LAMI", len(got), len(rows))
        for told, row in zip(got, rows):
            known = [n for n in row.values() if isinstance(n, (int, float))]
            for value in told:  # a ratio is what is a percentage elsewhere
                if isinstance(value, (int, float)) and not any(abs(value - n) <= 1e-5 * abs(value) or abs(100 * value - n) <= 1e-3 * abs(value)
                                                              for n in known):
                    report.differs("%s: LAMI has %s, which is not in %s" % (words, value, row))
                    return


def by_table(rows):
    found = collections.defaultdict(list)
    for row in rows:
        found[row.get("table")].append(row)
    return found


def order_agrees(report, words, rows, answers):
    limited = answers[words + " --limit 2"]
    report.same(words + " --limit 2", limited, [row for own in by_table(rows).values() for row in own[:2]])
    for column in rows[0]:
        if column == "table":
            continue
        for sign in ("", "-"):
            got = answers["%s --sort %s%s" % (words, sign, column)]
            if got is None or sorted(map(repr, got)) != sorted(map(repr, rows)):
                report.differs("%s --sort %s%s has other rows" % (words, sign, column))
                continue
            for own in by_table(got).values():
                values = [row[column] for row in own]
                known = [v for v in values if v is not None]
                if values[:len(known)] != known:
                    report.differs("%s --sort %s%s: rows without a value are not last" % (words, sign, column))
                if column in ("comm", "next") or len({type(v) is str for v in known}) > 1 or any(type(v) is str for v in known):
                    continue  # texts are sorted as texts, and csv does not tell them from numbers
                if known != sorted(known, reverse=sign == "" and column not in TEXTS) and known != sorted(known, reverse=sign != ""):
                    report.differs("%s --sort %s%s: not in order" % (words, sign, column))


TEXTS = {"key", "name", "error", "disk", "module", "function", "stream", "table", "call", "prio"}


def conditions(log):
    """[(words of --where, test)] of columns of the log."""
    found = []
    row = random.choice(log)
    lengths = sorted(r["dur"] for r in log)
    middle = lengths[len(lengths) // 2]
    found.append(("dur > %d" % middle, lambda r: r["dur"] > middle))
    for column in ("tid", "kind", "cpu", "state", "ret", "bytes", "irq"):
        value = row.get(column)
        if value is None:
            continue
        text = str(value) if isinstance(value, int) else '"%s"' % value
        found.append(("%s == %s" % (column, text), lambda r, c=column, v=value: r[c] == v))
        found.append(("!(%s == %s) && dur <= %d" % (column, text, middle),
                      lambda r, c=column, v=value: r[c] != v and r["dur"] <= middle))
        found.append(("%s in (%s, %s) || begin < %d" % (column, text, text, row.get("begin", 0)),
                      lambda r, c=column, v=value: r[c] == v or r.get("begin", r.get("end", 0) - r["dur"]) < row.get("begin", 0)))
    return found


def where_questions(words, log):
    name = words.split()[0]
    rest = words.split(" ", 2)[2] if words.count(" ") > 1 else ""
    for condition, test in random.sample(conditions(log), min(3, len(conditions(log)))):
        yield name, rest, " --where '%s'" % condition, test


def compare(program, path):
    name = path.rstrip("/").split("/")
    report = Report("options " + (name[-2] if name[-1].startswith(("perf.", "trace.")) else name[-1]))
    report.tables = 0
    questions, messages = base_questions(program, path)
    if not questions:
        report.differs("no analysis answers: " + messages[-300:])
        return report.close()
    random.seed(len(questions))
    asked, wheres = [], []
    for words, rows in questions.items():
        asked += [words + " --limit 2"] + ["%s --sort %s%s" % (words, sign, column) for column in rows[0] if column != "table"
                                           for sign in ("", "-")]
        analysis, verb = (words.split() + [""])[:2]
        if analysis in LOGS and verb == LOGS[analysis][0]:
            for _, rest, where, test in where_questions(words, rows):
                own = [" ".join(filter(None, [analysis, each, rest])) + where for each in [verb] + list(LOGS[analysis][1])]
                asked += own
                wheres.append((analysis, rows, own, test))
    answers, messages = tables_agree.ask(program, path, asked)
    if answers is None:
        report.differs("the prompt: " + messages[-300:])
        return report.close()
    said = texts(program, path, [words + " --format " + kind for words in questions for kind in ("json", "table", "bars", "lami")])
    for words, rows in questions.items():
        if answers[words + " --limit 2"] is not None and "flamegraph" not in words:
            order_agrees(report, words, rows, answers)
        shapes_agree(report, words, rows, said)
        report.tables += 1
    for analysis, log, own, test in wheres:
        wanted = [row for row in log if test(row)]
        report.same(own[0], answers[own[0]], wanted)
        for words, by in zip(own[1:], LOGS[analysis][1].values()):
            rows = [dict(row, kind=row["table"]) if "table" in row else row for row in answers[words] or []]
            extra = ("syscall",) if analysis == "offcpu" and any("syscall" in row for row in log) else ()
            tables_agree.same_sums(report, words, rows, wanted, by + extra)
    report.facts = ["%d tables, %d questions" % (len(questions), len(asked) + 4 * len(questions))]
    return report.close()


def main():
    good = [compare(sys.argv[1], path) for path in sys.argv[2:]]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()

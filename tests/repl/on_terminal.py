#!/usr/bin/python3
"""Answers on a terminal: tables with heads that fit it."""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from results import finish, result, top, yore
from terminal import Terminal

demo = os.path.join(top, "fixtures/golden/sched-demo")


def sql(columns, *queries, options=()):
    return Terminal([yore, "sql", *options, demo, *queries], columns=columns).all()[0]


def check_tables():
    shown = sql(80, "SELECT cpu, next_comm FROM sched_switch ORDER BY ts LIMIT 2")
    result(shown == "cpu  next_comm\n  0  migration/0\n  0  swapper/0\n", "a table with a head", shown)
    shown = sql(80, "SELECT cpu FROM sched_switch ORDER BY ts LIMIT 1", options=["--format=text"])
    result(shown == "0\n", "text when it is asked for", shown)
    shown = sql(80, "SELECT 1 AS a", options=["--format=json"])
    result(shown == '{"a":1}\n', "what --format says", shown)
    shown = sql(76, "SELECT * FROM events LIMIT 20")
    lines = shown.splitlines()
    result(len(lines) == 21 and all(len(line) <= 76 for line in lines) and "\u2026" in shown, "a table fits 76 columns", shown)
    result(all(line.split()[0].isdigit() for line in lines[1:]), "and cuts no number", shown)
    shown = sql(40, "SELECT * FROM sched_switch LIMIT 2")
    rows = shown.split("\n\n")
    result(len(rows) == 2 and "           next_pid = 0\n" in rows[1], "a row too wide is a line per value", shown)
    result("note: 19 columns are wider than the terminal" in shown and "name fewer columns" in shown, "and it says how to narrow them", shown)
    result("note:" not in sql(40, "SELECT cpu, next_pid FROM sched_switch LIMIT 2"), "which is not said of a table", shown)
    result("perf_ip = 0xffffffff821f8b58\n" in shown, "addresses are in hexadecimal", shown)
    shown = sql(30, "SELECT '" + "\u8a9e" * 30 + "' AS wide, 'e\u0301' AS mark, 1 AS n")
    width = lambda text: sum(2 if c == "\u8a9e" else 0 if c == "\u0301" else 1 for c in text)
    result([width(line) for line in shown.splitlines()] in ([30, 30], [29, 29]), "wide characters and marks", shown)


def check_unknown():
    """What a timeline draws as unknown or none is what `at` says at both ends of the column."""
    trace = os.path.join(top, "fixtures/golden/sched-ftrace/trace.dat")
    run = lambda *words: subprocess.run([yore, *words], check=True, stdout=subprocess.PIPE, text=True).stdout
    head, _, *rows = run("timeline", trace, "thread[*]/syscall", "thread[*]/state", "--width", "90", "--time", "ns").splitlines()
    begin, end = map(int, re.match(r"(\d+) to (\d+), ", head).groups())
    paths = [re.match(r"\S+", row)[0] for row in rows]
    result("░ is unknown, blank none" in head, "the head says what unknown and none look like", head)
    wrong = []
    label = max(len(re.match(r"\S+(?: \S+)?", row)[0]) for row in rows) + 1
    cells = max(len(row) for row in rows) - label
    at = lambda c: begin + (end - begin) * c // cells
    for path, row in zip(paths, rows):
        drawn = row[label:].ljust(cells)
        moments = sorted({t for c in range(cells) for t in (at(c), at(c + 1) - 1)})
        lines = map(json.loads, run("at", trace, *("@%d" % t for t in moments), path, "--format", "json", "--quiet").splitlines())
        known = {line["ts"]: line.get("known", True) for line in lines}
        for c, sign in enumerate(drawn):
            unknown = not all(known[t] for t in (at(c), at(c + 1) - 1))
            if sign == "░" and not unknown or sign == " " and unknown:
                wrong.append((path, c, sign))
    result(not wrong, "unknown and none are told apart", wrong[:5])


def main():
    with tempfile.TemporaryDirectory() as work:
        os.environ.update(XDG_CACHE_HOME=work, PAGER="cat", LC_ALL="C.UTF-8", TZ="UTC")
        check_tables()
        check_unknown()
    finish()


main()

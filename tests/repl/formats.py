#!/usr/bin/env python3
"""--format json is an object in each line and --format csv rows of one length, with every command that prints rows, and both have as many.

Python's parsers of JSON and CSV are the judge.
"""
import csv
import io
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from results import finish, result, top, yore

DEMO, PERF, OVNI, FTRACE, MEMORY = (os.path.join(top, "fixtures", "golden", name) for name in (
    "sched-demo", "sched-perf/perf.data", "ovni-demo", "demo/trace.dat", "memory-demo"))

BOTH = (
    ("at", DEMO, "+5ms", "cpu[*]/thread"), ("at", DEMO, "+5ms", "+6ms", "thread[*]/**", "--why"), ("at", DEMO, "+5ms"),
    ("state", DEMO, "cpu[*]/thread"), ("state", PERF, "thread[*]/**", "--end", "+1ms"), ("when", DEMO, "thread[*]/state=blocked"),
    ("longest", DEMO, "thread[*]/state"), ("diff", DEMO, "+1ms", "+9ms", "thread[*]/state"), ("stats", DEMO),
    ("rules",), ("rules", "linux", "--explain"), ("run", "--list"),
    ("explain", "at", DEMO, "+5ms", "+6ms", "cpu[*]/thread"), ("explain", "state", DEMO, "cpu[*]/thread", "--begin", "+1ms"),
    ("explain", "longest", DEMO, "thread[*]/state"), ("explain", "events", DEMO, "--end", "+1ms"),
    ("sql", DEMO, "SELECT * FROM thread_state"), ("sql", DEMO, "SELECT name, count(*) AS n, 'a,\"b' AS t FROM events GROUP BY name"),
    ("catalog", DEMO), ("index", "--list"),
)
# of these the forms differ: CSV has a table of one kind, or none
JSON_ALONE = (
    ("events", DEMO), ("events", PERF, "--around", "+1ms"), ("events", OVNI), ("info", DEMO), ("info", OVNI), ("check", DEMO), ("dump", DEMO),
    ("do", DEMO, "sched_switch { @[prev_comm] = count(); @h = hist(next_pid); }"), ("timeline", DEMO, "cpu[*]/thread"),
    *((name, DEMO) for name in ("cputop", "gaps", "latency", "migrations", "offcpu", "sched", "switches")),
    ("irq", FTRACE), ("syscalls", FTRACE), ("top", MEMORY),
    ("periods", DEMO, "--from", "sched_waking", "--until", "sched_wakeup", "--key", "payload/pid"),
    ("compare", DEMO, DEMO, "--unit", "wake-up to sleep"),
)


def ask(words, work, form):
    done = subprocess.run([yore, *words, "--format", form, "--index-dir", work], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")


def no_number(text):
    raise ValueError("%s is no JSON" % text)


def objects(text):
    """How many lines have an object; raises ValueError."""
    lines = text.split("\n")
    if lines.pop() != "":
        raise ValueError("the last line does not end")
    for line in lines:
        if not isinstance(json.loads(line, parse_constant=no_number), dict):
            raise ValueError("no object: " + line)
    return len(lines)


def rows(text):
    """How many rows are below the head; raises ValueError."""
    table = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    for row in table:
        if len(row) != len(table[0]):
            raise ValueError("%d cells of %d: %s" % (len(row), len(table[0]), row))
    return len(table) - 1


def check(words, work, forms):
    found, name = {}, " ".join(os.path.relpath(word, top) if word.startswith(top) else word for word in words)
    for form, count in forms:
        status, out, said = ask(words, work, form)
        try:
            found[form] = count(out)
        except (ValueError, csv.Error) as error:
            result(False, "%s of yore %s" % (form, name), (error, out[:300]))
            return
        if status != 0 or not found[form]:
            result(False, "%s of yore %s" % (form, name), (status, found, said))
            return
    result(len(set(found.values())) == 1, "yore %s" % name, found)


def main():
    with tempfile.TemporaryDirectory() as work:
        for words in BOTH:
            check(words, work, (("json", objects), ("csv", rows)))
        for words in JSON_ALONE:
            check(words, work, (("json", objects),))
    finish()


main()

#!/usr/bin/env python3
"""yore first: a folder of traces of which each unit is known, with a step, without one, and with traces that cannot be read."""
import csv
import io
import json
import math
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
sys.path.insert(0, os.path.join(os.path.abspath(os.environ.get("srcdir", ".")), "tests", "repl"))
import results
from results import finish, result

work = tempfile.mkdtemp(prefix="yore-first-")
index = os.path.join(work, "index")
os.environ["YORE_LUA_DIR"] = os.path.join(results.top, "lua-lib")
UNIT = "request_begin -> request_end by id"
DAY = 86400
METADATA = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; } := u8;
typealias integer { size = 32; align = 8; } := u32;
trace { major = 1; minor = 8; byte_order = le; };
clock { name = c; freq = 1000000000;%s };
typealias integer { size = 64; align = 8; map = clock.c.value; } := time;
stream { event.header := struct { u8 id; time timestamp; }; };
event { id = 0; name = "request_begin"; fields := struct { u32 id; }; };
event { id = 1; name = "request_end"; fields := struct { u32 id; }; };
"""


def yore(*words):
    done = subprocess.run([results.yore, *words, "--index-dir", index], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def first(folder, what, *words):
    return yore("first", "--catalog", folder, "--unit", UNIT, what, *words)


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def make(path, offset, lengths):
    """A trace of units one behind the other; offset: seconds since 1970, None: the clock does not say."""
    os.makedirs(path)
    with open(os.path.join(path, "metadata"), "w", encoding="utf-8") as file:
        file.write(METADATA % ("" if offset is None else "  offset_s = %d; absolute = TRUE;" % offset))
    with open(os.path.join(path, "stream"), "wb") as file:
        t = 1000
        for i, length in enumerate(lengths):
            file.write(struct.pack("<BQI", 0, t, i) + struct.pack("<BQI", 1, t + length, i))
            t += length + 100
    return path


def drawn(rng, count, middle):
    return [round(middle * math.exp(rng.gauss(0, 0.25))) for _ in range(count)]


def make_series(name, seed, runs, units, step_at=None, step=1.0):
    """{path: lengths} in order of time; names say nothing about it."""
    rng, made = random.Random(seed), {}
    names = list(range(runs))
    rng.shuffle(names)
    for i in range(runs):
        lengths = drawn(rng, units, 50000 * (step if step_at is not None and i >= step_at else 1))
        made[make(os.path.join(work, name, "night-%d" % names[i]), 1790000000 + i * DAY, lengths)] = lengths
    return made


def check_step():
    series = make_series("step", 1, 28, 100, 18, 1.3)
    paths, folder = list(series), os.path.join(work, "step")
    for what, number in (("mean", lambda all: sum(all) / len(all)), ("p90", lambda all: sorted(all)[math.ceil(0.9 * len(all)) - 1])):
        status, out, err = first(folder, what + "(unit)", "--format", "json")
        rows = lines(out)
        level = sorted(number(series[path]) for path in paths[:18])
        good = status == 0 and err == "" and len(rows) == 1 and abs(rows[0]["run"] - 19) <= 1 and \
            rows[0]["low"] <= 19 <= rows[0]["high"] and rows[0]["way"] == "rises" and \
            rows[0]["ratio_low"] <= 1.3 <= rows[0]["ratio_high"] and rows[0]["chance"] < 0.001 and level[0] <= rows[0]["before"] <= level[-1]
        result(good, "a step of %s is found where it is" % what, (status, out, err))
        result(good and rows[0]["trace"] == paths[rows[0]["run"] - 1] and rows[0]["trace_before"] == paths[rows[0]["run"] - 2],
               "and named by its trace", out)
    status, out, err = first(folder, "mean(unit)", "series", "--format", "json")
    rows = lines(out)
    result([row["trace"] for row in rows] == paths and [row["count"] for row in rows] == [100] * 28 and
           all(abs(row["number"] - sum(series[row["trace"]]) / 100) <= 1 for row in rows), "the series has the number of each trace", rows[:2])
    wrong = []
    for what, number in (("max", max), ("total", sum)):
        got = [row["number"] for row in lines(first(folder, what + "(unit)", "series", "--format", "json")[1])]
        wrong += [] if got == [number(series[path]) for path in paths] else [(what, got)]
    result(not wrong, "max and total are exact", wrong)
    alone = first(folder, "mean(unit)", "--jobs", "1")
    text = alone[1]
    table = list(csv.DictReader(io.StringIO(first(folder, "mean(unit)", "--format", "csv")[1])))
    run = int(table[0]["run"])
    result("mean(unit) rose at run %d" % run in text and paths[run - 1] in text and
           "yore compare %s %s --unit '%s'" % (paths[run - 2], paths[run - 1], UNIT) in text, "the text says what CSV does, and how to compare", text)
    status, out, err = yore(*text.split("yore ")[1].split(" --unit")[0].split(), "--unit", UNIT)
    result(status == 0 and "what differs" in out, "that command works", (status, err))
    result(alone == first(folder, "mean(unit)", "--jobs", "3"), "one process gives what three do")
    return series


def check_fall(series):
    """The same traces in the order of their names, listed by a catalog: faster behind the step."""
    paths, file = list(series), os.path.join(work, "listed.sqlite")
    yore("catalog", os.path.join(work, "step"), "--to", file)
    import sqlite3
    with sqlite3.connect(file) as db:
        for i, path in enumerate(reversed(paths)):
            db.execute("UPDATE traces SET rowid = ? WHERE path = ?", (1000 + i, path))
    db.close()
    status, out, err = first(file, "mean(unit)", "--order", "listed", "--format", "json")
    rows = lines(out)
    result(status == 0 and len(rows) == 1 and rows[0]["way"] == "falls" and abs(rows[0]["run"] - 11) <= 1 and
           rows[0]["ratio_low"] <= 1 / 1.3 <= rows[0]["ratio_high"], "a catalog's order is asked for", (out, err))
    result("mean(unit) rose at run" in first(file, "mean(unit)")[1], "without it the order is that of time")


def check_none():
    make_series("none", 2, 24, 30)
    folder = os.path.join(work, "none")
    status, out, err = first(folder, "mean(unit)")
    result(status == 0 and "no change was found; a rise by " in out and err == "", "no step, none is claimed", out)
    status, out, err = first(folder, "mean(unit)", "--format", "json")
    result(status == 0 and out == "" and "note: first: no change was found; a rise by " in err, "and has no rows, which a note tells", (out, err))
    result(first(folder, "mean(unit)", "--format", "csv")[1].count("\n") == 1, "but the head of CSV")
    make_series("few", 3, 5, 20)
    result("too few runs" in first(os.path.join(work, "few"), "mean(unit)")[1], "a few runs decide nothing, and that is told")


def check_failures():
    folder = os.path.join(work, "step")
    empty, other = os.path.join(folder, "empty"), os.path.join(folder, "none-of-them")
    make(empty, 1790000000, [])
    make(other, 1790000000, [5])
    with open(os.path.join(other, "metadata"), "w", encoding="utf-8") as file:
        file.write("/* CTF 1.8 */ nonsense")
    status, out, err = first(folder, "mean(unit)")
    result(status == 3 and "28 runs of" in out and "2 left out" in out and "rose at run" in out and empty in err and other in err,
           "traces without a number are told", (status, out, err))
    rows = [row for row in lines(first(folder, "mean(unit)", "series", "--format", "json")[1]) if row["error"]]
    result(sorted(row["trace"] for row in rows) == [empty, other] and all(row["number"] is None for row in rows), "and are rows of the series",
           rows)
    cut = os.path.join(folder, "night-3", "stream")
    with open(cut, "rb+") as file:
        file.truncate(os.path.getsize(cut) - 5)
    status, out, err = first(folder, "mean(unit)")
    result(status == 3 and "28 runs of" in out and os.path.dirname(cut) + ": parts of it could not be read" in err, "so is damage", (out, err))
    own = os.path.join(work, "own")
    make(os.path.join(own, "a"), None, [100, 200])
    make(os.path.join(own, "b"), 1790000000, [100, 200])
    status, out, err = first(own, "mean(unit)")
    result("does not tell the time of day" in err and "order of the catalog" in out, "an order that is not known is told", (out, err))
    result("does not" not in first(own, "mean(unit)", "--order", "begin")[2], "and may be asked for")


def check_empty():
    folder = os.path.join(work, "no-traces")
    os.makedirs(folder)
    status, out, err = first(folder, "mean(unit)")
    result(status == 1 and out == "" and "no-traces: there is no trace below it" in err, "a folder without traces is told", (status, out, err))
    status, out, err = first(folder, "mean(unit)", "series", "--format", "json")
    result(status == 0 and out == "" and "no-traces: there is no trace below it" in err, "its series is empty, and a note says why", (status, out, err))


def check_words():
    folder = os.path.join(work, "none")
    for words, text in (((), "what is looked at is missing"), (("p99(unit)",), "the unit is missing"),
                        (("p99(unit)", "--unit", UNIT), "the traces are missing: --catalog DIR"),
                        (("--catalog", folder, "--unit", UNIT, "p101(unit)"), "is none of p50(unit)"),
                        (("--catalog", folder, "--unit", UNIT, "median(unit)"), "is none of p50(unit)"),
                        (("--catalog", folder, "--unit", "nonsense", "p99(unit)"), "--unit: 'nonsense': it is none"),
                        (("--catalog", folder, "--unit", UNIT, "p99(unit)", "--order", "name"), "none of begin, listed"),
                        (("--catalog", folder, "--unit", UNIT, "p99(unit)", "--tid", "3"), "--tid has no meaning"),
                        (("--catalog", folder, "--unit", UNIT, "p99(unit)", "--timeout", "soon"), "is not a span"),
                        (("--catalog", os.path.join(work, "nowhere"), "--unit", UNIT, "p99(unit)"), "none of the 1 traces has a number"),
                        (("--catalog", folder, "--unit", "syscall read", "p99(unit)"), "none of the 24 traces has a number")):
        status, out, err = yore("first", *words)
        result(status == (1 if "of the" in text else 2) and out == "" and text in err and "lua:" not in err, "first %s: %s" % (" ".join(words[2:]), text), (status, out, err))
    done = subprocess.run([results.yore, folder + "/night-1", "--index-dir", index], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          input=("first --catalog %s --unit '%s' 'p99(unit)'\n" % (folder, UNIT)).encode())
    result(b"run it from a shell" in done.stderr, "the prompt cannot", done)


try:
    with_step = check_step()
    check_fall(with_step)
    check_none()
    check_failures()
    check_empty()
    check_words()
finally:
    shutil.rmtree(work, ignore_errors=True)
finish()

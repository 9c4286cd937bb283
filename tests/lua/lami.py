#!/usr/bin/python3
"""Analyses as LAMI 1.0 wants them: the four phases of each verb of each analysis, as a consumer runs them.

What is printed is validated against lami.schema.json (with python3-jsonschema), results against the metadata, and the
numbers in them against --format csv of the same command.
"""
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.abspath(os.environ.get("srcdir", "."))
YORE = os.path.abspath(os.environ.get("top_builddir", ".")) + "/yore"
GOLDEN = TOP + "/fixtures/golden"
TRACES = [GOLDEN + "/sched-demo", GOLDEN + "/sched-ftrace/trace.dat", GOLDEN + "/sched-perf/perf.data"]
WORDS = {"critical-path": ["--tid=10893"], "compare": [TRACES[0]], "top callers": ["--of=main"], "top callees": ["--of=main"],
         "periods": ["--from=sched_waking", "--until=sched_wakeup", "--key=payload/pid", "--field=comm=begin:comm"]}
ENV = dict(os.environ, YORE_LUA_DIR=TOP + "/lua-lib", TZ="UTC")

try:
    import jsonschema
except ImportError:
    jsonschema = None

status = 0


def result(good, name, why=""):
    global status
    print("%s: %s%s" % ("PASS" if good else "FAIL", name, "" if good else ": %s" % (why,)))
    status = status if good else 1
    return good


def run(*words):
    return subprocess.run([YORE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV, check=False,
                          text=True)


def valid(schema, value, kind):
    if not jsonschema:
        return None
    try:
        jsonschema.validate(value, dict(schema, **{"$ref": "#/definitions/" + kind}))
    except jsonschema.ValidationError as error:
        return "%s: %s" % ("/".join(map(str, error.absolute_path)), error.message)
    return None


def layout_fault(metadata, results):
    """What is wrong with a table by its class; None: nothing."""
    for table in results["results"]:
        described = metadata["table-classes"].get(table["class"])
        if not described:
            return "no table class " + table["class"]
        columns = [column["class"] for column in described["column-descriptions"]]
        for row in table["data"]:
            if len(row) != len(columns):
                return "%s: %d cells, not %d" % (table["class"], len(row), len(columns))
            for cell, column in zip(row, columns):
                if cell is not None and cell["class"] not in (column, "unknown"):
                    return "%s: a cell of %s in a column of %s" % (table["class"], cell["class"], column)
    return None


def number_fault(results, text):
    """Durations, times, counts and threads are, row by row, those of the CSV."""
    tables, heads = [], None
    for line in csv.reader(io.StringIO(text)):
        if heads is None or (line[0] == heads[0] and not line[0].isdigit()):
            heads = line
        else:
            tables.append(dict(zip(heads, line)))
    rows = [row for table in results["results"] for row in table["data"]]
    if len(rows) != len(tables):
        return "%d rows, %d of CSV" % (len(rows), len(tables))
    for row, line in zip(rows, tables):
        told = [cell["value"] for cell in row if cell and cell["class"] in ("duration", "timestamp", "size") and
                "value" in cell]
        told += [cell["tid"] for cell in row if cell and cell["class"] == "process" and "tid" in cell]
        told += [cell["id"] for cell in row if cell and cell["class"] == "cpu"]
        missing = [value for value in told if "%.6g" % value not in
                   ["%.6g" % float(cell) for cell in line.values() if re.match(r"^-?[\d.]+(e[+-]\d+)?$", cell)]]
        if missing:
            return "%s is not in %s" % (missing, line)
    return None


def check(schema, name, verb, traces):
    words = [name] + ([verb] if verb else []) + WORDS.get(name, []) + WORDS.get("%s %s" % (name, verb), [])
    title = " ".join(words[:2])
    version = run(*words, "--format", "lami", "--mi-version")
    result((version.returncode, version.stdout) == (0, "1.0\n"), "%s --mi-version" % title, version)
    printed = run(*words, "--format", "lami", "--metadata")
    if not result(printed.returncode == 0 and not printed.stderr, "%s --metadata" % title, printed):
        return 0
    metadata = json.loads(printed.stdout)
    of = [int(part) for part in run("--version").stdout.split()[1].split(".")]
    result([metadata["version"][part] for part in ("major", "minor", "patch")[:len(of)]] == of,
           "%s: its version is yore's" % title, metadata["version"])
    result(valid(schema, metadata, "metadata") is None, "%s: its metadata are valid" % title,
           valid(schema, metadata, "metadata"))
    rows = 0
    for trace in traces:
        base = "%s of %s" % (title, os.path.relpath(trace, GOLDEN))
        can = run(*words, "--format", "lami", "--test-compatibility", trace, "--no-index")
        told = run(*words, "--format", "lami", "--limit=unlimited", "--output-progress", trace, "--no-index")
        lines, brace, rest = told.stdout.partition("{")
        if not result(brace, base + " prints an object", told):
            continue
        answer = json.loads(brace + rest)
        result(all(re.fullmatch(r"(\*|0(\.\d+)?|1)( \S.*)?", line) for line in lines.splitlines()) and
               lines.count("\n") >= (2 if told.returncode == 0 else 0) and lines[-1:] in ("", "\n"), base + " tells its progress", lines)
        if can.returncode:
            result(told.returncode != 0 and "error-message" in answer and
                   valid(schema, json.loads(can.stdout), "error") is None, base + " is refused by both", told)
            continue
        if told.returncode and words[0] in ("critical-path", "top", "flamegraph", "cputop"):
            result(valid(schema, answer, "error") is None, base + " says why it has nothing", told)
            continue
        if not result(told.returncode == 0 and not can.stdout, base + " is told", told):
            continue
        fault = valid(schema, answer, "results") or layout_fault(metadata, answer)
        result(fault is None, base + " is as the metadata say", fault)
        fault = number_fault(answer, run(*words, "--format", "csv", trace, "--no-index").stdout)
        result(fault is None, base + " has the numbers of the CSV", fault)
        rows += sum(len(table["data"]) for table in answer["results"])
    return rows


def main():
    with open(TOP + "/tests/lua/lami.schema.json", encoding="utf-8") as file:
        schema = json.load(file)
    if not jsonschema:
        print("SKIP: there is no python3-jsonschema: nothing is validated against the schema")
    rows = 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([TOP + "/tests/lua/made_kernel.py", folder], check=True, stdout=subprocess.DEVNULL)
        for line in run("run", "--list").stdout.splitlines():
            name = line.split()[0]
            verbs = re.match(r"^yore \S+ TRACE (?:\[([a-z|]+)\])?", run("help", name).stdout)
            if not verbs:  # of many traces
                continue
            for verb in (verbs[1] or "").split("|"):
                rows += check(schema, name, verb, TRACES + ([folder + "/trace", TOP + "/fixtures/golden/memory-demo"] if name == "memtop" else []))
    result(rows > 1000, "there are results (%d rows)" % rows)
    ranged = json.loads(run("latency", "log", "--format", "lami", "--begin=2120801000000", "--end=2120802000000",
                            TRACES[0]).stdout)["results"][0]
    result([ranged["time-range"][end]["value"] for end in ("begin", "end")] == [2120801000000, 2120802000000] and
           all(2120801000000 <= row[0]["value"] < 2120802000000 for row in ranged["data"]) and ranged["data"],
           "--begin and --end are nanoseconds", ranged)
    bad = run("latency", "--format", "lami", "--where", "nothing == 3", TRACES[0])
    result(bad.returncode != 0 and valid(schema, json.loads(bad.stdout), "error") is None and
           "no column 'nothing'" in json.loads(bad.stdout)["error-message"], "an error is an error object", bad)
    sys.exit(status)


main()

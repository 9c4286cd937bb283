#!/usr/bin/python3
"""One text of a condition means the same of events, of an analysis' rows, and as a predicate of `do`.

Random conditions are asked of all. What each leaves is compared with an evaluation here, of the csv that is printed
without a condition: three values of truth, exact integers, globs and regular expressions. Pairs of events of random keys, and
on random conditions, are compared with those that a loop over all events makes here.

    conditions.py [--count 60] [--seed N]
"""
import argparse
import csv
import fnmatch
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile

TOP = os.path.abspath(os.environ.get("srcdir", "."))
YORE = os.path.abspath(os.environ.get("top_builddir", ".")) + "/yore"
ENV = dict(os.environ, YORE_LUA_DIR=TOP + "/lua-lib", TZ="UTC")
DEMO = TOP + "/fixtures/golden/sched-demo"
# the command, and its columns of numbers and of texts
PLACES = [(["events", DEMO, "--name", "sched_switch"], ["prev_prio", "next_prio", "prev_pid", "next_pid", "prev_state"],
           ["prev_comm", "next_comm"]),
          (["latency", DEMO, "log"], ["dur", "tid", "cpu"], ["comm", "kind"]),
          (["offcpu", DEMO, "log"], ["dur", "tid"], ["comm", "state"])]
UNITS = {"ns": 1, "us": 1000, "ms": 1000000, "s": 1000000000}


def rows_of(words, *more):
    run = subprocess.run([YORE, *words, "--format", "csv", *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV,
                         text=True, check=False)
    if run.returncode:
        sys.exit("FAIL: %s: %s" % (" ".join([*words, *more]), run.stderr))
    return list(csv.DictReader(io.StringIO(run.stdout)))


class Maker:
    """A random condition: its text, and a function of a row, which gives True, False or None (unknown)."""

    def __init__(self, rng, rows, numbers, texts, plain=False):
        self.rng, self.rows, self.numbers, self.texts = rng, rows, numbers, texts
        self.plain = plain  # of events: fields with their scope, too

    def scoped(self, column):
        """Of events, now and then with the scope of the field."""
        return self.rng.choice((column, column, "payload/" + column, "field/" + column)) if self.plain else column

    def value(self, column):
        return self.rng.choice(self.rows)[column]

    def literal(self):
        number = int(self.value(self.rng.choice(self.numbers)) or 0) + self.rng.choice((-1, 0, 0, 1))
        if self.rng.random() < 0.3:
            unit, scale = self.rng.choice(sorted(UNITS.items()))
            if number // scale < 10 ** 9:
                half = self.rng.random() < 0.3 and scale > 1
                whole = abs(number) // scale
                return "%d%s%s" % (whole, ".5" if half else "", unit), whole * scale + (scale // 2 if half else 0)
        return (str(number), number) if number >= 0 else ("(%d)" % number, number)

    def number(self, depth):
        rng = self.rng
        if depth <= 0 or rng.random() < 0.5:
            if rng.random() < 0.3:
                text, value = self.literal()
                return text, lambda row: value
            column = rng.choice(self.numbers)
            return self.scoped(column), lambda row: int(row[column]) if row[column] else None
        (a, fa), (b, fb) = self.number(depth - 1), self.number(depth - 1)
        kind = rng.choice(("+", "-", "&", "|", "choose", "min", "max"))

        def both(f):
            return lambda row: None if fa(row) is None or fb(row) is None else f(fa(row), fb(row))
        if kind == "choose":
            c, fc = self.truth(depth - 1)
            return (rng.choice(("choose(%s, %s, %s)", "(%s ? %s : %s)")) % (c, a, b),
                    lambda row: None if fc(row) is None else fa(row) if fc(row) else fb(row))
        if kind in ("min", "max"):
            return "%s(%s, %s)" % (kind, a, b), both(min if kind == "min" else max)
        # bits of negative numbers are those of 64
        return "(%s %s %s)" % (a, kind, b), both({"+": lambda x, y: x + y, "-": lambda x, y: x - y, "&": lambda x, y: x & y,
                                                  "|": lambda x, y: x | y}[kind])

    def text(self):
        column = self.rng.choice(self.texts)
        return self.scoped(column), lambda row: row[column] or None

    def compared(self, depth):
        rng = self.rng
        kind = rng.choice(("number", "number", "text", "glob", "regex", "in", "has"))
        if kind == "number":
            (a, fa), (b, fb) = self.number(depth), self.number(depth)
            op = rng.choice(("==", "!=", "<", "<=", ">", ">="))
            holds = {"==": int.__eq__, "!=": int.__ne__, "<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__}[op]
            return "%s %s %s" % (a, op, b), lambda row: None if fa(row) is None or fb(row) is None else holds(fa(row), fb(row))
        a, fa = self.text()
        wanted = self.value(a.split("/")[-1])
        if kind == "text":
            op = rng.choice(("==", "!="))
            return ('%s %s "%s"' % (a, op, wanted), lambda row: None if fa(row) is None else (fa(row) == wanted) == (op == "=="))
        if kind == "glob":
            glob = wanted[:rng.randrange(len(wanted) + 1)] + "*"
            return '%s ~ "%s"' % (a, glob), lambda row: None if fa(row) is None else fnmatch.fnmatchcase(fa(row), glob)
        if kind == "regex":
            pattern = "^" + re.escape(wanted[:2]).replace("\\-", "-").replace("\\", "\\\\") + ".*[0-9a-m]$"
            plain = pattern.replace("\\\\", "\\")
            return ('%s =~ "%s"' % (a, pattern), lambda row: None if fa(row) is None else bool(re.search(plain, fa(row))))
        if kind == "in":
            column = rng.choice(self.numbers)
            literals = [self.literal() for _ in range(3)]
            literals = [(text.strip("()"), value) for text, value in literals]
            return ("%s in (%s)" % (column, ", ".join(text for text, _ in literals)),
                    lambda row: int(row[column]) in [value for _, value in literals] if row[column] else None)
        return "has(%s)" % a, lambda row: fa(row) is not None

    def truth(self, depth):
        rng = self.rng
        if depth <= 0 or rng.random() < 0.4:
            return self.compared(depth - 1)
        (a, fa), (b, fb) = self.truth(depth - 1), self.truth(depth - 1)
        kind = rng.choice(("&&", "||", "!"))
        if kind == "!":
            return "!(%s)" % a, lambda row: None if fa(row) is None else not fa(row)

        def joined(row):
            sides = fa(row), fb(row)
            decides = kind == "||"
            return decides if decides in sides else None if None in sides else not decides
        return "(%s %s %s)" % (a, kind, b), joined


def counted(text):
    """How many events `do` counts by that predicate."""
    run = subprocess.run([YORE, "do", DEMO, "sched_switch /%s/ { @ = count(); }" % text, "--format", "json", "--no-index"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV, text=True, check=False)
    if run.returncode:
        sys.exit("FAIL: do /%s/: %s" % (text, run.stderr))
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    return sum(row["data"]["@"] for row in rows if row.get("type") == "map")


BESIDE = ["cpu", "cpu", "cpu", "cpu", "tid", "prio", "prev_tid", "next_tid", "prev_prio", "next_prio", "prev_state"], ["comm", "prev_comm", "next_comm"]


class Keys(Maker):
    """A random key: its text, and a function of an event, which gives the text of its value, or None."""

    def column(self, alone):
        kind = self.rng.random()
        if kind < 0.4:
            return self.rng.choice(((self.rng.choice(self.numbers), "number"), (self.rng.choice(self.texts), "text")))[0], None
        while True:
            text, f = self.number(2)
            if not re.fullmatch(r"\(?-?[0-9.]+[a-z]*\)?", text):
                break
        # an operator at the begin of a key stands outside of brackets, where it joins no columns
        inner = re.fullmatch(r"\((\w+) (&|-) (\w+)\)", text)
        return inner.group(0)[1:-1] if inner and alone else text, f

    def key(self):
        counts = [self.rng.choice((1, 1, 2)) for _ in range(self.rng.choice((1, 1, 2, 3)))]
        parts = [[self.column(counts == [1]) for _ in range(n)] for n in counts]

        def value(row, text, f):
            return (row[text] or None) if f is None else f(row)

        def whole(row):
            found = [next((v for v in (value(row, *column) for column in part) if v is not None), None) for part in parts]
            if None in found:
                return None
            found = [str(v) for v in found]
            return "+".join(v if v.lstrip("-").isdigit() else '"%s"' % v for v in found) if len(found) > 1 else found[0]
        return " + ".join(" | ".join(text for text, _ in part) for part in parts), whole


def paired(events, begin, finish, nested):
    """begin, finish: conditions by name of an event, and a key."""
    left, found = {}, []
    for row in events:
        key = row["name"] in finish[0] and finish[0][row["name"]](row) is True and finish[1](row) or None
        if key and left.get(key):
            found.append((left[key].pop(), row["ts"], key))
        key = row["name"] in begin[0] and begin[0][row["name"]](row) is True and begin[1](row) or None
        if key:
            left[key] = (left.get(key, []) if nested else []) + [row["ts"]]
    return found


def check_pairs(rng, count, work):
    trace, names = work + "/trace", ("sched_waking", "sched_switch", "sched_migrate_task")
    subprocess.run([os.path.dirname(YORE) + "/fixtures/yore-gen", "--out", trace, "--size", "700K", "--no-truth"], check=True,
                   stdout=subprocess.DEVNULL)
    within = ["--begin", "+1ms", "--end", "+4ms"]  # all CPUs are recorded
    told = subprocess.run([YORE, "events", trace, *within, "--format", "json", "--no-index", *(word for name in names for word in ("--name", name))],
                          stdout=subprocess.PIPE, env=ENV, check=True, text=True).stdout
    events = []
    for line in told.splitlines():
        event = json.loads(line)
        row = {column: str({**event["fields"], "cpu": event["cpu"]}.get(column, "")) for column in BESIDE[0] + BESIDE[1]}
        events.append({**row, "name": event["name"], "ts": str(event["ts"])})
    some = 0
    for _ in range(count):
        maker = Keys(rng, events, *BESIDE)
        sides, words = [], []
        for option in ("--from", "--until"):
            sides.append({})
            for name in rng.sample(names, rng.choice((1, 1, 2))):
                text, sides[-1][name] = maker.truth(1) if rng.random() < 0.4 else ("", lambda row: True)
                words += [option, name + (" where " + text if text else "")]
        key, f = maker.key()
        other, g = maker.key() if rng.random() < 0.2 else (key, f)
        words += ["--key", key, *(["--until-key", other] if other != key else []), *(["--nested"] if rng.random() < 0.4 else [])]
        run = subprocess.run([YORE, "periods", trace, "log", *words, *within, "--format", "csv", "--no-index"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, env=ENV, text=True, check=False)
        got = sorted((row["begin"], row["end"], row["key"]) for row in csv.DictReader(io.StringIO(run.stdout)))
        expected = sorted(paired(events, (sides[0], f), (sides[1], g), "--nested" in words))
        if got != expected or (run.returncode and "no event that" not in run.stderr):
            print("FAIL: periods %s: %d pairs, expected %d: %s" % (" ".join("'%s'" % word for word in words), len(got), len(expected), run.stderr))
            print(sorted(set(got) ^ set(expected))[:4])
            return 0
        some += bool(expected)
    print("PASS: %d pairs of events, %d of which are some" % (count, some))
    return some


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    args = parser.parse_args()
    rng = random.Random(args.seed)
    tables = [(words, rows_of(words), numbers, texts) for words, numbers, texts in PLACES]
    asked = some = predicates = 0
    for i in range(args.count):
        words, rows, numbers, texts = tables[i % len(tables)]
        plain = words[0] == "events" and rng.random() < 0.7
        text, holds = Maker(rng, rows, numbers, texts, plain).truth(3)
        expected = [row for row in rows if holds(row) is True]
        got = rows_of(words, "--where", text)
        if got != expected:
            print("FAIL: seed %d: %s --where '%s': %d rows of %d, expected %d" % (args.seed, words[0], text, len(got), len(rows),
                                                                                len(expected)))
            return 1
        if plain and counted(text) != len(expected):
            print("FAIL: seed %d: do /%s/: %d events, expected %d" % (args.seed, text, counted(text), len(expected)))
            return 1
        predicates += plain
        asked += 1
        some += 0 < len(expected) < len(rows)
    print("PASS: %d conditions, %d of which leave some rows, %d of them predicates, too" % (asked, some, predicates))
    with tempfile.TemporaryDirectory(prefix="yore-test-") as work:
        return 0 if some and predicates and check_pairs(rng, args.count, work) else 1


sys.exit(main())

#!/usr/bin/python3
"""Whether `yore compare` names what was planted between two traces, and nothing where nothing was.

    compare_agree.py YORE [--pairs N] [--nulls N] [--seed S] [--requests N] [--size clear|modest|small]...
                     [--cause CAUSE]... [--keep FOLDER]

Makes N pairs with a cause, each kind in turn, and as many without (compare_pairs.py), and compares them by
request, every fourth pair without a unit being named: there, requests have to be among the units that are
proposed. The planted cause, with its `who`, has to be the first of requests in at least 95 of 100; of the
pairs without one, none may have any. Small causes need not be found, but nothing else may be named in their
place. Requests have to be counted and measured as the machine did, and differences be of the right size; that
of changes of CPU is printed alone, since what they cost is estimated. Of every fifth pair the sides are
swapped, too: what is first must be the same, with the other sign; with a baseline of side A the answer must be
the same. A pair is drawn again where by the machine's own sums some other part of the requests grew more than
the planted one.
"""
import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
os.environ["YORE_LUA_DIR"] = os.path.join(HERE, "..", "..", "lua-lib")
import compare_pairs
from yore_says import Report

UNIT = "request_begin -> request_end by id"
ENOUGH = 0.95


def ask(yore, folder, named, sides="ab", more=()):
    done = subprocess.run([yore, "compare", *("%s/%s" % (folder, side) for side in sides), *more, "--no-index",
                           "--format", "json"] + (["--unit", UNIT] if named else []),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        return None, "exit %d: %s" % (done.returncode, done.stderr.decode(errors="replace").strip()[-300:])
    try:
        return json.loads(done.stdout), None
    except ValueError as error:
        return None, "no JSON: %s" % error


def is_planted(cause, truth):
    wanted = (truth["who"] or "").lower()
    return cause["cause"] == truth["cause"] and wanted in (cause["who"] or "").lower()


def told(cause):
    return "%s %s %+d [%d, %d] of %s" % (cause["cause"], cause["who"], cause["difference"], cause["low"],
                                         cause["high"], cause["unit"])


def check_causes(report, label, said):
    """What holds of every list of causes."""
    sizes = [abs(cause["difference"]) for cause in said["causes"]]
    if sizes != sorted(sizes, reverse=True):
        report.differs("%s: causes are not in order of their size" % label)
    for cause in said["causes"]:
        if not cause["low"] <= cause["difference"] <= cause["high"] or cause["low"] <= 0 <= cause["high"]:
            report.differs("%s: interval of %s" % (label, told(cause)))
        if abs(cause["b"] - cause["a"] - cause["difference"]) > 2:
            report.differs("%s: %s is not %s less %s" % (label, told(cause), cause["b"], cause["a"]))
        if not any(cause["moments"].values()):
            report.differs("%s: no moment to look at for %s" % (label, told(cause)))
        for edge, moments in cause["moments"].items():
            if any(not said[edge]["begin"] <= moment <= said[edge]["end"] for moment in moments):
                report.differs("%s: a moment outside of trace %s for %s" % (label, edge, told(cause)))


def check_units(report, label, said, truth):
    unit = said["units"][0]
    for edge in ("a", "b"):
        # some are under way when a CPU begins or ceases to be recorded
        missing = truth[edge]["requests"] - unit[edge]["count"]
        if not 0 <= missing <= min(truth[edge]["requests"] // 100, unit[edge]["unknown"]):
            report.differs("%s: %d requests in %s and %d that are not known, there were %d"
                           % (label, unit[edge]["count"], edge, unit[edge]["unknown"], truth[edge]["requests"]))
        elif not missing and abs(unit[edge]["mean"] - truth[edge]["mean"]) > 1:
            report.differs("%s: mean of %s is %s, it was %s"
                           % (label, edge, unit[edge]["mean"], truth[edge]["mean"]))


def make(folder, cause, seed, size, requests):
    """A pair that is what it is called; how many were drawn."""
    for again in range(10):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        truth = compare_pairs.make(folder, cause, seed + 1_000_000 * again, size, requests)
        if cause == "none" or next(iter(truth["grown"])) == truth["cause"]:
            break
    return truth, again + 1


class Run:
    def __init__(self, options):
        self.options, self.report = options, Report("planted causes")
        self.rows = collections.defaultdict(collections.Counter)
        self.ratios, self.shares = collections.defaultdict(list), collections.defaultdict(list)
        self.spent = 0

    def pair(self, i, cause, size, folder):
        truth, drawn = make(folder, cause, self.options.seed * 1000 + i, size, self.options.requests)
        named = i % 4 != 3
        label = "%s %s %d%s" % (cause, size, truth["seed"], "" if named else ", no unit named")
        row = self.rows[cause, size]
        row["pairs"] += 1
        row["drawn again"] += drawn - 1
        begin = time.monotonic()
        said, error = ask(self.options.yore, folder, named)
        self.spent += time.monotonic() - begin
        if error:
            self.report.differs("%s: %s" % (label, error))
            return
        check_causes(self.report, label, said)
        if named:
            check_units(self.report, label, said, truth)
        self.judge(label, row, said["causes"], truth, named)
        if i % 5 == 4:
            self.swap(label, folder, named, said["causes"], size)
        if i % 5 == 2:
            self.from_baseline(label, folder, named, said)

    def from_baseline(self, label, folder, named, said):
        done = subprocess.run([self.options.yore, "compare", folder + "/a", "--save", folder + "/baseline",
                               "--no-index"] + (["--unit", UNIT] if named else []),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.report.same("%s: saving a baseline" % label, done.returncode, 0)
        again, error = ask(self.options.yore, folder, named, "b", ["--baseline", folder + "/baseline"])
        self.report.same("%s: comparing with a baseline" % label, error, None)
        if not error:
            self.report.same("%s: what a baseline says differs" % label, [told(cause) for cause in again["causes"]],
                             [told(cause) for cause in said["causes"]])

    def swap(self, label, folder, named, causes, size):
        """What is small may be told of one order alone: the least that is told is so much of side A's requests."""
        said, error = ask(self.options.yore, folder, named, "ba")
        if error:
            self.report.differs("%s, swapped: %s" % (label, error))
            return
        first, other = [[(one["unit"], one["cause"], one["who"], one["difference"] > 0) for one in some[:1]]
                        for some in (causes, said["causes"])]
        if size in ("clear", "-") or first and other:
            self.report.same("%s, swapped: the first" % label, other,
                             [(unit, cause, who, not more) for unit, cause, who, more in first])

    def judge(self, label, row, causes, truth, named):
        if truth["cause"] is None:
            row["right"] += not causes
            if causes:
                print("%s: claims %s" % (label, "; ".join(map(told, causes[:3]))))
            return
        grown = truth["grown"][truth["cause"]]
        self.shares[truth["cause"], truth["size"]].append(100 * grown / truth["a"]["mean"])
        row["first of all"] += bool(causes) and is_planted(causes[0], truth)
        causes = [cause for cause in causes if cause["unit"].startswith("request_begin -> request_end")]
        right = bool(causes) and is_planted(causes[0], truth)
        row["right"] += right
        row["other"] += bool(causes) and not right
        row["named at all"] += any(is_planted(cause, truth) for cause in causes)
        if right and named:
            self.ratios[truth["cause"], truth["size"]].append(causes[0]["difference"] / grown)
        if not right:
            print("%s: planted %s, grown by %s: %s" % (label, truth["who"], list(truth["grown"].items())[:2],
                                                       "; ".join(map(told, causes[:3])) or "nothing"))

    def table(self):
        def spread(values, text):
            values = sorted(values)
            return "%s to %s, median %s" % tuple(text % values[i] for i in (0, -1, len(values) // 2)) if values else "-"
        line = "%-10s %-7s %5s %5s %5s %12s %12s %11s  %-27s  %s"
        print(line % ("planted", "size", "pairs", "right", "other", "first of all", "named at all", "drawn again",
                      "% of a request in A", "said of what it was"))
        for (cause, size), row in sorted(self.rows.items()):
            print(line % (cause, size, row["pairs"], row["right"], row["other"], row["first of all"],
                          row["named at all"], row["drawn again"], spread(self.shares[cause, size], "%.1f"),
                          spread(self.ratios[cause, size], "%.2f")))

    def close(self):
        self.table()
        for (cause, size), ratios in self.ratios.items():
            middle = sorted(ratios)[len(ratios) // 2] if ratios else 1
            if not 0.5 < middle < 2 and cause != "migration":
                self.report.differs("%s %s: the difference is %.2f of what it was" % (cause, size, middle))
        for what, enough, kinds in (("named first", ENOUGH, lambda cause, size: cause != "none" and size != "small"),
                                    ("small, nothing else named", ENOUGH, lambda _, size: size == "small"),
                                    ("nothing claimed", 1, lambda cause, _: cause == "none")):
            some = [row for key, row in self.rows.items() if kinds(*key)]
            pairs = sum(row["pairs"] for row in some)
            right = sum(row["pairs"] - row["other"] if "small" in what else row["right"] for row in some)
            if some:
                self.report.facts.append("%s: %d of %d" % (what, right, pairs))
            if right < pairs * enough:
                self.report.differs("%s: %d of %d" % (what, right, pairs))
        self.report.facts.append("%.1f s in yore" % self.spent)
        return self.report.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("yore")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--nulls", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--size", action="append", choices=compare_pairs.SIZES)
    parser.add_argument("--cause", action="append", choices=compare_pairs.CAUSES)
    parser.add_argument("--keep")
    options = parser.parse_args()
    sizes = options.size or ("clear", "modest")
    causes = options.cause or compare_pairs.CAUSES
    run = Run(options)
    with tempfile.TemporaryDirectory() as work:
        plan = [(causes[i % len(causes)], sizes[i // len(causes) % len(sizes)]) for i in range(options.pairs)]
        plan += [("none", "-")] * (options.pairs if options.nulls is None else options.nulls)
        for i, (cause, size) in enumerate(plan):
            folder = os.path.join(options.keep or work, "%s-%s-%d" % (cause, size, i))
            run.pair(i, cause, size, folder)
            if not options.keep:
                shutil.rmtree(folder)
    return 0 if run.close() else 1


sys.exit(main())

#!/usr/bin/python3
"""Whether `yore compare --a GLOB --b GLOB` names what was planted in all runs of side B, and nothing where runs merely vary.

    compare_many.py YORE [--sets N] [--runs N] [--requests N] [--seed S] [--cause CAUSE]... [--keep FOLDER]

Makes sets of runs of the simulated server (compare_pairs.py). In each run what requests compute, read from disk and wait for
is drawn anew, about 12 % up or down, as machines differ from one run to the next. Half of the sets have a planted cause in all
runs of side B: it has to be the first in at least 95 of 100. In the other half all runs of both sides are drawn from one
distribution: there nothing may be claimed, although single runs of the two sides do differ, which the comparison of two of
them says: how often, is printed and has to be more than never.
"""
import argparse
import collections
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
os.environ["YORE_LUA_DIR"] = os.path.join(HERE, "..", "..", "lua-lib")
import compare_pairs
from yore_says import Report

UNIT = "request_begin -> request_end by id"
ENOUGH = 0.95
VARIES = ("compute", "disk", "help", "backoff", "hold")
CAUSES = ("lock", "io", "running", "wait", "sleep", "interrupt")


def ask(yore, *words):
    done = subprocess.run([yore, "compare", *words, "--no-index", "--format", "json", "--unit", UNIT], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        return None, "exit %d: %s" % (done.returncode, done.stderr.decode(errors="replace").strip()[-300:])
    return json.loads(done.stdout), None


def told(cause):
    return "%s %s %+d [%d, %d]" % (cause["cause"], cause["who"], cause["difference"], cause["low"], cause["high"])


def make(folder, cause, seed, runs, requests):
    """The planted cause and its who; None, None: there is none."""
    rng = random.Random("many %s %d" % (cause, seed))
    shared = compare_pairs.shape(rng, cause)
    shared.update(bursts=0, phases=False, episodes=False, heavy=0)
    planted = dict(shared)
    kind, who = compare_pairs.plant(rng, cause, "clear", planted)
    for side, shape in (("a", shared), ("b", planted)):
        for number in range(runs):
            own = dict(shape, first_tid=rng.randrange(300, 30000))
            for name in VARIES:
                own[name] = int(own[name] * rng.gauss(1, 0.12))
            path = "%s/%s-%d" % (folder, side, number)
            os.makedirs(path)
            compare_pairs.side(rng.randrange(1 << 40), own, rng.randint(requests * 8 // 10, requests), path)
    return kind, who


class Run:
    def __init__(self, options):
        self.options, self.report = options, Report("planted causes in many runs")
        self.counts = collections.Counter()

    def check(self, label, said):
        for side in ("a", "b"):
            self.report.same("%s: runs of %s" % (label, side), (len(said[side]["runs"]), said["units"][0][side]["runs"]),
                             (self.options.runs, self.options.runs))
        for cause in said["causes"]:
            if not cause["low"] <= cause["difference"] <= cause["high"] or cause["low"] <= 0 <= cause["high"]:
                self.report.differs("%s: interval of %s" % (label, told(cause)))
            for side, moments in cause["moments"].items():
                ranges = {run["path"]: run for run in said[side]["runs"]}
                if not moments or any(not ranges[one["path"]]["begin"] <= one["time"] <= ranges[one["path"]]["end"] for one in moments):
                    self.report.differs("%s: moments of %s" % (label, told(cause)))

    def set(self, number, cause, folder):
        label = "%s %d" % (cause, number)
        kind, who = make(folder, cause, self.options.seed * 1000 + number, self.options.runs, self.options.requests)
        said, error = ask(self.options.yore, "--a", folder + "/a-*", "--b", folder + "/b-*")
        if error:
            self.report.differs("%s: %s" % (label, error))
            return
        self.check(label, said)
        causes = said["causes"]
        if kind:
            right = bool(causes) and causes[0]["cause"] == kind and (who or "").lower() in (causes[0]["who"] or "").lower()
            self.counts["planted"] += 1
            self.counts["named first"] += right
            if not right:
                print("%s: planted %s: %s" % (label, who, "; ".join(map(told, causes[:3])) or "nothing"))
            return
        self.counts["nulls"] += 1
        self.counts["claimed"] += bool(causes)
        if causes:
            print("%s: claims %s" % (label, "; ".join(map(told, causes[:3]))))
        for i in range(self.options.runs):
            alone, error = ask(self.options.yore, "%s/a-%d" % (folder, i), "%s/b-%d" % (folder, i))
            self.report.same("%s: two runs alone" % label, error, None)
            self.counts["alone"] += 1
            self.counts["claimed alone"] += bool(alone and alone["causes"])

    def close(self):
        counts = self.counts
        self.report.facts += ["named first: %d of %d" % (counts["named first"], counts["planted"]),
                              "nothing claimed: %d of %d" % (counts["nulls"] - counts["claimed"], counts["nulls"]),
                              "two of their runs alone claim: %d of %d" % (counts["claimed alone"], counts["alone"])]
        if counts["named first"] < ENOUGH * counts["planted"] or counts["claimed"]:
            self.report.differs("named first: %d of %d, claimed without one: %d" % (counts["named first"], counts["planted"],
                                                                                    counts["claimed"]))
        if counts["alone"] and not counts["claimed alone"]:
            self.report.differs("runs do not vary: the sets without a cause show nothing")
        return self.report.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("yore")
    parser.add_argument("--sets", type=int, default=4)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--requests", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cause", action="append", choices=CAUSES)
    parser.add_argument("--keep")
    options = parser.parse_args()
    causes, run = options.cause or CAUSES, Run(options)
    with tempfile.TemporaryDirectory() as work:
        for number in range(options.sets):
            cause = causes[number // 2 % len(causes)] if number % 2 == 0 else "none"
            folder = os.path.join(options.keep or work, "%s-%d" % (cause, number))
            os.makedirs(folder)
            run.set(number, cause, folder)
            if not options.keep:
                shutil.rmtree(folder)
    return 0 if run.close() else 1


sys.exit(main())

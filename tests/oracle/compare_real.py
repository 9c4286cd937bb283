#!/usr/bin/python3
"""Whether `yore compare` names what made a real program slower, in recordings made now.

    compare_real.py YORE [--rounds N] [--requests N] [--seed S] [--cause CAUSE]...

Compiles compare_work.c and records it with perf, N rounds for each of its ten causes: one side without, one
side with the cause, in random order. The cause, with its `who`, has to be the first of at least 95 of 100 rounds
of all. As many rounds without any cause are recorded, too; what is claimed there is printed and not judged,
since the machine may have had other work at one of the times. A kernel may miss events without a word: a pair
is recorded again where requests of one side are not complete, or have more unknown time than those of the
other side. Where perf may not record, it says so and is left out.
"""
import argparse
import collections
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
os.environ["YORE_LUA_DIR"] = os.path.join(HERE, "..", "..", "lua-lib")
from yore_says import Report

UNIT = "sys_enter_sched_get_priority_max -> sys_enter_sched_get_priority_min"
CALLS = {"pwrite64": 18, "sendto": 44, "recvfrom": 45, "fdatasync": 75, "futex": 202, "clock_nanosleep": 230,
         "sched_setaffinity": 203}
# cause of compare_work.c: kinds, and who may be behind each. The kernel's own thread migration/N moves a thread.
EXPECTED = {
    "compute": {"running": ""}, "lock": {"lock": "lock-holder"}, "contenders": {"lock": "contender"},
    "neighbour": {"ready": "neighbour"}, "priority": {"ready": "rival"}, "helper": {"wait": "helper"},
    "stopped": {"wait": "stopper"}, "sleep": {"sleep": ""}, "sync": {"io": ""},
    "moves": {"migration": "", "ready": "migration/", "wait": "migration/"},
}
ENOUGH = 0.95
TRIES = 6


def perf_record(out, command):
    """Whether perf recorded the command, and what it said."""
    chosen = " || ".join("id == %d" % number for number in CALLS.values())
    done = subprocess.run(
        ["perf", "record", "-q", "-a", "-m", "16M", "-o", out, "-e", "sched:*",
         "-e", "raw_syscalls:sys_enter", "--filter", chosen, "-e", "raw_syscalls:sys_exit", "--filter", chosen,
         "-e", "syscalls:sys_enter_sched_get_priority_max,syscalls:sys_enter_sched_get_priority_min",
         "-e", "irq:*", "-e", "block:block_rq_issue,block:block_rq_complete", "--"] + command,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode == 0, done.stdout.decode(errors="replace").strip()[-300:]


def why_not():
    """Why nothing can be recorded here; None: it can."""
    if os.uname().machine != "x86_64":
        return "numbers of system calls are known for x86_64 alone"
    if len(os.sched_getaffinity(0)) < 2:
        return "two CPUs are needed"
    with tempfile.TemporaryDirectory() as work:
        try:
            recorded, said = perf_record(work + "/perf.data", ["true"])
        except FileNotFoundError:
            return "there is no perf"
    return None if recorded else "perf may not record: " + said


def told(cause):
    return "%s %s %+d [%d, %d]" % (cause["cause"], cause["who"], cause["difference"], cause["low"], cause["high"])


class Run:
    def __init__(self, options, folder):
        self.options, self.folder, self.report = options, folder, Report("injected causes")
        self.random = random.Random(options.seed)
        self.rows = collections.defaultdict(collections.Counter)
        self.program = folder + "/compare_work"
        subprocess.run([os.environ.get("CC", "cc"), "-std=gnu11", "-O1", "-pthread", "-o", self.program,
                        HERE + "/compare_work.c"], check=True)

    def record(self, edge, cause):
        recorded, said = perf_record("%s/%s.data" % (self.folder, edge),
                                     [self.program, cause, str(self.options.requests), self.folder + "/file"])
        if not recorded:
            self.report.differs("recording %s: %s" % (cause, said))
        return recorded

    def compare(self):
        done = subprocess.run([self.options.yore, "compare", self.folder + "/a.data", self.folder + "/b.data",
                               "--no-index", "--unit", UNIT, "--format", "json"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if done.returncode not in (0, 3):
            self.report.differs("exit %d: %s" % (done.returncode, done.stderr.decode(errors="replace")[-300:]))
            return None
        return json.loads(done.stdout)

    def complete(self, cause):
        """What yore says of a pair that was recorded without losses that matter; None: it did not come about."""
        for _ in range(TRIES):
            sides = [("a", "none"), ("b", cause)]
            self.random.shuffle(sides)
            said = self.compare() if all([self.record(*side) for side in sides]) else None
            if said is None:
                return None
            counts = [said["units"][0][edge]["count"] for edge in ("a", "b")]
            if min(counts) >= self.options.requests and not any(one["cause"] == "unknown" for one in said["causes"]):
                return said
            self.rows[cause]["again"] += 1
        self.report.differs("%s: %d recordings with losses" % (cause, TRIES))
        return None

    def round(self, cause, number):
        said = self.complete(cause)
        if said is None:
            return
        for edge in ("a", "b"):
            self.report.same("%s %d: requests of %s" % (cause, number, edge), said["units"][0][edge]["count"],
                             self.options.requests)
        causes, row = said["causes"], self.rows[cause]
        row["rounds"] += 1
        if cause == "none":
            right = not causes
        else:
            wanted = EXPECTED[cause]
            hits = [one["cause"] in wanted and wanted[one["cause"]] in (one["who"] or "") for one in causes]
            right = hits[:1] == [True]
            row["at all"] += any(hits)
        row["first"] += right
        if not right:
            print("%s %d: %s" % (cause, number, "; ".join(map(told, causes[:3])) or "nothing"), flush=True)

    def close(self):
        print("%-12s %7s %6s %7s %15s" % ("injected", "rounds", "first", "at all", "recorded again"))
        for cause, row in self.rows.items():
            print("%-12s %7d %6d %7d %15d" % (cause, row["rounds"], row["first"], row["at all"], row["again"]))
        counts = [row for cause, row in self.rows.items() if cause != "none"]
        rounds, first = sum(row["rounds"] for row in counts), sum(row["first"] for row in counts)
        self.report.facts.append("named first: %d of %d" % (first, rounds))
        self.report.facts.append("without a cause, nothing claimed: %d of %d"
                                 % (self.rows["none"]["first"], self.rows["none"]["rounds"]))
        if first < ENOUGH * rounds or not rounds:
            self.report.differs("named first: %d of %d" % (first, rounds))
        return self.report.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("yore")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cause", action="append", choices=EXPECTED)
    options = parser.parse_args()
    reason = why_not()
    if reason:
        print("oracles: real causes skipped: %s" % reason)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        run = Run(options, folder)
        for number in range(options.rounds):
            for cause in list(options.cause or EXPECTED) + ["none"]:
                run.round(cause, number)
        return 0 if run.close() else 1


sys.exit(main())

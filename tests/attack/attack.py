#!/usr/bin/env python3
"""Attacks yore with damaged input for a while, and keeps what it found.

    attack.py YORE [--gen YORE_GEN] [--seconds 3600] [--seed N] [--attacks traces,stores,...]
              [--server SERVER] [--jobs 1] [--keep DIR] [--case ATTACK/NUMBER] [--count N] [--kills N]

Attacks:
    traces   mutated traces through every command, with and without index and timelines, 1 and 4 threads
    stores   damaged index files, timelines and shards: answers equal those of --no-index
    bits     the same, with one bit of one file
    swaps    files that are exchanged, changed, shifted, regrown or recorded again between two questions
    kills    builds and conversions that a signal ends, then asked
    disks    index, temporary and output folders that are full or read-only
    bombs    compressed data that unfolds to much more than it is

Each case is made from SEED, the attack's name and a number alone: --case ATTACK/NUMBER makes one again.
With --count the run ends after so many cases: --attacks stores --count 6000.
With --kills the run ends when signals ended N builds, or after --seconds: --attacks kills --kills 2000.
With --server (tests/attack/server.c) the commands of a case of traces, stores and swaps run in one process. When
something is wrong there, they are run again one by one, and what then shows it is the finding.
A finding is printed with its seed and the commands that show it. DIR keeps the input of the first three
of each kind, with COMMANDS, to be run in that folder, and SAID. Exit status 1: something was found.
"""
import argparse
import collections
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
from ask import Asker, files_below, remove  # noqa: E402
from bombs import Bombs  # noqa: E402
from disks import Disks, own_mounts  # noqa: E402
from kills import Kills  # noqa: E402
from stores import Bits, Stores  # noqa: E402
from swaps import Swaps  # noqa: E402
from traces import Traces  # noqa: E402
import seeds  # noqa: E402

ATTACKS = {attack.name: attack for attack in (Traces, Stores, Bits, Swaps, Kills, Disks, Bombs)}
KEPT_PER_KIND = 3
TOLD_EVERY = 120
HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.normpath(os.path.join(HERE, "..", ".."))


class Ground:
    """What all attacks share: the program, inputs, and a folder that goes when the run ends."""

    def __init__(self, options, work):
        self.work, self.gen = work, options.gen
        self.asker = Asker(options.yore, options.server, os.path.join(SOURCE, "lua-lib"), options.timeout, options.memory)
        self.seeds = seeds.golden(SOURCE)
        for number, (name, more) in enumerate(seeds.GEN.items() if self.gen else ()):
            out = os.path.join(work, name)
            seeds.make_gen(self.gen, out, "--size", "40K", "--packet-size", "4096", "--cpus", "2",
                           "--seed", str(number + 1), *more)
            self.seeds[name] = out
        self.own = dict(self.seeds)
        self.seeds.update(seeds.corpus(options.corpus, 300 << 10) if options.corpus else {})
        self.splices = sorted(file for path in self.seeds.values() for file in files_below(path))
        self.mounts = own_mounts()

    def folder(self, name):
        path = os.path.join(self.work, name)
        os.makedirs(path, exist_ok=True)
        return path


class Report:
    def __init__(self, options):
        self.options = options
        self.lock = threading.Lock()
        self.kinds = {}
        self.cases = collections.Counter()
        self.told = 0

    def take(self, case, folder, findings):
        with self.lock:
            self.cases[case.split("/")[0]] += 1
            for finding in findings:
                seen = self.kinds.setdefault(finding.kind, [0, case, finding])
                seen[0] += 1
                if seen[0] > KEPT_PER_KIND:
                    continue
                print("FOUND %s\n    seed %s, case %s\n    %s" % (
                    finding.kind, self.options.seed, case, "\n    ".join(finding.commands)), flush=True)
                if self.options.keep:
                    self.keep(case, folder, finding)

    def progress(self, asker, seconds):
        """One line every few minutes."""
        with self.lock:
            if seconds - self.told >= TOLD_EVERY:
                self.told = seconds
                print("%d s: %d commands in %d cases, %d kinds of findings" % (
                    seconds, asker.runs, sum(self.cases.values()), len(self.kinds)), flush=True)

    def keep(self, case, folder, finding):
        name = re.sub(r"[^\w.-]+", "_", finding.kind)[:70] + "-" + case.replace("/", "-")
        place = os.path.join(self.options.keep, name)
        remove(place)
        shutil.copytree(folder, place, symlinks=True, copy_function=shutil.copyfile, dirs_exist_ok=True,
                        ignore=lambda _, names: [n for n in names if n.endswith((".sock", "fifo"))])
        with open(os.path.join(place, "COMMANDS"), "w", encoding="utf8") as file:
            file.write("# seed %s, case %s: %s\n%s\n" % (self.options.seed, case, finding.kind,
                                                        "\n".join(finding.commands)))
        with open(os.path.join(place, "SAID"), "wb") as file:
            file.write(finding.note[:200000])

    def close(self, asker, seconds):
        print("%d commands in %d cases (%s) in %d s; exit statuses %s" % (
            asker.runs, sum(self.cases.values()),
            ", ".join("%s %d" % pair for pair in sorted(self.cases.items())), seconds,
            " ".join("%d:%d" % pair for pair in sorted(asker.statuses.items()))))
        print("longest %.1f s of CPU: yore %s; most memory %d MB: yore %s" % (*asker.slowest, *asker.largest))
        for kind, (count, case, _) in sorted(self.kinds.items()):
            print("%6d x %s: case %s" % (count, kind, case))
        print("%s: %d kinds of findings" % ("FAIL" if self.kinds else "PASS", len(self.kinds)))


def schedule(attacks):
    """Names of attacks over and over, each as often as its share says."""
    due = {attack.name: 0.0 for attack in attacks}
    shares = {attack.name: attack.share for attack in attacks}
    while True:
        name = min(due, key=lambda name: due[name])
        due[name] += 1 / shares[name]
        yield name


class Run:
    def __init__(self, options, ground):
        self.options, self.report = options, Report(options)
        names = [options.case.split("/")[0]] if options.case else options.attacks.split(",")
        self.attacks = {name: ATTACKS[name](ground) for name in names}
        self.ground, self.kills = ground, self.attacks.get("kills")
        self.turns = schedule(self.attacks.values())
        self.numbers = collections.Counter()
        self.begin = time.monotonic()
        self.lock = threading.Lock()
        self.failed = None

    def next_case(self):
        with self.lock:
            if self.options.case:
                case, self.options.case = self.options.case, "done"
                return None if case == "done" else case
            if time.monotonic() - self.begin >= self.options.seconds or self.failed:
                return None
            if self.options.kills and self.kills and self.kills.builds[1] >= self.options.kills:
                return None
            if self.options.count and sum(self.numbers.values()) >= self.options.count:
                return None
            name = next(self.turns)
            self.numbers[name] += 1
            return "%s/%d" % (name, self.numbers[name])

    def one(self, case):
        name = case.split("/")[0]
        r = random.Random("%s/%s" % (self.options.seed, case))
        folder = tempfile.mkdtemp(prefix=name + "-", dir=self.ground.work)
        try:
            self.report.take(case, folder, self.attacks[name].case(r, folder))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        self.report.progress(self.ground.asker, time.monotonic() - self.begin)

    def work(self):
        try:
            while (case := self.next_case()):
                self.one(case)
        except BaseException as error:  # pylint: disable=broad-except
            self.failed = error
            raise

    def go(self):
        threads = [threading.Thread(target=self.work, daemon=True) for _ in range(self.options.jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.kills:
            print("kills: " + self.kills.told())
        self.report.close(self.ground.asker, time.monotonic() - self.begin)
        return 2 if self.failed else 1 if self.report.kinds else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("yore")
    parser.add_argument("--gen")
    parser.add_argument("--server")
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", default=str(int(time.time())))
    parser.add_argument("--attacks", default=",".join(ATTACKS))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep")
    parser.add_argument("--case")
    parser.add_argument("--count", type=int)
    parser.add_argument("--kills", type=int)
    parser.add_argument("--corpus", default=os.environ.get("YORE_CORPUS"))
    parser.add_argument("--timeout", type=int, default=20, help="seconds of CPU that a command may take")
    parser.add_argument("--memory", type=int, default=1024, help="MB that a command may take")
    options = parser.parse_args()
    options.yore = os.path.abspath(options.yore)
    options.gen = os.path.abspath(options.gen) if options.gen else None
    options.server = os.path.abspath(options.server) if options.server else None
    if options.keep:
        options.keep = os.path.abspath(options.keep)
        os.makedirs(options.keep, exist_ok=True)
    print("attack: seed %s, %s" % (options.seed, options.attacks if not options.case else options.case), flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))
    work = tempfile.mkdtemp(prefix="yore-attack-")
    try:
        return Run(options, Ground(options, work)).go()
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())

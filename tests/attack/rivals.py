#!/usr/bin/env python3
"""Processes that share an index folder: how long they wait for one another, and what readers answer meanwhile.

    rivals.py YORE --gen YORE_GEN [--seconds 60] [--size 60M] [--readers 8]

builders: two processes build timelines of two traces in one folder, again and again. Neither may wait longer than
          20 ms in all for the other.
readers:  some processes ask, one question after the other, while a writer builds timelines and removes all that is
          stored, again and again. Answers are those of --no-index. A process that took the lock of a store was a
          writer itself, and may wait as builders do; any other may not wait at all.

strace tells it: a process waits in a flock(2) that may block, and in sleeps: yore sleeps between two tries of a lock,
and when a trace was written a moment ago, which here it was not.
A machine that is busy adds waits of its own: who has a lock is not running then.
Exit status 1: a row failed; 77: strace is missing, or may not trace.
"""
import argparse
import glob
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
from questions import QUESTIONS, differs, words_of  # noqa: E402
import ask  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
LUA_DIR = os.path.normpath(os.path.join(HERE, "..", "..", "lua-lib"))
MOST_MS = 20
CALL = re.compile(r"^(\w+)\((?:\d+<([^>]*)>(?:\(deleted\))?, ([\w|]+))?.*\) += (-?\d+).*<([\d.]+)>$")
BUILD = ["index", "trace", "--timelines", "--jobs", "1", "--index-dir", "index"]
ASKED = [question for question in QUESTIONS
         if question.words[0] in ("at", "state", "when", "longest", "diff", "stats", "sql")]


class Waits:
    """What the threads of one process did, from strace's files of them."""

    def __init__(self, prefix):
        self.locks, self.seconds, self.wrote = 0, 0.0, False
        for path in glob.glob(prefix + ".*"):
            with open(path, encoding="utf8", errors="replace") as file:
                self.thread(file)
            os.unlink(path)

    def thread(self, file):
        for name, lock, how, result, seconds in (call.groups() for call in map(CALL.match, file) if call):
            if name != "flock" or "LOCK_NB" not in how:
                self.seconds += float(seconds)
            if name == "flock" and result == "0":
                self.locks += 1
                self.wrote = self.wrote or lock.endswith(".writer")


class Rivals:
    def __init__(self, options, work):
        self.options, self.work = options, work
        self.failed = False
        self.number, self.lock = 0, threading.Lock()
        self.env = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
        self.env.update(TZ="UTC", LC_ALL="C.UTF-8", YORE_LUA_DIR=LUA_DIR, YORE_JOBS_MOST="64", HOME=work, XDG_STATE_HOME=work,
                        XDG_CACHE_HOME=work + "/cache", XDG_CONFIG_HOME=work)

    def row(self, good, name, why):
        print("%s: %s: %s" % ("PASS" if good else "FAIL", name, why), flush=True)
        self.failed = self.failed or not good

    def make(self, name, seed, size):
        folder = os.path.join(self.work, name)
        os.makedirs(folder)
        subprocess.run([self.options.gen, "--out", folder + "/trace", "--size", size, "--seed", str(seed),
                        "--no-truth"], check=True, stdout=subprocess.DEVNULL)
        return folder

    def start(self, folder, words, traced):
        """The process, its output (a file), and how strace names files of its threads."""
        with self.lock:
            self.number += 1
            prefix = os.path.join(self.work, "strace-%d" % self.number)
        out = tempfile.TemporaryFile()
        before = ["strace", "-qq", "-ff", "-y", "-T", "--seccomp-bpf", "-o", prefix,
                  "-e", "trace=flock,nanosleep,clock_nanosleep"] if traced else []
        child = subprocess.Popen(before + [self.options.yore] + words, stdin=subprocess.DEVNULL, stdout=out,
                                 stderr=subprocess.STDOUT if words[0] == "index" else subprocess.DEVNULL,
                                 cwd=folder, env=self.env)
        return child, out, prefix

    @staticmethod
    def end(child, out):
        status = child.wait()
        out.seek(0)
        answer = ask.Answer(status, out.read(), b"", 0, 0, 0, False)
        out.close()
        return answer

    def builders(self):
        folders = [self.make("builder-%d" % i, i + 1, self.options.size) for i in range(2)]
        shared = os.path.join(self.work, "shared")
        for folder in folders:
            os.symlink(shared, os.path.join(folder, "index"))
        time.sleep(0.1)
        end, rounds, each, locks, broken = time.monotonic() + self.options.seconds / 2, 0, [], 0, b""
        while time.monotonic() < end or not rounds:
            shutil.rmtree(shared, ignore_errors=True)
            os.mkdir(shared, 0o700)
            started = [self.start(folder, BUILD, True) for folder in folders]
            for child, out, prefix in started:
                answer = self.end(child, out)
                broken = broken or (answer.out if answer.status else b"")
                waits = Waits(prefix)
                each, locks = each + [waits.seconds * 1000], locks + waits.locks
            rounds += 1
        self.row(not broken, "two builds at once end well", broken.decode() or "%d rounds" % rounds)
        self.row(locks >= 6 * rounds and max(each) < MOST_MS, "two builds at once wait for one another",
                 "%.2f ms at most in all, %.2f in the middle of %d builds, %d are allowed; %d locks were taken" % (
                     max(each), statistics.median(each), len(each), MOST_MS, locks))
        shutil.rmtree(shared)

    def writer(self, folder, end, counts):
        while time.monotonic() < end:
            for words in (BUILD, ["index", "--prune", "--keep", "1", "--index-dir", "index"]):
                answer = self.end(*self.start(folder, words, False)[:2])
                refused = b"another process writes it" in answer.out  # a reader, that stores what it found
                counts["refused"] += refused
                counts["broken"] += [answer.out] if answer.status and not refused else []
            counts["rounds"] += 1

    def reader(self, folder, end, seed, truths, counts):
        r = random.Random(seed)
        while time.monotonic() < end:
            number = r.randrange(len(ASKED))
            child, out, prefix = self.start(folder, words_of(ASKED[number], "index"), True)
            answer = self.end(child, out)
            waits = Waits(prefix)
            how, asked = differs(ASKED[number], truths[number], answer), " ".join(ASKED[number].words)
            with self.lock:
                counts["answers"] += 1
                counts["different"] += [asked + ": " + how] if how else []
                kind = "writers" if waits.wrote else "readers"
                counts[kind] += 1
                counts[kind + " waited"] = max(counts[kind + " waited"], (waits.seconds * 1000, asked))

    def readers(self):
        folder = self.make("read", 3, "3M")
        os.mkdir(folder + "/index", 0o700)
        time.sleep(0.1)
        truths = [self.end(*self.start(folder, words_of(question, "alone"), False)[:2]) for question in ASKED]
        counts = {"rounds": 0, "refused": 0, "broken": [], "answers": 0, "different": [],
                  "readers": 0, "readers waited": (0.0, ""), "writers": 0, "writers waited": (0.0, "")}
        end = time.monotonic() + self.options.seconds / 2
        threads = [threading.Thread(target=self.writer, args=(folder, end, counts))]
        threads += [threading.Thread(target=self.reader, args=(folder, end, seed, truths, counts))
                    for seed in range(self.options.readers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.row(counts["rounds"] and not counts["broken"], "a writer beside readers ends well",
                 b"".join(counts["broken"][:1]).decode() or
                 "%(rounds)d rounds, %(refused)d builds left to a reader that wrote" % counts)
        self.row(counts["answers"] and not counts["different"], "answers beside a writer are those of --no-index",
                 "%d answers, %d differ %s" % (counts["answers"], len(counts["different"]), counts["different"][:3]))
        for kind, name, most in (("readers", "no reader waits", 0),
                                 ("writers", "a reader that stores what it found waits as builders do", MOST_MS)):
            waited, asked = counts[kind + " waited"]
            self.row(waited <= most, name, "%d processes, %.2f ms at most%s" % (
                counts[kind], waited, ": " + asked if waited else ""))


def can_trace():
    return shutil.which("strace") and subprocess.run(["strace", "--seccomp-bpf", "-f", "-o", "/dev/null", "true"],
                                                     stderr=subprocess.DEVNULL, check=False).returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("yore")
    parser.add_argument("--gen", required=True)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--size", default="60M", help="of each trace that is built")
    parser.add_argument("--readers", type=int, default=8)
    options = parser.parse_args()
    options.yore, options.gen = os.path.abspath(options.yore), os.path.abspath(options.gen)
    if not can_trace():
        print("SKIP: strace is missing or may not trace: nothing tells how long a process waits")
        return 77
    work = os.path.realpath(tempfile.mkdtemp(prefix="yore-rivals-"))
    try:
        rivals = Rivals(options, work)
        rivals.builders()
        rivals.readers()
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return 1 if rivals.failed else 0


if __name__ == "__main__":
    sys.exit(main())

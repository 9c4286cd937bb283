#!/usr/bin/python3
"""What questions about a short range of a trace read, and how long they take.

    windows.py BUILD [--trace TRACE | --size BYTES] [--windows MS...] [--at SHARE] [--only TEXT...]
                     [--options WORD...] [--rounds N] [--limit SECONDS]

Of a trace, or a generated one of --size (1 GB), each question is asked about ranges of 1, 10 and 100 ms
that begin at --at of it (0.5), with an index that was built before. A line has the bytes that a process
reads, as `--stats` counts them, its wall and its processor seconds (the median of --rounds, 3) and its
rows; and the ratios of bytes and wall time to `events --format csv` of the same range, which reads what
lies in the range alone. `compare` has two ranges, one behind the other: it is compared with events of both. Lists are those of windows; `--options --all` asks for all that lives there.
Marks: `b`, more is read than 64 MB and four times what events of the range reads; `t`, it takes more
processor time than 0.3 s and four times the wall time of events; `!`, longer than --limit (60 s), or it failed.

Also a part of `make bench` ("windows").
"""
import argparse
import csv
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean

from measure import middle, stats_of

WINDOWS = (1, 10, 100)  # ms
QUESTIONS = (  # the first one is what all others are compared with; {words} are replaced
    ("events", ["events", "{trace}", "--format", "csv"]),
    ("state cpu[*]/thread", ["state", "{trace}", "cpu[*]/thread", "--format", "csv"]),
    ("state cpu[*]/syscall", ["state", "{trace}", "cpu[*]/syscall", "--format", "csv"]),
    ("state cpu[3]/syscall", ["state", "{trace}", "cpu[3]/syscall", "--format", "csv"]),
    ("state cpu[*]/name", ["state", "{trace}", "cpu[*]/name", "--format", "csv"]),
    ("state thread[*]/state", ["state", "{trace}", "thread[*]/state", "--format", "csv"]),
    ("longest thread[*]/state", ["longest", "{trace}", 'thread[*]/state="ready"']),
    ("timeline thread[*]/state", ["timeline", "{trace}", "thread[*]/state"]),
    ("latency", ["latency", "{trace}"]),
    ("offcpu", ["offcpu", "{trace}"]),
    ("irq", ["irq", "{trace}"]),
    ("locks", ["locks", "{trace}"]),
    ("critical-path", ["critical-path", "{trace}", "--tid", "{tid}"]),
    ("compare", ["compare", "{trace}", "--range-a", "@{begin}..@{end}", "--range-b",
                 "@{end}..@{next}", "--unit", "wake-up to sleep"]),
    ("SQL wakeups", ["sql", "{trace}", "SELECT * FROM wakeups WHERE ts >= {begin} AND ts < {end}"]),
    ("SQL wakeups, no names", ["sql", "{trace}", "SELECT ts, tid, latency, cpu, waker FROM wakeups "
                                                 "WHERE ts >= {begin} AND ts < {end}"]),
    ("SQL thread_state", ["sql", "{trace}", "SELECT * FROM thread_state "
                                            "WHERE begin >= {begin} AND begin < {end}"]),
    ("SQL thread_state, no names", ["sql", "{trace}", "SELECT begin, tid, cpu, dur, state FROM "
                                    "thread_state WHERE begin >= {begin} AND begin < {end}"]),
    ("SQL syscalls", ["sql", "{trace}", "SELECT * FROM syscalls "
                                        "WHERE begin >= {begin} AND begin < {end}"]),
    ("SQL syscalls, no names", ["sql", "{trace}", "SELECT begin, tid, cpu, dur, name, ret FROM "
                                "syscalls WHERE begin >= {begin} AND begin < {end}"]),
)
MOST_BYTES, MOST_SECONDS = 64e6, 0.3  # more than four times what events of the range costs
RANGED = ("compare", "sql")  # these name their range themselves
TWO_RANGES = ("compare",)


def work_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Asked:
    """A trace, how it is asked, and the words that questions name."""

    def __init__(self, build, trace, index, limit):
        self.yore = os.path.join(build, "yore")
        self.trace, self.limit = trace, limit
        self.index = ["--index-dir", index]
        self.bytes = sum(os.path.getsize(os.path.join(folder, name))
                         for folder, _, names in os.walk(trace) for name in names
                         if name != "metadata") or os.path.getsize(trace)

    def rows(self, *words):
        done = subprocess.run([self.yore, *words, "--format", "csv", *self.index], check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return list(csv.DictReader(done.stdout.splitlines()))

    def range(self):
        row = self.rows("sql", self.trace, "SELECT min(first) AS first, max(last) AS last "
                                           "FROM packets")[0]
        return int(row["first"]), int(row["last"])

    def thread(self, begin, end):
        """One that runs in the range, for questions about one thread."""
        for row in self.rows("state", self.trace, "cpu[*]/thread", "--begin", "@%d" % begin,
                             "--end", "@%d" % end):
            if row["value"] not in ("", "0", "unknown", "none"):
                return row["value"]
        return "0"

    def cost(self, words, rounds):
        """(bytes, wall seconds, rows, processor seconds); None: it takes too long, or fails."""
        taken, worked, done = [], [], None
        for _ in range(rounds):
            begin, work = time.monotonic(), work_of_children()
            try:
                done = subprocess.run([self.yore, *words, "--stats", *self.index],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                                      timeout=self.limit)
            except subprocess.TimeoutExpired:
                return None
            taken.append(time.monotonic() - begin)
            worked.append(work_of_children() - work)
            if done.returncode not in (0, 3):
                print("    %s: exit status %d: %s" % (" ".join(words), done.returncode,
                                                     done.stderr.decode()[-300:].strip()))
                return None
        return (stats_of(done).get("bytes_read", 0), middle(taken), done.stdout.count(b"\n"),
                middle(worked))


def measure(asked, begin, ms, args, line):
    length = int(ms * 1000000)
    words = {"trace": asked.trace, "begin": begin, "end": begin + length,
             "next": begin + 2 * length, "tid": asked.thread(begin, begin + length)}
    base = None

    def events_until(end):
        command = [word.format(**words) for word in QUESTIONS[0][1]]
        return asked.cost(command + ["--begin", "@%d" % begin, "--end", "@%d" % end], args.rounds)

    for name, question in QUESTIONS:
        if base and args.only and not any(text in name for text in args.only):
            continue
        command = [word.format(**words) for word in question]
        if command[0] not in RANGED:
            command += ["--begin", "@%d" % begin, "--end", "@%d" % words["end"]]
        cost = asked.cost(command + (args.options if base else []), args.rounds)
        base = base or cost
        line(name, ms, cost, events_until(words["next"]) if name in TWO_RANGES else base)


def print_line(asked, args, name, ms, cost, base):
    if not cost:
        print("!  %-26s %6g ms  failed, or more than %g s" % (name, ms, asked.limit), flush=True)
        return
    mark = "b" if cost[0] > 4 * base[0] + MOST_BYTES and not args.options else " "
    mark += "t" if cost[3] > 4 * base[1] + MOST_SECONDS and not args.options else " "
    print("%s %-26s %6g ms %9.1f MB %6.1fx %8.3f s %6.1fx %8.3f s %8d rows"
          % (mark, name, ms, cost[0] / 1e6, cost[0] / base[0], cost[1], cost[1] / base[1], cost[3],
             cost[2]), flush=True)


def ask(build, trace, args, line):
    """Asks all of one trace. `line` gets (Asked, name, ms, cost, the cost of events)."""
    index = tempfile.mkdtemp(prefix="yore-windows-")
    try:
        asked = Asked(build, trace, index, args.limit)
        subprocess.run([asked.yore, "index", trace, *asked.index], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        first, last = asked.range()
        begin = first + int((last - first) * args.at)
        for ms in args.windows:
            measure(asked, begin, ms, args, lambda *row: line(asked, *row))
    finally:
        shutil.rmtree(index)


def parsed(words):
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--trace", help="without it one is generated")
    parser.add_argument("--size", type=int, default=1000000000, help="bytes of a generated trace")
    parser.add_argument("--windows", nargs="+", type=float, default=WINDOWS, help="milliseconds")
    parser.add_argument("--at", type=float, default=0.5, help="where they begin, 0 to 1")
    parser.add_argument("--only", nargs="+", help="questions whose names have one of these texts")
    parser.add_argument("--options", nargs=argparse.REMAINDER, default=[],
                        help="last: options of yore for all questions but events")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=60, help="seconds that a question may take")
    return parser.parse_args(words)


def windows(build, work, _corpus, args, report):
    """The part of make bench: a generated trace, one round."""
    trace = work + "/windows"
    subprocess.run([build + "/fixtures/yore-gen", "--out", trace, "--size", str(args.size),
                    "--no-truth"], check=True)

    def line(_asked, name, ms, cost, base):
        if cost:
            label = "%g ms: %s" % (ms, name)
            report.row(label + ": read", cost[0] / 1e6, "MB", base[0] / 1e6, "events")
            report.row(label + ": takes", cost[1], "s", base[1], "events")

    ask(build, trace, parsed([build, "--rounds", "1"]), line)
    shutil.rmtree(trace)


def main():
    args = parsed(sys.argv[1:])
    os.environ.setdefault("YORE_LUA_DIR", os.path.join(os.path.dirname(os.path.dirname(
        os.path.abspath(__file__))), "lua-lib"))
    work = None
    try:
        if not args.trace:
            work = tempfile.mkdtemp(prefix="yore-bench-")
            args.trace = work + "/trace"
            subprocess.run([args.build + "/fixtures/yore-gen", "--out", args.trace, "--size",
                            str(args.size), "--no-truth"], check=True)
        ask(args.build, args.trace, args, lambda asked, *row: print_line(asked, args, *row))
    finally:
        if work:
            shutil.rmtree(work)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""System calls are told whole where switches are missing: calls, their time, bytes and percentiles, by every way to ask.

usage: missing_switches.py [--traces N | --seconds S] [--first SEED]

yore-gen --mute leaves out some sched_switch, which no counter tells, and says in DIR.threads which calls there were. In some
traces one CPU is recorded late, too (--late-stream), and in some packets are missing in place of switches (--lose). `syscalls`,
`io` and SQL must have the same calls, row by row, the same time and bytes, and leave out as many for the same reasons. With
--contexts each event names its thread: then they, `periods`, `do` and the rules must have exactly the calls that there were, but
for those that a note counts since a CPU was not recorded yet. Without, the thread of an event is the one that runs: no call may
be wrong, and as many are missing as the notes count.
"""
import collections
import csv
import io
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "repl"))
from results import finish, result, yore

SYSCALL, MUTE = 2, 4
READS = {"read", "recvfrom"}
REASONS = {"unrecorded": r"(\d+) lasted while a CPU was not recorded",
           "switch": r"(\d+) lasted while a switch is missing",
           "thread": r"(\d+) are of an unknown thread|(\d+) entries are of an unknown thread",
           "other": r"(\d+) are followed by the end of another one",
           "open": r"(\d+) have no end of their own in the range",
           "lost": r"(\d+) lasted while events were lost"}


def ask(*words):
    """Rows of csv, and what the notes say."""
    done = subprocess.run([yore, *words, "--no-index"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{words}: {done.stderr}")
    return list(csv.DictReader(io.StringIO(done.stdout))), done.stderr


def counts_of(notes):
    found = {}
    for reason, pattern in REASONS.items():
        match = re.search(pattern, notes)
        found[reason] = int(next(group for group in match.groups() if group)) if match else 0
    return found


class Truth:
    """calls: {(tid, begin): (end, name)} of those that ended and whose entry was recorded; entries: how many began."""

    def __init__(self, trace, contexts):
        with open(os.path.join(trace, "metadata"), "rb") as file:
            metadata = file.read().decode()
        names = {int(number): name for name, number in
                 re.findall(r'name = "?syscall_entry_(\w+)"?;\s+id = (\d+);', metadata)}
        facts = collections.defaultdict(list)
        with open(trace + ".threads", "rb") as file:
            for when, tid, fact, value in struct.iter_unpack("<qiIq", file.read()[32:]):
                if fact == SYSCALL:
                    facts[tid].append((when, value))
        self.events = self.read_events(trace)
        self.recorded = max(self.events[1].values())  # from then on all CPUs are
        self.unseen_times = [] if contexts else self.unseen(trace, self.events[1])
        entries = self.events[2]
        self.calls, self.entries = {}, sum(entries.values())
        for tid, changes in facts.items():
            for (begin, value), (end, _) in zip(changes, changes[1:] + [(None, -1)]):
                if value >= 0 and end is not None and (begin, names[value]) in entries and names[value] not in ("exit", "exit_group"):
                    self.calls[tid, begin] = (end, names[value])

    @staticmethod
    def read_events(trace):
        """What exits returned, by time and name, when each CPU begins to be recorded, and entries by time and name."""
        told, first, entries = collections.defaultdict(list), {}, collections.Counter()
        done = subprocess.run(["babeltrace2", "--clock-cycles", trace], check=True, capture_output=True, text=True)
        base = 1700000000000000000
        for line in done.stdout.splitlines():
            match = re.match(r"\[(\d+)\] \(\S+\) \S+ (\w+): \{ cpu_id = (\d+) \}", line)
            when, name, cpu = base + int(match[1]), match[2], int(match[3])
            first.setdefault(cpu, when)
            if name.startswith("syscall_entry_"):
                entries[when, name[14:]] += 1
            ret = re.search(r"[{,] ret = (-?\d+)", line)
            if name.startswith("syscall_exit_") and ret:
                told[when, name[13:]].append(int(ret[1]))
        return told, first, entries

    @staticmethod
    def unseen(trace, first):
        """When no event contradicts a wrong thread: several missing switches in a row lead back to the one that ran before, or
        switches are missing before the first or behind the last one that is told."""
        with open(trace + ".truth", "rb") as file:
            data = file.read()
        by_cpu, found = collections.defaultdict(list), []
        for when, tid, cpu, kind in struct.iter_unpack("<qiHH", data[32:]):
            by_cpu[cpu].append((when, tid, kind == MUTE or when < first.get(cpu, 0)))
        for rows in by_cpu.values():
            since, thread, told = rows[0][0], None, next((i for i, row in enumerate(rows) if i and not row[2]), len(rows))
            if told > 1:
                found.append((rows[0][0], rows[told - 1][0]))
            for before, row in zip(rows, rows[1:] + [(1 << 62, None, False)]):
                if row[2] and not before[2]:
                    since, thread = row[0], before[1]
                if before[2] and not row[2] and (thread == before[1] or row[1] is None):
                    found.append((since, row[0]))
        return found

    def is_so(self, key, call):
        if self.calls.get(key) == call:
            return True
        return any(key[1] < end and call[0] > begin for begin, end in self.unseen_times)

    def ret(self, end, name):
        found = self.events[0][end, name]
        return found[0] if len(found) == 1 else None


def rank(lengths, percent):
    lengths = sorted(lengths)
    return lengths[max(0, math.ceil(len(lengths) * percent / 100) - 1)]


def grouped(calls):
    """{name: [count, total, p99, longest]}"""
    lengths = collections.defaultdict(list)
    for (_, begin), (end, name) in calls.items():
        lengths[name].append(end - begin)
    return {name: [len(own), sum(own), rank(own, 99), max(own)] for name, own in lengths.items()}


def bytes_of(truth, calls):
    """{tid: bytes}; None: two exits of one name at one time returned different numbers."""
    found = collections.Counter()
    for (tid, _), (end, name) in calls.items():
        if name in READS:
            ret = truth.ret(end, name)
            if ret is None:
                return None
            found[tid] += max(0, ret)
    return {tid: count for tid, count in found.items() if count}


def calls_of(rows):
    return {(int(row["tid"]), int(row["begin"])): (int(row["end"]), row["name"]) for row in rows if row["end"]}


def compare(good, what, why, wrong):
    if not good:
        wrong.append((what, why))


def check_analyses(trace, truth, wrong):
    """Returns the calls that `syscalls log` has, and those that it counts as left out."""
    rows, notes = ask("syscalls", trace, "log", "--format", "csv")
    calls, left = calls_of(rows), counts_of(notes)
    bad = [(key, calls[key], truth.calls.get(key)) for key in calls if not truth.is_so(key, calls[key])]
    compare(not bad, "syscalls log is so", bad[:3], wrong)
    compare(len(calls) + sum(left.values()) == truth.entries, "each entry is told", (len(calls), left, truth.entries), wrong)
    stats = {row["name"]: [int(row[key]) for key in ("count", "total", "p99", "max")]
             for row in ask("syscalls", trace, "--format", "csv")[0]}
    compare(stats == grouped(calls), "syscalls stats", (stats, grouped(calls)), wrong)
    read = {int(row["tid"]): int(row["read"]) for row in ask("io", trace, "--format", "csv")[0] if int(row["read"])}
    wanted = bytes_of(truth, calls)
    compare(wanted is None or read == wanted, "io", (read, wanted), wrong)
    return calls, left


def check_sql(trace, truth, wrong):
    rows, notes = ask("sql", trace, "SELECT tid, begin, end, dur, name, ret FROM syscalls", "--format", "csv")
    calls, left = calls_of(rows), counts_of(notes)
    bad = [(key, calls[key], truth.calls.get(key)) for key in calls if not truth.is_so(key, calls[key])]
    compare(not bad, "SQL's syscalls are so", bad[:3], wrong)
    compare(len(calls) + sum(left.values()) == truth.entries, "SQL tells each entry", (len(calls), left, truth.entries), wrong)
    bad = [row for row in rows if row["end"] and truth.ret(int(row["end"]), row["name"]) not in (None, int(row["ret"] or -999))]
    compare(not bad, "SQL's ret", bad[:3], wrong)
    return calls, left


def check_sums(trace, truth, calls, wrong):
    """Time and bytes of SQL, which must be those of the calls that it tells."""
    row = ask("sql", trace, "SELECT count(end) AS n, sum(dur) AS t FROM syscalls", "--format", "csv")[0][0]
    told = len(calls), sum(end - begin for (_, begin), (end, _) in calls.items())
    compare((int(row["n"]), int(row["t"] or 0)) == told, "SQL's time", (row, told), wrong)
    rows, _ = ask("sql", trace, "SELECT tid, sum(max(ret, 0)) AS bytes FROM syscalls WHERE name IN ('read', 'recvfrom') AND end IS NOT NULL "
                  "GROUP BY tid HAVING bytes > 0", "--format", "csv")
    read, wanted = {int(row["tid"]): int(row["bytes"]) for row in rows}, bytes_of(truth, calls)
    compare(wanted is None or read == wanted, "SQL's bytes", (read, wanted), wrong)


def check_early(truth, calls, wrong):
    """Where all events name their thread, only what lasted before all CPUs were recorded may be missing."""
    late = sorted(key for key in truth.calls if key not in calls and key[1] >= truth.recorded)
    compare(not late, "only calls of unrecorded CPUs are left out", late[:3], wrong)


def check_named(trace, truth, calls, wrong):
    program = ("syscall_entry_* { @s[tid] = nsecs; } syscall_exit_* /@s[tid]/ { @n = count(); @t = sum(nsecs - @s[tid]); delete(@s[tid]); } "
               "syscall_exit_read, syscall_exit_recvfrom /args.ret > 0/ { @b[tid] = sum(args.ret); } END { clear(@s); }")
    done = subprocess.run([yore, "do", trace, program, "--no-index"], capture_output=True, text=True).stdout
    total = sum(end - begin for (_, begin), (end, _) in truth.calls.items())
    told = [int(re.search(rf"^@{key}: (\d+)$", done, re.M)[1]) for key in "nt"]
    compare(told == [len(truth.calls), total], "do", (told, len(truth.calls), total), wrong)
    wanted = bytes_of(truth, truth.calls)
    read = {int(tid): int(count) for tid, count in re.findall(r"^@b\[(\d+)\]: (\d+)$", done, re.M)}
    compare(wanted is None or read == wanted, "do, bytes", (read, wanted), wrong)
    rows, _ = ask("periods", trace, "top", "--from", "syscall_entry_*", "--until", "syscall_exit_*", "--key", "context/tid",
                  "--limit", "1000000", "--format", "csv")
    found = {(int(row["key"]), int(row["begin"])): int(row["end"]) for row in rows}
    bad = [key for key, (end, _) in calls.items() if found.get(key) != end]
    compare(not bad, "periods", bad[:3], wrong)


def check(work, seed, contexts):
    trace = os.path.join(work, f"{seed}")
    late, lossy = seed // 2 % 2, seed // 2 % 8 == 2
    mute = ["0.01", "0.03", "0.1", "0.2"][seed // 3 % 4]
    options = ["--seed", str(seed), "--size", ["100K", "200K", "400K"][seed % 3], "--cpus", str(2 + seed % 3), "--threads",
               str(8 + seed % 9), *(["--lose", "0.1"] if lossy else ["--mute", mute]), *["--late-stream"] * late, *["--contexts"] * contexts]
    subprocess.run([os.path.join(os.path.dirname(yore), "fixtures", "yore-gen"), "--out", trace, "--threads-truth", "--text-metadata",
                    *options], check=True, capture_output=True)
    truth, wrong = Truth(trace, contexts), []
    calls, left = check_analyses(trace, truth, wrong)
    of_sql, left_of_sql = check_sql(trace, truth, wrong)
    differ = sorted(key for key in {**calls, **of_sql} if calls.get(key) != of_sql.get(key))
    compare(not differ and left == left_of_sql, "SQL has the same calls", (differ[:3], left, left_of_sql), wrong)
    check_sums(trace, truth, of_sql, wrong)
    if contexts and not lossy:
        check_early(truth, calls, wrong)
        if not late:
            check_named(trace, truth, calls, wrong)
    result(not wrong and truth.calls, f"yore-gen {' '.join(options)}", wrong)
    subprocess.run(["rm", "-rf", trace, trace + ".threads", trace + ".truth"], check=True)
    return len(truth.calls), len(calls), len(of_sql)


def main():
    words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
    if not any(os.access(os.path.join(folder, "babeltrace2"), os.X_OK) for folder in os.environ["PATH"].split(":")):
        print("SKIP: babeltrace2 is not installed")
        sys.exit(77)
    traces, seconds = int(words.get("--traces", 1000000)), float(words.get("--seconds", 15 if "--traces" not in words else 1e9))
    until, seed = time.monotonic() + seconds, int(words.get("--first", 1))
    sums = {False: [0, 0, 0], True: [0, 0, 0]}
    with tempfile.TemporaryDirectory() as work:
        for i in range(traces):
            if i >= 2 and time.monotonic() > until:
                break
            contexts = i % 2 == 0
            sums[contexts] = [a + b for a, b in zip(sums[contexts], check(work, seed + i, contexts))]
    for contexts, (there, told, sql) in sums.items():
        print(f"{'with' if contexts else 'without'} contexts: {there} calls, {told} by syscalls, {sql} by SQL")
    finish()


main()

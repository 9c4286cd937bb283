#!/usr/bin/python3
"""Every way to ask for system calls gives the sums of perf script, trace-cmd report and perf trace.

    calls_agree.py YORE perf|ftrace FILE...    recordings with raw_syscalls, or of calls by name
    calls_agree.py YORE --fresh N              N recordings of this machine, made now by perf record -a: raw, by name, both

An entry and the next exit of the same thread are a call, as the events themselves name the thread, unless they are of
different calls. Where raw calls and calls by name were recorded, each call is told twice, and the raw ones count. `syscalls`, `threads`, `io`, SQL and `do` must have these calls, their times and what they returned; what
they leave out they must tell. Where no exit lacks its entry, `perf trace -s` has the same numbers of calls.
"""
import collections
import csv
import io
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from yore_says import Report

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ["YORE_LUA_DIR"] = os.path.join(TOP, "lua-lib")
READS = {0: "read", 17: "pread64", 45: "recvfrom"}
HEAD = {"perf": r"\s*(\d+) \[(\d+)\]\s+(\d+)\.(\d{9}):\s+(?:raw_)?syscalls:", "ftrace": r"\s*.*-(\d+)\s+\[(\d+)\]\s+(\d+)\.(\d{9}): "}
RAW, NAMED = r"(sys_enter|sys_exit): +NR (-?\d+)(?: = (-?\d+))?", r"(sys_enter|sys_exit)_(\w+):(?: +(0x[0-9a-f]+)$)?"


def said(kind, path):
    """(time, tid, is entry, number or name, ret) of each event, as the other tool prints them, and whether they are raw."""
    words = ["perf", "script", "-i", path, "--ns", "-F", "tid,cpu,time,event,trace"] if kind == "perf" \
        else ["trace-cmd", "report", "-t", "-i", path]
    text = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout.decode(errors="replace")
    raw = re.search(RAW, text) is not None
    pattern, found = re.compile(HEAD[kind] + (RAW if raw else NAMED)), []
    for line in text.splitlines():
        match = pattern.match(line) if "sys_e" in line else None
        if match:
            tid, _, seconds, rest, name, call, ret = match.groups()
            found.append((int(seconds) * 10**9 + int(rest), int(tid), name == "sys_enter", int(call) if raw else call,
                          signed(int(ret, 0)) if ret and name == "sys_exit" else None))
    return found, raw


def signed(number):
    return number - (1 << 64) if number >= 1 << 63 else number


def lost_some(kind, path):
    """Were events lost? Then what lasted meanwhile is left out."""
    if kind != "perf":
        return False
    said = subprocess.run(["perf", "report", "--stats", "-i", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return b"LOST" in said.stdout


class Calls:
    def __init__(self, events, raw, lossy):
        self.raw, self.lossy = raw, lossy
        self.calls, self.entries, self.odd = {}, 0, set()
        open_calls = {}
        for time, tid, enters, number, ret in events:
            if enters:
                self.entries += 1
                open_calls[tid] = time, number
                continue
            begin, entered = open_calls.pop(tid, (None, None))
            unnumbered = self.raw and number < 0
            if begin is None or not unnumbered and number != entered:
                self.odd.add(tid)
            else:
                self.calls[tid, begin] = time, entered, ret
                if unnumbered:
                    self.odd.add(tid)

    def time(self):
        return sum(end - begin for (_, begin), (end, _, _) in self.calls.items())

    def bytes(self):
        """What READS returned, by thread."""
        found, reads = collections.Counter(), READS.keys() if self.raw else READS.values()
        for (tid, _), (_, call, ret) in self.calls.items():
            if call in reads and ret > 0:
                found[tid] += ret
        return found


def ask(program, *words):
    done = subprocess.run([program, *words, "--format", "csv", "--no-index"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return list(csv.DictReader(io.StringIO(done.stdout.decode(errors="replace")))), done.stderr.decode(errors="replace")


def left_out(notes):
    found = re.search(r"(\d+) of (\d+) (?:system )?calls", notes), re.search(r"(\d+) entries have no row", notes)
    return sum(int(match[1]) for match in found if match)


def logs_agree(report, program, path, truth):
    rows, notes = ask(program, "syscalls", path, "log")
    ours = {(int(row["tid"]), int(row["begin"])): (int(row["end"]), int(row["ret"])) for row in rows}
    theirs = {key: (end, ret) for key, (end, _, ret) in truth.calls.items()}
    for key in sorted(ours.keys() | (set() if truth.lossy else theirs.keys())):
        if ours.get(key) != theirs.get(key):
            report.differs("call %s: yore says %s, its events %s" % (key, ours.get(key), theirs.get(key)))
    if len(ours) + left_out(notes) != truth.entries:
        report.differs("%d calls and %d left out are not the %d entries" % (len(ours), left_out(notes), truth.entries))
    rows, notes = ask(program, "sql", path, "SELECT tid, begin, end, ret FROM syscalls")
    whole = {(int(row["tid"]), int(row["begin"])): (int(row["end"]), int(row["ret"] or -999999)) for row in rows if row["end"]}
    for key in sorted(whole.keys() | (ours.keys() if truth.lossy else theirs.keys())):
        if whole.get(key) != theirs.get(key):
            report.differs("call %s: SQL says %s, its events %s" % (key, whole.get(key), theirs.get(key)))
    if len(whole) + left_out(notes) != truth.entries:
        report.differs("SQL: %d calls and %d left out are not the %d entries" % (len(whole), left_out(notes), truth.entries))
    report.facts.append("%d calls" % len(ours))


def sums_agree(report, program, path, truth):
    rows, _ = ask(program, "syscalls", path, "threads")
    ours = collections.Counter()
    for row in rows:
        ours[int(row["tid"])] += int(row["total"])
    theirs = collections.Counter()
    for (tid, begin), (end, _, _) in truth.calls.items():
        theirs[tid] += end - begin
    if +ours != +theirs:
        report.differs("time of threads: yore %s" % sorted((ours - theirs).items())[:3])
    query = ("SELECT tid, sum(max(ret, 0)) AS bytes FROM syscalls WHERE name IN ('read', 'pread64', 'recvfrom') AND end IS NOT NULL "
             "GROUP BY tid HAVING bytes > 0")
    sql = {int(row["tid"]): int(row["bytes"]) for row in ask(program, "sql", path, query)[0]}
    if sql != truth.bytes():
        report.differs("SQL's bytes: %s, %s" % (sorted(sql.items())[:3], sorted(truth.bytes().items())[:3]))
    rows, _ = ask(program, "io", path, "log")
    moved = collections.Counter()
    for row in rows:
        moved[int(row["tid"])] += int(row["bytes"]) if row["name"] in READS.values() else 0
    if +moved != truth.bytes():
        report.differs("io's bytes: %s, %s" % (sorted(moved.items())[:3], sorted(truth.bytes().items())[:3]))
    text = ("sys_enter { @s[tid] = nsecs; @id[tid] = args.id; } "
            "sys_exit /@s[tid] && (args.id < 0 || args.id == @id[tid])/ { @t = sum(nsecs - @s[tid]); @n = count(); } "
            "sys_exit { delete(@s[tid]); } END { clear(@s); clear(@id); }")
    if not truth.raw:
        text = re.sub(r"\bsys_(enter|exit)\b", r"sys_\1_*", text).replace("args.id", "args.__syscall_nr")
    done = subprocess.run([program, "do", path, text, "--no-index"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    told = dict(re.findall(r"^@(\w): (\d+)$", done.stdout.decode(), re.M))
    if (int(told.get("n", 0)), int(told.get("t", 0))) != (len(truth.calls), truth.time()):
        report.differs("do says %s, the events %s" % (told, (len(truth.calls), truth.time())))


def perf_trace_agrees(report, path, truth):
    """perf trace counts an exit without an entry as a call, and none without a number: threads with such ones are left out."""
    text = subprocess.run(["perf", "trace", "-s", "-i", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    calls, times, tid = collections.Counter(), collections.Counter(), None
    for line in text.stdout.decode(errors="replace").splitlines():
        thread = re.match(r" .* \((\d+)\), \d+ events", line)
        row = re.match(r"   \S+ +(\d+) +\d+ +([\d.]+) +[\d.]+ ", line)
        tid = int(thread[1]) if thread else tid
        if row and tid is not None:
            calls[tid] += int(row[1])
            times[tid] += round(float(row[2]) * 1000)
    ours, lengths, rows = collections.Counter(), collections.Counter(), collections.defaultdict(set)
    for (owner, begin), (end, number, _) in truth.calls.items():
        ours[owner] += 1
        lengths[owner] += end - begin
        rows[owner].add(number)
    compared = 0
    for owner in ours:
        if owner not in calls or owner in truth.odd:
            continue
        compared += 1
        if calls[owner] != ours[owner] or abs(times[owner] * 1000 - lengths[owner]) > 1000 * len(rows[owner]):
            report.differs("perf trace -s of thread %d: %d calls, %d us; its events %d, %d ns" % (
                owner, calls[owner], times[owner], ours[owner], lengths[owner]))
    report.facts.append("%d threads of perf trace -s" % compared)


def compare(program, kind, path):
    report = Report(path)
    truth = Calls(*said(kind, path), lost_some(kind, path))
    if truth.entries:
        logs_agree(report, program, path, truth)
    if truth.entries and not truth.lossy:
        sums_agree(report, program, path, truth)
        if kind == "perf" and truth.raw:
            perf_trace_agrees(report, path, truth)
    return report.close()


LOADS = ["for i in 1 2 3; do (sleep 0.01; cat /usr/bin/perf >/dev/null) & done; wait",
         "seq 1 5000 | sort | tail -n 1 >/dev/null; for i in 1 2 3 4; do /bin/true & done; wait",
         "ls /usr/lib >/dev/null 2>&1 & dd if=/dev/zero of=/dev/null bs=4k count=500 2>/dev/null; sleep 0.02; wait"]


RECORDED = ["raw_syscalls:*", "syscalls:*", "raw_syscalls:*,syscalls:*"]


def fresh(program, count):
    good = True
    for i in range(count):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "perf.data")
            subprocess.run(["perf", "record", "-q", "-a", "-m", "4M", "-e", "sched:*," + RECORDED[i % len(RECORDED)], "-o", path, "--", "timeout",
                            "0.2", "sh", "-c", LOADS[i // len(RECORDED) % len(LOADS)]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            if not os.path.exists(path) or not os.path.getsize(path):
                print("calls_agree.py: skipped: perf record -a is refused here")
                return good
            good = compare(program, "perf", path) and good
    return good


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    program, kind, words = sys.argv[1], sys.argv[2], sys.argv[3:]
    if kind == "--fresh":
        sys.exit(not fresh(program, int(words[0])))
    sys.exit(not all([compare(program, kind, path) for path in words]))


main()

#!/usr/bin/python3
"""What threads did, by SQL, is what the generator says that they did.

The tables thread_state, wakeups and syscalls of a generated trace are compared with DIR.threads, which
the simulator wrote beside it (fixtures/truth.h). symbol() is compared with the kallsyms in a trace.dat.
"""
import collections
import json
import os
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "repl"))
from results import finish, result, top, yore

STATE, CPU, SYSCALL = range(3)
NAMES = {"R": "running", "W": "ready", "S": "sleeping", "I": "sleeping", "D": "blocked"}


def ask(trace, query):
    done = subprocess.run([yore, "sql", "--format", "json", trace, query], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{query}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def read_truth(path):
    with open(path + ".threads", "rb") as file:
        data = file.read()
    facts = collections.defaultdict(list)
    for time, tid, fact, value in struct.iter_unpack("<qiIq", data[32:]):
        facts[tid, fact].append((time, value))
    return facts


def states_of(changes):
    """(begin, end, name, woken) of one thread: what is waking still is what it was."""
    parts, before = [], None
    for time, value in changes:
        letter = chr(value)
        if letter == "w":
            before = "w"
            continue
        woken = letter == "W" and before not in ("R", None)
        if parts and parts[-1][1] == NAMES.get(letter, letter):
            before = letter
            continue
        parts.append((time, NAMES.get(letter, letter), woken))
        before = letter
    ends = [part[0] for part in parts[1:]] + [None]
    return [(begin, end, name, woken) for (begin, name, woken), end in zip(parts, ends)]


def value_at(changes, time):
    value = None
    for when, what in changes:
        if when > time:
            break
        value = what
    return value


def recorded(trace):
    """From when to when all CPUs were recorded: what threads do outside of it is not always told."""
    ends = ask(trace, "SELECT stream, min(first) AS first, max(last) AS last FROM packets GROUP BY stream")
    return max(row["first"] for row in ends), min(row["last"] for row in ends)


def check_states(trace, facts):
    first_all, last_all = recorded(trace)
    rows = collections.defaultdict(list)
    for row in ask(trace, "SELECT * FROM thread_state"):
        rows[row["tid"]].append(row)
    wrong, seen, elsewhere = [], 0, []
    for tid, own in rows.items():
        own.sort(key=lambda row: row["begin"])
        truth = {part[0]: part for part in states_of(facts[tid, STATE])}
        told = {row["begin"]: row for row in own}
        for row in own[1:]:  # the first may begin where the trace first tells of the thread
            if row["state"] not in NAMES.values() or not first_all <= row["begin"] or row["end"] > last_all:
                continue
            seen += 1
            part = truth.get(row["begin"])
            ended = part and (part[1] == row["end"] or row is own[-1] or row["state"] == "running")
            if not part or part[2] != row["state"] or not ended:
                wrong.append((row, part))
            if row["state"] == "running" and value_at(facts[tid, CPU], row["begin"]) != row["cpu"]:
                elsewhere.append(row)
        last = own[-1]["end"]
        for part in truth.values():
            if max(own[0]["end"], first_all) <= part[0] < min(last, last_all) and part[2] in NAMES.values() and part[0] not in told:
                wrong.append((None, part))
    result(seen > 500 and not wrong, "thread_state is what threads did", (seen, wrong[:3]))
    result(not elsewhere, "thread_state says where they ran", elsewhere[:3])


def check_wakeups(trace, facts):
    rows = ask(trace, "SELECT tid, ts, dur, cpu FROM wakeups")
    begin, last = recorded(trace)
    wrong = []
    truth = {}
    for (tid, fact), changes in facts.items():
        if fact != STATE or not tid:
            continue
        for since, end, name, woken in states_of(changes):
            if woken and begin < since < last:
                truth[tid, since] = end - since if end is not None and end <= last else None
    told = {(row["tid"], row["ts"]): row["dur"] for row in rows}
    for key, dur in told.items():
        if key in truth and truth[key] != dur and dur is not None:
            wrong.append((key, dur, truth[key]))
    told = {key: dur for key, dur in told.items() if begin < key[1] < last}
    known = {row["tid"]: row["begin"] for row in ask(trace, "SELECT tid, min(begin) AS begin FROM thread_state GROUP BY tid")}
    missing = [key for key in truth if key not in told and key[1] >= known[key[0]]]
    more = [key for key in told if key not in truth]
    forks = {(row["child_tid"], row["ts"]) for row in ask(trace, "SELECT ts, child_tid FROM sched_process_fork")}
    more = [key for key in more if key not in forks and not any(key[0] == f[0] for f in forks)]
    result(len(truth) > 200 and not wrong and not missing and not more, "wakeups has each wake-up and how long it waited",
           (len(truth), wrong[:3], missing[:3], more[:3]))
    where = [row for row in rows if row["dur"] is not None
             and value_at(facts[row["tid"], CPU], row["ts"] + row["dur"]) != row["cpu"]]
    result(not where, "wakeups says where the thread ran then", where[:3])


def check_syscalls(trace, facts):
    names = {row["id"]: row["name"].replace("syscall_entry_", "") for row in ask(trace, "SELECT id, name FROM classes")}
    rows = ask(trace, "SELECT tid, begin, end, name FROM syscalls WHERE end IS NOT NULL")
    truth = {}
    for (tid, fact), changes in facts.items():
        if fact == SYSCALL:
            for (time, value), (until, _) in zip(changes, changes[1:]):
                if value >= 0:
                    truth[tid, time] = (until, names[value])
    first, last = recorded(trace)
    rows = [row for row in rows if first <= row["begin"] and row["end"] <= last]
    truth = {key: value for key, value in truth.items() if first <= key[1] and value[0] <= last}
    wrong = [row for row in rows if truth.get((row["tid"], row["begin"]), (row["end"], row["name"])) != (row["end"], row["name"])]
    known = sum((row["tid"], row["begin"]) in truth for row in rows)
    result(known > 500 and known > 0.95 * len(truth) and not wrong, "syscalls are those that were made", (known, len(truth), wrong[:3]))


def check_returns(trace, least):
    """What calls returned: the analysis pairs the events themselves."""
    done = subprocess.run([yore, "syscalls", trace, "log", "--format", "json", "--no-index"], check=True, stdout=subprocess.PIPE, text=True)
    truth = {(call["tid"], call["begin"]): call for call in map(json.loads, done.stdout.splitlines())}
    rows = [row for row in ask(trace, "SELECT tid, begin, end, ret FROM syscalls WHERE end IS NOT NULL") if (row["tid"], row["begin"]) in truth]
    wrong = [row for row in rows if (row["end"], row["ret"]) != tuple(truth[row["tid"], row["begin"]][c] for c in ("end", "ret"))]
    result(len(rows) >= least and not wrong, "syscalls has what calls returned: " + trace.split("/")[-1], (len(rows), wrong[:3]))
    some = ask(trace, "SELECT ret FROM syscalls WHERE end IS NULL AND ret IS NOT NULL")
    result(not some, "and NULL where their end is not known", some[:3])


def check_ranges(trace):
    whole = ask(trace, "SELECT * FROM thread_state")
    first, last = (ask(trace, f"SELECT ts('{t}') AS t")[0]["t"] for t in ("+2ms", "+5ms"))
    clipped = [dict(row, begin=max(row["begin"], first), end=min(row["end"], last)) for row in whole
               if row["begin"] < last and row["end"] > first]
    asked = ask(trace, "SELECT tid, begin, end, dur, state FROM thread_state(ts('+2ms'), ts('+5ms'))")
    key = lambda row: (row["tid"], row["begin"], row["end"], row["state"])
    result(len(asked) > 100 and sorted(map(key, clipped)) == sorted(map(key, asked)),
           "a range clips what reaches over its ends", (len(clipped), len(asked)))
    result(all(row["dur"] == row["end"] - row["begin"] for row in asked), "and its durations")
    calls = ask(trace, "SELECT tid, begin, end, name FROM syscalls WHERE end IS NOT NULL")
    first, last = (ask(trace, f"SELECT ts('{t}') AS t")[0]["t"] for t in ("+1ms", "+2ms"))
    lasting = [dict(row, begin=max(row["begin"], first), end=min(row["end"], last)) for row in calls if row["begin"] < last and row["end"] > first]
    asked = ask(trace, "SELECT tid, begin, end, dur, name FROM syscalls(ts('+1ms'), ts('+2ms')) WHERE end IS NOT NULL")
    key = lambda row: (row["tid"], row["begin"], row["end"], row["name"])
    over = sum(row["begin"] == first for row in lasting), sum(row["end"] == last for row in lasting)
    missing = sorted(set(map(key, lasting)) - set(map(key, asked)))
    ended = [row for row in asked if row["end"] < last and key(row) not in set(map(key, lasting))]
    result(min(over) > 5 and not missing and not ended, "a range clips calls that reach over its ends", (over, missing[:3], ended[:3]))
    result(all(row["dur"] == row["end"] - row["begin"] for row in asked), "and their durations")
    tid = max(whole, key=lambda row: row["dur"])["tid"]
    result(ask(trace, f"SELECT * FROM thread_state WHERE tid = {tid} ORDER BY begin")
           == sorted((row for row in whole if row["tid"] == tid), key=lambda row: row["begin"]), "one thread")
    for question in ("thread_state WHERE begin > ts('+1h')", "syscalls WHERE begin > ts('+1h')", "wakeups WHERE ts < ts('@5')"):
        done = subprocess.run([yore, "sql", trace, f"SELECT count(*) FROM {question}", "--stats", "--jobs", "1"], capture_output=True, text=True)
        packets = json.loads(done.stderr.splitlines()[-1])["packets_decoded"]
        result(done.stdout == "0\n" and packets <= 8, f"nothing is read for what cannot be: {question}", (done.stdout, packets))


def check_symbols(trace):
    with open(trace, "rb") as file:
        lines = file.read().split(b"\n")
    known = [line.split() for line in lines if len(line.split()) >= 3 and line.split()[1] in (b"t", b"T") and len(line.split()[0]) == 16]
    known = {int(address, 16): name.decode() for address, _, name, *_ in known}
    asked = ", ".join(f"symbol(u64('{address + 1}'))" for address in sorted(known)[:50])
    row = list(ask(trace, f"SELECT {asked}")[0].values())
    result(len(known) > 0 and row == [known[a] for a in sorted(known)[:50]], "symbol() knows the trace's kernel", row)
    none = ask(trace, "SELECT symbol(16) AS a, symbol(NULL) AS b, symbol('x') AS c")
    result(none == [{"a": None, "b": None, "c": None}], "symbol() of what is none", none)


def main():
    with tempfile.TemporaryDirectory() as work:
        os.environ["XDG_CACHE_HOME"] = work
        trace = os.path.join(work, "trace")
        generator = os.path.join(os.path.dirname(yore), "fixtures", "yore-gen")
        subprocess.run([generator, "--out", trace, "--size", "400K", "--cpus", "4", "--threads-truth", "--contexts"],
                       check=True, capture_output=True)
        facts = read_truth(trace)
        check_states(trace, facts)
        check_wakeups(trace, facts)
        check_syscalls(trace, facts)
        check_returns(trace, 500)
        check_ranges(trace)
        check_returns(os.path.join(top, "fixtures/golden/sched-ftrace/trace.dat"), 50)
        check_symbols(os.path.join(top, "fixtures/golden/sched-ftrace/trace.dat"))
    finish()


main()

#!/usr/bin/python3
"""The first and last event of a condition are found without reading all others.

min(ts), max(ts) and ORDER BY ts LIMIT n over a condition on a field, from random times on, equal what all rows say. What they read is
counted in packets: a thread's next switch must not cost the streams on which it never runs again. So is what one state_at() reads: no
more packets than `yore at` of the same moment, and ts('+1ms') no more than that. Its values, asked for in any order, are those of `at`.
"""
import csv
import io
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "repl"))
from results import finish, result, yore


def ask(trace, query):
    done = subprocess.run([yore, "sql", trace, query, "--format", "csv", "--no-index", "--stats"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{query}: {done.stderr}")
    stats = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")][0]
    return list(csv.reader(io.StringIO(done.stdout)))[1:], stats["packets_decoded"]


def at(trace, moment, path):
    done = subprocess.run([yore, "at", trace, moment, path, "--format", "json", "--no-index", "--stats"], capture_output=True, text=True)
    stats = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")][0]
    return json.loads(done.stdout.splitlines()[0]).get("value"), stats["packets_decoded"]


def text(value):
    return "" if value is None else str(value)


def texts(rows):
    return [row[0] if row else "" for row in rows]


def check_alone(trace, rows, rng):
    """Values of one attribute: each by itself, then all in one statement, at moments that stand close, far, rise, fall and repeat."""
    for path in "cpu[1]/thread", "thread[%d]/state" % next(tid for _, tid in rows[len(rows) // 2:] if tid):
        truth, costly = {}, []
        for _ in range(6):
            near = rng.choice(rows)[0]
            for t in near, near + rng.choice((-1, 1)), near + rng.randrange(200_000):
                truth[t], packets = at(trace, "@%d" % t, path)
                got, read = ask(trace, f"SELECT state_at('{path}', {t})")
                if texts(got) != [text(truth[t])] or read > packets:
                    costly.append((t, got, truth[t], read, packets))
        result(not costly, f"one state_at('{path}', TS) reads no more than yore at", costly[:3])
        moments = [t for _ in range(3) for t in rng.sample(list(truth), len(truth))] + sorted(truth) + sorted(truth, reverse=True)
        values = ", ".join("(%d)" % t for t in moments)
        got, _ = ask(trace, f"SELECT state_at('{path}', column1) FROM (VALUES {values})")
        result(texts(got) == [text(truth[t]) for t in moments],
               f"many state_at('{path}', TS) in one statement", got[:5])
    moment = "+%dus" % ((rows[-1][0] - rows[0][0]) // 2000)
    result(ask(trace, f"SELECT ts('{moment}')")[1] <= at(trace, moment, "cpu[1]/thread")[1], "ts('+TIME') reads no more than yore at", "")


def main():
    with tempfile.TemporaryDirectory() as work:
        trace = os.path.join(work, "t")
        subprocess.run([os.path.join(os.path.dirname(yore), "fixtures", "yore-gen"), "--out", trace, "--size", "8M", "--packet-size", "16K",
                        "--no-truth"], check=True, capture_output=True)
        rows, packets = ask(trace, "SELECT ts, next_tid FROM sched_switch ORDER BY ts")
        rows = [(int(t), int(tid)) for t, tid in rows]
        rng = random.Random(34)
        check_alone(trace, rows, rng)
        for _ in range(12):
            time, tid = rng.choice(rows)
            time += rng.choice((-1, 0, 1))
            after = [t for t, own in rows if own == tid and t > time]
            before = [t for t, own in rows if own == tid and t < time]
            asked = {
                f"SELECT min(ts) FROM sched_switch WHERE next_tid = {tid} AND ts > {time}": after[:1],
                f"SELECT max(ts) FROM sched_switch WHERE next_tid = {tid} AND ts < {time}": before[-1:],
                f"SELECT ts FROM sched_switch WHERE next_tid = {tid} AND ts > {time} ORDER BY ts LIMIT 3": after[:3],
                f"SELECT ts FROM sched_switch WHERE next_tid = {tid} AND ts < {time} ORDER BY ts DESC LIMIT 3": before[:-4:-1],
                f"SELECT ts FROM sched_switch WHERE next_tid = {tid} AND ts > {time} ORDER BY ts": after,
                f"SELECT ts FROM sched_switch WHERE next_tid = {tid} AND ts < {time} ORDER BY ts DESC": before[::-1],
            }
            for query, expected in asked.items():
                got, read = ask(trace, query)
                got = [int(row[0]) for row in got if row and row[0]]
                few = "LIMIT" not in query and "min(" not in query and "max(" not in query or len(expected) < 3 and "LIMIT" in query \
                    or not expected or read < packets / 4 or abs(expected[-1] - time) > (rows[-1][0] - rows[0][0]) / 32
                result(got == expected and few, query, (got[:3], expected[:3], read, packets))
    finish()


main()

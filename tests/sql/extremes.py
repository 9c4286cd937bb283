#!/usr/bin/python3
"""The first and last event of a condition are found without reading all others.

min(ts), max(ts) and ORDER BY ts LIMIT n over a condition on a field, from random times on, equal what all rows say. What they read is
counted in packets: a thread's next switch must not cost the streams on which it never runs again.
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


def main():
    with tempfile.TemporaryDirectory() as work:
        trace = os.path.join(work, "t")
        subprocess.run([os.path.join(os.path.dirname(yore), "fixtures", "yore-gen"), "--out", trace, "--size", "8M", "--packet-size", "16K",
                        "--no-truth"], check=True, capture_output=True)
        rows, packets = ask(trace, "SELECT ts, next_tid FROM sched_switch ORDER BY ts")
        rows = [(int(t), int(tid)) for t, tid in rows]
        rng = random.Random(34)
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

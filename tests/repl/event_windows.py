#!/usr/bin/env python3
"""Rows that several threads make, a window of time each, are those of one thread.

Generated traces are large enough for windows; some have losses, packets that overlap, streams that begin late or end early,
packets whose headers lie about their times, packets in another order, and bytes that were changed. `events --jobs 3` and `--jobs 8`
(where the caller's thread makes no rows) must write what `events --jobs 1` writes, byte by byte, say the same and end with the same status. Only which of several packets with
falling times is told first depends on threads. `convert` to Parquet must write the same files with one thread and with three,
and to CSV what it writes without windows, which a condition on the state forces (of traces that do not lie: it reads these once). YORE_PROPERTY_SECONDS bounds the time.
"""
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
import results
import spoilt_traces
from results import finish, result

SECONDS = float(os.environ.get("YORE_PROPERTY_SECONDS", "25"))
KEEP = os.environ.get("YORE_KEEP")  # a folder for traces that fail
SEED = int(os.environ.get("YORE_SEED", "1"))
BYTES = "14M"
FORMATS = (["--format", "text"], ["--format", "csv"], ["--format", "json"], ["--format", "text", "--time", "ns"])
FILTERS = ([], [], [], ["--name", "sched_*"], ["--cpu", "1"], ["--where", "stream != \"\" && ts & 1 == 0"], ["--begin", "+20ms"],
           ["--end", "-20ms"], ["--no-index"], ["--where", "next_tid > 40"])


def run_yore(words, jobs):
    """Status, output, what was said in any order, and whether windows were cut."""
    run = subprocess.run([results.yore, *words, "--jobs", str(jobs), "--debug=cursor"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         timeout=results.HANGS, check=False)
    said = run.stderr.decode(errors="replace").splitlines()
    windows = any("windows on" in line for line in said)
    told = sorted(re.sub("packet at offset .*time steps back by .* at event [0-9]+", "some packet: time steps back", line)
                  for line in said if not line.startswith("yore: debug:"))
    return (run.returncode, hashlib.md5(run.stdout).hexdigest(), len(run.stdout), told), windows


def rows(words, jobs):
    return run_yore(["events", *words], jobs)


def converted(trace, to, jobs, words=()):
    """What the files have, by their names."""
    out = trace + ".out"
    done, windows = run_yore(["convert", trace, out, "--to", to, "--no-state", *words], jobs)
    files = {}
    for name in os.listdir(out) if os.path.isdir(out) else []:
        with open(os.path.join(out, name), "rb") as file:
            files[name] = hashlib.md5(file.read()).hexdigest()
    shutil.rmtree(out, ignore_errors=True)
    return (done, files), windows


def compare_files(trace, what, want, spoilt):
    one, few = converted(trace, "parquet", 1)
    many, windows = converted(trace, "parquet", 3)
    name = "convert " + " ".join(what)
    result(one == many and one[1], "%s: Parquet of one thread" % name, (one[0], many[0]))
    result(few == windows and (windows or not want), "%s: by windows" % name, (few, windows))
    keep(trace, one == many)
    if spoilt:
        return
    in_order, none = converted(trace, "csv", 1, ["--where", "cpu[0]/irq == 12345 || ts >= 0"])
    by_windows, _ = converted(trace, "csv", 3)
    by_windows[1].pop("losses.csv", None)  # which events that are chosen leave out
    other = sorted(file for file in {**in_order[1], **by_windows[1]} if in_order[1].get(file) != by_windows[1].get(file))
    keep(trace, not other)
    result(in_order[1] and not other and not none, "%s: CSV of one cursor" % name, (in_order[0], by_windows[0], other[:5]))


def keep(trace, good):
    if not good and KEEP:
        shutil.copytree(trace, os.path.join(KEEP, os.path.basename(trace)), dirs_exist_ok=True)


def compare(trace, what, chance, want, spoilt):
    """Did windows make the rows?"""
    words = [trace, *chance.choice(FORMATS), *([] if want else chance.choice(FILTERS))]
    if "--no-index" not in words: # else what one run stores is another table for the next one
        subprocess.run([results.yore, "index", trace], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    one, none = rows(words, 1)
    jobs = chance.choice((3, 8))
    many, windows = rows(words, jobs)
    name = " ".join(what + words[1:])
    keep(trace, one == many)
    result(one == many and not none, "%s: rows of one thread%s" % (name, ", by %d in windows" % jobs if windows else ""), (one, many))
    if want:
        result(windows, "%s: windows make them" % name)
    compare_files(trace, what, want, spoilt)
    return windows


def end_of(trace, *which):
    words = [results.yore, "events", trace, "--format", "json", "--limit", "1", *which]
    return json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)["t"]


def compare_dates(trace):
    """Moves the middle of the trace to midnight: only the first row of the next day has its date."""
    offset, midnight = 1700000000000000000, 1700006400000000000
    moved = offset + midnight - (end_of(trace) + end_of(trace, "--reverse")) // 2
    path = os.path.join(trace, "metadata")
    with open(path, "rb") as file:
        text = file.read()
    with open(path, "wb") as file:
        file.write(text.replace(b"offset = %d;" % offset, b"offset = %d;" % moved))
    words = [trace, "--format", "text", "--utc"]
    (one, _), (many, windows) = rows(words, 1), rows(words, 3)
    result(one == many and windows, "a trace over midnight: rows of one thread, by windows", (one, many))
    text = subprocess.run([results.yore, "events", *words, "--jobs", "3"], stdout=subprocess.PIPE, check=False).stdout
    result(text.count(b"2023-11-15 ") == 1, "a trace over midnight: one date", text.count(b"2023-11-15 "))


def bytes_read(trace, jobs):
    words = [results.yore, "events", trace, "--format", "csv", "--stats", "--jobs", str(jobs)]
    said = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True).stderr
    return json.loads(said.splitlines()[-1])["bytes_read"]


def compare_bytes(trace):
    """Each byte counts once, though each of three threads looks at it; but for packets in a cache, which another thread opened uncounted."""
    one, few = bytes_read(trace, 1), bytes_read(trace, 3)
    result(0.8 * one < few < 1.1 * one, "bytes read by one thread and by three", (one, few))


def main():
    chance, began, by_windows, count = random.Random(SEED), time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory(prefix="yore-test-") as work:
        os.environ["YORE_INDEX_DIR"] = os.path.join(work, "index")
        while count < 3 or time.monotonic() - began < SECONDS:
            trace = os.path.join(work, "trace%d" % count)
            kind = chance.choice(spoilt_traces.KINDS) if count else []
            spoilt_traces.generate(trace, BYTES, SEED * 1000 + count, kind)
            spoilt = [spoilt_traces.spoil(trace, chance)] if count and chance.random() < 0.7 else []
            by_windows += compare(trace, kind + spoilt, chance, not count, spoilt)
            if not count:
                compare_bytes(trace)
                compare_dates(trace)
            shutil.rmtree(trace)
            count += 1
    result(by_windows, "%d of %d traces were cut into windows" % (by_windows, count))
    finish()


main()

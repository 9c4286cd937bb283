#!/usr/bin/env python3
"""Analyses say with eight threads what they say with one, byte by byte, and count what a loop over all events counts.

Generated traces have many packets in each stream; some have losses, packets that overlap or that lie about their times, streams
that begin late or end early, bytes that were changed, or another trace beside them. Only which of several packets with falling
times is told first depends on threads. YORE_PROPERTY_SECONDS bounds the time.
"""
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
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "repl"))
import spoilt_traces
from results import HANGS, finish, result, top, yore

SECONDS = float(os.environ.get("YORE_PROPERTY_SECONDS", "25"))
KEEP = os.environ.get("YORE_KEEP")  # a folder for traces that fail
SEED = int(os.environ.get("YORE_SEED", "1"))
LARGE, SMALL = "14M", "200K"
ANALYSES = (["switches"], ["syscalls"], ["syscalls", "threads"], ["syscalls", "errors"],
            ["syscalls", "log", "--limit", "2000"], ["syscalls", "--where", 'name == "read"'], ["irq"], ["irq", "--cpu", "1"], ["irq", "log", "--limit", "2000"], ["io"],
            ["migrations"], ["migrations", "log"],
            ["periods", "--from", "sched_waking", "--until", "sched_switch", "--key", "payload/tid", "--until-key", "payload/next_tid"],
            ["periods", "--from", "syscall_entry_*", "--until", "syscall_exit_*", "--key", "cpu", "--nested"])
RANGES = ([], [], [], ["--begin", "+20ms"], ["--end", "-20ms"], ["--no-index"])


def run(words, jobs):
    """Status, output and what was said, in any order."""
    ended = subprocess.run([yore, *words, "--jobs", str(jobs)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=HANGS, check=False)
    said = sorted(re.sub("packet at offset .*time steps back by .* at event [0-9]+", "some packet: time steps back", line)
                  for line in ended.stderr.decode(errors="replace").splitlines())
    return ended.returncode, ended.stdout.decode(errors="replace"), said


def keep(trace, good):
    if not good and KEEP:
        shutil.copytree(trace, os.path.join(KEEP, os.path.basename(trace)), dirs_exist_ok=True)


def differences(one, many):
    if one[0] != many[0] or one[2] != many[2]:
        return one[0], one[2], many[0], many[2]
    return [pair for pair in zip(one[1].splitlines(), many[1].splitlines()) if pair[0] != pair[1]][:3]


def compare(trace, what, words):
    if "--no-index" not in words:  # else what one run stores is another table for the next one
        subprocess.run([yore, "index", trace], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    words = [words[0], trace, *words[1:]]
    one, many = run(words, 1), run(words, 8)
    keep(trace, one == many)
    name = " ".join(word for word in what + words if word != trace and "/" not in word[:1])
    result(one == many and one[0] in (0, 3), "%s: as with one thread" % name, differences(one, many))


def count(trace, what, more=()):
    """Groups and their order, of all jobs as in a loop."""
    for jobs in (1, 5):
        ended = run(["run", os.path.join(top, "tests", "lua", "counts_agree.lua"), trace, "2", "--no-index", *more], jobs)
        keep(trace, ended[0] in (0, 3))
        result(ended[0] in (0, 3), "%s: counts of %d threads are those of a loop" % (" ".join(["counts"] + what), jobs), ended)


def equal_times(work):
    """A stream twice: each event has one of the same time in another stream."""
    trace = os.path.join(work, "twins")
    spoilt_traces.generate(trace, SMALL, SEED, [])
    shutil.copy(os.path.join(trace, "channel0_1"), os.path.join(trace, "channel0_0x"))
    count(trace, ["of equal times"])


def wide_texts(work):
    """Two texts in UTF-16 are a key: each is decoded to a memory of its own."""
    trace = os.path.join(work, "wide")
    text = {"type": "static-length-string", "length": 4, "encoding": "utf-16le"}
    payload = [{"name": name, "field-class": text} for name in ("a", "b")]
    os.mkdir(trace)
    with open(os.path.join(trace, "metadata"), "w", encoding="utf-8") as out:
        for fragment in ({"type": "preamble", "version": 2}, {"type": "data-stream-class"},
                         {"type": "event-record-class", "payload-field-class": {"type": "structure", "member-classes": payload}}):
            out.write("\x1e%s\n" % json.dumps(fragment))
    with open(os.path.join(trace, "stream"), "wb") as out:
        out.write("abcdabefabcd".encode("utf-16le"))
    script = os.path.join(work, "wide.lua")
    with open(script, "w", encoding="utf-8") as out:
        out.write('for _, by in ipairs{ { "a", "b" }, { "a", "b", \'"[" == ""\' } } do\n'
                  'for _, row in ipairs(trace:count_by{ by = by }) do print(row.a, row.b, row.count) end end')
    _, printed, said = run(["run", script, trace, "--no-index"], 2)
    result(printed == 2 * "ab\tcd\t2\nab\tef\t1\n" and not said, "two texts in UTF-16 as a key", (printed, said))


def main():
    chance, began, done = random.Random(SEED), time.monotonic(), 0
    with tempfile.TemporaryDirectory(prefix="yore-test-") as work:
        os.environ["YORE_INDEX_DIR"] = os.path.join(work, "index")
        equal_times(work)
        wide_texts(work)
        while done < 3 or time.monotonic() - began < SECONDS:
            kind = chance.choice(spoilt_traces.KINDS) if done else []
            for size, name in ((SMALL, "small"), (LARGE, "large")):
                trace = os.path.join(work, name + str(done))
                spoilt_traces.generate(trace, size, SEED * 1000 + done, kind)
                spoilt = [spoilt_traces.spoil(trace, chance)] if done and chance.random() < 0.7 else []
                if name == "small":
                    count(trace, kind + spoilt, [[], [], ["--with", os.path.join(work, "twins")]][done % 3])
                for words in chance.sample(ANALYSES, 3) if name == "large" else []:
                    compare(trace, kind + spoilt, words + chance.choice(RANGES))
                shutil.rmtree(trace)
            done += 1
    finish()


main()

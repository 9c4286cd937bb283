#!/usr/bin/python3
"""A mistake in the words of an analysis is one line for its user, never a path of a script or a Lua traceback.

    no_tracebacks.py YORE [N]

Each option of each analysis, as its help and its source name them, is given words that are wrong for it; N, 200 without it,
of these combinations are drawn.
"""
import glob
import os
import random
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TRACES = ["fixtures/golden/sched-demo", "fixtures/golden/sched-perf/perf.data", "fixtures/golden/sched-ftrace/trace.dat",
          "fixtures/golden/memory-demo"]
WORDS = ["", "x", "-1", "3x", "(", "[", "a[b", "tid ==", "comm == 3", "begin:", "begin:nosuch", "x=begin:nosuch", "key +", "a | b + c",
         "thread[*]/nosuch", "thread[", "cpu[*]/thread", "=", "*", "%", "1..0", "..", "+1s..", "9999999999999999999999", "\x01", "é",
         "sched_waking -> sched_switch by tid", "sched_waking -> sched_switch by pid until (", "thread[*]/nosuch = 1", "cpu[*]/irq = ",
         "syscall", "syscall a b c", "wake-up to sleep of [", "--from sched_waking --until sched_switch --key nosuch",
         "--from * --until * --key (", "p99(unit) > x", "/nonexistent/folder/file", "sched_*", "*:sched_switch", "payload/pid", "label(",
         "label(pid)", "begin label(pid)"]
COMMON = ["begin", "end", "where", "limit", "sort", "format"]


def analyses():
    for path in sorted(glob.glob(os.path.join(TOP, "lua-lib", "*.lua"))):
        with open(path) as file:
            text = file.read()
        declared = re.search(r"options = \{(.*?)\}", text, re.S)
        options = set(re.findall(r'\b([a-z][a-z-]*)"?\]? = "(?:text|list)"', declared.group(1) if declared else ""))
        verbs = re.search(r"verbs = \{([^}]*)\}", text)
        yield os.path.basename(path)[:-4], sorted(options), re.findall(r'"(\w+)"', verbs.group(1)) if verbs else []


def commands(name, options, verbs, rng):
    words = [name, rng.choice(TRACES), "--no-index"] + rng.sample(verbs, min(len(verbs), rng.randrange(2)))
    if name == "compare":
        words += ["--range-a", "+0s..+3ms", "--range-b", "+3ms..+6ms"]
    if name == "periods":
        words += ["--from", "sched_waking", "--until", "sched_wakeup", "--key", "payload/pid"]
    for option in rng.sample(options, min(len(options), rng.randrange(1, 3))) if rng.random() < 0.8 else [rng.choice(COMMON)]:
        words += ["--" + option, rng.choice(WORDS)]
    return words


def main(yore, count):
    rng, all_of_them = random.Random(33), list(analyses())
    assert len(all_of_them) > 12
    failed, mistakes = 0, 0
    for _ in range(count):
        words = commands(*rng.choice(all_of_them), rng)
        if any(word in ("--save", "--html", "--svg") and words[i + 1][:1] != "/" for i, word in enumerate(words)):
            continue
        said = subprocess.run([yore] + words, cwd=TOP, capture_output=True, text=True, errors="replace", timeout=120)
        mistakes += said.returncode != 0
        if said.returncode not in (0, 1, 2, 3) or re.search(r"traceback|\.lua:\d|attempt to", said.stderr + said.stdout):
            print("yore", " ".join("'%s'" % word for word in words), said.returncode, said.stderr[-2000:])
            failed += 1
    print("%d mistakes" % mistakes)
    assert mistakes > count / 3
    return failed > 0


sys.exit(main(os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 200))

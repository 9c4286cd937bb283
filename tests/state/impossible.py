#!/usr/bin/python3
"""What no machine can do is never answered: over all recordings at hand, and generated ones.

`check --state` looks at every change of the state. At the ends of the range, of each stream, one
nanosecond beside them and at random moments, `at` is asked in one question for all, too: no thread
but the idle one on two CPUs, nothing of a CPU before its stream begins, nothing outside.

impossible.py --list prints what is found, for impossible.known. Corpus traces beside the project or in $YORE_CORPUS; skipped, and said so, where they are missing.
"""
import glob
import json
import os
import random
import subprocess
import sys

SOURCE = os.environ.get("srcdir", ".")
BUILD = os.environ.get("top_builddir", ".")
YORE = os.path.join(BUILD, "yore")
CORPUS = os.environ.get("YORE_CORPUS", os.path.join(SOURCE, "..", "shared", "corpus"))
RANDOM = 100  # moments of each recording

# Violations that are known and not yet mended: a recording's path, how many. No more may come.
KNOWN = os.path.join(SOURCE, "tests", "state", "impossible.known")


def known_violations():
    with open(KNOWN, encoding="utf-8") as file:
        return {path: int(count) for path, count in (
            line.rstrip("\n").split("\t") for line in file if not line.startswith("#"))}


def yore(*arguments, text=None):
    return subprocess.run([YORE, *arguments], input=text, capture_output=True, text=True, check=False,
                          timeout=300)


def rows(done):
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def recordings():
    golden = os.path.join(SOURCE, "fixtures", "golden")
    yield from (os.path.join(golden, name) for name in (
        "sched-demo", "sched-perf/perf.data", "sched-ftrace/trace.dat", "intel-pt/perf.data"))
    if not os.path.isdir(CORPUS):
        print("impossible.py: skipped: no recordings in %s" % CORPUS)
        return
    for folder in ("ctf/real", "lttng-ust", "perf-to-ctf"):
        for top, _, files in sorted(os.walk(os.path.join(CORPUS, folder))):
            if "metadata" in files:
                yield top
    for pattern in ("perf-data/*/perf.*", "trace-dat/*/trace.dat"):
        yield from sorted(glob.glob(os.path.join(CORPUS, pattern)))


def check(path):
    """(the first violations as text, how many); None: it cannot be read at all."""
    done = yore("check", "--state", path, "--no-index", "--format", "json")
    found = rows(done)
    if not found:
        return None if done.returncode else (["no answer"], 1)
    count = found[-1]["violations"]
    wrong = ["%(what)s %(begin)s to %(end)s; event of %(event)s in %(stream)s" % row
             for row in found if row["kind"] == "violation"]
    if done.returncode != (1 if count else 3 if done.returncode == 3 else 0):
        return ["exit status %d with %d violations" % (done.returncode, count)], count + 1
    return wrong, count


def edges(path):
    """What `at` says at the edges of a recording."""
    found = rows(yore("info", path, "--no-index", "--format", "json"))
    if not found or found[0]["begin"] is None or found[0]["end"] is None:
        return [], 0
    info, wrong, asked = found[0], [], 0
    counted = [s["contradictions"] for s in info["streams"]]
    checked = rows(yore("check", path, "--no-index", "--format", "json"))
    if sum(counted) != checked[-1]["contradictions"]:
        wrong.append("info counts %s contradictions, check %d" % (counted, checked[-1]["contradictions"]))
    begin, end = info["begin"], info["end"]
    streams = [s for s in info["streams"] if s["begin"] is not None]
    moments = {begin, end} | {random.randint(begin, end) for _ in range(RANDOM)}
    for stream in streams:
        moments |= {stream[edge] + d for edge in ("begin", "end") for d in (-1, 0, 1)}
    inside = sorted(m for m in moments if begin <= m <= end)
    starts = {}
    for stream in streams:
        if stream["cpu"] is not None:
            starts[stream["cpu"]] = min(stream["begin"], starts.get(stream["cpu"], 1 << 62))
    outside = {begin - 10 ** 9, end + 10 ** 9, end + 10 ** 15}
    text = "".join("@%d\n" % m for m in (*inside, *sorted(outside)))
    seen = {}
    done = yore("at", path, "-", "cpu[*]/thread", "--no-index", "--format", "json", text=text)
    for row in rows(done):
        asked, value, cpu = asked + 1, row["value"], int(row["path"].split("[")[1].split("]")[0])
        if value is None:
            continue
        if row["ts"] in outside:
            wrong.append("CPU %d at %d, outside of the recording, is known" % (cpu, row["ts"]))
        elif value and seen.setdefault((row["ts"], value), cpu) != cpu:
            wrong.append("thread %d at %d is on CPUs %d and %d" % (
                value, row["ts"], seen[row["ts"], value], cpu))
    # a CTF packet may begin before its first event, which `info` tells
    for row in rows(done) if info["format"] != "ctf" else []:
        cpu = int(row["path"].split("[")[1].split("]")[0])
        if row["value"] is not None and row["ts"] < starts.get(cpu, begin):
            wrong.append("CPU %d at %d is known before its stream begins" % (cpu, row["ts"]))
    return wrong, asked


def generated():
    """A few of the recordings that tests/state/truth_agree.py makes hundreds of."""
    done = subprocess.run([sys.executable, os.path.join(SOURCE, "tests", "state", "truth_agree.py"), YORE,
                           os.path.join(BUILD, "fixtures", "yore-gen"),
                           os.path.join(BUILD, "tests", "state", "real_state"), "15"], check=False)
    return done.returncode == 0


def main():
    known, listing = known_violations(), sys.argv[1:] == ["--list"]
    good, count, asked, unread, left = True, 0, 0, 0, 0
    for path in recordings():
        name = "/".join(path.split("/")[-2:])
        random.seed(name)  # the moments of one do not depend on what is known of others
        found = check(path)
        if found is None:
            unread += 1
            continue
        wrong, violations = found
        more, questions = edges(path)
        violations += len(more)
        if listing and violations:
            print("%s\t%d" % (name, violations))
        count, asked, left = count + 1, asked + questions, left + violations
        if violations > known.get(name, 0) and not listing:
            good = False
            for text in (wrong + more)[:5]:
                print("  %s: %s" % (path, text))
            print("FAIL %s: %d impossible answers, %d are known" % (
                path, violations, known.get(name, 0)), flush=True)
    if listing:
        return
    print("%s %d recordings, %d answers beside edges; %d cannot be read; %d violations that are known" % (
        "ok  " if good else "FAIL", count, asked, unread, left), flush=True)
    sys.exit(0 if generated() and good else 1)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""mixed_fresh.py YORE FOLDER - two recordings of this machine at the same time, asked together.

perf records all CPUs by CLOCK_MONOTONIC while an instance of tracefs does by its clock `mono`; each tool's own
text says who ran where. Both stamp a switch for themselves, some hundred nanoseconds apart: what holds is
what the latest switch of either text says. Where a text leaves a switch out, as perf does now and then (the
next one takes another thread off the CPU than the last one put there), yore may say that it does not know, or
that the thread runs which the next one takes off, once that thread told an event there.
Half of the moments lie within a millisecond of a switch. What the machine does not allow is skipped aloud.
"""
import bisect
import glob
import json
import os
import random
import re
import subprocess
import sys

TRACING = "/sys/kernel/tracing"
WORK = ("for i in 1 2 3 4 5 6; do /bin/true; (sleep 0.01; /bin/true) & done; wait; "
        "seq 1 30000 | sort | tail -n 1 >/dev/null")
MOMENTS = 60
NEAR = 1000000


def skip(why):
    print("mixed_fresh.py: skipped: " + why)
    sys.exit(0)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def quiet(*words):
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def record(folder, instance):
    """perf.data and the pages of each CPU's ring buffer; False: perf was refused."""
    perf = os.path.join(folder, "perf.data")
    write(instance + "/trace_clock", "mono")
    write(instance + "/buffer_size_kb", "8192")
    write(instance + "/events/sched/enable", "1")
    done = quiet("perf", "record", "-q", "-a", "-k", "CLOCK_MONOTONIC", "-e", "sched:*", "-o", perf, "--",
                 "sh", "-c", WORK)
    write(instance + "/tracing_on", "0")
    for cpu in glob.glob(instance + "/per_cpu/cpu*"):
        quiet("dd", "if=%s/trace_pipe_raw" % cpu, "of=%s/%s.raw" % (folder, os.path.basename(cpu)), "bs=4096",
              "iflag=nonblock")
    write(instance + "/events/sched/enable", "0")
    return done


def restore(folder, instance):
    """
    A trace.dat of the pages, for trace-cmd's text, and the pages beside what tracefs says of them, for yore:
    trace-cmd writes the clock of the machine's own buffer into the file, not the instance's. False: no file.
    """
    tree = os.path.join(folder, "tracefs")
    paths = [TRACING + "/events/header_page", TRACING + "/events/header_event", TRACING + "/saved_cmdlines",
             TRACING + "/printk_formats"]
    paths += glob.glob(TRACING + "/events/sched/*/format") + glob.glob(TRACING + "/events/ftrace/*/format")
    for path in paths:
        write(tree + path[len(TRACING):], read(path))
    write(tree + "/trace_clock", read(instance + "/trace_clock"))
    os.makedirs(tree + "/options", exist_ok=True)
    raw = sorted(glob.glob(folder + "/cpu*.raw"), key=lambda path: int(re.search(r"cpu(\d+)", path)[1]))
    for path in raw:
        write("%s/per_cpu/%s/stats" % (tree, os.path.basename(path)[:-4]), "")
    write(folder + "/kallsyms", "")
    head = folder + "/head.dat"
    good = quiet("trace-cmd", "restore", "-c", "-t", tree, "-k", folder + "/kallsyms", "-o", head) and \
        quiet("trace-cmd", "restore", "-i", head, "-o", folder + "/trace.dat", *raw)
    for path in raw:
        os.rename(path, os.path.join(tree, os.path.basename(path)))
    return good


def switches(text):
    """(ns, CPU, previous thread, next thread) of each line of a tool's text."""
    pattern = re.compile(r"\[(\d+)\]\s+(\d+)\.(\d{9}): +(?:sched:)?sched_switch:.* prev_pid=(0x[0-9a-f]+|\d+)"
                         r".* next_pid=(0x[0-9a-f]+|\d+)")
    return [(int(m[2]) * 10**9 + int(m[3]), int(m[1]), int(m[4], 0), int(m[5], 0))
            for m in pattern.finditer(text)]


def output(*words):
    return subprocess.run(words, capture_output=True, text=True, errors="replace", check=False).stdout


def by_cpu(rows):
    cpus = {}
    for time, cpu, _, tid in sorted(rows):
        cpus.setdefault(cpu, []).append((time, tid))
    return cpus


def left_out(texts):
    """Of each CPU the times between which some text leaves a switch out, and who runs at the end."""
    cpus = {}
    for rows in texts:
        last = {}
        for time, cpu, before, after in sorted(rows):
            if cpu in last and last[cpu][1] != before:
                cpus.setdefault(cpu, []).append((last[cpu][0], time, before))
            last[cpu] = time, after
    return cpus


def running(cpus, time):
    """Of each CPU the thread that the last switch at or before `time` gave it."""
    said = {}
    for cpu, rows in cpus.items():
        i = bisect.bisect_right(rows, time, key=lambda row: row[0])
        said[cpu] = rows[i - 1][1] if i else None
    return said


def moments(chance, texts):
    """Random ones of which every text tells on every CPU, none of them the time of a switch."""
    times = sorted(row[0] for rows in texts for row in rows)
    own = [rows for text in texts for rows in by_cpu(text).values()]
    begin, end = max(rows[0][0] for rows in own), min(rows[-1][0] for rows in own)
    edges = [time for time in times if begin + NEAR < time < end - NEAR]
    taken, chosen = set(times), []
    while len(chosen) < MOMENTS:
        time = chance.choice(edges) + chance.randint(-NEAR, NEAR) if len(chosen) % 2 else \
            chance.randint(begin, end)
        if time not in taken:
            chosen.append(time)
    return chosen


def ask(yore, time, trace):
    done = subprocess.run([yore, "at", *trace, "@%d" % time, "cpu[*]/thread", "thread[*]/cpu", "thread[*]/state",
                           "--format", "json", "--quiet", "--no-index"], capture_output=True, text=True,
                          check=False)
    return {row["path"]: row["value"] for row in map(json.loads, done.stdout.splitlines())}, done.stderr


def compare(yore, name, trace, chance, texts):
    """How many answers differ from the texts; told."""
    wrong = asked = open_ = 0
    cpus, holes = by_cpu(sum(texts, [])), left_out(texts)
    times = moments(chance, texts)
    for time in times:
        said, why = ask(yore, time, trace)
        for cpu, tid in running(cpus, time).items():
            expected = {"cpu[%d]/thread" % cpu: (tid,)}
            if tid:
                expected.update({"thread[%d]/cpu" % tid: (cpu,),
                                 "thread[%d]/state" % tid: ("running", "exiting")})
            ends = [tid for begin, end, tid in holes.get(cpu, ()) if begin <= time < end]
            changed = said.get("cpu[%d]/thread" % cpu) in ends
            for path, values in expected.items():
                asked += 1
                if ends and (said.get(path) is None or changed):
                    open_ += 1
                elif said.get(path) not in values:
                    wrong += 1
                    print("mixed_fresh.py: %s: @%d: %s is %s, the tools say %s %s" %
                          (name, time, path, said.get(path), values[0], why))
    print("mixed_fresh.py: %s: %d answers at %d moments, %d wrong, %d not known since a switch was left out" %
          (name, asked, len(times), wrong, open_))
    return wrong + (open_ * 2 > asked)  # more: the recording tells too little to compare


def main():
    yore, folder = sys.argv[1], os.path.abspath(sys.argv[2])
    os.makedirs(folder, exist_ok=True)
    for tool in ("perf", "trace-cmd"):
        if not quiet("sh", "-c", "command -v " + tool):
            skip(tool + " is not installed")
    instance = "%s/instances/yore-mixed-%d" % (TRACING, os.getpid())
    try:
        os.mkdir(instance)
    except OSError as error:
        skip("no instance of tracefs can be made here: %s" % error)
    try:
        good = record(folder, instance)
        made = good and restore(folder, instance)
    finally:
        os.rmdir(instance)
    if not good:
        skip("perf record -a -k CLOCK_MONOTONIC is refused here")
    if not made:
        skip("trace-cmd restore made no file")
    perf, ftrace = folder + "/perf.data", folder + "/tracefs"
    by_perf = switches(output("perf", "script", "--ns", "-F", "comm,tid,cpu,time,event,trace", "-i", perf))
    by_ftrace = switches(output("trace-cmd", "report", "-R", "-t", "-i", folder + "/trace.dat"))
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    print("mixed_fresh.py: seed %d, %d switches by perf, %d by ftrace" % (seed, len(by_perf), len(by_ftrace)))
    if min(len(by_perf), len(by_ftrace)) < 50:
        skip("too few switches were recorded")
    wrong = compare(yore, "perf with ftrace", (perf, "--with", ftrace), chance, (by_perf, by_ftrace))
    wrong += compare(yore, "ftrace with perf", (ftrace, "--with", perf), chance, (by_perf, by_ftrace))
    wrong += compare(yore, "perf alone", (perf,), chance, (by_perf,))
    wrong += compare(yore, "ftrace alone", (ftrace,), chance, (by_ftrace,))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""yore critical-path has a row for each timer, device and interrupt that was waited for, never for a thread that only ran then.

Of traces whose threads do what they were told (made_requests.py) each row of the path is known to the nanosecond. Of a recording of
the corpus the judge is what trace-cmd printed of it, events and their flags. Where a thread is made, the path goes on with the one that made it: of a
chain of threads that is made here, and of one that perf records, where perf script is the judge.
"""
import collections
import csv
import io
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "repl"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "oracle"))
from results import finish, result, yore
import kernel_ctf
import made_requests
import tool_events
import wakers_agree

EVERY, COUNT, WORKER, HELPER = made_requests.EVERY, made_requests.DEFAULT["requests"], 100, 101
# of one request: it is woken, waits for its CPU, runs to its sleep, waits for what ends it, waits for its CPU, runs to its end
READY, RUN, SLEEP, AGAIN, END = 1000, 19_000, 30_000, 5000, 6000


def ask(*words):
    done = subprocess.run([yore, "critical-path", *words, "--no-index", "--format", "csv"], capture_output=True, text=True)
    return list(csv.DictReader(io.StringIO(done.stdout))), done.stderr


def range_of(first, until):
    """From the wake-up of a request to that of another one."""
    return "--begin", "@%d" % (made_requests.ORIGIN + first * EVERY), "--end", "@%d" % (made_requests.ORIGIN + until * EVERY)


def sums(rows):
    return {(row["what"], row["tid"], row["state"]): (int(row["count"]), int(row["total"])) for row in rows}


def wanted(what, count):
    """What ends a sleep between two requests is the thread that was idle: it is the made trace's CPU 1."""
    own = str(WORKER)
    return {(what, "", ""): (count, count * SLEEP), ("thread", own, "ready"): (2 * count, count * (READY + AGAIN)),
            ("thread", own, "running"): (2 * count, count * (RUN + END)),
            ("idle", "", ""): (count, count * (EVERY - READY - RUN - SLEEP - AGAIN - END))}


def check_made(work, kind, what):
    trace = os.path.join(work, kind)
    made_requests.write(trace, kind=kind)
    # the last request's wake-up ends the last wait for it
    words = ("--tid", str(WORKER)) + range_of(1, COUNT - 1)[:3] + ("@%d" % (made_requests.ORIGIN + (COUNT - 1) * EVERY + 1),)
    found = sums(ask(trace, *words)[0])
    truth = wanted(what, COUNT - 2)
    truth["thread", str(WORKER), "ready"] = (2 * (COUNT - 2) + 1, (COUNT - 2) * (READY + AGAIN) + 1)
    result(found == truth, "each %s has a row: %s" % (kind, what), (found, truth))
    log = [row for row in ask(trace, "log", *words, "--where", 'what == "%s"' % what)[0]]
    result(all((row["tid"], row["sleeper"], row["sleeper_comm"], int(row["dur"])) == ("", str(WORKER), "worker", SLEEP) for row in log)
           and len(log) == COUNT - 2, "the log says who waits for it: %s" % what, log[:2])


def check_thread(work):
    """A thread that ends a sleep is on the path itself."""
    trace = os.path.join(work, "wait")
    made_requests.write(trace, kind="wait")
    begin = made_requests.ORIGIN + EVERY + 10_000  # where the request begins
    rows, _ = ask(trace, "log", "--tid", str(WORKER), "--begin", "@%d" % begin, "--end", "@%d" % (begin + 51_000))
    found = [(row["what"], row["tid"], row["state"], int(row["begin"]) - begin, int(row["dur"])) for row in rows]
    result(found == [("thread", str(HELPER), "running", 0, 40_000), ("thread", str(WORKER), "ready", 40_000, 5000),
                     ("thread", str(WORKER), "running", 45_000, 6000)], "a thread that wakes is on the path", found)


def check_names(work):
    """Threads of one name have a path each, and json and LAMI tell them apart, too."""
    trace = os.path.join(work, "names")
    made_requests.write(trace, kind="sleep", workers=["worker", "worker"])
    rows, notes = ask(trace, "--tid", "worker")
    each = {"the path of %d" % tid: ask(trace, "--tid", str(tid))[0] for tid in (WORKER, WORKER + 1)}
    told = {title: [{key: value for key, value in row.items() if key != "table"} for row in rows if row["table"] == title] for title in each}
    result(told == each and not notes, "a name of two threads", (told, each, notes))
    done = subprocess.run([yore, "critical-path", trace, "--tid", "worker", "--format", "lami", "--no-index"], capture_output=True, text=True)
    classes = [table["class"] for table in json.loads(done.stdout)["results"]]
    result(classes == [{"inherit": "sum-the-path-of-worker", "title": title} for title in each], "LAMI: a name of two threads", classes)


FORK = "sched_process_fork", "string parent_comm; s32 parent_tid; s32 parent_pid; string child_comm; s32 child_tid; s32 child_pid;"
WOKEN, NEW = ("sched_wakeup_new", made_requests.TASK), ("task_newtask", "s32 pid; string comm; u64 clone_flags;")


def write_makers(folder, told):
    """A runs from 1000 on and makes B at 2000, which runs from 3000 on and makes C at 4000, which runs from 5500 to 9000. What a new thread's
    events are: `told`. Returns where they say that B and C were made."""
    events, times, records = {1: FORK, 2: WOKEN, 3: NEW}, {1: 0, 2: 100, 3: -50}, collections.defaultdict(bytes)

    def switch(t, cpu, before, after):
        return struct.pack("<IQi", 0, t, before) + b"x\0" + struct.pack("<iiq", before, 20, 0) + b"x\0" + struct.pack("<ii", after, 20)

    def make(t, cpu, parent, child):
        payload = {1: b"x\0" + struct.pack("<ii", parent, parent) + b"x\0" + struct.pack("<ii", child, child),
                   2: b"x\0" + struct.pack("<iii", child, 20, cpu), 3: struct.pack("<i", child) + b"x\0" + struct.pack("<Q", 0)}
        return b"".join(struct.pack("<IQi", number, t + times[number], parent) + payload[number]
                        for number in sorted(told, key=times.get))

    records[0] = switch(1000, 0, 0, 7) + make(2000, 0, 7, 8) + switch(9000, 0, 7, 0)
    records[1] = switch(900, 1, 0, 5) + switch(3000, 1, 5, 8) + make(4000, 1, 8, 9) + switch(9000, 1, 8, 0)
    records[2] = switch(900, 2, 0, 6) + switch(5500, 2, 6, 9) + switch(9000, 2, 9, 0)
    kernel_ctf.write(folder, {number: events[number] for number in told}, "\n\tevent.context := struct { s32 tid; };", records)
    first = min(times[number] for number in told if number != 3) if {1, 2} & set(told) else times[3]
    return 2000 + first, 4000 + first


def check_makers(work):
    for told, what in (((1, 2, 3), "all events"), ((1,), "sched_process_fork"), ((2,), "sched_wakeup_new"), ((3,), "task_newtask")):
        trace = os.path.join(work, "makers-" + "".join(map(str, told)))
        b, c = write_makers(trace, told)
        rows, notes = ask(trace, "log", "--tid", "9", "--begin", "@1000", "--end", "@8000")
        found = [(row["tid"], row["state"], int(row["begin"]), int(row["end"])) for row in rows]
        truth = [("7", "running", 1000, b), ("8", "ready", b, 3000), ("8", "running", 3000, c), ("9", "ready", c, 5500), ("9", "running", 5500, 8000)]
        result(found == truth, "new threads' makers are on the path: " + what, (found, truth, notes))


def check_made_now(work):
    """Each thread of a shell's script was ready from its fork to its first run; before that the path is its maker's. Where perf did not record a switch
    around the two, since the thread that leaves a CPU is not the one that came there, nobody knows; nor what is before the first event of a
    CPU, nor what a maker does that ran all the
    time, without a switch up to then."""
    path, maker, runs, on_cpu, missing, switched, firsts = os.path.join(work, "perf.data"), {}, {}, {}, [], {}, {}
    subprocess.run(["perf", "record", "-q", "-a", "-m", "4M", "-e", "sched:*", "-o", path, "--", "sh", "-c", "(sleep 0.01; (/bin/true; sh -c /bin/true)) & wait"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if not os.path.exists(path) or not os.path.getsize(path):
        print("SKIP: perf record -a is refused here")
        return
    text = subprocess.run(["perf", "script", "-i", path, "--ns", "-F", "tid,cpu,time,event,trace"], capture_output=True, text=True).stdout
    for line in text.splitlines():
        match = re.match(r" *(\d+) +\[(\d+)\] +(\d+)\.(\d{9}): +sched:(\w+): (.*)", line)
        if not match:
            continue
        tid, cpu, t, event, rest = int(match[1]), match[2], int(match[3] + match[4]), match[5], match[6]
        firsts.setdefault(cpu, t)
        if event == "sched_process_fork":
            maker[int(re.search(r"child_pid=(\d+)", rest)[1])] = tid, t
        elif event == "sched_switch":
            before, after = (int(re.search(key + r"_pid=(\d+)", rest)[1]) for key in ("prev", "next"))
            came, since = on_cpu.get(cpu, (before, t))
            if came != before:
                missing.append((since, t))
            on_cpu[cpu] = after, t
            switched.setdefault(before, t)
            switched.setdefault(after, t)
            runs.setdefault(after, t)
    wrong, checked = [], 0
    made = [tid for tid in maker if runs.get(tid, 0) > maker[tid][1] > max(firsts.values()) and switched.get(maker[tid][0], runs[tid] + 1) <= runs[tid]]
    for tid in [tid for tid in made if not any(maker[tid][1] <= end and begin <= runs[tid] for begin, end in missing)][:8]:
        rows, _ = ask(path, "log", "--tid", str(tid), "--end", "@%d" % runs[tid])
        last, before = rows[-1], rows[-2] if len(rows) > 1 else {}
        wait = int(last["tid"] or 0), last["state"], int(last["begin"]), int(last["end"])
        checked += 1
        if wait != (tid, "ready", maker[tid][1], runs[tid]) or (before.get("tid"), before.get("state")) != (str(maker[tid][0]), "running"):
            wrong.append((tid, wait, maker[tid], runs[tid], before))
    if missing and checked <= 2:
        print("SKIP: perf did not record %d switches" % len(missing))
        return
    result(not wrong and checked > 2, "perf: %d new threads, and who made them" % checked, wrong[:3])


def check_recording(path):
    """What woke each sleeper that is not a thread, by the flags and the interrupts that trace-cmd prints."""
    last = {(tid, t): waker for t, tid, waker, sure in wakers_agree.wakings_of(tool_events.ftrace_events(path)) if sure}
    checked, wrong = collections.Counter(), []
    threads = subprocess.run([yore, "cputop", path, "threads", "--format", "csv", "--no-index"], capture_output=True, text=True).stdout
    for thread in csv.DictReader(io.StringIO(threads)):
        rows, _ = ask(path, "log", "--tid", thread["tid"])
        spans = [(int(row["begin"]), int(row["end"])) for row in rows]
        if not rows or any(a[1] != b[0] for a, b in zip(spans, spans[1:])):
            wrong.append((thread["tid"], "its stretches do not touch", spans[:3]))
        for row, (begin, end) in zip(rows, spans):
            # the waking is told just before the wake-up that ends the sleep
            woken = max(((t, waker) for (tid, t), waker in last.items() if str(tid) == row["sleeper"] and begin <= t <= end), default=None)
            if row["what"] != "thread":
                checked[row["what"]] += 1
                if woken is None or row["what"] != ("idle" if woken[1] == 0 else woken[1]):
                    wrong.append((row, woken))
    result(not wrong and len(checked) > 1, "a recording: " + ", ".join("%d by %s" % (n, what) for what, n in sorted(checked.items())), wrong[:3])


with tempfile.TemporaryDirectory() as folder:
    check_made(folder, "sleep", "timer")
    check_made(folder, "io", "device 8:1")
    check_thread(folder)
    check_names(folder)
    check_makers(folder)
    check_made_now(folder)
recording = os.path.join(os.environ.get("YORE_CORPUS", ""), "trace-dat", "v6-sched-irq-syscalls", "trace.dat")
if os.path.exists(recording) and wakers_agree.tool_events.ftrace_tool.installed():
    check_recording(recording)
else:
    print("SKIP: the corpus or trace-cmd is not there")
finish()

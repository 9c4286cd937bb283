#!/usr/bin/python3
"""yore critical-path has a row for each timer, device and interrupt that was waited for, never for a thread that only ran then.

Of traces whose threads do what they were told (made_requests.py) each row of the path is known to the nanosecond. Of a recording of
the corpus the judge is what trace-cmd printed of it, events and their flags.
"""
import collections
import csv
import io
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "repl"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "oracle"))
from results import finish, result, yore
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
recording = os.path.join(os.environ.get("YORE_CORPUS", ""), "trace-dat", "v6-sched-irq-syscalls", "trace.dat")
if os.path.exists(recording) and wakers_agree.tool_events.ftrace_tool.installed():
    check_recording(recording)
else:
    print("SKIP: the corpus or trace-cmd is not there")
finish()

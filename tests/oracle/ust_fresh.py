#!/usr/bin/python3
"""ust_fresh.py YORE FOLDER - calls of a program, recorded now by LTTng-UST while perf records the CPUs.

A program built with -finstrument-functions runs with liblttng-ust-cyg-profile preloaded, once linked to run
anywhere and once at a fixed address. Its calls are read from babeltrace2's text and named by addr2line: so
must be the flame graph. perf's text says who ran where; both traces merged must say both. What is not
installed or not allowed is skipped aloud. The tools may need LTTNG_SESSION_CONFIG_XSD_PATH and
LTTNG_CONSUMERD64_BIN where they are not installed in their usual place.
"""
import bisect
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time

from mixed_fresh import by_cpu, left_out, output, quiet, running, switches, write

PROGRAM = r"""
#include <pthread.h>
#include <unistd.h>
static volatile long sum;
static void leaf(int n) { for (int i = 0; i < n * 200; i++) sum += i; }
static void branch(int n) { leaf(n); leaf(2 * n); }
void trunk(int n) { branch(n); leaf(n); }
static void *work(void *arg) { for (int i = 0; i < 150; i++) trunk(i); return arg; }
int main(void)
{
	pthread_t other;
	usleep(300000);
	pthread_create(&other, NULL, work, NULL);
	work(NULL);
	return pthread_join(other, NULL);
}
"""
NEEDED = ("lttng", "lttng-sessiond", "babeltrace2", "addr2line", "gcc")


def say(text):
    print("ust_fresh.py: " + text)


def skip(why):
    say("skipped: " + why)
    sys.exit(0)


def start_daemon(folder):
    """The number of a session daemon of our own; None: one runs already."""
    os.environ["LTTNG_HOME"] = os.environ["HOME"] = folder
    os.environ.setdefault("LTTNG_UST_REGISTER_TIMEOUT", "5000")
    if quiet("lttng", "--no-sessiond", "list"):
        return None
    number = os.path.join(folder, "daemon")
    quiet("lttng-sessiond", "--daemonize", "-p", number)
    for _ in range(50):
        if os.path.exists(number) and quiet("lttng", "--no-sessiond", "list"):
            with open(number, encoding="utf-8") as file:
                return int(file.read())
        time.sleep(0.1)
    skip("lttng-sessiond does not start here")
    return None


def record(folder, programs):
    """Both recordings; False: perf was refused."""
    trace, session, commands = folder + "/ust", "yore-%d" % os.getpid(), []
    steps = [("create", session, "-o", trace), ("enable-channel", "-u", "--subbuf-size=1M", "--num-subbuf=4", "c")]
    steps += [("enable-event", "-u", "-c", "c", what) for what in
              ("lttng_ust_cyg_profile*:*", "lttng_ust_statedump:*", "lttng_ust_lib:*")]
    steps += [("add-context", "-u", "-c", "c", "-t", "vpid", "-t", "vtid"), ("start", session)]
    for step in steps:
        if not quiet("lttng", "--no-sessiond", *step):
            skip("lttng %s fails here" % " ".join(step))
    for program, library in programs:
        commands.append("LD_PRELOAD=%s %s" % (library, program))
    perf = quiet("perf", "record", "-q", "-a", "-k", "CLOCK_MONOTONIC", "-e", "sched:*", "-o", folder + "/perf.data",
                 "--", "sh", "-c", "; ".join(commands))
    if not perf:
        quiet("sh", "-c", "; ".join(commands))
    quiet("lttng", "--no-sessiond", "stop", session)
    quiet("lttng", "--no-sessiond", "destroy", session)
    return perf


LINE = re.compile(r"^\[(\d+)\] .*? (lttng_ust_\w+):(\w+): .*?vpid = (\d+), vtid = (\d+).*?\}, \{(.*)\}$")


def read_calls(text):
    """
    Of each thread (its process, [(time, addresses)]), of each process [(base, file)], and when the last event was.
    """
    threads, files, end = {}, {}, 0
    for line in text.splitlines():
        match = LINE.match(line)
        if not match:
            continue
        end, group, name, pid, tid, body = int(match[1]), match[2], match[3], int(match[4]), int(match[5]), match[6]
        numbers = dict(re.findall(r"(\w+) = (0x[0-9A-Fa-f]+)", body))
        if name == "bin_info":
            files.setdefault(pid, []).append((int(numbers["baddr"], 16), re.search(r'path = "(.*?)"', body)[1]))
        if "cyg_profile" in group:
            own = threads.setdefault(tid, (pid, [(0, ())]))[1]
            stack = own[-1][1]
            own.append((end, stack + (int(numbers["addr"], 16),) if name == "func_entry" else stack[:-1]))
    return threads, files, end


def names_of(threads, files, programs):
    """A dictionary from (process, address) to the function that addr2line finds in its program."""
    names = {}
    for pid, own in threads.values():
        base, program = next((base, path) for base, path in files[pid] if path in programs)
        bias = 0 if programs[program] else base
        for address in {address for _, stack in own for address in stack}:
            names[pid, address] = output("addr2line", "-f", "-e", program, "0x%x" % (address - bias)).split("\n")[0]
    return names


def check_flames(yore, folder, threads, names, end):
    expected = {}
    for pid, own in threads.values():
        for (begin, stack), (until, _) in zip(own, own[1:] + [(end, ())]):
            if stack and until > begin:
                key = ";".join(names[pid, address] for address in stack)
                expected[key] = expected.get(key, 0) + until - begin
    said = {}
    for line in output(yore, "run", "--no-index", "flamegraph", folder + "/ust").splitlines():
        stack, _, weight = line.rpartition(" ")
        key = stack.partition(";")[2]
        said[key] = said.get(key, 0) + int(weight)
    wrong = sorted(set(said.items()) ^ set(expected.items()))
    say("flame graph: %d stacks of %d functions, %d wrong" % (len(expected), len(set(names.values())), len(wrong)))
    return not expected or wrong


ROW = re.compile(r'thread\[(\d+)\]/stack\[\d+\]  "0x([0-9a-f]+)"(?: (\S+))?$', re.M)


def check_rows(yore, folder, threads, names):
    """Every frame of every stack, as state prints it."""
    rows = ROW.findall(output(yore, "state", "--no-index", folder + "/ust", "thread[*]/stack[*]"))
    pushed = sum(len(stack) > len(before) for _, own in threads.values()
                 for (_, before), (_, stack) in zip(own, own[1:]))
    wrong = [row for row in rows if names[threads[int(row[0])][0], int(row[1], 16)] != row[2]]
    say("state: %d frames, %d of them wrong, %d are missing" % (len(rows), len(wrong), pushed - len(rows)))
    return not rows or wrong or len(rows) != pushed


def origin(folder):
    """What is between the clock's zero and the epoch, in ns: perf's times are without it."""
    (cycles,), (epoch,) = (re.findall(r"^\[([\d.]+)\]", output("babeltrace2", how, "--no-delta", folder + "/ust"))
                           for how in ("--clock-cycles", "--clock-seconds"))
    return int(epoch.replace(".", "")) - int(cycles)


def check_merged(yore, folder, threads):
    """At moments within the calls: who runs on each CPU, and what that thread is in."""
    shift = origin(folder)
    rows = switches(output("perf", "script", "--ns", "-F", "comm,tid,cpu,time,event,trace", "-i",
                           folder + "/perf.data"))
    cpus, holes, chance = by_cpu(rows), left_out((rows,)), random.Random(len(rows))
    edges = sorted(moment for _, own in threads.values() for moment, _ in own if moment)
    wrong = asked = deep = 0
    while asked < 60:
        moment = chance.choice(edges) + chance.randint(-1000000, 1000000) if asked % 2 else \
            chance.randint(edges[0], edges[-1])
        if moment in edges:
            continue
        asked += 1
        answers = output(yore, "at", folder + "/perf.data", "--with", folder + "/ust", "@%d" % (moment + shift),
                         "cpu[*]/thread", "thread[*]/stack", "thread[*]/stack[*]", "--format", "json", "--quiet", "--no-index")
        said = {row["path"]: row["value"] for row in map(json.loads, answers.splitlines())}
        for cpu, tid in running(cpus, moment).items():
            ends = [at_end for begin, end, at_end in holes.get(cpu, ()) if begin <= moment < end]
            answer = said.get("cpu[%d]/thread" % cpu)
            if answer != tid and not (ends and (answer is None or answer in ends)):
                wrong += 1
                say("@%d: cpu[%d]/thread is %s, perf says %s" % (moment, cpu, answer, tid))
        for tid, (_, own) in threads.items():
            stack = own[bisect.bisect_right(own, moment, key=lambda row: row[0]) - 1][1]
            deep += len(stack)
            seen = [said.get("thread[%d]/stack[%d]" % (tid, i + 1)) for i in range(len(stack))]
            if (said.get("thread[%d]/stack" % tid) or 0) != len(stack) or \
                    [int(text, 16) for text in seen if text] != list(stack):
                wrong += 1
                say("@%d: thread[%d]/stack is %s, %s in babeltrace2's text" % (moment, tid, seen, stack))
    say("perf with LTTng-UST: %d moments, %d frames on stacks, %d wrong" % (asked, deep, wrong))
    return wrong or not deep


def main():
    yore, folder = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    os.makedirs(folder, exist_ok=True)
    missing = [tool for tool in NEEDED if not shutil.which(tool)]
    if missing:
        skip("%s is not installed" % ", ".join(missing))
    write(folder + "/calls.c", PROGRAM)
    programs = {folder + "/anywhere": False, folder + "/fixed": True}  # at the address it was linked for?
    for program, fixed in programs.items():
        if not quiet("gcc", "-O0", "-g", "-pthread", "-finstrument-functions", "-no-pie" if fixed else "-pie", "-fPIE" if
                     not fixed else "-fno-pie", "-o", program, folder + "/calls.c"):
            skip("gcc -finstrument-functions fails")
    daemon = start_daemon(folder)
    try:
        perf = record(folder, list(zip(programs, ("liblttng-ust-cyg-profile.so", "liblttng-ust-cyg-profile-fast.so"))))
    finally:
        if daemon:
            os.kill(daemon, 15)
    text = output("babeltrace2", "--clock-cycles", "--no-delta", folder + "/ust")
    threads, files, end = read_calls(text)
    if not threads:
        skip("no call was recorded: is liblttng-ust-cyg-profile.so installed?")
    names = names_of(threads, files, programs)
    failed = check_flames(yore, folder, threads, names, end)
    failed = check_rows(yore, folder, threads, names) or failed
    if perf:
        failed = check_merged(yore, folder, threads) or failed
    else:
        say("skipped: perf record -a -k CLOCK_MONOTONIC is refused here")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

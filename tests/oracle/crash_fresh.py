#!/usr/bin/python3
"""crash_fresh.py YORE FOLDER [ROUNDS] - sessions of LTTng-UST that are killed by SIGKILL at random moments.

Each round records a program with `lttng create --shm-path`, in discard or overwrite mode, and kills consumer, session daemon
and program in random order and at random times. What yore finds in the folder of the buffers must be what lttng-crash finds
there; what it finds in both folders together must be that and what babeltrace2 finds in the output folder, each event once.
Where a place of the ring without data made lttng-crash end, yore may find more, whose packets come after. What is not installed is skipped aloud.
"""
import collections
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

SOURCE = r"""
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "crash-tp.h"
#include <pthread.h>
#include <unistd.h>
static void *work(void *arg)
{
	for (int i = 0; i < 1000000; i++) {
		lttng_ust_tracepoint(crash, step, (int)(long)arg, i, "some text" + i % 9);
		if (i % 20 == 0)
			usleep(PAUSE);
	}
	return 0;
}
int main(void)
{
	pthread_t other;
	pthread_create(&other, 0, work, (void *)1);
	work((void *)2);
	return 0;
}
"""
HEADER = r"""
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER crash
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./crash-tp.h"
#if !defined(CRASH_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define CRASH_TP_H
#include <lttng/tracepoint.h>
LTTNG_UST_TRACEPOINT_EVENT(crash, step, LTTNG_UST_TP_ARGS(int, who, int, n, const char *, text),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, who, who) lttng_ust_field_integer(int, n, n)
		lttng_ust_field_string(text, text)))
#endif
#include <lttng/tracepoint-event.h>
"""


def say(text):
    print("crash_fresh.py: " + text, flush=True)


def skip(why):
    say("skipped: " + why)
    sys.exit(0)


def quiet(*words, **more):
    return subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, **more).returncode == 0


def build(folder, pause):
    with open(os.path.join(folder, "crash-tp.h"), "w", encoding="utf-8") as file:
        file.write(HEADER)
    with open(os.path.join(folder, "crash.c"), "w", encoding="utf-8") as file:
        file.write(SOURCE)
    program = os.path.join(folder, "crash-%d" % pause)
    if not quiet("gcc", "-O1", "-I.", "-DPAUSE=%d" % pause, "-o", program, "crash.c", "-llttng-ust", "-ldl",
                 "-lpthread", cwd=folder):
        skip("liblttng-ust's headers are not installed")
    return program


def below(number):
    """The processes that it started, and theirs."""
    found = []
    try:
        for task in os.listdir("/proc/%d/task" % number):
            with open("/proc/%d/task/%s/children" % (number, task), encoding="utf-8") as file:
                for child in map(int, file.read().split()):
                    found += [child, *below(child)]
    except OSError:
        pass
    return found


def kill(numbers):
    for number in numbers:
        try:
            os.kill(number, signal.SIGKILL)
        except ProcessLookupError:
            pass


def start():
    if quiet("lttng", "--no-sessiond", "list"):
        skip("a session daemon runs already")
    daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(100):
        if quiet("lttng", "--no-sessiond", "list"):
            return daemon
        time.sleep(0.05)
    kill([*below(daemon.pid), daemon.pid])
    skip("lttng-sessiond does not start here")
    return None


def record(folder, rng, program):
    """One session, killed."""
    daemon = start()
    numbers = [daemon.pid]
    running = None
    try:
        mode = rng.choice(("--discard", "--discard", "--overwrite"))
        buffers = rng.choice(("--buffers-uid", "--buffers-uid", "--buffers-pid"))
        steps = (("create", "s", "--output=%s/out" % folder, "--shm-path=%s/shm" % folder),
                 ("enable-channel", "-u", "--subbuf-size=%d" % rng.choice((4096, 16384)),
                  "--num-subbuf=%d" % rng.choice((2, 4, 8)), mode, buffers, "ch"),
                 ("enable-event", "-u", "-c", "ch", "crash:*"), ("start",))
        for step in steps:
            if not quiet("lttng", "--no-sessiond", *step):
                skip("lttng %s fails here" % " ".join(step))
        running = subprocess.Popen([program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        numbers += below(daemon.pid)
        time.sleep(rng.uniform(0.05, 0.6))
        own = below(daemon.pid)
        groups = [[running.pid], own, [daemon.pid]]
        rng.shuffle(groups)
        for group in groups:
            kill(group)
            time.sleep(rng.choice((0, 0, rng.uniform(0, 0.05))))
    finally:
        kill([*numbers, *below(daemon.pid), *([running.pid] if running else ())])
        daemon.wait()
        if running:
            running.wait()
    return "%s %s" % (mode[2:], buffers[2:])


LINE = re.compile(r"^\[([\d.]+)\].*?(crash:step).*?cpu_id = (\d+).*\{ who = (\d+), n = (\d+), text = \"(.*)\" \}$")


def by_babeltrace(folder):
    done = subprocess.run(["babeltrace2", "--clock-seconds", "--no-delta", folder], capture_output=True, text=True, check=False)
    return [LINE.match(line).groups() for line in done.stdout.splitlines()]


def by_yore(yore, *words):
    done = subprocess.run([yore, "sql", *words, "--no-index", "--quiet", "--format", "csv"], capture_output=True, text=True, check=False)
    rows = [line.split(",") for line in done.stdout.splitlines()[1:]]
    return done, [("%d.%09d" % divmod(int(t), 1000000000), "crash:step", cpu, who, n, text)
                  for t, cpu, who, n, text in rows]


QUERY = 'SELECT ts, cpu, who, n, text FROM "crash:step"'


def check(yore, folder, number, kind):
    crash = os.path.join(folder, "crash")
    quiet("lttng-crash", "-x", crash, folder + "/shm")
    wanted = by_babeltrace(crash) if os.path.isdir(crash) else []
    done, alone = by_yore(yore, folder + "/shm", QUERY)
    more = collections.Counter(alone) - collections.Counter(wanted)
    missing = collections.Counter(wanted) - collections.Counter(alone)
    # the output folder, with the metadata of the buffers: its own is empty or cut off
    for path, _, names in os.walk(folder + "/out"):
        to = folder + "/whole" + path[len(folder + "/out"):]
        if "metadata" in names:
            shutil.copytree(path, to)
            lender = metadata_of(folder + "/shm", path)
            if lender:
                shutil.copyfile(lender, to + "/metadata")
    out = by_babeltrace(folder + "/whole") if os.path.isdir(folder + "/whole") else []
    union = collections.Counter(set(out) | set(alone))
    bad = []
    if missing or (more and not lie_behind(more, wanted)):
        bad.append("in the buffers: %d missing, %d more: %s" % (len(missing), len(more), done.stderr[:300]))
    for words in ((folder + "/out", QUERY, "--input", "ctf,shm=%s/shm" % folder), (folder + "/both", QUERY)):
        if words[0].endswith("both"):
            os.mkdir(folder + "/both")
            os.rename(folder + "/out", folder + "/both/out")
            os.rename(folder + "/shm", folder + "/both/shm")
        done, both = by_yore(yore, *words)
        if collections.Counter(both) != union:
            bad.append("together: %d missing, %d more: %s" % (
                sum((union - collections.Counter(both)).values()), sum((collections.Counter(both) - union).values()),
                done.stderr[:300]))
    say("round %d, %s: %d events in the buffers, %d in the output folder, %d in all, %d of both%s" % (
        number, kind, len(alone), len(out), len(union), len(set(out) & set(alone)), "; WRONG" if bad else ""))
    for text in bad:
        say("\t" + text)
    return not bad, len(alone), len(out)


def metadata_of(shm, path):
    """The metadata of the buffers whose folder has the same name behind ust/."""
    tail = path[path.index("/ust/"):] if "/ust/" in path else ""
    for folder, _, names in os.walk(shm):
        if tail and folder.endswith(tail) and "metadata" in names:
            return folder + "/metadata"
    return None


def lie_behind(more, wanted):
    """lttng-crash ends at a place without data: what it misses of a CPU is later than what it finds there."""
    last = {}
    for t, _, cpu, _, _, _ in wanted:
        last[cpu] = max(last.get(cpu, ""), t)
    return all(t > last.get(cpu, "") for t, _, cpu, _, _, _ in more)


def main():
    yore, folder = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 4
    missing = [tool for tool in ("lttng", "lttng-sessiond", "lttng-crash", "babeltrace2", "gcc") if not shutil.which(tool)]
    if missing:
        skip("%s is not installed" % ", ".join(missing))
    os.makedirs(folder, exist_ok=True)
    seed = os.environ.get("CRASH_SEED", str(time.time()))
    rng = random.Random(seed)
    say("seed %s" % seed)
    programs = [build(folder, pause) for pause in (10, 300)]
    os.environ["LTTNG_HOME"] = os.environ["HOME"] = folder
    os.environ.setdefault("LTTNG_UST_REGISTER_TIMEOUT", "5000")
    good, in_buffers, in_output = True, 0, 0
    for number in range(rounds):
        own = os.path.join(folder, "round-%d" % number)
        os.mkdir(own)
        kind = record(own, rng, rng.choice(programs))
        right, alone, out = check(yore, own, number, kind)
        good, in_buffers, in_output = good and right, in_buffers + alone, in_output + out
        if right:
            shutil.rmtree(own)
    say("%d sessions, %d events in buffers, %d in output folders: %s" % (
        rounds, in_buffers, in_output, "all as lttng-crash and babeltrace2 find them" if good else "some are WRONG"))
    sys.exit(not (good and in_buffers))


main()

#!/usr/bin/env python3
"""`yore events --follow` and `yore state --follow` over sessions of LTTng-UST and of perf while they record: the rows are those of the finished trace.

A session daemon of its own, without privileges and without the network. Skipped, and said so, where the tools are missing.
"""
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
import results
from follow import Follower, feed, rows, sorted_rows, state_differs
from results import finish, result

APPLICATION = r"""
#include <lttng/tracef.h>
#include <stdlib.h>
#include <time.h>
int main(int argc, char **argv)
{
	const struct timespec pause = {.tv_nsec = 500000};
	(void)argc;
	for (int i = 0; i < atoi(argv[1]); i++) {
		lttng_ust_tracef("%s %d", argv[2], i);
		nanosleep(&pause, NULL);
	}
	return 0;
}
"""
OLD = "#define lttng_ust_tracef tracef\n"  # before 2.13
NOBODY = 65534
RULES = """event lttng_ust_tracef:*
  app[context/vpid]/last = payload/msg
  app[context/vpid]/even = payload/_msg_length % 2 == 0
  app[context/vpid]/count += 1
"""
STATE = ["app[*]/**", "--rules", os.path.join(tempfile.gettempdir(), "follow-%d.rules" % os.getpid()), "--format", "json"]


class Rig:
    def __init__(self, work):
        self.work = work
        self.environment = dict(os.environ, LTTNG_HOME=work, HOME=work, LTTNG_UST_REGISTER_TIMEOUT="3000")
        if os.getuid() == 0:
            os.chown(work, NOBODY, NOBODY)
        self.daemon = self.start("lttng-sessiond", "--no-kernel")
        for _ in range(600):
            if self.lttng("list").returncode == 0 or self.daemon.poll():
                break
            time.sleep(0.1)

    def start(self, *words):
        def unprivileged():
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)

        return subprocess.Popen(words, env=self.environment, cwd=self.work, preexec_fn=unprivileged,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def lttng(self, *words):
        process = self.start("lttng", "--no-sessiond", *words)
        process.wait(results.HANGS)
        return process

    def relay(self, folder):
        """A relay on the loopback; returns the URL for `lttng create`, and its process."""
        ports = []
        for _ in range(3):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                ports.append(probe.getsockname()[1])
        process = self.start("lttng-relayd", "-o", folder, *(word for letter, port in zip("CDL", ports)
                                                            for word in ("-" + letter, "tcp://127.0.0.1:%d" % port)))
        results.until(lambda: listens(ports[0]) or process.poll() is not None)
        return "net://127.0.0.1:%d:%d" % tuple(ports[:2]), process

    def end(self):
        self.daemon.send_signal(signal.SIGTERM)
        try:
            self.daemon.wait(60)
        except subprocess.TimeoutExpired:
            self.daemon.kill()


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def build(work):
    source, program = os.path.join(work, "app.c"), os.path.join(work, "app")
    for text in (APPLICATION, OLD + APPLICATION):
        with open(source, "w") as file:
            file.write(text)
        if subprocess.run(["cc", "-o", program, source, "-llttng-ust", "-ldl"], stderr=subprocess.DEVNULL).returncode == 0:
            return program
    return None


def masked(text):
    """Rows without the names of streams, which rotation changes."""
    return re.sub(rb'"stream":"[^"]*"', b"", text)


def session(rig, name, program, channel, asked, relayed=False, turns=0):
    """Locally, metadata comes when 4 KB of it are there or at the end; a relay has it at once."""
    trace = os.path.join(rig.work, name)
    os.makedirs(trace)
    if os.getuid() == 0:
        os.chown(trace, NOBODY, NOBODY)
    patience = max(1, 8 * results.startup())
    follower = Follower(rig.work, trace, *asked, patience=patience)
    told = os.path.join(rig.work, "state")
    os.makedirs(told, exist_ok=True)
    state = Follower(told, trace, *STATE, patience=patience, command="state")
    if relayed:
        url, relay = rig.relay(trace)
        rig.lttng("create", name, "--live=50000", "-U", url)
        channel = channel + ["--subbuf-size=4096", "--num-subbuf=8"]
    else:
        rig.lttng("create", name, "-o", trace)
        channel = channel + ["--subbuf-size=4096", "--num-subbuf=8", "--switch-timer=50000"]
    rig.lttng("enable-channel", "-u", *channel, "ch")
    rig.lttng("enable-event", "-u", "-c", "ch", "lttng_ust_tracef:*")
    rig.lttng("add-context", "-u", "-c", "ch", "-t", "vpid", "-t", "procname")
    rig.lttng("start")
    first = rig.start(program, "3000", "first")
    time.sleep(0.7)
    second = rig.start(program, "1500", "second")  # a new trace, with buffers per process
    for _ in range(turns):
        time.sleep(0.3)
        rig.lttng("rotate", name)
    first.wait()
    second.wait()
    if relayed:
        follower.until(1)
    early = len(follower.rows())
    rig.lttng("stop")
    rig.lttng("destroy", name)
    if relayed:
        time.sleep(0.5)
        relay.terminate()
        relay.wait()
    _, expected, _ = rows(trace, *asked)
    if not turns:
        follower.until(len(expected))
    follower.rests(3 * patience if turns else 0.2)
    status = follower.interrupt()
    got = follower.rows()
    if turns:
        got, expected = masked(got), masked(expected)
    result(got == expected and status == 130 and (early > 0 or not relayed) and expected,
           "a session of LTTng-UST while it records: " + name,
           "status %s, %d early, %d of %d bytes\n%s" % (status, early, len(got), len(expected), follower.messages()))
    state.rests(patience)
    status = state.interrupt()
    expected = [json.loads(row) for row in rows(trace, *STATE, command="state")[1].splitlines()]
    got = [json.loads(row) for row in state.rows().splitlines()]
    differs, _ = state_differs(expected, got)
    result(not differs and status == 130 and len(got) == len(expected) > 1000, "its state: " + name,
           "status %s, %d of %d rows\n%s\n%s" % (status, len(got), len(expected), "\n".join(differs[:4]), state.messages()))


def lttng(work):
    with open(STATE[2], "w") as file:
        file.write(RULES)
    program = build(work) if shutil.which("lttng-sessiond") and shutil.which("cc") else None
    if not program:
        print("SKIP: lttng-sessiond, lttng or liblttng-ust-dev is missing")
        return
    rig = Rig(work)
    try:
        session(rig, "per-uid", program, ["--buffers-uid"], [])
        session(rig, "per-pid", program, ["--buffers-pid"], ["--format", "json"])
        session(rig, "rotated", program, ["--buffers-uid"], ["--format", "json"], turns=4)
        session(rig, "turns", program, ["--buffers-uid", "--tracefile-size=65536"], ["--format", "csv"])
        if shutil.which("lttng-relayd"):
            session(rig, "relayed-per-uid", program, ["--buffers-uid"], [], True)
            session(rig, "relayed-per-pid", program, ["--buffers-pid"], ["--format", "json"], True)
        else:
            print("SKIP: lttng-relayd is missing")
    finally:
        rig.end()


def perf(work):
    data = os.path.join(work, "perf.data")
    record = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "500", "-o"]
    busy = ["--", "sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"]
    if not shutil.which("perf") or subprocess.run([*record, data, "--", "true"], stderr=subprocess.DEVNULL,
                                                  stdout=subprocess.DEVNULL).returncode != 0:
        print("SKIP: perf is missing, or may not record")
        return
    copy = os.path.join(work, "perf.pipe")
    recorder = subprocess.Popen([*record, "-", *busy], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    tee = subprocess.Popen(["tee", copy], stdin=recorder.stdout, stdout=subprocess.PIPE)
    follower = Follower(work, "-", stdin=tee.stdout)
    recorder.stdout.close()
    tee.stdout.close()
    status = follower.wait()
    _, expected, _ = rows(copy)
    result((status, follower.rows()) == (0, expected) and expected, "perf record -o - | yore events - --follow",
           "status %s, %d of %d bytes\n%s" % (status, len(follower.rows()), len(expected), follower.messages()))

    os.remove(data)
    recorder = subprocess.Popen([*record, data, *busy], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not os.path.exists(data):
        time.sleep(0.01)
    follower = Follower(work, data)
    status = follower.wait()
    recorder.wait()
    _, expected, _ = rows(data)
    result((status, follower.rows()) == (0, expected) and expected, "perf record -o FILE, and yore events FILE --follow",
           "status %s, %d of %d bytes\n%s" % (status, len(follower.rows()), len(expected), follower.messages()))


ASKED = (
    (),
    ("--name", "sched:sched_wakeup"),
    ("--cpu", "0"),
    ("--begin", "+100ms"),
    ("--begin", "+50ms", "--name", "sched:sched_switch,sched:sched_waking"),
    ("--where", "cpu % 2 == 0", "--limit", "2000"),
    ("--all",),
    ("--format", "json"),
    ("--format", "csv", "--name", "sched:sched_switch"),
)


STATES = (
    ("cpu[*]/thread",),
    ("thread[*]/state", "--format", "json"),
    ("thread[*]/**", "cpu[*]/thread", "--format", "csv"),
    ("thread[*]/state", "--begin", "+100ms"),  # names of what begins before are those in the range
    ("thread[*]/**", "--begin", "+50ms", "--end", "+300ms"),
)


def feed_pipe(rng, data, follower):
    """To its standard input, in pieces, unless --end or --limit ends it before."""

    def put(piece):
        try:
            follower.process.stdin.write(piece)
            follower.process.stdin.flush()
        except BrokenPipeError:
            pass

    feed(rng, data, put, rng.uniform(0.1, 0.5), (100, 4096, 30000, 100000))
    try:
        follower.process.stdin.close()
    except BrokenPipeError:
        pass


def perf_paced_state(work, trace, data):
    bad, told = [], 0
    for seed in range(3 * len(STATES)):
        asked, rng = STATES[seed % len(STATES)], random.Random(seed)
        _, expected, _ = rows(trace, *asked, command="state")
        follower = Follower(work, "-", *asked, stdin=subprocess.PIPE, command="state")
        feed_pipe(rng, data, follower)
        status, got = follower.wait(), follower.rows()
        told += len(got)
        if status != 0 or sorted_rows(got) != sorted_rows(expected) or not expected:
            differ = sorted(set(sorted_rows(got)) ^ set(sorted_rows(expected)))
            bad.append("%s: status %s, %d of %d bytes\n%s\n%s" % (asked, status, len(got), len(expected), differ[:4],
                                                                 follower.messages()))
    result(not bad, "the state of tracepoints of perf from a pipe, %d pacings, %d KB of rows" % (3 * len(STATES), told // 1024),
           "\n".join(bad[:3]))


def perf_paced(work):
    """Names of threads in lines are those that earlier events told, shown or not: each question is fed a few times."""
    trace = os.path.join(work, "paced")
    churn = "for i in $(seq 60); do sh -c 'sleep 0.001; true' & done; wait"
    with open(trace, "wb") as file:
        done = subprocess.run(["perf", "record", "-q", "-a", "-e", "sched:sched_switch,sched:sched_wakeup,sched:sched_waking",
                               "-o", "-", "--", "sh", "-c", churn + "; sleep 0.3; " + churn], stdout=file, stderr=subprocess.DEVNULL)
    if done.returncode != 0:
        print("SKIP: perf may not record tracepoints")
        return
    data, bad = open(trace, "rb").read(), []
    for seed in range(3 * len(ASKED)):
        asked, rng = ASKED[seed % len(ASKED)], random.Random(seed)
        _, expected, _ = rows(trace, *asked)
        follower = Follower(work, "-", *asked, stdin=subprocess.PIPE)
        feed_pipe(rng, data, follower)
        status = follower.wait()
        if (status, follower.rows()) != (0, expected) or not expected:
            got = follower.rows()
            bad.append("%s: status %s, %d of %d bytes, differ from %d\n%s" % (asked, status, len(got), len(expected),
                       len(os.path.commonprefix([got, expected])), follower.messages()))
    result(not bad, "tracepoints of perf from a pipe, %d pacings of %d KB" % (3 * len(ASKED), len(data) // 1024),
           "\n".join(bad[:3]))
    perf_paced_state(work, trace, data)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        lttng(directory)
    with tempfile.TemporaryDirectory() as directory:
        perf(directory)
        if shutil.which("perf"):
            perf_paced(directory)
    finish()

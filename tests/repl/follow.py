#!/usr/bin/env python3
"""`yore events --follow` prints the rows of the finished trace, byte for byte, `state` and `when` in the order of their ends; so do
other commands that follow.

A writer copies a finished trace into a growing folder: packets in the order in which they ended, give or take, streams in
random order, files cut inside of a packet for a while, metadata in pieces, new streams and folders later. YORE_FOLLOWS
says how often (24), YORE_FOLLOW_SECONDS for how long at most (90).
"""
import fcntl
import json
import os
import pty
import random
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
import results
from relay import GEN, packets_of
from results import finish, result
from terminal import Terminal

GOLDEN = os.path.join(results.top, "fixtures", "golden")
FOLLOWS = int(os.environ.get("YORE_FOLLOWS", "24"))
SECONDS = float(os.environ.get("YORE_FOLLOW_SECONDS", "90"))
PATIENCE = max(1.5, 10 * results.startup())  # seconds: much longer than the writer ever pauses, also on a machine that is busy or slow

RESTS = max(0.5, 4 * results.startup())


def rows(*words, command="events"):
    done = subprocess.run([results.yore, command, *words, "--no-index"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout, done.stderr.decode()


class Follower:
    def __init__(self, work, trace, *words, patience=PATIENCE, stdin=None, environment=None, command="events"):
        self.out = os.path.join(work, "rows")
        self.said = os.path.join(work, "said")
        self.process = subprocess.Popen(
            [results.yore, command, trace, "--follow", "--patience", "%dms" % (patience * 1000), *words],
            stdin=stdin, stdout=open(self.out, "wb"), stderr=open(self.said, "wb"), env=environment)

    def rows(self):
        with open(self.out, "rb") as file:
            return file.read()

    def messages(self):
        with open(self.said) as file:
            return file.read()

    def until(self, size, seconds=results.HANGS):
        """Until it has printed so many bytes, or has ended."""
        results.until(lambda: self.process.poll() is not None or os.path.getsize(self.out) >= size, seconds)

    def says(self, *texts):
        """Until its messages have them, or it has ended; whether they have."""
        told = lambda: all(text in self.messages() for text in texts)
        results.until(lambda: self.process.poll() is not None or told())
        return told()

    def ended(self, seconds=results.HANGS):
        """Until it has ended."""
        results.until(lambda: self.process.poll() is not None, seconds)

    def rests(self, seconds=RESTS):
        """Until all that is there is read and told: it has nothing to do for longer than it waits from one step to the next."""
        results.catches(self.process)
        return results.rests(self.process, seconds, lambda: (os.path.getsize(self.out), os.path.getsize(self.said)))

    def interrupt(self):
        if results.catches(self.process) and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.wait()

    def wait(self, seconds=results.HANGS):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return "it did not end"


# ---- CTF: what is written, in which order


def generate(folder, seed, *options):
    subprocess.run([GEN, "--out", folder, "--seed", str(seed), "--no-truth", *options], check=True, stdout=subprocess.DEVNULL)


def pieces(rng, data, most):
    cuts = sorted(rng.randint(0, len(data)) for _ in range(rng.randint(0, most - 1)))
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)])]


def plan(rng, finished, order, ordered=True):
    """What is done to the growing folder: (path, bytes), in order. Bytes None make a folder. Packets of a stream that overlap
    are written as they lie in its file, or with `ordered` false as they end."""
    first, steps = [], []
    for folder, _, names in os.walk(finished):
        below = os.path.relpath(folder, finished)
        for name in sorted(names):
            path = os.path.normpath(os.path.join(below, name))
            if name == "metadata":
                data = open(os.path.join(folder, name), "rb").read()
                at = 0.0
                for piece in pieces(rng, data, rng.choice((1, 2, 6))):
                    first.append((at, path, piece))
                    at = min(at + rng.random() * 0.4, 0.95)  # metadata may lag behind the packets that need it
                continue
            packets = packets_of(os.path.join(folder, name), order)
            steps.append((packets[0].begin, 0, path, b""))  # a file is made before its first event
            ended = packets[0].end
            for packet in packets:
                ended = max(ended, packet.end) if ordered else packet.end
                steps.append((ended, 1, path, packet.data))
    steps.sort(key=lambda step: step[:3])
    ends = [step[0] for step in steps]
    # a stream may be written later than others, by a few packets; its own packets stay in order
    lag = {step[2]: rng.choice((0, 0, 1, 3)) for step in steps}
    keyed = [(i + lag[step[2]] * step[1] * 3 + (0.5 if step[1] else 0), i, step) for i, step in enumerate(steps)]
    keyed.sort(key=lambda item: item[:2])
    out = []
    for _, _, (_, kind, path, data) in keyed:
        if not kind:
            out.append((path, data))
            continue
        for piece in pieces(rng, data, rng.choice((1, 1, 2, 3))):
            out.append((path, piece))
    out = interleave(rng, out)
    count = len(out)
    for at, path, piece in sorted(reversed(first), key=lambda item: item[0], reverse=True):
        out.insert(int(at * count), (path, piece))  # pieces of one file stay in order, also those of one place
    return out if ends else first


def interleave(rng, steps):
    """Pieces of one file stay in order, between those of others."""
    out = list(steps)
    for i in range(len(out) - 1):
        if out[i][0] != out[i + 1][0] and out[i][1] and out[i + 1][1] and rng.random() < 0.3:
            out[i], out[i + 1] = out[i + 1], out[i]
    return out


def write(folder, step):
    path = os.path.join(folder, step[0])
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "ab") as file:
        file.write(step[1])


def mark_ended(folder):
    """As a mirror says that its session has ended."""
    path = os.path.join(folder, ".yore-mirror")
    with open(path + ".new", "w") as file:
        file.write("yore mirror 1\nhost h\nsession s\nended\n")
    os.rename(path + ".new", path)


def play(rng, folder, steps, seconds):
    pause = seconds / max(len(steps), 1)
    for step in steps:
        write(folder, step)
        if rng.random() < 0.7:
            time.sleep(rng.random() * pause * 2)


VARIANTS = (
    (),
    ("--text-metadata",),
    ("--ctf2", "--flush", "0.3"),
    ("--lose", "0.2", "--flush", "0.2"),
    ("--late-losses", "--lose", "0.3"),
    ("--big-endian", "--text-metadata"),
    ("--large-headers", "--contexts"),
    ("--late-stream", "--ended-stream"),
)
SQL = (
    "SELECT ts, name, cpu FROM events",
    "SELECT ts, stream, cpu, name, fields FROM events ORDER BY ts",
    "SELECT next_tid, time_text(ts), prev_tid FROM sched_switch ORDER BY ts",
    "SELECT * FROM sched_switch WHERE cpu = 0 AND next_tid > 0",
    "SELECT ts, state_at('cpu[' || cpu || ']/thread', ts), comm(prev_tid, ts) FROM sched_switch",
    "SELECT ts - ts('+0'), name FROM events WHERE name IN ('sched_switch', 'irq_handler_entry') AND ts > ts('+1ms')",
    "WITH late AS (SELECT ts, name, cpu FROM events WHERE ts >= ts('+2ms')) SELECT cpu, ts % 1000, upper(name) FROM late",
    "SELECT ts, CASE WHEN next_tid IN (0, 1, 2, 3) THEN next_tid END FROM sched_switch WHERE prev_tid + next_tid > 3",
)
COMMANDS = ("events", "events", "sql", "do", "stats")
AT_END = ("do", "stats")  # commands whose rows come when all is there
DO = (
    "sched_switch { @[next_tid] = count(); }",
    "* { @[probe, cpu] = count(); }",
    'BEGIN { printf("begin\\n"); } sched_switch /next_tid > 0/ { @last[cpu] = nsecs; printf("%d %d\\n", nsecs, next_tid); } END { printf("end\\n"); }',
    "interval:us:700 { print(@); clear(@); } sched_* { @[probe] = count(); @us = hist(elapsed / 1000); }",
    "sched_switch { if (@since[cpu]) { @ran[prev_tid] = stats(nsecs - @since[cpu]); } @since[cpu] = nsecs; } END { clear(@since); }",
    "* { @[tid] = count(); @name[comm] = max(nsecs); }",
    'sched_switch { @[cpu[cpu]/thread] = sum(next_tid); if (++@n == 100) { exit(); } }',
    "irq_handler_entry { @gap = lhist(nsecs % 1000, 0, 1000, 100); } sched_switch /@gap_of[cpu] == 0/ { @gap_of[cpu] = 1; }",
)
ASKED = (
    (),
    (),
    ("--name", "sched_switch"),
    ("--cpu", "0"),
    ("--where", 'next_tid == 0 || name == "irq_handler_entry"'),
    ("--where", "cpu[cpu]/thread == 0", "--name", "sched_*"),
    ("--stream", "*0", "--name", "sched_*,irq_*"),
    ("--begin", "+1ms"),
    ("--limit", "300"),
    ("--time", "relative"),
)


def two_folders(work):
    """Paths of a finished trace and of one that grows; nothing is there."""
    folders = os.path.join(work, "finished"), os.path.join(work, "growing")
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    return folders


def pacing(work, seed):
    rng = random.Random(seed)
    finished, growing = two_folders(work)
    options = rng.choice(VARIANTS)
    order = ">" if "--big-endian" in options else "<"
    several = rng.random() < 0.25
    os.makedirs(finished)
    for i in range(rng.randint(2, 3) if several else 1):
        generate(os.path.join(finished, "trace%d" % i) if several else finished, seed * 3 + i, "--size", "60K",
                 "--packet-size", rng.choice(("1K", "2K", "4K")), "--cpus", str(rng.randint(3 if "--late-stream" in options else 1, 5)), *options)
    command, ends = rng.choice(COMMANDS), False
    if command == "sql":
        asked = [rng.choice(SQL), "--format", rng.choice(("text", "json", "csv", "line"))]
    else:
        if command == "stats":
            asked = [*rng.choice(((), (), ("--cpu", "0"), ("--name", "sched_switch"), ("--where", "cpu[cpu]/thread == 0"), ("--begin", "+1ms"))),
                     *rng.choice(((), (), ("--by", "stream"), ("--limit", "2"))), "--format", rng.choice(("text", "table", "json", "csv"))]
        elif command == "do":
            asked = [rng.choice(DO), "--format", rng.choice(("text", "json"))]
            asked += rng.choice(((), (), ("--cpu", "0"), ("--begin", "+1ms"), ("--where", "cpu[cpu]/thread != 0")))
        else:
            asked = [*rng.choice(ASKED), "--format", rng.choice(("text", "json", "csv"))]
        ends = rng.random() < 0.4
    if ends:
        asked += ["--end", "+%dms" % rng.randint(2, 8)]
    status, expected, said = rows(finished, *asked, command=command)
    os.makedirs(growing)
    steps = plan(rng, finished, order)
    begun = rng.choice((0, 0, rng.randint(0, len(steps))))
    for step in steps[:begun]:
        write(growing, step)
    follower = Follower(work, growing, *asked, command=command)
    play(rng, growing, steps[begun:], rng.uniform(0.05, 0.5))
    marked = rng.random() < (0.7 if command in AT_END else 0.2)
    if marked:
        mark_ended(growing)
        follower.ended()
    elif command in AT_END:
        follower.ended(PATIENCE + 0.7)
        follower.rests(0.1)
    elif ends or "--limit" in asked:
        since = time.monotonic()
        follower.until(len(expected))
        follower.ended(max(since + 4 - time.monotonic(), 0.1))  # it may end by itself
    else:
        follower.until(len(expected))
        time.sleep(0.1)  # what comes too much would come now
    ended = follower.process.poll()
    status = follower.interrupt()
    got = follower.rows()
    good = got == expected and status in ((0,) if marked else (0, 130))
    return good, "seed %d %s %s %s: status %s, %d of %d bytes%s\n%s%s" % (
        seed, options, command, asked, status, len(got), len(expected),
        "" if got == expected else ", differ from byte %d" % len(os.path.commonprefix([got, expected])),
        said, follower.messages()), len(expected), ended


def pacings(work):
    begun, bad, printed, ended = time.monotonic(), [], 0, 0
    count = 0
    while count < FOLLOWS and time.monotonic() - begun < SECONDS:
        good, why, size, end = pacing(work, count)
        count += 1
        printed += size > 0
        ended += end == 0
        if not good:
            bad.append(why)
    print("%d pacings in %.0f s: %d with rows, %d ended by themselves, %d differ" % (
        count, time.monotonic() - begun, printed, ended, len(bad)))
    result(not bad and printed * 2 > count, "rows of a growing folder are those of the finished one", "\n".join(bad[:3]))


# ---- Lua


def scripts(work):
    """yore.follow() gives what trace:events() gives of the finished trace; trace:follow() is of the script's trace."""
    script, demo = os.path.join(results.top, "tests", "repl", "follow.lua"), os.path.join(GOLDEN, "sched-demo")

    def run(*words, wait=True, script=script):
        process = subprocess.Popen([results.yore, "run", script, demo, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return process.communicate() if wait else process

    bad, lines = [], 0
    for seed in range(8):
        rng = random.Random(seed)
        finished, growing = two_folders(work)
        generate(finished, seed, "--size", "40K", "--packet-size", "2K", "--cpus", "3", *rng.choice(VARIANTS[:4]))
        asked = rng.choice((("", ""), ("sched_switch", ""), ("", "next_tid > 3 || cpu == 0"), ("sched_*", "cpu[cpu]/thread != 0")))
        expected, _ = run(finished, "read", *asked)
        os.makedirs(growing)
        process = run(growing, "follow", *asked, wait=False)
        play(rng, growing, plan(rng, finished, "<"), 0.3)
        mark_ended(growing)
        got, said = process.communicate()
        lines += got.count(b"\n")
        if got != expected or process.returncode:
            bad.append("seed %d %s: %s\n%d of %d bytes\n%s" % (seed, asked, process.returncode, len(got), len(expected), said.decode()))
    result(not bad and lines > 1000, "events that a script follows, %d lines" % lines, "\n".join(bad[:2]))

    code = os.path.join(work, "own.lua")
    for text, status, out, said in (
        ('local n = 0 for event in trace:follow{ to = "+5ms", patience = 0.1 } do n = n + 1 end '
         'for event in trace:events{ to = "+5ms" } do n = n - 1 end print(n)', 0, b"0\n", b""),
        ('for event in trace:follow() do print(event.name) break end print("left")', 0, None, b""),
        ('for event in trace:follow{ reverse = true } do end', 1, b"", b"no option 'reverse'"),
        ('for event in trace:follow{ from = "-1ms" } do end', 1, b"", b"counts from the end"),
        ('for event in trace:follow{ patience = "soon" } do end', 1, b"", b"number expected"),
        ('for event in trace:follow{ where = "(" } do end', 1, b"", b"expected a value"),
        ('for event in yore.follow("/nowhere/at/all") do end', 1, b"", b"No such file"),
    ):
        with open(code, "w") as file:
            file.write(text)
        process = run(wait=False, script=code)
        got, errors = process.communicate(timeout=results.HANGS)
        result(process.returncode == status and (out is None or got == out) and said in errors, "a script: " + text[:60], "%s %s %s" % (
            process.returncode, got, errors))
    with open(code, "w") as file:
        file.write('print("begun") for event in trace:follow{ name = "nothing" } do end')
    process = run(wait=False, script=code)
    process.stdout.readline()
    errors = results.hear(process, b"waited for")
    process.send_signal(signal.SIGINT)
    errors += process.communicate(timeout=results.HANGS)[1]
    result(process.returncode == 130 and b"waited for" in errors, "Ctrl-C ends a script that follows", "%s %s" % (process.returncode, errors))
    with open(code, "w") as file:
        file.write("print(yore.follow, trace.follow ~= nil)")
    sandbox = subprocess.run([results.yore, "run", "--sandbox", code, demo], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=results.HANGS)
    result(sandbox.stdout == b"nil\ttrue\n", "a sandbox follows its own trace alone", sandbox)


# ---- the state

STATES = (
    ("state", "cpu[*]/thread"),
    ("state", "thread[*]/state"),
    ("state", "thread[*]/**", "cpu[*]/irq"),
    ("state", "cpu[*]/thread", "thread[*]/name"),
    ("state", "cpu[0]/thread", "thread[*]/state", "--begin", "+1ms"),
    ("when", "thread[*]/state=running"),
    ("when", "cpu[*]/thread=0", "--begin", "+2ms"),
)


def key(row):
    return row["path"], row["begin"] or 0, str(row["value"])


def state_differs(expected, got):
    """Rows of a recording that goes on, and was stopped with Ctrl-C: what differs from the finished one's; until when it was told."""
    final = [row for row in got if "so_far" not in row]
    so_far = {key(row): row for row in got if "so_far" in row}
    until = max([row["so_far"] for row in so_far.values()] + [row["end"] for row in final if row["end"]] + [0])
    wanted = {key(row): row for row in expected if (row["begin"] or 0) < until}
    out = ["told twice: %s" % row for row in final if key(row) in so_far]
    if len({key(row) for row in final}) != len(final):
        out.append("a row is told twice")
    for row in final:
        if wanted.get(key(row)) != row:
            out.append("told %s instead of %s" % (row, wanted.get(key(row))))
    for name, row in so_far.items():
        known = {k: v for k, v in wanted.get(name, {}).items() if k != "end"}
        if known != {k: v for k, v in row.items() if k not in ("end", "so_far")}:
            out.append("so far %s instead of %s" % (row, wanted.get(name)))
        elif row["so_far"] > (wanted[name]["end"] or until):
            out.append("%s goes on behind its end %s" % (row, wanted[name]["end"]))
    known = {key(row) for row in got}  # what an event behind `until` says of the time before is not known yet
    out += ["not told: %s" % row for name, row in wanted.items() if name not in known and (row["end"] or until) < until]
    return out, until


def state_pacing(work, seed):
    rng = random.Random(seed)
    finished, growing = two_folders(work)
    options = rng.choice(VARIANTS)
    order = ">" if "--big-endian" in options else "<"
    generate(finished, seed * 3, "--size", "150K", "--packet-size", rng.choice(("1K", "2K", "4K")),
             "--cpus", str(rng.randint(3 if "--late-stream" in options else 1, 3)), *options)
    asked = rng.choice(STATES)
    status, expected, said = rows(finished, *asked[1:], "--format", "json", "--all", command=asked[0])
    expected = [json.loads(line) for line in expected.splitlines()]
    os.makedirs(growing)
    steps = plan(rng, finished, order)
    begun = rng.choice((0, 0, rng.randint(0, len(steps))))
    for name in os.listdir(finished):  # what a stream that begins later lacks before, its file tells in time
        write(growing, (name, b""))
    for step in steps[:begun]:
        write(growing, step)
    follower = Follower(work, growing, *asked[1:], "--format", "json", patience=30, command=asked[0])
    play(rng, growing, steps[begun:], rng.uniform(0.05, 0.5))
    follower.rests(0.6 * RESTS)
    status = follower.interrupt()
    got = [json.loads(line) for line in follower.rows().splitlines()]
    differs, until = state_differs(expected, got)
    told = sum("so_far" not in row for row in got)
    return status == 130 and not differs, "seed %d %s %s: status %s, %d of %d rows\n%s\n%s%s" % (
        seed, options, asked, status, told, len(expected), "\n".join(differs[:4]), said, follower.messages()), told, len(expected)


def state_pacings(work):
    begun, bad, told, all_rows = time.monotonic(), [], 0, 0
    count = 0
    while count < FOLLOWS and time.monotonic() - begun < SECONDS:
        good, why, some, most = state_pacing(work, count)
        count += 1
        told += some
        all_rows += most
        if not good:
            bad.append(why)
    print("%d pacings of the state in %.0f s: %d of %d rows, %d differ" % (
        count, time.monotonic() - begun, told, all_rows, len(bad)))
    result(not bad and told * 2 > all_rows, "intervals of a growing folder are those of the finished one", "\n".join(bad[:3]))


# ---- late streams


def late(work):
    """One stream brings nothing for longer than the patience, then what is older than what was printed."""
    finished, growing = two_folders(work)
    generate(finished, 5, "--size", "60K", "--packet-size", "2K", "--cpus", "3")
    _, expected, _ = rows(finished, "--format", "json")
    expected = expected.splitlines()
    names = sorted(name for name in os.listdir(finished) if name != "metadata")
    os.makedirs(growing)
    write(growing, ("metadata", open(os.path.join(finished, "metadata"), "rb").read()))
    for name in names:
        data = open(os.path.join(finished, name), "rb").read()
        write(growing, (name, data[: 2048 if name == names[0] else len(data)]))
    follower = Follower(work, growing, "--format", "json", patience=0.2)
    follower.says("brings nothing")
    follower.rests()
    before = follower.rows().splitlines()
    result("brings nothing" in follower.messages(), "a stream that holds back is named", follower.messages())
    data = open(os.path.join(finished, names[0]), "rb").read()
    write(growing, (names[0], data[2048:]))
    follower.rests(0.3 + RESTS)
    status = follower.interrupt()
    got = follower.rows().splitlines()
    times = [json.loads(row)["ts"] for row in got]
    told = re.findall(r"(\d+) events? of stream", follower.messages())
    result(times == sorted(times) and len(set(got)) == len(got) and set(got) <= set(expected) and got[: len(before)] == before,
           "late events are not put in between", "%d rows" % len(got))
    result(told == [str(len(expected) - len(got))] and len(got) < len(expected), "late events are counted",
           "%s told, %d of %d rows\n%s" % (told, len(got), len(expected), follower.messages()))
    command = re.search(r"yore (events .*)", follower.messages())
    words = [word.strip("'") for word in command.group(1).split()] if command else ["events", growing]
    _, shown, _ = rows(*words[1:], "--format", "json")
    left = set(expected) - set(got)
    result(left and left <= set(shown.splitlines()), "the command that is named shows them", " ".join(words))
    result(status == 130, "Ctrl-C ends it with 130", status)


def idle_stream_wakes(work):
    """A stream that was idle for long, and is written in time from then on, is not late."""
    finished, growing = two_folders(work)
    generate(finished, 9, "--size", "60K", "--packet-size", "1K", "--cpus", "3", "--late-stream")
    _, expected, _ = rows(finished)
    os.makedirs(growing)
    write(growing, ("metadata", open(os.path.join(finished, "metadata"), "rb").read()))
    steps = sorted((packet.end, name, packet.data) for name in os.listdir(finished) if name != "metadata"
                   for packet in packets_of(os.path.join(finished, name), "<"))
    for name in {step[1] for step in steps}:
        write(growing, (name, b""))
    patience = max(0.3, 2 * results.startup())
    follower = Follower(work, growing, patience=patience)
    for _, name, data in steps:
        write(growing, (name, data))
        time.sleep(patience / 25)
    follower.until(len(expected))
    follower.interrupt()
    result(follower.rows() == expected, "a stream that was idle is not late when it wakes up",
           "%d of %d bytes\n%s" % (len(follower.rows()), len(expected), follower.messages()))


def ends_beside_new_files(work):
    """Files that are made just before the mark of the end, while the folder is read, hold nothing back."""
    growing = os.path.join(work, "growing")
    _, expected, _ = rows(os.path.join(GOLDEN, "sched-demo"), "--format", "csv")
    ended = []
    for i in range(8):
        shutil.rmtree(growing, ignore_errors=True)
        shutil.copytree(os.path.join(GOLDEN, "sched-demo"), growing)
        follower = Follower(work, growing, "--format", "csv")
        time.sleep(max(0.15, 1.2 * results.startup()))
        for k in range(60 + i):
            write(growing, ("new%d" % k, b""))
            time.sleep(0.0002)
        mark_ended(growing)
        ended.append((follower.wait(), len(follower.rows())))
    result(ended == [(0, len(expected))] * 8, "a mark beside a file that was just made ends it", ended)


# ---- other formats


def feed(rng, data, put, seconds, sizes=(1, 100, 4096, 20000)):
    at = 0
    while at < len(data):
        size = rng.choice(sizes)
        put(data[at : at + size])
        at += size
        time.sleep(rng.random() * seconds * size / len(data) * 2)


def sorted_rows(data):
    """Of what is told of the state: the same rows, by end."""
    return sorted(data.splitlines())


def state_from_a_pipe(work, trace, path, *words, name):
    data = open(trace, "rb").read()
    for form in ("text", "json", "csv"):
        asked = (path, "cpu[*]/thread", *words, "--format", form)
        asked_status, expected, _ = rows(trace, *asked, command="state")
        follower = Follower(work, "-", *asked, stdin=subprocess.PIPE, command="state")
        feed(random.Random(form), data, lambda piece: (follower.process.stdin.write(piece), follower.process.stdin.flush()), 0.5)
        follower.process.stdin.close()
        status = follower.wait()
        got = follower.rows()
        result(status == asked_status and sorted_rows(got) == sorted_rows(expected),
               "the state from a pipe, %s: %s" % (form, name), "status %s, %d of %d bytes\n%s" % (
                   status, len(got), len(expected), follower.messages()))
        if form == "json":
            ends = [json.loads(row)["end"] or 1 << 63 for row in got.splitlines()]
            late = sum(end < max(ends[:i] or [0]) for i, end in enumerate(ends))
            result(late * 5 <= len(ends), "its rows come by their ends: " + name, "%d of %d do not" % (late, len(ends)))


def ctf_pipes(work):
    """Packets back to back, as a device or a network brings them: of one stream, of several behind prefixes, in noise."""
    finished = os.path.join(work, "finished")
    shutil.rmtree(finished, ignore_errors=True)
    generate(finished, 3, "--size", "100K", "--packet-size", "2K", "--cpus", "2")
    metadata = os.path.join(finished, "metadata")
    packets = sorted((packet.end, name, packet.data) for name in os.listdir(finished) if name != "metadata"
                     for packet in packets_of(os.path.join(finished, name), "<"))
    one = b"".join(data for _, name, data in packets if name == "channel0_0")
    several = b"".join(struct.pack("<I", i) + packet[2] for i, packet in enumerate(packets))
    for name, data, more in (("one stream", one, ""), ("prefixes", several, ",prefix=4"), ("noise", b"noise" + several, ",scan")):
        path = os.path.join(work, "input")  # rows have the file's name
        with open(path, "wb") as file:
            file.write(data)
        asked = ("--input", "ctf,metadata=%s%s" % (metadata, more))
        _, expected, _ = rows(path, *asked)
        follower = Follower(work, "-", *asked, stdin=subprocess.PIPE)
        feed(random.Random(4), data, lambda piece: (follower.process.stdin.write(piece), follower.process.stdin.flush()), 0.5)
        follower.until(1)
        early = len(follower.rows())
        follower.process.stdin.close()
        status = follower.wait()
        result((status, follower.rows()) == (0, expected) and early, "packets from a pipe: " + name,
               "status %s, %d early, %d of %d bytes\n%s" % (status, early, len(follower.rows()), len(expected), follower.messages()))
        if name == "one stream":  # others come up with packets that began earlier than what was told
            state_from_a_pipe(work, path, "thread[*]/**", *asked, name=name)


def perf_pipes(work):
    traces = [os.path.join(results.corpus, "perf-data", name, "perf.pipe") for name in ("pipe", "pipe-zstd", "corrupt-pipe-cut")]
    for trace in traces:
        data = open(trace, "rb").read()
        asked_status, expected, _ = rows(trace)
        follower = Follower(work, "-", stdin=subprocess.PIPE)
        feed(random.Random(1), data, lambda piece: (follower.process.stdin.write(piece), follower.process.stdin.flush()), 0.5)
        follower.until(1, results.HANGS if "zstd" in trace else 2)
        early = len(follower.rows())
        follower.process.stdin.close()
        status = follower.wait()
        result((status, follower.rows()) == (asked_status, expected), "from a pipe: " + os.path.basename(os.path.dirname(trace)),
               "status %s\n%s" % (status, follower.messages()))
        if "zstd" in trace:
            result(0 < early < len(expected), "rounds of a compressed pipe that are over are printed", "%d bytes" % early)
        state_from_a_pipe(work, trace, "thread[*]/**", name=os.path.basename(os.path.dirname(trace)))
    for command, words in (("sql", ("SELECT ts, name, cpu FROM events",)), ("do", ("* { @[probe] = count(); @c[comm] = count(); }",)),
                           ("stats", ("--time", "ns"))):
        asked_status, expected, _ = rows(traces[0], *words, command=command)
        follower = Follower(work, "-", *words, command=command, stdin=subprocess.PIPE)
        feed(random.Random(3), open(traces[0], "rb").read(),
             lambda piece: (follower.process.stdin.write(piece), follower.process.stdin.flush()), 0.3)
        follower.process.stdin.close()
        status = follower.wait()
        result((status, follower.rows()) == (asked_status, expected), "from a pipe: " + command, "status %s\n%s" % (status, follower.messages()))
    fifo = os.path.join(work, "fifo")
    os.mkfifo(fifo)
    for asked in ((), ("--format", "json", "--name", "sched_switch"), ("--format", "csv", "--cpu", "0"), ("--limit", "20")):
        asked_status, expected, _ = rows(traces[0], *asked)
        follower = Follower(work, fifo, *asked)

        def writer():
            try:
                with open(fifo, "wb", buffering=0) as file:
                    feed(random.Random(2), open(traces[0], "rb").read(), file.write, 0.3)
            except BrokenPipeError:
                pass  # --limit ended it

        thread = threading.Thread(target=writer)
        thread.start()
        status = follower.wait()
        thread.join()
        result((status, follower.rows()) == (asked_status, expected), "from a FIFO: " + " ".join(asked),
               "status %s\n%s" % (status, follower.messages()))


def perf_files(work):
    """perf.data: the head has no size until the recorder has ended, and names of events stand at the end."""
    growing, finished = os.path.join(work, "perf.data"), os.path.join(work, "finished.data")
    for name in ("cpu-clock", "switch-events", "clockid-mono", "lost", "zstd"):
        trace = os.path.join(results.corpus, "perf-data", name, "perf.data")
        data = open(trace, "rb").read()
        # the kernel that runs here would lend its symbols to a recording of its release, which is told at the end alone
        release = os.uname().release.encode()
        data = data.replace(release, b"x" * len(release))
        with open(finished, "wb") as file:
            file.write(data)
        (begin, size) = struct.unpack_from("<QQ", data, 40)
        _, expected, _ = rows(finished)
        rng = random.Random(3)
        open_head = data[:48] + bytes(8) + data[56:72] + bytes(32) + data[104:begin]
        with open(growing, "wb") as file:
            file.write(open_head)
        follower = Follower(work, growing)

        def put(piece):
            with open(growing, "ab") as file:
                file.write(piece)

        feed(rng, data[begin : begin + size], put, 0.5)
        follower.until(1, results.HANGS if name == "switch-events" else 0.05)
        early = follower.rows()
        put(data[begin + size :])
        with open(growing, "r+b") as file:
            file.write(data[:104])
        status = follower.wait()
        got = follower.rows()
        if name in ("clockid-mono", "lost"):  # of tracepoints, whose names stand at the end
            first = [[line.split()[0] for line in text.splitlines()] for text in (expected, got)]
            result(first[0] == first[1] and status == 0 and "names and fields" in follower.messages(),
                   "perf.data of tracepoints has its rows, and a note says why they are raw: " + name,
                   "status %s\n%s" % (status, follower.messages()))
            continue
        result(got == expected and status == 0, "perf.data while it is recorded: " + name,
               "status %s, %d of %d bytes, differ from %d\n%s" % (status, len(got), len(expected),
               len(os.path.commonprefix([got, expected])), follower.messages()))
        if name == "switch-events":
            result(0 < len(early) < len(expected), "rounds that are over are printed", "%d bytes" % len(early))


def ovni(work):
    for name in ("nanos6", "mpi-tampi", "kernel-unsorted", "multi-loom"):
        for command, *asked in (("events",), ("state", "**", "--format", "json")):
            finished, growing = os.path.join(results.corpus, "ovni", name), os.path.join(work, "ovni")
            shutil.rmtree(growing, ignore_errors=True)
            rng = random.Random(name)
            _, expected, _ = rows(finished, *asked, command=command)
            late_steps, steps = [], []
            for folder, _, names in os.walk(finished):
                below = os.path.relpath(folder, finished)
                os.makedirs(os.path.join(growing, below), exist_ok=True)
                for one in names:
                    data = open(os.path.join(folder, one), "rb").read()
                    path = os.path.join(below, one)
                    if one == "stream.json":
                        text = re.sub(rb'"finished":\s*1', b'"finished": 0', data)
                        write(growing, (path, text))
                        late_steps.append((path, data))
                    elif one == "stream.obs":
                        write(growing, (path, data[:8]))
                        steps += [(path, piece) for piece in pieces(rng, data[8:], 8)]
                    else:
                        write(growing, (path, data))
            follower = Follower(work, growing, *asked, patience=3, command=command)
            play(rng, growing, steps, 0.6)
            for path, data in late_steps:
                with open(os.path.join(growing, path + ".new"), "wb") as file:
                    file.write(data)
                os.rename(os.path.join(growing, path + ".new"), os.path.join(growing, path))
            status = follower.wait()
            got = follower.rows()
            same = got == expected if command == "events" else sorted_rows(got) == sorted_rows(expected)
            result(same and status == 0 and got, "%s of ovni, ended by its threads: %s" % (command, name),
                   "status %s, %d of %d bytes\n%s" % (status, len(got), len(expected), follower.messages()))


# ---- drawn on a terminal


class Screen:
    """What a terminal shows of lines that are drawn over others."""

    def __init__(self):
        self.lines, self.row, self.column = [""], 0, 0

    def write(self, text):
        for code, end, char in re.findall(r"\x1b\[([0-9;?]*)([A-Za-z])|(.|\n)", text):
            if char == "\n":
                self.row += 1
                self.lines += [""] * (self.row + 1 - len(self.lines))
                self.column = 0
            elif char == "\r":
                self.column = 0
            elif char:
                line = self.lines[self.row].ljust(self.column)
                self.lines[self.row] = line[: self.column] + char + line[self.column + 1 :]
                self.column += 1
            elif end == "A":
                self.row = max(self.row - int(code or 1), 0)
            elif end == "K":
                self.lines[self.row] = self.lines[self.row][: self.column]
            elif end == "J":
                self.lines[self.row] = self.lines[self.row][: self.column]
                del self.lines[self.row + 1 :]

    def text(self):
        return [line.rstrip().replace("\u2591", " ").rstrip() for line in self.lines]


HEAD = r"^(\d+) to (\d+), "


def drawing(words):
    return Terminal([results.yore, "timeline", *words, "--time", "ns"], rows=40, columns=100)


def drawn(terminal, seconds=results.HANGS):
    """All that is shown up to its end, and its status."""
    data, end = b"", time.monotonic() + seconds
    while time.monotonic() < end:
        if select.select([terminal.fd], [], [], 0.2)[0]:
            try:
                data += os.read(terminal.fd, 65536)
            except OSError:
                break
    _, status = os.waitpid(terminal.pid, 0)
    os.close(terminal.fd)
    return data.decode(errors="replace"), os.waitstatus_to_exitcode(status)


def same_drawing(work, asked, span, trace, text, status):
    """The last of several drawings, in one place, is that of the finished recording."""
    screen = Screen()
    screen.write(text)
    shown = screen.text()
    heads = re.findall(HEAD, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", text), re.MULTILINE)
    result(sum(bool(re.match(HEAD, line)) for line in shown) == 1 and len(heads) > 2, "%d drawings in one place, %s" % (len(heads), span),
           "\n".join(shown))
    begin, end = heads[-1]
    finished, _ = drawn(drawing([trace, *asked, "--begin", "@" + begin, "--end", "@" + end]))
    screen = Screen()
    screen.write(finished)
    at = [bool(re.match(HEAD, line)) for line in shown].index(True)
    expected = screen.text()[1:]
    got = shown[at + 1 : at + 1 + len(expected)]
    result(got == expected and status == 0, "the last one is that of the finished recording, %s" % span,
           "status %s\n%s\ninstead of\n%s" % (status, "\n".join(got), "\n".join(expected)))


def timelines(work):
    finished = os.path.join(work, "finished")
    shutil.rmtree(finished, ignore_errors=True)
    generate(finished, 8, "--size", "400K", "--packet-size", "1K", "--cpus", "1")
    trace, fifo = os.path.join(work, "input"), os.path.join(work, "pipe")
    with open(trace, "wb") as file:
        file.write(open(os.path.join(finished, "channel0_0"), "rb").read())
    os.mkfifo(fifo)
    asked = ("thread[*]/state", "--input", "ctf,metadata=" + os.path.join(finished, "metadata"), "--limit", "12")
    for span in ("-10ms", "-4ms", "-1ms"):
        terminal = drawing([fifo, *asked, "--follow", "--begin", span, "--patience", "0s"])
        with open(fifo, "wb", buffering=0) as file:
            feed(random.Random(span), open(trace, "rb").read(), file.write, max(1.2, 9 * results.startup()))
        text, status = drawn(terminal)
        same_drawing(work, asked, span, trace, text, status)
    done = subprocess.run([results.yore, "timeline", trace, *asked, "--follow"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    result(done.returncode == 2 and b"state --follow" in done.stderr, "without a terminal it says what to use", done.stderr)


# ---- SQL


def sql_refusals(work):
    """What a SELECT must not be, and what is said of it; the answer's first row is never printed."""
    trace = os.path.join(GOLDEN, "sched-demo")
    events = "SELECT ts, name FROM events"
    for query, said in (
        ("SELECT count(*) FROM events", "a value of many rows"),
        ("SELECT max(ts), name FROM events", "a value of many rows"),
        ("SELECT name, count(*) FROM events GROUP BY name", "a value of many rows"),
        ("SELECT ts, row_number() OVER (ORDER BY ts) FROM events", "a value of many rows"),
        ("SELECT DISTINCT ts, name FROM events", "DISTINCT compares"),
        ("SELECT ts FROM events ORDER BY cpu", "would have to be sorted"),
        ("SELECT ts FROM events ORDER BY ts, cpu", "would have to be sorted"),
        (events + " ORDER BY ts DESC", "not DESC"),
        ("SELECT name FROM events", "stream after stream"),
        (events + " LIMIT 3", "| head"),
        (events + " LIMIT 1 OFFSET 2", "| head"),
        ("SELECT a.ts FROM events a JOIN events b ON a.ts = b.ts", "one scan of events"),
        (events + " UNION ALL " + events, "one scan of events"),
        (events + " WHERE name IN (SELECT name FROM classes)", "one scan of events"),
        (events + " WHERE cpu = 0 OR name = 'x' OR stream = 'y'", "one scan of events"),
        ("WITH RECURSIVE r AS (SELECT ts, 1 AS n FROM events UNION ALL SELECT ts, n + 1 FROM r WHERE n < 2) SELECT * FROM r",
         "one scan of events"),
        ("SELECT * FROM state", "'events' or of an event class"),
        ("SELECT ts FROM yore_events('%s')" % trace, "'events' or of an event class"),
        ("SELECT 1", "'events' or of an event class"),
        ("CREATE TABLE x(a)", "a SELECT alone"),
        ("EXPLAIN " + events, "a SELECT alone"),
        (events + "; " + events, "more than one statement"),
        ("", "there is no statement"),
        (".tables", "one SELECT is expected"),
        ("-", "one SELECT is expected"),
        (events + " WHERE ts > ts('-1ms')", "not known yet"),
        ("SELECT ts, state_at('cpu[0]/thread', ts + 1000000000) FROM events", "may not be recorded yet"),
        ("SELECT ts, symbol(1, 1) FROM events", "may not be recorded yet"),
        ("SELECT ts FROM events WHERE (", "incomplete input"),
    ):
        follower = Follower(work, trace, query, command="sql")
        status, text = follower.wait(), follower.messages()
        result((status, follower.rows()) == (2, b"") and said in text, "SQL that is refused: " + query, "%s\n%s" % (status, text))
    for words, said in (((events, events), "one SELECT"), ((), "one SELECT"), ((events, "--format", "table"), "--format table")):
        follower = Follower(work, trace, *words, command="sql")
        status = follower.wait()
        result(status == 2 and said in follower.messages(), "SQL that is refused: " + " ".join(words), "%s\n%s" % (status, follower.messages()))


def sql_waits(work):
    """A table that the trace does not have yet is waited for."""
    growing = os.path.join(work, "growing")
    shutil.rmtree(growing, ignore_errors=True)
    shutil.copytree(os.path.join(GOLDEN, "memory-demo"), os.path.join(growing, "first"))
    query = "SELECT ts, comm FROM sched_waking"
    status, _, text = rows(growing, query, command="sql")
    result(status == 1 and "no such table" in text, "without --follow, a table that is not there is an error", "%s\n%s" % (status, text))
    follower = Follower(work, growing, query, command="sql", patience=0.2)
    result(follower.says("no such table: sched_waking", "waited for") and follower.process.poll() is None, "a table that is not there yet is waited for", follower.messages())
    shutil.copytree(os.path.join(GOLDEN, "sched-demo"), os.path.join(growing, "second"))
    _, expected, _ = rows(growing, query, command="sql")
    follower.until(len(expected))
    follower.interrupt()
    result(follower.rows() == expected and expected, "and read when it is there", "%d of %d bytes\n%s" % (
        len(follower.rows()), len(expected), follower.messages()))


# ---- do


def programs(work):
    """A program that waits for its event; what is printed while the trace grows; END after Ctrl-C."""
    growing, later = os.path.join(work, "growing"), os.path.join(GOLDEN, "sched-demo")
    shutil.rmtree(growing, ignore_errors=True)
    shutil.copytree(os.path.join(GOLDEN, "memory-demo"), os.path.join(growing, "first"))
    program = 'BEGIN { printf("begin\\n"); } sched_waking { @[comm] = count(); printf("%d\\n", nsecs); } END { printf("end\\n"); }'
    follower = Follower(work, growing, program, command="do", patience=0.2)
    result(follower.says("no event 'sched_waking'", "waited for"), "an event of a program that is not there yet is waited for", follower.messages())
    shutil.copytree(later, os.path.join(growing, "second"))
    _, expected, _ = rows(growing, program, command="do")
    lines = expected[: expected.index(b"end")]
    follower.until(len(lines))
    result(follower.rows() == lines, "what a program prints comes when its events are final", "%d of %d bytes" % (len(follower.rows()), len(lines)))
    status = follower.interrupt()
    result((status, follower.rows()) == (130, expected), "END and the maps follow after Ctrl-C", "%s\n%s" % (status, follower.messages()))
    follower = Follower(work, later, "sched_switch { if (++@n == 3) { exit(); } }", command="do")
    status = follower.wait()
    result((status, follower.rows()) == (0, b"@n: 3\n"), "exit() ends it", "%s %s" % (status, follower.rows()))
    for words, said in ((("sched_switch { @ = ; }",), "column"), (("-l",), "--probes"), (("* { @ = count(); }", "--format", "csv"), "text or json"),
                        (("* { @ = count(); }", "--end", "-1ms"), "not known yet"), (("* { @ = count(); }", "--tid", "bash"), "--comm")):
        follower = Follower(work, later, *words, command="do")
        status = follower.wait()
        result(status == 2 and said in follower.messages() and not follower.rows(), "do, refused: " + " ".join(words),
               "%s\n%s" % (status, follower.messages()))


# ---- stats


def counts(work):
    """Late events are counted; a terminal sees the counts so far, and at last what stats prints."""
    finished, growing = two_folders(work)
    generate(finished, 5, "--size", "60K", "--packet-size", "2K", "--cpus", "3")
    _, expected, _ = rows(finished, command="stats")
    names = sorted(os.listdir(finished))
    for name in names:
        data = open(os.path.join(finished, name), "rb").read()
        write(growing, (name, data[: 4096 if name == "channel0_0" else len(data)]))
    follower = Follower(work, growing, command="stats", patience=0.2)
    follower.says("brings nothing")
    write(growing, ("channel0_0", open(os.path.join(finished, "channel0_0"), "rb").read()[4096:]))
    follower.rests()
    status = follower.interrupt()
    result((status, follower.rows()) == (130, expected) and "brings nothing" in follower.messages() and "left out" not in follower.messages(),
           "late events are counted by stats", "%s\n%s\n%s" % (status, follower.messages(), follower.rows().decode()))

    os.unlink(os.path.join(growing, "channel0_0"))
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 200, 0, 0))
    process = subprocess.Popen([results.yore, "stats", growing, "--follow", "--patience", "100ms"], stdin=slave, stdout=slave,
                               stderr=subprocess.DEVNULL, env=dict(os.environ, TERM="xterm"))
    os.close(slave)
    screen = read_until(master, b"", lambda seen: b"lines)" in seen)
    first = screen
    write(growing, ("channel0_0", open(os.path.join(finished, "channel0_0"), "rb").read()))
    results.rests(process, 0.7 + RESTS, limit=15)
    process.send_signal(signal.SIGINT)
    screen = read_until(master, screen, lambda seen: False)
    status = process.wait()
    os.close(master)
    shown = expected.replace(b"\n", b"\r\n")
    result(b"range" in first and b"(and " in first and b"channel0_0" not in first, "counts so far are drawn as far as the terminal has lines", first[-600:])
    result(screen.endswith(b"\x1b[11A\r\x1b[J" + shown) and status == 130, "and what stats prints takes their place", screen[-900:])
    follower = Follower(work, growing, "--end", "-1ms", command="stats")
    status = follower.wait()
    result(status == 2 and "not known yet" in follower.messages(), "stats, refused: --end -1ms", follower.messages())


def analyses(work):
    """An analysis runs again at the recording's end, and after Ctrl-C; a terminal sees what it says of the trace so far."""
    finished, growing = two_folders(work)
    generate(finished, 7, "--size", "60K", "--packet-size", "2K", "--cpus", "3")
    _, expected, _ = rows(finished, command="cputop")
    os.makedirs(growing)
    follower = Follower(work, growing, command="cputop")
    play(random.Random(7), growing, plan(random.Random(7), finished, "<"), 0.3)
    mark_ended(growing)
    status = follower.wait()
    result((status, follower.rows()) == (0, expected) and len(expected) > 100, "an analysis, at the recording's end", "%s\n%s\n%s" % (
        status, follower.rows().decode(), follower.messages()))

    os.unlink(os.path.join(growing, ".yore-mirror"))
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 200, 0, 0))
    process = subprocess.Popen([results.yore, "cputop", growing, "--follow", "--patience", "100ms"], stdin=slave, stdout=slave,
                               stderr=subprocess.DEVNULL, env=dict(os.environ, TERM="xterm"))
    os.close(slave)
    screen = read_until(master, b"", lambda seen: b"range" in seen)
    process.send_signal(signal.SIGINT)
    screen = read_until(master, screen, lambda seen: False)
    status = process.wait()
    os.close(master)
    result(screen.endswith(b"\x1b[J" + expected.replace(b"\n", b"\r\n")) and screen.count(b"range") > 1 and status == 130,
           "an analysis is drawn while the trace grows, and runs once more after Ctrl-C", "%s %s" % (status, screen[-900:]))
    status, _, text = rows(growing, "--list", "--follow", command="run")
    result(status == 2 and "needs a script and its TRACE" in text, "run, refused: --list", text)


def read_until(fd, seen, enough, seconds=results.HANGS):
    """What a terminal shows, until that is enough, or its other side is closed."""
    end = time.monotonic() + seconds
    while not enough(seen) and time.monotonic() < end:
        if not select.select([fd], [], [], 0.1)[0]:
            continue
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        seen += data
    return seen


def left_pages(work, trace, name):
    """What trace-cmd's recorders leave of the trace: OUT.cpuN, beside a copy of events/."""
    pages, folder = os.path.join(work, "pages"), os.path.join(work, name)
    shutil.rmtree(pages, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([results.yore, "convert", trace, pages, "--to", "pages", "--no-index"], stderr=subprocess.DEVNULL)
    os.makedirs(folder)
    for below, _, names in os.walk(pages):
        for one in names:
            path, inner = os.path.join(below, one), os.path.relpath(below, pages)
            if one == "trace_pipe_raw":
                instance = re.match(r"instances/([^/]+)/", inner)
                shutil.copy(path, os.path.join(folder, "trace.dat.%s%s" % (instance.group(1) + "." if instance else "", os.path.basename(inner))))
            else:
                os.makedirs(os.path.join(folder, inner), exist_ok=True)
                shutil.copy(path, os.path.join(folder, inner))
    return folder


def recorder_pages(work):
    """Pages that trace-cmd's recorders append: each CPU's file on its own, also cut inside of a page for a while."""
    traces = [os.path.join(GOLDEN, "sched-ftrace", "trace.dat")]
    traces += [path for path in (os.path.join(results.corpus, "trace-dat", name, "trace.dat")
                                 for name in ("v6-sched-irq-syscalls", "v6-missed-overwrite", "v7-multi-buffer", "synth-be64"))
               if os.path.exists(path)]
    for trace in traces:
        finished = left_pages(work, trace, "finished")
        growing = os.path.join(work, "growing")
        shutil.rmtree(growing, ignore_errors=True)
        shutil.copytree(finished, growing)
        rng, steps, names = random.Random(5), [], [name for name in os.listdir(growing) if ".cpu" in name]
        for name in names:
            data = open(os.path.join(finished, name), "rb").read()
            write_anew = open(os.path.join(growing, name), "wb")
            write_anew.close()
            own, at = [], 0
            while at < len(data):
                size = rng.choice((500, 1000, 4096, 4096) if len(data) < 65536 else (1000, 4096, 12288, 65536))
                own.append((name, data[at : at + size]))
                at += size
            steps.append(own)
        _, expected, _ = rows(finished, "--format", "json")
        times = [re.findall(rb'"ts":(\d+)', text) for text in (expected, rows(trace, "--format", "json")[1])]
        result(times[0] == times[1] and times[0], "pages of " + trace.split("/")[-2], "%d of %d" % (len(times[0]), len(times[1])))
        follower = Follower(work, growing, "--format", "json")
        early = 0
        while any(steps):
            if sum(map(len, steps)) == 1:
                follower.until(1, PATIENCE * 2 / 3 if len(expected) > 100000 else 0)
                early = len(follower.rows())
            write(growing, rng.choices(steps, [len(own) for own in steps])[0].pop(0))
            time.sleep(0.01)
        follower.until(len(expected))
        status = follower.interrupt()
        got = follower.rows()
        result(got == expected and status == 130 and expected and "late" not in follower.messages(),
               "pages that recorders append: " + trace.split("/")[-2],
               "status %s, %d of %d bytes, differ from %d\n%s" % (status, len(got), len(expected),
               len(os.path.commonprefix([got, expected])), follower.messages()))
        if "sched-irq" in trace:
            result(0 < early < len(expected), "rows of whole pages come early", early)


# ---- what is said, and what does not go together


def manners(work):
    trace = os.path.join(GOLDEN, "sched-demo")
    for words, said in (
        (("--reverse",), "--reverse"),
        (("--around", "+1ms"), "--around"),
        (("--count",), "--count"),
        (("--format", "table"), "table"),
        (("--tid", "bash"), "--comm"),
        (("--patience", "soon"), "is not a span"),
        (("--end", "-1ms"), "not known yet"),
    ):
        follower = Follower(work, trace, *words) if words[0] != "--patience" else None
        if follower:
            status, text = follower.wait(), follower.messages()
        else:
            status, _, text = rows(trace, "--follow", *words)
        result(status == 2 and said in text, "refused: " + " ".join(words), "%s\n%s" % (status, text))
    for command, *words, said in (
        ("state", "cpu[*]/thread", "--format", "table", "table"),
        ("state", "cpu[*]/thread", "--cpu", "0", "cpu[0]/thread"),
        ("state", "cpu[*]/thread", "--comm", "bash", "--comm"),
        ("state", "cpu[*]/thread", "--budget", "3", "--budget"),
        ("state", "cpu[*]/thread", "--end", "-1ms", "not known yet"),
        ("state", "cpu[0]/name", "computed"),
        ("state", 'thread["bash"]/state', "by name"),
        ("state", "cpu[*]/nothing", "nothing"),
        ("when", "cpu[*]/thread", "=VALUE"),
        ("timeline", "cpu[*]/thread", "--svg", "/dev/null", "--svg"),
    ):
        status, _, text = rows(trace, *words, "--follow", command=command)
        result(status in (1, 2) and said in text, "refused: %s %s" % (command, " ".join(words)), "%s\n%s" % (status, text))
    status, _, text = rows(trace, "--patience", "1s")
    result(status == 2 and "--follow" in text, "--patience needs --follow", text)
    status, _, text = rows(os.path.join(work, "nowhere"), "--follow")
    result(status == 1 and "No such file" in text, "a folder that is not there is an error", text)

    status, _, text = rows("-")
    result(status == 2 and "--follow" in text, "standard input without --follow", text)

    folder = os.path.join(work, "later")
    os.makedirs(folder)
    follower = Follower(work, folder, "--name", "sched_switch")
    result(follower.says("is no trace yet"), "an empty folder is waited for", follower.messages())
    for name in os.listdir(trace):
        shutil.copy(os.path.join(trace, name), folder)
    _, expected, _ = rows(trace, "--name", "sched_switch")
    follower.until(len(expected))
    status = follower.interrupt()
    result(follower.rows() == expected and status == 130, "and read when it is there", follower.messages())

    follower = Follower(work, trace, "--end", "+1s")
    follower.until(1)
    follower.interrupt()
    result(bool(follower.rows()), "rows before an --end that is not reached", follower.messages())

    # without inotify
    holders, environment = [], dict(os.environ)
    import ctypes
    libc = ctypes.CDLL(None)
    while len(holders) < 5000:
        fd = libc.inotify_init1(0)
        if fd < 0:
            break
        holders.append(fd)
    shutil.rmtree(folder)
    os.makedirs(folder)
    follower = Follower(work, folder, environment=environment)
    follower.says("is no trace yet")
    for name in os.listdir(trace):
        shutil.copy(os.path.join(trace, name), folder)
    _, expected, _ = rows(trace)
    follower.until(len(expected))
    follower.interrupt()
    for fd in holders:
        os.close(fd)
    result(follower.rows() == expected, "without inotify, %d instances were taken" % len(holders), follower.messages())

    # who reads has gone
    reader = subprocess.Popen([results.yore, "events", trace, "--follow"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    reader.stdout.readline()
    reader.stdout.close()
    try:
        status = reader.wait(results.HANGS)
    except subprocess.TimeoutExpired:
        reader.kill()
        status = "it did not end"
    result(status == 0, "a reader who leaves ends it", status)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        for check in (manners, sql_refusals, sql_waits, programs, counts, analyses, scripts, late, ends_beside_new_files, idle_stream_wakes, ctf_pipes,
                      timelines):
            check(directory)
        results.corpus = os.environ.get("YORE_CORPUS", os.path.join(results.top, "..", "shared", "corpus"))
        if os.path.isdir(os.path.join(results.corpus, "perf-data")):
            for check in (perf_pipes, perf_files, ovni):
                check(directory)
        else:
            print("SKIP: perf and ovni: no corpus at " + results.corpus)
        recorder_pages(directory)
        pacings(directory)
        state_pacings(directory)
    finish()

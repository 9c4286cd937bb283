#!/usr/bin/env python3
"""`yore events --until EXPR` ends behind the first event of the condition, `--on EXPR --do COMMAND` runs it at each, in order.

The judge is the JSON of all rows, in which the condition is looked for here.
"""
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
import results
from relay import GEN
from results import finish, result

GOLDEN = os.path.join(results.top, "fixtures", "golden", "sched-demo")
TIES = """/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; };
clock { name = c; freq = 1000000000; };
typealias integer { size = 64; align = 8; map = clock.c.value; } := ts;
typealias integer { size = 32; align = 8; } := u32;
stream { event.header := struct { ts timestamp; }; };
event { name = e; fields := struct { u32 x; }; };
"""


def yore(*words, timeout=results.HANGS):
    done = subprocess.run([results.yore, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def rows(trace, *words):
    return yore("events", trace, "--no-index", *words)[1].splitlines()


def first_of(lines, fulfils):
    return next(i for i, line in enumerate(lines) if fulfils(json.loads(line)))


def ends(trace, name, condition, fulfils, formats=("text", "csv", "json"), words=()):
    """Rows up to and with the first for which it is true; the same under filters that leave it out."""
    lines = rows(trace, "--format", "json", *words)
    last = first_of(lines, fulfils)
    for form in formats:
        head = form == "csv"
        whole = rows(trace, "--format", form, *words)
        for jobs in ("1", "2"):
            status, out, said = yore("events", trace, "--no-index", "--format", form, "--jobs", jobs, "--until", condition, *words)
            result(status == 0 and out.splitlines() == whole[: last + 1 + head], "--until %s, %s, %s, %s jobs" % (condition, name, form, jobs),
                   "%d, %d rows of %d: %s" % (status, len(out.splitlines()), last + 1 + head, said))
    return lines, last


def golden():
    trace = GOLDEN
    ends(trace, "golden", 'name == "sched:sched_switch" && next_pid == 0', lambda row: row["name"] == "sched:sched_switch" and row["fields"]["next_pid"] == 0)
    ends(trace, "golden", "cpu == 1", lambda row: row["cpu"] == 1)
    ends(trace, "golden, from later on", "prio == 0", lambda row: row["fields"].get("prio") == 0, words=("--begin", "+1ms"))
    lines, last = ends(trace, "the first event", "ts > 0", lambda row: True)
    assert last == 0
    wanted = [line for line in lines[: first_of(lines, lambda row: row["cpu"] == 1) + 1] if json.loads(line)["name"] == "sched:sched_wakeup"]
    status, out, said = yore("events", trace, "--no-index", "--format", "json", "--name", "sched_wakeup", "--until", "cpu == 1")
    result(status == 0 and wanted and out.splitlines() == wanted, "an event that filters leave out ends the rows", said)
    state = "cpu[0]/thread == 0"
    wanted = json.loads(rows(trace, "--format", "json", "--where", state, "--limit", "1")[0])
    ends(trace, "by the state", state, lambda row: row == wanted)
    whole = rows(trace)
    result(rows(trace, "--until", "prio == 0", "--limit", "2") == whole[:2], "--limit ends earlier")
    status, out, said = yore("events", trace, "--no-index", "--until", "prio == 123456")
    result(status == 1 and out.splitlines() == whole and "it is true of no event" in said, "a condition that is true of no event", said)
    status, out, said = yore("events", trace, "--no-index", "--until", "prio == 123456", "--limit", "2")
    result(status == 0 and out.splitlines() == whole[:2], "which does not matter where --limit ends", said)


def generated(work):
    for seed, options in enumerate((("--lose", "0.2"), ("--late-losses", "--lose", "0.3", "--ctf2"), ("--overlap",), ())):
        trace = os.path.join(work, "made%d" % seed)
        subprocess.run([GEN, "--out", trace, "--seed", str(seed), "--size", "400K", "--packet-size", "4K", "--cpus", "3", "--no-truth", *options],
                       check=True, stdout=subprocess.DEVNULL)
        lines = [json.loads(line) for line in rows(trace, "--format", "json")]
        rng = random.Random(seed)
        switches = [row for row in lines if row.get("name") == "sched_switch"]
        for row in rng.sample(switches, 3):
            tid, cpu = row["fields"]["next_tid"], row["cpu"]
            ends(trace, "seed %d" % seed, 'name == "sched_switch" && next_tid == %d && cpu == %d' % (tid, cpu),
                 lambda row, tid=tid, cpu=cpu: row.get("name") == "sched_switch" and row["fields"]["next_tid"] == tid and row["cpu"] == cpu,
                 formats=("json",))


def ties(work):
    """Many events of one time, in several streams: the order of rows says which of them come before."""
    number = 0
    streams = {}
    for name in ("a", "b", "c"):
        data = b""
        for i in range(60):
            data += struct.pack("<QI", 1000 + i // 20, number)
            number += 1
        streams[name] = data
    trace = results.write(os.path.join(work, "ties"), TIES, streams)
    wrong = []
    lines = rows(trace, "--format", "json")
    for x in range(number):
        last = first_of(lines, lambda row: row["fields"]["x"] == x)
        status, out, said = yore("events", trace, "--no-index", "--format", "json", "--until", "x == %d" % x)
        if status or out.splitlines() != lines[: last + 1]:
            wrong.append((x, said))
    result(len(lines) == number and not wrong, "events of one time", wrong[:3])


def commands(work):
    """One at a time, in order, with the values of their event; standard output has rows alone."""
    trace = os.path.join(work, "a b'c$(touch %s)" % os.path.join(work, "evil"))
    shutil.copytree(GOLDEN, trace)
    lines = rows(trace, "--format", "json")
    found = [json.loads(line) for line in lines if json.loads(line)["fields"].get("next_pid") == 0]
    times = [json.loads(line)["ts"] for line in lines]
    wanted = ["<%d|%s|%d|%s|%d|%d|%s|lone {|$HOME>" % (row["ts"], row["name"], row["cpu"], row["stream"], times[0], times[-1] + 1, trace) for row in found]
    status, out, said = yore("events", trace, "--no-index", "--format", "json", "--on", "next_pid == 0", "--do",
                             "printf <%s|%s|%s|%s|%s|%s|%s|lone\u00a0{|$HOME>\\n {ts} {name} {cpu} {stream} {begin} {end} {trace}")
    result(status == 0 and out.splitlines() == lines and said.replace("\u00a0", " ").splitlines() == wanted and len(wanted) > 10,
           "--do fills in words, and nothing reads them as a shell", said[:600])
    status, out, said = yore("events", trace, "--no-index", "--format", "json", "--on", "next_pid == 0", "--do-shell",
                             'echo "<$YORE_TS|$YORE_NAME|$YORE_CPU|$YORE_STREAM|$YORE_BEGIN|$YORE_END|$YORE_TRACE|lone {|\\$HOME>"')
    result(status == 0 and out.splitlines() == lines and said.splitlines() == wanted and not os.path.exists(work + "/evil"),
           "--do-shell has them in its environment", said[:600])
    status, out, said = yore("events", trace, "--no-index", "--format", "json", "--on", "next_pid == 0", "--do", "echo {ts}", "--until",
                             "ts == %d" % found[3]["ts"])
    result(status == 0 and said.split() == [str(row["ts"]) for row in found[:4]], "commands up to the event of --until", said)
    status, out, said = yore("events", trace, "--no-index", "--format", "json", "--on", "next_pid == 0", "--do", "echo {ts}", "--limit",
                             str(lines.index(next(line for line in lines if json.loads(line) == found[2])) + 1))
    result(status == 0 and said.split() == [str(row["ts"]) for row in found[:3]], "commands up to the last row of --limit", said)
    lock = os.path.join(work, "lock")
    status, out, said = yore("events", trace, "--no-index", "--on", "next_pid == 0", "--do-shell", "mkdir %s || echo two; sleep 0.01; rmdir %s" % (lock, lock))
    result(status == 0 and not said, "one command at a time", said)
    status, out, said = yore("events", trace, "--no-index", "--on", "next_pid == 0", "--do", "false")
    count = len(found)
    result(status == 0 and said.count("exit status 1") == 1 and "%d of %d commands failed" % (count, count) in said, "a failure is told once", said)
    status, out, said = yore("events", trace, "--no-index", "--on", "next_pid == 0", "--do", "no-such-program-there")
    result(status == 0 and said.count("No such file") == 1 and "commands failed" in said, "so is a program that there is not", said)
    status, out, said = yore("events", trace, "--no-index", "--on", "next_pid == 0", "--do-shell", "kill -9 $$")
    result(status == 0 and said.count("ended by signal 9") == 1, "and a command that a signal ended", said)


def mistakes():
    for words, text in (((("--on", "cpu == 1"), "--on needs --do")), (("--do", "x"), "--do needs --on"), (("--do-shell", "x"), "--do needs --on"),
                        (("--on", "cpu == 1", "--do", "x", "--do-shell", "x"), "do not go together"),
                        (("--on", "cpu == 1", "--do", "  "), "a command is missing"),
                        (("--on", "cpu == 1", "--do", "x {tid}"), "{tid} is none of {ts}"),
                        (("--on", "cpu ==", "--do", "x"), "--on: "), (("--until", "cpu =="), "--until: "),
                        (("--until", "cpu == 1", "--reverse"), "--until and --reverse"), (("--until", "cpu == 1", "--count"), "--until and --count"),
                        (("--on", "cpu == 1", "--do", "x", "--around", "+1ms"), "--on and --around")):
        status, out, said = yore("events", GOLDEN, "--no-index", *words)
        result(status == 2 and text in said and not out, "mistake: " + " ".join(words), "%d %s" % (status, said))
    status, out, said = yore("events", GOLDEN, "--no-index", "--until", "no_such_field == 1")
    result(status == 1 and "no event of the trace has a field 'no_such_field'" in said, "a field that there is not", said)


def is_running(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def interrupted(work):
    """Ctrl-C ends the command that runs, and what it started; one that does not listen is killed."""
    for name, trap in (("", ""), (" that does not listen", "trap '' TERM; ")):
        path = os.path.join(work, "pids")
        if os.path.exists(path):
            os.remove(path)
        process = subprocess.Popen([results.yore, "events", GOLDEN, "--no-index", "--on", "next_pid == 0", "--do-shell",
                                    "%ssleep 100 & echo $$ $! >%s.new; mv %s.new %s; wait; wait; sleep 100" % (trap, path, path, path)],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        results.until(lambda: os.path.exists(path))
        with open(path, encoding="ascii") as file:
            pids = [int(word) for word in file.read().split()]
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=results.HANGS)[1].decode()
        results.until(lambda: not any(map(is_running, pids)), 20)
        left = [pid for pid in pids if is_running(pid)]
        result(process.returncode == 130 and not left and "that waited had no command run" in said, "Ctrl-C ends a command" + name,
               "%s %s %s" % (process.returncode, left, said))
        for pid in left:
            os.kill(pid, signal.SIGKILL)


def grow(work, name):
    """A folder that grows: files of a generated trace, in pieces, and when to write the rest."""
    source, folder = os.path.join(work, name + "-source"), os.path.join(work, name)
    subprocess.run([GEN, "--out", source, "--seed", "9", "--size", "300K", "--packet-size", "4K", "--cpus", "2", "--no-truth"], check=True,
                   stdout=subprocess.DEVNULL)
    os.makedirs(folder)
    shutil.copy(source + "/metadata", folder)
    names = sorted(n for n in os.listdir(source) if n.startswith("channel"))
    return source, folder, {n: open(os.path.join(source, n), "rb").read() for n in names}


def put(folder, files, begin, end):
    for name, data in files.items():
        with open(os.path.join(folder, name), "ab") as file:
            file.write(data[len(data) * begin // 100 : len(data) * end // 100])


def end_mark(folder):
    """As a mirror says that all is there."""
    with open(os.path.join(folder, ".part"), "w", encoding="ascii") as file:
        file.write("yore mirror 1\nhost h\nsession s\nended\n")
    os.rename(os.path.join(folder, ".part"), os.path.join(folder, ".yore-mirror"))


def follow(folder, *words):
    out = open(folder + ".out", "wb")
    return subprocess.Popen([results.yore, "events", folder, "--follow", "--patience", "60s", "--format", "json", *words], stdout=out,
                            stderr=subprocess.PIPE)


def lines_of(folder):
    with open(folder + ".out", encoding="utf-8") as file:
        return file.read().splitlines()


def followed(work):
    source, folder, files = grow(work, "grows")
    whole = rows(source, "--format", "json")
    times = [json.loads(line)["ts"] for line in whole]
    stop = whole[len(whole) * 3 // 5]
    process = follow(folder, "--until", "ts >= %d" % json.loads(stop)["ts"])
    for i in range(10):
        put(folder, files, 10 * i, 10 * i + 10)
        time.sleep(0.05)
    said = process.communicate(timeout=results.HANGS)[1].decode()
    last = first_of(whole, lambda row: row["ts"] >= json.loads(stop)["ts"])
    result(process.returncode == 0 and lines_of(folder) == whole[: last + 1], "--until ends --follow", "%d %d of %d: %s" % (
        process.returncode, len(lines_of(folder)), last + 1, said))

    source, folder, files = grow(work, "never")
    process = follow(folder, "--until", 'name == "no such"')
    put(folder, files, 0, 100)
    end_mark(folder)
    said = process.communicate(timeout=results.HANGS)[1].decode()
    result(process.returncode == 1 and lines_of(folder) == whole and "it is true of no event" in said, "a recording that ends before it is true", said)

    source, folder, files = grow(work, "acts")
    wanted = [row["ts"] for row in map(json.loads, whole) if row["name"] == "sched_switch" and row["fields"]["next_tid"] == 0]
    process = follow(folder, "--on", 'name == "sched_switch" && next_tid == 0', "--do", "echo {ts}")
    for i in range(10):
        put(folder, files, 10 * i, 10 * i + 10)
        time.sleep(0.03)
    end_mark(folder)
    said = process.communicate(timeout=results.HANGS)[1].decode()
    result(process.returncode == 0 and lines_of(folder) == whole and said.split() == [str(t) for t in wanted] and wanted and times,
           "--on acts in order while a trace grows", "%d %d of %d: %s" % (process.returncode, len(said.split()), len(wanted), said[-300:]))

    source, folder, files = grow(work, "full")
    process = follow(folder, "--on", "ts > 0", "--do", "sleep 100")
    put(folder, files, 0, 99)
    said = results.hear(process, b"1000 moments wait for their command")
    results.rests(process, told=lambda: os.path.getsize(folder + ".out"))  # rows are shown before their commands wait
    came = len(lines_of(folder))
    process.send_signal(signal.SIGINT)
    said = (said + process.communicate(timeout=results.HANGS)[1]).decode()
    left_out = [int(line.split()[2]) for line in said.splitlines() if "since too many waited" in line]
    waited = [int(line.split()[2]) for line in said.splitlines() if "that waited had no command run" in line]
    result(process.returncode == 130 and came >= len(whole) // 2 and len(left_out) == 1 and waited in ([999], [1000])
           and left_out[0] + waited[0] + 1 == len(lines_of(folder)), "a command that hangs holds no rows back, and what waits is bounded",
           "%d %d rows: %s" % (process.returncode, came, said))


def main():
    with tempfile.TemporaryDirectory() as work:
        golden()
        generated(work)
        ties(work)
        commands(work)
        mistakes()
        interrupted(work)
        followed(work)
    finish()


if __name__ == "__main__":
    main()

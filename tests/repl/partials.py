#!/usr/bin/python3
"""stats, sql, do and analyses in parts: what --merge answers from the files of all chunks is what one process answers, byte for byte.

Chunks are made in any order, by processes with and without an index and by a prompt, and merged in any order. A few questions
are also answered here, from rows. What does not fit together, and damage of each byte of a file, is an error.
"""
import collections
import json
import math
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
from results import finish, result, top, yore

golden = os.path.join(top, "fixtures", "golden")
generator = os.path.join(os.path.abspath(os.environ.get("top_builddir", ".")), "fixtures", "yore-gen")
corpus = os.environ.get("YORE_CORPUS", "")
os.environ["YORE_LUA_DIR"] = os.path.join(top, "lua-lib")
os.environ["TZ"] = "UTC"
seed = int(os.environ.get("YORE_PROPERTY_FIRST", "1"))
dice = random.Random(seed)

PARTS = (1, 2, 3, 7, 16)
FORMATS = ("text", "csv", "json")
STATS = [["stats"], ["stats", "--where", "prev_pid != 0"], ["stats", "--cpu", "1"], ["stats", "--by", "stream"],
         ["stats", "--begin", "+1ms", "--end", "-1ms"], ["stats", "--name", "sched_*", "--limit", "3"]]
PLAIN = ["SELECT name, count(*) FROM events GROUP BY name", "SELECT count(*), min(ts), max(ts) FROM events", "SELECT max(ts) FROM events",
         "SELECT cpu, name, count(*) AS n, min(ts) FROM events GROUP BY cpu, name ORDER BY n DESC, 1, 2 LIMIT 5",
         "SELECT stream FROM events GROUP BY stream", "SELECT count(DISTINCT cpu), count(DISTINCT name) FROM events",
         "SELECT name, count(*) AS n FROM events WHERE cpu = 0 AND ts > 0 GROUP BY name HAVING n > 3 ORDER BY n, name",
         "SELECT name, count(*) FROM events WHERE name GLOB '*e*' OR cpu = 1 GROUP BY name",
         "SELECT count(*), sum(cpu), avg(cpu), histogram(cpu), median(cpu) FROM events WHERE name = 'nothing'"]
SWITCHES = ["SELECT prev_comm, count(*), sum(next_pid), avg(next_prio), total(prev_pid), min(next_pid), max(next_pid) FROM {} GROUP BY prev_comm",
            "SELECT count(DISTINCT next_comm), count(DISTINCT next_pid) FROM {} WHERE prev_pid > 0",
            "SELECT cpu, percentile(next_pid, 90), percentile(next_pid, 99.9), median(next_pid), count(*), avg(prev_prio) FROM {} GROUP BY cpu",
            "SELECT histogram(next_pid), percentile(prev_pid, 0), percentile(prev_pid, 100) FROM {}",
            "SELECT prev_comm, next_comm, prev_prio, count(*) AS c FROM {} WHERE next_pid BETWEEN 10 AND 100000 GROUP BY 1, 2, 3 ORDER BY c DESC, 1, 2"]
PROGRAMS = ["* { @[probe] = count(); }", "* { @n++; @c[cpu] += 1; @[stream, name] = count(); }"]
SWITCHING = ["sched_switch { @[prev_comm] = count(); @s = sum(next_pid); @m[cpu] = min(next_prio); @x[cpu] = max(next_pid); "
             "@a[next_comm] = avg(next_pid); @st[cpu] = stats(prev_prio); }",
             "sched_switch /prev_pid > 0/ { @h = hist(next_pid); @h2[cpu] = hist(next_pid, 3); @l[prev_comm] = lhist(next_pid, 0, 5000, 100); }",
             "BEGIN { @b = 5; printf(\"begin %d\\n\", 1); } sched_switch { @b += prev_prio; @d = count(); } END { print(@d); clear(@d); }",
             "sched_switch { @[next_pid / (next_prio - 120)] = count(); @y[next_prio / prev_pid] = sum(next_pid); }"]
ANALYSES = [["cputop"], ["cputop", "cpus", "--begin", "+1ms", "--end", "-1ms"], ["cputop", "threads", "--where", "tid % 2 == 0", "--sort", "switches"],
            ["switches"], ["switches", "threads", "--cpu", "0", "--limit", "3"]]
SAMPLED = [["top", *verb.split()] for verb in ("functions", "tree --min 0", "lines", "modules", "threads", "callers --of main", "callees --of do_syscall_64")]
NO_SUMS = [["latency"], ["syscalls", "threads"], ["run", os.path.join(golden, "..", "..", "lua-lib", "offcpu.lua")],
           ["sql", "SELECT ts FROM events"], ["sql", "SELECT count(*) FROM state"], ["sql", "SELECT count(*) FROM events; SELECT 1"],
           ["sql"], ["sql", ".tables"], ["sql", "EXPLAIN QUERY PLAN SELECT count(*) FROM events"], ["sql", "SELECT group_concat(name) FROM events"],
           ["sql", "SELECT sum(next_tid + 1) FROM sched_switch"],
           ["do", "sched_switch { printf(\"%d\\n\", cpu); }"], ["do", "sched_switch { @l = next_pid; }"],
           ["do", "interval:ms:1 { print(@); } sched_switch { @ = count(); }"], ["do", "sched_switch { @[cpu] = count(); delete(@, 1); }"],
           ["do", "sched_switch { @ = count(); exit(); }"], ["stats", "--where", "cpu[0]/thread == 1"]]


def run(*words):
    done = subprocess.run([yore, *words], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


def ask(trace, question, *more):
    return run(question[0], trace, *question[1:], *more)


def prompt(trace, commands):
    """All of them at one prompt: they are few bytes each, and yore begins once."""
    text = "".join(" ".join(map(shlex.quote, words)) + "\n" for words in commands)
    done = subprocess.run([yore, trace], input=text.encode(), capture_output=True, check=False)
    return done.stdout, done.stderr


def make(work, trace, question, n, alone):
    """The files of all chunks, in an order that is another one than that in which they are made."""
    order = dice.sample(range(1, n + 1), n)
    files = [os.path.join(work, "%d.part" % i) for i in order]
    for file in files:
        if os.path.exists(file):
            os.remove(file)
    tell = [("--chunk", "%d/%d" % (i % n if dice.random() < 0.2 else i, n), "--partial", file) for i, file in zip(order, files)]
    if alone:
        for words in tell:
            more = dice.choice([(), ("--no-index",), ("--jobs", "1"), ("--jobs", "3", "--no-index")])
            status, _, error = ask(trace, question, *words, *more)
            if status not in (0, 3):
                return error
    else:
        _, error = prompt(trace, [(*question, *words) for words in tell])
        if not all(map(os.path.exists, files)):
            return error
    return dice.sample(files, n)


def differs(work, trace, question, n, alone, forms):
    """What is not as one process has it; None: all is the same."""
    files = make(work, trace, question, n, alone)
    if isinstance(files, bytes):
        return files
    for form in forms:
        one = ask(trace, question, "--format", form)
        merged = ask(trace, question, "--format", form, "--merge", *files)
        if one[0] == 0 and merged[0] == 3 and b"damaged" in merged[2]: # one process found the answer without reading what is damaged
            merged = (0, merged[1], one[2])
        if one[:2] != merged[:2] or (one[0] == 0 and one[2] != merged[2]):
            return "%s in %d parts, %s: %s, not %s" % (question, n, form, merged, one)
    return None


def traces(work):
    made = os.path.join(work, "made")
    lossy = os.path.join(work, "lossy")
    subprocess.run([generator, "--out", made, "--size", "200K", "--packet-size", "4K", "--cpus", "3", "--no-truth"], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run([generator, "--out", lossy, "--size", "100K", "--packet-size", "2K", "--cpus", "2", "--lose", "0.2", "--overlap",
                    "--flush", "0.3", "--ctf2", "--no-truth"], check=True, stdout=subprocess.DEVNULL)
    damaged = os.path.join(work, "damaged")
    shutil.copytree(made, damaged)
    with open(os.path.join(damaged, "channel0_1"), "r+b") as file:
        file.seek(4096 * 3 + 200)
        file.write(b"\xff" * 300)
    out = [("CTF", made, "sched_switch"), ("CTF 2 with losses", lossy, "sched_switch"), ("CTF with damage", damaged, "sched_switch"),
           ("perf.data", os.path.join(golden, "sched-perf", "perf.data"), '"sched:sched_switch"'),
           ("trace.dat", os.path.join(golden, "demo", "trace.dat"), "sched_switch"), ("ovni", os.path.join(golden, "ovni-demo"), None),
           ("GDB", os.path.join(golden, "gdb-demo", "trace.tf"), None)]
    for name, path in (("LTTng-UST with losses", "lttng-ust/lost"), ("perf.data, compressed", "perf-data/zstd/perf.data"),
                       ("seL4", "sel4/basic/log.bin"), ("ovni, several looms", "ovni/multi-loom")):
        path = os.path.join(corpus, path)
        path = next((at for at in (os.path.join(path, "trace"), path) if os.path.exists(at)), "")
        if corpus and path and run("stats", path)[0] in (0, 3):
            out.append((name, path, None))
        else:
            print("skipped: %s: YORE_CORPUS has no such trace" % name)
    return out


def same_everywhere(work, found):
    turn = 0
    for name, trace, switch in found:
        lttng = "CTF" in name # its fields are prev_tid and next_tid
        why = None
        for n in PARTS:
            why = why or differs(work, trace, ["stats"], n, True, FORMATS)
        for question in STATS[1:] if switch else STATS[3:4]:
            question = [word.replace("_pid", "_tid") if lttng else word for word in question]
            turn += 1
            why = why or differs(work, trace, question, PARTS[turn % 5], turn % 3 == 0, FORMATS[turn % 3:][:1])
        result(not why, "%s: stats in parts" % name, why)
        why = None
        for query in PLAIN + ([each.format(switch) for each in SWITCHES] if switch else []):
            query = query.replace("_pid", "_tid") if lttng else query
            turn += 1
            why = why or differs(work, trace, ["sql", query], PARTS[turn % 5], turn % 5 == 0, (FORMATS + ("table", "line"))[turn % 5:][:1])
        result(not why, "%s: SQL in parts" % name, why)
        why = None
        for program in PROGRAMS + (SWITCHING if switch else []):
            turn += 1
            why = why or differs(work, trace, ["do", program], PARTS[turn % 5], turn % 3 == 0, ("text", "json")[turn % 2:][:1])
        result(not why, "%s: programs in parts" % name, why)


def analyses(work, found):
    """Parts of equal time, also those that begin in the midst of what runs."""
    turn = 0
    asked = [(name, trace, ANALYSES) for name, trace, switch in found if switch]
    sampled = os.path.join(corpus, "perf-data/cpu-clock-callchain/perf.data")
    if corpus and os.path.exists(sampled):
        asked.append(("samples", sampled, SAMPLED))
    else:
        print("skipped: samples: YORE_CORPUS has no such trace")
    for name, trace, questions in asked:
        why = None
        for question in questions:
            turn += 1
            why = why or differs(work, trace, question, PARTS[turn % 5], True, ("table", "csv", "json")[turn % 3:][:1])
        result(not why, "%s: analyses in parts" % name, why)


def rank(values, percent):
    values = sorted(values)
    return values[max(1, math.ceil(percent / 100 * len(values))) - 1]


def by_hand(work):
    """From rows, without any sweep."""
    trace = os.path.join(work, "made")
    rows = [json.loads(line) for line in run("sql", trace, "SELECT cpu, prev_comm, next_tid AS next_pid, prev_prio FROM sched_switch", "--format", "json")[1].splitlines()]
    query = ["sql", "SELECT cpu, count(*) AS n, sum(next_tid) AS s, min(next_tid) AS a, max(next_tid) AS b, avg(prev_prio) AS v, percentile(next_tid, 95) AS p, "
             "median(next_tid) AS m, count(DISTINCT prev_comm) AS d, histogram(next_tid) AS h FROM sched_switch GROUP BY cpu"]
    files = make(work, trace, query, 7, False)
    merged = {row["cpu"]: row for row in map(json.loads, ask(trace, query, "--format", "json", "--merge", *files)[1].splitlines())}
    good = len(rows) > 500 and set(merged) == {row["cpu"] for row in rows}
    for cpu, row in merged.items():
        mine = [each for each in rows if each["cpu"] == cpu]
        pids = [each["next_pid"] for each in mine]
        counts = collections.Counter(pid.bit_length() for pid in pids)
        wanted = {"cpu": cpu, "n": len(mine), "s": sum(pids), "a": min(pids), "b": max(pids), "p": rank(pids, 95), "m": rank(pids, 50),
                  "v": sum(each["prev_prio"] for each in mine) / len(mine), "d": len({each["prev_comm"] for each in mine})}
        good = good and {key: row[key] for key in wanted} == wanted
        buckets = {each["from"].bit_length(): each["count"] for each in json.loads(row["h"])}
        good = good and buckets == dict(counts)
    result(good, "SQL in parts is what rows are counted to", merged)
    names = collections.Counter(json.loads(line)["name"] for line in run("events", trace, "--format", "json")[1].splitlines())
    files = make(work, trace, ["stats"], 3, False)
    merged = {row["name"]: row["events"] for row in map(json.loads, ask(trace, ["stats", "--by", "class"], "--format", "json", "--merge", *files)[1].splitlines())}
    result(merged == names, "stats in parts is what events are counted to", merged)


def each_packet_once(work):
    """Files say how many packets they took of how many: of a trace of many packets each chunk gets some."""
    trace = os.path.join(work, "made")
    taken, records = [], set()
    for i in range(4):
        file = os.path.join(work, "c%d.part" % i)
        ask(trace, ["stats"], "--chunk", "%d/4" % i, "--partial", file)
        with open(file, "rb") as opened:
            head = opened.read(88)
        records.add(int.from_bytes(head[48:56], "little"))
        taken.append(int.from_bytes(head[56:64], "little"))
    packets = len(run("sql", trace, "SELECT at_offset FROM packets", "--format", "csv")[1].splitlines()) - 1
    result(records == {packets} and sum(taken) == packets and min(taken) > packets / 8, "each packet is in one chunk, and no chunk is without",
           (taken, records, packets))


def refused(work):
    trace = os.path.join(work, "made")
    for question in NO_SUMS:
        file = os.path.join(work, "none.part")
        status, out, error = ask(trace, question, "--chunk", "1/2", "--partial", file)
        result(status == 2 and not out and error.count(b"\n") <= 3 and not os.path.exists(file), "no sum of parts: %s" % " ".join(question), (status, out, error))
    for where, column in (("cpu <> 0", b"cpu"), ("name LIKE '%w%'", b"name"), ("cpu IS NULL", b"cpu")):
        question = ["sql", "SELECT stream, count(*) FROM events WHERE %s GROUP BY stream" % where]
        status, out, error = ask(trace, question, "--chunk", "1/1", "--partial", os.path.join(work, "none.part"))
        result(status == 2 and not out and b"since a condition on %s has to be tested on each event" % column in error,
               "the condition that is not counted is named: %s" % where, (status, out, error))
    parts = {}
    for name, where, question in (("a", trace, ["stats"]), ("cpu", trace, ["stats", "--cpu", "1"]), ("other", os.path.join(work, "lossy"), ["stats"]),
                                  ("sql", trace, ["sql", "SELECT count(*) FROM events"]), ("do", trace, ["do", "* { @ = count(); }"])):
        for i, n in ((1, 2), (2, 2), (1, 3)):
            parts[name, i, n] = os.path.join(work, "%s-%d-%d.part" % (name, i, n))
            ask(where, question, "--chunk", "%d/%d" % (i, n), "--partial", parts[name, i, n])
    a1, a2 = parts["a", 1, 2], parts["a", 2, 2]
    wrong = [(["stats"], [a1], b"chunk 2/2"), (["stats"], [a2], b"chunk 1/2"), (["stats"], [a1, a2, a1], b"each part counts once"),
             (["stats"], [a1, parts["a", 1, 3]], b"chunk 1/3"), (["stats"], [a1, parts["cpu", 2, 2]], b"another question"),
             (["stats", "--cpu", "0"], [parts["cpu", 1, 2], parts["cpu", 2, 2]], b"'--cpu 1' there, '--cpu 0' here"),
             (["stats"], [a1, parts["other", 2, 2]], b"another trace"), (["stats"], [parts["sql", 1, 2], a2], b"of 'yore sql'"),
             (["sql", "SELECT count(*) FROM sched_switch"], [parts["sql", 1, 2], parts["sql", 2, 2]], b"another question"),
             (["do", "* { @ = sum(1); }"], [parts["do", 1, 2], parts["do", 2, 2]], b"another question"),
             (["stats"], [a1, os.path.join(work, "nothing")], b"No such file"), (["stats"], [a1, work], b"folder"),
             (["stats"], [os.path.join(trace, "metadata")], b"no partial file")]
    for question, files, why in wrong:
        status, out, error = ask(trace, question, "--merge", *files)
        result(status == 1 and not out and why in error and error.count(b"\n") == 1, "refused: %s" % why.decode(), (status, out, error))
    for words in (["--chunk", "1/2"], ["--partial", "x"], ["--chunk", "3/2", "--partial", "x"], ["--chunk", "1/0", "--partial", "x"], ["--chunk", "-1/2", "--partial", "x"],
                  ["--chunk", "1/2", "--partial", "x", "--merge", a1], ["--merge", a1, a2, "--follow"], ["--chunk", "1/2x", "--partial", "x"]):
        status, out, error = ask(trace, ["stats"], *words)
        result(status == 2 and not out and error.count(b"\n") == 1, "misused: %s" % " ".join(words[:2]), (status, out, error))
        status, out, error = ask(trace, ["switches"], *words)
        result(status == 2 and not out and error.count(b"\n") == 1, "misused by an analysis: %s" % " ".join(words[:2]), (status, out, error))
    own = os.path.join(trace, "channel0_0")
    with open(own, "rb") as file:
        before = file.read()
    status, out, error = ask(trace, ["stats"], "--chunk", "1/1", "--partial", own)
    with open(own, "rb") as file:
        result(status == 2 and not out and b"is a file of what is read" in error and file.read() == before, "a part does not replace a file of the trace", error)
    pipe = os.path.join(work, "pipe")
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    status, out, error = ask(trace, ["stats"], "--chunk", "1/1", "--partial", pipe)
    result(status == 0 and os.read(reader, 8) == b"yorepart", "a part is written into a pipe, and does not replace it", error)
    os.close(reader)
    grown = os.path.join(work, "grown")
    shutil.copytree(trace, grown)
    same = ask(grown, ["stats"], "--merge", a1, a2)
    result(same[:2] == ask(trace, ["stats"])[:2], "a copy of the trace is the same trace", same)
    with open(os.path.join(grown, "channel0_0"), "ab") as file:
        file.write(bytes(4096))
    status, out, error = ask(grown, ["stats"], "--merge", a1, a2)
    result(status == 1 and not out and b"bytes" in error, "a trace that has grown is another one", error)


def damage(work):
    """Each byte changed, and the file cut at each: as many errors, each with the file's name, and no answer."""
    trace = os.path.join(golden, "gdb-demo", "trace.tf")
    question = ["sql", "SELECT count(*) FROM events"]
    whole = os.path.join(work, "whole.part")
    ask(trace, question, "--chunk", "1/1", "--partial", whole)
    with open(whole, "rb") as file:
        data = file.read()
    commands = []
    for at in range(len(data)):
        for kind, bytes_now in (("flip", data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1:]), ("cut", data[:at])):
            path = os.path.join(work, "%s-%d.bad" % (kind, at))
            with open(path, "wb") as file:
                file.write(bytes_now)
            commands.append((*question, "--merge", path))
    out, error = prompt(trace, commands)
    lines = error.decode().splitlines()
    good = not out and len(lines) == len(commands) and all(words[-1] in line for words, line in zip(commands, lines))
    result(good and len(data) < 600, "each of %d bytes changed or cut off: an error that names the file" % len(data), (out, lines[:3], len(lines), len(commands)))
    result(ask(trace, question, "--merge", whole)[:2] == ask(trace, question)[:2], "the file itself still answers")


def page_line(work):
    """The two lines of docs/shards.md, by GNU parallel."""
    with open(os.path.join(top, "docs", "shards.md"), encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.startswith(("parallel yore stats", "yore stats trace --merge"))]
    result(len(lines) == 2, "docs/shards.md has the lines", lines)
    version = shutil.which("parallel") and subprocess.run(["parallel", "--version"], capture_output=True, text=True, check=False).stdout
    if not version or "GNU" not in version:
        print("skipped: GNU parallel is not installed: its line of docs/shards.md was not run")
        return
    folder = os.path.join(work, "page")
    os.mkdir(folder)
    os.symlink(os.path.join(work, "made"), os.path.join(folder, "trace"))
    os.mkdir(os.path.join(folder, "bin"))
    os.symlink(yore, os.path.join(folder, "bin", "yore"))
    env = dict(os.environ, PATH=os.path.join(folder, "bin") + ":" + os.environ["PATH"])
    done = subprocess.run(["sh", "-ec", "\n".join(lines)], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    wanted = run("stats", os.path.join(folder, "trace"))[1]
    result(done.returncode == 0 and done.stdout.endswith(wanted) and wanted, "the line of GNU parallel", (done.returncode, done.stderr))


def main():
    with tempfile.TemporaryDirectory(prefix="yore-test-") as work:
        os.environ["HOME"] = work
        for name in ("CACHE", "CONFIG", "STATE"):
            os.environ["XDG_%s_HOME" % name] = os.path.join(work, name.lower())
        found = traces(work)
        same_everywhere(work, found)
        analyses(work, found)
        by_hand(work)
        each_packet_once(work)
        refused(work)
        damage(work)
        page_line(work)
    finish()


main()

#!/usr/bin/env python3
"""yore catalog and yore sql --catalog: a folder of many traces, sound and damaged ones, against what the plain commands say of each.

CATALOG_TRACES=1000 makes another folder of so many generated traces besides, every fiftieth of them damaged.
"""
import csv
import glob
import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
import results
from results import catches, finish, result, top, until

generator = os.path.join(os.path.abspath(os.environ.get("top_builddir", ".")), "fixtures", "yore-gen")
golden = os.path.join(top, "fixtures", "golden")
corpus = os.environ.get("YORE_CORPUS") or os.path.join(top, "../shared/corpus")
work = tempfile.mkdtemp(prefix="yore-catalog-")
fleet = os.path.join(work, "fleet")
index = os.path.join(work, "index")
ENDLESS = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c"
expected = []  # paths of traces
broken = []  # those of them that cannot be opened


def yore(*words, cwd=None):
    done = subprocess.run([results.yore, *words, "--index-dir", index], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def at(*names):
    """A path in the fleet, whose folders are made."""
    path = os.path.join(fleet, *names)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return path


def generate(path, seed, *options):
    done = subprocess.run([generator, "--out", path, "--seed", str(seed), "--size", "24K", "--no-truth", *options],
                          stdout=subprocess.DEVNULL)
    if done.returncode:
        sys.exit("yore-gen failed: %s" % path)


def add(path, is_broken=False):
    expected.append(path)
    if is_broken:
        broken.append(path)
    return path


def put(path, data):
    with open(path, "wb") as file:
        file.write(data)


def get(path):
    with open(path, "rb") as file:
        return file.read()


def copy(source, *names):
    path = at(*names)
    (shutil.copytree if os.path.isdir(source) else shutil.copy)(os.path.join(golden, source), path)
    return path


# ---- a folder of traces ----

def make_sound():
    kinds = [(), ("--ctf2",), ("--big-endian",), ("--index",), ("--lose", "0.3"), ("--text-metadata",)]
    for i in range(24):
        host = "web%d" % (i % 4)
        generate(add(at(host, "t%d" % i)), i + 1, "--host", host, *kinds[i % len(kinds)])
    session = add(at("lttng", "session-1"))
    generate(at("lttng", "session-1", "kernel"), 41, "--host", "db1")
    generate(at("lttng", "session-1", "ust", "uid", "0", "64-bit"), 42, "--host", "db1")
    for source in ("demo/trace.dat", "sched-ftrace/trace.dat", "sched-perf/perf.data", "intel-pt/perf.data", "gdb-demo/trace.tf"):
        add(copy(os.path.join(golden, source), "formats", source.replace("/", "-")))
    for source in ("ovni-demo", "sched-demo", "memory-demo"):
        path = at("formats", source)
        shutil.copytree(os.path.join(golden, source), path)
        add(path)
    turns = add(at("turns"))
    os.makedirs(turns)
    for stamp in ("2026112822044960", "2026112822045067"):
        shutil.copy(os.path.join(golden, "sched-perf/perf.data"), os.path.join(turns, "perf.data." + stamp))
    logs = sorted(glob.glob(corpus + "/sel4/basic/log.*"))
    if not logs:
        print("skipped: no corpus at %s (YORE_CORPUS says where it is)" % corpus)
    for log in logs:
        add(copy(log, "formats", "sel4-" + os.path.basename(log)))
    return session


def make_damaged():
    for source in ("sched-ftrace/trace.dat", "sched-perf/perf.data", "gdb-demo/trace.tf"):
        path = add(at("damaged", "head-" + source.replace("/", "-")), True)
        put(path, get(os.path.join(golden, source))[:60])
    for name in ("perf.data", "empty.dat"):
        put(add(at("damaged", "emptied", name), True), b"")
    path = add(at("damaged", "no-metadata"), True)
    generate(path, 50)
    put(os.path.join(path, "metadata"), b"")
    path = add(at("damaged", "half-metadata"), True)
    generate(path, 51, "--text-metadata")
    text = get(os.path.join(path, "metadata"))
    put(os.path.join(path, "metadata"), text[:len(text) // 2])
    path = add(at("damaged", "cut-stream"))
    generate(path, 52)
    stream = max((os.path.join(path, name) for name in os.listdir(path) if name != "metadata"), key=os.path.getsize)
    put(stream, get(stream)[:os.path.getsize(stream) * 2 // 3])


def make_noise():
    """What is no trace: it is not listed, and does not hold anything up."""
    put(at("README.txt"), b"a fleet\n")
    put(at("ovni.txt"), b"ovniemu: ok\n")
    put(at("zeros"), bytes(100000))
    put(at("bytes"), bytes((i * i + i // 7) % 256 for i in range(70000)))
    put(at("tool.json"), b'{"a": 1}\n')
    put(at("empty"), b"")
    shutil.copy(results.yore if os.path.getsize(results.yore) < 1 << 20 else "/bin/sh", at("program"))
    os.mkfifo(at("pipe.data"))
    generate(at(".hidden", "t"), 60)
    os.makedirs(at("nothing", "below", "here"))
    os.symlink("..", at("loops", "up"))
    os.symlink(fleet, at("loops", "top"))
    os.symlink("/proc/self", at("loops", "self"))
    os.symlink("/sys", at("loops", "sys"))
    os.symlink("b", at("loops", "a"))
    os.symlink("a", at("loops", "b"))
    os.symlink("nowhere", at("loops", "perf.data"))
    os.symlink("../web0/t0", at("zz-again"))  # comes behind the trace itself
    os.symlink("formats/sched-perf-perf.data", at("zz-perf.data"))


def said(text):
    """The error of a plain command, without what stands before it in each."""
    return [line[len("yore: "):] for line in text.splitlines() if line.startswith("yore: ")]


# ---- catalog ----

def check_rows():
    status, out, err = yore("catalog", fleet, "--format", "json", "--count")
    rows = {row["path"]: row for row in lines(out)}
    result(status == 3 and err == "", "a catalog with traces that cannot be opened is told by the status", (status, err))
    result(sorted(rows) == sorted(expected) and len(lines(out)) == len(expected), "exactly the traces are listed, each once",
           (sorted(set(rows) - set(expected)), sorted(set(expected) - set(rows))))
    result(sorted(path for path in rows if rows[path]["error"]) == sorted(broken), "those that cannot be opened have an error",
           [path for path in rows if bool(rows[path]["error"]) != (path in broken)])
    wrong = []
    for path in broken:
        alone = yore("info", path)
        if said(alone[2])[-1:] != [rows.get(path, {}).get("error")]:
            wrong.append((alone[2], rows.get(path)))
    result(not wrong, "an error is the one that the plain command says", wrong)
    check_facts(rows)
    return rows


def check_facts(rows):
    wrong = []
    for path in sorted(set(expected) - set(broken)):
        row, info = rows[path], json.loads(yore("info", path, "--format", "json")[1])
        streams = info["streams"]
        facts = {"format": info["format"], "uuid": info["uuid"], "begin": info["begin"], "end": info["end"],
                 "host": info["env"].get("hostname", row["host"]), "streams": len(streams),
                 "packets": sum(stream["packets"] for stream in streams),
                 "lost": sum(stream["lost"] for stream in streams) + info["lost_untold"],
                 "duration": info["end"] - info["begin"],
                 "events": int(yore("events", path, "--count", "--all")[1]),
                 "can": [can["path"] for can in info["capabilities"] if can["known"]]}
        wrong += ["%s: %s is %s, info says %s" % (path, key, row[key], facts[key]) for key in facts if row[key] != facts[key]]
    result(not wrong, "the facts of %d traces are those of info and events" % (len(expected) - len(broken)), wrong)
    cut = rows[os.path.join(fleet, "damaged", "cut-stream")]
    result(cut["damaged"] > 0 and all(rows[path]["damaged"] == 0 for path in expected if path not in broken and path != cut["path"]),
           "a trace of which a part cannot be read says so", cut)
    result({rows[path]["host"] for path in expected if "/web2/" in path} == {"web2"}, "hosts are named")


def check_forms(rows):
    status, out, err = yore("catalog", fleet, "--format", "csv", "--count")
    table = list(csv.DictReader(io.StringIO(out)))

    def same(row):
        want = rows[row["path"]]
        return all((" ".join(want[key]) if key == "can" and want[key] is not None else "" if want[key] is None else str(want[key])) == row[key]
                   for key in want)

    stored = [key for key in next(iter(rows.values())) if key in ("index_bytes", "timelines_bytes")]
    for row in table:
        for key in stored:
            rows[row["path"]][key] = int(row[key]) if row[key] else None  # of a later run: more is stored
    result(len(table) == len(rows) and all(same(row) for row in table), "CSV has the same values as JSON",
           [row for row in table if not same(row)][:2])
    text = yore("catalog", fleet)[1]
    result(all(path in text for path in expected) and "error" in text.splitlines()[0], "the table has all of them", text)
    told = [line for line in text.splitlines() if line.endswith("parts could not be read: 'yore check' says which")]
    result(len(told) == 1 and "/damaged/cut-stream " in told[0], "and says which is damaged", told)
    file = os.path.join(work, "catalog.sqlite")
    status, out, err = yore("catalog", ".", "--to", file, "--count", cwd=fleet)
    with sqlite3.connect(file) as db:
        db.row_factory = sqlite3.Row
        found = {row["path"]: dict(row) for row in db.execute("SELECT * FROM traces")}
    for row in found.values():
        row["can"] = row["can"] if row["can"] is None else row["can"].split()
        if row["error"]:
            row["error"] = row["error"].replace("./", fleet + "/", 1) if "./" in row["error"] else row["error"]
    result(status == 3 and out == "" and found == rows, "a file of SQLite has the same, with absolute paths",
           [(found.get(path), rows[path]) for path in rows if found.get(path) != rows[path]][:2])
    one = yore("catalog", fleet, "--jobs", "1", "--format", "json")
    four = yore("catalog", fleet, "--jobs", "4", "--format", "json")
    result(one == four, "one process gives the same as four")
    single = yore("catalog", os.path.join(fleet, "web1", "t1"), "--format", "json")
    result(single[0] == 0 and [row["path"] for row in lines(single[1])] == [os.path.join(fleet, "web1", "t1")],
           "a trace alone is a catalog, too", single)
    empty = yore("catalog", os.path.join(fleet, "nothing"))
    result(empty[0] == 0 and "there is no trace below it" in empty[2], "a folder without traces is told", empty)
    return file


def check_stored():
    path = os.path.join(fleet, "web3", "t3")
    yore("index", path, "--timelines")
    status, out, err = yore("catalog", os.path.join(fleet, "web3"), "--format", "json")
    row = next(row for row in lines(out) if row["path"] == path)
    listed = next(each for each in lines(yore("index", "--list", "--format", "json")[1]) if each["path"] == os.path.realpath(path))
    result(row["identity"] == listed["name"] and row["timelines_bytes"] == listed["timelines"] > 0 and
           row["index_bytes"] + row["timelines_bytes"] == listed["bytes"], "what is stored is what index --list says", (row, listed))


def check_unreadable():
    """Files and folders that may not be read may be traces: seen by a user who is not root."""
    folder, user = os.path.join(work, "locked"), {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    sound = os.path.join(folder, "trace.dat")
    os.makedirs(os.path.join(folder, "shut"))
    shutil.copy(os.path.join(golden, "demo/trace.dat"), sound)
    put(os.path.join(folder, "any.bin"), b"x")
    for path, mode in ((work, 0o755), (sound, 0o644), (os.path.join(folder, "any.bin"), 0), (os.path.join(folder, "shut"), 0)):
        os.chmod(path, mode)

    def asked(*words):
        return subprocess.run([results.yore, *words, "--no-index"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/", **user)

    try:
        works = asked("info", sound).returncode == 0
    except PermissionError:
        works = False
    if not works:
        print("skipped: no other user can run the program that was built")
        return
    done = asked("catalog", folder, "--format", "json")
    rows = {row["path"]: row["error"] for row in lines(done.stdout.decode())}
    shut = [os.path.join(folder, name) for name in ("any.bin", "shut")]
    result(sorted(rows) == sorted(shut + [sound]) and not rows[sound], "what may not be read is a row", rows)
    result(all(rows.get(path) == said(asked("info", path).stderr.decode())[-1] for path in shut), "with the plain command's error", rows)


# ---- sql --catalog ----

def plain(path, query):
    status, out, err = yore("sql", path, query, "--format", "json")
    return lines(out)


def check_query(name, query, key=None):
    """The rows are those of the plain command, trace after trace; `key` is the query for it, where that is another one."""
    want = []
    for path in expected:
        if path not in broken:
            want += [(path, row) for row in plain(path, key or query)]
    status, out, err = yore("sql", "--catalog", fleet, query, "--format", "json")
    found = []
    for row in lines(out):
        trace = row.pop("trace")
        found.append((trace, row))
    order = [row["path"] for row in lines(yore("catalog", fleet, "--format", "json")[1])]
    want.sort(key=lambda item: order.index(item[0]))
    result(status == 3 and found == want and found, name, (status, len(found), len(want), found[:1], want[:1], err))
    return out, err


def check_sums():
    query = "SELECT count(*) AS n, min(ts) AS first, max(ts) AS last FROM events"
    check_query("counts of each trace are those of the plain command", query)
    check_query("so are groups, with the trace as a column", "SELECT trace, name, count(*) AS n FROM events GROUP BY trace, name",
                "SELECT name, count(*) AS n FROM events GROUP BY name")
    check_query("and rows in order", "SELECT * FROM packets ORDER BY first LIMIT 3")
    want = {}
    for path in expected:
        if path not in broken:
            host = json.loads(yore("info", path, "--format", "json")[1])["env"].get("hostname")
            if host and host.startswith("web"):
                want[host] = want.get(host, 0) + plain(path, "SELECT count(*) AS n FROM events")[0]["n"]
    status, out, err = yore("sql", "--catalog", fleet, "SELECT host, count(*) AS n FROM events", "--format", "json", "--then",
                            "SELECT host, sum(n) AS n FROM rows WHERE host GLOB 'web*' GROUP BY host")
    result({row["host"]: row["n"] for row in lines(out)} == want, "a second SELECT sums them by host", (out, want))
    status, out, err = yore("sql", "--catalog", fleet, "SELECT clock_offset, trace FROM events LIMIT 1", "--format", "json")
    rows = lines(yore("catalog", fleet, "--format", "json")[1])
    offsets = {row["path"]: row["clock_offset"] for row in rows}
    result(all(offsets[row["trace"]] == row["clock_offset"] for row in lines(out)) and lines(out), "the clock's offset is a column")


def check_failures():
    query = "SELECT count(*) AS n FROM events"
    status, out, err = yore("sql", "--catalog", fleet, query, "--then", "SELECT * FROM failures", "--format", "json")
    rows = {row["trace"]: row for row in lines(out)}
    cut = os.path.join(fleet, "damaged", "cut-stream")
    result(sorted(rows) == sorted(broken + [cut]), "failures are rows of a table", sorted(rows))
    wrong = [(row["error"], said(yore("sql", path, query)[2])) for path, row in rows.items() if path != cut and
             (row["kind"] != "error" or row["error"] != said(yore("sql", path, query)[2])[-1])]
    result(not wrong, "their errors are those of the plain command", wrong)
    result(rows[cut]["kind"] == "damaged" and rows[cut]["error"] in yore("sql", cut, query)[2], "damage is told, and its rows count",
           rows[cut])
    result(status == 3 and all(any(path in line for line in err.splitlines()) for path in broken[:5]), "and told at the end", err)
    first = rows[cut]["error"].split("yore: damaged: ", 1)[1].splitlines()[0]
    result(yore("sql", "--catalog", cut, query)[2].endswith("; first %s\n" % first), "with the first place that could not be read", first)
    status, out, err = yore("sql", "--catalog", fleet, "SELEC 1")
    result(status == 2 and said(err) == said(yore("sql", expected[0], "SELEC 1")[2]), "a query that is wrong is told once", err)
    status, out, err = yore("sql", "--catalog", fleet, "SELECT trace, nosuch FROM events")
    result(status == 1 and "no such column: nosuch" in err and "none of the" in err, "where none answers that is an error", err)
    status, out, err = yore("sql", "--catalog", fleet, "SELECT next_comm FROM sched_switch LIMIT 1")
    result(status == 3 and "no such table" in err and out, "traces without the table fail, the others answer", err)
    status, out, err = yore("sql", "--catalog", os.path.join(fleet, "web0"), ENDLESS, "--timeout", "300ms", "--then",
                            "SELECT kind, count(*) AS n FROM failures GROUP BY kind")
    result(status == 1 and "6 traces" in err and "--timeout" in err, "what takes too long is ended", (status, out, err))


def check_same():
    for query in ("SELECT trace, name, ts FROM events LIMIT 50", "SELECT * FROM sched_switch LIMIT 20"):
        for form in ("json", "csv", "table"):
            one = yore("sql", "--catalog", fleet, query, "--format", form, "--jobs", "1")
            four = yore("sql", "--catalog", fleet, query, "--format", form, "--jobs", "4")
            result(one == four and one[1], "one process gives the bytes of four: %s, %s" % (query, form), (one[0], four[0]))


def check_file(file):
    query = "SELECT count(*) AS n FROM events"
    result(yore("sql", "--catalog", file, query) == yore("sql", "--catalog", fleet, query), "a file is a catalog of the same traces")
    other = os.path.join(work, "other.sqlite")
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE t(a)")
    db.close()
    status, out, err = yore("sql", "--catalog", other, query)
    result(status == 1 and "it is no catalog" in err, "another file of SQLite is none", err)
    put(other, b"SQLite format 3\0" + b"x" * 200)
    status, out, err = yore("sql", "--catalog", other, query)
    result(status == 1 and other in err, "a damaged one neither", err)
    for words, text in ((("sql", "--catalog", fleet), "wants one query"), (("sql", "--catalog", fleet, query, query), "wants one query"),
                        (("sql", expected[0], query, "--then", "SELECT 1"), "is of --catalog"),
                        (("sql", "--catalog", fleet, query, "--then", "DROP TABLE rows"), "--then: want one SELECT: 'DROP TABLE rows'"),
                        (("sql", "--catalog", fleet, query + "; SELECT 1"), "--catalog: want one SELECT"),
                        (("catalog", fleet, "--with", expected[0]), "--with is of one trace"),
                        (("sql", "--catalog", fleet, query, "--timeout", "soon"), "is not a span")):
        status, out, err = yore(*words)
        result(status == 2 and text in err, "%s: %s" % (" ".join(words[2:] or words), text), (status, err))


# ---- a large folder ----

def damage(path, i):
    """The streams of every second one cannot be read to their end, of the others nothing can."""
    if i % 2:
        stream = max((os.path.join(path, name) for name in os.listdir(path) if name != "metadata"), key=os.path.getsize)
        put(stream, get(stream)[:os.path.getsize(stream) * 2 // 3 - 100])  # in the middle of a packet
    else:
        put(os.path.join(path, "metadata"), b"")


def check_many(count):
    folder = os.path.join(work, "many")
    for i in range(count):
        path = os.path.join(folder, "day%d" % (i % 30), "t%d" % i)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        generate(path, i + 1, "--host", "web%d" % (i % 7))
        if i % 50 == 49:
            damage(path, i // 50)
    rows = lines(yore("catalog", folder, "--format", "json")[1])
    query = "SELECT count(*) AS n, min(ts) AS first, max(ts) AS last FROM events"
    want, failed, cut = {}, set(), set()
    for row in rows:
        status, out, _ = yore("sql", row["path"], query, "--format", "json")
        failed.update([row["path"]] if status == 1 else [])
        cut.update([row["path"]] if status == 3 else [])
        for each in lines(out):
            n, first, last = want.get(row["host"], (0, each["first"], each["last"]))
            want[row["host"]] = (n + each["n"], min(first, each["first"]), max(last, each["last"]))
    result(len(rows) == count and len(failed) == len(cut) == count // 100, "%d traces, %d of them damaged" % (count, count // 50),
           (len(rows), len(failed), len(cut)))
    status, out, err = yore("sql", "--catalog", folder, "SELECT host, count(*) AS n, min(ts) AS first, max(ts) AS last FROM events", "--format", "json",
                            "--then", "SELECT host, sum(n) AS n, min(first) AS first, max(last) AS last FROM rows GROUP BY host")
    got = {row["host"]: (row["n"], row["first"], row["last"]) for row in lines(out)}
    result(status == 3 and got == want, "the sum over all of them is that of single ones: %d events" % sum(n for n, _, _ in want.values()),
           (status, got, want))
    status, out, err = yore("sql", "--catalog", folder, query, "--format", "json", "--then", "SELECT trace, kind FROM failures")
    told = {row["trace"]: row["kind"] for row in lines(out)}
    result(told == {**{path: "error" for path in failed}, **{path: "damaged" for path in cut}}, "and the damaged ones are told", told)


# ---- processes ----

def of_ours():
    """Processes that name the folder of this test, but this one."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as file:
                if work.encode() in file.read() and int(pid) != os.getpid():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def begin(query, folder, *words):
    process = subprocess.Popen([results.yore, "sql", "--catalog", folder, query, "--index-dir", index, "--jobs", "2", *words],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    catches(process)
    until(lambda: len(of_ours()) >= 2 or process.poll() is not None)
    return process


def check_signals():
    for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGKILL, -signal.SIGKILL)):
        process = begin(ENDLESS, fleet)
        process.send_signal(number)
        out, err = process.communicate(timeout=results.HANGS)
        gone = until(lambda: not of_ours())
        result(process.returncode == status and gone and not out, "%s leaves no process, and no answer" % number.name,
               (process.returncode, of_ours(), err))
    alone = os.path.join(fleet, "web1", "t1")
    process = begin(ENDLESS, alone)
    for pid in of_ours():
        if pid != process.pid:
            os.kill(pid, signal.SIGKILL)
    out, err = process.communicate(timeout=results.HANGS)
    result(process.returncode == 1 and b"ended by signal 9" in err, "a worker that dies is an error of its trace", err)


try:
    make_sound()
    make_damaged()
    make_noise()
    facts = check_rows()
    sqlite = check_forms(facts)
    check_stored()
    check_unreadable()
    check_sums()
    check_failures()
    check_same()
    check_file(sqlite)
    check_signals()
    if "CATALOG_TRACES" in os.environ:
        check_many(int(os.environ["CATALOG_TRACES"]))
finally:
    shutil.rmtree(work, ignore_errors=True)
finish()

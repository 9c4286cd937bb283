#!/usr/bin/env python3
"""yore convert --partition: folders and manifests of traces that are added one by one, several at a time, again, and of a catalog.

What the files say is judged by DuckDB, Polars and ClickHouse: tests/oracle/partition.sh.
"""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
sys.path.insert(0, os.path.join(os.path.abspath(os.environ.get("srcdir", ".")), "tests", "repl"))
import results
from results import catches, finish, result, top, until

generator = os.path.join(os.path.abspath(os.environ.get("top_builddir", ".")), "fixtures", "yore-gen")
golden = os.path.join(top, "fixtures", "golden")
work = tempfile.mkdtemp(prefix="yore-partition-")
index = os.path.join(work, "index")
demo = os.path.join(golden, "demo", "trace.dat")


def yore(*words):
    done = subprocess.run([results.yore, *words, "--index-dir", index], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def convert(trace, out, *words):
    return yore("convert", trace, out, "--to", "parquet", "--partition", *words)


def generate(name, seed, *options):
    path = os.path.join(work, "fleet", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    done = subprocess.run([generator, "--out", path, "--seed", str(seed), "--size", "24K", "--no-truth", *options],
                          stdout=subprocess.DEVNULL)
    if done.returncode:
        sys.exit("yore-gen failed: %s" % path)
    return path


def files(out):
    """All files below a folder, hidden ones too, but the lock."""
    found = []
    for folder, _, names in os.walk(out):
        found += [os.path.relpath(os.path.join(folder, name), out) for name in names if name != ".lock"]
    return sorted(found)


def manifests(out):
    found = {}
    for path in glob.glob(os.path.join(out, "_manifest", "*.json")):
        with open(path, encoding="utf-8") as file:
            manifest = json.load(file)
        found[manifest["path"]] = manifest
    return found


def told(found):
    """The files that manifests tell of."""
    return sorted([each["path"] for manifest in found.values() for each in manifest["files"]] +
                  ["_manifest/%s.json" % manifest["trace"] for manifest in found.values()])


def counts(trace):
    out = yore("sql", trace, "SELECT name, count(*) AS n FROM events GROUP BY name", "--format", "json")[1]
    return {row["name"]: row["n"] for row in map(json.loads, out.splitlines())}


def rows(manifest):
    return {each["table"]: each["rows"] for each in manifest["files"] if each["table"] not in ("state", "losses")}


def is_whole(out, traces, name):
    found = manifests(out)
    result(sorted(found) == sorted(traces) and files(out) == told(found), name,
           (sorted(found), set(files(out)) ^ set(told(found))))
    return found


def check_one(out, trace):
    status, _, err = convert(trace, out)
    manifest = is_whole(out, [trace], "a trace's files are those that its manifest tells")[trace]
    info = json.loads(yore("info", trace, "--format", "json")[1])
    row = json.loads(yore("catalog", trace, "--format", "json")[1])
    same = ("path", "format", "version", "host", "uuid", "identity", "clock", "clock_offset", "begin", "end", "lost", "damaged")
    result(status == 0 and err == "" and all(manifest[key] == row[key] for key in same), "the manifest says what the catalog does",
           [(key, manifest[key], row[key]) for key in same if manifest[key] != row[key]] or err)
    result(rows(manifest) == counts(trace), "and how many rows each table has", (rows(manifest), counts(trace)))
    result(manifest["whole"] and manifest["asked_begin"] is None and len(manifest["rules_identity"]) == 32 and
           "linux.rules" in manifest["rules"] and info["begin"] == manifest["begin"], "and range and rules", manifest)
    result(all(os.path.getsize(os.path.join(out, each["path"])) == each["bytes"] for each in manifest["files"]) and
           all(each["path"] == "table=%s/trace=%s/part-0.parquet" % (each["table"].replace(":", "."), manifest["trace"])
               for each in manifest["files"]), "and where each file is, of how many bytes", manifest["files"])


def check_again(out, trace):
    before = manifests(out)[trace]
    status, _, err = convert(trace, out, "--name", "sched_switch", "--no-state", "--begin", "+1ms")
    after = is_whole(out, [trace], "converted again it replaces its files, other tables go")[trace]
    result(status == 0 and after["trace"] == before["trace"] and len(after["files"]) == 1 and not after["whole"] and
           after["asked_begin"] == after["begin"] + 1000000 and after["rules_identity"] is None and after["rules"] == [],
           "and the manifest says what was left out", (err, after))
    copied = os.path.join(work, "copied.dat")
    shutil.copy(trace, copied)
    convert(copied, out)
    again = is_whole(out, [copied], "a copy is the same trace")[copied]
    other = {"path": 0, "identity": 0, "files": 0}
    result({**again, **other} == {**before, **other} and rows(again) == rows(before), "and says the same", (before, again))


def check_names(out):
    """Fields that are called as the partition's columns, and classes that are called as its tables."""
    folder = os.path.join(work, "named")
    os.makedirs(folder)
    with open(os.path.join(folder, "metadata"), "w", encoding="utf-8") as file:
        file.write("""/* CTF 1.8 */
typealias integer { size = 8; align = 8; } := u8;
trace { major = 1; minor = 8; byte_order = le; };
env { hostname = "a \\"host\\""; };
stream { event.header := struct { u8 id; }; };
event { id = 0; name = "state"; fields := struct { u8 host; u8 Trace; u8 field_trace; u8 table; }; };
event { id = 1; name = "a/b"; fields := struct { u8 n; }; };
""")
    with open(os.path.join(folder, "s"), "wb") as file:
        file.write(bytes([0, 1, 2, 3, 4, 1, 9]))
    status, _, err = convert(folder, out)
    manifest = is_whole(out, [folder], "a class called as a table of yore's own has another folder")[folder]
    result(status == 0 and [each["path"].split("/")[0] for each in manifest["files"]] == ["table=state-2", "table=a_b"] and
           manifest["host"] == 'a "host"' and manifest["clock"] == "none", "names and host are told", (err, manifest))
    with open(os.path.join(out, manifest["files"][0]["path"]), "rb") as file:
        data = file.read()
    result(all(name in data for name in (b"field_host", b"field_Trace", b"field_trace", b"field_table")),
           "fields called as its columns have others")


def check_many(out, traces):
    """As many processes at a time as there are traces, each trace by two of them."""
    running = [subprocess.Popen([results.yore, "convert", trace, out, "--to", "parquet", "--partition", "--index-dir", index + str(i % 2)])
               for trace in traces for i in range(2)]
    result(all(process.wait(timeout=results.HANGS) == 0 for process in running), "processes that add at the same time all end well")
    found = is_whole(out, traces, "and each trace is there once")
    result(all(rows(found[trace]) == counts(trace) for trace in traces), "with all its rows")
    return found


def check_catalog(out, traces, found):
    broken = os.path.join(work, "fleet", "broken")
    shutil.copytree(traces[0], broken)
    with open(os.path.join(broken, "metadata"), "wb"):
        pass
    status, text, err = yore("convert", "--catalog", os.path.join(work, "fleet"), out, "--to", "parquet", "--partition", "--jobs", "3")
    result(status == 3 and text == "" and err.count("failed") == 1 and broken in err, "a trace that cannot be opened is told", (status, err))
    of_catalog = is_whole(out, traces, "--catalog converts the others")
    result(of_catalog == found, "and writes what single ones did", (of_catalog, found))
    shutil.rmtree(broken)


def check_errors():
    full = os.path.join(work, "full")
    os.makedirs(full)
    with open(os.path.join(full, "x"), "w", encoding="utf-8") as file:
        file.write("x")
    for words, text in (((demo, full, "--to", "parquet", "--partition"), "and no _manifest"),
                        ((demo, os.path.join(full, "x"), "--to", "parquet", "--partition"), "full/x"),
                        ((demo, os.path.join(work, "no/where"), "--to", "parquet", "--partition"), "No such file"),
                        ((demo, os.path.join(work, "y"), "--to", "csv", "--partition"), "--partition is for parquet"),
                        (("--catalog", work, os.path.join(work, "y"), "--to", "parquet"), "--catalog wants --partition"),
                        (("--catalog", work, os.path.join(work, "y"), "--to", "csv", "--partition"), "--partition is for parquet"),
                        ((demo, os.path.join(work, "y"), "--to", "parquet", "--partition", "--timeout", "1s"), "--timeout is of --catalog"),
                        ((demo, os.path.dirname(demo) + "/metadata/x", "--to", "parquet", "--partition"), "No such file")):
        status, _, err = yore("convert", *words)
        result(status in (1, 2) and text in err and err.count("\n") == 1, "%s: %s" % (" ".join(words[2:]), text), (status, err))
    result(files(full) == ["x"] and not os.path.exists(os.path.join(work, "y")), "and nothing is left of them")


def check_signal(out):
    """A signal in the middle leaves what was there."""
    large = os.path.join(work, "large")
    subprocess.run([generator, "--out", large, "--seed", "9", "--size", "8M", "--no-truth"], stdout=subprocess.DEVNULL, check=True)
    before = files(out)
    process = subprocess.Popen([results.yore, "convert", large, out, "--to", "parquet", "--partition", "--index-dir", index],
                               stderr=subprocess.DEVNULL)
    catches(process, signal.SIGTERM)
    until(lambda: process.poll() is not None or glob.glob(os.path.join(out, ".yore-*", "*")))
    begun = process.poll() is None
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=results.HANGS)
    result(not begun or process.returncode in (0, -signal.SIGTERM), "a signal ends it", process.returncode)
    result(files(out) == before or process.returncode == 0, "and leaves what was there", set(files(out)) ^ set(before))


try:
    one = os.path.join(work, "one")
    check_one(one, demo)
    check_again(one, demo)
    check_names(os.path.join(work, "names"))
    fleet = [generate("t%d" % i, i + 1, "--host", "web%d" % (i % 2), *(("--lose", "0.3") if i == 2 else ())) for i in range(4)]
    many = check_many(os.path.join(work, "many"), fleet)
    check_catalog(os.path.join(work, "catalog"), fleet, many)
    check_errors()
    check_signal(os.path.join(work, "many"))
finally:
    shutil.rmtree(work, ignore_errors=True)
finish()

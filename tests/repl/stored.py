#!/usr/bin/env python3
"""yore index --list, --verify and --prune: what is stored of all traces, against what lies in the folder."""
import fcntl
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
import results
from results import finish, result

work = tempfile.mkdtemp(prefix="yore-stored-")
folder = os.path.join(work, "index")
traces = [os.path.join(results.top, "fixtures/golden", name) for name in ("sched-demo", "sched-ftrace", "sched-perf")]
traces = [path if not os.path.isdir(path) or os.path.exists(path + "/metadata") else
          [os.path.join(path, name) for name in sorted(os.listdir(path))][0] for path in traces]


def yore(*words):
    done = subprocess.run([results.yore, *words, "--index-dir", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def listed(*words):
    status, out, _ = yore("index", *words, "--format", "json")
    return status, [json.loads(line) for line in out.splitlines()]


def files_of(name):
    return [path for path in glob.glob(folder + "/*") if os.path.basename(path).startswith(name)]


def bytes_of(name):
    return sum(os.path.getsize(path) for path in files_of(name))


try:
    os.mkdir(folder, 0o700)
    status, out, err = yore("index", "--list")
    result(status == 0 and out == "" and "nothing is stored there" in err, "an empty folder is said to be empty", err)
    for path in traces:
        yore("index", path, "--timelines")
    status, rows = listed("--list")
    result(status == 0 and sorted(row["path"] for row in rows) == sorted(map(os.path.realpath, traces)),
           "all traces are listed, with their paths", rows)
    result(all(row["bytes"] == bytes_of(row["name"]) for row in rows), "bytes are those of all files", rows)
    result(all(row["half_done"] is None for row in rows), "nothing is half done", rows)
    result(all(0 < row["timelines"] < row["bytes"] for row in rows), "timelines are told apart", rows)
    text = yore("index", "--list")[1]
    result(all(row["name"] in text and row["path"] in text for row in rows), "the table has them, too", text)
    status, again = listed("--verify")
    result(status == 0 and [row["state"] for row in again] == ["sound"] * 3, "all of it is sound", again)

    victim = rows[1]
    segment = max((path for path in files_of(victim["name"]) if path.endswith(".seg")), key=os.path.getsize)
    with open(segment, "r+b") as file:
        file.seek(os.path.getsize(segment) // 2)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 16]))
    status, after = listed("--verify")
    states = {row["name"]: row["state"] for row in after}
    result(status == 3 and states.pop(victim["name"]) == "damaged, removed" and set(states.values()) == {"sound"},
           "one flipped bit is found, and its store is removed", after)
    result(not os.path.exists(segment), "so is its file")
    status, after = listed("--verify")
    result(status == 0 and all(row["state"] == "sound" for row in after), "then all is sound", after)
    yore("index", victim["path"], "--timelines")

    for i, row in enumerate(listed("--list")[1]):  # times of files say which was used last: far enough apart
        for path in files_of(row["name"]):
            os.utime(path, (time.time() - 100 * i,) * 2)
    status, rows = listed("--list")
    for order in (sorted(rows, key=lambda row: row["name"]), sorted(rows, key=lambda row: row["name"], reverse=True)):
        for i, row in enumerate(order):
            for path in files_of(row["name"]):
                os.utime(path, (time.time() - 100 * i,) * 2)
        status, pruned = listed("--prune", "--keep", "100G")
        status, rows = listed("--list")
        result([row["name"] for row in rows] == [row["name"] for row in order], "pruning leaves the times of last use", rows)
    keep = sum(row["bytes"] for row in rows) - 1
    last = rows[-1]
    with open(os.path.join(folder, last["name"] + ".writer"), "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        status, pruned = listed("--prune", "--keep", str(keep))
        result(status == 0 and [row["state"] for row in pruned] == ["in use", "removed"],
               "what another process writes stays, the next one goes", (last, rows, pruned))
    result(pruned[0]["name"] == last["name"] and not files_of(pruned[1]["name"]) and files_of(last["name"]),
           "files of the one that was removed are gone")
    status, pruned = listed("--prune", "--keep", "100G")
    result(status == 0 and not pruned, "nothing goes where there is room", pruned)
    os.environ["YORE_INDEX_KEEP"] = "100G"
    status, pruned = listed("--prune")
    result(status == 0 and not pruned, "the environment tells how much may stay", pruned)
    del os.environ["YORE_INDEX_KEEP"]
    status, pruned = listed("--prune", "--keep", "1")
    result(status == 0 and len(pruned) == 2 and not listed("--list")[1], "all goes where there is none", pruned)
    result(not glob.glob(folder + "/*.seg"), "no segment is left")
    for words in (["--prune"], ["--list", "--verify"], ["--keep", "1G"], ["--prune", "--keep", "0"]):
        status, _, err = yore("index", *words, *([] if words[0] != "--keep" else [traces[0]]))
        result(status == 2 and err.startswith("yore: "), "index %s is refused" % " ".join(words), err)

    older = os.path.join(folder, rows[0]["name"] + ".yore")
    for name in (older, older + ".writer", older + ".timelines-0123456789abcdef"):
        open(name, "w").close()
    status, _, err = yore("events", rows[0]["path"], "--count")
    result(status == 0 and "made by an older version of yore, was removed" in err and not glob.glob(folder + "/*.yore*"),
           "files of older versions are removed, which is told", err)
finally:
    shutil.rmtree(work)
finish()

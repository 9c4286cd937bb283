#!/usr/bin/env python3
"""Ring buffers of LTTng-UST in files: what a session that was killed left, in both layouts and byte orders.

The writer of ring_files.py knows which events the ring and the output folder hold. lttng-crash, where it is installed, is asked
for the rings that it reads: of layout 0.0, without a place that a killed thread left open, and before counters wrap.
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
import results
from results import finish, result, top, yore
from ring_files import Ring, killed, metadata_of


def ask(*words):
    done = subprocess.run([yore, *words], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def events(*words):
    status, out, said = ask("events", *words, "--format", "json")
    rows = [json.loads(line) for line in out.splitlines()]
    return status, [(row["fields"]["n"], row["ts"] - 1700000000000000000) for row in rows if "lost" not in row], said


def events_of(groups):
    return sorted((n, t) for group in groups for t, n in group)


def check(work, seed, crash):
    rng = random.Random(seed)
    how = {"word": rng.choice((4, 8)), "order": rng.choice("<>"), "major": rng.randrange(2),
           "overwrite": rng.random() < 0.4, "stuck": rng.random() < 0.3, "doubled": rng.random() < 0.4}
    folder, index = os.path.join(work, "killed"), os.path.join(work, "index")
    for path in (folder, index):
        shutil.rmtree(path, ignore_errors=True)
    rings = killed(folder, seed, **how)
    shm, out = os.path.join(folder, "shm"), os.path.join(folder, "out")
    alone = events_of(found for ring in rings for _, found in ring.unread())
    whole = sorted(set(alone) | set(events_of(ring.events_out for ring in rings)))
    name = "seed %d: %s" % (seed, ", ".join("%s %s" % item for item in how.items()))
    bad = []
    ways = (("--no-index", "--jobs", "1"), ("--index-dir", index), ("--index-dir", index, "--jobs", "4"))
    for words, wanted in (((shm,), alone), ((folder,), whole), ((out, "--input", "ctf,shm=" + shm), whole)):
        for way in ways:
            status, got, said = events(*words, *way)
            if got != wanted or status not in ((0, 3) if how["doubled"] else (0,)):
                bad.append((words, way, status, len(got), len(wanted), said))
    for stream in json.loads(ask("info", folder, "--format", "json", "--no-index")[1])["streams"]:
        ring = rings[int(stream["name"][-1])]
        if stream["lost"] > ring.lost:
            bad.append((stream, "lost", ring.lost))
    asked = crash and not how["major"] and not how["stuck"] and all(ring.lap < 4 for ring in rings)
    if asked:
        took = os.path.join(work, "took")
        shutil.rmtree(took, ignore_errors=True)
        subprocess.run([crash, "-x", took, shm], check=True)
        if events(took, "--no-index")[1] != alone:
            bad.append("lttng-crash finds other events")
    result(not bad, name + (", as lttng-crash" if asked else ""), bad)


def check_losses(work):
    """A packet that was not closed has no counter of lost events: it is not a counter that stepped back to 0."""
    ring = Ring(random.Random(1), 0, "<", 8, 0, False, 8, 4096)
    now = iter(range(1000, 1 << 30))
    for _ in range(100000):
        if ring.lost == 50:
            break
        ring.write(next(now), 0)
    for _ in range(3):
        ring.read()
    while ring.producer // 4096 - ring.number0 < 10:
        ring.write(next(now), 1)
        if ring.packet and ring.packet.number == 9 and ring.packet.events:
            ring.close(next(now), stuck=True)
    while ring.lost == 50:
        ring.write(next(now), 2)
    folder = results.write(os.path.join(work, "lossy"), metadata_of("<"), {"ch_0": ring.file()})
    stream = json.loads(ask("info", folder, "--format", "json", "--no-index")[1])["streams"][0]
    result([loss["events"] for loss in stream["losses"]] == [50] and stream["packets"] == 8,
           "a packet that was not closed between two that count lost events", stream)


def check_damage(work):
    """Of the golden recording: a head that says what the file does not have costs this file alone."""
    golden = os.path.join(top, "fixtures", "golden", "crash-demo")
    folder = os.path.join(work, "damaged")
    rows = (
        ("an unknown byte order", 24, b"\0\0", "the unknown byte order 0"),
        ("a newer layout", 26, b"\2\0", "version 2"),
        ("a newer minor layout", 28, b"\1\0", "minor version 1"),
        ("words of 2 bytes", 30, b"\2", "words of bytes 2"),
        ("a ring of the kernel", 31, b"\1", "a layout that is not that of user space, 1"),
        ("counters beyond the file", 32, b"\xff\xff\xff\xff", "reach past the end"),
        ("commit counters beyond the file", 40, b"\xff\xff\xff\xff", "reach past the end"),
        ("a size of a packet beyond it", 68, b"\xff\xff\xff\xff", "the size of a packet at offset 4294967295"),
        ("a counter of 3 bytes", 76, b"\3", "a number of bytes 3"),
        ("elements larger than the file", 84, b"\xff\xff\xff\xff", "elements of bytes 4294967295"),
        ("a ring of another size", 96, b"\0\0\1\0", "a size other than that of its sub-buffers, 65536"),
        ("sub-buffers of 1 byte", 104, b"\1\0", "sub-buffers of bytes 1"),
        ("sub-buffers that the file cannot hold", 112, b"\0\0\1\0", "a number of sub-buffers of 65536"),
        ("a producer far ahead", 128 + 4, b"\1", "bytes that were not read"),
    )
    for name, at, put, said in rows:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(golden, folder)
        with open(os.path.join(folder, "shm", "ch0_0"), "r+b") as file:
            file.seek(at)
            file.write(put)
        status, out, told = ask("events", folder, "--no-index", "--count")
        wanted = ask("events", golden, "--no-index", "--stream", "out/ch0_1", "--count")[1]
        least = int(wanted) + 500  # and what the output folder has of the other CPU
        result(status == 3 and said in told and told.count("damaged:") == told.count("/shm/ch0_0")
               and least < int(out) < 1531, name, (status, out, told))
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(golden, folder)
    status, out, told = ask("events", os.path.join(folder, "out"), "--no-index")
    result(status == 1 and "it is empty, as a session that was killed leaves it" in told
           and "--input ctf,shm=FOLDER" in told, "an output folder alone says what to do", told)
    status, out, told = ask("events", folder, "--no-index", "--count")
    result(status == 0 and out == "1531\n" and "has the same UUID" in told, "both folders are one trace", (out, told))
    status, out, told = ask("events", folder, "--no-index", "--count", "--input", "ctf,shm=x,prefix=3")
    result(status != 0 and "shm stands alone" in told, "shm with another setting", told)
    text = os.path.join(folder, "out", "metadata")
    with open(os.path.join(folder, "shm", "metadata"), "rb") as file:
        part = file.read()[:3000]
    with open(text, "wb") as file:
        file.write(part)
    status, out, told = ask("events", folder, "--no-index", "--count")
    result(status == 0 and out == "1531\n", "metadata that was cut off", (out, told))


def main():
    crash = shutil.which("lttng-crash")
    if not crash:
        print("rings.py: skipped: lttng-crash is not installed; the writer's own list decides alone")
    with tempfile.TemporaryDirectory() as work:
        for seed in range(int(os.environ.get("RING_SEEDS", "16"))):
            check(work, seed, crash)
        check_losses(work)
        check_damage(work)
    finish()


main()

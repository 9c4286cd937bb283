#!/usr/bin/python3
"""Rules of more attributes than a word has bits: each takes the value of the one before, at every event.

So the one of number i has the time of the event i before, and none when the deletion came between. That
is asked of the backward pass, of replay for all at once, and of timelines.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.environ.get("srcdir", ".") + "/bench")
import scale  # noqa: E402  pylint: disable=wrong-import-position

YORE = os.path.abspath(os.environ.get("top_builddir", ".") + "/yore")
SHAPES, EVENTS, DELETED = 200, 300, 100


def write(folder):
    """An event each nanosecond; the field of `ev0` is its time."""
    events = [(1 if i == DELETED else 0, i) for i in range(EVENTS)]
    scale.write(folder + "/trace", {"s": scale.packet(events, 0, EVENTS)}, 2)
    with open(folder + "/rules", "w", encoding="ascii") as file:
        file.write("event ev0\n\tb[1]/x0 = field/a\n")
        file.writelines("\tb[1]/x%d = b[1]/x%d\n" % (i, i - 1) for i in range(1, SHAPES))
        file.write("event ev1\n\tdelete b[1]\n")


def expected(time, i):
    """The value of x<i> at a time after the deletion."""
    return time - i if time - i > DELETED else None


def at(folder, time, path, *more):
    out = subprocess.run([YORE, "at", folder + "/trace", "@%d" % time, path, "--rules", folder + "/rules",
                          "--format", "json", *more], check=True, stdout=subprocess.PIPE).stdout
    return {row["path"]: row["value"] for row in map(json.loads, out.splitlines())}


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        write(folder)
        index = ["--index-dir", folder + "/index"]
        for name, ways in (("without an index", ["--no-index"]), ("with timelines", index)):
            if ways is index:
                subprocess.run([YORE, "index", folder + "/trace", "--timelines", "--rules", folder + "/rules",
                                *index], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            wrong = []
            for time in (DELETED, DELETED + 1, DELETED + 2, DELETED + 65, EVENTS - 1):
                rows = at(folder, time, "**", *ways)
                for i in range(0, SHAPES, 21):
                    path = "b[1]/x%d" % i
                    alone = at(folder, time, path, *ways)[path]
                    if not alone == rows.get(path) == expected(time, i):
                        wrong.append((time, path, alone, rows.get(path), expected(time, i)))
            print("%s - %d attributes, each of the one before, %s" % ("not ok" if wrong else "ok", SHAPES, name))
            for row in wrong[:5]:
                print("# at %d %s: %s alone, %s of all, %s expected" % row)
            failed += bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

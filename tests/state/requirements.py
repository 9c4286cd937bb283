#!/usr/bin/python3
"""The example lines of the Common Trace Format requirements (version 1.4, taxonomy), run verbatim.

A trace is written that has these events; the lines are read as they stand there, in double quotes,
and without them. Expected values follow from the events below by hand.
"""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

QUOTED = '''section *
  "section/pid = field/pid"
  "section/cpu = field/cpu"
event sched_schedule
  "cpu[section/cpu]/thread = field/next_pid"
event syscall
  "thread[cpu[section/cpu]/thread]/syscall[field/syscall_id]/id
     = field/syscall_id"
event thread_list
  "thread[field/pid]/pid = field/pid"
event thread_mmap
  "thread[field/pid]/mmap[field/address]/address = field/address"
  "thread[field/pid]/mmap[field/address]/end = field/end"
  "thread[field/pid]/mmap[field/address]/flags = field/flags"
  "thread[field/pid]/mmap[field/address]/pgoff = field/pgoff"
  "thread[field/pid]/mmap[field/address]/inode = field/inode"
'''
UNQUOTED = QUOTED.replace('"', "")

FIELDS = {  # id: (name, fields)
    0: ("sched_schedule", ["cpu", "pid", "next_pid"]),
    1: ("syscall", ["cpu", "pid", "syscall_id"]),
    2: ("thread_list", ["pid"]),
    3: ("thread_mmap", ["pid", "address", "end", "flags", "pgoff", "inode"]),
}
EVENTS = [  # time, id, values
    (10, 0, [1, 0, 42]),
    (20, 1, [1, 42, 5]),
    (30, 2, [42]),
    (40, 3, [42, 4096, 8192, 3, 9, 77]),
    (50, 0, [1, 42, 7]),
    (60, 1, [2, 7, 6]),  # it is not known what runs on CPU 2: nothing is written
    (70, 1, [1, 7, 6]),
]
EXPECTED = [  # time, path, value, since
    (9, "cpu[1]/thread", None, None),
    (10, "cpu[1]/thread", 42, 10),
    (49, "cpu[1]/thread", 42, 10),
    (50, "cpu[1]/thread", 7, 50),
    (25, "thread[42]/syscall[5]/id", 5, 20),
    (70, "thread[7]/syscall[6]/id", 6, 70),
    (69, "thread[7]/syscall[6]/id", None, None),
    (30, "thread[42]/pid", 42, 30),
    (45, "thread[42]/mmap[4096]/address", 4096, 40),
    (45, "thread[42]/mmap[4096]/end", 8192, 40),
    (45, "thread[42]/mmap[4096]/flags", 3, 40),
    (45, "thread[42]/mmap[4096]/pgoff", 9, 40),
    (45, "thread[42]/mmap[4096]/inode", 77, 40),
]


def write_trace(folder):
    integer = "integer { size = %d; align = 8; signed = false; }"
    text = "/* CTF 1.8 */\ntrace { major = 1; minor = 8; byte_order = le; };\n"
    text += "clock { name = c; freq = 1000000000; };\n"
    text += ("stream { event.header := struct { %s id; integer { size = 64; align = 8; "
             "map = clock.c.value; } timestamp; }; };\n" % (integer % 8))
    for number, (name, fields) in FIELDS.items():
        members = " ".join("%s %s;" % (integer % 32, field) for field in fields)
        text += "event { name = \"%s\"; id = %d; fields := struct { %s }; };\n" % (
            name, number, members)
    with open(folder + "/metadata", "w", encoding="ascii") as file:
        file.write(text)
    with open(folder + "/stream", "wb") as file:
        for time, number, values in EVENTS:
            file.write(struct.pack("<BQ%dI" % len(values), number, time, *values))


def main():
    yore = os.environ.get("top_builddir", ".") + "/yore"
    failed = 0
    with tempfile.TemporaryDirectory() as work:
        os.mkdir(work + "/trace")
        write_trace(work + "/trace")
        for kind, rules in (("quoted", QUOTED), ("unquoted", UNQUOTED)):
            with open(work + "/rules", "w", encoding="ascii") as file:
                file.write(rules)
            for time, path, value, since in EXPECTED:
                done = subprocess.run(
                    [yore, "at", work + "/trace", "@%d" % time, path, "--rules", work + "/rules",
                     "--no-index", "--format", "json"],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
                answer = json.loads(done.stdout) if done.returncode == 0 else {}
                if (answer.get("value"), answer.get("since")) != (value, since) or not answer:
                    print("FAIL: %s: %s at %d: %s, expected %s since %s %s" % (
                        kind, path, time, answer, value, since, done.stderr.decode()[:200]))
                    failed += 1
    assert re.search(r'"', UNQUOTED) is None
    print("%s: %d answers of the requirements' own lines" % (
        "FAIL" if failed else "PASS", 2 * len(EXPECTED)))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

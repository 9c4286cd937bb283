#!/usr/bin/python3
"""computed_ends.py [YORE]: where computed values begin and end beyond a range, when what they read is deleted, unknown, and told by later events.

The answers are worked out by hand from the events. They are asked for without an index, and twice with one: the second
question begins at a checkpoint."""
import os, shutil, struct, subprocess, sys, tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lua"))
import kernel_ctf  # noqa: E402

yore = os.path.abspath(sys.argv[1] if sys.argv[1:] else os.environ.get("top_builddir", ".") + "/yore")
work = tempfile.mkdtemp(prefix="yore-computed-ends-")
EVENTS = {number + 1: (name, "u32 v;") for number, name in enumerate(("set", "remove", "forget", "was_set", "other", "third"))}
SET, REMOVE, FORGET, WAS, OTHER, THIRD = EVENTS
RULES = """event set
	x/a = field/v
event remove
	delete x/**
event forget
	unknown x/**
event was_set
	was x/a = field/v
event other
	y/b = field/v
event third
	z/c = field/v == 1
"""
LONG = 400000


def long_events():
    for i in range(LONG):
        if i in (0, 2, 300000, 390000):
            yield 10 * i, {0: SET, 2: REMOVE, 300000: FORGET, 390000: WAS}[i], 1 if i == 0 else 5
        else:
            yield 10 * i, OTHER, 7 if i < 350000 else 8


ROWS = [  # name, events, view, range, what is said of the view
    ("a later event tells what was unknown behind the range", long_events(), "has(x/a)", "1000005", "1000010", ["20", "3000000", "false"]),
    ("what was deleted twice", [(0, OTHER, 1), (1, THIRD, 0), (10, REMOVE, 0), (20, THIRD, 1), (20, FORGET, 0), (30, REMOVE, 0), (30, THIRD, 0),
     (40, FORGET, 0), (45, REMOVE, 0), (50, SET, 1), (60, OTHER, 2)], "x/a == none || z/c", "25", "26", ["10", "40", "true"]),
]


def asked(view, begin, end, *options):
    out = subprocess.run([yore, "state", os.path.join(work, "trace"), "**", "--rules", os.path.join(work, "rules"), "--begin", "@" + begin,
                          "--end", "@" + end, "--time", "ns", *options], capture_output=True, text=True, check=False).stdout
    return [line.split() for line in out.splitlines() if "v/v" in line]


bad = 0
try:
    for name, events, view, begin, end, right in ROWS:
        shutil.rmtree(os.path.join(work, "index"), ignore_errors=True)
        kernel_ctf.write(os.path.join(work, "trace"), EVENTS, "", {0: b"".join(struct.pack("<IQI", event, t, v) for t, event, v in events)})
        with open(os.path.join(work, "rules"), "w") as file:
            file.write(RULES + "view v/v = %s\n" % view)
        how = [("without an index", ["--no-index"])] + [("with one", ["--index-dir", os.path.join(work, "index")])] * 2
        said = [(text, asked(view, begin, end, *options)) for text, options in how]
        wrong = ["%s: %s" % (text, rows) for text, rows in said if len(rows) != 1 or [rows[0][0], rows[0][1], rows[0][-1]] != right]
        print("%s: %s%s" % ("FAIL" if wrong else "PASS", name, "".join("; " + text for text in wrong)))
        bad += bool(wrong)
finally:
    shutil.rmtree(work, ignore_errors=True)
sys.exit(1 if bad else 0)

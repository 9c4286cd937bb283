#!/usr/bin/python3
"""What perf's switch records tell where some are missing, and where a thread ends: made recordings, and what each moment must be.

perf names a thread -1 once it has ended. Of some threads (those of a program that may not be observed, the idle ones of some CPUs) there are no
records, only those of the threads before and behind them, which name them. Such a thread ran between the two: its time in /proc/TID/schedstat
grows by as much."""
import json, os, struct, subprocess, sys, tempfile

yore = os.path.abspath(sys.argv[1] if sys.argv[1:] else os.environ.get("top_builddir", ".") + "/yore")
METADATA = """/* CTF 1.8 */
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 32; align = 8; signed = true; } := s32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; u32 stream_id; }; };
clock { name = c; freq = 1000000000; };
typealias integer { size = 64; align = 8; signed = false; map = clock.c.value; } := time;
stream { id = 0; packet.context := struct { u32 cpu_id; }; event.header := struct { u32 id; time timestamp; };
	event.context := struct { s32 tid; }; };
event { id = 0; name = "perf_switch_cpu_wide"; stream_id = 0; fields := struct { s32 next_prev_tid; u32 out; u32 preempt; }; };
event { id = 1; name = "perf_exit"; stream_id = 0; fields := struct { s32 tid; }; };
"""


def leaves(t, tid, to, preempt=0):
    return struct.pack("<IQiiII", 0, t, tid, to, 1, preempt)


def comes(t, tid, of):
    return struct.pack("<IQiiII", 0, t, tid, of, 0, 0)


def ends(t, tid):
    return struct.pack("<IQii", 1, t, tid, tid)


UNSEEN = [leaves(10, 5, 7), comes(12, 7, 5), leaves(100, 7, 70), comes(200, 8, 70), leaves(300, 8, 0)]
OTHERS = [leaves(10, 5, 7), comes(12, 7, 5), leaves(100, 7, 70), comes(200, 8, 71), leaves(300, 8, 0)]
IDLE = [leaves(10, 5, 0), comes(100, 7, 0), leaves(150, 7, 8), comes(152, 8, 7), leaves(160, 8, 7)]
IDLE_BEHIND = [leaves(10, 5, 70), comes(100, 0, 70), leaves(200, 0, 8), comes(202, 8, 0), leaves(300, 8, 7)]
ENDS = [leaves(10, 5, 7), comes(12, 7, 5), ends(20, 7), leaves(30, -1, 8), comes(32, 8, -1), leaves(90, 8, 0)]
ENDS_LATER = [leaves(10, 5, 7), comes(12, 7, 5), ends(20, 7), leaves(30, -1, 8, 1), comes(32, 8, -1), leaves(50, 8, -1), comes(52, -1, 8),
              leaves(60, -1, 9), comes(62, 9, -1), leaves(90, 9, 0)]
ROWS = [  # name, events, moment, path, value (None: unknown)
    ("seen threads run", UNSEEN, 50, "cpu[0]/thread", 7),
    ("a thread without records runs up to who comes behind it", UNSEEN, 199, "cpu[0]/thread", 70),
    ("so says its state", UNSEEN, 199, "thread[70]/state", "running"),
    ("what it does then is not known", UNSEEN, 250, "thread[70]/state", None),
    ("who came runs", UNSEEN, 250, "cpu[0]/thread", 8),
    ("who comes behind another thread contradicts that the first one runs", OTHERS, 150, "cpu[0]/thread", None),
    ("so does its state then", OTHERS, 150, "thread[70]/state", None),
    ("and what that one does then is not known", OTHERS, 250, "thread[70]/state", None),
    ("who came behind both runs", OTHERS, 250, "cpu[0]/thread", 8),
    ("an idle CPU without records of that is idle", IDLE, 99, "cpu[0]/thread", 0),
    ("and its idle thread runs", IDLE, 99, "idle[0]/state", "running"),
    ("until another thread comes", IDLE, 120, "idle[0]/state", "ready"),
    ("which runs then", IDLE, 120, "cpu[0]/thread", 7),
    ("a CPU gets idle behind a thread without records", IDLE_BEHIND, 150, "idle[0]/state", "running"),
    ("of which it is not known what it does then", IDLE_BEHIND, 150, "thread[70]/state", None),
    ("a thread ends on its CPU", ENDS, 25, "thread[7]/state", "exiting"),
    ("and is dead when it has left", ENDS, 40, "thread[7]/state", "dead"),
    ("the next one runs", ENDS, 40, "cpu[0]/thread", 8),
    ("a thread that ends is preempted", ENDS_LATER, 40, "thread[7]/state", None),
    ("one that ended comes back: it has no number", ENDS_LATER, 55, "cpu[0]/thread", None),
    ("the next one runs then, too", ENDS_LATER, 70, "cpu[0]/thread", 9),
]


def value_of(trace, t, path):
    done = subprocess.run([yore, "at", trace, "@%d" % t, path, "--no-index", "--format", "json", "--quiet"], capture_output=True, text=True,
                          check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return rows[0]["value"] if rows else None


def main():
    failed = 0
    with tempfile.TemporaryDirectory(prefix="yore-switch-records-") as work:
        for number, (name, events, t, path, value) in enumerate(ROWS):
            trace = os.path.join(work, str(number))
            os.mkdir(trace)
            with open(trace + "/metadata", "w") as file:
                file.write(METADATA)
            with open(trace + "/cpu0", "wb") as file:
                file.write(struct.pack("<III", 0xc1fc1fc1, 0, 0) + b"".join(events))
            found = value_of(trace, t, path)
            failed += found != value
            print("%s: %s%s" % ("FAIL" if found != value else "PASS", name, ": %s, not %s" % (found, value) if found != value else ""))
    return 1 if failed else 0


sys.exit(main())

#!/usr/bin/python3
"""one_answer.py [YORE YORE_GEN]: headers of packets that lie give one answer, however it is asked for.

Each row makes a trace with yore-gen and changes fields of its packets' headers. The question is asked without an index, on one thread
and on four, with one, and with timelines that were made as a whole, by threads and in chunks. The answer without an index is the oracle, and
where a row says so has a known part. A prompt's answers are those of the same commands alone."""
import os, shlex, shutil, struct, subprocess, sys, tempfile

top = os.environ.get("top_builddir", ".")
yore, gen = (os.path.abspath(path) for path in sys.argv[1:3] or (top + "/yore", top + "/fixtures/yore-gen"))
work = tempfile.mkdtemp(prefix="yore-one-answer-")
OUT = os.path.join(work, "out")
ENVIRONMENT = dict(os.environ, TZ="UTC", ASAN_OPTIONS="exitcode=86",
                   YORE_LUA_DIR=os.path.abspath(os.path.join(os.environ.get("srcdir", "."), "lua-lib")))
PACKET = 4096
# Of yore-gen's header and context: stream's number, begin, end, CPU.
STREAM, BEGIN, END, CPU = (20, "<I"), (32, "<Q"), (40, "<Q"), (80, "<I")


class Trace:
    """A trace of two streams; packets are numbered, -1 is the last one."""

    def __init__(self, *more):
        self.path = os.path.join(work, "trace")
        shutil.rmtree(self.path, ignore_errors=True)
        subprocess.run([gen, "--out", self.path, "--no-truth", "--size", "40K", "--packet-size", str(PACKET), "--cpus", "2", *more],
                       check=True, stdout=subprocess.DEVNULL)

    def place(self, stream, packet):
        path = os.path.join(self.path, "channel0_%d" % stream)
        return path, packet % (os.path.getsize(path) // PACKET) * PACKET

    def get(self, stream, packet, field):
        path, at = self.place(stream, packet)
        with open(path, "rb") as file:
            file.seek(at + field[0])
            return struct.unpack(field[1], file.read(struct.calcsize(field[1])))[0]

    def put(self, stream, packet, field, value):
        path, at = self.place(stream, packet)
        with open(path, "r+b") as file:
            file.seek(at + field[0])
            file.write(struct.pack(field[1], value))

    def packets(self, stream):
        return os.path.getsize(self.place(stream, 0)[0]) // PACKET


def ends_early(trace):
    """The last whole packet of a stream is its last one, and claims to end a microsecond after it begins."""
    os.truncate(*trace.place(1, -1))
    trace.put(1, -1, END, trace.get(1, -1, BEGIN) + 1000)


def claims_later(trace):
    """A packet in the middle claims the time of the last one."""
    middle = trace.packets(1) // 2
    trace.put(1, middle, BEGIN, trace.get(1, -1, BEGIN))
    trace.put(1, middle, END, trace.get(1, -1, END))


def claims_earlier(trace):
    """The last packet claims the time of the first one."""
    trace.put(1, -1, BEGIN, trace.get(1, 0, BEGIN))
    trace.put(1, -1, END, trace.get(1, 0, END))


def other_cpus(trace):
    """Two packets of one stream claim a CPU that no stream is of, and the other stream's."""
    middle = trace.packets(1) // 2
    trace.put(1, middle, CPU, 7)
    trace.put(1, middle - 1, CPU, 0)


def shifted(trace):
    """Three bytes too many in front of the first event."""
    path, at = trace.place(0, 0)
    with open(path, "rb") as file:
        data = file.read()
    with open(path, "wb") as file:
        file.write(data[:at + CPU[0] + 3] + bytes(3) + data[at + CPU[0] + 3:])


def strays(trace):
    """A byte that ends a string goes, near the end of a packet: what follows is read as an event of a far later time."""
    path, at = trace.place(0, 0)
    with open(path, "r+b") as file:
        file.seek(at + 3963)
        file.write(b"~")


def strays_from_a_part(trace):
    """Text over events of the first of a stream's two packets, which ends in the first of two parts: some get a time behind all."""
    path, at = trace.place(0, 0)
    with open(path, "r+b") as file:
        file.truncate(at + 2 * PACKET)
        file.seek(at + 2360)
        file.write(b"A" * 512)


def strays_within_reach(trace):
    """An event of the last packet but one has a time behind all; the last packet begins before it, which hides it from a search there."""
    path, at = trace.place(1, 1)
    with open(path, "r+b") as file:
        content = bytearray(file.read())
        content[at + 44:at + 48] = b"\0\0\0\x08"
        content[at + 3931:at + 3931] = b"\0\0\0\0\0\0\0<"
        content[at + 5941:at + 5949] = b"\1\1\0\0\0\0\0\0"
        file.seek(0)
        file.write(content)


def unknown_streams(trace):
    for stream in (0, 1):
        trace.put(stream, 0, STREAM, 4711)


def unknown_parts(trace):
    """A folder of two such traces: rules have no stream to be compiled for."""
    unknown_streams(trace)
    whole = trace.path + "-part"
    os.rename(trace.path, whole)
    for part in ("a", "b"):
        shutil.copytree(whole, os.path.join(trace.path, part))
    shutil.rmtree(whole)


THREADS = ["state", "cpu[*]/thread"]
PART = ["--begin", "+10us", "--end", "+1h"]
ROWS = [  # name, yore-gen's options, what is changed, question, exit status, part of the answer
    ("events behind the end that their stream claims", [], ends_early, THREADS + PART, 0, b"cpu[1]/thread"),
    ("the same, all of the time", [], ends_early, THREADS, 0, b"cpu[1]/thread"),
    ("the same, where packets overlap", ["--overlap"], ends_early, THREADS + PART, 0, b"cpu[1]/thread"),
    ("a packet that claims a later time", [], claims_later, THREADS, 0, b"cpu[1]/thread"),
    ("a packet that claims an earlier time", [], claims_earlier, THREADS, 0, b"cpu[1]/thread"),
    ("packets that claim other CPUs", ["--cpus", "3"], other_cpus, ["at", "+400us", "cpu[*]/thread"], 0, b"cpu[7]/thread"),
    ("the same, a CPU of no stream", ["--cpus", "3"], other_cpus, ["at", "+400us", "cpu[7]/thread"], 0, b"cpu[7]/thread"),
    ("the same, another stream's CPU", ["--cpus", "3"], other_cpus, ["at", "+400us", "cpu[0]/thread"], 0, b"cpu[0]/thread"),
    ("the same, all of the time", ["--cpus", "3"], other_cpus, THREADS, 0, b"cpu[7]/thread"),
    ("the same, events of a CPU", ["--cpus", "3"], other_cpus, ["events", "--cpu", "7"], 0, b" cpu 7 "),
    ("the same, counted", ["--cpus", "3"], other_cpus, ["stats", "--cpu", "7", "--format", "json"], 0, b'"events":'),
    ("the same, by a condition", ["--cpus", "3"], other_cpus, ["events", "--where", "cpu == 7"], 0, b" cpu 7 "),
    ("conversion where a packet claims a later time", [], claims_later, ["convert", "OUT", "--to", "chrome"], 0, b"sched_switch"),
    ("conversion where events come late", ["--tasks", "3", "--ended-stream", "--mute", "0.05", "--seed", "6"], shifted,
     ["convert", "OUT", "--to", "chrome"], 3, b"sched_switch"),
    ("an event behind the end of the recording", ["--tasks", "3", "--ended-stream", "--mute", "0.05", "--seed", "6"], strays,
     ["sql", "SELECT * FROM state"], 3, b"7501312"),
    ("an event that lies in the second part, in a packet of the first", ["--overlap", "--seed", "2"], strays_from_a_part,
     ["sql", "SELECT * FROM state"], 3, b"6402111"),
    ("an event behind the end, in the last packet but one", ["--overlap", "--late-stream", "--seed", "5"], strays_within_reach,
     ["do", "sched_switch { @[tid, cpu] = count(); }"], 3, b"@[0, 1]: 5"),
    ("gaps of a trace in which events come late", ["--tasks", "3", "--ended-stream", "--mute", "0.05", "--seed", "6"], shifted,
     ["gaps"], 3, b"unknown"),
    ("all of the time as a range, where events come late", ["--tasks", "3", "--ended-stream", "--mute", "0.05", "--seed", "6"], shifted,
     ["state", "**", "--begin", "+0s", "--end", "-0s"], 3, b"cpu[1]/thread"),
    ("no stream that the metadata know", [], unknown_streams, ["longest", "thread[*]/state"], 1, b""),
    ("the same in two parts", [], unknown_parts, ["longest", "thread[*]/state"], 1, b""),
]
# What a prompt is asked, one after the other. Each answer is that of the command alone, whatever earlier ones read.
ASKED = [["longest", "cpu[*]/thread", "--limit", "1"], ["events", "--begin", "+10us", "--end", "-10us"],
         ["at", "-10us", "cpu[*]/thread"], ["events", "--reverse", "--limit", "400"], ["state", "cpu[*]/thread"],
         ["events", "--begin", "+10us", "--end", "-10us"], ["stats", "--begin", "+10us", "--end", "-10us"]]
PROMPTS = [  # name, yore-gen's options, what is changed
    ("prompt, where events lie behind a stream's end", [], ends_early),
    ("prompt, where a packet claims a later time", [], claims_later),
    ("prompt, where a packet claims an earlier time", [], claims_earlier),
    ("prompt, where packets overlap and one claims a later time", ["--overlap"], claims_later),
    ("prompt, where events come late", ["--tasks", "3", "--ended-stream", "--mute", "0.05", "--seed", "6"], shifted),
    ("prompt, where an event lies behind the end", ["--tasks", "3", "--ended-stream", "--mute", "0.05", "--seed", "6"], strays),
]
TIMELINES = {
    "an index": [[]],
    "timelines": [["--timelines", "--jobs", "1"]],
    "timelines by threads": [["--timelines", "--jobs", "4"]],
    "timelines through an exchange folder": [["--timelines", "--exchange", os.path.join(work, "exchange"), "--workers", "1"]],
}


def run(words, *options, given=""):
    words = [OUT if word == "OUT" else word for word in words]
    done = subprocess.run([yore, words[0], os.path.join(work, "trace"), *words[1:], *options], capture_output=True, timeout=60,
                          input=given.encode(), env=ENVIRONMENT)
    written = b""
    if OUT in words and os.path.exists(OUT):
        with open(OUT, "rb") as file:
            written = file.read()
        os.unlink(OUT)
    return done.returncode, done.stdout + written


def build(steps):
    """The options that name an index made by these steps."""
    folder = ["--index-dir", os.path.join(work, "index")]
    shutil.rmtree(folder[1], ignore_errors=True)
    shutil.rmtree(os.path.join(work, "exchange"), ignore_errors=True)
    for step in steps:
        run(["index"], *step, *folder)
    return folder


def differs(question, status, part):
    truth = run(question, "--no-index", "--jobs", "1")
    if truth[0] != status or part not in truth[1]:
        return "without an index: exit status %d: %r" % (truth[0], truth[1][:300])
    if run(question, "--no-index", "--jobs", "4") != truth:
        return "on 4 threads"
    for name, steps in TIMELINES.items():
        answer = run(question, *build(steps))
        if answer != truth:
            return "with %s: exit status %d: %r" % (name, answer[0], answer[1][:300])
    return None


def prompt_differs():
    truths = [run(question, "--no-index") for question in ASKED]
    for name, steps in {"no index": None, **TIMELINES}.items():
        options = ["--no-index"] if steps is None else build(steps)
        for first in range(len(ASKED)):
            asked = list(range(first, len(ASKED))) + list(range(first))
            answer = run(["repl"], *options, given="".join(shlex.join(ASKED[i]) + "\n" for i in asked))
            if answer[1] != b"".join(truths[i][1] for i in asked):
                return "with %s, from %s on" % (name, " ".join(ASKED[first]))
    return None


def tell(name, how):
    print("%s: %s%s" % ("FAIL" if how else "PASS", name, ": differs " + how if how else ""))
    return bool(how)


bad = 0
try:
    for name, options, change, question, status, part in ROWS:
        change(Trace(*options))
        bad += tell(name, differs(question, status, part))
    for name, options, change in PROMPTS:
        change(Trace(*options))
        bad += tell(name, prompt_differs())
finally:
    shutil.rmtree(work, ignore_errors=True)
sys.exit(1 if bad else 0)

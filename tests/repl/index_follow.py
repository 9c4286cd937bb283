#!/usr/bin/env python3
"""`yore index --follow --timelines`: what is stored of a trace that grows goes on with it, and answers as the trace does.

A writer copies a finished trace into a growing folder, packet by packet, with random pauses (follow.py). The indexer is killed
at random instants and started again. While the writer rests, readers in other processes ask with what is stored and with
--no-index, at random moments and at the ends of packets. When the recording has ended, all that is stored is compared with what a
fresh `yore index --timelines` of the finished trace stores. YORE_KEEPS says how often (10), YORE_KEEP_SECONDS for how long at
most (28), and up to eight times as long while nothing was answered by what is stored.
"""
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
import follow
import results
from relay import packets_of
from results import finish, result

KEEPS = int(os.environ.get("YORE_KEEPS", "10"))
SECONDS = float(os.environ.get("YORE_KEEP_SECONDS", "28"))
PATIENCE = max(0.4, 3 * results.startup())

# Many changes an event, so that a small trace has several slices.
RULES = """include linux
initial total = 0
event sched_switch
  was busy[section/cpu]/before = field/prev_tid
  total += 1
  delete busy[section/cpu]/odd when field/next_tid % 7 == 0
  busy[section/cpu]/odd = field/next_tid when field/next_tid % 2 == 1
""" + "".join("  busy[section/cpu]/v[%d] = field/next_tid * 100 + %d\n" % (i, i) for i in range(60))
PATHS = ("cpu[*]/thread", "cpu[0]/thread", "cpu[1]/thread", "thread[*]/state", "busy[0]/**", "busy[*]/odd", "total", "busy[*]/v[7]",
         "busy[1]/before", "thread[*]/name")
VARIANTS = (
    (),
    ("--flush", "0.3"),
    ("--ctf2", "--flush", "0.2"),
    ("--lose", "0.1"),
    ("--mute", "0.05"),
    ("--late-stream",),
    ("--ended-stream", "--large-headers"),
    ("--overlap",),
)


def yore(*words, status=(0,)):
    done = subprocess.run([results.yore, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode not in status:
        raise RuntimeError("%s: status %d: %s" % (" ".join(words), done.returncode, done.stderr.decode()))
    return done.stdout, done.stderr.decode()


class Indexer:
    def __init__(self, scene, *words):
        self.said = os.path.join(scene.work, "said")
        self.out = os.path.join(scene.work, "out")
        self.process = subprocess.Popen(
            [results.yore, "index", scene.growing, "--follow", "--timelines", *scene.stored, "--patience", "%dms" % (PATIENCE * 1000), *words, *os.environ.get("YORE_MORE", "").split()],
            stdout=open(self.out, "wb"), stderr=open(self.said, "ab"))

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self, seconds=results.HANGS):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return "it did not end"

    def messages(self):
        with open(self.said) as file:
            return file.read()


class Scene:
    """A finished trace, the one that grows, what is stored of it, and moments worth asking at."""

    def __init__(self, work, seed, options, size):
        self.rng = random.Random(seed)
        self.work = work
        self.finished, self.growing = follow.two_folders(work)
        self.folder = os.path.join(work, "index")
        for name in ("index", "fresh", "said"):
            path = os.path.join(work, name)
            shutil.rmtree(path, ignore_errors=True)
            if os.path.exists(path):
                os.unlink(path)
        follow.generate(self.finished, seed, "--size", size, "--packet-size", self.rng.choice(("2K", "4K", "16K")),
                        "--cpus", str(self.rng.randint(3 if "--late-stream" in options else 2, 4)), *options)
        self.rules = os.path.join(work, "many.rules")
        with open(self.rules, "w") as file:
            file.write(RULES)
        self.stored = ("--index-dir", self.folder, "--rules", self.rules)
        self.steps = follow.plan(self.rng, self.finished, "<", "--overlap" not in options or self.rng.random() < 0.5)
        os.makedirs(self.growing)
        self.edges = []
        for row in yore("sql", self.finished, "SELECT * FROM packets", "--no-index", "--format", "json")[0].splitlines():
            self.edges += [json.loads(row)["first"], json.loads(row)["last"]]
        first = min(packet.begin for name in os.listdir(self.finished) if name != "metadata"
                    for packet in packets_of(os.path.join(self.finished, name), "<"))
        self.clock = min(self.edges) - first  # what the clock's numbers lack to times
        self.asked = self.by_slices = 0
        self.bad = []

    def moments(self, last=None):
        edges = [t for t in self.edges if last is None or t <= last] or self.edges
        low, high = min(edges), max(edges)
        pick = [self.rng.choice(edges) + self.rng.choice((-1, 0, 1)) if self.rng.random() < 0.5 else self.rng.randint(low, high)
                for _ in range(3)]
        return sorted(pick + self.rng.choice(([], [low], [high], [high + 1])))

    def question(self, last=None):
        rng = self.rng
        times = self.moments(last)
        words = [rng.choice(PATHS) for _ in range(rng.randint(1, 2))]
        kind = rng.random()
        if kind < 0.5:
            return ["at", None, *["@%d" % t for t in times], *words, "--format", "json"]
        if kind < 0.9:
            return ["state", None, *words, "--begin", "@%d" % times[0], "--end", "@%d" % (times[-1] + 1), "--format", "json"]
        return ["timeline", None, words[0], "--width", "60"]

    def ask(self, trace, question, *more):
        words = [trace if word is None else word for word in question]
        out, said = yore(*words, "--rules", self.rules, "--stats", *more, status=(0, 1, 3))
        stats = [line for line in said.splitlines() if line.startswith("{")]
        # names beside values are another question, which looks near the rows
        out = re.sub(rb',"comm":"[^"]*"', b"", out)
        return out, json.loads(stats[-1])["evaluation"] if stats else "", said

    def compare(self, trace, others, last=None):
        question = self.question(last)
        got, by, said = self.ask(trace, question, "--index-dir", self.folder)
        self.asked += 1
        self.by_slices += by == "slices"
        for name, words in others:
            expected, _, _ = self.ask(name, question, *words)
            if got != expected:
                self.bad.append("%s by %s\ngot      %s\nexpected %s\n%s" % (question, by, got[:600], expected[:600], said))


def last_written(scene, folder):
    """The latest end of a packet that is there."""
    last = min(scene.edges)
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if name.startswith("channel") and os.path.getsize(path):
            try:
                last = max(last, max(packet.end for packet in packets_of(path, "<")) + scene.clock)
            except Exception:
                pass  # the last one is cut
    return last


def grow(scene, kills, questions):
    """Plays the recording; the indexer is killed and readers ask in between."""
    rng, steps = scene.rng, scene.steps
    begun = rng.choice((0, 0, rng.randint(0, len(steps) // 2)))
    for step in steps[:begun]:
        follow.write(scene.growing, step)
    indexer = Indexer(scene)
    places = sorted(rng.sample(range(begun + 1, len(steps)), kills + questions))
    killed = set(rng.sample(places, kills))
    asking = False
    pause = max(2.5, 15 * results.startup()) / len(steps)
    for i, step in enumerate(steps[begun:], begun):
        follow.write(scene.growing, step)
        if rng.random() < 0.5:
            time.sleep(rng.random() * pause * 4)
        if i in killed:
            indexer.kill()
            asking = rng.random() < 0.5
            if not asking:
                indexer = Indexer(scene)
        if i in places:
            time.sleep(rng.choice((0, PATIENCE)))
            scene.compare(scene.growing, [(scene.growing, ("--no-index",))], last_written(scene, scene.growing))
        if i in killed and asking:
            indexer = Indexer(scene)
    return indexer


def totals(out):
    return re.findall(rb"(\d+ changes? of state in \d+ slices?, \d+ bytes|no timelines)", out)


def keeping(work, seed):
    options = VARIANTS[seed % len(VARIANTS)]
    scene = Scene(work, seed, options, "500K")
    kills = seed % 3
    indexer = grow(scene, kills, 4)
    follow.mark_ended(scene.growing)
    status = indexer.end()
    with open(indexer.out, "rb") as file:
        out = file.read()
    fresh = os.path.join(work, "fresh")
    shutil.rmtree(fresh, ignore_errors=True)
    expected, _ = yore("index", scene.finished, "--timelines", "--jobs", "1", "--index-dir", fresh, "--rules", scene.rules)
    while_growing = scene.by_slices
    for _ in range(4):
        scene.compare(scene.growing, [(scene.finished, ("--index-dir", fresh)), (scene.finished, ("--no-index",))])
    packets = [yore("sql", trace, "SELECT stream, number, first, last, cpu, bytes, lost, seq, flags, at_offset FROM packets", "--index-dir", where)[0]
               for trace, where in ((scene.growing, scene.folder), (scene.finished, fresh))]
    if status:
        scene.bad.append("status %s" % status)
    if totals(out) != totals(expected) or not totals(out):
        scene.bad.append("%s, fresh: %s" % (totals(out), totals(expected)))
    same_files = all(open(os.path.join(scene.finished, name), "rb").read() == open(os.path.join(scene.growing, name), "rb").read()
                     for name in os.listdir(scene.finished))
    if packets[0] != packets[1] and same_files:
        scene.bad.append("packets differ: %d and %d bytes" % (len(packets[0]), len(packets[1])))
    why = "".join("seed %d %s, %d kills: %s\n%s\n" % (seed, options, kills, bad, indexer.messages()) for bad in scene.bad[:2])
    return why, scene.asked, while_growing, b"no timelines" not in out


def keepings(work):
    begun, bad, asked, by_slices, whole, count = time.monotonic(), [], 0, 0, 0, 0
    first = int(os.environ.get("YORE_KEEP_FIRST", "0"))

    def goes_on():
        took = time.monotonic() - begun
        return count < KEEPS and took < SECONDS or not bad and not (by_slices and whole * 2 > count) and took < 8 * SECONDS

    while goes_on():
        why, questions, stored, timelines = keeping(work, first + count)
        bad += [why] if why else []
        asked += questions
        by_slices += stored
        whole += timelines
        count += 1
    print("%d recordings in %.0f s: %d questions, %d of them answered from slices while it grew, %d with timelines, %d differ" % (
        count, time.monotonic() - begun, asked, by_slices, whole, len(bad)))
    result(not bad and asked >= count and by_slices > 0 and whole * 2 > count,
           "what is stored of a growing trace answers as the trace does", "\n".join(bad[:2]))


# ---- other formats, and folders of several traces


def answers(trace, paths, *more):
    return [yore("state", trace, path, "--format", "json", *more, status=(0, 1, 3))[0] for path in paths] + [
        yore("at", trace, "-1ms", path, "--format", "json", *more, status=(0, 1, 3))[0] for path in paths]


def recorded(work, name, growing, finished, paths, play, end, ends=True):
    """Follows `growing` while play() writes it, until end() says that it has ended, or Ctrl-C; then compares."""
    stored = ("--index-dir", os.path.join(work, "index"))
    shutil.rmtree(stored[1], ignore_errors=True)
    process = subprocess.Popen([results.yore, "index", growing, "--follow", "--timelines", *stored, "--patience", "300ms"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    bad = []
    for part in play:
        part()
        time.sleep(0.25)
        if answers(growing, paths[:1], *stored) != answers(growing, paths[:1], "--no-index"):
            bad.append("while it grew")
    end()
    if not ends:
        results.catches(process)
        results.rests(process)
        process.send_signal(signal.SIGINT)
    try:
        out, said = process.communicate(timeout=results.HANGS)
    except subprocess.TimeoutExpired:
        process.kill()
        out, said = process.communicate()
        bad.append("it did not end")
    if answers(growing, paths, *stored) != answers(finished, paths, "--no-index"):
        bad.append("when it had ended")
    if ends:
        again, _ = yore("index", growing, "--timelines", *stored, status=(0, 3))
        if out.splitlines()[1:] != again.splitlines()[1:]:
            bad.append("%s, then %s" % (out, again))
    result(not bad and process.returncode in ((0, 3) if ends else (130,)), "%s is followed" % name,
           "%s: status %s\n%s\n%s" % (bad, process.returncode, out.decode(), said.decode()))


def ovni(work):
    for name in ("nanos6", "multi-loom"):
        finished, growing = os.path.join(results.corpus, "ovni", name), os.path.join(work, "ovni")
        shutil.rmtree(growing, ignore_errors=True)
        late, steps, rng = [], [], random.Random(name)
        for folder, _, names in os.walk(finished):
            below = os.path.relpath(folder, finished)
            for one in names:
                data, path = open(os.path.join(folder, one), "rb").read(), os.path.join(below, one)
                if one == "stream.json":
                    follow.write(growing, (path, re.sub(rb'"finished":\s*1', b'"finished": 0', data)))
                    late.append((path, data))
                elif one == "stream.obs":
                    follow.write(growing, (path, data[:8]))
                    steps += [(path, piece) for piece in follow.pieces(rng, data[8:], 4)]
                else:
                    follow.write(growing, (path, data))

        def end():
            for path, data in late:
                with open(os.path.join(growing, path + ".new"), "wb") as file:
                    file.write(data)
                os.rename(os.path.join(growing, path + ".new"), os.path.join(growing, path))

        play = [lambda part=part: [follow.write(growing, step) for step in part] for part in (steps[: len(steps) // 2], steps[len(steps) // 2 :])]
        recorded(work, "ovni " + name, growing, finished, ("loom[*]/cpu[*]/nosv/subsystem", "**"), play, end)


def perf(work):
    trace = os.path.join(results.corpus, "perf-data", "switch-events", "perf.data")
    growing, data = os.path.join(work, "perf.data"), open(trace, "rb").read()
    (begin, size) = struct.unpack_from("<QQ", data, 40)
    with open(growing, "wb") as file:
        file.write(data[:48] + bytes(8) + data[56:72] + bytes(32) + data[104:begin])

    def put(piece):
        with open(growing, "ab") as file:
            file.write(piece)

    def end():
        put(data[begin + size :])
        with open(growing, "r+b") as file:
            file.write(data[:104])

    half = begin + size // 2
    recorded(work, "perf.data", growing, trace, ("cpu[*]/thread",), [lambda: put(data[begin:half]), lambda: put(data[half : begin + size])], end)


def recorder_pages(work):
    trace = os.path.join(follow.GOLDEN, "sched-ftrace", "trace.dat")
    finished, growing = follow.left_pages(work, trace, "finished"), os.path.join(work, "growing")
    shutil.rmtree(growing, ignore_errors=True)
    shutil.copytree(finished, growing)
    parts = [[], []]
    for name in os.listdir(finished):
        if ".cpu" in name:
            data = open(os.path.join(finished, name), "rb").read()
            open(os.path.join(growing, name), "wb").close()
            cut = len(data) // 2 // 4096 * 4096 + 1000
            for part, piece in zip(parts, (data[:cut], data[cut:])):
                part.append((name, piece))
    play = [lambda part=part: [follow.write(growing, step) for step in part] for part in parts]
    recorded(work, "a recorder's pages", growing, finished, ("cpu[*]/thread", "thread[*]/state"), play, lambda: None, ends=False)


def several(work):
    """A trace that turns up later gives the whole another name: what was stored of the first alone goes."""
    finished, growing = follow.two_folders(work)
    os.makedirs(finished)
    for i in range(2):
        follow.generate(os.path.join(finished, "trace%d" % i), 40 + i, "--size", "100K", "--packet-size", "4K", "--cpus", "2")
    play = [lambda i=i: shutil.copytree(os.path.join(finished, "trace%d" % i), os.path.join(growing, "trace%d" % i)) for i in range(2)]
    os.makedirs(growing)
    recorded(work, "a folder of several traces", growing, finished, ("cpu[*]/thread", "thread[*]/state"), play, lambda: follow.mark_ended(growing))
    rows = [json.loads(row) for row in yore("index", "--list", "--format", "json", "--index-dir", os.path.join(work, "index"))[0].splitlines()]
    result(len(rows) == 1 and not rows[0]["grows"], "and one trace is stored", rows)


# ---- what is said


def manners(work):
    finished, growing = follow.two_folders(work)
    follow.generate(finished, 3, "--size", "100K", "--packet-size", "4K", "--cpus", "2")
    shutil.copytree(finished, growing)
    folder = os.path.join(work, "index")
    shutil.rmtree(folder, ignore_errors=True)

    def begin():
        process = subprocess.Popen([results.yore, "index", growing, "--follow", "--timelines", "--index-dir", folder, "--patience", "200ms"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        results.catches(process)
        results.until(lambda: process.poll() is not None or rows(), pause=0.05)
        return process

    def rows():
        return yore("index", "--list", "--format", "json", "--index-dir", folder)[0]

    process = begin()
    results.rests(process)
    process.kill()
    process.communicate()
    path = os.path.join(growing, "channel0_0")
    data = open(path, "rb").read()
    with open(path, "r+b") as file:  # not appended to
        file.write(data[:2000] + bytes(300) + data[2300:])
    damaged = [yore("at", growing, "+1ms", "cpu[*]/thread", *words, status=(0, 3))[0] for words in (("--index-dir", folder), ("--no-index",))]
    with open(path, "r+b") as file:
        file.write(data)
    whole = [yore("at", growing, "+1ms", "cpu[*]/thread", *words)[0] for words in (("--index-dir", folder), ("--no-index",))]
    result(damaged[0] == damaged[1] and whole[0] == whole[1], "what was changed in its middle is read anew", damaged)
    process = begin()
    results.rests(process)
    listed, _ = yore("index", "--list", "--index-dir", folder)
    grows = json.loads(rows())["grows"]
    result(grows is True and b"(grows)" in listed, "--list shows a trace that is followed", listed)
    other = begin()
    said = results.hear(other, b"another process writes")
    other.send_signal(signal.SIGINT)
    said += other.communicate(timeout=results.HANGS)[1]
    result(b"another process writes" in said and other.returncode == 130, "a second one waits", said.decode())
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=results.HANGS)
    result(process.returncode == 130 and b"stored, the recording has come to" in said and not out, "Ctrl-C says how far it has come", said.decode())
    before = yore("at", growing, "+1ms", "cpu[*]/thread", "--index-dir", folder)
    result(before == yore("at", growing, "+1ms", "cpu[*]/thread", "--no-index"), "what is there stays of use", before)
    out, _ = yore("index", growing, "--timelines", "--index-dir", folder)
    result(totals(out) == totals(yore("index", finished, "--timelines", "--index-dir", folder)[0]), "the plain command finishes it", out)
    fifo = os.path.join(work, "fifo")
    os.mkfifo(fifo)
    for words, wanted in ((("-", "--follow"), "can be read once"), ((fifo, "--follow"), "can be read once"),
                          (("udp://:0", "--follow"), "can be read once"), ((growing, "--follow", "--drop"), "--drop"),
                          ((growing, "--follow", "--no-index"), "--no-index"), ((growing, "--patience", "1s"), "--patience needs --follow"),
                          ((growing, "--follow", "--timelines", "--exchange", "x"), "--exchange")):
        _, said = yore("index", *words, "--index-dir", folder, status=(1, 2))
        result(wanted in said, "refused: index " + " ".join(words[:3]).replace(work, ""), said)
    os.unlink(fifo)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        for check in (manners, several, recorder_pages):
            check(directory)
        results.corpus = os.environ.get("YORE_CORPUS", os.path.join(results.top, "..", "shared", "corpus"))
        if os.path.isdir(os.path.join(results.corpus, "perf-data")):
            for check in (ovni, perf):
                check(directory)
        else:
            print("SKIP: perf and ovni: no corpus at " + results.corpus)
        keepings(directory)
    finish()

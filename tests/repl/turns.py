#!/usr/bin/env python3
"""perf record --switch-output: the files of one recording, which a folder holds, are one trace.

Files are made here: of rings that are read to their end, and of rings that are overwritten (--overwrite), with threads that
begin, get another name and end, and synthesized records anew in each file. What the trace must say follows from what was
written. Where perf may record, its own files are compared with `perf script` of each of them. YORE_TURNS says how many
recordings are made (20).
"""
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
import results
from follow import PATIENCE, Follower
from results import finish, result

TURNS = int(os.environ.get("YORE_TURNS", "20"))
CPUS = 2
RING = 256 << 10  # bytes of a ring that is overwritten
IDS = (1000, 2000)  # of the first CPU's events; the next one's are one more
ROUND = struct.pack("<IHH", 68, 0, 8)
SAMPLE_ID_ALL, BACKWARD = 1 << 18, 1 << 27
TYPES = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 7 | 1 << 8 | 1 << 16  # ip, tid, time, cpu, period, identifier


def record(kind, body, misc=0):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def trailer(tid, when, cpu):
    return struct.pack("<IIQIIQ", tid, tid, when, cpu, 0, IDS[1] + cpu if when else 0)


def sample(when, cpu, tid):
    return record(9, struct.pack("<QQIIQIIQ", IDS[0] + cpu, 4096, tid, tid, when, cpu, 0, 1))


def comm(tid, name, when=0, cpu=0):
    text = name.encode() + b"\0"
    return record(3, struct.pack("<II", tid, tid) + text.ljust((len(text) + 7) // 8 * 8, b"\0") + trailer(tid, when, cpu))


def fork(tid, parent, when=0, cpu=0):
    return record(7, struct.pack("<IIIIQ", tid, parent, tid, parent, when) + trailer(tid, when, cpu))


def gone(tid, when, cpu):
    return record(4, struct.pack("<IIIIQ", tid, 1, tid, 1, when) + trailer(tid, when, cpu))


def lost(count, when, cpu):
    return record(2, struct.pack("<QQ", IDS[0] + cpu, count) + trailer(0, when, cpu))


def head(data_bytes, backward=False, first_id=IDS[0], zeros=False):
    """The head of a file, its attributes and their numbers; zeros: as it is until perf ends the file."""
    flags = SAMPLE_ID_ALL | (BACKWARD if backward else 0)
    numbers = [[first_id + cpu for cpu in range(CPUS)], [IDS[1] + cpu for cpu in range(CPUS)]]
    attributes, ids, at = b"", b"", 104 + 2 * (128 + 16)
    for kind, config, own in ((1, 0, numbers[0]), (1, 9, numbers[1])):
        packed = b"".join(struct.pack("<Q", number) for number in own)
        attributes += struct.pack("<IIQQQQQ", kind, 128, config, 1, TYPES, 4, flags).ljust(128, b"\0")
        attributes += struct.pack("<QQ", at + len(ids), len(packed))
        ids += packed
    begin = at + len(ids)
    top = struct.pack("<8sQQQQQQQQQQQQ", b"PERFILE2", 104, 144, 104, len(attributes), begin, data_bytes, 0, 0, 0, 0, 0, 0)
    return bytes(104) + attributes + ids if zeros else top + attributes + ids


class Recording:
    """What happened, the bytes of each turn, and what must be found."""

    def __init__(self, seed, overwrite):
        self.rng, self.overwrite = random.Random(seed), overwrite
        self.turns, self.samples, self.losses = [], [], []
        self.names = []  # of each turn: its least and last time, and who is alive then
        self.now, self.alive, self.next_tid = 1000000000, {1: "init", 2: "other"}, 100
        self.last = [None] * CPUS  # times that the turns before have reached
        for turn in range(self.rng.randint(2, 5)):
            made = self.synthesized()
            rings = [[] for _ in range(CPUS)]
            for _ in range(self.rng.randint(40, 12000 if overwrite else 900)):
                self.happen(rings)
            if overwrite:
                data = self.dump(rings, turn) + ROUND + self.synthesized()
            else:
                data = made + self.drain(rings)
            self.turns.append(data)
            times = [item[0] for ring in rings for item in ring]
            self.names.append((min(times), max(times), dict(self.alive)))
            for cpu, ring in enumerate(rings):
                self.samples += [item[2] for item in ring if item[2]]
                self.last[cpu] = ring[-1][0] if ring else self.last[cpu]

    def synthesized(self):
        return b"".join(fork(tid, 1) + comm(tid, name) for tid, name in self.alive.items())

    def happen(self, rings):
        """One more event, or what perf records beside them: (time, record, the sample or None)."""
        rng, alive = self.rng, self.alive
        self.now += rng.randint(1000, 100000)
        now, cpu, what = self.now, rng.randrange(CPUS), rng.random()
        ring = rings[cpu]
        tid = rng.choice(list(alive))
        if what < 0.01:
            tid, self.next_tid = self.next_tid, self.next_tid + 1
            alive[tid] = "born%d" % tid
            ring += [(now, fork(tid, 1, now, cpu), None), (now, comm(tid, alive[tid], now, cpu), None)]
        elif what < 0.02 and tid > 2:
            alive[tid] = "name%d" % rng.randrange(5)
            ring.append((now, comm(tid, alive[tid], now, cpu), None))
        elif what < 0.025 and tid > 2:
            del alive[tid]
            ring.append((now, gone(tid, now, cpu), None))
        elif what < 0.03 and not self.overwrite:
            count = rng.randint(1, 9)
            before = ring[-1][0] if ring else self.last[cpu]
            self.losses.append((cpu, now if before is None else before, now, count))
            ring.append((now, lost(count, now, cpu), None))
        else:
            ring.append((now, sample(now, cpu, tid), (now, cpu, tid)))

    def dump(self, rings, turn):
        """What is left in rings that are overwritten, newest first."""
        data = b""
        for cpu, ring in enumerate(rings):
            size = first = 0
            for first in range(len(ring), -1, -1):
                if first == 0 or size + len(ring[first - 1][1]) > RING:
                    break
                size += len(ring[first - 1][1])
            del ring[:first]
            least = 4096
            while least < size:
                least *= 2
            # the trace does not say how large the ring was: only much room shows that it was not full
            if turn and ring and least - size <= 65535:
                self.losses.append((cpu, self.last[cpu], ring[0][0], None))
            data += b"".join(item[1] for item in reversed(ring))
        return data

    def drain(self, rings):
        """What rings bring that are read again and again."""
        data, at = b"", [0] * CPUS
        while any(at[cpu] < len(rings[cpu]) for cpu in range(CPUS)):
            begin = min(ring[at[cpu]][0] for cpu, ring in enumerate(rings) if at[cpu] < len(ring))
            until = begin + self.rng.randint(100000, 3000000)
            for cpu, ring in enumerate(rings):
                while at[cpu] < len(ring) and ring[at[cpu]][0] <= until:
                    data += ring[at[cpu]][1]
                    at[cpu] += 1
            data += ROUND
        return data

    def file(self, turn):
        return head(len(self.turns[turn]), self.overwrite) + self.turns[turn]

    def headless(self, turn):
        return head(0, self.overwrite, zeros=True) + self.turns[turn]

    def write(self, folder, count=None):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        for turn in range(len(self.turns))[:count]:
            put(folder, stamped(turn), self.file(turn))
        return folder


def stamped(turn, name="perf.data"):
    return "%s.20261128220449%02d" % (name, turn)


def put(folder, name, data):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)


def end_file(folder, whole):
    """Writes the head of perf.data over its zeros, as perf does when it ends a file; no other byte of it changes."""
    with open(os.path.join(folder, "perf.data"), "r+b") as file:
        file.write(whole[:104])


def asked(*words):
    done = subprocess.run([results.yore, *words, "--no-index"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def rows_of(folder, *words):
    return [json.loads(line) for line in asked("events", folder, "--format", "json", *words)[1].splitlines()]


# ---- what was written is what is read


def compare(recording, folder):
    """Why the trace does not say what was recorded; "": it does."""
    status, text, said = asked("info", folder, "--format", "json")
    if status:
        return "info: status %d: %s" % (status, said)
    info = json.loads(text)
    names = sorted(stream["name"] for stream in info["streams"])
    if names != ["cpu%d" % cpu for cpu in range(CPUS)] + ["side"]:
        return "streams %s" % names
    found = [(row["ts"], row["cpu"], row["context"]["tid"]) for row in rows_of(folder, "--name", "cpu-clock*")]
    if sorted(found) != sorted(recording.samples):
        return "%d samples, of %d" % (len(found), len(recording.samples))
    if [row[0] for row in found] != sorted(row[0] for row in found):
        return "samples are not in order"
    losses = [(stream["cpu"], row["ts"], row["until"], row["events"]) for stream in info["streams"] for row in stream["losses"]]
    if sorted(losses, key=str) != sorted(recording.losses, key=str):
        return "losses %s, not %s" % (losses, recording.losses)
    for _, last, alive in recording.names:
        told = thread_names(folder, last)
        wrong = {tid: (name, told.get(tid)) for tid, name in alive.items() if told.get(tid) != name}
        if wrong:
            return "names at %d: %s" % (last, wrong)
    return ""


def thread_names(folder, when):
    rows = map(json.loads, asked("at", folder, "@%d" % when, "thread[*]/name", "--format", "json")[1].splitlines())
    return {int(row["path"].split("[")[1].split("]")[0]): row["value"] for row in rows}


def made(work):
    for overwrite in (False, True):
        bad, count = [], 0
        for seed in range(TURNS):
            recording = Recording(seed, overwrite)
            why = compare(recording, recording.write(os.path.join(work, "turns")))
            count += len(recording.losses)
            if why:
                bad.append("seed %d: %s" % (seed, why))
        result(not bad and count, "%d recordings in turns%s" % (TURNS, ", overwritten" if overwrite else ""), "\n".join(bad[:3]))


class Small:
    """A recording of three turns that is written by hand; overwrite: synthesized records stand at the end of each."""

    def __init__(self, bodies, overwrite=False):
        self.turns, self.overwrite = bodies, overwrite

    file, headless, write = Recording.file, Recording.headless, Recording.write


def names(work):
    """What a later file tells holds from where that file begins; what was told before is told once."""
    folder = os.path.join(work, "names")
    Small([comm(1, "init") + sample(1000, 0, 1) + comm(1, "renamed", 1100, 0) + sample(1200, 0, 1) + ROUND,
           comm(1, "renamed") + comm(7, "late") + sample(2000, 1, 7) + sample(2100, 0, 1) + ROUND,
           comm(1, "init") + comm(7, "late") + sample(3000, 0, 1) + ROUND]).write(folder)
    told = [(row["ts"], row["fields"]["tid"], row["fields"]["comm"]) for row in rows_of(folder, "--name", "perf_comm")]
    result(told == [(None, 1, "init"), (1100, 1, "renamed"), (2000, 7, "late"), (3000, 1, "init")],
           "names of later files begin with their file", told)
    found = {when: thread_names(folder, when) for when in (1050, 1999, 2000, 2999, 3000)}
    result(found == {1050: {1: "init"}, 1999: {1: "renamed"}, 2000: {1: "renamed", 7: "late"},
                     2999: {1: "renamed", 7: "late"}, 3000: {1: "init", 7: "late"}}, "and answers follow them", found)
    # a number that was given again
    Small([comm(9, "first") + sample(1000, 0, 9) + gone(9, 1100, 0) + ROUND, fork(9, 1) + comm(9, "first") + sample(2000, 0, 9) + ROUND]).write(folder)
    told = [row["ts"] for row in rows_of(folder, "--name", "perf_comm")]
    result(told == [None, 2000], "a thread that has ended is told anew", told)


def full(work):
    """A ring that has room for more was not overwritten, and what lies between its turns is whole."""
    folder = os.path.join(work, "full")
    for count, holes in ((2700, 0), (4600, 1)):  # of 56 bytes: 151,200 and 257,600
        ring = b"".join(sample(10000000 - i * 1000, 0, 1) for i in range(count))
        Small([sample(1000, 0, 1) + ROUND + comm(1, "init"), ring + ROUND + comm(1, "init")], True).write(folder)
        info = json.loads(asked("info", folder, "--format", "json")[1])
        found = [(row["ts"], row["until"], row["events"]) for stream in info["streams"] for row in stream["losses"]]
        result(found == [(1000, 10000000 - (count - 1) * 1000, None)] * holes, "a ring of %d records: %d holes" % (count, holes), found)


def unfinished(work):
    folder = os.path.join(work, "unfinished")
    recording = Recording(3, False)
    recording.write(folder, -1)
    last = len(recording.turns) - 1
    put(folder, "perf.data", recording.headless(last))
    status, _, said = asked("info", folder)
    found = [(row["ts"], row["cpu"], row["context"]["tid"]) for row in rows_of(folder, "--name", "cpu-clock*")]
    result(status == 3 and "its head is all zeros" in said and sorted(found) == sorted(recording.samples),
           "the file that perf was writing when it was killed", "%d of %d\n%s" % (len(found), len(recording.samples), said))
    put(folder, "perf.data", b"")
    status, _, said = asked("info", folder)
    result(status == 3 and "its head is all zeros" in said, "and one with nothing in it yet", "%s %s" % (status, said))


def refused(work):
    folder = os.path.join(work, "refused")
    recording = Recording(3, False)
    turns = len(recording.turns)
    for name, data, words in (
        (stamped(turns), head(0, first_id=5000), "is of another recording than"),
        (stamped(turns), recording.file(0), "is of an earlier time than the file before it"),
        (stamped(turns), b"PERF", "is no perf.data"),
        (stamped(0, "other.data"), recording.file(0), "are of different recordings"),
        ("perf.data", head(0, first_id=5000), "is of another recording than"),
    ):
        recording.write(folder)
        put(folder, name, data)
        status, text, said = asked("info", folder)
        result(status == 1 and words in said and said.count("\n") == 1 and not text, "refused: %s, %s" % (name, words), "%s %s" % (status, said))
    recording.write(folder)
    put(folder, "perf.data.old", recording.file(0))
    put(folder, "notes.txt", b"a flight recorder")
    result(compare(recording, folder) == "", "other files of the folder are left alone", compare(recording, folder))
    one = os.path.join(folder, stamped(0))
    rows = rows_of(one, "--name", "cpu-clock*")
    result(0 < len(rows) < len(recording.samples), "one file of it is opened alone", len(rows))


def followed(work):
    """As perf writes it: the file of the turn has no head until it gets its name."""
    for overwrite in (False, True):
        finished, growing = os.path.join(work, "finished"), os.path.join(work, "growing")
        recording = Recording(11, overwrite)
        recording.write(finished)
        expected = asked("events", finished, "--name", "cpu-clock*")[1].encode()
        shutil.rmtree(growing, ignore_errors=True)
        os.makedirs(growing)
        follower = Follower(work, growing, "--name", "cpu-clock*")
        early = 0
        for turn in range(len(recording.turns)):
            data, at = recording.headless(turn), 0
            while at < len(data):
                step = random.Random(at).choice((100, 1000, 30000))
                with open(os.path.join(growing, "perf.data"), "ab") as file:
                    file.write(data[at : at + step])
                at += step
                time.sleep(0.002)
            end_file(growing, recording.file(turn))
            os.rename(os.path.join(growing, "perf.data"), os.path.join(growing, stamped(turn)))
            if turn + 1 < len(recording.turns):
                put(growing, "perf.data", b"")
                follower.until(1, 0.1 if turn + 2 < len(recording.turns) else PATIENCE / 2)
                early = len(follower.rows())
        status = follower.wait()
        got = follower.rows()
        result(status == 0 and got == expected and (early or len(recording.turns) < 3), "followed%s" % (", overwritten" if overwrite else ""),
               "status %s, %d early, %d of %d bytes, differ from %d\n%s" % (status, early, len(got), len(expected),
               len(os.path.commonprefix([got, expected])), follower.messages()))


def recorded(work):
    """perf's own files: what it prints of each of them is in the trace, once."""
    for what, words in (("", []), (", overwritten", ["--overwrite", "-m", "4"]), (", compressed", ["-z"])):
        folder = os.path.join(work, "recorded")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        done = subprocess.run(["perf", "record", "-q", "-a", "-e", "sched:sched_switch", "--switch-output=1s", "-o", os.path.join(folder, "perf.data"),
                               *words, "--", "sleep", "2.5"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        files = sorted(os.listdir(folder))
        if done.returncode or len(files) < 2:
            print("SKIP: perf may not record here" + what)
            return
        wanted = []
        for name in files:
            printed = subprocess.run(["perf", "script", "--ns", "-F", "cpu,time,event", "-i", os.path.join(folder, name)],
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()
            # [001] 47564.956840790: sched:sched_switch:
            wanted += [(int(cpu[1:-1]), int(when[:-1].replace(".", ""))) for cpu, when, _ in map(str.split, printed.splitlines())]
        status, _, said = asked("info", folder)
        rows = rows_of(folder, "--name", "sched:sched_switch")
        found = [(row["cpu"], row["ts"]) for row in rows]
        if "compressed" in what:  # perf 6.1 reads the first file alone
            good = set(wanted) < set(found) and len(set(found)) == len(found)
        else:
            good = sorted(wanted) == sorted(found)
        result(good and status == 0 and wanted, "as perf prints them: %d files%s" % (len(files), what),
               "status %s, %d rows of %d\n%s" % (status, len(found), len(wanted), said))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        for check in (made, names, full, unfinished, refused, followed):
            check(directory)
        if shutil.which("perf"):
            recorded(directory)
        else:
            print("SKIP: no perf")
    finish()

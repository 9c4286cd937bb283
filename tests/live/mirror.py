#!/usr/bin/env python3
"""The mirror of a session is the session: a relay of our own serves traces under all minors, by random paces, and misbehaves.

What the relay published is what must be in the folder, byte for byte: packets at their offsets, entries of indexes, metadata;
`yore events` of both must be equal, and babeltrace2 must read it. LIVE_SEEDS: how many random paces (40).
"""
import concurrent.futures
import json
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "repl"))
import results
from made_relay import ENTRY, HEADER, ATTACH, CONNECT, INDEX, METADATA, PACKET, SESSIONS, STREAMS, Packet, Pace, Relay, Session, Stream, Trace, trace_of_folder
from results import finish
from terminal import Terminal

GEN = os.path.join(os.environ.get("top_builddir", "."), "fixtures", "yore-gen")
SEEDS = int(os.environ.get("LIVE_SEEDS", "40"))


LOCK = threading.Lock()


def result(good, name, why=""):
    with LOCK:  # rows of several threads, a line each
        results.result(good, name, why)


def yore(*words, timeout=results.HANGS):
    done = subprocess.run([results.yore, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def generate(folder, seed, *options):
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    subprocess.run(
        [GEN, "--out", folder, "--seed", str(seed), "--index", "--no-truth", *options], check=True, stdout=subprocess.DEVNULL)
    return folder


def slowly(seconds):
    """A limit of some seconds, in which yore may begin forty times."""
    return max(seconds, 40 * results.startup())


# What must be there


def expected(session):
    """Files of the mirror, by their path in it."""
    out = {}
    for trace in session.traces:
        if trace.known():
            out[trace.path + "/metadata"] = trace.known()
        for stream in trace.streams:
            for turn, packets in enumerate(stream.turns):
                if not packets:
                    continue
                name = stream.channel + (".%d" % turn if turn else "")
                data = bytearray()
                for packet in packets:
                    data.extend(bytes(max(0, packet.offset - len(data))))
                    data[packet.offset : packet.offset + len(packet.data)] = packet.data
                out["%s/%s" % (trace.path, name)] = bytes(data)
                out["%s/index/%s.idx" % (trace.path, name)] = HEADER + b"".join(p.entry() for p in packets)
    return out


def found(folder):
    out = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                data = file.read()
            if data or name == "metadata":  # an empty file is a stream that brought nothing
                out[os.path.relpath(path, folder)] = data
    mark = out.pop(".yore-mirror", None)
    out.pop(".yore-beacons", None)
    return out, mark


def difference(folder, session):
    """What is wrong with the mirror; empty: nothing is."""
    is_there, mark = found(folder)
    wanted = expected(session)
    out = [] if mark else ["no mark"]
    out += ["%s is missing" % path for path in sorted(wanted.keys() - is_there.keys())]
    out += ["%s is too much" % path for path in sorted(is_there.keys() - wanted.keys())]
    for path in sorted(wanted.keys() & is_there.keys()):
        if wanted[path] != is_there[path]:
            out.append("%s: %d bytes, not %d" % (path, len(is_there[path]), len(wanted[path])))
    return "; ".join(out[:5])


def same_events(folder, session):
    """The events of the mirror are those of the folder that the session was made of, as the test would write it."""
    with tempfile.TemporaryDirectory() as other:
        for path, data in expected(session).items():
            os.makedirs(os.path.dirname(os.path.join(other, path)), exist_ok=True)
            with open(os.path.join(other, path), "wb") as file:
                file.write(data)
        a, b = (yore("events", place, "--no-index", "--format", "json") for place in (folder, other))
        return a[:2] == b[:2] and (a[1] != "" or not any(t.streams for t in session.traces))


# Scenes


def shifted(packets, at):
    """The same packets, their offsets from 0 on: as in another file."""
    return [Packet((p.offset - at, *p.members[1:]), p.data) for p in packets]


def cut_turns(stream, rng, count):
    """The stream's packets in several files, as limited trace files and clears have them."""
    packets = stream.turns[0]
    cuts = sorted(rng.sample(range(1, len(packets)), min(count - 1, len(packets) - 1))) if len(packets) > 1 else []
    parts = [packets[a:b] for a, b in zip([0, *cuts], [*cuts, len(packets)])]
    stream.turns = [shifted(part, part[0].offset) for part in parts if part]


def cut_metadata(trace, rng, count):
    """In pieces that appear while packets come."""
    whole, total = trace.metadata[0][0], sum(len(t) for s in trace.streams for t in s.turns)
    cuts = sorted(rng.randrange(1, len(whole)) for _ in range(count))
    trace.metadata = [(whole[a:b], 0) for a, b in zip([0, *cuts], [*cuts, len(whole)])]
    trace.metadata = [(text, 0 if i == 0 else rng.randrange(total // 2 + 1)) for i, (text, _) in enumerate(trace.metadata)]
    trace.metadata.sort(key=lambda item: item[1]) if False else None
    latest = 0
    for i, (text, after) in enumerate(trace.metadata):  # in their order
        latest = max(latest, after)
        trace.metadata[i] = (text, latest)


def random_session(work, seed):
    rng = random.Random(seed)
    options = rng.choice([(), ("--ctf2",), ("--big-endian",), ("--text-metadata",), ("--ctf2", "--text-metadata"), ("--flush", "0.3")])
    traces = []
    for i in range(rng.choice([1, 1, 2])):
        folder = generate("%s/source%d" % (work, i), seed * 10 + i, "--size", "60K", "--packet-size", "2K", "--cpus", "3", *options)
        trace = trace_of_folder(folder, ["ust/uid/%d/64-bit", "ust/pid/app-%d-20261128-190306", "kernel%d"][i % 3] % (1000 + i))
        cut_metadata(trace, rng, rng.choice([0, 0, 2, 5]))
        for stream in trace.streams:
            if rng.random() < 0.3:
                stream.appears = rng.randrange(10)
            if rng.random() < 0.3:
                cut_turns(stream, rng, rng.choice([2, 3]))
        if all(s.appears for s in trace.streams):
            trace.streams[0].appears = 0
        traces.append(trace)
    return Session("vm", "s%d" % seed, traces, ctf2="--ctf2" in options), rng


def random_pace(rng, session):
    minor = 15 if session.ctf2 else rng.randrange(4, 16)
    return minor, Pace(
        publish=rng.choice([0.1, 0.5, 0.9]), retry=rng.choice([0, 0.3]), inactive=rng.random(), drop=rng.choice([0, 0, 0.01]),
        half=rng.choice([0, 0, 0.01]), dribble=rng.choice([0, 0, 0.2]), empty_metadata=rng.choice([0, 0.3]),
        no_metadata=rng.choice([0, 0.3]), flag_once=rng.random() < 0.3, rotating=rng.choice([0, 0, 0.2]),
        packet_retry=rng.choice([0, 0, 0.2]), already=rng.choice([0, 0, 0, 1]), index_errors=rng.choice([0, 0, 0, 1]),
        packet_errors=rng.choice([0, 0, 0, 1]), metadata_after_end=rng.random() < 0.8)


def mirror(relay, folder, *words, session=None, timeout=results.HANGS):
    return yore("attach", relay.url(session), folder, "--format", "json", *words, timeout=timeout)


def check(name, relay, session, folder, status, said, events=True, wanted=0):
    wrong = []
    if status != wanted:
        wrong.append("exit status %d: %s" % (status, said.strip()[-400:]))
    if relay.violations:
        wrong.append("the viewer must not: " + ", ".join(relay.violations[:3]))
    wrong += [difference(folder, session)] if difference(folder, session) else []
    if not wrong and events and not same_events(folder, session):
        wrong.append("other events")
    result(not wrong, name, "; ".join(wrong))
    return not wrong


def one_pace(work, seed):
    place = os.path.join(work, "seed%d" % seed)
    session, rng = random_session(place, seed)
    minor, pace = random_pace(rng, session)
    with Relay([session], seed=seed, minor=minor, pace=pace) as relay:
        status, _, said = mirror(relay, place + "/mirror")
        check("pace %d, minor %d" % (seed, minor), relay, session, place + "/mirror", status, said)
    shutil.rmtree(place, ignore_errors=True)


class Follower:
    """`yore events FOLDER --follow`; its rows in a file."""

    def __init__(self, folder, *words, patience="60s", rows="rows"):
        self.path = folder + "-" + rows
        with open(self.path, "wb") as out:
            self.process = subprocess.Popen([results.yore, "events", folder, "--follow", "--patience", patience, "--format", "json", *words],
                                            stdout=out, stderr=subprocess.PIPE)

    def lines(self, cut=False):
        """`cut`: a last line without its end is left out."""
        with open(self.path, encoding="utf-8") as file:
            text = file.read()
        return (text[: text.rfind("\n") + 1] if cut else text).splitlines()

    def until(self, ready, seconds=results.HANGS):
        results.until(lambda: ready() or self.process.poll() is not None, seconds, 0.005)
        return ready()

    def wait(self, seconds=results.HANGS):
        """The exit status, and what it said."""
        try:
            said = self.process.communicate(timeout=seconds)[1].decode()
        except subprocess.TimeoutExpired:
            self.process.kill()
            said = "it did not end: " + self.process.communicate()[1].decode()
        return self.process.returncode, said


def whole_rows(folder):
    return yore("events", folder, "--no-index", "--format", "json")[1].splitlines()


def idle(work):
    """Streams that are idle, one with packets later and one without any, hold nothing back: the relay's beacons say so."""
    session, folder = plain(work, "idle")
    busy, late = session.traces[0].streams
    late.turns = [shifted(late.turns[0][-3:], late.turns[0][-3].offset)]
    never = Stream("never_0", [[]])
    session.traces[0].streams.append(never)
    os.makedirs(folder)
    relay = Relay([session], pace=Pace(inactive=1, publish=0.5))
    relay.paused.add(late.id)
    with relay:
        mirrored = subprocess.Popen([results.yore, "attach", relay.url(), folder], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        follower = Follower(folder)
        follower.until(busy.finished)
        begun, first = time.monotonic(), late.next_begin()
        before = sum(packet.members[4] < first for packet in busy.turns[0])  # packets whose rows are final now
        with tempfile.TemporaryDirectory() as other:
            part = Stream(busy.channel, [busy.turns[0][:before]])
            for path, data in expected(Session("vm", "s", [Trace(session.traces[0].path, session.traces[0].metadata, [part])])).items():
                os.makedirs(os.path.dirname(os.path.join(other, path)), exist_ok=True)
                with open(os.path.join(other, path), "wb") as file:
                    file.write(data)
            wanted = len(whole_rows(other))
        came = follower.until(lambda: len(follower.lines()) >= wanted, 50)
        took = time.monotonic() - begun
        result(came and before > 2 and took < slowly(5), "rows come while other streams are idle", "%d of %d rows in %.1f s" % (len(follower.lines()), wanted, took))
        tells_live(folder, session, late)
        relay.paused.clear()
        said = mirrored.communicate(timeout=results.HANGS)[1].decode()
        status, noted = follower.wait()
        result((mirrored.returncode, status) == (0, 0) and follower.lines() == whole_rows(folder) and "brings nothing" not in noted and "late" not in noted,
               "and are those of the whole mirror", "%s %s" % (said, noted))


def live_of(*words):
    """The member of `yore info --format json`, and its text."""
    status, out, said = yore("info", *words, "--no-index", "--format", "json")
    text = yore("info", *words, "--no-index")
    return json.loads(out).get("live") if status in (0, 3) else {"status": status, "said": said}, text[1] + text[2]


def tells_live(folder, session, late):
    """`yore info` says how far a recording has come: of a mirror, and of a folder in which nothing says what an idle stream has."""
    # the last beacon of the stream that is empty is on its way
    results.until(lambda: (live_of(folder)[0] or {}).get("holding") == 1, pause=0.05)
    live, text = live_of(folder)
    given = [stream.turns[0][: stream.published[1]] for stream in session.streams()]
    packets, size = sum(map(len, given)), sum(len(packet.data) for stream in given for packet in stream)
    good = live and (live["packets"], live["bytes"], live["lost"]) == (packets, size, 0)
    # the stream that has packets later has nothing up to the first of them, and others have come further
    good = good and live["holding"] == 1 and live["held_by"] == "ust/uid/0/64-bit/" + late.channel and live["final"] < live["reached"] and live["written"] >= 0
    good = good and time.time_ns() - live["reached"] >= live["behind"] > time.time_ns() - live["reached"] - 60 * 10**9
    result(good and "\nfinal      what is before " in text and "behind the wall clock" in text, "info of a mirror says how far it has come", "%s %s" % (live, text))
    shown = Terminal([results.yore, folder, "--no-index"])
    banner = shown.wait("yore> ") or ""
    shown.keys("quit\r")
    status = shown.all()[1]
    result("the recording goes on: %d packets, %d bytes, " % (packets, size) in banner and status == 0, "so does the prompt of a mirror", banner)
    with tempfile.TemporaryDirectory() as other:
        for path, data in found(folder)[0].items():
            os.makedirs(os.path.dirname(os.path.join(other, path)), exist_ok=True)
            with open(os.path.join(other, path), "wb") as file:
                file.write(data + (late.turns[0][0].data[:100] if path.endswith(session.streams()[0].channel) else b""))
        with open(os.path.join(other, session.traces[0].path, late.channel), "wb"):
            pass
        live, text = live_of(other, "--live")
        result(live and live["packets"] == packets and live["final"] is None and live["held_by"].endswith("/" + late.channel) and "\nfinal      nothing: " in text
               and "damage" not in text, "info --live of a folder that grows", "%s %s" % (live, text))
        result(live_of(other)[0] is None, "and without --live nothing is said")


def over(work):
    """A stream that was hung up holds nothing back, and what comes of others then is shown, until the session ends."""
    session, folder = plain(work, "over")
    ended, going = session.streams()
    ended.turns = [ended.turns[0][:2]]
    os.makedirs(folder)
    with Relay([session], minor=14, pace=Pace(publish=0.5)) as relay:
        relay.early, relay.paused = {ended.id}, set()
        last = going.turns[0][-1]
        going.turns = [going.turns[0][:-1]]
        going.finished = lambda: False
        mirrored = subprocess.Popen([results.yore, "attach", relay.url(), folder], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        follower = Follower(folder)
        follower.until(lambda: going.published[1] == len(going.turns[0]))
        begun = time.monotonic()
        there = len(whole_rows(folder)) if follower.until(lambda: not difference(folder, session), 50) else 0
        came = follower.until(lambda: len(follower.lines()) >= there > 0, 50)
        result(came and time.monotonic() - begun < slowly(10), "rows come after a stream is over", "%d rows of %d" % (len(follower.lines()), there))
        with relay.lock:
            going.turns[0].append(last)
            del going.finished
        mirrored.communicate(timeout=results.HANGS)
        status, noted = follower.wait()
        result((mirrored.returncode, status) == (0, 0) and follower.lines() == whole_rows(folder) and "late" not in noted,
               "and are those of the whole mirror, where one was over", noted)


def at_once(act, items):
    """Most of their time mirrors wait."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(act, items))


def begin_late(session):
    """Streams that appear later have what came later: else what a follower shows before it knows of them is too early."""
    for stream in session.streams():
        packets = stream.turns[0]
        if stream.appears and len(packets) > 2:
            rest = packets[len(packets) // 2 :]
            stream.turns[0] = shifted(rest, rest[0].offset)
            stream.since = rest[0].members[3]
        stream.appears = 0


def followed(work, seed):
    place = os.path.join(work, "followed%d" % seed)
    session = plain(work, "followed%d" % seed)[0] if seed < 4 else random_session(place, seed)[0]
    begin_late(session)
    minor, pace = random_pace(random.Random(seed), session)
    pace.inactive = max(pace.inactive, 0.5)
    os.makedirs(place + "/mirror")
    with Relay([session], seed=seed, minor=minor, pace=pace) as relay:
        follower = Follower(place + "/mirror", "--quiet")
        status, _, said = mirror(relay, place + "/mirror")
        ended, noted = follower.wait()
    rows, wanted = follower.lines(), whole_rows(place + "/mirror")
    result((status, ended) == (0, 0) and rows == wanted and rows, "a mirror is followed to its end, pace %d" % seed,
           "%d, %s; follower %d, %d of %d lines: %s" % (status, said[-200:], ended, len(rows), len(wanted), noted[-300:]))


def follows(work):
    """A follower of a mirror ends with it, and has printed what is there in the end."""
    at_once(lambda seed: followed(work, seed), range(max(8, SEEDS // 2)))


def random_paces(work):
    at_once(lambda seed: one_pace(work, seed), range(SEEDS))


def plain(work, name, *options, size="40K"):
    """A session of one trace, and the folder for its mirror."""
    place = os.path.join(work, name.replace("/", "-"))
    shutil.rmtree(place, ignore_errors=True)
    folder = generate(place + "/source", 1, "--size", size, "--packet-size", "2K", "--cpus", "2", *options)
    return Session("vm", "s", [trace_of_folder(folder, "ust/uid/0/64-bit")]), place + "/mirror"


def row(work, name, change=None, pace=None, minor=13, hostile=None, events=True, wanted=0, options=(), words=(), before=None):
    session, folder = plain(work, name, *options)
    if change:
        change(session)
    with Relay([session], minor=minor, pace=pace, hostile=hostile) as relay:
        if before:
            before(relay, session)
        status, _, said = mirror(relay, folder, *words)
        check(name, relay, session, folder, status, said, events, wanted)
        return status, said


def minors(work):
    for minor in range(4, 16):
        row(work, "minor %d" % minor, minor=minor)
    row(work, "minor 16, which there is not yet", minor=16)
    row(work, "CTF 2, minor 15", minor=15, options=("--ctf2",), change=lambda s: setattr(s, "ctf2", True))
    session, folder = plain(work, "hidden", "--ctf2")
    session.ctf2 = True
    with Relay([session], minor=13) as relay:
        status, _, said = mirror(relay, folder)
        result(status == 1 and "no session s of host vm" in said, "CTF 2 is hidden below minor 15", said)


# Traps


def late_metadata(session):
    session.traces[0].metadata = [(session.traces[0].metadata[0][0], 0)]


def hangs_up_at_once(session):
    session.traces[0].streams.append(Stream("empty_0", [[]]))


def restart_metadata(session, again):
    """After some packets the relay gives all metadata anew."""
    trace = session.traces[0]
    trace.restarts = [(3, [(again(trace.metadata[0][0]), 0)])]


def without_metadata(session):
    """The session is closed before any of it came."""
    session.traces[0].metadata = [(b"", 0)]
    session.traces[0].streams = [Stream("a_0", [[]])]


def clear(relay, session):
    """After a few packets earlier files are gone: what a viewer has not seen is lost to it."""

    def tick(_):
        for stream in session.streams():
            if stream.published[0] == 1 and stream.first_turn == 0 and len(stream.turns) > 1:
                stream.first_turn = 1

    relay.ticks.append(tick)


def traps(work):
    row(work, "before the first flush metadata and indexes say later", pace=Pace(publish=0.05, inactive=0),
        change=lambda s: setattr(s.traces[0], "metadata", [(s.traces[0].metadata[0][0], 0)]))
    row(work, "a stream hangs up before its first index", change=hangs_up_at_once)
    row(work, "beacons carry flags, and no stream class", pace=Pace(inactive=1, publish=0.2),
        change=lambda s: setattr(s.traces[0].streams[1], "appears", 2))
    row(work, "new streams are flagged once", pace=Pace(flag_once=True, inactive=1, publish=0.2),
        change=lambda s: setattr(s.traces[0].streams[1], "appears", 3))
    row(work, "attach during a rotation gives no stream", pace=Pace(rotating=0.6))
    row(work, "metadata of 0 bytes means later", pace=Pace(empty_metadata=0.7))
    row(work, "metadata says that there is none, and has it", pace=Pace(no_metadata=0.7))
    row(work, "a packet is to be asked for later", pace=Pace(packet_retry=0.5))
    row(work, "another viewer goes away", pace=Pace(already=2))
    row(work, "an index fails once: attach again", pace=Pace(index_errors=1))
    row(work, "a packet fails once: attach again", pace=Pace(packet_errors=1))
    row(work, "replies in small pieces", pace=Pace(dribble=1))
    row(work, "dropped connections", pace=Pace(drop=0.02))
    row(work, "connections end within replies", pace=Pace(half=0.02))
    row(work, "limited trace files begin offsets anew", change=lambda s: [cut_turns(t, random.Random(1), 3) for t in s.streams()])
    row(work, "a clear begins offsets anew, and earlier packets stay", pace=Pace(publish=0.2), before=clear,
        change=lambda s: [cut_turns(t, random.Random(2), 2) for t in s.streams()])
    row(work, "metadata is given again", change=lambda s: restart_metadata(s, lambda text: text))
    row(work, "metadata is given again, and is longer", options=("--text-metadata",),
        change=lambda s: restart_metadata(s, lambda text: text + b"\n/* more */\n"))
    row(work, "metadata is given again, and is another one", options=("--text-metadata",),
        change=lambda s: restart_metadata(s, lambda text: text.replace(b"/* CTF 1.8 */", b"/* CTF 1.8 */ /* made anew */", 1)))
    row(work, "the metadata's stream is never gone", pace=Pace(metadata_after_end=False))
    status, said = row(work, "a session ends before any metadata", change=without_metadata, events=False)


def ghost(work):
    """Streams that say later for ever after clear and destroy: the list of sessions ends it."""
    session, folder = plain(work, "ghost")
    session.traces[0].streams.append(Stream("never_0", [[]]))
    never = session.traces[0].streams[-1]
    never.finished = lambda: session.closed and False
    relay = Relay([session], pace=Pace(inactive=0))
    relay.ticks.append(lambda _: setattr(session, "closed", all(s.finished() for s in session.streams() if s is not never)))
    with relay:
        status, _, said = mirror(relay, folder)
        check("a stream that says later for ever ends with the list of sessions", relay, session, folder, status, said)


def early(work):
    """A stream ends before its session: relays before 2.14 may have left out its last packets."""
    for minor in (13, 14):
        session, folder = plain(work, "early")
        ended = session.traces[0].streams[0]
        with Relay([session], minor=minor, pace=Pace(publish=1)) as relay:
            relay.early = {ended.id}
            begun = time.monotonic()
            session.streams()[1].finished = lambda: time.monotonic() - begun > 2.5
            status, _, said = mirror(relay, folder)
            check("a stream ends before the session, minor %d" % minor, relay, session, folder, status, said)
            result(("may give the last packets of such streams to nobody" in said) == (minor == 13), "which is told, minor %d" % minor, said)


def lost(work):
    """A packet that the tracer lost is told, although an index of form 1.0 has no sequence numbers: the packets have."""
    session, folder = plain(work, "lost")
    stream = session.traces[0].streams[0]
    packets, at = [], 0
    for i, packet in enumerate(stream.turns[0]):
        if i != 3:
            packets.append(Packet((at, *packet.members[1:]), packet.data))
            at += len(packet.data)
    stream.turns = [packets]
    with Relay([session]) as relay:
        status, _, said = mirror(relay, folder)
        check("a stream that lacks a packet", relay, session, folder, status, said)
    status, out, said = yore("info", folder, "--no-index", "--format", "json")
    result(status == 0 and '"packets":1,"first":3,"last":3' in out, "which is told", out + said)


def full(work):
    """Files may not grow: the mirror says where and ends, and goes on when they may."""
    session, folder = plain(work, "full", "--text-metadata", size="200K")
    with Relay([session]) as relay:
        limit = max(len(session.traces[0].metadata[0][0]), 8192) + 100
        done = subprocess.run(
            [results.yore, "attach", relay.url(), folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=results.HANGS, check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        result(done.returncode == 1 and b"channel0_" in done.stderr and b"File too large" in done.stderr and b"tried again" not in done.stderr,
               "a full disk ends it", "%d %s" % (done.returncode, done.stderr))
        session.closed = False
        status, _, said = mirror(relay, folder)
        check("and the same command goes on", relay, session, folder, status, said)


def progress(work):
    session, folder = plain(work, "progress")
    with Relay([session]) as relay:
        relay.hold, relay.pace.publish = True, 0.0
        process = subprocess.Popen([results.yore, "attach", "--progress", relay.url(), folder], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        said = results.hear(process, b"yore: progress: 0 packets, ")
        process.send_signal(signal.SIGTERM)
        said += process.communicate(timeout=results.HANGS)[1]
        result(b"yore: progress: 0 packets, " in said and process.returncode == -signal.SIGTERM, "progress, and SIGTERM",
               "%d %s" % (process.returncode, said))


def never_given(work):
    """A packet that the relay cannot give leaves a hole; the others are at their offsets."""
    session, folder = plain(work, "hole")
    stream = session.traces[0].streams[0]
    lost = stream.turns[0][2]
    with Relay([session]) as relay:
        relay.never.add((stream.id, lost.offset))
        status, out, said = mirror(relay, folder)
        kept = [p for p in stream.turns[0] if p is not lost]
        turns, stream.turns = stream.turns, [kept]
        wrong = difference(folder, session)
        result(status == 3 and not wrong and '"missing":1' in out and "does not give the packet" in said,
               "a packet that is never given leaves a hole", "%d %s %s" % (status, wrong, said))
        # and is filled when the relay has it after all
        stream.turns, relay.never = turns, set()
        session.closed = False
        with open(folder + "/.yore-mirror", "r+", encoding="ascii") as mark:
            text = mark.read().replace("\nended", "\nnot ended")
            mark.seek(0)
            mark.write(text)
            mark.truncate()
        relay.hold, relay.ticks = False, [lambda r: None]
        status, out, said = mirror(relay, folder)
        check("and is filled when it is given later", relay, session, folder, status, said)


def several(work):
    """The kernel's and the user's session of one name are two at the relay; a third one begins later."""
    place = os.path.join(work, "several")
    sessions = []
    for i, path in enumerate(("kernel", "ust/uid/0/64-bit", "ust/uid/0/32-bit")):
        folder = generate("%s/source%d" % (place, i), 5 + i, "--size", "40K", "--packet-size", "2K", "--cpus", "2")
        sessions.append(Session("vm", "s", [trace_of_folder(folder, path)]))
    other = Session("vm", "other", [trace_of_folder(place + "/source0", "kernel")])
    sessions[2].hidden = True
    last = sessions[0].streams()[0]  # whose session does not end before the late one is there
    last.finished = lambda: sessions[2].attached is not None and Stream.finished(last)
    with Relay(sessions + [other], slow=0.01) as relay:
        relay.hold = False

        def appear(r):
            if sessions[0].traces[0].packets > 3:
                sessions[2].hidden = False

        relay.ticks.append(appear)
        keep = relay.tick
        status, _, said = mirror(relay, place + "/mirror")
        everything = Session("vm", "s", [s.traces[0] for s in sessions])
        check("all sessions of that name, the late one, too", relay, everything, place + "/mirror", status, said)
        assert keep


def same_path(work):
    """Two sessions of one name have traces of one path: a folder for each, also when the mirror is run again."""
    place = os.path.join(work, "same")
    sessions = []
    for i in range(2):
        folder = generate("%s/source%d" % (place, i), 8 + i, "--size", "40K", "--packet-size", "2K", "--cpus", "2")
        sessions.append(Session("vm", "s", [trace_of_folder(folder, "ust/uid/0/64-bit")]))
    # yore-gen gives all traces one UUID: another one for the second
    trace = sessions[1].traces[0]
    uuid = trace.metadata[0][0][4:20]
    trace.metadata = [(trace.metadata[0][0].replace(uuid, bytes(range(100, 116))), 0)]
    with Relay(sessions) as relay:
        status, _, said = mirror(relay, place + "/mirror")
    trees = found(place + "/mirror")[0]
    wrong = status != 0
    for path, data in expected(sessions[0]).items():
        one, two = trees.get(path), trees.get(path.replace("64-bit/", "64-bit-2/"))
        wrong |= data not in (one, two)
    for path, data in expected(sessions[1]).items():
        one, two = trees.get(path), trees.get(path.replace("64-bit/", "64-bit-2/"))
        wrong |= data not in (one, two)
    result(not wrong, "two traces of one path are not mixed", said)


# Kills


def beacons(folder):
    """What the mirror's file says of streams: cycles, by the path of their file."""
    out = {}
    try:
        with open(folder + "/.yore-beacons", "rb") as file:
            lines = file.read().split(b"\n")
    except FileNotFoundError:
        return out
    for line in lines[1:-1]:
        check, said = line[:16], line[17:]
        hashed = 0xCBF29CE484222325
        for byte in said:
            hashed = (hashed ^ byte) * 0x100000001B3 % 2**64
        if check == b"%016x" % hashed:
            out[said[17:].decode()] = int(said[:16], 16)
    return out


def promises(folder, session):
    """Streams of which a beacon promises that nothing comes, and packets come that are not in the folder."""
    said, out = beacons(folder), []
    for trace in session.traces:
        for stream in trace.streams:
            path, there = trace.path + "/" + stream.channel, 0
            for turn in range(len(stream.turns)):
                try:
                    size = os.path.getsize("%s/%s/index/%s%s.idx" % (folder, trace.path, stream.channel, ".%d" % turn if turn else ""))
                    there += max(0, size - len(HEADER)) // ENTRY.size
                except FileNotFoundError:
                    pass
            rest = [packet for turn in stream.turns for packet in turn][there:]
            if path in said and rest and said[path] > rest[0].members[3]:
                out.append("%s: %d packets, %d" % (path, there, said[path]))
    return out


def resumes(work):
    """The mirror is killed at random moments and run again; the relay goes away and comes back."""
    begins = results.startup()
    pause = max(0.002, begins / 70)  # of the relay, so that it has more than the mirror takes before it is killed
    for seed in range(max(4, SEEDS // 8)):
        rng = random.Random(seed)
        broken, told = [], 0
        session, folder = plain(work, "kills", size="120K")
        if seed % 2:
            for stream in session.streams():
                cut_turns(stream, rng, 3)
        with Relay([session], seed=seed, slow=pause) as relay:
            kills = 0
            while kills < 12:
                process = subprocess.Popen([results.yore, "attach", relay.url(), folder], stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL)
                try:
                    process.wait(begins + rng.uniform(0.005, max(0.12, begins)))
                    break
                except subprocess.TimeoutExpired:
                    if kills >= 8 and not told:
                        results.until(lambda: process.poll() is not None or beacons(folder))
                    process.send_signal(signal.SIGKILL)
                    process.wait()
                    kills += 1
                    broken += promises(folder, session)
                    told += len(beacons(folder))
                    relay.slow = pause * (1 + kills / 2)
                    session.closed = False
            status, _, said = mirror(relay, folder) if process.returncode else (0, "", "")
            check("killed %d times, seed %d" % (kills, seed), relay, session, folder, status, said)
            result(not broken and told, "no beacon promises more than is there, seed %d" % seed, "%d beacons, %s" % (told, broken[:3]))


def survive(work, seed):
    """One follower goes on while the mirror is killed and run again, connections are dropped and the relay goes away; another one is
    killed and begins anew, with the same rows."""
    rng = random.Random(1000 + seed)
    name = "survives%d" % seed
    if seed % 2:
        session, folder = random_session(os.path.join(work, name), seed)[0], os.path.join(work, name, "mirror")
        begin_late(session)
    else:
        session, folder = plain(work, name, size="120K")
    os.makedirs(folder)
    pace = Pace(drop=0.01, half=0.01, inactive=0.7, packet_retry=0.05)
    minor = 15 if session.ctf2 else 13
    begins = results.startup()
    pause = max(0.002, begins / 70)
    relay = Relay([session], seed=seed, minor=minor, pace=pace, slow=pause)
    port, kills, restarts, wrong = relay.port, 0, 0, []
    follower, second = Follower(folder, "--quiet"), Follower(folder, "--quiet", rows="second")
    earlier = []
    try:
        while kills < 12:
            process = subprocess.Popen([results.yore, "attach", relay.url(), folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                process.wait(begins + rng.uniform(0.01, max(0.3, begins)))
                break
            except subprocess.TimeoutExpired:
                pass
            if kills % 4 == 3:  # the relay goes away, and is back with what it had
                relay.close()
                session.attached, session.closed = None, False
                time.sleep(rng.uniform(0, 0.2))
                relay, restarts = Relay([session], seed=seed + kills, minor=minor, pace=pace, slow=relay.slow, port=port), restarts + 1
                time.sleep(rng.uniform(0, 0.2))
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
            relay.slow = pause * (1 + kills / 2)
            session.closed = False
            wrong += promises(folder, session)
            if kills % 3 == 0:
                second.process.kill()
                second.process.wait()
                earlier.append(second.lines(cut=True))
                second = Follower(folder, "--quiet", rows="second")
        status = mirror(relay, folder)[0] if process.returncode else 0
        ended = [one.wait() for one in (follower, second)]
    finally:
        relay.close()
        for one in (follower, second):
            if one.process.poll() is None:
                one.process.kill()
    rows = whole_rows(folder)
    good = status == 0 and [e[0] for e in ended] == [0, 0] and rows and not wrong
    result(good and follower.lines() == rows, "a follower outlives %d kills of the mirror and %d of the relay, seed %d" % (kills, restarts, seed),
           "%d %s, %d rows of %d, %s" % (status, ended, len(follower.lines()), len(rows), wrong[:3]))
    result(second.lines() == rows and all(part == rows[: len(part)] for part in earlier), "a follower that was killed %d times begins anew, seed %d" % (
        len(earlier), seed), "%d rows of %d, %s" % (len(second.lines()), len(rows), [len(part) for part in earlier]))


def survives(work):
    at_once(lambda seed: survive(work, seed), range(max(4, SEEDS // 8)))


def relay_returns(work):
    """The relay is gone for a while, and back with what it had."""
    session, folder = plain(work, "returns", size="120K")
    relay = Relay([session], slow=0.01)
    process = subprocess.Popen([results.yore, "attach", relay.url(), folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    results.until(lambda: session.traces[0].packets > 0)
    port = relay.port
    relay.close()
    time.sleep(0.5)
    session.attached, session.closed = None, False
    ids = [(t.id, t.metadata_id) for t in session.traces]
    relay = Relay([session], port=port)
    assert ids == [(t.id, t.metadata_id) for t in session.traces]
    with relay:
        out, said = process.communicate(timeout=results.HANGS)
        ok = b"connected again" in said
        check("the relay goes away and comes back", relay, session, folder, process.returncode if ok else -1, said.decode())
    assert out


def interrupted(work):
    session, folder = plain(work, "interrupted")
    with Relay([session]) as relay:
        relay.hold = True
        relay.pace.publish = 0.0
        process = subprocess.Popen([results.yore, "attach", relay.url(), folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        results.until(lambda: relay.asked.get(INDEX))
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=results.HANGS)
        relay.asked.clear()
        result(process.returncode == 130 and b"the same command goes on" in said and b"has not ended" in out,
               "Ctrl-C ends it and says how to go on", "%d %s" % (process.returncode, said))
        second = subprocess.Popen([results.yore, "attach", relay.url(), folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        results.until(lambda: relay.asked.get(INDEX))
        status, _, said = mirror(relay, folder)
        result(status == 1 and "another yore mirrors into it" in said, "one mirror writes a folder", said)
        relay.hold, relay.pace.publish = False, 0.5
        second.communicate(timeout=results.HANGS)
        check("and goes on", relay, session, folder, second.returncode, "")
        status, out, said = mirror(relay, folder)
        result(status == 0 and "which ended" in said, "a mirror that is complete is left alone", said)


def gone(work):
    """The session is no more when the mirror is run again: what is unknown is told."""
    session, folder = plain(work, "gone", size="120K")
    with Relay([session], slow=0.02) as relay:
        process = subprocess.Popen([results.yore, "attach", relay.url(), folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        results.until(lambda: session.traces[0].packets > 0)
        process.kill()
        process.wait()
        session.closed = True
        status, _, said = mirror(relay, folder)
        result(status == 1 and "is not known" in said, "a session that ended meanwhile is told", "%d %s" % (status, said))


# yore live


def children_of(pid):
    out = []
    for name in os.listdir("/proc"):
        try:
            with open("/proc/%s/stat" % name, encoding="ascii", errors="replace") as file:
                words = file.read().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue
        if name.isdigit() and int(words[1]) == pid and words[0] != "Z":
            out.append(int(name))
    return out


def are_gone(pids, seconds=60):
    end = time.monotonic() + seconds
    while any(os.path.exists("/proc/%d" % pid) and children_state(pid) != "Z" for pid in pids) and time.monotonic() < end:
        time.sleep(0.02)
    return not any(os.path.exists("/proc/%d" % pid) and children_state(pid) != "Z" for pid in pids)


def children_state(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "Z"


def live(work):
    """A mirror in a folder that goes, and a command or the prompt on it."""
    temporary = os.path.join(work, "temporary")
    os.makedirs(temporary, exist_ok=True)
    environment = dict(os.environ, TMPDIR=temporary)

    def run(*words):
        done = subprocess.run([results.yore, "live", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=results.HANGS, env=environment)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    session, folder = plain(work, "live")
    whole = whole_rows(os.path.dirname(folder) + "/source")
    wanted = [{key: value for key, value in json.loads(line).items() if key != "stream"} for line in whole]
    shown = lambda out: [{key: value for key, value in json.loads(line).items() if key != "stream"} for line in out.splitlines()]
    with Relay([session]) as relay:
        status, out, said = run(relay.url(), "events", "--follow", "--patience", "60s", "--format", "json")
        result(status == 0 and shown(out) == wanted and not os.listdir(temporary), "live: a command that follows has all rows",
               "%d %d of %d %s %s" % (status, len(out.splitlines()), len(whole), said, os.listdir(temporary)))
    kept = folder + "-kept"
    session, folder = plain(work, "live")
    with Relay([session]) as relay:
        status, out, said = run("--into", kept, relay.url(), "events", "--follow", "--format", "json", "--limit", "5")
        result(status == 0 and shown(out) == wanted[:5] and os.path.exists(kept + "/.yore-mirror"), "live --into keeps the folder", "%d %s" % (status, said))
        session.closed = False
        status, _, said = mirror(relay, kept)
        check("and attach goes on with it", relay, session, kept, status, said)
    session, folder = plain(work, "live")
    with Relay([session]) as relay:
        relay.ticks.append(lambda r: setattr(r, "hold", session.traces[0].packets >= 4))
        terminal = Terminal([results.yore, "live", relay.url()], environment={"TMPDIR": temporary})
        banner = terminal.wait("yore> ") or ""
        results.until(lambda: session.traces[0].packets >= 4)
        terminal.keys("\x03")  # of the prompt alone: the mirror goes on
        terminal.wait("yore> ")
        relay.ticks.clear()
        relay.hold = False
        results.until(lambda: all(stream.finished() for stream in session.streams()))
        count = yore("events", os.path.dirname(folder) + "/source", "--count", "--no-index")[1].strip()

        def has_all():
            terminal.keys("refresh\r")
            terminal.wait("yore> ")
            terminal.keys("events --count\r")
            return "\n%s\n" % count in (terminal.wait("yore> ") or "")

        time.sleep(0.5)
        results.until(has_all, pause=0.2)  # what the relay has given is on its way into the folder
        terminal.keys("quit\r")
        text, status = terminal.all()
        result("the recording goes on: " in banner + text and "\n%s\n" % count in text and status == 0 and not os.listdir(temporary), "live opens the prompt",
               "%d %s %s %s" % (status, count, os.listdir(temporary), (banner + text)[-800:]))
    for name, number, wanted_status in (("Ctrl-C", signal.SIGINT, 130), ("SIGTERM", signal.SIGTERM, -signal.SIGTERM), ("SIGKILL", signal.SIGKILL, -signal.SIGKILL)):
        session, folder = plain(work, "live")
        with Relay([session]) as relay:
            relay.ticks.append(lambda r, s=session: setattr(r, "hold", s.traces[0].packets >= 6))
            rows = folder + "-rows"
            with open(rows, "wb") as out:
                process = subprocess.Popen([results.yore, "live", relay.url(), "events", "--follow", "--format", "json"], stdout=out,
                                           stderr=subprocess.PIPE, env=environment, start_new_session=True)
            results.until(lambda: os.path.getsize(rows) and session.traces[0].packets >= 6)
            time.sleep(0.2)
            results.until(lambda: len(children_of(process.pid)) == 2, 20)
            children = children_of(process.pid)
            if number == signal.SIGINT:
                os.killpg(process.pid, number)  # as a terminal does
            else:
                process.send_signal(number)
            process.wait(results.HANGS)
            gone_all = are_gone(children)
            left = os.listdir(temporary)
            result(process.returncode == wanted_status and len(children) == 2 and gone_all and (not left or number == signal.SIGKILL),
                   "live is ended by " + name, "%s %s %s %s" % (process.returncode, children, gone_all, left))
            for path in left:
                shutil.rmtree(os.path.join(temporary, path), ignore_errors=True)
    status, out, said = run("net://127.0.0.1:1/host/a/b", "events", "--follow")
    result(status == 1 and "Connection refused" in said and not os.listdir(temporary), "live: nobody listens", "%d %s" % (status, said))
    status, out, said = run("net://127.0.0.1:1/host/a/b")
    result(status == 1 and "Connection refused" in said and not os.listdir(temporary), "live: nobody listens, the prompt", "%d %s" % (status, said))
    for words, text in ((("net://127.0.0.1:1",), "names no session"), (("net://127.0.0.1:1/host/a/b", "--follow"), "no such option of live"),
                        (("net://127.0.0.1:1/host/a/b", "--", "--follow"), "a command comes before its options")):
        status, out, said = run(*words)
        result(status == 2 and text in said and not os.listdir(temporary), "live: a mistake: " + text, "%d %s" % (status, said))


# Hostile relays


def hostile_rows(work):
    def says(command, data):
        return lambda asked, _payload: data if asked == command else None

    def stream(path, channel, metadata=0, number=1):
        return struct.pack(">QQI", number, 1, metadata) + path.ljust(4096, b"\0") + channel.ljust(255, b"\0")

    huge = 2**32 - 1
    rows = [
        ("another major", CONNECT, struct.pack(">QIII", 1, 3, 0, 0)),
        ("a minor without attach", CONNECT, struct.pack(">QIII", 1, 2, 3, 0)),
        ("four billion sessions", SESSIONS, struct.pack(">I", huge)),
        ("a status that is none, attach", ATTACH, struct.pack(">II", 77, 0)),
        ("four billion streams", ATTACH, struct.pack(">II", 1, huge)),
        ("a name without an end", ATTACH, struct.pack(">II", 1, 1) + struct.pack(">QQI", 1, 1, 0) + b"a" * 4351),
        ("a stream without a name", ATTACH, struct.pack(">II", 1, 1) + stream(b"ust", b"")),
        ("a name that is too long for a file", ATTACH, struct.pack(">II", 1, 1) + stream(b"ust", b"\1" * 250)),
        ("metadata of 2^63 bytes", METADATA, struct.pack(">QI", 2**63, 1)),
        ("a status that is none, metadata", METADATA, struct.pack(">QI", 0, 9)),
        ("a packet of 2^60 bytes", INDEX, ENTRY.pack(0, 2**63, 8, 0, 0, 0, 0) + struct.pack(">II", 1, 0)),
        ("a packet of no bytes", INDEX, ENTRY.pack(0, 0, 0, 0, 0, 0, 0) + struct.pack(">II", 1, 0)),
        ("a packet of 3 bits", INDEX, ENTRY.pack(0, 3, 3, 0, 0, 0, 0) + struct.pack(">II", 1, 0)),
        ("more content than packet", INDEX, ENTRY.pack(0, 800, 808, 0, 0, 0, 0) + struct.pack(">II", 1, 0)),
        ("a packet at 2^63", INDEX, ENTRY.pack(2**63, 800, 800, 0, 0, 0, 0) + struct.pack(">II", 1, 0)),
        ("a first packet at 2^50", INDEX, ENTRY.pack(2**50, 800, 800, 0, 0, 0, 0) + struct.pack(">II", 1, 0)),
        ("a status that is none, index", INDEX, ENTRY.pack(0, 800, 800, 0, 0, 0, 0) + struct.pack(">II", 99, 0)),
        ("more bytes than were asked for", PACKET, struct.pack(">III", 1, huge, 0)),
        ("a status that is none, packet", PACKET, struct.pack(">III", 0, 0, 0)),
        ("a status that is none, new streams", STREAMS, struct.pack(">II", 9, 0)),
        ("bytes that nobody asked for", STREAMS, struct.pack(">II", 1, 0) + b"more than that"),
    ]
    def ask(item):
        name, command, data = item
        session, folder = plain(work, "hostile " + name)
        with Relay([session], hostile=says(command, data), pace=Pace(publish=1)) as relay:
            begun = time.monotonic()
            status, out, said = mirror(relay, folder, "--retry", "1" if command in (CONNECT, INDEX) else "0")
            took = time.monotonic() - begun
            result(status == 1 and took < slowly(8) and "127.0.0.1:%d" % relay.port in said,
                   "hostile: " + name, "%d after %.1f s: %s %s" % (status, took, out, said))

    at_once(ask, rows)


def hostile_names(work):
    """Names that lead elsewhere become names of files in the folder."""
    names = [("../../out", "../../../etc_0"), ("/abs/./path//", "/tmp/x"), ("a", "metadata"), ("a/index", "index"), ("q/metadata", "b"),
             ("..", "..x"), ("", ".hidden"), ("a\n\x1b[2J", "c\td"), ("b", "ch0_0.1"), ("b", "ch0_0"), ("%2e%2e", "%2F")]
    place = os.path.join(work, "names")
    shutil.rmtree(place, ignore_errors=True)
    source = trace_of_folder(generate(place + "/source", 1, "--size", "20K", "--packet-size", "2K", "--cpus", "1"), "a")
    traces = [Trace(path, list(source.metadata), [Stream(channel, [list(source.streams[0].turns[0])])]) for path, channel in names]
    for i, trace in enumerate(traces):  # or two traces of one path would be one trace
        trace.metadata = [(trace.metadata[0][0].replace(trace.metadata[0][0][4:20], bytes([i] * 16)), 0)]
    session = Session("vm", "s", traces)
    deep = place + "/d1/d2/d3"
    os.makedirs(deep)
    before = sorted(os.listdir("/tmp")) if os.path.isdir("/tmp") else []
    with Relay([session]) as relay:
        status, out, said = mirror(relay, deep + "/mirror")
    outside = [name for parent in (place, place + "/d1", place + "/d1/d2", deep) for name in os.listdir(parent)
               if name not in ("source", "d1", "d2", "d3", "mirror")]
    files = sorted(path for path in found(deep + "/mirror")[0] if "/index/" not in path and not path.endswith("/metadata"))
    strange = [path for path in files if "\n" in path or "\x1b" in path or "/." in path or path.startswith(".")]
    packets = sum(len(s.turns[0]) for s in session.streams())
    result(status == 0 and not outside and not strange and len(files) == len(names) and '"packets":%d,' % packets in out,
           "names of a relay stay in the folder", "%d outside %s strange %s %d files of %d %s %s" % (status, outside, strange, len(files), len(names), said, files))
    assert before


def folders(work):
    """Folders that are not to be written into, and words that are wrong."""
    session, folder = plain(work, "folders")
    os.makedirs(folder)
    with open(folder + "/mine", "w", encoding="ascii") as file:
        file.write("mine")
    with Relay([session]) as relay:
        status, _, said = mirror(relay, folder)
        result(status == 1 and "not empty, and no mirror" in said, "a folder with other files is left alone", said)
        other = folder + "-other"
        status, _, said = mirror(relay, other)
        status, _, said = yore("attach", relay.url().replace("/s", "/t"), other)
        result(status == 1 and "another session" in said, "a mirror of another session is left alone", said)
        status, _, said = yore("attach", relay.url() + "x", folder + "-new")
        result(status == 1 and 'did you mean "s"' in said or "no session sx" in said, "a session that there is not", said)
        session.closed = False
        relay.hold = True
        session.timer = 0
        status, _, said = yore("attach", relay.url(), folder + "-dead")
        result(status == 1 and "is not live" in said, "a session that is not live", said)
    for url in ("net://", "net://:1/host/a/b", "net://h/host/a", "net://h:0/host/a/b", "net://h:99999/host/a/b", "net://h/hosts/a/b",
                "net://h/host/a/b/c", "http://h/host/a/b", "net://[::1/host/a/b"):
        status, _, said = yore("attach", url, folder + "-url")
        result(status == 2 and not os.path.exists(folder + "-url"), "wrong URL " + url, "%d %s" % (status, said))
    status, _, said = yore("attach", "net://127.0.0.1:1/host/a/b", folder + "-none")
    result(status == 1 and "127.0.0.1:1: Connection refused" in said, "nobody listens", said)


def lists(work):
    session, _ = plain(work, "lists")
    for minor in (4, 13, 15):
        late = Session("büro", "t", [], ctf2=True)
        late.closed = False
        with Relay([session, late], minor=minor) as relay:
            relay.hold = True
            place = "net://127.0.0.1:%d" % relay.port
            status, out, said = yore("sessions", place, "--format", "json")
            lines = out.splitlines()
            good = status == 0 and len(lines) == (2 if minor == 15 else 1) and '"url":"%s/host/vm/s"' % place in lines[0]
            good &= minor < 15 or ('"host":"büro"' in lines[1] and '"format":"CTF 2"' in lines[1])
            result(good, "sessions, minor %d" % minor, out + said)
            status, out, said = yore("sessions", place, "--format", "csv")
            result(status == 0 and out.splitlines()[0] == "url,id,timer,viewers,streams,format", "sessions as CSV, minor %d" % minor, out)
            status, out, said = yore("sessions", place)
            result(status == 0 and "1 ms" in out, "sessions as a table, minor %d" % minor, out)
        session.closed = False
    with Relay([]) as relay:
        status, out, said = yore("sessions", "net://127.0.0.1:%d" % relay.port)
        result(status == 0 and not out and "has no session" in said, "no session", said)


def main():
    with tempfile.TemporaryDirectory() as work:
        only = sys.argv[1:]
        for part in (minors, traps, ghost, early, lost, full, progress, never_given, several, same_path, resumes, survives, relay_returns, interrupted, gone, live, hostile_rows,
                     hostile_names, folders, lists, follows, idle, over, random_paces):
            if not only or part.__name__ in only:
                part(work)
    finish()


if __name__ == "__main__":
    main()

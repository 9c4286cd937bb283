#!/usr/bin/env python3
"""A trace that comes through a socket on the loopback: datagrams that are lost, late and doubled, and a connection.

What is printed of datagrams must be what the trace has without the dropped packets, in order, with a loss for exactly the numbers that were
dropped. What comes through a connection is what a file of the same bytes has. YORE_SOCKETS says how many random losses (25).
"""
import json
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
import results
from follow import Follower
from relay import GEN, SCENES, WIDTH, all_packets, gaps, modulo, relay, small_metadata, small_packets
from results import finish, result

LOSSES = int(os.environ.get("YORE_SOCKETS", "25"))
PATIENCE = max(0.4, 3 * results.startup())


def listening(work, url, *words, patience=PATIENCE):
    """A follower, and the port that its note names."""
    follower = Follower(work, url, *words, patience=patience)
    port = lambda: re.search(r"awaited at \S+:(\d+)\n", follower.messages())
    results.until(lambda: port() or follower.process.poll() is not None)
    return follower, int(port().group(1)) if port() else None


def settled(follower):
    """Waits until it prints no more, interrupts it, and returns its rows and status."""
    follower.rests(3 * PATIENCE)
    return follower.rows(), follower.interrupt()


def send(port, datagrams, rng):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        for data in datagrams:
            out.sendto(data, ("127.0.0.1", port))
            if rng.random() < 0.1:
                time.sleep(0.01 * rng.random())


def framed(datagrams):
    return b"".join(struct.pack(">H", len(data)) + data for data in datagrams)


def metadata_in(work, text):
    path = os.path.join(work, "metadata")
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    return path


def one_loss(work, seed):
    """Nothing, or what is wrong."""
    rng = random.Random(seed)
    scene = rng.choice(sorted(SCENES))
    begin, clock, number, ticks = SCENES[scene]
    prefix = rng.choice((0, 8))
    first = (1 << 8 * WIDTH[number]) - rng.randint(0, 70)  # so that most wrap around
    packets = small_packets(rng, begin, clock, number, ticks, count=rng.randint(20, 60), first_number=first)
    arrived, kept = relay(rng, packets, False)
    metadata = metadata_in(work, small_metadata(begin, clock, number, ticks))
    settings = "ctf,datagrams,metadata=%s%s" % (metadata, ",prefix=%d" % prefix if prefix else "")
    follower, port = listening(work, "udp://127.0.0.1:0", "--input", settings, "--format", "json")
    send(port, [rng.randbytes(prefix) + packet.data for packet in arrived], rng)
    text, status = settled(follower)
    rows = [json.loads(line) for line in text.decode().splitlines()]
    scale = 100000000 if ticks == 1 else 1
    values = [value for packet in kept for value in packet.values]
    wanted = [(t * scale, n) for t, n in values] if clock else [(i, n) for i, (_, n) in enumerate(values)]
    got = [(row["ts"], row["fields"]["n"]) for row in rows if "fields" in row]
    lost = [row["packets"] for row in rows if "lost" in row]
    bad = []
    if got != wanted or status != 130:
        bad += ["events", status, len(got), len(wanted), follower.messages()]
    if lost != [gap[2] for gap in gaps(kept)]:
        bad += ["losses", lost, gaps(kept)]
    capture = os.path.join(work, "input")  # as streams are named
    with open(capture, "wb") as file:
        file.write(framed([bytes(prefix) + packet.data for packet in arrived]))
    done = [subprocess.run([results.yore, *words, capture, "--input", settings, "--format", "json", "--no-index"], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE).stdout for words in (("info",), ("events",))]
    said = sorted((loss["first"], loss["last"], loss["packets"]) for loss in json.loads(done[0])["streams"][0]["losses"])
    if done[1] != text or said != sorted(modulo(gap, WIDTH[number]) for gap in gaps(kept)):
        bad += ["the same in a file", done[1] == text, said]
    return bad and [seed, scene, prefix] + bad


def losses(work):
    wrong = [bad for bad in (one_loss(work, seed) for seed in range(LOSSES)) if bad]
    result(not wrong, "%d random losses" % LOSSES, wrong[:2])


def streams(work):
    """Packets of three CPUs, on IPv6 where it is there."""
    whole = os.path.join(work, "whole")
    shutil.rmtree(whole, ignore_errors=True)
    subprocess.run([GEN, "--out", whole, "--seed", "5", "--size", "80K", "--packet-size", "2K", "--cpus", "3", "--no-truth"],
                   check=True, stdout=subprocess.DEVNULL)
    rng = random.Random(5)
    packets = [packet.data for packet in all_packets(rng, whole, "<")]
    order = sorted(range(len(packets)), key=lambda i: i + rng.choice((0, 0, 0, rng.randint(1, 7))))
    order += rng.sample(order, 3)
    metadata = metadata_in(work, open(os.path.join(whole, "metadata"), "rb").read())

    def events(text):
        return sorted((row["ts"], row["name"], json.dumps(row["fields"])) for row in map(json.loads, text.splitlines()) if "fields" in row)

    expected = events(subprocess.run([results.yore, "events", whole, "--no-index", "--format", "json"], stdout=subprocess.PIPE).stdout)
    follower, port = listening(work, "udp://:0", "--input", "ctf,datagrams,metadata=" + metadata, "--format", "json")
    result("awaited at 127.0.0.1:" in follower.messages(), "without an address it is the loopback", follower.messages())
    send(port, [packets[i] for i in order] + [b""], rng)
    text, status = settled(follower)
    result(events(text) == expected and status == 130 and expected, "three streams, late and doubled",
           "status %s, %d of %d events\n%s" % (status, len(events(text)), len(expected), follower.messages()))

    follower, port = listening(work, "tcp://127.0.0.1:0", "--input", "ctf,prefix=0,metadata=" + metadata, "--format", "json")
    with socket.create_connection(("127.0.0.1", port)) as out:
        data = b"".join(packets)
        while data:
            size = rng.choice((10, 1000, 5000))
            out.sendall(data[:size])
            data = data[size:]
            time.sleep(0.002)
    status = follower.wait()
    result(events(follower.rows()) == expected and status == 0, "packets back to back in a connection, which ends the trace",
           "status %s, %d of %d events\n%s" % (status, len(events(follower.rows())), len(expected), follower.messages()))


def early(work):
    """Rows do not wait for the end, and a number that is missing holds them for the patience alone."""
    begin, clock, number, ticks = SCENES["numbers of 8 bits"]
    packets = small_packets(random.Random(2), begin, clock, number, ticks, count=6)
    metadata = metadata_in(work, small_metadata(begin, clock, number, ticks))
    patience = max(3, 15 * results.startup())
    follower, port = listening(work, "udp://127.0.0.1:0", "--input", "ctf,datagrams,metadata=" + metadata, "--format", "json", patience=patience)

    def shown(seconds, enough=lambda numbers: False):
        results.until(lambda: enough(there()), seconds)
        return there()

    def there():
        return [row["fields"]["n"] for row in map(json.loads, follower.rows().decode().rpartition("\n")[0].splitlines()) if "fields" in row]

    values = [[n for _, n in packet.values] for packet in packets]
    rng = random.Random(1)
    send(port, [packets[0].data], rng)
    now = shown(0.5)
    result(now == [], "nothing before the patience: of another stream nothing may have come yet", now)
    result(shown(results.HANGS, lambda now: now == values[0]) == values[0], "then what has come", shown(0))
    send(port, [packets[1].data, packets[3].data, packets[4].data], rng)
    now = shown(0.8)
    result(set(now) <= set(values[0] + values[1]) and set(values[0]) <= set(now), "rows up to a missing packet", (now, values))
    send(port, [packets[2].data], rng)
    now = shown(patience / 2, lambda now: set(sum(values[:4], [])) <= set(now))
    result(set(sum(values[:4], [])) <= set(now), "and those behind it when it has come", (now, values))
    send(port, [packets[5].data], rng)
    now = shown(results.HANGS, lambda now: now == sum(values, []))
    result(now == sum(values, []), "all after the patience", (now, values))
    follower.interrupt()


def manners(work):
    metadata = metadata_in(work, small_metadata(*SCENES["numbers of 8 bits"]))
    settings = ("--input", "ctf,datagrams,metadata=" + metadata)
    taken = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    taken.bind(("127.0.0.1", 0))
    for url, words, status, said in (
        ("udp://127.0.0.1:0", (), 2, "what datagrams hold must be said"),
        ("udp://127.0.0.1", settings, 2, "want udp://HOST:PORT"),
        ("udp://127.0.0.1:port", settings, 2, "want udp://HOST:PORT"),
        ("udp://::1:5000", settings, 2, "want udp://HOST:PORT"),
        ("udp://127.0.0.1:%d" % taken.getsockname()[1], settings, 1, "Address already in use"),
        ("udp://192.0.2.1:5000", settings, 1, "Cannot assign requested address"),
        ("tcp://127.0.0.1:99999", settings, 2, "want tcp://HOST:PORT"),
    ):
        follower = Follower(work, url, *words)
        got = follower.wait()
        result(got == status and said in follower.messages(), "refused: %s" % url.replace(str(taken.getsockname()[1]), "PORT"),
               "%s %s" % (got, follower.messages()))
    done = subprocess.run([results.yore, "info", "udp://127.0.0.1:5000", *settings], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    result(done.returncode == 2 and b"--follow" in done.stderr, "other commands need a file", done.stderr)
    follower, _ = listening(work, "tcp://127.0.0.1:0", "--input", "ctf,metadata=" + metadata)
    follower.process.send_signal(signal.SIGINT)
    result(follower.wait() == 130, "Ctrl-C while nobody has connected", follower.messages())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        for check in (manners, early, streams, losses):
            check(directory)
    finish()

#!/usr/bin/env python3
"""A folder of datagrams, as a lossy network delivers them: shuffled, doubled, dropped, in pieces, behind prefixes.

The traces are those of relay.py, whose events and packets are known. 500 random losses: events are those of the trace without the
dropped packets, and info lists exactly these, by stream and number. Where single pieces are lost, it costs their packet.
"""
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
import results
from relay import (GEN, QUESTIONS, SCENES, WIDTH, all_packets, ask, delivery, gaps, modulo, relay, same_events,
                   small_metadata, small_packets, yore)
from results import finish, result

PACKET_SIZE, CONTENT_SIZE = 20, 24  # where they stand


def write(folder, metadata, datagrams):
    shutil.rmtree(folder, ignore_errors=True)
    return results.write(folder, metadata, {"datagram-%d" % i: data for i, data in enumerate(datagrams)})


def pieces(rng, data, most):
    return [data[at:at + most] for at in range(0, len(data), most)] if most else [data]


def events(folder, scene, settings, *way):
    begin, time, number, ticks = SCENES[scene]
    status, out, said = yore("events", folder, "--input", settings, "--format", "json", *way)
    rows = [json.loads(line) for line in out.splitlines()]
    return status, [(row["ts"], row["fields"]["n"]) for row in rows if "lost" not in row], said


def check_loss(work, seed):
    """One random loss; nothing, or what is wrong."""
    rng = random.Random(seed)
    scene = rng.choice(sorted(SCENES))
    begin, time, number, ticks = SCENES[scene]
    prefix, most = rng.choice((0, 0, 8, 42)), rng.choice((None, None, 64, 100))
    metadata = small_metadata(begin, time, number, ticks)
    first = (1 << 8 * WIDTH[number]) - rng.randint(0, 70)  # so that most wrap around
    packets = small_packets(rng, begin, time, number, ticks, count=rng.randint(20, 60), first_number=first)
    arrived, kept = relay(rng, packets, False)
    folder = write(os.path.join(work, "capture"), metadata,
                   [rng.randbytes(prefix) + piece for packet in arrived for piece in pieces(rng, packet.data, most)])
    settings = "ctf,datagrams" + (",prefix=%d" % prefix if prefix else "")
    scale = 100000000 if ticks == 1 else 1
    values = [value for packet in kept for value in packet.values]
    wanted = [(t * scale, n) for t, n in values] if time else [(i, n) for i, (_, n) in enumerate(values)]
    status, got, said = events(folder, scene, settings, "--no-index")
    bad = [] if got == wanted and not status else ["events", status, len(got), len(wanted), said]
    stream = json.loads(yore("info", folder, "--input", settings, "--format", "json", "--no-index")[1])["streams"][0]
    lost = sorted((l["first"], l["last"], l["packets"]) for l in stream["losses"] if "packets" in l)
    if lost != sorted(modulo(gap, WIDTH[number]) for gap in gaps(kept)):
        bad += ["losses", lost, gaps(kept)]
    if (stream["late"], stream["doubled"]) != delivery(arrived):
        bad += ["delivery", stream["late"], stream["doubled"], delivery(arrived)]
    if seed % 25 == 0:
        without, index = os.path.join(work, "without"), os.path.join(work, "index")
        shutil.rmtree(index, ignore_errors=True)
        shutil.rmtree(without, ignore_errors=True)
        results.write(without, metadata, {"capture": b"".join(packet.data for packet in kept)})
        for question in QUESTIONS:
            for way in (("--no-index", "--jobs", "4"), ("--index-dir", index), ("--index-dir", index)):
                one, other = ask(question, folder, "--input", settings, *way), ask(question, without, "--no-index")
                if one != other:
                    bad += [question, way, one, other]
    return bad and [seed, scene, prefix, most] + bad


def check_losses(work, count):
    wrong = [bad for bad in (check_loss(work, seed) for seed in range(count)) if bad]
    result(not wrong, "random losses: " + str(count), wrong[:3])


def check_pieces(work, seed):
    """Where pieces are missing, the events of the first one are there, and all others' packets."""
    rng = random.Random(seed)
    scene = "numbers of 8 bits"
    begin, time, number, ticks = SCENES[scene]
    wanted, datagrams, hurt = [], [], 0
    for packet in small_packets(rng, begin, time, number, ticks, count=40):
        size = WIDTH[time] + 4
        content, = struct.unpack_from("<I", packet.data, CONTENT_SIZE)
        head = content // 8 - size * len(packet.values)
        parts = pieces(rng, packet.data, head + rng.randint(0, size))
        if len(parts) > 1 and rng.random() < 0.2:
            gone = rng.randrange(len(parts))
            hurt += 1
            if gone:
                wanted += [n for _, n in packet.values[:(len(parts[0]) - head) // size]]
            del parts[gone]
        else:
            wanted += [n for _, n in packet.values]
        datagrams += parts
    folder = write(os.path.join(work, "pieces"), small_metadata(begin, time, number, ticks), datagrams)
    status, got, said = events(folder, scene, "ctf,datagrams", "--no-index")
    result([n for _, n in got] == wanted and status == (3 if hurt else 0) and (not hurt or "damaged: " in said),
           "lost pieces: " + "of %d packets, seed %d" % (hurt, seed), (status, len(got), len(wanted), said))


def check_streams(work, seed, options):
    """Packets of three CPUs in one folder, late and doubled."""
    rng = random.Random(seed)
    whole, folder = os.path.join(work, "whole"), os.path.join(work, "capture")
    shutil.rmtree(whole, ignore_errors=True)
    subprocess.run([GEN, "--out", whole, "--seed", str(seed), "--size", "80K", "--packet-size", "2K", "--cpus", "3",
                    "--no-truth", *options], check=True, stdout=subprocess.DEVNULL)
    packets = [p.data for p in all_packets(rng, whole, ">" if "--big-endian" in options else "<")]
    order = sorted(range(len(packets)), key=lambda i: i + rng.choice((0, 0, 0, rng.randint(1, 7))))
    order += rng.sample(order, 3)
    with open(os.path.join(whole, "metadata"), "rb") as file:
        metadata = file.read()
    prefix, most = rng.choice((0, 28)), rng.choice((None, 700))
    # whole packets in one datagram each may have something behind them: the least that a network sends
    tail = b"" if most else bytes(rng.randint(1, 40))
    write(folder, metadata, [rng.randbytes(prefix) + piece + tail for i in order for piece in pieces(rng, packets[i], most)])
    settings = "ctf,datagrams,prefix=%d" % prefix
    same_events("three streams in one folder, seed %d %s" % (seed, " ".join(options)), whole, folder, settings, work)
    said = json.loads(yore("info", folder, "--no-index", "--input", settings, "--format", "json")[1])
    result(said["skipped_bytes"] == len(tail) * len(order), "and what is behind packets is told, seed %d" % seed,
           said["skipped_bytes"])


def check_messages(work):
    rng = random.Random(1)
    begin, time, number, ticks = SCENES["numbers of 8 bits"]
    metadata = small_metadata(begin, time, number, ticks)
    packets = [packet.data for packet in small_packets(rng, begin, time, number, ticks, count=4)]
    folder = write(os.path.join(work, "capture"), metadata, [packets[0], b"abc", packets[1], packets[2][:20], packets[3]])
    status, out, said = yore("events", folder, "--input", "ctf,datagrams", "--no-index", "--count")
    result(status == 3 and "/datagram-1: no packet's header is in this datagram" in said
           and "/datagram-3: no packet's header is in this datagram" in said, "datagrams without a header", said)
    status, out, said = yore("events", folder, "--input", "ctf,datagrams,prefix=3", "--no-index", "--count")
    result(status and "/datagram-1: the datagram ends in what stands before a packet" in said, "a datagram of its prefix", said)
    check_framed(work, metadata, packets)
    status, out, said = yore("events", folder, "--no-index", "--input", "ctf,datagrams,scan")
    result(status and "no datagrams" in said, "a scan of datagrams", said)


def framed(datagrams):
    """In one file, each behind its length: RFC 4571."""
    return b"".join(struct.pack(">H", len(data)) + data for data in datagrams)


def check_framed(work, metadata, packets):
    folder = write(os.path.join(work, "capture"), metadata, [])
    path, settings = os.path.join(folder, "framed"), "ctf,datagrams,prefix=3,metadata=%s/metadata" % folder
    whole = framed([b"abc" + data for data in (packets[0], packets[2][:-3], packets[2][-3:], packets[1], packets[3] + b"tail")])
    answers = []
    for data in (whole, whole[:-10], framed([b"abc" + packets[0], b"", b"abcd"])):
        with open(path, "wb") as file:
            file.write(data)
        status, out, said = yore("info", path, "--input", settings, "--no-index", "--format", "json")
        info = json.loads(out) if out else None
        answers.append((status, info and info["streams"][0]["packets"], info and info["skipped_bytes"], said))
    (status, packets, skipped, said) = answers[0]
    result((status, packets, skipped) == (0, 4, 4), "datagrams in one file, behind their lengths", answers[0])
    result(answers[1][0] == 3 and "the file ends inside of the datagram at" in answers[1][3], "a file that is cut inside of one", answers[1])
    result(answers[2][0] == 3 and "ends in what stands before a packet" in answers[2][3]
           and "no packet's header is in datagram 2" in answers[2][3], "datagrams without a packet in such a file", answers[2])


def main():
    with tempfile.TemporaryDirectory() as work:
        check_losses(work, int(os.environ.get("DATAGRAM_LOSSES", "500")))
        for seed in range(12):
            check_pieces(work, seed)
        for seed, options in enumerate(([], ["--flush", "0.3"], ["--big-endian", "--large-headers"], ["--ctf2"])):
            check_streams(work, seed + 1, options)
        check_messages(work)
    finish()


main()

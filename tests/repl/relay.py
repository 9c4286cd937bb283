#!/usr/bin/env python3
"""What a lossy relay does to a trace: packets come late, twice, or not at all.

A generated trace is written a second time with its packets shuffled, delayed, doubled and dropped. It must answer as the
trace without the dropped packets, and `yore info` must tell just what was done.
"""
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
import results
from results import finish, result

GEN = os.path.join(os.environ.get("top_builddir", "."), "fixtures", "yore-gen")


def yore(*words):
    done = subprocess.run([results.yore, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout, done.stderr.decode()


HEADER = 84  # bytes of a packet's header and context


class Packet:
    """Of the layout in fixtures/ctf_writer.c."""

    def __init__(self, data, order):
        self.data = data
        self.begin, self.end = struct.unpack_from(order + "QQ", data, 32)
        self.number, self.discarded = struct.unpack_from(order + "QQ", data, 64)


def packets_of(path, order):
    data, at, out = open(path, "rb").read(), 0, []
    while at < len(data):
        size = struct.unpack_from(order + "Q", data, at + 56)[0] // 8
        out.append(Packet(data[at : at + size], order))
        at += size
    return out


def streams_of(folder):
    return sorted(name for name in os.listdir(folder) if name.startswith("channel"))


def write(folder, source, streams):
    with open(os.path.join(source, "metadata"), "rb") as file:
        metadata = file.read()
    results.write(folder, metadata, {name: b"".join(p.data for p in packets) for name, packets in streams.items()})


def relay(rng, packets, far=True):
    """What arrives, and what was not dropped. The first and the last packet are not: nothing would tell."""
    if rng.random() < 0.15:  # only late ones, inside: the file's size, begin and end say that all is well
        inner = packets[1:-1]
        at = rng.randint(10, len(inner) - 1)
        inner.insert(rng.randint(0, at) if far else at - 9, inner.pop(at))
        return [packets[0], *inner, packets[-1]], packets
    dropped = {i for i in range(1, len(packets) - 1) if rng.random() < 0.1}
    kept = [p for i, p in enumerate(packets) if i not in dropped]
    arrive = []
    for i, packet in enumerate(kept):
        arrive.append((i + (rng.randint(2, 9) + 0.5 if rng.random() < 0.2 else 0), rng.random(), packet))
        if rng.random() < 0.15:
            arrive.append((i + rng.randint(0, 9) + 0.25, rng.random(), packet))
    if far and rng.random() < 0.2:
        rng.shuffle(arrive)
    else:
        arrive.sort(key=lambda item: item[:2])
    return [item[2] for item in arrive], kept


def delivery(arrived):
    """Late and doubled packets of one stream."""
    late, doubled, seen = 0, 0, []
    for packet in arrived:
        if packet.number in seen:
            doubled += 1
            continue
        late += bool(seen) and packet.number < max(seen)
        seen.append(packet.number)
    return late, doubled


def gaps(kept):
    return [
        (a.number + 1, b.number - 1, b.number - a.number - 1)
        for a, b in zip(kept, kept[1:])
        if b.number != a.number + 1
    ]


def told(folder, *words):
    status, out, said = yore("info", folder, "--format", "json", *words)
    if status:
        return None
    return {
        stream["name"]: (
            stream["late"],
            stream["doubled"],
            stream["packets"],
            [(l["first"], l["last"], l["packets"]) for l in stream["losses"] if "packets" in l],
        )
        for stream in json.loads(out)["streams"]
    }


QUESTIONS = (
    ("events", "--format", "json"),
    ("events", "--format", "json", "--reverse"),
    ("events", "--count"),
    ("stats", "--format", "json"),
    ("timeline", "cpu[*]/thread", "--format", "json"),
    ("sql", "SELECT what, ts, until, stream, events, packets FROM losses ORDER BY 1, 2, 4"),
)


def ask(question, folder, *words):
    status, out, said = yore(question[0], folder, *question[1:], *words)
    return status, out


def check(work, seed, options):
    rng = random.Random(seed)
    whole, lossy, without = (os.path.join(work, name) for name in ("whole", "lossy", "without"))
    for folder in (whole, lossy, without, os.path.join(work, "index")):
        shutil.rmtree(folder, ignore_errors=True)
    subprocess.run(
        [GEN, "--out", whole, "--seed", str(seed), "--size", "200K", "--packet-size", "2K", "--cpus", "3",
         "--no-truth", *options],
        check=True, stdout=subprocess.DEVNULL)
    order = ">" if "--big-endian" in options else "<"
    arrived, kept = {}, {}
    for name in streams_of(whole):
        arrived[name], kept[name] = relay(rng, packets_of(os.path.join(whole, name), order))
    write(lossy, whole, arrived)
    write(without, whole, kept)
    name = "seed %d %s" % (seed, " ".join(options))
    wanted = {n: (*delivery(arrived[n]), len(kept[n]), gaps(kept[n])) for n in arrived}
    index = os.path.join(work, "index")
    ways = (("--no-index", "--jobs", "1"), ("--no-index", "--jobs", "4"), ("--index-dir", index, "--jobs", "1"),
            ("--index-dir", index, "--jobs", "4"))
    good = True
    for way in ways:
        if way == ways[2]:
            yore("index", lossy, "--timelines", "--index-dir", index)
        if told(lossy, *way) != wanted:
            print("  info", way, told(lossy, *way), "wanted", wanted)
            good = False
        for question in QUESTIONS:
            if ask(question, lossy, *way) != ask(question, without, "--no-index", "--jobs", "1"):
                print("  differs:", " ".join(question), way)
                good = False
    # places where packets are missing stand in the flow, and count with --strict
    lines = yore("events", lossy, "--no-index")[1].decode().splitlines()
    missing = sum(gap[2] for packets in kept.values() for gap in gaps(packets))
    shown = sum(int(line.split(" packet")[0].split()[-1]) for line in lines if re.search(r" packets? lost", line))
    strict = yore("events", lossy, "--no-index", "--strict", "--count")[0]
    lost = any("lost" in line for line in lines)
    if shown != missing or strict != (3 if lost else 0):
        print("  markers of %d packets, %d are missing, --strict ends with %d" % (shown, missing, strict))
        good = False
    begin, end = min(p[0].begin for p in kept.values()), max(p[-1].end for p in kept.values())
    span = (end - begin) / 1e9
    for k in range(6):
        at = "+%.9fs" % (span * rng.random())
        for question in (("at", at, "cpu[*]/thread", "--format", "json"), ("events", "--around", at, "--format", "json")):
            for way in (ways[0], ways[3]):
                if ask(question, lossy, *way) != ask(question, without, "--no-index"):
                    print("  differs:", " ".join(question), way)
                    good = False
    result(good, name)


# Streams that a tracer with little room writes: no clock at all, clocks and counters that wrap, a clock of few ticks

SCENES = {
    # name: type of timestamp_begin and _end, of an event's time, of the number; ticks of a packet
    "no clock": (None, None, "u8", 0),
    "a clock of 16 bits": ("u16", "u16", "u8", 300),
    "no times of packets": (None, "u16", "u16", 300),
    "ten ticks a second": ("u64", "u64", "u16", 1),
    "numbers of 8 bits": ("u64", "u64", "u8", 300),
}
WIDTH = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}
UUID = bytes(range(16))


def small_metadata(begin, time, number, ticks):
    plain, types = "".join("typealias integer { size = %d; align = 8; } := u%d;\n" % (n, n) for n in (8, 16, 32, 64)), ""
    clock = ""
    if time:
        clock = "clock { name = c; freq = %d; };\n" % (10 if ticks == 1 else 1000000000)
        types = "".join(
            "typealias integer { size = %d; align = 8; map = clock.c.value; } := t%d;\n" % (n, n) for n in (16, 64))
    times = "t%s timestamp_begin; t%s timestamp_end; " % (begin[1:], begin[1:]) if begin else ""
    header = "event.header := struct { t%s timestamp; }; " % time[1:] if time else ""
    uuid = "-".join(UUID.hex()[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))
    return (
        "/* CTF 1.8 */\n" + plain + 'trace { major = 1; minor = 8; byte_order = le; uuid = "%s"; '
        "packet.header := struct { u32 magic; u8 uuid[16]; }; };\n" % uuid
        + clock + types
        + "stream { packet.context := struct { u32 packet_size; u32 content_size; %s%s packet_seq_num; }; %s};\n"
        % (times, number, header)
        + "event { name = e; fields := struct { u32 n; }; };\n"
    )


def small_packets(rng, begin, time, number, ticks, uuid=UUID, count=600, first_number=0):
    out, n, clock = [], 0, 40000

    def put(kind, value):
        return (value % (1 << 8 * WIDTH[kind])).to_bytes(WIDTH[kind], "little")

    for k in range(count):
        first, events, values = clock, b"", []
        for _ in range(rng.randint(1, 4)):
            clock += rng.randint(0, ticks // 5)
            events += (put(time, clock) if time else b"") + put("u32", n)
            values.append((clock, n))
            n += 1
        if ticks == 1:
            clock += rng.random() < 0.2
        head = put("u32", 0xC1FC1FC1) + uuid
        times = (put(begin, first) + put(begin, clock)) if begin else b""
        size = len(head) + 8 + len(times) + WIDTH[number] + len(events)
        pad = rng.randint(0, 5)
        packet = Packet.__new__(Packet)
        packet.data = (head + put("u32", (size + pad) * 8) + put("u32", size * 8) + times + put(number, k + first_number) + events
                       + bytes(pad))
        packet.number, packet.values = k + first_number, values
        out.append(packet)
    return out


def modulo(gap, width):
    return gap[0] % (1 << 8 * width), gap[1] % (1 << 8 * width), gap[2]


def check_small(work, seed, scene, others):
    rng = random.Random(seed)
    begin, time, number, ticks = SCENES[scene]
    folder, index = os.path.join(work, "small"), os.path.join(work, "index")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(index, ignore_errors=True)
    arrived, kept = relay(rng, small_packets(rng, begin, time, number, ticks), False)
    strangers = small_packets(rng, begin, time, number, ticks, bytes(16))[:others]
    for stranger in strangers:
        arrived.insert(rng.randint(0, len(arrived)), stranger)
    results.write(folder, small_metadata(begin, time, number, ticks), {"s": b"".join(p.data for p in arrived)})
    own = [p for p in arrived if p not in strangers]
    wanted = [value for packet in kept for value in packet.values]
    scale = 100000000 if ticks == 1 else 1
    good = True
    for way in (("--no-index",), ("--index-dir", index), ("--index-dir", index)):
        status, out, said = yore("events", folder, "--format", "json", *way)
        rows = [json.loads(line) for line in out.splitlines()]
        events = [(row["ts"], row["fields"]["n"]) for row in rows if "lost" not in row]
        expected = [(t * scale, n) for t, n in wanted] if time else [(i, n) for i, (t, n) in enumerate(wanted)]
        if status or events != expected:
            print("  events", way, said, next((x for x in zip(events, expected) if x[0] != x[1]), "count"))
            good = False
        stream = json.loads(yore("info", folder, "--format", "json", *way)[1])["streams"][0]
        lost = sorted((l["first"], l["last"], l["packets"]) for l in stream["losses"] if "packets" in l)
        if lost != sorted(modulo(gap, WIDTH[number]) for gap in gaps(kept)):
            print("  losses", way, lost, gaps(kept))
            good = False
        if (stream["late"], stream["doubled"], stream["other_session"]) != (*delivery(own), others):
            print("  delivery", way, stream, delivery(own))
            good = False
    result(good, "%s, seed %d, %d packets of another session" % (scene, seed, others))


# Files that hold packets of several streams


def all_packets(rng, folder, order):
    """Of all streams, as they arrive in one place: in the order of their ends."""
    packets = [p for name in streams_of(folder) for p in packets_of(os.path.join(folder, name), order)]
    return sorted(packets, key=lambda p: (p.end, rng.random()))


def without_names(out):
    """Streams of one file are called after it."""
    rows = [json.loads(line) for line in out.splitlines()]
    for row in rows:
        row.pop("stream", None)
    return rows


def same_events(name, whole, path, settings, work):
    """All events of the folder, by all ways of reading the file."""
    index = os.path.join(work, "index")
    shutil.rmtree(index, ignore_errors=True)
    wanted = {q: ask(q, whole, "--no-index") for q in (QUESTIONS[0], QUESTIONS[2], QUESTIONS[4])}
    good = True
    for way in (("--no-index", "--jobs", "1"), ("--index-dir", index), ("--index-dir", index, "--jobs", "4")):
        if len(way) == 2:
            yore("index", path, "--timelines", "--input", settings, *way)
        for question, (status, out) in wanted.items():
            got, said = ask(question, path, "--input", settings, *way)
            same = without_names(said) == without_names(out) if question == QUESTIONS[0] else said == out
            if got or status or not same:
                print("  differs:", " ".join(question), way, got, status, said[:200])
                good = False
    result(good, name)


def check_files(work, seed, options):
    rng = random.Random(seed)
    whole, old, lossy = (os.path.join(work, name) for name in ("whole", "old", "lossy"))
    for folder in (whole, old, lossy):
        shutil.rmtree(folder, ignore_errors=True)
    for folder, number in ((whole, seed), (old, seed + 1000)):
        subprocess.run(
            [GEN, "--out", folder, "--seed", str(number), "--size", "120K", "--packet-size", "2K", "--cpus", "3",
             "--no-truth", *options], check=True, stdout=subprocess.DEVNULL)
    order = ">" if "--big-endian" in options else "<"
    metadata = os.path.join(whole, "metadata")
    packets = all_packets(rng, whole, order)
    others = all_packets(rng, old, order)[:7]
    name = "seed %d %s" % (seed, " ".join(options))

    capture = os.path.join(work, "capture")
    for prefix in (0, 42):
        mixed = [[i, p.data] for i, p in enumerate(packets)]
        mixed += [[rng.randint(0, len(packets)) - 0.5, p.data] for p in others]
        mixed += [[i + 3.5, p.data] for i, p in enumerate(packets) if rng.random() < 0.1]
        for item in mixed:
            item[0] += 4 * (rng.random() < 0.1)
        with open(capture, "wb") as out:
            out.write(b"".join(rng.randbytes(prefix) + data for _, data in sorted(mixed)))
        settings = "ctf,metadata=%s,prefix=%d" % (metadata, prefix)
        same_events("prefix of %d bytes, %s" % (prefix, name), whole, capture, settings, work)
        said = yore("info", capture, "--no-index", "--input", settings)
        result("%d packets of another session are left out" % len(others) in said[2]
               and b" twice, %d of another session" % len(others) in said[1], "and what was left out is told")

    image = os.path.join(work, "image")
    mixed = [p.data for p in packets + others]
    rng.shuffle(mixed)
    magic = struct.pack(order + "I", 0xC1FC1FC1)
    skipped = places = 0
    with open(image, "wb") as out:
        for data in mixed:
            noise = rng.randbytes(rng.randint(0, 999))
            if rng.random() < 0.3:  # what is no header, and one that was overwritten
                noise += magic + rng.randbytes(rng.randint(0, 99)) + rng.choice(packets).data[: rng.randint(0, 60)]
            skipped, places = skipped + len(noise), places + bool(noise)
            out.write(noise + data)
        out.write(rng.randbytes(333))
    settings = "ctf,scan,metadata=" + metadata
    same_events("RAM image, " + name, whole, image, settings, work)
    said = yore("info", image, "--no-index", "--input", settings)
    result("%d packets of another session are left out" % len(others) in said[2]
           and "%d bytes in %d places are in no packet" % (skipped + 333, places + 1) in said[2]
           and b"skipped    %d bytes" % (skipped + 333) in said[1], "and what was left out is told", said)
    said = yore("info", image, "--no-index", "--input", settings, "--format", "json")
    result(json.loads(said[1])["skipped_bytes"] == skipped + 333, "and in JSON", said[2])

    # one packet that another one was written over: its events up to there, and damage
    first, second = packets[0].data, packets[1].data
    with open(image, "wb") as out:
        content = struct.unpack_from(order + "Q", first, 48)[0] // 8
        out.write(bytes(5) + first[: (HEADER + content) // 2] + second + bytes(7))
    status, out, said = yore("events", image, "--no-index", "--input", settings, "--count")
    all_two = yore("events", image, "--no-index", "--input", settings, "--format", "json")[1].splitlines()
    result(status == 3 and ": packet at offset 5" in said and "is cut off: another packet begins" in said
           and 0 < int(out) == len(all_two), "an overwritten packet, " + name)

    # the same, and the packet once more, whole: it counts, the piece is a copy
    with open(image, "wb") as out:
        out.write(bytes(5) + first[: (HEADER + content) // 2] + second + first)
    two = os.path.join(work, "two")
    with open(two, "wb") as out:
        out.write(first + second)
    counts = [yore("events", path, "--no-index", "--input", settings, "--count")[:2] for path in (image, two)]
    result(counts[0] == counts[1] and counts[0][0] == 0, "a piece of a packet that is there whole, " + name)

    # metadata of another trace
    name = streams_of(whole)[0]
    status, out, said = yore("info", os.path.join(whole, name), "--input", "ctf,metadata=%s/metadata" % old)
    uuids = [yore("info", folder, "--format", "json", "--no-index")[1] for folder in (whole, old)]
    result(status != 0 and all(json.loads(u)["uuid"] in said for u in uuids), "metadata of another trace is told apart")
    same_events("one stream, its metadata apart", one_stream(work, whole, name), os.path.join(whole, name),
                "ctf,metadata=" + metadata, work)


def one_stream(work, whole, name):
    folder = os.path.join(work, "one")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    shutil.copy(os.path.join(whole, name), folder)
    shutil.copy(os.path.join(whole, "metadata"), folder)
    return folder


def main():
    seeds = int(os.environ.get("RELAY_SEEDS", "6"))
    variants = ([], ["--flush", "0.3"], ["--lose", "0.1"], ["--overlap"], ["--big-endian", "--large-headers"],
                ["--ctf2", "--late-losses", "--lose", "0.2"])
    with tempfile.TemporaryDirectory() as work:
        for seed in range(1, seeds + 1):
            check(work, seed, variants[seed % len(variants)])
            check_files(work, seed, variants[seed % len(variants)])
            for scene in SCENES:
                check_small(work, seed, scene, 0 if seed % 2 else 3)
    finish()


if __name__ == "__main__":
    main()

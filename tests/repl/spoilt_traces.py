"""Generated traces of many packets, some with losses, late streams or overlapping packets; and bytes of them that are changed."""
import os
import struct
import subprocess

import results

PACKET = 8192
GEN = os.path.join(os.path.dirname(results.yore), "fixtures", "yore-gen")
BEGIN, END, DISCARDED = 32, 40, 72  # offsets in a packet of LTTng's kernel tracer: two times, a counter
KINDS = (["--late-losses", "--lose", "0.002"], ["--lose", "0.0005"], ["--overlap"], ["--late-stream", "--ended-stream"], ["--contexts"],
         ["--overwritten", "30"], ["--flush", "0.1"], [], [], [])


def generate(trace, size, seed, kind):
    """Writes a trace; `kind`: more options, see KINDS."""
    subprocess.run([GEN, "--out", trace, "--size", size, "--packet-size", str(PACKET), "--seed", str(seed), "--no-truth", *kind],
                   check=True, stdout=subprocess.DEVNULL)


def streams(trace):
    return sorted(os.path.join(trace, name) for name in os.listdir(trace) if name != "metadata" and not os.path.isdir(os.path.join(trace, name)))


def lie(data, at, chance):
    """One time of a packet's header is another one."""
    field = chance.choice((BEGIN, END))
    old = struct.unpack_from("<Q", data, at + field)[0]
    by = chance.choice((1, 1000, 100000, 3000000, 1 << 27)) * chance.choice((-1, 1))
    struct.pack_into("<Q", data, at + field, old + by)


def swap(data, at, chance):
    """Two packets change their places."""
    other = chance.randrange(len(data) // PACKET) * PACKET
    data[at:at + PACKET], data[other:other + PACKET] = data[other:other + PACKET], data[at:at + PACKET]


def change(data, at, chance):
    """A byte of an event is another one."""
    data[at + chance.randrange(128, PACKET)] = chance.randrange(256)


def lose(data, at, chance):
    """From this packet on, more events are counted as discarded."""
    for packet in range(at, len(data), PACKET):
        old = struct.unpack_from("<Q", data, packet + DISCARDED)[0]
        struct.pack_into("<Q", data, packet + DISCARDED, old + 5)


def spoil(trace, chance):
    """What was done, in words."""
    how = chance.choice((lie, lie, lie, swap, change, lose))
    path = chance.choice([path for path in streams(trace) if os.path.getsize(path) >= PACKET])
    with open(path, "rb") as file:
        data = bytearray(file.read())
    for _ in range(chance.choice((1, 1, 3))):
        how(data, chance.randrange(len(data) // PACKET) * PACKET, chance)
    with open(path, "wb") as file:
        file.write(data)
    return how.__name__

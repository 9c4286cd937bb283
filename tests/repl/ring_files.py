#!/usr/bin/env python3
"""Ring buffers of LTTng-UST in files, written byte by byte: a writer and a reader that are killed at some moment.

    ring_files.py FOLDER SEED    writes FOLDER/out and FOLDER/shm as one that is killed leaves them
"""
import os
import random
import struct
import sys

import results

UUID = bytes(range(100, 116))
MAGIC = bytes((0x17, 0x7B, 0xF1, 0x77, 0xBF) * 3 + (0x17,))
HEADER = 84  # bytes of a packet's head
EVENT = 12
CONTENT, PACKET = 48, 56  # where its two sizes stand

METADATA = """/* CTF 1.8 */
typealias integer { size = 32; align = 8; } := u32;
typealias integer { size = 64; align = 8; } := u64;
trace { major = 1; minor = 8; byte_order = %s; uuid = "%s";
	packet.header := struct { u32 magic; integer { size = 8; align = 8; } uuid[16]; u32 stream_id; u64 stream_instance_id; }; };
env { domain = "ust"; tracer_name = "lttng-ust"; tracer_major = 2; tracer_minor = 13; };
clock { name = monotonic; freq = 1000000000; offset = 1700000000000000000; };
typealias integer { size = 64; align = 8; map = clock.monotonic.value; } := t64;
stream { id = 0;
	packet.context := struct { t64 timestamp_begin; t64 timestamp_end; u64 content_size; u64 packet_size;
		u64 packet_seq_num; u64 events_discarded; u32 cpu_id; };
	event.header := struct { t64 timestamp; }; };
event { name = "e"; stream_id = 0; fields := struct { u32 n; }; };
"""


class Packet:
    """What one sub-buffer holds."""

    def __init__(self, number):
        self.number, self.events, self.begin, self.end, self.discarded = number, [], None, 0, 0


class Ring:
    """One CPU's buffer; `out` is what its reader wrote to a file."""

    def __init__(self, rng, cpu, order, word, major, overwrite, count, subbuf):
        self.rng, self.cpu, self.order, self.word, self.major = rng, cpu, order, word, major
        self.overwrite, self.count, self.subbuf = overwrite, count, subbuf
        self.spare = bool(major or overwrite)
        self.pages = [None] * (count + self.spare)  # a packet and its bytes
        rest = list(range(len(self.pages)))
        rng.shuffle(rest)
        self.writer, self.reader = rest[:count], rest[count] if self.spare else None
        self.lap = rng.choice((0, 0, 3, (1 << 8 * word) // (count * subbuf) - 1))  # counters may be about to wrap
        self.producer = self.consumed = self.lap * count * subbuf
        self.seq = [(self.lap * subbuf) % (1 << 8 * word) for _ in range(count)]
        self.number0 = self.producer // subbuf
        self.lost, self.out, self.events_out, self.stuck = 0, [], [], []
        self.packet, self.fill = None, 0

    def place(self, offset):
        return offset // self.subbuf % self.count

    def pack(self, kind, *values):
        return struct.pack(self.order + kind, *values)

    def head(self, packet, size):
        content = size if packet.end else -1
        bits = content * 8 if content >= 0 else (1 << 64) - 1
        whole = (content + 511) // 512 * 512 * 8 if content >= 0 else (1 << 64) - 1
        return (self.pack("I", 0xC1FC1FC1) + UUID + self.pack("IQ", 0, self.cpu)
                + self.pack("QQQQQQI", packet.begin, packet.end, bits, whole, packet.number, packet.discarded, self.cpu))

    def bytes_of(self, packet):
        body = b"".join(self.pack("QI", *event) for event in packet.events)
        data = self.head(packet, HEADER + len(body)) + body
        return data + self.rng.randbytes(self.subbuf - len(data))  # what an earlier packet left

    def close(self, now, stuck=False):
        """A thread that is killed before it has committed leaves its packet open, and the ring goes on."""
        place = self.place(self.producer - 1)
        if stuck:
            self.stuck.append(place)
        else:
            self.packet.end, self.packet.discarded = now, self.lost
            self.seq[place] = (self.seq[place] + self.subbuf - self.fill) % (1 << 8 * self.word)
        self.pages[self.writer[place]] = self.packet, self.bytes_of(self.packet)
        self.producer += self.subbuf - self.fill
        self.packet = None

    def write(self, now, n):
        """An event, where there is room; else it is lost."""
        if self.packet and self.fill + EVENT > self.subbuf:
            self.close(now)
        if not self.packet:
            place = self.place(self.producer)
            if place in self.stuck or (not self.overwrite
                                       and self.producer - self.consumed >= self.count * self.subbuf):
                self.lost += 1
                return
            if self.producer - self.consumed >= self.count * self.subbuf:
                self.consumed += self.subbuf
            self.packet, self.fill = Packet(self.producer // self.subbuf - self.number0), 0
            self.packet.begin = now
            self.add(HEADER)
        self.packet.events.append((now, n))
        self.add(EVENT)
        self.pages[self.writer[self.place(self.producer - 1)]] = self.packet, self.bytes_of(self.packet)

    def add(self, size):
        place = self.place(self.producer)
        self.producer += size
        self.fill += size
        self.seq[place] = (self.seq[place] + size) % (1 << 8 * self.word)

    def read(self, moves=True):
        """The oldest packet that was closed goes to the file; the reader may be killed before it says so."""
        place = self.place(self.consumed)
        if self.consumed + self.subbuf > self.producer - (self.fill if self.packet else 0) or place in self.stuck:
            return
        if self.spare and moves:
            self.writer[place], self.reader = self.reader, self.writer[place]
            packet, data = self.pages[self.reader]
        else:
            packet, data = self.pages[self.writer[place]]
        self.out.append(data[: (HEADER + EVENT * len(packet.events) + 511) // 512 * 512])
        self.events_out += packet.events
        if moves:
            self.consumed += self.subbuf
        elif self.rng.random() < 0.5:
            self.out[-1] = self.out[-1][: self.rng.randint(1, len(self.out[-1]))]

    def unread(self):
        """(number, events) of what the ring has, in order."""
        found = []
        for at in range(self.consumed, self.producer, self.subbuf):
            page = self.pages[self.writer[self.place(at)]]
            if page and page[0].number == at // self.subbuf - self.number0:
                found.append((page[0].number, page[0].events))
        return found

    def file(self):
        """The bytes of the file: head, counters, pages, and their descriptions behind them."""
        word, order = self.word, self.order
        number = {4: "I", 8: "Q"}[word]
        commits, stride = 640, 64 + word
        array = commits + stride * self.count
        pages = (array + 2 * word * len(self.pages) + 4095) // 4096 * 4096
        described = pages + self.subbuf * len(self.pages)
        writer = described + 40 * len(self.pages)
        size = writer + word * self.count + 32
        data = bytearray(size)

        def put(at, kind, *values):
            struct.pack_into(order + kind, data, at, *values)

        data[:16] = MAGIC
        put(16, "QHHHBB", size, 0x1234, self.major, 0, word, 0)
        put(32, "11I", 136, 152, commits, word, writer, 0, array, word, 40 - word, CONTENT, PACKET)
        put(76, "8B", word, word, word, word, word, word, 8, 8)
        put(84, "3I", stride, word, 2 * word)
        put(96, "QQQI", self.count * self.subbuf, self.subbuf, self.count, 0 if self.overwrite else 1)
        put(136, number, self.producer % (1 << 8 * word))
        put(152, number, self.consumed % (1 << 8 * word))
        for i in range(self.count):
            put(commits + stride * i + word, number, self.seq[i])
            above = self.rng.randrange(1 << 4 * word) << 4 * word if self.spare else 0
            put(writer + word * i, number, self.writer[i] | above)
        for i, page in enumerate(self.pages):
            put(array + 2 * word * i + word, number, described + 40 * i)
            put(described + 40 * i + 40 - word, number, pages + self.subbuf * i)
            if page:
                data[pages + self.subbuf * i : pages + self.subbuf * (i + 1)] = page[1]
        return bytes(data)


def metadata_of(order):
    uuid = "-".join(UUID.hex()[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))
    return METADATA % ("le" if order == "<" else "be", uuid)


def killed(folder, seed, word=8, order="<", major=0, overwrite=False, stuck=False, doubled=False):
    """Writes the folder; returns the rings."""
    rng = random.Random(seed)
    rings = [Ring(rng, cpu, order, word, major, overwrite, rng.choice((2, 4, 8)), rng.choice((4096, 8192)))
             for cpu in range(2)]
    now, n = 1000000, 0
    for _ in range(rng.choice((40, 1500, 4000))):
        ring = rng.choice(rings)
        now += rng.randint(1, 1000)
        ring.write(now, n)
        n += 1
        if rng.random() < 0.01:
            rng.choice(rings).read()
        if stuck and ring.packet and ring.packet.events and rng.random() < 0.002 and not ring.stuck:
            ring.close(now, stuck=True)
    if doubled:
        for ring in rings:
            ring.read(moves=False)
    results.write(os.path.join(folder, "shm"), metadata_of(order), {"ch_%d" % ring.cpu: ring.file() for ring in rings})
    results.write(os.path.join(folder, "out"), b"", {"ch_%d" % ring.cpu: b"".join(ring.out) for ring in rings})
    return rings


if __name__ == "__main__":
    chance = random.Random(sys.argv[2])
    killed(sys.argv[1], sys.argv[2], chance.choice((4, 8)), chance.choice("<>"), chance.randrange(2),
           chance.random() < 0.5, chance.random() < 0.5, chance.random() < 0.5)

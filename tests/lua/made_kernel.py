#!/usr/bin/python3
"""Writes a CTF trace of a small machine that takes and gives back memory, and what each thread did.

    made_kernel.py FOLDER [context] [half]

FOLDER/trace has one stream for each of two CPUs: sched_switch, mm_page_alloc, mm_page_free, rss_stat. With the word
"context" each event has its thread in its context; without it the thread that runs is known from sched_switch alone.
FOLDER/threads.csv and FOLDER/rss.csv are the truth: what the machine did, not what was written. With
"half" it stops half way: files are beginnings of the whole ones. Prints how many events there are.
"""
import collections
import csv
import random
import struct
import sys

import kernel_ctf

EVENTS = {1: ("mm_page_alloc", "u64 pfn; u32 order;"), 2: ("mm_page_free", "u64 pfn; u32 order;"),
          3: ("rss_stat", "u32 mm_id; u8 curr; s32 member; s64 size;")}
NO_PAGE = (1 << 64) - 1
FILE, ANON, SWAP, SHMEM = range(4)


class Machine:
    def __init__(self, has_context):
        self.random = random.Random(18)
        self.has_context = has_context
        self.streams = {cpu: [] for cpu in (0, 1)}
        self.now = 1_000_000_000
        self.running = {0: 0, 1: 0}
        self.pages = collections.defaultdict(collections.Counter)
        self.spaces = {}

    def write(self, cpu, number, payload):
        self.now += self.random.randrange(1, 5000)
        context = struct.pack("<i", self.running[cpu]) if self.has_context else b""
        self.streams[cpu].append(struct.pack("<IQ", number, self.now) + context + payload)

    def switch(self, cpu):
        busy = set(self.running.values())
        to = self.random.choice([tid for tid in (0, 100, 101, 102, 103) if tid not in busy or tid == 0])
        if to == self.running[cpu]:
            return
        comms = [b"task-%d\0" % tid for tid in (self.running[cpu], to)]
        self.write(cpu, 0, comms[0] + struct.pack("<iiq", self.running[cpu], 20, 0) +
                   comms[1] + struct.pack("<ii", to, 20))
        self.running[cpu] = to

    def allocate(self, cpu):
        order, fails = self.random.choice((0, 0, 0, 1, 3)), self.random.random() < 0.1
        self.write(cpu, 1, struct.pack("<QI", NO_PAGE if fails else self.random.randrange(1 << 30), order))
        own = self.pages[self.running[cpu]]
        own["failed" if fails else "allocations"] += 1
        own["allocated"] += 0 if fails else 1 << order

    def free(self, cpu):
        order = self.random.choice((0, 0, 2))
        self.write(cpu, 2, struct.pack("<QI", self.random.randrange(1 << 30), order))
        own = self.pages[self.running[cpu]]
        own["frees"] += 1
        own["freed"] += 1 << order

    def resident(self, cpu):
        """The thread changes its own address space, or, as reclaim does, that of another thread."""
        tid = self.running[cpu] or 100
        curr = self.running[cpu] != 0
        kind, size = self.random.choice((FILE, ANON, ANON, SWAP, SHMEM)), 4096 * self.random.randrange(100)
        self.write(cpu, 3, struct.pack("<IBiq", tid + 7000, curr, kind, size))
        own = self.spaces.setdefault(tid, {"sizes": {}, "max": 0, "max_begin": self.now, "tid": None})
        own["sizes"][kind] = size
        if curr:
            own["tid"] = tid
        if self.sum_of(own) > own["max"]:
            own["max"], own["max_begin"] = self.sum_of(own), self.now

    @staticmethod
    def sum_of(own):
        return sum(size for kind, size in own["sizes"].items() if kind != SWAP)

    def work(self, half):
        """Each CPU switches first and last: before and after that it is not known who runs."""
        for cpu in (0, 1):
            while self.running[cpu] == 0:
                self.switch(cpu)
        for _ in range(1500 if half else 3000):
            self.random.choice((self.switch, self.allocate, self.free, self.resident))(self.random.randrange(2))
        for cpu in (0, 1):
            while self.running[cpu] != 0 and not half:
                self.switch(cpu)


def write_csv(path, head, rows):
    with open(path, "w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)


def main(folder, has_context, half):
    machine = Machine(has_context)
    machine.work(half)
    context = "\n\tevent.context := struct { s32 tid; };" if has_context else ""
    kernel_ctf.write(folder + "/trace", EVENTS, context,
                     {cpu: b"".join(parts) for cpu, parts in machine.streams.items()})
    names = ("allocated", "freed", "allocations", "frees", "failed")
    write_csv(folder + "/threads.csv", ("tid",) + names,
              sorted([tid] + [own[name] for name in names] for tid, own in machine.pages.items()))
    write_csv(folder + "/rss.csv", ("tid", "resident", "max", "max_begin", "file", "anon", "swap", "shmem"),
              sorted([own["tid"], machine.sum_of(own), own["max"], own["max_begin"]] +
                     [own["sizes"].get(kind, "") for kind in (FILE, ANON, SWAP, SHMEM)]
                     for own in machine.spaces.values()))
    print(sum(len(parts) for parts in machine.streams.values()))


main(sys.argv[1], "context" in sys.argv[2:], "half" in sys.argv[2:])

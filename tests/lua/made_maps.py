#!/usr/bin/python3
"""Writes a CTF trace of a process that maps memory, and what it had mapped, page by page.

    made_maps.py FOLDER SEED

FOLDER/trace has mmap, munmap and mremap of two threads of process 100, and of a process 200 whose calls are all of what was mapped
before. FOLDER/maps.csv is the truth by process: pages are a set, which each call changes as mmap(2), munmap(2) and mremap(2) say.
`seen` is by how much the memory has grown that was not there before the trace, `unseen` how much of the memory from before was unmapped.
"""
import csv
import random
import struct
import sys

import kernel_ctf

EVENTS = {1: ("syscall_entry_mmap", "u64 addr; u64 len; s32 prot; s32 flags; s32 fd; u64 off;"), 2: ("syscall_exit_mmap", "s64 ret;"),
          3: ("syscall_entry_munmap", "u64 addr; u64 len;"), 4: ("syscall_exit_munmap", "s64 ret;"),
          5: ("syscall_entry_mremap", "u64 addr; u64 old_len; u64 new_len; u64 flags; u64 new_addr;"), 6: ("syscall_exit_mremap", "s64 ret;")}
PAGE, BASE, PAGES, ENOMEM = 4096, 0x7f0000000000, 200, 12
MAYMOVE, FIXED, DONTUNMAP = 1, 2, 4


class Machine:
    def __init__(self, seed):
        self.random, self.now, self.parts = random.Random(seed), 1_000_000_000, []
        self.mapped, self.old = {100: set(), 200: set()}, {100: set(), 200: set()}
        self.sums = {pid: {"seen": 0, "unseen": 0, "failed": 0, "calls": 0} for pid in (100, 200)}
        for pid in (100, 200):  # from before the trace, where no new mapping is put
            self.old[pid] = set(range(PAGES, PAGES + 100))

    def event(self, number, pid, tid, payload):
        self.now += self.random.randrange(1, 3000)
        self.parts.append(struct.pack("<IQii", number, self.now, pid, tid) + payload)

    def call(self, pid, number, arguments, ret):
        tid = self.random.choice((pid, pid + 1))
        self.event(number, pid, tid, arguments)
        self.event(number + 1, pid, tid, struct.pack("<q", ret))
        self.sums[pid]["calls"] += 1
        self.sums[pid]["failed"] += ret < 0

    def put(self, pid, first, count):
        new = set(range(first, first + count))
        self.sums[pid]["seen"] += len(new - self.mapped[pid])
        self.mapped[pid] |= new

    def drop(self, pid, first, count):
        gone = set(range(first, first + count))
        self.sums[pid]["seen"] -= len(gone & self.mapped[pid])
        self.sums[pid]["unseen"] += len(gone & self.old[pid])
        self.mapped[pid] -= gone
        self.old[pid] -= gone

    def bytes_of(self, count):
        """The kernel takes whole pages."""
        return count * PAGE - self.random.choice((0, 0, 1, 100, 4095))

    def step(self, pid):
        rand = self.random
        first, count = rand.randrange(PAGES - 20), rand.randrange(1, 20)
        kind = rand.choice(("map", "map", "map", "unmap", "remap", "fail")) if pid == 100 else "before"
        at = BASE + first * PAGE
        if kind == "map":  # with MAP_FIXED: over what is there
            self.call(pid, 1, struct.pack("<QQiiiQ", at, self.bytes_of(count), 3, 0x32, -1, 0), at)
            self.put(pid, first, count)
        elif kind == "unmap":  # of holes, too
            here = sorted(self.mapped[pid] & set(range(first, first + count)))
            if here and here == list(range(here[0], here[-1] + 1)):
                self.call(pid, 3, struct.pack("<QQ", BASE + here[0] * PAGE, self.bytes_of(len(here))), 0)
                self.drop(pid, here[0], len(here))
        elif kind == "fail":
            self.call(pid, 1, struct.pack("<QQiiiQ", 0, self.bytes_of(count), 3, 0x22, -1, 0), -ENOMEM)
        elif kind == "before" and self.old[pid]:
            page = rand.choice(sorted(self.old[pid]))
            self.call(pid, 3, struct.pack("<QQ", BASE + page * PAGE, PAGE), 0)
            self.drop(pid, page, 1)
        elif kind == "remap":
            if not set(range(first, first + count)) <= self.mapped[pid]:
                return
            new, to = rand.randrange(1, 20), rand.choice((first, rand.randrange(PAGES - 20)))
            flags = MAYMOVE if to == first else MAYMOVE | FIXED | rand.choice((0, DONTUNMAP))
            if flags & DONTUNMAP:
                new = count
            if to != first and set(range(first, first + count)) & set(range(to, to + new)):
                return
            if to == first and set(range(first + count, first + new)) & self.mapped[pid]:
                return
            self.call(pid, 5, struct.pack("<QQQQQ", at, self.bytes_of(count), self.bytes_of(new), flags, BASE + to * PAGE), BASE + to * PAGE)
            if to != first and not flags & DONTUNMAP:
                self.drop(pid, first, count)
            elif to == first and new < count:
                self.drop(pid, first + new, count - new)
            self.put(pid, to, new)


def main(folder, seed):
    machine = Machine(seed)
    for _ in range(1500):
        machine.step(machine.random.choice((100, 100, 100, 200)))
    kernel_ctf.write(folder + "/trace", EVENTS, "\n\tevent.context := struct { s32 pid; s32 tid; };", {0: b"".join(machine.parts)})
    with open(folder + "/maps.csv", "w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("pid", "net", "unseen", "failed", "calls"))
        for pid, own in sorted(machine.sums.items()):
            assert own["seen"] == len(machine.mapped[pid])
            writer.writerow((pid, PAGE * (own["seen"] - own["unseen"]), PAGE * own["unseen"], own["failed"], own["calls"]))


main(sys.argv[1], int(sys.argv[2]))

#!/usr/bin/env python3
"""What a follower costs does not grow with what it has told: memory of no file, and what steps read.

YORE_COST_PACKETS says how many packets the trace has whose memory is measured (100,000).
"""
import os
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
import results
from follow import generate
from relay import packets_of
from results import finish, result

PACKETS = int(os.environ.get("YORE_COST_PACKETS", "100000"))
PACKET_BYTES = 512
MOST_KB = 4000  # which one step may take more than another; 40 bytes for each packet of a half are 2000
TICKS = os.sysconf("SC_CLK_TCK")


def start(trace, command, *words):
    return subprocess.Popen([results.yore, command, trace, "--follow", "--jobs", "1", *words], stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)


def cpu_seconds(pid):
    fields = open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def settle(pid):
    """Waits until it uses no processor."""
    before, until = -1, time.monotonic() + 30
    while before != cpu_seconds(pid) and time.monotonic() < until:
        before = cpu_seconds(pid)
        time.sleep(0.5)


def anonymous_kb(pid):
    fields = dict(line.split(":", 1) for line in open("/proc/%d/smaps_rollup" % pid) if ":" in line)
    return int(fields["Anonymous"].split()[0])


def memory(work, command, *words):
    """Memory of a follower, KB, when it has read the first half of the packets, and then all."""
    finished, growing = os.path.join(work, "finished"), os.path.join(work, "growing")
    generate(finished, 1, "--size", "%d" % (PACKETS * PACKET_BYTES), "--packet-size", "%d" % PACKET_BYTES, "--cpus", "2")
    os.makedirs(growing)
    names = [name for name in sorted(os.listdir(finished)) if name != "metadata"]
    packets = sorted((packet.end, name, packet.data) for name in names for packet in packets_of(os.path.join(finished, name), "<"))
    with open(os.path.join(growing, "metadata"), "wb") as out:
        out.write(open(os.path.join(finished, "metadata"), "rb").read())
    files = {name: open(os.path.join(growing, name), "ab", buffering=0) for name in names}
    process, seen, piece = start(growing, command, *words), [], max(len(packets) // 100, 1)
    for at in range(0, len(packets), piece):
        if at >= len(packets) // 2 and not seen:
            settle(process.pid)
            seen.append(anonymous_kb(process.pid))
        for _, name, data in packets[at:at + piece]:
            files[name].write(data)
        time.sleep(0.02)
    settle(process.pid)
    seen.append(anonymous_kb(process.pid))
    process.kill()
    process.wait()
    return seen


def memory_is_constant():
    for command, words in (("events", ("--name", "sched_wakeup")), ("state", ("cpu[*]/thread",))):
        with tempfile.TemporaryDirectory() as work:
            half, whole = memory(work, command, *words)
        result(whole - half < MOST_KB, "%s --follow of %d packets: the second half takes no memory" % (command, PACKETS),
               "KB after the first half: %d, after both: %d" % (half, whole))


if __name__ == "__main__":
    if b"__asan_init" in open(results.yore, "rb").read():
        print("SKIP: a sanitizer's own memory is counted, too")
        sys.exit(77)
    memory_is_constant()
    finish()

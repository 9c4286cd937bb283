#!/usr/bin/env python3
"""live_mirror.py YORE - what a mirror costs: from a packet in the relay's folder to the same one in the mirror's and to its rows, and
while idle.

Latency is measured with a real lttng-relayd (skipped where it is not installed): index files are looked at every 0.3 ms. For rows a
program runs on each of two processors, so that none of the two streams waits for the live timer. Idle cost is processor time per second of `yore attach`, with a relay of our own whose streams give nothing.
"""
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(TOP, "tests", "live"))
from made_relay import Pace, Relay, Session, Stream, Trace
from rig import Missing, Rig


def processor(pid):
    """Seconds."""
    with open("/proc/%d/stat" % pid, encoding="ascii") as file:
        words = file.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def sizes(folder):
    out = {}
    for place, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".idx"):
                path = os.path.join(place, name)
                head = 72 if "out" in os.path.relpath(folder, "/").split("/") else 56
                out[name] = (os.path.getsize(path) - 16) // head
    return out


def latency(yore, seconds, timer):
    with Rig() as rig:
        folder = os.path.join(rig.home, "mirror")
        rig.create("s", "--buffers-uid", "--subbuf-size=4096", "--num-subbuf=8", timer=timer)
        process = subprocess.Popen([yore, "attach", rig.url("s"), folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        program = rig.trace(10**6, 2, 2000, wait=False)
        time.sleep(1.5)
        source = rig.finished("s")
        begun, used = time.monotonic(), processor(process.pid)
        came, got, first = {}, {}, sizes(source)
        while time.monotonic() - begun < seconds:
            for seen, place in ((came, source), (got, folder)):
                now, counts = time.monotonic(), sizes(place)
                for name, count in counts.items():
                    for i in range(first.get(name, 0), count):
                        seen.setdefault((name, i), now)
            time.sleep(0.0003)
        used = (processor(process.pid) - used) / seconds
        program.kill()
        program.wait()
        rig.lttng("destroy", "s")
        process.wait(30)
    waits = sorted((got[key] - came[key]) * 1000 for key in got if key in came)
    return waits, used


def index_entries(folder):
    """{stream: [(first and last cycle of a packet), ...]} of the relay's folder."""
    out = {}
    for place, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".idx"):
                with open(os.path.join(place, name), "rb") as file:
                    data = file.read()[16:]
                out[name[:-4]] = [struct.unpack_from(">QQ", data, at + 24) for at in range(0, len(data) - 71, 72)]
    return out


def rows_latency(yore, seconds):
    """From the entry of a packet in the relay's index to its first row, ms, sorted."""
    with Rig() as rig:
        folder, lines, came = os.path.join(rig.home, "mirror"), [], {}
        rig.create("s", "--buffers-uid", "--subbuf-size=4096", "--num-subbuf=8")
        mirror = subprocess.Popen([yore, "attach", rig.url("s"), folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        all_cpus = os.sched_getaffinity(0)
        programs = []
        for cpu in sorted(all_cpus)[:2]:
            os.sched_setaffinity(0, {cpu})
            programs.append(rig.trace(10**6, 1, 1000, wait=False))
        os.sched_setaffinity(0, all_cpus)
        time.sleep(1.5)
        follower = subprocess.Popen([yore, "events", folder, "--follow", "--format", "json"], stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL)

        def read():
            for line in follower.stdout:
                lines.append((time.monotonic(), line))

        threading.Thread(target=read, daemon=True).start()
        time.sleep(1)
        source = rig.finished("s")
        begun, first = time.monotonic(), sizes(source)
        while time.monotonic() - begun < seconds:
            now = time.monotonic()
            for name, count in sizes(source).items():
                for i in range(first.get(name, 0), count):
                    came.setdefault((name[:-4], i), now)
            time.sleep(0.0003)
        for process in programs:
            process.kill()
            process.wait()
        entries = index_entries(source)
        clock = json.loads(subprocess.run([yore, "info", folder, "--format", "json", "--no-index"], stdout=subprocess.PIPE,
                                          stderr=subprocess.DEVNULL, check=False).stdout)["clocks"][0]
        rig.lttng("destroy", "s")
        mirror.wait(30)
        follower.wait(30)
    offset = clock["offset"]  # of cycles of a nanosecond
    rows = {}
    for when, line in lines:
        row = json.loads(line)
        rows.setdefault(row["stream"].split("/")[-1], []).append((row["ts"] - offset, when))
    out = []
    for (name, i), when in came.items():
        begin, end = entries[name][i]
        shown = [at for t, at in rows.get(name, []) if begin <= t <= end]
        if shown:
            out.append((shown[0] - when) * 1000)
    return sorted(out)


def load(yore, calls):
    """Two threads trace as fast as they can."""
    with Rig() as rig:
        folder = os.path.join(rig.home, "mirror")
        rig.create("s", "--buffers-uid", "--subbuf-size=1M", "--num-subbuf=8")
        process = subprocess.Popen([yore, "attach", rig.url("s"), folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1)
        begun, used = time.monotonic(), processor(process.pid)
        rig.trace(calls, 2)
        took = time.monotonic() - begun
        time.sleep(2)
        used = processor(process.pid) - used
        rig.lttng("destroy", "s")
        process.wait(60)
        done = subprocess.run([yore, "events", folder, "--count", "--no-index"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              check=True)
        size = sum(os.path.getsize(os.path.join(place, name)) for place, _, names in os.walk(folder) for name in names)
    return int(done.stdout), size, took, used


def idle(yore, streams, seconds):
    with tempfile.TemporaryDirectory() as work:
        trace = Trace("ust", [(b"/* CTF 1.8 */\n", 0)], [Stream("s_%d" % i, [[]]) for i in range(streams)])
        session = Session("vm", "s", [trace], timer=1000000)
        with Relay([session], pace=Pace(retry=0, inactive=1)) as relay:
            relay.hold = True
            process = subprocess.Popen([yore, "attach", relay.url(), work + "/mirror"], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            time.sleep(4)
            begun, used, asked = time.monotonic(), processor(process.pid), relay.asked.get(4, 0)
            time.sleep(seconds)
            took = time.monotonic() - begun
            share = (processor(process.pid) - used) / took
            rate = (relay.asked.get(4, 0) - asked) / took
            process.kill()
            process.wait()
    return share, rate


def main():
    yore = os.path.abspath(sys.argv[1])
    for streams in (2, 8, 100, 1000):
        share, rate = idle(yore, streams, 10)
        print("idle, %4d streams: %.2f %% of a processor, %.0f questions a second" % (streams, share * 100, rate))
    try:
        events, size, took, seconds = load(yore, 1000000)
        waits, used = latency(yore, 15, 100000)
        rows = rows_latency(yore, 10)
    except Missing as why:
        print("latency: skipped: %s" % why)
        return
    print("load: %d events, %.0f MB, %.0f events a second for %.2f s: %.2f s of a processor" %
          (events, size / 1e6, events / took, took, seconds))
    print("latency, %d packets: median %.1f ms, 90 %% %.1f ms, most %.1f ms; %.1f %% of a processor" %
          (len(waits), statistics.median(waits), waits[len(waits) * 9 // 10], waits[-1], used * 100))
    print("to the first row, %d packets: median %.1f ms, 90 %% %.1f ms, most %.1f ms" %
          (len(rows), statistics.median(rows), rows[len(rows) * 9 // 10], rows[-1]))


if __name__ == "__main__":
    main()

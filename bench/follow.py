#!/usr/bin/env python3
"""What following a trace costs: follow.py YORE YORE-GEN [SECONDS] [PART...]   (10 of each part but the first, 60 of memory)

    latency     from the write of a packet to its first row
    load        processor time at a million events a second, and of the same rows from the finished trace
    state       the same of the intervals of attributes
    idle        processor time with a thousand streams that bring nothing
    memory      at 100,000 events a second, every five seconds: all of the process, and what is not of files
    packets     the same of very many small packets, 600,000 of 512 bytes, as fast as they are read: an hour of packets of 32 KB
    turns       processor time of a folder of perf's turns, 50 of 2 MB each, per ten of them
    compressed  the same of a perf.data of `perf record -z`, 200 pieces of 4,800 samples, per forty of them
    datagrams   the same of 100,000 datagrams of 512 bytes, per ten thousand of them
"""
import json
import os
import resource
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

YORE, GEN = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else 10
MEMORY_SECONDS, MEMORY_EVERY = float(sys.argv[3]) if len(sys.argv) > 3 else 60, 5
TICKS = os.sysconf("SC_CLK_TCK")


def generate(folder, *options):
    subprocess.run([GEN, "--out", folder, "--no-truth", *options], check=True, stdout=subprocess.DEVNULL)


def packets(folder):
    """(end, file, bytes) of all packets, in the order of their ends."""
    out = []
    for name in sorted(os.listdir(folder)):
        if name == "metadata":
            continue
        data, at = open(os.path.join(folder, name), "rb").read(), 0
        while at < len(data):
            size = struct.unpack_from("<Q", data, at + 56)[0] // 8
            out.append((struct.unpack_from("<Q", data, at + 40)[0], name, data[at : at + size]))
            at += size
    return sorted(out)


class Growing:
    """A folder that gets the packets of a finished trace."""

    def __init__(self, finished, folder):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        self.finished, self.folder = finished, folder
        shutil.copy(os.path.join(finished, "metadata"), folder)
        names = [name for name in os.listdir(finished) if name != "metadata"]
        self.files = {name: open(os.path.join(folder, name), "ab", buffering=0) for name in names}

    def feed(self, rate, seconds, each=None):
        """Writes packets at so many events a second. Returns how many, and in which time."""
        all_packets = packets(self.finished)
        count = subprocess.run([YORE, "events", self.finished, "--count", "--no-index"], stdout=subprocess.PIPE).stdout
        per_byte = int(count) / sum(len(packet[2]) for packet in all_packets)
        started, done = time.monotonic(), 0
        for _, name, data in all_packets:
            now = time.monotonic() - started
            if now > seconds:
                break
            time.sleep(max(done / rate - now, 0))
            self.files[name].write(data)
            done += len(data) * per_byte
            if each:
                each(now)
        return done, time.monotonic() - started


def cpu_seconds(pid):
    fields = open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_mb(pid):
    """All of the process that is in memory, and what of it is of no file."""
    fields = dict(line.split(":", 1) for line in open("/proc/%d/status" % pid))
    return [round(int(fields[name].split()[0]) / 1024, 1) for name in ("VmRSS", "RssAnon")]


def follower(trace, *words, out=subprocess.DEVNULL, command="events"):
    return subprocess.Popen([YORE, command, trace, "--follow", *words], stdout=out, stderr=subprocess.DEVNULL)


def end(process):
    process.kill()
    process.wait()


def latency(work):
    finished = os.path.join(work, "finished")
    generate(finished, "--size", "3M", "--packet-size", "8K", "--cpus", "1")
    growing = Growing(finished, os.path.join(work, "growing"))
    process = follower(growing.folder, out=subprocess.PIPE)
    came, took = [], []

    def read():
        while os.read(process.stdout.fileno(), 1 << 20):
            came.append(time.monotonic())

    threading.Thread(target=read, daemon=True).start()
    time.sleep(0.3)
    for _, name, data in packets(finished)[:300]:
        count, at = len(came), time.monotonic()
        growing.files[name].write(data)
        time.sleep(0.03)
        if len(came) > count:
            took.append((came[count] - at) * 1000)
    end(process)
    return {"packets": len(took), "median_ms": round(statistics.median(took), 2),
            "95_percent_ms": round(sorted(took)[int(len(took) * 0.95)], 2)}


def share(work, rate, asked):
    """Of each (name, command and words)."""
    finished, out = os.path.join(work, "finished"), {}
    generate(finished, "--size", "%dM" % (30 * SECONDS), "--cpus", "8")
    for name, (command, *words) in asked:
        words = ("--jobs", "1", *words)
        growing = Growing(finished, os.path.join(work, "growing"))
        process = follower(growing.folder, *words, command=command)
        done, seconds = growing.feed(rate, SECONDS)
        of_a_core = cpu_seconds(process.pid) / seconds
        end(process)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([YORE, command, growing.folder, "--no-index", *words], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        own = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        out[name] = {"events_per_second": round(done / seconds), "share_of_a_core": round(of_a_core, 3),
                     "of_these_for_the_rows": round(own / seconds, 3)}
    return out


def load(work, rate=1e6):
    return share(work, rate, (("text", ("events",)), ("json", ("events", "--format", "json")),
                              ("one_class", ("events", "--name", "sched_wakeup"))))


def state(work, rate=1e6):
    return share(work, rate, (("cpu_thread", ("state", "cpu[*]/thread")), ("thread_state", ("state", "thread[*]/state"))))


def idle(work):
    finished, folder = os.path.join(work, "finished"), os.path.join(work, "growing")
    generate(finished, "--size", "200K", "--packet-size", "4K", "--cpus", "4")
    names = sorted(name for name in os.listdir(finished) if name != "metadata")
    os.makedirs(folder)
    shutil.copy(os.path.join(finished, "metadata"), folder)
    for i in range(1000):
        shutil.copy(os.path.join(finished, names[i % len(names)]), os.path.join(folder, "stream_%d" % i))
    process = follower(folder)
    time.sleep(5)  # all is printed, and the patience is over
    before = cpu_seconds(process.pid)
    time.sleep(SECONDS)
    share = (cpu_seconds(process.pid) - before) / SECONDS
    end(process)
    return {"streams": 1000, "share_of_a_core": round(share, 5)}


def memory_of(work, rate, command, *words):
    finished = os.path.join(work, "finished")
    generate(finished, "--size", "%dM" % max(4 * MEMORY_SECONDS, 8), "--packet-size", "64K", "--cpus", "8")
    growing = Growing(finished, os.path.join(work, "growing"))
    process = follower(growing.folder, *words, command=command)
    seen = []

    def look(now):
        if now >= (len(seen) + 1) * MEMORY_EVERY:
            seen.append([round(now), *resident_mb(process.pid)])

    done, seconds = growing.feed(rate, MEMORY_SECONDS, look)
    end(process)
    return {"events_per_second": round(done / seconds), "seconds_mb_and_mb_of_no_file": seen}


def memory(work, rate=1e5):
    return {"events": memory_of(work, rate, "events"), "state": memory_of(work, rate, "state", "thread[*]/state")}


def feed_pieces(process, pieces, count, looks=10):
    """Writes so many pieces, each a function, one every 20 ms or when the follower has slept. What it has used after each tenth."""
    seen = []
    for i, piece in enumerate(pieces):
        piece()
        time.sleep(0.02)
        if (i + 1) % (count // looks):
            continue
        used = -1
        while used != cpu_seconds(process.pid):
            used = cpu_seconds(process.pid)
            time.sleep(0.3)
        seen.append([i + 1, round(used - sum(item[1] for item in seen), 2), *resident_mb(process.pid)])
    return seen


def packets_of_no_end(work):
    count, size, pieces = 600000, 512, 600
    finished = os.path.join(work, "finished")
    generate(finished, "--size", "%d" % (count * size), "--packet-size", "%d" % size, "--cpus", "8")
    growing = Growing(finished, os.path.join(work, "growing"))
    all_packets = packets(finished)

    def write(i):
        for _, name, data in all_packets[len(all_packets) * i // pieces:len(all_packets) * (i + 1) // pieces]:
            growing.files[name].write(data)

    process = follower(growing.folder, "--jobs", "1", "--name", "sched_wakeup")
    seen = feed_pieces(process, (lambda i=i: write(i) for i in range(pieces)), pieces)
    end(process)
    return {"packets": len(all_packets), "piece_cpu_seconds_mb_and_mb_of_no_file": seen}


def perf_head(data_bytes, there=False):
    """Of a file whose samples have ip, tid, time, cpu, period and identifier; 0 bytes: its first 104 are not written yet, unless `there`."""
    attribute = struct.pack("<IIQQQQQ", 1, 128, 0, 1, 1 << 0 | 1 << 1 | 1 << 2 | 1 << 7 | 1 << 8 | 1 << 16, 4, 1 << 18)
    attribute = attribute.ljust(128, b"\0") + struct.pack("<QQ", 104 + 144, 8)
    top = struct.pack("<8sQQQQQQQQQQQQ", b"PERFILE2", 104, 144, 104, 144, 256, data_bytes, 0, 0, 0, 0, 0, 0)
    return (top if data_bytes or there else bytes(104)) + attribute + struct.pack("<Q", 1000)


ROUND = struct.pack("<IHH", 68, 0, 8)


def perf_sample(number):
    return struct.pack("<IHHQQIIQIIQ", 9, 0, 56, 1000, 4096, 1, 1, 1000 * number, number // 50 % 2, 0, 1)


def compressed(work, count=200, records=8, samples=600):
    path = os.path.join(work, "perf.data")
    file = open(path, "wb", buffering=0)
    file.write(perf_head(0, True))

    def piece(number):
        for i in range(records):
            data = b"".join(perf_sample((number * records + i) * samples + k) for k in range(samples))
            block = struct.pack("<I", len(data) << 3)[:3] + data  # raw, of one zstd frame without end
            if not number and not i:
                block = b"\x28\xb5\x2f\xfd\x00\x58" + block
            file.write(struct.pack("<IHH", 81, 0, 8 + len(block)) + block)
        file.write(ROUND)

    piece(0)
    process = follower(path, "--jobs", "1")
    seen = feed_pieces(process, (lambda number=number: piece(number) for number in range(1, count + 1)), count, 5)
    end(process)
    return {"pieces": count, "piece_cpu_seconds_mb_and_mb_of_no_file": seen}


def turns(work, count=50, size=2 << 20, pieces=20):
    folder = os.path.join(work, "turns")
    path, n = os.path.join(folder, "perf.data"), size // 56
    os.makedirs(folder)

    def turn(number):
        data = b"".join(perf_sample(number * n + i) + (ROUND if i % 1000 == 999 else b"") for i in range(n))
        with open(path, "wb", buffering=0) as file:
            file.write(perf_head(0))
            for i in range(pieces):
                file.write(data[len(data) * i // pieces:len(data) * (i + 1) // pieces])
                time.sleep(0.02)
            file.seek(0)
            file.write(perf_head(len(data)))
        os.rename(path, "%s.2026112822%06d" % (path, number))

    turn(0)
    process = follower(folder, "--jobs", "1")
    seen = feed_pieces(process, (lambda number=number: turn(number) for number in range(1, count)), count, 5)
    end(process)
    return {"turns": count, "turn_cpu_seconds_mb_and_mb_of_no_file": seen}


def datagrams(work, count=100000, size=512, at_once=20):
    finished = os.path.join(work, "finished")
    generate(finished, "--size", "%d" % (count * size), "--packet-size", "%d" % size, "--cpus", "2", "--text-metadata")
    all_packets, sender = [data for _, _, data in packets(finished)], socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    process = subprocess.Popen([YORE, "events", "udp://127.0.0.1:0", "--follow", "--jobs", "1", "--input",
                                "ctf,datagrams,metadata=%s/metadata" % finished], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    port = int(process.stderr.readline().rsplit(b":", 1)[1])

    def send(i):
        for data in all_packets[i:i + at_once]:
            sender.sendto(data, ("127.0.0.1", port))

    seen = feed_pieces(process, (lambda i=i: send(i) for i in range(0, len(all_packets), at_once)), len(all_packets) // at_once)
    end(process)
    return {"datagrams": len(all_packets), "send_cpu_seconds_mb_and_mb_of_no_file": seen}


PARTS = {"latency": latency, "load": load, "state": state, "idle": idle, "memory": memory, "packets": packets_of_no_end,
         "turns": turns, "compressed": compressed, "datagrams": datagrams}

if __name__ == "__main__":
    for name in sys.argv[4:] or PARTS:
        with tempfile.TemporaryDirectory() as directory:
            print(json.dumps({name: PARTS[name](directory)}), flush=True)

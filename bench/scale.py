#!/usr/bin/python3
"""How costs grow with the number of streams, packets, event classes, files, rules and overlaps.

    scale.py BUILD [--least N] [--most N] [--limit SECONDS] [--only NAME...]

Traces of nothing but that number are made, from a hundred to a hundred thousand, each ten times the
one before, and commands asked of them that must look at all of it. A line has the CPU seconds and
the resident memory of a process, at most; the exponents are those of CPU seconds and of memory
against the number since the line before: 1 is linear, 2 a square. Below 20 ms and 20 MB a process
has more to do with itself than with the trace, and no exponent is given. A line whose command would
take longer than --limit (60 s) ends its column.

Also a part of `make bench` ("scale"), there up to 10,000.
"""
import argparse
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean

METADATA = """/* CTF 1.8 */
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 64; align = 8; signed = false; map = clock.c.value; } := ts_t;
trace { major = 1; minor = 8; byte_order = le; %s
        packet.header := struct { uint32_t magic; uint32_t stream_id; }; };
clock { name = c; freq = 1000000000; };
stream {
        id = 0;
        event.header := struct { uint32_t id; ts_t timestamp; };
        packet.context := struct { ts_t timestamp_begin; ts_t timestamp_end;
                uint64_t content_size; uint64_t packet_size; uint64_t events_discarded; };
};
"""
CLASS = "event { id = %d; name = \"%s\"; stream_id = 0; fields := struct { uint32_t a; }; };\n"


def packet(events, begin, end, lost=0):
    """`events`: (class, time) each; the field `a` is the time's."""
    body = b"".join(struct.pack("<IQI", number, time, time & 0xffffffff)
                    for number, time in events)
    bits = 8 * (48 + len(body))
    return struct.pack("<IIQQQQQ", 0xc1fc1fc1, 0, begin, end, bits, bits, lost) + body


def write(folder, streams, classes=1, uuid=""):
    os.makedirs(folder)
    with open(folder + "/metadata", "w", encoding="ascii") as file:
        file.write(METADATA % uuid)
        for number in range(classes):
            file.write(CLASS % (number, "ev%d" % number))
    for name, data in streams.items():
        with open(folder + "/" + name, "wb") as file:
            file.write(data)


def streams_of(trace, count):
    """A file of one packet of one event each."""
    write(trace, {"s%06d" % i: packet([(0, i)], i, i) for i in range(count)})


def processes_of(trace, count):
    """A trace of its own for each, as one tracer per process writes them: ten files, ten classes."""
    for i in range(count // 10):
        uuid = 'uuid = "00000000-0000-4000-8000-%012x";' % i
        write("%s/pid-%06d" % (trace, i),
              {"c_%d" % k: packet([(k, i)], i, i) for k in range(10)}, 10, uuid)


def packets_of(trace, count):
    write(trace, {"s": b"".join(packet([(0, 10 * i)], 10 * i, 10 * i + 9) for i in range(count))})


def lossy_of(trace, count):
    """Each packet says that events were lost since the one before."""
    write(trace, {"s": b"".join(packet([(0, 10 * i)], 10 * i, 10 * i + 9, i)
                                for i in range(count))})


def overlaps_of(trace, count):
    """Packets that all claim to reach over everything."""
    write(trace, {"s": b"".join(packet([(0, i)], 0, 1 << 62) for i in range(count))})


def classes_of(trace, count):
    write(trace, {"s": packet([(i, 5 + i) for i in range(count)], 1, count + 10)}, count)


def chain_of(trace, count):
    """A line for each attribute that takes the value of the one before."""
    write(trace, {"s": packet([(0, 5 + i) for i in range(10)], 1, 20)})
    with open(trace + ".rules", "w", encoding="ascii") as file:
        file.write("event ev0\n\ta0 = field/a\n")
        file.writelines("\ta%d = a%d\n" % (i, i - 1) for i in range(1, count))


def blocks_of(trace, count):
    """A block for each line, each of another event; names of events by aliases."""
    write(trace, {"s": packet([(i % 100, 5 + i) for i in range(1000)], 1, 1100)}, 100)
    with open(trace + ".rules", "w", encoding="ascii") as file:
        file.writelines("alias event al%d = ev%d\nmap m%d { 0 = 1, * = 2 }\nevent al%d\n"
                        "\tb[%d]/v = m%d(b[%d]/v)\n" % (i, i % 100, i, i, i, i, i - 1)
                        for i in range(1, count))


# name: what makes the trace; the commands, of which {t} is the trace, {o} a new name, {l} the last
SCALES = {
    "streams": (streams_of, ("info {t}", "events {t} --limit 3", "stats {t}",
                             "index {t} --index-dir {o}")),
    "streams of processes": (processes_of, ("info {t}", "events {t} --limit 3")),
    "packets": (packets_of, ("info {t}", "events {t} --limit 3 --reverse",
                             "index {t} --timelines --index-dir {o}")),
    "packets with losses": (lossy_of, ("info {t}", "events {t} --count")),
    "overlapping packets": (overlaps_of, ("events {t} --limit 3",
                                          "events {t} --limit 3 --reverse")),
    "classes": (classes_of, ("info {t}", "stats {t}", "sql {t} 'SELECT a FROM ev1'",
                             "convert {t} {o} --to csv")),
    "rules": (chain_of, ("at {t} @18 a{l} --rules {t}.rules",
                         "at {t} @18 a5 --rules {t}.rules")),
    "blocks of rules": (blocks_of, ("at {t} @1100 'b[3]/v' --rules {t}.rules",)),
}


class Measured:
    def __init__(self, seconds, megabytes):
        self.seconds = seconds
        self.megabytes = megabytes


def measure(build, command, trace, count, limit):
    """None: it took longer than the limit."""
    out = trace + ".out"
    words = command.format(t=trace, o=out, l=count - 1)
    index = "" if "--index-dir" in words else " --no-index"
    full = "exec %s/yore %s%s" % (build, words, index)
    with subprocess.Popen(["/bin/sh", "-c", "ulimit -t %d; %s" % (limit + 1, full)],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as child:
        said = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    shutil.rmtree(out, ignore_errors=True)
    if child.returncode < 0:
        return None
    if child.returncode != 0:
        sys.exit("%s: %s" % (full, said.decode(errors="replace")[-500:]))
    return Measured(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def exponent(before, now, ratio, least):
    """None: one of the two is too small to tell."""
    if before is None or before < least or now < least:
        return None
    return math.log(now / before) / math.log(ratio)


def scale(build, work, name, counts, limit, tell):
    """Calls tell(command, count, measured, exponent of seconds, of memory)."""
    make, commands = SCALES[name]
    before = {}
    for count in counts:
        trace = "%s/scale-%d" % (work, count)
        make(trace, count)
        for command in commands:
            if command in before and before[command] is None:
                continue
            now = measure(build, command, trace, count, limit)
            old = before.get(command)
            before[command] = (now, count) if now else None
            if not now:
                tell(command, count, None, None, None)
                continue
            ratio = count / old[1] if old else 0
            tell(command, count, now,
                 exponent(old and old[0].seconds, now.seconds, ratio, 0.02),
                 exponent(old and old[0].megabytes, now.megabytes, ratio, 20))
        shutil.rmtree(trace)
        if os.path.exists(trace + ".rules"):
            os.unlink(trace + ".rules")


def counts_of(least, most):
    counts = [least]
    while counts[-1] * 10 <= most:
        counts.append(counts[-1] * 10)
    return counts


def scales(build, work, _corpus, _args, report):
    """The part of `make bench`."""
    for name in SCALES:
        def tell(command, count, now, seconds, memory, name=name):
            del memory
            if now:
                report.row("%d %s: %s" % (count, name, command), now.seconds, "s",
                           series=("%s: %s" % (name, command), count))
                if seconds is not None:
                    report.row("  exponent", seconds, "")
        scale(build, work, name, counts_of(100, 10000), 60, tell)


def shown(value):
    return "      -" if value is None else "%7.2f" % value


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--least", type=int, default=100)
    parser.add_argument("--most", type=int, default=100000)
    parser.add_argument("--limit", type=int, default=60)
    parser.add_argument("--only", nargs="+", default=list(SCALES), choices=list(SCALES))
    args = parser.parse_args()

    def tell(command, count, now, seconds, memory):
        if now:
            print("  %8d  %8.2f s %s  %8.0f MB %s   %s" %
                  (count, now.seconds, shown(seconds), now.megabytes, shown(memory), command),
                  flush=True)
        else:
            print("  %8d  over %d s                          %s" % (count, args.limit, command),
                  flush=True)

    with tempfile.TemporaryDirectory(prefix="yore-scale-") as work:
        for name in args.only:
            print("%s\n  %8s  %10s %7s  %11s %7s" %
                  (name, "number", "CPU", "exp.", "memory", "exp."))
            scale(os.path.abspath(args.build), work, name, counts_of(args.least, args.most),
                  args.limit, tell)


if __name__ == "__main__":
    main()

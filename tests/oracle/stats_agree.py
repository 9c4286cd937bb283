#!/usr/bin/python3
"""Compares `yore stats` with what the format's own tool counts.

    stats_agree.py YORE TRACE...

CTF: babeltrace2's events per name, first and last time of each (python3-bt2, streams apart, so that
its muxer has no say). perf.data: `perf report --stats` per record type and event, and the bytes of
records in `perf report -D`. trace.dat: the lines of `trace-cmd report` per event name.

Always: one, two and three threads print the same, byte for byte; what two halves of the trace count
is what the whole does; a filter that looks at every event counts as one that looks at none. Says so
and exits with 77 (skipped) when none of the traces has its tool here.
"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys

try:
    import bt2
except ImportError:
    bt2 = None

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
from clock_origins import Origins, origin_of

failed = 0
CLOCK = ""  # no event's name: the origin of the clock


def differ(trace, what):
    global failed
    failed += 1
    print("%s: %s" % (trace, what))


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def stats(yore, trace, *options):
    done = run(yore, "stats", trace, "--format", "json", "--no-index", *options)
    if done.returncode not in (0, 3):
        sys.exit("%s: yore stats ends with %d: %s" % (trace, done.returncode, done.stderr.decode()))
    return done.stdout, [json.loads(line) for line in done.stdout.splitlines()]


def agree_with_itself(yore, trace):
    text, rows = stats(yore, trace, "--jobs", "1")
    for jobs in ("2", "3"):
        if stats(yore, trace, "--jobs", jobs)[0] != text:
            differ(trace, "%s threads count otherwise than one" % jobs)
    if stats(yore, trace, "--where", "1 == 1")[1] != rows:
        differ(trace, "events one by one are counted otherwise")
    times = [row["first"] for row in rows if row["first"] is not None]
    last = max((row["last"] for row in rows if row["last"] is not None), default=0)
    whole = {row["name"]: [row["events"], row["bytes"]] for row in rows}
    if not times:
        return rows
    middle = "@%d" % ((min(times) + last) // 2)
    halves = collections.defaultdict(lambda: [0, 0])
    for options in (("--end", middle), ("--begin", middle)):
        for row in stats(yore, trace, *options)[1]:
            halves[row["name"]][0] += row["events"]
            halves[row["name"]][1] += row["bytes"]
    for name, (events, size) in whole.items():
        if halves[name][0] != events or not 0 <= halves[name][1] - size <= 1:
            differ(trace, "%s: %s in two halves, %s in the whole" % (
                name, halves[name], whole[name]))
    return rows


class Streams:
    """A sink per stream: no muxer looks at the order across them."""

    def __init__(self, trace):
        self.seen = {}
        source = bt2.find_plugin("ctf").source_component_classes["fs"]
        graph = bt2.Graph()
        component = graph.add_component(source, "source", {"inputs": [trace]})
        for i, port in enumerate(component.output_ports.values()):
            sink = graph.add_component(self.make(), "sink%d" % i, obj=self.seen)
            graph.connect_ports(port, sink.input_ports["in"])
        if component.output_ports:
            graph.run()

    @staticmethod
    def make():
        class Sink(bt2._UserSinkComponent):
            def __init__(self, _config, _params, obj):
                self._add_input_port("in")
                self._seen = obj

            def _user_graph_is_configured(self):
                self._messages = self._create_message_iterator(self._input_ports["in"])

            def _user_consume(self):
                message = next(self._messages)
                if type(message) is not bt2._EventMessageConst:
                    return
                clock = message.event.cls.stream_class.default_clock_class
                time = message.default_clock_snapshot.ns_from_origin if clock else None
                self._seen[CLOCK] = origin_of(clock)
                count, first, last = self._seen.get(message.event.name, (0, None, None))
                if time is not None:
                    first = time if first is None else min(first, time)
                    last = time if last is None else max(last, time)
                self._seen[message.event.name] = (count + 1, first, last)
        return Sink


def seen_by_babeltrace2(folder):
    """In a process of its own: some traces make the library abort."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            with os.fdopen(theirs, "w") as out:
                json.dump(Streams(folder).seen, out)
            os._exit(0)
        finally:
            os._exit(1)
    os.close(theirs)
    with os.fdopen(ours) as said:
        text = said.read()
    if os.waitpid(child, 0)[1]:
        raise RuntimeError("it cannot read this")
    return json.loads(text)


def ctf(yore, trace):
    folders = sorted(folder for folder, _, files in os.walk(trace) if "metadata" in files)
    theirs, origins = {}, Origins()
    try:
        for folder in folders:
            seen = seen_by_babeltrace2(folder)
            shift = origins.shift(seen.pop(CLOCK, None))
            for name, (count, first, last) in seen.items():
                first, last = (time if time is None else time + shift for time in (first, last))
                old = theirs.get(name, (0, None, None))
                theirs[name] = (old[0] + count, min(filter(None, (old[1], first)), default=None),
                                max(filter(None, (old[2], last)), default=None))
    except RuntimeError as error:  # what it cannot read is compared elsewhere
        print("%s: skipped: babeltrace2: %s" % (trace, error))
        return
    rows = agree_with_itself(yore, trace)
    ours = {row["name"]: (row["events"], row["first"], row["last"]) for row in rows}
    timed = all(first is not None for _, first, _ in theirs.values())
    for name in sorted(set(ours) | set(theirs)):
        mine, other = ours.get(name), theirs.get(name)
        if not mine or not other or mine[0] != other[0] or (timed and mine != other):
            differ(trace, "%s: %s, babeltrace2 has %s" % (name, mine, other))
    room = sum(os.path.getsize(os.path.join(folder, name))
               for folder in folders for name in os.listdir(folder)
               if os.path.isfile(os.path.join(folder, name)) and name != "metadata")
    if sum(row["bytes"] for row in rows) > room:
        differ(trace, "events take more bytes than there are")


TYPES = {"MMAP", "COMM", "EXIT", "FORK", "MMAP2", "LOST", "THROTTLE", "UNTHROTTLE", "SWITCH",
         "NAMESPACES", "KSYMBOL", "BPF_EVENT", "CGROUP", "TEXT_POKE", "ITRACE_START"}


def perf(yore, trace):
    text = run("perf", "report", "--stats", "-i", trace).stdout.decode()
    rows = agree_with_itself(yore, trace)
    ours = {row["name"]: row for row in rows}
    samples, theirs, event = 0, {}, None
    for line in text.splitlines():
        head = re.match(r"(\S+) stats:", line)
        event = head.group(1) if head else event
        found = re.match(r" +(\w+) events: +(\d+)", line)
        if not found:
            continue
        kind, count = found.group(1), int(found.group(2))
        if event is None or event == "Aggregated":
            samples = count if kind == "SAMPLE" else samples
            if kind in TYPES and count:
                theirs["perf_" + kind.lower()] = count
        elif kind == "SAMPLE" and ":" in event:
            theirs[event] = count
    for name, count in theirs.items():
        mine = ours.get(name, ours.get(name.replace("_event", ""), {})).get("events")
        if mine != count:
            differ(trace, "%s: %s events, perf has %d" % (name, mine, count))
    counted = sum(row["events"] for row in rows if not row["name"].startswith("perf_"))
    if counted != samples:
        differ(trace, "%d samples, perf has %d" % (counted, samples))
    sizes = collections.Counter()
    for line in run("perf", "report", "-D", "-i", trace).stdout.decode("latin-1").splitlines():
        found = re.search(r"\[(0x[0-9a-f]+)\]: PERF_RECORD_(\w+)", line)
        if found:
            sizes[found.group(2)] += int(found.group(1), 16)
    mine = sum(row["bytes"] for row in rows if not row["name"].startswith("perf_"))
    if mine != sizes["SAMPLE"]:
        differ(trace, "samples take %d bytes, perf has %d" % (mine, sizes["SAMPLE"]))
    for kind in ("COMM", "FORK", "EXIT", "MMAP2"):
        mine = ours.get("perf_" + kind.lower(), {}).get("bytes", 0)
        if mine != sizes[kind]:
            differ(trace, "%s takes %d bytes, perf has %d" % (kind, mine, sizes[kind]))


def ftrace(yore, trace):
    done = run("trace-cmd", "report", "-i", trace)
    if done.returncode:
        print("%s: skipped: trace-cmd ends with %d" % (trace, done.returncode))
        return
    theirs = collections.Counter()
    for line in done.stdout.decode("latin-1").splitlines():
        found = re.match(r"(?:\S+: )? *.*-\d+ +\[\d+\] .{0,6}? *[\d.]+: ([\w.]+): ", line + " ")
        if found:
            theirs[found.group(1)] += 1
    ours = collections.Counter()
    for row in agree_with_itself(yore, trace):
        if row["name"] != "saved_cmdline":
            ours[row["name"].split(":")[-1]] += row["events"]
    for name in sorted(set(ours) | set(theirs)):
        if ours[name] != theirs[name]:
            differ(trace, "%s: %d events, trace-cmd has %d" % (name, ours[name], theirs[name]))


def main():
    yore, compared = sys.argv[1], 0
    for trace in sys.argv[2:]:
        with open(trace, "rb") if os.path.isfile(trace) else open(os.devnull, "rb") as file:
            head = file.read(10)
        if head[:8] in (b"PERFILE2", b"2ELIFREP") or os.path.isfile(trace + "/data.0"):
            tool, judge = shutil.which("perf"), perf
        elif head == b"\x17\x08\x44tracing":
            tool, judge = shutil.which("trace-cmd"), ftrace
        else:
            tool, judge = bt2, ctf
        if tool:
            judge(yore, trace)
            compared += 1
    print("stats: %d traces compared, %d differences" % (compared, failed))
    return 77 if not compared else failed != 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Snapshots, rotation archives and tracefile turns of one session of LTTng-UST are one trace.

What babeltrace2 finds in each of the folders, together, each event once, is what yore finds in the session's folder. Packets that
are there twice, and sequence numbers that are nowhere, are counted from the packets' headers. A session daemon of its own,
without privileges; skipped, and said so, where the tools are missing.
"""
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
import results
from follow_lttng import NOBODY, Rig, build
from results import finish, result


def traces_below(folder):
    return sorted(path for path, _, names in os.walk(folder) if "metadata" in names)


def events_of(folder):
    """(nanoseconds, CPU, text) of all events, as babeltrace2 reads each trace of the folder alone."""
    events = set()
    for trace in traces_below(folder):
        printed = subprocess.run(["babeltrace2", "--clock-cycles", "--no-delta", trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()
        for line in printed.splitlines():
            events.add((int(line[line.index("{ cpu_id = ") + 11 :].split(" ")[0].rstrip(",")), line[line.index('msg = "') + 7 :].split('"')[0]))
    return events


def packets_of(folder):
    """(stream, sequence number) of each packet: as LTTng-UST writes headers, of 64 bits and little-endian."""
    found = []
    for trace in traces_below(folder):
        for name in sorted(os.listdir(trace)):
            path = os.path.join(trace, name)
            if name == "metadata" or not os.path.isfile(path):
                continue
            data, at = open(path, "rb").read(), 0
            while at < len(data):
                # magic, UUID, stream class, instance; begin, end, content and packet size in bits, number
                magic, uuid, _, instance, _, _, _, bits, number = struct.unpack_from("<I16sIQQQQQQ", data, at)
                assert magic == 0xC1FC1FC1
                found.append(((uuid, instance), number))
                at += bits // 8
    return found


def compare(name, folder, holes, doubled):
    info = json.loads(subprocess.run([results.yore, "info", folder, "--format", "json", "--no-index"], stdout=subprocess.PIPE).stdout)
    rows = subprocess.run([results.yore, "events", folder, "--format", "json", "--no-index"], stdout=subprocess.PIPE).stdout.decode()
    got = [(row["cpu"], row["fields"]["msg"]) for row in map(json.loads, rows.splitlines()) if "msg" in row.get("fields", {})]
    wanted, packets = events_of(folder), packets_of(folder)
    result(sorted(got) == sorted(wanted) and wanted, name + ": each event once", "%d rows, %d events" % (len(got), len(wanted)))
    streams = {}
    for stream, number in packets:
        streams.setdefault(stream, set()).add(number)
    lost = sum(max(numbers) - min(numbers) + 1 - len(numbers) for numbers in streams.values())
    twice = len(packets) - len(set(packets))
    # an end of the loss is the next packet's begin
    told = sum(row.get("packets") or 0 for stream in info["streams"] for row in stream["losses"])
    said = sum(stream.get("doubled") or 0 for stream in info["streams"])
    result((told, said, len(info["streams"])) == (lost, twice, len(streams)) and (lost > 0) == holes and (twice > 0) == doubled,
           name + ": streams, packets that are missing and that are there twice",
           "%d streams of %d, %d of %d missing, %d of %d twice" % (len(info["streams"]), len(streams), told, lost, said, twice))


def session(rig, program, name, channel, *create, during=lambda: None):
    folder = os.path.join(rig.work, name)
    os.makedirs(folder)
    if os.getuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    rig.lttng("create", name, "-o", folder, *create)
    rig.lttng("enable-channel", "-u", "--subbuf-size=4096", "--num-subbuf=8", *channel, "ch")
    rig.lttng("enable-event", "-u", "-c", "ch", "lttng_ust_tracef:*")
    rig.lttng("start")
    running = [rig.start(program, "4000", "first"), rig.start(program, "4000", "second")]
    during()
    for process in running:
        process.wait()
    rig.lttng("stop")
    rig.lttng("destroy", name)
    return folder


def snapshots(rig, program):
    def record():
        for pause in (0.8, 0.02, 1.5, 0.05):
            time.sleep(pause)
            rig.lttng("snapshot", "record")

    folder = session(rig, program, "snapshots", [], "--snapshot", during=record)
    result(len(traces_below(folder)) == 4, "four snapshots", traces_below(folder))
    compare("snapshots", folder, True, True)


def archives(rig, program):
    def rotate():
        for _ in range(3):
            time.sleep(random.random() / 2)
            rig.lttng("rotate", "archives")

    folder = session(rig, program, "archives", ["--buffers-uid"], during=rotate)
    result(len(traces_below(folder)) == 4, "four archives", traces_below(folder))
    compare("archives", folder, False, False)


def tracefiles(rig, program):
    folder = session(rig, program, "tracefiles", ["--buffers-uid", "--tracefile-size=16384", "--tracefile-count=3"])
    files = [name for trace in traces_below(folder) for name in os.listdir(trace) if name.startswith("ch_")]
    result(len(files) >= 3, "tracefile turns", files)
    compare("tracefile turns", folder, False, False)


def main():
    needed = ("lttng", "lttng-sessiond", "babeltrace2", "cc")
    missing = [tool for tool in needed if not shutil.which(tool)]
    with tempfile.TemporaryDirectory() as work:
        os.chmod(work, 0o755)
        program = None if missing else build(work)
        if not program:
            print("SKIP: missing: " + (", ".join(missing) or "liblttng-ust-dev"))
            return
        rig = Rig(work)
        try:
            for check in (snapshots, archives, tracefiles):
                check(rig, program)
        finally:
            rig.end()


if __name__ == "__main__":
    main()
    finish()

#!/usr/bin/python3
"""Clauses of CTF 1.8 on traces that are made here: files, packets, clocks, and what tracers write wrong.

Each row writes a trace whose events and times it knows. docs/ctf.md names the rows.
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
from results import finish, result, write, yore

HEAD = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; } := u8;
typealias integer { size = 32; align = 8; } := u32;
typealias integer { size = 64; align = 8; } := u64;
trace { major = 1; minor = 8; byte_order = le; uuid = "%s";
	packet.header := struct { u32 magic; u32 stream_id; u64 stream_instance_id; }; };
env { %s };
clock { name = c; freq = 1000000000; offset_s = 5; };
typealias integer { size = 64; align = 8; map = clock.c.value; } := t64;
stream { id = 0;
	packet.context := struct { t64 timestamp_begin; t64 timestamp_end; u32 content_size;
		u32 packet_size; u32 packet_seq_num; u32 events_discarded; };
	event.header := struct { u8 id; t64 timestamp; }; };
event { name = e; id = 0; stream_id = 0; fields := struct { u32 n; }; };
"""
UUID = "10000000-0000-0000-0000-000000000001"
ORIGIN = 5 * 10 ** 9


def event(time, number, class_id=0):
    return struct.pack("<BQI", class_id, time, number)


def packet(begin, end, events, sequence=0, discarded=0, instance=0, padding=0):
    body = b"".join(event(time, number) for time, number in events)
    size = 48 + len(body)
    return struct.pack("<IIQQQIIII", 0xc1fc1fc1, 0, instance, begin, end, size * 8,
                       (size + padding) * 8, sequence, discarded) + body + b"\0" * padding


def make(folder, files, env="", head=HEAD):
    for name in files:
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
    return write(folder, head % (UUID, env), files)


def run(*words):
    """Exit status, events as (time, n), messages."""
    done = subprocess.run([yore, *words, "--format", "json", "--index-dir", index],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    said = [line for line in done.stderr.decode().splitlines() if not line.startswith("yore: note")]
    return done.returncode, rows, said


def events(folder, *options):
    code, rows, said = run("events", folder, *options)
    return code, [(row["ts"] - ORIGIN, row["fields"]["n"]) for row in rows if "fields" in row], said


def streams(folder):
    return sorted(stream["name"] for stream in run("info", folder)[1][0]["streams"])


def check_files(work):
    pair = packet(10, 20, [(10, 1), (20, 2)])
    folder = make(os.path.join(work, "hidden"), {"s": pair, ".s": pair, "sub/s": pair, "index/s": pair})
    result(events(folder) == (0, [(10, 1), (20, 2)], []), "hidden files and folders are no streams",
           events(folder))
    folder = make(os.path.join(work, "empty"), {"s": pair, "t": b""})
    result(events(folder) == (0, [(10, 1), (20, 2)], []) and streams(folder) == ["s"],
           "a file of 0 bytes is an empty stream", events(folder))
    odd = [packet(10 * i, 10 * i + 1, [(10 * i, i)], sequence=i, padding=i % 7) for i in range(1, 20)]
    folder = make(os.path.join(work, "odd"), {"s": b"".join(odd)})
    result(events(folder) == (0, [(10 * i, i) for i in range(1, 20)], []),
           "packets begin at any byte", events(folder))
    folder = make(os.path.join(work, "rotated"), {
        "s_0_1": packet(30, 40, [(30, 3), (40, 4)], sequence=1, instance=7),
        "s_0_0": packet(10, 20, [(10, 1), (20, 2)], sequence=0, instance=7),
        "s_1_0": packet(15, 15, [(15, 9)], sequence=0, instance=8)})
    found = events(folder)
    result(found == (0, [(10, 1), (15, 9), (20, 2), (30, 3), (40, 4)], []) and
           len(streams(folder)) == 2, "files of one stream instance are one stream",
           (found, streams(folder)))


def check_no_files(work):
    """What is no regular file where a stream, or the metadata of a part, belongs."""
    both = {"s_0": packet(10, 20, [(10, 1), (20, 2)]), "s_1": packet(15, 15, [(15, 9)], instance=8)}
    kinds = {"dangling": lambda path: os.symlink("/nowhere", path),
             "loop": lambda path: os.symlink(os.path.basename(path), path),
             "fifo": os.mkfifo, "folder": os.mkdir,
             "device": lambda path: os.symlink("/dev/null", path)}
    wrong = []
    for name, put in kinds.items():
        folder = make(os.path.join(work, name), both)
        os.remove(os.path.join(folder, "s_1"))
        put(os.path.join(folder, "s_1"))
        code, found, said = events(folder)
        if (code, found, len(said)) != (3, [(10, 1), (20, 2)], 1) or "/s_1: " not in said[0]:
            wrong.append((name, code, found, said))
    result(not wrong, "what is no file in the place of a stream is damage", wrong)
    session = os.path.join(work, "session")
    make(os.path.join(session, "a"), {"s": both["s_0"]})
    other = make(os.path.join(session, "b"), {"s": both["s_1"]})
    os.remove(os.path.join(other, "metadata"))
    os.symlink("/nowhere", os.path.join(other, "metadata"))
    code, found, said = events(session)
    result((code, found, len(said)) == (3, [(10, 1), (20, 2)], 1) and "b/metadata: it is a link" in said[0],
           "metadata that is a link to what is not there is damage", (code, found, said))
    os.remove(os.path.join(other, "metadata"))
    code, found, said = events(session)
    result((code, found, len(said)) == (3, [(10, 1), (20, 2)], 1) and "/b: files of packets" in said[0],
           "packets without metadata are damage where other folders are traces", (code, found, said))


def check_packets(work):
    first, second = packet(10, 20, [(10, 1), (20, 2)]), packet(30, 40, [(30, 3), (40, 4)], sequence=1)
    wrong = []
    for cut in range(1, len(second)):
        folder = make(os.path.join(work, "cut%d" % cut), {"s": first + second[:-cut]})
        code, found, said = events(folder)
        whole = max(0, (len(second) - cut - 48) // 13)
        expected = [(10, 1), (20, 2)] + [(30, 3), (40, 4)][:whole]
        if (code, found) != (3, expected) or len(said) != 1:
            wrong.append((cut, code, found, said))
    result(not wrong, "a last packet that is cut off gives its whole events and one message", wrong[:3])
    bad = second[:48] + event(30, 3) + event(40, 4, class_id=9)
    third = packet(50, 60, [(50, 5), (60, 6)], sequence=2)
    folder = make(os.path.join(work, "unknown"), {"s": first + bad + third})
    code, found, said = events(folder)
    result((code, found) == (3, [(10, 1), (20, 2), (30, 3), (50, 5), (60, 6)]) and len(said) == 1 and
           "/s" in said[0] and str(len(first)) in said[0],
           "an id that no event has ends its packet, not the next", (code, found, said))
    steps = [0, 3 << 61, 3 << 62, 5 << 61, 1, 7 << 61]  # counted on, they leave 64 bits
    wide = [struct.pack("<IIQQQIIQI", 0xc1fc1fc1, 0, 0, 10 * i, 10 * i + 5, 65 * 8, 65 * 8, number, 0) +
            event(10 * i, i) for i, number in enumerate(steps, 1)]
    folder = make(os.path.join(work, "far"), {"s": b"".join(wide)},
                  head=HEAD.replace("u32 packet_seq_num", "u64 packet_seq_num"))
    code, found, said = events(folder)
    result(code in (0, 3) and sorted(found) == [(10 * i, i) for i in range(1, 7)],
           "sequence numbers that are far apart lose no event", (code, found, said))


def seeks_right(folder, times):
    """Every moment finds what a reading of everything finds."""
    for at in sorted({t + more for t in times for more in (-1, 0, 1)}):
        for options, keep in ((("--begin", "@%d" % (ORIGIN + at)), lambda t: t >= at),
                              (("--end", "@%d" % (ORIGIN + at)), lambda t: t < at)):
            _, found, said = events(folder, *options)
            if [t for t, _ in found] != [t for t in times if keep(t)] or said:
                return (options, found, said)
    return None


def check_read(work, row, env, packets, expected):
    """All events in order of time, and from and up to every moment."""
    folder = make(os.path.join(work, str(len(os.listdir(work)))), {"s": b"".join(packets)}, env)
    found = events(folder)
    wrong = seeks_right(folder, [time for time, _ in expected])
    result(found == (0, expected, []) and not wrong, row, (found, wrong))


def tracer(name, major, minor, patch=0):
    return 'tracer_name = "%s"; tracer_major = %d; tracer_minor = %d; tracer_patch = %d;' % (
        name, major, minor, patch)


def check_tracers(work):
    os.makedirs(work)
    late = [packet(10, 20, [(10, 1), (20, 2), (25, 3)]), packet(30, 40, [(30, 4), (45, 5)], sequence=1)]
    for env in (tracer("lttng-ust", 2, 10), tracer("lttng-modules", 2, 9, 12), tracer("lttng-modules", 2, 10, 9)):
        check_read(work, "events later than the end of their packet: " + env, env, late,
                   [(10, 1), (20, 2), (25, 3), (30, 4), (45, 5)])
    check_read(work, "packets of a crash without an end", tracer("lttng-ust", 2, 13),
               [packet(10, 0, [(10, 1), (25, 2)]), packet(30, 0, [(30, 3), (45, 4)], sequence=1)],
               [(10, 1), (25, 2), (30, 3), (45, 4)])
    check_read(work, "a first event before the begin of its packet", tracer("barectf", 2, 3),
               [packet(12, 20, [(10, 1), (20, 2)]), packet(33, 40, [(30, 3), (40, 4)], sequence=1)],
               [(10, 1), (20, 2), (30, 3), (40, 4)])
    check_read(work, "packets of a stream that overlap", "",
               [packet(10, 33, [(10, 1), (33, 4)]), packet(30, 50, [(30, 3), (50, 5)], sequence=1)],
               [(10, 1), (30, 3), (33, 4), (50, 5)])


def check_index(work):
    """LTTng's index: with the right one, with a wrong one and without one the trace is the same."""
    packets = [packet(10 * i, 10 * i + 5, [(10 * i, i), (10 * i + 5, 100 + i)], sequence=i, padding=16)
               for i in range(1, 9)]
    size = len(packets[0])
    expected = (0, [(t, n) for i in range(1, 9) for t, n in ((10 * i, i), (10 * i + 5, 100 + i))])
    head = struct.pack(">IIII", 0xc1f1dcc1, 1, 1, 72)
    def entry(i, offset, begin):
        return struct.pack(">9Q", offset, size * 8, (size - 16) * 8, begin, begin + 5, 0, 0, 0, i)
    right = head + b"".join(entry(i, (i - 1) * size, 10 * i) for i in range(1, 9))
    indexes = {"right": right, "short": right[:-72], "odd": right[:-3],
               "gap": head + b"".join(entry(i, (i - 1) * size + (i > 4), 10 * i) for i in range(1, 9)),
               "times": head + b"".join(entry(i, (i - 1) * size, 7 * i) for i in range(1, 9)),
               "magic": b"\0\0\0\0" + right[4:]}
    wrong = []
    for name, data in indexes.items():
        folder = make(os.path.join(work, name), {"s_0": b"".join(packets), "index/s_0.idx": data})
        found = events(folder)
        part = events(folder, "--begin", "@%d" % (ORIGIN + 30), "--end", "@%d" % (ORIGIN + 50))
        said = ["does not fit its stream file" in line for line in found[2]]
        if found[:2] != expected or part[1] != [(30, 3), (35, 103), (40, 4), (45, 104)] or \
                said != ([True] if name in ("short", "odd", "gap", "magic") else []):
            wrong.append((name, found, part))
    result(not wrong, "LTTng's index where it fits, and none where it does not", wrong)


def check_clocks(work):
    narrow = HEAD.replace("event.header := struct { u8 id; t64 timestamp; }",
                          "event.header := struct { u8 id; integer { size = 8; align = 8; "
                          "map = clock.c.value; } timestamp; }")
    times = [1000, 1000, 1023, 1024, 1279, 1534, 1535, 1700]
    body = b"".join(struct.pack("<BBI", 0, t & 255, i) for i, t in enumerate(times))
    size = 48 + len(body)
    head = struct.pack("<IIQQQIIII", 0xc1fc1fc1, 0, 0, 1000, 1700, size * 8, size * 8, 0, 0)
    folder = make(os.path.join(work, "narrow"), {"s": head + body}, head=narrow)
    found = events(folder)
    result(found == (0, [(t, i) for i, t in enumerate(times)], []),
           "stamps of 8 bits wrap once, and equal ones do not", found)
    clocks = []
    for absolute in ("true", "false"):
        head = HEAD.replace("offset_s = 5;", "offset_s = 5; absolute = %s;" % absolute)
        folder = make(os.path.join(work, absolute), {"s": packet(10, 10, [(10, 1)])}, head=head)
        clocks.append(run("info", folder)[1][0]["clocks"][0]["epoch"])
    result(clocks == [True, False], "absolute = true is the Unix epoch", clocks)


PER_CHANNEL = HEAD.replace("stream { id = 0;", "stream { id = 0; event.context := struct { MEMBERS };")


def per_channel(members, contexts):
    """One packet of 60 events of CPUs 0, 1 and 2, 10 ns apart; 5 were lost in the second packet."""
    def one(first, last, sequence, lost):
        body = b"".join(struct.pack("<BQ", 0, 10 * i) + contexts(i) + struct.pack("<I", i)
                        for i in range(first, last))
        size = (48 + len(body)) * 8
        return struct.pack("<IIQQQIIII", 0xc1fc1fc1, 0, 0, 10 * first, 10 * last - 10, size, size, sequence,
                           lost) + body
    return one(0, 30, 0, 0) + one(30, 60, 1, 5), PER_CHANNEL.replace("MEMBERS", members)


def of_cpus(folder, cpus):
    """What --cpu, SQL and a rule say of each CPU, against the events whose number modulo 3 it is."""
    rules = os.path.join(folder, "..", "cpu.rules")
    with open(rules, "w", encoding="utf-8") as file:
        file.write('event e\n\tcpu[section/cpu]/n = field/n\n')
    wrong = []
    for cpu in cpus:
        mine = [(10 * i, i) for i in range(60) if i % 3 == cpu]
        found = events(folder, "--cpu", str(cpu))
        if found[:2] != (0, mine):
            wrong.append(("--cpu", cpu, found))
        rows = run("sql", folder, "SELECT count(*) AS n, sum(n) AS sum FROM e WHERE cpu = %d" % cpu)[1]
        if rows != [{"n": len(mine), "sum": sum(n for _, n in mine)}]:
            wrong.append(("sql", cpu, rows))
        rows = run("at", folder, "@%d" % (ORIGIN + 285), "cpu[%d]/n" % cpu, "--rules", rules)[1]
        last = [n for t, n in mine if t <= 285][-1]
        if [row["value"] for row in rows] != [last]:
            wrong.append(("at", cpu, rows))
    return wrong


def check_cpus(work):
    """The CPU of an event: its packet's, else what it says itself."""
    i32 = "integer { size = 32; align = 8; signed = true; }"
    shapes = {
        "cpu_id": (i32 + " cpu_id; " + i32 + " vtid;", lambda i: struct.pack("<ii", i % 3, 7)),
        # behind a text the place of the member differs from event to event
        "behind": ("string name; " + i32 + " cpu_id;", lambda i: b"x" * (i % 7) + b"\0" + struct.pack("<i", i % 3))}
    for name, (members, contexts) in shapes.items():
        data, head = per_channel(members, contexts)
        folder = make(os.path.join(work, name), {"c_0": data, "c_1": b""}, head=head)
        wrong = of_cpus(folder, range(3))
        info = run("info", folder)[1][0]
        lost = sum(stream["lost"] for stream in info["streams"])
        result(not wrong and [s["cpu"] for s in info["streams"]] == [0, 1, 2] and lost == 5,
               "a context that tells the CPU is the event's CPU: " + name, (wrong, info["streams"]))
    data, head = per_channel(i32 + " cpu_id;", lambda i: struct.pack("<i", i % 3 - 1))
    code, found, said = events(make(os.path.join(work, "impossible"), {"c_0": data}, head=head))
    result(code == 0 and len(found) == 60 and any("names CPU -1" in line for line in said),
           "a CPU that cannot be is told", (code, len(found), said))
    head = HEAD.replace("u32 events_discarded;", "u32 events_discarded; u32 cpu_id;")
    for name, cpus in (("few", [0, 1, 2]), ("many", [0] * 50 + [1, 2] + [0] * 48)):
        packets = [struct.pack("<IIQQQIIIII", 0xc1fc1fc1, 0, 0, 10 * i, 10 * i, 65 * 8, 65 * 8, i, 0, cpu) +
                   event(10 * i, i) for i, cpu in enumerate(cpus)]
        folder = make(os.path.join(work, name), {"s": b"".join(packets)}, head=head)
        stream = run("info", folder)[1][0]["streams"][0]
        found = [[n for _, n in events(folder, "--cpu", str(cpu))[1]] for cpu in range(3)]
        rows = run("sql", folder, "SELECT n FROM e WHERE cpu = 1")[1]
        expected = [[i for i, own in enumerate(cpus) if own == cpu] for cpu in range(3)]
        result(stream["cpu"] is None and stream["cpus"] == [0, 1, 2] and found == expected and
               [row["n"] for row in rows] == expected[1],
               "packets of several CPUs in one file: " + name, (stream, found, rows))


def check_falls(work):
    """A clock of 64 bits that steps back inside of a packet, in each shape of event header."""
    numbers = [(1000, 1), (2000, 2), (500, 3), (600, 4), (3000, 5)]
    compact = HEAD.replace(
        "event.header := struct { u8 id; t64 timestamp; }",
        "event.header := struct { enum : integer { size = 5; align = 8; } { compact = 0 ... 30, extended = 31 } id; "
        "variant <id> { struct { integer { size = 27; align = 1; map = clock.c.value; } timestamp; } compact; "
        "struct { u32 id; t64 timestamp; } extended; } v; } align(8)")
    general = HEAD.replace("event.header := struct { u8 id; t64 timestamp; }",
                           "event.header := struct { string pad; u8 id; t64 timestamp; }")
    bare = HEAD[:HEAD.index("packet.header")] + "};\n" + HEAD[HEAD.index("env {"):]
    bare = bare[:bare.index("packet.context")] + bare[bare.index("event.header"):]
    shapes = {"flat": (HEAD, event),
              "long form": (compact, lambda t, n: struct.pack("<BIQI", 31, 0, t, n)),
              "general": (general, lambda t, n: b"x\0" + event(t, n)),
              "without packets": (bare, event)}
    for name, (head, one) in shapes.items():
        body = b"".join(one(t, n) for t, n in numbers)
        size = 48 + len(body)
        packets = b"" if name == "without packets" else struct.pack(
            "<IIQQQIIII", 0xc1fc1fc1, 0, 0, 500, 3000, size * 8, size * 8, 0, 0)
        folder = make(os.path.join(work, name), {"s": packets + body}, head=head)
        code, found, said = events(folder)
        rows = run("check", folder)[1]
        result((code, found) == (0, sorted(numbers)) and
               ["steps back by 1500 ns at event 2" in line for line in said if "steps" in line] == [True] and rows[-1]["odd_times"] == 1 and
               rows[0]["kind"] == "time falls inside" and rows[0]["times"] == [ORIGIN + 2000, ORIGIN + 500],
               "a clock that steps back inside of a packet: " + name, (code, found, said, rows))


def check_inside_bytes(work):
    """Headers of a few bits, and events of no field, also the last of a packet."""
    def bits(*values):
        """Little-endian: the first value has the lowest bits."""
        number = at = 0
        for value, width in values:
            number |= value << at
            at += width
        return number.to_bytes((at + 7) // 8, "little"), at
    kinds = {"": "", " with a structure of no member": "fields := struct { };"}
    for width in (3, 5, 9):
        for last, fields in kinds.items():
            head = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; } := u8;
trace { major = 1; minor = 8; byte_order = le; };
stream { packet.context := struct { u8 packet_size; u8 content_size; };
	event.header := struct { integer { size = %d; } id; integer { size = 2; } x; }; };
event { name = empty; id = 0; %s };
event { name = full; id = 1; fields := struct { integer { size = 3; } a; integer { size = 6; } b; }; };
""" % (width, fields)
            order = [0, 1, 0, 0]
            values = [pair for i, kind in enumerate(order) for pair in
                      [(kind, width), (i, 2)] + ([(5, 3), (i + 40, 6)] if kind else [])]
            data, used = bits(*values)
            packet_bits = 16 + 8 * len(data)
            folder = write(os.path.join(work, "%d%d" % (width, len(fields))), head,
                           {"s": bytes([packet_bits, 16 + used]) + data})
            code, rows, said = run("events", folder)
            found = [(row["name"], row["fields"], row["packet"].get("content_size")) for row in rows]
            wanted = [("full", {"a": 5, "b": i + 40}, 16 + used) if kind else ("empty", {}, 16 + used)
                      for i, kind in enumerate(order)]
            result((code, found) == (0, wanted), "a last event that ends inside a byte: " + "%d bits%s" % (width, last),
                   (code, found, said))


def check_wide(work):
    """Integers of over 64 bits in CTF 2, at any bit, of either byte order."""
    def member(name, bits, order, kind="unsigned-integer", align=8):
        return {"name": name, "field-class": {"type": "fixed-length-" + kind, "length": bits,
                                              "byte-order": order, "alignment": align}}
    little, big = "little-endian", "big-endian"
    fragments = [
        {"type": "preamble", "version": 2}, {"type": "trace-class"}, {"type": "data-stream-class"},
        {"type": "event-record-class", "name": "e", "payload-field-class": {
            "type": "structure", "member-classes": [
                member("a", 72, little), member("b", 128, big, "signed-integer"), member("c", 3, little, align=1),
                member("d", 77, little, "bit-array", 1), member("e", 4096, big), member("f", 8, little)]}}]
    values = [0x0123456789abcdef01, (1 << 128) - 2, 5, 0x1fedcba9876543210fed & (1 << 77) - 1,
              int.from_bytes(bytes(range(256)) * 2, "big"), 7]
    a, b, c, d, e, f = values
    data = (a.to_bytes(9, "little") + b.to_bytes(16, "big") + (c | d << 3).to_bytes(10, "little") +
            e.to_bytes(512, "big") + bytes([f]))
    folder = write(os.path.join(work, "wide"), "".join("\x1e%s\n" % json.dumps(x) for x in fragments),
                   {"s": data})
    status, rows, said = run("events", folder)
    wanted = {"a": "0x%018x" % a, "b": "0x%032x" % b, "c": c, "d": "0x%020x" % d, "e": "0x%01024x" % e, "f": f}
    found = rows[0]["fields"] if rows else None
    result(status == 0 and len(rows) == 1 and found == wanted, "integers of CTF 2 over 64 bits",
           (status, found, wanted, said))


with tempfile.TemporaryDirectory(prefix="yore-clauses-") as top:
    index = os.path.join(top, "index-folder")
    check_files(os.path.join(top, "files"))
    check_no_files(os.path.join(top, "no-files"))
    check_packets(os.path.join(top, "packets"))
    check_tracers(os.path.join(top, "tracers"))
    check_index(os.path.join(top, "index"))
    check_clocks(os.path.join(top, "clocks"))
    check_cpus(os.path.join(top, "cpus"))
    check_falls(os.path.join(top, "falls"))
    check_inside_bytes(os.path.join(top, "bits"))
    check_wide(os.path.join(top, "wide"))
finish()

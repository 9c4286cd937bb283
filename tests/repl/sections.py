#!/usr/bin/python3
"""Sections: channels by name, in --name, --stream, rules and `info`. The traces are made here.

What an answer must be is counted from what was written: the oracle is this file.
"""
import fnmatch
import json
import os
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
from results import finish, result, write, yore

HEAD = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; } := uint8_t;
typealias integer { size = 32; align = 8; } := uint32_t;
typealias integer { size = 64; align = 8; } := uint64_t;
trace { major = 1; minor = 8; byte_order = %s; uuid = "%s";
	packet.header := struct { uint32_t magic; uint8_t stream_id; };
};
env { %s };
"""
STREAM = """stream { id = %d;
	packet.context := struct { uint32_t content_size; uint32_t packet_size; uint32_t cpu_id; };
	event.header := struct { uint8_t id; };
	event.context := struct { uint8_t %s; };
};
"""
EVENT = "event { stream_id = %d; id = %d; name = \"%s\"; fields := struct { uint8_t value; }; };\n"


def packet(order, stream, cpu, events):
    body = b"".join(bytes((event, 7, value)) for event, value in events)
    bits = (4 + 1 + 12 + len(body)) * 8
    return struct.pack(order + "IBIII", 0xc1fc1fc1, stream, bits, bits, cpu) + body


def run(*words):
    done = subprocess.run([yore, *words, "--no-index"], capture_output=True, text=True,
                          timeout=120, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr.splitlines()


NAMES = ["app:tick", "app:tock", "sys:tick"]


def make_session(root):
    """Two domains of two hosts with channels of one name; two files a channel, one of them rotated."""
    written = []
    for host, domain, uuid, width, order, channels in (
            ("alpha", "kernel", "0", 64, "le", ("fast", "slow_1")),
            ("beta", "ust", "1", 32, "be", ("fast", "log"))):
        metadata = HEAD % (order, uuid * 8 + "-0000-0000-0000-000000000000",
                           'hostname = "%s"; domain = "%s"; tracer_name = "lttng-%s"; '
                           "architecture_bit_width = %d;" % (host, domain, domain, width))
        files = {}
        for number, channel in enumerate(channels):
            metadata += STREAM % (number, "vpid" if number else "tid")
            metadata += "".join(EVENT % (number, i, name) for i, name in enumerate(NAMES))
            for cpu in (0, 1):
                for part in (0, 1) if channel == "log" else (None,):
                    events = [((i + cpu) % 3, i) for i in range(5 + number * 3 + cpu)]
                    name = "%s_%d" % (channel, cpu) + ("" if part is None else "_%d" % part)
                    files[name] = packet("<" if order == "le" else ">", number, cpu, events)
                    written += [(host, domain, channel, domain + "/" + name, NAMES[event])
                                for event, _ in events]
        write(os.path.join(root, domain), metadata, files)
    return written


def named(glob, name):
    return fnmatch.fnmatchcase(name, glob) or fnmatch.fnmatchcase(name.split(":")[1], glob)


def in_scope(scope, row):
    host, domain, channel = row[:3]
    return any(fnmatch.fnmatchcase(text, scope)
               for text in (channel, host + "/" + channel, domain + "/" + channel))


def by_name(words):
    def wanted(row):
        for word in words.split(","):
            scope, _, event = word.rpartition("/")
            if named(event, row[4]) and (not scope or in_scope(scope, row)):
                return True
        return False
    return wanted


def by_stream(word):
    return lambda row: (fnmatch.fnmatchcase(row[3], word) or in_scope(word, row) or
                        fnmatch.fnmatchcase(row[3].split("/")[1], word))


def check_filters(trace, written):
    cases = [("--name", word, by_name(word)) for word in (
        "tick", "fast/tick", "fast/*", "slow_*/app:*", "alpha/fast/tock", "ust/fast/tock",
        "beta/*/sys:tick", "*/tick", "fast/app:tick,log/tock", "kernel/fast/tick,tock,ust/log/*",
        "alpha/*/tick,beta/*/tock")]
    cases += [("--stream", word, by_stream(word)) for word in (
        "fast", "log", "alpha/fast", "ust/fast", "ust/fast_1", "fast_1", "kernel/*", "*/log")]
    for option, word, wanted in cases:
        code, out, said = run("events", trace, option, word, "--format", "json")
        rows = [json.loads(line) for line in out.splitlines()]
        found = sorted((row["stream"], row["name"]) for row in rows)
        expected = sorted((row[3], row[4]) for row in written if wanted(row))
        result(code == 0 and found == expected and expected and not said, option + " " + word,
               (code, len(found), len(expected), said))
    code, out, said = run("events", trace, "--name", "fest/tick")
    result(code == 1 and "no section 'fest'" in said[0] and "fast" in said[0],
           "a section that is not there is an error with the nearest one", said)
    code, out, said = run("events", trace, "--name", "none*/tick")
    result(code == 0 and not out and len(said) == 1 and "no section matches 'none*'" in said[0],
           "a pattern of sections that matches none is a note", said)


def check_rules(trace, written, work):
    path = os.path.join(work, "sections.rules")
    with open(path, "w", encoding="utf-8") as file:
        file.write("""initial n/fast = 0
initial n/ticks = 0
initial n/exact = 0
initial n/any = 0
initial n/mark = 0
section fa*
	section/mark = 1
event * in section fast
	n/fast += 1
event tick in section *l* when field/value >= 0
	n/ticks += 1
event app:tick, app:tock in section "slow_1"
	n/exact += 1
event * in section *
	n/any += 1
event * when has(section/mark)
	n/mark += 1
""")
    code, out, said = run("at", trace, "-0", "host[*]/n/**", "--rules", path, "--format", "json")
    found = {row["path"]: row["value"] for row in map(json.loads, out.splitlines())}
    expected = {}
    for host in ("alpha", "beta"):
        def count(wanted):
            return sum(1 for row in written if row[0] == host and wanted(row))
        expected |= {'host["%s"]/n/%s' % (host, name): number for name, number in (
            ("fast", count(lambda row: row[2] == "fast")),
            ("ticks", count(lambda row: "l" in row[2] and row[4].endswith(":tick"))),
            ("exact", count(lambda row: row[2] == "slow_1" and row[4].startswith("app"))),
            ("any", count(lambda row: True)),
            ("mark", count(lambda row: row[2] == "fast")))}
    expected = {path: number for path, number in expected.items() if number}  # initials are no rows
    result(code == 0 and found == expected and not said, "rules of a section",
           (code, found, expected, said))
    with open(path, "w", encoding="utf-8") as file:
        file.write("event tick in section fest\n\tx = 1\n")
    code, out, said = run("rules", "--check", path, trace)
    text = out + "\n".join(said)
    result("sections.rules:1:23: warning: the trace has no section called fest" in text and
           "fast" in text, "a section that no stream is of is told", text)


def check_info(trace, written):
    code, out, said = run("info", trace, "--format", "json")
    info = json.loads(out)
    sections = {row["name"]: row["section"] for row in info["streams"]}
    expected = {row[3]: row[2] for row in written}
    result(code == 0 and sections == expected, "info names the section of each stream",
           (sections, expected))
    classes = [(row["id"], row["section"], row["packet"], row["context"])
               for row in info["stream_classes"]]
    packets = ["content_size", "packet_size", "cpu_id"]
    expected = [(number, channel, packets, ["vpid" if number else "tid"])
                for channels in (("fast", "slow_1"), ("fast", "log"))
                for number, channel in enumerate(channels)]
    result(classes == expected, "info lists the members of contexts", (classes, expected))
    result((info["byte_order"], info["word_bits"]) == ("little", 64),
           "info says byte order and word size", info)
    code, out, said = run("info", trace)
    result("big-endian, words of 32 bits" in out and "little-endian, words of 64 bits" in out,
           "of each part", out)


def check_barectf(work):
    metadata = HEAD % ("le", "2" * 8 + "-0000-0000-0000-000000000000", 'tracer_name = "barectf";')
    for number, name in enumerate(("default", "other")):
        metadata += "/* Data stream type `%s` */\n" % name + STREAM % (number, "x")
        metadata += EVENT % (number, 0, "e")
    folder = os.path.join(work, "barectf")
    write(folder, metadata, {"a": packet("<", 0, 0, [(0, 1)]), "b": packet("<", 1, 0, [(0, 1)] * 2)})
    code, out, said = run("events", folder, "--name", "other/e", "--count")
    result(code == 0 and out.strip() == "2", "barectf's stream types are sections", (out, said))


def check_recorders():
    """perf's and trace-cmd's own lists of the events are the oracle."""
    corpus = os.environ.get("YORE_CORPUS", os.path.join(os.environ.get("srcdir", "."), "../shared/corpus"))
    perf = os.path.join(corpus, "perf-data/sched-callchain")
    ftrace = os.path.join(corpus, "trace-dat/v7-multi-buffer")
    if not os.path.exists(perf) or not os.path.exists(ftrace):
        print("SKIP: sections of perf.data and trace.dat: no corpus")
        return
    with open(perf + "/expected/script.txt", encoding="utf-8") as lines:
        wanted = sum(" sched:sched_switch:" in line for line in lines)
    code, out, said = run("events", perf + "/perf.data", "--name", "perf_stream/sched_switch", "--count")
    result(code == 0 and out.strip() == str(wanted) and wanted, "the CPUs of perf.data are a section",
           (out, wanted, said))
    with open(ftrace + "/expected/report-ns.txt", encoding="utf-8") as lines:
        rows = [line.split(":")[0] for line in lines if "]" in line]
    names = {name for name in rows if "[" not in name}
    for name in sorted(names):
        code, out, said = run("events", ftrace + "/trace.dat", "--stream", name, "--count")
        result(code == 0 and out.strip() == str(rows.count(name)), "a buffer of trace.dat: " + name,
               (out, rows.count(name), said))
    result(len(names) > 1, "trace.dat has several buffers", names)


with tempfile.TemporaryDirectory(prefix="yore-sections-") as work:
    trace = os.path.join(work, "session")
    written = make_session(trace)
    check_filters(trace, written)
    check_rules(trace, written, work)
    check_info(trace, written)
    check_barectf(work)
check_recorders()
finish()

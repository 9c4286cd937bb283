#!/usr/bin/python3
"""Compares yore's answers of trace.dat files with trace-cmd's, to the last field.

    ftrace_agree.py YORE CASE...
    ftrace_agree.py YORE --same CASE CASE...

CASE is a trace.dat file, or a folder that holds trace.dat and, under expected/, what trace-cmd said
of it where it was made; trace-cmd is asked here for what is not written down. What must agree, within
each CPU of each buffer in order:

  - time, CPU, thread, name, the printed text (trace-cmd's plugins included), each raw field, the
    letters of the latency format;
  - what was dropped, where, and how many; saved command lines, and the names that lines get of them.

--same: the files hold the same events, and yore gives the same of each.
Rulings, where trace-cmd is not the judge, are in RULED; each is asserted where it bites.
"""
import collections
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ftrace_tool
import yore_says
from perf_agree import as_bytes, brief, plain
from yore_says import Report

RULED = {
    # __print_array of a foreign file: trace-cmd prints its 2-byte items unswapped
    "synth-be32": "arrays", "synth-be64": "arrays",
    # a page's flag says missed, without a count: trace-cmd prints nothing of it
    "synth-abs": "missed",
    # kernel_stack: the format says caller[8], the record has as many as its `size` says
    "v6-stacktrace": "stacks",
    # a trailing array without an end in the record: trace-cmd prints on until a NUL comes by
    "v6-markers": "endless",
}
ARRAY = re.compile(r" arr=(\d[\d ]*)(?= rname)")


NUMBERS = re.compile(r"\{((?:0x[0-9a-f]+(?:,0x[0-9a-f]+)*)?)\}")
STATES = "SDTtXZPI"  # of the kernels of the corpus, all of 4.14 or later


def swapped(match):
    """Numbers of two bytes that were read in the wrong order."""
    right = [int.from_bytes(int(n).to_bytes(2, "little"), "big") for n in match[1].split()]
    return " arr=" + " ".join(str(n) for n in right)


def as_before(text):
    """Arrays as libtraceevent printed them before 1.8.4: {0x1,0xff}, as the kernel does, was 1 255."""
    return NUMBERS.sub(lambda m: " ".join(str(int(n, 16)) for n in m[1].split(",") if n), text)


def with_state(text, item):
    """The line of a switch, with the letters of its state: before 1.8 libtraceevent had those of Linux 3.8."""
    state = plain(item["fields"]["prev_state"])
    letters = "|".join(letter for i, letter in enumerate(STATES) if state >> i & 1) or "R"
    return re.sub(r"(\[-?\d+\] )\S+( ==> )", lambda m: m[1] + letters + m[2], text, count=1)


def lane(instance, cpu):
    return ("%s/" % instance if instance else "") + "cpu%d" % cpu


def lanes(lines):
    found = collections.OrderedDict()
    for line in lines:
        found.setdefault(lane(line.instance, line.cpu), []).append(line)
    return found


def number_forms(value):
    unsigned = value & (1 << 64) - 1 if value < 0 else value
    forms = {str(value), str(unsigned), "%x" % unsigned, "%o" % unsigned,
             str(unsigned - (1 << 64)) if unsigned >> 63 else "(nil)" if not value else str(value)}
    if value < 0:
        forms |= {"%x" % (value & (1 << 32) - 1), str(value & (1 << 32) - 1)}
    return forms


def raw_same(ours, theirs, order):
    """Whether a value is what the raw report's text says."""
    ours = plain(ours)
    theirs = theirs.strip("\n")
    array = re.match(r"^ARRAY\[(.*)\]$", theirs)
    if array:
        data = bytes(int(b, 16) for b in array[1].split(", ") if b)
        mine = as_bytes(ours, len(data), order)
        return mine == data or (isinstance(ours, str) and mine == data.split(b"\0")[0])
    if isinstance(ours, str):
        return ours.rstrip("\n") == theirs
    if isinstance(ours, int):
        text = theirs.strip()
        if text in number_forms(ours):
            return True
        text = re.sub(r"^0x", "", text)
        return text in number_forms(ours) or (text.lstrip("0") or "0") in number_forms(ours)
    if isinstance(ours, list):  # bytes that happen to be printable: shown as text, up to a NUL
        try:
            return theirs.startswith(bytes(ours).split(b"\0")[0].decode("latin-1"))
        except ValueError:
            return False
    return False


# what the print format shows by name or text, raw reports do too: the printed line is compared
NUMBER = re.compile(r"^-?(0x)?[0-9a-f]+$|^\(nil\)$")


def field_ruled(item, name, value, order, rule):
    """Whether a difference of a raw field is the one that a ruling is about."""
    ours = item["fields"][name]
    if name == "caller" and item["name"].endswith(":kernel_stack"):
        theirs = bytes(int(b, 16) for b in value[len("ARRAY["):-1].split(", "))
        mine = as_bytes(ours, 8 * len(ours), order)
        both = min(len(theirs), len(mine))
        return len(ours) == item["fields"]["size"] and mine[:both] == theirs[:both]
    return rule == "endless" and item["name"].endswith("raw_data") and value.startswith(ours)


def field_wrong(item, line, order, rule, bites):
    fields = item["fields"]
    theirs = ftrace_tool.raw_values(line.text, list(fields))
    if theirs is None:
        return "fields %s, not those of %s" % (list(fields), brief(line.text))
    for name, value in theirs.items():
        if isinstance(plain(fields[name]), int) and not NUMBER.match(value.strip()):
            continue
        if raw_same(fields[name], value, order):
            continue
        if field_ruled(item, name, value, order, rule):
            bites.append(name)
        else:
            return "field %s is %s, not %s" % (name, brief(fields[name]), value)
    return None


def head_wrong(item, line):
    if item["ts"] != line.time:
        return "at %s, not %s" % (item["ts"], line.time)
    if item["name"].split(":")[-1] != line.name:
        return "name %s, not %s" % (item["name"], line.name)
    if item["cpu"] != line.cpu:
        return "cpu %s, not %d" % (item["cpu"], line.cpu)
    if plain(item["context"].get("common_pid")) != line.pid:
        return "common_pid %s, not %d" % (item["context"].get("common_pid"), line.pid)
    return None


def paired(report, what, ours, lines):
    """[(ours, theirs)], lane by lane; says where the counts differ."""
    theirs, pairs = lanes(lines), []
    for name in sorted(set(ours) | set(theirs)):
        a, b = ours.get(name, []), theirs.get(name, [])
        if len(a) != len(b):
            report.differs("%s: %d events of %s, not %d" % (what, len(a), name, len(b)))
        pairs += list(zip(a, b))
    return pairs


def told(path, case, name, *arguments):
    """What was written down, else what trace-cmd says now; None without either."""
    written = os.path.join(case, "expected", name)
    if os.path.isdir(case) and os.path.exists(written):
        with open(written, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            return file.read()
    return ftrace_tool.run(*arguments, "-i", path) if ftrace_tool.installed() else None


def names_agree(report, path, case, said, lines):
    saved = [(plain(e["fields"]["pid"]), e["fields"]["comm"]) for e in said.events
             if e["name"] == "saved_cmdline"]
    text = told(path, case, "dump-cmdlines.txt", "dump", "--cmd-lines")
    if text is not None and ftrace_tool.cmdlines(text):
        report.same("saved command lines", sorted(saved), sorted(ftrace_tool.cmdlines(text)))
        report.facts.append("%d saved names" % len(saved))
    names = {0: {"<idle>"}}
    for pid, comm in saved:
        names.setdefault(pid, set()).add(comm)
    learned = {}  # what trace-cmd's plugin takes from switches and wake-ups, of threads without a saved name
    for fields in (e["fields"] for e in said.events if re.match(r"(sched:)?sched_(switch$|wak)", e["name"])):
        for pid, comm in (("prev_pid", "prev_comm"), ("next_pid", "next_comm"), ("pid", "comm")):
            if pid in fields and comm in fields:
                learned.setdefault(plain(fields[pid]), {"<...>"}).add(fields[comm])
    for line in lines:
        if line.comm not in names.get(line.pid, learned.get(line.pid, {"<...>"})):
            report.differs("name of %d is %s, not %r" % (
                line.pid, sorted(names.get(line.pid, ["<...>"])), line.comm))
            return


def texts_agree(report, program, path, case, said, pairs):
    texts = yore_says.texts(program, path, said.events)
    if texts is None:
        report.differs("no text for each event")
        return
    of = {id(item): text for item, (_, text) in zip(said.events, texts)}
    bites = 0
    for item, line in pairs:
        theirs = line.text
        if RULED.get(case) == "arrays" and ARRAY.search(theirs):
            bites += 1
            theirs = ARRAY.sub(swapped, theirs)
        if theirs.startswith("[FAILED TO PARSE]"):
            continue  # trace-cmd gave up
        ours = of[id(item)].rstrip()
        if item["name"] == "sched:sched_switch":
            theirs = with_state(theirs, item)
        if ours != theirs.rstrip() and as_before(ours) != theirs.rstrip():
            report.differs("text of %s at %d is %s, not %s" % (
                line.name, line.time, brief(ours), brief(theirs)))
    if RULED.get(case) == "arrays" and not bites:
        report.differs("no array that trace-cmd leaves unswapped")
    report.facts.append("%d texts%s" % (len(pairs), ", %d of them ruled" % bites if bites else ""))


def drops_agree(report, case, said, lines, drops):
    """A drop is told before the first event after it."""
    if RULED.get(case) == "missed":
        drops = drops + [ftrace_tool.Drop("", 1, None, 0)]
    theirs = collections.Counter((lane(d.instance, d.cpu), d.count) for d in drops)
    ours = collections.Counter((item["stream"], item["lost"]) for item in said.losses)
    report.same("events dropped", dict(ours), dict(theirs))
    for drop in drops:
        after = next((line for line in lines[drop.before:] if (line.instance, line.cpu) ==
                      (drop.instance, drop.cpu)), None)
        for item in said.losses:
            if item["stream"] != lane(drop.instance, drop.cpu) or item["lost"] != drop.count:
                continue
            if after and item.get("until") is not None and item["until"] > after.time:
                report.differs("%s events of %s lost until %d, after %d" % (
                    drop.count, item["stream"], item["until"], after.time))
    if drops:
        report.facts.append("%d drops" % len(drops))


STATS = re.compile(r"^(CPU|Buffer|entries|overrun|commit overrun|bytes|oldest event ts|now ts|"
                   r"dropped events|read events): .*$")


def stats_agree(report, program, path):
    """What the kernel counted for each buffer and CPU, and how many bytes they have in the file."""
    if not ftrace_tool.installed():
        return
    text = ftrace_tool.run("report", "--stat", "-i", path)
    done = yore_says.run(program, "info", path, "--format", "json", "--no-index")
    if done.returncode not in (0, 3):
        report.differs("info: " + done.stderr.decode()[:200])
        return
    info = json.loads(done.stdout)
    ours = [line for name, value in info["env"].items() if name.split(".")[0] == "cpustat"
            for line in value.split(";")]
    theirs = [line.strip() for line in text.split("\n") if STATS.match(line.strip())]
    if report.same("CPU statistics", [line.strip() for line in ours], theirs) and theirs:
        report.facts.append("%d statistics" % len(theirs))
    if info["env"].get("compression", "none") == "none":  # else trace-cmd tells of its copy
        sizes = dict(zip(re.findall(r"^CPU(\d+) data recorded", text, re.M),
                         re.findall(r"^ +(\d+) bytes in size", text, re.M)))
        report.same("bytes of each CPU",
                    {stream["name"]: stream["bytes"] for stream in info["streams"]
                     if stream["cpu"] is not None},
                    {"cpu" + cpu: int(size) for cpu, size in sizes.items() if int(size)})


def trace_file(case):
    inside = os.path.join(case, "trace.dat")
    return inside if os.path.exists(inside) else case


def by_stream(said):
    found = {}
    for item in said.events:
        if item["name"] != "saved_cmdline":
            found.setdefault(item["stream"], []).append(item)
    return found


def compare(program, case):
    path = trace_file(case)
    name = os.path.basename(case.rstrip("/"))
    report = Report(name)
    said = yore_says.events(program, path)
    report.same("exit status", said.status, 0)
    if said.status not in (0, 3):
        report.differs(" ".join(said.messages)[:300])
        return report.close()
    yore_says.other_ways(report, program, path, said)
    text = told(path, case, "report-ns.txt", "report", "-t")
    if text is None:
        report.facts.append("skipped: no trace-cmd, and nothing written down")
        return report.close()
    lines, drops = ftrace_tool.report(text)
    ours = by_stream(said)
    with open(path, "rb") as file:
        head = file.read(32)
    order = "big" if head[head.index(b"\0") + 1] else "little"
    good = []
    for item, line in paired(report, "report", ours, lines):
        wrong = head_wrong(item, line)
        if wrong:
            report.differs("%s at %d: %s" % (line.name, line.time, wrong))
        else:
            good.append((item, line))
    report.facts.append("%d events" % len(good))
    text = told(path, case, "report-raw.txt", "report", "-R", "-t")
    rule, bites = RULED.get(name), []
    if text is not None:
        for item, line in paired(report, "raw", ours, ftrace_tool.report(text)[0]):
            wrong = head_wrong(item, line) or field_wrong(item, line, order, rule, bites)
            if wrong:
                report.differs("raw %s at %d: %s" % (line.name, line.time, wrong))
        if rule in ("stacks", "endless") and not bites:
            report.differs("nothing that the ruling '%s' is about" % rule)
        if bites:
            report.facts.append("%d fields ruled" % len(bites))
    text = told(path, case, "report-latency.txt", "report", "-l", "-t")
    if text is not None:
        for item, line in paired(report, "latency", ours, ftrace_tool.report(text)[0]):
            flags = ftrace_tool.latency_flags(plain(item["context"].get("common_flags", 0)),
                                              plain(item["context"].get("common_preempt_count", 0)))
            if flags != line.flags:
                report.differs("flags of %s at %d: %s, not %s" % (line.name, line.time, flags,
                                                                  line.flags))
    drops_agree(report, name, said, lines, drops)
    names_agree(report, path, case, said, lines)
    stats_agree(report, program, path)
    texts_agree(report, program, path, name, said, good)
    times = [item["ts"] for item in said.events if item["ts"] is not None]
    if any(a > b for a, b in zip(times, times[1:])):
        report.differs("times fall")
    return report.close()


def same(program, cases):
    """The same events in several files: name, values and order are the same."""
    first, first_name, good = None, None, True
    for case in cases:
        name = os.path.basename(case.rstrip("/"))
        said = yore_says.events(program, trace_file(case))
        events = [(e["ts"], e["stream"], e["cpu"], e["name"], e["context"], e["fields"])
                  for e in said.events if e["name"] != "saved_cmdline"]
        if first is None:
            first, first_name = events, name
            continue
        report = Report("%s as %s" % (name, first_name))
        report.same("number of events", len(events), len(first))
        for a, b in zip(events, first):
            if a != b:
                report.differs("%s is not %s" % (brief(a), brief(b)))
                break
        report.facts.append("%d events, all the same" % len(events))
        good = report.close() and good
    return good


def main():
    program, cases = sys.argv[1], sys.argv[2:]
    if cases and cases[0] == "--same":
        sys.exit(0 if same(program, cases[1:]) else 1)
    if not ftrace_tool.installed():
        print("ftrace_agree.py: trace-cmd is not installed: only what is written down is compared")
    good = [compare(program, case) for case in cases]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Compares yore's answers of logs of seL4's kernel entries with what their generator knows.

    sel4_agree.py YORE FOLDER

FOLDER holds cases, each with log.bin, maybe log.txt, and expected/entries.txt: a line per entry, with
its start, kind, duration and fields. What must agree:

  - every entry, in order, with all its fields; an exit for each, at start + duration;
  - the text form of a log and the binary one, to the byte of the output;
  - cpu[N]/kernel, kernel/entry and kernel/thread, as this script simulates them, interval by interval;
  - a log merged with an ftrace trace: its switches stand where trace-cmd report shows those of the
    file that sel4-ftrace-merge wrote; a log that --offset shifts.
"""
import collections
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ftrace_tool
import yore_says
from yore_says import Report

Entry = collections.namedtuple("Entry", "start kind duration fields")


# what the generator calls them → their names in the kernel's structure
NAMES = {"fastpath": "is_fastpath", "tag": "invocation_tag"}


def entries_of(path):
    found = []
    with open(path, encoding="ascii") as file:
        for line in file:
            start, kind, *rest = line.split()
            fields = {NAMES.get(name, name): int(value, 0)
                      for name, value in (word.split("=") for word in rest)}
            found.append(Entry(int(start), kind, fields.pop("dur"), fields))
    return found


def steps_of(entries):
    """(time, place, is exit, entry), in order of time; equal times in order of the log."""
    steps = []
    for i, entry in enumerate(entries):
        steps.append((entry.start, 2 * i, False, entry))
        steps.append((entry.start + entry.duration, 2 * i + 1, True, entry))
    return sorted(steps, key=lambda step: step[:2])


def lanes_of(entries):
    """Of each entry the lowest number that none has which is open when it begins."""
    lanes, taken = {}, set()
    for _, place, is_exit, _ in steps_of(entries):
        if is_exit:
            taken.discard(lanes[place // 2])
        else:
            lanes[place // 2] = next(n for n in range(len(taken) + 1) if n not in taken)
            taken.add(lanes[place // 2])
    return lanes


def events_agree(report, said, entries):
    steps, lanes = steps_of(entries), lanes_of(entries)
    report.same("number of events", len(said.events), len(steps))
    for item, (time, place, is_exit, entry) in zip(said.events, steps):
        name = "kernel_exit" if is_exit else entry.kind
        fields = {"start": entry.start, "duration": entry.duration, **entry.fields}
        ours = dict(item["fields"])
        if is_exit:
            fields = {"entry": entry.kind, "start": entry.start}
            if "core" in entry.fields:
                fields["core"] = entry.fields["core"]
            ours["entry"] = ours["entry"]["labels"][0]
        fields["lane"] = lanes[place // 2]
        if (item["ts"], item["name"], ours) != (time, name, fields):
            report.differs("%s is not %d %s %s" % (item, time, name, fields))
    report.facts.append("%d entries" % len(entries))


def simulated(entries):
    """{path: [(begin, value)]}: what the rules say, written anew."""
    changes = collections.defaultdict(list)
    inside, lanes = {}, lanes_of(entries)
    moments = collections.OrderedDict()
    for time, place, is_exit, entry in steps_of(entries):
        places = ["kernel/entry[%d]" % lanes[place // 2]]
        if "core" in entry.fields:
            places.append("cpu[%d]/kernel" % entry.fields["core"])
        for path in places:
            if not is_exit:
                inside[path] = entry.start
                moments[time, path] = entry.kind
            elif inside.get(path) == entry.start:
                moments[time, path] = None
        if not is_exit and entry.kind == "Entry_Switch":
            moments[time, "kernel/thread"] = hex(entry.fields["next"])
    for (time, path), value in moments.items():
        if not changes[path] or changes[path][-1][1] != value:
            changes[path].append((time, value))
    return changes


def durations_agree(report, program, path, entries):
    """Every entry is one interval of its own length, whichever others overlap it."""
    done = yore_says.run(program, "state", path, "kernel/entry[*]", "--format", "json", "--no-index")
    ours = [json.loads(line) for line in done.stdout.splitlines()]
    report.same("lengths of entries", sorted((i["begin"], i["value"], i["end"] - i["begin"]) for i in ours),
                sorted((e.start, e.kind, e.duration) for e in entries if e.duration))


def state_agrees(report, program, path, entries):
    intervals = 0
    for what, changes in sorted(simulated(entries).items()):
        done = yore_says.run(program, "state", path, what, "--format", "json", "--no-index")
        ours = [json.loads(line) for line in done.stdout.splitlines()]
        ours = [(item["begin"], item["value"]) for item in ours]
        theirs = [change for change in changes if change[1] is not None]
        if not report.same("intervals of " + what, len(ours), len(theirs)) or ours != theirs:
            for mine, right in zip(ours, theirs):
                if mine != right:
                    report.differs("%s: %s, not %s" % (what, mine, right))
                    break
        intervals += len(theirs)
    report.facts.append("%d intervals of state" % intervals)


def shifted(report, program, path, said):
    with_offset = yore_says.events(program, path, "--offset", path + "=+1.000000007s")
    ours = [item["ts"] - 1000000007 for item in with_offset.events]
    report.same("times under --offset", ours, [item["ts"] for item in said.events])
    scaled = yore_says.events(program, path, "--input", "sel4,frequency=62500000")
    entries = [item for item in scaled.events if item["name"] != "kernel_exit"]
    report.same("times at 62.5 MHz", [item["ts"] for item in entries],
                [item["fields"]["start"] * 16 for item in entries])


def compare(program, case):
    report = Report("sel4/" + os.path.basename(case))
    path = os.path.join(case, "log.bin")
    said = yore_says.events(program, path)
    entries = entries_of(os.path.join(case, "expected", "entries.txt"))
    tail = os.path.getsize(path) % 24
    if tail:  # the last entry, of which the file has a part
        report.same("entries that were written", len(entries), os.path.getsize(path) // 24 + 1)
        entries.pop()
    report.same("exit status", said.status, 3 if tail else 0)
    if tail:
        report.same("messages", said.messages, [
            "yore: damaged: %s: the record at offset %d cannot be read: it is cut off"
            % (path, os.path.getsize(path) - tail)])
    events_agree(report, said, entries)
    yore_says.other_ways(report, program, path, said)
    state_agrees(report, program, path, entries)
    durations_agree(report, program, path, entries)
    shifted(report, program, path, said)
    text = os.path.join(case, "log.txt")
    if os.path.exists(text):
        report.same("events of the text", yore_says.events(program, text).events, said.events)
        report.facts.append("text and binary the same")
    return report.close()


def merged(program, folder):
    """The lines of trace-cmd report, with the switches among them, in the same order."""
    report = Report("sel4/merged")
    case = os.path.join(folder, "merged")
    log = os.path.join(case, "log.bin")
    said = yore_says.events(program, os.path.join(case, "ftrace-v6.dat"), "--with", log,
                            "--offset", log + "=+0s")
    ours = [(item["ts"], "function" if item["name"] == "Entry_Switch"
             else item["name"].split(":")[-1]) for item in said.events
            if item["ts"] is not None and (":" in item["name"] or item["name"] == "Entry_Switch")]
    with open(os.path.join(case, "expected", "report-fixed-ns.txt"), encoding="utf-8") as file:
        lines, _ = ftrace_tool.report(file.read())
    theirs = [(line.time, line.name) for line in lines]
    if ours != theirs:
        report.differs("%d lines are not the %d of trace-cmd" % (len(ours), len(theirs)))
    switches = sum(1 for line in lines if line.comm == "seL4_kernel")
    report.facts.append("%d lines, %d switches among them" % (len(ours), switches))
    return report.close()


def main():
    program, folder = sys.argv[1], sys.argv[2]
    good = [compare(program, os.path.join(folder, case)) for case in sorted(os.listdir(folder))
            if os.path.exists(os.path.join(folder, case, "expected", "entries.txt"))]
    good.append(merged(program, folder))
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()

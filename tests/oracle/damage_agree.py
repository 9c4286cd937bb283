#!/usr/bin/python3
"""Damaged perf.data and trace.dat files: the events up to the damage, and one message.

    damage_agree.py YORE FOLDER

FOLDER is the corpus: each damaged case is a copy of a good one, cut or changed at a known byte. What
lies before that byte is known from the good file, by perf's dump of every record's place, or by
walking its pages. The message names the file and an offset; the exit status is 3, or 1 where nothing
can be read.
"""
import collections
import os
import re
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ftrace_tool
import perf_tool
import yore_says
from yore_says import Report


def one_message(report, said, path, statuses):
    if said.status not in statuses:
        report.differs("exit status %d, not %s" % (said.status, " or ".join(map(str, statuses))))
    if len(said.messages) != 1:
        report.differs("%d messages: %s" % (len(said.messages), " | ".join(said.messages)[:400]))
    for message in said.messages[:1]:
        if not message.startswith("yore: ") or os.path.basename(path) not in message:
            report.differs("a message without the file: %s" % message)
        if not re.search(r"\b(0x[0-9a-f]+|\d+)\b", message.replace(path, "")):
            report.differs("a message without an offset: %s" % message)
        report.facts.append(message.split(path)[-1].strip(": ") or "said")


def changed_at(good, bad):
    """The first byte that differs; the length of the shorter where none does."""
    with open(good, "rb") as a, open(bad, "rb") as b:
        one, other = a.read(), b.read()
    for i, (x, y) in enumerate(zip(one, other)):
        if x != y and i >= 104:  # a header that was reset is no damage of the records
            return i
    return min(len(one), len(other))


def every_command_says(report, program, path):
    """Also those that decode nothing: the same message, the same status."""
    want = None
    for words in (("events", path, "--limit", "1"), ("events", path, "--count"), ("index", path)):
        done = yore_says.run(program, *words, "--no-index")
        messages = [line for line in done.stderr.decode(errors="replace").splitlines()
                    if " note: " not in line]
        want = want or messages
        if done.returncode != 3 or messages != want:
            report.differs("%s: status %d, %s" % (" ".join(words), done.returncode, messages))


# perf.data -----------------------------------------------------------------------------------------

def perf_case(program, folder, case, original, file="perf.data", nothing=False):
    good, bad = (os.path.join(folder, "perf-data", name, file) for name in (original, case))
    report = Report(case)
    said = yore_says.events(program, bad)
    if nothing:
        one_message(report, said, bad, (1,))
        report.same("events", len(said.events), 0)
        return report.close()
    one_message(report, said, bad, (3,))
    every_command_says(report, program, bad)
    if perf_tool.installed():
        records = perf_tool.records(good)
        perf_tool.with_samples(records, perf_tool.inside(good), perf_tool.attrs(good))
        edge = changed_at(good, bad)
        before = [r for r in records if r["type"] < 64 and r["offset"] + r["size"] <= edge]
        ours = collections.Counter((e["ts"], e["cpu"]) for e in said.events)
        theirs = collections.Counter((r["time"], r["cpu"] if r["time"] else None) for r in before)
        ours_timed = collections.Counter({k: n for k, n in ours.items() if k[0] is not None})
        theirs_timed = collections.Counter({k: n for k, n in theirs.items() if k[0] is not None})
        missing = theirs_timed - ours_timed
        if missing:
            report.differs("%d of %d events before byte %d are missing, one of %s" % (
                sum(missing.values()), sum(theirs_timed.values()), edge, min(missing)))
        every = collections.Counter((r["time"], r["cpu"] if r["time"] else None) for r in records
                                    if r["type"] < 64)
        made_up = ours_timed - every
        if made_up:
            report.differs("events that the good file has not: %s" % list(made_up)[:3])
        untimed = sum(n for k, n in theirs.items() if k[0] is None)
        ours_untimed = sum(n for k, n in ours.items() if k[0] is None)
        if ours_untimed < untimed:
            report.differs("%d records without a time, not %d" % (ours_untimed, untimed))
        report.facts.insert(0, "%d events, %d of them before the damage" % (
            len(said.events), len(before)))
    return report.close()


def pipe_metadata_cut(program, folder):
    """Cut inside the tracing data: no record follows."""
    case = "corrupt-pipe-zstd-cut"
    path = os.path.join(folder, "perf-data", case, "perf.pipe")
    report = Report(case)
    said = yore_says.events(program, path)
    one_message(report, said, path, (1, 3))
    report.same("events", len(said.events), 0)
    return report.close()


# trace.dat -----------------------------------------------------------------------------------------

def page_events(page):
    """How many events a whole page of a little-endian 64-bit file has."""
    commit, = struct.unpack_from("<Q", page, 8)
    at, end, count = 16, 16 + (commit & 0xfffff), 0
    while at + 4 <= min(end, len(page)):
        word, = struct.unpack_from("<I", page, at)
        kind = word & 31
        if kind in (30, 31):
            at += 8
        elif kind == 29:
            if word >> 5 == 0:
                break
            at += 4 + struct.unpack_from("<I", page, at + 4)[0]
        else:
            at += 4 + (kind * 4 if kind else struct.unpack_from("<I", page, at + 4)[0])
            count += at <= len(page)
    return count


def flyrecord(path):
    """[(offset, size)] of the CPUs of a version 6 file, as trace-cmd lists them."""
    said = ftrace_tool.run("dump", "--flyrecord", "-i", path)
    rows = re.finditer(r"^\s+(\d+)\s+(\d+)\t\[offset, size", said, re.M)
    return [(int(row[1]), int(row[2])) for row in rows]


def truncated_pages(program, folder):
    case = "corrupt-v6-truncated-data"
    good, bad = (os.path.join(folder, "trace-dat", name, "trace.dat")
                 for name in ("v6-sched-irq-syscalls", case))
    report = Report(case)
    said = yore_says.events(program, bad)
    one_message(report, said, bad, (3,))
    events = [e for e in said.events if e["name"] != "saved_cmdline"]
    if ftrace_tool.installed():
        with open(bad, "rb") as file:
            data = file.read()
        there = sum(page_events(data[at:at + 4096]) for offset, size in flyrecord(good)
                    for at in range(offset, min(offset + size, len(data) - 16), 4096))
        report.same("events in the bytes that are there", len(events), there)
        lines, _ = ftrace_tool.report(ftrace_tool.run("report", "-t", "-i", good))
        theirs = collections.Counter((line.time, line.cpu, line.name) for line in lines)
        ours = collections.Counter((e["ts"], e["cpu"], e["name"].split(":")[-1]) for e in events)
        if ours - theirs:
            report.differs("events that the good file has not: %s" % list(ours - theirs)[:3])
        report.facts.insert(0, "%d events of %d" % (len(events), len(lines)))
    return report.close()


def nothing_of(program, folder, case):
    path = os.path.join(folder, "trace-dat", case, "trace.dat")
    report = Report(case)
    said = yore_says.events(program, path)
    one_message(report, said, path, (1, 3))
    report.same("events", len([e for e in said.events if e["name"] != "saved_cmdline"]), 0)
    return report.close()


def values(item):
    """Without the labels of numbers."""
    if isinstance(item, dict):
        if set(item) == {"value", "labels"}:
            return item["value"]
        return {name: values(value) for name, value in item.items()}
    return [values(value) for value in item] if isinstance(item, list) else item


def bad_section(program, folder):
    """64 bytes of the compressed kallsyms are changed: numbers lose their names, nothing else.

    Those of system calls too: whose numbers they are is told by the names of the kernel's functions.
    """
    good, bad = (os.path.join(folder, "trace-dat", name, "trace.dat")
                 for name in ("v7-zstd", "corrupt-v7-bad-section"))
    report = Report("corrupt-v7-bad-section")
    said, right = yore_says.events(program, bad), yore_says.events(program, good)
    one_message(report, said, bad, (3,))
    report.same("events", len(said.events), len(right.events))
    report.same("values equal to the good file's", values(said.events) == values(right.events), True)
    report.facts.insert(0, "%d events" % len(said.events))
    return report.close()


def main():
    program, folder = sys.argv[1:3]
    good = [
        perf_case(program, folder, "corrupt-header-cut", "sched-syscalls", nothing=True),
        perf_case(program, folder, "corrupt-interrupted", "sched-syscalls"),
        perf_case(program, folder, "corrupt-truncated", "sched-syscalls"),
        perf_case(program, folder, "corrupt-record-size", "sched-syscalls"),
        perf_case(program, folder, "corrupt-pipe-cut", "pipe", "perf.pipe"),
        pipe_metadata_cut(program, folder),
        truncated_pages(program, folder),
        nothing_of(program, folder, "corrupt-v6-truncated-header"),
        nothing_of(program, folder, "corrupt-v7-zstd-truncated"),
        bad_section(program, folder),
    ]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()

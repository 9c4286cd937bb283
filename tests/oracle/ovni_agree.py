#!/usr/bin/python3
"""ovni_agree.py YORE CORPUS - events of ovni traces against what ovnidump said of them.

Each stream's events must be ovnidump's, in its order: clock, MCV, text, and payload bytes made of
the typed values where ovnidump printed bytes. Clocks are compared without the hosts' offsets, which
ovnidump does not apply; all events together must be in the order of the corrected ones. Looms,
processes and threads are also read alone, streams also as a big-endian machine writes them, and a
trace with unordered regions must give what it gives after ovnisort. Damaged cases give their
events up to the damage, and one message.
"""
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
import ovni_tool  # noqa: E402
import yore_says  # noqa: E402

OFFSETS = {"multi-loom": {"loom.node1.r2": -5000000000, "loom.node1.r3": -5000000000}}
UNSORTED = ("kernel-unsorted", "suite-ovni-sort")
DAMAGED_STREAM = "loom.node0.app/proc.6950/thread.6950"
TOLD = {"corrupt-header-only": 0, "corrupt-unfinished": 0}  # exit status, where it is not 3
READ_ON = ("corrupt-clock-backwards", "corrupt-unknown-mcv")
TABLE = ovni_tool.declared()


def by_stream(program, path, texts=True):
    """stream → [(clock, MCV, text, fields)], and what was said beside."""
    said = yore_says.events(program, path)
    lines = yore_says.texts(program, path, said.events) if texts else [("", "")] * len(said.events)
    found = {}
    for item, line in zip(said.events, lines or []):
        mcv, text = item["name"], line[1]
        if mcv == "#unknown":
            mcv, text = item["fields"]["mcv"], "UNKNOWN"
        found.setdefault(item["stream"], []).append((item["ts"], mcv, text, item["fields"]))
    return said, found, lines is not None


def compare(report, name, ours, theirs):
    """Streams of ours against ovnidump's; how many events agree."""
    count = 0
    moves = OFFSETS.get(name, {})
    for stream in sorted(set(ours) | set(theirs)):
        move = moves.get(stream.split("/")[0], 0)
        mine = [(clock - move, mcv, text) for clock, mcv, text, _ in ours.get(stream, [])]
        if mine != theirs.get(stream, []):
            wrong = next((pair for pair in zip(mine, theirs.get(stream, [])) if pair[0] != pair[1]),
                         (len(mine), len(theirs.get(stream, []))))
            report.differs("%s: %r, not %r" % (stream, *wrong))
        count += len(mine)
    return count


def compare_bytes(report, ours, text):
    count = 0
    for stream, lines in ovni_tool.dumped(text).items():
        for (_, mcv, _, fields), (_, _, wanted) in zip(ours[stream], lines):
            if mcv not in TABLE or "mcv" in fields:
                continue
            is_jumbo, arguments = TABLE[mcv]
            made = ovni_tool.payload(arguments, fields, "<")
            if is_jumbo:
                made = len(made).to_bytes(4, "little") + made
            report.same("%s of %s" % (mcv, stream), "".join(":%02x" % byte for byte in made),
                        wanted if mcv != "OHC" else wanted[:len(made) * 3])
            count += 1
    return count


def compare_parts(report, program, folder, ours):
    """Each loom, process and thread folder alone."""
    for place, folders, files in os.walk(folder):
        below = os.path.relpath(place, folder)
        if below == "." or not folders and "stream.obs" not in files:
            continue
        _, part, good = by_stream(program, place)
        names = {name for name in ours if (name + "/").startswith(below + "/")}
        found = {}
        for name, events in part.items():
            whole = below if "stream.obs" in files else below + "/" + name
            found[whole] = [event[:3] for event in events]
        if not good or found != {name: [event[:3] for event in ours[name]] for name in names}:
            report.differs("%s alone gives other events" % below)


def compare_swapped(report, program, folder, said):
    with tempfile.TemporaryDirectory() as work:
        copy = os.path.join(work, "ovni")
        shutil.copytree(folder, copy)
        for place, _, files in os.walk(copy):
            os.chmod(place, 0o755)
            if "stream.obs" in files:
                path = os.path.join(place, "stream.obs")
                os.chmod(path, 0o644)
                with open(path, "rb") as file:
                    data = file.read()
                with open(path, "wb") as file:
                    file.write(ovni_tool.swapped(data, TABLE))
        other = yore_says.events(program, copy)
        if [item for item in other.events if item["name"] != "#unknown"] != \
                [item for item in said.events if item["name"] != "#unknown"]:
            report.differs("other events when it is big-endian")


def check(program, corpus, name):
    report = yore_says.Report("ovni/" + name)
    folder = os.path.join(corpus, name, "ovni")
    said, ours, good = by_stream(program, folder)
    times = [item["ts"] for item in said.events]
    if not good:
        report.differs("lines of text cannot be told apart")
    if times != sorted(times):
        report.differs("events are not in order")
    told = [line for line in said.messages if "did not finish" not in line]
    report.same("exit status", said.status, 0)
    report.same("messages", told, [])
    expected = ovni_tool.read(corpus, name, "expected", "ovnidump.txt")
    if name in UNSORTED:
        compare_sorted(report, program, corpus, name, ours, expected)
    else:
        report.facts.append("%d events" % compare(report, name, ours, ovni_tool.dumped(expected)))
    in_hex = ovni_tool.read(corpus, name, "expected", "ovnidump-hex.txt")
    if in_hex and name not in UNSORTED:
        report.facts.append("%d payloads" % compare_bytes(report, ours, in_hex))
    compare_parts(report, program, folder, ours)
    compare_swapped(report, program, folder, said)
    yore_says.other_ways(report, program, folder, said)
    return report.close()


def compare_sorted(report, program, corpus, name, ours, expected):
    """ovnidump gives unordered regions as they stand; ours are in order."""
    theirs = ovni_tool.dumped(expected)
    for stream, lines in theirs.items():
        mine = [event[:3] for event in ours.get(stream, [])]
        report.same("events of " + stream, sorted(mine), sorted(lines))
    report.facts.append("%d events in order" % sum(map(len, ours.values())))
    after = os.path.join(corpus, name, "ovni-sorted")
    if os.path.isdir(after):
        _, sorted_ones, _ = by_stream(program, after)
        report.same("what ovnisort gives", ours, sorted_ones)


def check_damaged(program, corpus, name):
    report = yore_says.Report("ovni/" + name)
    said, ours, _ = by_stream(program, os.path.join(corpus, name, "ovni"))
    # ovnidump ends where it meets damage, the cases are made from nosv
    place = (name, "expected", "tool.txt") if name in READ_ON else ("nosv", "expected", "ovnidump.txt")
    theirs = ovni_tool.dumped(ovni_tool.read(corpus, *place).split("$ ovniemu")[0])
    for stream, lines in theirs.items():
        mine = [event[:3] for event in ours.get(stream, [])]
        if stream == DAMAGED_STREAM:
            report.same("events up to the damage", mine, lines[:len(mine)])
            report.facts.append("%d of %d events of the damaged stream" % (len(mine), len(lines)))
        else:
            report.same("events of " + stream, mine, lines)
    if name == "corrupt-unknown-mcv":
        report.same("messages", said.messages, [])
    else:
        report.same("number of messages", len(said.messages), 1)
        report.same("exit status", said.status, TOLD.get(name, 3))
    return report.close()


def main():
    program, corpus = sys.argv[1:]
    failed = 0
    for name in ovni_tool.cases(corpus):
        one = check_damaged if name.startswith("corrupt-") else check
        failed += not one(program, corpus, name)
    print("ovni events: %d failed" % failed)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())

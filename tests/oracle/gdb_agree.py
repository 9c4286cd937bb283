#!/usr/bin/python3
"""Compares yore's answers of trace files of GDB with what GDB says of them.

    gdb_agree.py YORE FOLDER

FOLDER holds cases: trace.tf by `tsave`, maybe ctf/ by `tsave -ctf` of the same run, and under expected/
transcripts of `tfind` and `tdump` (tdump-tf.txt) and a list of frames and blocks (tfile-census.txt).
What must agree:

  - frames, in order: tracepoint, blocks of memory with address and length, trace state variables;
  - of the transcripts: pc, registers or that there are none, memory as the values that tdump prints of
    the traced program's variables, trace state variables;
  - variables of the traced program, by its debug information: what tdump prints of each;
  - the CTF form: register blocks, memory and variables of each frame, byte by byte;
  - damaged copies: all frames before the damage, one message.
"""
import json
import os
import re
import struct
import sys
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import yore_says
from yore_says import Report

# The traced program, target.c of the corpus: not relocated.
MESSAGE, CHECKSUM, ITEMS, ITEM = 0x404040, 0x404080, 0x4040a0, struct.Struct("<ih6s4xd")


def number(value):
    return value["value"] if isinstance(value, dict) else value


class Frame:
    """What yore says of a frame."""

    def __init__(self, item):
        self.fields, self.registers = item["fields"], item["context"]
        self.tracepoint, self.pc = self.fields["tracepoint"], self.fields.get("pc")
        self.blocks = [(m["address"], bytes(m["bytes"])) for m in self.fields["memory"]]
        self.variables = [(number(v["variable"]), number(v["value"]))
                          for v in self.fields["variables"]]
        self.names = {v["variable"]["labels"][0]: number(v["value"])
                      for v in self.fields["variables"]}

    def memory(self, address, length):
        """What was collected there; None: not all of it was."""
        for start, data in self.blocks:
            if start <= address and address + length <= start + len(data):
                return data[address - start:address - start + length]
        return None


# ---- the list of blocks ----

def census(report, case, frames):
    blocks = 0
    with open(os.path.join(case, "expected", "tfile-census.txt"), encoding="ascii") as file:
        lines = re.findall(r"^frame (\d+) tp (\d+) size \d+ blocks (.*)$", file.read(), re.M)
    report.same("number of frames", len(frames), len(lines))
    for frame, (n, tracepoint, what) in zip(frames, lines):
        memory = [(int(a, 16), int(n)) for a, n in re.findall(r"M\(([0-9a-f]+),(\d+)\)", what)]
        variables = [(int(a), int(b)) for a, b in re.findall(r"V\((\d+),(-?\d+)\)", what)]
        ours = (frame.tracepoint, bool(frame.registers),
                [(a, len(data)) for a, data in frame.blocks], frame.variables)
        report.same("frame " + n, ours, (int(tracepoint), "R" in what.split(), memory, variables))
        blocks += len(memory) + len(variables) + ("R" in what.split())
    report.facts.append("%d frames, %d blocks" % (len(frames), blocks))


# ---- transcripts ----

def c_text(data):
    """An array of char as GDB prints it."""
    out = ""
    for byte in data:
        out += chr(byte) if 32 <= byte < 127 else "\\%03o" % byte
    return '"%s"' % out


def item_text(data):
    ident, kind, tag, weight = ITEM.unpack(data)
    return "{id = %d, kind = %d, tag = %s, weight = %s}" % (
        ident, kind, gdb_chars(tag), "%g" % weight)


def gdb_chars(data):
    """GDB leaves out one zero at the end, and none of those before it."""
    return c_text(data[:-1] if data.endswith(b"\0") else data)


def expression(frame, name):
    """What tdump prints of an expression of the corpus' recordings; None: not of memory."""
    registers = frame.registers
    if name == "checksum":
        data = frame.memory(CHECKSUM, 8)
        return "<unavailable>" if data is None else str(struct.unpack("<Q", data)[0])
    if name == "message":
        data = frame.memory(MESSAGE, 24)
        return "<unavailable>" if data is None else gdb_chars(data)
    if name == "items":
        data = frame.memory(ITEMS, 4 * ITEM.size)
        return "<unavailable>" if data is None else "{%s}" % ", ".join(
            item_text(data[i:i + ITEM.size]) for i in range(0, len(data), ITEM.size))
    if name == "items[1]":
        return item_text(frame.memory(ITEMS + ITEM.size, ITEM.size))
    if name == "*it":
        return item_text(frame.memory(registers["rsi"], ITEM.size))
    if name in ("n", "a"):
        return str(struct.unpack("<i", struct.pack("<I", registers["rdi"] & 0xffffffff))[0])
    if name == "b":
        return str(struct.unpack("<i", struct.pack("<I", registers["rsi"] & 0xffffffff))[0])
    if name == "$rip":
        return "(void (*)()) 0x%x" % registers["rip"]
    if name == "$rsp":
        return "(void *) 0x%x" % registers["rsp"]
    if name.startswith("$"):
        return str(frame.names[name[1:]])
    if name == "it":
        return "(struct item *) 0x%x" % registers["rsi"]
    return None


REGISTER = re.compile(r"^(\w+) +(0x[0-9a-f]+|<unavailable>)(?: .*)?$")


def transcript(report, case, frames):
    path = os.path.join(case, "expected", "tdump-tf.txt")
    with open(path, encoding="utf-8") as file:
        parts = re.split(r"^FRAME (\d+) tracepoint \d+ line \d+ pc (0x[0-9a-f]+)$", file.read(),
                         flags=re.M)
    registers = values = 0
    for n, pc, text in zip(parts[1::3], parts[2::3], parts[3::3]):
        frame = frames[int(n)]
        report.same("pc of frame " + n, frame.pc, int(pc, 16))
        for line in text.split("\n"):
            match = REGISTER.match(line)
            name, equals, shown = line.partition(" = ")
            if match and not equals:
                name, shown = match[1], match[2]
                ours = frame.registers.get(name)
                if name == "rip" and not frame.registers:
                    ours = frame.pc  # GDB's guess: the tracepoint's address
                report.same("%s of frame %s" % (name, n),
                            "<unavailable>" if ours is None else hex(ours), shown)
                registers += 1
            elif equals and shown != "<optimized out>":
                ours = expression(frame, name)
                if ours is None:
                    report.differs("frame %s: no idea what %s is" % (n, name))
                elif "<" in shown and shown != "<unavailable>":  # a function's or object's name
                    shown = shown[:shown.index(" <")]
                report.same("%s of frame %s" % (name, n), ours, shown)
                values += 1
    report.facts.append("%d registers and %d values of tdump" % (registers, values))


# ---- the CTF form ----

def register_layout(path):
    """[(name, bytes)] in order of number, read of the description by another parser."""
    with open(path, "rb") as file:
        head = file.read().split(b"\n\n")[0].decode("latin-1").split("\n")
    text = "\n".join(line[6:] for line in head if line.startswith("tdesc "))
    root = xml.etree.ElementTree.fromstring(text.strip())
    found = [(int(reg.get("regnum")), reg.get("name"), int(reg.get("bitsize")) // 8)
             for reg in root.iter("reg")]
    return [(name, size) for _, name, size in sorted(found)]


def register_block(frame, layout):
    block = b""
    for name, size in layout:
        value = frame.registers[name]
        block += bytes(value) if isinstance(value, list) else value.to_bytes(size, "little")
    return block


def ctf_agrees(report, program, case, frames):
    """[tracepoint, register block, memory, variables] of each frame of both forms."""
    said = yore_says.events(program, os.path.join(case, "ctf"), "--input", "ctf")
    report.same("exit status of the CTF form", said.status, 0)
    theirs = []
    for item in said.events:
        if item["packet"]["tpnum"] == 0:
            continue  # definitions
        fields = {name: number(value) for name, value in item["fields"].items()}
        if item["name"] == "frame":
            theirs.append((item["packet"]["tpnum"], [], [], []))
        elif item["name"] == "register":
            theirs[-1][1].append(bytes(fields["contents"]))
        elif item["name"] == "memory":
            theirs[-1][2].append((fields["address"], bytes(fields["contents"])))
        elif item["name"] == "tsv":
            value = fields["val"]
            theirs[-1][3].append((fields["num"], value - (1 << 64) if value >> 63 else value))
    layout = register_layout(os.path.join(case, "trace.tf"))
    ours = [(frame.tracepoint, [register_block(frame, layout)] if frame.registers else [],
             frame.blocks, frame.variables) for frame in frames]
    report.same("number of frames of the CTF form", len(theirs), len(ours))
    for i, (a, b) in enumerate(zip(ours, theirs)):
        if a != b:
            report.differs("frame %d of the CTF form differs" % i)
    frames_agree(report, program, case, ours, layout)
    size = sum(len(data) for frame in ours for data in frame[1])
    report.facts.append("the CTF form the same (%d bytes of registers)" % size)


KNOWN = re.compile(r"r[a-z]{2}|r[0-9]+|eflags|[c-gs]s|st[0-7]|f[a-z]+|xmm[0-9]|xmm1[0-5]|mxcsr")


def frames_agree(report, program, case, ours, layout):
    """The CTF form as frames: its registers have names by an architecture's order, found by tracepoints' addresses."""
    said = yore_says.events(program, os.path.join(case, "ctf"))
    report.same("messages of the CTF form's frames", (said.messages, said.status), ([], 0))
    theirs = [Frame(item) for item in said.events]
    report.same("number of frames of the folder", len(theirs), len(ours))
    named = [(name, size) for name, size in layout if KNOWN.fullmatch(name) and not name.startswith("fs_")]
    registers = 0
    for i, (frame, (tracepoint, blocks, memory, variables)) in enumerate(zip(theirs, ours)):
        report.same("frame %d of the folder" % i, (frame.tracepoint, frame.blocks, frame.variables),
                    (tracepoint, memory, variables))
        at = 0
        for name, size in layout[:len(named)] if blocks else []:
            value = frame.registers.get(name)
            data = bytes(value) if isinstance(value, list) else None if value is None else value.to_bytes(size, "little")
            report.same("%s of frame %d of the folder" % (name, i), data, blocks[0][at:at + size])
            at += size
            registers += 1
    report.facts.append("%d registers of its frames" % registers)


def tdump_of_ctf(report, program, folder, case):
    """GDB's transcript of the CTF form: the place of each frame, and variables of the program."""
    path, target = os.path.join(case, "expected", "tdump-ctf.txt"), os.path.join(folder, "..", "workload", "target")
    with open(path, encoding="utf-8") as file:
        parts = re.split(r"^FRAME (\d+) tracepoint \d+ line (\d+) pc (0x[0-9a-f]+)$", file.read(), flags=re.M)
    if not os.path.exists(target) or len(parts) == 1:
        return
    for n, line, pc, text in zip(parts[1::4], parts[2::4], parts[3::4], parts[4::4]):
        done = yore_says.run(program, "frame", os.path.join(case, "ctf"), n, "--program", target, "--no-index")
        printed = done.stdout.decode()
        head = re.match(r"frame (\d+), .* pc (0x[0-9a-f]+) .*:(\d+)\n", printed)
        report.same("frame %s of tdump of the CTF form" % n, head and head.groups(), (n, pc, line))
        ours = dict(re.findall(r"^(\*?[a-z]+) = (.*)$", printed, re.M))
        for name, value in re.findall(r"^(\*?[a-z]+) = (.*)$", text, re.M):
            report.same("%s of frame %s of the CTF form" % (name, n), plain(ours.get(name, "<not collected>")), plain(value))
    report.facts.append("%d frames of tdump of it" % (len(parts) // 4))


def compare(program, folder, name):
    case = os.path.join(folder, name)
    path = os.path.join(case, "trace.tf")
    report = Report("gdb/" + name)
    said = yore_says.events(program, path)
    report.same("exit status", said.status, 0)
    report.same("messages", said.messages, [])
    report.same("times", [item["ts"] for item in said.events], list(range(len(said.events))))
    yore_says.other_ways(report, program, path, said)
    frames = [Frame(item) for item in said.events]
    census(report, case, frames)
    transcript(report, case, frames)
    ctf_agrees(report, program, case, frames)
    lines_agree(report, program, folder, case)
    variables_agree(report, program, folder, case)
    tdump_of_ctf(report, program, folder, case)
    return report.close()


def text_bytes(text):
    """A text between '"' as GDB or yore writes it, without zeros at its end."""
    if not text.startswith('"'):
        return text
    octal = re.sub(r"\\([0-7]{3})", lambda m: "\\x%02x" % int(m[1], 8), text[1:-1])
    return re.sub(r"(\\x00)+$", "", octal)


def plain(value):
    value = re.sub(r"^\([^()]*\*\) ", "", value)  # the type of a pointer
    value = re.sub(r" <items(\+\d+)?>", "", value)
    return re.sub(r'"(?:[^"\\]|\\.)*"', lambda m: text_bytes(m[0]), value.replace("<unavailable>", "<not collected>"))


def variables_agree(report, program, folder, case):
    """What tdump prints of named variables, against `frame` with the traced program."""
    target = os.path.join(folder, "..", "workload", "target")
    with open(os.path.join(case, "expected", "tdump-tf.txt"), encoding="utf-8") as file:
        parts = re.split(r"^FRAME (\d+) tracepoint .*$", file.read(), flags=re.M)
    if not os.path.exists(target):
        return
    values = 0
    for n, text in zip(parts[1::2], parts[2::2]):
        done = yore_says.run(program, "frame", os.path.join(case, "trace.tf"), n, "--program", target, "--no-index")
        ours = dict(re.findall(r"^(\*?[a-z]+) = (.*)$", done.stdout.decode(), re.M))
        for name, value in re.findall(r"^(\*?[a-z]+) = (.*)$", text, re.M):
            mine = ours.get(name, "<not collected>")  # of the file, and none of it was collected
            report.same("%s of frame %s" % (name, n), plain(mine), plain(value))
            values += 1
    for name in ("checksum", "n", "a"):
        theirs = [(n, plain(value)) for n, text in zip(parts[1::2], parts[2::2])
                  for value in re.findall(r"^%s = (.*)$" % name, text, re.M) if value != "<unavailable>"]
        done = yore_says.run(program, "frame", os.path.join(case, "trace.tf"), "values", name, "--program", target, "--no-index")
        ours = {n: plain(value) for n, value in re.findall(r"^(\d+)  \S+  %s = (.*)$" % name, done.stdout.decode(), re.M)}
        report.same("values of " + name, [(n, ours.get(n)) for n, _ in theirs], theirs)  # tdump prints what actions name
        values += len(theirs)
    report.facts.append("%d variables of tdump" % values)


PLACE = re.compile(r"^rip +0x[0-9a-f]+ +0x[0-9a-f]+ <(\w+)(?:\+(\d+))?>$", re.M)


def lines_agree(report, program, folder, case):
    """Function, offset and line of each pc, by the traced program beside the traces."""
    target = os.path.join(folder, "..", "workload", "target")
    with open(os.path.join(case, "expected", "tdump-tf.txt"), encoding="utf-8") as file:
        parts = re.split(r"^FRAME (\d+) tracepoint \d+ line (\d+) pc (0x[0-9a-f]+)$", file.read(),
                         flags=re.M)
    if not os.path.exists(target) or len(parts) == 1:
        return
    done = yore_says.run(program, "events", os.path.join(case, "trace.tf"), "--program", target,
                         "--lines", "--no-index")
    found = re.findall(r"^(\d+) .* ([0-9a-f]+) (\w+)\+0x([0-9a-f]+) \([^)]*\)\n +target.c:(\d+)$",
                       done.stdout.decode(), re.M)
    ours = [(n, int(pc, 16), int(line)) for n, pc, _, _, line in found]
    theirs = [(n, int(pc, 16), int(line))
              for n, line, pc in zip(parts[1::4], parts[2::4], parts[3::4])]
    report.same("lines", ours, theirs)
    for (n, _, function, offset, _), text in zip(found, parts[4::4]):
        place = PLACE.search(text)
        if place:
            report.same("function of frame " + n, (function, int(offset, 16)),
                        (place[1], int(place[2] or 0)))
    first = {}
    for n, line, _ in zip(parts[1::4], parts[2::4], parts[3::4]):
        first.setdefault(line, n)
    for line, n in first.items():
        done = yore_says.run(program, "frame", os.path.join(case, "trace.tf"), "line", "target.c:" + line,
                             "--program", target, "--no-index")
        report.same("first frame of line " + line, done.stdout.decode().split(",")[0], "frame " + n)
    report.facts.append("%d lines" % len(ours))


def damaged(program, folder):
    whole = yore_says.events(program, os.path.join(folder, "full", "trace.tf")).events
    report = Report("gdb/corrupt-truncated")
    said = yore_says.events(program, os.path.join(folder, "corrupt-truncated", "trace.tf"))
    report.same("exit status", said.status, 3)
    report.same("number of messages", len(said.messages), 1)
    report.same("frames before the cut", said.events == whole[:32], True)
    report.facts.append("32 frames before the cut")
    good = report.close()
    report = Report("gdb/corrupt-no-frames")
    said = yore_says.events(program, os.path.join(folder, "corrupt-no-frames", "trace.tf"))
    report.same("status and events", (said.status, said.events), (0, []))
    return report.close() and good


def main():
    program, folder = sys.argv[1], sys.argv[2]
    good = [compare(program, folder, name) for name in ("full", "overflow", "strings-circular")]
    good.append(damaged(program, folder))
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()

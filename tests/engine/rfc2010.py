#!/usr/bin/env python3
"""Writes a scene as a trace of the 2010 proposal, or the same scene as CTF 1.8, with its truth.

    rfc2010.py write DIR [OPTIONS]      a folder; DIR.truth has a JSON line per event
    rfc2010.py compare TRUTH < ROWS     are these rows of `yore events --format json` the truth?

An encoder of its own, which shares nothing with yore: bit by bit, by the rulings in docs/ctf.md.
"""
import argparse
import bz2
import gzip
import hashlib
import json
import os
import random
import struct
import sys

PACKED, HEADER = 8, 48


class Bits:
    """Integers behind one another: little-endian from low bits, big-endian from high ones."""

    def __init__(self, start=0):
        self.start, self.bits = start * 8, []
        self.data = bytearray()
        self.at = self.start

    def put(self, value, bits, big):
        if self.at % 8 == 0 and bits % 8 == 0:
            self.grow(self.at + bits)
            at = (self.at - self.start) // 8
            self.data[at:at + bits // 8] = (value & (1 << bits) - 1).to_bytes(
                bits // 8, "big" if big else "little")
            self.at += bits
            return
        self.grow(self.at + bits)
        for i in range(bits):
            bit = value >> (bits - 1 - i if big else i) & 1
            at = self.at - self.start
            self.data[at // 8] |= bit << (7 - at % 8 if big else at % 8)
            self.at += 1

    def grow(self, at):
        need = (at - self.start + 7) // 8 - len(self.data)
        if need > 0:
            self.data += bytes(need)

    def align(self, to):
        self.at = (self.at + to - 1) // to * to
        self.grow(self.at)


class World:
    def __init__(self, big, word):
        self.big, self.word = big, word

    def natural(self, bits):
        if bits % 8:
            return 1
        return 8 if bits & (bits - 1) else min(bits, self.word)

    def name(self, big):
        return "be" if big else "le"


class Int:
    def __init__(self, bits, signed=False, align=None, order=None):
        self.bits, self.signed, self.own, self.order = bits, signed, align, order

    def align(self, w):
        return self.own or w.natural(self.bits)

    def big(self, w):
        return w.big if self.order is None else self.order == "be"

    def text(self, w):
        if self.own is None and self.order is None and self.bits in (8, 16, 32, 64, 5, 27):
            return "%sint%d_t" % ("" if self.signed else "u", self.bits)
        return "type { parent = integer; size = %d; signed = %s;%s%s }" % (
            self.bits, "true" if self.signed else "false",
            " align = %d;" % self.own if self.own else "",
            " byte_order = %s;" % {"be": "network", "le": "le"}[self.order] if self.order else "")

    def tsdl(self, w, name):
        return "integer { size = %d; align = %d; signed = %s; byte_order = %s; } %s" % (
            self.bits, self.align(w), "true" if self.signed else "false", w.name(self.big(w)), name)

    def put(self, out, value, w):
        out.align(self.align(w))
        out.put(value, self.bits, self.big(w))

    def shown(self, value):
        return value


class Bitfield(Int):
    """gcc_bitfield: begins at the next unit where it would cross one."""

    def __init__(self, bits, unit, signed=False):
        super().__init__(bits, signed, 1)
        self.unit = unit

    def text(self, w):
        return ("type { parent = gcc_bitfield; unit_size = %d; size = %d; signed = %s; align = 1; }"
                % (self.unit, self.bits, "true" if self.signed else "false"))

    def put(self, out, value, w):
        if out.at % self.unit + self.bits > self.unit:
            out.align(self.unit)
        out.put(value, self.bits, w.big)


class Enum(Int):
    def __init__(self, bits, labels, signed=False):
        super().__init__(bits, signed)
        self.labels = labels

    def text(self, w):
        return "type { .parent = enum; .size = %d; .signed = %s; .map = { %s, }; }" % (
            self.bits, "1" if self.signed else "0",
            ", ".join("{ %s, %s }" % (value if value < 0 else hex(value), name)
                      for value, name in ((value, name if name.isidentifier() else '"%s"' % name)
                                          for value, name in self.labels)))

    def tsdl(self, w, name):
        return "enum : %s { %s } %s" % (
            Int.tsdl(self, w, "").strip(),
            ", ".join("%s = %d" % (label, value) for value, label in self.labels), name)

    def shown(self, value):
        return {"value": value, "labels": [label for number, label in self.labels if number == value]}


class Float:
    def __init__(self, bits):
        self.bits = bits

    def align(self, w):
        return w.natural(self.bits)

    def text(self, w):
        return "float" if self.bits == 32 else "double"

    def tsdl(self, w, name):
        return ("floating_point { exp_dig = %d; mant_dig = %d; align = %d; byte_order = %s; } %s"
                % (8 if self.bits == 32 else 11, 24 if self.bits == 32 else 53, self.align(w),
                   w.name(w.big), name))

    def put(self, out, value, w):
        out.align(self.align(w))
        raw = struct.pack(">f" if self.bits == 32 else ">d", value)
        out.put(int.from_bytes(raw, "big"), self.bits, w.big)

    def shown(self, value):
        return value


class String:
    def align(self, w):
        return 8

    def text(self, w):
        return "string"

    def tsdl(self, w, name):
        return "string { encoding = UTF8; } " + name

    def put(self, out, value, w):
        out.align(8)
        for byte in value.encode() + b"\0":
            out.put(byte, 8, w.big)

    def shown(self, value):
        return value


class Text:
    """An array of char."""

    def __init__(self, length):
        self.length = length

    def align(self, w):
        return 8

    def text(self, w):
        return "type { parent = array; length = %d; elem_type = char; }" % self.length

    def tsdl(self, w, name):
        return "integer { size = 8; align = 8; signed = true; encoding = UTF8; } %s[%d]" % (
            name, self.length)

    def put(self, out, value, w):
        for byte in value.encode().ljust(self.length, b"\0"):
            out.align(8)
            out.put(byte, 8, w.big)

    def shown(self, value):
        return value


class Array:
    def __init__(self, length, element):
        self.length, self.element = length, element

    def align(self, w):
        return self.element.align(w)

    def text(self, w):
        return "type { parent = array; elem_type = %s; length = %d; }" % (
            self.element.text(w), self.length)

    def tsdl(self, w, name):
        return "%s[%d]" % (self.element.tsdl(w, name), self.length)

    def put(self, out, value, w):
        out.align(self.align(w))
        for one in value:
            self.element.put(out, one, w)

    def shown(self, value):
        return [self.element.shown(one) for one in value]


class Sequence(Array):
    def __init__(self, length, element):
        super().__init__(length, element)

    def align(self, w):
        return max(self.length.align(w), self.element.align(w))

    def text(self, w):
        return "type { parent = sequence; length_type = %s; elem_type = %s }" % (
            self.length.text(w), self.element.text(w))

    def put(self, out, value, w):
        self.length.put(out, len(value), w)
        out.align(self.element.align(w))
        for one in value:
            self.element.put(out, one, w)


class Struct:
    def __init__(self, *members):
        self.members = members

    def align(self, w):
        return max([1] + [kind.align(w) for _, kind in self.members])

    def fields(self, w):
        return "{ %s }" % " ".join("{ %s, %s }," % (kind.text(w), name)
                                   for name, kind in self.members)

    def text(self, w):
        return "type { parent = struct; fields = %s; }" % self.fields(w)

    def tsdl(self, w, name):
        return "struct { %s } align(%d) %s" % (
            " ".join(kind.tsdl(w, inner) + ";" for inner, kind in self.members), self.align(w), name)

    def put(self, out, value, w):
        out.align(self.align(w))
        for name, kind in self.members:
            kind.put(out, value[name], w)

    def shown(self, value):
        return {name: kind.shown(value[name]) for name, kind in self.members}


COMM = Text(16)
SCHED = {  # the events that linux.rules know
    1: ("sched_switch", Struct(("prev_comm", COMM), ("prev_tid", Int(32, True)),
                               ("prev_prio", Int(32, True)), ("prev_state", Int(64, True)),
                               ("next_comm", COMM), ("next_tid", Int(32, True)),
                               ("next_prio", Int(32, True)))),
    2: ("sched_wakeup", Struct(("comm", COMM), ("tid", Int(32, True)), ("prio", Int(32, True)),
                               ("target_cpu", Int(32, True)))),
    30: ("irq_handler_entry", Struct(("irq", Int(32, True)), ("name", String()))),
    40: ("irq_handler_exit", Struct(("irq", Int(32, True)), ("ret", Int(8)))),
}
COLOUR = Enum(8, [(0, "red"), (1, "green"), (0x20, "blue")])
APP = {  # what both generations have
    0: ("plain", Struct(("a", Int(8)), ("b", Int(16, True)), ("c", Int(64)), ("d", Float(64)))),
    7: ("mixed", Struct(("colour", COLOUR), ("name", String()), ("port", Int(16, order="be")),
                        ("f", Float(32)), ("inner", Struct(("x", Int(32)), ("y", Int(8)))),
                        ("row", Array(3, Int(16))))),
    70000: ("far", Struct(("low", Int(3)), ("mid", Int(13, True)), ("wide", Int(27)),
                          ("last", Int(32, align=32)))),
    9: ("bare", None),
}
RICH = dict(APP)
RICH.update({
    11: ("sequences", Struct(("one", Sequence(Int(8), Int(32))), ("empty", Sequence(Int(16), Int(64))),
                             ("texts", Sequence(Int(8), String())),
                             ("pairs", Sequence(Int(16), Struct(("k", Int(8)), ("v", Int(64))))))),
    12: ("fields_of_c", Struct(("a", Bitfield(12, 16, True)), ("b", Bitfield(5, 16, True)),
                               ("c", Bitfield(3, 8)), ("d", Bitfield(31, 32)), ("e", Bitfield(2, 32)),
                               ("s", String()), ("g", Bitfield(9, 16)), ("h", Bitfield(9, 16)))),
    13: ("signs", Struct(("e", Enum(8, [(-1, "error"), (-1, "failure"), (5, "five: it is")], True)),
                         ("rows", Array(2, Array(2, Bitfield(5, 8)))))),
})


def random_value(rng, kind):
    if isinstance(kind, Enum):
        return rng.choice(kind.labels)[0] if rng.random() < 0.8 else 77
    if isinstance(kind, Int):
        low = -(1 << kind.bits - 1) if kind.signed else 0
        return rng.choice([rng.randrange(low, low + (1 << kind.bits)), low, low + (1 << kind.bits) - 1])
    if isinstance(kind, Float):
        return rng.randrange(-1 << 20, 1 << 20) / 64
    if isinstance(kind, String):
        return rng.choice(["", "a", "größer", "x" * rng.randrange(30)])
    if isinstance(kind, Sequence):
        return [random_value(rng, kind.element) for _ in range(rng.randrange(4))]
    if isinstance(kind, Array):
        return [random_value(rng, kind.element) for _ in range(kind.length)]
    return {name: random_value(rng, inner) for name, inner in kind.members}


class Section:
    def __init__(self, name, header, events, context=None, cpus=2):
        self.name, self.header, self.events, self.cpus = name, header, events, cpus
        self.context = context


def scheduler(rng, count, cpus):
    """(time, cpu, id, fields) of threads that share CPUs."""
    now, running = 0, [0] * cpus
    waiting = list(range(10, 10 + 4 * cpus))
    for _ in range(count):
        now += rng.choice([900, 20_000, 1_000_000]) + rng.randrange(800)
        if rng.random() < 0.002:
            now += rng.choice([200_000_000, 5_000_000_000])  # over one wrap of 27, of 32 bits
        cpu, draw = rng.randrange(cpus), rng.random()
        if draw < 0.6:
            before, after = running[cpu], waiting.pop(rng.randrange(len(waiting)))
            if before:
                waiting.append(before)
            running[cpu] = after
            yield now, cpu, 1, dict(prev_comm="t%d" % before if before else "swapper/%d" % cpu,
                                    prev_tid=before, prev_prio=20, prev_state=rng.choice([0, 1, 2]),
                                    next_comm="t%d" % after, next_tid=after, next_prio=20)
        elif draw < 0.8:
            tid = rng.choice(waiting)
            yield now, cpu, 2, dict(comm="t%d" % tid, tid=tid, prio=20, target_cpu=cpu)
        elif draw < 0.9:
            yield now, cpu, 30, dict(irq=rng.randrange(3), name=rng.choice(["timer", "eth0"]))
        else:
            yield now, cpu, 40, dict(irq=rng.randrange(3), ret=1)


class Scene:
    def __init__(self, args):
        rng = random.Random(args.seed)
        self.args, self.world = args, World(args.order == "be", args.word)
        self.session, self.offset = 0x5EED0000 + args.seed, 1_600_000_000_000_000_000
        self.base = 7_000_000_000  # cycles, of the first event
        context = [("pid", Int(32, True))] if args.context else []
        if args.event_size:
            context = [("event_size", Int(32))] + context
        if args.cpu_context:
            context.append(("cpu", Int(16)))
        context = Struct(*context) if context else None
        self.sections = [Section("s" if args.short_names else "sched", 1, SCHED, context)]
        self.sections.append(Section("app_like", 2, RICH if args.rich else APP, context))
        self.streams = {}
        self.truth = []
        ids = [k for k in self.sections[1].events]
        for now, cpu, ident, fields in scheduler(rng, args.events, 2):
            self.add(rng, self.sections[0], now, cpu, ident, fields)
            if rng.random() < 0.3:
                ident = rng.choice(ids)
                kind = self.sections[1].events[ident][1]
                self.add(rng, self.sections[1], now + 1, cpu, ident,
                         random_value(rng, kind) if kind else {})

    def add(self, rng, section, now, cpu, ident, fields):
        context = {"pid": rng.randrange(1, 1000), "cpu": cpu, "event_size": 0}
        self.streams.setdefault((section.name, cpu), (section, cpu, []))[2].append(
            (self.base + now, ident, context, fields))

    # ---- one event, packed into the packet's bits

    def header_2010(self, out, section, now, last, ident):
        w = self.world
        low_bits, most = (27, 30) if section.header == 1 else (32, 65534)
        long_form = ident > most or now - last >= 1 << low_bits
        out.align(w.natural(32))
        time, number = now & (1 << low_bits) - 1, most + 1 if long_form else ident
        if section.header == 1:
            out.put(number, 5, w.big)
            out.put(0 if long_form else time, 27, w.big)
            if long_form:
                out.put(ident, 32, w.big)
                out.put(now, 64, w.big)
                out.align(w.natural(64))
        else:
            out.put(0 if long_form else time, 32, w.big)
            out.put(number, 16, w.big)
            if long_form:
                out.align(w.natural(64))
                out.put(now, 64, w.big)
                out.put(ident, 32, w.big)

    def header_18(self, out, section, now, last, ident):
        w = self.world
        out.align(w.natural(64))
        out.put(ident, 32, w.big)
        out.align(w.natural(64))
        out.put(now, 64, w.big)

    def event(self, out, section, last, event):
        now, ident, context, fields = event
        w, kind = self.world, section.events[ident][1]
        (self.header_18 if self.args.ctf18 else self.header_2010)(out, section, now, last, ident)
        shown = {}
        if section.context:
            start = out.at
            probe = Bits(start // 8)
            probe.at = start
            section.context.put(probe, context, w)
            if kind:
                probe.align(kind.align(w))
                begin = probe.at
                kind.put(probe, fields, w)
                context["event_size"] = (probe.at - begin + 7) // 8
            section.context.put(out, context, w)
            shown = {name: context[name] for name, _ in section.context.members}
        if kind:
            kind.put(out, fields, w)
        return shown

    # ---- packets

    def coded(self, content):
        args = self.args
        if args.compress == "gzip":
            content = gzip.compress(content, mtime=0)
        elif args.compress == "bzip2":
            content = bz2.compress(content)
        if args.key:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
            key = bytes.fromhex(open(args.key).read())
            nonce = hashlib.sha256(content).digest()[:12]
            content = nonce + AESGCM(key).encrypt(nonce, content, None)
        return content

    def packet_2010(self, content, number, begin, end, discarded):
        args = self.args
        content = self.coded(content)
        size = HEADER + len(content)
        whole = (size + 4095) // 4096 * 4096 if args.pages else size
        digest = {"none": b"\0\0\0\0", "md5": hashlib.md5(content).digest(),
                  "sha1": hashlib.sha1(content).digest()}[args.sum]
        head = struct.pack(
            (">" if self.world.big else "<") + "6IQQI4B", 0xC1FC1FC1, self.session, size, whole,
            int.from_bytes(digest[:4], "big"), number & (1 << args.seq_bits) - 1, begin, end,
            discarded, args.seq_bits,
            {"none": 0, "bzip2": 1, "gzip": 2}[args.compress], 1 if args.key else 0,
            {"none": 0, "md5": 1, "sha1": 2}[args.sum])
        assert len(head) == HEADER
        return head + content + bytes(whole - size)

    def packet_18(self, content, number, begin, end, discarded, section, cpu):
        index = self.sections.index(section)
        size = 64 + len(content)
        whole = (size + 4095) // 4096 * 4096
        head = struct.pack((">" if self.world.big else "<") + "2I6Q2I", 0xC1FC1FC1, index, begin, end,
                           size * 8, whole * 8, number, discarded, cpu, 0)
        assert len(head) == 64
        return head + content + bytes(whole - size)

    def write_stream(self, path, name, section, cpu, events):
        start = 64 if self.args.ctf18 else HEADER
        data, number, first = bytearray(), self.args.first_seq, 0
        lost = 0xfffffff0 if self.args.discard else 0  # wraps
        rng = random.Random(len(events))
        while first < len(events):
            n = min(len(events) - first, rng.randrange(20, self.args.packet_events))
            out, last = Bits(start), events[first][0]
            begin, end = last, events[first + n - 1][0]
            for event in events[first:first + n]:
                context = self.event(out, section, last, event)
                last = event[0]
                kind = section.events[event[1]][1]
                row = {"ts": self.offset + event[0], "t": self.offset + event[0], "stream": name, "cpu": cpu,
                       "name": section.events[event[1]][0], "context": context,
                       "fields": kind.shown(event[3]) if kind else {}}
                if event[1] != self.args.forget:
                    self.truth.append(row)
            content = bytes(out.data)
            if self.args.ctf18:
                data += self.packet_18(content, number, begin, end, 0, section, cpu)
            elif number - self.args.first_seq != self.args.drop:
                data += self.packet_2010(content, number, begin, end, lost)
            lost = lost + self.args.discard & 0xffffffff
            number, first = number + 1, first + n
        with open(os.path.join(path, name), "wb") as file:
            file.write(data)

    # ---- metadata

    def text_2010(self):
        w, args = self.world, self.args
        pieces = ["/* one piece */ trace { major = 0; minor = 1;\n clock_freq = 1000000000; "
                  "clock_offset = %d; hostname = \"made\"; arch_align = %s; }" % (
                      self.offset, {8: "packed", 32: "natural32", 64: "natural64"}[w.word])]
        for section in self.sections:
            context = ""
            if section.context:
                members = [m for m in section.context.members if m[0] != "event_size"]
                if args.event_size:
                    context = "context { event_size = true; %s }" % " ".join(
                        "{ %s, %s };" % (kind.text(w), name) for name, kind in members)
                else:
                    context = "context = %s;" % section.context.text(w)
            pieces.append("section { name = %s; event { header_type = type%d; %s } }" % (
                section.name, section.header, context))
            for ident, (name, kind) in section.events.items():
                if ident == args.forget:
                    continue
                if kind:
                    pieces.append("type payload_of_%s_%s { parent = struct;\nfields = %s }" % (
                        section.name, name, kind.fields(w)))
                rule = ""
                if args.rules and name == "sched_switch":
                    rule = 'rule = "cpu[section/cpu]/ran = field/next_tid";' \
                           '"ran[field/next_tid]/on\n = section/cpu";'
                pieces.append("event { name = \"%s\"; id = %#x; section = %s;\n%s %s }" % (
                    name, ident, section.name, rule,
                    "fields = payload_of_%s_%s;" % (section.name, name) if kind else ""))
        return pieces

    def write_metadata_2010(self, path):
        pieces = self.text_2010()
        with open(os.path.join(path, "metadata"), "wb") as file:
            if self.args.text:
                file.write("\n".join(pieces).encode())
                return
            half = len(pieces) // 2
            for number, part in enumerate((pieces[:half], pieces[half:])):
                content = b"".join(piece.encode() + b"\0" for piece in part)
                file.write(self.packet_2010(content, number, 0, 0, 0))

    def write_metadata_18(self, path):
        w = self.world
        u = {bits: "integer { size = %d; align = %d; signed = false; byte_order = %s; }" % (
            bits, 8, w.name(w.big)) for bits in (32, 64)}
        stamp = "integer { size = 64; align = 8; signed = false; map = clock.c.value; }"
        lines = ["/* CTF 1.8 */",
                 "trace { major = 1; minor = 8; byte_order = %s;" % w.name(w.big),
                 "packet.header := struct { %s magic; %s stream_id; }; };" % (u[32], u[32]),
                 "env { hostname = \"made\"; };",
                 "clock { name = c; freq = 1000000000; offset = %d; absolute = TRUE; };" % self.offset]
        for index, section in enumerate(self.sections):
            context = "event.context := %s;" % section.context.tsdl(w, "") if section.context else ""
            header = "struct { %s id; %s timestamp; } align(%d)" % (
                Int(32).tsdl(w, ""), stamp.replace("align = 8", "align = %d" % w.natural(64)),
                w.natural(32))
            lines.append(
                "stream { id = %d; packet.context := struct { %s timestamp_begin; %s timestamp_end; "
                "%s content_size; %s packet_size; %s packet_seq_num; %s events_discarded; %s cpu_id; "
                "%s pad; }; event.header := %s; %s };" % (
                    index, stamp, stamp, u[64], u[64], u[64], u[64], u[32], u[32], header, context))
            for ident, (name, kind) in section.events.items():
                lines.append("event { name = \"%s\"; id = %d; stream_id = %d; %s };" % (
                    name, ident, index, "fields := %s;" % kind.tsdl(w, "") if kind else ""))
        with open(os.path.join(path, "metadata"), "w") as file:
            file.write("\n".join(lines))

    def write(self):
        path = self.args.path
        os.makedirs(path)
        (self.write_metadata_18 if self.args.ctf18 else self.write_metadata_2010)(path)
        for section, cpu, events in self.streams.values():
            name = "%s_%d" % (section.name, cpu)
            if self.args.only in (None, name):
                self.write_stream(path, name, section, cpu, events)
        with open(path + ".truth", "w") as file:
            for row in sorted(self.truth, key=lambda row: row["ts"]):
                file.write(json.dumps(row) + "\n")


def compare(path):
    rows = [json.loads(line) for line in sys.stdin]
    truth = [json.loads(line) for line in open(path)]
    for row in rows:
        row.pop("packet", None)
    if rows == truth:
        print("%d events are as written" % len(rows))
        return 0
    for number, (row, wanted) in enumerate(zip(rows, truth)):
        if row != wanted:
            print("event %d:\n  read    %s\n  written %s" % (number, row, wanted))
            return 1
    print("%d events read, %d written" % (len(rows), len(truth)))
    return 1


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "compare":
        return compare(sys.argv[2])
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["write"])
    parser.add_argument("path")
    parser.add_argument("--order", choices=["le", "be"], default="le")
    parser.add_argument("--word", type=int, choices=[8, 32, 64], default=8)
    parser.add_argument("--compress", choices=["none", "gzip", "bzip2"], default="none")
    parser.add_argument("--sum", choices=["none", "md5", "sha1"], default="none")
    parser.add_argument("--key")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--events", type=int, default=1500)
    parser.add_argument("--seq-bits", type=int, default=4)
    parser.add_argument("--first-seq", type=int, default=13)
    parser.add_argument("--packet-events", type=int, default=200, help="fewer than these")
    parser.add_argument("--discard", type=int, default=0, help="events lost before each packet")
    parser.add_argument("--drop", type=int, help="the number of a packet that is not written")
    parser.add_argument("--only", help="the one stream that is written")
    parser.add_argument("--forget", type=int, help="an id that the metadata leaves out")
    for flag in ("ctf18", "rich", "short-names", "context", "event-size", "cpu-context", "text",
                 "rules", "pages"):
        parser.add_argument("--" + flag, action="store_true")
    Scene(parser.parse_args()).write()
    return 0


if __name__ == "__main__":
    sys.exit(main())

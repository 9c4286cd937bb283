#!/usr/bin/env python3
"""Reads a trace of the 2010 proposal, as docs/ctf.md has it, and prints its events by time.

    rfc2010_read.py DIR     a line of JSON per event: t, stream, cpu, name, packet, context, fields

It shares nothing with yore, and checks what yore's reader would pass over: sizes, padding, checksums,
sequence numbers, and that each packet ends where its last event does.
"""
import bz2
import gzip
import hashlib
import json
import os
import re
import struct
import sys

TOKEN = re.compile(r'\s+|/\*.*?\*/|//[^\n]*|("(?:[^"\\]|\\.)*")|(\.\.\.)|([A-Za-z_][A-Za-z_0-9]*)'
                   r'|(-?(?:0[xX][0-9a-fA-F]+|\d+))|([{}=;,.\[\]])', re.S)
ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


def unquoted(text):
    octal = re.sub(r'\\([0-7]{3})', lambda m: chr(int(m.group(1), 8)), text[1:-1])
    return re.sub(r'\\(.)', lambda m: ESCAPES.get(m.group(1), m.group(1)), octal)


def tokens(text):
    at, out = 0, []
    while at < len(text):
        found = TOKEN.match(text, at)
        assert found, "no token at %r" % text[at:at + 30]
        at = found.end()
        if found.group(1):
            out.append(("text", unquoted(found.group(1))))
        elif found.group(4):
            out.append(("int", int(found.group(4), 0)))
        elif found.lastindex:
            out.append(("word", found.group(found.lastindex)))
    return out


class Parser:
    def __init__(self, text):
        self.tokens, self.at, self.types = tokens(text), 0, {}
        self.trace, self.sections, self.events = {}, {}, {}

    def peek(self, ahead=0):
        at = self.at + ahead
        return self.tokens[at][1] if at < len(self.tokens) else None

    def take(self):
        self.at += 1
        return self.tokens[self.at - 1][1]

    def skip(self, what):
        if self.at < len(self.tokens) and self.tokens[self.at] == ("word", what):
            self.at += 1
            return True
        return False

    def need(self, what):
        assert self.skip(what), "%s is missing before %r" % (what, self.tokens[self.at:self.at + 5])

    def list_of(self, item):
        out = []
        self.need("{")
        while not self.skip("}"):
            if not self.skip(","):
                out.append(item())
        return out

    def member(self):
        self.need("{")
        kind = self.type()
        self.skip(",")
        name = self.take()
        self.skip(",")
        self.need("}")
        return name, kind

    def label(self):
        self.need("{")
        low = high = self.take()
        if self.skip("..."):
            high = self.take()
        self.skip(",")
        name = self.take()
        self.need("}")
        return low, high, name

    def type(self):
        if self.peek() == "type" and self.peek(1) == "{":
            self.take()
            return self.body({})
        name = self.take()
        if name in self.types:
            return self.types[name]
        found = re.fullmatch(r"(u?)int(\d*)(?:_t)?", name)
        if found:
            return {"parent": "integer", "size": int(found.group(2) or 32), "signed": not found.group(1)}
        return {"float": {"parent": "floating_point", "exp_dig": 8, "mant_dig": 24},
                "double": {"parent": "floating_point", "exp_dig": 11, "mant_dig": 53},
                "char": {"parent": "integer", "size": 8, "signed": True, "char": True},
                "string": {"parent": "string"}}[name]

    def body(self, kind):
        self.need("{")
        while not self.skip("}"):
            self.skip(".")
            key = self.take()
            self.need("=")
            if key == "fields":
                kind[key] = kind.get(key, []) + self.list_of(self.member)
            elif key == "map":
                kind[key] = self.list_of(self.label)
            elif key in ("elem_type", "length_type", "tag_type"):
                kind[key] = self.type()
            elif key == "parent" and self.peek() in self.types:
                kind.update({k: v for k, v in self.types[self.take()].items() if k not in kind})
            else:
                value = self.take()
                kind[key] = {"true": True, "false": False}.get(value, value)
            self.skip(";")
        return kind

    def block(self):
        out = {}
        self.need("{")
        while not self.skip("}"):
            key = self.take()
            if key in ("event", "packet") and self.peek() == "{":
                out[key] = self.block()
            elif key == "context" and self.peek() == "{":
                members = []
                self.need("{")
                while not self.skip("}"):
                    if self.skip("event_size"):
                        self.need("=")
                        members.append(("event_size", {"parent": "integer", "size": 32}))
                        self.take()
                    else:
                        members.append(self.member())
                    self.skip(",")
                    self.skip(";")
                out[key] = {"parent": "struct", "fields": members}
            else:
                self.need("=")
                out[key] = self.type() if key in ("context", "fields") else self.take()
            self.skip(";")
        return out

    def run(self):
        while self.at < len(self.tokens):
            word = self.take()
            if word in ("type", "abstract_type"):
                name = self.take()
                self.types[name] = self.body({})
            elif word == "trace":
                self.trace = self.block()
            elif word == "section":
                section = self.block()
                self.sections[section["name"]] = section
            elif word == "event":
                event = self.block()
                assert (event["section"], event["id"]) not in self.events
                self.events[event["section"], event["id"]] = event
            else:
                assert word == ";", word
        return self


class Reader:
    """Values out of one packet's bits."""

    def __init__(self, data, at, big, word):
        self.data, self.at, self.big, self.word = data, at * 8, big, word

    def natural(self, bits):
        if bits % 8:
            return 1
        return 8 if bits & (bits - 1) else min(bits, self.word)

    def boundary(self, kind):
        parent = kind["parent"]
        if parent in ("integer", "enum"):
            return kind.get("align") or self.natural(kind["size"])
        if parent == "gcc_bitfield":
            return kind.get("align", 1)
        if parent == "floating_point":
            return kind.get("align") or self.natural(kind["exp_dig"] + kind["mant_dig"])
        if parent == "struct":
            return max([1] + [self.boundary(inner) for _, inner in kind.get("fields", [])])
        if parent in ("optional", "variant"):
            return self.boundary(kind["tag_type"])
        if parent == "string":
            return 8
        inner = self.boundary(kind["elem_type"])
        return max(inner, self.boundary(kind["length_type"])) if parent == "sequence" else inner

    def align(self, bits):
        self.at = (self.at + bits - 1) // bits * bits

    def bits(self, count, big):
        assert self.at + count <= len(self.data) * 8, "a value crosses the end of its packet"
        value = 0
        if self.at % 8 == 0 and count % 8 == 0:
            first = self.at // 8
            value = int.from_bytes(self.data[first:first + count // 8], "big" if big else "little")
        else:
            for i in range(count):
                at = self.at + i
                bit = self.data[at // 8] >> (7 - at % 8 if big else at % 8) & 1
                value |= bit << (count - 1 - i if big else i)
        self.at += count
        return value

    def integer(self, kind):
        size, order = kind["size"], kind.get("byte_order", "native")
        if kind["parent"] == "gcc_bitfield" and self.at % kind["unit_size"] + size > kind["unit_size"]:
            self.align(kind["unit_size"])
        self.align(self.boundary(kind))
        value = self.bits(size, self.big if order == "native" else order in ("be", "network"))
        if kind.get("signed") in (True, 1) and value >> (size - 1):
            value -= 1 << size
        return value

    def real(self, kind):
        size = kind["exp_dig"] + kind["mant_dig"]
        order = kind.get("byte_order", "native")
        self.align(self.boundary(kind))
        raw = self.bits(size, self.big if order == "native" else order in ("be", "network"))
        return struct.unpack(">" + {16: "e", 32: "f", 64: "d"}[size], raw.to_bytes(size // 8, "big"))[0]

    def text(self):
        self.align(8)
        first = self.at // 8
        end = self.data.index(0, first)
        self.at = (end + 1) * 8
        return self.data[first:end].decode(errors="replace")

    def items(self, kind, count):
        element = kind["elem_type"]
        self.align(self.boundary(element))
        found = [self.value(element) for _ in range(count)]
        if element.get("char"):
            raw = bytes(one & 255 for one in found)
            return raw.split(b"\0")[0].decode(errors="replace")
        return found

    def value(self, kind):
        parent = kind["parent"]
        if parent in ("integer", "gcc_bitfield"):
            return self.integer(kind)
        if parent == "enum":
            number = self.integer(kind)
            return {"value": number,
                    "labels": [name for low, high, name in kind["map"] if low <= number <= high]}
        if parent == "floating_point":
            return self.real(kind)
        if parent == "string":
            return self.text()
        if parent == "struct":
            self.align(self.boundary(kind))
            return {name: self.value(inner) for name, inner in kind.get("fields", [])}
        if parent == "array":
            return self.items(kind, kind["length"])
        if parent == "sequence":
            return self.items(kind, self.integer(kind["length_type"]))
        tag = self.integer(kind["tag_type"])
        if parent == "optional":
            return self.value(kind["elem_type"]) if tag else None
        name, inner = kind["fields"][tag]
        return {name: self.value(inner)}


def packets(path, session=None):
    """(header, content behind the 48 bytes as it is stored, big) of each packet of a file."""
    data, at = open(path, "rb").read(), 0
    while at < len(data):
        big = data[at:at + 4] == b"\xc1\xfc\x1f\xc1"
        head = struct.unpack_from((">" if big else "<") + "6IQQI4B", data, at)
        names = ("magic", "session", "content", "packet", "sum", "count", "begin", "end", "discarded",
                 "count_bits", "compression", "encryption", "scheme")
        head = dict(zip(names, head))
        assert head["magic"] == 0xC1FC1FC1, "%s: no packet at %d" % (path, at)
        assert session is None or head["session"] == session, "another session"
        assert 48 <= head["content"] <= head["packet"] <= len(data) - at, "sizes"
        assert not any(data[at + head["content"]:at + head["packet"]]), "padding"
        assert head["encryption"] == 0
        yield head, data[at:at + head["content"]], big
        at += head["packet"]


def plain(head, packet, begin):
    """The packet whose content behind `begin` bytes is no longer compressed; its checksum is right."""
    content = packet[begin:]
    digest = {0: None, 1: hashlib.md5, 2: hashlib.sha1}[head["scheme"]]
    wanted = int.from_bytes(digest(content).digest()[:4], "big") if digest else 0
    assert head["sum"] == wanted, "checksum"
    if content:
        content = {0: bytes, 1: bz2.decompress, 2: gzip.decompress}[head["compression"]](content)
    return packet[:begin] + content


def event_of(trace, section, reader, last):
    """(time, event) of the one that begins here, its header passed."""
    w = reader.natural
    kind = section["event"].get("header_type", "type2")
    reader.align(w(32))
    if kind == "type1":
        word = reader.bits(32, reader.big)
        ident, low = (word >> 27, word & 0x7ffffff) if reader.big else (word & 31, word >> 5)
        bits, most = 27, 31
    else:
        low, ident = reader.bits(32, reader.big), reader.bits(16, reader.big)
        bits, most = 32, 65535
    now = last + (low - last) % (1 << bits)
    if ident == most and kind == "type1":
        ident, now = reader.bits(32, reader.big), reader.bits(64, reader.big)
        reader.align(w(64))
    elif ident == most:
        reader.align(w(64))
        now, ident = reader.bits(64, reader.big), reader.bits(32, reader.big)
    return now, trace.events[section["name"], ident]


def read_stream(trace, path, session, word):
    name = os.path.basename(path)
    found = re.fullmatch(r"(.*)_(\d+)", name)
    has_number = found and found.group(1) in trace.sections
    section = trace.sections[found.group(1) if has_number else name]
    cpu = int(found.group(2)) if has_number and "cpu" not in section else None
    name = trace.trace.get("yore_stream_" + found.group(2), name) if has_number else name
    offset, count, ended = trace.trace.get("clock_offset", 0), None, 0
    for head, packet, big in packets(path, session):
        assert count is None or head["count"] == count + 1 & 0xffffffff, "a packet is missing"
        assert ended <= head["begin"] <= head["end"], "times of packets"
        count, ended = head["count"], head["end"]
        before = Reader(packet, 48, big, word)
        context = {key: before.value(kind)
                   for key, kind in section.get("packet", {}).get("context", {}).get("fields", [])}
        begin = (before.at + 7) // 8
        reader = Reader(plain(head, packet, begin), begin, big, word)
        last = head["begin"]
        while reader.at + 7 < len(reader.data) * 8:
            last, event = event_of(trace, section, reader, last)
            row = {"ts": offset + last, "t": offset + last, "stream": name, "cpu": context.get("cpu_id", cpu),
                   "name": event["name"], "packet": context}
            common = section["event"].get("context")
            row["context"] = reader.value(common) if common else {}
            row["fields"] = reader.value(event["fields"]) if "fields" in event else {}
            row["context"].update(row["fields"].pop("__yore_context", {}))
            assert head["begin"] <= last <= head["end"], "an event outside its packet"
            yield row


def main():
    path = sys.argv[1]
    texts, session, sequence = [], None, 0
    for head, packet, _ in packets(os.path.join(path, "metadata")):
        session = head["session"] if session is None else session
        assert head["session"] == session and head["count"] == sequence
        sequence += 1
        texts.append(plain(head, packet, 48)[48:].replace(b"\0", b"\n").decode())
    trace = Parser("".join(texts)).run()
    word = {"packed": 8, "natural32": 32, "natural64": 64}[trace.trace.get("arch_align", "packed")]
    rows = []
    for name in sorted(os.listdir(path)):
        if name != "metadata":
            rows += read_stream(trace, os.path.join(path, name), session, word)
    for row in sorted(rows, key=lambda row: (row["ts"], row["stream"])):
        print(json.dumps(row))


if __name__ == "__main__":
    main()

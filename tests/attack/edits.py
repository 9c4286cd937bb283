"""Damage of files as lists of edits, each of which can be left out when a failing input is made smaller.

An edit replaces bytes [at, at + gone) of a file by others. Edits of a file are applied one after the other.
"""
import collections
import re

Edit = collections.namedtuple("Edit", "path at gone put")

EXTREMES = [0, 1, 2, 7, 8, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000,
            0xFFFFFFF8, 0xFFFFFFFF, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 8, (1 << 64) - 1]
TOKENS = [b"{", b"}", b";", b"[", b"]", b":=", b"::", b"<", b">", b"struct", b"variant", b"enum", b"integer",
          b"string", b"floating_point", b"typealias", b"typedef", b"event", b"stream", b"clock", b"env",
          b"trace", b"size = 0", b"size = 65", b"align = 0", b"align = 3", b"align = 4294967296",
          b"exp_dig = 255", b"[4294967295]", b"[18446744073709551615]", b"-1", b'"', b"'", b"/*", b"*/",
          b"//", b"\\", b"stream.event.header.id", b"%s%n"]
PAGE = 4096


def apply(data, edits):
    """The bytes after these edits; what lies beyond the end counts as at the end."""
    data = bytearray(data)
    for edit in edits:
        at = min(edit.at, len(data))
        data[at:at + edit.gone] = edit.put
    return bytes(data)


def is_text(data):
    return data[:8] == b"/* CTF 1" or data[:4] in (b"\xc1\x1f\xfc\x75", b"\x75\xd1\x1d\x57")


def overwrite(path, data, at, put):
    put = put[:max(0, len(data) - at)]
    return Edit(path, at, len(put), put)


def place(r, data):
    """Heads of files, and of the pages and packets in them, are hit more often."""
    where = r.randrange(4)
    if where == 0:
        return r.randrange(min(len(data), 256))
    if where == 1:
        return min(len(data) - 1, r.randrange(0, len(data), PAGE) + r.randrange(96))
    return r.randrange(len(data))


def number(r, path, data, at):
    size = r.choice([1, 2, 4, 8])
    at -= at % r.choice([1, size])
    value = r.choice(EXTREMES + [len(data), len(data) - at, max(0, len(data) - at - size)])
    value = (value + r.choice([0, 0, 0, 1, -1])) % (1 << 8 * size)
    return overwrite(path, data, at, value.to_bytes(size, r.choice(["little", "little", "big"])))


def byte_edit(r, path, data, other):
    """One edit of bytes of any kind; `other` is what is pasted from."""
    at = place(r, data)
    size = r.choice([1, 8, 64, 512, PAGE])
    kind = r.randrange(11)
    if kind == 0:
        return overwrite(path, data, at, bytes([data[at] ^ 1 << r.randrange(8)]))
    if kind == 1:
        return overwrite(path, data, at, bytes([r.randrange(256)]))
    if kind <= 4:
        return number(r, path, data, at)
    if kind == 5:
        return Edit(path, at, len(data) - at, b"")
    if kind == 6:
        return Edit(path, at, size, b"")
    if kind == 7:
        return Edit(path, at, 0, data[at:at + size] * r.choice([1, 1, 3]))
    if kind == 8:
        return overwrite(path, data, r.randrange(len(data)), data[at:at + size])
    if kind == 9 and other:
        begin = r.randrange(len(other))
        block = other[begin:begin + r.choice([16, 256, PAGE, 16 * PAGE])]
        return overwrite(path, data, at, block) if r.random() < 0.5 else Edit(path, at, 0, block)
    return overwrite(path, data, at, r.choice([b"\0", b"\xff", b"A"]) * size)


def text_edit(r, path, data):
    """One edit of a description: its numbers, tokens, lines or names."""
    kind = r.randrange(5)
    if kind == 0:
        numbers = list(re.finditer(rb"\b\d+\b", data))
        if numbers:
            m = r.choice(numbers)
            return Edit(path, m.start(), len(m.group()), str(r.choice(EXTREMES)).encode())
    if kind == 1:
        lines = data.split(b"\n")
        first = r.randrange(len(lines))
        block = b"\n".join(lines[first:first + r.choice([1, 1, 2, 5, 20])]) + b"\n"
        at = sum(len(line) + 1 for line in lines[:first])
        if r.randrange(2):
            return Edit(path, at, len(block), b"")
        return Edit(path, at, 0, block * r.choice([1, 2, 50]))
    if kind == 2:
        words = list(re.finditer(rb"[A-Za-z_]\w*", data))
        if words:
            a, b = r.choice(words), r.choice(words)
            return Edit(path, a.start(), len(a.group()), b.group())
    if kind == 3:
        marks = [m.start() for m in re.finditer(rb"[{};\[\]=:,<>]", data)]
        if marks:
            return Edit(path, r.choice(marks), 1, bytes([r.choice(b"{};[]=:,<> ")]))
    return Edit(path, r.randrange(len(data) + 1), 0, b" " + r.choice(TOKENS) + b" ")


def trace_edits(r, path, data, other):
    """A few edits of one file of a trace."""
    edits = []
    for _ in range(r.choice([1, 1, 1, 2, 4, 16])):
        if not data:
            break
        text = is_text(data) and r.random() < 0.8
        edit = text_edit(r, path, data) if text else byte_edit(r, path, data, other)
        data = apply(data, [edit])
        edits.append(edit)
    return edits


def store_edits(r, path, data, other):
    """A few edits of a stored file: bits, numbers, pages that change places, cuts, pages of another store."""
    edits = []
    for _ in range(r.choice([1, 1, 1, 1, 2, 3, 8])):
        if not data:
            break
        pages = max(1, len(data) // PAGE)
        page = r.randrange(pages) * PAGE
        at = min(len(data) - 1, r.choice([r.randrange(len(data)), page + r.randrange(160), r.randrange(160)]))
        kind = r.randrange(12)
        if kind <= 4:
            edits.append(overwrite(path, data, at, bytes([data[at] ^ 1 << r.randrange(8)])))
        elif kind <= 6:
            edits.append(number(r, path, data, at))
        elif kind == 7:
            edits.append(Edit(path, r.choice([at, page, len(data) - 1]), len(data), b""))
        elif kind == 8:
            to = r.randrange(pages) * PAGE
            edits.append(overwrite(path, data, page, data[to:to + PAGE]))
            edits.append(overwrite(path, data, to, data[page:page + PAGE]))
        elif kind == 9:
            edits.append(overwrite(path, data, page, r.choice([b"\0", b"\xff"]) * PAGE))
        elif kind == 10 and other:
            begin = r.randrange(max(1, len(other) // PAGE)) * PAGE
            edits.append(overwrite(path, data, page, other[begin:begin + PAGE]))
        else:
            edits.append(byte_edit(r, path, data, other))
        data = apply(data, edits[-2:] if kind == 8 else edits[-1:])
    return edits

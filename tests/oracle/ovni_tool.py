"""What ovnidump and ovniemu said of a case, and the payloads that models declare."""
import glob
import os
import re
import struct

MODELS = os.path.join(os.path.dirname(__file__), "..", "..", "engine", "ovni", "models", "*.model")
SIZES = {"i32": "i", "u32": "I", "i64": "q", "u64": "Q"}
LINE = re.compile(r"^\s*(-?\d+)  (...)  (\S+)  (.*)$")


def declared():
    """MCV → ("jumbo" or not, [(type, name)]), from the tables that the reader is made of."""
    found = {}
    for path in glob.glob(MODELS):
        with open(path) as file:
            for line in file.read().splitlines():
                head = line.split("\t")[0]
                if head in ("", "model") or head.startswith("#"):
                    continue
                match = re.match(r"^(...(?: ...)?)(\+?)(?:\((.*)\))?$", head)
                arguments = [tuple(item.split()) for item in (match[3] or "").split(", ") if item]
                for mcv in match[1].split(" ") if len(match[1]) == 7 else [match[1]]:
                    found[mcv] = (match[2] == "+", arguments)
    return found


def payload(arguments, fields, order):
    """The bytes that a writer makes of these values."""
    out = b""
    for kind, name in arguments:
        if name.endswith("..."):
            out += b"".join(struct.pack(order + "q", item) for item in fields[name[:-3]])
        elif kind == "str":
            out += fields[name].encode("latin-1") + b"\0"
        else:
            out += struct.pack(order + SIZES[kind], fields[name])
    return out


def dumped(text):
    """stream → [(clock, MCV, text)] of ovnidump's lines, in its order."""
    found = {}
    for line in text.splitlines():
        match = LINE.match(line)
        if match:
            found.setdefault(match[3], []).append((int(match[1]), match[2], match[4]))
    return found


def read(*parts):
    path = os.path.join(*parts)
    if not os.path.exists(path):
        return None
    with open(path, encoding="latin-1") as file:
        return file.read()


def cases(corpus):
    return sorted(name for name in os.listdir(corpus) if os.path.isdir(os.path.join(corpus, name)))


def frames(data, order="<"):
    """(offset, bytes, MCV, jumbo size or None) of each event behind the header."""
    at = 8
    while at < len(data):
        code = data[at] & 15
        size = 12 + (code + 1 if code else 0)
        jumbo = struct.unpack_from(order + "I", data, at + 12)[0] if data[at] & 0x10 else None
        size += jumbo or 0
        yield at, size, data[at + 1:at + 4].decode("latin-1"), jumbo
        at += size


def swapped(data, table):
    """A little-endian stream.obs as a big-endian machine would have written it."""
    out = bytearray(data)
    out[4:8] = data[4:8][::-1]
    for at, size, mcv, jumbo in frames(data):
        out[at + 4:at + 12] = data[at + 4:at + 12][::-1]
        place = at + 12
        if jumbo is not None:
            out[place:place + 4] = data[place:place + 4][::-1]
            place += 4
        for kind, name in table.get(mcv, (False, []))[1]:
            width = struct.calcsize(SIZES[kind]) if kind in SIZES else 0
            while width and place + width <= at + size:
                out[place:place + width] = data[place:place + width][::-1]
                place += width
                if not name.endswith("..."):
                    break
    return bytes(out)

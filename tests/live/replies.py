#!/usr/bin/env python3
"""replies.py FOLDER - what a relay says to a mirror, in the order in which it asks, as seeds of fuzz_live.

Each file is a length of two bytes, little-endian, the replies of the first connection, so long, and those of the second one.
"""
import os
import struct
import sys

TEXT = b'/* CTF 1.8 */\ntrace { uuid = "00000000-0000-0000-0000-000000000001"; };\n'
JSON = b'\x1e{"type":"preamble","version":2,"uuid":[%s]}' % b",".join(b"%d" % i for i in range(16))


def connect(minor):
    return struct.pack(">QIII", 1, 2, minor, 0) + struct.pack(">I", 1)


def sessions(minor):
    numbers = struct.pack(">QIII", 1, 1000, 0, 2)
    if minor >= 15:
        return struct.pack(">I", 1) + numbers + struct.pack(">III", 1, 1, 1) + b"hs"
    return struct.pack(">I", 1) + numbers + b"h".ljust(64, b"\0") + b"s".ljust(255, b"\0")


def streams(*told):
    out = struct.pack(">II", 1, len(told))
    for number, metadata, path, channel in told:
        out += struct.pack(">QQI", number, 1, metadata) + path.ljust(4096, b"\0") + channel.ljust(255, b"\0")
    return out


def metadata(data, status=1):
    return struct.pack(">QI", len(data), status) + data


def index(status, offset=0, size=0, flags=0, at=0):
    return struct.pack(">7QII", offset, size * 8, size * 8, at, at + 1, 0, 0, status, flags)


def packet(data):
    return struct.pack(">III", 1, len(data), 0) + data


NONE = struct.pack(">II", 2, 0)
NO_MORE = struct.pack(">II", 1, 0)
END = struct.pack(">II", 4, 0)


def begin(minor, text, *names):
    return connect(minor) + sessions(minor) + streams((1, 1, b"ust", b"metadata"), *names) + NONE + metadata(text) + metadata(b"", 2)


def main():
    one, two = (2, 0, b"ust", b"a_0"), (3, 0, b"../x", b"index")
    plain = begin(13, TEXT, one) + index(1, 0, 8) + packet(b"12345678") + index(1, 8, 4, at=2) + packet(b"abcd") + index(3) + END
    again = begin(13, TEXT, one) + index(1, 0, 8) + index(1, 8, 4, at=2) + index(1, 0, 4, at=4) + packet(b"wxyz") + index(3) + END
    # new streams are asked for where they are flagged, and before a beacon is written
    pair = begin(15, JSON, one, two) + index(2) + index(1, 0, 4, flags=3) + NO_MORE + metadata(JSON + JSON) + metadata(b"", 2) + packet(b"abcd")
    pair += index(5, at=7) + NO_MORE + index(3) + index(3) + END
    hole = begin(13, TEXT, one) + index(1, 0, 8) + packet(b"12345678") + index(1, 100, 8, at=5) + packet(b"12345678")
    filled = begin(13, TEXT + b"/* */", one) + index(1, 0, 8) + index(1, 50, 8, at=2) + packet(b"87654321") + index(4)
    os.makedirs(sys.argv[1], exist_ok=True)
    for name, first, second in (("plain", plain, b""), ("again", plain, again), ("pair", pair, pair), ("hole", hole, filled)):
        with open(os.path.join(sys.argv[1], name), "wb") as file:
            file.write(struct.pack("<H", len(first)) + first + second)


if __name__ == "__main__":
    main()

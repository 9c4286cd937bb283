#!/usr/bin/python3
"""Compares `yore aux` with perf's own dump of a perf.data, and with libipt's listing of packets.

    aux_agree.py YORE PERF_DATA...

`perf report -D` prints the bytes of every AUXTRACE record and what AUX records say was filled. The
bytes of each CPU or thread are laid out again here, from that text alone, and must be those of the
files that yore writes, and of expected/cpuN.pt beside PERF_DATA where that is. Where there is
expected/cpuN.packets.txt (libipt's packet decoder), `--decode` must list the same packets; where the
kernel's or recorder's conversion is the identity, times must be the stamps.

Says so and exits with 77 (skipped) without perf.
"""
import collections
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

AUXTRACE = re.compile(r"PERF_RECORD_AUXTRACE size: (\S+)  offset: (\S+)  ref: (\S+)  idx: (\d+)"
                      r"  tid: (-?\d+)  cpu: (-?\d+)")
AUX = re.compile(r"^(-?\d+) .* PERF_RECORD_AUX offset: (\S+) size: (\S+) flags: (\S+)")
BYTES = re.compile(r"^\.  [0-9a-f]{4,}:  ((?:[0-9a-f]{2} )+)")


def read_dump(path):
    """Chunks (who, offset, reference, bytes) in file order, and AUX regions per CPU."""
    text = subprocess.run(["perf", "report", "-D", "-i", path], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False).stdout.decode("latin-1")
    chunks, filled, into = [], collections.defaultdict(list), None
    for line in text.splitlines():
        found = AUXTRACE.search(line)
        if found:
            size, offset, ref = (int(word, 0) for word in found.group(1, 2, 3))
            index, tid, cpu = (int(word) for word in found.group(4, 5, 6))
            who = ("cpu", cpu) if cpu >= 0 else ("tid", tid) if tid >= 0 else ("buffer", index)
            into = [who, offset, ref, bytearray(), size]
            chunks.append(into)
            continue
        found = AUX.match(line)
        if found:
            offset, size = int(found.group(2), 0), int(found.group(3), 0)
            filled[("cpu", int(found.group(1)))].append((offset, offset + size,
                                                        int(found.group(4), 0)))
        found = into and BYTES.match(line)
        if found:
            into[3] += bytes.fromhex(found.group(1))
        elif not line.startswith("."):
            into = None
    for who, offset, _, data, size in chunks:
        if len(data) != size:
            sys.exit(f"{path}: {who} at {offset}: perf prints {len(data)} bytes of {size}")
    return chunks, filled


def lay_out(chunks, filled):
    """The bytes of each buffer: every byte at its offset, up to where the regions end."""
    out = collections.defaultdict(bytearray)
    for who, offset, _, data, _ in chunks:
        buffer = out[who]
        if offset > len(buffer):
            sys.exit(f"{who}: a gap at {len(buffer)}, which this comparison knows nothing of")
        if buffer[offset:len(buffer)].strip(b"\0"):
            sys.exit(f"{who}: bytes at {offset} come twice")
        buffer[offset:] = data
    for who, buffer in out.items():
        ends = [end for _, end, _ in filled.get(who, [])]
        if ends and max(ends) < len(buffer):
            del buffer[max(ends):]
    return out


def run(yore, path, folder, *options):
    done = subprocess.run([yore, "aux", path, folder, "--format", "json", *options],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(f"{path}: yore aux ends with {done.returncode}: {done.stderr.decode()}")
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def compare(what, mine, theirs):
    if mine != theirs:
        print(f"{what}: {mine!r:.200} differs from {theirs!r:.200}")
        return 1
    return 0


def compare_ranges(path, folder, ranges, laid, filled):
    """The table against the files, the trace and the regions that were truncated."""
    bad = 0
    with open(os.path.join(folder, "ranges.csv"), newline="", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    bad += compare("ranges.csv", [(row["file"], row["offset"], row["bytes"]) for row in table],
                   [(row["file"], str(row["offset"]), str(row["bytes"])) for row in ranges])
    for row in ranges:
        who = ("cpu", row["cpu"]) if row["cpu"] is not None else ("tid", row["tid"])
        if who[1] is None:
            continue
        with open(row["source"], "rb") as file:
            file.seek(row["at"])
            bad += compare(f"{row['file']} at {row['position']}", file.read(row["bytes"]),
                           bytes(laid[who][row["position"]:row["position"] + row["bytes"]]))
        end = row["offset"] + row["bytes"]
        cut = any(flags & 1 and to == end for _, to, flags in filled.get(who, []))
        bad += compare(f"{path}: {row['file']} up to {end}: truncated", row["truncated"], cut)
    return bad


def compare_packets(name, packets, listing):
    """Lines "000010 size 8 tsc tsc 1000000"; modes are listed without what they say."""
    bad, tsc = 0, None
    lines = [line for line in listing.splitlines() if " end: " not in line]
    bad += compare(f"{name}: packets", len(packets), len(lines))
    for packet, line in zip(packets, lines):
        mine = f"{packet['offset']:06x} size {packet['size']} {packet['packet']}"
        if packet["payload"] and packet["packet"] != "mode":
            mine += " " + packet["payload"]
        bad += compare(name, mine, line)
        found = re.search(r"tsc tsc (\d+)", line)
        tsc = int(found.group(1)) if found else tsc
        bad += compare(f"{name} at {packet['offset']}: tsc", packet["tsc"], tsc)
        bad += compare(f"{name} at {packet['offset']}: time", packet["ts"], tsc)
    return bad


def agree(yore, path):
    chunks, filled = read_dump(path)
    laid = lay_out(chunks, filled)
    expected = os.path.join(os.path.dirname(path), "expected")
    bad = packets = 0
    with tempfile.TemporaryDirectory() as folder:
        ranges = run(yore, path, folder)
        names = {f"{kind}{number}.pt": data for (kind, number), data in laid.items()}
        bad += compare(f"{path}: files", sorted(set(os.listdir(folder)) - {"ranges.csv"}),
                       sorted(names))
        for name, data in names.items():
            with open(os.path.join(folder, name), "rb") as file:
                bad += compare(name, file.read(), bytes(data))
            if os.path.exists(os.path.join(expected, name)):
                with open(os.path.join(expected, name), "rb") as file:
                    bad += compare(f"expected/{name}", bytes(data), file.read())
        bad += compare_ranges(path, folder, ranges, laid, filled)
        bad += compare("offsets", {(f"{who[0]}{who[1]}.pt", offset) for who, offset, *_ in chunks}
                       - {(row["file"], row["offset"]) for row in ranges}, set())
        bad += compare("references", sorted({row["reference"] for row in ranges}),
                       sorted({chunk[2] for chunk in chunks}))
        rows = run(yore, path, folder, "--decode")
        for name in names:
            listing = os.path.join(expected, name[:-2] + "packets.txt")
            if os.path.exists(listing):
                with open(listing, encoding="utf-8") as file:
                    mine = [row for row in rows if row["file"] == name]
                    packets += len(mine)
                    bad += compare_packets(name, mine, file.read())
    print(f"{path}: {len(chunks)} chunks, {sum(len(data) for data in laid.values())} bytes, "
          f"{packets} packets: {bad} differ")
    return bad


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    if not shutil.which("perf"):
        print("aux_agree.py: skipped: perf is not installed")
        sys.exit(77)
    sys.exit(1 if sum(agree(sys.argv[1], path) for path in sys.argv[2:]) else 0)


if __name__ == "__main__":
    main()

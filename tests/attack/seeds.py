"""Inputs to damage: recordings that come with the project, ones that yore-gen makes, and small ones of the corpus."""
import glob
import os
import shutil
import struct
import subprocess

GEN = {  # what is written differently from one to the other
    "gen": [],
    "gen-large-headers": ["--large-headers", "--big-endian"],
    "gen-text": ["--text-metadata", "--contexts"],
    "gen-cut": ["--flush", "0.3", "--lose", "0.1", "--index"],
    "gen-overlap": ["--overlap", "--late-stream"],
    "gen-tasks": ["--tasks", "3", "--ended-stream", "--mute", "0.05"],
}


def make_gen(gen, out, *more):
    subprocess.run([gen, "--out", out, "--no-truth", *more], check=True, stdout=subprocess.DEVNULL)


def golden(source):
    found = sorted(glob.glob(os.path.join(source, "fixtures", "golden", "*", "")))
    return {os.path.basename(path[:-1]): one_file(path[:-1]) for path in found}


def one_file(folder):
    """A folder that holds one recording of perf, trace-cmd or GDB stands for the file."""
    for pattern in ("perf.data", "perf.pipe", "trace.dat", "trace.tf"):
        path = os.path.join(folder, pattern)
        if os.path.exists(path):
            return path
    return folder


def corpus(folder, most_bytes):
    """Recordings of the corpus that are small enough for many runs; {} where there is no corpus."""
    found = {}
    for kind in ("lttng-ust", "perf-data", "trace-dat", "perf-to-ctf", os.path.join("ctf", "real")):
        for path in sorted(glob.glob(os.path.join(folder, kind, "*", ""))):
            path = one_file(path[:-1])
            if size_of(path) <= most_bytes:
                name = path if os.path.isdir(path) else os.path.dirname(path)
                found["%s/%s" % (kind, os.path.basename(name))] = path
    return found


def size_of(path):
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(folder, name))
               for folder, folders, names in os.walk(path) if "expected" not in folder for name in names)


def copy(path, to):
    if os.path.isfile(path):
        shutil.copyfile(path, to)
    else:
        shutil.copytree(path, to, ignore=shutil.ignore_patterns("expected", "README.md"),
                        copy_function=shutil.copyfile)
        for folder, _, _ in os.walk(to):
            os.chmod(folder, 0o755)


def split_perf(path):
    """Two recordings as perf record --switch-output writes them: one head, each a half of the records."""
    with open(path, "rb") as file:
        data = file.read()
    begin, size = struct.unpack_from("<QQ", data, 40)
    records, at = [], begin
    while at + 8 <= begin + size:
        length = struct.unpack_from("<H", data, at + 6)[0]
        if length < 8:
            break
        records.append(data[at:at + length])
        at += length
    nsections = bin(int.from_bytes(data[72:104], "little")).count("1")
    half = len(records) // 2
    return [with_records(data, begin, size, b"".join(part), nsections)
            for part in (records[:half], records[half:])]


def with_records(data, begin, size, records, nsections):
    """The recording with other records; the sections of its features stand behind them and move."""
    tail = bytearray(data[begin + size:])
    for i in range(nsections):
        offset = struct.unpack_from("<Q", tail, 16 * i)[0]
        struct.pack_into("<Q", tail, 16 * i, offset - size + len(records))
    head = bytearray(data[:begin])
    struct.pack_into("<Q", head, 48, len(records))
    return bytes(head) + records + bytes(tail)


def zstd_zeros(blocks, last=False):
    """A zstd frame of run-length blocks: 4 bytes each, 128 KB when decompressed."""
    frame = b"\x28\xb5\x2f\xfd" + b"\x00" + b"\x50"
    for i in range(blocks):
        head = (128 << 10) << 3 | 1 << 1 | (1 if last and i == blocks - 1 else 0)
        frame += struct.pack("<I", head)[:3] + b"\0"
    return frame


def perf_bomb(records, blocks):
    """A pipe of perf: one attribute, then compressed records that unfold to 128 KB per 4 bytes."""
    attr = bytearray(128)
    struct.pack_into("<IIQQQ", attr, 0, 1, 128, 0, 1, 7)  # a software clock: ip, tid, time
    struct.pack_into("<Q", attr, 40, 1 << 18)              # sample_id_all
    out = b"PERFILE2" + struct.pack("<Q", 16)
    out += struct.pack("<IHH", 64, 0, 8 + 128 + 8) + bytes(attr) + struct.pack("<Q", 1)
    for i in range(records):
        body = zstd_zeros(blocks) if i == 0 else zstd_zeros(blocks)[6:]
        out += struct.pack("<IHH", 81, 0, 8 + len(body)) + body
    return out

#!/usr/bin/python3
"""perf.data of newer kernels and of newer perf: what is known is read right, all else is told.

Files are made here, byte by byte. What an answer must be is what was written: the oracle is this
file.
"""
import base64
import json
import os
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
from results import finish, result, yore

IP, TID, TIME, ADDR, READ, CHAIN, ID, CPU, PERIOD = 1, 2, 4, 8, 16, 32, 64, 128, 256
RAW, BRANCHES, REGS, WEIGHT, PHYS, IDENTIFIER = (1 << n for n in (10, 11, 12, 14, 19, 16))
WEIGHTS = 1 << 24
USUAL = IP | TID | TIME | CPU | PERIOD
ID_ALL = 1 << 18
KERNEL, USER, DEFERRED = 2**64 - 128, 2**64 - 512, 2**64 - 640


def flag_bytes(flags, order):
    """A bit field: bit n is bit 7 - n % 8 of its byte on big-endian machines."""
    out = bytearray(8)
    for n in range(64):
        if flags >> n & 1:
            out[n // 8] |= 1 << (n % 8 if order == "<" else 7 - n % 8)
    return bytes(out)


def attribute(order, sample, kind=1, config=0, flags=0, read=0, branch=0, regs=0, size=136, tail=(),
              id_all=True, clock=0):
    out = struct.pack(order + "IIQQQQ", kind, size, config, 1000, sample, read)
    out += flag_bytes(flags | ID_ALL * id_all, order) + struct.pack(order + "IIQQ", 0, 0, 0, 0)
    out += struct.pack(order + "QQIi", branch, regs, 0, clock)
    out = bytearray(out.ljust(size, b"\0"))
    for at, value in tail:
        out[at] = value
    return bytes(out)


def record(order, kind, misc, body):
    return struct.pack(order + "IHH", kind, misc, 8 + len(body)) + body


class Perf:
    """One file: records are added in order; their offsets are known from the begin on."""

    def __init__(self, order="<", features=(), **given):
        self.order, self.features = order, features
        self.attributes = [dict({"sample": USUAL}, **given)]
        self.names, self.records, self.size = {}, [], 0
        self.ids = []  # of each attribute one, where there are several

    def q(self, *values):
        return struct.pack("%s%dQ" % (self.order, len(values)), *values)

    def d(self, *values):
        return struct.pack("%s%di" % (self.order, len(values)), *values)

    def add(self, kind, body, misc=2):
        return self.put(record(self.order, kind, misc, body))

    def put(self, data):
        self.records.append(data)
        self.size += len(data)
        return self.size - len(data)

    def sample(self, t, *rest, tid=100, ip=0x400100, misc=2, cpu=0, period=7):
        """Of an attribute with USUAL and, behind it, `rest`, bytes."""
        return self.add(9, self.q(ip) + self.d(tid, tid) + self.q(t) + self.d(cpu, 0) +
                        self.q(period) + b"".join(rest), misc)

    def trailer(self, t, tid=100, cpu=0):
        return self.d(tid, tid) + self.q(t) + self.d(cpu, 0)

    def mmap(self, name, addr, size, pid=100, misc=2):
        text = name.encode() + b"\0"
        text += b"\0" * (-len(text) % 8)
        self.add(1, self.d(pid, pid) + self.q(addr, size, 0) + text + self.trailer(1, pid), misc)

    def mmap2(self, name, addr, size, prot, pid=100):
        text = name.encode() + b"\0"
        text += b"\0" * (-len(text) % 8)
        self.add(10, self.d(pid, pid) + self.q(addr, size, 0) + b"\0" * 24 + self.d(prot, 2) + text + self.trailer(1, pid))

    def save(self, folder, name="perf.data"):
        attrs = [attribute(self.order, **given) for given in self.attributes]
        entry, ids_at = len(attrs[0]) + 16, 104 + len(attrs) * (len(attrs[0]) + 16)
        begin = ids_at + 8 * len(self.ids)
        bits = [0, 0, 0, 0]
        for number, _ in self.features:
            bits[number // 64] |= 1 << number % 64
        data = b"".join(self.records)
        head = struct.pack(self.order + "Q", 0x32454c4946524550)
        head += self.q(104, entry, 104, entry * len(attrs), begin, len(data), 0, 0, *bits)
        for i, attr in enumerate(attrs):
            head += attr + (self.q(ids_at + 8 * i, 8) if self.ids else self.q(0, 0))
        out = head + self.q(*self.ids) + data
        table, payload = b"", b""
        behind = len(out) + 16 * len(self.features)
        for _, text in sorted(self.features):
            table += self.q(behind + len(payload), len(text))
            payload += text
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(out + table + payload)
        self.begin = begin
        return path


def text_feature(number, text):
    data = text.encode() + b"\0"
    return number, struct.pack("<I", len(data)) + data


def blob(*words):
    """Bytes as JSON has them."""
    return base64.b64encode(struct.pack("<%dQ" % len(words), *words)).decode()


def run(*words):
    done = subprocess.run([yore, *words], capture_output=True, timeout=120,
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout.decode(), done.stderr.decode().splitlines()


def events(path, *words):
    status, out, _ = run("events", path, "--no-index", "--format", "json", *words)
    return status, [json.loads(line) for line in out.splitlines()]


def equal(name, got, wanted):
    result(got == wanted, name, "got    %s\n\twanted %s" % (got, wanted))


def samples_are(name, path, members, wanted):
    status, got = events(path)
    context = [[event["context"].get(member) for member in members] for event in got
               if not event["name"].startswith("perf_")]
    equal(name, (status, context), (0, wanted))


def is_told(name, path, folder, words, kinds=1):
    """One warning that has these words, by every command, with and without an index; and exit 3."""
    for how in ("--no-index",), ("--index-dir", folder), ("--index-dir", folder):
        for command in ("events", "info"):
            status, _, said = run(command, path, *how)
            told = [line for line in said if "not known" in line or "not read" in line]
            good = (status == 0 and len(told) == kinds and
                    all(any(word in line for line in told) for word in words))
            result(good, "%s: %s %s says it" % (name, command, how[0]), (status, said))
    equal(name + ": --strict", run("events", path, "--no-index", "--strict")[0], 3)
    status, out, _ = run("check", path, "--no-index", "--format", "json")
    rows = [json.loads(line) for line in out.splitlines()]
    equal(name + ": check counts it", (status, rows[-1]["unknown"], rows[-1]["damaged"]),
          (0, kinds, 0))
    return rows


def branch_counters(folder):
    members = ["weight", "ins_lat", "p_stage_cyc", "branch_counters", "branch_hw_index"]
    for order in "<", ">":
        perf = Perf(order, sample=USUAL | BRANCHES | WEIGHTS, branch=1 << 3 | 1 << 19)
        wanted = []
        for k, n in enumerate((2, 3, 0, 1)):
            stack = b"".join(perf.q(0x400200 + i, 0x400300 + i, 1) for i in range(n))
            weight = struct.pack("<IHH" if order == "<" else ">HHI", *(
                (1 + k, 2, 3) if order == "<" else (3, 2, 1 + k)))
            perf.sample(1000 + k, perf.q(n), stack, perf.q(*range(16, 16 + n)), weight)
            wanted.append([1 + k, 2, 3, list(range(16, 16 + n)), None])
        samples_are("branch counters stand between branches and weights, " + order,
                    perf.save(folder), members, wanted)
    perf = Perf(sample=USUAL | BRANCHES | REGS | PHYS, branch=1 << 17 | 1 << 19, regs=3)
    for k in range(3):
        perf.sample(1000 + k, perf.q(1, 5 + k, 1, 2, 0, 99 + k), perf.q(2, 7, 8, 0x1000 + k))
    samples_are("branch counters with an index, in front of registers and an address",
                perf.save(folder),
                ["branch_counters", "branch_hw_index", "regs_user", "phys_addr"],
                [[[99 + k], 5 + k, [7, 8], 0x1000 + k] for k in range(3)])


def unknown_bits(folder):
    perf = Perf(sample=USUAL | 1 << 25)
    perf.sample(1000, perf.q(0xaabb))
    path = perf.save(folder)
    is_told("a bit of sample_type", path, folder,
            ["sample_type of 1 event", "attribute at offset 104", "bits 0x2000000"])
    samples_are("a bit of sample_type: its bytes are there", path, ["period", "unread"],
                [[7, blob(0xaabb)]])

    perf = Perf(sample=USUAL | BRANCHES | WEIGHT, branch=1 << 20 | 1)
    perf.sample(1000, perf.q(1, 2, 3, 4), perf.q(8, 9))
    path = perf.save(folder)
    is_told("a bit of branch_sample_type", path, folder,
            ["branch_sample_type of 1 event", "bits 0x100000"])
    samples_are("a bit of branch_sample_type: what follows is no weight", path,
                ["weight", "unread"], [[None, blob(8, 9)]])

    perf = Perf(sample=USUAL | READ, read=1 << 5)
    perf.sample(1000, perf.q(1, 2))
    path = perf.save(folder)
    is_told("a bit of read_format", path, folder, ["read_format of 1 event", "bits 0x20"])
    samples_are("a bit of read_format: what it counts is not known", path, ["read", "unread"],
                [[None, blob(1, 2)]])

    for name, given, words in (
            ("a flag of an attribute", {"flags": 1 << 45}, ["flags of 1 event", "0x200000000000"]),
            ("a longer attribute", {"size": 160, "tail": [(151, 9)]}, ["byte 151 is not zero"])):
        perf = Perf(**given)
        perf.sample(1000)
        is_told(name, perf.save(folder), folder, words)
    perf = Perf(size=160, flags=3 << 38)
    perf.sample(1000)
    equal("a longer attribute of zeros, and flags of Linux 6.19, are no news",
          run("events", perf.save(folder), "--no-index", "--strict")[::2], (0, []))


def unknown_records(folder):
    for kind in 23, 41, 63:
        perf = Perf()
        perf.sample(1000)
        off = perf.add(kind, perf.q(1, 2) + perf.trailer(1500, tid=77))
        perf.add(kind, perf.q(3) + perf.trailer(1600, tid=77))
        perf.sample(2000)
        path = perf.save(folder)
        name = "records of type %d" % kind
        is_told(name, path, folder,
                ["2 records of type %d, first at offset %d" % (kind, perf.begin + off)])
        got = [event for event in events(path)[1] if event["name"] == "perf_%d" % kind]
        equal(name + " are events with their bytes and trailer",
              [(event["ts"], event["cpu"], event["context"], event["fields"]) for event in got],
              [(1500, 0, {"pid": 77, "tid": 77}, {"bytes": blob(1, 2)}),
               (1600, 0, {"pid": 77, "tid": 77}, {"bytes": blob(3)})])
        equal(name + " are selected by name",
              run("events", path, "--no-index", "--name", "perf_%d" % kind, "--count")[1].split(),
              ["2"])
    for kind in 87, 32769, 0:
        perf = Perf()
        perf.sample(1000)
        off = perf.add(kind, perf.q(1))
        perf.add(kind, b"")
        perf.sample(2000)
        is_told("records of type %d" % kind, perf.save(folder), folder,
                ["2 records of type %d, first at offset %d: not known" % (kind, perf.begin + off)])
    perf = Perf()
    for kind in 74, 79, 84, 86:
        perf.add(kind, perf.q(1))
    perf.sample(2000)
    equal("perf's own records without events are no news",
          run("events", perf.save(folder), "--no-index", "--strict")[::2], (0, []))


def left_over(folder):
    perf = Perf()
    perf.sample(1000)
    off = perf.sample(2000, perf.q(5))
    perf.sample(3000, perf.q(5, 6))
    path = perf.save(folder)
    status, _, said = run("events", path, "--no-index")
    told = [line for line in said if "not known" in line]
    result(status == 0 and len(told) == 1 and
           "cpu-clock:HG at offset %d: 8 bytes" % (perf.begin + off) in told[0],
           "bytes left over in samples are told once", said)
    equal("bytes left over: --strict", run("events", path, "--no-index", "--strict")[0], 3)
    _, out, _ = run("check", path, "--no-index", "--format", "json")
    rows = [json.loads(line) for line in out.splitlines()]
    equal("bytes left over: check counts events",
          [row for row in rows if row["kind"] == "unknown"],
          [{"kind": "unknown", "class": "cpu-clock:HG", "events": 2}])
    perf = Perf(sample=USUAL | REGS, regs=1)
    perf.sample(1000, perf.q(2, 7))
    perf.sample(2000, perf.q(6, 7, 0x0001000200010001, 1, 2, 3))
    equal("registers of an unknown ABI are damage, and no values",
          run("events", perf.save(folder), "--no-index")[0], 3)


def features(folder):
    perf = Perf(features=[text_feature(3, "here"), text_feature(40, "x"), text_feature(128, "y")])
    perf.sample(1000)
    path = perf.save(folder)
    is_told("features", path, folder, ["2 features that", "the first is number 40"])
    result('hostname = "here"' in run("info", path, "--no-index")[1], "features that are known")


def deferred(folder):
    perf = Perf(sample=USUAL | CHAIN, flags=3 << 38)

    def chain(*values):
        return perf.q(len(values), *values)

    def later(t, tid, cookie, *values):
        perf.add(22, perf.q(cookie) + chain(*values) + perf.trailer(t, tid))

    perf.mmap("/k", 0xffffffff81000000, 0x100000, pid=-1, misc=1)
    kernel = (KERNEL, 0xffffffff81000100)
    later(900, 100, 5, USER, 0x999)  # before the sample: of an earlier cookie
    perf.sample(1000, chain(*kernel, 0xffffffff81000200, DEFERRED, 5))
    perf.sample(1100, chain(*kernel, DEFERRED, 5))
    perf.sample(1150, chain(*kernel, DEFERRED, 5), tid=200)
    later(1200, 100, 5, USER, 0x400100, 0x400200)
    later(1300, 200, 5, USER, 0x400300)
    perf.sample(1400, chain(USER, 0x400110, 0x400210))
    perf.sample(1500, chain(*kernel, DEFERRED, 6))  # nothing came of it
    path = perf.save(folder)
    status, out, said = run("convert", path, "-", "--no-index", "--to", "folded")
    frames = sorted((line.count(";"), int(line.rsplit(" ", 1)[1])) for line in out.splitlines())
    equal("deferred call chains are put together by thread and cookie", (status, frames),
          (0, [(1, 7), (2, 7), (2, 7), (3, 7), (4, 7)]))
    addresses = [line.split()[0] for line in run("events", path, "--no-index", "--name",
                                                 "cpu-clock*")[1].splitlines()
                 if line.startswith("\t")]
    equal("deferred call chains: addresses", addresses,
          ["ffffffff81000100", "ffffffff81000200", "400100", "400200",
           "ffffffff81000100", "400100", "400200", "ffffffff81000100", "400300",
           "400110", "400210", "ffffffff81000100"])
    rest = [event for event in events(path)[1] if event["name"] == "perf_callchain_deferred"]
    equal("deferred call chains are events", [event["fields"] for event in rest][1],
          {"cookie": 5, "callchain": [USER, 0x400100, 0x400200]})

    perf = Perf(sample=USUAL | CHAIN)
    perf.sample(1000, chain(*kernel, 2**64 - 700, 0x123, USER, 0x400100))
    _, out, said = run("events", perf.save(folder), "--no-index")
    result(sum("-700" in line for line in said) == 1 and "ffffffff81000100" in out and
           "\t          400100" in out and " 123 " not in out,
           "an unknown mark leaves out what stands behind it, up to the next one", (out, said))


def several(folder):
    """Samples of a counter count, before those of tracepoints, wherever they stand; of counters the first that is described."""
    TRACEPOINT, CLOCK, FAULTS = (2, 5), (1, 0), (1, 2)
    for name, kinds, told, others in (
            ("a tracepoint in front", (TRACEPOINT, CLOCK), "cpu-clock:HG", "unknown tracepoint"),
            ("a tracepoint behind", (CLOCK, TRACEPOINT), "cpu-clock:HG", "unknown tracepoint"),
            ("two counters", (TRACEPOINT, FAULTS, CLOCK), "page-faults:HG", "unknown tracepoint, cpu-clock:HG"),
            ("a counter without samples", (TRACEPOINT, FAULTS, CLOCK), "cpu-clock:HG", "unknown tracepoint")):
        perf = Perf(sample=IDENTIFIER | USUAL | CHAIN)
        perf.attributes = [dict(perf.attributes[0], kind=kind, config=config) for kind, config in kinds]
        perf.ids = [50 + i for i in range(len(kinds))]
        counted, weight = kinds.index(FAULTS if told.startswith("page") else CLOCK), 0
        for t in range(1000, 1060):
            # the tracepoint comes first, and the counter that is described first comes last
            of = kinds.index(TRACEPOINT) if t < 1010 else len(kinds) - 1 - t % len(kinds)
            if name.endswith("without samples") and kinds[of] == FAULTS:
                continue
            perf.add(9, perf.q(perf.ids[of], 0x400100) + perf.d(100, 100) + perf.q(t) + perf.d(0, 0) +
                     perf.q(t, 2, USER, 0x400100))
            weight += t if of == counted else 0
        path = perf.save(folder)
        for words, option in (("top", "threads"), "event"), (("flamegraph",), "event"), (("convert", "-", "--to", "folded"), "name"):
            status, out, said = run(words[0], path, *words[1:], "--no-index")
            numbers = [int(word) for word in out.replace(",", " ").split() if word.isdigit()]
            result(status == 0 and weight in numbers and sum(
                line.endswith("samples of %s are counted; others with stacks (--%s): %s" % (told, option, others))
                for line in said) == 1, "%s: %s counts %s" % (name, words[0], told), (status, weight, out, said))


def offcpu(folder):
    perf = Perf(sample=IDENTIFIER | USUAL | RAW, kind=1, config=10,
                features=[(12, struct.pack("<II", 1, 136) + attribute("<", USUAL) +
                           struct.pack("<II", 0, 12) + b"offcpu-time\0")])
    for t, tid, off, stack in ((1000, 100, 600, (USER, 0x400500, 0x400600)), (2000, 101, 50, ())):
        raw = struct.pack("<iiQQ", tid - 1, tid, off, len(stack)) + perf.q(*stack) + perf.q(3)
        raw += b"\0" * (-(len(raw) + 4) % 8)
        perf.add(9, perf.q(1, 0) + perf.d(0, 0) + perf.q(t) + perf.d(0, 0) + perf.q(1) +
                 struct.pack("<I", len(raw)) + raw)
    path = perf.save(folder)
    samples_are("off-CPU samples have thread, time and stack of the raw record", path,
                ["pid", "tid", "period", "callchain", "ip", "cgroup"],
                [[99, 100, 600, [USER, 0x400500, 0x400600], 0x400500, 3],
                 [100, 101, 50, [], 0, 3]])
    equal("off-CPU samples: nothing is left over",
          run("check", path, "--no-index", "--strict")[::2], (0, []))


def modes(folder):
    """Kernels of 32 bits have no upper half, and guests are not this machine."""
    def names(path):
        return [line.rsplit("(", 1)[1].rstrip(")") for line in run(
            "events", path, "--no-index", "--name", "cpu-clock*")[1].splitlines()]

    perf = Perf(features=[text_feature(6, "armv7l")])
    perf.mmap("[kernel.kallsyms]_stext", 0xc0008000, 0x3f000000, pid=-1, misc=1)
    perf.mmap("/lib/modules/3.4.0/kernel/drivers/input/joydev.ko", 0xbf000000, 0x6000, -1, 1)
    perf.mmap("/usr/bin/alpha", 0x8000, 0x4000)
    for k, (ip, mode) in enumerate(((0xc0123450, 1), (0xbf000100, 1), (0x8200, 2),
                                    (0xc0123450, 2))):
        perf.sample(1000 + k, ip=ip, misc=mode)
    equal("a kernel of 32 bits, by the CPU mode", names(perf.save(folder)),
          ["[kernel.kallsyms]", "[joydev]", "/usr/bin/alpha", "[unknown]"])
    perf = Perf()
    perf.mmap("[kernel.kallsyms]_text", 0xffffffff81000000, 0x1000000, pid=-1, misc=1)
    perf.mmap("/usr/bin/qemu", 0x8000, 0x4000)
    for k, (ip, mode) in enumerate(((0xffffffff81000100, 1), (0xffffffff81000100, 4), (0x8200, 5),
                                    (0x8200, 2), (0xffffffff81000100, 3), (0x8200, 1))):
        perf.sample(1000 + k, ip=ip, misc=mode)
    equal("guests and a hypervisor have no names of this machine", names(perf.save(folder)),
          ["[kernel.kallsyms]", "[unknown]", "[unknown]", "/usr/bin/qemu", "[unknown]",
           "[unknown]"])
    perf = Perf()
    perf.mmap2("[stack]", 0x10000, 0x1000, prot=3)
    perf.mmap2("//anon", 0x20000, 0x1000, prot=3)
    perf.mmap2("//anon", 0x30000, 0x1000, prot=7)
    perf.mmap("[heap]", 0x40000, 0x1000, misc=2 | 1 << 13)  # of data
    perf.mmap("//anon", 0x50000, 0x1000)
    for k in range(5):
        perf.sample(1000 + k, ip=0x10100 + 0x10000 * k)
    equal("memory that is not to be executed has no code of the process (perf: map__new())", names(perf.save(folder)),
          ["[stack]", "//anon", "/tmp/perf-100.map", "[heap]", "/tmp/perf-100.map"])


def compressed(folder):
    """A zstd stream of raw blocks, cut into records as perf 6.16 writes them."""
    plain = Perf()
    for k in range(9000):
        plain.sample(1000 + k)
    data = b"".join(plain.records)
    stream = b"\x28\xb5\x2f\xfd\x00\x58"
    for at in range(0, len(data), 100000):
        block = data[at:at + 100000]
        stream += struct.pack("<I", len(block) << 3)[:3] + block

    def compressed2(data):
        size = 16 + len(data)
        filled = size + -size % 8
        return struct.pack("<IHHQ", 83, 0, filled & 0xffff, len(data)) + data + \
            (b"\0" * (filled - size) if filled <= 0xffff else b"")

    def several(first, *rest):  # written as one: heads of the others are among the bytes
        data = first + b"".join(struct.pack("<IHHQ", 83, 0, 16 + len(part), 77) + part
                                for part in rest)
        return compressed2(data)

    def file_of(cuts, together=()):
        perf, at = Perf(), 0
        for n in cuts:
            perf.put(compressed2(stream[at:at + n]))
            at += n
        if together:
            parts = []
            for n in together:
                parts.append(stream[at:at + n])
                at += n
            perf.put(several(*parts))
        while at < len(stream):
            perf.put(compressed2(stream[at:at + 50001]))
            at += 50001
        return perf.save(folder)

    for name, cuts, together in (
            ("no size wraps", (60000,), ()),
            ("the first size wraps", (65513,), ()),
            ("all sizes wrap", (65519, 65520, 65516), ()),
            ("two and three records as one", (4001,), (65519, 65519, 3000)),
            ("two records as one", (), (65519, 9001))):
        status, out, said = run("events", file_of(cuts, together), "--no-index", "--count")
        equal("COMPRESSED2: " + name, (status, out.split(), said), (0, ["9000"], []))


def clocks(folder):
    for clock, name in ((1, "monotonic"), (16, "clockid_16"), (23, "clockid_23")):
        perf = Perf(flags=1 << 25, clock=clock)
        perf.sample(1000)
        line = [line for line in run("info", perf.save(folder), "--no-index")[1].splitlines()
                if line.startswith("clocks")][0]
        result(line.split()[1] == name + "," and "sched_clock" not in line,
               "clock %d is no sched_clock" % clock, line)


def counts_of_stat(folder):
    """perf stat record: an attribute without id trailers, counts, and the end of a round."""
    perf = Perf(sample=IDENTIFIER, id_all=False)
    off = None
    for k in range(3):
        at = perf.add(76, perf.q(1) + struct.pack("<II", k, 0) + perf.q(5, 6, 7))
        off = at if off is None else off
    perf.add(77, perf.q(1, 1000))
    path = perf.save(folder)
    for command in ("info",), ("events",), ("stats",), ("at", "+1ms", "cpu[*]/thread"):
        _, _, said = run(command[0], path, "--no-index", *command[1:])
        result(sum("3 records of counts of perf stat, first at offset %d" % (perf.begin + off)
                   in line for line in said) == 1 and not any(".rules" in line for line in said),
               "perf stat record: %s says that counts are not read, and nothing of rules"
               % command[0], said)


def main():
    with tempfile.TemporaryDirectory() as folder:
        for test in (branch_counters, unknown_bits, unknown_records, left_over, features, deferred,
                     several, offcpu, modes, compressed, clocks, counts_of_stat):
            test(folder)
    finish()


main()

"""What perf says of a perf.data file: run here, or written down in a corpus folder.

A record is one dict: offset, size, type, misc, cpu, time, raw (its bytes, from `perf script -D`),
name, item (what a sample is made of), said (values that perf prints of it), fields (a tracepoint's,
as perf's Python scripts get them).
"""
import json
import os
import re
import struct
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
ENV = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", PERF_CONFIG="/dev/null", PAGER="cat",
           DEBUGINFOD_URLS="")


def run(*arguments):
    return subprocess.run(["perf", *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          env=ENV, check=False).stdout


def installed():
    try:
        return subprocess.run(["perf", "--version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              check=False).returncode == 0
    except FileNotFoundError:
        return False


# Samples ---------------------------------------------------------------------------------------

class Attr:
    def __init__(self, data, order):
        data = data.ljust(136, b"\0")
        self.order = order
        self.type, self.size, self.config = struct.unpack_from(order + "IIQ", data)
        self.sample_type, self.read_format = struct.unpack_from(order + "QQ", data, 24)
        flags = data[40:48] if order == "<" else bytes(int("{:08b}".format(b)[::-1], 2)
                                                       for b in data[40:48])
        self.sample_id_all = flags[2] >> 2 & 1  # bit 18; bits are mirrored inside each byte
        self.branch_type, self.regs_user = struct.unpack_from(order + "QQ", data, 72)
        self.stack_user, = struct.unpack_from(order + "I", data, 88)
        self.regs_intr, = struct.unpack_from(order + "Q", data, 96)

    def has(self, bit):
        return self.sample_type >> bit & 1


def sample_items(attr, body):
    """The body of a sample, by the order of section 3 of the format's fact sheet."""
    at, item, order = 0, {}, attr.order

    def take(code):
        nonlocal at
        values = struct.unpack_from(order + code, body, at)
        at += struct.calcsize(order + code)
        return values[0] if len(values) == 1 else list(values)

    def registers(mask):
        abi = take("Q")
        count = bin(mask).count("1") if abi else 0
        return abi, [take("Q") for _ in range(count)]

    def read():
        form, n = attr.read_format, 1
        value = {}
        group = form >> 3 & 1
        if group:
            n = take("Q")
        else:
            value["value"] = take("Q")
        for bit, name in ((0, "time_enabled"), (1, "time_running")):
            if form >> bit & 1:
                value[name] = take("Q")
        if group:
            value["values"] = [{} for _ in range(n)]
        for one in value["values"] if group else [value]:
            for bit, name in ((3, "value"), (2, "id"), (4, "lost")):
                if form >> bit & 1:
                    one[name] = take("Q")
        return value

    for bit, name, code in ((16, "id", "Q"), (0, "ip", "Q"), (1, "tid", "ii"), (2, "time", "Q"),
                            (3, "addr", "Q"), (6, "id", "Q"), (9, "stream_id", "Q"),
                            (7, "cpu", "II"), (8, "period", "Q"), (4, "read", None),
                            (5, "callchain", None), (10, "raw", None), (11, "branch_stack", None),
                            (12, "regs_user", None), (13, "stack_user", None), (14, "weight", "Q"),
                            (24, "weights", None), (15, "data_src", "Q"), (17, "transaction", "Q"),
                            (18, "regs_intr", None), (19, "phys_addr", "Q"), (21, "cgroup", "Q"),
                            (22, "data_page_size", "Q"), (23, "code_page_size", "Q")):
        if not attr.has(bit):
            continue
        if name == "tid":
            item["pid"], item["tid"] = take(code)
        elif name == "cpu":
            item["cpu"] = take(code)[0]
        elif code:
            item[name] = take(code)
        elif name == "read":
            item["read"] = read()
        elif name == "callchain":
            item[name] = [take("Q") for _ in range(take("Q"))]
        elif name == "raw":
            size = take("I")
            item[name] = body[at:at + size]
            at += size
        elif name == "branch_stack":
            n = take("Q")
            if attr.branch_type >> 17 & 1:
                take("Q")
            item[name] = [take("QQQ") for _ in range(n)]
        elif name == "regs_user":
            item["regs_user_abi"], item[name] = registers(attr.regs_user)
        elif name == "regs_intr":
            item["regs_intr_abi"], item[name] = registers(attr.regs_intr)
        elif name == "weights":
            item["weight"], item["ins_lat"], item["p_stage_cyc"] = take("IHH")
        elif name == "stack_user":
            size = take("Q")
            item[name] = body[at:at + size]
            at += size
            if size:
                item["stack_user_used"] = take("Q")
    if at != len(body):
        raise ValueError("%d of %d bytes of a sample" % (at, len(body)))
    return item


# perf script -D ----------------------------------------------------------------------------------

DUMP = re.compile(r"^(?:0x)?([0-9a-f]+)@.* \[0x([0-9a-f]+)\]: event: (\d+)$")
BYTES = re.compile(r"^\.  ([0-9a-f]{4}): ((?: [0-9a-f]{2})+)")
LINE = re.compile(r"^(?:(-?\d+) )?(?:(-?\d+) )?(?:0x)?([0-9a-f]+) \[0x([0-9a-f]+)\]: PERF_RECORD_(.*)$")


def records(path):
    """The records of the file in the order in which perf delivers them."""
    found, raws, raw, at = [], {}, None, None
    for line in run("script", "-i", path, "-D").decode("utf-8", "surrogateescape").split("\n"):
        match = BYTES.match(line)
        if match and raw is not None:
            raw += bytes.fromhex(match.group(2))
            continue
        match = DUMP.match(line)
        if match:
            raw, at = bytearray(), (int(match.group(1), 16), int(match.group(2), 16))
            raws[at] = (raw, int(match.group(3)))  # offsets are of one of several files
            continue
        match = LINE.match(line)
        if match:
            here = int(match.group(3), 16), int(match.group(4), 16)
            numbers = [int(n) for n in match.group(1, 2) if n is not None]
            numbers = [n - (1 << 64) if n >= 1 << 63 else n for n in numbers]  # no time: -1 or 2^64 - 1
            data, kind = raws[at if at == here else here]
            found.append({
                "offset": here[0], "size": here[1], "type": kind, "raw": data, "more": [],
                "timeless": numbers[-1:] == [-1],  # without an id trailer; FORK, EXIT have their own
                "time": numbers[-1] if numbers and numbers[-1] > 0 else None,
                "cpu": numbers[0] if len(numbers) == 2 and 0 <= numbers[0] < 2 ** 31 else None,
                "text": match.group(5)})
        elif found and line and not line.startswith(". "):
            found[-1]["more"].append(line)
    foreign = b""
    if os.path.isfile(path):
        with open(path, "rb") as file:
            foreign = file.read()
    if foreign[:8] != b"2ELIFREP":
        foreign = b""
    for record in found:
        order = record["order"] = ">" if foreign else "<"
        if foreign:  # perf shows the bytes after it has swapped them
            record["raw"] = foreign[record["offset"]:record["offset"] + record["size"]]
        record["misc"] = struct.unpack_from(order + "H", record["raw"], 4)[0]
        if record["type"] in (4, 7) and record["time"] is None and record["timeless"]:
            record["time"] = struct.unpack_from(order + "Q", record["raw"], 24)[0] or None
    trailers = any(attr.sample_id_all for attr in attrs(path).values())
    last = None  # where none has a trailer, they stand after what the file has before them
    for record in [] if trailers else sorted(found, key=lambda r: r["offset"]):
        if record["time"] is not None:
            last = record["time"]
        elif record["timeless"] and record["type"] < 64 and record["type"] != 9:
            record["time"] = last
    return found


def inside(path):
    """Samples as perf's scripts get them, in delivery order."""
    said = run("script", "-i", path, "-s", os.path.join(HERE, "perf_inside.py"))
    return [json.loads(line[1:]) for line in said.decode("utf-8", "surrogateescape").split("\n")
            if line.startswith("@{")] or listed(path)


def attrs(path):
    """{event id: Attr} of a file, a folder's `data`, or a pipe."""
    with open(os.path.join(path, "data") if os.path.isdir(path) else path, "rb") as file:
        data = file.read()
    order, found = "<" if data[:8] == b"PERFILE2" else ">", {}
    header, entry, table, size = struct.unpack_from(order + "QQQQ", data, 8)
    if header == 16:
        at = 16
        while at + 8 <= len(data):
            kind, _, length = struct.unpack_from(order + "IHH", data, at)
            if kind != 64:
                break
            attr = Attr(data[at + 8:at + length], order)
            for i in range(at + 8 + attr.size, at + length, 8):
                found[struct.unpack_from(order + "Q", data, i)[0]] = attr
            at += length
        return found
    for at in range(table, table + size, entry):
        attr = Attr(data[at:at + entry - 16], order)
        begin, length = struct.unpack_from(order + "QQ", data, at + entry - 16)
        for i in range(begin, begin + length, 8):
            found[struct.unpack_from(order + "Q", data, i)[0]] = attr
    return found


def trailer(record, known):
    """The items that a record of the kernel's ends with; {} where its events have none."""
    raw, order = bytes(record["raw"]), record["order"]
    attr = next(iter(known.values()))
    if attr.has(16):
        attr = known.get(struct.unpack_from(order + "Q", raw, len(raw) - 8)[0], attr)
    if not attr.sample_id_all:
        return {}
    item, at = {}, len(raw)
    for bit, name in ((16, "id"), (7, "cpu"), (9, "stream_id"), (6, "id"), (2, "time"), (1, "tid")):
        if not attr.has(bit):
            continue
        at -= 8
        if name == "tid":
            item["pid"], item["tid"] = struct.unpack_from(order + "ii", raw, at)
        else:
            item[name], = struct.unpack_from(order + ("I" if name == "cpu" else "Q"), raw, at)
    return item


def listed(path):
    """As inside(), of a file for which perf runs no script."""
    lines = script(run("script", "-i", path, "--ns", "-F", "comm,pid,tid,cpu,time,event,period")
                   .decode("utf-8", "surrogateescape"))
    return [{"name": line["event"], "comm": line["comm"], "fields": None,
             "sample": {"time": line["time"], "tid": line["tid"]}} for line in lines]


SAMPLE = re.compile(r"SAMPLE\(IP, 0x([0-9a-f]+)\): (-?\d+)/(-?\d+): (\S+) period: (\d+) addr: (\S+)")


def with_samples(found, samples, known):
    """Joins what both ways of asking give of each sample; returns the lines perf has too many."""
    at = extra = 0
    for record in found:
        if record["type"] != 9:
            continue
        sample = samples[at]
        if "attr" in sample:
            attr = Attr(bytes.fromhex(sample["attr"]), "<")  # perf has swapped it
            attr.order = record["order"]
        else:
            word, = struct.unpack_from(record["order"] + "Q", record["raw"], 8)
            attr = known.get(word, next(iter(known.values())))
        record.update(attr=attr, name=sample["name"], fields=sample["fields"],
                      comm=sample["comm"], lines=[sample])
        record["item"] = item = sample_items(attr, bytes(record["raw"][8:]))
        pid, tid, ip, period, addr = SAMPLE.match(record["text"]).group(2, 3, 4, 5, 6)
        said = {"pid": int(pid), "tid": int(tid), "ip": int(ip, 16), "addr": int(addr, 16),
                "period": int(period)}
        for name, value in said.items():  # our reading of the bytes must be perf's
            if name in item and item[name] != value:
                raise ValueError("%s of the sample at 0x%x: %r, perf says %r" % (
                    name, record["offset"], item[name], value))
        chain = [int(m.group(1), 16) for m in
                 (re.match(r"^\.\.\.\.\. +\d+: ([0-9a-f]{16})$", line) for line in record["more"]) if m]
        if "callchain" in item and "branch_stack" not in item and item["callchain"] != chain:
            raise ValueError("chain of the sample at 0x%x" % record["offset"])
        record["said"] = listing(record, sample["name"])
        at += 1
        while (attr.read_format >> 3 & 1 and attr.has(4) and at < len(samples) and
               samples[at]["sample"]["time"] == sample["sample"]["time"] and
               samples[at]["sample"]["tid"] == sample["sample"]["tid"] and
               samples[at]["name"] not in [line["name"] for line in record["lines"]]):
            record["lines"].append(samples[at])
            at += 1
            extra += 1
    if at != len(samples):
        raise ValueError("%d samples in perf's dump, %d in its scripts" % (at, len(samples)))
    return extra


def listing(record, name):
    """The payload text of perf's own line of a tracepoint; None: not one, or it has none."""
    for line in record["more"]:
        if record["fields"] is not None and name + ": " in line and not line.startswith(("\t", ".")):
            return line.split(name + ": ", 1)[1]
    return None


def id_cpus(found):
    """{event id: CPU of its buffer}, -1 where it is not of one CPU."""
    cpus = {}
    for record in found:
        if record["type"] == 69:
            order, raw = record["order"], bytes(record["raw"])
            count, = struct.unpack_from(order + "Q", raw, 8)
            for i in range(count):
                ident, _, cpu, _ = struct.unpack_from(order + "QQqq", raw, 16 + 32 * i)
                cpus[ident] = cpu
    return cpus


# Side records ------------------------------------------------------------------------------------

def number(text):
    return int(text, 0)


def prot_of(text):
    return sum(bit for bit, c in zip((1, 2, 4), text) if c != "-")


def side_values(record):
    """{field: value} that perf prints of a record that is no sample; None: not of a kernel's."""
    text = record["text"].rstrip(" ")
    m = re.match(r"MMAP2 (-?\d+)/(-?\d+): \[(0x[0-9a-f]+)\((0x[0-9a-f]+)\) @ (\S+) (.*)\]: "
                 r"([r-][w-][x-])([ps]) (.*)$", text)
    if m:
        values = dict(pid=int(m[1]), tid=int(m[2]), addr=number(m[3]), len=number(m[4]),
                      pgoff=number(m[5]), prot=prot_of(m[7]), shared=m[8] == "s", filename=m[9])
        inode = re.match(r"^([0-9a-f]+):([0-9a-f]+) (\d+) (\d+)$", m[6])
        if inode:
            values.update(maj=int(inode[1], 16), min=int(inode[2], 16), ino=int(inode[3]),
                          ino_generation=int(inode[4]))
        else:
            values.update(build_id=m[6].strip("<>"))
        return "perf_mmap2", values
    m = re.match(r"MMAP (-?\d+)/(-?\d+): \[(0x[0-9a-f]+)\((0x[0-9a-f]+)\) @ (\S+)\]: (.) (.*)$", text)
    if m:
        return "perf_mmap", dict(pid=int(m[1]), tid=int(m[2]), addr=number(m[3]), len=number(m[4]),
                                 pgoff=number(m[5]), filename=m[7])
    m = re.match(r"COMM( exec)?: (.*):(-?\d+)/(-?\d+)$", text)
    if m:
        return "perf_comm", dict(pid=int(m[3]), tid=int(m[4]), comm=m[2], exec=int(bool(m[1])))
    m = re.match(r"(FORK|EXIT)\((-?\d+):(-?\d+)\):\((-?\d+):(-?\d+)\)$", text)
    if m:
        return "perf_" + m[1].lower(), dict(pid=int(m[2]), tid=int(m[3]), ppid=int(m[4]),
                                            ptid=int(m[5]))
    m = re.match(r"LOST: id:(\d+): lost:(\d+)$", text)
    if m:
        return "perf_lost", dict(id=int(m[1]), lost=int(m[2]))
    m = re.match(r"LOST lost (\d+)$", text)
    if m:
        return "perf_lost", dict(lost=int(m[1]))
    m = re.match(r"LOST_SAMPLES: ?id:(\d+): lost samples :(\d+)$", text)
    if m:
        return "perf_lost_samples", dict(lost=int(m[2]))
    m = re.match(r"SWITCH_CPU_WIDE (OUT|IN)( preempt)? +(next|prev) pid/tid: +(-?\d+)/(-?\d+)$", text)
    if m:
        return "perf_switch_cpu_wide", dict(out=int(m[1] == "OUT"), preempt=int(bool(m[2])),
                                            next_prev_pid=int(m[4]), next_prev_tid=int(m[5]))
    m = re.match(r"SWITCH (OUT|IN)( preempt)? *$", text)
    if m:
        return "perf_switch", dict(out=int(m[1] == "OUT"), preempt=int(bool(m[2])))
    m = re.match(r"NAMESPACES (-?\d+)/(-?\d+) - nr_namespaces: (\d+)$", text)
    if m:
        pairs = re.findall(r"\d+/\w+: (\d+)/(0x[0-9a-f]+|0)", " ".join(record["more"]))
        if len(pairs) != int(m[3]):
            raise ValueError("namespaces of the record at 0x%x" % record["offset"])
        return "perf_namespaces", dict(pid=int(m[1]), tid=int(m[2]),
                                       pairs=[(int(d), int(i, 16)) for d, i in pairs])
    m = re.match(r"READ: (-?\d+) (-?\d+) ", text)
    if m:
        return "perf_read", dict(pid=int(m[1]), tid=int(m[2]),
                                 numbers=[int(n) for n in re.findall(r"\d+", text[m.end():])])
    m = re.match(r"CGROUP cgroup: (\d+) (.*)$", text)
    if m:
        return "perf_cgroup", dict(id=int(m[1]), path=m[2])
    m = re.match(r"AUX offset: (\S+) size: (\S+) flags: (\S+) \[", text)
    if m:
        return "perf_aux", dict(aux_offset=number(m[1]), aux_size=number(m[2]), flags=number(m[3]))
    m = re.match(r"ITRACE_START pid: (-?\d+) tid: (-?\d+)$", text)
    if m:
        return "perf_itrace_start", dict(pid=int(m[1]), tid=int(m[2]))
    m = re.match(r"KSYMBOL addr ([0-9a-f]+) len (\d+) type (\d+) flags (0x[0-9a-f]+) name (.*)$", text)
    if m:
        return "perf_ksymbol", dict(addr=int(m[1], 16), len=int(m[2]), ksym_type=int(m[3]),
                                    flags=number(m[4]), name=m[5])
    m = re.match(r"BPF_EVENT type (\d+) flags (\d+) id (\d+)$", text)
    if m:
        return "perf_bpf_event", dict(type=int(m[1]), flags=int(m[2]), id=int(m[3]))
    if record.get("type", 0) < 64 and record.get("type", 0) != 9:
        raise ValueError("a record that this comparison cannot read: %s" % text)
    return None


# What a corpus folder has written down -------------------------------------------------------------

SCRIPT = re.compile(
    r"^\s*(?P<comm>.*?)\s+(?P<pid>-?\d+)(?:/(?P<tid>-?\d+))?\s+(?:\[(?P<cpu>\d+)\]\s+)?"
    r"(?P<time>\d+\.\d{9}):\s+(?:(?P<period>\d+)\s+)?(?P<event>\S+): ?(?P<text>.*)$")


def nanoseconds(text):
    seconds, part = text.split(".")
    return int(seconds) * 10 ** 9 + int(part)


def script(text):
    """The events of a `perf script` listing, side records left out."""
    found = []
    for line in text.split("\n"):
        match = None if line.startswith("\t") else SCRIPT.match(line)
        if not match or "PERF_RECORD_" in line:
            continue
        item = match.groupdict()
        item["time"] = nanoseconds(item["time"])
        for name in ("pid", "tid", "cpu", "period"):
            item[name] = int(item[name]) if item[name] is not None else None
        if item["tid"] is None:
            item["pid"], item["tid"] = None, item["pid"]
        found.append(item)
    return found


SIDE = re.compile(r"^.*? -?\d+/-?\d+ +(?:\[(?P<cpu>\d+)\] +)?(?P<time>\d+\.\d{9}): "
                  r"PERF_RECORD_(?P<text>.*)$")


def side_lines(text):
    """The side records of a `perf script --show-...-events` listing, as records() gives them."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        match = SIDE.match(line)
        if not match:
            continue
        record = {"text": match["text"], "time": nanoseconds(match["time"]) or None, "more": [],
                  "cpu": int(match["cpu"]) if match["cpu"] else None, "item": {}, "offset": number}
        record["name"], record["values"] = side_values(record)
        found.append(record)
    return found


def header(text):
    """{feature: text} of `perf report --header-only`, the names as yore's environment has them."""
    found = {}
    for line in text.split("\n"):
        match = re.match(r"^# ([a-z ]+?) : (.*)$", line)
        if match and match[1].replace(" ", "_") in (
                "hostname", "os_release", "perf_version", "arch", "nrcpus_online", "nrcpus_avail",
                "cpudesc", "cpuid", "total_memory", "cmdline"):
            found[match[1].replace(" ", "_")] = match[2].strip()
    if "total_memory" in found:
        found["total_memory_kb"] = found.pop("total_memory").split(" ")[0]
    return found


def stats(text):
    """{record: count} and {event: samples} of `perf report --stats`."""
    total, samples, event = {}, {}, None
    for line in text.split("\n"):
        match = re.match(r"^\s*(\S+) events:\s+(\d+)", line)
        if match and event is None:
            total[match[1]] = int(match[2])
        elif match and match[1] == "SAMPLE":
            samples[event] = int(match[2])
        elif line.endswith(" stats:") and not line.startswith("Aggregated"):
            event = line[:-len(" stats:")]
    return total, samples

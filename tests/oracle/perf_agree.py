#!/usr/bin/python3
"""Compares yore's answers of perf.data files with perf's, to the last field.

    perf_agree.py YORE CASE...

CASE is a perf.data file, or a folder that holds perf.data or perf.pipe and, under expected/, what
perf said of it where it was recorded. perf is asked here as well: `perf script -D` for every record
and its bytes, perf's Python scripts for the fields of tracepoints. What must agree, as multisets per
nanosecond and in order within a CPU:

  - samples: time, CPU, name, every item of the sample, every field, the printed text, and the
    thread's name where perf knows one;
  - side records: time, CPU, task and every value that perf prints of them;
  - what was lost; how many there are of each; the events' attributes.

Rulings, where perf is not the judge, are in RULED; each is asserted where it bites, and fails when it
never does. Needs perf (Debian's linux-perf); without it only what was written down is compared.
"""
import base64
import collections
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import perf_tool
import yore_says
from yore_says import Report

# case → what is known to be so, and asserted
RULED = {
    "synth-sw-be": "perf 6.1 leaves prot and flags of a foreign MMAP2 unswapped: r-xp is right",
    "group-read": "perf prints a line for each member of the group: yore gives the sample once",
    "synth-sw-attr64": "perf learns of a FORK at once where its record has no trailer, though the "
                       "record's own time is later than the events that follow in the file",
    "lost": "perf's output has one line out of order; LOST and LOST_SAMPLES count the same",
}


def plain(value):
    """Enumerations and lone booleans as their numbers."""
    if isinstance(value, dict) and set(value) == {"value", "labels"}:
        return value["value"]
    if isinstance(value, bool):
        return int(value)
    return value


def numbers(value):
    """All integers in a structure, in order."""
    value = plain(value)
    if isinstance(value, int):
        return [value]
    if isinstance(value, dict):
        return [n for v in value.values() for n in numbers(v)]
    if isinstance(value, list):
        return [n for v in value for n in numbers(v)]
    return []


def as_bytes(value, size, order):
    """The bytes that a list of numbers, a text or a blob stands for; None when it is neither."""
    if isinstance(value, list):
        if not value:
            return b""
        width = size // len(value)
        try:
            return b"".join(int(plain(v)).to_bytes(width, order, signed=v < 0) for v in value)
        except (OverflowError, ValueError, TypeError):
            return None
    if isinstance(value, str):
        try:
            blob = base64.b64decode(value, validate=True)
            if len(blob) == size:
                return blob
        except ValueError:
            pass
        return value.encode("latin-1", "replace")
    return None


def same_field(ours, theirs, order):
    ours = plain(ours)
    if isinstance(theirs, dict) and "hex" in theirs:
        data = bytes.fromhex(theirs["hex"])
        mine = as_bytes(ours, len(data), "little" if order == "<" else "big")
        if isinstance(ours, str) and mine != data:
            return mine == data.split(b"\0")[0] or ours.encode() == data.split(b"\0")[0]
        return mine == data
    if isinstance(ours, int) and isinstance(theirs, int) and ours < 0 <= theirs:
        return ours in (theirs - (1 << bits) for bits in (8, 16, 32))  # perf extends no sign
    return ours == theirs and not isinstance(ours, float)


def sample_wrong(item, record, cpus):
    """None when yore's event is perf's sample, else what differs."""
    if item["name"] != record["name"]:
        return "name %r, not %r" % (item["name"], record["name"])
    wrong = cpu_wrong(item, record, cpus)
    if wrong:
        return wrong
    context, given = item["context"], record["item"]
    for name, value in given.items():
        if name in ("time", "cpu", "raw"):
            continue
        ours = context.get(name)
        if name in ("stack_user", "aux"):
            good = as_bytes(ours, len(value), "little") == value
        else:
            good = plain(ours) == value
        if not good:
            return "context %s is %s, not %s" % (name, brief(ours), brief(value))
    fields = record["fields"]
    if fields is None:
        return "fields %r of an event without" % item["fields"] if item["fields"] else None
    raw = given["raw"]
    common = {"common_type": 2, "common_flags": 1, "common_preempt_count": 1, "common_pid": 4}
    at, endian = 0, "little" if record["order"] == "<" else "big"
    for name, size in common.items():
        value = int.from_bytes(raw[at:at + size], endian, signed=size == 4)
        at += size
        if plain(context.get(name)) != value:
            return "context %s is %r, not %r" % (name, context.get(name), value)
    for name in sorted(set(fields) | set(item["fields"])):
        if name not in fields or name not in item["fields"]:
            return "field %s only %s" % (name, "of perf" if name in fields else "ours")
        if not same_field(item["fields"][name], fields[name], record["order"]):
            return "field %s is %s, not %s" % (name, brief(item["fields"][name]),
                                               brief(fields[name]))
    return None


def brief(value):
    text = repr(value)
    return text if len(text) < 160 else text[:160] + "..."


def cpu_wrong(item, record, cpus):
    """A record without a CPU of its own has that of its buffer, or none: never a made-up one."""
    expected = {record["cpu"]}
    if record["cpu"] is None:
        expected.add(cpus.get(record.get("item", {}).get("id"), -1))
        expected.discard(-1)
    if item["cpu"] not in expected:
        return "cpu %r, not %s" % (item["cpu"], sorted(expected, key=str))
    return None


def side_wrong(item, record, name, values, ruled):
    if item["name"] != name:
        return "name %r, not %r" % (item["name"], name)
    if record["time"] is not None:
        wrong = cpu_wrong(item, record, record.get("cpus", {}))
        if wrong:
            return wrong
    for key, value in record["item"].items():
        if key not in ("time", "cpu") and plain(item["context"].get(key)) != value:
            return "%s: context %s is %r, not %r" % (name, key, item["context"].get(key), value)
    fields = item["fields"]
    for key, value in values.items():
        ours = plain(fields.get(key))
        if key == "prot" and ours is not None:
            if ruled and ours != value:
                ruled["prot"] = ours
                continue
            good = ours & 7 == value
        elif key == "shared":
            good = bool(plain(fields["flags"]) & 1) == value or ruled is not None
        elif key == "build_id":
            good = hex_of(fields.get("build_id")) == value
        elif key == "pairs":
            good = numbers(fields.get("namespaces")) == [n for pair in value for n in pair]
        elif key == "numbers":
            good = set(value) & set(numbers(fields.get("read")))
        elif key in ("exec", "preempt", "out"):
            good = ours is not None and bool(ours) == bool(value)
        else:
            good = ours == value
        if not good:
            return "%s: %s is %s, not %s" % (name, key, brief(fields.get(key)), brief(value))
    return None


def hex_of(value):
    if isinstance(value, list):
        return bytes(value).hex()
    if isinstance(value, str):
        if re.fullmatch("[0-9a-f]+", value):
            return value
        try:
            return base64.b64decode(value, validate=True).hex()
        except ValueError:
            return None
    return None


def match(report, ours, theirs, wrong_of, whole=True):
    """Each of theirs has its own of ours at the same time; returns the pairs. `whole`: ours are all
    among theirs."""
    left = collections.defaultdict(list)
    for item in ours:
        left[item["ts"]].append(item)
    pairs = []
    for record in theirs:
        here, said = left[record["time"]], None
        for i, item in enumerate(here):
            wrong = wrong_of(item, record)
            if wrong is None:
                pairs.append((record, here.pop(i)))
                break
            if said is None or not wrong.startswith("name "):
                said = wrong
        else:
            report.differs("at %s (0x%x): %s" % (record["time"], record["offset"],
                                                 said or "no event"))
    rest = [item for here in left.values() for item in here] if whole else []
    for item in rest[:3]:
        report.differs("perf has no %s at %s" % (item["name"], item["ts"]))
    return pairs


def in_order(report, said, pairs):
    """Within a CPU ours go as perf's do, once these are sorted by time."""
    position = {id(item): i for i, item in enumerate(said.events)}
    ranked = sorted((pair for pair in pairs if pair[0]["time"] is not None),
                    key=lambda pair: pair[0]["time"])
    last = {}
    for record, item in ranked:
        place = position[id(item)]
        if record["cpu"] is not None and place < last.get(record["cpu"], -1):
            report.differs("order on CPU %d at %d: %s" % (record["cpu"], record["time"],
                                                          record["name"]))
        last[record["cpu"]] = place
    times = [item["ts"] for item in said.events if item["ts"] is not None]
    if any(a > b for a, b in zip(times, times[1:])):
        report.differs("times fall")


def same_name(ours, perfs):
    """/proc, which perf reads at its start, tells more of a kernel worker than the kernel's events."""
    return ours == perfs or (perfs.startswith("kworker/") and ours and
                             re.match("[-+]", perfs[len(ours):]) and perfs.startswith(ours))


def is_told(sides, tid, time):
    """Whether a COMM gave the thread its name, or its parent's, since it was forked.

    A name inherited over two forks is one that yore's rules do not know.
    """
    def since(tid, time):
        known = [r for r in sides if r["values"].get("tid") == tid and (r["time"] or 0) <= time]
        forks = [r for r in known if r["name"] == "perf_fork"]
        begin = forks[-1]["time"] or 0 if forks else -1
        return forks and forks[-1], any(
            r["name"] == "perf_comm" and (r["time"] or 0) >= begin for r in known)
    fork, named = since(tid, time)
    return named or not fork or since(fork["values"]["ptid"], fork["time"] or 0)[1]


def names_agree(report, program, path, case, records, sides, lost):
    names = yore_says.Names(program, path)
    if names.status not in (0, 3):
        report.differs("thread[*]/name: %s" % names.errors[:200])
        return
    known = early = untold = 0
    for record in records:
        tid, comm = record["item"].get("tid"), record["comm"]
        if tid in (None, 0, -1) or comm.startswith(":") or record["time"] is None:
            continue
        ours = names.at(tid, record["time"])
        known += 1
        if any(same_name(one, comm) for one in ours):
            continue
        if case == "synth-sw-attr64" and ours == {None} and record["time"] == 5000001000:
            early += 1  # see RULED
        elif ours == {None} and (lost or not is_told(sides, tid, record["time"])):
            untold += 1
        else:
            report.differs("thread %d at %d is named %r, not %r" % (tid, record["time"], ours, comm))
    if case == "synth-sw-attr64":
        report.same("events of a thread that perf names before its FORK", early, 1)
    if known:
        report.facts.append("%d names%s" % (
            known, ", %d of them not known (two forks, or losses)" % untold if untold else ""))


def timer_flags(said, fields):
    """libtraceevent takes `flags & (A | B | C | D)` for `flags & A | B | C | D`: D|P|I is always on."""
    head, _, flags = said.rpartition("flags=")
    if not flags.rstrip().endswith("D|P|I"):
        return said
    bits = {0x40000: "M", 0x80000: "D", 0x100000: "P", 0x200000: "I"}
    return head + "flags=" + "|".join(
        letter for bit, letter in bits.items() if plain(fields["flags"]) & bit)


def texts_agree(report, case, of, pairs):
    """The printed text of tracepoints, and the name beside it."""
    count = 0
    for record, item in pairs:
        name, ours = of[id(item)]
        if (record["item"].get("tid", 0) > 0 and not record["comm"].startswith(":") and
                record["time"] is not None):
            if not same_name(name, record["comm"]) and case != "synth-sw-attr64":
                report.differs("line of %s at %d names %r, not %r" % (
                    record["name"], record["time"], name, record["comm"]))
        if record["said"] is None:
            continue
        count += 1
        theirs = record["said"]
        if record["name"] == "timer:timer_start":
            theirs = timer_flags(theirs, item["fields"])
        if ours.rstrip() != theirs.rstrip():
            report.differs("text of %s at %d is %r, not %r" % (
                record["name"], record["time"], ours, theirs))
    if count:
        report.facts.append("%d texts" % count)


def line_key(item, text, line):
    """What a line of script.txt says of an event, of it and of the line: only what it has."""
    context = item["context"]
    key = [item["ts"], item["name"], context.get("tid")]
    for name, ours in (("pid", context.get("pid")), ("cpu", item["cpu"]),
                       # a sample without one has its event's, which perf prints
                       ("period", context.get("period", line["period"]))):
        key.append(ours if line[name] is not None else None)
    key.append(text.rstrip() if "common_type" in context else None)
    return tuple(key)


def listing_agrees(report, case, samples, texts):
    """expected/script.txt: each line is an event."""
    listing = os.path.join(case, "expected", "script.txt")
    if not os.path.exists(listing):
        return
    with open(listing, encoding="utf-8", errors="surrogateescape") as file:
        lines = perf_tool.script(file.read())
    if os.path.basename(case) == "group-read":  # see RULED
        report.same("lines for two samples", (len(lines), len(samples)), (4, 2))
        lines = [dict(line, period=None) for line in lines if line["event"] == "cpu-clock"]
    left = collections.defaultdict(list)
    for item in samples:
        left[item["ts"], item["name"], item["context"].get("tid")].append(item)
    for line in lines:
        theirs = (line["time"], line["event"], line["tid"], line["pid"], line["cpu"], line["period"])
        here = left[theirs[:3]]
        for i, item in enumerate(here):
            key = line_key(item, texts[id(item)][1], line)
            if key[:6] == theirs and key[6] in (None, line["text"].rstrip()):
                del here[i]
                break
        else:
            report.differs("expected/script.txt: no event for %s %r" % (theirs, line["text"]))
    if len(lines) != len(samples):
        report.differs("expected/script.txt: %d lines, %d events" % (len(lines), len(samples)))
    report.facts.append("%d lines of script.txt" % len(lines))


def written_down(report, case, said, texts):
    """What is under expected/, which needs no perf here."""
    samples = [item for item in said.events if not item["name"].startswith("perf_")]
    listing_agrees(report, case, samples, texts)
    for name in ("side-records.txt", "side-records-first1500.txt"):
        listing = os.path.join(case, "expected", name)
        if os.path.exists(listing):
            with open(listing, encoding="utf-8", errors="surrogateescape") as file:
                theirs = perf_tool.side_lines(file.read())
            match(report, [item for item in said.events if item["name"].startswith("perf_")], theirs,
                  lambda item, r: side_wrong(item, r, r["name"], r["values"], None), whole=False)
            report.facts.append("%d lines of %s" % (len(theirs), name))
    counts = os.path.join(case, "expected", "stats.txt")
    if os.path.exists(counts):
        with open(counts, encoding="utf-8") as file:
            total, by_event = perf_tool.stats(file.read())
        ours = collections.Counter(item["name"] for item in said.events)
        for kind, count in total.items():
            name = "perf_" + kind.lower()
            if kind == "SAMPLE":
                report.same("number of samples", len(samples), count)
            elif kind in SIDE:
                report.same("number of %s" % name, ours[name], count)
        for name, count in by_event.items():
            if os.path.basename(case) != "group-read" and count:
                report.same("number of %s" % name, ours[name], count)


def features_agree(report, program, path, case):
    """What the recorder told of its machine, and the names of the events it asked for."""
    listing = os.path.join(case, "expected", "header.txt")
    if not os.path.exists(listing):
        return
    with open(listing, encoding="utf-8") as file:
        theirs = perf_tool.header(file.read())
    done = yore_says.run(program, "info", path, "--format", "json", "--no-index")
    if done.returncode not in (0, 3):
        report.differs("info: " + done.stderr.decode()[:200])
        return
    info = json.loads(done.stdout)
    for name, value in theirs.items():
        report.same("info env %s" % name, str(info["env"].get(name)).strip(), value)
    with open(os.path.join(case, "expected", "evlist.txt"), encoding="utf-8") as file:
        asked = {line.split(": type: ")[0].split(": config: ")[0].rstrip()
                 for line in file if ": sample_type: " in line or " sample_type: " in line}
    asked.discard("unknown tracepoint")  # what perf evlist says of each in a pipe
    missing = asked - {one["name"] for one in info["classes"]}
    if missing:
        report.differs("no class of the events %s" % sorted(missing)[:4])
    report.facts.append("%d features, %d events" % (len(theirs), len(asked)))


SIDE = ("MMAP", "LOST", "COMM", "EXIT", "THROTTLE", "UNTHROTTLE", "FORK", "READ", "MMAP2", "AUX",
        "ITRACE_START", "LOST_SAMPLES", "SWITCH", "SWITCH_CPU_WIDE", "NAMESPACES", "KSYMBOL",
        "BPF_EVENT", "CGROUP", "TEXT_POKE", "AUX_OUTPUT_HW_ID")


def perf_file(case):
    if os.path.isdir(case):
        for name in ("perf.data", "perf.pipe"):
            if os.path.exists(os.path.join(case, name)):
                return os.path.join(case, name)
    return case


def compare(program, case):
    path, name = perf_file(case), os.path.basename(case.rstrip("/"))
    report = Report(name)
    said = yore_says.events(program, path)
    report.same("exit status", said.status, 0)
    if said.status not in (0, 3):
        report.differs(" ".join(said.messages)[:300])
        return report.close()
    chains = any("callchain" in (item["context"] or {}) for item in said.events)
    texts = yore_says.texts(program, path, said.events, symbols=not chains)
    if texts is None:
        report.differs("no text for each event")
        return report.close()
    texts = {id(item): text for item, text in zip(said.events, texts)}
    if os.path.isdir(case):
        written_down(report, case, said, texts)
        features_agree(report, program, path, case)
    yore_says.other_ways(report, program, path, said)
    if perf_tool.installed():
        live(report, program, path, name, said, texts)
    return report.close()


def live(report, program, path, case, said, texts):
    records = perf_tool.records(path)
    attrs = perf_tool.attrs(path)
    extra = perf_tool.with_samples(records, perf_tool.inside(path), attrs)
    cpus = perf_tool.id_cpus(records)
    samples = [r for r in records if r["type"] == 9]
    ours = [item for item in said.events if not item["name"].startswith("perf_")]
    pairs = match(report, ours, samples, lambda item, r: sample_wrong(item, r, cpus))
    if len(pairs) == len(samples):
        in_order(report, said, pairs)
    report.facts.append("%d samples" % len(samples))
    if case == "group-read":
        report.same("more lines than samples", extra, 2)
    sides = []
    for record in records:
        values = perf_tool.side_values(record) if record["type"] != 9 else None
        if values:
            record["name"], record["values"], record["cpus"] = *values, cpus
            record["item"] = perf_tool.trailer(record, attrs)
            sides.append(record)
    ours = [item for item in said.events if item["name"].startswith("perf_")]
    ruled = {"prot": None} if case == "synth-sw-be" else None
    match(report, ours, sides, lambda item, r: side_wrong(item, r, r["name"], r["values"], ruled))
    if ruled:
        report.same("prot of the MMAP2 record, which perf prints as 0", ruled["prot"], 5)
    report.facts.append("%d side records" % len(sides))
    lost = sum(r["values"]["lost"] for r in sides if r["name"] == "perf_lost")
    report.same("events lost", sum(item["lost"] or 0 for item in said.losses), lost)
    names_agree(report, program, path, case, samples, sides, lost)
    texts_agree(report, case, texts, pairs)


def main():
    program, cases = sys.argv[1], sys.argv[2:]
    if not perf_tool.installed():
        print("perf_agree.py: perf is not installed: only what is written down is compared")
    good = [compare(program, case) for case in cases]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()

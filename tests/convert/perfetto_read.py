"""Reads protobuf by perfetto.proto and pprof.proto: the wire format, and what a reader makes of packets.

decode() is a decoder of its own; by_protoc() and by_protobufjs() have these decode the same bytes, and give the same shape:
a message is a dictionary of lists, of each field's values in their order.
"""
import codecs
import json
import os
import re
import shutil
import struct
import subprocess
import zlib

FOLDER = os.path.dirname(os.path.abspath(__file__))
SIGNED = {"int32", "int64"}


def schema(name):
    """{message: {number: (name, type)}}"""
    messages, current = {}, None
    for line in open(os.path.join(FOLDER, name)):
        if found := re.match(r"message (\w+) ", line):
            current = messages.setdefault(found[1], {})
        elif found := re.match(r"  (?:optional|repeated) (\w+) (\w+) = (\d+)", line):
            current[int(found[3])] = (found[2], found[1])
    return messages


PERFETTO, PPROF = schema("perfetto.proto"), schema("pprof.proto")


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def number(value, kind):
    if kind in SIGNED and value >> 63:
        return value - (1 << 64)
    return bool(value) if kind == "bool" else value


def decode(data, message="Trace", messages=PERFETTO):
    fields, out, at = messages[message], {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        name, kind = fields[tag >> 3]
        values = out.setdefault(name, [])
        if tag & 7 == 0:
            value, at = varint(data, at)
            values.append(number(value, kind))
        elif tag & 7 == 1:
            values.append(struct.unpack("<d", data[at:at + 8])[0])
            at += 8
        else:
            assert tag & 7 == 2, tag
            size, at = varint(data, at)
            part = data[at:at + size]
            assert len(part) == size, (name, size)
            at += size
            if kind in messages:
                values.append(decode(part, kind, messages))
            elif kind == "string":
                values.append(part.decode())
            elif kind == "bytes":
                values.append(part)
            else:  # packed
                inside = 0
                while inside < size:
                    value, inside = varint(part, inside)
                    values.append(number(value, kind))
    return out


def by_protoc(path, root_kind="Trace", proto="perfetto.proto", messages=PERFETTO):
    """None: protoc is not here."""
    if not shutil.which("protoc"):
        return None
    done = subprocess.run(["protoc", "-I", FOLDER, "--decode", "yore." + root_kind, os.path.join(FOLDER, proto)],
                          stdin=open(path, "rb"), stdout=subprocess.PIPE, check=True)
    root, stack = {}, []
    kind = root_kind
    current = root
    for line in done.stdout.decode().splitlines():
        word = line.strip()
        if word == "}":
            current, kind = stack.pop()
            continue
        name, _, value = word.partition(":") if not word.endswith("{") else (word[:-2], "", "{")
        assert not name.isdigit(), "a field that the descriptor does not have: " + line
        inner = next(k for n, k in messages[kind].values() if n == name)
        values = current.setdefault(name, [])
        value = value.strip()
        if value == "{":
            values.append({})
            stack.append((current, kind))
            current, kind = values[-1], inner
        elif value.startswith('"'):
            text = codecs.escape_decode(value[1:-1].encode())[0]
            values.append(text if inner == "bytes" else text.decode())
        elif inner == "double":
            values.append(float(value))
        else:
            values.append(value == "true" if inner == "bool" else int(value))
    return root


def of_texts(texts, kind):
    """A message as perfetto_read.mjs writes it."""
    kinds, out = {name: inner for name, inner in PERFETTO[kind].values()}, {}
    for name, values in texts.items():
        inner = kinds[name]
        convert = (lambda value, inner=inner: of_texts(value, inner)) if inner in PERFETTO else {
            "bytes": bytes.fromhex, "string": str, "double": float, "bool": bool}.get(inner, int)
        out[name] = [convert(value) for value in values]
    return out


def by_protobufjs(path):
    """None: npm's protobufjs is not in YORE_NPM (tests/oracle/npm.sh BUILD --install), or there is no node."""
    npm = os.environ.get("YORE_NPM", os.path.expanduser("~/.cache/yore-npm"))
    if not shutil.which("node") or not os.path.isdir(npm + "/node_modules/protobufjs"):
        return None
    done = subprocess.run(["node", os.path.join(FOLDER, "perfetto_read.mjs"), npm, os.path.join(FOLDER, "perfetto.proto"), path],
                          stdout=subprocess.PIPE, check=True)
    return of_texts(json.loads(done.stdout), "Trace")


def packets(path):
    """The packets of the file, those inside of compressed ones, too."""
    for packet in decode(open(path, "rb").read()).get("packet", []):
        if "compressed_packets" in packet:
            yield from decode(zlib.decompress(packet["compressed_packets"][0]))["packet"]
        elif "zstd_compressed_packets" in packet:
            done = subprocess.run(["zstd", "-dcq"], input=packet["zstd_compressed_packets"][0],
                                  stdout=subprocess.PIPE, check=True)
            yield from decode(done.stdout)["packet"]
        else:
            yield packet


def one(message, name, default=None):
    values = message.get(name, [])
    assert len(values) < 2, (name, values)
    return values[0] if values else default


class Reader:
    """What stands in a file, as a reader of Perfetto's takes it."""

    def __init__(self, path, base=0):
        self.base = base      # what the file's 0 is on the trace's line of time
        self.tables, self.clocks, self.defaults = {}, {}, {}
        self.tracks = {}      # uuid: descriptor
        self.instants = []    # (time, name, track, annotations)
        self.states = {}      # uuid: [(time, name or None, annotations)]
        self.counters = {}    # uuid: [(time, value)]
        self.samples = []     # (event, time, cpu, pid, tid, [(function, object, place, kind)])
        self.switches, self.wakings, self.lost = {}, {}, set()  # by CPU
        self.columns = self.plain = 0
        self.processes, self.threads = {}, {}
        self.snapshots, self.release = [], None
        self.packets = 0
        for packet in packets(path):
            self.packets += 1
            self.take(packet)
        for cpu in self.switches:
            self.infer(cpu)

    def take(self, packet):
        sequence, flags = one(packet, "trusted_packet_sequence_id"), one(packet, "sequence_flags", 0)
        if flags & 1:
            self.tables[sequence], self.defaults[sequence] = {}, {}
        assert not flags & 2 or sequence in self.tables, "a table is used that was never begun"
        if "trace_packet_defaults" in packet:
            self.defaults[sequence] = one(packet, "trace_packet_defaults")
        for table, entries in one(packet, "interned_data", {}).items():
            for entry in entries:
                have = self.tables[sequence].setdefault(table, {})
                assert one(entry, "iid") not in have, "an entry is given twice"
                have[one(entry, "iid")] = entry
        if "clock_snapshot" in packet:
            self.snapshot(sequence, one(packet, "clock_snapshot"))
            return
        time = self.time(sequence, packet)
        for name in ("process_tree", "system_info", "track_descriptor", "track_event", "perf_sample",
                     "ftrace_events"):
            if name in packet:
                getattr(self, name)(sequence, time, one(packet, name))

    def snapshot(self, sequence, snapshot):
        clocks = {one(c, "clock_id"): c for c in snapshot["clocks"]}
        assert one(snapshot, "primary_trace_clock") == 6 and 6 in clocks
        for number_, clock in clocks.items():
            if number_ >= 64:
                assert one(clock, "is_incremental") and one(clock, "timestamp") == 0
                self.clocks[sequence, number_] = one(clocks[6], "timestamp")
        self.snapshots.append({n: one(c, "timestamp") for n, c in clocks.items() if n < 64})

    def time(self, sequence, packet):
        time = one(packet, "timestamp")
        clock = one(packet, "timestamp_clock_id",
                    one(self.defaults.get(sequence, {}), "timestamp_clock_id", 6))
        if time is None:
            return None
        if clock != 6:
            time = self.clocks[sequence, clock] = self.clocks[sequence, clock] + time
        return time + self.base

    def entry(self, sequence, table, iid):
        return self.tables[sequence][table][iid]

    def process_tree(self, _, __, tree):
        for process in tree.get("processes", []):
            self.processes[one(process, "pid")] = one(process, "cmdline")
        for thread in tree.get("threads", []):
            self.threads[one(thread, "tid")] = (one(thread, "tgid"), one(thread, "name"))

    def system_info(self, _, __, info):
        assert one(one(info, "utsname"), "sysname") == "Linux"
        self.release = one(one(info, "utsname"), "release")

    def track_descriptor(self, _, time, track):
        assert time is not None and one(track, "uuid") not in self.tracks
        assert "parent_uuid" not in track or one(track, "parent_uuid") in self.tracks
        self.tracks[one(track, "uuid")] = track

    def annotations(self, sequence, items):
        out = {}
        for item in items:
            name = one(item, "name") or one(self.entry(sequence, "debug_annotation_names",
                                                       one(item, "name_iid")), "name")
            assert name not in out, name
            out[name] = self.annotation(sequence, item)
        return out

    def annotation(self, sequence, item):
        if "dict_entries" in item:
            return self.annotations(sequence, item["dict_entries"])
        if "array_values" in item:
            return [self.annotation(sequence, element) for element in item["array_values"]]
        values = [v for name in ("bool_value", "uint_value", "int_value", "double_value", "string_value",
                                 "pointer_value") for v in item.get(name, [])]
        assert len(values) < 2, item
        return values[0] if values else None

    def track_event(self, sequence, time, event):
        track, kind = one(event, "track_uuid"), one(event, "type")
        assert track in self.tracks, "a track is used before it is described"
        name = None
        if "name_iid" in event:
            name = one(self.entry(sequence, "event_names", one(event, "name_iid")), "name")
        args = self.annotations(sequence, event.get("debug_annotations", []))
        if kind == 3:
            self.instants.append((time, name, track, args))
        elif kind == 5:
            assert "state" in self.tracks[track]
            self.states.setdefault(track, []).append((time, name, args))
        else:
            assert kind == 4 and "counter" in self.tracks[track]
            value = one(event, "counter_value", one(event, "double_counter_value"))
            self.counters.setdefault(track, []).append((time, value))

    def perf_sample(self, sequence, time, sample):
        event = one(one(one(self.defaults[sequence], "perf_sample_defaults"), "timebase"), "name")
        frames = []
        for iid in self.entry(sequence, "callstacks", one(sample, "callstack_iid"))["frame_ids"]:
            frame = self.entry(sequence, "frames", iid)
            function = mapping = None
            if "function_name_id" in frame:
                function = one(self.entry(sequence, "function_names", one(frame, "function_name_id")),
                               "str").decode()
            if "mapping_id" in frame:
                parts = self.entry(sequence, "mappings", one(frame, "mapping_id"))["path_string_ids"]
                mapping = "".join("/" + one(self.entry(sequence, "mapping_paths", part), "str").decode()
                                  for part in parts)
            frames.append((function, mapping, one(frame, "rel_pc"), one(frame, "kind")))
        self.samples.append((event, time, one(sample, "cpu"), one(sample, "pid"), one(sample, "tid"), frames))

    def ftrace_events(self, _, __, bundle):
        cpu = one(bundle, "cpu")
        if one(bundle, "lost_events"):
            self.lost.add(cpu)
        for event in bundle.get("event", []):
            time, pid, flags = one(event, "timestamp") + self.base, one(event, "pid"), one(event, "common_flags", 0)
            self.plain += 1
            if "sched_switch" in event:
                to = {name: values[0] for name, values in one(event, "sched_switch").items()}
                assert to["prev_pid"] == pid
                self.switches.setdefault(cpu, []).append((time, to))
            else:
                to = {name: values[0] for name, values in one(event, "sched_waking").items()}
                self.wakings.setdefault(cpu, []).append((time, to, flags, pid))
        if "compact_sched" in bundle:
            self.compact(cpu, one(bundle, "compact_sched"))

    def compact(self, cpu, columns):
        comms = columns.get("intern_table", [])
        names = ["switch_timestamp", "switch_prev_state", "switch_next_pid", "switch_next_prio",
                 "switch_next_comm_index"]
        assert len({len(columns.get(name, [])) for name in names}) == 1
        time = self.base
        for delta, state, pid, prio, comm in zip(*(columns.get(name, []) for name in names)):
            time += delta
            self.columns += 1
            self.switches.setdefault(cpu, []).append((time, {
                "prev_state": state, "next_pid": pid, "next_prio": prio, "next_comm": comms[comm]}))
        names = ["waking_timestamp", "waking_pid", "waking_target_cpu", "waking_prio",
                 "waking_comm_index", "waking_common_flags"]
        assert len({len(columns.get(name, [])) for name in names}) == 1
        time = self.base
        for delta, pid, target, prio, comm, flags in zip(*(columns.get(name, []) for name in names)):
            time += delta
            self.columns += 1
            self.wakings.setdefault(cpu, []).append((time, {
                "pid": pid, "target_cpu": target, "prio": prio, "comm": comms[comm]}, flags, None))

    def infer(self, cpu):
        """What columns leave out: the thread that leaves the CPU, and the one that wakes another."""
        self.switches[cpu].sort(key=lambda switch: switch[0])
        last = None
        for _, switch in self.switches[cpu]:
            if "prev_pid" not in switch:
                assert last, "columns begin without a switch before them"
                switch.update(prev_pid=last["next_pid"], prev_prio=last["next_prio"],
                              prev_comm=last["next_comm"])
            last = switch

    def track_path(self, uuid):
        """Names of the track and of those above it; a thread is its number."""
        path = []
        while uuid:
            track = self.tracks[uuid]
            path.insert(0, one(one(track, "thread"), "tid") if "thread" in track else one(track, "name"))
            uuid = one(track, "parent_uuid")
        return tuple(path)

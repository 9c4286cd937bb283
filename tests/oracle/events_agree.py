#!/usr/bin/python3
"""Compares yore's events with babeltrace2's, of CTF traces, to the last field.

    events_agree.py YORE TRACE...

babeltrace2's reader runs here without its muxer (one iterator per stream), so that traces whose
packets overlap, where the plain command stops, are compared as well. What must agree:

  - the number of events, and per nanosecond the multiset of (name, CPU, packet context, contexts,
    payload), each member compared;
  - the order inside each stream;
  - times never fall over the whole output;
  - events discarded, where babeltrace2 knows a count.

Times of traces that share a clock are moved to the first trace's origin: see clock_origins.py.

One fault of the reference is known and allowed for, narrowly: babeltrace2 2.0.4 gives an empty string
field the text of an earlier event of the class (mended upstream: review.lttng.org/c/babeltrace/+/4528).
Where ours is empty, theirs must be a text that this field had before; such places are counted.

A trace that babeltrace2 cannot read to its end must still give what it gave. Where its library
aborts, the number of events is that of the MANIFEST.tsv above the trace. Needs Debian's
python3-bt2; says so and exits with 77 (skipped) without it.
"""
import collections
import json
import math
import os
import subprocess
import sys

try:
    import bt2
except ImportError:
    print("events_agree.py: skipped: python3-bt2 is not installed")
    sys.exit(77)

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
from clock_origins import Origins, origin_of


def plain(field):
    """A bt2 field as the JSON of `yore events` shows it."""
    if field is None:
        return None
    kind = type(field).__name__
    if "Variant" in kind:
        return plain(field.selected_option)
    if "Structure" in kind:
        return {name: plain(field[name]) for name in field}
    if "Enumeration" in kind:
        try:
            labels = sorted(field.labels)
        except AssertionError:  # how python3-bt2 says that no label holds the value
            labels = []
        return {"value": int(field), "labels": labels}
    if "Array" in kind:
        return [plain(item) for item in field]
    if "String" in kind:
        return str(field)
    if "Bool" in kind:
        return bool(field)
    if "Real" in kind:
        value = float(field)
        return "float:" + ("nan" if math.isnan(value) else value.hex())
    return int(field)


earlier = collections.defaultdict(set)  # (class, path of a text field) -> texts seen so far
stale = 0


def normal(value, like, path=()):
    """What yore printed, in the form of `plain`; `like` is babeltrace2's value."""
    global stale
    if isinstance(like, str) and isinstance(value, str) and not like.startswith("float:"):
        if value == "" and like in earlier[path]:
            stale += 1
            return like
        earlier[path].add(value)
        return value
    if isinstance(like, dict) and isinstance(value, dict):
        if set(like) == {"value", "labels"} and set(value) == {"value", "labels"}:
            return {"value": value["value"], "labels": sorted(value["labels"])}
        return {k: normal(v, like.get(k), path + (k,)) for k, v in value.items()}
    if isinstance(like, list) and isinstance(value, list) and len(like) == len(value):
        return [normal(v, l, path) for v, l in zip(value, like)]
    if isinstance(like, str) and like.startswith("float:"):
        if isinstance(value, str):
            value = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}.get(value, value)
        if isinstance(value, (int, float)):
            return "float:" + ("nan" if math.isnan(value) else float(value).hex())
    return value


class Sink(bt2._UserSinkComponent):
    def __init__(self, config, params, obj):
        self._seen = obj
        self._port = self._add_input_port("in")

    def _user_graph_is_configured(self):
        self._iterator = self._create_message_iterator(self._port)

    def _user_consume(self):
        message = next(self._iterator)
        if type(message) is bt2._EventMessageConst:
            self._seen.event(message)
        elif type(message) is bt2._DiscardedEventsMessageConst:
            self._seen.discarded(message)


class Seen:
    def __init__(self):
        self.streams = collections.OrderedDict()  # file -> [(time, key)]
        self.lost = 0
        self.lost_unknown = 0
        self.stopped = None
        self.origins = Origins()

    def event(self, message):
        event = message.event
        time = None
        if event.stream.cls.default_clock_class is not None:
            time = message.default_clock_snapshot.ns_from_origin
            time += self.origins.shift(origin_of(event.stream.cls.default_clock_class))
        packet = {}
        if event.stream.cls.supports_packets and event.packet.context_field is not None:
            packet = plain(event.packet.context_field)
        contexts = [{} if part is None else plain(part)
                    for part in (event.common_context_field, event.specific_context_field)]
        context = dict(contexts[1])
        for name, value in contexts[0].items():
            shown, n = name if name not in contexts[1] else "context_" + name, 2
            while shown != name and (shown in contexts[0] or shown in contexts[1]):
                shown, n = "context_%s_%u" % (name, n), n + 1
            context[shown] = value
        fields = plain(event.payload_field) if event.payload_field is not None else {}
        key = (event.name, packet, context, fields)
        self.streams.setdefault(event.stream.name, []).append((time, key))

    def discarded(self, message):
        if message.count is None:
            self.lost_unknown += 1
        else:
            self.lost += message.count


def folders(path):
    found = []
    for folder, subfolders, files in os.walk(path):
        subfolders.sort()
        if "metadata" in files:
            found.append(folder)
    return found


def babeltrace(path):
    seen = Seen()
    for folder in folders(path):
        plugin = bt2.find_plugin("ctf")
        count = 0
        while True:  # one graph per stream: no muxer, and one stream's end ends no other
            graph = bt2.Graph()
            try:
                source = graph.add_component(
                    plugin.source_component_classes["fs"], "source",
                    params={"inputs": [folder]})
            except Exception as error:
                seen.stopped = str(error).splitlines()[-1]
                break
            ports = list(source.output_ports.values())
            if count >= len(ports):
                break
            sink = graph.add_component(Sink, "sink", obj=seen)
            graph.connect_ports(ports[count], sink.input_ports["in"])
            try:
                graph.run()
            except Exception as error:
                seen.stopped = str(error).splitlines()[-1]
            count += 1
    return seen


def yore(program, path):
    process = subprocess.run(
        [program, "events", path, "--all", "--format", "json", "--no-index"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    events, losses = [], []
    for line in process.stdout.splitlines():
        item = json.loads(line)
        (losses if "lost" in item else events).append(item)
    return events, losses, process


def canonical(value):
    return json.dumps(value, sort_keys=True)


def match(item, key):
    """None when the event equals babeltrace2's, else what differs."""
    name, packet, context, fields = key
    if item["name"] != name and not (name is None and item["name"].startswith("#")):
        return "name %r, not %r" % (item["name"], name)
    if "cpu_id" in packet and item["cpu"] != packet["cpu_id"]:
        return "cpu %r, not %r" % (item["cpu"], packet["cpu_id"])
    for what, ours, theirs in (("packet", {k: item["packet"].get(k) for k in packet}, packet),
                               ("context", item["context"], context),
                               ("fields", item["fields"], fields)):
        ours = normal(ours, theirs, (name, what))
        if ours != theirs:
            for member in sorted(set(ours) | set(theirs)):
                if ours.get(member) != theirs.get(member):
                    return "%s: %s is %r, not %r" % (
                        what, member, ours.get(member), theirs.get(member))
            return "%s differ" % what
    return None


def in_order(theirs, ours):
    """The same events, one stream of one file each, in the same order."""
    for i, ((time, key), item) in enumerate(zip(theirs, ours)):
        if time is not None and item["ts"] is not None and item["ts"] != time:
            return "event %d is at %d, not %d" % (i, item["ts"], time)
        wrong = match(item, key)
        if wrong:
            return "event %d at %s: %s" % (i, item["ts"], wrong)
    return None


def by_moment(theirs, ours):
    """Per nanosecond the same multiset; for streams that are spread over several files."""
    left = collections.defaultdict(list)
    for item in ours:
        left[item["ts"]].append(item)
    for time, key in theirs:
        # ours has null for what holds from the start, theirs None for a stream without clock
        for items in list(left.values()) if time is None else (left[time], left[None]):
            i = next((i for i, item in enumerate(items) if match(item, key) is None), None)
            if i is not None:
                del items[i]
                break
        else:
            return "no event equals %s at %s" % (key[0], time)
    return None


def pair_streams(seen, events):
    """[(name, theirs, ours)] where both have the file; None when files do not pair one to one."""
    ours = collections.OrderedDict()
    for item in events:
        ours.setdefault(item["stream"], []).append(item)
    pairs = []
    for name, theirs in seen.streams.items():
        names = [n for n in ours if name is not None and
                 (name == n or name.endswith("/" + n.split(":", 1)[-1]))]
        if len(names) != 1 or len(ours[names[0]]) != len(theirs):
            return None
        pairs.append((name, theirs, ours[names[0]]))
    return pairs


def compare(program, path):
    seen = babeltrace(path)
    events, losses, process = yore(program, path)
    if process.returncode not in (0, 1, 3):
        return "yore ended with %d: %s" % (process.returncode, process.stderr.decode()[:300])
    total = sum(len(items) for items in seen.streams.values())
    if len(events) < total or (seen.stopped is None and len(events) != total):
        return "%d events, not %d%s" % (
            len(events), total, " " + process.stderr.decode()[:300] if process.stderr else "")
    times = [item["ts"] for item in events if item["ts"] is not None]  # null: from the start
    timed = all(time is not None for items in seen.streams.values() for time, _ in items)
    if timed and any(a > b for a, b in zip(times, times[1:])):
        return "times fall"
    pairs = pair_streams(seen, events)
    if pairs is None and seen.stopped is None:
        wrong = by_moment([e for items in seen.streams.values() for e in items], events)
        if wrong:
            return "by moment: " + wrong
    for name, theirs, ours in pairs or []:
        wrong = in_order(theirs, ours)
        if wrong:
            return "%s: %s" % (name, wrong)
    lost = sum(item["lost"] or 0 for item in losses if not item.get("uncertain"))
    if seen.stopped is None and lost != seen.lost:
        return "%d events lost, not %d" % (lost, seen.lost)
    compare.said = "%d events, %d streams%s%s" % (
        total, len(seen.streams), ", babeltrace2 stopped early" if seen.stopped else "",
        ", %d empty texts that babeltrace2 fills" % stale if stale else "")
    return None


def manifest_events(path):
    """The number of events that the corpus' table gives; None when no table names the trace."""
    folder, name = os.path.dirname(path), os.path.basename(path)
    while folder not in ("", "/"):
        table = os.path.join(folder, "MANIFEST.tsv")
        if os.path.exists(table):
            with open(table, encoding="utf-8") as lines:
                for line in lines:
                    columns = line.split("\t")
                    if columns[0] == name:
                        return int(columns[4] or 0)
        folder, name = os.path.dirname(folder), os.path.join(os.path.basename(folder), name)
    return None


def one(program, path):
    """In a process of its own: babeltrace2's library aborts on some traces."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, 2)
        try:
            wrong = compare(program, path)
        except Exception as error:  # ours: the comparison itself must not fail silently
            wrong = "%s: %s" % (type(error).__name__, error)
        print("%s %s: %s" % ("FAIL" if wrong else "ok  ", path, wrong or compare.said), flush=True)
        os._exit(1 if wrong else 0)
    status = os.waitpid(child, 0)[1]
    if not os.WIFSIGNALED(status):
        return os.WEXITSTATUS(status) == 0
    expected = manifest_events(path)
    events, _, process = yore(program, path)
    good = process.returncode == 0 and len(events) == expected
    print("%s %s: %d events, %s expected; babeltrace2 aborted" % (
        "ok  " if good else "FAIL", path, len(events), expected), flush=True)
    return good


def main():
    program, failed = sys.argv[1], 0
    for path in sys.argv[2:]:
        failed += not one(program, path)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""yore convert --to perfetto, against what `events` and `state` answer of the same trace.

    perfetto.py YORE TRACE... [-- OPTION...]

Of each trace: protoc, protobufjs and a decoder of the test's own read the same from the file; each event stands at its
time with its name, its values and on its thread's track; switches and wake-ups are, with what a reader infers,
those of the trace; states, counters, losses, names of threads and stacks are what yore says.
"""
import collections
import json
import re
import subprocess
import sys
import tempfile

import perfetto_read

failed = 0


def say(*words):
    done = subprocess.run([yore, *words, "--no-index"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert done.returncode in (0, 3), (words, done.stderr.decode())
    return done.stdout.decode()


def rows(*words):
    return [json.loads(line) for line in say(*words, "--format", "json").splitlines()]


def result(good, name, why=""):
    global failed
    failed |= not good
    print("%s: %s%s" % ("PASS" if good else "FAIL", name, "" if good else ": %s" % (why,)), flush=True)


# ---- events ----

def is_label(value):
    return isinstance(value, dict) and list(value) == ["value", "labels"]


def element(value):
    if is_label(value):
        return {"value": value["value"], **({"label": "|".join(value["labels"])} if value["labels"] else {})}
    return wanted(value) if isinstance(value, dict) else [element(v) for v in value] if isinstance(value, list) else value


def wanted(fields):
    out = {}
    for name, value in fields.items():
        out[name] = value["value"] if is_label(value) else element(value)
        if is_label(value) and value["labels"]:
            out[name + "_label"] = "|".join(value["labels"])
    return out


def same(got, want):
    if isinstance(got, float) and isinstance(want, str):
        return want == {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(str(got))
    if isinstance(got, dict) and isinstance(want, dict):
        return list(got) == list(want) and all(same(got[name], want[name]) for name in got)
    if isinstance(got, list) and isinstance(want, list):
        return len(got) == len(want) and all(map(same, got, want))
    if want in ({}, [], None):
        return got is None
    return got == want and isinstance(got, bool) == isinstance(want, bool)


def check_events(read, events, threads):
    if len(read.instants) != len(events):
        return "%d instants of %d events" % (len(read.instants), len(events))
    for (time, name, track, args), event in zip(read.instants, events):
        want = wanted(event["fields"])
        if event["context"]:
            want["context"] = wanted(event["context"])
        elif args.get("context", 1) is None:
            del args["context"]
        if (time, name) != (event["ts"], event["name"]) or not same(args, want):
            return "%s is not %s" % ((time, name, args), event)
        tid = thread_of(event)
        path = read.track_path(track)
        if path != ((tid,) if tid else ("CPUs", "CPU %d" % event["cpu"]) if event["cpu"] is not None
                    else ("Streams", event["stream"])):
            return "%s is on %s" % (event, path)
        if tid and name_of(threads, tid) != perfetto_read.one(perfetto_read.one(read.tracks[track], "thread"), "thread_name"):
            return "%s is not called %s" % (read.tracks[track], name_of(threads, tid))
    return None


def thread_of(event):
    """As docs/convert.md says: by the context, else by what all tracepoints begin with."""
    context = event["context"]
    for name in ("tid", "vtid", "perf_tid"):
        value = context.get(name, event["fields"].get(name) if name == "perf_tid" else None)
        if value is not None:
            return value if 0 < value < 1 << 31 else 0
    value = {**event["fields"], **context}.get("common_pid")
    return value if value is not None and 0 < value < 1 << 31 else 0


def name_of(threads, tid):
    return threads[tid][-1] if tid in threads else None


# ---- scheduling ----

def check_switches(read, events):
    want = collections.defaultdict(list)
    for event in events:
        if event["name"].split(":")[-1] == "sched_switch" and event["cpu"] is not None:
            values = {re.sub("_tid$", "_pid", k): v["value"] if is_label(v) else v for k, v in event["fields"].items()
                      if k.startswith(("prev_", "next_"))}
            want[event["cpu"]].append((event["ts"], values))
    if dict(want) != read.switches:
        return "CPUs %s" % sorted(cpu for cpu in {*want, *read.switches} if want.get(cpu) != read.switches.get(cpu))
    return None


def check_wakings(read, events):
    names = {event["name"].split(":")[-1] for event in events}
    kinds = {"sched_waking", "sched_wakeup_new"} if "sched_waking" in names else {"sched_wakeup", "sched_wakeup_new"}
    running, seen = {}, collections.Counter()
    for event in events:
        name, cpu, fields = event["name"].split(":")[-1], event["cpu"], event["fields"]
        if name == "sched_switch":
            running[cpu] = fields.get("next_pid", fields.get("next_tid"))
        if name not in kinds or cpu is None or "target_cpu" not in fields:
            continue
        waker = waking_thread(event)
        if waker is None and cpu not in running:
            continue
        time, values, flags, pid = read.wakings[cpu][seen[cpu]]
        seen[cpu] += 1
        want = {"pid": fields.get("pid", fields.get("tid")), **{k: fields[k] for k in ("comm", "prio", "target_cpu")}}
        flags_wanted = {**fields, **event["context"]}.get("common_flags", 0)
        if time != event["ts"] or values != want or flags != flags_wanted:
            return "%s is not %s" % ((time, values, flags), event)
        if waker is not None and waker != (pid if pid is not None else running[cpu]):
            return "%s is not woken by %s" % (event, pid)
    if {cpu: len(list_) for cpu, list_ in read.wakings.items()} != dict(seen):
        return "there are more of them than events"
    return None


def waking_thread(event):
    everything = {**event["fields"], **event["context"]}
    for name in ("vtid", "perf_tid", "common_pid"):
        if name in everything:
            return everything[name]
    return event["context"].get("tid")


# ---- state ----

def value_text(value):
    if isinstance(value, str):
        return value or '""'
    return json.dumps(value)


def placed(path):
    """The track of an attribute."""
    found = re.match(r"(cpu|thread)\[(\d+)\]/(.*)$", path)
    if found and found[1] == "cpu":
        return ("CPUs", "CPU " + found[2], found[3])
    if found and 0 < int(found[2]) < 1 << 31:
        return (int(found[2]), found[3])
    return ("State", path)


def state_changes(read):
    """{track: [[begin, end, name]]}: what a reader draws; the end None: to the end of the trace."""
    out = {}
    for uuid, changes in read.states.items():
        path = read.track_path(uuid)
        if path[-1].startswith("losses of "):
            continue
        slices = out.setdefault(path, [])
        for time, name, _ in sorted(changes, key=lambda change: change[0]):
            if slices and slices[-1][1] is None:
                slices[-1][1] = time
            if name is not None:
                slices.append([time, None, name])
    return out


def check_state(read, intervals, first, last, names):
    want = collections.defaultdict(list)
    for row in intervals:
        begin, end = row["begin"], row["end"]
        if (begin or first) > last or row["path"].endswith("/frequency"):
            continue
        if row["path"].endswith("/thread") and read.switches.get(int(re.search(r"\d+", row["path"])[0])):
            continue
        text = value_text(row["value"])
        called = called_at(names, row)
        slices = want[placed(row["path"])]
        begin = max(first if begin is None else begin, first)
        if slices and slices[-1][1] is None:
            slices[-1][1] = begin
        slices.append([begin, end if end is not None and end < last else None, (called + " " if called else "") + text])
    got = state_changes(read)
    for path in {*want, *got}:
        have = [s for s in got.get(path, []) if s[2] != "?"]
        need = [s for s in want.get(path, []) if s[2] != "?"]
        if have != need:
            return "%s: %s is not %s" % (path, [s for s in have if s not in need][:3], [s for s in need if s not in have][:3])
    return None


def called_at(names, row):
    found = re.match(r"cpu\[\d+\]/(thread|irq|softirq)$", row["path"])
    list_ = names.get((found[1], row["value"]), []) if found else []
    if not list_:
        return None
    before = [name for begin, name in list_ if row["begin"] is not None and (begin is None or begin <= row["begin"])]
    return before[-1] if before else list_[0][1]


def check_unknown(read, trace, intervals, last):
    """Where a track says "?", `at` does not know the value; where it has no state, there is none."""
    paths = {placed(row["path"]): row["path"] for row in intervals}
    moments, asked = collections.defaultdict(list), collections.Counter()
    for path, slices in state_changes(read).items():
        for before, after in [] if path not in paths else zip(slices, slices[1:] + [[last + 1, None, ""]]):
            gap = before[1] is not None and before[1] < after[0]
            known = before[2] != "?"
            if (gap or not known) and asked[known] < 60:
                moments[before[0 if not known else 1]].append((paths[path], known))
                asked[known] += 1
    for time, list_ in moments.items():
        answers = {row["path"]: row for row in rows("at", trace, "@%d" % time, *sorted({p for p, _ in list_}))}
        for path, known in list_:
            row = answers[path]
            if row["value"] is not None or row.get("known", True) != known:
                return "%s at %d: %s" % (path, time, row), asked
    return None, asked


# ---- the rest ----

def check_counters(read, intervals, first, last):
    want = collections.defaultdict(list)
    for row in intervals:
        if row["path"].endswith("/frequency") and (row["begin"] or first) <= last:
            want[placed(row["path"])].append((max(row["begin"] or first, first), row["value"]))
    got = {read.track_path(uuid): values for uuid, values in read.counters.items()}
    return None if got == dict(want) else "%s is not %s" % (got, dict(want))


def check_losses(read, losses, first, last):
    want = collections.Counter()
    for row in losses:
        if row["ts"] is not None and row["ts"] <= last:
            want[row["stream"], max(row["ts"], first), row["lost"] if row["lost"] else None, row.get("packets")] += 1
    got = collections.Counter()
    for uuid, changes in read.states.items():
        name = read.track_path(uuid)[-1]
        for time, text, args in changes:
            if name.startswith("losses of ") and text is not None:
                assert text == ("%d lost" % args["events"] if args.get("events") else "lost"), text
                got[name[10:], time, args.get("events") or None, args.get("packets")] += 1
    return None if got == want else "%s is not %s" % (dict(got - want), dict(want - got))


FRAME = re.compile(r"(?:^\t\s*| {4,}| (?=[0-9a-f]{12,16} ))([0-9a-f]+) (\S.*) \((.*)\)$")


def check_stacks(read, trace, options, all_rows):
    """Against the frames that `events` prints below an event, innermost first, or behind it."""
    printed = []
    for line in say("events", trace, *options).splitlines():
        if line and not line.startswith("\t"):
            printed.append([])
        if found := FRAME.search(line):
            printed[-1].append((int(found[1], 16), re.sub(r"\+0x[0-9a-f]+$", "", found[2]), found[3]))
    if len(printed) != len(all_rows):
        return "%d rows are printed of %d" % (len(printed), len(all_rows)), 0
    pairs = [(row, frames) for row, frames in zip(all_rows, printed) if "name" in row and row["ts"] is not None]
    want = [(event, frames) for event, frames in pairs
            if frames and (event["context"].get("tid", thread_of(event)) is not None)]
    if len(want) != len(read.samples):
        return "%d samples of %d" % (len(read.samples), len(want)), 0
    by_name = sorted(range(len(want)), key=lambda i: (want[i][0]["name"], i))
    samples = sorted(enumerate(read.samples), key=lambda item: (item[1][0], item[0]))
    for i, (_, (name, time, cpu, pid, tid, frames)) in zip(by_name, samples):
        event, lines = want[i]
        have = [(f or "[unknown]", (o or "[unknown]").replace("/[", "[")) for f, o, _, _ in reversed(frames)]
        if len(have) == len(lines):  # the object of what was inlined is not printed
            have = [(f, "inlined" if line[2] == "inlined" else o) for (f, o), line in zip(have, lines)]
        need = [("0x%x" % a if (n, o) == ("[unknown]", "[unknown]") else n, o) for a, n, o in lines]
        if len(have) != len(need):
            return "%s: %d frames of %d: %s is not %s" % (event, len(have), len(need), have, need), 0
        if (name, time, cpu) != (event["name"], event["ts"], event["cpu"]) or have != need:
            return "%s is not %s" % ((name, time, cpu, have), (event["name"], event["ts"], need)), 0
        if tid != event["context"].get("tid", tid) or pid != event["context"].get("pid", pid):
            return "%s is of %d, %d" % (event, pid, tid), 0
    return None, len(want)


def check(trace, options):
    name = "/".join(trace.rstrip("/").split("/")[-2:]) + ("" if not options else " " + " ".join(options))
    out = work + "/out.pftrace"
    say("convert", trace, out, *options)
    mine, protoc = perfetto_read.decode(open(out, "rb").read()), perfetto_read.by_protoc(out)
    if protoc is None:
        print("SKIP: %s: protoc is not installed: the wire is judged by the test's decoder alone" % name)
    else:
        result(same_messages(mine, protoc), name + ": protoc reads what the test's decoder reads")
    protobufjs = perfetto_read.by_protobufjs(out)
    if protobufjs is None:
        print("SKIP: %s: protobufjs is not installed: npm.sh BUILD --install" % name)
    else:
        result(same_messages(mine, protobufjs), name + ": protobufjs reads what the test's decoder reads")
    first, last = bounds(trace)
    base = min(first, 0)
    read = perfetto_read.Reader(out, base)
    all_rows = rows("events", trace, *options)
    events = [row for row in all_rows if "name" in row and row["ts"] is not None]
    losses = [row for row in all_rows if "lost" in row]
    begin, end = (int(options[options.index(o) + 1][1:]) if o in options else None for o in ("--begin", "--end"))
    first, last = max(first, begin or first), min(last, end or last)
    scope = [o for i, o in enumerate(options) for o in options[i:i + 2] if options[i] in ("--begin", "--end")]
    threads = collections.defaultdict(list)
    names = collections.defaultdict(list)
    for row in rows("state", trace, "thread[*]/name", "irq[*]/name", "softirq[*]/name", *scope):
        kind, key = re.match(r"(\w+)\[(-?\d+)\]", row["path"]).groups()
        names[kind, int(key)].append((row["begin"], row["value"]))
        if kind == "thread":
            threads[int(key)].append(row["value"])
    result(not (why := check_events(read, events, threads)), "%s: %d events" % (name, len(events)), why)
    picked = {"--where", "--tid", "--pid", "--comm"} & {*options}
    if picked:
        result(not read.switches and not read.wakings, name + ": chosen events make no scheduling columns")
    else:
        result(not (why := check_switches(read, events)), "%s: switches, %d in columns, %d plain" % (name, read.columns, read.plain), why)
        result(not (why := check_wakings(read, events)), name + ": wake-ups", why)
    paths = ["cpu[*]/thread", "cpu[*]/irq", "cpu[*]/softirq", "cpu[*]/frequency", "thread[*]/syscall"]
    intervals = rows("state", trace, *paths, *scope)
    result(not (why := check_state(read, intervals, first, last, names)), "%s: %d intervals" % (name, len(intervals)), why)
    result(not (why := check_losses(read, losses, first, last)), "%s: %d losses" % (name, len(losses)), why)
    check_all_states(trace, name, scope, first, last, names, base)
    why, count = check_stacks(read, trace, options, all_rows)
    result(not why, "%s: %d stacks" % (name, count), why)


# Attributes that events write. Of views, such as cpu[N]/syscall, lists and `at` do not always agree on
# whether a value that is not there is none or unknown.
WRITTEN = re.compile(r"cpu\[\d+\]/(thread|irq|softirq)$|thread\[\d+\]/(syscall|state|name|process)$")


def check_all_states(trace, name, scope, first, last, names, base):
    """All attributes, of a file that has no events."""
    out = work + "/states.pftrace"
    say("convert", trace, out, "**", "--name", "none*", *scope)
    read, intervals = perfetto_read.Reader(out, base), rows("state", trace, "**", *scope)
    assert not read.instants and not read.samples
    result(not (why := check_state(read, intervals, first, last, names)), "%s: all %d intervals" % (name, len(intervals)), why)
    result(not (why := check_counters(read, intervals, first, last)), "%s: %d counters" % (name, len(read.counters)), why)
    written = [row for row in intervals if WRITTEN.match(row["path"])]
    why, asked = check_unknown(read, trace, written, last)
    result(not why, "%s: %d times unknown, %d times none" % (name, asked[False], asked[True]), why)


def same_messages(a, b):
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same_messages(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same_messages, a, b))
    return a == b or (isinstance(a, float) and (a != a and b != b or abs(a - b) <= abs(a) * 1e-5))


def bounds(trace):
    times = [row["ts"] for row in rows("events", trace) if row.get("ts") is not None and "name" in row]
    return min(times), max(times)


yore = sys.argv[1]
rest = sys.argv[2:]
cut = rest.index("--") if "--" in rest else len(rest)
with tempfile.TemporaryDirectory() as work:
    for one_trace in rest[:cut]:
        check(one_trace, rest[cut + 1:])
sys.exit(failed)

#!/usr/bin/python3
"""Compares `yore do` with what Python makes of the events that other tools print.

    do_agree.py YORE perf FILE...      perf's samples, as perf script has them
    do_agree.py YORE ftrace FILE...    trace-cmd report
    do_agree.py YORE ctf FOLDER...     babeltrace2's text

The programs are bpftrace's own one-liners of its tutorial that a recording can answer, and others of their kind.
Each answer is computed here a second time, event by event, from the other tool's text. A program is left out where
the trace has none of its events.
"""
import collections
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import analyses_agree
import ftrace_tool
import perf_tool
import yore_says
from analyses_agree import first
from yore_says import Report


def log2_bucket(number):
    if number < 0:
        return (None, -1)
    if number < 2:
        return (number, number)
    low = 1 << (number.bit_length() - 1)
    return (low, 2 * low - 1)


def buckets_of(numbers):
    """The buckets of hist(), from the first that has something to the last."""
    counts = collections.Counter(log2_bucket(number) for number in numbers)
    order = [(None, -1), (0, 0), (1, 1)] + [(1 << i, (2 << i) - 1) for i in range(1, 64)]
    used = [i for i, bucket in enumerate(order) if counts[bucket]]
    return [bucket_of(order[i], counts[order[i]]) for i in range(used[0], used[-1] + 1)] if used else []


def bucket_of(bounds, count):
    found = {"min": bounds[0], "max": bounds[1], "count": count}
    return {key: value for key, value in found.items() if value is not None}


def linear_buckets(numbers, low, high, step):
    counts = collections.Counter(
        0 if n < low else (high - low) // step + 1 if n >= high else (n - low) // step + 1 for n in numbers)
    bounds = [(None, low - 1)] + [(at, at + step - 1) for at in range(low, high, step)] + [(high, None)]
    return [bucket_of(bounds[i], counts[i]) for i in range(min(counts), max(counts) + 1)] if counts else []


def quotient(sum_of, count):
    """As C divides: towards zero."""
    return abs(sum_of) // count * (1 if sum_of >= 0 else -1)


def stats(numbers):
    return {"count": len(numbers), "average": quotient(sum(numbers), len(numbers)), "total": sum(numbers)}


def grouped(events, key, value):
    out = collections.defaultdict(list)
    for event in events:
        out[key(event)].append(value(event))
    return out


def key_text(*parts):
    return ",".join(str(part) for part in parts)


PROGRAMS = []


def program(text, *needed):
    """A function of {name: events} and all events, which gives the maps, or the text."""
    def add(function):
        PROGRAMS.append((text, needed, function))
        return function
    return add


@program("sched_switch { @[args.prev_comm] = count(); }", "sched_switch")
def count_by_text(of, _):
    return {"@": dict(collections.Counter(e.fields["prev_comm"] for e in of["sched_switch"]))}


@program("tracepoint:sched:sched_* { @[probe] = count(); }", "sched_switch")
def count_by_probe(of, _):
    return {"@": {name: len(events) for name, events in of.items() if name.startswith("sched_")}}


def bare(said):
    """Counts by probe, without provider and subsystem: the other tools' names are taken without."""
    return {"@": {name.split(":")[-1]: count for name, count in said.get("@", {}).items()}}


@program("sched_switch /args.prev_state & 3 && prev_pid/ { @[prev_comm, prev_prio] = count(); }", "sched_switch")
def predicate_and_two_keys(of, _):
    found = collections.Counter(key_text(e.fields["prev_comm"], e.fields["prev_prio"]) for e in of["sched_switch"]
                                if e.fields["prev_state"] & 3 and first(e.fields, "prev_pid", "prev_tid"))
    return {"@": dict(found)} if found else {}


@program("""sched_switch { @n[prev_comm] = min(next_pid); @x[prev_comm] = max(next_pid); @s[prev_comm] = sum(prev_prio);
    @a[prev_comm] = avg(next_prio); @t[next_comm] = stats(next_pid) }""", "sched_switch")
def sums(of, _):
    def each(key, value, fold):
        return {k: fold(v) for k, v in grouped(of["sched_switch"], lambda e: e.fields[key], value).items()}

    def following(event):
        return first(event.fields, "next_pid", "next_tid")
    return {"@n": each("prev_comm", following, min), "@x": each("prev_comm", following, max),
            "@s": each("prev_comm", lambda e: e.fields["prev_prio"], sum),
            "@a": each("prev_comm", lambda e: e.fields["next_prio"], lambda v: quotient(sum(v), len(v))),
            "@t": each("next_comm", following, stats)}


WAKE = """sched_waking { @t[args.pid] = nsecs; }
    sched_switch /@t[next_pid]/ { @ns[next_comm] = hist(nsecs - @t[next_pid]); delete(@t, next_pid); }
    END { clear(@t); }"""


@program(WAKE, "sched_switch", "sched_waking")
def wake_latency(_, events):
    since, found = {}, collections.defaultdict(list)
    for event in events:
        if event.name == "sched_waking":
            since[first(event.fields, "pid", "tid")] = event.time
        elif event.name == "sched_switch":
            key = first(event.fields, "next_pid", "next_tid")
            if key in since:
                found[event.fields["next_comm"]].append(event.time - since.pop(key))
    return {"@ns": {name: buckets_of(numbers) for name, numbers in found.items()}} if found else {}


@program("tracepoint:raw_syscalls:sys_exit { @bytes = hist(args.ret); @l = lhist(args.ret, 0, 2000, 200); }", "sys_exit")
def returned(of, _):
    numbers = [e.fields["ret"] for e in of["sys_exit"]]
    return {"@bytes": buckets_of(numbers), "@l": linear_buckets(numbers, 0, 2000, 200)}


@program("""tracepoint:raw_syscalls:sys_enter { @start[tid] = nsecs; }
    tracepoint:raw_syscalls:sys_exit /@start[tid]/ { @ns[tid] = hist(nsecs - @start[tid]); @n[args.id] = count();
    delete(@start[tid]); } END { clear(@start) }""", "sys_enter", "sys_exit")
def syscall_time(_, events):
    found, ids = collections.defaultdict(list), collections.Counter()
    since = {}
    for event in events:
        if event.name == "sys_enter":
            since[event.tid] = event.time
        elif event.name == "sys_exit" and event.tid in since:
            found[str(event.tid)].append(event.time - since.pop(event.tid))
            ids[str(event.fields["id"])] += 1
    return {"@ns": {tid: buckets_of(n) for tid, n in found.items()}, "@n": dict(ids)} if found else {}


@program("cpu-clock { @[tid] = count(); }", "cpu-clock")
def samples_by_thread(of, _):
    return {"@": dict(collections.Counter(str(e.tid) for e in of["cpu-clock"]))}


@program("tracepoint:syscalls:sys_exit_* { @n[tid] = count(); @least[tid] = min(args.ret); @r = hist(args.ret); }",
         "sys_exit_mmap")
def named_calls(_, events):
    ends = [e for e in events if e.name.startswith("sys_exit_")]
    return {"@n": dict(collections.Counter(str(e.tid) for e in ends)),
            "@least": {str(tid): min(n) for tid, n in grouped(ends, lambda e: e.tid, lambda e: e.fields["ret"]).items()},
            "@r": buckets_of([e.fields["ret"] for e in ends])}


@program('sched_switch { printf("%020d %s %d %s %x\\n", nsecs, prev_comm, prev_prio, str(next_comm), next_prio); }',
         "sched_switch")
def lines_in_order(of, _):
    """Tools differ in the order of events of one time: these are sorted."""
    return sorted("%020d %s %d %s %x\n" % (e.time, e.fields["prev_comm"], e.fields["prev_prio"], e.fields["next_comm"],
                                           e.fields["next_prio"] % 2 ** 64) for e in of["sched_switch"])


@program("""sched_switch { if (prev_prio < 120) { @[0, prev_comm]++ } else { $x = prev_prio * 2 - 100; @[$x, prev_comm] += 2; } }""",
         "sched_switch")
def branches(of, _):
    found = collections.Counter()
    for event in of["sched_switch"]:
        prio = event.fields["prev_prio"]
        found[key_text(0 if prio < 120 else prio * 2 - 100, event.fields["prev_comm"])] += 1 if prio < 120 else 2
    return {"@": dict(found)}


@program('sched_switch { @n++; } interval:ms:2 { printf("%d %d\\n", elapsed, @n); }', "sched_switch")
def intervals(of, events):
    """Every 2 ms from the first event on, before the first switch at that time or later, until the last event."""
    lines, switches, since = [], 0, 2000000
    for event in of["sched_switch"]:
        while since <= event.time - events[0].time:
            lines.append("%d %d\n" % (since, switches))
            since += 2000000
        switches += 1
    while since <= events[-1].time - events[0].time:
        lines.append("%d %d\n" % (since, switches))
        since += 2000000
    return lines or {"@n": switches}


def said_by_yore(yore, path, text, *options):
    done = yore_says.run(yore, "do", path, text, "--format", "json", "--no-index", *options)
    maps, lines = {}, []
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        item = json.loads(line)
        if item["type"] == "printf":
            lines.append(item["data"])
        elif item["type"] in ("map", "hist", "stats"):
            maps.update(item["data"])
    return done, lines or maps


def exact(events):
    """Are all texts as the other tool prints them whole?"""
    return all(re.match(r"^[\w/.:-]+$", str((e.fields or {}).get(name, "x")))
               for e in events for name in ("prev_comm", "next_comm"))


def compare(report, yore, path, events):
    of = collections.defaultdict(list)
    for event in events:
        of[event.name].append(event)
    compared = 0
    for text, needed, function in PROGRAMS:
        wanted = function(of, events) if all(of[name] for name in needed) else None
        if wanted is None:
            continue
        ways = [(), ("--jobs", "1"), ("--where", "1 == 1")]
        if "interval" in text:
            ways = [("--begin", "@%d" % events[0].time)]
        for options in ways:
            done, said = said_by_yore(yore, path, text, *options)
            if "probe" in text:
                said = bare(said)
            if "nsecs, " in text and [line[:20] for line in said] == sorted(line[:20] for line in said):
                said = sorted(said)
            if done.returncode not in (0, 3) or said != wanted:
                report.differs("%s %s: %s, not %s: %s" % (text.split("\n")[0], " ".join(options), str(said)[:200],
                                                         str(wanted)[:200], done.stderr.decode()[:300]))
        compared += 1
    return compared


def compare_functions(report, yore, path, events):
    """Where samples of the CPU clock were, by perf's names of functions; of the kernel, which is another one here,
    perf may have none."""
    if not any(event.name == "cpu-clock" for event in events):
        return 0
    lines = perf_tool.run("script", "-F", "event,ip,sym", "-G", "-i", path).decode("utf-8", "replace").splitlines()
    found = [re.match(r"^ *cpu-clock[^ ]* +([0-9a-f]+) (.*)$", line) for line in lines]
    wanted = collections.Counter("0x" + m[1] if m[2] == "[unknown]" else m[2] for m in found
                                 if m and not m[1].startswith("ffffffff"))
    done, said = said_by_yore(yore, path, "cpu-clock /ip >> 63 == 0/ { @[usym(ip)] = count(); }")
    if not wanted or said.get("@", {}) != dict(wanted):
        report.differs("usym: %s, not %s: %s" % (said, dict(wanted), done.stderr.decode()[:300]))
    return 1


READERS = {"perf": analyses_agree.perf_events, "ftrace": analyses_agree.ftrace_events, "ctf": analyses_agree.ctf_events}


def main():
    yore, kind = sys.argv[1:3]
    good = True
    if kind == "perf" and not perf_tool.installed() or kind == "ftrace" and not ftrace_tool.installed():
        print("do_agree.py: skipped: the tool to compare with is not installed (%s)" % kind)
        sys.exit(0)
    for path in sys.argv[3:]:
        events = READERS[kind](path)
        if events is None or not exact(events):
            print("%s: skipped: the other tool's text is not whole" % path)
            continue
        report = Report("do " + path)
        programs = compare(report, yore, path, events)
        programs += compare_functions(report, yore, path, events) if kind == "perf" else 0
        report.facts.append("%d programs over %d events" % (programs, len(events)))
        if programs == 0:
            report.differs("no program here asks for any event of this trace")
        good &= report.close()
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()

"""Events of a trace, and the call chains of its switches, as other tools print them.

perf script, trace-cmd report and babeltrace2 print; what they print becomes Event, rising by time. None: events
were lost. For analyses_agree.py and tables_agree.py.
"""
import collections
import re
import subprocess

import ftrace_tool
import perf_tool
import symbols_agree

Event = collections.namedtuple("Event", "time cpu name tid fields")


def perf_events(path):
    stats = perf_tool.run("report", "-i", path, "--stats", "--stdio").decode("utf-8", "replace")
    if re.search(r"\bLOST(?:_SAMPLES)? events: +[1-9]", stats):
        return None
    found = []
    for sample in perf_tool.inside(path):
        item, fields, raw = sample["sample"], sample["fields"], bytes.fromhex(sample["raw"])
        if fields is not None and len(raw) > 3:  # struct trace_entry: a type of two bytes, then the flags
            fields["common_flags"] = raw[2]
        found.append(Event(item["time"], item["cpu"], sample["name"].split(":")[-1], item["tid"], fields))
    return sorted(found, key=lambda e: e.time)


def number(text):
    try:
        return int(text, 0)
    except ValueError:
        return text


def ftrace_events(path):
    lines, drops = ftrace_tool.raw_report(path, flags=True)
    if drops:
        return None
    return [Event(line.time, line.cpu, line.name, line.pid,
                  {**{m[1]: number(m[2]) for m in re.finditer(r"(\w+)=(\S+)", line.text)}, **flags_of(line.flags)}) for line in lines]


def flags_of(text):
    """The field common_flags as trace-cmd prints it raw: -0x9 and so on, of which the preempt count may follow."""
    found = re.match(r"-0x([0-9a-f]+)$", text or "")
    return {"common_flags": int(found[1], 16)} if found else {}


HEAD = re.compile(r"^\[(-?\d+)\.(\d{9})\] (?:\(\S+\) )?(?:\S+ )?(\S+): (.*)$")
FIELD = re.compile(r'(\w+) = (?:\( "[^"]*" : container = (-?\d+) \)|"([^"]*)"|(-?\w+))')


def ctf_events(path):
    done = subprocess.run(["babeltrace2", "--clock-seconds", "--no-delta", path], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    if b"discarded" in done.stderr:
        return None
    found = []
    for line in done.stdout.decode("utf-8", "replace").split("\n"):
        match = HEAD.match(line)
        if match:
            fields = {m[1]: number(next(v for v in m.groups()[1:] if v is not None))
                      for m in FIELD.finditer(match[4])}
            cpu = re.search(r"\bcpu_id = (\d+)", match[4])  # the packet's; a payload may have another one
            found.append(Event(int(match[1]) * 10 ** 9 + int(match[2]), int(cpu[1]) if cpu else None,
                               match[3].split(":")[-1], fields.get("perf_tid"), fields))
    return found


def first(fields, *names):
    return next((fields[name] for name in names if name in fields), None)


def perf_chains(path):
    """Call chains of switches as perf script prints them, by time."""
    samples = [s for s in symbols_agree.perf_script(path) if s[3].rstrip(b":") == b"sched:sched_switch"]
    return {time: " < ".join(symbols_agree.folded_name(frame.decode(errors="surrogateescape")) for frame in frames)
            for time, _, _, _, _, frames in samples}


def ctf_stacks(path):
    """(time, event, tid, [address]) of events with LTTng's contexts callstack_kernel and callstack_user, as babeltrace2
    prints them: the kernel's stack, then the process'. tid: None where no context says it."""
    text = subprocess.run(["babeltrace2", "--clock-seconds", "--no-delta", path], stdout=subprocess.PIPE, check=False, text=True).stdout
    for line in text.split("\n"):
        head, stacks = HEAD.match(line), re.findall(r" callstack_(?:kernel|user) = \[ ((?:\[\d+\] = 0x\w+,? )*)\]", line)
        tid = re.search(r"\btid = (\d+)", line)
        addresses = [int(a, 16) for stack in stacks for a in re.findall(r"\] = (0x\w+)", stack)]
        if head and stacks:
            yield int(head[1]) * 10 ** 9 + int(head[2]), head[3], int(tid[1]) if tid else None, \
                [a for a in addresses if a != (1 << 64) - 1]


def ctf_chains(path):
    """Stacks of switches, by time."""
    return {time: " < ".join(map(hex, addresses)) for time, event, _, addresses in ctf_stacks(path) if event == "sched_switch"}

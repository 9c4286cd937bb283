#!/usr/bin/python3
"""Of a recording of several events with call chains the samples of a counter are counted, before those of tracepoints.

Recordings are made here by perf record -g, with a tracepoint before the counters and behind them. The judge is perf script, whose
stacks are folded here. `top`, its --against, `flamegraph` and `convert --to folded` must choose the same event, whatever part of
the recording is asked for; a note tells which it was, which others there are, and how to choose. The same holds for the CTF that
yore makes of a recording. For viewers the JSON has each sample that perf script prints.
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "repl"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "oracle"))
from results import finish, result, yore
import perf_tool
import symbols_agree

SWITCH, CLOCK, FAULTS = "sched:sched_switch", "cpu-clock", "page-faults"
# perf takes one page fault of several: there must be many
WORK = "import time\nfor i in range(60):\n time.sleep(0.001); a = [0] * 20000; sum(range(20000)); b = b'x' * (1 << 20)"


def run(*words):
    done = subprocess.run([yore, *words, "--no-index"], capture_output=True, text=True, errors="surrogateescape")
    return done.stdout, done.stderr


def record(folder, name, events):
    path = os.path.join(folder, name)
    subprocess.run(["perf", "record", "-q", "-g", "-o", path, *(word for event in events for word in ("-e", event)), "--", sys.executable, "-c", WORK],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, env=perf_tool.ENV)
    return path if os.path.exists(path) and os.path.getsize(path) else None


def of_event(samples, event, start=0):
    """(stacks folded, how many samples, sum of periods) of the event, by perf script."""
    own = [sample for sample in samples if sample[3].decode() == event and sample[0] >= start]
    return dict(symbols_agree.fold(own, event.encode())), len(own), sum(sample[4] for sample in own)


def folded(text):
    found = collections.Counter()
    for line in text.splitlines():
        stack, weight = line.rsplit(" ", 1)
        found[stack] += int(weight)
    return dict(found)


def tells(note, counted, others, option):
    """The note names what was counted, the option that chooses, and the others."""
    lines = [line for line in note.splitlines() if "samples of %s are counted; others with stacks (%s): " % (counted, option) in line]
    return len(lines) == 1 and set(lines[0].split("): ")[1].split(", ")) == set(others)


def first_line(path, *words):
    """What `yore top` says it counted."""
    return next((line for line in run("top", path, *words)[0].splitlines() if " samples of " in line), "")


def check(path, events, counted):
    what, samples = ", ".join(events), symbols_agree.perf_script(path)
    there = {sample[3].decode() for sample in samples}
    others = there - {counted}
    truth, count, weight = of_event(samples, counted)
    result(count > 10 and others, "%s: perf recorded %s and others" % (what, counted), (count, there))
    out, note = run("flamegraph", path)
    result(folded(out) == truth and tells(note, counted, others, "--event"), what + ": flamegraph has perf script's stacks of " + counted, note)
    out, note = run("convert", path, "-", "--to", "folded")
    result(folded(out) == truth and tells(note, counted, others, "--name"), what + ": convert --to folded has the same", note)
    said, note = first_line(path), run("top", path)[1]
    result(said == "%d samples of %s, weight %d" % (count, counted, weight) and tells(note, counted, others, "--event"),
           what + ": top counts them", (said, note))
    middle = sorted(sample[0] for sample in samples if sample[3].decode() == counted)[count // 2]
    truth = of_event(samples, counted, middle)[0]
    result(folded(run("flamegraph", path, "--begin", "@%d" % middle)[0]) == truth and
           folded(run("convert", path, "-", "--to", "folded", "--begin", "@%d" % middle)[0]) == truth, what + ": of the second half, too", "")
    for other in others:
        truth = of_event(samples, other)
        result(folded(run("flamegraph", path, "--event", other)[0]) == truth[0] == folded(run("convert", path, "-", "--to", "folded", "--name", other)[0])
               and first_line(path, "--event", other) == "%d samples of %s, weight %d" % (truth[1], other, truth[2]),
               "%s: %s when it is asked for" % (what, other), "")
    lone, note = run("convert", path, "-", "--to", "folded", "--name", counted)
    result(folded(lone) == of_event(samples, counted)[0] and "others" not in note, what + ": no note when %s is asked for" % counted, note)
    return samples


def check_copy(work, path, counted):
    """As CTF, which describes events in the recording's order; functions have no names there."""
    copy = os.path.join(work, "copy")
    run("convert", path, copy, "--to", "ctf")
    result(first_line(copy) == first_line(path) and " samples of %s," % counted in first_line(copy), "the CTF of a recording: the same event is counted",
           (first_line(copy), first_line(path)))


def check_against(work, path, other, unlike):
    """The event of the first recording, where the other one has it; else what counts there, which is said."""
    counts = [of_event(symbols_agree.perf_script(one), CLOCK) for one in (path, other)]
    said = first_line(path, "--against", other)
    result(said == "%d samples of %s, weight %d; against %d, weight %d" % (counts[0][1], CLOCK, counts[0][2], counts[1][1], counts[1][2]),
           "top --against: the same event of both", said)
    faults = of_event(symbols_agree.perf_script(unlike), FAULTS)
    said = first_line(path, "--against", unlike)
    result(said.endswith("; against %d of %s, weight %d" % (faults[1], FAULTS, faults[2])), "top --against: another event is told", said)


def chain_of(frames, number):
    """(function, file) of a frame and of those that called it; a function without a name is the file's alone."""
    chain = []
    while number:
        frame = frames[str(number)]
        chain.append(("" if frame["name"].startswith("0x") else frame["name"], frame.get("category", "[unknown]")))
        number = frame.get("parent")
    return tuple(chain)


def chain_of_perf(lines):
    chain = []
    for line in lines:
        address, name, file = re.match(r"^\s*(\w+) (.+) \(([^()]*(?: \(deleted\))?)\)$", line.decode(errors="surrogateescape")).groups()
        name = re.sub(r"\+0x[\da-f]+$", "", name)
        chain.append(("" if name == "[unknown]" else name, file, int(address, 16)))
    while len(chain) > 1 and chain[-1][2] == 0:
        chain.pop()
    return tuple(frame[:2] for frame in chain)


def check_viewers(work, path, samples):
    """Perfetto, Firefox Profiler and speedscope: the JSON has each sample; the Firefox Profiler takes a line's number as a count."""
    out = os.path.join(work, "out.json")
    run("convert", path, out)
    with open(out, encoding="utf-8") as file:
        trace = json.load(file)
    zero, found, stacks = int(trace["otherData"]["zero_ns"]), collections.Counter(), collections.Counter()
    for entry in trace["traceEvents"]:
        if entry["ph"] == "i":
            place = entry["name"], zero + round(entry["ts"] * 1000)
            found[place] += 1
            if "sf" in entry:
                stacks[place, chain_of(trace["stackFrames"], entry["sf"])] += 1
    missing = [sample[:4] for sample in samples if not found[sample[3].decode(), sample[0]]]
    result(samples and not missing, "JSON for viewers: each sample of perf script is an instant", missing[:3])
    expected = collections.Counter(((sample[3].decode(), sample[0]), chain_of_perf(sample[5])) for sample in samples)
    result(stacks == expected and len(set(trace["stackFrames"])) > 5, "JSON for viewers: each sample has perf script's stack",
           (list((expected - stacks).items())[:2], list((stacks - expected).items())[:2]))
    counts = collections.Counter()
    for _, _, comm, event, _, frames in samples:
        if event.decode() == CLOCK:
            names = [symbols_agree.folded_name(frame.decode(errors="surrogateescape")) for frame in frames]
            counts[";".join([comm.decode(errors="surrogateescape").replace(" ", "_")] + names[::-1])] += 1
    result(folded(run("flamegraph", path, "--count")[0]) == dict(counts), "flamegraph --count: a line's number is how many samples of the counter", "")


def main():
    if not perf_tool.installed():
        print("SKIP: perf is not installed")
        return
    with tempfile.TemporaryDirectory() as work:
        os.environ["XDG_CACHE_HOME"] = work
        made = {}
        for name, events, counted in (("before", (SWITCH, CLOCK, FAULTS), CLOCK), ("behind", (CLOCK, SWITCH), CLOCK), ("faults", (SWITCH, FAULTS), FAULTS)):
            path = made[name] = record(work, name, events)
            if not path:
                print("SKIP: perf record -g -e %s is refused here" % ",".join(events))
                return
            samples = check(path, events, counted)
            if name == "before":
                check_viewers(work, path, samples)
        check_copy(work, made["before"], CLOCK)
        check_against(work, made["before"], made["behind"], made["faults"])


main()
finish()

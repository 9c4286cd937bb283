"""ovni: events walked, text and timelines against ovni's own tools, on a generated trace of nOS-V.

The tools are looked for in the folder that $YORE_OVNI_TOOLS names, else in PATH: ovnitop counts events by kind,
ovnidump prints them, ovniemu draws threads and CPUs. CPU seconds of whole processes, on one thread.
"""
import json
import os
import shutil
import struct
import subprocess

from measure import cpu, middle, seconds_of, stats_of

THREADS = 4
EVENT_BYTES = 16


def event(name, clock, payload=b""):
    return bytes([len(payload) - 1 if payload else 0]) + name.encode() + struct.pack("<Q", clock) + payload


def task(number, clock):
    """The life of a task: created, submitted, run, paused and ended."""
    ids, body = struct.pack("<II", number, 1), struct.pack("<II", number, 0)
    names = (("VTc", ids), ("VAs", b""), ("VAS", b""), ("VTx", body), ("VTp", body), ("VAs", b""), ("VAS", b""),
             ("VTr", body), ("VTe", body))
    return b"".join(event(name, clock + 40 * i, payload) for i, (name, payload) in enumerate(names)), len(names)


def stream(index, events):
    """One thread's events, and how many."""
    clock, data, count = 1000 + index, [b"ovni" + struct.pack("<I", 1)], 0
    data.append(event("OHx", clock, struct.pack("<iiQ", index, 1000 + index, 0)))
    if index == 0:
        label = struct.pack("<I", 1) + b"work\0"
        data.append(bytes([0x10 | 3]) + b"VYc" + struct.pack("<QI", clock + 1, len(label)) + label)
        count += 1
    else:
        clock += 1000  # the type is there before its tasks
    for number in range(index + 1, 1 << 32, THREADS):
        if count >= events:
            break
        clock += 1000
        more, n = task(number, clock)
        data.append(more)
        count += n
    data.append(event("OHe", clock + 1000))
    return b"".join(data), count + 2


def generate(folder, events):
    total = size = 0
    for index in range(THREADS):
        home = "%s/loom.node1.bench/proc.1000/thread.%d" % (folder, 1000 + index)
        os.makedirs(home)
        about = {"part": "thread", "tid": 1000 + index, "pid": 1000, "loom": "node1.bench", "app_id": 1, "finished": 1,
                 "lib": {"version": "1.11.0", "commit": "unknown"}, "require": {"ovni": "1.1.0", "nosv": "2.6.0"}}
        if index == 0:
            about["loom_cpus"] = [{"index": i, "phyid": i} for i in range(THREADS)]
        with open(home + "/stream.json", "w", encoding="ascii") as file:
            json.dump({"version": 3, "ovni": about}, file)
        data, count = stream(index, events // THREADS)
        with open(home + "/stream.obs", "wb") as file:
            file.write(data)
        total += count
        size += len(data)
    return total, size


def tool(name):
    folder = os.environ.get("YORE_OVNI_TOOLS", "")
    path = os.path.join(folder, name) if folder else shutil.which(name)
    return path if path and os.access(path, os.X_OK) else None


def emulate(emu, trace, work):
    """(CPU seconds, peak of memory in MB) of ovniemu on a copy, beside which it writes."""
    copy = work + "/emulated"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(trace, copy)
    with subprocess.Popen([emu, copy], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as child:
        said = child.stderr.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    shutil.rmtree(copy)
    if child.returncode:
        raise SystemExit("ovniemu: " + said.decode(errors="replace")[-500:])
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6


def ovni(build, work, _corpus, args, report):
    tools = {name: tool(name) for name in ("ovnitop", "ovnidump", "ovniemu")}
    missing = [name for name, path in tools.items() if not path]
    if missing:
        print("ovni: skipped: no %s in $YORE_OVNI_TOOLS or PATH" % ", ".join(missing))
        return
    trace, index = work + "/ovni", work + "/ovni-index"
    events, size = generate(trace, args.size // 4 // EVENT_BYTES)
    label = "ovni, %d MB" % (size // 1000000)
    rounds = min(args.rounds, 3)
    yore = build + "/yore"
    taken = seconds_of({"ovnitop": [tools["ovnitop"], trace], "ovnidump": [tools["ovnidump"], trace],
                        "counted": [yore, "stats", trace, "--no-index", "--jobs", "1"],
                        "walk": [yore, "events", trace, "--count", "--no-index", "--jobs", "1"],
                        "text": [yore, "events", trace, "--no-index", "--jobs", "1"]}, rounds)
    rate = {name: events / seconds / 1e6 for name, seconds in taken.items()}
    report.row(label + ": events walked", rate["walk"], "M events/s", rate["ovnitop"], "ovnitop", 3)
    report.row(label + ": events counted by kind", rate["counted"], "M events/s", rate["ovnitop"], "ovnitop")
    report.row(label + ": text", rate["text"], "M events/s", rate["ovnidump"], "ovnidump", 8)
    emulated, built, theirs, ours = [], [], 0, 0
    for _ in range(rounds):
        seconds, memory = emulate(tools["ovniemu"], trace, work)
        emulated.append(seconds)
        theirs = max(theirs, memory)
        shutil.rmtree(index, ignore_errors=True)
        seconds, _, done = cpu([yore, "index", trace, "--timelines", "--stats", "--jobs", "1", "--index-dir", index])
        built.append(seconds)
        ours = max(ours, stats_of(done).get("peak_anonymous_bytes", 0))
    report.row(label + ": timelines", events / middle(built) / 1e6, "M events/s", events / middle(emulated) / 1e6,
               "ovniemu", 5)
    report.row(label + ": timelines, anonymous memory", ours / 1e6, "MB")
    report.row(label + ": ovniemu, resident memory", theirs, "MB")
    for folder in (trace, index):
        shutil.rmtree(folder, ignore_errors=True)

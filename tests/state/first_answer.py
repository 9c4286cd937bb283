#!/usr/bin/python3
"""What a first answer reads, in packets, and that the names beside it are right.

Who ran on a CPU at a moment of a generated trace of 8 CPUs, without an index: at most 4 packets for
one CPU where the rules tell no names, and 24 for one or all with their names, which are looked for in
the packets of all streams; where the rules tell few names, twice those of the value and three of each
stream (the search ends at the next look at what was read), or 768 KB where packets are small. Half of the moments lie beside the edge of a packet. Values and names are those of the switches that
babeltrace2 prints (without it: values alone, those of the truth file).

Then traces of two CPUs made here, in which threads are renamed by themselves and by others, before
and after the moment: the name is the one that the thread had then, with stored timelines as without.
"""
import bisect
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("srcdir", ".")
BUILD = os.environ.get("top_builddir", ".")
sys.dont_write_bytecode = True
sys.path.insert(0, SOURCE + "/tests/lua")
import kernel_ctf

YORE = BUILD + "/yore"
CPUS, MOMENTS, SEED = 8, 24, 11
BUDGET = 3 << 18  # bytes that may be read with a search for names, in any case
MOST = {"cpu[3]/thread": 4, "cpu[*]/thread": 24}  # packets, of values without names
NAMED = 24  # with names
NO_NAMES = """event sched_switch
	was cpu[section/cpu]/thread = field/prev_tid
	cpu[section/cpu]/thread = field/next_tid
	thread[field/next_tid]/state = "on"
"""
ONE_LINE = "event sched_switch\n\tcpu[section/cpu]/thread = field/next_tid\n"
RARE_NAMES = NO_NAMES + """event sched_process_fork
	thread[field/child_tid]/name = field/child_comm
"""
wrong = []


def at(trace, word, path, rules, *more, index=("--no-index",)):
    """Values and names by CPU, and what they cost."""
    command = [YORE, "at", trace, word, path, *index, "--stats", "--format", "json", *more]
    done = subprocess.run(command + (["--rules", rules] if rules else []), check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    found = {int(re.search(r"\[(\d+)\]", row["path"])[1]): (row["value"], row.get("comm"))
             for row in rows}
    return found, json.loads(done.stderr.splitlines()[-1])


def expect(what, got, wanted):
    if got != wanted:
        wrong.append("%s: %s, not %s" % (what, got, wanted))


def told_by_babeltrace2(trace):
    """By CPU: times of switches; who runs from then on, and its name. By thread: times of forks, names."""
    told, forks = {cpu: ([], []) for cpu in range(CPUS)}, {}
    out = subprocess.Popen(["babeltrace2", trace, "--clock-seconds"], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True)
    for line in out.stdout:
        head = re.match(r"\[(\d+)\.(\d+)\].* sched_switch: \{ cpu_id = (\d+) \}", line)
        if head:
            told[int(head[3])][0].append(int(head[1] + head[2]))
            told[int(head[3])][1].append((int(re.search(r"next_tid = (\d+)", line)[1]),
                                          re.search(r'next_comm = "([^"]*)"', line)[1]))
        fork = re.match(r"\[(\d+)\.(\d+)\].* sched_process_fork: .*child_comm = \"([^\"]*)\", "
                        r"child_tid = (\d+)", line)
        if fork:
            forks.setdefault(int(fork[4]), []).append((int(fork[1] + fork[2]), fork[3]))
    return told, forks


def told_by_truth(trace):
    told = {cpu: ([], []) for cpu in range(CPUS)}
    with open(trace + ".truth", "rb") as file:
        for time, tid, cpu, kind in struct.iter_unpack("<qiHH", file.read()[32:]):
            if kind == 0:
                told[cpu][0].append(time)
                told[cpu][1].append((tid, None))
    return told, None


def moments(trace):
    """Half of them within some microseconds of the begin of a packet."""
    out = subprocess.run([YORE, "sql", trace, "SELECT first, last FROM packets", "--format", "csv",
                          "--no-index"], check=True, stdout=subprocess.PIPE).stdout
    rows = [tuple(map(int, row.split(b","))) for row in out.split()[1:]]
    first, last, chance = min(rows)[0], max(row[1] for row in rows), random.Random(SEED)
    edge = (last - first) // 10
    inner = [row[0] for row in rows if first + edge < row[0] < last - edge]
    for i in range(MOMENTS):
        yield first, (chance.choice(inner) + chance.randrange(-20000, 20000) if i % 2
                      else chance.randrange(first + edge, last - edge))


def counted(folder, size, packet):
    """A trace of `size` MB in packets of so many KB."""
    trace = folder + "/generated%d" % packet
    subprocess.run([BUILD + "/fixtures/yore-gen", "--out", trace, "--size", "%dM" % size, "--cpus",
                    str(CPUS), "--packet-size", "%dK" % packet, "--seed", str(SEED)], check=True)
    has_names = shutil.which("babeltrace2") is not None
    told, forks = told_by_babeltrace2(trace) if has_names else told_by_truth(trace)
    if not has_names:
        print("names: skipped: babeltrace2 is not installed")
    for name, text in (("", None), ("one", ONE_LINE), ("none", NO_NAMES), ("rare", RARE_NAMES)):
        rules = folder + "/" + name
        if text:
            with open(rules, "w") as file:
                file.write(text)
        for number, (first, moment) in enumerate(moments(trace)):
            words = ["@%d" % moment, "+%d.%09ds" % divmod(moment - first, 10**9)]
            for path, most in MOST.items():
                found, cost = at(trace, words[number // 2 % 2], path, text and rules)
                if name == "rare":
                    bound = max(2 * (most + 3 * CPUS), BUDGET // (packet << 10) + 1)
                else:
                    bound = most if name else NAMED
                if cost["packets_decoded"] > bound:
                    wrong.append("%s at @%d, rules '%s': %d packets" % (path, moment, name,
                                                                        cost["packets_decoded"]))
                for cpu, (tid, comm) in found.items():
                    times, values = told[cpu]
                    last = values[bisect.bisect(times, moment) - 1]
                    if name == "rare" or not has_names: # a number may stand alone
                        last = (last[0], comm)
                    elif name: # these rules tell no name
                        last = (last[0], None)
                    elif last[0] == 0:
                        last = (0, comm if comm and comm.startswith("swapper") else "swapper")
                    expect("%s at @%d, rules '%s'" % (path, moment, name), (tid, comm), last)

    asked_further(trace, folder + "/rare", told, forks)
    beside_unwritten(trace, folder)


def asked_further(trace, rules, told, forks):
    """With --names it is the last fork that told the thread's name, if one did."""
    for _, moment in list(moments(trace))[:6] if forks is not None else ():
        tid = told[3][1][bisect.bisect(told[3][0], moment) - 1][0]
        names = [comm for time, comm in forks.get(tid, []) if time <= moment]
        found, _ = at(trace, "@%d" % moment, "cpu[3]/thread", rules, "--names")
        expect("--names at @%d" % moment, found[3], (tid, names[-1] if names else None))


def beside_unwritten(trace, folder):
    """cpu[3]/timer is written by events that the trace does not have."""
    index = ("--index-dir", folder + "/index")
    for _, moment in moments(trace):
        def ask(*paths):
            done = subprocess.run([YORE, "at", trace, "@%d" % moment, *paths, *index, "--stats", "--format", "json"], check=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            rows = [json.loads(line) for line in done.stdout.splitlines()]
            return rows, json.loads(done.stderr.splitlines()[-1])["packets_decoded"]

        alone = [ask(path) for path in ("cpu[3]/hrtimer", "cpu[3]/timer", "cpu[5]/irq")]
        rows, packets = ask("cpu[3]/hrtimer", "cpu[3]/timer", "cpu[5]/irq")
        expect("with others at @%d" % moment, rows, sum((own for own, _ in alone), []))
        if packets > sum(own for _, own in alone) + 2:
            wrong.append("with others at @%d: %d packets, alone %s" % (moment, packets, [own for _, own in alone]))
        rows, _ = ask("cpu[3]/thread")
        thread = "thread[%s]" % rows[0]["value"]
        rows, packets = ask(thread + "/waker")
        out = subprocess.run([YORE, "sql", trace, "SELECT count(*) FROM packets WHERE first <= %d AND last >= %d" %
                              (moment, rows[0].get("since") or 0), "--format", "csv", "--no-index"], check=True, stdout=subprocess.PIPE).stdout
        near = int(out.split()[1])
        if packets > 4 * (near + 3 * CPUS):
            wrong.append("%s/waker at @%d: %d packets, %d since it was woken" % (thread, moment, packets, near))


def text(string):
    return string.encode() + b"\0"


def switch(time, prev, prev_comm, tid, comm):
    return (struct.pack("<IQ", 0, time) + text(prev_comm) + struct.pack("<iiq", prev, 20, 0) +
            text(comm) + struct.pack("<ii", tid, 20))


def renamed(time, tid, old, new):
    return struct.pack("<IQi", 1, time, tid) + text(old) + text(new)


def other(time):
    return struct.pack("<IQB", 2, time, 0)


def job(time, tid, name):
    return struct.pack("<IQi", 3, time, tid) + text(name)


def made(folder):
    """Names of threads 5 and 7, which run on CPU 0; what CPU 1 tells of them is told by another thread."""
    events = {1: ("task_rename", "s32 tid; string oldcomm; string newcomm;"), 2: ("other", "u8 nothing;"),
              3: ("job", "s32 tid; string name;")}
    kernel_ctf.write(folder + "/made", events, "", {
        0: other(100) + switch(1000, 5, "five", 7, "seven") + renamed(3000, 7, "eight", "nine") +
           switch(4000, 7, "nine", 5, "five") + switch(9500, 5, "six", 7, "nine"),
        1: other(150) + renamed(700, 5, "four", "five") + renamed(2000, 7, "seven", "eight") +
           job(6000, 5, "work") + renamed(8000, 5, "five", "six") + other(9000)})
    names = [(500, 5, "four"), (699, 5, "four"), (700, 5, "five"), (999, 5, "five"),
             (1000, 7, "seven"), (1999, 7, "seven"), (2000, 7, "eight"), (2999, 7, "eight"),
             (3000, 7, "nine"), (3999, 7, "nine"), (4000, 5, "five"), (7999, 5, "five"),
             (8000, 5, "six"), (8999, 5, "six")]
    none, jobs = folder + "/none", folder + "/jobs"
    with open(jobs, "w") as file:
        file.write(NO_NAMES + "event job\n\tthread[field/tid]/name = field/name\n")
    stored = ("--index-dir", folder + "/index")
    for rules in (None, none, jobs):
        subprocess.run([YORE, "index", folder + "/made", "--timelines", *stored] +
                       (["--rules", rules] if rules else []), check=True, stdout=subprocess.DEVNULL)
    for moment, tid, comm in names:
        for rules in (None, none, jobs):
            found, _ = at(folder + "/made", "@%d" % moment, "cpu[0]/thread", rules)
            again, _ = at(folder + "/made", "@%d" % moment, "cpu[0]/thread", rules, index=stored)
            expect("@%d by %s, stored" % (moment, rules and os.path.basename(rules)), again, found)
            if rules == jobs:
                wanted = "work" if moment >= 6000 else None
            elif rules == none:
                wanted = None
            else:
                wanted = comm
            expect("@%d by %s" % (moment, rules and os.path.basename(rules)), found[0], (tid, wanted))


def main():
    folder = tempfile.mkdtemp(prefix="yore-first-")
    try:
        counted(folder, 16, 32)
        counted(folder, 48, 256)
        made(folder)
    finally:
        shutil.rmtree(folder)
    for line in wrong[:20]:
        print(line)
    sys.exit(len(wrong) > 0)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Threads by name: paths, --tid, --comm, --pid and --cpu answer what a machine did whose threads share names.

The judge is the machine of this script: it says who ran where and when, and what each thread was called. Two threads are called
"worker", one is called "bash" first and "make" later, and a name has a star in it. Times are from the first switch of a CPU on,
since before that nothing is known of it.
"""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from results import finish, result, top, yore

sys.path.insert(0, top + "/tests/lua")
import kernel_ctf

FIRST = 1_000_000_000
NAMES = {100: "worker", 101: "worker", 102: "main", 103: "bash", 104: "w*"}


class Machine:
    """Each CPU switches between threads; threads keep to their CPU, and thread 103 becomes "make" half way."""

    def __init__(self):
        self.random = random.Random(7)
        self.names = dict(NAMES)
        self.streams = {0: [], 1: []}
        self.runs = []  # of threads: (cpu, tid, begin, end, name at the begin)
        self.running = {0: (0, 0), 1: (0, 0)}
        self.now = FIRST

    def switch(self, cpu, to):
        tid, since = self.running[cpu]
        self.now += self.random.randrange(1, 5000)
        names = [self.names.get(thread, "swapper").encode() + b"\0" for thread in (tid, to)]
        self.streams[cpu].append(struct.pack("<IQ", 0, self.now) + names[0] + struct.pack("<iiq", tid, 20, 1) +
                                 names[1] + struct.pack("<ii", to, 20))
        if tid:
            self.runs.append((cpu, tid, since, self.now))
        self.running[cpu] = (to, self.now)

    def work(self):
        homes = {0: (100, 102, 103), 1: (101, 104)}
        for step in range(400):
            cpu = self.random.randrange(2)
            others = [tid for tid in homes[cpu] + (0,) if tid != self.running[cpu][0]]
            self.switch(cpu, self.random.choice(others))
            if step == 200:
                for each in (0, 1):
                    if self.running[each][0] == 103:
                        self.switch(each, 0)
                self.names[103] = "make"
                self.renamed = self.now
        for cpu in (0, 1):
            if self.running[cpu][0]:
                self.switch(cpu, 0)


def ask(*words):
    done = subprocess.run([yore, *words, "--no-index"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def rows(command, *words):
    status, said, _ = ask(command, trace, *words, "--format", "json")
    return None if status else [json.loads(line) for line in said.splitlines()]


def runs_of(tids):
    return sorted(("thread[%d]/state" % tid, begin, end) for _, tid, begin, end in machine.runs if tid in tids)


def running(*words):
    found = rows("when", *words)
    return found and sorted((row["path"], row["begin"], row["end"]) for row in found)


def check(what, got, wanted):
    if got == wanted:
        return result(True, what)
    return result(False, what, "got %.600r\nwanted %.600r" % (got, wanted))


def check_paths():
    check("a name is that of two threads", running('thread["worker"]/state="running"'), runs_of({100, 101}))
    check("a bare word is a name, too", running("thread[main]/state=running"), runs_of({102}))
    for name in ("bash", "make"):
        check("a thread that was called %s at some time" % name, running('thread["%s"]/state="running"' % name), runs_of({103}))
    check("a star in quotes is a star", running('thread["w*"]/state=running'), runs_of({104}))
    check("several words", running('thread["make"]/state=running', "thread[104]/state=running"), runs_of({103, 104}))
    middle = next(begin for _, tid, begin, _ in machine.runs[len(machine.runs) // 2:] if tid == 101) + 1
    found = rows("at", "@%d" % middle, 'thread["worker"]/state')
    check("at a moment", [row["path"] for row in found], ["thread[100]/state", "thread[101]/state"])
    check("a range without the name", rows("state", 'thread["bash"]/state', "--begin", "@%d" % (machine.now - 50)), [])
    said = ask("state", trace, 'thread["workr"]/state')
    check("nobody is called so", ("no thread is called 'workr'" in said[2], 'did you mean "worker"' in said[2], said[1], said[0]),
          (True, True, "", 0))
    sql = ask("sql", trace, "SELECT count(*) FROM state('thread[\"worker\"]/state') WHERE value = 'running'", "--format", "csv")
    check("in SQL", sql[1].split()[-1], str(len(runs_of({100, 101}))))
    check("a value of SQL is of one thread", ask("sql", trace, "SELECT state_at('thread[\"main\"]/state', 5)")[0], 2)
    script = os.path.join(work, "named.lua")
    with open(script, "w") as file:
        file.write("local now = trace:at(%d, 'thread[\"worker\"]/state')\nlocal n = 0\nfor _ in pairs(now) do n = n + 1 end\n"
                   "print(n, #trace:segments{ path = 'thread[\"worker\"]/state', value = 'running' })" % middle)
    check("in Lua", ask("run", script, trace)[1].split(), ["2", str(len(runs_of({100, 101})))])
    said = ask("events", trace, "--where", 'thread["main"]/state == "running"')
    check("a condition says what to do", ("--tid NAME" in said[2], said[0]), (True, 2))


def check_rows():
    every = "thread[*]/state=running"
    check("--tid NAME", running(every, "--tid", "worker"), runs_of({100, 101}))
    check("--tid of numbers and names", running(every, "--tid", "make,100", "--tid", "104-200"), runs_of({100, 103, 104}))
    check("--comm GLOB", running(every, "--comm", "wor*"), runs_of({100, 101}))
    early = [run for run in runs_of({103}) if run[2] <= machine.renamed]
    check("--comm is the name then", running(every, "--comm", "bash"), early)
    check("--cpu of threads", running(every, "--cpu", "1"), runs_of({101, 104}))
    check("--cpu and --comm", running(every, "--cpu", "1", "--comm", "w[*o]*"), runs_of({101, 104}))
    found = rows("state", "cpu[*]/thread", "--tid", "worker", "--cpu", "0")
    check("--tid of a value", sorted((row["begin"], row["end"]) for row in found), sorted(run[1:] for run in runs_of({100})))
    found = rows("longest", "cpu[*]/thread", "--comm", "main", "--limit", "1")
    check("longest", max(end - begin for _, begin, end in runs_of({102})), found[0]["end"] - found[0]["begin"])
    said = ask("timeline", trace, "cpu[*]/thread", "--tid", "worker", "--format", "csv")
    check("timeline draws no other", {"102", "103", "104"} & set(said[1].replace(",", " ").split()), set())
    said = ask("state", trace, every[:15], "--comm", "nobody")
    check("nothing passes", ("no interval passes --comm nobody" in said[2], said[1]), (True, ""))
    moment = next(begin for _, tid, begin, _ in machine.runs[len(machine.runs) // 2:] if tid == 101) + 1
    for at, then in ((moment, "running"), (moment - 1, "running"), (moment - 2, "sleeping")):
        for words in (["--tid", "101"], ["--comm", "worke*", "--cpu", "1"]):
            found = rows("at", "@%d" % at, "thread[*]/state", *words)
            check("at %d %s" % (at, words), [(row["path"], row["value"]) for row in found], [("thread[101]/state", then)])
    found = rows("at", "@%d" % moment, "@%d" % (machine.now - 1), "thread[*]/state", "--tid", "main,w*")
    check("at two moments", [row["path"] for row in found], ["thread[102]/state", "thread[104]/state"] * 2)
    check("at --comm is the name then", [[row["path"] for row in rows("at", each, "thread[103]/state", "--comm", "make")]
                                         for each in ("@%d" % (FIRST + 100000), "@%d" % (machine.now - 1))], [[], ["thread[103]/state"]])
    found = rows("at", "@%d" % moment, "--before", "cpu[*]/thread", "--comm", "worker", "--cpu", "1")
    check("at --before", [(row["path"], row["value"]) for row in found], [("cpu[1]/thread", 101)])
    words = ["@%d" % (moment - 2), "@%d" % moment, "thread[*]/state"]
    check("diff --tid", [row["path"] for row in rows("diff", *words, "--tid", "101")], ["thread[101]/state"])
    check("diff --comm", [row["path"] for row in rows("diff", *words, "--comm", "worker")], ["thread[101]/state"])
    check("diff of others", "no value of the threads and CPUs asked for differs" in ask("diff", trace, *words, "--comm", "main")[2], True)
    check("nobody at a moment", "no value here is of the threads" in ask("at", trace, words[1], words[2], "--comm", "nobody")[2], True)
    check("a CPU that is not there", ask("longest", trace, "cpu[*]/thread", "--cpu", "9")[0], 1)
    check("--pid takes numbers", ask("longest", trace, "cpu[*]/thread", "--pid", "main")[0], 2)


def check_events():
    for words, tids in ((["--tid", "worker"], {100, 101}), (["--tid", "make"], {103}), (["--tid", "102,worker"], {100, 101, 102})):
        numbers = ",".join(map(str, sorted(tids)))
        check("events " + " ".join(words), ask("events", trace, *words)[1], ask("events", trace, "--tid", numbers)[1])
    check("not a number", ask("events", trace, "--tid", "1x")[0], 2)


def analysis(*words):
    status, said, _ = ask(*words, "--format", "csv")
    lines = [line.split(",") for line in said.splitlines()]
    return status, [dict(zip(lines[0], line)) for line in lines[1:]] if lines else []


def check_analyses():
    times = {}
    for _, tid, begin, end in machine.runs:
        times[tid] = times.get(tid, 0) + end - begin
    for words, tids in ((["--tid", "worker"], {100, 101}), (["--tid", "bash"], {103}), (["--comm", "ma[ik]*"], {102, 103}),
                        (["--cpu", "1"], {101, 104}), (["--cpu", "0", "--tid", "worker,main"], {100, 102})):
        found = analysis("sched", trace, "top", *words)[1]
        check("sched " + " ".join(words), {int(row["tid"]): int(row["total"]) for row in found},
              {tid: times[tid] for tid in tids})
    found = analysis("offcpu", trace, "--tid", "worker")[1]
    check("offcpu", {row["tid"] for row in found}, {"100", "101"})
    check("offcpu by the CPU of the thread", {row["tid"] for row in analysis("offcpu", trace, "--cpu", "1")[1]}, {"101", "104"})
    said = ask("cputop", trace, "threads", "--tid", "mian")
    check("a name that nobody has", ("no thread is called 'mian'" in said[2], 'did you mean "main"' in said[2],
                                     "nothing that --tid mian leaves" in said[1]), (True, True, True))
    named = ask("critical-path", trace, "--tid", "worker")[1].split("\n\n")
    check("a path of each thread of a name", named[1:], [ask("critical-path", trace, "--tid", tid)[1].split("\n\n")[1].rstrip("\n") + end
                                                         for tid, end in (("100", ""), ("101", "\n"))])
    check("which a name may be", ask("critical-path", trace, "--tid", "main")[1], ask("critical-path", trace, "--tid", "102")[1])
    check("rows that are not of threads", ask("gaps", trace, "--tid", "5")[0], 2)


machine = Machine()
machine.work()
with tempfile.TemporaryDirectory() as work:
    trace = os.path.join(work, "trace")
    kernel_ctf.write(trace, {}, "", {cpu: b"".join(parts) for cpu, parts in machine.streams.items()})
    check_paths()
    check_rows()
    check_events()
    check_analyses()
finish()

#!/usr/bin/python3
"""two_recorders.py YORE [ROUNDS [FOLDER]], or YORE --compare MINE OTHER: what yore knows of a recording, against a second recorder of the same time.

One `perf record -a` of sched_switch alone runs all the time, with large buffers, on the same clock: its switches, as `perf script` prints them,
are the truth. Meanwhile short recordings of many kinds are made: of all CPUs, of tasks, with a buffer of one page, with events that are
enabled late or one after the other, and with switches taken out afterwards. No thread may be known to run, or not to run,
where the other recorder says otherwise, and nothing that no machine can do may be told; what a thread does near the end is told alike of
that thread alone, for which few packets are read. Rounds go through the kinds. 77 (skipped) where perf records nothing here.
With FOLDER the recordings of rounds that fail stay there."""
import bisect, csv, json, os, random, re, shutil, signal, struct, subprocess, sys, tempfile, time

yore = os.path.abspath(sys.argv[1] if sys.argv[1:] else os.environ.get("top_builddir", ".") + "/yore")
compared = sys.argv[3:5] if sys.argv[2:3] == ["--compare"] else None
rounds = int(sys.argv[2]) if sys.argv[2:] and not compared else 6
keep = sys.argv[3] if sys.argv[3:] else None
work = tempfile.mkdtemp(prefix="yore-two-recorders-")
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
ENVIRONMENT = dict(os.environ, PAGER="cat", PERF_CONFIG="/dev/null", XDG_CACHE_HOME=work + "/cache", XDG_CONFIG_HOME=work + "/config",
                   YORE_LUA_DIR=os.path.abspath(os.path.join(os.environ.get("srcdir", "."), "lua-lib")))
SKEW = 3000000
NEAR = 30000  # ns: each recorder takes a time of its own for the same switch
LOAD = "for i in 1 2 3; do (sleep 0.01; ls -R /usr/include >/dev/null; echo $i | gzip | md5sum >/dev/null) & done; wait"
SWITCH, WAKE, CALLS = ["-e", "sched:sched_switch"], ["-e", "sched:sched_wakeup", "-e", "sched:sched_waking"], ["-e", "raw_syscalls:*"]
TASK = ["--", "sh", "-c", LOAD]
ALL = ["-a", "--", "sleep", "0.15"]
KINDS = [  # name, options; `late`: events that are enabled one after the other; `drop`: share of switches that is taken out
    ("all CPUs", SWITCH + ALL, {}),
    ("tasks", SWITCH + TASK, {}),
    ("all CPUs, one page", SWITCH + ["-m", "1"] + ALL, {}),
    ("all CPUs, enabled late", SWITCH + ["-D", "60"] + ALL, {}),
    ("switches enabled last", CALLS + WAKE + SWITCH + ["-a"], {"late": ["raw_syscalls:sys_enter", "sched:sched_wakeup", "sched:sched_switch"]}),
    ("tasks, switches missing", SWITCH + TASK, {"drop": 0.05}),
    ("all scheduler events", ["-e", "sched:*"] + ALL, {}),
    ("tasks, all scheduler events", ["-e", "sched:*"] + TASK, {}),
    ("tasks, one page", SWITCH + CALLS + ["-m", "1"] + TASK, {}),
    ("all CPUs, switches missing", SWITCH + ALL, {"drop": 0.01}),
    ("wake-ups enabled last", SWITCH + WAKE + ["-a"], {"late": ["sched:sched_switch", "sched:sched_wakeup"]}),
    ("switch records", ["-e", "cpu-clock", "--switch-events"] + ALL, {}),
    ("tasks, switch records", ["-e", "cpu-clock", "--switch-events"] + TASK, {}),
    ("all CPUs, calls, one page", CALLS + SWITCH + ["-m", "1"] + ALL, {}),
    # perf takes long to stop them on each CPU, where threads come and go meanwhile, while other CPUs are still recorded
    ("all CPUs, many events", SWITCH + ["-e", "syscalls:sys_enter_*"] + ALL, {}),
]


def record(path, options, late=()):
    words = ["perf", "record", "-q", "-o", path]
    if not late:
        return subprocess.run(words + options, env=ENVIRONMENT, **QUIET, check=False).returncode
    control = os.path.join(work, "control")
    os.path.exists(control) or os.mkfifo(control)
    perf = subprocess.Popen(words + ["-D", "-1", "--control", "fifo:" + control] + options + ["--", "sleep", "0.4"], env=ENVIRONMENT, **QUIET)
    with open(control, "w") as file:
        for name in late:
            time.sleep(0.07)
            file.write("enable %s\n" % name)
            file.flush()
        perf.wait()
    return perf.returncode


LINE = re.compile(r"\[(\d+)\]\s+(\d+)\.(\d{9}):.*prev_pid=(\d+) .*next_pid=(\d+) ")
RECORD = re.compile(r"(-?\d+)\s+\[(\d+)\]\s+(\d+)\.(\d{9}): PERF_RECORD_SWITCH_CPU_WIDE OUT .*tid: *-?\d+/(-?\d+)")


def switches_of(path):
    """By CPU (time, thread that leaves, thread that comes), in order; of switch records a thread that has ended is -1."""
    text = subprocess.run(["perf", "script", "--ns", "--show-switch-events", "-F", "tid,cpu,time,trace", "-i", path], capture_output=True, text=True,
                          env=ENVIRONMENT, check=False).stdout
    switches = {}
    for line in text.splitlines():
        found, record = LINE.search(line), RECORD.search(line)
        if found:
            cpu, seconds, ns, left, came = map(int, found.groups())
        elif record:
            left, cpu, seconds, ns, came = map(int, record.groups())
        if found or record:
            switches.setdefault(cpu, []).append((seconds * 10**9 + ns, left, came))
    return {cpu: sorted(items) for cpu, items in switches.items()}


def drop(path, share, chance):
    """Switches of a recording of one event become marks of rounds, which say nothing: where the next one on that CPU tells that another thread
    leaves, and stays. What no event contradicts nobody can know."""
    times, stays = set(), set()
    for items in switches_of(path).values():
        for a, b in zip(items, items[1:]):
            if a[1] != b[1] and a[0] not in stays and chance.random() < share:
                times.add(a[0])
                stays.add(b[0])
    with open(path, "rb") as file:
        data = bytearray(file.read())
    at, size = struct.unpack_from("<QQ", data, 40)
    end = at + size
    while at < end:
        kind, _, length = struct.unpack_from("<IHH", data, at)
        if kind == 9 and times & set(struct.unpack_from("<QQ", data, at + 24)):
            struct.pack_into("<I", data, at, 68)
        at += length
    with open(path, "wb") as file:
        file.write(data)


def is_same(one, other):
    return all(a == b or -1 in (a, b) for a, b in zip(one[1:], other[1:]))


def apart(items, i, mine, j):
    """How far a switch and those beside it are from one of the other recorder and those beside that: threads that take turns make the same
    switch again and again."""
    return sum(abs(items[i + d][0] - mine[j + d][0]) for d in (-1, 0, 1) if 0 <= i + d < len(items) and 0 <= j + d < len(mine))


def times_of(items, i, mine):
    """When the two recorders saw it: one may be held up for long before it takes its own time, and a switch record comes behind the tracepoint."""
    at = items[i][0]
    near = [j for j in range(bisect.bisect_left(mine, (at - SKEW,)), bisect.bisect(mine, (at + SKEW,))) if is_same(mine[j], items[i])]
    same = mine[min(near, key=lambda j: apart(items, i, mine, j))][0] if near else at
    return min(same, at), max(same, at)


def truth(path, mine):
    """By CPU the stretches between two switches that agree: surely from and until, thread, perhaps from and until. Of others nothing is known."""
    own, known = switches_of(mine), {}
    for cpu, items in switches_of(path).items():
        times = [times_of(items, i, own.get(cpu, [])) for i in range(len(items))]
        known[cpu] = [(s[1], e[0], a[2], s[0], e[1]) for a, b, s, e in zip(items, items[1:], times, times[1:]) if a[2] == b[1]]
    return known


def asked(path, what, last):
    text = subprocess.run([yore, "state", path, what, "--no-index", "--time", "ns", "--format", "csv"], capture_output=True, text=True,
                          env=ENVIRONMENT, check=False).stdout
    for row in csv.DictReader(text.splitlines()):
        if row["begin"] and row["end"] and int(row["begin"]) < last:
            key = int(re.search(r"\[(\d+)\]", row["path"]).group(1))
            yield key, int(row["begin"]), int(row["end"]), row["value"]


def overlapping(stretches, begin, end, low=0, high=1):
    """Those of which [low, high) meets [begin, end). Their times are not in order: each end is the earlier, or the later, of what two recorders say."""
    return [s for s in stretches if s[low] < end and s[high] > begin]


def wrong_cpus(path, known, last):
    """cpu[N]/thread against the stretches of that CPU."""
    count, wrong = 0, []
    for cpu, begin, end, value in asked(path, "cpu[*]/thread", last):
        count += 1
        for from_, until, thread, *_ in overlapping(known.get(cpu, []), begin, end):
            if int(value) != thread and min(end, until) - max(begin, from_) > 2 * NEAR:
                wrong.append("cpu[%d] runs %s from %d to %d, where it is %d from %d to %d" % (cpu, value, begin, end, thread, from_, until))
                break
    return count, wrong


def wrong_threads(path, known, last):
    """A thread that runs may be anywhere where the other recorder knows nothing; one that does not run must not run there."""
    of, gaps, count, wrong = {}, [], 0, []
    for stretches in known.values():
        gaps.append([])
        for a, b in zip([(0, 0, 0, 0, 0)] + stretches, stretches + [(2**63, 2**63, 0, 2**63, 2**63)]):
            if a[4] < b[3]:
                gaps[-1].append((a[4], b[3]))
        for stretch in stretches:
            of.setdefault(stretch[2], []).append(stretch)
    for items in of.values():
        items.sort()
    for tid, begin, end, value in asked(path, "thread[*]/state", last):
        runs = [(s[0], s[1]) for s in overlapping(of.get(tid, []), begin, end)]
        perhaps = [(s[3], s[4]) for s in overlapping(of.get(tid, []), begin, end, 3, 4)]
        count += 1
        if value != "running":
            bad = [r for r in runs if min(end, r[1]) - max(begin, r[0]) > 2 * NEAR and value not in ("exiting", "unknown")]
        else:
            bad, at = [], begin
            for from_, until in sorted(perhaps + [g for of_cpu in gaps for g in overlapping(of_cpu, begin, end)]) + [(end, end)]:
                if from_ - at > 2 * NEAR:
                    bad.append((at, from_))
                at = max(at, until)
        if bad:
            wrong.append("thread[%d] is %s from %d to %d, but %s from %d to %d"
                         % (tid, value, begin, end, "does not run" if value == "running" else "runs", *bad[0]))
    return count, wrong


def impossible(path):
    """What no machine can do, as `check --state` finds it."""
    text = subprocess.run([yore, "check", path, "--state", "--no-index", "--format", "json"], capture_output=True, text=True, env=ENVIRONMENT,
                          check=False).stdout
    rows = [json.loads(line) for line in text.splitlines()]
    return ["%(what)s from %(begin)s to %(end)s" % row for row in rows if row["kind"] == "violation"]


ALL = """local _, stop = trace:bounds()
local moments = { [stop - 1] = true }
for _, row in ipairs(trace:at(stop - 1, "thread[*]/state", { rows = true })) do
	if not row.known then moments[math.min(row.since + 100000, stop - 1)] = true end
end
for moment in pairs(moments) do
	for _, row in ipairs(trace:at(moment, "thread[*]/state", { rows = true })) do
		print(moment, row.path, row.value)
	end
end
"""


# Questions of one thread each leave in the index which packets name which threads.
NAMED = """local start, stop = trace:bounds()
for _, row in ipairs(trace:at(stop - 1, "thread[*]/state", { rows = true })) do
	for i = 1, 9 do trace:at(start + (stop - start) * i // 10, row.path) end
end
"""


def lines_of(path, script, *options):
    file = os.path.join(work, "script.lua")
    with open(file, "w") as out:
        out.write(script)
    done = subprocess.run([yore, "run", *options, file, path], capture_output=True, text=True, env=ENVIRONMENT, check=False)
    return done.stdout.splitlines() + done.stderr.splitlines()


def differs_alone(path):
    """Threads of which it matters whether others were asked for."""
    index = os.path.join(work, "index")
    shutil.rmtree(index, ignore_errors=True)
    told = lines_of(path, ALL, "--no-index")
    asked_for = [line.split("\t") for line in told]
    ask = "".join('print(%s, "%s", (trace:at(%s, "%s")))\n' % (*words[:2], *words[:2]) for words in asked_for if len(words) == 3)
    wrong = lines_of(path, NAMED, "--index-dir", index)
    alone = lines_of(path, ask, "--index-dir", index)
    return wrong + ["among all %s, alone %s" % pair for pair in zip(told, alone) if pair[0] != pair[1]] + ["not all answered"] * (len(told) != len(alone))


def compare(mine, other):
    """How many stretches of CPUs and of threads, and what is wrong. Recorders stop CPU by CPU, and no event tells when: what is said to begin
    behind the last switch of any CPU does not count, but what began before must not be said to go on."""
    known = truth(other, mine)
    last = min((items[-1][0] for items in switches_of(mine).values()), default=2**63)
    cpus, wrong = wrong_cpus(mine, known, last)
    threads, more = wrong_threads(mine, known, last)
    return cpus, threads, wrong + more + impossible(mine) + differs_alone(mine)


def one_round(number):
    name, options, more = KINDS[number % len(KINDS)]
    mine, other = os.path.join(work, "mine.data"), os.path.join(work, "other.data")
    recorder = subprocess.Popen(["perf", "record", "-q", "-a", "-m", "2048", *SWITCH, "-o", other, "--", "sleep", "20"], env=ENVIRONMENT, **QUIET)
    time.sleep(0.4)
    load = subprocess.Popen(["sh", "-c", LOAD + "; " + LOAD], **QUIET)
    record(mine, options, more.get("late", ()))
    load.wait()
    time.sleep(0.1)
    recorder.send_signal(signal.SIGINT)
    recorder.wait()
    if not os.path.exists(mine) or not os.path.getsize(mine):
        return None
    if "drop" in more:
        drop(mine, more["drop"], random.Random(number))
    cpus, threads, wrong = compare(mine, other)
    if not threads:
        return None
    print("%s: round %d, %s: %d stretches of CPUs, %d of threads%s"
          % ("FAIL" if wrong else "PASS", number, name, cpus, threads, "".join("\n  " + text for text in wrong[:5])), flush=True)
    if wrong and keep:
        os.makedirs(keep, exist_ok=True)
        shutil.copy(mine, os.path.join(keep, "mine-%d.data" % number))
        shutil.copy(other, os.path.join(keep, "other-%d.data" % number))
    return bool(wrong), cpus + threads


def main():
    if compared:
        cpus, threads, wrong = compare(*compared)
        print("\n".join(["%d stretches of CPUs, %d of threads" % (cpus, threads)] + wrong))
        return 1 if wrong else 0
    results = [one_round(number) for number in range(rounds)]
    done = [r for r in results if r]
    if not done:
        print("skipped: perf records no scheduler events here")
        return 77
    print("%d recordings, %d stretches compared, %d recordings differ" % (len(done), sum(r[1] for r in done), sum(r[0] for r in done)))
    return 1 if any(r[0] for r in done) or not any(r[1] for r in done) else 0


try:
    status = main()
finally:
    shutil.rmtree(work, ignore_errors=True)
sys.exit(status)

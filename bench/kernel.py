"""perf.data and trace.dat beside perf and trace-cmd: the lines of make bench for these formats.

Rates are CPU seconds of whole processes on both sides, opening included, median of interleaved
rounds. The same work each: records walked and counted, all fields decoded and merged without
text, every event printed to /dev/null. Captures are the corpus' repeated to --size, and fresh ones
where this machine may record.
"""
import os
import shutil
import signal
import subprocess
import time

from measure import cpu, middle, seconds_of, stats_of, warm

PERF_CASES = ("sched-syscalls", "switch-events", "lost", "mixed-attrs")
# perf script leaves these out unless told; yore prints all records
SHOW_ALL = ["--show-task-events", "--show-mmap-events", "--show-switch-events",
            "--show-lost-events", "--show-namespace-events"]
NOTHING = ".*: common_pid == 123456789"
INSTANCE = "/sys/kernel/tracing/instances/yore-bench"
WORK = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=400000"]
# a question of `yore` and of perf, on a capture of the corpus
REPORTS = (("cpu-clock-callchain", "top", ["perf", "report", "--stdio", "--no-children", "-g", "none"]),
           ("cpu-clock-callchain", "flamegraph", ["perf", "report", "--stdio", "--children", "-g", "folded"]),
           ("sched-syscalls", "latency", ["perf", "sched", "latency"]),
           ("sched-syscalls", "sched log", ["perf", "sched", "timehist"]),
           ("sched-syscalls", "syscalls", ["perf", "trace", "-s"]))
EVENTS = ("raw_syscalls:sys_enter", "raw_syscalls:sys_exit", "sched:sched_switch",
          "sched:sched_waking", "sched:sched_wakeup")


def events_of(build, trace):
    done = cpu([build + "/bench/bench-decode", trace, "heads", "1"])[2]
    return int(done.stdout.decode().split()[2])


def rates(build, name, trace, rounds, report, peers):
    """`peers`: (our work, its label, the peer's name, its command, the ratio asked for)"""
    warm(trace)
    events = events_of(build, trace)
    print("%s (%d MB, %.1f M events)" % (name, os.path.getsize(trace) // 1000000, events / 1e6))
    ours = {work: [build + "/bench/bench-decode", trace, work, "1"]
            for work in ("walk", "heads", "fields", "all")}
    ours["text"] = [build + "/yore", "events", trace, "--format", "text", "--no-index"]
    taken = seconds_of({**{"our " + work: command for work, command in ours.items()},
                        **{peer: command for _, _, peer, command, _ in peers}}, rounds)
    rate = {work: events / seconds / 1e6 for work, seconds in taken.items()}
    for work, label in (("walk", "packets listed"), ("heads", "heads and times"),
                        ("fields", "all fields, no merge"), ("all", "all fields and merge"),
                        ("text", "text")):
        peer = [p for p in peers if p[0] == work]
        more = (rate[peer[0][2]], peer[0][2], peer[0][4]) if peer else ()
        report.row(name + ": " + label, rate["our " + work], "M events/s", *more)


def perf_rates(build, name, trace, rounds, report):
    rates(build, name, trace, rounds, report, (
        ("walk", "packets listed", "perf report --stats",
         ["perf", "report", "--stats", "-i", trace], 1.5),
        ("text", "text", "perf script", ["perf", "script", "-i", trace] + SHOW_ALL, 8)))


def ftrace_rates(build, name, trace, rounds, report):
    rates(build, name, trace, rounds, report, (
        ("all", "all fields", "trace-cmd report -F nothing",
         ["trace-cmd", "report", "-F", NOTHING, "-i", trace], 3),
        ("text", "text", "trace-cmd report", ["trace-cmd", "report", "-i", trace], 8)))


def repeat_perf(build, source, trace, size):
    cpu([build + "/bench/bench-repeat-perf", source, trace, str(size)])


def repeat_ftrace(build, source, trace, size, compression=None):
    """Version 6, or what trace-cmd makes of it: 7 with a compression ("none" is one)."""
    cpu([build + "/bench/bench-repeat-ftrace", source, trace, str(size)])
    if compression:
        old = trace + ".v6"
        os.rename(trace, old)
        cpu(["trace-cmd", "convert", "-i", old, "-o", trace, "--file-version", "7",
             "--compression", compression])
        os.remove(old)


def busy():
    """Two processes that call the kernel as fast as they can."""
    subprocess.run("%s & %s; wait" % (" ".join(WORK), " ".join(WORK)), shell=True, check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def record_perf(trace):
    """A fresh capture, if this machine lets us."""
    command = ["perf", "record", "-q", "-a", "-m", "8M", "-o", trace]
    for event in EVENTS:
        command += ["-e", event, "--exclude-perf"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as recorder:
        time.sleep(1)
        busy()
        if recorder.poll() is None:
            recorder.send_signal(signal.SIGINT)
        said = recorder.communicate()[1]
    if os.path.exists(trace) and os.path.getsize(trace) > 1000000:
        return True
    print("perf, fresh: skipped: not recorded: %s" % said.decode(errors="replace")[-120:].strip())
    return False


def tracefs_write(name, text):
    with open(os.path.join(INSTANCE, name), "w", encoding="ascii") as file:
        file.write(text)


def record_ftrace(trace):
    """A fresh capture by an own instance of tracefs, which asks for less than trace-cmd record."""
    raw = []
    try:
        os.mkdir(INSTANCE)
    except OSError as error:
        print("trace.dat, fresh: skipped: not recorded: %s" % error)
        return False
    try:
        tracefs_write("buffer_size_kb", "60000")
        for event in EVENTS:
            tracefs_write("events/%s/enable" % event.replace(":", "/"), "1")
        busy()
        tracefs_write("tracing_on", "0")
        for cpu_number in range(os.cpu_count()):
            raw.append("%s.cpu%d" % (trace, cpu_number))
            subprocess.run(["dd", "if=%s/per_cpu/cpu%d/trace_pipe_raw" % (INSTANCE, cpu_number),
                            "of=" + raw[-1], "bs=4096", "iflag=nonblock"], check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        tracefs_write("events/enable", "0")
        cpu(["trace-cmd", "restore", "-c", "-o", trace + ".head"])
        cpu(["trace-cmd", "restore", "-i", trace + ".head", "-o", trace] + raw)
        return True
    finally:
        os.rmdir(INSTANCE)
        for name in raw + [trace + ".head"]:
            if os.path.exists(name):
                os.remove(name)


def first_answers(build, work, name, trace, report, limit):
    """Wall seconds of the first `at` on a trace never seen, and of the next ones."""
    warm(trace)
    yore, index = build + "/yore", work + "/index"
    first, later, read, memory = [], [], 0, 0
    for _ in range(3):
        shutil.rmtree(index, ignore_errors=True)
        question = [yore, "at", trace, "+1s", "cpu[*]/thread", "--stats", "--index-dir", index]
        _, wall, done = cpu(question)
        first.append(wall)
        read = stats_of(done).get("bytes_read", 0)
        memory = max(memory, stats_of(done).get("peak_anonymous_bytes", 0))
        for moment in ("+2s", "+500ms", "+3s"):
            question[3] = moment
            _, wall, done = cpu(question)
            later.append(wall)
            memory = max(memory, stats_of(done).get("peak_anonymous_bytes", 0))
    with open(os.devnull, "wb") as null:
        done = cpu([yore, "events", trace, "--stats", "--index-dir", index], null)[2]
    memory = max(memory, stats_of(done).get("peak_anonymous_bytes", 0))
    shutil.rmtree(index, ignore_errors=True)
    report.row("%s: first at, no index (asked: %g)" % (name, limit), middle(first) * 1000, "ms")
    report.row(name + ": bytes read by it", 100 * read / os.path.getsize(trace), "% of trace")
    report.row(name + ": later at (asked: 20)", middle(later) * 1000, "ms")
    report.row(name + ": anonymous memory, events too", memory / 1e6, "MB")


def perf_reports(build, work, corpus, args, report):
    """Analyses beside perf's own reports of the same, without an index."""
    trace = work + "/perf.data"
    os.environ.setdefault("YORE_LUA_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lua-lib"))
    for case, words, peer in REPORTS:
        source = os.path.join(corpus, "perf-data", case, "perf.data")
        if not os.path.isfile(source):
            print("%s: skipped: perf %s is not in YORE_CORPUS" % (words, case))
            continue
        repeat_perf(build, source, trace, args.size)
        warm(trace)
        own, *more = words.split()
        taken = seconds_of({"own": [build + "/yore", own, trace, *more, "--jobs", "1", "--no-index"], "peer": [*peer, "-i", trace]}, args.rounds)
        report.row("%s of perf %s" % (words, case), taken["own"], "s of CPU", taken["peer"], " ".join(peer[:3]))
        os.remove(trace)


def perf(build, work, corpus, args, report):
    if not shutil.which("perf"):
        print("perf.data: skipped: perf is not installed")
        return
    trace = work + "/perf.data"
    for case in PERF_CASES:
        source = os.path.join(corpus, "perf-data", case, "perf.data")
        if not os.path.isfile(source):
            print("perf %s: skipped: not in YORE_CORPUS" % case)
            continue
        repeat_perf(build, source, trace, args.size)
        perf_rates(build, "perf " + case, trace, args.rounds, report)
        os.remove(trace)
    perf_reports(build, work, corpus, args, report)
    if record_perf(trace):
        perf_rates(build, "perf, fresh", trace, args.rounds, report)
    source = os.path.join(corpus, "perf-data", PERF_CASES[0], "perf.data")
    if os.path.isfile(source):
        repeat_perf(build, source, trace, 1000000000)
        first_answers(build, work, "perf, 1 GB", trace, report, 2000)
    if os.path.exists(trace):
        os.remove(trace)


def ftrace(build, work, corpus, args, report):
    if not shutil.which("trace-cmd"):
        print("trace.dat: skipped: trace-cmd is not installed")
        return
    trace = work + "/trace.dat"
    source = os.path.join(corpus, "trace-dat/v6-sched-irq-syscalls/trace.dat")
    kinds = (("v6", None), ("v7", "none"), ("v7 zstd", "zstd"))
    if not os.path.isfile(source):
        print("trace.dat: skipped: not in YORE_CORPUS")
        return
    for kind, compression in kinds:
        repeat_ftrace(build, source, trace, args.size, compression)
        ftrace_rates(build, "trace.dat " + kind, trace, args.rounds, report)
        os.remove(trace)
    if record_ftrace(trace):
        ftrace_rates(build, "trace.dat, fresh", trace, args.rounds, report)
        os.remove(trace)
    for kind, compression in kinds:
        repeat_ftrace(build, source, trace, 1000000000, compression)
        first_answers(build, work, "trace.dat %s, 1 GB" % kind, trace, report, 50)
        os.remove(trace)

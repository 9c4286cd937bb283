#!/usr/bin/env python3
"""What many processors gain: exports, timelines, analyses and rows with 1, 2, 4 ... threads.

    bench/cores.py --build BUILD                     # here
    bench/cores.py --build BUILD --pack FOLDER       # a folder for another machine, which needs Python alone:
    FOLDER/cores.py                                  # there

Of each number of threads a line has wall and processor seconds and those of the thread that had most: no number of processors
makes the work faster than that thread. The bound is the processor seconds of one thread, divided by the longest of the most
threads. Where a machine has fewer processors than threads, wall seconds say nothing of more, but processor seconds do.
The column "caller" has the seconds of the program's first thread. Serial work is done by it, so that is at most so long. Of rows with more
than four threads it does little else.
The column "apart" is what the machine itself allows, up to its number of processors: so many processes of one thread, each of which
does all of the work, run at the same time. What they wait for each other (memory, caches, a shared core) threads wait, too.

    bench/cores.py --build BUILD --instructions --size 40M --jobs 1,16

Where sixteen threads share two processors, they take caches from each other, and each has more processor seconds than it would have
on a processor of its own. --instructions counts by valgrind what each thread executes outside of the kernel, which does not depend on
the machine: the bound is the instructions of one thread, divided by those of the longest of the threads. It takes fifty times as long.
"""
import argparse
import concurrent.futures
import glob
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
EACH = 0.004  # seconds between two looks at the threads
QUESTIONS = {
    "count": ["events", "{trace}", "--count"],
    "where": ["events", "{trace}", "--count", "--where", "prev_prio > 5"],
    "sql": ["sql", "{trace}", "SELECT name, count(*) FROM events GROUP BY name"],
    "do": ["do", "{trace}", "sched_switch {{ @[prev_comm] = count(); }}"],
    "parquet": ["convert", "{trace}", "{out}", "--to", "parquet", "--no-state"],
    "csv": ["convert", "{trace}", "{out}", "--to", "csv", "--no-state"],
    "rows": ["events", "{trace}", "--format", "csv"],
    "json": ["events", "{trace}", "--format", "json"],
    "text": ["events", "{trace}", "--format", "text"],
    "timelines": ["index", "{trace}", "--timelines"],
    "switches": ["switches", "{trace}"],
    "irq": ["irq", "{trace}"],
    "syscalls": ["syscalls", "{trace}"],
    "cputop": ["cputop", "{trace}"],
    "latency": ["latency", "{trace}"],
}


def libraries(program):
    """What ldd lists, the loader among them."""
    lines = subprocess.run(["ldd", program], stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
    return [word for line in lines for word in line.split() if word.startswith("/")]


def pack(build, folder):
    os.makedirs(os.path.join(folder, "lib"))
    programs = [os.path.join(build, "yore"), os.path.join(build, "fixtures", "yore-gen")]
    for program in programs:
        shutil.copy(program, folder)
        for library in libraries(program):
            shutil.copy(library, os.path.join(folder, "lib"))
    shutil.copytree(os.path.join(HERE, "..", "lua-lib"), os.path.join(folder, "lua-lib"), ignore=shutil.ignore_patterns("*.[ch]"))
    shutil.copy(__file__, folder)
    print("%s: copy it, and run %s there" % (folder, os.path.join(folder, "cores.py")))


class Programs:
    """Those of a build folder, or of a packed one with its own loader."""

    def __init__(self, build, counts):
        self.counts = counts  # instructions, not seconds
        self.env = dict(os.environ, YORE_JOBS_MOST="64")
        if build:
            self.yore, self.gen = [os.path.join(build, "yore")], [os.path.join(build, "fixtures", "yore-gen")]
            self.env["YORE_LUA_DIR"] = os.path.join(HERE, "..", "lua-lib")
            return
        lib = os.path.join(HERE, "lib")
        loaders = [name for name in sorted(os.listdir(lib)) if name.startswith("ld-")] if os.path.isdir(lib) else []
        if not loaders:
            sys.exit("cores.py: --build BUILD, or a folder that --pack made")
        load = [os.path.join(lib, loaders[0]), "--library-path", lib]
        self.yore, self.gen = load + [os.path.join(HERE, "yore")], load + [os.path.join(HERE, "yore-gen")]
        self.env["YORE_LUA_DIR"] = os.path.join(HERE, "lua-lib")


def threads_of(pid):
    """Processor seconds by thread."""
    seconds = {}
    try:
        for thread in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/schedstat" % (pid, thread), encoding="ascii") as file:
                seconds[thread] = int(file.read().split()[0]) / 1e9
    except (OSError, IndexError):
        pass  # it has ended
    return seconds


def measure(command, env):
    """(wall, processor, longest thread's, first thread's) seconds"""
    before, begin, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic(), {}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env) as process:
        while not os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            seconds.update(threads_of(process.pid))
            time.sleep(EACH)
        wall = time.monotonic() - begin
        seconds.update(threads_of(process.pid))
        said = process.stderr.read().decode(errors="replace")
    if process.returncode not in (0, 3):
        sys.exit("%s: %s" % (" ".join(command), said[-500:]))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, max(seconds.values(), default=cpu), seconds.get(str(process.pid), cpu)


def count_instructions(command, env, work):
    """(0, all threads', the longest thread's, the first thread's) 1e9 instructions"""
    program, out = os.path.join(work, "yore"), os.path.join(work, "callgrind")
    if not os.path.exists(program):  # valgrind cannot read all debug information, and needs none
        subprocess.run(["strip", "-g", "-o", program, command[0]], check=True)
    words = ["valgrind", "--tool=callgrind", "--separate-threads=yes", "--callgrind-out-file=" + out, program, *command[1:]]
    subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env, check=True)
    threads = []
    for name in sorted(glob.glob(out + "*")):
        with open(name, encoding="utf-8") as file:
            threads += [int(line.split()[1]) / 1e9 for line in file if line.startswith("totals:")]
        os.remove(name)
    return 0, sum(threads), max(threads), threads[0]


def ask(programs, question, jobs, work, number=""):
    """One run; of timelines the index without them is there, of all others too. Runs with other numbers may go on meanwhile."""
    out, trace, index = os.path.join(work, "out" + number), os.path.join(work, "trace"), os.path.join(work, "index" + number)
    shutil.rmtree(out, ignore_errors=True)
    if question == "timelines":
        shutil.rmtree(index, ignore_errors=True)
    env = dict(programs.env, YORE_INDEX_DIR=index)
    subprocess.run([*programs.yore, "index", trace], stdout=subprocess.DEVNULL, env=env, check=True)
    words = [word.format(trace=trace, out=out) for word in QUESTIONS[question]]
    command = [*programs.yore, *words, "--jobs", str(jobs)]
    return count_instructions(command, env, work) if programs.counts else measure(command, env)


def ask_apart(programs, question, count, work):
    """Wall seconds of the slowest of `count` processes of one thread at the same time."""
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return max(done[0] for done in pool.map(lambda i: ask(programs, question, 1, work, ".%d" % i), range(count)))


def report(programs, question, numbers, rounds, work):
    best, apart = {}, {}
    for _ in range(rounds):
        for jobs in numbers:
            best[jobs] = tuple(map(min, best.get(jobs, (1e9,) * 4), ask(programs, question, jobs, work)))
            if 1 < jobs <= len(os.sched_getaffinity(0)) and not programs.counts:
                apart[jobs] = min(apart.get(jobs, 1e9), ask_apart(programs, question, jobs, work))
    if question == "timelines":  # the others are asked without them
        for index in glob.glob(os.path.join(work, "index*")):
            shutil.rmtree(index)
    one = best[numbers[0]]
    for jobs, (wall, cpu, longest, caller) in best.items():
        limit = "%6.1f" % (one[0] * jobs / apart[jobs]) if jobs in apart else ""
        gain = "%8.2f %6.1f" % (wall, one[0] / wall) if wall else 15 * " "
        print("%-10s %5d %s %10.3f %10.3f %6.1f %10.3f %6s" % (question, jobs, gain, cpu, longest, one[1] / longest, caller, limit), flush=True)


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--build", help="the build folder; none: of the folder that --pack made")
    words.add_argument("--pack", metavar="FOLDER", help="make such a folder, and no more")
    words.add_argument("--instructions", action="store_true", help="count 1e9 instructions by valgrind, not seconds; not in a packed folder")
    words.add_argument("--size", default="500M", help="of the generated trace")
    words.add_argument("--streams", type=int, default=16)
    words.add_argument("--jobs", default="1,2,4,8,16")
    words.add_argument("--rounds", type=int, default=2, help="the best of so many counts; one of instructions")
    words.add_argument("--only", nargs="+", choices=QUESTIONS, default=list(QUESTIONS))
    words.add_argument("--work", help="where traces go; it needs three times their size")
    options = words.parse_args()
    if options.pack:
        return pack(options.build or sys.exit("--pack: --build BUILD, too"), options.pack)
    if options.instructions and not (options.build and shutil.which("valgrind")):
        sys.exit("--instructions: needs --build BUILD and valgrind")
    programs = Programs(options.build, options.instructions)
    options.rounds = 1 if options.instructions else options.rounds
    numbers = [int(word) for word in options.jobs.split(",")]
    print("%d processors, %s of CTF in %d streams" % (len(os.sched_getaffinity(0)), options.size, options.streams))
    with tempfile.TemporaryDirectory(prefix="yore-cores-", dir=options.work) as work:
        subprocess.run([*programs.gen, "--out", os.path.join(work, "trace"), "--size", options.size, "--cpus", str(options.streams),
                        "--threads", "400", "--no-truth"], stdout=subprocess.DEVNULL, check=True)
        heads = ("", "jobs", "", "", "1e9 instr.", "longest", "bound", "caller", "") if options.instructions else (
            "", "jobs", "wall, s", "gain", "processor", "longest", "bound", "caller", "apart")
        print("%-10s %5s %8s %6s %10s %10s %6s %10s %6s" % heads)
        for question in options.only:
            report(programs, question, numbers, options.rounds, work)
    return None


main()

#!/usr/bin/python3
"""symbols_agree.py YORE [PERF.DATA...] - frames of call chains against perf script, line by line

Without files, programs are recorded here (`perf record -g`), where that is allowed. perf script runs on
this machine at the same time, so that both look at the same files, debug files and kallsyms:

- every frame: address, function, offset, object, of every event with a call chain;
- the same again with a warm cache of symbol tables;
- unwound frames of copied stacks (`--call-graph dwarf`), inlined functions among them.
  Two differences are allowed. perf 6.1 lets a symbol without a size (_init) reach over entries of the
  linkage table that follow it, and finds one or the other by the shape of its tree. And the ruling
  on unwinding after exec, see after_exec();
- source lines of `yore top lines` against perf report;
- functions of `yore top` against perf report, and `--against` another recording against perf diff;
- `yore run flamegraph` against stackcollapse-perf's way of folding perf script's text.
"""
import collections
import csv
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import perf_tool  # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FRAME = re.compile(rb"^\t[ 0-9a-f]{16} .* \(.*\)$")
HEAD = re.compile(rb"^\s*(?P<comm>\S.*?)\s+(?P<pid>-?\d+)/(?P<tid>-?\d+)\s+"
                  rb"(?P<time>\d+\.\d{9}):\s+(?:(?P<period>\d+)\s+)?(?P<event>\S+):\s*$")

# Samples without a chain: the address and its name end the line.
LONE = re.compile(rb"^\s*(?P<comm>\S.*?)\s+(?P<pid>-?\d+)/(?P<tid>-?\d+)\s+(?P<time>\d+\.\d{9}):\s+"
                  rb"(?:(?P<period>\d+)\s+)?(?P<event>\S+):\s+(?P<where>[0-9a-f]+ .* \([^()]*\))$")
LONE_SAID = re.compile(rb"^(?P<time>\d+) .*\} +(?P<where>[0-9a-f]+ .* \([^()]*\))$")

PROGRAM = r"""
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>
volatile unsigned long sink;
namespace deep { template <class T> struct Box { T v;
	__attribute__((noinline)) T spin(int n) { for (int i = 0; i < n; i++) v = v * 31 + i; return v; } }; }
__attribute__((noinline)) unsigned long outer(unsigned long x, std::string &s)
{ deep::Box<unsigned long> b{x}; s.push_back('a' + (b.spin(3000) & 7)); return b.v + s.size(); }
static int by_value(const void *a, const void *b)
{ for (int i = 0; i < 20; i++) sink += i; return *(const int *)a - *(const int *)b; }
static void work(int rounds)
{ std::string s; std::vector<int> v(64);
  for (int k = 0; k < rounds; k++) { s.clear(); sink += outer(k, s);
    for (int i = 0; i < 64; i++) v[i] = (i * 7919 + k) % 101;
    qsort(v.data(), 64, sizeof v[0], by_value); std::sort(v.rbegin(), v.rend());
    void *m = malloc(300000); ((char *)m)[k % 300000] = 1; free(m); if (k % 200 == 0) usleep(50); } }
int main()
{ std::thread t([] { work(1500); }); work(1500); t.join();
  for (int i = 0; i < 3; i++) { pid_t c = fork(); if (!c) { work(300); execl("/bin/true", "true", (char *)0); _exit(1); }
    waitpid(c, nullptr, 0); } return 0; }
"""


# Signals, recursion deeper than perf shows, stacks of unknown size, functions in functions.
DEEP = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
volatile unsigned long sink;
static inline __attribute__((always_inline)) void deepest(int n) { for (int i = 0; i < n; i++) sink += i * n; }
static inline __attribute__((always_inline)) void inner(int n) { deepest(n); deepest(n / 2); }
__attribute__((noinline)) void leaf(int n) { inner(n); }
__attribute__((noinline)) int recurse(int d, int n)
{ char b[40]; memset(b, d, 40); sink += b[d % 40]; if (d == 0) { leaf(n); return 1; }
  int r = recurse(d - 1, n) + 1; sink += r; return r; }
static void on(int s) { for (int i = 0; i < 200000; i++) sink += i; (void)s; recurse(5, 20000); }
__attribute__((noinline)) int sized(int n) { char b[n]; memset(b, 1, n); leaf(20000); return b[n / 2]; }
static int by(const void *a, const void *b)
{ for (int i = 0; i < 50; i++) sink += i; return *(const int *)a - *(const int *)b; }
int main(void)
{ static int v[2000]; char text[100]; signal(SIGUSR1, on);
  for (int k = 0; k < 16; k++) { recurse(k % 7, 100000); recurse(200, 200000); sized(100 + k * 50); raise(SIGUSR1);
    for (int i = 0; i < 2000; i++) v[i] = rand();
    qsort(v, 2000, 4, by);
    for (int i = 0; i < 2000; i++) sink += snprintf(text, 100, "%f %d", i * 1.1, i); }
  return 0; }
"""


def perf_script(path):
    """[(time ns, pid, comm, event, period, [frame lines])] of the samples with frames."""
    fields = "comm,pid,tid,time,%sevent,ip,sym,symoff,dso"
    out = perf_tool.run("script", "-i", path, "--ns", "-F", fields % "period,")
    if not out:
        out = perf_tool.run("script", "-i", path, "--ns", "-F", fields % "")
    samples, current = [], None
    for line in out.split(b"\n"):
        if FRAME.match(line) and current:
            current[5].append(line)
            continue
        if current and current[5]:
            samples.append(tuple(current))
        match = HEAD.match(line)
        current = None
        if match:
            seconds, ns = match["time"].split(b".")
            current = [int(seconds) * 10**9 + int(ns), int(match["pid"]), match["comm"],
                       match["event"], int(match["period"] or 1), []]
    return samples


def check_lone(program, path, name):
    """Samples without a chain, as (time, address and name); no tracepoints, as perf script's default.

    A sample of a group of counters is one event; perf prints it once for each of them.
    """
    out = perf_tool.run("script", "-i", path, "--ns", "-F", "comm,pid,tid,time,event,ip,sym,symoff,dso")
    expected, said = set(), set()
    for line in out.split(b"\n"):
        match = LONE.match(line)
        if match and b":" not in match["event"]:
            seconds, ns = match["time"].split(b".")
            expected.add((int(seconds) * 10**9 + int(ns), match["where"]))
    for line in yore(program, "events", path, "--time", "ns").split(b"\n"):
        match = LONE_SAID.match(line)
        if match:
            said.add((int(match["time"]), match["where"]))
    differ = expected ^ said
    for item in sorted(differ)[:4]:
        print("  %s: only %s: %s" % (name, "perf" if item in expected else "yore", item))
    print("%s: %d lone addresses, %d differ" % (name, len(expected), len(differ)))
    return not differ


def yore(program, *arguments):
    done = subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False, env=dict(os.environ, YORE_LUA_DIR=TOP + "/lua-lib"))
    return done.stdout


def yore_frames(program, path, *options):
    """[(time ns, [frame lines])] of the events with frames."""
    found, current = [], None
    for line in yore(program, "events", path, "--time", "ns", *options).split(b"\n"):
        if FRAME.match(line) and current:
            current[1].append(line)
        elif line and not line.startswith(b"\t"):
            time = line.split(b" ", 1)[0]
            current = (int(time) if time.lstrip(b"-").isdigit() else None, [])
            found.append(current)
    return [item for item in found if item[1]]


def same(theirs, ours):
    return theirs == ours or (b" _init+0x" in theirs and b"@plt+0x" in ours)


MAPPED = re.compile(r": PERF_RECORD_MMAP2? (-?\d+)/-?\d+: \[0x([0-9a-f]+)\(0x[0-9a-f]+\) @ "
                    r"(0x[0-9a-f]+|0) [^\]]*\]: (\S+) (.+)$")
FORKED = re.compile(r": PERF_RECORD_FORK\((\d+):\d+\):\((\d+):\d+\)")
CLOCK = re.compile(r" (\d+)\.(\d{9}): PERF_RECORD_")


def lower_before(path):
    """{pid: [(time ns, files)]}: from then on the process knows these at a lower address as well."""
    text = perf_tool.run("script", "-i", path, "--ns", "--show-mmap-events", "--show-task-events")
    bases, found = collections.defaultdict(dict), collections.defaultdict(list)
    for line in text.decode(errors="surrogateescape").split("\n"):
        mapped, forked, clock = MAPPED.search(line), FORKED.search(line), CLOCK.search(line)
        if forked and forked[1] != forked[2]:
            bases[forked[1]] = {file: list(each) for file, each in bases[forked[2]].items()}
        if mapped and mapped[5].startswith("/"):
            base = int(mapped[2], 16) - int(mapped[3], 16)
            bases[mapped[1]].setdefault(mapped[5], []).append(base)
        pid = (forked or mapped or [None, None])[1]
        if pid and clock:
            lower = {file for file, each in bases[pid].items() if min(each) < each[-1]}
            found[int(pid)].append((int(clock[1]) * 10**9 + int(clock[2]), lower))
    return found


def after_exec(lower, time, pid, theirs, ours):
    """Ruling: unwinding after exec.

    perf 6.1 keeps the maps of the program before exec. It takes the lowest address at which a process
    has ever mapped a file for where that file is, and so looks for unwind tables in the wrong place
    when the program before had the file (mostly ld.so or libc) at a lower one. It finds none and goes
    on by guessing from rbp: frames are missing, or ffffffffffffffff ends the chain. Only that is
    allowed: the chains are alike down to a frame in such a file.
    """
    alike = 0
    while alike < min(len(theirs), len(ours)) and theirs[alike] == ours[alike]:
        alike += 1
    known = [files for at, files in lower.get(pid, []) if at <= time]
    if not alike or not known:
        return False
    address = ours[alike - 1][:17]
    objects = {re.search(rb"\(([^()]*)\)$", frame)[1].decode(errors="surrogateescape")
               for frame in ours if frame[:17] == address}
    return bool(objects & known[-1]) or (objects == {"inlined"} and bool(known[-1]))


def compare_unwound(name, said, expected, lower):
    """As compare(), each chain as one; chains of a time are told apart by how alike they are."""
    ours = collections.defaultdict(list)
    for time, frames in said:
        ours[time].append(frames)
    frames = differ = ruled = 0
    for time, pid, _comm, _event, _period, chain in sorted(expected, key=lambda item: item[0]):
        frames += len(chain)
        rest = ours[time]
        match = next((each for each in rest if len(each) == len(chain) and all(map(same, chain, each))),
                     None)
        if match is None:
            match = next((each for each in rest if after_exec(lower, time, pid, chain, each)), None)
            ruled += match is not None
        if match is not None:
            rest.remove(match)
            continue
        differ += 1
        if differ <= 3:
            print("  %s at %d: perf %s, yore %s" % (name, time, chain, rest))
    left = sum(map(len, ours.values()))
    print("%s: %d frames of %d events, %d unwound after exec, %d differ, %d chains more" %
          (name, frames, len(expected), ruled, differ, left))
    return not differ and not left and frames > 0, ruled


def compare(name, said, expected):
    """Samples of one time as a multiset; counts frames."""
    theirs, ours = collections.defaultdict(list), collections.defaultdict(list)
    for time, _pid, _comm, _event, _period, frames in expected:
        theirs[time].append(frames)
    for time, frames in said:
        ours[time].append(frames)
    frames = differ = 0
    for time in sorted(set(theirs) | set(ours)):
        a, b = sorted(theirs[time]), sorted(ours[time])
        frames += sum(len(chain) for chain in a)
        if a == b:
            continue
        wrong = [(x, y) for p, q in zip(a, b) for x, y in zip(p, q) if not same(x, y)]
        missing = abs(sum(map(len, a)) - sum(map(len, b)))
        differ += len(wrong) + missing
        if (wrong or missing) and differ <= 5:
            print("  %s at %d: %s" % (name, time, wrong[:2] or "%d frames missing" % missing))
    print("%s: %d frames of %d events, %d differ" % (name, frames, len(expected), differ))
    return differ == 0 and frames > 0


# Folding, as stackcollapse-perf does it ----------------------------------------------------------

def folded_name(line):
    match = re.match(r"^\s*(\w+) (.+) \(([^()]*(?: \(deleted\))?)\)$", line)
    function, module = re.sub(r"\+0x[\da-f]+$", "", match[2]), match[3]
    if function == "[unknown]":
        return "[%s]" % (re.sub(r".*/", "", module) if module != "[unknown]" else "unknown")
    function = function.replace(";", ":")
    if not re.search(r"\.\(.*\)\.", function):
        function = re.sub(r"\((?!anonymous namespace\)).*", "", function)
    return re.sub("[\"']", "", function)


def is_tracepoint(event):
    return b":" in re.sub(rb":[ukhGHIpPSDe]+$", b"", event)


def counted_event(path, events):
    """Of events that came in this order, the one that is counted: the first counter that perf evlist has, else the first that came."""
    listed = perf_tool.run("evlist", "-i", path).split(b"\n")
    return next((event for event in listed if event in events and not is_tracepoint(event)), events[0])


def fold(samples, counted):
    stacks = collections.Counter()
    for _time, _pid, comm, event, period, frames in samples:
        if event != counted:
            continue
        names = [folded_name(frame.decode(errors="surrogateescape")) for frame in frames]
        key = ";".join([comm.decode(errors="surrogateescape").replace(" ", "_")] + names[::-1])
        stacks[key] += 1 if is_tracepoint(event) else period
    return stacks


def compare_folded(name, program, path, samples):
    expected, said = collections.Counter(), collections.Counter()

    def alike(key):  # as same()
        return re.sub(r";(?:_init|[^;]*@plt)(?=;|$)", ";_init", key)

    for key, count in fold(samples, counted_event(path, [sample[3] for sample in samples])).items():
        expected[alike(key)] += count
    for line in yore(program, "run", "flamegraph", path).decode(errors="surrogateescape").splitlines():
        key, count = line.rsplit(" ", 1)
        said[alike(key)] += int(count)
    differ = {key for key in set(expected) | set(said) if expected.get(key) != said.get(key)}
    for key in sorted(differ)[:3]:
        print("  %s: %s: perf %s, yore %s" % (name, key[:300], expected.get(key), said.get(key)))
    print("%s: %d stacks folded, %d differ" % (name, len(expected), len(differ)))
    return not differ


LINE = re.compile(r"^ +(\d+)  (\S+:\d+) *$")


def compare_lines(name, program, path):
    """Samples of the program by source line: `yore top lines` against perf report, which leaves folders out."""
    said = perf_tool.run("report", "--no-children", "-g", "none", "-s", "srcline", "--stdio", "-F", "sample,srcline",
                         "--dsos", "w", "-i", path).decode(errors="surrogateescape")
    theirs = collections.Counter({m[2]: int(m[1]) for m in map(LINE.match, said.split("\n")) if m})
    ours = collections.Counter()
    text = yore(program, "top", path, "lines", "--count", "--format", "csv").decode(errors="surrogateescape")
    for row in csv.DictReader(text.splitlines()):
        if row["module"] == "w" and row["line"] and int(row["self"]):
            ours[os.path.basename(row["line"])] += int(row["self"])
    differ = {key for key in set(theirs) | set(ours) if theirs[key] != ours[key]}
    for key in sorted(differ)[:3]:
        print("  %s: %s: perf %d, yore %d" % (name, key, theirs[key], ours[key]))
    print("%s: %d source lines, %d differ" % (name, len(theirs), len(differ)))
    return len(theirs) > 1 and not differ  # not only one line, else no order of them was compared


SYMBOL = r"\[.\] (\S.*?) {2,}(\S.*?) *$"
COUNTED = re.compile(r"^ +(\d+)  " + SYMBOL)
CHANGED = re.compile(r"^ +(?:([\d.]+)%)? +(?:([-+][\d.]+)%)? +" + SYMBOL)


def function_key(function, module):
    """perf fills an address up with zeros."""
    return re.sub(r"^0x0+(?=.)", "0x", function), module


def top_rows(program, path, *options):
    text = yore(program, "top", path, "--format", "csv", *options).decode(errors="surrogateescape")
    return [(function_key(row["function"], row["module"]), row) for row in csv.DictReader(text.splitlines())]


def compare_functions(name, program, path):
    """Samples of each function by `yore top` against perf report: also of samples without a chain."""
    said = perf_tool.run("report", "--no-children", "-g", "none", "-s", "sym,dso", "--stdio", "-F", "sample,sym,dso", "-i", path)
    theirs, ours = collections.Counter(), collections.Counter()
    for match in filter(None, map(COUNTED.match, said.decode(errors="surrogateescape").split("\n"))):
        theirs[function_key(match[2], match[3])] += int(match[1])
    for key, row in top_rows(program, path, "--count"):
        ours[key] += int(row["self"])
    ours = +ours
    differ = {key for key in set(theirs) | set(ours) if theirs[key] != ours[key]}
    for key in sorted(differ)[:3]:
        print("  %s: %s: perf %d, yore %d" % (name, key, theirs[key], ours[key]))
    print("%s: %d functions, %d differ" % (name, len(theirs), len(differ)))
    return bool(theirs) and not differ


def compare_change(program, path, other):
    """`yore top OTHER --against PATH` against perf diff PATH OTHER: percent of the first one, and what was added."""
    theirs, ours = {}, {}
    said = perf_tool.run("diff", "-s", "sym,dso", path, other).decode(errors="surrogateescape")
    for match in filter(None, map(CHANGED.match, said.split("\n"))):
        theirs[function_key(match[3], match[4])] = float(match[1] or 0), float(match[2] or -float(match[1] or 0))
    for key, row in top_rows(program, other, "--against", path):
        if int(row["self"]) or int(row["against_self"]):
            ours[key] = float(row["against_percent"]), float(row["change"])
    differ = [key for key in set(theirs) | set(ours) if key not in ours or key not in theirs or
              any(abs(a - b) > 0.011 for a, b in zip(theirs[key], ours[key]))]
    for key in sorted(differ)[:3]:
        print("  change: %s: perf %s, yore %s" % (key, theirs.get(key), ours.get(key)))
    print("change of two recordings: %d functions, %d differ" % (len(theirs), len(differ)))
    return bool(theirs) and not differ


def copies_stacks(path):
    return b"STACK_USER" in perf_tool.run("evlist", "-v", "-i", path)


def check(program, path, name):
    samples = perf_script(path)
    if not samples:
        return check_lone(program, path, name)
    if copies_stacks(path):
        good, ruled = compare_unwound(name, yore_frames(program, path), samples, lower_before(path))
        return good and (ruled > 0 or compare_folded(name, program, path, samples))
    good = compare(name, yore_frames(program, path), samples)
    good &= compare(name + ", cached", yore_frames(program, path), samples)
    good &= compare_folded(name, program, path, samples)
    plain = yore_frames(program, path, "--no-symbols")
    if plain:
        print("%s: --no-symbols prints frames all the same" % name)
    return good and not plain


# Recording ---------------------------------------------------------------------------------------

def record(folder, *options):
    path = os.path.join(folder, "perf.data")
    done = subprocess.run(["perf", "record", "-q", "-o", path, *options], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False, env=perf_tool.ENV)
    return path if done.returncode == 0 and os.path.exists(path) else None


def fresh_copies(program, folder, source):
    """Copied stacks, of programs made with and without frame pointers, cut short and deep."""
    deep, good = os.path.join(folder, "deep.c"), True
    with open(deep, "w", encoding="ascii") as file:
        file.write(DEEP)
    for text, made, how in ((source, "c++", ("-O1", "-fno-omit-frame-pointer")),
                            (source, "c++", ("-O2", "-fomit-frame-pointer")),
                            (deep, "cc", ("-O0",)), (deep, "cc", ("-O2", "-fomit-frame-pointer")),
                            (deep, "cc", ("-O2", "-fno-asynchronous-unwind-tables"))):
        binary = os.path.join(folder, "copied")
        subprocess.run([made, *how, "-g", "-pthread", "-o", binary, text], check=False)
        for size in ("8192", "512", "65528"):
            path = record(folder, "--call-graph", "dwarf," + size, "-e", "cpu-clock", "-F", "1500", binary)
            if path:
                name = "fresh, copied stacks, %s %s, %s bytes" % (made, " ".join(how), size)
                good &= check(program, path, name)
    return good


def fresh(program, folder):
    source, binary = os.path.join(folder, "w.cc"), os.path.join(folder, "w")
    with open(source, "w", encoding="ascii") as file:
        file.write(PROGRAM)
    made = subprocess.run(["c++", "-O1", "-g", "-fno-omit-frame-pointer", "-pthread", "-o", binary,
                           source], check=False, stderr=subprocess.DEVNULL).returncode == 0
    if not made:
        print("symbols: fresh captures skipped: no C++ compiler")
        return True
    good, recorded, first = True, 0, os.path.join(folder, "first.data")
    for name, options in (
            ("fresh, cpu-clock", ("-g", "-e", "cpu-clock", "-F", "1500", binary)),
            ("fresh, no chains", ("-e", "cpu-clock", "-F", "1500", binary)),
            ("fresh, scheduling", ("-g", "-e", "sched:sched_switch", binary)),
            ("fresh, whole machine", ("-a", "-g", "-e", "cpu-clock", "-F", "800", binary)),
            ("fresh, without build ids", ("-B", "-N", "-g", "-e", "cpu-clock", "-F", "800", binary)),
    ):
        path = record(folder, *options)
        if path:
            recorded += 1
            good &= check(program, path, name)
            if name == "fresh, cpu-clock":
                good &= compare_lines(name, program, path)
                os.rename(path, first)
            if name in ("fresh, cpu-clock", "fresh, no chains"):
                good &= compare_functions(name, program, path if os.path.exists(path) else first)
            if name == "fresh, no chains" and os.path.exists(first):
                good &= compare_change(program, first, path)
    for strip in ("-s", "--strip-debug"):
        stripped = os.path.join(folder, "s" + strip)
        subprocess.run(["strip", strip, "-o", stripped, binary], check=False)
        path = record(folder, "-g", "-e", "cpu-clock", "-F", "1500", stripped)
        if path:
            good &= check(program, path, "fresh, strip " + strip)
    good &= fresh_copies(program, folder, source)
    if not recorded:
        print("symbols: fresh captures skipped: this machine does not allow recording")
    return good


def main():
    program, paths = sys.argv[1], sys.argv[2:]
    if not perf_tool.installed():
        print("symbols: skipped: perf is not installed")
        return 0
    good = True
    with tempfile.TemporaryDirectory() as folder:
        os.environ["YORE_INDEX_DIR"] = os.path.join(folder, "index")
        for path in paths:
            good &= check(program, path, os.path.basename(os.path.dirname(path)) or path)
        if not paths:
            good = fresh(program, folder)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

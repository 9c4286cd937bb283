#!/usr/bin/python3
"""symbols_agree.py YORE [PERF.DATA...] - frames of call chains against perf script, line by line

Without files, programs are recorded here (`perf record -g`), where that is allowed. perf script runs on
this machine at the same time, so that both look at the same files, debug files and kallsyms:

- every frame: address, function, offset, object, of every event with a call chain;
- the same again with a warm cache of symbol tables;
  One difference is allowed: perf 6.1 lets a symbol without a size (_init) reach over entries of the
  linkage table that follow it, and finds one or the other by the shape of its tree;
- `yore run flamegraph` against stackcollapse-perf's way of folding perf script's text.
"""
import collections
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


def perf_script(path):
    """[(time ns, tid, comm, event, period, [frame lines])] of the samples with frames."""
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
            current = [int(seconds) * 10**9 + int(ns), int(match["tid"]), match["comm"],
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


def compare(name, said, expected):
    """Samples of one time as a multiset; counts frames."""
    theirs, ours = collections.defaultdict(list), collections.defaultdict(list)
    for time, _tid, _comm, _event, _period, frames in expected:
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


def fold(samples):
    stacks, counted = collections.Counter(), None  # of the first event with a chain
    for _time, _tid, comm, event, period, frames in samples:
        counted = counted or event
        if event != counted:
            continue
        names = [folded_name(frame.decode(errors="surrogateescape")) for frame in frames]
        key = ";".join([comm.decode(errors="surrogateescape").replace(" ", "_")] + names[::-1])
        stacks[key] += 1 if b":" in re.sub(rb":[ukhGHIpPSDe]+$", b"", event) else period
    return stacks


def compare_folded(name, program, path, samples):
    expected, said = collections.Counter(), collections.Counter()

    def alike(key):  # as same()
        return re.sub(r";(?:_init|[^;]*@plt)(?=;|$)", ";_init", key)

    for key, count in fold(samples).items():
        expected[alike(key)] += count
    for line in yore(program, "run", "flamegraph", path).decode(errors="surrogateescape").splitlines():
        key, count = line.rsplit(" ", 1)
        said[alike(key)] += int(count)
    differ = {key for key in set(expected) | set(said) if expected.get(key) != said.get(key)}
    for key in sorted(differ)[:3]:
        print("  %s: %s: perf %s, yore %s" % (name, key[:300], expected.get(key), said.get(key)))
    print("%s: %d stacks folded, %d differ" % (name, len(expected), len(differ)))
    return not differ


def check(program, path, name):
    samples = perf_script(path)
    if not samples:
        return check_lone(program, path, name)
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


def fresh(program, folder):
    source, binary = os.path.join(folder, "w.cc"), os.path.join(folder, "w")
    with open(source, "w", encoding="ascii") as file:
        file.write(PROGRAM)
    made = subprocess.run(["c++", "-O1", "-g", "-fno-omit-frame-pointer", "-pthread", "-o", binary,
                           source], check=False, stderr=subprocess.DEVNULL).returncode == 0
    if not made:
        print("symbols: fresh captures skipped: no C++ compiler")
        return True
    good, recorded = True, 0
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
    for strip in ("-s", "--strip-debug"):
        stripped = os.path.join(folder, "s" + strip)
        subprocess.run(["strip", strip, "-o", stripped, binary], check=False)
        path = record(folder, "-g", "-e", "cpu-clock", "-F", "1500", stripped)
        if path:
            good &= check(program, path, "fresh, strip " + strip)
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

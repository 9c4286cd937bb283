#!/usr/bin/python3
"""yore compare on traces whose threads do what they were told to the nanosecond (made_requests.py): causes, units, matching,
--fail-if, ranges, mistakes. What is expected is what was told, not what yore computed."""
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import kernel_ctf
import made_requests

TOP = os.path.abspath(os.environ.get("srcdir", "."))
YORE = os.path.abspath(os.environ.get("top_builddir", ".")) + "/yore"
ENV = dict(os.environ, YORE_LUA_DIR=TOP + "/lua-lib", TZ="UTC")
UNIT = "request_begin -> request_end by id"

status = 0


def result(good, name, why=""):
    global status
    print("%s: %s%s" % ("PASS" if good else "FAIL", name, "" if good else ": %s" % (why,)))
    status = status if good else 1


def run(*words):
    return subprocess.run([YORE, "compare", *words, "--no-index"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV,
                          check=False, text=True)


def compare(*words):
    done = run(*words, "--format", "json")
    if done.returncode != 0:
        raise RuntimeError("%s: %s" % (words, done.stderr))
    return json.loads(done.stdout)


class Pairs:
    """Traces by what was told of them, each written once."""
    def __init__(self, folder):
        self.folder, self.made = folder, {}

    def __call__(self, **asked):
        key = repr(sorted(asked.items()))
        if key not in self.made:
            self.made[key] = "%s/%d" % (self.folder, len(self.made))
            made_requests.write(self.made[key], **asked)
        return self.made[key]


# name, side A, side B, cause, who, difference, and how much of it each request of A and B has
CAUSES = [
    ("a thread that is waited for takes longer", {}, {"sleeps": 50_000}, "wait", "helper", 20_000, 30_000, 50_000),
    ("a lock is held longer", {"kind": "lock"}, {"kind": "lock", "sleeps": 50_000}, "lock", "helper", 20_000, 30_000, 50_000),
    ("a neighbour has the CPU longer", {}, {"ready": 15_000}, "ready", "noisy", 10_000, 5_000, 15_000),
    ("more is computed", {}, {"run1": 14_000}, "running", None, 4_000, 15_000, 19_000),
    ("less is computed", {"run1": 14_000}, {}, "running", None, -4_000, 19_000, 15_000),
    ("an interrupt", {}, {"irq": 6_000}, "interrupt", "irq 24 nvme", 6_000, 0, 6_000),
    ("a timer that is later", {"kind": "sleep"}, {"kind": "sleep", "sleeps": 42_000}, "sleep", None, 12_000, 30_000, 42_000),
    ("a disk that is slower", {"kind": "io"}, {"kind": "io", "sleeps": 90_000}, "io", "8:1", 60_000, 30_000, 90_000),
    ("a CPU that is slower", {}, {"khz": 2_000_000, "run1": 15_000, "run2": 7_500}, "frequency", "CPU 0 at 2000000 kHz",
     7_500, 0, 7_500),
]


def check_causes(made):
    for name, a, b, cause, who, difference, of_a, of_b in CAUSES:
        said = compare(made(**a), made(**b), "--unit", UNIT)
        first = said["causes"][0] if said["causes"] else {}
        told = [first.get(key) for key in ("cause", "who", "difference", "a", "b")]
        result(told == [cause, who, difference, of_a, of_b] and len(said["causes"]) == 1 and
               first["low"] <= difference <= first["high"] and first["low"] * first["high"] > 0, name, said["causes"])
    said = compare(made(), made(moves=True, run2=25_000, ready=0), "--unit", UNIT)["causes"]
    result([(one["cause"], one["difference"]) for one in said[:1]] == [("migration", 20_000)], "a thread that is moved", said)
    first = compare(made(), made(ready=15_000), "--unit", UNIT)["causes"][0]["moments"]
    begins = {side: [moment - made_requests.ORIGIN for moment in first[side]] for side in "ab"}
    # the request's CPU is noisy's from 50 us on, for 5 us in A, for 15 us in B
    result(all(len(begins[side]) == 3 and all(50_000 <= t % made_requests.EVERY < 65_000 for t in begins[side]) for side in "ab"),
           "moments are where the cause is", begins)


def check_nothing(made):
    same = compare(made(), made(tid=7000, spare_cpus=3), "--unit", UNIT)
    result(same["causes"] == [] and same["units"][0]["matched"] == 20, "other thread numbers and CPUs are no cause", same)
    text = run(made(), made(tid=7000), "--unit", UNIT)
    result(text.returncode == 0 and "no difference is certain" in text.stdout, "where nothing differs it says so", text)
    few = run(made(requests=3), made(requests=3, sleeps=90_000), "--unit", UNIT)
    result(few.returncode == 0 and "fewer than 5 are matched" in few.stdout, "few units decide nothing, and it says so", few)


# unit, how many A (20 requests) and B (25) have, their mean on A
UNITS = [
    (UNIT, 20, 25, 50_000),
    ("request_begin -> request_end", 20, 25, 50_000),
    ("--from request_begin --until request_end --key id", 20, 25, 50_000),
    ('request_begin where id < 10 -> request_end where id >= 0 && "a -> b by c" != "" by id + (cpu & 0)', 10, 10, 50_000),
    ("--from request_begin where id < 5 --until request_end --key id & 7", 5, 5, None),
    ("syscall read", 20, 25, 35_400),
    ("syscall read of work*", 20, 25, 35_400),
    ("syscall read of nobody", 0, 0, None),
    ("syscall write", 0, 0, None),
    ('thread[*]/syscall = "read"', 20, 25, 35_400),
    ("thread[*]/state = blocked", 0, 0, None),
    ("wake-up to sleep of worker", 19 + 20, 24 + 25, None),
    ("cpu[0]/thread = 100", 40, 50, None),
    ("no_such_begin -> no_such_end", 0, 0, None),
]


def check_units(made):
    for unit, of_a, of_b, mean in UNITS:
        said = compare(made(), made(requests=25), "--unit", unit)["units"][0]
        result(said["unit"] == unit and not said["proposed"] and (said["a"]["count"], said["b"]["count"]) == (of_a, of_b) and
               said["matched"] == min(of_a, of_b) and said["b"]["unmatched"] == of_b - min(of_a, of_b) and
               (mean is None or (said["a"]["mean"], said["a"]["p50"], said["a"]["p99"]) == (mean,) * 3), unit, said)
    said = compare(made(), made(requests=25))["units"]
    result([one["unit"] for one in said] == ["request_begin -> request_end"] and said[0]["proposed"], "events that nest are proposed",
           said)


def check_matching(made):
    three = made(workers=["w-1", "w-2", "w-3"])
    said = compare(three, made(workers=["w-7", "w-8"], tid=900), "--unit", UNIT)["units"][0]
    result((said["matched"], said["a"]["unmatched"], said["b"]["unmatched"]) == (40, 20, 0), "names that differ by numbers", said)
    said = compare(three, made(workers=["w-3", "w-2", "other"], tid=900), "--unit", UNIT)["units"][0]
    result((said["matched"], said["a"]["unmatched"], said["b"]["unmatched"]) == (40, 20, 20),
           "a thread that only one side has is told apart", said)
    said = compare(made(workers=["w", "w"]), made(workers=["w", "w"], tid=900, sleeps=50_000), "--unit", UNIT)
    result(said["units"][0]["matched"] == 40 and said["causes"][0]["difference"] == 20_000, "threads of one name", said)


def check_ranges(made):
    path = made()
    half = made_requests.ORIGIN + 10 * made_requests.EVERY
    said = compare(path, "--range-a", "..@%d" % half, "--range-b", "@%d.." % half, "--unit", UNIT)
    result((said["units"][0]["matched"], said["a"]["end"], said["b"]["begin"]) == (10, half, half), "two ranges of one trace", said)
    said = compare(path, path, "--end", "@%d" % half, "--unit", UNIT)
    result(said["units"][0]["matched"] == 10, "--begin and --end are of both sides", said)


# condition, exit status for means of 50 us and 70 us
CONDITIONS = [("p99(unit) > 1.1 * A", 1), ("p99(unit) > A * 1.5", 0), ("mean(unit) > A + 19us", 1), ("mean(unit) > A + 20us", 0),
              ("mean(unit) >= A + 20us", 1), ("p50(unit) < 70us", 0), ("p50(unit) <= 70us", 1), ("count(unit) < A", 0), ("p99(unit) > p99(A) + 10_000 && count(unit) == count(A)", 1),
              ("(p99(unit) - A) * 4 in (80us, 81us) || !(p99(unit) > A)", 1)]


def check_conditions(made):
    for condition, wanted in CONDITIONS:
        done = run(made(), made(sleeps=50_000), "--unit", UNIT, "--fail-if", condition)
        result(done.returncode == wanted and ("holds for" in done.stderr) == bool(wanted) and "what differs" in done.stdout,
               "--fail-if '%s'" % condition, done)
    done = run(made(), made(), "--unit", "syscall write", "--fail-if", "p99(unit) > A")
    result(done.returncode == 1 and "has no whole 'syscall write'" in done.stderr, "--fail-if of no unit is an error", done)


def check_baseline(made, folder):
    file = folder + "/side.baseline"
    for name, asked in [("a request", ["--unit", UNIT]), ("proposed units", []),
                        ("two units", ["--unit", "syscall read of worker", "--unit", "wake-up to sleep"])]:
        run(made(), *asked, "--save", file)
        for other in (made(sleeps=50_000), made(khz=2_000_000, run1=15_000, run2=7_500), made(requests=25)):
            direct, saved = compare(made(), other, *asked), compare(other, "--baseline", file)
            result(direct["units"] == saved["units"] and direct["causes"] == saved["causes"] and direct["a"] == saved["a"] and
                   direct["units"], "a baseline of %s says what its trace says" % name, (direct, saved))
    done = run(made(sleeps=50_000), "--baseline", file, "--unit", "syscall read of worker", "--fail-if", "p99(unit) > 1.1 * A")
    result(done.returncode == 1 and "look at A" in done.stdout, "--fail-if against a baseline", done)
    with open(file) as opened:
        text = opened.read()
    for name, changed, said in [
            ("cut", text[:-40], "the baseline is damaged"), ("changed", text.replace("worker", "walker", 1), "the baseline is damaged"),
            ("of another version", text.replace("\t1\n", "\t2\n", 1), "a baseline of version 2, not 1"),
            ("of another kind", "nothing\n", "this is no baseline of yore compare"), ("empty", "", "this is no baseline")]:
        with open(file, "w") as opened:
            opened.write(changed)
        done = run(made(), "--baseline", file)
        result(done.returncode == 1 and said in done.stderr and ".lua:" not in done.stderr, "a baseline that is %s" % name, done)
    with open(file, "w") as opened:
        opened.write(text)
    for words, said in [(["--baseline", file, "--unit", "syscall write"], "the baseline has no 'syscall write': it has 'syscall read"),
                        ([made(), "--baseline", file], "there is no third one"), ([made(), "--save", file], "what one trace has"),
                        (["--baseline", folder + "/none"], "none: No such file")]:
        done = run(made(), *words)
        result(done.returncode == (2 if words[0] == made() else 1) and said in done.stderr and ".lua:" not in done.stderr, "mistake: %s" % said, done)


def check_many(made, folder):
    runs = [(side, number, made(sleeps=(30_000 if side == "a" else 50_000) + 700 * number, tid=100 + 17 * number, requests=20 + number))
            for side in "ab" for number in range(5)]
    for side, number, path in runs:
        os.makedirs(folder + "/many", exist_ok=True)
        os.symlink(path, "%s/many/%s-%d" % (folder, side, number))
    both = ["--a", folder + "/many/a-*", "--b", folder + "/many/b-*"]
    said = compare(*both)
    unit, first = said["units"][0], said["causes"][0]
    result([(unit[side]["runs"], unit[side]["count"], unit[side]["unmatched"]) for side in "ab"] == [(5, 110, 0)] * 2 and
           [run["path"] for run in said["a"]["runs"]] == ["%s/many/a-%d" % (folder, i) for i in range(5)], "many runs are counted", said)
    # the mean of all units: of run i there are 20 + i
    mean = sum((50_000 + 700 * i) * (20 + i) for i in range(5)) / 110
    result(abs(unit["a"]["mean"] - mean) <= 1 and (unit["a"]["p50"], unit["b"]["p99"]) == (51_400, 71_400), "numbers of many runs", unit)
    result([first[key] for key in ("cause", "who", "difference", "runs_a", "runs_b")] == ["wait", "helper", 20_000, 5, 5] and
           len(said["causes"]) == 1 and first["low"] < 20_000 < first["high"], "the cause of many runs, with its bounds", said["causes"])
    result([one["path"][-3:] for one in first["moments"]["a"]] == ["a-0", "a-1", "a-2"] and
           [one["path"][-3:] for one in first["moments"]["b"]] == ["b-4", "b-3", "b-2"], "moments name the run", first["moments"])
    paths = {side: [path for of, _, path in runs if of == side] for side in "ab"}
    again = compare("--a", *paths["a"], "--b=" + paths["b"][0], "--b", *paths["b"][1:], "--unit", "request_begin -> request_end")
    result([one["difference"] for one in again["causes"]] == [20_000], "paths instead of a pattern", again["causes"])
    # of runs that differ by as much as the sides do, nothing is claimed, though two of them alone differ
    lucky = compare("--a", paths["a"][0], paths["b"][1], "--b", paths["a"][1], paths["b"][0], paths["b"][2])
    result(lucky["causes"] == [], "what differs from run to run is no cause", lucky["causes"])
    one = run("--a", paths["a"][0], "--b", paths["b"][0])
    result("each side has one run" in one.stderr and "20.00 us" in one.stdout, "one run on each side", one)
    check_mix(made)
    check_faults(made, folder)
    check_left_out(made, folder, both)
    check_baselines(made, folder)


def check_mix(made):
    """Threads that take the same on both sides, but one of them is in few runs of A."""
    mixed = {"run1_of": {"slow": 200_000}}
    few = [made(workers=["fast", "slow" if i == 0 else "fast"], tid=100 + i, **mixed) for i in range(10)]
    all_of_them = [made(workers=["fast", "slow"], tid=300 + i, **mixed) for i in range(10)]
    said = compare("--a", *few, "--b", *all_of_them, "--unit", UNIT)
    result(said["causes"] == [] and said["units"][0]["matched"] == 400, "a thread that fewer runs of A have is no cause", said)
    slower = [made(workers=["fast", "slow"], tid=300 + i, sleeps=50_000, **mixed) for i in range(10)]
    said = compare("--a", *few, "--b", *slower, "--unit", UNIT)["causes"]
    result([(one["cause"], one["difference"]) for one in said] == [("wait", 20_000)], "what all threads have is one, among them", said)


def check_faults(made, folder):
    """What is no fault of a run ends the command; what is one is told once, without the path twice."""
    nameless = [made(workers=["w", ""], tid=100 + i) for i in range(3)]
    other = [made(workers=["w", "x"], tid=100 + i) for i in range(3)]
    said = compare("--a", *nameless, "--b", *other, "--unit", UNIT)["units"][0]
    result((said["matched"], said["a"]["unmatched"], said["b"]["unmatched"]) == (60, 60, 60), "a thread without a name", said)
    both = ["--a", *nameless, "--b", *other]
    for words, why in [(["--range-a", "nonsense"], "--range-a: FROM..TO is expected"), (["--begin", "nonsense"], "not a time"),
                       (["--format", "lami"], "--format: lami has no meaning with --a and --b")]:
        done = run(*both, *words)
        result(done.returncode == 2 and done.stderr.count(why) == 1 and "left out" not in done.stderr and
               ".lua:" not in done.stderr + done.stdout, "mistake of all runs: %s" % why, done)
    done = run(*both, "--range-a", "@1..@2")
    result(done.stderr.count("is left out: nothing was recorded from") == 3 and "no run of side A can be read" in done.stderr,
           "runs with nothing in the range are left out", done)
    check_no_common_unit(made, folder)
    check_spellings(made, folder)
    check_pipe(made, folder)
    check_interrupted(folder)
    file = folder + "/empty.baseline"
    write_baseline(file, ["yore-compare\t1", "trace\tgone\t1\t2", "tells"])
    for words in ([nameless[0], "--baseline", file], ["--a", file, "--b", *other]):
        done = run(*words)
        result(done.returncode == 1 and "the baseline has no units: write it anew with --save" in done.stderr and
               done.stderr.count(file) == 1, "a baseline without units: %s" % words[-2][:2], done)


def check_no_common_unit(made, folder):
    files = [folder + "/common-%d" % i for i in range(2)]
    for file, unit in zip(files, (UNIT, "syscall read")):
        run(made(), "--unit", unit, "--save", file)
    done = run("--a", files[0], "--b", files[1])
    result(done.returncode == 1 and "the baselines have no unit in common: name one with --unit" in done.stderr,
           "baselines without a common unit", done)


def check_spellings(made, folder):
    """A recording counts once, whatever path names it."""
    path, other = made(), made(sleeps=50_000)
    link, pair = folder + "/same", folder + "/pair.baseline"
    os.symlink(path, link)
    run(other, "--save", pair)
    os.link(pair, folder + "/linked.baseline")
    spelled = [path, link, os.path.dirname(path) + "/./" + os.path.basename(path), path + "/", path + "/metadata", os.path.relpath(path)]
    done = run("--a", *spelled, "--b", pair, folder + "/linked.baseline", "--format", "json")
    said = json.loads(done.stdout)
    result([run["path"] for run in said["a"]["runs"]] == [path] and len(said["b"]["runs"]) == 1 and
           done.stderr.count("is the same recording as " + path + ": it counts once") == 5, "other spellings of a run", done)
    done = run("--a", path, path, "--b", other)
    result("A: 1 run: " in done.stdout and "counts once" not in done.stderr, "a path twice", done)


def check_pipe(made, folder):
    pipe = folder + "/pipe"
    os.mkfifo(pipe)
    for wrong in (pipe, "/dev/null"):
        done = run("--a", made(), wrong, "--b", made(sleeps=50_000))
        result(done.returncode == 0 and wrong + " is left out: it is neither a file nor a folder" in done.stderr and
               "1 run: " in done.stdout, "a run that is no file: " + os.path.basename(wrong), done)


def check_interrupted(folder):
    """The note about the first run says that the large one is read next, in the middle of which the interruption comes."""
    bad, large = folder + "/no-trace", folder + "/large"
    with open(bad, "w") as opened:
        opened.write("no trace\n")
    subprocess.run([os.path.dirname(YORE) + "/fixtures/yore-gen", "--out", large, "--size", "20M", "--no-truth"], check=True)
    with subprocess.Popen([YORE, "compare", "--a", bad, large, "--b", large, "--no-index"], env=ENV, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as asked:
        first = asked.stderr.readline()
        asked.send_signal(signal.SIGINT)
        said = asked.stderr.read()
    result(asked.returncode == 130 and bad in first and "left out" not in said and "can be read" not in said,
           "an interruption is no fault of a run", (asked.returncode, first, said))


def write_baseline(path, lines):
    """As lua-lib/yore/baseline.lua says: the last line counts the others and has their FNV-1a."""
    text, checksum = "".join(line + "\n" for line in lines), 0xcbf29ce484222325
    for byte in text.encode():
        checksum = (checksum ^ byte) * 0x100000001b3 % (1 << 64)
    with open(path, "w") as opened:
        opened.write("%send\t%d\t%016x\n" % (text, len(lines), checksum))


def check_baselines(made, folder):
    """Many baselines are as many traces would be; of each a part of its units stays; a range is not theirs."""
    baselines, traces = {}, {}
    for side, sleeps in (("a", 30_000), ("b", 50_000)):
        traces[side] = [made(requests=210, sleeps=sleeps + 500 * i, tid=100 + i) for i in range(30)]
        baselines[side] = ["%s/%s-%d.baseline" % (folder, side, i) for i in range(30)]
        for trace, file in zip(traces[side], baselines[side]):
            run(trace, "--unit", UNIT, "--unit", "syscall read", "--save", file)
    said = {name: compare("--a", *of["a"], "--b", *of["b"], "--unit", UNIT) for name, of in (("files", baselines), ("traces", traces))}
    causes = {name: [[one[key] for key in ("cause", "who", "difference", "runs_a", "runs_b")] for one in some["causes"]]
              for name, some in said.items()}
    result(said["files"]["units"] == said["traces"]["units"] and said["files"]["units"][0]["a"]["count"] == 6300 and
           causes["files"] == causes["traces"] == [["wait", "helper", 20_000, 30, 30]], "thirty baselines on each side", (said, causes))
    done = run("--a", *baselines["a"], "--b", *traces["b"], "--unit", UNIT, "--begin", "+1us")
    result("--begin does not hold for 30 baselines of side A: they are of the range that --save was given" in done.stderr and
           done.stderr.count("does not hold") == 1, "a range and baselines among the runs", done)
    done = run(traces["b"][0], "--baseline", baselines["a"][0], "--range-a", "+1us..+2us")
    result("--range-a does not hold for" in done.stderr, "a range of the side that is a baseline", done)


def check_left_out(made, folder, both):
    file = folder + "/many/a-0.baseline"
    run(folder + "/many/a-0", "--save", file)
    os.unlink(folder + "/many/a-0")
    with open(folder + "/many/b-9", "w") as opened:
        opened.write("no trace\n")
    said = compare(*both)
    first = said["causes"][0]
    result(said["units"][0]["a"]["runs"] == 5 and first["difference"] == 20_000 and first["moments"]["a"][0]["path"] == file,
           "a baseline among the runs", said)
    done = run(*both, "--fail-if", "p99(unit) > 1.1 * A", "--html", folder + "/many.html")
    with open(folder + "/many.html") as opened:
        text = opened.read()
    result(done.returncode == 1 and "b-9 is left out: " in done.stderr and "in 5 of 5 runs of A, 5 of 5 of B" in text and
           "b-4 00:00:05.000020000" in text, "a run that cannot be read is left out; --fail-if; --html", done)
    text = run(*both).stdout
    result("A: 5 runs: " in text and "5 of 5" in text and ", 1 left out" in text, "the table says how many runs there are", text)
    with open(file, "a") as opened:
        opened.write("more\n")
    text = run(*both)
    result("a-0.baseline is left out: " in text.stderr and "4 runs" in text.stdout, "a damaged baseline is left out", text)
    for words, status, why in [(both[:2], 2, "the runs of side B are missing"), (["--a", folder + "/none*", *both[2:]], 1, "there is no such file"),
                               (both[:2] + ["--b", folder + "/many/b-9"], 1, "no run of side B can be read"),
                               (both + ["--save", folder + "/x"], 2, "--save: it has no meaning with --a and --b"),
                               (both + ["--unit", "nonsense"], 2, "it is none")]:
        done = run(*words)
        result(done.returncode == status and why in done.stderr and ".lua:" not in done.stderr, "mistake: %s" % why, done)


def check_large(made, folder):
    a, b = made(requests=400), made(requests=400, sleeps=50_000, tid=3000)
    for unit in (UNIT, "syscall read", "wake-up to sleep of worker", 'thread[*]/syscall = "read"'):
        all_of_it, windows = compare(a, b, "--unit", unit), compare(a, b, "--unit", unit, "--at-once", "40K")
        result(windows["units"] == all_of_it["units"] and all_of_it["units"][0]["matched"] >= 400, "all are counted: " + unit,
               (windows["units"], all_of_it["units"]))
        caused = [] if unit.startswith("wake-up") else [("wait", "helper")]  # which it does not wait in
        told = [[(one["cause"], one["who"]) for one in said["causes"][:1]] for said in (windows, all_of_it)]
        result(told == [caused] * 2, "windows tell the cause: " + unit, told)
    wait = compare(a, b, "--unit", UNIT, "--at-once", "40K")["causes"][0]
    result(wait["difference"] == 20_000 and len(set(wait["moments"]["a"])) == 3, "windows tell the difference", wait)
    done = run(made(requests=400), made(requests=400), "--unit", UNIT, "--at-once", "40X")
    result(done.returncode == 2 and "'40X' is not a number of bytes" in done.stderr, "mistake: --at-once 40X", done)
    lossy = folder + "/lossy"
    subprocess.run([os.path.dirname(YORE) + "/fixtures/yore-gen", "--out", lossy, "--size", "400K", "--lose", "0.2", "--seed", "3",
                    "--no-truth"], check=True)
    entries = int(subprocess.run([YORE, "events", lossy, "--name", "syscall_entry_read", "--count", "--no-index"], env=ENV,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, text=True).stdout)
    unit = compare(lossy, lossy, "--unit", "syscall read")["units"][0]["a"]
    result(0 < unit["count"] < entries <= unit["count"] + unit["unknown"], "calls during losses are unknown", (unit, entries))


def check_page(made, folder):
    page = folder + "/page.html"
    done = run(made(), made(sleeps=50_000), "--unit", UNIT, "--html", page)
    with open(page) as opened:
        text = opened.read()
    root = xml.etree.ElementTree.fromstring(text[text.index("<html"):])
    cells = ["".join(cell.itertext()) for cell in root.iter("td")]
    titles = [title.text for title in root.iter("title")][1:]
    result(done.returncode == 0 and done.stdout == "" and {"wait", "helper", "20 us", UNIT} <= set(cells) and
           {"running 15 us", "wait 30 us", "wait 50 us", "ready 5 us"} == set(titles) and
           "http" not in text and "<script" not in text, "--html draws it in one file", (done, cells, titles))
    run(made(), made(), "--unit", UNIT, "--html", page)
    with open(page) as opened:
        result("Nothing: " in opened.read(), "--html says that nothing differs")


def write_calls(folder, calls, pairs=()):
    """A trace of the calls, each entered that often by thread 7, and of events NAME_begin, NAME_end."""
    names = ["sys_%s_%s" % (edge, call) for call in calls for edge in ("enter", "exit")]
    names += [name + edge for name in pairs for edge in ("_begin", "_end")]
    begun, t = b"", 1000
    for i, name in enumerate(names):
        for k in range(calls[name.rsplit("_", 1)[1]] if name.startswith("sys") else pairs[name.rsplit("_", 1)[0]]):
            t = 1000 + (i // 2) * 1000000 + 1000 * k + 400 * (i % 2)
            begun += struct.pack("<IQiq", i + 1, t, 7, 0)
    events = sorted((begun[at:at + 24] for at in range(0, len(begun), 24)), key=lambda one: struct.unpack_from("<Q", one, 4))
    kernel_ctf.write(folder, {i + 1: (name, "s32 common_pid; s64 ret;") for i, name in enumerate(names)}, "", {0: b"".join(events)})
    return folder


def check_one_side(folder):
    """Kinds of units that only one side has are listed, with how often it has them."""
    old = write_calls(folder + "/old", {"read": 20, "poll": 3})
    for name, new, wanted in [
            ("a call that waits", write_calls(folder + "/new1", {"read": 20, "nanosleep": 596}), [("syscall nanosleep", 0, 596)]),
            ("a call that is missing", write_calls(folder + "/new2", {"write": 7}), [("syscall read", 20, 0), ("syscall write", 0, 7)]),
            ("a pair of events", write_calls(folder + "/new3", {"read": 20}, {"flush": 9}), [("flush_begin -> flush_end", 0, 9)]),
            ("calls that one side does not tell", write_calls(folder + "/new4", {}, {"flush": 9}), [("flush_begin -> flush_end", 0, 9)]),
            ("nothing", write_calls(folder + "/new5", {"read": 11, "poll": 4}), [])]:
        said = compare(old, new)["of_one_side"]
        result([(one["unit"], one["a"], one["b"]) for one in said] == wanted, "only one side has: " + name, said)
    text = run(old, folder + "/new1").stdout
    result(re.search(r"kinds of units that only one side has\n.*\nsyscall nanosleep +0 +596\n", text), "only one side has, as a table", text)
    page = folder + "/one_side.html"
    run(old, folder + "/new2", "--html", page, "--limit", "1")
    with open(page) as opened:
        text = opened.read()
    root = xml.etree.ElementTree.fromstring(text[text.index("<html"):])
    rows = [[cell.text for cell in row] for row in root.iter("tr")]
    result(["syscall read", "20", "0"] in rows and not any("syscall write" in row for row in rows) and "and 1 more" in text,
           "only one side has, as a page", rows)
    many = compare("--a", old, folder + "/new5", "--b", folder + "/new1", folder + "/new2")["of_one_side"]
    result([(one["unit"], one["a"], one["b"]) for one in many] == [("syscall nanosleep", 0, 596), ("syscall poll", 7, 0), ("syscall write", 0, 7)],
           "only one side of many runs has", many)


def check_mistakes(made, folder):
    path, empty = made(), folder + "/empty"
    os.makedirs(empty)
    shutil.copy(path + "/metadata", empty)
    for words, status, said in [
            ([path], 2, "B is missing: yore compare A B"),
            ([path, "/there/is/nothing"], 1, "/there/is/nothing"),
            ([path, path, path], 2, "is too much"),
            ([path, path, "--unit", "what"], 2, "--unit: 'what': it is none"),
            ([path, path, "--unit", "--from a"], 2, "a period needs --from and --until"),
            ([path, path, "--fail-if", "p98(unit) > A"], 2, "mean, p50, p99 or count of"),
            ([path, path, "--fail-if", "p99(unit) > A || mean(unit) > 1"], 2, "mean, p50, p99 or count of"),
            ([path, path, "--fail-if", "p99(unit) > much"], 2, "mean, p50, p99 or count of"),
            ([path, path, "--unit", "request_begin -> request_end by nosuch"], 1,
             "--unit 'request_begin -> request_end by nosuch': key: no event of the trace has a field 'nosuch'"),
            ([path, path, "--unit", "thread[*]/nosuch = 1"], 1, "--unit 'thread[*]/nosuch = 1': path 'thread[*]/nosuch'"),
            ([path, path, "--floor", "x"], 2, "'x' is not a percentage"),
            ([path, path, "--range-a", "5"], 2, "FROM..TO is expected"),
            ([path, empty], 1, "no event"),
            ([empty, path], 1, "no event")]:
        done = run(*words)
        result(done.returncode == status and said in done.stderr and not re.search(r"\.lua:\d", done.stderr),
               "mistake: %s" % " ".join(word.replace(folder, "") for word in words), done)


def main():
    with tempfile.TemporaryDirectory() as folder:
        made = Pairs(folder)
        check_causes(made)
        check_nothing(made)
        check_units(made)
        check_matching(made)
        check_ranges(made)
        check_conditions(made)
        check_baseline(made, folder)
        check_many(made, folder)
        check_large(made, folder)
        check_page(made, folder)
        check_one_side(folder)
        check_mistakes(made, folder)
    sys.exit(status)


main()

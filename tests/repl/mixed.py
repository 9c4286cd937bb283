#!/usr/bin/python3
"""A kernel trace and what its programs recorded, merged: both answer one question.

yore-gen makes the kernel's trace of a machine that never was, and tells who ran where (DIR.truth).
Tasks (ovni) and calls (LTTng-UST) of its threads are made here: the oracle is this file and the truth.
"""
import bisect
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
from results import finish, result, yore

build = os.path.abspath(os.environ.get("top_builddir", "."))
os.environ["YORE_LUA_DIR"] = os.path.join(os.path.abspath(os.environ.get("srcdir", ".")), "lua-lib")
generator = os.path.join(build, "fixtures", "yore-gen")
CLOCK_OFFSET = 1700000000000000000  # fixtures/ctf_writer.h
CLOCK_UUID = "5ca1ab1e-0000-4000-8000-00c0ffee0000"
HOST = "fixture"
PID = 77
DRIFT = 39  # ns by which two measurements of one clock's distance to the epoch differ


def run(*words):
    return subprocess.run([yore, "--no-index", *map(str, words)], capture_output=True, text=True,
                          check=False)


def read_truth(path):
    with open(path + ".truth", "rb") as file:
        data = file.read()
    cpus, begin, end = struct.unpack_from("<8sIIqq", data)[2:]
    rows = [[] for _ in range(cpus)]
    for time, tid, cpu, _ in struct.iter_unpack("<qiHH", data[32:]):
        rows[cpu].append((time, tid))
    return rows, begin, end


def at(rows, time):
    """The last of (time, value) at or before it."""
    i = bisect.bisect_right(rows, time, key=lambda row: row[0])
    return rows[i - 1][1] if i else None


# ---- ovni ----

def ovni_event(mcv, time, payload=b"", jumbo=None):
    if jumbo is not None:
        return struct.pack("<B3sQI", 0x13, mcv, time, len(jumbo)) + jumbo
    size = len(payload) - 1 if payload else 0
    return struct.pack("<B3sQ", size, mcv, time) + payload


def write_ovni(folder, host, cpus, tasks, begin, end):
    """A stream for each thread; its tasks are (time, number), 0 between them."""
    for tid, rows in tasks.items():
        own = os.path.join(folder, "loom.%s.1" % host, "proc.1", "thread.%d" % tid)
        os.makedirs(own)
        about = {"version": 3, "ovni": {
            "lib": {"version": "1.14.0", "commit": "test"}, "part": "thread", "tid": tid, "pid": 1,
            "loom": "%s.1" % host, "app_id": 1, "finished": 1,
            "require": {"ovni": "1.1.0", "nosv": "2.7.0"},
            "loom_cpus": [{"index": i, "phyid": i} for i in range(cpus)]}}
        with open(os.path.join(own, "stream.json"), "w", encoding="utf-8") as file:
            json.dump(about, file)
        raw = begin - CLOCK_OFFSET
        events = [ovni_event(b"OHx", raw, struct.pack("<iiQ", 0, tid, 0)),
                  ovni_event(b"VYc", raw, jumbo=struct.pack("<I", 5) + b"work\0")]
        number = 0
        for time, task in rows:
            if number:
                events.append(ovni_event(b"VTe", time - CLOCK_OFFSET, struct.pack("<II", number, 0)))
            if task:
                events += [ovni_event(b"VTc", time - CLOCK_OFFSET, struct.pack("<II", task, 5)),
                           ovni_event(b"VTx", time - CLOCK_OFFSET, struct.pack("<II", task, 0))]
            number = task
        events.append(ovni_event(b"OHe", end - CLOCK_OFFSET))
        with open(os.path.join(own, "stream.obs"), "wb") as file:
            file.write(b"ovni" + struct.pack("<I", 1) + b"".join(events))


# ---- LTTng-UST ----

UST = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; } := uint8_t;
typealias integer { size = 32; align = 8; } := uint32_t;
typealias integer { size = 64; align = 8; } := uint64_t;
trace { major = 1; minor = 8; byte_order = le;
	packet.header := struct { uint32_t magic; };
};
env { hostname = "%s"; domain = "ust"; tracer_name = "lttng-ust"; };
clock { name = "monotonic"; uuid = "%s"; freq = 1000000000; offset = %d; };
typealias integer { size = 64; align = 8; map = clock.monotonic.value; } := time_t;
stream {
	packet.context := struct { time_t timestamp_begin; time_t timestamp_end; uint64_t content_size;
		uint64_t packet_size; uint64_t events_discarded; uint32_t cpu_id; };
	event.header := struct { uint8_t id; time_t timestamp; };
	event.context := struct { integer { size = 32; align = 8; signed = true; } vtid; uint32_t vpid; };
};
event { id = 0; name = "lttng_ust_cyg_profile:func_entry"; fields := struct { uint64_t addr; uint64_t call_site; }; };
event { id = 1; name = "lttng_ust_cyg_profile:func_exit"; fields := struct { uint64_t addr; uint64_t call_site; }; };
event { id = 2; name = "lttng_ust_statedump:start"; };
event { id = 3; name = "lttng_ust_statedump:bin_info"; fields := struct { uint64_t baddr; uint64_t memsz; string path; }; };
event { id = 4; name = "lttng_ust_statedump:build_id"; fields := struct { uint64_t baddr; uint8_t build_id[20]; }; };
"""


def state_dump(time, tid, files):
    """Events by which a process says what it has loaded: (base, path, build id or None)."""
    def head(number):
        return struct.pack("<BQiI", number, time - CLOCK_OFFSET, tid, PID)
    out = head(2)
    for base, path, build_id in files:
        out += head(3) + struct.pack("<QQ", base, 1 << 20) + path.encode() + b"\0"
        if build_id:
            out += head(4) + struct.pack("<Q", base) + build_id
    return out


def write_ust(folder, calls, lost=0, dump=None):
    """`calls`: (time, tid, entered, address), in order; `dump`: behind how many, and its bytes."""
    os.makedirs(folder)
    with open(os.path.join(folder, "metadata"), "w", encoding="utf-8") as file:
        file.write(UST % (HOST, CLOCK_UUID, CLOCK_OFFSET + DRIFT))
    body = [struct.pack("<BQiIQQ", not entered, time - CLOCK_OFFSET, tid, PID, address, 0)
            for time, tid, entered, address in calls]
    if dump:
        body.insert(*dump)
    body = b"".join(body)
    bits = (4 + 5 * 8 + 4 + len(body)) * 8
    head = struct.pack("<IQQQQQI", 0xc1fc1fc1, calls[0][0] - CLOCK_OFFSET,
                       calls[-1][0] - CLOCK_OFFSET, bits, bits, lost, 0)
    with open(os.path.join(folder, "ch_0"), "wb") as file:
        file.write(head + body)


def make_tasks(chance, tids, begin, end):
    """Of each thread (time, task), 0 where none runs."""
    tasks, number = {}, 0
    for tid in tids:
        rows = []
        for time in sorted(chance.sample(range(begin + 1, end), 30)):
            number += 1
            rows.append((time, 0 if rows and rows[-1][1] and chance.random() < .4 else number))
        tasks[tid] = rows
    return tasks


def make_calls(chance, tids, begin, end):
    """All calls in order, and of each thread (time, stack)."""
    calls, stacks = [], {tid: [(begin, ())] for tid in tids}
    for time in sorted(chance.sample(range(begin + 1, end), 600)):
        tid = chance.choice(tids)
        stack = stacks[tid][-1][1]
        if stack and chance.random() < .45:
            calls.append((time, tid, False, stack[-1]))
            stack = stack[:-1]
        else:
            address = 0x401000 + 16 * chance.randrange(9)
            calls.append((time, tid, True, address))
            stack += (address,)
        stacks[tid].append((time, stack))
    return calls, stacks


def ask(time, paths, *trace):
    done = run("at", *trace, "@%d" % time, *paths, "--format", "json", "--quiet")
    values = {}
    for line in done.stdout.splitlines():
        row = json.loads(line)
        values[row["path"]] = row["value"] if row.get("known", True) else "?"
    return values, done.stderr


# ---- functions of calls ----

def functions_of(program):
    """Addresses and names of functions that no other symbol is near, as nm has them."""
    rows = [line.split() for line in subprocess.run(["nm", "-n", program], capture_output=True, text=True,
                                                    check=False).stdout.splitlines()]
    rows = [(int(row[0], 16), row[1], row[2]) for row in rows if len(row) == 3]
    near = [row[0] for row in rows]
    return [(address, name) for address, kind, name in rows
            if kind in "tT" and "." not in name and not name.startswith("_") and near.count(address) == 1]


def build_id_of(program):
    said = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=False).stdout
    return bytes.fromhex(said.partition("Build ID: ")[2].split()[0]) if "Build ID: " in said else None


def fold(stacks, end):
    """A line of a flame graph, and its weight; stacks are lists of names."""
    lines = {}
    for tid, own in stacks.items():
        for (time, stack), (until, _) in zip(own, own[1:] + [(end, ())]):
            if stack and until > time:
                key = ";".join([":%d" % tid] + list(stack))
                lines[key] = lines.get(key, 0) + until - time
    return lines


def folded(trace, *options):
    done = run("run", *options, "flamegraph", trace)
    return {line.rpartition(" ")[0]: int(line.rpartition(" ")[2])
            for line in done.stdout.splitlines()}, done.stderr


ADDRESS = re.compile(r'(thread\[\d+\]/stack\[\d+\])  "(0x[0-9a-f]+)"(?: (\S+))?(?=  |$)', re.M)


def frames_at(trace, time, *options):
    """Of each frame on a stack its address and name: by text, by JSON."""
    words = ("at", trace, "@%d" % time, "thread[*]/stack[*]", *options)
    rows = map(json.loads, run(*words, "--format", "json").stdout.splitlines())
    return (sorted(ADDRESS.findall(run(*words).stdout)),
            sorted((row["path"], row["value"], row.get("symbol", "")) for row in rows))


def check_rows(trace, calls, stacks, called):
    """All rows of ranges, and what is drawn; `called`: a function by its address."""
    begin, end = calls[0][0] + DRIFT, calls[-1][0] + DRIFT
    told = {"0x%x" % address: name for address, name in called.items()}
    for words, least in ((("state",), 300), (("longest", "--limit", "50"), 50)):
        rows = ADDRESS.findall(run(*words, trace, "thread[*]/stack[*]").stdout)
        wrong = [row for row in rows if told.get(row[1]) != row[2]]
        result(len(rows) >= least and not wrong, "functions in rows of %s, %d" % (words[0], len(rows)), wrong[:3])
    length, time, tid, stack = max((after - time, time, tid, stack) for tid, own in stacks.items()
                                   for (time, stack), (after, _) in zip(own, own[1:]) if stack)
    words = ("timeline", trace, "thread[%d]/stack[1]" % tid, "--begin", "@%d" % (time + DRIFT), "--end",
             "@%d" % (time + DRIFT + length))
    drawn = os.path.join(os.path.dirname(trace), "stack.svg")
    text = run(*words, "--width", "100").stdout
    result("▌" + called[stack[0]] + "▂" in text, "functions in a drawn timeline", text)
    run("timeline", trace, "thread[*]/stack[*]", "--begin", "@%d" % begin, "--end", "@%d" % end, "--svg", drawn)
    with open(drawn, encoding="utf-8") as file:
        text = file.read()
    missing = [name for name in called.values() if '"%s"' % name not in text]
    result(not missing, "and in one for a browser", missing)


def check_names(work, chance, calls, stacks):
    """Calls of a program's functions, where it was loaded as its process says, or the user does."""
    program, build_id = os.path.realpath(generator), build_id_of(generator)
    functions, base = functions_of(program), 0x55d4a1c3f000
    if len(functions) < 9 or not build_id:
        print("SKIP: names of called functions: nm and readelf do not tell them")
        return
    chosen = chance.sample(functions, 9)
    place = {0x401000 + 16 * i: base + address for i, (address, _) in enumerate(chosen)}
    called = {0x401000 + 16 * i: name for i, (_, name) in enumerate(chosen)}
    moved = [(time, tid, entered, place[address]) for time, tid, entered, address in calls]
    end, tid = calls[-1][0], calls[0][1]
    names = fold({tid: [(time, [called[a] for a in stack]) for time, stack in own]
                  for tid, own in stacks.items()}, end)
    numbers = fold({tid: [(time, ["0x%x" % place[a] for a in stack]) for time, stack in own]
                    for tid, own in stacks.items()}, end)

    def dump(place_in_trace, *files):
        return place_in_trace, state_dump(calls[place_in_trace][0], tid, files)

    other = bytes(255 - byte for byte in build_id)
    for name, told, more, expected in (
            ("a dump before all calls", dump(0, (base, program, build_id)), (), names),
            ("a dump after the first ones", dump(20, (base, program, build_id)), (), names),
            ("a dump without a build id", dump(0, (base, program, None)), (), names),
            ("another file is there by now", dump(0, (base, program, other)), (), numbers),
            ("no file is there any more", dump(0, (base, "/nowhere/yore-no", build_id)), (), numbers),
            ("nothing says what was loaded", None, (), numbers),
            ("but --program does", None, ("--program", "%s@0x%x" % (program, base)), names),
            ("--program says where a file is now", dump(0, (base, "/nowhere/yore-gen", build_id)),
             ("--program", program), names)):
        trace = os.path.join(work, "named " + name)
        write_ust(trace, moved, dump=told)
        said, why = folded(trace, *more)
        result(expected and said == expected, "functions of a flame graph: " + name,
               (why, sorted(set(said.items()) ^ set(expected.items()))[:4]))
        moment = calls[len(calls) // 2][0]
        frames = sorted(("thread[%d]/stack[%d]" % (tid, i + 1), "0x%x" % place[address],
                         called[address] if expected is names else "")
                        for tid, own in stacks.items() for i, address in enumerate(at(own, moment) or ()))
        text, rows = frames_at(trace, moment + DRIFT, *more)
        result(len(frames) > 3 and text == frames and rows == frames,
               "functions at a moment, %d: %s" % (len(frames), name), (text[:3], rows[:3], frames[:3]))
        if told and expected is names and not more:
            check_rows(trace, calls, {tid: [(time, [place[a] for a in stack]) for time, stack in own]
                                      for tid, own in stacks.items()}, {place[a]: name for a, name in called.items()})


def main():
    chance = random.Random(16)
    with tempfile.TemporaryDirectory() as work:
        kernel, ovni, ust = (os.path.join(work, name) for name in ("kernel", "ovni", "ust"))
        done = subprocess.run([generator, "--out", kernel, "--seed", "16", "--size", "400K", "--cpus",
                               "3", "--threads", "6"], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit("yore-gen: %s" % done.stderr)
        rows, begin, end = read_truth(kernel)
        # a number that ends may come again, as another thread without its calls
        ended = {int(json.loads(line)["fields"]["tid"]) for line in
                 run("events", kernel, "--name", "sched_process_free", "--format", "json").stdout.splitlines()}
        tids = sorted({tid for cpu in rows for _, tid in cpu if tid} - ended)
        tasks = make_tasks(chance, tids, begin, end)
        write_ovni(ovni, HOST, len(rows), tasks, begin, end)
        calls, stacks = make_calls(chance, tids, begin, end)
        write_ust(ust, calls)
        times = sorted(chance.sample(range(begin + (end - begin) // 10, end), 25))

        def expect_tasks():
            """Moments, and of each the tasks by CPU."""
            for time in times:
                said = {}
                for cpu, own in enumerate(rows):
                    task = at(tasks.get(at(own, time), []), time)
                    said["cpu[%d]/nosv/task" % cpu] = task or None
                yield time, said

        for trace, name in (((kernel, "--with", ovni), "the task on a CPU: LTTng's kernel and ovni"),
                            ((ovni, "--with", kernel), "the same, the other way round")):
            wrong, told = [], 0
            for time, expected in expect_tasks():
                said, why = ask(time, ("cpu[*]/nosv/task",), *trace)
                said = {path: said.get(path) for path in expected}
                told += sum(value is not None for value in expected.values())
                if said != expected:
                    wrong.append((time, said, expected, why))
            result(not wrong and told >= 10, "%s, %d times %d CPUs" % (name, len(times), len(rows)),
                   wrong[:2])

        wrong, deepest = [], 0
        for time in times:
            said, why = ask(time, ("thread[*]/stack", "thread[*]/stack[*]", "thread[*]/cpu"),
                            kernel, "--with", ust)
            for tid in tids:
                stack = at(stacks[tid], time)
                deepest = max(deepest, len(stack))
                seen = [said.get("thread[%d]/stack[%d]" % (tid, i + 1)) for i in range(len(stack))]
                if (said.get("thread[%d]/stack" % tid) or 0) != len(stack) or \
                        [int(text, 16) for text in seen if text] != list(stack):
                    wrong.append((time, tid, stack, said.get("thread[%d]/stack" % tid), seen, why))
            for cpu, own in enumerate(rows):
                tid = at(own, time)
                if tid and said.get("thread[%d]/cpu" % tid) != cpu:
                    wrong.append((time, tid, "runs on", cpu))
        result(not wrong and deepest >= 4,
               "the stack of a thread and its CPU: LTTng's kernel and user space", wrong[:2])

        said, why = ask(calls[-1][0] + DRIFT, ("thread[*]/process",), ust)
        result(said == {"thread[%d]/process" % tid: PID for tid in tids}, "processes by vpid", (said, why))
        plain, moved = (run("events", kernel, "--name", "sched_switch", "--limit", "50", "--time", "ns",
                            *more).stdout.split("\n") for more in ((), ("--offset", kernel + "=+1500ms")))
        result(len(plain) > 50 and moved == [str(int(line.split(" ", 1)[0]) + 1500000000) + " " + line.split(" ", 1)[1]
                                             for line in plain if line] + [""],
               "--offset shifts CTF", (plain[:1], moved[:1]))
        about = json.loads(run("info", kernel, "--with", ovni, "--with", ust, "--format",
                               "json").stdout)["clocks"]
        result([(c.get("relation"), c.get("aligned"), c.get("same_as"), c["epoch"],
                 c["offset_s"] * 10**9 + c["offset"]) for c in about] ==
               [(None, None, None, True, CLOCK_OFFSET),
                ("same clock, same host", True, 0, True, CLOCK_OFFSET),
                ("same UUID", True, 0, True, CLOCK_OFFSET)], "info: how clocks are related", about)
        alone = run("events", ust, "--limit", "1", "--time", "ns").stdout.split()[0]
        result(alone.lstrip("@") == str(calls[0][0] + DRIFT), "alone a trace has its own origin", alone)
        text = run("info", kernel, "--with", ovni).stdout
        result("relation   the clock 'monotonic' above: both are monotonic of one host; that it was one "
               "boot is not told, but assumed; it has that one's origin" in text, "info says it", text)

        other = os.path.join(work, "other")
        write_ovni(other, "node9", 3, tasks, begin, end)
        done = run("at", kernel, "--with", other, "@%d" % times[0], "host[*]/cpu[*]/thread")
        result(done.returncode == 2 and "its clock 'monotonic of node9'" in done.stderr and
               "has no known relation to" in done.stderr and
               "; to let them begin together: --offset %s=+1" % other in done.stderr,
               "another host's clock is refused", done.stderr)
        done = run("info", kernel, "--with", other, "--offset", "%s=+%ds" % (other, CLOCK_OFFSET // 10**9))
        result(done.returncode == 0 and "relation   as --offset says" in done.stdout,
               "unless --offset says how far it is", done.stdout + done.stderr)
        done = run("events", kernel, "--with", other, "--offset", other + "=+0s", "--limit", "1")
        result(done.returncode == 0, "an offset of 0 is one", done.stderr)
        done = run("info", ovni, "--with", other)
        result(done.returncode == 2, "two hosts since boot", done.stderr)

        done = run("run", "flamegraph", ust)
        expected = fold({tid: [(time, ["0x%x" % address for address in stack]) for time, stack in own]
                         for tid, own in stacks.items()}, calls[-1][0])
        said, _ = folded(ust)
        result(expected and said == expected, "flame graph of calls, %d stacks" % len(expected),
               (done.stderr, sorted(set(said.items()) ^ set(expected.items()))[:4]))
        drawn = os.path.join(work, "drawn.svg")
        done = run("run", "flamegraph", ust, "--svg", drawn, "--stack", "thread[*]/stack")
        with open(drawn, encoding="utf-8") as file:
            text = file.read()
        result(done.returncode == 0 and 'data-weight="%d"><title>all\n' % sum(expected.values())
               in text, "and drawn", done.stderr + text[:300])
        check_names(work, chance, calls, stacks)
        write_ust(os.path.join(work, "lossy"), calls, 3)
        said, why = ask(calls[-1][0] + DRIFT, ("thread[%d]/stack" % tids[0],), os.path.join(work, "lossy"))
        result(said == {"thread[%d]/stack" % tids[0]: "?"}, "no stack is known behind lost calls",
               (said, why))
    finish()


if __name__ == "__main__":
    main()

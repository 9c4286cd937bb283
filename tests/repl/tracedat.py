#!/usr/bin/python3
"""convert --to trace.dat: what trace-cmd report reads of it, and yore itself, is what went in.

usage: tracedat.py; traces are those of fixtures/, of yore-gen, and of $YORE_CORPUS where it is.
Without trace-cmd the rows that ask it are skipped.
"""
import json
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
from results import finish, result, top, yore

build = os.path.abspath(os.environ.get("top_builddir", "."))
corpus = os.environ.get("YORE_CORPUS", "")
golden = os.path.join(top, "fixtures", "golden")
LINE = re.compile(r"^\s*(.*)-(-?\d+) +\[(\d+)\] +(?:.*? +)?(\d+)\.(\d{9}): +([^ :]+):? ?(.*)$")


def run(*words):
    return subprocess.run([yore, "--no-index", *words], capture_output=True, text=True, check=False)


def events(*trace):
    """Events that have a time, and the number of those that were lost."""
    rows, lost = [], 0
    for line in run("events", *trace, "--format", "json").stdout.splitlines():
        item = json.loads(line)
        if "lost" in item:
            lost += item["lost"] or 0
        elif item["ts"] is not None:
            rows.append(item)
    return rows, lost


def report(path):
    done = subprocess.run(["trace-cmd", "report", "-t", "-N", path], capture_output=True, text=True,
                          errors="replace", check=False)
    lines = [match for match in map(LINE.match, done.stdout.splitlines()) if match]
    return [(int(m[4]) * 10**9 + int(m[5]), int(m[3]), m[6]) for m in lines], done


def word(name):
    return re.sub(r"[^A-Za-z0-9]", "_", name)


def bare(name):
    """Behind the subsystem; OU[ and OU], which would both be OU_, get a number."""
    return re.sub(r"_\d+$", "", word(name.rsplit(":", 1)[-1]))


def leaves(value, path=()):
    if isinstance(value, dict) and set(value) == {"value", "labels"}:
        yield path, value["value"]
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from leaves(item, path + (name,))
    else:
        yield path, value


def same_value(ours, theirs):
    if isinstance(theirs, dict) and set(theirs) == {"value", "labels"}:
        theirs = theirs["value"]
    if isinstance(theirs, bool):
        return ours == int(theirs)
    if isinstance(theirs, list) and not all(isinstance(item, int) for item in theirs):
        return isinstance(ours, str) and json.loads(ours) == theirs
    if isinstance(ours, int) and isinstance(theirs, int):
        return (ours - theirs) % 2**64 == 0
    return ours == theirs


def differs(before, after, copied):
    """Why `after`, read from the trace.dat, is not the event `before`; None: it is."""
    name = before["name"]
    if before["ts"] != after["ts"] or (not copied and
                                     bare(name) != bare(after["name"])):
        return "%s at %s, not %s at %s" % (after["name"], after["ts"], name, before["ts"])
    if copied:
        same = {k: v for k, v in before["context"].items() if k.startswith("common_")}
        if name != after["name"] or before["fields"] != after["fields"] or \
                same != {k: v for k, v in after["context"].items() if k in same}:
            return "%s: %s, not %s" % (name, after, before)
        return None
    for scope in ("fields", "context"):
        for path, value in leaves(before[scope]):
            if isinstance(value, float) or value in ("NaN", "Infinity", "-Infinity"):
                continue
            known = [word("_".join(path)), word("context_" + "_".join(path))]
            known += [n + "_2" for n in known]
            ours = [after["fields"][n] for n in known if n in after["fields"]]
            if not any(same_value(item, value) for item in ours):
                return "%s: %s is %s, not %r" % (name, path, ours, value)
    return None


def compare(work, name, *trace):
    path = os.path.join(work, name + ".dat")
    done = run("convert", trace[0], path, *trace[1:], "--to", "trace.dat")
    if done.returncode not in (0, 3):
        return result(False, name, done.stderr)
    before, lost = events(*trace)
    after, lost_after = events(path)
    wrong = None if len(before) == len(after) else "%d events, not %d: %s" % (
        len(after), len(before), done.stderr)
    # equal times are ordered by stream, and streams of the file are those of its CPUs
    key = lambda item: (item["ts"], bare(item["name"]))
    for one, other in zip(sorted(before, key=key), sorted(after, key=key)):
        copied = "common_type" in one["context"]
        wrong = wrong or differs(one, other, copied)
    if lost != lost_after:
        wrong = wrong or "%d events lost, not %d" % (lost_after, lost)
    result(not wrong, "%s: %d events, %d lost, read again" % (name, len(after), lost), wrong)
    if not shutil.which("trace-cmd"):
        print("SKIP: %s: trace-cmd is not installed" % name)
        return path
    lines, said = report(path)
    expected = sorted((item["ts"], item["cpu"], item["name"].rsplit(":", 1)[-1]) for item in after)
    result(sorted(lines) == expected and all(a[0] <= b[0] for a, b in zip(lines, lines[1:])),
           "%s: trace-cmd report has all, in order" % name,
           (len(lines), len(expected), said.stderr[:300],
            [pair for pair in zip(sorted(lines), expected) if pair[0] != pair[1]][:2]))
    return path


def put_sized(data, width):
    return len(data).to_bytes(width, "little") + data


def assemble(folder, path):
    """A trace.dat of version 6 around little-endian pages, by the format's description: for trace-cmd to judge them."""
    def read(*parts):
        with open(os.path.join(folder, *parts), "rb") as file:
            return file.read()
    head = b"\x17\x08\x44tracing6\0\0\x08" + struct.pack("<I", 4096)
    for name in ("header_page", "header_event"):
        head += name.encode() + b"\0" + put_sized(read("events", name), 8)
    systems = sorted(name for name in os.listdir(os.path.join(folder, "events")) if not name.startswith("header_"))
    formats = {system: [put_sized(read("events", system, event, "format"), 8)
                        for event in sorted(os.listdir(os.path.join(folder, "events", system)))] for system in systems}
    ftrace = formats.pop("ftrace", [])
    head += struct.pack("<I", len(ftrace)) + b"".join(ftrace) + struct.pack("<I", len(formats))
    for system, texts in formats.items():
        head += system.encode() + b"\0" + struct.pack("<I", len(texts)) + b"".join(texts)
    head += put_sized(read("kallsyms"), 4) + put_sized(read("printk_formats"), 4) + put_sized(read("saved_cmdlines"), 8)
    pages = [read("per_cpu", "cpu%d" % i, "trace_pipe_raw")
             for i in range(len(os.listdir(os.path.join(folder, "per_cpu"))))]
    head += struct.pack("<I", len(pages)) + b"flyrecord\0"
    at = start = (len(head) + 16 * len(pages) + 4095) // 4096 * 4096
    for data in pages:
        head += struct.pack("<QQ", at, len(data))
        at += len(data)
    with open(path, "wb") as file:
        file.write(head.ljust(start, b"\0") + b"".join(pages))


def page_times(data):
    """Times of the events of bare pages: sel4-extract's have words and time extensions alone."""
    for page in range(0, len(data), 4096):
        now, commit = struct.unpack_from("<QQ", data, page)
        at, end = page + 16, page + 16 + (commit & 0xfffff)
        while at < end:
            head, word = struct.unpack_from("<II", data, at)
            kind = head & 31
            now += (head >> 5) + (word << 27 if kind == 30 else 0)
            if kind <= 28:
                yield now
            at += 8 if kind == 30 else 4 + 4 * kind


def compare_pages(work, name, *trace, little=True):
    """convert --to pages: what yore reads of the folder, and trace-cmd of its pages, is what went in."""
    folder = os.path.join(work, name + ".pages")
    done = run("convert", trace[0], folder, *trace[1:], "--to", "pages")
    if done.returncode not in (0, 3):
        return result(False, "pages of " + name, done.stderr)
    before, lost = events(*trace)
    after, lost_after = events(folder)
    key = lambda item: (item["ts"], bare(item["name"]))
    wrong = None if (len(before), lost) == (len(after), lost_after) else "%d events and %d lost, not %d and %d" % (
        len(after), lost_after, len(before), lost)
    for one, other in zip(sorted(before, key=key), sorted(after, key=key)):
        wrong = wrong or differs(one, other, "common_type" in one["context"])
    result(not wrong, "pages of %s: %d events, %d lost, read again" % (name, len(after), lost), wrong)
    if little and shutil.which("trace-cmd"):
        path = os.path.join(work, name + ".assembled.dat")
        assemble(folder, path)
        lines, said = report(path)
        expected = sorted((item["ts"], item["cpu"], item["name"].rsplit(":", 1)[-1]) for item in after)
        result(sorted(lines) == expected, "pages of %s: trace-cmd reads all of them" % name,
               (len(lines), len(expected), said.stderr[:300]))
        return lines
    return None


def page_files(folder):
    return sorted(os.path.join(folder, "per_cpu", name, "trace_pipe_raw") for name in os.listdir(os.path.join(folder, "per_cpu")))


def leave(pages, folder, name, inner):
    """What trace-cmd leaves when it is killed, beside the formats; pages of the CPUs `inner` are those of an instance."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(pages, folder, ignore=lambda _, names: {"per_cpu"} & set(names))
    for cpu, path in enumerate(page_files(pages)):
        of = ".inner" if cpu in inner else ""
        shutil.copyfile(path, os.path.join(folder, "%s%s.cpu%d" % (name, of, cpu)))


def restored(pages, folder):
    """trace-cmd restore's file of what was left; None: it is not installed, or made none."""
    tree, head, path = os.path.join(folder, "tree"), os.path.join(folder, "head.dat"), os.path.join(folder, "restored.dat")
    shutil.copytree(pages, tree, ignore=lambda _, names: {"per_cpu"} & set(names))
    os.makedirs(os.path.join(tree, "options"), exist_ok=True)
    left = sorted(os.path.join(folder, name) for name in os.listdir(folder) if ".cpu" in name)
    for cpu in range(len(left)):
        os.makedirs(os.path.join(tree, "per_cpu", "cpu%d" % cpu))
        with open(os.path.join(tree, "per_cpu", "cpu%d" % cpu, "stats"), "w", encoding="ascii"):
            pass
    for more in (("-c", "-t", tree, "-k", os.path.join(pages, "kallsyms"), "-o", head),
                 ("-i", head, "-o", path, *left)):
        if subprocess.run(["trace-cmd", "restore", *more], capture_output=True, check=False).returncode:
            return None
    return path


def check_previous_boot(work):
    """Pages of an instance that was kept over a crash, page by page as trace_pipe_raw gives them, beside the next boot's events/."""
    pages, folder = os.path.join(work, "pages"), os.path.join(work, "boot")
    shutil.rmtree(pages, ignore_errors=True)
    run("convert", os.path.join(golden, "sched-ftrace", "trace.dat"), pages, "--to", "pages")
    shutil.copytree(os.path.join(pages, "events"), os.path.join(folder, "events"))
    inner = os.path.join(folder, "instances", "boot_map")
    os.makedirs(inner)
    for cpu, path in enumerate(page_files(pages)):
        with open(path, "rb") as file:
            data = file.read()
        # what the writer had not filled is zeros, and the page behind it has nothing
        stamp = data[-4096:][:8]
        with open(os.path.join(inner, "cpu%d.raw" % cpu), "wb") as file:
            file.write(data + stamp + bytes(4088))
    wanted = [item for item in events(pages)[0]]
    got = events(folder)[0]
    rename = lambda item: (item["ts"], item["stream"].rsplit("/", 1)[-1], item["name"], item["context"]["common_pid"])
    result(list(map(rename, got)) == list(map(rename, wanted)) and len(got) > 400 and
           {item["stream"] for item in got} == {"boot_map/" + item["stream"] for item in wanted},
           "pages of a previous boot's instance", (len(got), len(wanted)))


def check_killed(work):
    """OUT.cpuN and OUT.INSTANCE.cpuN beside a copy of events/ are the pages that they were written from."""
    pages, folder = os.path.join(work, "pages"), os.path.join(work, "killed")
    run("convert", os.path.join(golden, "sched-ftrace", "trace.dat"), pages, "--to", "pages")
    ask = lambda path, *words: run("events", path, "--no-index", "--format", "json", *words)
    wanted = ask(pages)
    for name in ("trace.dat", "my.trace-2.dat", "x"):
        leave(pages, folder, name, ())
        got = ask(folder)
        result(got.returncode == 0 and got.stdout == wanted.stdout and got.stdout.count("\n") > 400,
               "pages that a killed recorder left as %s.cpuN" % name, got.stderr)
    leave(pages, folder, "trace.dat", (1,))
    whole = os.path.join(work, "instances")
    shutil.copytree(pages, whole)
    os.makedirs(os.path.join(whole, "instances", "inner", "per_cpu"))
    os.rename(os.path.join(whole, "per_cpu", "cpu1"), os.path.join(whole, "instances", "inner", "per_cpu", "cpu1"))
    got, other = ask(folder), ask(whole)
    result(got.stdout == other.stdout and got.stdout.count('"inner/cpu1"') > 5, "pages of an instance", got.stderr)
    leave(pages, folder, "trace.dat", ())
    if shutil.which("trace-cmd"):
        path = restored(pages, folder)
        lines = report(path)[0] if path else None
        expected = sorted((item["ts"], item["cpu"], item["name"].rsplit(":", 1)[-1]) for item in events(folder)[0])
        result(lines is not None and sorted(lines) == expected, "as trace-cmd restore reads them",
               (path, len(lines or ()), len(expected)))
    else:
        print("SKIP: as trace-cmd restore reads them: trace-cmd is not installed")
    leave(pages, folder, "trace.dat", ())
    first = os.path.join(folder, "trace.dat.cpu0")
    size, before = os.path.getsize(first), wanted.stdout.splitlines()
    bad = []
    for cut in range(size - 1, size - 4096, -37):
        os.truncate(first, cut)
        got = ask(folder)
        rows = got.stdout.splitlines()
        if got.returncode not in (0, 3) or not 0 <= len(before) - len(rows) < 200 or set(rows) - set(before):
            bad.append((cut, got.returncode, len(rows), got.stderr))
    result(not bad, "a last page that was not written to its end", bad)
    leave(pages, folder, "trace.dat", ())
    shutil.copyfile(first, os.path.join(folder, "cpu0.raw"))
    got = ask(folder)
    result(got.returncode == 3 and got.stdout == wanted.stdout and "has the pages of this CPU, too" in got.stderr,
           "two files of one CPU", got.stderr)
    os.remove(os.path.join(folder, "cpu0.raw"))
    shutil.rmtree(os.path.join(folder, "events"))
    for path, what in ((folder, "left files"), (first, "left it")):
        got = ask(path)
        result(got.returncode == 1 and "trace-cmd %s when it was killed" % what in got.stderr
               and "/sys/kernel/tracing/events" in got.stderr, "without formats, it says what is missing: " + what, got.stderr)


def check_full(work):
    """A disk that is full while pages wait for the others."""
    trace, out = os.path.join(golden, "sched-ftrace", "trace.dat"), os.path.join(work, "full.dat")
    got = subprocess.run([yore, "convert", trace, out, "--no-index"], capture_output=True, text=True, check=False,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000)))
    result(got.returncode == 1 and got.stderr.startswith("yore: %s: storing pages" % out) and not os.path.exists(out),
           "no room for pages names the output", got.stderr)


def main():
    with tempfile.TemporaryDirectory() as work:
        scene = os.path.join(work, "scene")
        lossy = os.path.join(work, "lossy")
        generate = os.path.join(build, "fixtures", "yore-gen")
        for path, more in ((scene, ("--contexts",)), (lossy, ("--lose", "0.4", "--big-endian"))):
            subprocess.run([generate, "--out", path, "--seed", "5", "--size", "200K", "--cpus", "3",
                            *more], check=True, capture_output=True)
        compare(work, "LTTng's kernel", scene)
        compare(work, "with losses", lossy)
        compare(work, "perf by CTF", os.path.join(golden, "sched-demo"))
        compare(work, "perf.data", os.path.join(golden, "sched-perf", "perf.data"))
        compare(work, "ovni", os.path.join(golden, "ovni-demo"))
        same = os.path.join(golden, "sched-ftrace", "trace.dat")
        compare_pages(work, "LTTng", scene)
        compare_pages(work, "big-endian", lossy, little=False)
        compare_pages(work, "ftrace", same)
        check_killed(work)
        check_full(work)
        check_previous_boot(work)
        path = compare(work, "trace.dat", same)
        if path and shutil.which("trace-cmd"):
            texts = [subprocess.run(["trace-cmd", "report", "-t", p], capture_output=True, text=True,
                                    check=False).stdout for p in (same, path)]
            result(texts[0] == texts[1] and texts[0].count("\n") > 100,
                   "trace-cmd report says the same of both", texts[1][:500])
        with open(path, "rb") as file:
            data = file.read()
        at = data.index(b"options  \0")
        result(struct.unpack_from("<I", data, at - 4)[0] == 2 and
               struct.pack("<HII", 8, 4, 2) in data[at:at + 400], "the count of CPUs, twice", data[at:at + 200])
        merged = os.path.join(corpus, "sel4", "merged")
        if os.path.isdir(merged):
            log = os.path.join(merged, "log.bin")
            path = compare(work, "seL4 merged with ftrace", os.path.join(merged, "ftrace-v6.dat"), "--with", log,
                           "--offset", log + "=+0s")
            with open(os.path.join(merged, "expected", "report-fixed-ns.txt"), encoding="utf-8") as file:
                tool = [m for m in map(LINE.match, file.read().splitlines()) if m]
            if shutil.which("trace-cmd"):
                ours = report(path)[0]
                theirs = sorted((int(m[4]) * 10**9 + int(m[5]), int(m[3])) for m in tool)
                kept = sorted((t, cpu) for t, cpu, event in ours if cpu < 2 or event == "Entry_Switch")
                result(kept == theirs, "as the tools of seL4 merge them, %d lines" % len(theirs),
                       (len(kept), len(theirs)))
            basic = os.path.join(corpus, "sel4", "basic")
            lines = compare_pages(work, "seL4", os.path.join(basic, "log.bin"))
            with open(os.path.join(basic, "expected", "entries.txt"), encoding="utf-8") as file:
                switches = re.findall(r"^.*\bEntry_Switch\b.*$", file.read(), re.M)
            with open(os.path.join(basic, "expected", "sel4-extract-pages.raw"), "rb") as file:
                extracted = sorted(page_times(file.read()))
            if lines is not None:
                ours = sorted(t for t, _, event in lines if event == "Entry_Switch")
                result(ours == extracted and len(ours) == len(switches),
                       "pages of seL4: %d switches, when sel4-extract has them" % len(ours), (ours[:2], extracted[:2]))
            compare_pages(work, "seL4 with ftrace", os.path.join(merged, "ftrace-v6.dat"), "--with", log,
                          "--offset", log + "=+0s")
            for name in ("per-uid", "two-channels", "overwrite"):
                compare(work, "lttng-ust " + name, os.path.join(corpus, "lttng-ust", name, "trace"))
            compare(work, "perf and markers", os.path.join(corpus, "trace-dat", "v6-markers", "trace.dat"))
            compare(work, "big-endian, 32 bits", os.path.join(corpus, "trace-dat", "synth-be32", "trace.dat"))
        else:
            print("SKIP: traces of the corpus: no folder %s" % (corpus or "named by YORE_CORPUS"))
    finish()


if __name__ == "__main__":
    main()

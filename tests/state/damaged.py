#!/usr/bin/env python3
"""damaged.py YORE TRACE COUNT [SEED]: what is stored is damaged, and every answer must be that of the trace.

A copy of the trace is stored in each way: index, timelines of one part, timelines of shards with all files that their steps leave,
checkpoints. COUNT times one file is damaged: bits flipped, bytes set, runs of zeros or of other places copied over, pages swapped, cut, made
longer, replaced by another file's bytes. Then questions are asked, each of a folder of its own: output and exit status must be those of
--no-index. Now and then what was damaged is built again, by 'index --timelines', and asked once more.
A tenth of the files are cut while a process reads them."""
import os, random, shutil, subprocess, sys, tempfile, time

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "repl"))
from results import HANGS, startup

yore, original, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
random.seed(seed)
work = tempfile.mkdtemp(prefix="yore-damaged-")
trace = work + "/trace"
env = dict(os.environ, YORE_INDEX_DIR="/nonexistent")
QUESTIONS = [
    ["at", "+{t}us", "**", "--format", "json"],
    ["at", "+{t}us", "thread[*]/state"],
    ["state", "cpu[*]/thread", "--format", "json"],
    ["state", "**", "--begin", "+{t}us", "--end", "+{u}us"],
    ["when", 'thread[*]/state="blocked"'],
    ["longest", "thread[*]/state", "--limit", "1000"],
    ["timeline", "cpu[*]/thread", "--width", "40"],
    ["sql", "SELECT * FROM state WHERE path = 'cpu[0]/thread'"],
    ["events", "--count"],
]


MOMENTS = [random.randint(0, 9000) for _ in range(12)]  # few, so that answers of the trace are asked for once


def run(words, *options):
    try:
        done = subprocess.run([yore, words[0], trace] + words[1:] + list(options), capture_output=True, timeout=HANGS, env=env)
    except subprocess.TimeoutExpired:
        return "none: it hangs", b"", b""
    return done.returncode, done.stdout, done.stderr


def question():
    t = random.choice(MOMENTS)
    words = random.choice(QUESTIONS)
    return [w.replace("{t}", str(t)).replace("{u}", str(t + random.randint(1, 1500))) for w in words]


def stored(name, *steps):
    folder = f"{work}/{name}"
    os.mkdir(folder)
    for words in steps:
        done = run(words, "--index-dir", folder)
        if done[0]:
            sys.exit(f"{words}: exit status {done[0]}: {done[2].decode()}")
    return folder


def without(base, name, *ends):
    """A copy of what is stored that lacks these files, as if they were not made yet."""
    folder = f"{work}/{name}"
    shutil.copytree(base, folder)
    for file in os.listdir(folder):
        if file.endswith(ends):
            os.unlink(f"{folder}/{file}")
    return folder


def change(data, others):
    """One damage of a file's bytes."""
    size = len(data)
    kind = random.randrange(9) if size > 64 else 0
    at = random.randrange(size) if size else 0
    if random.random() < 0.5:  # near the roots, heads and ends
        at = min(size - 1, random.choice([0, 4096, 8192, max(size - 4096, 0)]) + random.randrange(160)) if size else 0
    if not size or kind == 6:
        return data + bytes(random.randrange(256) for _ in range(random.randint(1, 5000)))
    if kind in (0, 1):
        for _ in range(random.choice([1, 1, 1, 2, 20])):
            data[at] ^= 1 << random.randrange(8)
            at = random.randrange(size)
    elif kind == 2:
        data[at] = random.choice([0, 1, 0x7F, 0x80, 0xFF])
    elif kind == 3:
        n = random.randint(1, 4096)
        data[at:at + n] = bytes(len(data[at:at + n]))
    elif kind == 4:
        n, source = random.randint(1, 4096), random.randrange(size)
        piece = data[source:source + n]
        data[at:at + len(piece)] = piece
        del data[size:]
    elif kind == 5:
        del data[at:]
    elif kind == 7 and size >= 16384:
        a, b = (4096 * random.randrange(size // 4096) for _ in range(2))
        data[a:a + 4096], data[b:b + 4096] = data[b:b + 4096], data[a:a + 4096]
    else:
        other = open(random.choice(others), "rb").read()
        data[:] = other if random.random() < 0.5 else data[:at] + other[at:at + 4096] + data[at + 4096:]
    return data


def asked_of(folder, words, cut=None):
    """The answer; `cut` loses its end while the question is asked."""
    if not cut:
        return run(words, "--index-dir", folder)
    child = subprocess.Popen([yore, words[0], trace] + words[1:] + ["--index-dir", folder], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, env=env)
    size = os.path.getsize(cut)
    try:
        time.sleep(random.uniform(0, 0.01 + startup(yore)))
        os.truncate(cut, random.randrange(size) if size else 0)
    except FileNotFoundError:
        pass
    try:
        out, err = child.communicate(timeout=HANGS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        return "none: it hangs", b"", b""
    return child.returncode, out, err


bad = tried = 0
try:
    copy = shutil.copytree if os.path.isdir(original) else shutil.copyfile
    copy(original, trace)
    bases = [
        stored("whole", ["index", "--timelines", "--jobs", "1"]),
        stored("shards", ["index", "--timelines", "--exchange", work + "/exchange", "--workers", "1"]),
        stored("states", ["state", "**"], ["at", "+9000us", "**"]),
    ]
    bases.append(without(work + "/shards", "begun", ".built-2.shard", ".built-3.shard"))
    files = [os.path.join(base, name) for base in bases for name in sorted(os.listdir(base))]
    truth = {}
    while tried < count:
        base = random.choice(bases)
        folder = work + "/now"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(base, folder)
        name = random.choice(sorted(os.listdir(folder)))
        path, cut = f"{folder}/{name}", None
        if random.random() < 0.1:
            cut = path
        else:
            data = change(bytearray(open(path, "rb").read()), files)
            open(path, "wb").write(data)
        words = question()
        if tuple(words) not in truth:
            truth[tuple(words)] = run(words, "--no-index")[:2]
        answers = [("asked", asked_of(folder, words, cut))]
        if random.random() < 0.25:
            built = run(["index", "--timelines"], "--index-dir", folder)
            if built[0]:
                answers.append(("built", (built[0], None, built[2])))
            answers.append(("built and asked", run(words, "--index-dir", folder)))
        elif random.random() < 0.3:
            answers.append(("asked again", run(words, "--index-dir", folder)))
        for how, answer in answers:
            if answer[:2] != truth[tuple(words)] or b"Sanitizer" in answer[2] or b"runtime error" in answer[2]:
                bad += 1
                print(f"{how}: exit status {answer[0]}, expected {truth[tuple(words)][0]}: {base.rsplit('/', 1)[1]}/{name} "
                      f"{'cut' if cut else 'changed'}: {' '.join(words)}: {answer[2].decode(errors='replace').strip()[-300:]}")
                if os.environ.get("YORE_DAMAGED_KEEP"):
                    keep = f"{os.environ['YORE_DAMAGED_KEEP']}/{bad}"
                    shutil.copytree(folder, keep, dirs_exist_ok=True)
        tried += 1
    print(f"{tried} damaged stores, {bad} answers that differ")
finally:
    shutil.rmtree(work, ignore_errors=True)
sys.exit(1 if bad or tried < count else 0)

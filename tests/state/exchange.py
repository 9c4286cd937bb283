#!/usr/bin/python3
"""Timelines that processes with index folders of their own make through one exchange folder: 1, 2, 4 and 7 of them, half of which
read a copy of the trace, leave the same slices, byte for byte, and each index answers what no index answers. So do processes that
are killed at any instant and started again, folders in which files were damaged, and an exchange folder behind FUSE, which counts
as a network's. YORE_EXCHANGE_SECONDS: how long processes are killed, YORE_EXCHANGE_DAMAGED: how often files are; with the first a recording of YORE_CORPUS is built, too."""
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "repl"))
from results import HANGS, finish, result, startup, top, until, yore

generator = os.path.join(os.path.dirname(yore), "fixtures", "yore-gen")
seed = int(os.environ.get("YORE_PROPERTY_FIRST", "1"))
dice = random.Random(seed)
work = tempfile.mkdtemp(prefix="yore-exchange-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
env = dict(os.environ, YORE_LUA_DIR=os.path.join(top, "lua-lib"), HOME=work, XDG_CACHE_HOME=os.path.join(work, "cache"), TZ="UTC")
env.pop("YORE_INDEX_DIR", None)
WORKERS = 3
QUESTIONS = [["at", "+1ms"], ["state", "cpu[*]/**", "thread[*]/state", "--format", "json"]]


def path(name):
    return os.path.join(work, name)


def run(trace, words, *options):
    done = subprocess.run([yore, words[0], trace, *words[1:], *options], capture_output=True, env=env, timeout=HANGS)
    return done.returncode, done.stdout, done.stderr


def start(trace, folder, exchange, *options):
    return subprocess.Popen([yore, "index", trace, "--timelines", "--exchange", exchange, "--workers", str(WORKERS), "--index-dir", folder,
                             *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)


def ended(process):
    """Whether it went well; its output."""
    out, err = process.communicate(timeout=HANGS)
    return process.returncode == 0, (out + err).decode(errors="replace")


def slices(exchange):
    """What was made, without the names of the processes that made it."""
    found = {}
    for name in sorted(glob.glob(exchange + "/*.shard")):
        if ".pass1-" not in name:
            with open(name, "rb") as file:
                found[os.path.basename(name)] = file.read()
    return found


def differing(a, b):
    return sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))


def answers(trace, *options):
    return [run(trace, words, *options)[:2] for words in QUESTIONS]


def check(name, traces, exchange, folders, truth):
    """Slices as those of the first process, and answers of each index as those of none."""
    bad = differing(slices(exchange), truth["slices"])
    result(not bad, f"{name}: slices", bad)
    left = [file for file in os.listdir(exchange) if not file.endswith(".shard")]
    result(truth.get("kills") or not left, f"{name}: nothing else is left in the folder", left)
    bad = [folder for i, folder in dice.sample(list(enumerate(folders)), min(len(folders), 2))
           if answers(traces[i % len(traces)], "--index-dir", folder) != truth["answers"]
           or b'"evaluation":"slices"' not in run(traces[i % len(traces)], QUESTIONS[0], "--index-dir", folder, "--stats")[2]]
    result(not bad, f"{name}: answers", bad)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def all_at_once(name, traces, count, truth, exchange=None):
    exchange = exchange or path("exchange")
    folders = [path(f"index{i}") for i in range(count)]
    processes = [start(traces[i % len(traces)], folder, exchange) for i, folder in enumerate(folders)]
    for i, process in enumerate(processes):
        good, said = ended(process)
        result(good, f"{name}: process {i + 1} of {count}", said)
    if "slices" not in truth:
        truth["slices"] = slices(exchange)
    check(f"{name}: {count} at once", traces, exchange, folders, truth)


def killed(name, traces, truth, seconds):
    """Three machines, each of which is killed now and then and started again, until all are done."""
    exchange, folders = path("exchange"), [path(f"index{i}") for i in range(3)]
    rests = [3 * startup(), 3 * startup(), 0.3] + [2] * (seconds > 5)
    processes, kills, ends, until_when = {}, 0, 0, time.monotonic() + seconds
    while time.monotonic() < until_when:
        for i, folder in enumerate(folders):
            if i not in processes or processes[i].poll() is not None:
                if i in processes:
                    processes[i].communicate()
                if dice.random() < 0.2:
                    shutil.rmtree(folder, ignore_errors=True)
                processes[i] = start(traces[i % len(traces)], folder, exchange, "--lapse", "1")
        time.sleep(dice.uniform(0, dice.choice(rests)))
        victim = processes[dice.randrange(len(folders))]
        if victim.poll() is None:
            victim.send_signal(dice.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
            kills += 1
            victim.communicate()
        if glob.glob(exchange + "/*.manifest-*") and dice.random() < 0.5:
            bad = differing(slices(exchange), truth["slices"])
            ends += 1
            if bad:
                result(False, f"{name}: slices after kills", (seed, bad))
            shutil.rmtree(exchange, ignore_errors=True)
    for process in processes.values():
        process.communicate(timeout=HANGS)
    processes = [start(traces[i % len(traces)], folder, exchange, "--lapse", "1") for i, folder in enumerate(folders)]
    bad = [said for good, said in map(ended, processes) if not good]
    result(not bad, f"{name}: {kills} processes were killed, all was done {ends} times, the last ones end", bad)
    check(f"{name}: killed", traces, exchange, folders, dict(truth, kills=True))


def damage(file):
    with open(file, "rb") as stream:
        data = bytearray(stream.read())
    kind = dice.randrange(3)
    if kind == 0 and data:
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    elif kind == 1:
        del data[dice.randrange(len(data) + 1):]
    else:
        at = dice.randrange(len(data) + 1)
        data[at:at + 64] = bytes(64)
    with open(file, "wb") as stream:
        stream.write(data)


def damaged(name, trace, truth, turns):
    """Files are damaged when all is done, and one process begins with a new index."""
    exchange, folder = path("exchange"), path("index0")
    for turn in range(turns):
        files = sorted(glob.glob(exchange + "/*.shard"))
        hurt = dice.sample(files, min(len(files), dice.choice([1, 2, 5, 40])))
        for file in hurt:
            damage(file)
        good, said = ended(start(trace, folder, exchange, "--lapse", "1"))
        result(good, f"{name}: {turn + 1}: {len(hurt)} damaged files", f"seed {seed}: {hurt}: {said}")
        result(answers(trace, "--index-dir", folder) == truth["answers"], f"{name}: {turn + 1}: answers", hurt)
        shutil.rmtree(folder)


def stopped(name, trace, truth):
    """A process that is stopped for longer than its claim holds: another one takes over, and both end."""
    exchange, folders = path("exchange"), [path("index0"), path("index1")]
    first = start(trace, folders[0], exchange, "--lapse", "1")
    until(lambda: glob.glob(exchange + "/*.claim") or first.poll() is not None)
    first.send_signal(signal.SIGSTOP)
    second = ended(start(trace, folders[1], exchange, "--lapse", "1"))
    result(second[0], f"{name}: another takes over from a process that was stopped", second[1])
    first.send_signal(signal.SIGCONT)
    first = ended(first)
    result(first[0], f"{name}: which then ends, too", first[1])
    check(f"{name}: stopped", [trace], exchange, folders, truth)


def on_fuse(name, traces, truth):
    """The folder is mounted once for each machine."""
    if not os.access("/dev/fuse", os.W_OK) or not shutil.which("bindfs"):
        print("SKIP: an exchange folder on FUSE: no /dev/fuse, or no bindfs")
        return
    below, mounts = path("below"), [path("mount0"), path("mount1")]
    for folder in (below, *mounts):
        os.mkdir(folder, 0o700)
    if any(subprocess.run(["bindfs", "--no-allow-other", below, mount], capture_output=True).returncode for mount in mounts):
        print("SKIP: an exchange folder on FUSE: bindfs cannot mount")
        return
    try:
        folders = [path("index0"), path("index1")]
        said = run(traces[0], ["index"], "--index-dir", mounts[0] + "/index")[2]
        result(b"on a network file system" in said, f"{name}: it counts as a network's", said)
        shutil.rmtree(mounts[0] + "/index", ignore_errors=True)
        processes = [start(traces[i % len(traces)], folder, mounts[i]) for i, folder in enumerate(folders)]
        bad = [said for good, said in map(ended, processes) if not good]
        result(not bad, f"{name}: through FUSE", bad)
        check(f"{name}: through FUSE", traces, below, folders, truth)
    finally:
        for mount in mounts:
            subprocess.run(["umount", mount], capture_output=True)


def stored(trace, truth):
    """What an index has of shards: 'index --timelines' ends what was begun, and --verify finds damage."""
    exchange, folder = path("exchange"), path("index0")
    process = start(trace, folder, exchange)
    until(lambda: glob.glob(folder + "/*.built-*") or process.poll() is not None)
    process.kill()
    process.communicate()
    done = run(trace, ["index", "--timelines", "--jobs", "4"], "--index-dir", folder)
    result(done[0] == 0 and answers(trace, "--index-dir", folder) == truth["answers"], "threads end what was begun", done)
    whole = subprocess.run([yore, "index", "--verify", "--index-dir", folder], capture_output=True, env=env)
    for file in glob.glob(folder + "/*.shard"):
        with open(file, "r+b") as stream:
            stream.truncate(os.path.getsize(file) // 2)
    bad = subprocess.run([yore, "index", "--verify", "--index-dir", folder], capture_output=True, env=env)
    left = glob.glob(folder + "/*.shard")
    result(whole.returncode == 0 and bad.returncode == 3 and not left, "--verify removes damaged files of shards",
           (whole.returncode, bad.returncode, left))
    run(trace, ["index", "--drop"], "--index-dir", folder)
    left = glob.glob(folder + "/*timelines*")
    result(not left, "--drop leaves no file", left)
    shutil.rmtree(folder)
    shutil.rmtree(exchange)


def records(trace):
    """A process that imports the records of packets reads no packet header for them."""
    exchange, took = path("exchange"), []
    ended(start(trace, path("index0"), exchange))
    for _ in range(2):
        said = ended(start(trace, path("index1"), exchange, "--stats"))[1]
        took.append(json.loads(said.splitlines()[-1])["bytes_read"])
        shutil.rmtree(path("index1"))
        for file in glob.glob(exchange + "/*.records-*"):
            os.unlink(file)
    result(took[0] < took[1], "records are imported", took)
    for folder in (path("index0"), exchange):
        shutil.rmtree(folder)


def strayed(trace):
    """A packet in the middle of a stream claims the time of the last one: no process stores timelines."""
    shutil.rmtree(path("copy"))
    shutil.copytree(trace, path("copy"))
    with open(path("copy/channel0_1"), "r+b") as file:
        packets = os.path.getsize(file.name) // 4096
        file.seek((packets - 1) * 4096 + 32)
        times = file.read(16)
        file.seek(packets // 2 * 4096 + 32)
        file.write(times)
    folders = [path("index0"), path("index1")]
    ends = [ended(process) for process in [start(path("copy"), folder, path("exchange")) for folder in folders]]
    bad = [said for good, said in ends if not good or "no timelines: events come late" not in said]
    left = [glob.glob(folder + "/*timelines*") for folder in folders]
    result(not bad and not any(left), "events outside of their packet: no timelines", (bad, left))
    truth = answers(path("copy"), "--no-index")
    result(all(answers(path("copy"), "--index-dir", folder) == truth for folder in folders), "events outside of their packet: answers")
    for folder in (*folders, path("exchange")):
        shutil.rmtree(folder)


def one_folder(trace, truth):
    """Processes of one machine that share the index folder, too."""
    exchange, folder = path("exchange"), path("index0")
    processes = [start(trace, folder, exchange) for _ in range(3)]
    bad = [said for good, said in map(ended, processes) if not good]
    result(not bad, "three processes with one index folder", bad)
    check("one index folder", [trace], exchange, [folder], truth)
    shutil.rmtree(exchange)


def page_line(trace, truth):
    """The line of docs/shards.md, by GNU parallel."""
    with open(os.path.join(top, "docs", "shards.md"), encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.startswith("parallel yore index")]
    result(len(lines) == 1, "docs/shards.md has the line", lines)
    version = shutil.which("parallel") and subprocess.run(["parallel", "--version"], capture_output=True).stdout
    if not version or b"GNU" not in version:
        print("SKIP: the line of docs/shards.md: no GNU parallel")
        return
    os.mkdir(path("page"))
    os.mkdir(path("page/bin"))
    os.symlink(trace, path("page/trace"))
    os.symlink(yore, path("page/bin/yore"))
    paths = dict(env, PATH=path("page/bin") + ":" + os.environ["PATH"])
    done = subprocess.run(["sh", "-ec", lines[0]], cwd=path("page"), env=paths, stdin=subprocess.DEVNULL, capture_output=True)
    bad = [i for i in range(1, 5) if answers(trace, "--index-dir", path(f"page/index.{i}")) != truth["answers"]]
    result(done.returncode == 0 and not bad, "the line of GNU parallel", (done, bad))


def refuses(trace):
    os.mkdir(path("shared"), 0o777)
    os.chmod(path("shared"), 0o777)
    for words, why in [(["--exchange", path("x")], "is of --timelines"), (["--timelines", "--workers", "3"], "are of --exchange"),
                       (["--timelines", "--exchange", path("shared")], "other users may write there"),
                       (["--timelines", "--exchange", "/dev/null/x"], "Not a directory"),
                       (["--timelines", "--exchange", path("x"), "--no-index"], "an index that is kept")]:
        status, _, said = run(trace, ["index", *words], "--index-dir", path("index0"))
        result(status and why in said.decode(), f"refused: {why}", (status, said))


try:
    golden = os.path.join(top, "fixtures", "golden", "sched-demo")
    subprocess.run([generator, "--out", path("made"), "--size", "400K", "--packet-size", "4K", "--no-truth"], check=True, capture_output=True)
    for name, original in (("sched-demo", golden), ("made", path("made"))):
        shutil.rmtree(path("exchange"), ignore_errors=True)
        traces = [original, path("copy")]
        shutil.rmtree(traces[1], ignore_errors=True)
        shutil.copytree(original, traces[1])
        truth = {"answers": answers(original, "--no-index")}
        for count in (1, 2, 4, 7) if name == "made" else (1, 2):
            shutil.rmtree(path("exchange"), ignore_errors=True)
            all_at_once(name, traces, count, truth)
        damaged(name, original, truth, int(os.environ.get("YORE_EXCHANGE_DAMAGED", "1")))
    result(len(slices(path("exchange"))) > 3 * WORKERS * 4, "there is more than one part")
    shutil.rmtree(path("exchange"))
    killed(name, traces, truth, float(os.environ.get("YORE_EXCHANGE_SECONDS", "1")))
    shutil.rmtree(path("exchange"))
    stopped(name, original, truth)
    on_fuse(name, traces, truth)
    shutil.rmtree(path("exchange"))
    one_folder(original, truth)
    records(original)
    strayed(original)
    stored(original, truth)
    page_line(original, truth)
    refuses(original)
    real = "YORE_EXCHANGE_SECONDS" in os.environ and glob.glob(os.path.join(os.environ.get("YORE_CORPUS", ""), "ctf", "real", "many-threads", "**", "metadata"), recursive=True)
    if real:
        original = os.path.dirname(real[0])
        all_at_once("many-threads", [original], 3, {"answers": answers(original, "--no-index")})
finally:
    shutil.rmtree(work, ignore_errors=True)
finish()

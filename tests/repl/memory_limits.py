#!/usr/bin/python3
"""memory_limits.py [YORE]: the memory of questions about many threads, and questions under random limits of memory.

A trace of 200,000 threads is made. Questions about all of them take less than 200 MB of anonymous memory, as the kernel counts it; lists of the
state do so also where nothing can go to files, and an attribute with its open interval takes less than 100 bytes. Then questions run under random limits of address space and of data (setrlimit): each ends with status 0 or with one line on standard error and a
status that the manual names, never by a signal. YORE_RUNS says how many (40), YORE_SEED makes them others."""
import json, os, random, resource, shutil, signal, struct, subprocess, sys, tempfile

top = os.environ.get("top_builddir", ".")
yore = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else top + "/yore")
RUNS = int(os.environ.get("YORE_RUNS", "40"))
SEED = int(os.environ.get("YORE_SEED", "1"))
THREADS = 200000
FEW = 2000
ATTRIBUTE = 100  # bytes
MOST = 200 << 20
NO_FILES = "/dev/shm"  # as TMPDIR: that is memory, so that nothing goes to files
work = tempfile.mkdtemp(prefix="yore-memory-")
ENVIRONMENT = dict(os.environ, TZ="UTC", XDG_CACHE_HOME=work + "/cache", XDG_CONFIG_HOME=work + "/config",
                   YORE_LUA_DIR=os.path.abspath(os.path.join(os.environ.get("srcdir", "."), "lua-lib")))
ENVIRONMENT.pop("TMPDIR", None)
METADATA = """/* CTF 1.8 */
typealias integer { size = 32; align = 8; } := u32;
typealias integer { size = 64; align = 8; } := u64;
trace { major = 1; minor = 8; byte_order = le; };
clock { name = c; freq = 1000000000; };
typealias integer { size = 64; align = 8; map = clock.c.value; } := ts;
stream { packet.context := struct { u64 content_size; u64 packet_size; ts timestamp_begin; ts timestamp_end; u32 cpu_id; };
	event.header := struct { u32 id; ts timestamp; }; };
event { name = "sched_switch"; id = 0; fields := struct { string prev_comm; u32 prev_tid; u32 prev_prio; u64 prev_state;
	string next_comm; u32 next_tid; u32 next_prio; }; };
event { name = "sched_wakeup"; id = 1; fields := struct { string comm; u32 tid; u32 prio; u32 target_cpu; }; };
"""
failures = 0


def fail(text):
    global failures
    failures += 1
    print("FAIL: " + text)


def make(folder, threads):
    """CTF: each thread is woken, runs, and is left blocked for the next."""
    os.makedirs(folder)
    with open(folder + "/metadata", "w") as out:
        out.write(METADATA)
    events = []
    for i in range(threads):
        name = b"t%d\0" % (i % 1000)
        events.append(struct.pack("<IQ", 1, i * 20) + name + struct.pack("<III", i + 1, 20, 0))
        events.append(struct.pack("<IQ", 0, i * 20 + 10) + b"t%d\0" % ((i - 1) % 1000) + struct.pack("<IIQ", i, 20, 1)
                      + name + struct.pack("<II", i + 1, 20))
    with open(folder + "/s0", "wb") as out:
        for at in range(0, len(events), 4000):
            body = b"".join(events[at:at + 4000])
            bits = (36 + len(body)) * 8
            out.write(struct.pack("<QQQQI", bits, bits, at * 10, (at + 4000) * 10 - 1, 0) + body)


def questions(trace):
    out = work + "/out"
    return [
        ["state", trace, "**", "--no-index"],
        ["state", trace, "thread[*]/state", "--no-index"],
        ["longest", trace, "**", "--no-index"],
        ["cputop", trace, "--no-index"],
        ["latency", trace, "--no-index"],
        ["timeline", trace, "cpu[*]/thread", "--svg", out + ".svg", "--no-index"],
        ["timeline", trace, "thread[*]/state", "--svg", out + ".svg", "--no-index"],
        ["index", trace, "--timelines", "--index-dir", work + "/index"],
        ["state", trace, "**", "--index-dir", work + "/index"],
        ["at", trace, "+1ms", "**", "--no-index"],
        ["convert", trace, out, "--to", "ctf"],
        ["convert", trace, out + ".json", "--to", "chrome"],
        ["convert", trace, out + ".pftrace", "--to", "perfetto"],
        ["convert", trace, out + ".parquet", "--to", "parquet"],
        ["convert", trace, out + ".db", "--to", "sqlite"],
        ["sql", trace, "SELECT path, count(*) FROM state GROUP BY path ORDER BY 2 DESC LIMIT 5", "--no-index"],
        ["do", trace, "sched_switch { @[next_tid] = count(); @n[prev_comm, next_tid] = sum(next_prio); }", "--no-index"],
        ["events", trace, "--limit", "5000", "--no-index"],
        ["info", trace, "--no-index"],
    ]


def clean():
    for name in os.listdir(work):
        if name.startswith("out") or name == "cache":
            path = work + "/" + name
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)


def check_anonymous(asked, environment, where=""):
    for question in asked:
        clean()
        done = subprocess.run([yore] + question + ["--stats", "--quiet"], env=environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        lines = done.stderr.decode(errors="replace").splitlines()
        words = " ".join(question[:1] + question[2:]) + where
        if done.returncode or not lines or not lines[-1].startswith("{"):
            fail("%s: status %d: %s" % (words, done.returncode, lines[:3]))
            continue
        took = json.loads(lines[-1])["peak_anonymous_bytes"]
        if took > MOST:
            fail("%s: %d MB of anonymous memory" % (words, took >> 20))
        elif os.environ.get("YORE_SHOW"):
            print("%4d MB %s" % (took >> 20, words))


def anonymous_bytes(question, environment):
    clean()
    done = subprocess.run([yore] + question + ["--stats", "--quiet"], env=environment, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    return json.loads(done.stderr.decode().splitlines()[-1])["peak_anonymous_bytes"]


def check_attributes(many, few):
    """What another attribute takes: a thread has five, one of which is the thread itself. One thread reads: how far
    another one is ahead of it, and what it has in memory, depends on what else the machine does."""
    for command in ("state", "longest"):
        took = [anonymous_bytes([command, trace, "**", "--no-index", "--jobs", "1"], dict(ENVIRONMENT, TMPDIR=NO_FILES))
                for trace in (many, few)]
        each = (took[0] - took[1]) / (5.0 * (THREADS - FEW))
        if each >= ATTRIBUTE:
            fail("%s **: %.1f bytes of each attribute" % (command, each))
        elif os.environ.get("YORE_SHOW"):
            print("%.1f bytes of each attribute: %s **" % (each, command))


def limited(which, size):
    def limit():
        resource.setrlimit(which, (size, size))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return limit


def starts(which, size):
    """Does the program begin at all, whatever it is asked?"""
    return subprocess.run([yore, "--version"], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          preexec_fn=limited(which, size)).stdout != b""


def check_limits(trace, small):
    draw = random.Random(SEED)
    for run in range(RUNS):
        question = draw.choice(questions(draw.choice([trace, small])))
        which = draw.choice([resource.RLIMIT_AS, resource.RLIMIT_DATA])
        size = int((4 << 20) * 1.06 ** draw.randrange(90))
        told = draw.choice([[], [], ["--memory", "%dM" % draw.randrange(1, 100)]])
        clean()
        done = subprocess.run([yore] + question + told + ["--quiet"], env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=limited(which, size))
        lines = done.stderr.decode(errors="replace").splitlines()
        name = "%s of %d KB: %s" % ("address space" if which == resource.RLIMIT_AS else "data", size >> 10,
                                    " ".join(question[:1] + question[2:] + told))
        loader = any("error while loading shared libraries" in line for line in lines)
        if done.returncode == -signal.SIGSEGV and not lines and not starts(which, size):
            continue  # the kernel ended it before its first instruction, as it has no room for the program itself
        if os.environ.get("YORE_SHOW"):
            print(run, done.returncode, name, lines[:1])
        if loader and done.returncode == 127 or done.returncode == 0:
            continue
        if done.returncode not in (1, 3):
            fail("%s: status %d: %s" % (name, done.returncode, lines[:3]))
        elif len(lines) != 1 or not lines[0].startswith("yore: "):
            fail("%s: not one line: %s" % (name, lines[:4]))


def check_files(trace):
    """What does not fit into a limit of data goes to files."""
    clean()
    done = subprocess.run([yore, "state", trace, "**", "--no-index", "--limit", "5"], env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limited(resource.RLIMIT_DATA, 60 << 20))
    if done.returncode or not done.stdout:
        fail("data of 60 MB, and files: status %d: %s" % (done.returncode, done.stderr[-300:]))


def check_prompt(trace):
    """A question that takes too much ends, and the prompt goes on."""
    environment = dict(ENVIRONMENT, TMPDIR=NO_FILES)
    script = b"state **\nstate thread[7]/state --begin 0\n"
    for limit, told in ((None, ["--memory", "40M"]), (limited(resource.RLIMIT_AS, 150 << 20), []),
                        (limited(resource.RLIMIT_DATA, 70 << 20), [])):
        done = subprocess.run([yore, trace, "--no-index"] + told, env=environment, input=script, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, preexec_fn=limit)
        error = done.stderr.decode(errors="replace")
        if done.returncode < 0 or done.returncode > 1:
            fail("prompt %s: status %d: %s" % (told, done.returncode, error[-300:]))
        if "out of memory: the question may take" not in error:
            fail("prompt %s: no word of memory: %s" % (told, error[-300:]))
        if b"thread[7]/state" not in done.stdout.splitlines()[-1]:
            fail("prompt %s: it did not go on: %s" % (told, done.stdout[-200:]))


if b"__asan_init" in open(yore, "rb").read():
    print("SKIP: a sanitizer's own memory is counted, too")
    shutil.rmtree(work)
    sys.exit(77)
try:
    make(work + "/many", THREADS)
    make(work + "/few", FEW)
    check_anonymous(questions(work + "/many"), ENVIRONMENT)
    lists = [question for question in questions(work + "/many")
             if question[0] in ("state", "longest", "at") and "--no-index" in question]
    check_anonymous(lists, dict(ENVIRONMENT, TMPDIR=NO_FILES), ", without files")
    check_attributes(work + "/many", work + "/few")
    check_files(work + "/many")
    check_prompt(work + "/many")
    check_limits(work + "/many", work + "/few")
finally:
    shutil.rmtree(work, ignore_errors=True)
print("%d failures" % failures)
sys.exit(failures != 0)

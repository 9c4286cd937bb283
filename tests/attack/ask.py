"""Runs yore on a question and judges how it ended: statuses, sanitizers, limits, what it left behind."""
import collections
import hashlib
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time

Answer = collections.namedtuple("Answer", "status out err seconds cpu mb late")
Finding = collections.namedtuple("Finding", "kind commands note")
# One command of a case; `question` is None where it builds and its answer is not compared.
Step = collections.namedtuple("Step", "words stdin question")

STATUSES = (0, 1, 2, 3, 130)
LEFT_OVER = re.compile(r"\.tmp|\.new$|\.part|^\.?out\.\w|^yore-")
REPORT = re.compile(rb"(runtime error: [^\n]*|ERROR: \w+Sanitizer: [\w -]+|WARNING: ThreadSanitizer: [\w -]+|"
                    rb"Assertion [^\n]*|\w+\.c:\d+: Assertion[^\n]*)")
FRAME = re.compile(rb"#\d+ 0x[0-9a-f]+ in (\S+) \S*?/((?:engine|index|state|sql|convert|lib|lua-lib|repl)/[^\s:]+)")


def what_broke(err):
    """A short name for a sanitizer's report or a failed assertion: what, and the first frame in yore's rooms."""
    report = REPORT.search(err)
    if not report:
        return None
    frame = FRAME.search(err)
    where = re.search(rb"(\S+:\d+):\d+: runtime error", err)
    spot = b" ".join(frame.groups()) if frame else where.group(1) if where else b"?"
    text = re.sub(rb"0x[0-9a-f]+|\d{3,}", b"N", report.group(1)[:90])
    return (text + b" @ " + spot).decode("latin1")


def digest_of(path):
    """The content of a file or folder that a command wrote, for comparison; b'' where there is none."""
    if not os.path.lexists(path):
        return b""
    total = hashlib.sha256()
    content = {}
    for name in files_below(path):
        with open(name, "rb") as file:
            content[os.path.relpath(name, path)] = file.read()
    drawn = [uuid for name, data in content.items() if os.path.basename(name) == "metadata"
             for uuid in uuids_in(data)]
    for name, data in content.items():
        for uuid in drawn:
            data = data.replace(uuid, b"UUID")
        total.update(name.encode() + b"\0" + data)
    return total.hexdigest().encode()


def uuids_in(metadata):
    """The UUID of a CTF trace that convert wrote, as text and as bytes: it is drawn for each conversion."""
    text = re.search(rb"^trace \{[^}]*?uuid = \"([0-9a-f-]{36})\"", metadata, re.M)
    numbers = re.search(rb'"uuid":\[((?:\d+,){15}\d+)\]', metadata)
    if text:
        return [text.group(1), bytes.fromhex(text.group(1).decode().replace("-", ""))]
    if numbers:
        return [numbers.group(1), bytes(int(number) for number in numbers.group(1).split(b","))]
    return []


def files_below(path):
    if os.path.isfile(path):
        return [path]
    found = []
    for folder, folders, names in os.walk(path):
        folders.sort()
        found += [os.path.join(folder, name) for name in sorted(names)]
    return [name for name in found if os.path.isfile(name) and not os.path.islink(name)]


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    elif os.path.lexists(path):
        os.unlink(path)


class Server:
    """server.c: runs a case's commands in one process, forked from one that has its libraries loaded."""

    def __init__(self, path, env, cpu_seconds):
        self.child = subprocess.Popen([path, str(cpu_seconds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      env=env)

    def run(self, folder, answers, commands):
        """Statuses of the commands that ended; the process's wait status, peak memory in MB, CPU seconds."""
        parts = [folder, answers, str(len(commands))]
        for words, stdin in commands:
            parts += [stdin.decode(), str(len(words)), *words]
        self.child.stdin.write(b"".join(part.encode() + b"\0" for part in parts))
        self.child.stdin.flush()
        statuses = []
        while not (line := self.child.stdout.readline()).startswith(b"end "):
            if not line:
                raise RuntimeError("tests/attack/server ended")
            statuses.append(int(line))
        status, kilobytes, microseconds = map(int, line.split()[1:])
        status = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        return statuses, status, kilobytes / 1024, microseconds / 1e6


class Asker:
    """Runs commands in a case's folder, where `trace`, `index`, `out` and `tmp` are the names of things."""

    def __init__(self, yore, server, lua_dir, cpu_seconds, max_mb):
        self.server, self.servers = server, threading.local()
        self.yore, self.cpu_seconds, self.max_mb = yore, cpu_seconds, max_mb
        self.runs = 0
        self.statuses = collections.Counter()
        self.slowest, self.largest = (0, ""), (0, "")
        keep = ("PATH", "LD_LIBRARY_PATH", "LLVM_PROFILE_FILE")
        self.env = {name: os.environ[name] for name in keep if name in os.environ}
        self.env.update(TZ="UTC", LC_ALL="C.UTF-8", YORE_LUA_DIR=lua_dir, YORE_JOBS_MOST="64", UBSAN_OPTIONS="print_stacktrace=1",
                        ASAN_OPTIONS="detect_leaks=1:exitcode=86:hard_rss_limit_mb=%d:"
                                     "allocator_may_return_null=1" % (2 * max_mb))

    def run(self, folder, words, stdin=b"", file_limit=None, kill=None, tmp="tmp"):
        """One command. `kill` is (seconds, signal); `file_limit` bounds every file that it writes."""
        home = os.path.join(folder, "home")
        os.makedirs(os.path.join(folder, "tmp"), exist_ok=True)
        os.makedirs(home, exist_ok=True)
        env = dict(self.env, TMPDIR=os.path.join(folder, tmp), HOME=home,
                   XDG_CACHE_HOME=os.path.join(home, "cache"), XDG_STATE_HOME=home, XDG_CONFIG_HOME=home)

        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (self.cpu_seconds, self.cpu_seconds + 5))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if file_limit is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))

        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, \
                tempfile.TemporaryFile() as given:
            given.write(stdin)
            given.seek(0)
            begin = time.monotonic()
            child = subprocess.Popen([self.yore] + words, stdin=given, stdout=out, stderr=err, cwd=folder,
                                     env=env, start_new_session=True, preexec_fn=limit)
            late = threading.Event()
            # child.kill() would reap it
            timers = [threading.Timer(self.cpu_seconds * 10,
                                      lambda: (late.set(), os.kill(child.pid, signal.SIGKILL)))]
            if kill:
                timers.append(threading.Timer(kill[0], lambda: os.kill(child.pid, kill[1])))
            for timer in timers:
                timer.start()
            # not reaped before the timers are gone: no other process can have its number
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            for timer in timers:
                timer.cancel()
                timer.join()
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = 0
            seconds = time.monotonic() - begin
            out.seek(0)
            err.seek(0)
            status = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
            cpu = usage.ru_utime + usage.ru_stime
            answer = Answer(status, out.read(64 << 20), err.read(1 << 20), seconds, cpu,
                            usage.ru_maxrss / 1024, late.is_set() or status == -signal.SIGXCPU)
        self.runs += 1
        self.statuses[status] += 1
        told = " ".join(words)
        self.slowest = max(self.slowest, (answer.cpu, told))
        self.largest = max(self.largest, (answer.mb, told))
        return answer

    def run_all(self, folder, commands):
        """Answers to (words, stdin) each, of one process of the server. Those after one that ended the process
        are missing, and its status is the process's."""
        if not hasattr(self.servers, "own"):
            self.servers.own = Server(self.server, self.env, self.cpu_seconds)
        answers = folder + ".answers"
        os.makedirs(answers)
        statuses, ended, mb, cpu = self.servers.own.run(folder, answers, commands)
        found = []
        for i, status in enumerate(statuses + ([ended] if ended or len(statuses) < len(commands) else [])):
            out, err = (self.answered(answers, "%d.%s" % (min(i, len(commands) - 1), name))
                        for name in ("out", "err"))
            out += digest_of(os.path.join(answers, "%d.written.out" % i))
            found.append(Answer(status, out, err, 0, 0, mb, status == -signal.SIGXCPU))
        self.runs += len(found)
        self.statuses.update(statuses)
        self.slowest = max(self.slowest, (cpu, "%d commands in one process" % len(commands)))
        self.largest = max(self.largest, (mb, "%d commands in one process" % len(commands)))
        left = [name for name in os.listdir(answers) if ".written." in name and
                (name.split(".written.")[1] != "out")]
        shutil.rmtree(answers)
        if left and found:
            found[-1] = found[-1]._replace(status=-signal.SIGUSR1)  # judged again, command by command
        return found

    def build(self, folder, commands):
        """Commands of which no answer is wanted."""
        if self.server:
            self.run_all(folder, [(words, b"") for words in commands])
            return
        for words in commands:
            self.run(folder, words)

    @staticmethod
    def answered(answers, name):
        path = os.path.join(answers, name)
        if not os.path.exists(path):
            return b""
        with open(path, "rb") as file:
            return file.read(64 << 20)

    def screened(self, folder, steps, truth_of, differs):
        """What is wrong with some step when all are taken in one process, as kind and note; None: nothing is.
        `truth_of` is given a step's question and an answer to it, the first one if it was not asked before."""
        answers = self.run_all(folder, [(step.words, step.stdin) for step in steps])
        if len(answers) != len(steps):
            words = steps[len(answers) - 1].words if answers else []
            kind = (answers and self.judge(folder, answers[-1])) or "the process ended"
            return "%s: %s" % (" ".join(words), kind), answers[-1].err if answers else b""
        for step, answer in zip(steps, answers):
            kind = self.judge(folder, answer)
            truth = answer
            if kind is None and step.question is not None:
                truth = truth_of(step.question, answer)
                kind = differs(step.question, truth, answer)
            if kind:
                return "%s: %s" % (" ".join(step.words), kind), note_of(truth, answer)
        return None

    def judge(self, folder, answer, allowed=()):
        """What is wrong with the way a command ended; None when nothing is."""
        broke = what_broke(answer.err)
        if broke:
            return broke
        if answer.late:
            return "longer than %g s" % self.cpu_seconds
        if answer.status not in STATUSES + tuple(allowed):
            if answer.status < 0:
                return "signal " + signal.Signals(-answer.status).name
            return "exit status %d" % answer.status
        # what `check --state` and `rules --check` find is their answer
        if answer.status in (1, 2) and b"yore: " not in answer.err and not answer.out:
            return "exit status %d without a message" % answer.status
        if answer.mb > self.max_mb:
            return "more than %d MB" % self.max_mb
        left = self.left_behind(folder)
        return "left behind: " + re.sub(r"[0-9a-f]{8,}|\d+|(?<=\.)\w{6}$", "N", left) if left else None

    @staticmethod
    def left_behind(folder):
        """The name of a temporary file that is still there; None when none is."""
        for name in os.listdir(os.path.join(folder, "tmp")):
            return "tmp/" + name
        index = os.path.join(folder, "index")
        beside = os.listdir(index) if os.path.isdir(index) else []
        for name in beside + os.listdir(folder):
            if LEFT_OVER.search(name):
                return name
        return None


def note_of(truth, answer):
    return b"\n=====\n".join([truth.out[:20000], answer.out[:20000], truth.err[:4000], answer.err[:4000]])


def command_line(words, stdin=b""):
    given = "printf %s | " % shlex.quote(stdin.decode().replace("\n", "\\n")) if stdin else ""
    return given + "yore " + " ".join(shlex.quote(word) for word in words)

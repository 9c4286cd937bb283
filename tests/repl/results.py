"""What Python tests of the command line share: rows of results, traces written to a folder, and waiting for other processes.

How fast the machine is no test knows: it waits for what it needs, and a time is a limit against what hangs. Moments at random begin when
yore does: behind startup().
"""
import functools
import os
import select
import signal
import subprocess
import sys
import time

top = os.path.abspath(os.environ.get("srcdir", "."))
yore = os.path.join(os.path.abspath(os.environ.get("top_builddir", ".")), "yore")
failed = False
HANGS = 120  # seconds after which what has not come does not come


def result(good, name, why=""):
    global failed
    print(("PASS: " if good else "FAIL: ") + name)
    if not good:
        print("\t" + str(why)[:2000])
        failed = True


def finish():
    """Ends the test: its status is 1 when a row failed."""
    sys.exit(1 if failed else 0)


@functools.lru_cache
def startup(program=yore):
    """Seconds that yore takes to begin and to end: a sanitized one more than a tenth, on a slow machine a multiple of that."""
    took = []
    for _ in range(3):
        begun = time.monotonic()
        subprocess.run([program, "--version"], stdout=subprocess.DEVNULL, check=True)
        took.append(time.monotonic() - begun)
    return min(took)


def until(ready, seconds=HANGS, pause=0.01):
    """Waits for it; whether it came."""
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            return bool(ready())
        time.sleep(pause)
    return True


def catches(process, number=signal.SIGINT):
    """Waits until the process would hear the signal, or has ended: what has just begun is ended by it, and says nothing."""

    def would():
        if process.poll() is not None:
            return True
        with open("/proc/%d/status" % process.pid, encoding="utf-8", errors="replace") as file:
            caught = next((line.split()[1] for line in file if line.startswith("SigCgt:")), "0")
        return int(caught, 16) >> (number - 1) & 1

    return until(would)


def work_of(pid):
    """Ticks of the processor that it has used, and whether a thread of it runs, would, or waits for a disk; None: it is gone."""
    try:
        states = []
        for thread in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/stat" % (pid, thread), encoding="utf-8", errors="replace") as file:
                states.append(file.read().rsplit(")", 1)[1].split()[0])
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as file:
            words = file.read().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(words[11]) + int(words[12]), any(state in "RD" for state in states)


def rests(process, seconds=0.5, told=lambda: 0, limit=HANGS):
    """Waits until the process has done nothing for so long, but for a tick, and what it told has stayed the same, or until it has ended."""
    end = time.monotonic() + limit
    since, before, was = time.monotonic(), 0, None
    while process.poll() is None and time.monotonic() < end and time.monotonic() - since < seconds:
        ticks, busy = work_of(process.pid) or (0, False)
        now = told()
        if ticks > before + 1 or now != was:
            since, before, was = time.monotonic(), ticks, now
        elif busy:
            since = time.monotonic()
        time.sleep(min(0.02, seconds / 5))
    return time.monotonic() < end


def hear(process, text, seconds=HANGS):
    """Reads its standard error, a pipe, until the text has come or it ends: what came, bytes. What follows communicate() has."""
    end, said = time.monotonic() + seconds, b""
    while text not in said and time.monotonic() < end:
        if select.select([process.stderr], [], [], 0.1)[0]:
            data = os.read(process.stderr.fileno(), 65536)
            if not data:
                break
            said += data
    return said


def write(folder, metadata, streams):
    """A trace: its metadata, a text or bytes, and its stream files, bytes by name."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "metadata"), "wb") as file:
        file.write(metadata if isinstance(metadata, bytes) else metadata.encode())
    for name, data in streams.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)
    return folder

"""What all of make bench shares: CPU seconds of a command, and the lines that are printed."""
import json
import os
import platform
import resource
import shlex
import statistics
import subprocess
import sys
import time


def cpu(command, output=subprocess.PIPE, **more):
    """(CPU seconds of the children, wall seconds, process)"""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, check=False, **more)
    wall = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 3):
        sys.exit("%s: %s" % (" ".join(command), done.stderr.decode()[-500:]))
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall, done)


def seconds_of(commands, rounds):
    """CPU seconds per command, medians; the commands take turns."""
    taken = {name: [] for name in commands}
    with open(os.devnull, "wb") as null:
        for _ in range(rounds):
            for name, command in commands.items():
                taken[name].append(cpu(command, null)[0])
    return {name: middle(values) for name, values in taken.items()}


def stats_of(done):
    for line in reversed(done.stderr.decode().splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    return {}


def middle(values):
    return statistics.median(values)


def warm(path):
    """Reads a file once, so that its bytes are in memory for all who follow."""
    with open(path, "rb") as file:
        while file.read(1 << 24):
            pass


def made_with(build, name):
    """A variable of the build's Makefile, as words."""
    with open(build + "/Makefile", encoding="utf-8") as file:
        for line in file:
            if line.startswith(name + " = "):
                return shlex.split(line.split("=", 1)[1])
    return []


def said_by(*command):
    """What a command prints, "": it cannot be run."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              check=False)
    except OSError:
        return ""
    return done.stdout.decode(errors="replace").strip()


def first_of(path, key):
    """The value of a line `key : value` of a file of /proc."""
    try:
        with open(path, encoding="utf-8") as file:
            for line in file:
                name, _, value = line.partition(":")
                if name.strip() == key:
                    return value.strip()
    except OSError:
        pass
    return "?"


def bytes_a_second(build, files):
    """What one core reads of them when it does nothing else; see limit.c."""
    return float(cpu([build + "/bench/bench-limit"] + files)[2].stdout.split()[0])


def decode_round(build, trace, mode):
    """(events, CPU seconds) of a pass over all of a trace; see decode.c."""
    done = cpu([build + "/bench/bench-decode", trace, mode, "1"])[2]
    words = done.stdout.decode().split()
    return int(words[2]), float(words[8])


class Report:
    """Rows as they come: printed at once, and kept for JSON and plots."""

    def __init__(self, build):
        source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        self.rows = []
        self.part = ""
        self.about = {
            "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "yore": said_by(build + "/yore", "--version"),
            "commit": said_by("git", "-C", source, "describe", "--always", "--dirty") or "?",
            "machine": "%s, %d processors, %s" % (first_of("/proc/cpuinfo", "model name"),
                                                  os.cpu_count(),
                                                  first_of("/proc/meminfo", "MemTotal")),
            "system": "%s %s" % (platform.system(), platform.release()),
            "built with": " ".join(made_with(build, "CC") + made_with(build, "CFLAGS")),
            "peers": ", ".join(filter(None, (
                said_by("babeltrace2", "--version").partition("\n")[0],
                said_by("perf", "--version"),
                said_by("trace-cmd", "--version").partition("\n")[0],
                "SQLite " + said_by("sqlite3", "--version").partition(" ")[0]))),
        }
        for key, value in self.about.items():
            print("%-10s %s" % (key, value))

    def row(self, name, value, unit, peer=None, peer_name=None, wanted=None, limit=None,
            series=None):
        """`wanted`: the ratio to the peer that is asked for; `limit`: what the machine allows, in
        the same unit; `series`: (name of a curve, place on its axis)."""
        line = "  %-46s %10.3f %-12s" % (name, value, unit)
        if peer:
            line += " %s %.3f, ratio %.2f" % (peer_name, peer, value / peer)
        if wanted:
            line += " (asked: %g)" % wanted
        if limit:
            line += "; machine's limit %.0f: %.0f %%" % (limit, 100 * value / limit)
        print(line, flush=True)
        self.rows.append({"part": self.part, "name": name, "value": value, "unit": unit,
                          "peer": peer, "peer_name": peer_name, "wanted": wanted, "limit": limit,
                          "series": series})

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            json.dump({**self.about, "rows": self.rows}, file, indent=1)
            file.write("\n")

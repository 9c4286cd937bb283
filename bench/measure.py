"""What all of make bench shares: CPU seconds of a command, and the lines that are printed."""
import json
import os
import platform
import resource
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


class Report:
    def __init__(self, build):
        self.rows = []
        self.about = {
            "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "machine": "%s, %d processors" % (platform.machine(), os.cpu_count()),
            "yore": subprocess.run([build + "/yore", "--version"], stdout=subprocess.PIPE,
                                   check=False).stdout.decode().strip(),
        }
        for key, value in self.about.items():
            print("%-8s %s" % (key, value))

    def row(self, name, value, unit, peer=None, peer_name=None, wanted=None):
        """`wanted`: the ratio to the peer that is asked for."""
        line = "  %-46s %10.3f %-12s" % (name, value, unit)
        if peer:
            line += " %s %.3f, ratio %.2f" % (peer_name, peer, value / peer)
        if wanted:
            line += " (asked: %g)" % wanted
        print(line, flush=True)
        self.rows.append({"name": name, "value": value, "unit": unit, "peer": peer,
                          "peer_name": peer_name, "wanted": wanted})

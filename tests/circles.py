#!/usr/bin/env python3
"""No circle of more than six files inside a room.

A file points at each file of its room whose functions it calls, by the symbols of the objects that were built. Tables of
functions (readers, commands, SQL's tables) are data, and end a chain: who is called through them is not known to the caller.
"""
import collections
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
MOST = 6
ROOMS = ("engine", "index", "state", "rows", "sql", "convert", "live", "lua-lib", "lib", "duckdb", "serve", "repl")
source = os.environ.get("srcdir", ".")
build = os.environ.get("top_builddir", ".")


def objects():
    """Source file without its ending, object; each once, and none that is left of a file that went."""
    found = {}
    for room in ROOMS:
        for folder, _, names in sorted(os.walk(os.path.join(build, room))):
            for name in names:
                if not name.endswith(".o"):
                    continue
                place = os.path.relpath(folder, build).removesuffix("/.libs")
                unit = os.path.join(place, re.sub(r"^\w+_(la|a)-", "", name[:-2]))
                if os.path.exists(os.path.join(source, unit + ".c")):
                    found[unit] = os.path.join(folder, name)
    return found


def calls(files):
    defined, wanted = {}, collections.defaultdict(set)
    for unit, path in files.items():
        for line in subprocess.run(["nm", path], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines():
            *_, kind, symbol = line.split()
            if kind == "U":
                wanted[unit].add(symbol)
            elif kind in "TW":
                defined[symbol] = unit
    return {unit: {defined[s] for s in wanted[unit] if s in defined} - {unit} for unit in files}


def circles(graph):
    """Strongly connected components (Tarjan), of more than one file."""
    number, low, stack, out = {}, {}, [], []

    def visit(unit):
        number[unit] = low[unit] = len(number)
        stack.append(unit)
        for to in graph[unit]:
            if to not in number:
                visit(to)
                low[unit] = min(low[unit], low[to])
            elif to in stack:
                low[unit] = min(low[unit], number[to])
        if low[unit] == number[unit]:
            at = stack.index(unit)
            if len(stack) - at > 1:
                out.append(sorted(stack[at:]))
            del stack[at:]

    sys.setrecursionlimit(10000)
    for unit in graph:
        if unit not in number:
            visit(unit)
    return out


graph = calls(objects())
if len(graph) < 300:
    sys.exit("FAIL: only %d objects were found" % len(graph))
bad = 0
for room in sorted({os.path.dirname(unit) for unit in graph}):
    inside = {unit: {to for to in graph[unit] if os.path.dirname(to) == room}
              for unit in graph if os.path.dirname(unit) == room}
    for circle in circles(inside):
        if len(circle) > MOST:
            bad += 1
            print("FAIL: %d files of %s call each other in a circle: %s" % (len(circle), room, " ".join(circle)))
if not bad:
    print("PASS: no circle of more than %d files in any room, of %d files" % (MOST, len(graph)))
sys.exit(bad > 0)

#!/usr/bin/python3
"""Profiles compared: `top tree`, and the bounds that --against gives.

Traces are made here, whose samples are drawn from shares that are known. The tree is counted again from what was written. Over many
pairs of traces the bounds must hold the true difference, no difference may be certain where there is none, also where a program
goes through phases that last for many samples, and a planted one must be certain. For samples that are independent the bounds are compared with
what the binomial distribution has.
"""
import collections
import csv
import io
import math
import os
import random
import statistics
import struct
import subprocess
import sys
import tempfile
from xml.etree import ElementTree

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "repl")]
from results import finish, result, yore
import kernel_ctf

CONTEXT = "struct { s32 tid; u32 __callstack_user_length; integer { size = 64; align = 8; signed = false; base = 16; } " \
    "_callstack_user[ __callstack_user_length ]; };"
MAIN, WORK, IDLE, READ, HASH, RARE = 0x401000, 0x401100, 0x401200, 0x401300, 0x401400, 0x401500
STACKS = {"work": (WORK, MAIN), "read": (READ, WORK, MAIN), "hash": (HASH, READ, WORK, MAIN), "again": (WORK, READ, WORK, MAIN),
          "idle": (IDLE, MAIN), "rare": (RARE, IDLE, MAIN), "gone": (HASH, IDLE, MAIN)}
BEFORE = {"work": 30, "read": 25, "hash": 20, "again": 5, "idle": 19.5, "rare": 0.5}
AFTER = {"work": 30, "read": 15, "hash": 30, "again": 5, "idle": 19.5, "rare": 0.5}
PHASES = ({"work": 90, "idle": 10}, {"hash": 80, "read": 20})


def trace(folder, stacks):
    """One event with a call chain for each of the stacks, a microsecond after the other."""
    records = b"".join(struct.pack("<IQiI%dQi" % len(STACKS[name]), 1, 10 ** 9 + 1000 * i, 100, len(STACKS[name]), *STACKS[name], 100)
                       for i, name in enumerate(stacks))
    kernel_ctf.write(folder, {1: ("work_sample", "s32 tid;")}, "\n\tevent.context := " + CONTEXT, {0: records})
    return folder


def drawn(rand, shares, count):
    return rand.choices(list(shares), list(shares.values()), k=count)


def in_phases(rand, count):
    """Phases of 60 samples or so, of either kind."""
    found = []
    while len(found) < count:
        found += drawn(rand, rand.choice(PHASES), rand.randrange(20, 100))
    return found[:count]


def rows(*words):
    done = subprocess.run([yore, "top", *words, "--no-index", "--format", "csv"], capture_output=True, text=True, check=False)
    return list(csv.DictReader(io.StringIO(done.stdout))), done.stderr


def tree_of(stacks):
    """{stack, outermost first: [self, total]}."""
    found = collections.defaultdict(lambda: [0, 0])
    for name in stacks:
        chain = STACKS[name][::-1]
        for i in range(len(chain)):
            found[chain[:i + 1]][1] += 1
        found[chain][0] += 1
    return found


def path(text):
    return tuple(int(part, 16) for part in text.split(";"))


def check_tree(work, rand):
    stacks = drawn(rand, BEFORE, 1000)
    folder = trace(os.path.join(work, "tree"), stacks)
    truth, (found, _) = tree_of(stacks), rows(folder, "tree", "--min", "0")
    result({path(r["stack"]): [int(r["self"]), int(r["total"])] for r in found} == truth and len(found) == len(truth), "top tree has each stack", found)
    result([int(r["depth"]) for r in found] == [len(path(r["stack"])) - 1 for r in found], "depth is the number of callers", found)
    above, good = [], True
    for r in found:
        above = above[:int(r["depth"])] + [r]
        good = good and (len(above) == 1 or path(r["stack"])[:-1] == path(above[-2]["stack"]))
    last, falling = {}, True
    for r in found:
        key = path(r["stack"])[:-1]
        falling, last[key] = falling and last.get(key, 1 << 60) >= int(r["total"]), int(r["total"])
    result(good and falling, "a row stands below its caller, what weighs more first", found)
    large, note = rows(folder, "tree")
    result({path(r["stack"]) for r in large} == {key for key, (_, total) in truth.items() if total >= 10} and "of the tree are left out" in note,
           "rows of less than 1 % are left out, which a note tells", note)
    some, note = rows(folder, "tree", "--min", "10")
    result({path(r["stack"]) for r in some} == {key for key, (_, total) in truth.items() if total >= 100}, "--min", some)
    own, _ = rows(folder, "tree", "--min", "0", "--sort", "self")
    first = max((key for key in truth if len(key) == 2), key=lambda key: truth[key][0])
    result(path(own[1]["stack"]) == first and {r["stack"] for r in own} == {r["stack"] for r in found}, "--sort is for rows below one", own)
    below, _ = rows(folder, "tree", "--min", "0", "--where", 'stack ~ "0x401000;0x401100;*" && depth == 2')
    result({path(r["stack"]) for r in below} == {key for key in truth if len(key) == 3 and key[1] == WORK}, "--where of a part of the tree", below)


def true_shares(shares, what):
    """{key: percent} of functions (self) or stacks (total)."""
    whole, found = sum(shares.values()), collections.Counter()
    for name, share in shares.items():
        chain = STACKS[name][::-1]
        for i in range(len(chain)) if what == "tree" else [len(chain) - 1]:
            found[chain[:i + 1] if what == "tree" else chain[-1:]] += 100 * share / whole
    return found


def compare(before, after, what):
    """{key: (change, low, high)}."""
    found, _ = rows(after, *([what, "--min", "0"] if what == "tree" else [what]), "--against", before)
    return {path(r["stack"] if what == "tree" else r["function"]): tuple(float(r[c]) for c in ("change", "low", "high")) for r in found}


def certain(found):
    return {key for key, (_, low, high) in found.items() if low > 0 or high < 0}


def check_bounds(work, rand, pairs=20, count=1500):
    missed, claimed, unclaimed, ratios = 0, 0, 0, []
    for pair in range(pairs):
        sides = [trace(os.path.join(work, "p%d-%s" % (pair, name)), drawn(rand, shares, count))
                 for name, shares in (("a", BEFORE), ("b", AFTER), ("c", BEFORE))]
        for what in ("functions", "tree"):
            found, truth = compare(sides[0], sides[1], what), true_shares(AFTER, what)
            truth.subtract(true_shares(BEFORE, what))
            missed += any(not low - 1e-9 <= truth[key] <= high + 1e-9 for key, (_, low, high) in found.items())
            key = (HASH,) if what == "functions" else (MAIN, WORK, READ, HASH)
            unclaimed += key not in certain(found)
            claimed += bool(certain(compare(sides[0], sides[2], what)))
            p, q = 0.2, 0.3
            tail = statistics.NormalDist().inv_cdf(1 - 0.005 / len(found) / 2)
            ratios.append((found[key][2] - found[key][1]) / (200 * tail * math.sqrt((p * (1 - p) + q * (1 - q)) / count)))
    result(missed <= 1, "bounds hold the true differences in %d pairs" % pairs, missed)
    result(claimed <= 1, "no difference is certain where there is none", claimed)
    result(unclaimed == 0, "a share of 20 %% that becomes 30 %% is certain, of %d samples" % count, unclaimed)
    result(0.9 < statistics.mean(ratios) < 1.6 and min(ratios) > 0.7, "bounds are little wider than those of the binomial distribution",
           (min(ratios), statistics.mean(ratios), max(ratios)))


def check_phases(work, rand, pairs=20, count=3000):
    claimed = 0
    for pair in range(pairs):
        sides = [trace(os.path.join(work, "f%d-%s" % (pair, name)), in_phases(rand, count)) for name in "ab"]
        claimed += bool(certain(compare(*sides, "functions")))
    result(claimed <= 1, "phases of a program are no difference of two", claimed)


SVG = "{http://www.w3.org/2000/svg}"


def drawn_frames(svg):
    """{names of a frame and those below it: (weight, weight in the other, its class)} of a picture."""
    levels, found = {}, {}
    for group in ElementTree.parse(svg).getroot().iter(SVG + "g"):
        kind = group.get("class", "").split()
        if kind[:1] != ["frame"]:
            continue
        box, name = group.find(SVG + "rect"), group.find(SVG + "title").text.split("\n")[0]
        x, wide, y = (float(box.get(key)) for key in ("x", "width", "y"))
        below = [at for at in levels.get(y + 18, []) if at[0] - 1e-4 <= x and x + wide <= at[1] + 1e-4]
        names = below[0][2] + (name,) if below else ()
        levels.setdefault(y, []).append((x, x + wide, names))
        found[names] = int(group.get("data-weight")), int(group.get("data-against")), kind[1], float(group.get("data-change"))
    return found


def colour(change):
    size = next((step for least, step in ((10, "3"), (2, "2"), (0.5, "1")) if abs(change) >= least), "")
    return ("grew" if change > 0 else "shrank") + size if size else "alike"


def check_flames(work, rand):
    """flamegraph --against: lines, tables and the picture, counted again."""
    sides = [drawn(rand, shares, 1200) for shares in (BEFORE, AFTER)]
    sides[0] += ["gone"] * 30  # on frames that the other one does not have
    before, after = (trace(os.path.join(work, name), stacks) for name, stacks in zip(("before", "after"), sides))
    counts, trees = [collections.Counter(side) for side in sides], []
    name_of = {name: ";".join(["task-100"] + ["0x%x" % address for address in chain[::-1]]) for name, chain in STACKS.items()}
    run = lambda *words: subprocess.run([yore, "flamegraph", after, *words, "--no-index"], capture_output=True, text=True, check=False)
    said = run("--against", before)
    comm = said.stdout.split(";")[0]
    name_of = {name: text.replace("task-100", comm) for name, text in name_of.items()}
    lines = {line.rsplit(" ", 2)[0]: tuple(map(int, line.rsplit(" ", 2)[1:])) for line in said.stdout.splitlines()}
    result(lines == {text: (counts[0][name], counts[1][name]) for name, text in name_of.items()}, "flamegraph --against has both weights", said)
    table = list(csv.DictReader(io.StringIO(run("--against", before, "--format", "csv").stdout)))
    changes = {name_of[name]: 100 * (counts[1][name] / len(sides[1]) - counts[0][name] / len(sides[0])) for name in STACKS}
    result({r["comm"] + ";" + r["stack"]: round(float(r["change"]), 3) for r in table} == {text: round(change, 3) for text, change in changes.items()},
           "its table has the change of each share", table)
    sizes = [abs(float(r["change"])) for r in table]
    result(sizes == sorted(sizes, reverse=True) and all(float(r["low"]) <= float(r["change"]) <= float(r["high"]) for r in table),
           "the largest first, within its bounds", table)
    result(table[0]["stack"] in (name_of[name].split(";", 1)[1] for name in ("read", "hash")) and float(table[0]["low"]) * float(table[0]["high"]) > 0,
           "what was planted is certain", table[0])
    picture = os.path.join(work, "difference.svg")
    said = run("--against", before, "--svg", picture)
    for side in counts:
        tree = collections.Counter()
        for name, count in side.items():
            parts = tuple(name_of[name].split(";"))
            for i in range(len(parts) + 1):
                tree[parts[:i]] += count
        trees.append(tree)
    found, expected = drawn_frames(picture), {}
    for names, weight in trees[1].items():
        change = 100 * (weight / len(sides[1]) - trees[0][names] / len(sides[0]))
        expected[names] = weight, trees[0][names], colour(change), round(change, 4)
    result(found == expected, "the picture has both weights of each frame, and the colour of its change", (found, expected, said))
    with open(picture, encoding="utf-8") as file:
        result("%.2f%% of the other is on frames that are not here" % (100 * 30 / len(sides[0])) in file.read(), "its head tells what has no width", said)
    kept = run("--against", before, "--where", "low > 0 || high < 0", "--format", "csv").stdout
    result(0 < len(kept.splitlines()) - 1 < len(table), "--where leaves what is certain", kept)
    said = run("--where", "change > 1")
    result(said.returncode == 2 and "'change' has no meaning without --against TRACE" in said.stderr, "change without --against", said)


def check_few(work, rand):
    few = trace(os.path.join(work, "few"), drawn(rand, BEFORE, 4))
    many = trace(os.path.join(work, "many"), drawn(rand, BEFORE, 400))
    found, _ = rows(few, "--against", many)
    result(found and all(r["low"] == r["high"] == "" for r in found), "four samples have no bounds", found)
    whole, _ = rows(many, "--against", many)
    result(whole and all(float(r["change"]) == 0 and float(r["low"]) <= 0 <= float(r["high"]) for r in whole), "a trace against itself", whole)


def main():
    rand = random.Random(41)
    with tempfile.TemporaryDirectory(prefix="yore-test-") as work:
        os.environ["XDG_CACHE_HOME"] = work
        check_tree(work, rand)
        check_bounds(work, rand)
        check_phases(work, rand)
        check_flames(work, rand)
        check_few(work, rand)


main()
finish()

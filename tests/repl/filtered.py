"""A filtered line of a kernel trace is the line that there is without the filter, names included.

    filtered.py YORE TRACE...

The judge is the unfiltered text. Filters: each event class, each CPU, beginnings and moments within
1 ns of an event and elsewhere, alone and together.
"""
import json
import os
import random
import subprocess
import sys

random.seed(5)


def lines(program, *arguments):
    done = subprocess.run([program, "events", *arguments, "--time", "ns", "--no-index"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return [line for line in done.stdout.decode("utf-8", "replace").splitlines()
            if line[:1].isdigit()]


def filters(classes, times):
    for name in classes:
        yield ["--name", name]
    for cpu in "01":
        yield ["--cpu", cpu]
    for _ in range(6):
        begin = "@%d" % (random.choice(times) + random.randint(-1, 1))
        yield ["--begin", begin, "--limit", "50"]
        yield ["--begin", begin, "--cpu", "0", "--limit", "50"]
        yield ["--begin", begin, "--name", random.choice(classes), "--limit", "50"]
        yield ["--around", begin, "--context", "5"]
    yield ["--begin", "@%d" % ((times[0] + times[-1]) // 2), "--limit", "50"]


def agrees(program, trace):
    whole = lines(program, trace)
    there, times = set(whole), [int(line.split()[0]) for line in whole]
    said = subprocess.run([program, "events", trace, "--format", "json", "--no-index"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
    classes = sorted({json.loads(line).get("name") or "" for line in said.splitlines()} - {""})
    count = wrong = 0
    for asked in filters(classes, times):
        found = lines(program, trace, *asked)
        other = [line for line in found if line not in there]
        count += len(found)
        wrong += len(other)
        if other:
            print(trace, *asked, "\n ", other[0])
    print("%s: %d filtered lines, %d wrong" % (trace, count, wrong))
    return not wrong and count > len(whole) // 2


if __name__ == "__main__":
    results = [agrees(sys.argv[1], trace) for trace in sys.argv[2:]]
    sys.exit(not results or not all(results))

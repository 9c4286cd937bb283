#!/usr/bin/env python3
"""A trace cut out with --with-state answers from its first moment on what the whole trace answers.

    with_state.py YORE TRACE... [--missing TRACE...]

Of each trace, cut at three places and written in each language: `at` of all attributes at moments of
the part is what the whole trace says there, but for `since`, which cannot lie before the part's beginning;
and before the beginning the part knows nothing that the whole trace's rules do not say from the start.
Of the traces behind --missing, which lack events that no counter tells of, the whole trace knows by what comes
before and behind the part that some of its attributes are unknown there: the part need not. The first trace is cut by rules with names in quotes, too.
"""
import json
import subprocess
import sys
import tempfile

failed = 0
QUOTED = """event *
	last/"of-all \\"x\\"" = event/name
	cpu[section/cpu]/"of-one" = event/name
	cpu[section/cpu]/"\\\\"/"time of" = event/time
"""


def run(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def at(trace, moment, options):
    status, out, said = run(yore, "at", trace, "@%d" % moment, "**", "--format", "json", "--no-index", *options)
    rows = [json.loads(line) for line in out.splitlines()]
    return status, {row["path"]: row["value"] for row in rows if "path" in row}, said


def result(good, name, why=""):
    global failed
    failed |= not good
    print("%s: %s%s" % ("PASS" if good else "FAIL", name, "" if good else "\n" + why), flush=True)


def bounds(trace):
    out = run(yore, "sql", trace, "SELECT min(ts), max(ts) FROM events WHERE ts IS NOT NULL", "--format", "json",
              "--no-index")[1]
    return [int(value) for value in json.loads(out.splitlines()[0]).values()]


def check(trace, language, begin, end, folder, missing, *options):
    part = "%s/%s-%d" % (folder, language, begin)
    status, _, said = run(yore, "convert", trace, part, "--to", language, "--with-state", "--no-index",
                          "--begin", "@%d" % begin, "--end", "@%d" % end, *options)
    name = "%s of %s from %d%s" % (language, trace.rstrip("/").rsplit("/", 2)[-1], begin,
                                   ", names in quotes" if options else "")
    if status:
        result(False, name, said)
        return
    wrong, rows = [], 0
    for moment in (begin, begin + 1, begin + (end - begin) // 20, (begin + end) // 2, end - 1):
        whole, told = at(trace, moment, options)[1], at(part, moment, options)
        if told[2]:
            wrong.append("at %d: %s" % (moment, told[2]))
        rows += len(whole)
        wrong += ["at %d: %s is %r, not %r" % (moment, path, told[1].get(path), whole.get(path))
                  for path in sorted(set(whole) | set(told[1]))
                  if told[1].get(path) != whole.get(path) and not (missing and whole.get(path) is None)]
    early = at(part, begin - 1000, options)[1]
    never = at(trace, bounds(trace)[0] - 1000, options)[1]
    wrong += ["before: %s is %r" % item for item in early.items() if never.get(item[0]) != item[1]]
    result(not wrong and rows > 20, "%s, %d values" % (name, rows), "\n".join(wrong[:12]))


def main():
    missing = False
    for trace in sys.argv[2:]:
        if trace == "--missing":
            missing = True
            continue
        first, last = bounds(trace)
        with tempfile.TemporaryDirectory() as folder:
            for part in (20, 50, 75):
                begin = first + (last - first) * part // 100
                end = begin + (last - first) // 5
                for language in ("ctf", "ctf2", "ctf2010"):
                    check(trace, language, begin, end, folder, missing)
            if trace == sys.argv[2]:
                with open(folder + "/quoted.rules", "w") as file:
                    file.write(QUOTED)
                check(trace, "ctf", begin - 1, end, folder, missing, "--rules", file.name)
    sys.exit(failed)


yore = sys.argv[1]
main()

#!/usr/bin/env python3
"""docs/tutorial.md, docs/cookbook.md, docs/do.md, docs/sql.md and docs/ovni.md, done as they say: files are written, each `$ ` line is run, and prints what
stands below it. The cookbook is done with other recordings, too: each question has an answer there.

A block ```console holds commands and what they print (messages, too); a line `...` stands for any number of
others, and a `…` in a line for any text. A block ```lua NAME or ```rules NAME is a file of that name. With --write the pages are filled with
what is printed, where a command has nothing below it."""
import os, re, subprocess, sys, tempfile

TOP = os.path.abspath(os.environ.get("srcdir", "."))
BUILD = os.path.abspath(os.environ.get("top_builddir", "."))
failed = 0


def blocks(text):
    for found in re.finditer(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", text, re.M | re.S):
        yield found.group(1), found.group(2), found.group(3)


def fits(expected, got):
    """Are the printed lines the expected ones, where `...` is any number of lines?"""
    if not expected:
        return not got
    if expected[0] == "...":
        return any(fits(expected[1:], got[i:]) for i in range(len(got) + 1))
    pattern = ".*".join(re.escape(part) for part in expected[0].rstrip().split("…"))
    return bool(got) and re.fullmatch(pattern, got[0].rstrip()) is not None and fits(expected[1:], got[1:])


def commands(block):
    """Each command of a block, and the lines below it."""
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        line, *below = part.rstrip("\n").split("\n")
        yield line, below


def run(line, work):
    done = subprocess.run(["sh", "-c", line], cwd=work, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.rstrip("\n").splitlines()


def fill(text, line, got, most):
    """The page with what was printed below the command; of more than `most` lines the first two."""
    shown = got if len(got) <= most else got[:2] + ["..."]
    return text.replace("$ " + line + "\n", "$ " + line + "\n" + "\n".join(shown) + "\n", 1)


def follow(page, work, write, most, change=None):
    """Does what a page says; `change` turns its commands into those of another recording, whose answers are not
    compared: there must be one. Returns how many commands there were."""
    global failed
    steps = 0
    path = os.path.join(TOP, "docs", page)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for kind, name, block in blocks(text):
        if name:
            with open(os.path.join(work, name), "w", encoding="utf-8") as file:
                file.write(block)
        for line, expected in commands(block) if kind == "console" else []:
            status, got = run(change(line) if change else line, work)
            steps += 1
            if write and not expected and got:
                text = fill(text, line, got, most)
            good = status == 0 and (fits(expected, got) if not change else is_answer(got))
            failed += not good
            print("PASS:" if good else "FAIL:", page, line)
            if not good:
                print("\n".join(got))
    if write:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return steps


def is_answer(lines):
    """Something is said, not only why nothing is."""
    return any(not line.startswith("yore: note:") and line != "nothing" for line in lines)


def surroundings(work, recording):
    os.symlink(os.path.join(TOP, "fixtures/golden", recording), os.path.join(work, "trace"))
    os.mkdir(os.path.join(work, "bin"))
    os.symlink(os.path.join(BUILD, "yore"), os.path.join(work, "bin", "yore"))
    os.environ.update(TZ="UTC", HOME=work, XDG_CACHE_HOME=work + "/cache", XDG_CONFIG_HOME=work)
    if os.path.isdir(os.path.join(TOP, "lua-lib")):  # an installed program finds its own
        os.environ["YORE_LUA_DIR"] = os.path.join(TOP, "lua-lib")


def sleeper(work):
    """The number of the demo's sleeping thread in this recording."""
    query = "SELECT next_pid AS n FROM sched_switch WHERE next_comm = 'demo-sleep' LIMIT 1"
    return re.search(r"\d+", run('yore sql trace "%s" --format json' % query, work)[1][0]).group()


def change_for(work, later):
    """Commands for this recording: its number of the thread, its moments, `later` ms after those of the page."""
    tid = sleeper(work)

    def change(line):
        line = re.sub(r"\+(\d+)(us|ms)", lambda at: "+%dus" % (int(at[1]) * (1 if at[2] == "us" else 1000) + later * 1000), line)
        return line.replace("31520", tid)
    return change


PAGES = {"demo/trace.dat": (("tutorial.md", 100, 12), ("cookbook.md", 3, 56)), "sched-demo": (("do.md", 12, 6), ("sql.md", 12, 5)), "ovni-demo": (("ovni.md", 12, 4),)}
OTHERS = {"sched-demo": 0, "sched-perf/perf.data": 84, "sched-ftrace/trace.dat": 0}  # ms that moments are later


def main():
    outer, write = os.environ["PATH"], "--write" in sys.argv
    for recording in list(PAGES) + [other for other in OTHERS if other not in PAGES]:
        with tempfile.TemporaryDirectory(prefix="yore-test-") as work:
            surroundings(work, recording)
            os.environ["PATH"] = work + "/bin:" + outer
            for page, most, least in PAGES.get(recording, ()):
                if follow(page, work, write, most) < least:
                    sys.exit(f"FAIL: {page} has lost its commands")
                for left in ("cache", "picture.svg"):
                    subprocess.run(["rm", "-rf", os.path.join(work, left)], check=True)
            if recording in OTHERS and follow("cookbook.md", work, False, 3, change_for(work, OTHERS[recording])) < 56:
                sys.exit("FAIL: the cookbook has lost its questions")
    sys.exit(1 if failed else 0)


main()

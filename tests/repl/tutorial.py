#!/usr/bin/env python3
"""docs/tutorial.md, done as it says: files are written, each `$ ` line is run, and prints what stands below it.

A block ```console holds commands and what they print (messages, too); a line `...` stands for any number of
others, and a `…` in a line for any text. A block ```lua NAME or ```rules NAME is a file of that name. With --write the page is filled with what is
printed, where a command has nothing below it."""
import os, re, subprocess, sys, tempfile

TOP = os.path.abspath(os.environ.get("srcdir", "."))
BUILD = os.path.abspath(os.environ.get("top_builddir", "."))
PAGE = os.path.join(TOP, "docs/tutorial.md")
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
    return done.returncode, done.stdout.splitlines()


def main():
    global failed
    steps = 0
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    with tempfile.TemporaryDirectory(prefix="yore-test-") as work:
        os.symlink(os.path.join(TOP, "fixtures/golden/sched-demo"), os.path.join(work, "trace"))
        os.mkdir(os.path.join(work, "bin"))
        os.symlink(os.path.join(BUILD, "yore"), os.path.join(work, "bin", "yore"))
        os.environ.update(TZ="UTC", HOME=work, YORE_LUA_DIR=os.path.join(TOP, "lua-lib"), XDG_CACHE_HOME=work + "/cache",
                          XDG_CONFIG_HOME=work, PATH=work + "/bin:" + os.environ["PATH"])
        for kind, name, block in blocks(text):
            if name:
                with open(os.path.join(work, name), "w", encoding="utf-8") as file:
                    file.write(block)
            for line, expected in commands(block) if kind == "console" else []:
                status, got = run(line, work)
                steps += 1
                if "--write" in sys.argv and not expected and got:
                    text = text.replace("$ " + line + "\n", "$ " + line + "\n" + "\n".join(got) + "\n", 1)
                good = status == 0 and fits(expected, got)
                failed += not good
                print("PASS:" if good else "FAIL:", line)
                if not good:
                    print("\n".join(got))
    if "--write" in sys.argv:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(text)
    if steps < 12:
        sys.exit("FAIL: only %d commands found" % steps)
    sys.exit(1 if failed else 0)


main()

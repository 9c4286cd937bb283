#!/usr/bin/python3
"""docs/ctf.md, clause by clause: each row names a test, and each test that is named exists.

A name is a row or a function of a C test, what a script tells with PASS, a file of tests/, or a case of
the conformance suite (compared with its MANIFEST.tsv where that is there).
"""
import ast
import glob
import os
import re
import sys

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
from results import finish, result, top

corpus = os.environ.get("YORE_CORPUS") or os.path.join(top, "../shared/corpus")
manifest = os.path.join(corpus, "ctf/testsuite-1.8/MANIFEST.tsv")
# Words of the text for a whole test program.
WORDS = {"random classes": "engine/ctf2_classes.py", "scene": "engine/ctf2_scene.sh"}
TELLING = ("result", "check_read", "check_written")  # functions of Python tests that are called with a row's name
WORD = re.compile("|".join(WORDS))


def read(path):
    with open(path, encoding="utf-8") as text:
        return text.read()


def rows_of_tests():
    """Every name under which a test of the project tells how it ended."""
    names = set()
    for path in glob.glob(os.path.join(top, "tests/*/*.c")):
        text = read(path)
        names |= {name.replace('\\"', '"') for name in re.findall(r'\{\s*"((?:[^"\\]|\\.)*)",', text)}
        names |= set(re.findall(r"^static void (\w+)\(void \*\*\w+\)", text, re.M))
    for path in glob.glob(os.path.join(top, "tests/*/*.sh")):
        text = read(path)
        # what a name says of a variable is left out
        names |= {name.split(": $")[0] for name in re.findall(r'result (?:\$\?|[01]) "([^"]*)"', text)}
        names |= set(re.findall(r'^shows "([^"]*)"', text, re.M))
    for path in glob.glob(os.path.join(top, "tests/*/*.py")):
        for node in ast.walk(ast.parse(read(path))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in TELLING:
                names |= {arg.value.removesuffix(": ") for call in node.args for arg in (
                    call, getattr(call, "left", call)) if isinstance(arg, ast.Constant)
                          and isinstance(arg.value, str)}
    return names


def tables(text):
    """(line number, last cell) of each row below a head that ends with `shown by`."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("|"):
            inside = False
        elif line.rstrip().endswith("| shown by |"):
            inside = True
        elif inside and not line.startswith("|---"):
            yield number, re.split(r"(?<!\\)\|", line)[-2]


def main():
    known, wrong, count = rows_of_tests(), [], 0
    cases = {line.split("\t")[0] for line in read(manifest).splitlines()} if os.path.exists(manifest) else None
    if cases is None:
        print("skipped: names of the suite's cases: no " + manifest)
    for number, cell in tables(read(os.path.join(top, "docs/ctf.md"))):
        names, words = re.findall(r"`([^`]+)`", cell), WORD.findall(cell)
        if not names and not words and "corpus" not in cell:
            wrong.append("line %d names no test" % number)
        for word in words:
            if not os.path.exists(os.path.join(top, "tests", WORDS[word])):
                wrong.append("line %d: %s" % (number, word))
        for name in names:
            count += 1
            is_case = name.startswith(("regression/", "stress/"))
            if is_case and cases is not None and name not in cases or \
                    not is_case and name not in known and \
                    not os.path.exists(os.path.join(top, "tests", name)):
                wrong.append("line %d: no test is called %s" % (number, name))
    result(not wrong and count > 150, "docs/ctf.md names %d tests, and all of them exist" % count,
           "; ".join(wrong))
    finish()


main()

#!/usr/bin/python3
"""features.py: the tables of docs/design/state.md on what tells a feature of the rules are true.

Of the first table each `function()` of `file` is defined there. Of the second one each file or folder has one of the row's words, and no
other file of state/ has, besides those that parse and compile rules."""
import glob, os, re, sys

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
os.chdir(os.environ.get("srcdir", "."))
PAGE = "docs/design/state.md"
COMPILED = ("state/rules/", "state/program/")
failed = 0


def tell(name, lines):
    global failed
    print("%s: %s" % ("FAIL" if lines else "PASS", name))
    for line in lines:
        print("\t" + line)
    failed += bool(lines)


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def table(first):
    """Rows of the table whose head begins with these cells, each a list of cells."""
    lines = text_of(PAGE).splitlines()
    at = next((i for i, line in enumerate(lines) if line.startswith("| " + first)), None)
    if at is None:
        sys.exit("%s has no table that begins with '| %s'" % (PAGE, first))
    rows = []
    for line in lines[at + 2:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return rows


def defines(path, function):
    return os.path.isfile(path) and re.search(r"^[a-z].*[ *]%s\(" % function, text_of(path), re.M)


wrong, named = [], 0
for row in table("| a moment |"):
    for function, path in re.findall(r"`(\w+)\(\)`(?: or `\w+\(\)`)? of `([^`]+)`", " ".join(row)):
        named += 1
        if not defines(path, function):
            wrong.append("%s: %s does not define %s()" % (row[0], path, function))
if named < 20:
    wrong.append("only %d functions are named" % named)
tell("what tells a feature, by question, is there", wrong)

sources = [path for path in sorted(glob.glob("state/**/*.c", recursive=True)) if not path.startswith(COMPILED)]
rows = table("feature | word |")
for row in rows:
    words = re.findall(r"`(\w+)`", row[1])
    places = re.findall(r"`(state/[^`]*)`", " ".join(row[2:]))
    has = [path for path in sources if re.search(r"\b(%s)\b" % "|".join(words), text_of(path))]
    wrong = ["%s has none of %s" % (place, ", ".join(words)) for place in places
             if not any(path == place or (place.endswith("/") and path.startswith(place)) for path in has)]
    wrong += ["%s has %s, and is not named" % (path, " or ".join(words)) for path in has
              if not any(path == place or (place.endswith("/") and path.startswith(place)) for place in places)]
    tell("%s: evaluated where the table says" % row[0], wrong if words else ["the row names no word"])
tell("the second table has rows", [] if len(rows) >= 8 else ["only %d" % len(rows)])
sys.exit(failed > 0)

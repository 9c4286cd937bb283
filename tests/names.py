#!/usr/bin/env python3
"""One meaning for a name: each struct is defined once, and few files have a static function of the same name.

A name that five files would have begins with the name of the file. Code of a reader defines the `struct decoder` that engine/reader.h leaves open. Functions that tables of an interface name
(SQLite's modules, readers) are called alike in all files that have such a table.
"""
import collections
import os
import re
import sys

MOST = 4
STRUCTS = {"decoder"}
FUNCTIONS = {"best_index", "close_cursor", "column", "connect", "decoder_fields", "event_bits", "filter", "next", "open_cursor", "probe"}
OUTSIDE = {"bench", "examples", "fixtures", "tests"}
source = os.environ.get("srcdir", ".")


def sources():
    for room in sorted(os.listdir(source)):
        if room in OUTSIDE or not os.path.exists(os.path.join(source, room, "local.mk")):
            continue
        for folder, _, names in os.walk(os.path.join(source, room)):
            for name in names:
                if name.endswith((".c", ".h")):
                    yield os.path.join(folder, name)


structs, functions = collections.defaultdict(list), collections.defaultdict(set)
for path in sources():
    with open(path, encoding="utf-8") as file:
        text = file.read()
    shown = os.path.relpath(path, source)
    for name in re.findall(r"^(?:static )?(?:const )?struct (\w+) \{", text, re.MULTILINE):
        structs[name].append(shown)
    for name in re.findall(r"^static [^;={}()]*?\b(\w+)\(", text, re.MULTILINE):
        functions[name].add(shown)
status = 0 if len(structs) > 500 else 1
if status:
    print(f"only {len(structs)} structs are found")
for name, files in sorted(structs.items()):
    if len(files) > 1 and name not in STRUCTS:
        print(f"struct {name} has {len(files)} meanings: {' '.join(sorted(files))}")
        status = 1
for name, files in sorted(functions.items()):
    if len(files) > MOST and name not in FUNCTIONS and name != "__attribute__":
        print(f"{name}() stands in {len(files)} files: {' '.join(sorted(files))}")
        status = 1
if status == 0:
    print(f"PASS: {len(structs)} structs have a name each")
sys.exit(status)

#!/usr/bin/python3
"""public_abi.py < DUMP > LESS: what of abidw's dump of a library its exported functions and variables reach.

A dump has the types of the whole library. What stays are the symbols, their declarations, and the types of their parameters and results,
types within these too, in the order and with the numbers that they come in; so a change inside the library changes nothing here.
"""
import sys
import xml.etree.ElementTree as ET

WITHIN = ("class-decl", "union-decl", "enum-decl", "function-type", "function-decl", "var-decl")


def named(element):
    """The types that an element names."""
    return {value for each in element.iter() for key, value in each.attrib.items()
            if key in ("type-id", "return", "naming-typedef-id", "method-class-id", "def-of-decl-id")}


def main():
    corpus = ET.parse(sys.stdin).getroot()
    places, wanted, kept = {}, [], []
    for unit in corpus.iter("abi-instr"):
        for element in unit:
            if element.tag == "function-decl" or element.tag == "var-decl":
                if element.get("elf-symbol-id"):
                    kept.append(element)
                    wanted += named(element)
            elif element.get("id"):
                places.setdefault(element.get("id"), []).append(element)
    reached = set()
    while wanted:
        number = wanted.pop()
        if number not in reached:
            reached.add(number)
            for element in places.get(number, ()):
                kept.append(element)
                wanted += named(element)
    # one unit: which file says it is no part of the interface
    numbers = {}
    found = ET.Element("abi-instr", {"address-size": "64", "path": "yore.h", "language": "LANG_C11"})
    found.extend(sorted(kept, key=lambda e: (WITHIN.index(e.tag) if e.tag in WITHIN[-2:] else -1, e.tag, e.get("name") or "", ET.tostring(e).decode())))
    for element in found.iter():
        for key in ("id", "type-id", "return", "naming-typedef-id", "method-class-id", "def-of-decl-id"):
            if element.get(key):
                element.set(key, "type-%d" % numbers.setdefault(element.get(key), len(numbers) + 1))
        for key in ("filepath", "line", "column"):
            element.attrib.pop(key, None)
    for unit in corpus.findall("abi-instr"):
        corpus.remove(unit)
    for needed in corpus.findall("elf-needed"):
        corpus.remove(needed)
    corpus.append(found)
    ET.indent(corpus, " ")
    sys.stdout.write(ET.tostring(corpus, encoding="unicode") + "\n")


main()

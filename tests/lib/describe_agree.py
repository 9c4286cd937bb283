#!/usr/bin/python3
"""Compares the event classes that examples/describe.c prints with those that babeltrace2 finds.

    describe_agree.py DESCRIBE TRACE

Of each class: name, id, that of its stream class, and the members of its payload and contexts.
babeltrace2 leaves those members of a packet context out that have a meaning.
"""
import subprocess
import sys

import bt2

KINDS = {"Bool": "bool", "SignedInteger": "int", "SignedEnumeration": "int",
         "UnsignedInteger": "uint", "UnsignedEnumeration": "uint", "Real": "double",
         "String": "string", "Structure": "struct", "Array": "array", "Variant": "variant"}
MEANT = {"timestamp_begin", "timestamp_end", "content_size", "packet_size", "events_discarded",
         "packet_seq_num"}


def kind_of(field_class):
    """The longest word counts: "UnsignedInteger" has "SignedInteger" in small letters alone."""
    name = type(field_class).__name__.lstrip("_")
    return next(kind for word, kind in KINDS.items() if name.startswith(word) or word in name)


def members(field_class, depth):
    for name, member in field_class.items():
        kind = kind_of(member.field_class)
        yield "%s%s %s" % ("  " * depth, kind, name)
        if kind == "struct":
            yield from members(member.field_class, depth + 1)
        elif kind == "array":
            yield "%s%s -" % ("  " * (depth + 1), kind_of(member.field_class.element_field_class))


def babeltrace(path):
    classes = []
    message = next(bt2.TraceCollectionMessageIterator(path))
    for stream_class in message.stream.trace.cls.values():
        for event_class in stream_class.values():
            lines = ["event %s: id %d of stream class %d" % (
                event_class.name, event_class.id, stream_class.id)]
            for name, scope in (("packet-context", stream_class.packet_context_field_class),
                                ("stream-context", stream_class.event_common_context_field_class),
                                ("event-context", event_class.specific_context_field_class),
                                ("payload", event_class.payload_field_class)):
                if scope is not None:
                    lines += ["  struct " + name] + list(members(scope, 2))
            classes.append(lines)
    return sorted(classes)


def described(program, path):
    text = subprocess.run([program, path], stdout=subprocess.PIPE, check=True).stdout.decode()
    classes = []
    for line in text.splitlines():
        if line.startswith("event "):
            classes.append([line.split(", log level")[0]])
        elif classes and line.split()[-1] not in MEANT:
            classes[-1].append(line)
    return sorted(classes)


def main():
    ours, theirs = described(sys.argv[1], sys.argv[2]), babeltrace(sys.argv[2])
    for one, other in zip(ours, theirs):
        if one != other:
            print("\n".join(one), "\nbabeltrace2:\n", "\n".join(other))
    print("%d event classes, %d of babeltrace2's" % (len(ours), len(theirs)))
    sys.exit(ours != theirs)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""The CTF 1.8 conformance suite, and what is larger or wider than it, through the command line.

Oracles: the columns of the suite's MANIFEST.tsv (which event counts two other readers have, and how
a case must end), Python's own integers, and traces that are made here. A case that must fail says
one line of each thing that is wrong: the metadata's file, line and column, or a stream file, the
offset of its packet and the place in it. The suite is no part of the project: $YORE_CORPUS, else
../shared/corpus beside the sources; without it its rows are skipped, the others run.
"""
import collections
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
from results import finish, result, top, write, yore

corpus = os.environ.get("YORE_CORPUS") or os.path.join(top, "../shared/corpus")
suite = os.path.join(corpus, "ctf/testsuite-1.8")

HEADER_BYTES = bytes.fromhex("c11ffcc1") + bytes(16)
HEAD = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; } := uint8_t;
typealias integer { size = 32; align = 8; } := uint32_t;
typealias integer { size = 64; align = 8; } := uint64_t;
trace { major = 1; minor = 8; byte_order = le;
	packet.header := struct { uint32_t magic; uint8_t uuid[16]; };
};
"""
IN_METADATA = re.compile(r"^yore: \S+/metadata:(\d+:\d+: | metadata packet at byte \d+: )")
IN_PACKET = re.compile(r"^yore: damaged: \S+: packet at offset \d+: \S")


def run(*words):
    """Exit status, events, lines of standard error that are no notes."""
    done = subprocess.run([yore, *words], capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL)
    said = [line for line in done.stderr.splitlines() if not line.startswith("yore: note: ")]
    return done.returncode, done.stdout, said


def events(trace, *options):
    code, out, said = run("events", trace, "--format", "json", "--no-index", *options)
    rows = [json.loads(line) for line in out.splitlines()]
    return code, [row for row in rows if "lost" not in row], said


def wanted_count(row):
    """What the readers that read the case to its end agree on."""
    if row["bt2_agrees"] == "yes" and row["bt2_events"].isdigit():
        return int(row["bt2_events"])
    second = row["second_reader_events"]
    return int(second) if second and second.isdigit() else None


def refused(row, trace):
    code, found, said = events(trace)
    if "/metadata/" in row["path"]:
        good = code == 1 and not found and len(said) == 1 and IN_METADATA.match(said[0])
    else:
        packets = [re.search(r"packet at offset \d+", line) for line in said]
        good = (code == 3 and said and all(IN_PACKET.match(line) for line in said) and
                len({packet.group() for packet in packets}) == len(said))
    return good, (code, len(found), said)


def accepted(row, trace):
    code, found, said = events(trace)
    count = wanted_count(row)
    good = code == 0 and (count is None or len(found) == count) and \
        all(line.startswith("yore: warning: ") for line in said)
    return good, (code, len(found), count, said)


def run_suite():
    """Every row of the manifest; the table of docs/ctf.md must be the one that is counted here."""
    with open(os.path.join(suite, "MANIFEST.tsv"), encoding="utf-8") as file:
        names, *lines = [line.rstrip("\n").split("\t") for line in file]
    counts = collections.OrderedDict()
    for line in lines:
        row = dict(zip(names, line))
        trace = os.path.join(suite, row["path"])
        must_fail = row["ruling"] == "fail"
        good, why = (refused if must_fail else accepted)(row, trace)
        result(good, row["path"] + (" is refused" if must_fail else " is read"), why)
        count = counts.setdefault(row["path"].rsplit("/", 1)[0] if "trace-" not in row["path"]
                                  else row["path"].split("/pass/")[0] + "/pass", [0, 0, 0])
        count[0] += 1
        count[1] += must_fail
        count[2] += bool(good)
    with open(os.path.join(top, "docs/ctf.md"), encoding="utf-8") as file:
        text = file.read()
    for name, (cases, fails, good) in counts.items():
        line = f"| `{name}` | {cases} | {cases - fails} | {fails} | {good} |"
        result(line in text, f"docs/ctf.md counts {name}", "expected: " + line)


def event(fields, name="e", more=""):
    return "event { name = %s; %s fields := struct { %s }; };\n" % (name, more, fields)


def many(count, form):
    return "".join(form.replace("#", str(i)) for i in range(count))


def nested(count, beside):
    return "struct {" * count + "uint8_t field;" + many(count, beside + "} s#;")


def run_stress(work):
    """The suite's stress cases at ten times the sizes that it has them at."""
    one = {"stream": HEADER_BYTES + b"B"}
    n, large = 2560, 40960
    plain = event("uint8_t f;")
    no_header = HEAD.replace("packet.header := struct { uint32_t magic; uint8_t uuid[16]; };", "")
    with_id = HEAD.replace("uuid[16];", "uuid[16]; uint64_t stream_id;")
    labels = many(n, "t#,")
    cases = {
        "large-metadata": (HEAD + plain + " " * n, {}, 0),
        "long-identifier": (HEAD + event("uint8_t %s;" % ("A" * n)), one, 1),
        "many-callsites": (HEAD + plain + many(n, "callsite { name = e; func = f#; line = #; };"),
                           one, 1),
        "many-stream-class": (with_id + many(n, "stream { id = #; };"), {}, 0),
        "many-typealias": (HEAD + many(n, "typealias integer { size = 8; } := t#;") + plain, one, 1),
        "many-typedef": (HEAD + many(n, "typedef integer { size = 8; } t#;") + plain, one, 1),
        "array-large": (HEAD + event("uint8_t f[%d];" % large),
                        {"stream": HEADER_BYTES + b"B" * large}, 1),
        "many-events": (HEAD + "stream { event.header := struct { uint64_t id; }; };" +
                        many(n, "event { name = e#; id = #; };"),
                        {"stream": HEADER_BYTES + struct.pack("<%dQ" % n, *range(n))}, n),
        "many-packets": (no_header + "stream { packet.context := struct { uint8_t packet_size; }; };",
                         {"stream": b"\x08" * n}, 0),
        "many-streams": (HEAD + plain, {"stream%d" % i: one["stream"] for i in range(160)}, 160),
        "packet-large": (HEAD + plain, {"stream": HEADER_BYTES + b"B" * large}, large),
        "sequence-large": (HEAD + event("uint64_t len; uint8_t f[len];"),
                           {"stream": HEADER_BYTES + struct.pack("<Q", large) + b"B" * large}, 1),
        "string-large": (no_header + event("string s;"),
                         {"stream": b"B" * (large - 1) + b"\0"}, 1),
        "struct-many-fields": (HEAD + event(many(n, "uint8_t f#;")),
                               {"stream": HEADER_BYTES + b"B" * n}, 1),
        "struct-nest-n-deep": (HEAD + event(nested(640, "")), one, 1),
        "struct-nest-n-deep-with-field": (HEAD + event(nested(640, "struct { } empty; ")), one, 1),
        "variant-many-tags": (HEAD + event("enum : uint64_t { %s } t; variant <t> { %s } v;" %
                                           (labels, many(n, "uint8_t t#;"))),
                              {"stream": HEADER_BYTES + struct.pack("<Q", n - 1) + b"B"}, 1),
    }
    for name, (metadata, streams, count) in cases.items():
        code, found, said = events(write(os.path.join(work, name), metadata, streams))
        result(code == 0 and len(found) == count and not said, name + " at ten times its size",
               (code, len(found), count, said))
    folder = os.path.join(work, "many-traces")
    for i in range(160):
        write(os.path.join(folder, str(i)), HEAD + plain, one)
    code, found, said = events(folder)
    result(code == 0 and len(found) == 160 and not said, "many-traces at ten times its size",
           (code, len(found), said))


def run_wide(work):
    """Integers over 64 bits, at all bits of a byte, in both byte orders; Python says their value."""
    before, after = 5, 0xa5
    for size in (65, 71, 72, 128, 333, 1024):
        value = int.from_bytes(bytes((i * 37 + 11) & 255 for i in range(128)), "little")
        value &= (1 << size) - 1
        for order in ("le", "be"):
            for lead in (0, 1, 3, 8):
                bits = lead + size + 8
                total = (bits + 7) // 8 * 8
                if order == "le":
                    number = (before & ((1 << lead) - 1)) | value << lead | after << lead + size
                    data = number.to_bytes(total // 8, "little")
                else:
                    number = (before & ((1 << lead) - 1)) << size + 8 | value << 8 | after
                    data = (number << total - bits).to_bytes(total // 8, "big")
                head = "integer { size = %d; align = 1; } lead;" % lead if lead else ""
                metadata = "/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = %s; };\n" % order
                metadata += "stream { packet.context := struct { integer { size = 32; } " \
                            "content_size; integer { size = 32; } packet_size; }; };\n"
                metadata += event("%s integer { size = %d; align = 1; } wide;"
                                  "integer { size = 8; align = 1; } after;" % (head, size))
                sizes = struct.pack("<II" if order == "le" else ">II", 64 + bits, 64 + total)
                name = "%d bits, %s, after %d" % (size, order, lead)
                folder = write(os.path.join(work, name), metadata, {"stream": sizes + data})
                code, found, said = events(folder)
                fields = found[0]["fields"] if found else {}
                text = "0x%0*x" % ((size + 3) // 4, value)
                result(code == 0 and not said and fields.get("wide") == text and
                       fields.get("after") == after, "an integer of " + name,
                       (code, fields, text, said))


def metadata_packet(text, order, content=None, padding=0):
    size = 37 + len(text)
    return struct.pack(order + "I16s3I5B", 0x75d11d57, b"u" * 16, 0,
                       (size if content is None else content) * 8, (size + padding) * 8,
                       0, 0, 0, 1, 8) + text + bytes(padding)


def run_packets(work):
    """Metadata in packets: whole, empty ones among them, and cut at every byte."""
    one = {"stream": HEADER_BYTES + b"B"}
    text = (HEAD + event("uint8_t f;")).encode()
    for order in "<>":
        pieces = [text[i * 20:i * 20 + 20] for i in range(len(text) // 20 + 1)]
        pieces[5:5] = [b"", b""]
        packets = [metadata_packet(piece, order, padding=i % 4) for i, piece in enumerate(pieces)]
        code, found, said = events(write(os.path.join(work, "packets"), b"".join(packets), one))
        result(code == 0 and len(found) == 1 and not said,
               "%d packets of metadata, two of them empty, order %s" % (len(packets), order),
               (code, found, said))
    half = text.index(b"event")
    packets = [metadata_packet(text[:half], "<"), metadata_packet(text[half:], "<", padding=6)]
    whole, wrong = b"".join(packets), []
    for cut in range(1, len(whole)):
        code, found, said = events(write(os.path.join(work, "cut"), whole[:cut], one))
        first = cut < len(packets[0])
        # a packet that ends exactly where the file does is whole
        complete = cut == len(packets[0])
        # what the first packet describes has no event: the stream's byte is damage of its own
        messages = sum("/metadata:" in line for line in said)
        good = code == (1 if first else 3) and messages == (0 if complete else 1)
        if not good:
            wrong.append((cut, code, said))
    result(not wrong, "metadata in packets, cut at every byte, is one message", wrong[:3])


def run_enums(work):
    """What LTTng-UST writes of enumerations that their integers cannot hold."""
    env = 'env { tracer_name = "lttng-ust"; };\n'
    labels = 'enum : uint8_t { A = 1, "B" = -1, C = 255, D, E = 254 ... 300 } f;'
    data = {"stream": HEADER_BYTES + bytes((0, 1, 254, 255))}
    folder = write(os.path.join(work, "enums"), HEAD + env + event(labels), data)
    code, found, said = events(folder)
    values = [(row["fields"]["f"]["value"], row["fields"]["f"]["labels"]) for row in found]
    expected = [(0, []), (1, ["A"]), (254, ["E"]), (255, ["C", "E"])]
    result(code == 0 and values == expected and len(said) == 3 and
           all(re.match(r"^yore: warning: \S+/metadata:\d+:\d+: ", line) for line in said),
           "mappings that an integer cannot hold are warnings of LTTng's", (code, values, said))
    code, found, said = events(folder, "--strict")
    result(code == 1 and not found and len(said) == 1, "and errors with --strict", (code, said))
    folder = write(os.path.join(work, "others"), HEAD + event(labels), data)
    code, found, said = events(folder)
    result(code == 1 and not found and len(said) == 1, "and errors of others", (code, said))


with tempfile.TemporaryDirectory(prefix="yore-suite-") as work:
    os.environ["YORE_INDEX_DIR"] = os.path.join(work, "index")
    run_stress(os.path.join(work, "stress"))
    run_wide(os.path.join(work, "wide"))
    run_packets(os.path.join(work, "packets"))
    run_enums(os.path.join(work, "enums"))
    if os.path.exists(os.path.join(suite, "MANIFEST.tsv")):
        run_suite()
    else:
        print("skipped: the CTF 1.8 suite: no " + suite + "; set YORE_CORPUS to where it is")
finish()

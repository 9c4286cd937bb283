#!/usr/bin/python3
"""What `yore convert --to ctf`, `--to ctf2` and `--to ctf2010` write, read again.

    ctf_written.py YORE TRACE...            each is one trace, whatever its format
    ctf_written.py YORE --corpus FOLDER     a few small ones of every format
    ctf_written.py YORE --corpus FOLDER --all

Of each trace, in all languages (2010 plain, and compressed with checksums):

  - the events of the output are the source's: time, stream, CPU, name, and each member of contexts and
    payload with its value, in the same order; so are the members of the packet context that a tracer
    added, and the losses;
  - of CTF 1.8, babeltrace2 gives these events (events_agree.py compares each member) and takes the index;
  - a second conversion of the output gives the same events once more.

What babeltrace2 shows under another name or type is docs/ctf.md's table: lengths and options that yore
adds, blobs as bytes, optionals as variants.
"""
import base64
import glob
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

import events_agree

OWN = ("__yore_length_", "__yore_option_", "_yore_length_", "_yore_option_", "_yore_before_all",
       "__yore_before_all")
MADE = {"timestamp_begin", "timestamp_end", "content_size", "packet_size", "events_discarded",
        "packet_seq_num", "cpu_id", "tid", "pid", "rank", "app"}
# the header of 2010, where it is not the source that has it
HEADER = {"checksum", "section_packet_count", "section_packet_count_bits", "compression_scheme",
          "encryption_scheme", "checksum_scheme"}
LANGUAGES = (("ctf",), ("ctf2",), ("ctf2010",), ("ctf2010", "--compress", "gzip", "--checksum", "md5"),
             ("ctf2010", "--compress", "bzip2", "--checksum", "sha1"))
NEXT = {"ctf": "ctf2", "ctf2": "ctf2010", "ctf2010": "ctf"}


def shown(name):
    """The name that yore reads out of one that TSDL could not spell."""
    prefix = "_yore_name_"
    if not name.startswith(prefix):
        return name
    text, at, said = name[len(prefix):], 0, b""
    while at < len(text):
        if text[at] != "_":
            said, at = said + text[at].encode(), at + 1
        elif text[at + 1] == "_":
            said, at = said + b"_", at + 2
        else:
            said, at = said + bytes([int(text[at + 1:at + 3], 16)]), at + 3
    return said.decode(errors="replace")


def drop_own(value):
    """A bt2 value without what yore's reader hides."""
    if isinstance(value, dict):
        return {shown(k): drop_own(v) for k, v in value.items() if not k.startswith(OWN)}
    if isinstance(value, list):
        return [drop_own(item) for item in value]
    return value


def meet(ours, theirs):
    """Ours in the form of babeltrace2's, where both say the same in two ways."""
    if isinstance(ours, str) and isinstance(theirs, list) and ours != "":
        return list(base64.b64decode(ours))
    if ours == "" and theirs == []:
        return []
    if ours is None and theirs == {}:
        return {}
    if isinstance(ours, dict) and isinstance(theirs, dict):
        if set(ours) == {"value", "labels"} == set(theirs) and ours["value"] == theirs["value"]:
            return theirs if set(theirs["labels"]) <= set(ours["labels"]) else ours
        return {k: meet(v, theirs.get(k)) for k, v in ours.items()}
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [meet(a, b) for a, b in zip(ours, theirs)]
    return ours


plain, match = events_agree.plain, events_agree.match


def own_match(item, key):
    name, packet, context, fields = key
    packet, context, fields = drop_own(packet), drop_own(context), drop_own(fields)
    context = fields.pop("_yore_context", context)
    item = dict(item, packet=meet(item["packet"], packet), context=meet(item["context"], context),
                fields=meet(item["fields"], fields))
    return match(item, (name, packet, context, fields))


events_agree.match = own_match


def read(program, path, *options):
    done = subprocess.run(
        [program, "events", path, "--all", "--format", "json", "--no-index", "--no-symbols", *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    events, losses = [], []
    for line in done.stdout.splitlines():
        item = json.loads(line)
        if "lost" in item:
            losses.append(item)
        else:
            item["packet"] = {k: v for k, v in item["packet"].items() if k not in MADE | HEADER}
            events.append(item)
    return events, losses, done


def same_stream(ours, theirs):
    """A folder that all streams are in is not written, where names are paths."""
    return ours == theirs or theirs.endswith("/" + ours)


def difference(ours, theirs):
    for what in ("ts", "cpu", "name", "packet", "context", "fields"):
        if ours[what] != theirs[what]:
            return "%s is %r, not %r" % (what, ours[what], theirs[what])
    if not same_stream(ours["stream"], theirs["stream"]):
        return "stream is %r, not %r" % (ours["stream"], theirs["stream"])
    return None


def loss_key(loss):
    """A loss that no counter told is a packet that is missing."""
    unknown = loss["lost"] is None
    return (loss["ts"], loss["lost"] or 0, loss.get("packets", 1 if unknown else 0), loss["until"])


def compare(ours, theirs, what):
    if len(ours) != len(theirs):
        return "%s: %d events, not %d" % (what, len(ours), len(theirs))
    for i, (a, b) in enumerate(zip(ours, theirs)):
        wrong = difference(a, b)
        if wrong:
            return "%s: event %d, %s at %s: %s" % (what, i, b["name"], b["ts"], wrong)
    return None


def convert(program, path, out, language, *options):
    done = subprocess.run([program, "convert", path, out, "--to", language, "--no-index", *options],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return done.returncode, done.stderr.decode(errors="replace")


def damaged(event):
    return not event["packet"] and not event["context"] and not event["fields"]


def one(program, path, folder):
    source, losses, first = read(program, path)
    if first.returncode not in (0, 3):
        return None, "not a trace"
    known = subprocess.run([program, "info", path, "--format", "json", "--no-index"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    del known
    said = "%d events" % len(source)
    for language, *options in LANGUAGES:
        out = os.path.join(folder, language)
        shutil.rmtree(out, ignore_errors=True)
        status, message = convert(program, path, out, language, *options)
        if status != first.returncode:
            return language + ": convert ended with %d: %s" % (status, message), said
        found, gone, done = read(program, out)
        if done.returncode:
            return "%s: reading ended with %d: %s" % (language, done.returncode,
                                                      done.stderr.decode()[:400]), said
        if first.returncode == 3:  # what could not be decoded is a lost event
            keys = {json.dumps(item) for item in found}
            source = [item for item in source if not damaged(item) or json.dumps(item) in keys]
        wrong = compare(found, source, language)
        if wrong:
            return wrong, said
        if first.returncode == 0 and [loss_key(x) for x in gone] != [loss_key(x) for x in losses]:
            return "%s: losses are %r, not %r" % (language, gone[:3], losses[:3]), said
        again = os.path.join(folder, "again")
        status, message = convert(program, out, again, NEXT[language])
        if status:
            return "%s again: %s" % (language, message), said
        wrong = compare(read(program, again)[0], source, language + " again")
        if wrong:
            return wrong, said
        shutil.rmtree(again)
        if language == "ctf" and found:
            wrong = events_agree.compare(program, out)
            if wrong:
                return "babeltrace2: " + wrong, said
            said += "; babeltrace2: " + events_agree.compare.said
    return None, said


def run(program, path):
    """In a process of its own: babeltrace2's library aborts on some traces."""
    sys.stdout.flush()
    with tempfile.TemporaryDirectory() as folder:
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            try:
                wrong, said = one(program, path, folder)
            except Exception as error:
                wrong, said = "%s: %s" % (type(error).__name__, error), ""
            print("%s %s: %s" % ("FAIL" if wrong else "ok  ", path, wrong or said), flush=True)
            os._exit(1 if wrong else 0)
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            print("FAIL %s: babeltrace2 aborted" % path, flush=True)
        return status == 0


def corpus(top, everything):
    few = ["ctf/real/" + name for name in (
        "CTF2-2.0-lttng-crash", "CTF2-7.0-debug-info", "babeltrace/succeed/sequence",
        "babeltrace/succeed/session-rotation", "babeltrace/packet-seq-num/2-streams-lost-in-2",
        "babeltrace/succeed/meta-variant-reserved-keywords")]
    few += ["lttng-ust/per-pid", "lttng-ust/lost", "lttng-ust/two-channels",
            "perf-data/sched-callchain/perf.data", "perf-data/group-read/perf.data",
            "perf-data/lost/perf.data", "perf-data/synth-sw-be/perf.data",
            "trace-dat/v6-markers/trace.dat", "trace-dat/v7-multi-buffer/trace.dat",
            "ovni/jumbo/ovni", "ovni/multi-loom/ovni", "gdb/full/trace.tf", "gdb/full/ctf",
            "sel4/basic/log.bin", "perf-to-ctf/sched-callchain"]
    if not everything:
        return [os.path.join(top, name) for name in few]
    found = []
    for table in ("ctf/real", "ctf/testsuite-1.8"):
        with open(os.path.join(top, table, "MANIFEST.tsv"), encoding="utf-8") as lines:
            for line in lines:
                found.append(os.path.join(top, table, line.split("\t")[0]))
    for pattern in ("lttng-ust/*", "perf-data/*/*data*", "trace-dat/*/*.dat", "ovni/*/ovni",
                    "gdb/*/*.tf", "gdb/*/ctf", "sel4/*/*.bin", "perf-to-ctf/*/ctf*"):
        found += sorted(glob.glob(os.path.join(top, pattern)))
    return [path for path in found if os.path.exists(path)]


def main():
    program, paths = sys.argv[1], sys.argv[2:]
    if "--corpus" in paths:
        paths = corpus(paths[paths.index("--corpus") + 1], "--all" in paths)
    good = sum(run(program, path) for path in paths)
    print("%d of %d traces are what was written" % (good, len(paths)))
    sys.exit(good != len(paths))


if __name__ == "__main__":
    main()

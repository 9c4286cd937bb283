#!/usr/bin/env python3
"""yore convert --to pprof: the profile's functions, modules and threads weigh what `top` says of the recording.

    pprof.py YORE RECORDING...
"""
import collections
import gzip
import json
import subprocess
import sys
import tempfile

import perfetto_read
from perfetto_read import one

failed = 0


def result(good, name, why=""):
    global failed
    failed |= not good
    print("%s: %s%s" % ("PASS" if good else "FAIL", name, "" if good else ": %s" % (why,)), flush=True)


def say(*words):
    done = subprocess.run([yore, *words, "--no-index"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert done.returncode in (0, 3), (words, done.stderr.decode())
    return done.stdout.decode()


class Profile:
    def __init__(self, data):
        root = perfetto_read.decode(data, "Profile", perfetto_read.PPROF)
        self.root, strings = root, root["string_table"]
        assert strings[0] == "" and len(set(strings)) == len(strings)
        functions = {one(f, "id"): strings[one(f, "name")] for f in root.get("function", [])}
        mappings = {one(m, "id"): strings[one(m, "filename")] for m in root.get("mapping", [])}
        self.types = [(strings[one(t, "type")], strings[one(t, "unit")]) for t in root["sample_type"]]
        self.places = {}
        for place in root["location"]:
            assert one(place, "id") not in self.places
            lines = [functions[one(line, "function_id")] for line in place.get("line", [])]
            self.places[one(place, "id")] = (mappings.get(one(place, "mapping_id")), one(place, "address"), lines)
        self.samples = []
        for sample in root["sample"]:
            labels = {strings[one(l, "key")]: strings[one(l, "str")] if "str" in l else one(l, "num") for l in sample["label"]}
            assert len(sample["value"]) == len(self.types)
            self.samples.append(([self.places[i] for i in sample["location_id"]], sample["value"], labels))

    def weigh(self, key_of):
        """{key: [self, total]} by the last type of value; a key counts once for each sample."""
        out = collections.defaultdict(lambda: [0, 0])
        for stack, values, _ in self.samples:
            keys = [key for place in stack for key in key_of(place)]
            out[keys[0]][0] += values[-1]
            for key in set(keys):
                out[key][1] += values[-1]
        return {key: tuple(value) for key, value in out.items()}


def module(object_):
    return object_.rsplit("/", 1)[-1] if object_ else "[unknown]"


def functions(place):
    object_, address, lines = place
    return [(line, module(object_)) for line in lines] or [("0x%x" % address, module(object_))]


def check(recording):
    name = "/".join(recording.split("/")[-2:])
    out = work + "/out.pb.gz"
    say("convert", recording, out)
    data = gzip.decompress(open(out, "rb").read())
    open(work + "/plain", "wb").write(data)
    protoc = perfetto_read.by_protoc(work + "/plain", "Profile", "pprof.proto", perfetto_read.PPROF)
    if protoc is None:
        print("SKIP: %s: protoc is not installed" % name)
    profile = Profile(data)
    result(protoc is None or protoc == profile.root, name + ": protoc reads what the test's decoder reads")
    count = [] if len(profile.types) > 1 else ["--count"]  # a tracepoint counts once
    top = lambda *words: [row for row in map(json.loads, say("top", recording, *words, "--format", "json").splitlines()) if "total" in row]
    want = {(row["function"], row["module"]): (row["self"], row["total"]) for row in top(*count)}
    got = profile.weigh(functions)
    result(got == want, "%s: %d functions" % (name, len(got)), (sorted(map(str, set(got.items()) - set(want.items())))[:4],
                                                               sorted(map(str, set(want.items()) - set(got.items())))[:4]))
    want = {row["module"]: (row["self"], row["total"]) for row in top("modules", *count)}
    got = profile.weigh(lambda place: [module(place[0])])
    result(got == want, "%s: %d modules" % (name, len(got)), (got, want))
    threads = collections.Counter()
    for _, values, labels in profile.samples:
        threads[labels["thread"]] += values[-1]
    want = collections.Counter()
    for row in top("threads", *count):
        want[row["tid"]] += row["total"]
    result(threads == want, "%s: %d threads" % (name, len(threads)), (threads, want))
    counted = sum(row["total"] for row in top("threads", "--count"))
    result(sum(values[0] for _, values, _ in profile.samples) == counted and profile.types[0] == ("samples", "count"),
           "%s: %d samples" % (name, counted), profile.types)


yore = sys.argv[1]
with tempfile.TemporaryDirectory() as work:
    for path in sys.argv[2:]:
        check(path)
sys.exit(failed)

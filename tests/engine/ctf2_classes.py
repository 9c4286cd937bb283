#!/usr/bin/python3
"""Random traces of all field classes of CTF 2, whose values are known, read by yore.

    ctf2_classes.py [YORE [FIRST_SEED LAST_SEED]]
    ctf2_classes.py --write FOLDER FIRST_SEED LAST_SEED    the traces alone, seeds of fuzzers

Each seed makes a trace: event record classes of random nested field classes in either byte and bit
order, packed and aligned, with lengths and selectors of every kind, in the same scope and in others,
by absolute and relative locations. The encoder here knows nothing of yore. What `yore events` prints
must be the values that were written, to the last one; a byte less must be told as damage.

Classes that CTF 1.8 has, too, are written a second time with TSDL metadata beside the same streams,
and must give the same events. Each trace is converted to CTF 2, to CTF 1.8 and to the format of 2010, too, and must read back as
what was written. The corpus' CTF 2 traces (YORE_CORPUS) must give the values of their
expected texts, which are babeltrace2's.
"""
import base64
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

to_write = sys.argv[1] if len(sys.argv) > 4 and sys.argv.pop(1) == "--write" else None
yore = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.environ.get("top_builddir", "."), "yore")
first, last = (int(a) for a in sys.argv[2:4]) if len(sys.argv) > 3 else (1, 12)
failed = 0


def result(good, name, more=""):
    global failed
    print("%s: %s%s" % ("PASS" if good else "FAIL", name, "" if good else ": " + more))
    failed += not good


# ---- the encoder ----

FIXED = "fixed-length-"
CODECS = {"utf-8": 1, "utf-16be": 2, "utf-16le": 2, "utf-32be": 4, "utf-32le": 4}


class Writer:
    def __init__(self):
        self.bits = []  # by position: (byte, bit from the lowest) is all that differs by order

    def align(self, to):
        while len(self.bits) % to:
            self.bits.append((0, "little-endian"))

    def number(self, value, count, order):
        for i in range(count):
            shift = i if order == "little-endian" else count - 1 - i
            self.bits.append((value >> shift & 1, order))

    def bytes(self):
        out = bytearray((len(self.bits) + 7) // 8)
        for at, (bit, order) in enumerate(self.bits):
            out[at // 8] |= bit << (at % 8 if order == "little-endian" else 7 - at % 8)
        return bytes(out)


def align_of(c):
    t = c["type"]
    if t.startswith(FIXED):
        return c.get("alignment", 1)
    if t in ("optional", "variant"):
        return 1
    if t == "structure":
        return max([c.get("minimum-alignment", 1)] + [align_of(m["field-class"]) for m in c["member-classes"]])
    if t.endswith("-array"):
        return max(c.get("minimum-alignment", 1), align_of(c["element-field-class"]))
    return 8


def put(w, c, v):
    t = c["type"]
    w.align(align_of(c))
    if t.startswith(FIXED):
        n, order = c["length"], c["byte-order"]
        usual = "first-to-last" if order == "little-endian" else "last-to-first"
        if "floating" in t:
            code = {16: "e", 32: "f", 64: "d"}.get(n)
            raw = struct.pack(">" + code, v) if code else v
            v = int.from_bytes(raw, "big" if code or order == "big-endian" else "little")
        v = int(v) & (1 << n) - 1
        if c.get("bit-order", usual) != usual:
            v = int(format(v, "0%db" % n)[::-1], 2)
        w.number(v, n, order)
    elif t.startswith("variable-length"):
        v, pad = v
        while True:
            byte, rest = v & 0x7F, v >> 7
            done = rest == (-1 if t.endswith("signed-integer") and "un" not in t and byte & 0x40 else 0)
            if "un" not in t and rest == 0 and byte & 0x40:
                done = False
            done = done and pad == 0
            pad -= pad > 0
            w.number(byte | (0 if done else 0x80), 8, "little-endian")
            v = rest
            if done:
                break
    elif t.endswith("-string") or t.endswith("-blob"):
        for byte in v:
            w.number(byte, 8, "little-endian")
    elif t == "structure":
        for m in c["member-classes"]:
            put(w, m["field-class"], v[m["name"]])
    elif t.endswith("-array"):
        for item in v:
            put(w, c["element-field-class"], item)
    elif t == "optional":
        if v is not None:
            put(w, c["field-class"], v)
    else:
        put(w, c["options"][v[0]]["field-class"], v[1])


def shown(c, v):
    """What yore's JSON has for it."""
    t = c["type"]
    if t.endswith("bit-map"):
        return {"value": v, "labels": [k for k, rs in c["flags"].items()
                                       if any(v >> b & 1 for lo, hi in rs for b in range(lo, hi + 1))]}
    if t.endswith("boolean"):
        return v != 0
    if "floating" in t:
        return v if c["length"] < 128 else base64.b64encode(v).decode()
    if t.endswith("integer") or t.endswith("bit-array"):
        v = v[0] if t.startswith("variable") else v
        if not c.get("mappings"):
            return v
        return {"value": v, "labels": [k for k, rs in c["mappings"].items()
                                       if any(lo <= v <= hi for lo, hi in rs)]}
    if t.endswith("-blob"):
        return base64.b64encode(v).decode()
    if t.endswith("-string"):
        codec = c.get("encoding", "utf-8")
        unit = CODECS[codec]
        end = next((i for i in range(0, len(v) - unit + 1, unit) if not any(v[i:i + unit])), len(v))
        return v[:end].decode(codec)
    if t == "structure":
        return {m["name"]: shown(m["field-class"], v[m["name"]]) for m in c["member-classes"]}
    if t.endswith("-array"):
        return [shown(c["element-field-class"], item) for item in v]
    if t == "optional":
        return None if v is None else shown(c["field-class"], v)
    return shown(c["options"][v[0]]["field-class"], v[1])


# ---- random classes and values ----

SCOPES = ["packet-context", "event-record-common-context", "event-record-specific-context",
          "event-record-payload"]


class Maker:
    """Makes a class and, beside it, a function that makes values of it.

    `known` are the earlier members that lengths and selectors may refer to: (scope, way, kind).
    """

    def __init__(self, rng, old, order):
        self.rng, self.old = rng, old  # old: only what CTF 1.8 has
        self.order = order  # a field may begin in a byte where one of the same order ended
        self.n = 0

    def name(self, stem):
        self.n += 1
        return "%s%d" % (stem, self.n)

    def fixed(self, kind, n):
        r = self.rng
        order, align = self.order, r.choice([1, 1, 8, 16, 64])
        if n % 8 == 0 and r.random() < 0.2:  # whole bytes may be of the other order
            order, align = r.choice(["little-endian", "big-endian"]), max(align, 8)
        c = {"type": FIXED + kind, "length": n, "byte-order": order, "alignment": align}
        if not self.old and r.random() < 0.3:
            c["bit-order"] = r.choice(["first-to-last", "last-to-first"])
        return c

    def mapped(self, c, least, most):
        r = self.rng
        if r.random() < 0.4:
            c["mappings"] = {}
            for k in range(r.randint(1, 3)):
                ranges = []
                for _ in range(r.randint(1, 1 if self.old else 3)):
                    lo = r.randint(least, most)
                    ranges.append([lo, min(most, lo + r.choice([0, 0, 3, most // 3]))])
                c["mappings"]["label %d" % k if not self.old else "L%d" % k] = ranges
        return c

    def integer(self, signed):
        r = self.rng
        if not self.old and r.random() < 0.3:
            c = {"type": "variable-length-%ssigned-integer" % ("" if signed else "un")}
            n = 64
        else:
            n = r.choice([1, 3, 5, 7, 8, 12, 16, 24, 32, 33, 48, 63, 64])
            c = self.fixed("%ssigned-integer" % ("" if signed else "un"), n)
        least, most = (-(1 << n - 1), (1 << n - 1) - 1) if signed else (0, (1 << n) - 1)
        self.mapped(c, least, most)

        def value():
            v = r.choice([least, most, 0, r.randint(least, most), r.randint(least, most) >> r.randint(0, n)])
            if c["type"].startswith("variable"):
                length = (v if v >= 0 else ~v).bit_length() // 7 + 1 + signed
                return v, r.choice([0, 0, min(2, 9 - length) if length < 9 else 0])
            return v
        return c, value

    def bits(self):
        r = self.rng
        kind = r.choice(["bit-array", "bit-map", "boolean"])
        n = r.choice([1, 4, 8, 9, 16, 31, 32, 64])
        c = self.fixed(kind, n)
        if kind == "bit-map":
            c["flags"] = {}
            for k in range(r.randint(1, 3)):
                lo = r.randrange(n)
                c["flags"]["flag-%d" % k] = [[lo, min(n - 1, lo + r.choice([0, 2]))],
                                             [r.randrange(n)] * 2]
        return c, lambda: r.choice([0, 1 << n - 1, r.getrandbits(n)])

    def real(self):
        r = self.rng
        n = r.choice([32, 64] if self.old else [16, 32, 64, 128])
        c = self.fixed("floating-point-number", n)
        if n == 128:
            c["alignment"] = max(c["alignment"], 8)
            c.pop("bit-order", None)
            return c, lambda: bytes(r.getrandbits(8) for _ in range(16))
        return c, lambda: r.choice([0.0, 1.5, -2.25, 1024.0, -0.125, r.randint(-1000, 1000) / 8])

    def text(self, codec):
        r = self.rng
        letters = "ab \u00e9\u20ac\u4e2d\U0001f600\u0101" if codec != "utf-8" or r.random() < 0.5 else "xyz"
        return "".join(r.choice(letters) for _ in range(r.randint(0, 6))).encode(codec)

    def string(self):
        codec = self.rng.choice(["utf-8"] if self.old else sorted(CODECS))
        c = {"type": "null-terminated-string"}
        if codec != "utf-8" or self.rng.random() < 0.3:
            c["encoding"] = codec
        return c, lambda: self.text(codec) + bytes(CODECS[codec])

    def static_bytes(self):
        r, size = self.rng, self.rng.choice([0, 1, 4, 9, 16, 32])
        if r.random() < 0.5:
            c = {"type": "static-length-blob", "length": size}
            if r.random() < 0.5:
                c["media-type"] = "image/png"
            return c, lambda: bytes(r.getrandbits(8) for _ in range(size))
        codec = r.choice(sorted(CODECS))
        unit = CODECS[codec]
        size -= size % unit
        c = {"type": "static-length-string", "length": size, "encoding": codec}

        def value():
            text = b""
            for _ in range(20):
                text = self.text(codec)
                if len(text) <= size:
                    break
                text = b""
            text += bytes(unit) if len(text) < size else b""
            return (text + b"#" * size)[:size]
        return c, value

    # Members that need an earlier one: (class of it, class, values of both)

    def location(self, way, scope, name):
        r = self.rng
        up = r.randint(0, 1)
        if r.random() < 0.5:
            return {"origin": scope, "path": way + [name]}
        return {"path": (["nowhere", None] if up else []) + [name]}

    def dynamic(self, way, scope, depth):
        r = self.rng
        name = self.name("len")
        n = r.choice([6, 8, 16, 32])
        length = self.fixed("unsigned-integer", n)
        variable = not self.old and r.random() < 0.4
        if variable:
            length = {"type": "variable-length-unsigned-integer"}
        where = self.location(way, scope, name)
        kind = "array" if self.old else r.choice(["array", "array", "string", "blob"])
        if kind == "array":
            element, make = self.any(way + ["?"], scope, depth + 1)
            c = {"type": "dynamic-length-array", "element-field-class": element}
            if not self.old and r.random() < 0.3:
                c["minimum-alignment"] = r.choice([8, 32])
        else:
            c = {"type": "dynamic-length-" + kind}
            codec = r.choice(sorted(CODECS)) if kind == "string" else None
            if codec:
                c["encoding"] = codec
        c["length-field-location"] = where

        def value():
            if kind == "array":
                v = [make() for _ in range(r.choice([0, 1, 2, 5]))]
            elif kind == "string":
                v = self.text(codec)
            else:
                v = bytes(r.getrandbits(8) for _ in range(r.randint(0, 20)))
            return (len(v), r.randint(0, 2)) if variable else len(v), v
        return name, length, c, value

    def selected(self, way, scope, depth):
        r = self.rng
        name = self.name("sel")
        where = self.location(way, scope, name)
        signed = r.random() < 0.5
        kind = r.choice(["boolean", "optional", "variant", "variant"])
        if kind == "boolean":
            c, make = self.any(way + ["?"], scope, depth + 1)
            sel = self.fixed("boolean", r.choice([1, 8, 32]))

            def value():
                on = r.random() < 0.5
                return (r.randint(1, 1) << r.randrange(sel["length"]) if on else 0), make() if on else None
            return name, sel, {"type": "optional", "field-class": c, "selector-field-location": where}, value
        low = -8 if signed else 0
        variable = r.random() < 0.3
        sel = {"type": "variable-length-%ssigned-integer" % ("" if signed else "un")} if variable else \
            self.fixed("%ssigned-integer" % ("" if signed else "un"), r.choice([5, 8, 16]))
        count = 1 if kind == "optional" else r.randint(1, 4)
        edges = sorted(r.sample(range(low, 15), 2 * count))
        ranges = [[[edges[2 * i], edges[2 * i + 1] - 1]] for i in range(count)]
        made = [self.any(way + ["?"], scope, depth + 1) for _ in range(count)]
        if kind == "optional":
            c = {"type": "optional", "field-class": made[0][0], "selector-field-location": where,
                 "selector-field-ranges": ranges[0]}
        else:
            c = {"type": "variant", "selector-field-location": where, "options": []}
            for i in range(count):
                option = {"field-class": made[i][0], "selector-field-ranges": ranges[i]}
                if r.random() < 0.6:
                    option["name"] = "option %d" % i
                c["options"].append(option)

        def value():
            if kind == "optional" and r.random() < 0.5:
                i, v, s = -1, None, r.choice([edges[1], 15])
            else:
                i = r.randrange(count)
                v, s = made[i][1](), r.randint(*ranges[i][0])
            s = (s, r.randint(0, 1)) if variable else s
            return s, v if kind == "optional" else (i, v)
        return name, sel, c, value

    def any(self, way, scope, depth):
        r = self.rng
        kinds = [lambda: self.integer(False), lambda: self.integer(True), self.real, self.string]
        if not self.old:
            kinds += [self.bits, self.static_bytes]
        if depth < 4:
            kinds += [lambda: self.structure(way, scope, depth + 1), lambda: self.static_array(way, scope, depth)]
        return r.choice(kinds)()

    def static_array(self, way, scope, depth):
        element, make = self.any(way + ["?"], scope, depth + 1)
        n = self.rng.choice([0, 1, 3]) if not self.old else self.rng.choice([1, 3])
        c = {"type": "static-length-array", "length": n, "element-field-class": element}
        if not self.old and self.rng.random() < 0.3:
            c["minimum-alignment"] = self.rng.choice([1, 16])
        return c, lambda: [make() for _ in range(n)]

    def structure(self, way, scope, depth, least=0):
        r = self.rng
        c = {"type": "structure", "member-classes": []}
        makes = []
        way = [] if depth == 0 else way

        def add(name, field_class):
            c["member-classes"].append({"name": name, "field-class": field_class})

        for _ in range(r.randint(least, 4)):
            pick = r.random()
            if pick < 0.25 or (pick < 0.5 and not self.old):
                # a way through "?" (an option, an element, a nested structure) has no name for all
                inner = way if "?" not in way else None
                make = self.dynamic if pick < 0.25 else self.selected
                name, sel, user, value = make(inner if inner is not None else [], scope, depth)
                for where in ("length-field-location", "selector-field-location"):
                    if inner is None and where in user:
                        user[where] = {"path": [name]}
                own = self.name("f")
                add(name, sel)
                add(own, user)
                makes.append(((name, own), value))
            else:
                name = self.name("f")
                inner, make = self.any(way + [name], scope, depth + 1)
                add(name, inner)
                makes.append(((name,), lambda make=make: (make(),)))
        if not self.old and r.random() < 0.3:
            c["minimum-alignment"] = r.choice([1, 8, 32, 64])

        def value():
            out = {}
            for names, make in makes:
                out.update(zip(names, make()))
            return out
        return c, value


# ---- a trace ----

U = {"type": FIXED + "unsigned-integer", "byte-order": "little-endian"}


def role(n, name, align=8):
    return dict(U, length=n, alignment=align, roles=[name])


def member(name, c):
    return {"name": name, "field-class": c}


def add_aliases(rng, fragments, fields):
    """Moves some field classes of scalars into aliases."""
    for m in fields.get("member-classes", []):
        c = m["field-class"]
        if isinstance(c, dict) and c["type"].startswith(FIXED) and rng.random() < 0.2:
            name = "alias %d" % len(fragments)
            fragments.append({"type": "field-class-alias", "name": name, "field-class": c})
            m["field-class"] = name
        elif isinstance(c, dict) and c["type"] == "structure":
            add_aliases(rng, fragments, c)


def fixed_scopes(rng, old):
    header = {"type": "structure", "member-classes": [
        member("the magic", role(32, "packet-magic-number")),
        member("u", {"type": "static-length-blob", "length": 16, "roles": ["metadata-stream-uuid"]}),
        member("class", role(8, "data-stream-class-id"))]}
    context = {"type": "structure", "member-classes": [
        member("total", role(32, "packet-total-length")),
        member("content", role(32, "packet-content-length")),
        member("from", role(64, "default-clock-timestamp")),
        member("to", role(64, "packet-end-default-clock-timestamp")),
        member("lost", role(16, "discarded-event-record-counter-snapshot")),
        member("number", role(16, "packet-sequence-number")),
        member("plen", dict(U, length=8, alignment=8))]}
    short = rng.choice([8, 16, 24, 32])
    events = {"type": "structure", "member-classes": [
        member("which", role(16, "event-record-class-id")),
        member("when", role(short, "default-clock-timestamp"))]}
    if not old and rng.random() < 0.3:
        events["member-classes"][1] = member("when", {"type": "variable-length-unsigned-integer",
                                                      "roles": ["default-clock-timestamp"]})
    return header, context, events


def make_trace(seed, old, folder):
    rng = random.Random(seed)
    uuid = [rng.getrandbits(8) for _ in range(16)]
    header, context, event_header = fixed_scopes(rng, old)
    frequency = rng.choice([1000000000, 1000000, 3, 12345678])
    seconds, cycles = rng.choice([0, -5, 1600000000]), rng.randrange(frequency)
    origin = rng.choice([{"origin": "unix-epoch"}, {}, {"origin": {"name": "o", "uid": "x"}}])
    classes, common, common_value = [], None, None
    order = rng.choice(["little-endian", "big-endian"])
    if rng.random() < 0.7 or old:
        common, common_value = Maker(rng, old, order).structure([], SCOPES[1], 0)
    for i in range(12):
        maker = Maker(rng, old, order)
        payload, payload_value = maker.structure([], SCOPES[3], 0, 1)
        specific, specific_value = (maker.structure([], SCOPES[2], 0) if not old and rng.random() < 0.3
                                    else (None, None))
        if not old and rng.random() < 0.5:  # a length of the packet's context
            payload["member-classes"].append(member("far", {
                "type": "dynamic-length-blob",
                "length-field-location": {"origin": "packet-context", "path": ["plen"]}}))
            inner = payload_value

            def payload_value(inner=inner):
                return dict(inner(), far=bytes(rng.getrandbits(8) for _ in range(plen)))
        classes.append((i * 7 if i else 0, "class %d" % i, specific, specific_value, payload, payload_value))

    stream, truth, clock, plen = b"", [], rng.randrange(1000), 0
    for number in range(3):
        plen = rng.randint(0, 4)
        begin = clock
        w = Writer()
        body = Writer()
        sizes = None
        events = []
        for _ in range(rng.randint(5, 15)):
            clock += rng.randrange(100)
            events.append((clock, rng.choice(classes), common_value and common_value()))
        events = [(t, k, v, k[3] and k[3](), k[5]()) for t, k, v in events]
        for again in range(2):
            w = Writer()
            put(w, header, {"the magic": 0xC1FC1FC1, "u": bytes(uuid), "class": 0})
            put(w, context, {"total": sizes[0] if sizes else 0, "content": sizes[1] if sizes else 0,
                             "from": begin, "to": clock, "lost": 0, "number": number, "plen": plen})
            for t, k, c_value, s_value, p_value in events:
                when = event_header["member-classes"][1]["field-class"]
                stamp = t & (1 << when["length"]) - 1 if "length" in when else (t, 0)
                put(w, event_header, {"which": k[0], "when": stamp})
                if common:
                    put(w, common, c_value)
                if k[2]:
                    put(w, k[2], s_value)
                put(w, k[4], p_value)
            content = len(w.bits)
            w.align(64)
            sizes = len(w.bits), content
        stream += w.bytes()
        for t, k, c_value, s_value, p_value in events:
            around = {}
            if common:
                around.update(shown(common, c_value))
            own = shown(k[2], s_value) if k[2] else {}
            for name in [n for n in around if n in own]:
                around["context_" + name] = around.pop(name)
            around.update(own)
            total = seconds * frequency + cycles + t
            truth.append({"ts": total * 10**9 // frequency, "name": k[1], "context": around,
                          "fields": shown(k[4], p_value)})

    fragments = [{"type": "preamble", "version": 2, "uuid": uuid}]
    for c in [common] + [x for k in classes for x in (k[2], k[4])]:
        if c and rng.random() < 0.5 and not old:
            add_aliases(rng, fragments, c)
    fragments += [
        {"type": "trace-class", "namespace": "test", "name": "all classes", "uid": str(seed),
         "packet-header-field-class": header, "environment": {"seed": seed, "least": -2**63},
         "attributes": {"anybody": {"deep": [1.5e300, None, True]}}},
        dict({"type": "clock-class", "id": "the clock", "frequency": frequency,
              "offset-from-origin": {"seconds": seconds, "cycles": cycles}}, **origin),
        dict({"type": "data-stream-class", "default-clock-class-id": "the clock",
              "packet-context-field-class": context,
              "event-record-header-field-class": event_header},
             **({"event-record-common-context-field-class": common} if common else {}))]
    for id_, name, specific, _, payload, _ in classes:
        fragment = {"type": "event-record-class", "id": id_, "name": name, "payload-field-class": payload}
        if specific:
            fragment["specific-context-field-class"] = specific
        fragments.append(fragment)
    os.mkdir(folder)
    with open(folder + "/metadata", "w") as out:
        for fragment in fragments:
            out.write("\x1e" + json.dumps(fragment, ensure_ascii=rng.random() < 0.5) + "\n")
    with open(folder + "/stream", "wb") as out:
        out.write(stream)
    text = old and tsdl(uuid, frequency, seconds, cycles, origin, header, context, event_header, common,
                        classes)
    return truth, text, stream


# ---- the same in TSDL ----

ROLE_NAMES = {"packet-magic-number": "magic", "metadata-stream-uuid": "uuid",
              "data-stream-class-id": "stream_id", "packet-total-length": "packet_size",
              "packet-content-length": "content_size",
              "discarded-event-record-counter-snapshot": "events_discarded",
              "packet-sequence-number": "packet_seq_num", "event-record-class-id": "id"}


def tsdl_type(c, scope=None):
    t = c["type"]
    if t.endswith("integer"):
        if t.startswith("variable"):
            return None
        body = "size = %d; align = %d; signed = %s; byte_order = %s;" % (
            c["length"], c["alignment"], "true" if "unsigned" not in t else "false",
            "le" if c["byte-order"] == "little-endian" else "be")
        if "timestamp" in "".join(c.get("roles", [])):
            body += " map = clock.c.value;"
        kind = "integer { %s }" % body
        if not c.get("mappings"):
            return kind
        labels = ", ".join("%s = %d ... %d" % (k, lo, hi) for k, rs in c["mappings"].items() for lo, hi in rs)
        return "enum : %s { %s }" % (kind, labels)
    if "floating" in t:
        return "floating_point { exp_dig = %d; mant_dig = %d; align = %d; byte_order = %s; }" % (
            {32: 8, 64: 11}[c["length"]], {32: 24, 64: 53}[c["length"]], c["alignment"],
            "le" if c["byte-order"] == "little-endian" else "be")
    if t == "null-terminated-string":
        return "string"
    if t == "structure":
        return "struct { %s }" % " ".join(tsdl_member(m) for m in c["member-classes"])


def tsdl_member(m):
    c, after = m["field-class"], ""
    name = m["name"].replace(" ", "_")
    for r in c.get("roles", []):
        name = ROLE_NAMES.get(r, name)
    if "packet-end-default-clock-timestamp" in c.get("roles", []):
        name = "timestamp_end"
    if m["name"] == "from":
        name = "timestamp_begin"
    while c["type"].endswith("-array"):
        if "length" in c:
            after += "[%d]" % c["length"]
        else:
            after += "[_%s]" % c["length-field-location"]["path"][-1]
        c = c["element-field-class"]
    if c["type"].endswith("blob"):
        return "integer { size = 8; align = 8; } uuid[16];"
    return "%s _%s%s;" % (tsdl_type(c), name, after) if name not in ROLE_NAMES.values() and \
        not name.startswith("timestamp") else "%s %s%s;" % (tsdl_type(c), name, after)


def tsdl(uuid, frequency, seconds, cycles, origin, header, context, event_header, common, classes):
    text = "/* CTF 1.8 */\nclock { name = c; freq = %d; offset_s = %d; offset = %d; absolute = %s; };\n" % (
        frequency, seconds, cycles, "true" if origin.get("origin") == "unix-epoch" else "false")
    digits = "".join("%02x" % b for b in uuid)
    text += "trace { major = 1; minor = 8; byte_order = le; uuid = \"%s\"; packet.header := %s; };\n" % (
        "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])), tsdl_type(header))
    text += "stream { id = 0; packet.context := %s; event.header := %s; event.context := %s; };\n" % (
        tsdl_type(context), tsdl_type(event_header), tsdl_type(common))
    for id_, name, _, _, payload, _ in classes:
        text += "event { id = %d; stream_id = 0; name = \"%s\"; fields := %s; };\n" % (
            id_, name, tsdl_type(payload))
    return text


# ---- what yore says ----

def events_of(folder):
    p = subprocess.run([yore, "events", folder, "--format", "json", "--no-index"], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, check=False)
    events = [json.loads(line) for line in p.stdout.decode().splitlines()]
    return [{k: e[k] for k in ("ts", "name", "context", "fields")} for e in events if "name" in e], p


def differs(ours, truth):
    for i, (a, b) in enumerate(zip(ours, truth)):
        if a != b or list(a["fields"]) != list(b["fields"]):
            return "event %d: %s, not %s" % (i, json.dumps(a), json.dumps(b))
    return None if len(ours) == len(truth) else "%d events, not %d" % (len(ours), len(truth))


def check_converted(folder, truth, what):
    for language in ("ctf2", "ctf", "ctf2010"):
        out = folder + "." + language
        done = subprocess.run([yore, "convert", folder, out, "--to", language, "--no-index"],
                              stderr=subprocess.PIPE, check=False)
        ours, p = events_of(out)
        said = (done.stderr + p.stderr).decode()
        result(not said and differs(ours, truth) is None, "%s, converted to %s" % (what, language),
               "%s %s" % (differs(ours, truth), said))


def check_seed(seed, work):
    folder = "%s/t%d" % (work, seed)
    truth, _, stream = make_trace(seed, False, folder)
    ours, p = events_of(folder)
    why = differs(ours, truth) or (p.stderr.decode() if p.returncode else None)
    result(why is None, "%d events of random field classes, seed %d" % (len(truth), seed), why or "")
    check_converted(folder, truth, "random field classes, seed %d" % seed)
    with open(folder + "/stream", "wb") as out:
        out.write(stream[:-9])  # more than the last packet's padding
    ours, p = events_of(folder)
    why = differs(ours, truth[:len(ours)])
    result(why is None and p.returncode == 3 and b"stream" in p.stderr, "cut short, seed %d" % seed,
           "%s %s" % (why, p.stderr.decode()))


def check_cuts(seed, work):
    """At every byte: a beginning of the events, and one message unless a packet ended there."""
    folder = "%s/c%d" % (work, seed)
    truth, _, stream = make_trace(seed, False, folder)
    bad = None
    for cut in range(1, min(len(stream), 700)):
        with open(folder + "/stream", "wb") as out:
            out.write(stream[:cut])
        ours, p = events_of(folder)
        why = differs(ours, truth[:len(ours)])
        if why or p.returncode not in (0, 3) or (p.returncode == 3) != (p.stderr.count(b"damaged:") == 1):
            bad = bad or "cut at %d: %s %s" % (cut, why, p.stderr.decode())
    result(bad is None, "cut at every byte, seed %d" % seed, bad or "")


def check_written(name, work, common, payload, data, want, says):
    """Events of one class, without packet header; `says`: what ends the packet, None: nothing."""
    folder = "%s/%s" % (work, name.replace(" ", "-"))
    os.mkdir(folder)
    stream = {"type": "data-stream-class"}
    if common:
        stream["event-record-common-context-field-class"] = {"type": "structure", "member-classes": common}
    with open(folder + "/metadata", "w") as out:
        for fragment in ({"type": "preamble", "version": 2}, stream,
                         {"type": "event-record-class",
                          "payload-field-class": {"type": "structure", "member-classes": payload}}):
            out.write("\x1e%s\n" % json.dumps(fragment))
    with open(folder + "/stream", "wb") as out:
        out.write(data)
    ours, p = events_of(folder)
    good = [e["fields"] for e in ours] == want and (says is None or says in p.stderr.decode())
    result(good and p.returncode == (3 if says else 0), name, "%s %s" % (ours, p.stderr.decode()))


def check_locations(work):
    """Locations that may be several fields, or none."""
    u8 = dict(U, length=8)
    leb = {"type": "variable-length-unsigned-integer"}

    def of(*members):
        return {"type": "structure", "member-classes": [member(n, c) for n, c in members]}

    def text(path, **more):
        return {"type": "dynamic-length-string", "length-field-location": dict(path=path, **more)}

    def option(i, c):
        return {"field-class": c, "selector-field-ranges": [[i, i]]}

    variant = {"type": "variant", "selector-field-location": {"path": ["sel"]}, "options": [
        option(0, of(("len", u8))), option(1, of(("pad", u8), ("len", leb))), option(2, of(("other", u8)))]}
    optional = {"type": "optional", "selector-field-location": {"path": ["sel"]}, "field-class": of(("len", u8)),
                "selector-field-ranges": [[1, 255]]}
    members = [member("sel", u8), member("v", variant), member("s", text(["v", "len"]))]
    lacks = "has a length or selector that is not there"
    data = bytes([0, 2]) + b"ab" + bytes([1, 9, 0x83, 0]) + b"cde" + bytes([0, 0])
    want = [{"sel": 0, "v": {"len": 2}, "s": "ab"}, {"sel": 1, "v": {"pad": 9, "len": 3}, "s": "cde"},
            {"sel": 0, "v": {"len": 0}, "s": ""}]
    check_written("a length of several options", work, None, members, data, want, None)
    check_written("a length of another option", work, None, members, data + bytes([2, 1, 65]), want, lacks)
    both = [member("sel", u8), member("o", optional)]
    payload = [member("t", text(["o", "len"], origin="event-record-common-context"))]
    check_written("a length in an optional of another scope", work, both, payload,
                  bytes([1, 1]) + b"x" + bytes([7, 2]) + b"yz" + bytes([0]) + b"q",
                  [{"t": "x"}, {"t": "yz"}], lacks)
    inner = of(("sel", u8), ("o", optional), ("t", text(["o", "len"])))
    rows = [member("rows", {"type": "static-length-array", "length": 2, "element-field-class": inner})]
    check_written("a length in an optional of an element", work, None, rows,
                  bytes([1, 1]) + b"x" + bytes([1, 0]) + bytes([1, 1]) + b"y" + bytes([0]),
                  [{"rows": [{"sel": 1, "o": {"len": 1}, "t": "x"}, {"sel": 1, "o": {"len": 0}, "t": ""}]}], lacks)
    check_written("a selector that selects nothing", work, None, members, bytes([0, 0, 5]),
                  [{"sel": 0, "v": {"len": 0}, "s": ""}], "selects no option")
    big = bytes([0xff] * 9)
    check_written("the greatest LEB128", work, None, [member("n", leb)], big + b"\x01", [{"n": 2**64 - 1}], None)
    for name, end in (("a LEB128 over 64 bits", b"\x02"), ("a LEB128 over 10 bytes", b"\x81\x00")):
        check_written(name, work, None, [member("n", leb)], b"\x05" + big + end, [{"n": 5}],
                      "does not fit in 64 bits")
    signed = {"type": "variable-length-signed-integer"}
    check_written("the least LEB128", work, None, [member("n", signed)], bytes([0x80] * 9) + b"\x7f",
                  [{"n": -2**63}], None)
    check_written("a signed LEB128 over 64 bits", work, None, [member("n", signed)], bytes([0x80] * 9) + b"\x7e",
                  [], "does not fit in 64 bits")


def write_tsdl(folder, text):
    with open(folder + "/metadata", "w") as out:
        out.write(text)


def write_seeds(to, seeds):
    os.makedirs(to, exist_ok=True)
    for seed in seeds:
        if os.path.isdir("%s/o%d" % (to, seed)):
            continue
        make_trace(seed, False, "%s/n%d" % (to, seed))
        write_tsdl("%s/o%d" % (to, seed), make_trace(1000 + seed, True, "%s/o%d" % (to, seed))[1])


def check_old(seed, work):
    folder = "%s/o%d" % (work, seed)
    truth, text, _ = make_trace(1000 + seed, True, folder)
    ours, p = events_of(folder)
    why = differs(ours, truth) or (p.stderr.decode() if p.returncode else None)
    result(why is None, "%d events of classes that 1.8 has, seed %d" % (len(truth), seed), why or "")
    check_converted(folder, truth, "classes that 1.8 has, seed %d" % seed)
    write_tsdl(folder, text)
    twin, p = events_of(folder)
    why = (p.stderr.decode() if p.returncode else None) or differs(twin, ours)
    result(why is None, "the same with TSDL, seed %d" % seed, why or "")


# ---- the corpus ----

def values(text):
    """Values of babeltrace2's text in order, without names: numbers, or texts."""
    for m in re.finditer(r'= ("(?:[^"\\]|\\.)*"|[^ ,]+)', text):
        word = m.group(1)
        if word.startswith('"'):
            yield re.sub(r"\\(.)", r"\1", word[1:-1])
        elif word not in "{[":
            yield int(word, 0)


def check_corpus(corpus):
    folder = corpus + "/ctf/real"
    if not os.path.isdir(folder):
        print("SKIP: the corpus' CTF 2 traces: no folder %s" % folder)
        return
    with open(folder + "/MANIFEST.tsv") as lines:
        columns = next(lines).rstrip("\n").split("\t")
        rows = [dict(zip(columns, line.rstrip("\n").split("\t"))) for line in lines]
    for row in rows:
        if not row["ctf_version"].startswith("2 "):
            continue
        ours, p = events_of("%s/%s" % (folder, row["path"]))
        good = len(ours) == int(row["events"]) and p.returncode == 0
        lines = open("%s/%s" % (folder, row["expected_text"])).read().splitlines()
        good = good and len(lines) == len(ours)
        for e, line in zip(ours, lines):
            stamp = re.match(r"\[(\d+)\.(\d+)\]", line)
            good = good and (not stamp or e["ts"] == int(stamp.group(1) + stamp.group(2)))
            good = good and " %s: " % e["name"] in " " + line
            want = [v for v in values(line.split(e["name"] + ": ", 1)[-1])]
            if "cpu_id" in line:
                want = want[1:]
            good = good and want == list(e["context"].values()) + list(e["fields"].values())
        result(good, "%s, %s events as babeltrace2 has them" % (row["path"], row["events"]), p.stderr.decode())


if to_write:
    write_seeds(to_write, range(first, last + 1))
    sys.exit()
with tempfile.TemporaryDirectory() as work:
    for seed in range(first, last + 1):
        check_seed(seed, work)
        check_old(seed, work)
    check_locations(work)
    check_cuts(first, work)
    check_corpus(os.environ.get("YORE_CORPUS", os.path.join(os.environ.get("srcdir", "."), "../shared/corpus")))
sys.exit(1 if failed else 0)

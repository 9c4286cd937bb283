#!/usr/bin/env python3
"""One text of a condition is true of the same rows wherever it can be said: events --where, Lua's where, do's predicate, SQL's yore_where,
`when` of a rule, --where of analyses and periods, and yore.condition(). Conditions come from a seed; Python evaluates them over the events that
yore prints as JSON, which is the oracle.

YORE_CONDITIONS=5000 makes so many (450 without it), YORE_SEED another choice."""
import fnmatch, json, os, random, re, subprocess, sys, tempfile

TOP = os.path.abspath(os.environ.get("srcdir", "."))
YORE = os.path.abspath(os.path.join(os.environ.get("top_builddir", "."), "yore"))
COUNT = int(os.environ.get("YORE_CONDITIONS", "450"))
SEED = int(os.environ.get("YORE_SEED", "1"))
GOLDEN = os.path.join(TOP, "fixtures/golden")
LEAST, MOST = -(1 << 63), (1 << 64) - 1
UNITS = {"ns": 1, "us": 1000, "ms": 1000000, "s": 1000000000}
failed = 0


class Skip(Exception):
    """What the places may answer in ways of their own: a number that does not fit, or what has no type."""


def result(good, name, *said):
    global failed
    failed += not good
    print("PASS:" if good else "FAIL:", name)
    for text in said if not good else ():
        print("  ", str(text)[:2000])


def yore(*words, text=None):
    done = subprocess.run([YORE, *words, "--no-index"], input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout, done.stderr


# ---- the oracle ----

def fits(number):
    if not LEAST <= number <= MOST:
        raise Skip
    return number


def evaluate(tree, row):
    """An integer, a text, a truth value, or None, which is unknown."""
    kind = tree[0]
    if kind == "const":
        return tree[1]
    if kind == "field":
        return row.get(tree[1])
    if kind == "not":
        value = evaluate(tree[1], row)
        return None if value is None else not value
    if kind in ("&&", "||"):
        values = [evaluate(tree[1], row), evaluate(tree[2], row)]
        if (kind == "||") in values:
            return kind == "||"
        return None if None in values else kind == "&&"
    if kind == "?:":
        which = evaluate(tree[1], row)
        values = evaluate(tree[2], row), evaluate(tree[3], row)
        return None if which is None else values[0] if which else values[1]
    if kind == "has":
        return row.get(tree[1]) is not None
    values = [evaluate(part, row) for part in tree[1:3]]
    if None in values:
        return None
    return operate(kind, *values) if len(values) == 2 else fits(-values[0] if kind == "neg" else ~values[0])


def operate(kind, a, b):
    compared = {"==": a == b, "!=": a != b}
    if kind in compared:
        return compared[kind]
    if kind == "in":
        return a in b
    if kind in ("<", "<=", ">", ">="):
        a, b = (one.encode() if isinstance(one, str) else one for one in (a, b))
        return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[kind]
    if kind == "~":
        return fnmatch.fnmatchcase(a, b)
    if kind == "=~":
        return re.search(b, a) is not None
    if kind in ("/", "%"):
        if not b:
            raise Skip
        whole = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return whole if kind == "/" else a - whole * b
    if kind in ("<<", ">>"):
        if not 0 <= b < 64 or a < 0:
            raise Skip
        return fits(a << b if kind == "<<" else a >> b)
    number = {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "&": lambda: a & b, "|": lambda: a | b, "^": lambda: a ^ b}[kind]()
    return signed(number)


def signed(number):
    """What all places have alike: C's numbers wrap where these do not fit."""
    if not LEAST <= number < 1 << 63:
        raise Skip
    return number


# ---- conditions ----

class Maker:
    def __init__(self, chance, numbers, texts, rows):
        self.chance, self.numbers, self.texts, self.rows = chance, numbers, texts, rows

    def value_of(self, field):
        known = [row[field] for row in self.rows if row.get(field) is not None]
        return self.chance.choice(known) if known else 0

    def number(self, depth):
        chance = self.chance
        roll = chance.random()
        if depth <= 0 or roll < 0.5:
            return ("field", chance.choice(self.numbers))
        if roll < 0.6:
            return ("const", self.near(chance.choice(self.numbers)))
        if roll < 0.65:
            return ("neg", self.number(depth - 1))
        if roll < 0.7:
            return ("?:", self.truth(depth - 1), self.number(depth - 1), self.number(depth - 1))
        kind = chance.choice(("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"))
        right = self.number(depth - 1) if kind in "+-&|^" else ("const", chance.randint(1, 9))
        return (kind, self.number(depth - 1), right)

    def near(self, field):
        number = self.value_of(field) + self.chance.choice((-1, 0, 0, 0, 1))
        return min(max(number, LEAST + 1), MOST)

    def comparison(self, depth):
        chance = self.chance
        roll = chance.random() if self.texts else 1 - chance.random() / 2
        if roll < 0.2:
            return (chance.choice(("==", "!=", "<", ">=")), ("field", chance.choice(self.texts)), ("const", self.value_of(chance.choice(self.texts))))
        if roll < 0.35:
            text = self.value_of(chance.choice(self.texts))
            at = chance.randint(0, max(len(text) - 1, 0))
            glob = chance.choice((text[:at] + "*", "*" + text[at:], text[:at] + "?" + text[at + 1:], text[:at] + "[a-m]" + text[at + 1:]))
            return ("~", ("field", chance.choice(self.texts)), ("const", glob))
        if roll < 0.5:
            text = re.escape(self.value_of(chance.choice(self.texts)))
            regex = chance.choice(("^" + text[:1], "[0-9]+$", "(?:%s|%s)" % (text, text[:2]), "^[a-z]{2,5}", r"\d"))
            return ("=~", ("field", chance.choice(self.texts)), ("const", regex if not regex.endswith("\\") else "x"))
        if roll < 0.6:
            field = chance.choice(self.numbers + self.texts)
            values = [self.value_of(field) for _ in range(chance.randint(1, 4))]
            return ("in", ("field", field), ("const", tuple(values)))
        if roll < 0.65:
            return ("has", chance.choice(self.numbers + self.texts))
        left = self.number(depth)
        right = ("const", self.near(left[1])) if left[0] == "field" else self.number(depth - 1)
        return (chance.choice(("==", "!=", "<", "<=", ">", ">=")), left, right)

    def truth(self, depth):
        roll = self.chance.random()
        if depth <= 0 or roll < 0.4:
            return self.comparison(depth)
        if roll < 0.5:
            return ("not", self.truth(depth - 1))
        if roll < 0.56:
            return ("?:", self.truth(depth - 1), self.truth(depth - 1), self.truth(depth - 1))
        return (self.chance.choice(("&&", "||")), self.truth(depth - 1), self.truth(depth - 1))


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def constant(value, chance):
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, tuple):
        return "(" + ", ".join(constant(one, chance) for one in value) + ")"
    unit = chance.choice([name for name, size in UNITS.items() if value % size == 0]) if value > 0 and chance.random() < 0.3 else ""
    if unit:
        return "%d%s" % (value // UNITS[unit], unit)
    return hex(value) if value > 0 and chance.random() < 0.2 else str(value)


def text_of(tree, names, chance):
    """The text; `names` says how a field is written."""
    kind = tree[0]
    parts = [text_of(part, names, chance) for part in tree[1:] if isinstance(part, tuple) and kind not in ("const", "field", "has")]
    if kind == "const":
        return constant(tree[1], chance)
    if kind == "field":
        return names(tree[1])
    if kind == "has":
        return "has(%s)" % names(tree[1])
    if kind == "not":
        return "!(%s)" % parts[0]
    if kind == "neg":
        return "-(%s)" % parts[0]
    if kind == "?:":
        return "(%s ? %s : %s)" % tuple(parts)
    return "(%s %s %s)" % (parts[0], kind, parts[1])


# ---- places ----

def lua_text(text):
    level = "=" * 3
    return "[%s[%s]%s]" % (level, text, level)


def by_lua(scene, texts):
    """where of trace:events(): what events --where and all loops of analyses select by."""
    script = "for _, text in ipairs{\n%s} do\n local n = 0\n for _, row in ipairs(trace:count_by{ where = text, by = { \"name\" } }) do n = n + row.count end\n print(n)\nend\n"
    return scene.run_lua(script % "".join(lua_text('event/name == "%s" && (%s)' % (scene.name, text)) + ",\n" for text in texts))


def by_rows(scene, texts):
    """yore.condition(): what --where of analyses and periods, and --fail-if select by."""
    columns = [name for name in scene.columns if scene.is_plain(name)]
    script = """local rows = {}
for ev in trace:events{ name = %s } do
	local row = {}
	for _, name in ipairs{ %s } do row[name] = ev.fields[name] end
	rows[#rows + 1] = row
end
for _, text in ipairs{
%s} do
	local terms, n = yore.condition(text, { %s }), 0
	for _, row in ipairs(rows) do
		local pass = true
		for _, term in ipairs(terms) do pass = pass and term.test(row) end
		n = n + (pass and 1 or 0)
	end
	print(n)
end
"""
    names = ", ".join('"%s"' % name for name in columns)
    return scene.run_lua(script % (quoted(scene.name), names, "".join(lua_text(text) + ",\n" for text in texts), names))


def by_sql(scene, texts):
    queries = "".join("SELECT count(*) FROM \"%s\" WHERE yore_where MATCH '%s';\n" % (scene.name, text.replace("'", "''")) for text in texts)
    return numbers(yore("sql", scene.path, text=queries), texts)


def by_sql_values(scene, texts):
    """yore_where() as a function of a row's values."""
    queries = ""
    for text in texts:
        named = []
        for name in re.findall(r"[a-z_]+\w*", re.sub(r'"(?:\\.|[^"\\])*"', "", text)):
            if name in scene.columns and name not in named:
                named.append(name)
        queries += "SELECT count(*) FROM \"%s\" WHERE yore_where('%s'%s);\n" % (
            scene.name, text.replace("'", "''"), "".join(", " + name for name in named))
    return numbers(yore("sql", scene.path, text=queries), texts)


def by_do(scene, texts):
    """A probe for each condition, as many as a program may have."""
    found, first = [], 0
    while first < len(texts):
        program, last = "", first
        while last < len(texts) and last - first < 120 and len(program) + len(texts[last]) < 60000:
            program += "%s /%s/ { @c%d = count(); }\n" % (scene.name, texts[last], last)
            last += 1
        status, out, said = yore("do", scene.path, "-f", "-", text=program)
        if status:
            return said
        told = dict(re.findall(r"^@c(\d+): (\d+)$", out, re.M))
        found += [int(told.get(str(i), 0)) for i in range(first, last)]
        first = last
    return found


def by_rules(scene, texts):
    """`when` of a line that counts."""
    lines = "".join("initial hit[%d]/n = 0\n" % i for i in range(len(texts)))
    lines += 'event "%s"\n' % scene.name
    lines += "".join("  hit[%d]/n += 1 when %s\n" % (i, text) for i, text in enumerate(texts))
    with open(os.path.join(scene.work, "count.rules"), "w", encoding="utf-8") as file:
        file.write(lines)
    status, out, said = yore("at", scene.path, "@%d" % scene.last, "hit[*]/n", "--rules", file.name, "--format", "json")
    told = {int(re.search(r"\d+", row["path"])[0]): row["value"] for row in map(json.loads, out.splitlines())}
    return [told.get(i, 0) for i in range(len(texts))] if not status else said


def numbers(done, texts):
    status, out, said = done
    rows = out.split()
    return said if status or len(rows) != len(texts) else [int(row) for row in rows]


class Scene:
    """The events of one class of a recording, as rows of fields."""

    def __init__(self, path, name, numbers_, texts, work):
        self.path, self.name, self.work = os.path.join(GOLDEN, path), name, work
        self.columns = numbers_ + texts
        status, out, said = yore("events", self.path, "--format", "json")
        events = [json.loads(line) for line in out.splitlines()]
        self.last = max(event["ts"] for event in events if event["ts"] is not None)
        self.rows = [self.row_of(event) for event in events if event.get("name") == name]
        self.numbers, self.texts = numbers_, texts
        self.known = {column for column in self.columns if any(row[column] is not None for row in self.rows)}
        if status or not self.rows:
            sys.exit("FAIL: no events of %s: %s" % (path, said))

    def row_of(self, event):
        row = {}
        for column in self.columns:
            value = None
            for scope in ("fields", "context"):
                found = event[scope]
                for step in re.findall(r"[^/\[\]]+", column):
                    found = found[int(step)] if isinstance(found, list) and int(step) < len(found) else found.get(step) if isinstance(found, dict) else None
                    found = found["value"] if isinstance(found, dict) and "labels" in found else found
                value = found if value is None else value
            row[column] = value
        return row

    def is_plain(self, column):
        return re.fullmatch(r"\w+", column) and all(not isinstance(row[column], int) or row[column] < 1 << 63 for row in self.rows)

    def run_lua(self, script):
        with open(os.path.join(self.work, "many.lua"), "w", encoding="utf-8") as file:
            file.write(script)
        status, out, said = yore("run", file.name, self.path)
        return [int(line) for line in out.split()] if not status else said


def fields_of(tree):
    if tree[0] in ("field", "has"):
        return {tree[1]}
    return set().union(*(fields_of(part) for part in tree[1:] if isinstance(part, tuple) and part and isinstance(part[0], str) and tree[0] != "const"), set())


def make(scene, count, chance):
    maker, made = Maker(chance, scene.numbers, scene.texts, scene.rows), []
    while len(made) < count:
        tree = maker.truth(chance.randint(0, 3))
        try:
            made.append((tree, sum(evaluate(tree, row) is True for row in scene.rows)))
        except Skip:
            pass
    return made


def compare(scene, made, chance):
    seed = chance.random()

    def texts(trees, names):
        return [text_of(tree, names, random.Random(seed)) for tree in trees]
    trees, truth = [tree for tree, _ in made], [count for _, count in made]
    bare = [(tree, count) for tree, count in made if all(re.fullmatch(r"\w+", field) for field in fields_of(tree))]
    plain = [(tree, count) for tree, count in bare if all(scene.is_plain(field) for field in fields_of(tree)) and "has" not in str(tree)]
    known = [(tree, count) for tree, count in bare if fields_of(tree) <= scene.known]
    places = (("Lua's where", by_lua, trees, truth, "field/"), ("SQL's yore_where", by_sql, trees, truth, "field/"),
              ("do", by_do, trees, truth, "field/"), ("a rule's when", by_rules, trees, truth, "field/"),
              ("Lua's where, names alone", by_lua, *zip(*bare), ""), ("do, names alone", by_do, *zip(*known), ""),
              ("yore.condition()", by_rows, *zip(*plain), ""), ("yore_where() of values", by_sql_values,
                                                                            *zip(*(one for one in plain if fields_of(one[0]) <= scene.known)), ""))
    for place, ask, ones, wanted, prefix in places:
        said = texts(ones, lambda field, prefix=prefix: prefix + field)
        got = ask(scene, said)
        wrong = [(text, "is true of", has, "events, not", want) for text, has, want in zip(said, got, wanted) if has != want] if isinstance(got, list) else got
        result(not wrong, "%s: %d conditions on %s" % (place, len(said), scene.name), *(wrong if isinstance(wrong, list) else [wrong])[:8])
    return texts(trees, lambda field: "field/" + field), truth


def on_command_line(scene, texts, truth):
    """events --where itself, for some."""
    wrong = []
    for text, count in list(zip(texts, truth))[:10]:
        status, out, said = yore("events", scene.path, "--where", 'event/name == "%s" && (%s)' % (scene.name, text), "--format", "csv", "--limit", "100000")
        rows = len(out.splitlines()) - 1
        if status or max(rows, 0) != count:
            wrong.append((text, rows, count, said))
    result(not wrong, "events --where: %s" % scene.name, *wrong)


def periods(scene, made):
    """--where of periods on fields of the event that begins one."""
    wrong = []
    words = ["periods", scene.path, "log", "--from", scene.name, "--until", scene.name, "--format", "json"]
    own = {name for name in scene.columns if scene.is_plain(name) and any(row[name] is not None for row in scene.rows)}
    for name in sorted(own):
        words += ["--field", "%s=begin:%s" % (name, name)]
    rows = [json.loads(line) for line in yore(*words)[1].splitlines()]
    tried = 0
    for tree, _ in made:
        if not own.issuperset(fields_of(tree)) or "has" in str(tree):
            continue
        tried += 1
        if tried > 8:
            break
        text = text_of(tree, str, random.Random(0))
        got = len(yore(*words, "--where", text)[1].splitlines())
        want = sum(evaluate(tree, row) is True for row in rows)
        if got != want:
            wrong.append((text, got, want))
    result(not wrong and rows and tried, "periods --where: %s" % scene.name, *wrong)


DEMO = os.path.join(GOLDEN, "sched-demo")
BRACKETS = (("{0} & 2 == 2", "this needs brackets: ({0} & 2) == 2, or, as C and 'do' read it, {0} & (2 == 2)"),
            ("!{0} == 1", "this needs brackets: !({0} == 1), or, as C and 'do' read it, (!{0}) == 1"))


def refused():
    """What C reads in another way is refused wherever conditions are said, and both readings are shown."""
    for text, told in BRACKETS:
        of_event, of_row = text.format("prev_state"), text.format("dur")
        places = {"events --where": ("events", DEMO, "--where", of_event), "events --until": ("events", DEMO, "--until", of_event),
                  "yore_where MATCH": ("sql", DEMO, "SELECT count(*) FROM events WHERE yore_where MATCH '%s'" % of_event),
                  "latency --where": ("latency", DEMO, "--where", of_row), "when --until": ("when", DEMO, "thread[*]/state", "--until", of_row),
                  "yore_where()": ("sql", DEMO, "SELECT yore_where('%s', 1)" % of_row)}
        for place, words in places.items():
            status, out, said = yore(*words)
            result(status and told.format("prev_state" if of_event in words[-1] else "dur") in said, "%s refuses %s" % (place, text), said)
    for text, told in (("~~prev_state == 1", "'~~' is one sign in conditions, and two in C"), ("!prev_comm ~ \"d*\"", "this needs brackets: !(a ~ b)"),
                       ("!prev_pid in (1, 2)", "this needs brackets: !(a ~ b)")):
        status, out, said = yore("do", DEMO, "sched_switch /%s/ { @ = count(); }" % text)
        result(status and told in said, "do refuses %s" % text, said)


def names():
    """One name in all places, or what is meant."""
    for words, told in ((("events", DEMO, "--where", "dur > 1ms"), 'did you mean "runtime"?'), (("latency", DEMO, "--where", "runtime > 1ms"), 'did you mean "dur"?'),
                        (("latency", DEMO, "--where", "thread > 1"), 'did you mean "tid"?')):
        status, out, said = yore(*words)
        result(status and told in said, "%s: %s" % (" ".join(words[::3]), told), said)
    want = yore("events", DEMO, "--where", "ts > 2120799000000")[1]
    status, out, said = yore("events", DEMO, "--where", "t > 2120799000000 && t > 0")
    result(out == want and out and said.count("'ts' now") == 1, "t is an alias of ts, told once", said)
    rows = [yore("latency", DEMO, "log", "--where", "%s > 2120799000000 && dur > 20us" % name, "--format", "csv")[1] for name in ("ts", "begin")]
    result(rows[0] == rows[1] and rows[0].count("\n") > 3, "ts and begin of a row are the same", rows)


def members():
    """payload/variables[0]/value, in all places."""
    trace, text, work = os.path.join(GOLDEN, "gdb-demo/trace.tf"), "payload/variables[0]/value > 0", tempfile.gettempdir()
    want = len(yore("events", trace, "--where", text)[1].splitlines())
    got = {"SQL": yore("sql", trace, "SELECT count(*) FROM events WHERE yore_where MATCH '%s'" % text)[1].strip(),
           "do": yore("do", trace, "* /%s/ { @ = count(); }" % text)[1].strip().replace("@: ", "")}
    with tempfile.NamedTemporaryFile("w", suffix=".rules", dir=work) as file:
        file.write("initial hit/n = 0\nevent *\n  hit/n += 1 when %s\n" % text)
        file.flush()
        got["rule"] = yore("sql", trace, "--rules", file.name, "SELECT max(value) FROM state('hit/n')")[1].strip()
    result(want > 0 and set(got.values()) == {str(want)}, "members of lists: %d events" % want, got)


def main():
    refused()
    names()
    members()
    chance = random.Random(SEED)
    with tempfile.TemporaryDirectory(prefix="yore-test-") as work:
        scenes = (Scene("sched-demo", "sched:sched_switch", ["prev_pid", "next_pid", "prev_prio", "prev_state", "next_prio", "perf_ip", "perf_period", "runtime"],
                        ["prev_comm", "next_comm"], work),
                  Scene("sched-ftrace/trace.dat", "sched:sched_switch", ["prev_pid", "next_pid", "prev_state", "common_pid", "common_flags"],
                        ["prev_comm", "next_comm"], work),
                  Scene("sched-ftrace/trace.dat", "raw_syscalls:sys_enter", ["id", "args[0]", "args[2]", "args[5]", "args[7]", "common_pid"], [], work))
        for scene in scenes:
            made = make(scene, COUNT // len(scenes), chance)
            texts, truth = compare(scene, made, chance)
            on_command_line(scene, texts, truth)
            periods(scene, made)
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()

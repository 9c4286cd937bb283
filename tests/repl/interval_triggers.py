#!/usr/bin/env python3
"""`yore when`, `yore state` with --on EXPR --do COMMAND and --until EXPR: conditions on how long something lasts.

The judge is the JSON of the intervals of the finished trace, in which the condition is looked for here. A writer lets a trace
grow as in follow.py. YORE_FOLLOWS says how often (24), YORE_FOLLOW_SECONDS for how long at most (90).
"""
import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
import results
from follow import FOLLOWS, GOLDEN, SECONDS, VARIANTS, Follower, generate, key, mark_ended, plan, play, state_differs, two_folders, write
from results import finish, result

DEMO = os.path.join(GOLDEN, "sched-demo")
ENOUGH = 700  # commands of one run, so that none is left out since too many wait
ECHO = "echo FIRED|{path}|{ts}|{value}|{dur}|{tid}|{comm}|{cpu}|{begin}|{end}|{trace}"


def yore(*words, timeout=results.HANGS):
    done = subprocess.run([results.yore, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def rows(command, trace, *words):
    return yore(command, trace, "--no-index", "--format", "json", *(() if command == "events" else ("--all",)), *words)[1].splitlines()


def recorded(trace):
    """From when to when something was recorded."""
    out = yore("sql", trace, 'SELECT min("first") AS f, max("last") AS l FROM packets', "--no-index", "--format", "json")[1]
    return json.loads(out)["f"], json.loads(out)["l"]


class Condition:
    """True of a row of which it is known that it lasts for `least(row)`, or for that and less than `below`; None: never."""

    def __init__(self, text, least, below=None):
        self.text, self.least, self.below = text, least, below

    def met(self, row, span):
        """From when on it is sure and true of the row; None: it is not. `so_far`: the row goes on at least until then."""
        begin = span[0] if row["begin"] is None else row["begin"]
        so_far = row.get("so_far")
        end = so_far if so_far is not None else span[1] if row["end"] is None else row["end"]
        known = row["begin"] is not None and row["end"] is not None
        least = self.least(row)
        if least is None or end - begin < least or (self.below is not None and (not known or end - begin >= self.below)):
            return None
        return begin + least if self.below is None else end


def tid_of(row):
    if row["path"].endswith("/thread"):
        return row["value"]
    return int(row["path"].split("[")[1].split("]")[0]) if row["path"].startswith("thread[") else None


def cpu_of(row):
    return int(row["path"].split("[")[1].split("]")[0]) if row["path"].startswith("cpu[") else None


def conditions(rng, lines, span):
    """Conditions of which each is true of some rows and not of all, where that is possible."""
    known = sorted(row["end"] - row["begin"] for row in lines if row["end"] is not None and row["begin"] is not None)
    if not known:
        return [Condition("dur > 1ms", lambda row: 1000001)]
    long = known[max(len(known) * 3 // 4, len(known) - ENOUGH // 2)]
    some = rng.choice(known)
    row = rng.choice(lines)
    comm, tid, cpu, value = row.get("comm"), tid_of(row), cpu_of(row), row["value"]
    out = [
        Condition("dur > %d" % long, lambda row: long + 1),
        Condition("%d <= dur" % long, lambda row: long),
        Condition("!(dur <= %d)" % long, lambda row: long + 1),
        Condition("dur * 1 > %d" % long, lambda row: long + 1, 1 << 62),  # what is computed is known at the end
        Condition("dur < %d" % known[len(known) // 4], lambda row: 0, known[len(known) // 4]),
        Condition("dur >= %d && dur < %d" % (long, 2 * long), lambda row: long, 2 * long),
        Condition("dur == %d" % some, lambda row: some, some + 1),
        Condition("ts > %d && dur > %d" % (span[0] + 1000000, long // 2),
                  lambda row: long // 2 + 1 if row["begin"] is not None and row["begin"] > span[0] + 1000000 else None),
        Condition("path == \"%s\" && (dur > %d || false)" % (row["path"].replace('"', '\\"'), long // 2),
                  lambda other: long // 2 + 1 if other["path"] == row["path"] else None),
        Condition("tid == %s && dur > %d" % (tid if tid is not None else -9, long // 4),
                  lambda other: long // 4 + 1 if tid is not None and tid_of(other) == tid else None),
        Condition("cpu == %s && dur > %d" % (cpu if cpu is not None else 77777, long // 2),
                  lambda other: long // 2 + 1 if cpu is not None and cpu_of(other) == cpu else None),
    ]
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        text = str(value) if isinstance(value, int) else '"%s"' % value
        out.append(Condition("value == %s && dur > %d" % (text, long // 2), lambda other: long // 2 + 1 if other["value"] == value else None))
    if comm:
        out.append(Condition('comm == "%s" && dur > %d' % (comm, long // 4), lambda other: long // 4 + 1 if other.get("comm") == comm else None))
    return out


def fired_of(said):
    """What the commands were told: (path, ts), value, dur, tid, comm, cpu, begin, end, trace."""
    out = []
    for line in said.splitlines():
        if line.startswith("FIRED|"):
            path, ts, value, dur, *others = line[6:].split("|")
            out.append(((path, int(ts) if ts else None), value, int(dur), *others))
    return out


def word(value):
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


def told(row, span, trace, bounds):
    """As fired_of() has it of a row that is complete."""
    begin = span[0] if row["begin"] is None else row["begin"]
    end = span[1] if row["end"] is None else row["end"]
    return ((row["path"], row["begin"]), word(row["value"]), end - begin, word(tid_of(row)), row.get("comm", ""), word(cpu_of(row)),
            str(bounds[0]), str(bounds[1] + 1), trace)


# ---- what is recorded


def over_recorded(trace, name, *asked):
    """Each row for which it is true, in the order of rows, once; the rows stay as they are, and --until ends them."""
    rng = random.Random(name)
    span = recorded(trace)
    lines = rows(*asked[:1], trace, *asked[1:])
    parsed = [json.loads(line) for line in lines]
    times = [json.loads(line)["ts"] for line in rows("events", trace)]
    times = [t for t in times if t is not None]
    for condition in conditions(rng, parsed, span):
        wanted = [row for row in parsed if condition.met(row, span) is not None]
        words = (asked[0], trace, "--no-index", "--all", *asked[1:])
        form = rng.choice(("json", "csv", "text", "table"))
        status, out, said = yore(*words, "--format", form, "--on", condition.text, "--do", ECHO)
        plain = yore(*words, "--format", form)[1]
        expected = [told(row, span, trace, (min(times), max(times))) for row in wanted]
        result(status == 0 and out == plain and fired_of(said) == expected, "--on '%s', %s" % (condition.text, name),
               "%d, %d of %d, first that differs: %s" % (status, len(fired_of(said)), len(expected),
                                                          next((pair for pair in zip(fired_of(said), expected) if pair[0] != pair[1]), said[:500])))
        status, out, said = yore(*words, "--format", "json", "--until", condition.text)
        last = next((i for i, row in enumerate(parsed) if condition.met(row, span) is not None), None)
        good = out.splitlines() == lines[: len(lines) if last is None else last + 1]
        result(good and (status == 0 if last is not None else status == 1 and "it is true of no interval" in said),
               "--until '%s', %s" % (condition.text, name), "%d, %d rows, wanted %s: %s" % (status, len(out.splitlines()), last, said))


def all_recorded(work):
    over_recorded(DEMO, "golden", "when", "thread[*]/state=ready")
    over_recorded(DEMO, "golden, several", "state", "cpu[*]/thread", "thread[*]/state", "--begin", "+2ms", "--end", "+9ms")
    over_recorded(os.path.join(GOLDEN, "sched-ftrace", "trace.dat"), "begins that are not known", "state", "thread[*]/name")
    for seed, options in enumerate((("--lose", "0.2"), ("--ctf2", "--contexts"))):
        trace = os.path.join(work, "made%d" % seed)
        generate(trace, seed, "--size", "300K", "--packet-size", "4K", "--cpus", "3", *options)
        over_recorded(trace, "seed %d" % seed, "state", "thread[*]/state")
        over_recorded(trace, "seed %d, cpu" % seed, "when", "cpu[*]/thread=0")
    status, out, said = yore("when", DEMO, "--no-index", "thread[*]/state=ready", "--on", "dur >= 0", "--do", "echo {ts}", "--limit", "3", "--format", "json")
    result(status == 0 and said.split() == [str(json.loads(line)["begin"]) for line in out.splitlines()] and len(said.split()) == 3,
           "commands up to the last row of --limit", said)
    status, out, said = yore("when", DEMO, "--no-index", "thread[*]/state=ready", "--until", "dur > 3600s", "--limit", "3")
    result(status == 0 and len(out.splitlines()) == 3, "what --until asks for does not matter where --limit ends", said)


# ---- while it grows


class Growing:
    """A trace that grows under a command that follows it."""

    ASKED = (("when", "thread[*]/state=ready"), ("state", "thread[*]/state"), ("state", "cpu[*]/thread"),
             ("state", "cpu[*]/thread", "thread[*]/state", "--begin", "+1ms"), ("state", "thread[*]/state", "--end", "+4ms"))

    def __init__(self, work, seed, variants=VARIANTS):
        self.rng = rng = random.Random(seed)
        self.work, self.seed = work, seed
        self.finished, self.folder = two_folders(work)
        self.options = rng.choice(variants)
        generate(self.finished, seed * 7 + 1, "--size", "150K", "--packet-size", rng.choice(("1K", "2K", "4K")),
                 "--cpus", str(rng.randint(3 if "--late-stream" in self.options else 1, 3)), *self.options)
        self.asked = rng.choice(self.ASKED)
        self.expected = [json.loads(line) for line in rows(self.asked[0], self.finished, *self.asked[1:])]
        self.span = recorded(self.finished)
        self.condition = rng.choice(conditions(rng, self.expected, self.span)) if self.expected else Condition("dur > 1", lambda row: 2)

    def run(self, *words):
        """The rows that came, what was fired, and the exit status."""
        rng = self.rng
        steps = plan(rng, self.finished, ">" if "--big-endian" in self.options else "<")
        os.makedirs(self.folder)
        begun = rng.choice((0, 0, rng.randint(0, len(steps))))
        for name in os.listdir(self.finished):  # what a stream that begins later lacks before, its file tells in time
            write(self.folder, (name, b""))
        for step in steps[:begun]:
            write(self.folder, step)
        self.marked = rng.random() < 0.5
        stop = len(steps) if self.marked else rng.randint(len(steps) // 2, len(steps))
        follower = Follower(self.work, self.folder, *self.asked[1:], "--format", "json", *words, patience=60, command=self.asked[0])
        play(rng, self.folder, steps[begun:stop], rng.uniform(0.05, 0.5))
        if self.marked:
            mark_ended(self.folder)
            follower.ended()
        follower.rests()
        self.status = follower.interrupt()
        self.said = follower.messages()
        self.rows = [json.loads(line) for line in follower.rows().splitlines()]
        self.fired = fired_of(self.said)

    def why(self, text):
        return "seed %d %s %s '%s', status %s: %s\n%s" % (
            self.seed, self.options, self.asked, self.condition.text, self.status, text,
            "\n".join(line for line in self.said.splitlines() if not line.startswith("FIRED"))[:600])


def fires(grows):
    """What is wrong with what was fired."""
    condition, span = grows.condition, grows.span
    out = state_differs(grows.expected, grows.rows)[0] if not grows.marked else []
    by_key = {(row["path"], row["begin"]): row for row in grows.rows}
    if grows.marked and sorted(map(key, grows.rows)) != sorted(map(key, grows.expected)):
        out.append("other rows")
    wanted = {name for name, row in by_key.items() if condition.met(row, span) is not None}
    fired = [one[0] for one in grows.fired]
    if "since too many waited" in grows.said:
        out.append("commands were left out")
    if len(set(fired)) != len(fired):
        out.append("fired twice")
    left = [int(line.split()[2]) for line in grows.said.splitlines() if "that waited had no command run" in line]
    if left and len(wanted - set(fired)) in (left[0], left[0] + 1):
        wanted &= set(fired)  # the machine is slow: Ctrl-C came while commands waited
    if set(fired) != wanted:
        out.append("fired %s, did not fire %s" % (sorted(map(str, set(fired) - wanted))[:3], sorted(map(str, wanted - set(fired)))[:3]))
    for name, value, dur, tid, comm, cpu, begin, end, trace in grows.fired:
        row = by_key.get(name)
        if not row:
            continue
        start = span[0] if row["begin"] is None else row["begin"]
        most = (row["so_far"] if "so_far" in row else span[1] if row["end"] is None else row["end"]) - start
        good = condition.least(row) <= dur <= most and value == word(row["value"]) and tid == word(tid_of(row)) and cpu == word(cpu_of(row))
        good = good and comm in (row.get("comm", ""), "") and trace == grows.folder and int(begin) < int(end)
        if not good or (condition.below is not None and dur != most):
            out.append("%s was told %s" % (row, (value, dur, tid, comm, cpu, begin, end, trace)))
    return out


def pacings(work):
    begun, bad, count, fired, early, late = time.monotonic(), [], 0, 0, 0, 0
    while count < FOLLOWS and time.monotonic() - begun < SECONDS / 2:
        grows = Growing(work, count)
        grows.run("--on", grows.condition.text, "--do", ECHO)
        differs = fires(grows)
        if differs or grows.status != (0 if grows.marked else 130):
            bad.append(grows.why("\n".join(differs[:3])))
        count += 1
        fired += len(grows.fired)
        early += len({one[0] for one in grows.fired} & {(row["path"], row["begin"]) for row in grows.rows if "so_far" in row})
        late += len(grows.fired) if grows.condition.below is not None else 0
    print("%d pacings in %.0f s: %d fired, %d of them while the interval went on, %d at its end alone" % (
        count, time.monotonic() - begun, fired, early, late))
    result(not bad and fired > 10 * count and early and late, "--on, while a trace grows", "\n".join(bad[:3]))


def by_hit(at, row):
    """Paths are compared by their numbers."""
    parts = row["path"].replace("]", "[").split("[")
    return at, [(int(part), "") if part.isdigit() else (-1, part) for part in parts], row["begin"] or -1


def before_gaps(lines):
    """Rows behind which it is unknown what comes: they wait until it is known that they do not go on."""
    begins = {(row["path"], row["begin"]) for row in lines}
    return {key(row) for row in lines if row["end"] is not None and (row["path"], row["end"]) not in begins}


def ends_at(grows, waits, place, number):
    """What is wrong with the rows where that row is the one that meets --until."""
    last = grows.expected[number]
    wanted = {key(row): row for row in grows.expected if row["end"] is not None and by_hit(row["end"], row) <= place}
    wanted.setdefault(key(last), {**last, "end": None, "so_far": place[0]})
    got = {key(row): row for row in grows.rows}
    optional = waits - {key(last)}
    out = [] if len(got) == len(grows.rows) else ["a row is told twice"]
    return out + ["%s instead of %s" % (got.get(name), wanted.get(name)) for name in {**got, **wanted}
                  if got.get(name) != wanted.get(name) and not (name in optional and name not in got)]


def ends(grows):
    """What is wrong with the rows up to the interval that meets --until: they do not depend on how the trace grew."""
    waits = before_gaps(grows.expected)
    hits = sorted((by_hit(at, row), i) for i, row in enumerate(grows.expected) for at in (grows.condition.met(row, grows.span),) if at is not None)
    if grows.status == 1:
        return [] if not hits and grows.marked and "it is true of no interval" in grows.said else ["status"]
    if grows.status == 130:
        late = [row for row in grows.rows if hits and row.get("so_far", 0) > hits[0][0][0] and key(grows.expected[hits[0][1]]) not in waits]
        return ["it went on: %s" % late] if late or grows.marked else []
    differs = ["it ended"]
    for place, number in hits:
        differs = ends_at(grows, waits, place, number)
        if not differs or grows.condition.below is None or key(grows.expected[number]) not in waits:
            break
    return differs if grows.status == 0 else ["status"]


def untils(work):
    """Of traces without losses: what is unknown after a loss waits, and is told behind later rows."""
    begun, bad, count, found, open_ = time.monotonic(), [], 0, 0, 0
    while count < FOLLOWS and time.monotonic() - begun < SECONDS / 2:
        grows = Growing(work, 1000 + count, [options for options in VARIANTS if "--lose" not in options and "--late-stream" not in options])
        grows.run("--until", grows.condition.text, "--on", grows.condition.text, "--do", ECHO)
        differs = ends(grows)
        if grows.status == 0 and len(grows.fired) != 1:
            differs.append("fired %d times" % len(grows.fired))
        if differs:
            bad.append(grows.why("\n".join(differs[:3])))
        count += 1
        found += grows.status == 0
        open_ += any("so_far" in row for row in grows.rows) and grows.status == 0
    print("%d pacings in %.0f s: %d found what --until asks for, %d before its end" % (count, time.monotonic() - begun, found, open_))
    result(not bad and found * 2 > count and open_, "--until, while a trace grows", "\n".join(bad[:3]))


def limited(work):
    """With --limit commands go as far as rows do."""
    bad, fired = [], 0
    for seed in range(6):
        grows = Growing(work, 2000 + seed, [()])
        grows.asked = ("state", "cpu[*]/thread")  # never unknown: no row waits, and the order of rows is that of ends
        grows.expected = [json.loads(line) for line in rows(grows.asked[0], grows.finished, *grows.asked[1:])]
        grows.condition = conditions(grows.rng, grows.expected, grows.span)[0]
        order = sorted((row for row in grows.expected if row["end"] is not None), key=lambda row: by_hit(row["end"], row))
        assert not before_gaps(grows.expected)
        limit = grows.rng.randint(len(order) // 4, len(order) * 3 // 4)
        grows.run("--limit", str(limit), "--on", grows.condition.text, "--do", ECHO)
        last = order[limit - 1]["end"]
        wanted = {(row["path"], row["begin"]) for row in grows.expected for at in (grows.condition.met(row, grows.span),) if at is not None and at <= last}
        got = [one[0] for one in grows.fired]
        fired += len(got)
        if grows.status == 0 and (sorted(got) != sorted(wanted) or grows.rows != order[:limit]):
            bad.append(grows.why("%d of %d, %d rows of %d" % (len(got), len(wanted), len(grows.rows), limit)))
    result(not bad and fired > 50, "--limit ends commands, too", "\n".join(bad[:3]))


def while_it_waits(work):
    """The command is run while the interval goes on, and not once more when it ends."""
    finished, growing = two_folders(work)
    generate(finished, 77, "--size", "200K", "--packet-size", "1K", "--cpus", "2")
    expected = {(row["path"], row["begin"]): row for row in map(json.loads, rows("when", finished, "thread[*]/state=sleeping"))}
    long = sorted(row["end"] - row["begin"] for row in expected.values() if row["end"] is not None)[-40]
    steps = plan(random.Random(5), finished, "<")
    os.makedirs(growing)
    follower = Follower(work, growing, "thread[*]/state=sleeping", "--format", "json", "--on", "dur > %d" % long, "--do", ECHO, patience=60, command="when")
    early, at = set(), len(steps) // 3
    for step in steps[:at]:
        write(growing, step)
    for i in range(at, len(steps), 3):
        for step in steps[i : i + 3]:
            write(growing, step)
        follower.rests(0.05)
        fired = {one[0] for one in fired_of(follower.messages())}  # before the rows, which go on meanwhile
        early |= fired - {(row["path"], row["begin"]) for row in map(json.loads, follower.rows().decode().splitlines())}
    mark_ended(growing)
    follower.ended()
    fired = [one[0] for one in fired_of(follower.messages())]
    long_ones = {name for name, row in expected.items() if row["end"] is not None and row["end"] - row["begin"] > long}
    result(follower.wait() == 0 and long_ones <= set(fired) and len(set(fired)) == len(fired) and len(early & long_ones) >= 3,
           "a command is run while the interval goes on", "%d fired, %d of them early\n%s" % (len(fired), len(early), follower.messages()[-300:]))


def hangs(work):
    """A command that hangs holds no rows back; moments that wait are bounded; Ctrl-C ends it, also without --follow."""
    finished, growing = two_folders(work)
    generate(finished, 3, "--size", "400K", "--packet-size", "4K", "--cpus", "2")
    expected = rows("state", finished, "thread[*]/state")
    os.makedirs(growing)
    follower = Follower(work, growing, "thread[*]/state", "--format", "json", "--on", "dur >= 0", "--do", "sleep 100", patience=60, command="state")
    for step in plan(random.Random(3), finished, "<"):
        write(growing, step)
    follower.says("1000 moments wait for their command")
    follower.rests()
    status, said = follower.interrupt(), follower.messages()
    left_out = [int(line.split()[2]) for line in said.splitlines() if "since too many waited" in line]
    waited = [int(line.split()[2]) for line in said.splitlines() if "that waited had no command run" in line]
    got = follower.rows().splitlines()
    result(status == 130 and len(got) > 2000 and len(left_out) == 1 and waited in ([999], [1000]) and left_out[0] + waited[0] + 1 == len(got),
           "a command that hangs holds no rows back, and what waits is bounded", "%s %d rows: %s" % (status, len(got), said))
    process = subprocess.Popen([results.yore, "when", DEMO, "--no-index", "thread[*]/state=ready", "--on", "dur > 1us", "--do", "sleep 100"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    results.catches(process)
    results.rests(process)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=results.HANGS)[1].decode()
    result(process.returncode == 130 and "that waited had no command run" in said, "Ctrl-C ends a command", "%s %s" % (process.returncode, said))


# ---- names, and mistakes

NAMED = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := char8;
typealias integer { size = 32; align = 8; signed = true; } := i32;
trace { major = 1; minor = 8; byte_order = le; };
clock { name = c; freq = 1000000000; };
stream {
	packet.context := struct { integer { size = 32; align = 8; signed = false; } cpu_id; };
	event.header := struct { integer { size = 64; align = 8; signed = false; map = clock.c.value; } timestamp; }; };
event { name = sched_switch; fields := struct { char8 prev_comm[16]; i32 prev_tid; i32 prev_prio; i32 prev_state; char8 next_comm[16];
	i32 next_tid; i32 next_prio; }; };
"""


def names(work):
    """A name with blanks, quotes and placeholders is part of one word, and no shell reads it."""
    evil = os.path.join(work, "evil")
    trace = os.path.join(work, "a b'c$(touch %s)" % evil)
    name = "a {ts} $(>x) '\";"
    data = struct.pack("<I", 0)
    for t, before, after in ((1000, 0, 7), (3000, 7, 0), (9000, 0, 7), (9500, 7, 0)):
        texts = [(name if tid else "idle").encode()[:15].ljust(16, b"\0") for tid in (before, after)]
        data += struct.pack("<Q16siii16sii", t, texts[0], before, 120, 1, texts[1], after, 120)
    results.write(trace, NAMED, {"stream": data})
    name = name[:15]
    lines = [json.loads(line) for line in rows("when", trace, "cpu[0]/thread=7")]
    wanted = "<cpu[0]/thread|1000|7|2000|7|%s|0|1000|9501|%s|$HOME {|lone>" % (name, trace)
    status, out, said = yore("when", trace, "--no-index", "cpu[0]/thread=7", "--on", "dur > 1us && comm ~ \"a*\"", "--do",
                             "printf <%s|%s|%s|%s|%s|%s|%s|%s|%s|%s|$HOME\u00a0{|lone>\\n {path} {ts} {value} {dur} {tid} {comm} {cpu} {begin} {end} {trace}")
    result(status == 0 and [row["comm"] for row in lines] == [name, name] and said.replace("\u00a0", " ") == wanted + "\n",
           "--do fills in words, and nothing reads them as a shell", said)
    status, out, said = yore("when", trace, "--no-index", "cpu[0]/thread=7", "--on", "dur > 1us", "--do-shell",
                             'echo "<$YORE_PATH|$YORE_TS|$YORE_VALUE|$YORE_DUR|$YORE_TID|$YORE_COMM|$YORE_CPU|$YORE_BEGIN|$YORE_END|$YORE_TRACE|\\$HOME {|lone>${YORE_NAME-}"')
    result(status == 0 and said == wanted + "\n" and not os.path.exists(evil), "--do-shell has them in its environment", said)
    status, out, said = yore("when", trace, "--no-index", "cpu[0]/thread=7", "--on", "dur > 0", "--do", "false")
    result(status == 0 and said.count("exit status 1, at @1000") == 1 and "2 of 2 commands failed" in said, "a failure is told once", said)


def mistakes():
    columns = "there are path, value, ts, dur, tid, comm, cpu;"
    for words, text in (((("--on", "dur > 1"), "--on needs --do")), (("--do", "x"), "--do needs --on"),
                        (("--on", "dur > 1", "--do", "x", "--do-shell", "x"), "do not go together"),
                        (("--on", "dur > 1", "--do", " "), "a command is missing"),
                        (("--on", "dur > 1", "--do", "x {name}"), "{name} is none of {ts} {path} {value} {dur} {tid} {comm} {cpu} {begin} {end} {trace}"),
                        (("--on", "dur >", "--do", "x"), "--on: condition: column"), (("--until", "dur >"), "--until: condition: column"),
                        (("--until", "next_pid == 1"), "there is no column 'next_pid': " + columns),
                        (("--on", "durr > 1", "--do", "x"), "did you mean \"dur\"? " + columns),
                        (("--until", "cpu[0]/thread == 1"), columns), (("--until", "thread[1]/state == \"ready\""), columns),
                        (("--until", "label(value) == \"a\""), "label() is of events"), (("--until", "dur"), "a column alone is never true")):
        for command, path in (("when", "thread[*]/state=ready"), ("state", "thread[*]/state")):
            for more in ((), ("--follow",)):
                status, out, said = yore(command, DEMO, path, "--no-index", *words, *more)
                result(status == 2 and text in said and not out, "mistake: " + " ".join((command, *words, *more)), "%d %s" % (status, said))
    for command in ("longest", "timeline"):
        status, out, said = yore(command, DEMO, "thread[*]/state", "--no-index", "--until", "dur > 1")
        result(status == 2 and "no such option" in said, "%s has no --until" % command, said)


def main():
    with tempfile.TemporaryDirectory() as work:
        mistakes()
        names(work)
        all_recorded(work)
        while_it_waits(work)
        limited(work)
        hangs(work)
        pacings(work)
        untils(work)
    finish()


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""many_keys.py [YORE YORE_GEN]: conditions read the state of many keys: paths with two keys, keys of two hosts and texts, values that no line wrote.

Each row counts the sched_switch events for which a condition on the state just before them holds, and has the same count from a replay in
Python of the events' fields. yore is asked by --where, by `do` and by a column of `periods`."""
import csv, os, shutil, subprocess, sys, tempfile

top = os.environ.get("top_builddir", ".")
yore, gen = (os.path.abspath(path) for path in sys.argv[1:3] or (top + "/yore", top + "/fixtures/yore-gen"))
work = tempfile.mkdtemp(prefix="yore-many-keys-")
ENVIRONMENT = dict(os.environ, TZ="UTC", XDG_CACHE_HOME=work + "/cache", XDG_CONFIG_HOME=work + "/config",
                   YORE_LUA_DIR=os.path.abspath(os.path.join(os.environ.get("srcdir", "."), "lua-lib")))
RULES = """event sched_switch
	box[1]/slot[field/next_tid]/prio = field/next_prio
	box[2]/slot[field/next_tid]/prio = 2
	flat[field/next_tid]/prio = field/next_prio
	named[field/next_comm]/slot[field/next_tid % 7] = field/next_tid
	wide[field/next_tid % 5]/y[field/next_tid % 3]/z[field/next_tid]/prio = field/next_prio
	count[field/next_tid]/odd = 1 when field/next_tid % 2 == 1
	delete flat[field/prev_tid]/prio when field/prev_tid % 3 == 0
	stack[field/next_tid]/depth = 1 when field/next_tid % 4 == 1
initial count[*]/odd = 0
view even[?t] = count[?t]/odd == 0
view gone[?t] = flat[?t]/prio == none
"""


class Replay:
    """What RULES say, event by event."""

    def __init__(self):
        self.prio, self.two, self.named, self.wide, self.odd, self.deep = {}, {}, {}, {}, set(), set()

    def event(self, e):
        tid, prev, prio = int(e["next_tid"]), int(e["prev_tid"]), int(e["next_prio"])
        self.two[tid] = prio
        self.prio[tid] = prio
        self.named[e["next_comm"], tid % 7] = tid
        self.wide[tid] = prio
        if tid % 2 == 1:
            self.odd.add(tid)
        if prev % 3 == 0:
            self.prio[prev] = None
        if tid % 4 == 1:
            self.deep.add(tid)


UNKNOWN = -1
ROWS = [  # condition, the same in Python: of the replay, the event and its next_tid
    ("box[1]/slot[next_tid]/prio >= 0", lambda r, e, t: t in r.two),
    ("box[cpu + 1]/slot[next_tid]/prio >= 0", lambda r, e, t: t in r.two),
    ("box[next_tid % 2 + 1]/slot[next_tid]/prio >= 3", lambda r, e, t: t % 2 == 0 and r.two.get(t, 0) >= 3),
    ("flat[next_tid]/prio >= 0", lambda r, e, t: r.prio.get(t) is not None),
    ("flat[next_tid]/prio == none", lambda r, e, t: r.prio.get(t, UNKNOWN) is None),
    ("named[next_comm]/slot[next_tid % 7] == next_tid", lambda r, e, t: r.named.get((e["next_comm"], t % 7)) == t),
    ("wide[next_tid % 5]/y[next_tid % 3]/z[next_tid]/prio >= 0", lambda r, e, t: t in r.wide),
    ("count[next_tid]/odd == 0", lambda r, e, t: t not in r.odd),
    ("count[next_tid]/odd == 1", lambda r, e, t: t in r.odd),
    ("even[next_tid]", lambda r, e, t: t not in r.odd),
    ("!even[next_tid]", lambda r, e, t: t in r.odd),
    ("gone[next_tid]", lambda r, e, t: r.prio.get(t, UNKNOWN) is None),
    ("has(stack[next_tid]/depth)", lambda r, e, t: t in r.deep),
    ("stack[next_tid]/depth == 1 && count[next_tid]/odd == 1 && box[1]/slot[next_tid]/prio >= 0", lambda r, e, t: t in r.deep),
]


def run(*words):
    done = subprocess.run([yore, *words], capture_output=True, text=True, env=ENVIRONMENT, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit("%s: %s" % (words, done.stderr))
    return done.stdout


def made(name, *options):
    path = os.path.join(work, name)
    subprocess.run([gen, "--out", path, "--no-truth", "--cpus", "1", *options], check=True, stdout=subprocess.DEVNULL)
    return path


def switches(trace, *options):
    return list(csv.DictReader(run("events", trace, *options, "--name", "sched_switch", "--format", "csv").splitlines()))


bad = 0


def tell(name, said, right):
    global bad
    wrong = said != right
    print("%s: %s%s" % ("FAIL" if wrong else "PASS", name, ": %r instead of %r" % (said, right) if wrong else ""))
    bad += wrong


def counts(trace, text, *options):
    """By --where in both directions, and by `do`."""
    said = [int(run("events", trace, *options, "--name", "sched_switch", "--where", text, "--count", *more)) for more in ([], ["--reverse"])]
    printed = run("do", trace, *options, "sched_switch /state(\"%s\")/ { @ = count(); }" % text.replace('"', '\\"'))
    return said + [int(printed.split(":")[-1] or 0)]


def conditions(rows, trace, *options):
    """Each host has one CPU, of one stream."""
    events = switches(trace, *options)
    for text, holds in rows:
        replays, right = {}, 0
        for event in events:
            replay = replays.setdefault(event["stream"], Replay())
            right += holds(replay, event, int(event["next_tid"]))
            replay.event(event)
        assert 0 < right < len(events), text
        name = "%s%s" % (text, " of two hosts" if len(replays) > 1 else "")
        tell(name, counts(trace, text, *options), [right] * 3)


def columns(trace, *options):
    """At the end of a thread's stretch on the CPU its begin wrote the value; the last one does not end."""
    words = ["--from", "sched_switch", "--until", "sched_switch", "--key", "next_tid", "--until-key", "prev_tid"]
    text = run("periods", trace, "log", *options, *words, "--field", "p=end:box[1]/slot[prev_tid]/prio", "--format", "csv")
    said = [row["p"] for row in csv.DictReader(text.splitlines())]
    right = [event["next_prio"] for event in switches(trace, *options)[:-1]]
    differ = [i for i in range(max(len(said), len(right))) if said[i:i + 1] != right[i:i + 1]]
    tell("a column of periods", "rows %s" % differ[:5], "rows []")


try:
    rules = os.path.join(work, "rules")
    with open(rules, "w") as file:
        file.write(RULES)
    trace = made("one", "--seed", "5", "--size", "400K", "--threads", "64", "--host", "h1")
    other = made("two", "--seed", "6", "--size", "100K", "--threads", "40", "--host", "h2")
    conditions(ROWS, trace, "--rules", rules, "--no-index")
    conditions(ROWS[3::5], trace, "--rules", rules, "--no-index", "--with", other)
    columns(trace, "--rules", rules, "--no-index")
finally:
    shutil.rmtree(work, ignore_errors=True)
sys.exit(1 if bad else 0)

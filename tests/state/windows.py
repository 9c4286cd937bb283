#!/usr/bin/python3
"""windows.py [YORE YORE_GEN]: what lists over short ranges of large traces tell is true, and what they read.

Two generated traces of 80 MB: one that lost events, one of which a stream begins late. Of windows of 0.1, 1 and 10 ms, half of which
begin at a loss or at a switch, each question is asked as it is, and with --all: that reads timelines, which were built by
replay from the trace's begin. What a window's lists read is 8 packets of each stream on either side of it, which this test finds in the
table of packets. So

- a row of the window is one of --all; where it has no begin, the true one lies before what is read, where it has no end, the
  true one lies behind that, and where the state at a row's begin has no value, it is empty;
- a row of --all is one of the window, unless it begins before what is read, or no event of the window tells its attribute;
- an answer is the same by each store of the trace, and in one prompt as by a process each; where the attributes are known by name, a
  store may tell more, which is held to the first two lines, too;
- the bytes that are read are bounded by those of the packets around the window, and those of --all by the trace's."""
import bisect, csv, json, os, random, shlex, shutil, subprocess, sys, tempfile

top = os.environ.get("top_builddir", ".")
yore, gen = (os.path.abspath(path) for path in sys.argv[1:3] or (top + "/yore", top + "/fixtures/yore-gen"))
ENVIRONMENT = dict(os.environ, TZ="UTC", YORE_LUA_DIR=os.path.abspath(os.path.join(os.environ.get("srcdir", "."), "lua-lib")))
SEED, PACKETS = 7, 8  # packets of each of 8 streams around a window, when nothing else is said
TRACES = {"lost events": ["--lose", "0.01"], "a stream that begins late": ["--late-stream"]}
LENGTHS = (100000, 1000000, 10000000)
STORES = {"no index": None, "a first answer": None, "an index": [], "timelines": ["--timelines"]}
# Question: words, or of SQL a table and columns, the first of which is when a row begins; columns by which rows are found; columns that may be
# empty, since what they tell lies further away. Where bounded: bytes at most, as so many times the packets around the window.
QUESTIONS = {
    "state": (["state", "thread[*]/state"], ("path", "value"), {"begin", "end", "dur", "comm"}, 4),
    "calls of all CPUs": (["state", "cpu[*]/syscall"], ("path", "value"), {"begin", "end", "dur", "comm"}, 6),
    "calls of one": (["state", "cpu[3]/syscall"], ("path", "value"), {"begin", "end", "dur", "comm"}, 6),
    "idle threads": (["state", "idle[*]/state"], ("path", "value"), {"begin", "end", "dur", "comm"}, None),
    "longest": (["longest", "thread[*]/state", "--limit", "1000000"], ("path", "value"), {"begin", "end", "dur", "comm"}, 4),
    "latency log": (["latency", "log"], ("tid", "begin"), {"comm"}, None),
    "offcpu log": (["offcpu", "log"], ("tid", "begin"), {"comm", "syscall", "end", "dur"}, None),
    "sched log": (["sched", "log"], ("tid", "end"), {"comm", "wait", "delay"}, 4),
    "wakeups": ("ts, tid, dur, cpu, waker, waker_kind", ("tid", "ts"), {"dur", "cpu", "waker", "waker_kind"}, None),
    "thread_state": ("begin, tid, cpu, end, dur, state", ("tid", "begin"), {"cpu", "end", "dur"}, 6),
    "syscalls": ("begin, tid, cpu, end, dur, name, ret", ("tid", "begin"), {"cpu", "end", "dur", "ret"}, None),
}
NAMED = ("calls of all CPUs", "calls of one", "idle threads")  # what is stored may tell more of these
failed = 0


def tell(name, lines):
    global failed
    print("%s: %s" % ("FAIL" if lines else "PASS", name), flush=True)
    for line in lines[:5]:
        print("\t" + str(line)[:1000])
    failed += bool(lines)


def run(words, *options, given=None):
    done = subprocess.run([yore, *words, *options], capture_output=True, env=ENVIRONMENT, text=True, timeout=300, input=given)
    if done.returncode:
        sys.exit("%s: %s" % (" ".join(words), done.stderr))
    return done.stdout, done.stderr


def rows_of(text):
    return list(csv.DictReader(text.splitlines()))


def begins(row):
    """When it begins, as a number; None: it is not known."""
    begin = row.get("ts", row.get("begin", row.get("end")))
    return int(begin) if begin else None


class Trace:
    def __init__(self, folder, options):
        self.path = os.path.join(folder, "trace")
        self.wholes = {}
        self.stores = {name: ["--index-dir", os.path.join(folder, name)] for name in STORES}
        self.stores["no index"] = ["--no-index"]
        os.makedirs(folder)
        subprocess.run([gen, "--out", self.path, "--size", "80M", "--packet-size", "32K", "--no-truth", "--seed", str(SEED), *options],
                       check=True)
        for name, more in STORES.items():
            if more is not None:
                run(["index", self.path, *more, *self.stores[name]])
        self.packets = {}
        for row in self.sql("SELECT stream, first, last, bytes FROM packets ORDER BY first"):
            self.packets.setdefault(row["stream"], []).append((int(row["first"]), int(row["last"]), int(row["bytes"])))
        self.first = min(packets[0][0] for packets in self.packets.values())
        self.last = max(packets[-1][1] for packets in self.packets.values())
        self.bytes = sum(packet[2] for packets in self.packets.values() for packet in packets)
        self.losses = [(int(row["ts"]), int(row["until"])) for row in self.sql("SELECT ts, until FROM losses")]
        self.windows = list(self.choose(random.Random(SEED)))

    def sql(self, query):
        return rows_of(run(["sql", self.path, query, "--format", "csv"], *self.stores["an index"])[0])

    def choose(self, chance):
        """Windows anywhere, then at a loss where there is one, or at a switch."""
        edge = (self.last - self.first) // 10
        losses = [loss[0] for loss in self.losses if self.first + edge < loss[0] < self.last - edge]
        for number, length in enumerate(2 * LENGTHS):
            begin = chance.randrange(self.first + edge, self.last - edge)
            if number >= len(LENGTHS) and losses and number % 2:
                begin = chance.choice(losses) + chance.randrange(-1, 2)
            elif number >= len(LENGTHS):
                begin = int(self.sql("SELECT min(ts) AS ts FROM sched_switch WHERE ts >= %d" % begin)[0]["ts"])
            yield begin, begin + length

    def reach(self, begin, end):
        """Where what is read around a window begins and ends, and how many bytes that are."""
        floor, ceil, around = self.first - 1, self.last + 1, 0
        for packets in self.packets.values():
            before = bisect.bisect_left([packet[1] for packet in packets], begin)
            behind = bisect.bisect_left([packet[1] for packet in packets], end)
            if before > PACKETS:
                floor = max(floor, packets[before - PACKETS][0])
            if behind + PACKETS < len(packets):
                ceil = min(ceil, packets[behind + PACKETS][0])
            around += sum(packet[2] for packet in packets[max(0, before - PACKETS):behind + PACKETS + 1])
        return floor, ceil, around

    def told(self, begin, end):
        """Threads whose state an event of the window tells."""
        rows = self.sql("SELECT prev_tid AS a, next_tid AS b FROM sched_switch WHERE ts >= {0} AND ts < {1} UNION "
                        "SELECT tid, tid FROM sched_wakeup WHERE ts >= {0} AND ts < {1}".format(begin, end))
        return {tid for row in rows for tid in row.values()}

    def words(self, name, begin, end):
        asked = QUESTIONS[name][0]
        if isinstance(asked, str):
            return ["sql", "SELECT %s FROM %s WHERE %s BETWEEN %d AND %d" % (asked, name, asked.split(",")[0], begin, end - 1)]
        return [*asked, "--begin", "@%d" % begin, "--end", "@%d" % end]

    def ask(self, name, begin, end, store, *options):
        words = self.words(name, begin, end)
        return run([words[0], self.path, *words[1:], "--format", "csv"], *self.stores[store], *options)

    def all_of(self, name, begin, end):
        """The rows of --all; of SQL those of all windows are read at once, since that reads all of the trace."""
        asked = QUESTIONS[name][0]
        if not isinstance(asked, str):
            return rows_of(self.ask(name, begin, end, "timelines", "--all")[0])
        if name not in self.wholes:
            column = asked.split(",")[0]
            query = "SELECT %s FROM %s WHERE " % (asked, name) + " OR ".join(  # +: one scan, and not one for each range
                "+%s BETWEEN %d AND %d" % (column, low, high - 1) for low, high in self.windows)
            self.wholes[name] = rows_of(run(["sql", self.path, query, "--all", "--format", "csv"], *self.stores["timelines"])[0])
        return [row for row in self.wholes[name] if begin <= begins(row) < end]


def agrees(row, whole, empties, floor, ceil):
    """Is the row of a window the whole one, with nothing left out that is known within reach?"""
    if any(row[column] not in (whole[column], "" if column in empties else whole[column]) for column in row):
        return False
    begin, end = whole.get("begin"), whole.get("end")
    return not (begin and not row["begin"] and int(begin) >= floor) and not (end and not row["end"] and int(end) < ceil)


def differs(trace, name, text, begin, end, told):
    """What is wrong with the rows of a window."""
    _, keys, empties, _ = QUESTIONS[name]
    floor, ceil, _ = trace.reach(begin, end)
    whole, by_key, found = trace.all_of(name, begin, end), {}, set()
    for number, row in enumerate(whole):
        by_key.setdefault(tuple(row[key] for key in keys), []).append(number)
    for row in rows_of(text):
        same = [number for number in by_key.get(tuple(row[key] for key in keys), ())
                if number not in found and agrees(row, whole[number], empties, floor, ceil)]
        if same:
            found.add(same[0])
        else:
            yield "not so: %s; %s" % (row, [whole[number] for number in by_key.get(tuple(row[key] for key in keys), ())])
    for number, row in enumerate(whole):
        tid = row.get("tid") or row["path"][len("thread["):-len("]/state")]
        since = begins(row)
        # A stretch that is cut begins at the window, and its true begin may lie before what is read
        known = since is not None and since >= (begin + (name == "offcpu log") if "tid" in row else floor)
        if number not in found and tid in told and known:
            yield "missing: %s" % row


def longest_first(text):
    lengths = [int(row["dur"]) for row in rows_of(text) if row["begin"] and row["end"]]
    return [] if lengths and lengths == sorted(lengths, reverse=True) else ["not by length: %s" % lengths[:20]]


def costs_too_much(trace, name, stats, begin, end):
    most, read = QUESTIONS[name][3], json.loads(stats.splitlines()[-1])["bytes_read"]
    floor, ceil, around = trace.reach(begin, end)
    if most is None or any(loss[0] < ceil and loss[1] >= floor for loss in trace.losses):
        return []
    return ["%d bytes are read, %d lie around the window" % (read, around)] if read > min(most * around, trace.bytes // 4) else []


def check(trace, label, window, answers):
    begin, end = window
    told = trace.told(begin, end)
    for number, name in enumerate(QUESTIONS):
        text, stats = trace.ask(name, begin, end, "no index", "--stats")
        lines = list(differs(trace, name, text, begin, end, told))
        lines += longest_first(text) if name == "longest" else []
        lines += costs_too_much(trace, name, stats, begin, end)
        store = list(STORES)[1 + (number + len(answers)) % (len(STORES) - 1)]
        again = trace.ask(name, begin, end, store)[0]
        if name in NAMED:
            lines += ["with %s: %s" % (store, line) for line in differs(trace, name, again, begin, end, told)]
        elif again != text:
            lines.append("another answer with " + store)
        tell("%s: %s of %g ms at %d" % (label, name, (end - begin) / 1e6, begin), lines)
        answers.append((trace.words(name, begin, end), text))


def names(trace, label):
    """Beside the rows of timelines, which ask for the names of hundreds of threads at many moments, stand the same names whatever is stored: those of --all."""
    for begin, end in trace.windows:
        words = ["timeline", trace.path, "thread[*]/state", "--begin", "@%d" % begin, "--end", "@%d" % end, "--format", "csv"]
        answers = [run(words, *trace.stores[store])[0] for store in ("no index", "an index")]
        whole = {(row["path"], row["begin"], row["end"]): row["comm"] for row in rows_of(run(words, "--all", *trace.stores["timelines"])[0])}
        lines = [] if answers[0] == answers[1] else ["other names with an index"]
        for row in rows_of(answers[0]):
            name = whole.get((row["path"], row["begin"], row["end"]), row["comm"])
            if row["comm"] != name or not name:
                lines.append("%s, and %s by --all" % (row, name))
        tell("%s: names in a timeline of %g ms at %d" % (label, (end - begin) / 1e6, begin), lines)


def two_ranges(trace, label):
    """Bounds that are joined by OR are two scans, and SQLite drops what has the same rowid in both."""
    (low, high), (begin, end) = trace.windows[:2]
    for name in ("wakeups", "thread_state", "syscalls"):
        column = QUESTIONS[name][0].split(",")[0]
        text = "SELECT %s FROM %s WHERE %s BETWEEN %d AND %d"
        ranges = [(low, high - 1), (begin, end - 1)]
        apart = [row for bounds in ranges for row in trace.sql(text % (QUESTIONS[name][0], name, column, *bounds))]
        joined = trace.sql(text % (QUESTIONS[name][0], name, column, *ranges[0]) + " OR %s BETWEEN %d AND %d" % (column, *ranges[1]))
        tell("%s: %s of two ranges" % (label, name), [] if joined == apart else ["%d rows, and %d apart" % (len(joined), len(apart))])


def prompt(trace, label, answers):
    """All in one process, the last one first."""
    given = "".join(shlex.join([*words, "--format", "csv"]) + "\n" for words, _ in reversed(answers))
    told = run(["repl", trace.path, "--no-index"], given=given)[0]
    tell("%s: one prompt" % label, [] if told == "".join(text for _, text in reversed(answers)) else ["another answer"])
    begin, end = trace.windows[0]
    line = shlex.join([*trace.words("offcpu log", begin, end), "--format", "csv"]) + "\n"
    alone = {option: trace.ask("offcpu log", begin, end, "no index", *option)[0] for option in ((), ("--all",), ("--budget", "2"))}
    told = run([trace.path, "--no-index"], given="".join(line.replace("\n", " %s\n" % " ".join(option)) for option in alone))[0]
    lines = [] if told == "".join(alone.values()) else ["another answer by options of a line"]
    if run([trace.path, "--no-index", "--all"], given=line)[0] != alone[("--all",)] or alone[()] == alone[("--all",)]:
        lines.append("another answer by options of the prompt")
    tell("%s: --all and --budget of one prompt" % label, lines)


def reads_once(trace, label):
    """A list over all of the trace, and one of a window with --all, read each byte once, names of threads included; beside a loss a few packets are looked
    into again, for who ran there before it."""
    size = sum(os.path.getsize(os.path.join(place, name)) for place, _, names in os.walk(trace.path) for name in names)
    most = 1.05 * size + 4 * max(packet[2] for packets in trace.packets.values() for packet in packets) * len(trace.losses)
    begin, end = trace.windows[2]
    window = ["--begin", "@%d" % begin, "--end", "@%d" % end]
    for what, bounds in (("all", ["--format", "csv"]), ("a window", [*window, "--format", "csv"]), ("a window, as text", window)):
        words = ["state", trace.path, "thread[*]/state", "--all", "--stats", *bounds]
        fresh = ["--index-dir", tempfile.mkdtemp(dir=os.path.dirname(trace.path))]
        for how, store in (("", trace.stores["no index"]), (", by one thread", ["--no-index", "--jobs", "1"]), (", by two, with an index", [*fresh, "--jobs", "2"])):
            read = json.loads(run(words, *store)[1].splitlines()[-1])["bytes_read"]
            tell("%s: state --all of %s reads the trace once%s" % (label, what, how), ["%d bytes of %d" % (read, size)] if read > most else [])


CONDITIONS = (
    'name == "sched_switch" && thread[next_tid]/state == "ready"',
    'thread[next_tid]/state == "blocked"',
    'name == "sched_switch" && !(thread[prev_tid]/state == "running")',
    'name == "sched_switch" && thread[next_tid]/prio == 120',
    'name == "sched_switch" && !has(thread[next_tid]/prio)',
    'thread[next_tid]/name ~ "n*"',
    'name == "sched_wakeup" && !has(thread[tid]/state)',
    'has(thread[next_tid]/syscall)',
)


def conditions(trace, label):
    """What a condition reads of the state is the whole truth also beside a window, and of what events of the window write it reads little."""
    for begin, end in trace.windows[1::2]:
        lines, reads = [], []
        for condition in CONDITIONS:
            words = ["events", trace.path, "--where", condition, "--begin", "@%d" % begin, "--end", "@%d" % end, "--format", "csv"]
            expected = run(words, *trace.stores["timelines"])[0]
            for store in ("no index", "an index"):
                text, stats = run(words, "--stats", *trace.stores[store])
                reads.append(json.loads(stats.splitlines()[-1])["bytes_read"])
                if condition in CONDITIONS[:3] and store == "an index" and reads[-1] > trace.bytes // 2:
                    lines.append("%s: %d bytes are read of %d" % (condition, reads[-1], trace.bytes))
                if text != expected:
                    lines.append("%s, %s: %d rows, %d by timelines" % (condition, store, text.count("\n"), expected.count("\n")))
                if store == "no index":
                    continue
                counted, notes = run(["sql", trace.path, "SELECT count(*) FROM events WHERE yore_where MATCH '%s' AND ts BETWEEN %d AND %d" % (
                    condition, begin, end - 1)], *trace.stores[store])
                if int(counted) != text.count("\n") - 1 or "leave out" in notes:
                    lines.append("%s, %s: %s rows by SQL, %s" % (condition, store, counted.strip(), notes))
        tell("%s: conditions over %g ms at %d" % (label, (end - begin) / 1e6, begin), lines)


def whole_conditions(trace, label):
    """Conditions on the state over all of the trace count what they count with timelines that were stored."""
    lines = []
    for condition in CONDITIONS:
        words = ["events", trace.path, "--where", condition, "--count"]
        counts = [run(words, *trace.stores[store])[0] for store in ("timelines", "no index", "an index")]
        if len(set(counts)) > 1:
            lines.append("%s: %s by timelines, no index, an index" % (condition, " ".join(count.strip() for count in counts)))
    tell("%s: conditions over all of the trace" % label, lines)


def once_for_all(trace, label):
    """A list with --all reads on to the trace's end and leaves checkpoints: the same list of another window begins near one, and reads on until what
    reaches over its end has ended; of a stream that begins late that is where it begins."""
    store = ["--index-dir", os.path.join(os.path.dirname(trace.path), "all")]
    for number in (1, 5, 0, 4, 2, 3):
        begin, end = trace.windows[number]
        words = ["state", trace.path, "thread[*]/state", "--all", "--begin", "@%d" % begin, "--end", "@%d" % end, "--format", "csv"]
        text, stats = run(words, "--stats", *store)
        read = json.loads(stats.splitlines()[-1])["bytes_read"]
        lines = [] if text == run(words, *trace.stores["no index"])[0] else ["another answer than without an index"]
        if number != 1 and trace.losses and read > trace.bytes // 4:
            lines.append("%d bytes of %d" % (read, trace.bytes))
        tell("%s: state --all of window %d after others (%d %%)" % (label, number, 100 * read // trace.bytes), lines)


def wakers(trace, label):
    """Who woke a thread in a window is known, though no event of the trace tells of cpu[*]/timer, which the rule for it reads."""
    for begin, end in trace.windows[1::2]:
        words = ["state", trace.path, "thread[*]/waker", "--begin", "@%d" % begin, "--end", "@%d" % end, "--format", "csv"]

        def rows(*more):
            found = [line.split(",") for line in run(words, *more)[0].splitlines()[1:]]
            return {(row[0], row[3], row[4]) for row in found if row[0].isdigit() and begin <= int(row[0]) < end}
        # where the window does not know that a value was the same before, it begins in the window
        expected = rows("--all", *trace.stores["no index"])
        lines = ["%s: %s is missing" % (at, value) for at, _, value in sorted(expected - rows(*trace.stores["no index"]))]
        tell("%s: %d wakers over %g ms at %d" % (label, len(expected), (end - begin) / 1e6, begin), lines)


def alike(trace, label):
    """Both traces of a comparison are read in the same way: a trace differs in nothing from its copy."""
    copy = trace.path + "-copy"
    shutil.copytree(trace.path, copy)
    text = run(["compare", trace.path, copy], *trace.stores["no index"])[0]
    shutil.rmtree(copy)
    tell("%s: compare with a copy" % label, [] if "\nnothing\n" in text else [text])


def size_of(folder):
    return sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))


def whole(trace, label):
    """A list over all of the trace is the same with an index as without one, and leaves no checkpoints there, which would take three times as long."""
    folder = os.path.join(os.path.dirname(trace.path), "whole")
    begin, end = trace.windows[1]
    words, lines = ["state", trace.path, "cpu[*]/thread", "--format", "csv"], []
    if run(words, "--index-dir", folder)[0] != run(words, *trace.stores["no index"])[0]:
        lines.append("another answer than without an index")
    before = size_of(folder)
    run(["state", trace.path, "thread[*]/state", "--all", "--begin", "@%d" % begin, "--end", "@%d" % end], "--index-dir", folder)
    after = size_of(folder)
    if after < 4 * before:
        lines.append("%d bytes are stored, and %d with the checkpoints of a window" % (before, after))
    tell("%s: state over all of the trace stores %d bytes" % (label, before), lines)


def main():
    if b"__asan_init" in open(yore, "rb").read():
        print("SKIP: too slow with sanitizers; tests/oracle/run.sh runs it, too")
        sys.exit(77)
    folder = tempfile.mkdtemp(prefix="yore-windows-")
    try:
        for label, options in TRACES.items():
            trace, answers = Trace(os.path.join(folder, label), options), []
            for window in trace.windows:
                check(trace, label, window, answers)
            names(trace, label)
            conditions(trace, label)
            whole_conditions(trace, label)
            two_ranges(trace, label)
            reads_once(trace, label)
            once_for_all(trace, label)
            whole(trace, label)
            wakers(trace, label)
            alike(trace, label)
            prompt(trace, label, [answer for answer in answers if answer[0][0] != "sql"][:15])
    finally:
        shutil.rmtree(folder)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()

"""What yore says of a trace, for the comparisons beside this file."""
import bisect
import collections
import json
import random
import re
import subprocess
import tempfile

Said = collections.namedtuple("Said", "events losses status messages")


def run(program, *arguments, text=None):
    return subprocess.run(
        [program, *arguments], input=text.encode() if text is not None else None,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def events(program, path, *options):
    """All events, in yore's order; numbers stay exact."""
    done = run(program, "events", path, "--all", "--format", "json", "--no-index", "--no-symbols", *options)
    found, losses = [], []
    for line in done.stdout.splitlines():
        item = json.loads(line)
        (losses if "lost" in item else found).append(item)
    messages = [line for line in done.stderr.decode(errors="replace").splitlines()
                if not line.startswith("yore: note: ")]
    return Said(found, losses, done.returncode, messages)


def other_ways(report, program, path, said):
    """The same events with an index that is made and then used, backwards, and of some ranges."""
    def again(*options):
        done = run(program, "events", path, "--all", "--format", "json", "--no-symbols", *options)
        items = [json.loads(line) for line in done.stdout.splitlines()]
        return [item for item in items if "lost" not in item]

    with tempfile.TemporaryDirectory() as folder:
        for what in ("while the index is made", "with the index"):
            if again("--index-dir", folder) != said.events:
                report.differs("other events %s" % what)
    if again("--no-index", "--reverse")[::-1] != said.events:
        report.differs("other events backwards")
    times = [item["ts"] for item in said.events if item["ts"] is not None]
    random.seed(len(times))
    for _ in range(2 if times else 0):
        begin, end = sorted((random.choice(times), random.choice(times) + random.choice((0, 1))))
        found = again("--no-index", "--begin", "@%d" % begin, "--end", "@%d" % end)
        if found != [item for item in said.events
                     if item["ts"] is not None and begin <= item["ts"] < end]:
            report.differs("other events from %d to %d" % (begin, end))


LINE = re.compile(r"^(?:-|-?\d+) (?:.*? )??(?:cpu -?\d+ )?(?:\[(?P<tid>-?\d+)(?: (?P<comm>.*?))?\] )?$")


def texts(program, path, found, symbols=False):
    """[(thread's name, text)] of each of `found`: `events --format text` goes in the same order.

    Further lines of a text begin with a tab, which is not the text's own. With `symbols`, call
    chains would be taken for such lines.
    """
    done = run(program, "events", path, "--all", "--format", "text", "--time", "ns", "--no-index",
               *([] if symbols else ["--no-symbols"]))
    said, lines = [], done.stdout.decode(errors="surrogateescape").split("\n")
    at = 0
    for item in found:
        mark = " %s:" % item["name"]
        while at < len(lines) and (lines[at].startswith("\t") or mark not in lines[at]):
            at += 1
        if at >= len(lines):
            return None
        head, text = lines[at].split(mark, 1)
        match = LINE.match(head + " ")
        if not match or head.split(" ")[0] != ("-" if item["ts"] is None else str(item["ts"])):
            return None
        at += 1
        while at < len(lines) and lines[at].startswith("\t"):
            text += "\n" + lines[at][1:]
            at += 1
        said.append((match["comm"], text[1:]))
    return said


class Names:
    """Names of threads over time: the intervals of thread[*]/name, asked once."""

    def __init__(self, program, path):
        done = run(program, "state", path, "thread[*]/name", "--format", "json", "--no-index")
        self.status, self.errors = done.returncode, done.stderr.decode(errors="replace")
        self.of = collections.defaultdict(lambda: ([], []))
        for line in done.stdout.splitlines():
            item = json.loads(line)
            key = item["path"][len("thread["):].split("]")[0]
            begins_at, values = self.of[key]
            begins_at.append(-1 << 63 if item["begin"] is None else item["begin"])
            values.append((item["value"], item["end"]))

    def at(self, thread, time):
        """What may be its name at an event: at a nanosecond at which the name changes, both."""
        begins_at, values = self.of.get(str(thread), ((), ()))
        found = set()
        for moment in (time, time - 1):
            i = bisect.bisect_right(begins_at, moment) - 1
            value, end = values[i] if i >= 0 else (None, None)
            found.add(value if end is None or moment < end else None)
            if time not in begins_at:
                break
        return found


def hexed(value):
    return "0x%x" % value if isinstance(value, int) and not isinstance(value, bool) else repr(value)


class Report:
    """Counts what agrees; keeps the first few that do not."""

    def __init__(self, case, most=6):
        self.case, self.most, self.wrong, self.facts = case, most, 0, []

    def differs(self, what):
        self.wrong += 1
        if self.wrong <= self.most:
            print("  %s: %s" % (self.case, what))

    def same(self, what, ours, theirs):
        if ours != theirs:
            self.differs("%s is %r, not %r" % (what, ours, theirs))
        return ours == theirs

    def close(self):
        print("%s %s: %s" % ("FAIL" if self.wrong else "ok  ", self.case,
                             "%d disagreements" % self.wrong if self.wrong
                             else ", ".join(self.facts)), flush=True)
        return self.wrong == 0

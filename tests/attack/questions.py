"""What is asked: every command that reads, builds or converts, and ways to ask that must give one answer."""
import collections
import os

# `wide` reads all of the trace, so that damage counts in its exit status whatever the way. What stands in OPTIONS is
# replaced by a way's options, OUT by a path that is not there yet.
Question = collections.namedtuple("Question", "words wide stdin")

OPTIONS, OUT = "OPTIONS", "out"
HERE = os.path.dirname(os.path.abspath(__file__))

REPL = b"""goto +1ms
at cpu[0]/thread
next
prev
events --limit 3
range +0s +2ms
state cpu[*]/thread
print(#trace:info().streams)
sql SELECT count(*) FROM events
when thread[*]/state=running --limit 3
goto -1ms
at
"""


def q(text, wide=False, stdin=b""):
    return Question(text.split("  "), wide, stdin)


# Words are parted by two blanks.
QUESTIONS = [
    q("info  trace"), q("info  trace  --format  json"),
    q("events  trace", True), q("events  trace  --format  json", True), q("events  trace  --format  csv", True),
    q("events  trace  --reverse  --limit  50"), q("events  trace  --reverse  --format  csv", True),
    q("events  trace  --count", True), q("events  trace  --count  --where  cpu == 0"),
    q("events  trace  --name  *switch*,*wake*  --limit  40"), q("events  trace  --begin  +1ms  --end  +3ms"),
    q("events  trace  --around  +1ms  --symbols  --format  json"), q("events  trace  --lines  --limit  20"),
    q("events  trace  --tid  1-100000  --limit  20"), q("events  trace  --comm  *  --limit  20"),
    q("events  trace  --where  cpu[cpu]/thread > 0  --limit  20"),
    q("at  trace  +1ms"), q("at  trace  +1ms  cpu[*]/thread  --why"), q("at  trace  -1ms  **  --before  --format  json"),
    q("at  trace  -  cpu[*]/thread  --format  csv", False, b"+0s\n+1ms\n+2ms\n+500us\n-1ms\n+1h\n-1h\n"),
    q("state  trace  cpu[*]/thread"), q("state  trace  **  --format  json", True),
    q("state  trace  thread[*]/state  --begin  +1ms  --end  +2ms"),
    q("when  trace  thread[*]/state=blocked", True), q("when  trace  cpu[*]/thread=0  --limit  5"),
    q("longest  trace  thread[*]/state"), q("longest  trace  cpu[*]/thread  --limit  3  --format  json"),
    q("diff  trace  +1ms  -1ms"), q("diff  trace  +0s  +2ms  thread[*]/**  --before"),
    q("stats  trace", True), q("stats  trace  --by  stream  --format  json", True),
    q("stats  trace  --begin  +1ms  --end  +5ms"), q("check  trace", True), q("check  trace  --state", True),
    q("dump  trace"), q("dump  trace  --format  json"), q("dump  trace  --at  4096"), q("dump  trace  --at  70000"),
    q("timeline  trace  cpu[*]/thread"), q("timeline  trace  thread[*]/state  --width  120"),
    q("timeline  trace  cpu[*]/thread  --svg  out"), q("timeline  trace  **  --begin  +1ms  --end  +2ms"),
    q("sql  trace  SELECT name, count(*), min(ts), max(ts) FROM events GROUP BY name", True),
    q("sql  trace  SELECT * FROM events", True), q("sql  trace  SELECT * FROM packets"),
    q("sql  trace  SELECT * FROM state LIMIT 200"), q("sql  trace  SELECT * FROM losses"),
    q("sql  trace  SELECT cpu, count(*), sum(ts % 1000) FROM events WHERE ts > ts('+1ms') GROUP BY cpu"),
    q("sql  trace  SELECT * FROM streams", False), q("sql  trace", False, b".tables\n.schema\nSELECT * FROM classes;\n"),
    q("convert  trace  out  --to  parquet", True), q("convert  trace  out  --to  csv", True),
    q("convert  trace  out  --to  sqlite", True), q("convert  trace  out  --to  chrome", True),
    q("convert  trace  out  --to  perfetto", True), q("convert  trace  out  **  --to  perfetto  --compress  zstd", True),
    q("convert  trace  out  --to  ctf", True), q("convert  trace  out  --to  ctf2", True),
    q("convert  trace  out  --to  ctf  --name  *switch*,*wake*  --no-state"),
    q("convert  trace  out  --to  trace.dat", True), q("convert  trace  out  --to  prv", True),
    q("convert  trace  out  --to  folded", True), q("convert  trace  -  --to  chrome  --no-state", True),
    q("aux  trace  out"), q("aux  trace  out  --decode  --format  json"),
    q("run  OPTIONS  cputop  trace"), q("run  OPTIONS  switches  trace"), q("run  OPTIONS  flamegraph  trace"),
    q("latency  trace"), q("latency  trace  log  --begin  +1ms  --end  +3ms"), q("sched  trace"), q("offcpu  trace  log"),
    q("syscalls  trace  threads"), q("irq  trace"), q("io  trace"), q("gaps  trace"), q("migrations  trace  log"),
    q("do  trace  * { @[probe] = count(); }"), q("do  trace  * { @t[cpu] = hist(nsecs); @[cpu[cpu]/thread] = count(); }"),
    q("do  trace  *switch* { @[comm, tid, cpu] = count(); @last = nsecs; }"),
    q("run  OPTIONS  " + os.path.join(HERE, "everything.lua") + "  trace"),
    q("rules  --check  " + os.path.join(HERE, "..", "..", "state", "rules", "linux.rules") + "  trace"),
    q("explain  at  trace  +1ms  cpu[*]/thread"), q("repl  trace", False, REPL),
]
WAYS = {
    "alone": ["--no-index", "--jobs", "1"],
    "threads": ["--no-index", "--jobs", "4"],
    "index": ["--index-dir", "index", "--jobs", "1"],
    "index, threads": ["--index-dir", "index", "--jobs", "4"],
}
# The way of evaluation, cost and stored records differ by the way of asking, and are right so.
NOT_COMPARED = ("explain",)


def words_of(question, way):
    options = WAYS[way]
    if question.words[0] == "rules":
        return question.words  # which has none of these options
    if OPTIONS in question.words:
        at = question.words.index(OPTIONS)
        return question.words[:at] + options + question.words[at + 1:]
    return question.words + options


def differs(question, one, other):
    """What two answers to a question differ in; None when they are one. Statuses 0 and 3 may differ where only
    a part of the trace was read."""
    if question.words[0] in NOT_COMPARED:
        return None
    if one.status != other.status and not (not question.wide and {one.status, other.status} == {0, 3}):
        return "exit status %d and %d" % (one.status, other.status)
    if one.out != other.out:
        return "output"
    return None

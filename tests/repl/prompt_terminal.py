#!/usr/bin/python3
"""The prompt on a pseudo-terminal: keys, completion, Ctrl-C, a terminal that changes, paging, errors."""
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from results import finish, result, startup, top, yore
from terminal import Terminal

demo = os.path.join(top, "fixtures/golden/sched-demo")
PROMPT = r"^yore( [0-9][^\n]*| \[[^\n]*)?> "
UP, LEFT, TAB, ENTER, CTRL_A, CTRL_C, CTRL_D = "\x1b[A", "\x1b[D", "\t", "\r", "\x01", "\x03", "\x04"


class Prompt(Terminal):
    def __init__(self, trace=demo, **more):
        super().__init__([yore, trace], **more)
        self.banner = self.wait("yore> ")

    def ask(self, line):
        """What is shown between the line and the next prompt, which is `found`."""
        self.keys(line + ENTER)
        if self.wait(line + "\n") is None:
            return None
        return self.wait_for(PROMPT)

    def leave(self):
        self.keys("\x15exit" + ENTER)
        return self.all()


def check_banner():
    prompt = Prompt(columns=100)
    result("sched-demo: ctf 1.8, 2 streams, 27 event classes\n" in prompt.banner, "the banner says what it is", prompt.banner)
    result("00:35:20.797350827 to 00:35:20.811069283" in prompt.banner, "and its range", prompt.banner)
    result("knows cpu[*]/thread" in prompt.banner, "and what it can answer", prompt.banner)
    result(max(len(line) for line in prompt.banner.splitlines()) <= 100 and
           all(line.strip().count("[") == line.count("]") for line in prompt.banner.splitlines()), "in lines that fit", prompt.banner)
    prompt.ask("goto +5ms")
    result(prompt.found == "yore 00:35:20.802350827> ", "the moment stands in the prompt")
    prompt.ask("range +4ms +6ms")
    result(prompt.found == "yore 00:35:20.802350827 [00:35:20.801350827 to 00:35:20.803350827]> ", "so does the range")
    prompt.ask("range off")
    prompt.ask("mark here +6ms")
    prompt.ask("goto here-1ms")
    result(prompt.found == "yore 00:35:20.802350827> ", "a mark and a span are a moment")
    prompt.ask("range .-1ms .+1ms")
    result(prompt.found == "yore 00:35:20.802350827 [00:35:20.801350827 to 00:35:20.803350827]> ", "so are . and a span")
    prompt.ask("range off")
    first = prompt.ask("next sched_switch")
    again = prompt.ask("")
    result("00:35:20.802384853" in first and "00:35:20.802418493" in again, "Enter repeats next", (first, again))
    _, status = prompt.leave()
    result(status == 0, "exit leaves")


def check_keys():
    prompt = Prompt()
    prompt.keys("vents --count" + CTRL_A + "e" + ENTER)
    prompt.wait("\n")
    result(prompt.wait("yore> ") == "955\n", "a line is edited")
    prompt.keys(UP + ENTER)
    prompt.wait("events --count\n")
    result(prompt.wait("yore> ") == "955\n", "a line of before is asked again")
    prompt.keys("SELECT count(*)," + ENTER + "min(cpu) FROM sched_switch" + ENTER + "WHERE cpu = 1;" + ENTER)
    shown = prompt.wait("yore> ")
    result(shown.endswith("69         1\n"), "a statement goes over lines", shown)
    prompt.keys("SELECT next_pid, count(*)" + ENTER + "FROM sched_switch" + ENTER + "WHERE next_pid = 10893 GROUP BY 1;" + ENTER)
    shown = prompt.wait("yore> ")
    result(shown.endswith("   10893        25\n") and "no such column" not in shown, "a SELECT waits for its FROM", shown)
    prompt.ask("SELECT next_comm FROM sched_switch WHERE next_pid = 10893")
    shown = prompt.ask("AND ts > ts('+5ms') LIMIT 1;")
    result(shown == "next_comm\ndemo-sleep\n", "a clause goes on with the statement before", shown)
    shown = prompt.ask("LIMIT 1")
    result("syntax error" in shown, "which may then be wrong", shown)
    prompt.keys("SELECT 1,")
    prompt.keys(ENTER)
    prompt.wait("  ... ")
    prompt.keys("2" + CTRL_C)
    prompt.wait("^C\n")
    result(prompt.wait("yore> ") == "", "Ctrl-C drops a statement")
    prompt.keys("\x1b[200~goto +5ms\nnext sched_switch\nSELECT 40 +\n2;\x1b[201~" + ENTER)
    shown = prompt.wait("42\n") or ""
    result("00:35:20.802384853 perf_stream_0 cpu 0 sched:sched_switch" in shown, "commands that are pasted at once are run one by one", shown)
    prompt.wait_for(PROMPT)  # until then the terminal itself takes Ctrl-D
    prompt.keys(CTRL_D)
    shown, status = prompt.all()
    result(status == 0, "the end of input leaves")


def complete(prompt, text):
    """The line after Tab."""
    prompt.keys("\x15" + text + TAB)
    prompt.wait(text)
    prompt.keys("@")
    added = prompt.wait("@")
    prompt.keys("\x15")
    return text + (added or "").replace("\x07", "")


def yore_keys(time):
    """Threads that have some state then, by `yore at`."""
    told = subprocess.run([yore, "at", demo, time, "thread[*]/state"], check=True, stdout=subprocess.PIPE, text=True)
    return set(re.findall(r"thread\[(\d+)\]", told.stdout))


def check_completion():
    prompt = Prompt(columns=120)
    for typed, wanted, name in (
            ("longe", "longest ", "a command"),
            ("events --nam", "events --name ", "an option"),
            ("next sched_process_fo", "next sched_process_fork ", "an event"),
            ("at cpu[1]/thr", "at cpu[1]/thread ", "an attribute behind its key"),
            ("watch thread[7]/sysc", "watch thread[7]/syscall ", "an attribute to watch"),
            ("SELECT * FROM thread_", "SELECT * FROM thread_state ", "a table"),
            ("SELECT max(latency) FROM wakeups WHERE waker_c", "SELECT max(latency) FROM wakeups WHERE waker_comm ", "a column"),
            ("select count(*) from events ord", "select count(*) from events order by ", "a word of SQL"),
            ("latency to", "latency top ", "a word of an analysis"),
            ("latency top --lim", "latency top --limit ", "an option of an analysis"),
            ("periods --unt", "periods --until", "options of an analysis"),
            ("latency --format la", "latency --format lami ", "a value of an option of an analysis"),
            ("latency --where 'ki", "latency --where 'kind'", "a column of an analysis"),
            (".format js", ".format json ", "a value of a setting"),
            (".outp", ".output ", "a setting"),
            ("events --format cs", "events --format csv ", "a value of an option"),
            ("events --where 'next_comm == \"demo-sl", "events --where 'next_comm == \"demo-sleep\"", "a value of a field"),
            ("events --where 'name == \"sched_process_ex", "events --where 'name == \"sched_process_ex", "an event as a value"),
            ("when thread[*]/state=ready --on 'du", "when thread[*]/state=ready --on 'dur'", "a column of intervals"),
            ("when thread[*]/state=ready --until 'comm == \"demo-sl", "when thread[*]/state=ready --until 'comm == \"demo-sleep\"", "a name as a value"),
            ("next --where 'pid==1089", "next --where 'pid==1089", "a number of several"),
            ("next --where 'pid==10893", "next --where 'pid==10893 ", "a number"),
            ("at thread[1089", "at thread[1089", "a key of several"),
            ("at thread[10893]/stat", "at thread[10893]/state ", "an attribute of a key"),
            ("convert out --to parq", "convert out --to parquet ", "a format to convert to"),
            ("convert out --compress gz", "convert out --compress gzip ", "how to compress"),
            ("latency --sort p9", "latency --sort p99 ", "a column to sort by"),
            ("latency top --sort -waker_c", "latency top --sort -waker_comm ", "a column of a word of an analysis, the other way"),
            ("io disks --sort dis", "io disks --sort disk ", "a column of an analysis that the trace has no events for"),
            ("do 'sched_process_fo", "do 'sched_process_fork", "an event of a one-liner"),
            ("do 'tracepoint:sched:sched_process_fo", "do 'tracepoint:sched:sched_process_fork", "as bpftrace names it"),
            ("do 'sched_switch { @[prev_com", "do 'sched_switch { @[prev_comm", "a field of a one-liner"),
            ("do 'sched_switch /next_pri", "do 'sched_switch /next_prio", "a field of its predicate"),
            ("do 'sched_switch { @ = count(); } sched_process_fo", "do 'sched_switch { @ = count(); } sched_process_fork", "its second event"),
            ("trace:even", "trace:events", "a method of Lua")):
        shown = complete(prompt, typed)
        result(shown.strip() == wanted.strip(), name + " is completed", shown)
    prompt.ask("goto +5ms")
    known = yore_keys("+5ms")
    prompt.keys("\x15at thread[" + TAB + TAB)
    prompt.wait("at thread[")
    shown = prompt.wait("at thread[") or ""
    listed = set(re.findall(r"thread\[(\d+)\]", shown))
    result(len(known) > 5 and listed == known, "the keys of the moment are listed", (listed, known, shown))
    prompt.keys("\x15")
    prompt.ask("mark halfway")
    shown = complete(prompt, "goto half")
    result(shown.strip() == "goto halfway", "a mark is completed", shown)
    prompt.leave()


def check_growth():
    """Files that a tracer writes on while the prompt is open."""
    made = os.path.join(top, "tests/lua/made_kernel.py")
    with tempfile.TemporaryDirectory() as folder:
        half, whole = folder + "/half", folder + "/whole"
        counts = [subprocess.run([made, to, *words], check=True, stdout=subprocess.PIPE, text=True).stdout
                  for to, words in ((half, ["half"]), (whole, []))]
        prompt = Prompt(half + "/trace", columns=150)
        shown = prompt.ask("events --count")
        result(shown == counts[0], "what was written so far", shown)
        prompt.ask("old = trace")
        added = 0
        for name in ("cpu_0", "cpu_1"):
            with open("%s/trace/%s" % (whole, name), "rb") as source, open("%s/trace/%s" % (half, name), "r+b") as to:
                more = source.read()[len(to.read()):]
                to.write(more)
                added += len(more)
        shown = prompt.ask("events --count")
        result("note: the trace grew by %d bytes since it was opened: 'refresh' takes them up\n" % added in shown and
               shown.endswith("\n" + counts[0]), "growth is told, the answer is of what was opened", shown)
        result(prompt.ask("events --count") == counts[0], "and told once")
        prompt.ask("mark here +1ms")
        shown = prompt.ask("refresh")
        result(shown.startswith("00:00:01.000001007 to 00:00:01.00"), "refresh says the range", shown)
        result(prompt.ask("events --count") == counts[1], "refresh takes it up")
        result(counts[1].strip() in prompt.ask("SELECT count(*) FROM events"), "SQL has it, too")
        shown = prompt.ask("#trace:info().streams, trace:bounds()")
        result(shown.startswith("2\t1000001007\t"), "so has Lua", shown)
        shown = prompt.ask("old:bounds()")
        result("the trace is closed" in shown, "what was kept of the old one is closed", shown)
        result("goto 00:00:01.001001007" in "goto " + prompt.ask("goto here"), "marks stay")
        prompt.leave()


def check_follow():
    """`follow COMMAND` repeats its answer while files grow."""
    with tempfile.TemporaryDirectory() as folder:
        whole, growing = folder + "/whole", folder + "/growing"
        subprocess.run([os.path.join(os.environ.get("top_builddir", "."), "fixtures", "yore-gen"), "--out", whole, "--size", "40K", "--packet-size", "2K",
                        "--cpus", "2", "--no-truth"], check=True, stdout=subprocess.DEVNULL)
        counts = []
        for part in (4096, None):
            os.makedirs(growing, exist_ok=True)
            for name in os.listdir(whole):
                with open(os.path.join(whole, name), "rb") as source, open(os.path.join(growing, name), "wb") as to:
                    to.write(source.read()[:None if name == "metadata" else part])
            counts.append(subprocess.run([yore, "events", growing, "--count"], check=True, stdout=subprocess.PIPE, text=True).stdout)
        for name in os.listdir(growing):
            if name != "metadata":
                os.truncate(os.path.join(growing, name), 4096)
        prompt = Prompt(growing, columns=150)
        for line, said in (("follow", "a command is missing"), ("follow goto +1ms", "answers nothing"), ("follow nothing", "no such command"),
                           ("follow stats > " + folder + "/out", "draws on a terminal"), ("follow events --nome x", "no such option")):
            shown = prompt.ask(line)
            result(shown and said in shown, "refused: " + line.split(" >")[0], shown)
        prompt.ask("old = trace")
        prompt.keys("follow events --count --begin +0" + ENTER)
        first = prompt.wait("\n" + counts[0])
        for name in ("channel0_0", "channel0_1"):
            with open(os.path.join(whole, name), "rb") as source, open(os.path.join(growing, name), "ab") as to:
                more = source.read()[4096:]
                to.write(more[:7])  # a packet that is not whole is no damage
                to.flush()
                to.write(more[7:])
        second = prompt.wait(counts[1])
        result(first is not None and second is not None, "follow repeats a command as files grow", prompt.shown[-300:])
        prompt.keys(ENTER)
        left = prompt.wait_for(PROMPT)
        result(left is not None and "damage" not in prompt.shown, "Enter ends it", left)
        result(prompt.ask("events --count") == counts[1], "what it took up stays open")
        result("the trace is closed" in prompt.ask("old:bounds()"), "what scripts had of it is closed")
        prompt.keys("follow switches --limit 1" + ENTER)
        result(prompt.wait("threads\n") is not None, "an analysis is followed, too", prompt.shown[-300:])
        time.sleep(0.3)
        prompt.keys(CTRL_C)
        result(prompt.wait_for(PROMPT) is not None, "Ctrl-C ends it")
        shown = prompt.ask("#trace:info().streams")
        result(shown == "2\n", "and Lua has the trace", shown)
        prompt.leave()
    piped = subprocess.run([yore, demo], input=b"follow stats\n", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    result(piped.returncode == 1 and b"draws on a terminal" in piped.stderr, "without a terminal it is refused", piped.stderr)


def check_last():
    prompt = Prompt()
    prompt.ask("6 * 7")
    result(prompt.ask("_ + 1") == "43\n", "_ is the last value")
    prompt.ask("latency --limit 1")
    result(prompt.ask("#_.woken, _.woken[1].comm").startswith("6\tdemo-sleep"), "and the rows of an analysis", prompt.ask("_"))
    prompt.leave()


def begun(prompt, seconds):
    """The question that was just asked is being answered."""
    end = time.monotonic() + max(seconds, 4 * startup())
    while time.monotonic() < end:
        prompt.read(end - time.monotonic())


def check_interrupts():
    prompt = Prompt()
    prompt.keys("SELECT count(*) FROM events a, events b, events c, events d WHERE a.fields > b.fields || c.ts" + ENTER)
    prompt.wait("c.ts")
    begun(prompt, 0.7)
    prompt.keys(CTRL_C)
    shown = prompt.wait("yore> ")
    result(shown is not None and "interrupted" in shown, "Ctrl-C ends a long statement", shown)
    prompt.keys("while true do end" + ENTER)
    begun(prompt, 0.5)
    prompt.keys(CTRL_C)
    shown = prompt.wait("yore> ")
    result(shown is not None and "interrupted" in shown, "and a loop of Lua", shown)
    result(prompt.ask("events --count") == "955\n", "the prompt goes on")
    prompt.leave()


def check_size():
    prompt = Prompt(columns=100)
    wide = prompt.ask("SELECT * FROM events LIMIT 3")
    prompt.resize(24, 76)
    prompt.read(0.3)
    narrow = prompt.ask("SELECT * FROM events LIMIT 3")
    longest = lambda text: max(len(line) for line in text.splitlines())
    result(76 < longest(wide) <= 100 and longest(narrow) <= 76, "a table fits the terminal as it is now", (wide, narrow))
    prompt.leave()


def check_paging(work):
    pager = os.path.join(work, "pager")
    with open(pager, "w") as file:
        file.write("#!/bin/sh\nwc -l >'%s/lines'\necho PAGED\n" % work)
    os.chmod(pager, 0o755)
    prompt = Prompt(environment={"PAGER": pager})
    shown = prompt.ask("for i = 1, 10000 do print(i) end")
    with open(os.path.join(work, "lines")) as file:
        lines = int(file.read())
    result(shown == "PAGED\n" and lines == 10000, "10,000 lines are paged", (shown, lines))
    shown = prompt.ask("for i = 1, 10 do print(i) end")
    result(shown == "".join(f"{i}\n" for i in range(1, 11)), "ten are not", shown)
    prompt.leave()
    prompt = Prompt(environment={"PAGER": "head -n 2 | cut -c 1-20"})
    shown = prompt.ask("SELECT a.ts FROM events a, events b, events c")
    result(shown is not None and len(shown.splitlines()) == 2, "a pager that is left ends the question", shown)
    prompt.leave()


def check_output(work):
    path = os.path.join(work, "answer.txt")
    before = os.getcwd()
    os.chdir(work)
    prompt = Prompt()
    os.chdir(before)
    result(prompt.ask(f"SELECT ts FROM events ORDER BY ts LIMIT 2 > {path}") == "", "an answer goes to a file")
    with open(path) as file:
        result(file.read() == "2120797350827\n2120797356455\n", "and is text there")
    for end in ("LIMIT 1 > answer.csv", "WHERE cpu = 1 LIMIT 1 > ./answer", "WHERE cpu = 0 LIMIT 1 >> ./answer"):
        shown = prompt.ask("SELECT cpu FROM sched_switch " + end)
        result(shown == "" and os.path.exists(os.path.join(work, end.split()[-1])), "SQL goes to a file: " + end, shown)
    with open(os.path.join(work, "answer")) as file:
        result(file.read() == "1\n0\n", "and >> adds to it")
    shown = prompt.ask("SELECT cpu FROM sched_switch WHERE cpu > nxt")
    result("no such column: nxt" in shown and not os.path.exists(os.path.join(work, "nxt")), "a mistyped comparison makes no file", shown)
    result(prompt.ask("events --count | tr 5 6") == "966\n", "an answer goes to a command")
    result(prompt.ask("!echo out; exit 3") == "out\n", "a command of the shell")
    shown = prompt.ask(f"events --count > {work}/none/of/it")
    result("No such file" in shown, "a file that cannot be written is told", shown)
    prompt.ask(".timer on")
    for question in ("events --count", "SELECT 3", "1 + 1", "cputop cpus"):
        shown = prompt.ask(question)
        result(re.search(r"\ntime: real \d+\.\d{6} s, user ", shown), f".timer tells how long {question} took", shown)
    result(prompt.ask(".timer").startswith("on\n"), "a setting alone shows what it is")
    prompt.ask(".timer off")
    result(prompt.ask("events --count") == "955\n", "and no longer when it is off")
    shown = prompt.ask("help cputop")
    result("cputop: busy time" in shown and "--where EXPR" in shown, "help of an analysis has all about it", shown)
    prompt.leave()


def check_errors():
    prompt = Prompt(columns=160)
    for line, words in (("evnets --count", 'did you mean "events"?'), ("SELECT next_pod FROM sched_switch", 'did you mean "next_pid"'),
                        ("SELECT * FROM thread_stat", 'did you mean "thread_state"'), (".formatt json", 'did you mean "format"'),
                        ("goto nowhere", "not a time"), ("watch cpu[0]/thraed", "thread"), ("mark 7up", "no name")):
        shown = prompt.ask(line)
        result(shown is not None and words in shown and shown.count("yore: ") <= 1, f"{line} is told", shown)
    prompt.leave()


def main():
    with tempfile.TemporaryDirectory() as work:
        os.environ.update(XDG_CACHE_HOME=work, XDG_STATE_HOME=work, XDG_CONFIG_HOME=work, PAGER="cat", LC_ALL="C.UTF-8",
                          TZ="UTC", YORE_LUA_DIR=os.path.join(top, "lua-lib"))
        check_banner()
        check_keys()
        check_completion()
        check_growth()
        check_follow()
        check_last()
        check_interrupts()
        check_size()
        check_paging(work)
        check_output(work)
        check_errors()
    finish()


main()

#!/usr/bin/env python3
"""Analyses say with two, five or eight threads what they say with one, byte by byte, and count what a loop over all events counts.

Generated traces have many packets in each stream; some have losses, packets that overlap or that lie about their times, streams
that begin late or end early, bytes that were changed, or another trace beside them. Only which of several packets with falling
times is told first depends on threads. YORE_PROPERTY_SECONDS bounds the time.
"""
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the source tree may be read-only, and stays clean
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "repl"))
import spoilt_traces
from results import HANGS, finish, result, top, yore

SECONDS = float(os.environ.get("YORE_PROPERTY_SECONDS", "25"))
KEEP = os.environ.get("YORE_KEEP")  # a folder for traces that fail
SEED = int(os.environ.get("YORE_SEED", "1"))
LARGE, SMALL = "14M", "200K"
ANALYSES = (["switches"], ["syscalls"], ["syscalls", "threads"], ["syscalls", "errors"],
            ["syscalls", "log", "--limit", "2000"], ["syscalls", "--where", 'name == "read"'], ["irq"], ["irq", "--cpu", "1"], ["irq", "log", "--limit", "2000"], ["io"],
            ["migrations"], ["migrations", "log"],
            ["periods", "--from", "sched_waking", "--until", "sched_switch", "--key", "payload/tid", "--until-key", "payload/next_tid"],
            ["periods", "--from", "syscall_entry_*", "--until", "syscall_exit_*", "--key", "cpu", "--nested"])
# Pairs with conditions, names compared, numbers compared, keys of several columns, nested, moments; each segment and what is left out.
PAIRS = """
local function text_of(found)
	local lines = {}
	local function add(...)
		local words = table.pack(...)
		for i = 1, words.n do
			words[i] = tostring(words[i])
		end
		lines[#lines + 1] = table.concat(words, "\\t")
	end
	for _, row in ipairs(found:rows(1, 20000)) do
		add(row.begin, row["end"], row.key, row.value, row.comm, row.prio, row.who, row.ret)
	end
	add(#found, found.losses, found.unbegun)
	local words = {}
	for why, count in pairs(found:left()) do
		words[#words + 1] = why .. "=" .. (type(count) == "table" and "all" or count)
		for name, each in pairs(type(count) == "table" and count or {}) do
			words[#words + 1] = tostring(name) .. "=" .. each
		end
	end
	table.sort(words)
	lines[#lines + 1] = table.concat(words, " ")
	return table.concat(lines, "\\n")
end
local fields = { comm = "begin next_comm", prio = "end next_prio | prev_prio", who = "begin cpu" }
print(text_of(trace:segments{ begin = "sched_switch", finish = "sched_switch", key = "cpu + next_tid", finish_key = "cpu + prev_tid", fields = fields,
	where = "(next_tid & 3) != 1 || cpu == 0" }))
local kinds = {
	{ begin = "sched_switch", finish = "sched_switch", key = "next_tid", finish_key = "prev_tid", fields = fields },
	{ begin = "sched_waking", finish = "sched_switch", key = "tid", finish_key = "next_tid", same = "prio | next_prio", nested = true },
	{ begin = "syscall_entry_*", finish = "syscall_exit_*", key = "cpu", same_name = { "syscall_entry_", "syscall_exit_" }, fields = { ret = "end ret" } },
	{ begin = "sched_switch", begin_where = "prev_state != 0 && next_prio < 130", finish = "sched_wak*", finish_where = 'comm ~ "*e*"',
		key = "(prev_tid & 0xff) | (tid & 0xff)", fields = { comm = "begin substr(next_comm, 1, 3)", who = "end (tid + cpu) | cpu" } },
	{ begin = "sched_switch", finish = "sched_switch", key = "cpu", fields = fields },
	{ begin = "sched_switch", finish = "sched_wak*", key = "cpu[cpu]/thread", not_idle = true, nested = true, fields = { prio = "end prio", who = "begin cpu[cpu]/thread" },
		threads = function() return trace:segments{ path = "cpu[*]/thread" } end },
	{ at = { "sched_migrate_task", "sched_wak*" }, key = "tid | pid", fields = { comm = "begin comm", prio = "begin prio" } },
	{ begin = "irq_handler_entry", finish = "irq_handler_exit", key = "cpu", fields = { who = "begin irq" } } }
local alone = {}
for i, kind in ipairs(kinds) do
	alone[i] = text_of(trace:segments(kind))
	print(alone[i])
end
-- several kinds in one reading: the same
for _, numbers in ipairs{ { 1, 2, 3, 4 }, { 5, 6, 7, 8 }, { 8, 3 }, { 3, 7 }, { 6, 1 } } do
	local list = {}
	for i, number in ipairs(numbers) do
		list[i] = kinds[number]
	end
	for i, found in ipairs{ trace:segments(list) } do
		assert(text_of(found) == alone[numbers[i]], "kind " .. numbers[i] .. " of " .. table.concat(numbers, " "))
	end
end
"""
RANGES = ([], [], [], ["--begin", "+20ms"], ["--end", "-20ms"], ["--no-index"])


def windows(words):
    """Did threads read windows of time?"""
    ended = subprocess.run([yore, words[0], "--jobs", "8", "--debug=cursor", *words[1:]], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=HANGS,
                           check=False)
    return b"windows on 8 threads" in ended.stderr


def run(words, jobs):
    """Status, output and what was said, in any order."""
    ended = subprocess.run([yore, words[0], "--jobs", str(jobs), *words[1:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=HANGS, check=False)
    said = sorted(re.sub("packet at offset .*time steps back by .* at event [0-9]+", "some packet: time steps back", line)
                  for line in ended.stderr.decode(errors="replace").splitlines())
    return ended.returncode, ended.stdout.decode(errors="replace"), said


def keep(trace, good):
    if not good and KEEP:
        shutil.copytree(trace, os.path.join(KEEP, os.path.basename(trace)), dirs_exist_ok=True)


def differences(one, many):
    if one[0] != many[0] or one[2] != many[2]:
        return one[0], one[2], many[0], many[2]
    return [pair for pair in zip(one[1].splitlines(), many[1].splitlines()) if pair[0] != pair[1]][:3]


def compare(trace, what, words):
    if "--no-index" not in words:  # else what one run stores is another table for the next one
        subprocess.run([yore, "index", trace], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    words = [*words, trace] if words[0] == "run" else [words[0], trace, *words[1:]]
    one = run(words, 1)
    for jobs in (2, 5, 8):
        many = run(words, jobs)
        keep(trace, one == many)
        name = " ".join(word for word in what + words if not word.startswith("/"))
        result(one == many and one[0] in (0, 3), "%s: of %d threads as with one" % (name, jobs), differences(one, many))


def count(trace, what, more=()):
    """Groups and their order, of all jobs as in a loop."""
    for jobs in (1, 5):
        ended = run(["run", os.path.join(top, "tests", "lua", "counts_agree.lua"), trace, "2", "--no-index", *more], jobs)
        keep(trace, ended[0] in (0, 3))
        result(ended[0] in (0, 3), "%s: counts of %d threads are those of a loop" % (" ".join(["counts"] + what), jobs), ended)


def equal_times(work):
    """A stream twice: each event has one of the same time in another stream."""
    trace = os.path.join(work, "twins")
    spoilt_traces.generate(trace, SMALL, SEED, [])
    shutil.copy(os.path.join(trace, "channel0_1"), os.path.join(trace, "channel0_0x"))
    count(trace, ["of equal times"])


LAST_NAMES = """
local last = {}
for ev in trace:events{ name = "sched_switch" } do
	last[ev.fields.next_tid] = ev.fields.next_comm
end
for tid, comm in pairs(last) do
	print(tid .. "," .. comm)
end
"""


def last_names(work):
    """`switches` names a thread as its last event does, where several threads had its id one after the other."""
    trace, script = os.path.join(work, "reused"), os.path.join(work, "last.lua")
    spoilt_traces.generate(trace, "8M", 1, ["--cpus", "4", "--threads", "16"])
    with open(script, "w", encoding="utf-8") as out:
        out.write(LAST_NAMES)
    expected = sorted(run(["run", script, trace], 1)[1].splitlines())
    for more in ([], ["--where", "cpu >= 0"]):
        for jobs in (1, 5):
            rows = run(["switches", trace, "threads", "--format", "csv", *more], jobs)[1].splitlines()[1:]
            found = sorted(row[: row.index(",")] + row[row.rindex(","):] for row in rows)
            result(found == expected and len(found) > 100, "switches %s of %d threads: names of last events" % (" ".join(more), jobs),
                   set(found) ^ set(expected))


LOSSES = """
for ev in trace:events{ losses = %s } do
	if not ev.name then
		print(ev.ts, ev.lost_until, ev.lost, ev.cpu, ev.stream)
	end
end
"""


def losses_alone(work):
    """Losses without events are those between the events, and no packet is read for them."""
    trace, script, rows = os.path.join(work, "lossy"), os.path.join(work, "losses.lua"), []
    spoilt_traces.generate(trace, LARGE, SEED, ["--lose", "0.1"])
    for which in ("true", '"only"'):
        with open(script, "w", encoding="utf-8") as out:
            out.write(LOSSES % which)
        status, printed, said = run(["run", "--stats", script, trace], 2)
        rows.append(printed)
    read = int(re.search(r'"bytes_read":([0-9]+)', " ".join(said))[1])
    result(status == 0 and rows[0] == rows[1] and rows[0].count("\n") > 20 and read < 1 << 20, "losses alone", (rows, said))


def wide_texts(work):
    """Two texts in UTF-16 are a key: each is decoded to a memory of its own."""
    trace = os.path.join(work, "wide")
    text = {"type": "static-length-string", "length": 4, "encoding": "utf-16le"}
    payload = [{"name": name, "field-class": text} for name in ("a", "b")]
    os.mkdir(trace)
    with open(os.path.join(trace, "metadata"), "w", encoding="utf-8") as out:
        for fragment in ({"type": "preamble", "version": 2}, {"type": "data-stream-class"},
                         {"type": "event-record-class", "payload-field-class": {"type": "structure", "member-classes": payload}}):
            out.write("\x1e%s\n" % json.dumps(fragment))
    with open(os.path.join(trace, "stream"), "wb") as out:
        out.write("abcdabefabcd".encode("utf-16le"))
    script = os.path.join(work, "wide.lua")
    with open(script, "w", encoding="utf-8") as out:
        out.write('for _, by in ipairs{ { "a", "b" }, { "a", "b", "cpu[cpu]/thread" } } do\n'
                  'for _, row in ipairs(trace:count_by{ by = by }) do print(row.a, row.b, row.count) end end')
    _, printed, said = run(["run", script, trace, "--no-index"], 2)
    result(printed == 2 * "ab\tcd\t2\nab\tef\t1\n" and not said, "two texts in UTF-16 as a key", (printed, said))


def errors_meanwhile(work):
    """The function `threads` is called while threads read: its errors end them, and the trace stays open until then."""
    trace, script = os.path.join(work, "late"), os.path.join(work, "errors.lua")
    spoilt_traces.generate(trace, LARGE, SEED, ["--late-stream", "--ended-stream"])
    with open(script, "w", encoding="utf-8") as out:
        out.write('''
for _, threads in ipairs{ function() error("no threads", 0) end, function() return 3 end, function() trace:close() end,
		function() return trace:segments{ path = "cpu[*]/thread" } end } do
	local moments = { at = "sched_switch", key = "cpu" }
	local ok, message, found = pcall(trace.segments, trace, { moments, { begin = "sched_switch", finish = "sched_switch", key = "next_tid",
		finish_key = "prev_tid", threads = threads }, moments })
	print(ok and #found or message)
end''')
    _, printed, said = run(["run", script, trace, "--no-index"], 8)
    lines = printed.splitlines()
    good = len(lines) == 4 and lines[0] == "no threads" and "expected" in lines[1] and lines[2].endswith("the trace is answering a question")
    result(good and int(lines[3]) > 1000, "errors while threads read", (printed, said))


def main():
    chance, began, done = random.Random(SEED), time.monotonic(), 0
    with tempfile.TemporaryDirectory(prefix="yore-test-") as work:
        os.environ["YORE_INDEX_DIR"] = os.path.join(work, "index")
        os.environ["YORE_JOBS_MOST"] = "8"  # on machines with fewer processors, too
        script = os.path.join(work, "pairs.lua")
        pairs = ["run", script]
        with open(script, "w", encoding="utf-8") as out:
            out.write(PAIRS)
        equal_times(work)
        last_names(work)
        losses_alone(work)
        wide_texts(work)
        errors_meanwhile(work)
        while done < 3 or time.monotonic() - began < SECONDS:
            kind = chance.choice(spoilt_traces.KINDS) if done else []
            for size, name in ((SMALL, "small"), (LARGE, "large")):
                trace = os.path.join(work, name + str(done))
                spoilt_traces.generate(trace, size, SEED * 1000 + done, kind)
                spoilt = [spoilt_traces.spoil(trace, chance)] if done and chance.random() < 0.7 else []
                if name == "small":
                    count(trace, kind + spoilt, [[], [], ["--with", os.path.join(work, "twins")]][done % 3])
                beside = ["--with", os.path.join(work, "late"), "--no-index"]  # another trace
                for words in chance.sample(ANALYSES, 3) + [pairs] if name == "large" else []:
                    compare(trace, kind + spoilt, words + ([] if words == pairs else chance.choice((*RANGES, beside))))
                if name == "large" and not done:
                    for words in (["syscalls", trace], ["irq", trace], ["run", script, trace]):
                        result(windows(words), "%s reads windows of time on all threads" % words[0])
                shutil.rmtree(trace)
            done += 1
    finish()


main()

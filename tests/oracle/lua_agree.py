#!/usr/bin/python3
"""What Lua says of moments, ranges and events is what the events of another tool say.

    lua_agree.py YORE perf|ftrace|ctf TRACE...

Asked are, by one script: many moments in one call, and each of them alone (before and after its events); the state beside each event of a loop and
in batches; intervals clipped to a range; the keys that have a value in it; counts by name and CPU; a histogram; segments of pairs. Half of the
moments and bounds lie within a millisecond of an end of the trace, or of what all CPUs tell, the others at events.
"""
import collections
import json
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ftrace_tool
import perf_tool
import tables_agree
import yore_says
from analyses_agree import ctf_events, ftrace_events, perf_events
from tables_agree import MS, Told
from yore_says import Report

SCRIPT = r"""
local json = require("yore.json")
local function out(what, ...)
	local words = {}
	for i = 1, select("#", ...) do local value = select(i, ...); words[i] = json.value(value or false) end
	print("@" .. what .. " [" .. table.concat(words, ",") .. "]")
end
local moments, ranges, cpus, tids = %s, %s, %s, %s
for _, paths in ipairs{ "cpu[%%d]/thread", "thread[%%d]/state" } do
	for _, key in ipairs(paths:find("cpu") and cpus or tids) do
		local path = paths:format(key)
		for _, options in ipairs{ {}, { before = true } } do
			local all = #moments > 0 and trace:at(moments, path, options) or {}
			assert(#all == #moments)
			for i, t in ipairs(moments) do
				local one = trace:at(t, path, options)
				assert((one or false) == all[i], path .. " at " .. t)
				out("at", path, t, options.before or false, all[i])
			end
		end
	end
end
for _, r in ipairs(ranges) do
	trace:intervals("cpu[*]/thread", r[1], r[2], { clip = true }, function(path, first, last, tid)
		out("run", r[1], r[2], tonumber(path:match("%%d+")), first, last, tid)
	end)
	local n = 0
	for path, first, last, tid in trace:intervals("cpu[*]/thread", r[1], r[2], { clip = true }) do
		assert(first >= r[1] and last <= r[2] and first < last)
		n = n + 1
	end
	out("runs", r[1], r[2], n)
	for _, key in ipairs(trace:keys("cpu[*]/thread", r[1], r[2])) do out("key", r[1], r[2], tonumber(key)) end
	for _, row in ipairs(trace:count_by{ by = { "name", "cpu" }, from = r[1], to = r[2] }) do
		out("count", r[1], r[2], row.name, row.cpu, row.count)
	end
end
local from, to = table.unpack(ranges[1])
local beside = {}
for ev in trace:events{ name = "*sched_switch", from = from, to = to } do
	beside[#beside + 1] = { ev.ts, ev.cpu, ev.state["cpu[cpu]/thread"], ev.fields.next_pid or ev.fields.next_tid }
	assert(tostring(ev):find("sched_switch", 1, true))
	out("beside", ev.ts, ev.cpu, ev.state["cpu[cpu]/thread"])
end
local i, column = 0, "cpu[cpu]/thread"
for b in trace:batch{ name = "*sched_switch", from = from, to = to, fields = { "cpu", column } } do
	for k = 1, b.n do
		i = i + 1
		assert(beside[i][1] == b.ts[k] and beside[i][2] == b.cpu[k] and (beside[i][3] or false) == b[column][k])
	end
end
assert(i == #beside)
i = 0
for ev, cpu, tid in trace:events{ name = "*sched_switch", from = from, to = to, fields = { "cpu", column } } do
	i = i + 1
	assert(beside[i][1] == ev.ts and beside[i][2] == cpu and beside[i][3] == tid)
end
local segments = yore.segments{ path = "cpu[*]/thread", from = from, to = to, optional = true }
local lengths, total = {}, 0
for _, row in ipairs(segments:rows()) do
	lengths[#lengths + 1], total = row.dur, total + row.dur
end
local function text(buckets)
	local list = {}
	for _, b in ipairs(buckets) do list[#list + 1] = b.low .. "-" .. b.high .. ":" .. b.count end
	return table.concat(list, " ")
end
assert(text(yore.hist(lengths)) == text(segments:hist()))
out("segments", from, to, #segments, total)
for _, b in ipairs(yore.hist(lengths)) do out("bucket", b.low, b.high, b.count) end
"""


def lua(value):
    return "{" + ",".join(lua(v) if isinstance(v, (list, tuple)) else str(v) for v in value) + "}"


def moments_of(told, count):
    edges = [told.begin, told.end - 1, told.recorded.begin, told.recorded.end]
    return [random.choice(edges) + random.randint(-MS, MS) if random.random() < 0.5 else
            random.choice(told.events).time + random.choice((-1, 0, 0, 1)) for _ in range(count)]


def state_at(told, tid, t):
    """The states that the model has of the thread after the events of t; None where it is not sure."""
    own = [s for s in told.states[tid] if s.begin <= t < s.end]
    return own[0].state if len(own) == 1 and told.is_sure(own[0], t, t + 1) else None


def at_agrees(report, told, path, t, before, said):
    kind, key = path.split("[")[0], int(path.split("[")[1].split("]")[0])
    when = t - 1 if before else t  # before the events of t
    wanted = told.who(key, when) if kind == "cpu" else state_at(told, key, when)
    if wanted is not None and said != wanted and said != "exiting" and not told.model.may_differ(when, when):
        report.differs("%s %s %d is %r, not %r" % (path, "before" if before else "at", t, said, wanted))
    report.moments += wanted is not None


def runs_agree(report, told, span, rows):
    """Intervals that are clipped: those of which both switches were seen are there, and no other ones between these."""
    start, stop = span
    ours = collections.defaultdict(list)
    for cpu, first, last, tid in rows:
        ours[cpu].append((first, last, tid))
    for r in told.running:
        part = max(r.begin, start), min(r.end, stop), r.tid
        if r.sure and part[0] < part[1]:
            inside = [o for o in ours[r.cpu] if o[0] < part[1] and part[0] < o[1]]
            merged = (inside[0][0], inside[-1][1], inside[0][2]) if inside and len({o[2] for o in inside}) == 1 else None
            if not merged or not (merged[0] <= part[0] and part[1] <= merged[1] and merged[2] == part[2]):
                report.differs("CPU %d has %s, not %s" % (r.cpu, inside, part))


def compare(program, kind_of, path):
    name = path.rstrip("/").split("/")
    report = Report("lua " + (name[-2] if name[-1].startswith(("perf.", "trace.")) else name[-1]))
    report.moments = 0
    events = {"perf": perf_events, "ftrace": ftrace_events, "ctf": ctf_events}[kind_of](path)
    if not events:
        report.facts.append("events were lost")
        return report.close()
    random.seed(len(events))
    times = [r["time"] for r in perf_tool.records(path) if r["time"] is not None] if kind_of == "perf" else None
    told = Told(kind_of, events, times and (min(times), max(times) + 1))
    spans = list(dict.fromkeys((max(start, told.begin), min(stop, told.end)) for _, start, stop in tables_agree.ranges(told)))
    tids = sorted({r.tid for r in told.running if r.tid})
    cpus = sorted({r.cpu for r in told.running})
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        file.write(SCRIPT % (lua(moments_of(told, 40)), lua(spans), lua(cpus), lua(random.sample(tids, min(5, len(tids))))))
        file.flush()
        done = yore_says.run(program, "run", "--no-index", "--quiet", file.name, path)
        with tempfile.TemporaryDirectory() as index:
            yore_says.run(program, "index", "--timelines", "--index-dir", index, path)
            stored = yore_says.run(program, "run", "--index-dir", index, "--quiet", file.name, path)
        if stored.stdout != done.stdout:
            report.differs("timelines answer otherwise")
    said = collections.defaultdict(list)
    for line in done.stdout.decode("utf-8", "replace").split("\n"):
        if line.startswith("@"):
            what, _, rest = line[1:].partition(" ")
            said[what].append(json.loads(rest))
    if done.returncode:
        report.differs("the script: " + done.stderr.decode()[-400:])
    for where, t, before, value in said["at"]:
        at_agrees(report, told, where, t, before, value)
    for span in spans:
        of = lambda what: [row[2:] for row in said[what] if tuple(row[:2]) == span]
        runs_agree(report, told, span, of("run"))
        report.same("iterated runs", of("runs"), [[len(of("run"))]])
        report.same("keys", sorted(row[0] for row in of("key")), sorted({row[0] for row in of("run")}))
        counted = collections.Counter((e.name, e.cpu) for e in events if span[0] <= e.time < span[1])
        ours = {(n.split(":")[-1], cpu): count for n, cpu, count in of("count") if cpu is not False and (n.split(":")[-1], cpu) in counted}
        report.same("counts", ours, dict(counted))
    for t, cpu, tid in said["beside"]:
        wanted = told.who(cpu, t - 1)
        if wanted is not None and tid != wanted:
            report.differs("beside the switch at %d on CPU %d runs %s, not %s" % (t, cpu, tid, wanted))
    report.same("events of the loop", len(said["beside"]), sum(
        e.name == "sched_switch" and spans[0][0] <= e.time < spans[0][1] for e in events))
    lengths = [last - first for first, last in (row[3:5] for row in said["run"] if tuple(row[:2]) == spans[0])]
    report.same("segments", said["segments"][0][2:] if said["segments"] else None, [len(lengths), sum(lengths)])
    report.same("buckets", {row[1].bit_length() - 1: row[2] for row in said["bucket"] if row[2]},
                dict(collections.Counter(n.bit_length() for n in lengths)))
    report.facts.append("%d moments, %d ranges, %d events with the state beside them" % (report.moments, len(spans), len(said["beside"])))
    return report.close()


def main():
    program, kind_of, paths = sys.argv[1], sys.argv[2], sys.argv[3:]
    if kind_of == "perf" and not perf_tool.installed() or kind_of == "ftrace" and not ftrace_tool.installed():
        print("lua_agree.py: skipped: the tool to compare with is not installed (%s)" % kind_of)
        sys.exit(0)
    good = [compare(program, kind_of, path) for path in paths]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()

-- sched: when threads ran, and how long they waited before
--
-- [top|log|freq]
--
--   top    of each thread: how often it ran, how long in all, shortest, average, longest
--   log    each run when it ends: CPU, thread, the wait since it ran last, the delay since it was woken
--   freq   how many runs were how long
--
-- A run is the time from which a thread is on a CPU until another one is. In `top` a run that reaches
-- over an end of the range counts for the part that lies in it. `log` is that of `perf sched timehist`: wait is the time from
-- the end of the thread's last run, delay from its wake-up. Runs whose begin or end was not seen are in `top` alone.
--
-- Columns of --where: tid, comm, cpu, dur, begin.
--
-- Examples:
--   $ yore sched fixtures/golden/sched-perf/perf.data
--   $ yore sched fixtures/golden/sched-demo log --limit 5
--   $ yore sched fixtures/golden/sched-ftrace/trace.dat freq

local analysis = require("yore.analysis")
local a = analysis.open(arg, {
	name = "sched", verbs = { "top", "log", "freq" }, columns = { "tid", "comm", "dur", "begin", "cpu" },
})

a:need({ "sched_switch", "perf_switch_cpu_wide", "perf_switch" }, "when threads run")

-- What ran on a CPU, and where another thread came before and after it, when the run began and ended.
local runs = trace:segments{ path = "cpu[*]/thread", from = a.start, to = a.stop }
	:select{ value = function(tid) return tid ~= 0 end }
local names = a:names(runs:distinct("value"))
runs = a:filter(runs, {
	tid = "value", comm = { "value", function(tid) return names[tid] end }, dur = "dur", begin = "begin",
	cpu = "key",
})

local function is_known(value)
	return value ~= nil
end

local function top()
	local rows = runs:groups{ by = { "value" } }
	for _, row in ipairs(rows) do
		row.tid, row.comm, row.percent = row.value, names[row.value], row.total * 100 / a.length
	end
	table.sort(rows, function(x, y)
		if x.total ~= y.total then
			return x.total > y.total
		end
		return x.tid < y.tid
	end)
	a:table("runs of each thread", {
		{ key = "tid", head = "TID", kind = "count" }, { key = "comm", head = "name" },
		{ key = "count", head = "runs", kind = "count" }, { key = "total", head = "in all", kind = "span", bar = true },
		{ key = "percent", head = "% of a CPU", kind = "percent" },
		{ key = "min", head = "shortest", kind = "span" }, { key = "mean", head = "average", kind = "span" },
		{ key = "max", head = "longest", kind = "span" }, { key = "max_begin", head = "which began", kind = "time" },
	}, rows)
end

-- By thread and the moment at which it ran next: when it had become ready, and when it had stopped to run.
local function waits()
	local ready_from, off_from, tid, off = {}, {}, nil, nil
	for _, row in ipairs(trace:segments{ path = "thread[*]/state", from = a.start, to = a.stop }:rows()) do
		if row.key ~= tid or not row.before then
			tid, off = row.key, nil
		end
		if row.value == "running" then
			off = row.ended and row["end"] or nil
		elseif row.after == "running" then
			local run = row.key .. "@" .. row["end"]
			off_from[run] = off
			ready_from[run] = row.value == "ready" and row.begun and row.before ~= "running" and row.begin or nil
		end
	end
	return ready_from, off_from
end

local function log()
	local ready_from, off_from = waits()
	local rows = runs:select{ begun = true, ended = true, before = is_known, after = is_known }:sorted("end")
	for _, row in ipairs(rows) do
		local run = row.value .. "@" .. row.begin
		row.tid, row.comm, row.cpu = row.value, names[row.value], row.key
		row.wait = off_from[run] and row.begin - off_from[run]
		row.delay = ready_from[run] and row.begin - ready_from[run]
		row.next = names[row.after]
	end
	return rows
end

a:head()
if a.verb == "top" then
	top()
elseif a.verb == "freq" then
	a:histogram("runs", runs:select{ begun = true, ended = true, before = is_known, after = is_known }:hist())
else
	a:table("runs", {
		{ key = "end", head = "until", kind = "time" }, { key = "cpu", head = "CPU", kind = "count" },
		{ key = "tid", head = "TID", kind = "count" }, { key = "comm", head = "name" },
		{ key = "wait", head = "wait", kind = "span" }, { key = "delay", head = "delay", kind = "span" },
		{ key = "dur", head = "run", kind = "span", bar = true }, { key = "after", head = "then TID", kind = "count" },
		{ key = "next", head = "name" },
	}, log())
end

-- sched: when threads ran, and how long they waited before
--
-- [top|log|freq]
--
--   top    of each thread: how often it ran, how long in all, shortest, average, longest
--   log    each run when it ends: CPU, thread, the wait since it ran last, the delay since it was woken or forked
--   freq   how many runs were how long
--
-- A run is the time from which a thread is on a CPU until another one is. In `top` a run that reaches
-- over an end of the range counts for the part that lies in it. `log` is that of `perf sched timehist`: wait is the time from
-- the end of the thread's last run, delay from its wake-up (of a new thread from its fork). Runs whose begin or end was not seen are in `top` alone.
--
-- --svg FILE draws the runs that were seen whole: a histogram with `freq`, else a heat map over time.
--
-- Columns of --where: tid, comm, cpu, dur, begin.
--
-- Examples:
--   $ yore sched fixtures/golden/sched-perf/perf.data
--   $ yore sched fixtures/golden/sched-demo log --limit 5
--   $ yore sched fixtures/golden/sched-ftrace/trace.dat freq

local analysis = require("yore.analysis")
local kernel = require("yore.kernel")
local a = analysis.open(arg, {
	name = "sched", verbs = { "top", "log", "freq" }, columns = { "tid", "comm", "dur", "begin", "cpu" },
	options = { svg = "text" },
})

a:need({ "sched_switch", "perf_switch_cpu_wide", "perf_switch" }, "when threads run")

-- The runs of threads on CPUs, without those of the idle thread.
local runs, states = a:segments({ path = "cpu[*]/thread" }, a.verb == "log" and { path = "thread[*]/state" } or nil)
runs = runs:select{ value = function(tid) return tid ~= 0 end }
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
	table.sort(rows, analysis.order("-total", "tid"))
	local numbers = analysis.statistics("runs", { "total", "min", "mean", "max", "max_begin" }, "total")
	table.insert(numbers, 3, { key = "percent", head = "% of a CPU", kind = "percent" })
	a:table("runs of each thread", analysis.columns(analysis.thread_columns(), numbers), rows)
end

-- The begin of the thread's segment that ends right at t.
local function begin_of(segments, tid, t)
	local from, till = segments:look(tid, t - 1)
	return till == t and from or nil
end

-- The runs whose begin and end are switches in the range; a switch at the end of the range is outside.
local function whole()
	return runs:select{ begun = true, ended = true, before = is_known, after = is_known, ["end"] = { max = a.stop - 1 } }
end

local function log()
	local off = states:between(function(state) return kernel.has_cpu[state] == true end)
	local ready = states:select{ value = "ready", begun = true, before = function(state) return not kernel.has_cpu[state] end }
	local seen = whole()
	local rows = seen:sorted("end", not a.sort and a.limit or nil)
	for _, row in ipairs(rows) do
		row.tid, row.comm, row.cpu = row.value, names[row.value], row.key
		local left, woken = begin_of(off, row.value, row.begin), begin_of(ready, row.value, row.begin)
		row.wait, row.delay = left and row.begin - left, woken and row.begin - woken
		row.next = names[row.after]
	end
	return rows, #seen
end

if a.svg and a:draw({ whole() }, "runs") then
	return
end
a:head()
if a.verb == "top" then
	top()
elseif a.verb == "freq" then
	a:histogram("runs", whole():hist())
else
	a:table("runs", {
		{ key = "end", head = "until", kind = "time" }, { key = "cpu", head = "CPU", kind = "count" },
		{ key = "tid", head = "TID", kind = "count" }, { key = "comm", head = "name" },
		{ key = "wait", head = "wait", kind = "span" }, { key = "delay", head = "delay", kind = "span" },
		{ key = "dur", head = "run", kind = "span", bar = true }, { key = "after", head = "then TID", kind = "count" },
		{ key = "next", head = "name" },
	}, log())
end

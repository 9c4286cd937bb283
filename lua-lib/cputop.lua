-- cputop: busy time of each CPU and each thread
--
-- [all|cpus|threads]
--
-- The thread on a CPU is the attribute cpu[N]/thread; what runs when it is 0 is idling. A part of
-- the range in which the thread is not known (nothing written yet, or events lost) is counted as
-- unknown, neither busy nor idle: some thread ran for so much longer, or none. Switches are how often the thread
-- on a CPU changed, as far as the rules know: an event that switches to the thread that ran already is none.
--
-- Columns of --where: cpu, tid, comm.
--
-- Examples:
--   $ yore cputop fixtures/golden/sched-demo
--   $ yore cputop fixtures/golden/sched-perf/perf.data threads --limit 5 --format bars
--   $ yore cputop fixtures/golden/sched-ftrace/trace.dat cpus --format csv

local analysis = require("yore.analysis")
local a = analysis.open(arg, {
	name = "cputop", verbs = { "all", "cpus", "threads" }, tables = { all = true }, columns = { "cpu", "tid", "comm" },
})

local runs = a:segments{ path = "cpu[*]/thread" }
if #runs == 0 then
	a:need({ "sched_switch", "perf_switch_cpu_wide", "perf_switch" }, "which thread runs")
end
local last = {}
for _, row in ipairs(runs:groups{ by = { "value" } }) do
	last[row.value] = row.last_end
end
local names = a:names(last)

local function by_key(rows, into)
	local found = {}
	for _, row in ipairs(rows) do
		found[row[into]] = row
	end
	return found
end

local shown = a:filter(runs, { cpu = "key", tid = "value", comm = { "value", function(tid) return names[tid] end } })
local busy = shown:select{ value = function(tid) return tid ~= 0 end }

local function cpus()
	local rows, unknown = {}, 0
	local switches = by_key(shown:select{ begun = true }:groups{ by = { "key" } }, "key")
	local working = by_key(busy:groups{ by = { "key" } }, "key")
	local known = by_key(runs:groups{ by = { "key" } }, "key")
	for cpu, all in pairs(known) do
		local own = working[cpu] or { total = 0 }
		rows[#rows + 1] = { cpu = cpu, busy = own.total, percent = own.total * 100 / a.length,
			unknown = (a.length - all.total) * 100 / a.length, unknown_time = a.length - all.total,
			switches = switches[cpu] and switches[cpu].count or 0 }
		unknown = unknown + a.length - all.total
	end
	table.sort(rows, analysis.order("cpu"))
	a:table("cpus", {
		{ key = "cpu", head = "CPU", kind = "count" }, { key = "percent", head = "busy %", kind = "percent", bar = true },
		{ key = "busy", head = "busy time", kind = "exact" }, { key = "unknown", head = "unknown %", kind = "percent" },
		{ key = "unknown_time", head = "unknown time", kind = "exact" },
		{ key = "switches", head = "switches", kind = "count" },
	}, rows)
	a:line("unknown " .. yore.span(unknown) .. " of " .. yore.span(a.length * #rows))
end

local function threads()
	local rows = busy:groups{ by = { "value" } }
	local switches = by_key(busy:select{ begun = true }:groups{ by = { "value" } }, "value")
	for _, row in ipairs(rows) do
		row.tid, row.comm = row.value, names[row.value]
		row.percent = row.total * 100 / a.length
		row.switches = switches[row.value] and switches[row.value].count or 0
	end
	table.sort(rows, analysis.order("-total", "tid"))
	a:table("threads", {
		{ key = "tid", head = "TID", kind = "count" }, { key = "percent", head = "of a CPU %", kind = "percent", bar = true },
		{ key = "total", head = "time on CPU", kind = "exact" }, { key = "switches", head = "switches", kind = "count" },
		{ key = "comm", head = "name", empty = "" },
	}, rows)
end

a:head()
if a.verb ~= "threads" then
	cpus()
end
if a.verb ~= "cpus" then
	threads()
end

-- cputop: busy time of each CPU and each thread
--
-- [all|cpus|threads]
--
-- The thread on a CPU is the attribute cpu[N]/thread; what runs when it is 0 is idling. A part of
-- the range in which the thread is not known (nothing written yet, or events lost) is counted as
-- unknown, neither busy nor idle: some thread ran for so much longer, or none. Switches are how often the thread
-- on a CPU changed, as far as the rules know: an event that switches to the thread that ran already is none.
-- With --where, CPUs are busy with what it leaves alone.
--
-- Columns of --where: cpu, tid, comm.
--
-- Examples:
--   $ yore cputop fixtures/golden/sched-demo
--   $ yore cputop fixtures/golden/sched-perf/perf.data threads --limit 5 --format bars
--   $ yore cputop fixtures/golden/sched-ftrace/trace.dat cpus --format csv

local analysis = require("yore.analysis")
local basics = require("yore.basics")
local a = analysis.open(arg, {
	name = "cputop", verbs = { "all", "cpus", "threads" }, tables = { all = true }, columns = { "cpu", "tid", "comm" },
	sums = true,
})

-- Totals for each thread on each CPU: how long and how often it ran, and when it last left.
local runs = a:sums({ key = { "key", "value" }, sum = { "total", "begun" }, last = { "last_end" } }, function(from, to)
	return (a:segments_over(from, to, { path = "cpu[*]/thread", totals = true }))
end)
if not runs then
	return
end
if #runs == 0 then
	a:need({ "sched_switch", "perf_switch_cpu_wide", "perf_switch" }, "which thread runs")
end
local last = {}
for _, run in ipairs(runs) do
	last[run.value] = math.max(last[run.value] or run.last_end, run.last_end)
end
local names = a:names_at(last)
for _, run in ipairs(runs) do
	run.cpu, run.tid, run.comm = run.key, run.value, names[run.value]
end
local shown = a:filter_rows(runs)

local function cpus()
	local found, rows, unknown = {}, {}, 0
	for _, cpu in ipairs(analysis.cpus(runs)) do
		local row = { cpu = cpu, busy = 0, unknown_time = a.length, switches = 0 }
		found[cpu], rows[#rows + 1] = row, a:leaves("cpu", cpu) and row or nil
	end
	for _, run in ipairs(runs) do
		local row = found[run.cpu]
		row.unknown_time = row.unknown_time - run.total
	end
	for _, run in ipairs(shown) do
		local row = found[run.cpu]
		row.switches = row.switches + run.begun
		row.busy = row.busy + (run.tid ~= 0 and run.total or 0)
	end
	for _, row in ipairs(rows) do
		row.percent, row.unknown = row.busy * 100 / a.length, row.unknown_time * 100 / a.length
		unknown = unknown + row.unknown_time
	end
	a:table("cpus", {
		{ key = "cpu", head = "CPU", kind = "count" }, { key = "percent", head = "busy %", kind = "percent", bar = true },
		{ key = "busy", head = "busy time", kind = "exact" }, { key = "unknown", head = "unknown %", kind = "percent" },
		{ key = "unknown_time", head = "unknown time", kind = "exact" },
		{ key = "switches", head = "switches", kind = "count" },
	}, rows)
	a:line("unknown " .. yore.span(unknown) .. " of " .. yore.span(a.length * #rows))
end

local function threads()
	local found, rows = {}, {}
	for _, run in ipairs(shown) do
		if run.tid ~= 0 then
			local row = found[run.tid]
				or basics.add(found, run.tid, rows, { tid = run.tid, comm = run.comm, total = 0, switches = 0 })
			row.total, row.switches = row.total + run.total, row.switches + run.begun
			row.percent = row.total * 100 / a.length
		end
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

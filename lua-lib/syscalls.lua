-- syscalls: system calls: how often, how long, how many failed
--
-- [stats|threads|top|log|freq|errors]
--
--   stats     of each system call: count, failures, time in all, shortest, average, p99, longest
--   threads   the same for each thread apart
--   top       the longest ones
--   log       each, in order of time of its begin
--   freq      how many were how long
--   errors    which failed with which error
--
-- A call lasts from its entry to its exit; what began before the range or had not ended at its end does not
-- count. A call failed when it returned a negative number. `perf trace -s` says the same, and also
-- counts exits whose entry it has not seen, as calls of no length.
--
-- --svg FILE draws the calls: a histogram with `freq`, else a heat map over time.
--
-- Columns of --where: name, tid, comm, dur, begin, ret.
--
-- Examples:
--   $ yore syscalls fixtures/golden/sched-ftrace/trace.dat
--   $ yore syscalls fixtures/golden/sched-ftrace/trace.dat top --limit 3
--   $ yore syscalls fixtures/golden/sched-ftrace/trace.dat threads --where 'name == "read"'

local analysis = require("yore.analysis")
local kernel = require("yore.kernel")
local a = analysis.open(arg, {
	name = "syscalls", verbs = { "stats", "threads", "top", "log", "freq", "errors" },
	columns = { "name", "tid", "comm", "dur", "begin", "ret" }, options = { svg = "text" },
})

local calls, name_column, name_of = kernel.syscalls(a)
local names = a:names(calls:distinct("key"))
calls = a:filter(calls, {
	name = { name_column, name_of }, tid = "key", dur = "dur", begin = "begin", ret = "ret",
	comm = { "key", function(tid) return names[tid] end },
})

local function negative(ret)
	return ret ~= nil and ret < 0
end

local function fill(row)
	row.name, row.tid, row.comm = name_of(row[name_column]), row.key, names[row.key]
	row.key = nil
	return row
end

local function grouped(by)
	local rows, failed = calls:groups{ by = by, percentiles = { 99 } }, {}
	local function key(row)
		return tostring(row[by[1]]) .. "\0" .. tostring(row[by[2] or ""])
	end
	for _, row in ipairs(calls:select{ ret = negative }:groups{ by = by }) do
		failed[key(row)] = row.count
	end
	for _, row in ipairs(rows) do
		row.failed = failed[key(row)] or 0
		row.spread = row.mean > 0 and row.stddev / math.sqrt(row.count) * 100 / row.mean or 0
		fill(row)
	end
	table.sort(rows, analysis.order("-total", "name", "tid"))
	return rows
end

local numbers = analysis.statistics("calls", { "total", "min", "mean", "p99", "max", "max_begin" }, "total")
table.insert(numbers, 2, { key = "failed", head = "failed", kind = "count" })
numbers[#numbers + 1] = { key = "spread", head = "+-%", kind = "percent" }

local name_head, thread = { { key = "name", head = "call", class = "syscall" } }, analysis.thread_columns()

local function errors()
	local rows = calls:select{ ret = negative }:groups{ by = { name_column, "ret" } }
	for _, row in ipairs(rows) do
		fill(row)
		row.error = kernel.errors[-row.ret] or tostring(row.ret)
	end
	table.sort(rows, analysis.order("-count", "name", "-ret"))
	a:table("calls that failed", analysis.columns(name_head, { { key = "error", head = "error" },
		{ key = "ret", head = "returned", kind = "count" },
		{ key = "count", head = "calls", kind = "count", bar = true } }), rows)
end

a:show("system calls", { { segments = calls } },
	analysis.columns(thread, name_head, { { key = "ret", head = "returned", kind = "count" } }), fill, {
	stats = function()
		a:table("system calls", analysis.columns(name_head, numbers), grouped{ name_column })
	end,
	threads = function()
		a:table("system calls of each thread", analysis.columns(thread, name_head, numbers), grouped{ "key", name_column })
	end,
	errors = errors,
})

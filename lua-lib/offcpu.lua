-- offcpu: where threads spend the time in which they do not run
--
-- [stats|top|log]
--
--   stats   of each thread: for how long it was in which state, in which system call
--   top     the longest stretches
--   log     all of them, in order of time
--
-- States are those of thread[*]/state: sleeping (can be interrupted), blocked (cannot: mostly the disk), ready
-- (waits for a CPU), stopped, traced, parked. The system call is the one in which the thread was when
-- the stretch began. A stretch that reaches over an end of the range counts for the part that lies in it.
--
-- Columns of --where: tid, comm, state, syscall, dur, begin.
--
-- Examples:
--   $ yore offcpu fixtures/golden/sched-demo
--   $ yore offcpu fixtures/golden/sched-ftrace/trace.dat top --limit 5
--   $ yore offcpu fixtures/golden/sched-perf/perf.data --where 'state == "blocked"'

local analysis = require("yore.analysis")
local a = analysis.open(arg, {
	name = "offcpu", verbs = { "stats", "top", "log" },
	columns = { "tid", "comm", "state", "syscall", "dur", "begin" },
})

a:need({ "sched_switch", "perf_switch_cpu_wide", "perf_switch" }, "when threads run")
a:want({ "sched_wakeup", "sched_wakeup_new" }, "a thread seems to sleep until it runs again")

local has_syscall = #analysis.present{ "syscall_entry_*", "sys_enter", "sys_enter_*", "exit_syscall" } > 0
local all, calls = trace:segments{ from = a.start, to = a.stop,
	{ path = "thread[*]/state", value = { "sleeping", "blocked", "ready", "stopped", "traced", "parked" } },
	has_syscall and { path = "thread[*]/syscall" } or nil }
if calls then
	all:join(calls, "syscall")
end
local names = a:names(all:distinct("key"))
all = a:filter(all, {
	tid = "key", comm = { "key", function(tid) return names[tid] end }, state = "value",
	syscall = has_syscall and { "syscall", tostring } or { "value", function() return nil end },
	dur = "dur", begin = "begin",
})

local function fill(row)
	row.tid, row.comm, row.state = row.key, names[row.key], row.value
	return row
end

local what = {
	{ key = "tid", head = "TID", kind = "count" }, { key = "comm", head = "name" },
	{ key = "state", head = "state" }, has_syscall and { key = "syscall", head = "in" } or nil,
}

local function with(first, last)
	local columns = {}
	for _, list in ipairs{ first, what, last } do
		table.move(list, 1, #list, #columns + 1, columns)
	end
	return columns
end

a:head()
if a.verb == "stats" then
	local rows = all:groups{ by = { "key", "value", has_syscall and "syscall" or nil }, percentiles = { 50, 99 } }
	for _, row in ipairs(rows) do
		fill(row)
	end
	table.sort(rows, function(x, y)
		if x.total ~= y.total then
			return x.total > y.total
		elseif x.tid ~= y.tid then
			return x.tid < y.tid
		end
		return x.state < y.state or x.state == y.state and tostring(x.syscall) < tostring(y.syscall)
	end)
	a:table("time off the CPU", with({}, {
		{ key = "count", head = "times", kind = "count" }, { key = "total", head = "in all", kind = "span", bar = true },
		{ key = "mean", head = "average", kind = "span" }, { key = "p50", head = "p50", kind = "span" },
		{ key = "p99", head = "p99", kind = "span" }, { key = "max", head = "longest", kind = "span" },
		{ key = "max_begin", head = "which began", kind = "time" },
	}), rows)
else
	local rows = all:sorted(a.verb == "top" and "-dur" or "begin", a.verb == "top" and (a.limit or 10) or nil)
	for _, row in ipairs(rows) do
		fill(row)
	end
	a:table(a.verb == "top" and "longest stretches off the CPU" or "stretches off the CPU", with({
		{ key = "begin", head = "from", kind = "time" }, { key = "end", head = "until", kind = "time" },
		{ key = "dur", head = "length", kind = "span", bar = true } }, { { key = "after", head = "then" } }), rows)
end

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
-- --by stack counts by state and call stack in place of threads: the stack with which the thread left the CPU, its innermost
-- function first. sched_switch must have been recorded with call chains (perf record -g, trace-cmd record -T, lttng add-context
-- --kernel --type callstack-kernel, callstack-user); stretches that began before the range have none. Functions of the kernel that
-- LTTng recorded have names on the machine and in the boot of the recording, else their addresses stand for them. A thread that was woken still has the stack with which it went to sleep.
-- --by state and --by syscall count by these alone.
--
-- --svg FILE draws the stretches as a heat map over time; with --by stack a flame graph of the time.
--
-- Columns of --where: tid, comm, state, syscall, dur, begin; with --by stack also stack.
--
-- Examples:
--   $ yore offcpu fixtures/golden/sched-demo
--   $ yore offcpu fixtures/golden/sched-ftrace/trace.dat top --limit 5
--   $ yore offcpu fixtures/golden/sched-perf/perf.data --where 'state == "blocked"'
--   $ yore offcpu fixtures/golden/sched-demo --by state

local analysis = require("yore.analysis")
local frames = require("yore.frames")
local a = analysis.open(arg, {
	name = "offcpu", verbs = { "stats", "top", "log" }, options = { by = "text", svg = "text" },
	columns = { "tid", "comm", "state", "syscall", "stack", "dur", "begin" },
})

local groups = { thread = { "key", "value", "syscall" }, state = { "value" }, syscall = { "value", "syscall" },
	stack = { "value", "stack" } }
local by = groups[a.by or "thread"] or error("--by: '" .. a.by .. "' is none of thread, state, syscall, stack", 0)
if a.by and a.verb ~= "stats" then
	error("--by: it is of 'offcpu stats'", 0)
end

local switches = a:need({ "sched_switch", "perf_switch_cpu_wide", "perf_switch" }, "when threads run")
a:want({ "sched_wakeup", "sched_wakeup_new" }, "a thread seems to sleep until it runs again")

local has_syscall = #analysis.present{ "syscall_entry_*", "sys_enter", "sys_enter_*", "exit_syscall" } > 0
local columns = {}
for _, column in ipairs(by) do
	columns[#columns + 1] = (column ~= "syscall" or has_syscall) and column or nil
end
-- Where single stretches are not needed, they are counted as they come.
local counted = a.verb == "stats" and not a.where and not a.svg and a.by ~= "stack"
local all = a:segments(
	{ path = "thread[*]/state", value = { "sleeping", "blocked", "ready", "stopped", "traced", "parked" },
		groups = counted and { by = columns, percentiles = { 50, 99 } } or nil },
	has_syscall and { path = "thread[*]/syscall", join = "syscall" } or nil)
local tids = counted and {} or all:distinct("key")
for i, row in ipairs(counted and all or {}) do
	tids[i] = row.key
end
local names = a:names(tids)

local function fill(row)
	row.tid, row.comm, row.state = row.key, names[row.key], row.value
	return row
end

-- Call chains of switches, {[thread that left] = {[time] = {text =, frames =, kernel =}}}.
local function chains()
	local found, shared, any = {}, {}, false
	frames.each(switches, a.start, a.stop, function(ev, chain)
		local tid = ev.fields.prev_tid or ev.fields.prev_pid
		if chain and #chain > 0 and tid then
			local list, inside = frames.names(chain, {})
			local key = table.concat(list, ";") .. inside
			if not shared[key] then
				local inner = {}
				for i = #list, 1, -1 do
					inner[#inner + 1] = list[i]
				end
				shared[key] = { text = table.concat(inner, " < "), frames = list, inside = inside }
			end
			found[tid] = found[tid] or {}
			found[tid][ev.t], any = shared[key], true
		end
	end)
	if not any then
		a:lack("--by stack: no sched_switch of this range has a call chain: record them with perf record -g "
			.. "-e sched:sched_switch, trace-cmd record -e sched_switch -T or lttng add-context --kernel --type callstack-kernel")
	end
	return found
end

-- Each stretch with the chain of the switch with which the thread left the CPU.
local function with_stacks()
	local found, tid, last, chain, rows = chains(), nil, nil, nil, all:rows()
	for _, row in ipairs(rows) do
		if row.key ~= tid or row.begin ~= last then
			chain = nil
		end
		tid, last = row.key, row["end"]
		chain = found[tid] and found[tid][row.begin] or chain
		row.chain, row.stack = chain, chain and chain.text
		fill(row)
	end
	return a:filter_rows(rows)
end

local function by_stack(rows)
	local found, list = {}, {}
	for _, row in ipairs(rows) do
		local key = row.state .. "\0" .. (row.stack or "")
		local one = found[key]
		if not one then
			one = { state = row.state, stack = row.stack, count = 0, total = 0, max = -1 }
			found[key] = one
			list[#list + 1] = one
		end
		one.count, one.total = one.count + 1, one.total + row.dur
		if row.dur > one.max then
			one.max, one.max_begin = row.dur, row.begin
		end
		one.mean = one.total / one.count
	end
	return list
end

local function draw_stacks(rows)
	local list = {}
	for _, row in ipairs(rows) do
		local stack = { (row.comm or ":" .. row.tid) }
		for _, name in ipairs(row.chain and row.chain.frames or { "[unknown]" }) do
			stack[#stack + 1] = name
		end
		local inside = row.chain and row.chain.inside or 0
		list[#list + 1] = { frames = stack, weight = row.dur, thread = true,
			kernel = inside > 0 and #stack - inside + 1 or nil }
	end
	local ok, why = yore.save(a.svg, require("yore.draw").flamegraph{ stacks = list, unit = "ns",
		title = "time off the CPU of " .. trace:info().path })
	if not ok then
		error(why, 0)
	end
end

local numbers = analysis.statistics("times", { "total", "mean", "max", "max_begin" }, "total")
local state = { { key = "state", head = "state" } }

if a.by == "stack" then
	local rows = with_stacks()
	if a.svg then
		draw_stacks(rows)
		return
	end
	a:head()
	rows = by_stack(rows)
	table.sort(rows, analysis.order("-total", "state", "stack"))
	a:table("time off the CPU by call stack", analysis.columns(state, numbers, { { key = "stack", head = "stack" } }), rows)
	return
end

if not counted then
	all = a:filter(all, {
		tid = "key", comm = { "key", function(tid) return names[tid] end }, state = "value",
		syscall = has_syscall and { "syscall", tostring } or { "value", function() return nil end },
		dur = "dur", begin = "begin",
	})
	if a:draw({ all }, "stretches off the CPU") then
		return
	end
end

local call = { (has_syscall or a.lami) and { key = "syscall", head = "in" } or nil }
local what = analysis.columns(analysis.thread_columns(), state, call)

a:head()
if a.verb == "stats" then
	local rows = counted and all or all:groups{ by = columns, percentiles = { 50, 99 } }
	for _, row in ipairs(rows) do
		fill(row)
	end
	table.sort(rows, analysis.order("-total", "tid", "state", "syscall"))
	a:table("time off the CPU", analysis.columns(by == groups.thread and what or by == groups.state and state
		or analysis.columns(state, call),
		analysis.statistics("times", { "total", "mean", "p50", "p99", "max", "max_begin" }, "total")), rows)
else
	a:listing("stretches off the CPU", analysis.columns(what, { { key = "after", head = "then" } }),
		a:listed({ { segments = all } }, fill))
end

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
local basics = require("yore.basics")
local frames = require("yore.frames")
local left_out = require("yore.waits")
local a = analysis.open(arg, {
	name = "offcpu", verbs = { "stats", "top", "log" }, options = { by = "text", svg = "text" },
	columns = { "tid", "comm", "state", "syscall", "stack", "dur", "begin" }, verbs_of = { by = { stats = true } },
})

local groups = { thread = { "key", "value", "syscall" }, state = { "value" }, syscall = { "value", "syscall" },
	stack = { "value", "stack" } }
local by = groups[a.by or "thread"] or yore.misuse("--by: '" .. a.by .. "' is none of thread, state, syscall, stack")

local switches = a:need({ "sched_switch", "perf_switch_cpu_wide", "perf_switch" }, "when threads run")
a:want({ "sched_wakeup", "sched_waking" }, "a thread seems to sleep until it runs again")

local has_syscall = #analysis.present{ "syscall_entry_*", "sys_enter", "sys_enter_*", "exit_syscall" } > 0
local columns = {}
for _, column in ipairs(by) do
	columns[#columns + 1] = (column ~= "syscall" or has_syscall) and column or nil
end
-- If single segments are not needed, they are counted in groups while they are read.
local counted = a.verb == "stats" and not a.leaving and not a.svg and a.by ~= "stack"
local off = { "sleeping", "blocked", "ready", "stopped", "traced", "parked" }
local paths = { { path = "thread[*]/state", value = off, groups = counted and { by = columns, percentiles = { 50, 99 } } or nil },
	{ path = "cpu[*]/thread", optional = true }, table.unpack(left_out.paths) }
paths[#paths + 1] = has_syscall and { path = "thread[*]/syscall", join = "syscall" } or nil
local found = { a:segments(table.unpack(paths)) }
local all, runs = found[1], found[2]

-- Gives a note on how many times off the CPU are left out.
local function tell_left_out()
	local left, told = left_out.left_out(a, false, runs, runs:rekey(), { table.unpack(found, 3) })
	left_out.tell(a, left, told, "times off the CPU")
end
tell_left_out()

local tids = counted and {} or all:distinct("key")
for i, row in ipairs(counted and all or {}) do
	tids[i] = row.key
end
local names = a:names(tids)

local function fill(row)
	row.tid, row.comm, row.state = row.key, names[row.key], row.value
	return row
end

-- Converts a call chain to a stack, {text =, frames =, inside =}; equal chains share a table. `chain` and `number` as in frames.each().
local shared, numbered = {}, {}
local function stack_of(ev, chain, number)
	if number then
		numbered[number] = numbered[number] or stack_of(ev, ev.frames)
		return numbered[number]
	end
	local list, inside = frames.names(chain, {})
	local key = table.concat(list, ";") .. inside
	if not shared[key] then
		local inner = {}
		for i = #list, 1, -1 do
			inner[#inner + 1] = list[i]
		end
		shared[key] = { text = table.concat(inner, " < "), frames = list, inside = inside }
	end
	return shared[key]
end

-- Calls visit(row) for each segment, with the stack of the switch by which its thread left the CPU. Keeps the stacks of so many
-- switches in memory, then visits the segments that begin until the last of them.
local SWITCHES = 50000

local function each_with_stack(visit)
	local found, count, since, last, any = {}, 0, a.start, {}, false
	local function flush(till)
		local part = all:select{ begin = { min = since, max = till - 1 } }
		for first = 1, #part, 1000 do
			local rows = part:rows(first, first + 999)
			for _, row in ipairs(rows) do
				local before, own = last[row.key], found[row.key]
				local stack = own and own[row.begin] or before and before.stop == row.begin and before.stack or nil
				before = before or {}
				before.stop, before.stack, last[row.key] = row["end"], stack, before
				row.chain, row.stack = stack, stack and stack.text
				fill(row)
			end
			for _, row in ipairs(a:filter_rows(rows)) do
				visit(row)
			end
		end
		found, count, since, numbered = {}, 0, till, {}
	end
	frames.each(switches, a.start, a.stop, function(ev, chain, number)
		local tid = ev.fields.prev_tid or ev.fields.prev_pid
		if tid then
			local t = ev.ts
			if count >= SWITCHES and t > since then
				flush(t)
			end
			found[tid] = found[tid] or {}
			found[tid][t], count, any = stack_of(ev, chain, number), count + 1, true
		end
	end)
	flush(a.stop)
	if not any then
		a:lack("--by stack: no sched_switch of this range has a call chain: record them with perf record -g "
			.. "-e sched:sched_switch, trace-cmd record -e sched_switch -T or lttng add-context --kernel --type callstack-kernel")
	end
end

local function by_stack()
	local found, list = {}, {}
	each_with_stack(function(row)
		local key = row.state .. "\0" .. (row.stack or "")
		local one = found[key] or basics.add(found, key, list, { state = row.state, stack = row.stack, count = 0, total = 0, max = -1 })
		one.count, one.total = one.count + 1, one.total + row.dur
		if row.dur > one.max or row.dur == one.max and row.key < one.thread then
			one.max, one.max_begin, one.thread = row.dur, row.begin, row.key
		end
		one.mean = one.total / one.count
	end)
	return list
end

local function draw_stacks()
	local found, list = {}, {}
	each_with_stack(function(row)
		local name, chain = row.comm or ":" .. row.tid, row.chain or false
		found[name] = found[name] or {}
		local one = found[name][chain]
		if not one then
			local stack = { name }
			for _, frame in ipairs(chain and chain.frames or { "[unknown]" }) do
				stack[#stack + 1] = frame
			end
			one = { frames = stack, weight = 0, thread = true,
				kernel = chain and chain.inside > 0 and #stack - chain.inside + 1 or nil }
			found[name][chain] = one
			list[#list + 1] = one
		end
		one.weight = one.weight + row.dur
	end)
	a:need_drawn(#list, "stretches off the CPU")
	basics.given(yore.save(a.svg, require("yore.draw").flamegraph{ stacks = list, unit = "ns",
		title = "time off the CPU of " .. trace:info().path }))
end

local numbers = analysis.statistics("times", { "total", "mean", "max", "max_begin" }, "total")
local state = { { key = "state", head = "state" } }

if a.by == "stack" then
	if a.svg then
		draw_stacks()
		return
	end
	local rows = by_stack()
	a:head()
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
end

local call = { (has_syscall or a.lami) and { key = "syscall", head = "in" } or nil }
local what = analysis.columns(analysis.thread_columns(), state, call)

a:show("stretches off the CPU", { { segments = all } }, analysis.columns(what, { { key = "after", head = "then" } }), fill, { stats = function()
	local rows = counted and all or all:groups{ by = columns, percentiles = { 50, 99 } }
	for _, row in ipairs(rows) do
		fill(row)
	end
	table.sort(rows, analysis.order("-total", "tid", "state", "syscall"))
	a:table("time off the CPU", analysis.columns(by == groups.thread and what or by == groups.state and state
		or analysis.columns(state, call),
		analysis.statistics("times", { "total", "mean", "p50", "p99", "max", "max_begin" }, "total")), rows)
end })

-- locks: which locks threads waited for, for how long, and who held them
--
-- [stats|threads|holders|top|log]
--
--   stats     of each lock: how often and how long threads waited for it
--   threads   the same for each thread apart
--   holders   the same for each thread that held the lock meanwhile
--   top       the longest waits
--   log       each, in order of time
--
-- A lock is a futex, by its address: a wait is a system call futex that waits (FUTEX_WAIT, FUTEX_WAIT_BITSET,
-- FUTEX_LOCK_PI and those that requeue), from its entry to its exit, of raw system calls (sys_enter and sys_exit) or by
-- name. Where the kernel's own locks were recorded (contention_begin and contention_end), these count, too, as the
-- kernel's. Addresses of two processes may be the same and other locks.
--
-- The holder is the thread that let the lock go: it ended the last sleep of the wait, by a call of futex that wakes
-- waiters of the same address; of a lock of the kernel, it ended the last sleep before the lock was got. It is "-" where
-- that is not known or did not happen: the wait timed out, a signal ended it, the thread did not sleep, or sched_waking was
-- not recorded. Of a condition variable it is the thread that signalled.
--
-- --svg FILE draws the waits as a heat map over time.
--
-- Columns of --where: lock, kind ("futex" or "kernel"), tid, comm, dur, begin.
--
-- Examples:
--   $ yore help locks
--   $ yore locks fixtures/golden/demo/trace.dat
--   $ yore locks fixtures/golden/demo/trace.dat holders

local analysis = require("yore.analysis")
local basics = require("yore.basics")
local chain = require("yore.chain")
local kernel = require("yore.kernel")
local a = analysis.open(arg, {
	name = "locks", verbs = { "stats", "threads", "holders", "top", "log" },
	columns = { "lock", "kind", "tid", "comm", "dur", "begin" }, options = { svg = "text" },
})

-- FUTEX_WAIT, LOCK_PI, WAIT_BITSET, WAIT_REQUEUE_PI, LOCK_PI2; the flags above them say how.
local waiting = { [0] = true, [6] = true, [9] = true, [11] = true, [13] = true }
-- FUTEX_WAKE, REQUEUE, CMP_REQUEUE, WAKE_OP, UNLOCK_PI, WAKE_BITSET, CMP_REQUEUE_PI; WAKE_OP wakes those of its second address, too.
local waking = { [1] = true, [3] = true, [4] = true, [5] = true, [7] = true, [10] = true, [12] = true }
local WAKE_OP = 5
local calls = { futex = true, futex_time64 = true }

local found, lacks = {}, nil

-- The futex calls whose operation is one of these.
local function operating(futexes, operations)
	return futexes:select{ op = function(op) return op ~= nil and operations[op & 0x7f] == true end }
end

local function read_futexes()
	local enter, leave = { "sys_enter" }, { "sys_exit" }
	for name in pairs(calls) do
		table.move({ "syscall_entry_" .. name, "compat_syscall_entry_" .. name, "sys_enter_" .. name }, 1, 3, #enter + 1, enter)
		table.move({ "syscall_exit_" .. name, "compat_syscall_exit_" .. name, "sys_exit_" .. name }, 1, 3, #leave + 1, leave)
	end
	if #analysis.present(enter) == 0 or #analysis.present(leave) == 0 then
		return
	end
	local futexes, column, name_of = kernel.syscalls(a, function(raw)
		local arguments = not raw or analysis.field_of(analysis.present{ "sys_enter" }, "args")
		lacks = not arguments and "the trace's raw system calls have no arguments: futexes are left out" or nil
		return lacks and {} or raw and { lock = "begin field/args[0]", op = "begin field/args[1]", second = "begin field/args[4]" }
			or { lock = "begin uaddr", op = "begin op", second = "begin uaddr2" }
	end, calls)
	if lacks then
		return
	end
	local any, named = #futexes > 0, false
	futexes = futexes:select{ [column] = function(call)
		named = named or type(call) == "string"
		return call ~= nil and calls[name_of(call)] == true
	end }
	if any and not named then
		lacks = "the trace has raw system calls, and does not tell which machine's numbers they have: futexes are left out"
		return
	end
	found[1] = { kind = "futex", segments = operating(futexes, waiting), wakes = operating(futexes, waking) }
end

read_futexes()
local enter, leave = analysis.present{ "contention_begin" }, analysis.present{ "contention_end" }
if #enter > 0 and #leave > 0 then
	local waits = kernel.pairs_by_thread(a, { begin = enter, finish = leave,
		fields = { lock = "begin lock_addr", ret = "end ret" } })
	a:tell_pairs(waits, "waits")
	found[#found + 1] = { kind = "kernel", segments = waits }
end
if #found == 0 then
	a:need({ "sys_enter_futex", "syscall_entry_futex", "sys_enter", "contention_begin" }, "who waits for a lock")
	a:lack(lacks or "the trace tells when waits for locks begin, and not when they end: record sys_exit_futex, sys_exit or contention_end, too")
elseif lacks then
	yore.note("locks: " .. lacks)
end

local tids = {}
for _, of in ipairs(found) do
	for _, tid in ipairs(of.segments:distinct("key")) do
		tids[#tids + 1] = tid
	end
end
local names = a:names(tids)
for _, of in ipairs(found) do
	of.segments = a:filter(of.segments, {
		lock = "lock", kind = { "value", function() return of.kind end }, tid = "key", dur = "dur", begin = "begin",
		comm = { "key", function(tid) return names[tid] end },
	})
end

local function fill(row, of)
	row.kind, row.tid, row.comm = of.kind, row.key, names[row.key]
	return row
end

local unknown = 0 -- waits for which it is unknown whether a thread or an interrupt ended them

-- Returns a function that gives the thread that held the lock of a wait; nil: unknown.
local function holders()
	local events = a:want({ "sched_waking" }, "it is not known who held a lock")
	if not events then
		return function() end
	end
	local wakings = trace:segments{ at = events, key = "payload/tid | payload/pid", from = a.start, to = a.stop }:rekey():rekey()
	local states, wakers = trace:segments{ from = a.start, to = a.stop,
		{ path = "thread[*]/state", optional = true }, { path = "thread[*]/waker", optional = true } }
	if #wakers == 0 and #tids > 0 then
		yore.note("locks: it is not known who held a lock: nothing in this range tells who woke a thread, as in a recording of tasks "
			.. "(perf record without -a)")
	end
	states:join(wakers, { waker = "value" }, { at = "end" })
	local path = chain.new(states)
	for _, of in ipairs(found) do
		of.wakes = of.wakes and of.wakes:rekey():rekey() -- in order of thread and time, as find() needs
	end
	return function(row, of)
		local waker, t, sleep = path:last_waker(row.key, row.begin, row["end"])
		unknown = unknown + (#wakers > 0 and chain.is_woken(sleep, t) and sleep.waker == nil and 1 or 0)
		local waking = waker and wakings:look(row.key, t) -- it may precede t, if another CPU ends the sleep
		if not waking or waking < row.begin then
			return
		elseif of.kind == "kernel" then
			return row.ret == 0 and waker or nil
		end
		local call = of.wakes:find(waker, waking)
		local woke = call and call["end"] >= waking
			and (call.lock == row.lock or call.op & 0x7f == WAKE_OP and call.second == row.lock)
		return woke and waker or nil
	end
end

local lock = { { key = "lock", head = "lock", kind = "hex" }, { key = "kind", head = "kind" } }
local thread = analysis.thread_columns()
local holder = { { key = "holder", head = "holder", kind = "count" }, { key = "holder_comm", head = "its name" } }
local numbers = analysis.statistics("waits", { "total", "mean", "p50", "p99", "max", "max_begin" }, "total")

local function name_holders(rows)
	local seen, held = {}, {}
	for _, row in ipairs(rows) do
		if row.holder and not seen[row.holder] then
			basics.add(seen, row.holder, held, row.holder)
		end
	end
	local known = a:names(held)
	for _, row in ipairs(rows) do
		row.holder_comm = known[row.holder]
	end
end

-- Rows of each lock and the thread that held it.
local function rows_of_holders()
	local holder_of, of_lock, rows = holders(), {}, {}
	for _, of in ipairs(found) do
		for first = 1, #of.segments, 1000 do
			for _, wait in ipairs(of.segments:rows(first, first + 999)) do
				local tid = holder_of(wait, of)
				local key = of.kind .. " " .. tostring(wait.lock) .. " " .. tostring(tid)
				local row = of_lock[key] or basics.add(of_lock, key, rows,
					{ lock = wait.lock, kind = of.kind, holder = tid, count = 0, total = 0, max = -1 })
				row.count, row.total = row.count + 1, row.total + wait.dur
				if wait.dur > row.max then
					row.max, row.max_begin = wait.dur, wait.begin
				end
			end
		end
	end
	for _, row in ipairs(rows) do
		row.mean = row.total / row.count
	end
	name_holders(rows)
	chain.tell_unknown("locks", unknown, "that ended waits")
	table.sort(rows, analysis.order("-total", "max_begin"))
	return rows
end

local drawn = {}
for i, of in ipairs(found) do
	drawn[i] = of.segments
end
if a:draw(drawn, "waits for locks") then
	return
end
a:head()
if a.verb == "top" or a.verb == "log" then
	local holder_of = holders()
	local rows, all = a:listed(found, function(row, of)
		fill(row, of).holder = holder_of(row, of)
	end)
	name_holders(rows)
	chain.tell_unknown("locks", unknown, "that ended waits")
	a:listing("waits for locks", analysis.columns(lock, thread, holder), rows, all)
	return
elseif a.verb == "holders" then
	a:table("waits for locks", analysis.columns(lock, holder, analysis.statistics("waits", { "total", "mean", "max", "max_begin" }, "total")),
		rows_of_holders())
	return
end
local rows = {}
for _, of in ipairs(found) do
	for _, row in ipairs(of.segments:groups{ by = a.verb == "stats" and { "lock" } or { "lock", "key" },
			percentiles = { 50, 99 } }) do
		rows[#rows + 1] = fill(row, of)
	end
end
table.sort(rows, analysis.order("-total", "max_begin"))
a:table("waits for locks", analysis.columns(lock, a.verb == "threads" and thread or {}, numbers), rows)

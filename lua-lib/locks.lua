-- locks: which locks threads waited for, and for how long
--
-- [stats|threads|top|log]
--
--   stats     of each lock: how often and how long threads waited for it
--   threads   the same for each thread apart
--   top       the longest waits
--   log       each, in order of time
--
-- A lock is a futex, by its address: a wait is a system call futex that waits (FUTEX_WAIT, FUTEX_WAIT_BITSET,
-- FUTEX_LOCK_PI and those that requeue), from its entry to its exit. Where the kernel's own locks were recorded
-- (contention_begin and contention_end), these count, too, as the kernel's. Addresses of two processes may be
-- the same and other locks. Futexes of raw system calls are left out; a note says how many.
--
-- --svg FILE draws the waits as a heat map over time.
--
-- Columns of --where: lock, kind ("futex" or "kernel"), tid, comm, dur, begin.
--
-- Examples:
--   $ yore help locks

local analysis = require("yore.analysis")
local kernel = require("yore.kernel")
local a = analysis.open(arg, {
	name = "locks", verbs = { "stats", "threads", "top", "log" },
	columns = { "lock", "kind", "tid", "comm", "dur", "begin" }, options = { svg = "text" },
})

-- FUTEX_WAIT, LOCK_PI, WAIT_BITSET, WAIT_REQUEUE_PI, LOCK_PI2; the flags above them say how.
local waiting = { [0] = true, [6] = true, [9] = true, [11] = true, [13] = true }

local kinds = {
	{ kind = "futex", enter = { "syscall_entry_futex", "sys_enter_futex" },
		leave = { "syscall_exit_futex", "sys_exit_futex" }, lock = "begin uaddr", op = "begin op" },
	{ kind = "kernel", enter = { "contention_begin" }, leave = { "contention_end" },
		lock = "begin lock_addr", op = "begin flags" },
}

local found = {}
for _, kind in ipairs(kinds) do
	local enter, leave = analysis.present(kind.enter), analysis.present(kind.leave)
	if #enter > 0 and #leave > 0 then
		local waits = kernel.pairs_by_thread(a, { begin = enter, finish = leave,
			fields = { lock = kind.lock, op = kind.op } })
		a:tell_pairs(waits, "waits")
		if kind.kind == "futex" then
			waits = waits:select{ op = function(op) return op ~= nil and waiting[op & 0x7f] == true end }
		end
		found[#found + 1] = { kind = kind.kind, segments = waits }
	end
end
-- Raw system calls have numbers in place of names: their futexes are not read.
if #analysis.present(kinds[1].enter) == 0 and kernel.calls_entered(a).futex then
	yore.note("locks: " .. kernel.calls_entered(a).futex .. " calls of futex are left out: raw system calls do not tell the lock's address by "
		.. "name; record syscalls:sys_enter_futex and syscalls:sys_exit_futex, too")
end
if #found == 0 then
	a:need({ "sys_enter_futex", "syscall_entry_futex", "contention_begin" }, "who waits for a lock")
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

local lock = { { key = "lock", head = "lock", kind = "hex" }, { key = "kind", head = "kind" } }
local thread = analysis.thread_columns()
local numbers = analysis.statistics("waits", { "total", "mean", "p50", "p99", "max", "max_begin" }, "total")

local drawn = {}
for i, of in ipairs(found) do
	drawn[i] = of.segments
end
if a:draw(drawn, "waits for locks") then
	return
end
a:head()
if a.verb == "top" or a.verb == "log" then
	a:listing("waits for locks", analysis.columns(lock, thread), a:listed(found, fill))
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

-- critical-path: what a thread waited for, across wake-ups
--
-- [sum|log]
--
--   sum   for how long which thread ran, waited for a CPU or slept on the path, and what ended its sleep
--   log   the stretches of the path, in order of time
--
-- --tid N, or the name of a single thread, names it. The path goes back from the end of the range: while the thread runs or waits for a
-- CPU, that is the path; where it sleeps, the path goes on with the thread that woke it, at the
-- moment of the wake-up. Where a timer, a device or another interrupt woke it, the thread's sleep is on the path, and `woken by`
-- says what did: "timer", "irq 24 nvme0q1", "softirq NET_RX", "device 8:0" where a request of a block device was complete just then
-- (block_rq_issue and block_rq_complete), "interrupt" where nothing tells which one. Where it is not known who woke it, its sleep
-- is on the path, too.
-- It needs sched_waking, which tells who wakes. All stretches together are the range.
--
-- Columns of --where: tid, comm, state, dur, begin, waker.
--
-- Examples:
--   $ yore critical-path fixtures/golden/sched-demo --tid 10893 --begin 00:35:20.801 --end 00:35:20.8025
--   $ yore critical-path fixtures/golden/sched-demo log --tid 10893 --begin 00:35:20.801 --end 00:35:20.8025

local analysis = require("yore.analysis")
local causes = require("yore.causes")
local chain = require("yore.chain")
local threads = require("yore.threads")
local kernel = require("yore.kernel")
local a = analysis.open(arg, {
	name = "critical-path", verbs = { "sum", "log" }, options = { tid = "text" },
	columns = { "tid", "comm", "state", "dur", "begin", "waker" },
})
-- A name is that of one thread, or it is not enough.
local function thread_of(word)
	local tid = math.tointeger(tonumber(word))
	if tid then
		return tid
	end
	local found = word and threads.named(a, word) or {}
	if #found == 1 then
		return found[1]
	end
	error("critical-path: " .. (#found > 1 and "--tid: " .. #found .. " threads are called '" .. word .. "', " .. table.concat(found, ", ")
		.. ", and a path is that of one: name its number" or word and "--tid: '" .. word .. "' is neither a number nor the name of a thread here"
		or "--tid THREAD is missing: of which thread?") .. ": 'yore cputop TRACE threads' lists threads", 0)
end

local tid = thread_of(a.tid)

a:need({ "sched_switch" }, "when threads run")
a.has_wakings = a:want({ "sched_waking" }, "it is not known who wakes a thread: its sleep is on the path")

local states, wakers = trace:segments{ from = a.start, to = a.stop,
	{ path = "thread[*]/state" }, { path = "thread[*]/waker" } }
states:join(wakers, { waker = "value" }, { at = "end" })

if not states:find(tid, a.stop) then
	a:lack("nothing is known of thread " .. tid .. " in this range: 'yore cputop TRACE threads' lists those that ran")
end

local requests, path, unknown = causes.read_requests(a), {}, 0

-- What woke the thread at the end of its sleep, where the path does not go on with a thread.
local function waker_of(row, t)
	if not chain.is_woken(row, t) then
		return
	end
	local device = causes.device(requests, row, t)
	if device then
		return "device " .. device
	end
	local thread, other = kernel.waker_of(row.waker)
	unknown = unknown + (row.waker == nil and 1 or 0)
	return other or thread == 0 and "idle" or nil
end

chain.new(states):path(tid, a.start, a.stop, function(thread, state, from, till, row)
	path[#path + 1] = { begin = from, ["end"] = till, dur = till - from, tid = thread, state = state, waker = waker_of(row, till) }
end)
chain.tell_unknown("critical-path", a.has_wakings and unknown or 0, "on the path")

a:name_threads(path, function(row)
	return row["end"]
end)
path = a:filter_rows(path)

a:head()
if a.verb == "log" then
	table.sort(path, analysis.order("begin"))
	a:table("the path of " .. tid, {
		{ key = "begin", head = "from", kind = "time" }, { key = "end", head = "until", kind = "time" },
		{ key = "dur", head = "length", kind = "span", bar = true },
		{ key = "tid", head = "TID", kind = "count" }, { key = "comm", head = "name" }, { key = "state", head = "state" },
		{ key = "waker", head = "woken by" },
	}, path)
	return
end
local found, list = {}, {}
for _, row in ipairs(path) do
	local key = row.tid .. row.state .. (row.waker or "")
	local one = found[key]
	if not one then
		one = { tid = row.tid, comm = row.comm, state = row.state, waker = row.waker, count = 0, total = 0 }
		found[key] = one
		list[#list + 1] = one
	end
	one.count, one.total = one.count + 1, one.total + row.dur
	one.percent = one.total * 100 / a.length
end
table.sort(list, analysis.order("-total", "tid", "state", "waker"))
a:table("the path of " .. tid, {
	{ key = "tid", head = "TID", kind = "count" }, { key = "comm", head = "name" }, { key = "state", head = "state" },
	{ key = "waker", head = "woken by" }, { key = "count", head = "stretches", kind = "count" }, { key = "total", head = "in all", kind = "span", bar = true },
	{ key = "percent", head = "% of the range", kind = "percent" },
}, list)

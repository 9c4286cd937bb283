-- critical-path: what a thread waited for, across wake-ups
--
-- [sum|log]
--
--   sum   for how long which thread ran, waited for a CPU or slept on the path, and for how long what else was waited for
--   log   the stretches of the path, in order of time
--
-- --tid N, or the name of threads, names whose path it is; where several threads have the name, each of them has a path, and tables are told
-- apart by their numbers. The path goes back from the end of the range. It stays on the thread while that runs or waits for a
-- CPU; where the thread sleeps, it goes on with the thread that woke it, at the moment of the wake-up. Where no thread woke it, the path has what did, in a row of its own for as long as the thread slept: "timer",
-- "irq 24 nvme0q1", "softirq NET_RX", "device 8:0" where a request of a block device was complete just then
-- (block_rq_issue and block_rq_complete), "interrupt" where nothing tells which one, "idle" for the idle thread. Where it is not known
-- who woke it, the thread's sleep is on the path. A new thread waits for its CPU from when it was made; before, the path goes on with the
-- thread that made it (sched_process_fork, task_newtask, sched_wakeup_new, or perf's own records).
-- It needs sched_waking, which tells who wakes. All stretches together are the range.
--
-- Columns of --where: what ("thread", "timer", "irq 24 nvme0q1" ...), tid, comm, state, dur, begin, sleeper (the thread that waits for a
-- timer, a device or an interrupt).
--
-- Examples:
--   $ yore critical-path fixtures/golden/sched-demo --tid 10893 --begin 00:35:20.801 --end 00:35:20.8025
--   $ yore critical-path fixtures/golden/sched-demo log --tid 10893 --begin 00:35:20.801 --end 00:35:20.8025
--   $ yore critical-path fixtures/golden/demo/trace.dat --tid demo-sleep --where 'what == "timer"'

local analysis = require("yore.analysis")
local basics = require("yore.basics")
local causes = require("yore.causes")
local chain = require("yore.chain")
local threads = require("yore.threads")
local kernel = require("yore.kernel")
local a = analysis.open(arg, {
	name = "critical-path", verbs = { "sum", "log" }, options = { tid = "text" }, stray = "; --tid THREAD names the thread",
	columns = { "what", "tid", "comm", "state", "dur", "begin", "sleeper" },
})
local by_name = a.tid and not math.tointeger(tonumber(a.tid))

-- The threads that --tid means: its number, or all that have the name.
local function threads_meant(word)
	local tid = math.tointeger(tonumber(word))
	local found = tid and { tid } or word and threads.named(a, word) or {}
	if not word then
		yore.misuse("critical-path: --tid THREAD is missing: of which thread?: 'yore cputop TRACE threads' lists threads")
	elseif #found == 0 then
		a:lack("--tid: '" .. word .. "' is neither a number nor the name of a thread here: 'yore cputop TRACE threads' lists threads")
	end
	return found
end

local tids = threads_meant(a.tid)

a:need({ "sched_switch" }, "when threads run")
a.has_wakings = a:want({ "sched_waking" }, "it is not known who wakes a thread: its sleep is on the path")

local states, wakers, runs = trace:segments{ from = a.start, to = a.stop,
	{ path = "thread[*]/state" }, { path = "thread[*]/waker" }, { path = "cpu[*]/thread", optional = true } }
states:join(wakers, { waker = "value" }, { at = "end" })

local requests, unknown = causes.read_requests(a.start, a.stop), 0
local creations, waits = kernel.creations(a, a.whole and runs)

-- The text of the device, timer or interrupt that ended the sleep `row` at t; nil: there was no wake-up, a thread ended it,
-- or the waker is unknown.
local function awaited(row, t)
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

-- The rows of a thread's path, from the last to the first.
local function path_of(tid)
	local path = {}
	chain.new(states, creations, waits):path(tid, a.start, a.stop, function(thread, state, from, till, row)
		local what = awaited(row, till)
		path[#path + 1] = { begin = from, ["end"] = till, dur = till - from, state = state, what = what or "thread",
			tid = not what and thread or nil, sleeper = what and thread }
	end)
	return path
end

-- The threads of --tid whose state is known in the range; gives a note, or an error, on the others.
local function threads_known()
	local known, others = {}, {}
	for _, tid in ipairs(tids) do
		local list = states:find(tid, a.stop) and known or others
		list[#list + 1] = tid
	end
	if #known == 0 and #others > 0 then
		a:lack("nothing is known of thread " .. table.concat(others, ", ") .. " in this range: 'yore cputop TRACE threads' lists those that ran")
	elseif #others > 0 then
		yore.note("critical-path: nothing is known of thread " .. table.concat(others, ", ") .. " in this range")
	end
	return known
end

local log_columns = {
	{ key = "begin", head = "from", kind = "time" }, { key = "end", head = "until", kind = "time" },
	{ key = "dur", head = "length", kind = "span", bar = true }, { key = "what", head = "what" },
	{ key = "tid", head = "TID", kind = "count" }, { key = "comm", head = "name" }, { key = "state", head = "state" },
	{ key = "sleeper", head = "awaited by", kind = "count" }, { key = "sleeper_comm", head = "name" },
}
local sum_columns = {
	{ key = "what", head = "what" }, { key = "tid", head = "TID", kind = "count" }, { key = "comm", head = "name" },
	{ key = "state", head = "state" }, { key = "count", head = "stretches", kind = "count" },
	{ key = "total", head = "in all", kind = "span", bar = true }, { key = "percent", head = "% of the range", kind = "percent" },
}

-- One row for each thread and state, and one for each timer, device or interrupt, whoever waited for it.
local function summed(path)
	local found, list = {}, {}
	for _, row in ipairs(path) do
		local state = row.tid and row.state
		local key = row.what .. "\0" .. (row.tid or "") .. (state or "")
		local one = found[key]
			or basics.add(found, key, list, { what = row.what, tid = row.tid, comm = row.comm, state = state, count = 0, total = 0 })
		one.count, one.total = one.count + 1, one.total + row.dur
		one.percent = one.total * 100 / a.length
	end
	table.sort(list, analysis.order("-total", "tid", "what", "state"))
	return list
end

-- Sets the names of threads in the rows of all paths, by one query.
local function name_rows(paths)
	local last = {}
	for _, path in ipairs(paths) do
		for _, row in ipairs(path) do
			local tid = row.tid or row.sleeper
			last[tid] = math.max(last[tid] or row["end"], row["end"])
		end
	end
	local names = a:names_at(last)
	for _, path in ipairs(paths) do
		for _, row in ipairs(path) do
			row.comm, row.sleeper_comm = row.tid and names[row.tid], row.sleeper and names[row.sleeper]
		end
	end
end

local known, paths = threads_known(), {}
for i, tid in ipairs(known) do
	paths[i] = path_of(tid)
end
chain.tell_unknown("critical-path", a.has_wakings and unknown or 0, "on the path")
name_rows(paths)

a:head()
a.tables = by_name -- one for each thread of the name
a.table_class = "the path of " .. a.tid
for i = 1, math.max(#paths, a.lami and 1 or 0) do
	local path, title = a:filter_rows(paths[i] or {}), "the path of " .. (known[i] or a.tid)
	if a.verb == "log" then
		table.sort(path, analysis.order("begin"))
		a:table(title, log_columns, path)
	else
		a:table(title, sum_columns, summed(path))
	end
end

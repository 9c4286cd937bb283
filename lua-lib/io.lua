-- io: what threads read and wrote, by their system calls, and what disks took
--
-- [top|latency|log|freq|disks]
--
--   top       of each thread: bytes read and written, calls, time in them
--   latency   of each call: how long it took
--   log       each call, in order of time
--   freq      how many calls were how long
--   disks     of each disk: requests, from issue to completion
--
-- Calls are read, write and those like them (pread64, writev, recvfrom, sendmsg ...); what a call returned is what was
-- read or written, and failures count as calls of no bytes. `disks` needs block_rq_issue and
-- block_rq_complete; a request is known by its disk and first sector.
--
-- --svg FILE draws how long they took: a histogram with `freq`, else a heat map over time.
--
-- Columns of --where: name, tid, comm, bytes, dur, begin; of `disks`: dur, begin.
--
-- Examples:
--   $ yore io fixtures/golden/sched-ftrace/trace.dat
--   $ yore io fixtures/golden/sched-ftrace/trace.dat latency

local analysis = require("yore.analysis")
local basics = require("yore.basics")
local kernel = require("yore.kernel")
local a = analysis.open(arg, {
	name = "io", verbs = { "top", "latency", "log", "freq", "disks" },
	columns = { "name", "tid", "comm", "bytes", "dur", "begin" }, options = { svg = "text" },
})

local reads = { "read", "pread64", "readv", "preadv", "preadv2", "recvfrom", "recvmsg", "recv" }
local writes = { "write", "pwrite64", "writev", "pwritev", "pwritev2", "sendto", "sendmsg", "send", "sendfile",
	"sendfile64", "splice" }
local direction = {}
for _, name in ipairs(reads) do direction[name] = "read" end
for _, name in ipairs(writes) do direction[name] = "written" end

local numbers = analysis.statistics("times", { "total", "min", "mean", "p50", "p99", "max", "max_begin" }, "total")

local function disks()
	local requests = trace:segments{ begin = a:need({ "block_rq_issue" }, "when disks are asked"),
		finish = a:need({ "block_rq_complete" }, "when disks are done"), key = "dev + sector",
		fields = { dev = "begin dev" }, from = a.start, to = a.stop }
	a:tell_pairs(requests, "requests")
	requests = a:filter(requests, { dur = "dur", begin = "begin" })
	if a:draw({ requests }, "requests") then
		return
	end
	a:head()
	local rows = requests:groups{ by = { "dev" }, percentiles = { 50, 99 } }
	for _, row in ipairs(rows) do
		row.disk = math.type(row.dev) and string.format("%d:%d", row.dev >> 20, row.dev & 0xfffff) or row.dev
	end
	table.sort(rows, analysis.order("disk"))
	a:table("requests of each disk", analysis.columns({ { key = "disk", head = "disk", class = "disk" } }, numbers), rows)
end

if a.verb == "disks" then
	disks()
	return
end

local calls, name_column, name_of = kernel.syscalls(a)
calls = calls:select{ [name_column] = function(name) return name ~= nil and direction[name_of(name)] ~= nil end }
local names = a:names(calls:distinct("key"))
local thread = analysis.thread_columns()
local function bytes_of(ret)
	return ret and ret > 0 and ret or 0
end
calls = a:filter(calls, { name = { name_column, name_of }, tid = "key", dur = "dur", begin = "begin",
	bytes = { "ret", bytes_of }, comm = { "key", function(tid) return names[tid] end } })

local name_head = { { key = "name", head = "call", class = "syscall" } }

local function latency()
	local rows = calls:groups{ by = { name_column }, percentiles = { 50, 99 } }
	for _, row in ipairs(rows) do
		row.name = name_of(row[name_column])
	end
	table.sort(rows, analysis.order("-total", "name"))
	a:table("calls that read and write", analysis.columns(name_head, numbers), rows)
end

local function top()
	local found, list = {}, {}
	local function add(rows, moved)
		for _, row in ipairs(rows) do
			local one = found[row.key] or basics.add(found, row.key, list,
				{ tid = row.key, comm = names[row.key], read = 0, written = 0, count = 0, total = 0 })
			local way = direction[name_of(row[name_column])]
			one[way] = one[way] + (moved and row.sum_ret or 0)
			if not moved then
				one.count, one.total = one.count + row.count, one.total + row.total
			end
		end
	end
	add(calls:groups{ by = { "key", name_column } })
	add(calls:select{ ret = function(ret) return ret ~= nil and ret > 0 end }
		:groups{ by = { "key", name_column }, sum = { "ret" } }, true)
	for _, one in ipairs(list) do
		one.moved = one.read + one.written
	end
	table.sort(list, analysis.order("-moved", "tid"))
	a:table("bytes of each thread", analysis.columns(thread, {
		{ key = "read", head = "bytes read", kind = "count", bar = true },
		{ key = "written", head = "bytes written", kind = "count" }, { key = "count", head = "calls", kind = "count" },
		{ key = "total", head = "time in them", kind = "span" },
	}), list)
end

a:show("calls that read and write", { { segments = calls } },
	analysis.columns(thread, name_head, { { key = "bytes", head = "bytes", kind = "count", bar = true } }), function(row)
		row.tid, row.comm, row.name, row.bytes = row.key, names[row.key], name_of(row[name_column]), bytes_of(row.ret)
	end, { latency = latency, top = top })

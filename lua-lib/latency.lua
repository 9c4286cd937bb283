-- latency: how long threads wait for a CPU: woken, preempted, new
--
-- [stats|top|log|freq]
--
--   stats   of each thread: how often it waited, how long in all, on average, p50, p99, longest, when
--   top     the longest waits: who woke the thread, and which three threads ran longest on its CPU meanwhile
--   log     every wait, in order of time
--   freq    how many waits were how long
--
-- A wait is the time from which a thread could run until it does: from its wake-up (woken), from where it
-- lost the CPU (preempted), or from its fork (new). Waits that begin or end outside of the range do not
-- count. This is the delay of `perf sched latency`, which adds woken and preempted up, and the sch delay
-- of `perf sched timehist`, which is that of woken threads alone.
--
-- --svg FILE draws the waits: a histogram with `freq`, else a heat map over time.
--
-- Columns of --where: tid, comm, cpu, dur, begin, kind ("woken", "preempted", "new" in `top` and `log`).
--
-- Examples:
--   $ yore latency fixtures/golden/sched-demo
--   $ yore latency fixtures/golden/sched-demo top --limit 3
--   $ yore latency fixtures/golden/sched-demo freq --where 'comm ~ "demo-*"'
--   $ yore latency fixtures/golden/sched-demo --sort p99 --format csv

local analysis = require("yore.analysis")
local basics = require("yore.basics")
local kernel = require("yore.kernel")
local left_out = require("yore.waits")
local a = analysis.open(arg, {
	name = "latency", verbs = { "stats", "top", "log", "freq" }, tables = { stats = true, freq = true },
	columns = { "tid", "comm", "cpu", "dur", "begin", "kind" }, options = { svg = "text" },
})

a:need({ "sched_switch", "perf_switch_cpu_wide", "perf_switch" }, "when threads run")
a:want({ "sched_wakeup", "sched_waking" }, "it is not known when threads are woken: only preemptions are measured")

-- The end of a wait must be a recorded switch: the thread begins to run on a CPU whose previous thread is known.
local found = { a:segments({ path = "thread[*]/state", value = "ready" }, { path = "cpu[*]/thread" }, table.unpack(left_out.paths)) }
local ready, runs = found[1], found[2]
local waits = ready:select{ begun = true, ended = true, after = "running" }
local by_thread = runs:rekey()
waits:join(by_thread, { cpu = "value", last = "before" }, { at = "end", match = "begins" })
-- If the switch before or after the end of a wait is missing, the state does not know who ran; the sched_switch that ends
-- the wait has the CPU. Returns these waits, and their CPUs by thread and end.
local function seen_alone()
	local times, cpus, found = {}, {}, nil
	local function of_event(row)
		return cpus[row.key .. " " .. row["end"]] ~= nil
	end
	local of_unknown = waits:select{ last = basics.is_nil, ["end"] = { max = a.stop - 1 } }
	local cut = ready:select{ begun = true, ended = false, ["end"] = { max = a.stop - 1 } }
	for _, segments in ipairs{ of_unknown, cut } do
		for _, row in ipairs(segments:rows()) do
			times[row["end"]], cpus[row.key .. " " .. row["end"]] = true, false
		end
	end
	found = cpus
	cpus = {}
	left_out.each_switch(a, times, function(cpu, tid, t)
		local key = tid .. " " .. t
		cpus[key] = found[key] == false and cpu or nil
	end)
	found = of_unknown:select{ row = of_event }
	found:append(cut:select{ row = of_event })
	return found, cpus
end
local alone, cpu_of = seen_alone()
waits = waits:select{ last = basics.is_some }

-- Gives a note on the waits that are left out.
local function tell_left_out()
	local left = left_out.left_out(a, true, runs, by_thread, { table.unpack(found, 3) })
	left.open, left.unended = left_out.unended(a, ready, by_thread, cpu_of)
	left.before = (left.before or 0) + #ready:select{ begun = false, ended = true, after = "running" }
	left_out.tell(a, left, #waits + #alone, "waits")
end
tell_left_out()

-- The forks of threads: moments, in order of (new thread, time).
local function read_forks()
	local events = analysis.present{ "sched_process_fork" }
	if #events == 0 then
		return ready:select{ dur = { max = -1 } } -- none
	end
	return trace:segments{ at = events, key = "payload/child_tid | payload/child_pid", from = a.start, to = a.stop }:rekey():rekey()
end
local forks = read_forks()

-- Splits waits by kind. After an unknown state: preempted if the thread left a CPU then, new if it was forked then.
local function split(all)
	local first = all:select{ before = basics.is_nil }
	first:join(by_thread, { left = "value" }, { match = "ends" })
	local preempted = all:select{ before = function(v) return kernel.has_cpu[v] == true end }
	local woken = all:select{ before = function(v) return v ~= nil and not kernel.has_cpu[v] end }
	preempted:append(first:select{ left = basics.is_some })
	local others = first:select{ left = basics.is_nil }
	others:join(forks, { forked = "key" }, { match = "begins" })
	woken:append(others:select{ forked = basics.is_nil })
	return { woken = woken, preempted = preempted, new = others:select{ forked = basics.is_some } }
end

local kinds = { "woken", "preempted", "new" }
local of = split(waits)
for kind, segments in pairs(#alone > 0 and split(alone) or {}) do
	of[kind]:append(segments)
end
local tids = {}
for _, kind in ipairs(kinds) do
	table.move(of[kind]:distinct("key"), 1, #of[kind], #tids + 1, tids)
end
local names = a:names(tids)
for kind, segments in pairs(of) do
	of[kind] = a:filter(segments, {
		tid = "key", comm = { "key", function(tid) return names[tid] end }, dur = "dur",
		begin = "begin", cpu = "cpu", kind = { "value", function() return kind end },
	})
end

local function stats()
	for _, kind in ipairs(kinds) do
		local rows = of[kind]:groups{ by = { "key" }, percentiles = { 50, 99 } }
		for _, row in ipairs(rows) do
			row.tid, row.comm = row.key, names[row.key]
		end
		table.sort(rows, analysis.order("-max", "tid"))
		if #rows > 0 or kind ~= "new" or a.lami then
			a:table(kind, analysis.columns(analysis.thread_columns(),
				analysis.statistics("waits", { "total", "mean", "p50", "p99", "max", "max_begin" }, "max")), rows)
		end
	end
end

local most_instead = 3 -- threads that a row lists for one wait

-- The name of a thread at t.
local function name_at(tid, t)
	return tid == 0 and "idle" or trace:comm(tid, t) or nil
end

-- Sets the columns `instead...` of a row: the threads that ran during the wait on the CPU that the thread got then, with their
-- shares of the wait, longest first; and instead_text, all of it in one text.
local function tell_instead(row)
	local found, list, texts = {}, {}, {}
	kernel.overlaps(runs, row.cpu, row.begin, row["end"], function(tid, from, till)
		local one = found[tid] or { tid = tid, time = 0 }
		list[#list + 1] = not found[tid] and one or nil
		found[tid], one.time, one.begin = one, one.time + (till - from), from
	end)
	table.sort(list, analysis.order("-time", "begin"))
	for i = 1, math.min(most_instead, #list) do
		local one, suffix = list[i], i > 1 and i or ""
		local comm, percent = name_at(one.tid, one.begin), one.time * 100 / row.dur
		row["instead" .. suffix], row["instead_comm" .. suffix], row["instead_percent" .. suffix] = one.tid, comm, percent
		texts[i] = string.format("%d %s %.1f %%", one.tid, comm or "-", percent)
	end
	row.instead_text = #texts > 0 and table.concat(texts, ", ") or nil
end

-- Sets the columns of the waker of each wait, a thread or an interrupt, if it was recorded; and of the threads that ran instead.
local function explain(rows)
	for _, row in ipairs(rows) do
		if row.cpu and row.dur > 0 then
			tell_instead(row)
		end
		if row.kind == "woken" then
			local other
			row.waker, other, row.waker_kind = kernel.waker_of(trace:at(row.begin, "thread[" .. row.key .. "]/waker"))
			row.waker_comm = other or row.waker and name_at(row.waker, row.begin)
		end
	end
end

local function waits_listed()
	local collections = {}
	for i, kind in ipairs(kinds) do
		collections[i] = { segments = of[kind], kind = kind }
	end
	return a:listed(collections, function(row, collection)
		row.kind, row.tid, row.comm = collection.kind, row.key, names[row.key]
		row.cpu = row.cpu or cpu_of[row.key .. " " .. row["end"]]
	end)
end

local columns = analysis.columns({ { key = "kind", head = "kind" }, { key = "cpu", head = "CPU", kind = "count" } },
	analysis.thread_columns())

-- A table has one text for them, for the eye; other formats have a column for each thread, its name and its share of the wait.
local as_text = a.format == "table" or a.format == "bars"

local function instead_columns()
	if as_text then
		return { { key = "instead_text", head = "ran instead" } }
	end
	local list = {}
	for i = 1, most_instead do
		local suffix = i > 1 and i or ""
		list = analysis.columns(list, { { key = "instead" .. suffix, head = "ran instead", kind = "count" },
			{ key = "instead_comm" .. suffix, head = "name" },
			{ key = "instead_percent" .. suffix, head = "% of the wait", kind = "percent" } })
	end
	return list
end

if a:draw({ of.woken, of.preempted, of.new }, "waits") then
	return
end
a:head()
if a.verb == "stats" then
	stats()
elseif a.verb == "top" then
	local rows = waits_listed()
	explain(rows)
	a:listing("waits", analysis.columns(columns, {
		{ key = "waker", head = "woken by", kind = "count" }, { key = "waker_comm", head = "name" } },
		as_text and {} or { { key = "waker_kind", head = "what it is" } }, instead_columns()), rows)
elseif a.verb == "log" then
	a:listing("waits", columns, waits_listed())
else
	for _, kind in ipairs(kinds) do
		if #of[kind] > 0 or kind ~= "new" or a.lami then
			a:histogram(kind, of[kind]:hist())
		end
	end
end

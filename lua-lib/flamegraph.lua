-- flamegraph: call chains folded, "comm;frame;frame count", or drawn (--svg FILE)
--
-- One line per different stack, its outermost frame first, and how much of the time was in it: the
-- sum of the samples' periods where they have one, else how many there were (--count: always that).
-- Tracepoints count once each. Different events are not added up: without --event GLOB those of one
-- event count, of the first counter, before tracepoints; a note tells the others. --limit N leaves the
-- N stacks that weigh most, and a note says how much the others weigh. --format table, csv, json and bars have the heaviest stack first.
--
-- Call chains are those of perf record -g, of LTTng's contexts callstack-kernel and callstack-user, and of ftrace's
-- stacks (trace-cmd record -T), each of which belongs to the event before it.
--
-- Where no event has a call chain, stacks are those of the state: thread[*]/stack, which rules push
-- and pop at entries and exits of functions. --stack PATH names another one. Their weight is the
-- time, in ns, for which the innermost function was that. Addresses of LTTng-UST's cyg-profile are
-- functions where the trace says which files were loaded, or --program FILE@ADDRESS does.
--
-- Frames are called as stackcollapse-perf calls them: a function without its arguments, else the
-- file's name in brackets; where the trace does not tell what was mapped, as LTTng's, an address. `yore
-- offcpu --by stack --svg FILE` draws the time for which threads slept.
--
-- Columns of --where: comm, stack, weight.
--
-- Examples:
--   $ yore help flamegraph

local analysis = require("yore.analysis")
local frames = require("yore.frames")
local sorted_keys = require("yore.keys")
local threads = require("yore.threads")

local own = analysis.open(arg, {
	samples = true, name = "flamegraph", columns = { "comm", "stack", "weight" }, without_range = true,
	options = { svg = "text", event = "text", stack = "text", count = "flag" },
	draws = { limit = true },
	format = "folded", write = function(row) return row.folded .. " " .. row.weight end,
})

if own.event and own.stack then
	error("flamegraph: --event and --stack: call chains of an event are drawn, or what is on a path of the state", 0)
end

-- Without a range records count that have no time, too.
local start, stop = yore.range()
start, stop = own.begin or start, own["end"] or stop
local range = {}
if start or stop then
	range.start, range.stop = analysis.range(start, stop)
end
own.start, own.stop = range.start, range.stop
local meant, meant_thread = threads.of_samples(own)

-- Names of threads, by the records that give and inherit them; those before the range, too.
local names = { [0] = "swapper" }

local function learn(ev)
	local payload = ev.payload
	if ev.name == "perf_comm" then
		names[payload.tid] = payload.comm
	elseif names[payload.ptid] then
		names[payload.tid] = names[payload.ptid]
	end
end

-- Not every trace has these records.
local telling = {}
for _, class in ipairs(trace:info().classes) do
	if class.name == "perf_comm" or class.name == "perf_fork" then
		telling[#telling + 1] = class.name
	end
end

if range.start and #telling > 0 then
	for ev in trace:events{ name = telling, to = range.start } do
		learn(ev)
	end
end

-- Weights by stack, and by how many of its frames are the kernel's.
local stacks, total, unit = {}, 0, "samples"

local function add(key, inside, weight)
	local weights = stacks[key] or {}
	stacks[key] = weights
	weights[inside] = (weights[inside] or 0) + weight
	total = total + weight
end

-- The name of a thread at t. perf's records tell it on the way; elsewhere the state has it.
local told
local function name_at(tid, t)
	if not tid or #telling > 0 then
		return names[tid]
	end
	if not told then
		local first, last = trace:bounds()
		told = trace:segments{ path = "thread[*]/name", optional = true, from = first, to = last + 1 }
	end
	local row = told:find(tid, t) or told:find(tid, select(2, trace:bounds()))
	return row and row.value or names[tid]
end

-- tid: the thread, where the event itself does not say it.
local function fold(ev, chain, tid)
	local weight = 1
	if not tid then
		tid = ev.context.tid or ev.state["cpu[cpu]/thread"]
		if not own.count and ev.context.common_type == nil then
			weight = ev.context.period or 1
			unit = ev.context.period and ev.name or unit
		end
	end
	local stack, inside = frames.names(chain, { (tostring(name_at(tid, ev.ts) or tid and ":" .. tid or "[unknown]"):gsub(" ", "_")) })
	add(table.concat(stack, ";"), inside, weight)
end

-- Stacks of the state: the number of values at `path`, and the values path[1] and so on. Each
-- thread's changes are gone through in order of time.
local function fold_state(path)
	local changes, pids, first, last = {}, {}, trace:bounds()
	first, last = range.start or first, range.stop or last
	if not first then
		return
	end

	local function change(owner, t, level, value)
		local own = changes[owner] or {}
		changes[owner] = own
		own[#own + 1] = { t = math.max(t, first), level = level, value = value }
	end

	trace:intervals({ path, path .. "[*]" }, first, last, function(at, from, to, value)
		local owner, level = at:match("^(.*/[^/%[]*)%[(%d+)%]$")
		owner, level = owner or at, tonumber(level) or 0
		if meant_thread and not meant_thread(math.tointeger(tonumber(owner:match("thread%[(%-?%d+)%]"))), from or first) then
			return
		end
		if from and level == 0 then
			change(owner, from, 0, value)
			if to then
				change(owner, to, -1)
			end
		elseif from then
			change(owner, from, level, tostring(value))
		end
	end)
	-- A text that is an address, as a function of the thread's process.
	local function function_name(owner, t, text)
		local address = text:match("^0x%x+$")
		if not address then
			return frames.tidied[text]
		end
		if pids[owner] == nil then
			pids[owner] = trace:at(t, (owner:gsub("[^/]*$", "process"))) or -1
		end
		local frame = trace:symbol(pids[owner], t, math.tointeger(tonumber(address)))
		return frame and frames.name(frame) or text
	end

	for _, owner in ipairs(sorted_keys(changes)) do
		local own = changes[owner]
		-- what ends does so before what begins in its place
		table.sort(own, function(a, b)
			if a.t ~= b.t then
				return a.t < b.t
			end
			return a.level < b.level
		end)
		local tid = tonumber(owner:match("thread%[(%-?%d+)%]"))
		local name = tid and trace:comm(tid, math.min(last, select(2, trace:bounds())))
		local outermost = (name or tid and ":" .. tid or owner):gsub("[ ;]", "_")
		local depth, values = 0, {}
		for i, item in ipairs(own) do
			local until_t = math.min(own[i + 1] and own[i + 1].t or last, last)
			if item.level > 0 then
				values[item.level] = function_name(owner, item.t, item.value)
			else
				depth = item.level == 0 and item.value or 0
			end
			if depth > 0 and until_t > item.t then
				local key = outermost
				for n = 1, depth do
					key = key .. ";" .. (values[n] or "[unknown]")
				end
				add(key, 0, until_t - item.t)
				unit = "ns"
			end
		end
	end
end

local counted -- the event, where none was asked for

-- Of ftrace's events, which are all tracepoints, those of the name count of which the first one has a stack.
local function fold_stacked(stacks, names)
	local others = {}
	frames.each_stacked(stacks, names, range.start, range.stop, function(ev, chain, tid)
		if #chain == 0 or others[ev.name] or meant and not meant(ev, tid) then
			return
		end
		counted = counted or ev.name
		if names or counted == ev.name then
			fold(ev, chain, tid)
		else
			others[ev.name], others[#others + 1] = true, ev.name
		end
	end)
	frames.note_others("flamegraph", counted, others)
end

local function fold_chains()
	local asked, stacks = own.event and own:need_named("event", { own.event }), frames.stack_events()
	if stacks then
		return fold_stacked(stacks, asked)
	end
	counted = not asked and frames.choose("flamegraph", range.start, range.stop, meant)
	if not asked and not counted then
		return
	end
	for ev in trace:events{ name = analysis.columns(asked or { counted }, telling), from = range.start, to = range.stop } do
		if ev.name == "perf_comm" or ev.name == "perf_fork" then
			learn(ev)
		elseif asked or counted == ev.name then
			local chain = ev.frames
			if chain and #chain > 0 and (not meant or meant(ev)) then
				fold(ev, chain)
			end
		end
	end
end

if not own.stack then
	fold_chains()
end
if total == 0 and not own.event then
	fold_state(own.stack or "thread[*]/stack")
end
local sorted = sorted_keys(stacks)
if #sorted == 0 then
	own:lack(own.stack and "nothing is on " .. own.stack
		or "no event has a call chain, and nothing is on thread[*]/stack: record call chains with perf record -g, lttng add-context "
			.. "--kernel --type callstack-kernel or trace-cmd record -T")
end

local rows = {}
for i, key in ipairs(sorted) do
	local weight = 0
	for _, part in pairs(stacks[key]) do
		weight = weight + part
	end
	rows[i] = { folded = key, comm = key:match("^[^;]*"), stack = key:match("^[^;]*;(.*)$"), weight = weight,
		percent = weight * 100 / total }
end
rows = own:filter_rows(rows)

-- With --limit the stacks that weigh most are left, in the order of their names.
if own.limit and own.limit < #rows and (own.svg or own.format == "folded") then
	local all, left = #rows, 0
	table.sort(rows, analysis.order("-weight", "folded"))
	rows = table.move(rows, 1, own.limit, 1, {})
	for _, row in ipairs(rows) do
		left = left + row.percent
	end
	table.sort(rows, analysis.order("folded"))
	yore.note(string.format("flamegraph: --limit leaves out %d of %d stacks, with %.2f %% of the weight", all - own.limit,
		all, 100 - left))
end

if not own.svg then
	if own.format ~= "folded" then
		table.sort(rows, analysis.order("-weight", "folded"))
	end
	local first, last = trace:bounds()
	own.start, own.stop = range.start or first, range.stop or last
	own:table("stacks", {
		{ key = "percent", head = "%", kind = "percent", bar = true }, { key = "weight", head = "weight", kind = "count" },
		{ key = "comm", head = "name" }, { key = "stack", head = "stack" },
	}, rows)
	return
end

-- Drawn as they are, with the frames that are the kernel's.
local function list_of(shown)
	local list = {}
	for _, row in ipairs(shown) do
		local key = row.folded
		for inside, weight in pairs(stacks[key]) do
			local frames = {}
			for name in key:gmatch("[^;]+") do
				frames[#frames + 1] = name
			end
			list[#list + 1] = { frames = frames, weight = weight, thread = true,
				kernel = inside > 0 and #frames - inside + 1 or nil }
		end
	end
	return list
end

-- periods of the kernel's clocks are times
if unit:find("^cpu%-clock") or unit:find("^task%-clock") then
	unit = "ns"
end
local weight = 0
for _, row in ipairs(rows) do
	weight = weight + row.weight
end
own:need_drawn(weight, "stack")
local what = own.event or own.stack or counted or "thread[*]/stack"
local title = "flame graph of " .. trace:info().path .. ": " .. what
local ok, why = yore.save(own.svg, require("yore.draw").flamegraph{ stacks = list_of(rows), title = title, unit = unit })
if not ok then
	error(why, 0)
end

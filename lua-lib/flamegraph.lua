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
-- --against TRACE compares with another recording: a line has what the stack weighs there and then what it weighs here, as
-- difffolded.pl writes it, and the drawing has this recording's widths and colours by how much the share of all changed. Tables have `change` in
-- percent of all, with the bounds `low` and `high`, as `yore top --against`; those of the state have none. --begin and --end are of the first one.
--
-- Columns of --where: comm, stack, weight; with --against also against_weight, change, low, high.
--
-- Examples:
--   $ yore help flamegraph

local analysis = require("yore.analysis")
local basics = require("yore.basics")
local frames = require("yore.frames")
local shares = require("yore.shares")
local threads = require("yore.threads")

local own = analysis.open(arg, {
	samples = true, name = "flamegraph", columns = { "comm", "stack", "weight", "against_weight", "change", "low", "high" }, without_range = true,
	options = { svg = "text", event = "text", stack = "text", count = "flag", against = "text" },
	draws = { limit = true },
	format = "folded", write = function(row)
		return row.folded .. " " .. (row.against_weight and row.against_weight .. " " or "") .. row.weight
	end,
})
own:need_against{ "against_weight", "change", "low", "high" }

if own.event and own.stack then
	yore.misuse("flamegraph: --event and --stack: call chains of an event are drawn, or what is on a path of the state")
end

-- Without a range, records that have no time are counted, too.
local start, stop = yore.range()
start, stop = own.begin or start, own["end"] or stop
local range, meant, meant_thread = {}, nil, nil
if start or stop then
	range.start, range.stop = analysis.range(start, stop)
end

-- Names of threads from perf's records perf_comm and perf_fork, including those before the range.
local names

local function learn(ev)
	local payload = ev.payload
	if ev.name == "perf_comm" then
		names[payload.tid] = payload.comm
	elseif names[payload.ptid] then
		names[payload.tid] = names[payload.ptid]
	end
end

local telling -- not every trace has these records

local function learn_before()
	names, telling = { [0] = "swapper" }, {}
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
end

-- A profile: weights by stack and by number of kernel frames; with --against also the weights in each block of samples.
local function new_profile()
	return { stacks = {}, total = 0, unit = "samples", side = own.against and shares.new(), sums = {} }
end

local profile -- the profile that samples are added to

local function add(key, inside, weight)
	local weights = profile.stacks[key] or {}
	profile.stacks[key] = weights
	weights[inside] = (weights[inside] or 0) + weight
	profile.total = profile.total + weight
end

local function add_sample(key, inside, weight)
	add(key, inside, weight)
	if profile.side then
		profile.sums[key] = profile.sums[key] or shares.sums()
		profile.side:sample(weight)
		profile.side:add(profile.sums[key], weight)
	end
end

-- The name of a thread at t: from perf's records read so far, if the trace has them, else from the state.
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

local keys, nkeys -- {key, number of kernel frames} of a chain, by the name of its thread and its number
local keys_most = 100000

-- Adds the chain of an event to the profile: `chain`, or the one of this number. tid: the thread, if the event has no field of it.
local function fold(ev, number, chain, tid)
	local weight = 1
	if not tid then
		tid = ev.context.tid or ev.state["cpu[cpu]/thread"]
		if not own.count and ev.context.common_type == nil then
			weight = ev.context.period or 1
			profile.unit = ev.context.period and ev.name or profile.unit
		end
	end
	local name = tostring(name_at(tid, ev.ts) or tid and ":" .. tid or "[unknown]")
	local of = number and keys[name .. " " .. number]
	if not of then
		local stack, inside = frames.names(chain or ev.frames, { (name:gsub(" ", "_")) })
		of = { table.concat(stack, ";"), inside }
		if nkeys == keys_most then
			keys, nkeys = {}, 0
		end
		keys[name .. " " .. (number or "")], nkeys = number and of, nkeys + 1
	end
	add_sample(of[1], of[2], weight)
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

	for _, owner in ipairs(basics.keys(changes)) do
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
				profile.unit = "ns"
			end
		end
	end
end

-- Of ftrace's events, which are all tracepoints, those of the name count of which the first one has a stack.
local function fold_stacked(stacks, names)
	local others = {}
	frames.each_stacked(stacks, names, range.start, range.stop, function(ev, chain, tid)
		if #chain == 0 or others[ev.name] or meant and not meant(ev, tid) then
			return
		end
		profile.counted = profile.counted or ev.name
		if names or profile.counted == ev.name then
			fold(ev, nil, chain, tid)
		else
			others[ev.name], others[#others + 1] = true, ev.name
		end
	end)
	frames.note_others("flamegraph", profile.counted, others)
end

-- Folds the call chains; without --event those of `preferred`, where the trace has it.
local function fold_chains(preferred)
	local asked, stacks = own.event and own:need_named("event", { own.event }), frames.stack_events()
	if stacks then
		return fold_stacked(stacks, asked)
	end
	profile.counted = not asked and frames.choose("flamegraph", range.start, range.stop, meant, preferred)
	if not asked and not profile.counted then
		return
	end
	for ev in trace:events{ name = analysis.columns(asked or { profile.counted }, telling), from = range.start, to = range.stop } do
		if ev.name == "perf_comm" or ev.name == "perf_fork" then
			learn(ev)
		elseif asked or profile.counted == ev.name then
			local number = (not meant or meant(ev)) and ev:stack()
			if number then
				fold(ev, number)
			end
		end
	end
end

-- The profile of the global trace.
local function gather(preferred)
	profile, told, keys, nkeys = new_profile(), nil, {}, 0
	own.start, own.stop = range.start, range.stop
	meant, meant_thread = threads.of_samples(own)
	learn_before()
	if not own.stack then
		fold_chains(preferred)
	end
	if profile.total == 0 and not own.event then
		profile.side = nil
		fold_state(own.stack or "thread[*]/stack")
	end
	if not next(profile.stacks) then
		own:lack((own.stack and "nothing is on " .. own.stack
			or "no event has a call chain, and nothing is on thread[*]/stack: record call chains with perf record -g, lttng add-context "
				.. "--kernel --type callstack-kernel or trace-cmd record -T") .. (own.against and ": " .. trace:info().path or ""))
	end
	return profile
end

local here, there = gather(), nil
if own.against then
	analysis.with_trace(own.against, function()
		local asked = range
		range = {}
		there = gather(here.counted)
		range = asked
	end)
	local what, other = here.counted or here.unit, there.counted or there.unit
	if not own.event and what ~= other then
		yore.note("flamegraph: " .. what .. " of this trace is compared with " .. other .. " of the other one")
	end
end

local function weight_of(weights)
	local weight = 0
	for _, part in pairs(weights or {}) do
		weight = weight + part
	end
	return weight
end

local left_out = 0.005 -- the chance of a wrong difference, over all of them

-- Gives a row, one of `count`, the difference of its share on both sides.
local function compare(row, count)
	row.against_weight = weight_of(there.stacks[row.folded])
	row.against_percent = row.against_weight * 100 / math.max(there.total, 1)
	row.change = row.percent - row.against_percent
	if here.side and there.side then
		local low, high = shares.bounds(there.side, there.sums[row.folded], here.side, here.sums[row.folded], left_out / count)
		row.low, row.high = low and low * 100, high and high * 100
	end
end

local rows, sorted = {}, basics.keys(here.stacks, there and there.stacks)
for i, key in ipairs(sorted) do
	local weight = weight_of(here.stacks[key])
	rows[i] = { folded = key, comm = key:match("^[^;]*"), stack = key:match("^[^;]*;(.*)$"), weight = weight,
		percent = weight * 100 / math.max(here.total, 1) }
	if there then
		compare(rows[i], #sorted)
	end
end
rows = own:filter_rows(rows)

-- With --limit the stacks that weigh most are left, in the order of their names.
if own.limit and own.limit < #rows and (own.svg or own.format == "folded") then
	local all, left = #rows, 0
	table.sort(rows, analysis.order("-weight", "-against_weight", "folded"))
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
		for _, row in ipairs(rows) do
			row.changed = there and math.abs(row.change)
		end
		table.sort(rows, analysis.order(there and "-changed" or "-weight", "-weight", "folded"))
	end
	local first, last = trace:bounds()
	own.start, own.stop = range.start or first, range.stop or last
	local columns = { { key = "percent", head = "%", kind = "percent", bar = true }, { key = "weight", head = "weight", kind = "count" } }
	if there then
		columns = { columns[1], { key = "against_percent", head = "against %", kind = "percent" }, { key = "change", head = "change", kind = "percent" },
			{ key = "low", head = "at least", kind = "percent" }, { key = "high", head = "at most", kind = "percent" }, columns[2],
			{ key = "against_weight", head = "against", kind = "count" } }
	end
	own:table("stacks", analysis.columns(columns, { { key = "comm", head = "name" }, { key = "stack", head = "stack" } }), rows)
	return
end

-- Drawn as they are, with the frames that are the kernel's.
local function list_of(shown)
	local list = {}
	for _, row in ipairs(shown) do
		local key = row.folded
		local own_weights, other_weights = here.stacks[key] or {}, there and there.stacks[key] or {}
		for _, inside in ipairs(basics.keys(own_weights, other_weights)) do
			local frames = {}
			for name in key:gmatch("[^;]+") do
				frames[#frames + 1] = name
			end
			list[#list + 1] = { frames = frames, weight = own_weights[inside] or 0, against = there and (other_weights[inside] or 0), thread = true,
				kernel = inside > 0 and #frames - inside + 1 or nil }
		end
	end
	return list
end

-- periods of the kernel's clocks are times
local unit = here.unit
if unit:find("^cpu%-clock") or unit:find("^task%-clock") then
	unit = "ns"
end
local weight = 0
for _, row in ipairs(rows) do
	weight = weight + row.weight
end
own:need_drawn(weight, "stack")
local what = own.event or own.stack or here.counted or "thread[*]/stack"
local title = "flame graph of " .. trace:info().path .. ": " .. what .. (there and ", against " .. own.against or "")
basics.given(yore.save(own.svg, require("yore.draw").flamegraph{ stacks = list_of(rows), title = title, unit = unit }))

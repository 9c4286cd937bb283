-- frames: how the frames of call chains are called, as stackcollapse-perf calls them

local basics = require("yore.basics")

local frames = {}

-- A function's name without arguments and quotes; Go's methods, "x.(*T).f", stay whole.
local function tidy(name)
	name = name:gsub(";", ":")
	if not name:find("%.%(.*%)%.") then
		local from = 1
		while true do
			local at = name:find("(", from, true)
			if not at then
				break
			elseif name:sub(at, at + 20) ~= "(anonymous namespace)" then
				name = name:sub(1, at - 1)
				break
			end
			from = at + 1
		end
	end
	return (name:gsub("[\"']", ""))
end

-- Names of functions by their symbols.
frames.tidied = setmetatable({}, { __index = function(cache, name)
	cache[name] = tidy(name)
	return cache[name]
end })

-- A function without its arguments, or the file's name in brackets; its address where the trace tells no maps.
function frames.name(frame)
	if frame.symbol then
		return frames.tidied[frame.symbol]
	elseif frame.object then
		return "[" .. frame.object:gsub(".*/", "") .. "]"
	elseif frame.nameless then
		return yore.hex(frame.ip)
	end
	return "[unknown]"
end

-- Appends the names of a chain's frames to `list`, outermost first; also returns the number of kernel frames, which are the
-- innermost ones.
function frames.names(chain, list)
	for i = #chain, 1, -1 do
		list[#list + 1] = frames.name(chain[i])
	end
	local inside = 0
	while inside < #chain and chain[inside + 1].kernel do
		inside = inside + 1
	end
	return list, inside
end

-- Parses the text of ftrace's event kernel_stack as a chain: lines "=> NAME (ADDRESS)" or "=> ADDRESS".
function frames.of_stack(text)
	local chain = {}
	for line in text:gmatch("=> ([^\n]+)") do
		chain[#chain + 1] = { symbol = line:match("^(.-) %(%x+%)%s*$") or line:match("^%x+"), kernel = true }
	end
	return chain
end

-- The set of ftrace's event names that have the stack of the previous event on the same CPU; nil: the trace has none.
function frames.stack_events()
	local found = {}
	for _, class in ipairs(trace:info().classes) do
		found[class.name] = class.name:find("^ftrace:kernel_stack$") ~= nil or nil
	end
	return next(found) and found
end

-- Calls each(event, chain, thread) for the events of these names (nil: all) in the range that a stack event follows. `event` only
-- has ts, name, cpu, tid, and the fields prev_pid and prev_tid; `thread` is the thread in which it was recorded.
function frames.each_stacked(stacks, names, from, to, each)
	local wanted, last = basics.set(names or {}), {}
	for ev in trace:events{ from = from, to = to } do
		local cpu, name, fields = ev.cpu or -1, ev.name, ev.fields
		local before = last[cpu]
		last[cpu] = nil
		if stacks[name] and before then
			each(before, frames.of_stack(ev.text), before.tid)
		elseif wanted[name] or not names and not stacks[name] then
			last[cpu] = { ts = ev.ts, name = name, cpu = cpu, tid = fields.common_pid,
				fields = { prev_pid = fields.prev_pid, prev_tid = fields.prev_tid } }
		end
	end
end

local named = 4 -- events in a note

-- Gives a note that only events `counted` are counted, and lists other events with stacks.
function frames.note_others(analysis, counted, others)
	local list = table.concat(others, ", ", 1, math.min(#others, named))
	if #others > 0 then
		yore.note(analysis .. ": samples of " .. counted .. " are counted; others with stacks (--event): " .. list
			.. (#others > named and " and " .. #others - named .. " more" or ""))
	end
end

-- The name of the events to count, where none was asked for: of those with frames in the range that `meant` is true of (nil: all)
-- `preferred`, else those of the least order (see sample_order of trace:info()). A note tells the others. nil: there are none.
function frames.choose(analysis, from, to, meant, preferred)
	local orders, names, seen, nseen = {}, {}, {}, 0
	for _, class in ipairs(trace:info().classes) do
		if class.sample_order and not orders[class.name] then
			orders[class.name] = class.sample_order
			names[#names + 1] = class.name
		end
	end
	if #names < 2 then
		return names[1]
	end
	for ev in trace:events{ name = names, from = from, to = to } do
		local name = ev.name
		if orders[name] and not seen[name] and (not meant or meant(ev)) and #ev.frames > 0 then
			nseen = nseen + 1
			seen[name] = nseen
			if nseen == #names then
				break
			end
		end
	end
	local function before(a, b)
		return a == preferred or b ~= preferred and (orders[a] < orders[b] or orders[a] == orders[b] and seen[a] < seen[b])
	end
	local counted, others = nil, {}
	for _, name in ipairs(names) do
		counted = seen[name] and (not counted or before(name, counted)) and name or counted
	end
	for _, name in ipairs(names) do
		others[#others + 1] = seen[name] and name ~= counted and name or nil
	end
	frames.note_others(analysis, counted, others)
	return counted
end

-- Calls each(event, chain, number) with the events of these names in the range that have a call chain: `chain` is its list of
-- frames, or nil where event.frames has it, under `number` (see event:stack()).
function frames.each(names, from, to, each)
	local stacks = frames.stack_events()
	if stacks then
		frames.each_stacked(stacks, names, from, to, function(ev, chain)
			if #chain > 0 then
				each(ev, chain)
			end
		end)
		return
	end
	for ev in trace:events{ name = names, from = from, to = to } do
		local number = ev:stack()
		if number then
			each(ev, nil, number)
		end
	end
end

return frames

-- frames: how the frames of call chains are called, as stackcollapse-perf calls them

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

-- The names of a chain, the outermost first, behind those of `list`; and how many frames are the kernel's, which are the
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

-- The chain of ftrace's event kernel_stack, by its text: "=> NAME (ADDRESS)" or "=> ADDRESS" on a line each.
function frames.of_stack(text)
	local chain = {}
	for line in text:gmatch("=> ([^\n]+)") do
		chain[#chain + 1] = { symbol = line:match("^(.-) %(%x+%)%s*$") or line:match("^%x+"), kernel = true }
	end
	return chain
end

-- The names of ftrace's events that are the stack of the event before them on the same CPU; nil: the trace has none.
function frames.stack_events()
	local found = {}
	for _, class in ipairs(trace:info().classes) do
		found[class.name] = class.name:find("^ftrace:kernel_stack$") ~= nil or nil
	end
	return next(found) and found
end

-- Calls each(event, chain, thread) with the events of these names (nil: all) in the range that ftrace has written a stack for.
-- Of the event there is its t, name, cpu, and the fields prev_pid and prev_tid; the thread is the one that it was recorded in.
function frames.each_stacked(stacks, names, from, to, each)
	local wanted, last = {}, {}
	for _, name in ipairs(names or {}) do
		wanted[name] = true
	end
	for ev in trace:events{ from = from, to = to } do
		local cpu, name, fields = ev.cpu or -1, ev.name, ev.fields
		local before = last[cpu]
		last[cpu] = nil
		if stacks[name] and before then
			each(before, frames.of_stack(ev.text), before.tid)
		elseif wanted[name] or not names and not stacks[name] then
			last[cpu] = { t = ev.t, name = name, cpu = cpu, tid = fields.common_pid,
				fields = { prev_pid = fields.prev_pid, prev_tid = fields.prev_tid } }
		end
	end
end

-- Calls each(event, chain) with the events of these names in the range, and the call chain that each of them has.
function frames.each(names, from, to, each)
	local stacks = frames.stack_events()
	if stacks then
		frames.each_stacked(stacks, names, from, to, each)
		return
	end
	for ev in trace:events{ name = names, from = from, to = to } do
		each(ev, ev.frames)
	end
end

return frames

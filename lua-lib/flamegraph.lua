-- flamegraph: call chains folded, "comm;frame;frame count", or drawn (--svg FILE)
--
-- One line per different stack, its outermost frame first, and how much of the time was in it: the
-- sum of the samples' periods where they have one, else how many there were (--count: always that).
-- Tracepoints count once each. Different events are not added up: without --event GLOB those of the
-- first event that has a call chain count. --begin TIME and --end TIME bound the range.
--
-- Where no event has a call chain, stacks are those of the state: thread[*]/stack, which rules push
-- and pop at entries and exits of functions. --stack PATH names another one. Their weight is the
-- time, in ns, for which the innermost function was that. Addresses of LTTng-UST's cyg-profile are
-- functions where the trace says which files were loaded, or --program FILE@ADDRESS does.
--
-- Frames are called as stackcollapse-perf calls them: a function without its arguments, else the
-- file's name in brackets.

local options = require("yore.options")

-- Takes what is not options.range()'s out of `arg`.
local function own_options()
	local own, rest = {}, {}
	local i = 1
	while arg[i] do
		local name, value = arg[i]:match("^(%-%-%a+)=(.*)$")
		name = name or arg[i]
		if name == "--count" then
			own.count = true
		elseif name == "--svg" or name == "--event" or name == "--stack" then
			if not value then
				i = i + 1
				value = arg[i] or error(name .. " needs a value", 0)
			end
			own[name:sub(3)] = value
		else
			rest[#rest + 1] = arg[i]
		end
		i = i + 1
	end
	return own, rest
end

local own, rest = own_options()
local bounded = #rest > 0 or yore.range() ~= nil or select(2, yore.range()) ~= nil
local range = bounded and options.range(trace, rest) or {}

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

if range.start then
	for ev in trace:events{ name = { "perf_comm", "perf_fork" }, to = range.start } do
		learn(ev)
	end
end

local tidied = setmetatable({}, { __index = function(cache, name)
	cache[name] = tidy(name)
	return cache[name]
end })

local function frame_name(frame)
	if frame.symbol then
		return tidied[frame.symbol]
	elseif frame.object then
		return "[" .. frame.object:gsub(".*/", "") .. "]"
	end
	return "[unknown]"
end

local stacks, total = {}, 0

local function fold(ev, frames)
	local tid = ev.context.tid
	local stack = { (tostring(names[tid] or ":" .. tostring(tid)):gsub(" ", "_")) }
	for i = #frames, 1, -1 do
		stack[#stack + 1] = frame_name(frames[i])
	end
	local weight = 1
	if not own.count and ev.context.common_type == nil then
		weight = ev.context.period or 1
	end
	local key = table.concat(stack, ";")
	stacks[key] = (stacks[key] or 0) + weight
	total = total + weight
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
			return tidied[text]
		end
		if pids[owner] == nil then
			pids[owner] = trace:at(last, (owner:gsub("[^/]*$", "process"))) or -1
		end
		local frame = trace:symbol(pids[owner], t, math.tointeger(tonumber(address)))
		return frame and frame_name(frame) or text
	end

	local owners = {}
	for owner in pairs(changes) do
		owners[#owners + 1] = owner
	end
	table.sort(owners)
	for _, owner in ipairs(owners) do
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
				stacks[key] = (stacks[key] or 0) + until_t - item.t
				total = total + until_t - item.t
			end
		end
	end
end

-- Which event counts is known when the first one with frames comes.
local counted, passed_over = own.event and true, false
local wanted = own.event and { own.event, "perf_comm", "perf_fork" } or nil
local function fold_chains()
	for ev in trace:events{ name = wanted, from = range.start, to = range.stop } do
		if ev.name == "perf_comm" or ev.name == "perf_fork" then
			learn(ev)
		else
			local same = counted == true or counted == nil or counted == ev.name
			local frames = same and ev.frames
			if frames and #frames > 0 then
				counted = counted or ev.name
				fold(ev, frames)
			end
			passed_over = passed_over or not same
		end
	end
end

if not own.stack then
	fold_chains()
end
if total == 0 and not own.event then
	fold_state(own.stack or "thread[*]/stack")
end
local sorted = {}
for key in pairs(stacks) do
	sorted[#sorted + 1] = key
end
table.sort(sorted)
if #sorted == 0 then
	error(own.stack and "nothing is on " .. own.stack
		or "no event has a call chain, and nothing is on thread[*]/stack", 0)
end

if not own.svg then
	for _, key in ipairs(sorted) do
		print(key .. " " .. stacks[key])
	end
	return
end

-- Drawing: stacks become a tree of frames; a frame is as wide as what was in it. Rows go up from
-- the root; neighbours in a row stand in the order of their names.

local WIDTH, ROW, MARGIN, CHAR, LEAST = 1200, 16, 10, 7, 0.1

local function tree_of(keys)
	local root = { name = "all", weight = 0, kids = {}, order = {} }
	local depth = 0
	for _, key in ipairs(keys) do
		local weight, node, level = stacks[key], root, 0
		root.weight = root.weight + weight
		for name in key:gmatch("[^;]+") do
			local kid = node.kids[name]
			if not kid then
				kid = { name = name, weight = 0, kids = {}, order = {} }
				node.kids[name] = kid
				node.order[#node.order + 1] = kid
			end
			kid.weight = kid.weight + weight
			node, level = kid, level + 1
		end
		depth = math.max(depth, level)
	end
	return root, depth
end

local escapes = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

local function escaped(text)
	if not utf8.len(text) then
		text = text:gsub("[\128-\255]", "?")
	end
	return (text:gsub('[&<>"]', escapes):gsub("%c", "?"))
end

-- The same name has the same colour everywhere; the kernel's frames are as any others.
local function colour(name)
	local hash = 5381
	for i = 1, #name do
		hash = (hash * 33 + name:byte(i)) & 0xffffffff
	end
	return string.format("rgb(%d,%d,%d)", 205 + hash % 50, (hash >> 8) % 200, (hash >> 16) % 55)
end

local function draw(file)
	local root, depth = tree_of(sorted)
	local height = (depth + 1) * ROW + 2 * MARGIN + 24
	local scale = (WIDTH - 2 * MARGIN) / root.weight

	local function box(node, from, level)
		local width = node.weight * scale
		if width < LEAST then
			return
		end
		local x = MARGIN + from * scale
		local y = height - MARGIN - (level + 1) * ROW
		local name, room = node.name, math.floor((width - 6) / CHAR)
		file:write(string.format('<g><title>%s (%d, %.2f%%)</title><rect x="%.1f" y="%d" '
			.. 'width="%.1f" height="%d" fill="%s"/>', escaped(name), node.weight,
			node.weight * 100 / root.weight, x, y, width, ROW - 1, colour(name)))
		if room >= 3 then
			local text = #name > room and name:sub(1, room - 2) .. ".." or name
			file:write(string.format('<text x="%.1f" y="%d">%s</text>', x + 3, y + 11,
				escaped(text)))
		end
		file:write("</g>\n")
		for _, kid in ipairs(node.order) do
			box(kid, from, level + 1)
			from = from + kid.weight
		end
	end

	file:write(string.format('<?xml version="1.0" encoding="UTF-8"?>\n<svg '
		.. 'xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">\n',
		WIDTH, height, WIDTH, height))
	file:write('<style>text{font:12px monospace;fill:#000}g:hover rect{stroke:#000}</style>\n')
	file:write(string.format('<rect width="%d" height="%d" fill="#f8f8f8"/>\n', WIDTH, height))
	file:write(string.format('<text x="%d" y="20">%s</text>\n', MARGIN,
		escaped("Flame graph: " .. (own.event or own.stack or counted or "thread[*]/stack") .. ", "
		.. total .. (own.count and " samples" or " in all"))))
	box(root, 0, 0)
	file:write("</svg>\n")
end

local file = assert(io.open(own.svg, "w"))
draw(file)
assert(file:close())

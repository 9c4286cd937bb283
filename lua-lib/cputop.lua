-- cputop: busy time of each CPU and each thread over a range (--begin TIME --end TIME)
--
-- The thread on a CPU is the attribute cpu[N]/thread; what runs when it is 0 is idling. A part of
-- the range in which the thread is not known (nothing written yet, or events lost) is counted as
-- unknown, neither busy nor idle: some thread ran for so much longer, or none. Switches are how often the thread on a CPU changed, as far as the
-- rules know: an event that switches to the thread that ran already is none.

local options = require("yore.options")
local range = options.range(trace, arg)
local length = range.stop - range.start

local function percent(ns)
	return length > 0 and string.format("%6.2f", ns * 100 / length) or "     -"
end

local cpus, threads = {}, {}

local function entry(set, key)
	local e = set[key]
	if not e then
		e = { key = key, busy = 0, known = 0, switches = 0 }
		set[key] = e
	end
	return e
end

trace:intervals("cpu[*]/thread", range.start, range.stop, function(path, first, last, tid)
	local number = math.tointeger(path:match("%[(%d+)%]"))
	local from = math.max(first or range.start, range.start)
	local to = math.min(last or range.stop, range.stop)
	local cpu = entry(cpus, number or path)
	cpu.known = cpu.known + (to - from)
	local begun = first and first >= range.start
	if begun then
		cpu.switches = cpu.switches + 1
	end
	if tid == 0 then
		return
	end
	cpu.busy = cpu.busy + (to - from)
	local thread = entry(threads, tid)
	thread.busy = thread.busy + (to - from)
	thread.last = math.max(thread.last or to, to)
	if begun then
		thread.switches = thread.switches + 1
	end
end)

local function sorted(set, less)
	local list = {}
	for _, e in pairs(set) do
		list[#list + 1] = e
	end
	table.sort(list, less)
	return list
end

-- All names in one question, at the end of the range. A name that was told after a thread's last time
-- on a CPU may be that of another thread that got its number: that one is asked for again.
local function names_of(set)
	local tids = {}
	for tid in pairs(set) do
		if math.type(tid) == "integer" then
			tids[#tids + 1] = tid
		end
	end
	local names, told = assert(trace:comm(tids, range.stop))
	for tid, since in pairs(told) do
		if since > set[tid].last then
			names[tid] = trace:comm(tid, set[tid].last, { before = true }) or names[tid]
		end
	end
	return names
end

print("range " .. trace:text(range.start) .. " to " .. trace:text(range.stop) .. ", "
	.. yore.span(length))
print()
print("   CPU   busy %   busy time        unknown %   switches")
local unknown, count = 0, 0
for _, cpu in ipairs(sorted(cpus, function(a, b) return a.key < b.key end)) do
	print(string.format("%6s   %s   %-16s %s      %8d", cpu.key, percent(cpu.busy),
		yore.span(cpu.busy), percent(length - cpu.known), cpu.switches))
	unknown = unknown + length - cpu.known
	count = count + 1
end
print("unknown " .. yore.span(unknown) .. " of " .. yore.span(length * count))
print()
print("   TID   of a CPU %   time on CPU      switches   name")
local busiest = sorted(threads, function(a, b)
	if a.busy ~= b.busy then
		return a.busy > b.busy
	end
	return tostring(a.key) < tostring(b.key)
end)
local names = names_of(threads)
for _, thread in ipairs(busiest) do
	print((string.format("%6s   %s       %-16s %8d   %s", thread.key, percent(thread.busy),
		yore.span(thread.busy), thread.switches,
		names[thread.key] or ""):gsub("%s+$", "")))
end

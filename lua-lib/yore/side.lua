-- side: one of two recordings that are compared: its trace, range, names of threads, and data of windows of time
--
-- A small trace is read as a whole, and its data stays in memory. In a large one, units are counted by reading only their events,
-- and their time is split in windows spread over the range, of which one is in memory at a time.

local causes = require("yore.causes")

local side = {}
local methods = {}
methods.__index = methods

side.at_once = 64 << 20 -- bytes of a trace that is read as a whole, by default
local window_part = 3 / 16 -- size of a window of a large trace, as a part of that
local windows = 2

local function bytes_of(trace)
	local bytes = 0
	for _, stream in ipairs(trace:info().streams or {}) do
		bytes = bytes + stream.bytes
	end
	return bytes
end

-- The windows of the range. Each is read from `low` to `high`; units that begin in it and end at or after `from` are split.
local function windows_of(self, bytes, at_once)
	local length = self.stop - self.start
	local part = math.ceil(length * (at_once * window_part / bytes))
	if bytes <= at_once or windows * part >= length then
		return { { low = self.start, from = self.start, high = self.stop } }
	end
	local list = {}
	for i = 1, windows do
		local middle = self.start + (2 * i - 1) * length // (2 * windows)
		list[i] = { low = middle - part // 2, from = middle, high = middle + part - part // 2 }
	end
	return list
end

-- The last value of each key.
local function last_values(told, stop)
	local values = {}
	for _, key in ipairs(told:distinct("key")) do
		local _, _, value = told:look(key, stop)
		values[key] = value
	end
	return values
end

-- The last names of threads, and their parents.
local function names_of(start, stop)
	local names, parents = trace:segments{ from = start, to = stop, { path = "thread[*]/name", optional = true },
		{ path = "thread[*]/parent", optional = true } }
	return last_values(names, stop), last_values(parents, stop)
end

-- A side of the global trace from `start` to `stop`, without data: its units can be counted, but not split.
function side.unread(start, stop)
	return setmetatable({ trace = trace, path = trace:info().path or "", start = start, stop = stop,
		spec = { name = "compare" } }, methods)
end

-- The same with data: read as a whole if the range has at most `at_once` bytes, else with windows.
function side.new(at_once, start, stop)
	local self = side.unread(start, stop)
	local first, last = trace:bounds()
	local bytes = math.ceil(bytes_of(trace) * ((stop - start) / math.max(1, last + 1 - first)))
	self.windows = windows_of(self, math.max(bytes, 1), at_once)
	self.large = #self.windows > 1
	if self.large then
		self.names, self.parents = names_of(start, stop)
		collectgarbage()
	else
		self.data = causes.read(start, stop)
	end
	return self
end

-- Reduces the range of a large trace to its middle window.
function methods:narrow()
	local middle = self.windows[(#self.windows + 1) // 2]
	self.start, self.stop, self.large, self.narrowed = middle.low, middle.high, false, true
	self.windows = { { low = self.start, from = self.start, high = self.stop } }
	collectgarbage()
	self.data, self.names = causes.read(self.start, self.stop), nil
end

-- The data of a window, from causes.read(); it is read again for each call if the trace is large.
function methods:detail(window)
	if self.data then
		return self.data
	end
	collectgarbage()
	return causes.read(window.low, window.high)
end

-- The name of a thread at the end of the range.
function methods:name(tid)
	if self.data then
		return self.data:name(tid, self.stop)
	elseif not self.names then
		self.names, self.parents = names_of(self.start, self.stop)
	end
	return self.names[tid] or causes.nameless(tid)
end

-- Frees the data by which units were found.
function methods:forget()
	self.calls, self.activities = nil, nil
	collectgarbage()
end

-- The name of the thread's parent at the end of the range; nil: unknown.
function methods:parent_name(tid)
	self.parents = self.parents or last_values(trace:segments{ from = self.start, to = self.stop,
		path = "thread[*]/parent", optional = true }, self.stop)
	local parent = self.parents[tid]
	return parent and self:name(parent)
end

-- For kernel.pairs_by_thread().
function methods:segments_over(from, to, path)
	return trace:segments{ from = from, to = to, path }
end

-- For kernel.syscalls(): gives no note, since calls without begin or end are counted as unknown.
function methods:tell_pairs()
end

return side

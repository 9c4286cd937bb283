-- State: values at a moment, intervals, and that both say what the switches say.

local function raises(pattern, f, ...)
	local ok, message = pcall(f, ...)
	assert(not ok, "no error")
	assert(tostring(message):find(pattern), tostring(message))
end

-- one path: a value and since; or why there is none
assert(trace:at(2120801126657, "cpu[0]/thread") == 10892)
local value, since = trace:at(2120801130502, "cpu[0]/thread")
assert(value == 10892 and since == 2120801126657)
assert(trace:at(2120801126656, "cpu[0]/thread") == 10891)
assert(trace:at(2120801126657, "cpu[0]/thread", { before = true }) == 10891)
local nothing, reason = trace:at(2120801126657, "thread[77]/state")
assert(nothing == nil and reason == "unknown")

-- several: a table by path
local set = trace:at(2120801126657, "cpu[0]/thread", "cpu[1]/thread")
assert(set["cpu[0]/thread"] == 10892 and set["cpu[1]/thread"] == nil) -- contradicted by its next switch
set = trace:at(2120801126657, { "cpu[0]/thread" })
assert(set["cpu[0]/thread"] == 10892)
set = trace:at(2120801126657, "cpu[*]/thread")
assert(set["cpu[0]/thread"] == 10892 and set["cpu[1]/thread"] == nil)
assert(trace:at(2120801126657)["cpu[0]/thread"] == 10892)

-- rows, and why
local rows = trace:at(2120801126657, "cpu[0]/thread", { rows = true })
assert(#rows == 1 and rows[1].path == "cpu[0]/thread" and rows[1].value == 10892)
assert(rows[1].known and rows[1].ts == 2120801126657 and rows[1].why == nil)
local why = trace:at(2120801127000, "cpu[0]/thread", { why = true })[1].why
assert(why.ts == 2120801126657 and why.name == "sched:sched_switch" and why.rule)

-- at every switch the event itself is the truth, unless the next one of its CPU contradicts it and
-- nothing supports it; the nanosecond before a switch is what that says was before
local asked, unknown, told = 0, 0, { [0] = {}, {} }
for ev in trace:events{ name = "sched_switch", from = "+5ms", to = "+6ms" } do
	local path = "cpu[" .. ev.cpu .. "]/thread"
	assert(trace:at(ev.ts - 1, path) == ev.fields.prev_pid)
	local last = told[ev.cpu]
	if last.t and trace:at(last.t, path) == nil then
		assert(last.pid ~= ev.fields.prev_pid)
		unknown = unknown + 1
	elseif last.t then
		assert(trace:at(last.t, path) == last.pid)
	end
	told[ev.cpu] = { t = ev.ts, pid = ev.fields.next_pid }
	asked = asked + 1
end
assert(asked > 10 and unknown > 0)

-- intervals: the switches of one CPU are their beginnings, or the stream's; neighbours touch
local stream_begin
for ev in trace:events{ cpu = 0 } do
	stream_begin = ev.ts
	break
end
local begins = {}
for ev in trace:events{ name = "sched_switch", cpu = 0 } do
	begins[ev.ts] = ev.fields.next_pid
end
local count, last_end = 0, nil
for path, first, last, tid in trace:intervals("cpu[0]/thread") do
	assert(path == "cpu[0]/thread")
	assert(first <= stream_begin and count == 0 or begins[first] == tid)
	assert(last_end == nil or last_end == first)
	last_end, count = last, count + 1
end
assert(count > 100)
local pushed = 0
trace:intervals("cpu[0]/thread", nil, nil, function(_, first, last, tid)
	pushed = pushed + 1
end)
assert(pushed == count)

-- true beginnings, a list of paths, an early end, an error from inside
for _, first, last, tid in trace:intervals("cpu[0]/thread", 2120801130000, 2120801130001) do
	assert(first == 2120801126657 and last == 2120801130503 and tid == 10892)
end
local paths = {}
for path in trace:intervals({ "cpu[0]/thread", "cpu[1]/thread" }, "+5ms", "+6ms") do
	paths[path] = true
end
assert(paths["cpu[0]/thread"] and paths["cpu[1]/thread"])
pushed = 0
trace:intervals("cpu[0]/thread", nil, nil, function()
	pushed = pushed + 1
	return pushed < 3
end)
assert(pushed == 3)
raises("thrown", trace.intervals, trace, "cpu[0]/thread", nil, nil, function() error("thrown") end)
raises("before it", trace.intervals, trace, "cpu[0]/thread", nil, nil, print, { clip = true })
raises("answering another", trace.intervals, trace, "cpu[0]/thread", nil, nil, function()
	return trace:at(2120801126657, "cpu[0]/thread")
end)
assert(trace:at(2120801126657, "cpu[0]/thread") == 10892) -- and it goes on after that

-- names of threads: none was told of 1, and 10892 had another name before its switch
assert(trace:comm(10892, 2120801126657) == "demo-lock-2")
assert(select(2, trace:comm(10892, 2120801126657)) == 2120801126657)
assert(select(2, trace:comm(10892, 2120801126657, { before = true })) < 2120801126657)
assert(trace:comm(1, 2120801126657) == nil)
local names, told = trace:comm({ 10891, 10892, 1 }, 2120801126657)
assert(names[10891] == "demo-lock-1" and names[10892] == "demo-lock-2" and names[1] == nil)
assert(told[10892] == 2120801126657 and told[1] == nil)
-- the switch that ends its run tells the same name once more
for t, told in pairs{ [2120801130502] = 2120801126657, [2120801130503] = 2120801130503 } do
	assert(select(2, trace:comm(10892, t)) == told and select(2, trace:comm({ 10891, 10892 }, t))[10892] == told)
end
raises("number expected", trace.comm, trace, "x", 5)
raises("no option", trace.comm, trace, 5, 5, { befor = true })

-- rules of one's own
local path = os.tmpname()
local file = assert(io.open(path, "w"))
file:write("event sched_switch\n  last[section/cpu] = field/next_comm\n  odd = -1\n")
file:close()
local own = assert(yore.open(trace:info().path, { no_index = true, rules = path }))
os.remove(path)
assert(own:at(2120801126657, "last[0]") == "demo-lock-2")
assert(own:at(2120801126657, "odd") == -1)
raises("there are last, odd", own.at, own, 2120801126657, "cpu[0]/thread")
own:close()

-- misuse
raises("path", trace.at, trace, 2120801126657, "cpu[")
raises("path", trace.at, trace, 2120801126657, 5)
raises("no option", trace.at, trace, 2120801126657, "cpu[0]/thread", { befor = true })
raises("time", trace.at, trace, {}, "cpu[0]/thread")
raises("time", trace.at, trace, "yesterday", "cpu[0]/thread")

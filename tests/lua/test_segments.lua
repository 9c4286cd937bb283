-- Segments, counts, many moments, the state beside an event: against loops that do the same in Lua.

local function raises(pattern, f, ...)
	local ok, message = pcall(f, ...)
	assert(not ok, "no error")
	assert(tostring(message):find(pattern), tostring(message))
end

-- segments of a path are its intervals, cut to the range
local from, to = "@2120800000000", "@2120803000000"
local expected = {}
for path, first, last, value in trace:intervals("thread[*]/state", from, to, { clip = true }) do
	expected[#expected + 1] = { key = math.tointeger(path:match("%d+")), begin = first, ["end"] = last, value = value }
end
local states = trace:segments{ path = "thread[*]/state", from = from, to = to }
assert(#states == #expected and #states > 50)
for i, row in ipairs(states:rows()) do
	for name, value in pairs(expected[i]) do
		assert(row[name] == value, name)
	end
	assert(row.dur == row["end"] - row.begin and row.dur > 0)
	local before, after = expected[i - 1], expected[i + 1]
	if before and before.key == row.key and before["end"] == row.begin then
		assert(row.before == before.value and row.begun)
	end
	if after and after.key == row.key and after.begin == row["end"] then
		assert(row.after == after.value and row.ended)
	end
end
assert(#trace:segments{ path = "thread[*]/state", from = from, to = to, whole = true } < #states)
assert(#trace:segments{ path = "thread[*]/state", value = "ready", from = from, to = to }
	== #states:select{ value = "ready" })

-- unclipped intervals have their true ends
local cut, whole = 0, 0
for _, first, last in trace:intervals("cpu[0]/thread", from, to, { clip = true }) do cut = cut + (last - first) end
for _, first, last in trace:intervals("cpu[0]/thread", from, to) do whole = whole + (last - first) end
assert(cut < whole and cut <= 3000000)

-- a path that stands more than once is read once, and its options leave what select() leaves of all
local function same_rows(some, all)
	assert(#some == #all and #all > 0, #some .. " of " .. #all)
	for i, row in ipairs(some:rows()) do
		local other = all:rows(i, i)[1]
		for name, value in pairs(other) do
			assert(row[name] == value, name)
		end
	end
end
local function unknown(value) return value == nil end
local first, second, third, fourth = trace:segments{ from = from, to = to, { path = "thread[*]/state", unknown = "after" },
	{ path = "thread[*]/state" }, { path = "thread[*]/state", value = "running", unknown = "before" },
	{ path = "thread[*]/state", before = { "sleeping", "ready" }, value = { "running", "ready" } } }
same_rows(second, states)
same_rows(first, states:select{ after = unknown })
same_rows(third, states:select{ value = "running", before = unknown })
same_rows(fourth, states:select{ before = { "sleeping", "ready" }, value = { "running", "ready" } })
raises("not with 'totals'", trace.segments, trace, { path = "thread[*]/state", unknown = "after", totals = true })

-- groups of a path are those of its segments
local options = { by = { "key", "value", "after" }, percentiles = { 50 } }
local folded = trace:segments{ path = "thread[*]/state", from = from, to = to, groups = options }
local grouped = states:groups(options)
assert(#folded == #grouped and #folded > 20)
for i, group in ipairs(grouped) do
	for name, value in pairs(group) do
		assert(folded[i][name] == value, name)
	end
	assert(group.begun == #states:select{ key = group.key, value = group.value, begun = true,
		after = function(after) return after == group.after end })
end

-- totals of a path are its groups by key and value; another path keeps its segments
for path, count in pairs{ ["thread[*]/state"] = 15, ["cpu[*]/thread"] = 5, ["thread[*]/name"] = 5 } do
	grouped = trace:segments{ path = path, from = from, to = to, groups = { by = { "key", "value" } } }
	local totals, others = trace:segments{ from = from, to = to, { path = path, totals = true }, { path = "thread[*]/prio" } }
	assert(#totals == #grouped and #grouped > count and #others > 0, path)
	for i, group in ipairs(grouped) do
		for name, value in pairs(totals[i]) do
			assert(group[name] == value, name)
		end
	end
end
folded = trace:segments{ path = "thread[*]/state", value = "ready", from = from, to = to, totals = true }
assert(#folded > 5 and folded[1].value == "ready" and folded[1].total > 0)
raises("not with 'groups'", trace.segments, trace, { path = "cpu[*]/thread", totals = true, groups = options })
raises("not with 'whole' or 'join'", trace.segments, trace, { path = "cpu[*]/thread", totals = true, whole = true })
raises("totals are asked", trace.segments, trace,
	{ { path = "thread[*]/state", totals = true }, { path = "thread[*]/prio", join = "prio" } })
raises("there is no column 'x'", trace.segments, trace, { path = "cpu[*]/thread", groups = { by = { "x" } } })

-- a path that becomes a column of another's segments: as join() does it afterwards
local prios = trace:segments{ path = "thread[*]/prio" }
local joined, none = trace:segments{ { path = "thread[*]/state" }, { path = "thread[*]/prio", join = "prio" } }
local later, with = trace:segments{ path = "thread[*]/state" }:join(prios, "prio"), 0
assert(#joined == #later and none == nil and #prios > 10)
for i, row in ipairs(joined:rows()) do
	assert(row.prio == later:rows(i, i)[1].prio)
	with = with + (row.prio and 1 or 0)
end
assert(with > 20)
options = { by = { "value", "prio" } }
folded = trace:segments{ { path = "thread[*]/state", groups = options }, { path = "thread[*]/prio", join = "prio" } }
grouped = joined:groups(options)
assert(#folded == #grouped and #folded > 3)
for i, group in ipairs(grouped) do
	for name, value in pairs(group) do
		assert(folded[i][name] == value, name)
	end
end
raises("the paths behind the first", trace.segments, trace, { path = "thread[*]/state", join = "x" })
raises("a column 'key' already", trace.segments, trace,
	{ { path = "thread[*]/state" }, { path = "thread[*]/prio", join = "key" } })

-- groups, percentiles, histograms
local lengths = {}
for _, row in ipairs(states:rows()) do
	local key = row.key .. row.value
	lengths[key] = lengths[key] or {}
	table.insert(lengths[key], row.dur)
end
local count = 0
for _, group in ipairs(states:groups{ by = { "key", "value" }, percentiles = { 50, 99, 100 } }) do
	local own = lengths[group.key .. group.value]
	table.sort(own)
	local sum = 0
	for _, length in ipairs(own) do sum = sum + length end
	assert(group.count == #own and group.total == sum and group.min == own[1] and group.max == own[#own])
	assert(group.p50 == own[math.ceil(#own / 2)] and group.p99 == own[math.ceil(#own * 0.99)] and group.p100 == group.max)
	assert(math.abs(group.mean - sum / #own) < 1e-6)
	local row = states:rows(group.longest, group.longest)[1]
	assert(row.dur == group.max and row.begin == group.max_begin and row["end"] == group.max_end)
	count = count + 1
end
for _ in pairs(lengths) do count = count - 1 end
assert(count == 0)
local all = 0
for _, bucket in ipairs(states:hist()) do
	local n = 0
	for _, row in ipairs(states:rows()) do
		n = n + (row.dur >= bucket.low and row.dur < bucket.high and 1 or 0)
	end
	assert(n == bucket.count)
	all = all + n
end
assert(all == #states)
local buckets = yore.hist{ 0, 1, 2, 3, 4, 1000, "no number" }
assert(#buckets == 5 and buckets[1].low == 0 and buckets[3].count == 2 and buckets[5].low == 512)

-- selections: values, lists, functions, limits, rows; order
assert(#states:select{ value = { "ready", "running" } } == #states:select{ value = "ready" } + #states:select{ value = "running" })
assert(#states:select{ value = function(v) return v ~= "ready" end } == #states - #states:select{ value = "ready" })
local long = states:select{ dur = { min = 100000 }, row = function(r) return r.key % 2 == 0 end }
for _, row in ipairs(long:rows()) do
	assert(row.dur >= 100000 and row.key % 2 == 0)
end
local top = states:sorted("-dur", 5)
local sorted = states:rows()
table.sort(sorted, function(a, b) return a.dur > b.dur end)
assert(#top == 5)
for i = 1, 5 do assert(top[i].dur == sorted[i].dur) end
sorted = states:sorted("begin")
for i = 2, #sorted do assert(sorted[i - 1].begin <= sorted[i].begin) end
assert(#states:sorted("dur", 0) == 0)

-- a selection has its segments' rows until one of both changes: a change is seen in that one alone
do
	local all = trace:segments{ path = "thread[*]/state", from = from, to = to }
	local runs = trace:segments{ path = "cpu[*]/thread", from = from, to = to }
	local some, count = all:select{ value = "ready" }, #all
	local again = some:select{ row = function(row) return row.key % 2 == 0 end }
	local texts = {}
	local function text(rows)
		local list = {}
		for _, row in ipairs(rows) do
			list[#list + 1] = table.concat({ row.begin, row["end"], row.key, row.value, row.before or "-" }, " ")
		end
		return table.concat(list, "\n")
	end
	texts.all, texts.some, texts.again = text(all:rows()), text(some:rows()), text(again:rows())
	assert(#again > 10 and #again < #some)
	all:append(runs)
	again:join(trace:segments{ path = "thread[*]/cpu", from = from, to = to }, "on")
	assert(text(some:rows()) == texts.some and text(again:rows()) == texts.again)
	raises("there is no column 'on'", some.distinct, some, "on")
	some:append(again)
	assert(text(some:rows()) == texts.some .. "\n" .. texts.again)
	assert(text(all:rows(1, count)) == texts.all and #all == count + #runs)
	all = nil
	collectgarbage()
	assert(text(again:rows()) == texts.again)
	local function change()
		some:append(runs)
		return true
	end
	raises("a function changed the segments", some.select, some, { value = change })
	raises("a function changed the segments", some.between, some, change)
	-- new values of another collection, which has the values in common
	local plain = trace:segments{ path = "thread[*]/state", from = from, to = to }
	local copy, added = plain:select{}, false
	assert(#plain:select{ key = function()
		if not added then
			copy:join(trace:segments{ at = "sched_switch", key = "prev_comm + next_comm", from = from, to = to }, "on")
			copy:append(trace:segments{ at = "sched_switch", key = "prev_comm + next_comm", from = from, to = to })
			added = true
		end
		return true
	end } == #plain)
end

-- several paths at once; joins
local ready, runs = trace:segments{ from = from, to = to,
	{ path = "thread[*]/state", value = "ready", whole = true }, { path = "cpu[*]/thread" } }
assert(#ready == #trace:segments{ path = "thread[*]/state", value = "ready", whole = true, from = from, to = to })
assert(#runs == #trace:segments{ path = "cpu[*]/thread", from = from, to = to })
local by_thread = {}
for _, row in ipairs(runs:rows()) do
	by_thread[row.value .. "@" .. row.begin] = row.key
end
ready:join(runs:rekey(), { cpu = "value" }, { at = "end", match = "begins" })
local joined = 0
for _, row in ipairs(ready:rows()) do
	assert(row.cpu == by_thread[row.key .. "@" .. row["end"]])
	joined = joined + (row.cpu and 1 or 0)
end
assert(joined > 20)
-- moments, which have no length, match where they are
local switches = trace:segments{ at = "sched_switch", key = "payload/next_tid | payload/next_pid", from = from, to = to }
ready:join(switches:rekey():rekey(), { switched = "key" }, { at = "end", match = "begins" })
for _, row in ipairs(ready:rows()) do
	assert(row.switched == (row.cpu and row.key))
end
states:join(trace:segments{ path = "thread[*]/cpu", from = from, to = to }, "on")
for _, row in ipairs(states:rows(1, 40)) do
	assert(row.on == trace:at(row.begin, "thread[" .. row.key .. "]/cpu"))
end
local twice = trace:segments{ path = "cpu[*]/thread", from = from, to = to }
assert(#twice:append(runs) == 2 * #runs)

-- pairs of events: a wake-up and the switch to the thread
local found = trace:segments{ begin = "sched_waking", finish = { "sched_wakeup", "sched_wakeup_new" },
	key = "payload/pid", fields = { waker = "begin perf_tid", cpu = "end target_cpu" } }
local open, rows, doubtful = {}, found:rows(), 0
local n = 0
for ev in trace:events{ name = { "sched_waking", "sched_wakeup", "sched_wakeup_new" } } do
	local pid = ev.payload.pid
	if ev.name == "sched:sched_waking" then
		open[pid] = { ev.ts, ev.payload.perf_tid or ev.context.perf_tid }
	elseif open[pid] then
		local row = rows[n + 1]
		if row and row["end"] == ev.ts and row.key == pid then
			n = n + 1
			assert(row.begin == open[pid][1] and row.waker == open[pid][2] and row.cpu == ev.payload.target_cpu)
		else
			doubtful = doubtful + 1 -- a CPU began or ceased to be recorded meanwhile
		end
		open[pid] = nil
	end
end
assert(n == #found and n > 100 and doubtful > 0 and doubtful <= found.lost and doubtful < n / 5)
local left = 0
for _ in pairs(open) do left = left + 1 end
assert(found.unfinished + found.lost >= left + doubtful and found.losses == 0)

-- single events: segments of no length
local moved, seen = trace:segments{ at = "sched_migrate_task", key = "payload/pid", fields = { to = "begin dest_cpu" } }, 0
for ev in trace:events{ name = "sched_migrate_task" } do
	seen = seen + 1
	local row = moved:rows(seen, seen)[1]
	assert(row.key == ev.payload.pid and row.begin == ev.ts and row["end"] == ev.ts and row.dur == 0)
	assert(row.to == ev.payload.dest_cpu and row.value == ev.name)
end
assert(#moved == seen and seen > 10)

-- who runs on the CPU of an event, from intervals that were read before: as the state says. That the key is a thread leaves
-- less in doubt where a CPU is not recorded.
local function by_runner(key, threads, till)
	return trace:segments{ begin = "sched_waking", finish = { "sched_wakeup", "sched_wakeup_new" }, key = key,
		from = from, to = till or to, threads = threads }
end
local asked = 0
local function running()
	asked = asked + 1
	return trace:segments{ path = "cpu[*]/thread", to = to }
end
local state, given = by_runner("cpu[cpu]/thread"), by_runner("cpu[cpu]/thread", running)
assert(#state > 10 and #given >= #state and #given - #state <= state.lost and asked == 1)
local told = {}
for _, row in ipairs(given:rows()) do
	told[row.key .. " " .. row.begin .. " " .. row["end"]] = true
end
for _, row in ipairs(state:rows()) do
	assert(told[row.key .. " " .. row.begin .. " " .. row["end"]])
end
-- nobody asks who runs where all events have the first alternative, and nothing is in doubt
local till = trace:time(from)
repeat
	till = till + 20000
	local pairs_there = by_runner("payload/pid", nil, till)
until #pairs_there + pairs_there.lost > 2
local calm = by_runner("payload/pid | cpu[cpu]/thread", running, till)
assert(#calm > 2 and calm.lost == 0 and asked == 1)

-- counts
local names = {}
for ev in trace:events() do
	local key = ev.name .. "@" .. ev.cpu
	names[key] = (names[key] or 0) + 1
end
for _, row in ipairs(yore.count_by{ by = { "name", "cpu" } }) do
	assert(names[row.name .. "@" .. row.cpu] == row.count)
	names[row.name .. "@" .. row.cpu] = nil
end
assert(next(names) == nil)

-- the state beside an event is that just before it; in batches, too
local states_seen, i = {}, 0
for ev in trace:events{ name = "sched_wakeup", to = "+3ms" } do
	local thread = ev.state["cpu[cpu]/thread"]
	assert(thread == trace:at(ev.ts, "cpu[" .. ev.cpu .. "]/thread", { before = true }))
	assert(ev.state["field/prio * 2"] == ev.fields.prio * 2)
	states_seen[#states_seen + 1] = thread or false
end
for b in trace:batch{ name = "sched_wakeup", to = "+3ms", fields = { "cpu[cpu]/thread" } } do
	for k = 1, b.n do
		i = i + 1
		assert(b["cpu[cpu]/thread"][k] == states_seen[i])
	end
end
assert(i == #states_seen and i > 20)

-- many moments in one call are as many calls
local times, one = {}, {}
for ev in trace:events{ name = "sched_switch", cpu = 0, to = "+2ms" } do
	times[#times + 1] = ev.ts
end
times[#times + 1] = times[1]
local values = trace:at(times, "cpu[0]/thread")
local tables = trace:at(times, "cpu[*]/thread", { before = true })
assert(#values == #times and #tables == #times and #times > 5)
for k, t in ipairs(times) do
	assert(values[k] == (trace:at(t, "cpu[0]/thread") or false))
	one = trace:at(t, "cpu[*]/thread", { before = true })
	for path, value in pairs(one) do assert(tables[k][path] == value) end
end

-- keys; an event as a text
local keys = yore.keys("thread[*]/state")
assert(#keys > 5 and math.type(keys[1]) == "integer")
local text
for ev in trace:events{ name = "sched_switch" } do
	text = tostring(ev)
	break
end
assert(text:find("sched:sched_switch: ") and text:find('next_comm = "migration/0", next_pid = 18'))

-- the last segment of a key that begins by then; paths that rules do not write
for _, row in ipairs(states:rows(1, 40)) do
	local found = states:find(row.key, row.begin)
	assert(found.begin == row.begin and found.value == row.value)
	found = states:find(row.key, row["end"] - 1)
	assert(found.begin == row.begin and found["end"] == row["end"])
end
assert(states:find(-5, trace:time("-1ms")) == nil and states:find(states:rows(1, 1)[1].key, 0) == nil)
assert(#trace:segments{ path = "nothing[*]/here", optional = true } == 0)

-- when streams were recorded, and whether of tasks
for _, stream in ipairs(trace:info().streams) do
	assert(stream.begin < stream["end"] and stream.cpu)
end
assert(trace:info().tasks == false)

-- the places of losses alone
for ev in trace:events{ losses = "only" } do
	assert(not ev.name)
end

-- batches have what events have, whether they are taken in runs or (with a label) one by one
local wanted = { "cpu", "name", "stream", "next_pid", "comm", "label(prev_state)" }
for _, size in ipairs{ 1, 7, 1024 } do
	local seen = trace:events{}
	for b in trace:batch{ fields = { table.unpack(wanted, 1, size == 7 and 6 or 5) }, size = size, to = "+3ms" } do
		assert(b.n <= size)
		for k = 1, b.n do
			local ev = seen()
			assert((b.ts[k] or nil) == ev.ts and b.cpu[k] == (ev.cpu or false) and b.name[k] == ev.name)
			assert(b.stream[k] == ev.stream and b.next_pid[k] == (ev.fields.next_pid or false))
			assert(b.comm[k] == (ev.fields.comm or false))
		end
	end
end

-- misuse
raises("no column 'kye': there are key, value, before, after", states.groups, states, { by = { "kye" } })
raises("no option 'pth'", trace.segments, trace, { pth = "cpu[*]/thread" })
raises("path", trace.segments, trace, { path = 5 })
raises("key: the columns", trace.segments, trace, { begin = "sched_waking", finish = "sched_wakeup" })
raises("\"begin FIELD\" or \"end FIELD\"", trace.segments, trace,
	{ begin = "sched_waking", finish = "sched_wakeup", key = "pid", fields = { x = "pid" } })
raises("already", states.join, states, runs, "on")
raises("cannot be added to themselves", states.append, states, states)
raises("by: a list", trace.count_by, trace, {})
-- several kinds of pairs: one reading
local moments, times = trace:segments{ { at = "sched_switch", key = "cpu" },
	{ begin = "sched_waking", finish = "sched_wakeup", key = "payload/pid" } }
assert(#moments == #trace:segments{ at = "sched_switch", key = "cpu" } and #moments > 100)
assert(#times == #trace:segments{ begin = "sched_waking", finish = "sched_wakeup", key = "payload/pid" } and #times > 100)
raises("no option 'from'", trace.segments, trace, { { at = "sched_switch", key = "cpu", from = 1 } })
raises("a table with begin", trace.segments, trace, { { at = "sched_switch", key = "cpu" }, 3 })
raises("are missing", trace.segments, trace, { { at = "sched_switch", key = "cpu" }, { at = "sched_switch" } })
raises("more than 4", trace.segments, trace, { { at = "sched_switch", key = "cpu" }, {}, {}, {}, {} })
raises("a number, a text or a boolean", states.select, states, { value = { {} } })

-- between: from the end of one such stretch to the begin of the next of the same thread, without a gap
do
	local rows, gaps, last = trace:segments{ path = "thread[*]/state" }:rows(), {}, nil
	for i, row in ipairs(rows) do
		local before = rows[i - 1]
		if not before or before.key ~= row.key or before["end"] ~= row.begin then
			last = nil
		end
		if row.value == "sleeping" or row.value == "blocked" then
			if last and last < row.begin then
				gaps[#gaps + 1] = { key = row.key, begin = last, ["end"] = row.begin }
			end
			last = row.ended and row["end"] or nil
		end
	end
	local found = trace:segments{ path = "thread[*]/state" }:between{ "sleeping", "blocked" }:rows()
	assert(#found == #gaps and #gaps > 50)
	for i, row in ipairs(found) do
		assert(row.key == gaps[i].key and row.begin == gaps[i].begin and row["end"] == gaps[i]["end"])
	end
	assert(#trace:segments{ path = "thread[*]/state" }:between("no such state") == 0)
end

-- Student's quantile, of fractional degrees of freedom, too. Expected: of 1 and 2 degrees the closed forms, of the others the
-- tail integrated by the tanh-sinh rule and bisected, in another program.
do
	local quantile = require("yore.differ").quantile
	for _, row in ipairs{
		{ 1, 0.0025, 1 / math.tan(0.0025 * math.pi) }, { 1, 1e-5, 1 / math.tan(1e-5 * math.pi) },
		{ 1.25, 0.0025, 50.9827857326 }, { 1.5, 0.025, 6.01666310443 }, { 1.5, 0.0025, 28.3167304045 },
		{ 1.5, 1e-5, 1124.50012338 }, { 1.75, 0.0025, 18.8876876528 }, { 1.75, 1e-5, 443.821392056 },
		{ 2, 0.0025, math.sqrt(2 / (0.005 * 1.995) - 2) }, { 2.25, 0.0025, 11.3024018475 }, { 2.25, 1e-5, 132.373710488 },
		{ 2.5, 0.0025, 9.52807820299 }, { 3, 0.025, 3.18244630528 }, { 4.3, 0.0025, 5.28906929588 }, { 19, 0.0025, 3.17372453079 },
	} do
		local degrees, tail, expected = table.unpack(row)
		assert(math.abs(quantile(tail, degrees) / expected - 1) < 3e-4, degrees .. " degrees, tail " .. tail)
	end
	local last = math.huge
	for degrees = 100, 400 do -- it falls all the way, also where the method changes
		local now = quantile(0.0025, degrees / 100)
		assert(now < last, degrees)
		last = now
	end
end

-- resample: bounds of the mean, as wide as the standard error says; the same seed, the same result
do
	local numbers, sum, squares = {}, 0, 0
	for i = 1, 400 do
		numbers[i] = (i * 7919) % 1000
		sum = sum + numbers[i]
	end
	for i = 1, 400 do
		squares = squares + (numbers[i] - sum / 400) ^ 2
	end
	local mean, low, high, deviation = yore.resample(numbers, 0.05, 4000, 3)
	local expected = math.sqrt(squares / 400 / 400)
	assert(math.abs(mean - sum / 400) < 1e-9 and math.abs(deviation / expected - 1) < 0.05)
	assert(math.abs((high - mean) / (1.96 * expected) - 1) < 0.08 and math.abs((mean - low) / (1.96 * expected) - 1) < 0.08)
	assert(select(2, yore.resample(numbers, 0.05, 4000, 3)) == low)
	local _, one, other = yore.resample({ 5, 5, 5 }, 0.01, 100, 1)
	assert(one == 5 and other == 5)
	raises("a list of numbers", yore.resample, {}, 0.05, 100, 1)
	raises("a part of one", yore.resample, { 1 }, 1, 100, 1)
	-- runs first: the bounds are as wide as runs differ, whatever is sure within each of them
	local a, b = {}, {}
	for i = 1, 10 do
		a[i], b[i] = { 10 * i, 10 * i, 10 * i }, { 10 * i + 5, 10 * i + 5, 10 * i + 5, 10 * i + 5 }
	end
	local difference, least, most = yore.resample_runs(a, b, 0.05, 4000, 3)
	assert(difference == 5 and least < -15 and most > 25)
	difference, least, most = yore.resample_runs({ { 1, 1 } }, { { 4 }, { 4, 4 } }, 0.05, 100, 3)
	assert(difference == 3 and least == 3 and most == 3)
	raises("a list of runs", yore.resample_runs, {}, b, 0.05, 100, 1)
	raises("list of numbers expected", yore.resample_runs, { 1 }, b, 0.05, 100, 1)
	raises("a list of numbers", yore.resample_runs, { {} }, b, 0.05, 100, 1)
end

-- look and times are what rows say
do
	local names = trace:segments{ path = "thread[*]/name" }
	for i, row in ipairs(names:rows()) do
		local begin, stop, value = names:look(row.key, row.begin)
		assert(begin == row.begin and stop == row["end"] and value == row.value)
		begin, stop = names:times(i)
		assert(begin == row.begin and stop == row["end"])
		assert(names:look(row.key, -1) == nil)
	end
	assert(names:look("nobody", 0) == nil)
	raises("there is no such segment", names.times, names, #names + 1)
end

-- an expression is the same column of loops, batches and counts
local number, text, loop, batches = "prev_pid & 7", "substr(next_comm, 0, 6)", {}, {}
for ev, x, y in trace:events{ name = "sched_switch", fields = { number, text } } do
	assert(ev.state[number] == x and ev.state[text] == y)
	loop[x .. y] = (loop[x .. y] or 0) + 1
end
for t in trace:batch{ name = "sched_switch", fields = { number, text } } do
	for i = 1, t.n do
		local key = t[number][i] .. t[text][i]
		batches[key] = (batches[key] or 0) + 1
	end
end
for _, row in ipairs(trace:count_by{ name = "sched_switch", by = { number, text } }) do
	local key = row[number] .. row[text]
	assert(loop[key] == row.count and batches[key] == row.count, key)
	loop[key] = nil
end
assert(not next(loop))

-- events that meet a condition are those that pass it
local odd = "(prev_pid & 1) == 1"
assert(#trace:segments{ at = "sched_switch", key = "cpu", begin_where = odd } == #trace:segments{ at = "sched_switch", key = "cpu", where = odd })
raises("a number is never true", trace.segments, trace, { at = "sched_switch", key = "cpu", begin_where = "prev_pid & 1" })
raises("column 11: expected a value", trace.count_by, trace, { by = { "prev_pid &" } })

-- units: the pieces of work of a trace that are compared with those of another one
--
--     syscall NAME [of THREAD]                a system call
--     wake-up to sleep [of THREAD]            from where a thread is woken until it sleeps again
--     EVENT -> EVENT [by KEY [until KEY]]     two events of one key, the thread's without one
--     PATH = VALUE                            an interval of the rules: thread[*]/state = "blocked"
--     --from EVENT --until EVENT --key KEY    as `yore periods` takes it
--
-- EVENT is a glob, perhaps with `where CONDITION` behind it. A unit belongs to the thread of its last event.

local analysis = require("yore.analysis")
local basics = require("yore.basics")
local chain = require("yore.chain")
local kernel = require("yore.kernel")

local units = {}

-- ---- reading SPEC ----

local function fail(spec, why)
	yore.misuse("--unit: '" .. spec .. "': " .. why .. ": 'yore help compare' lists what a unit is")
end

local function trimmed(text)
	return text:match("^%s*(.-)%s*$")
end

local function read_period(spec)
	local unit, names = { kind = "pairs", from = {}, till = {} },
		{ ["--from"] = "from", ["--until"] = "till", ["--key"] = "key", ["--until-key"] = "till_key" }
	for word, value in (spec .. " "):gsub("%s+%-%-", "\n--"):gmatch("(%S+)[^%S\n]*([^\n]*)") do
		local name = names[word] or word ~= "--nested" and fail(spec, "there is no '" .. word .. "' in a period")
		value = trimmed(value)
		if not name then
			unit.nested = true
		elseif value == "" then
			fail(spec, word .. " needs a value")
		elseif name == "from" or name == "till" then
			table.insert(unit[name], value)
		else
			unit[name] = value
		end
	end
	if #unit.from == 0 or #unit.till == 0 then
		fail(spec, "a period needs --from and --until")
	end
	return unit
end

local function read_pair(spec)
	-- a text in quotes may have any of the words
	local shown = spec:gsub('"[^"]*"', function(text) return ("_"):rep(#text) end)
	local from, till = shown:match("^%S.-()%s*%->%s*()%S")
	if not from then
		return
	end
	local by, key = shown:match("()%s+by%s+()%S", till)
	local other, other_key = shown:match("()%s+until%s+()%S", key or #spec + 1)
	local unit = { kind = "pairs", from = { spec:sub(1, from - 1) }, till = { spec:sub(till, (by or 0) - 1) },
		key = by and spec:sub(key, (other or 0) - 1), till_key = other and spec:sub(other_key) }
	for _, event in ipairs{ unit.from[1], unit.till[1] } do
		local name, word = event:match("^(%S+)%s+(%S+)")
		if word and word ~= "where" then
			fail(spec, "'where CONDITION', '->' or 'by KEY' is expected behind " .. name .. ", not '" .. word .. "'")
		end
	end
	return unit
end

local function read_call(spec)
	local rest = spec:match("^syscall%s+(.+)$")
	if rest then
		local name, comm = rest:match("^(%S+)%s+of%s+(.+)$")
		name = name or rest
		if name:find("%s") then
			fail(spec, "a system call has one word for its name")
		end
		return { kind = "syscall", name = name, comm = comm }
	end
	rest = spec:match("^wake%-up to sleep(.*)$")
	if rest then
		return { kind = "activity", comm = rest:match("^%s+of%s+(.+)$") }
	end
end

local function read_interval(spec)
	if spec:find("=", 1, true) and spec:find("/", 1, true) then
		local path, value = analysis.asked("--unit", yore.path, spec)
		return { kind = "interval", path = path, value = value }
	end
end

-- The unit that a text describes; its name is the text.
function units.parse(spec)
	spec = trimmed(spec)
	local unit = spec:find("^%-%-") and read_period(spec) or read_call(spec) or read_pair(spec) or read_interval(spec)
		or fail(spec, "it is none")
	unit.unit = spec
	return unit
end

-- ---- finding them ----

-- Reads the events of a system call: its calls in order of (thread, begin), and how many have an unknown begin or end.
local function walk_calls(side, name)
	side.calls = side.calls or {}
	local known = side.calls[name]
	if not known then
		local found, column, name_of = kernel.syscalls(side, nil, { [name] = true })
		local unknown = found.lost + found.unbegun + found.unfinished
		if column ~= "value" then -- events of all calls have one name
			found = found:select{ [column] = function(one) return one ~= nil and name_of(one) == name end }
		end
		found = found:rekey()
		collectgarbage()
		known = { found = found:rekey(), unknown = unknown }
		side.calls[name] = known
	end
	return known.found, known.unknown
end

-- The segments of threads whose name matches the glob `comm`; nil: all.
local function of_thread(side, found, comm)
	if not comm then
		return found
	end
	local matches, tids = basics.glob(comm), {}
	for _, tid in ipairs(found:distinct("key")) do
		if matches(side:name(tid)) then
			tids[#tids + 1] = tid
		end
	end
	return found:select{ key = tids }
end

local function calls_of(side, unit)
	if kernel.has_calls(side) then
		local found, unknown = walk_calls(side, unit.name)
		return of_thread(side, found, unit.comm), unknown
	end
	local name = math.tointeger(tonumber(unit.name)) or unit.name
	local calls = side.data and side.data.calls or trace:segments{ path = "thread[*]/syscall", optional = true,
		value = name, from = side.start, to = side.stop }
	local named = of_thread(side, calls:select{ value = name }, unit.comm)
	local found = named:select{ begun = true, ended = true }
	return found, #named - #found
end

local function is_asleep(state)
	return chain.asleep[state] or false
end

-- From the wake-up of a thread to its next sleep, and the stretches of state with which that begins.
local function activities_in(states)
	return states:between(is_asleep), states:select{ before = is_asleep, value = function(state) return not is_asleep(state) end }
end

local function activities_of(side, unit)
	local known = side.activities
	if not known then
		known = { activities_in(side.data and side.data.states
			or trace:segments{ path = "thread[*]/state", optional = true, from = side.start, to = side.stop }) }
		side.activities = known
		collectgarbage()
	end
	local found, begun = of_thread(side, known[1], unit.comm), of_thread(side, known[2], unit.comm)
	return found, math.max(0, #begun - #found)
end

-- trace:segments() with options from the unit's SPEC, so that errors name it.
local function segments_of(unit, options)
	return analysis.asked("--unit '" .. unit.unit .. "'", trace.segments, trace, options)
end

local function pairs_of(side, unit)
	local from, till = analysis.present(unit.from), analysis.present(unit.till)
	if #from == 0 or #till == 0 then
		yore.note("compare: " .. side.path .. " has no event "
			.. table.concat(#from == 0 and unit.from or unit.till, ", "))
		return
	end
	local begin_where, finish_where = analysis.condition_of(unit.from), analysis.condition_of(unit.till)
	local found = segments_of(unit, { begin = from, begin_where = begin_where, finish = till, finish_where = finish_where,
		key = unit.key or kernel.thread, finish_key = unit.till_key,
		nested = unit.nested or not unit.key, fields = { tid = "end " .. kernel.thread }, from = side.start, to = side.stop })
	-- what a condition leaves out is not unknown
	return found, found.lost + (begin_where and 0 or found.unbegun) + (finish_where and 0 or found.unfinished)
end

local function intervals_of(side, unit)
	local all = segments_of(unit, { path = unit.path, value = unit.value, from = side.start, to = side.stop })
	local found = all:select{ begun = true, ended = true }
	return found, #all - #found
end

-- The thread of the event at time t, the end of an interval whose path names no thread.
local function thread_at(data, t)
	for event in trace:events{ from = t, to = t + 1 } do
		local fields = event.context
		local run = data.on_cpu:find(event.cpu, t)
		return fields.tid or fields.perf_tid or fields.common_pid or run and run.value
	end
end

-- ---- by threads ----

local function new_group(tid)
	return { tid = tid, count = 0, total = 0 }
end

local function name_groups(side, groups)
	for _, group in ipairs(groups) do
		group.name = group.name or group.tid and side:name(group.tid) or ""
	end
	return groups
end

-- Groups segments that are in order of (thread, begin).
local function group_in_order(found)
	local groups, before = {}, 0
	for _, row in ipairs(found:groups{ by = { "key" } }) do
		local group, first = new_group(row.key), before
		groups[#groups + 1] = group
		group.count, group.total = row.count, row.total
		before = before + row.count
		function group.times(i)
			return found:times(first + i)
		end
	end
	return groups
end

-- Groups segments in any order by the column `tid`; those without one form a group without a thread.
local function group_by_column(found)
	local groups, by_tid, chunk = {}, {}, 4096
	for first = 1, #found, chunk do
		for _, row in ipairs(found:rows(first, first + chunk - 1)) do
			local tid = math.type(row.tid) == "integer" and row.tid or nil
			local group = by_tid[tid or false] or basics.add(by_tid, tid or false, groups, new_group(tid))
			group.count, group.total = group.count + 1, group.total + row.dur
			group[group.count] = { begin = row.begin, dur = row.dur }
		end
	end
	for _, group in ipairs(groups) do
		table.sort(group, analysis.order("begin", "dur"))
		function group.times(i)
			return group[i].begin, group[i].begin + group[i].dur
		end
	end
	return groups
end

-- Puts intervals whose path names no thread into one group.
local function group_together(unit, found)
	local group = new_group()
	group.name, group.count = unit.path, #found
	local cpu = unit.path:find("^cpu%[[^%]]*%]/")
	local rows = {}
	for i, row in ipairs(found:sorted("begin")) do
		rows[i], group.total = { row.begin, row["end"], row.key }, group.total + row.dur
	end
	function group.times(i)
		return rows[i][1], rows[i][2]
	end
	function group.thread_of(data, i)
		local run = cpu and data.on_cpu:find(rows[i][3], rows[i][2] - 1)
		return run and run.value or not cpu and thread_at(data, rows[i][2]) or nil
	end
	return group.count > 0 and { group } or {}
end

local finders = { syscall = calls_of, activity = activities_of, pairs = pairs_of, interval = intervals_of }

local function groups_of(unit, found)
	if unit.kind == "pairs" then
		return found and group_by_column(found) or {}
	elseif unit.kind == "interval" and not unit.path:find("^thread%[[^%]]*%]/") then
		return group_together(unit, found)
	end
	return group_in_order(found)
end

-- The group of segments:groups() for all units of the global trace, with these percentiles; nil: there are none.
function units.numbers(side, unit, percentiles)
	local found = finders[unit.kind](side, unit)
	return found and found:groups{ by = {}, percentiles = percentiles }[1]
end

-- The units of the global trace: {groups =, count =, unknown =, mean =, p50 =, p99 =}; a group is the units of a thread in
-- order of time, {tid =, name =, count =, total =, times = function(i), thread_of = function(data, i)}: times gives begin and
-- end of the i-th one, thread_of its thread where it is not tid.
function units.find(side, unit)
	local found, unknown = finders[unit.kind](side, unit)
	local groups = groups_of(unit, found)
	local all = found and found:groups{ by = {}, percentiles = { 50, 99 } }[1] or {}
	collectgarbage() -- Lua does not know the size of segments
	return { groups = name_groups(side, groups), count = found and #found or 0, unknown = unknown or 0, mean = all.mean,
		p50 = all.p50, p99 = all.p99 }
end

-- ---- proposing them ----

local nests = { { "_begin", "_end" }, { "_start", "_end" }, { "_start", "_stop" }, { "_start", "_done" },
	{ "_start", "_finish" }, { "_entry", "_exit" }, { "_enter", "_leave" } }

-- What the kernel's own events begin and end is no request.
local of_kernel = { "irq", "sys", "contention", "timer", "workqueue", "kthread", "writeback", "ext4", "jbd2", "mm_", "xen",
	"scsi", "nfs", "rcu", "signal", "btrfs", "xfs", "kmem", "power", "cgroup", "migrate", "mmap_lock", "statedump" }

local function is_of_kernel(name)
	for _, part in ipairs(of_kernel) do
		if name:find(part, 1, true) then
			return true
		end
	end
	return false
end

-- Pairs of event names that stand for begin and end, {from =, spec =}.
local function nesting_events()
	local names, found = basics.set(trace:info().classes, "name"), {}
	for name in pairs(names) do
		for _, nest in ipairs(nests) do
			local stem = name:match("^(.*)" .. nest[1] .. "$")
			if stem and names[stem .. nest[2]] and not is_of_kernel(stem) then
				found[#found + 1] = { from = name, spec = name .. " -> " .. stem .. nest[2] }
			end
		end
	end
	table.sort(found, analysis.order("spec"))
	return found
end

-- Calls in which a thread waits for something to do, or from which it does not return, are no request.
local waiting = { nanosleep = true, clock_nanosleep = true, poll = true, ppoll = true, select = true, pselect6 = true,
	epoll_wait = true, epoll_pwait = true, epoll_pwait2 = true, pause = true, rt_sigtimedwait = true, wait4 = true,
	waitid = true, accept = true, accept4 = true, exit = true, exit_group = true }

local fewest_marked = 5 -- of a pair of events that stands for requests

-- The pairs of events of the global trace that stand for requests, {[spec] = how often}.
function units.marked(side)
	local found = {}
	for _, name in ipairs(nesting_events()) do
		local rows = trace:count_by{ name = name.from, by = { "name" }, from = side.start, to = side.stop }
		if #rows > 0 and rows[1].count >= fewest_marked then
			found[name.spec] = rows[1].count
		end
	end
	return found
end

-- Its system calls and stretches from wake-up to sleep, {[spec] = time in all}.
function units.unmarked(side)
	local found, data = {}, side.data
	local function add(spec, row)
		spec = spec .. " of " .. data:name(row.key, side.stop)
		found[spec] = (found[spec] or 0) + row.total
	end
	for _, row in ipairs(data.calls:select{ begun = true, ended = true }:groups{ by = { "key", "value" } }) do
		if not waiting[row.value] then
			add("syscall " .. tostring(row.value), row)
		end
	end
	for _, row in ipairs(activities_in(data.states):groups{ by = { "key" } }) do
		add("wake-up to sleep", row)
	end
	return found
end

-- How often the trace has each kind of unit, whoever its thread is: {[spec] = count}; `marked` are those of units.marked().
-- Numbers are left out of threads' names; of a large trace the threads are not known.
function units.kinds(side, marked)
	local found = {}
	for spec, count in pairs(marked) do
		found[spec] = count
	end
	for name, count in pairs(kernel.calls_entered(side)) do
		found["syscall " .. name] = count
	end
	for _, row in ipairs(side.data and activities_in(side.data.states):groups{ by = { "key" } } or {}) do
		local spec = "wake-up to sleep of " .. side:name(row.key):gsub("%d+", "N")
		found[spec] = (found[spec] or 0) + row.count
	end
	return found
end

local fewest_of_one = 5 -- of a kind that only one side has

-- What of the kinds has to be recorded to have any: nil of pairs of events, whose names say it.
local function recorded_as(spec)
	return spec:match("^syscall ") or spec:match("^wake%-up ")
end

-- The kinds that only one of two sides has, {unit =, count_a =, count_b =}, the most frequent first; not where the other side
-- has nothing of that sort, since then it was not recorded.
function units.of_one_side(a, b)
	local list = {}
	local function add(own, other, column)
		local recorded = {}
		for spec in pairs(other) do
			recorded[recorded_as(spec) or spec] = true
		end
		for spec, count in pairs(own) do
			local sort = recorded_as(spec)
			if count >= fewest_of_one and not other[spec] and (not sort or recorded[sort]) then
				list[#list + 1] = { unit = spec, count_a = 0, count_b = 0, most = count }
				list[#list][column] = count
			end
		end
	end
	add(a, b, "count_a")
	add(b, a, "count_b")
	table.sort(list, analysis.order("-most", "unit"))
	return list
end

-- At most `most` of what two sides have, {[spec] = weight}: the greatest sum first, what only one side has last.
function units.propose(a, b, most)
	local list = {}
	for spec, weight in pairs(a) do
		list[#list + 1] = { spec = spec, alone = b[spec] and 0 or 1, weight = weight + (b[spec] or 0) }
	end
	for spec, weight in pairs(b) do
		list[#list + 1] = not a[spec] and { spec = spec, alone = 1, weight = weight } or nil
	end
	table.sort(list, analysis.order("alone", "-weight", "spec"))
	local found = {}
	for i = 1, math.min(most, #list) do
		found[i] = units.parse(list[i].spec)
		found[i].proposed = true
	end
	return found
end

return units

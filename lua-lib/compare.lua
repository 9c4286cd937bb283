-- compare: what differs between two traces, or two ranges of one: by unit of work and by cause
--
-- [B: the other trace]
--
-- TRACE is side A, B the path of the other trace. --range-a FROM..TO and --range-b FROM..TO are ranges of the two, or of
-- TRACE alone where B is left out; --begin and --end are of both.
--
-- --unit SPEC   what is compared (repeatable); without one, request-like spans that both traces have are proposed:
--     syscall NAME [of THREAD]              a system call
--     wake-up to sleep [of THREAD]          from where a thread is woken until it sleeps again
--     EVENT -> EVENT [by COLUMNS]           from one event to another one of the same key; without one, of the thread
--     PATH = VALUE                          an interval of the rules
--     --from GLOB --until GLOB --key COLUMNS   as `yore periods` takes it
-- THREAD is a name, * and ? as in file names.
--
-- Threads of the two sides are matched by their names, their parents' names and by their rank of work; units by their order.
-- Units that only one side has count as unmatched. The time of each matched unit is split by cause along its wake-up
-- chain. Causes whose difference is not certain (99.5 % over all causes, bootstrapped), or below 3 % of the unit
-- (--floor PERCENT), are left out.
--
-- --at-once SIZE    a trace of more bytes (64M) is split in windows, not all of it; K, M or G may stand behind SIZE
--
-- --save FILE       writes what is known of TRACE alone, as a baseline
-- --baseline FILE   such a file is side A, and TRACE side B
--
-- --html FILE       draws it as a page for a browser, in place of the tables
--
-- --fail-if COND   exit status 1 where COND holds for a unit: 'p99(unit) > 1.1 * A', 'mean(unit) > A + 20us',
--                  'p50(unit) >= 3ms'; mean, p50, p99 and count of side B are compared with those of A
--
-- Examples:
--   $ yore compare fixtures/golden/sched-demo fixtures/golden/sched-demo
--   $ yore compare fixtures/golden/sched-demo --range-a 00:35:20.799..00:35:20.804 --range-b 00:35:20.804..00:35:20.809 --unit 'wake-up to sleep of demo-*'

local analysis = require("yore.analysis")
local baseline = require("yore.baseline")
local differ = require("yore.differ")
local json = require("yore.json")
local lami = require("yore.lami")
local report = require("yore.report")
local side = require("yore.side")
local units = require("yore.units")

local left_out = 0.005 -- the chance of a wrong cause, over all of them
local most_proposed = 8
local most_saved = 1000 -- units whose time a baseline has
local options = { unit = "list", ["range-a"] = "text", ["range-b"] = "text", ["fail-if"] = "list", floor = "text",
	save = "text", baseline = "text", html = "text", ["at-once"] = "text" }

-- ---- the command line ----

-- Takes the word out of `arg` that is neither an option nor its value: the path of B.
local function take_path(words)
	local rest, path, i = {}, nil, 1
	while words[i] do
		local word = words[i]
		local name = word:match("^%-%-([%w-]+)$")
		if word:sub(1, 2) ~= "--" and not path then
			path = word
		else
			rest[#rest + 1] = word
		end
		if name and words[i + 1] and (options[name] or analysis.takes_value(name)) then
			rest[#rest + 1] = words[i + 1]
			i = i + 1
		end
		i = i + 1
	end
	return path, rest
end

local path_of_b, words = take_path(arg)
local a = analysis.open(words, { name = "compare", options = options })
a.tables = true
local floor = tonumber(a.floor or 3)
if not floor or floor < 0 then
	error("--floor: '" .. a.floor .. "' is not a percentage", 0)
end

local scales = { [""] = 1, K = 1 << 10, M = 1 << 20, G = 1 << 30 }
local at_once = side.at_once
if a["at-once"] then
	local number, unit = a["at-once"]:match("^(%d+)([KMG]?)$")
	at_once = number and math.tointeger(tonumber(number)) or 0
	if at_once < 1 or at_once > 1 << 30 then
		error("--at-once: '" .. a["at-once"] .. "' is not a number of bytes, with K, M or G behind it", 0)
	end
	at_once = at_once * scales[unit]
end

local units_of_time = { ns = 1, us = 1000, ms = 1000000, s = 1000000000 }

-- The right side of a condition as a function of A's number.
local function read_limit(text)
	local factor = text == "A" and 1 or tonumber(text:match("^(%S+)%s*%*%s*A$") or text:match("^A%s*%*%s*(%S+)$"))
	if factor then
		return function(own) return own * factor end
	end
	local base, number, unit = text:match("^(A?)%s*%+?%s*([%d.]+)%s*(%a*)$")
	local time = tonumber(number)
	if not time or not (unit == "" or units_of_time[unit]) then
		return
	end
	time = time * (units_of_time[unit] or 1)
	return function(own) return (base == "A" and own or 0) + time end, base == ""
end

local compared = {
	[">"] = function(x, y) return x > y end, [">="] = function(x, y) return x >= y end,
	["<"] = function(x, y) return x < y end, ["<="] = function(x, y) return x <= y end,
}

local function read_condition(text)
	local what, sign, right = text:match("^%s*(%w+)%(unit%)%s*([<>]=?)%s*(.-)%s*$")
	local limit, alone
	if right then
		limit, alone = read_limit(right)
	end
	local known = { mean = true, p50 = true, p99 = true, count = true }
	if not limit or not known[what] then
		error("--fail-if: '" .. text .. "': mean, p50, p99 or count of (unit), one of > >= < <=, and what it is compared with "
			.. "is expected: 'p99(unit) > 1.1 * A'", 0)
	end
	return { text = text, what = what, limit = limit, alone = alone, holds = compared[sign] }
end

local conditions = {}
for i, text in ipairs(a["fail-if"] or {}) do
	conditions[i] = read_condition(text)
end

local named = {}
for i, spec in ipairs(a.unit or {}) do
	named[i] = units.parse(spec)
end

-- ---- the two sides ----

local function range_of(text, option, from, till)
	if not text then
		return from, till
	end
	local low, high = text:match("^(.-)%.%.(.*)$")
	if not low then
		error("--" .. option .. ": FROM..TO is expected, not '" .. text .. "'", 0)
	end
	return low ~= "" and low or nil, high ~= "" and high or nil
end

local function open_b()
	if not path_of_b or lami.is_empty then
		if not (a["range-a"] and a["range-b"]) then
			a:lack("B is missing: yore compare A B, or --range-a FROM..TO and --range-b FROM..TO of one trace")
		end
		return trace
	end
	local opened, why = yore.open(path_of_b, yore.opened())
	if not opened then
		error(why, 0)
	end
	return opened
end

-- A side of a trace, which becomes the global one.
local function new_side(opened, option)
	trace = opened
	return side.new(at_once, analysis.range(range_of(a[option], option, a.begin, a["end"])))
end

local own_trace = trace
local sides, order = {}, {}

-- Calls visit(name of the side, side) with its trace as the global one, of sides that have one; A's is it again afterwards.
local function each_side(visit)
	for _, name in ipairs(order) do
		trace = sides[name].trace
		visit(name, sides[name])
	end
	trace = own_trace
end

if a.save and (a.baseline or path_of_b) then
	error("--save: it writes what one trace has: B and --baseline have no meaning with it", 0)
elseif a.baseline and path_of_b then
	error("--baseline: the file is side A, and the trace side B: there is no third one", 0)
elseif a.baseline then
	sides, order = { a = baseline.read(a.baseline), b = new_side(own_trace, "range-b") }, { "b" }
elseif a.save then
	sides, order = { a = new_side(own_trace, "range-a") }, { "a" }
else
	local other = open_b()
	sides, order = { a = new_side(own_trace, "range-a"), b = new_side(other, "range-b") }, { "a", "b" }
end
trace = own_trace

-- Those that events mark, where there are any; else of a large trace what its middle has.
local function propose()
	local found = {}
	each_side(function(name, one)
		found[name] = units.marked(one)
	end)
	if not next(found.a or {}) and not next(found.b or {}) then
		each_side(function(name, one)
			if one.large then
				one:narrow()
				yore.note("compare: of " .. one.path .. " only " .. yore.span(one.stop - one.start) .. " in its middle are compared; "
					.. "with --unit all of it is")
			end
			found[name] = units.unmarked(one)
		end)
	end
	return units.propose(found.a or {}, found.b or found.a, most_proposed)
end

-- Those of the baseline, all or the named ones.
local function of_baseline()
	local by_name, list, specs = {}, {}, {}
	for i, known in ipairs(sides.a.units) do
		by_name[known.unit], specs[i] = known, "'" .. known.unit .. "'"
		local unit = units.parse(known.unit)
		unit.proposed, unit.a, list[i] = known.proposed, known, unit
	end
	for _, unit in ipairs(named) do
		unit.a = by_name[unit.unit] or error("--unit: the baseline has no '" .. unit.unit .. "': it has "
			.. table.concat(specs, ", "), 0)
	end
	return #named > 0 and named or list
end

if a.baseline then
	named = of_baseline()
elseif #named == 0 then
	named = propose()
	if #named == 0 then
		a:lack("neither trace has system calls, wake-ups or events that nest: name what is to be compared with --unit "
			.. "'EVENT -> EVENT by COLUMN'")
	end
end

-- ---- units ----

-- Where threads have one name, their parents' names.
local function name_parents(one, groups)
	local seen = {}
	for _, group in ipairs(groups) do
		seen[group.name] = (seen[group.name] or 0) + 1
	end
	for _, group in ipairs(groups) do
		group.parent = seen[group.name] > 1 and group.tid and one:parent_name(group.tid) or nil
	end
end

-- What only one side tells makes causes that only one side has.
local kinds_told = { { "on_cpu", "who runs" }, { "calls", "system calls" }, { "irqs", "interrupts" },
	{ "softirqs", "softirqs" }, { "frequencies", "frequencies of CPUs" } }
local told = { a = sides.a.told or {}, b = {} }

local function note_what_is_missing()
	for _, kind in ipairs(kinds_told) do
		local of_a, of_b = told.a[kind[1]], told.b[kind[1]]
		if (of_a or false) ~= (of_b or false) then
			yore.note("compare: only " .. (of_a and "A" or "B") .. " tells " .. kind[2] .. ": causes that rest on them are of one side")
		end
	end
end

-- Splits the units of a side that lie in the window, of all lists.
local function split_window(name, one, window)
	local data
	for _, unit in ipairs(named) do
		for _, chosen in ipairs(unit.list) do
			local piece = chosen[name]
			if piece.window == window then
				data = data or one:detail(window)
				piece.thread = piece.thread or piece.thread_of and piece.thread_of(data, piece.i)
				data:split(piece)
			end
		end
	end
	for _, kind in ipairs(kinds_told) do
		told[name][kind[1]] = told[name][kind[1]] or data and #data[kind[1]] > 0
	end
end

each_side(function(name, one)
	for _, unit in ipairs(named) do
		unit[name] = units.find(one, unit)
		name_parents(one, unit[name].groups)
	end
end)

-- Writes side A into a file.
local function save()
	for _, unit in ipairs(named) do
		unit.list = {}
		local part, rest = math.min(1, most_saved // #named / math.max(unit.a.count, 1)), 0.5
		for _, group in ipairs(unit.a.groups) do
			local most = math.floor(rest + group.count * part)
			rest = rest + group.count * part - most
			local pieces = differ.choose_some(group, sides.a.windows, most)
			for _, piece in ipairs(pieces) do
				unit.list[#unit.list + 1] = { a = piece }
			end
			group.chosen = pieces
		end
	end
	each_side(function(name, one)
		for _, window in ipairs(one.windows) do
			split_window(name, one, window)
		end
	end)
	for _, unit in ipairs(named) do
		for _, group in ipairs(unit.a.groups) do
			group.pieces = group.chosen
		end
	end
	local set = {}
	for kind, is_told in pairs(told.a) do
		set[kind] = is_told or nil
	end
	baseline.write(a.save, sides.a, set, named)
	yore.note("compare: " .. a.save .. " is a baseline of " .. #named .. (#named == 1 and " unit" or " units"))
end

if a.save then
	save()
	return
end

for _, unit in ipairs(named) do
	local matched = differ.match(unit.a.groups, unit.b.groups)
	unit.matched = 0
	for _, pair in ipairs(matched) do
		unit.matched = unit.matched + pair.count
	end
	unit.a.unmatched, unit.b.unmatched = unit.a.count - unit.matched, unit.b.count - unit.matched
	local long
	unit.list, long = differ.choose(matched, sides.a.windows, sides.b.windows, #named)
	if long > 0 then
		yore.note("compare: " .. long .. " units of '" .. unit.unit .. "' are longer than the windows that are read of a large "
			.. "trace: causes are without them")
	end
	unit.a.groups, unit.b.groups = nil, nil
end
each_side(function(_, one)
	one:forget()
end)
each_side(function(name, one)
	for _, window in ipairs(one.windows) do
		split_window(name, one, window)
	end
end)
note_what_is_missing()

local decided = 0
for _, unit in ipairs(named) do
	local dropped
	unit.list, dropped = differ.known(unit.list)
	if dropped > 0 then
		yore.note(string.format("compare: of %d pairs of '%s' it is not known what the threads did: causes are without them",
			dropped, unit.unit))
	end
	differ.settle(unit.list)
	decided = decided + differ.causes(unit.list)
end

-- ---- causes ----

local found = {}
for _, unit in ipairs(named) do
	local longest = math.max(unit.a.mean or 0, unit.b.mean or 0)
	for _, cause in ipairs(differ.differences(unit.list, left_out / math.max(decided, 1), longest * floor / 100)) do
		cause.unit, cause.size = unit.unit, math.abs(cause.difference)
		found[#found + 1] = cause
	end
end
table.sort(found, analysis.order("-size", "unit", "cause", "who"))

-- ---- output ----

local function rounded(x)
	return x and math.floor(x + 0.5)
end

local function times_json(list)
	local out = {}
	for i, t in ipairs(list) do
		out[i] = tostring(t)
	end
	return json.list(out)
end

local function side_json(one)
	return json.object{ { "path", json.value(one.path) }, { "begin", json.value(one.start) },
		{ "end", json.value(one.stop) } }
end

local function numbers_json(numbers)
	local members = {}
	for i, key in ipairs{ "count", "unmatched", "unknown", "mean", "p50", "p99" } do
		members[i] = { key, json.value(rounded(numbers[key])) }
	end
	return json.object(members)
end

local function print_json()
	local all_units, all_causes = {}, {}
	for i, unit in ipairs(named) do
		all_units[i] = json.object{ { "unit", json.text(unit.unit) }, { "proposed", json.value(unit.proposed or false) },
			{ "a", numbers_json(unit.a) }, { "b", numbers_json(unit.b) }, { "matched", json.value(unit.matched) } }
	end
	for i = 1, math.min(#found, a.limit or #found) do
		local cause = found[i]
		local members = { { "unit", json.text(cause.unit) }, { "cause", json.text(cause.cause) },
			{ "who", json.value(cause.who) } }
		for _, key in ipairs{ "difference", "low", "high", "a", "b" } do
			members[#members + 1] = { key, json.value(rounded(cause[key])) }
		end
		members[#members + 1] = { "moments", json.object{ { "a", times_json(cause.moments.a) },
			{ "b", times_json(cause.moments.b) } } }
		all_causes[i] = json.object(members)
	end
	print(json.object{ { "a", side_json(sides.a) }, { "b", side_json(sides.b) }, { "units", json.list(all_units) },
		{ "causes", json.list(all_causes) } })
end

-- Times as text are those of their own trace.
local as_text = a.format == "table" or a.format == "bars"

local function time_cell(one, t)
	return t and as_text and (one.trace or trace):text(t) or t
end

local function print_units()
	local rows = {}
	for i, unit in ipairs(named) do
		local row = { unit = unit.unit, matched = unit.matched }
		for _, name in ipairs{ "a", "b" } do
			for key, value in pairs(unit[name]) do
				row[key .. "_" .. name] = value
			end
		end
		rows[i] = row
	end
	local columns = { { key = "unit", head = "unit" }, { key = "matched", head = "matched", kind = "count" } }
	for _, name in ipairs{ "a", "b" } do
		local mark = " " .. name:upper()
		for _, column in ipairs{ { "count", "count", "in" .. mark }, { "unmatched", "count", "only" .. mark },
			{ "unknown", "count", "unknown" .. mark }, { "mean", "span", "mean" .. mark }, { "p50", "span", "p50" .. mark },
			{ "p99", "span", "p99" .. mark } } do
			columns[#columns + 1] = { key = column[1] .. "_" .. name, kind = column[2], head = column[3] }
		end
	end
	local limit, sort = a.limit, a.sort
	a.limit, a.sort = nil, nil -- these are of the causes
	a:table("units", columns, rows)
	a.limit, a.sort = limit, sort
end

local function print_causes()
	local rows = {}
	for i, cause in ipairs(found) do
		rows[i] = { unit = cause.unit, cause = cause.cause, who = cause.who, difference = cause.difference,
			low = cause.low, high = cause.high, a = cause.a, b = cause.b,
			at_a = time_cell(sides.a, cause.moments.a[1]), at_b = time_cell(sides.b, cause.moments.b[1]) }
	end
	a.limit = a.limit or 10
	a:table("what differs, per unit", { { key = "cause", head = "cause" }, { key = "who", head = "who" },
		{ key = "difference", head = "B - A", kind = "span", bar = true }, { key = "low", head = "at least", kind = "span" },
		{ key = "high", head = "at most", kind = "span" }, { key = "a", head = "A", kind = "span" },
		{ key = "b", head = "B", kind = "span" }, { key = "at_a", head = "look at A", kind = not as_text and "time" or nil },
		{ key = "at_b", head = "look at B", kind = not as_text and "time" or nil }, { key = "unit", head = "unit" } }, rows)
end

-- Why there is no cause.
local function nothing_said()
	local few, least = 0, differ.fewest
	for _, unit in ipairs(named) do
		few = few + (unit.matched < least and 1 or 0)
	end
	return decided .. " causes were compared; no difference is certain and above " .. (a.floor or "3") .. " % of a unit"
		.. (few > 0 and string.format("; of %d of %d units fewer than %d are matched, which decides nothing", few, #named, least)
			or "")
end

local function side_text(one)
	local own = one.trace or trace
	return one.path .. ", " .. own:text(one.start) .. " to " .. own:text(one.stop) .. ", " .. yore.span(one.stop - one.start)
end

local function texts_of(one, times)
	local list = {}
	for i, t in ipairs(times) do
		list[i] = (one.trace or trace):text(t)
	end
	return list
end

local function draw()
	for _, unit in ipairs(named) do
		unit.totals = differ.totals(unit.list)
	end
	for _, cause in ipairs(found) do
		cause.at = { a = texts_of(sides.a, cause.moments.a), b = texts_of(sides.b, cause.moments.b) }
	end
	local ok, why = yore.save(a.html, report.page{ title = "What differs between " .. sides.a.path .. " and " .. sides.b.path,
		sides = { { name = "A", text = side_text(sides.a) }, { name = "B", text = side_text(sides.b) } }, units = named,
		causes = table.move(found, 1, math.min(#found, a.limit or 10), 1, {}), note = nothing_said() })
	if not ok then
		error(why, 0)
	end
end

local function failed()
	local status
	for _, condition in ipairs(conditions) do
		for _, unit in ipairs(named) do
			local own, other = unit.a[condition.what], unit.b[condition.what]
			if not other or not own and not condition.alone then
				error("--fail-if: " .. (other and "A" or "B") .. " has no whole '" .. unit.unit .. "'", 0)
			end
			if condition.holds(other, condition.limit(own or 0)) then
				status = 1
				yore.note("compare: " .. condition.text .. " holds for '" .. unit.unit .. "'")
			end
		end
	end
	return status
end

if a.html then
	draw()
elseif a.format == "json" then
	print_json()
else
	for _, name in ipairs{ "a", "b" } do
		a:line(name:upper() .. ": " .. side_text(sides[name]))
	end
	print_units()
	print_causes()
	if #found == 0 then
		a:line(nothing_said())
	end
end
return failed()

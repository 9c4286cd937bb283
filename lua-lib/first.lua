-- first: the first trace of a series in which a unit of work got slower
--
-- [--catalog|p99(unit)]
--
-- yore first --catalog DIR --unit SPEC 'p99(unit)' [series]
--
-- Takes a number of each trace below a folder, or of a file of 'yore catalog --to': a percentile p50, p99, p99.9 ..., mean, min, max, total or
-- count of the units of SPEC, as 'yore compare' has them. It tells where this series goes from one level to another one, if it does:
-- at which trace, with bounds (99 %), by how much, and how likely that would be by chance. Changes are claimed that are less
-- likely than 1 in 1000. Without one it tells the smallest that would have been found.
--
-- series            the number of each trace in place of the changes; why it has none
-- --unit SPEC       what is looked at: 'syscall read of nginx*', 'request_begin -> request_end by id': 'yore help compare' lists them
-- --order begin|listed   begin: by the times at which the traces begin (default, where all clocks tell the time of day); listed: as
--                   the catalog lists them
-- --timeout SPAN    how long a trace may take: 30s, 500ms
--
-- --begin and --end are of each trace. Processes (--jobs) share the work; a trace that cannot be read is told, the
-- others answer, and the exit status is 3. docs/compare.md says how it is decided.
--
-- Examples:
--   $ yore first --catalog fixtures/golden/sched-demo --unit 'wake-up to sleep of demo-*' 'p99(unit)'
--   $ yore first --catalog fixtures/golden/sched-perf --unit 'wake-up to sleep' 'mean(unit)' series --order listed

local analysis = require("yore.analysis")
local basics = require("yore.basics")
local change = require("yore.change")
local side = require("yore.side")
local threads = require("yore.threads")
local units = require("yore.units")

-- ---- the command line ----

-- Removes the word NAME(unit); returns NAME and the other words.
local function take_statistic(words)
	local rest, name = {}, nil
	for _, word in ipairs(words) do
		local found = word:match("^%s*([%w.]+)%(unit%)%s*$")
		if found and not name then
			name = found
		else
			rest[#rest + 1] = word
		end
	end
	return name, rest
end

local statistic, words = take_statistic(arg)
local a = analysis.open(words, { name = "first", verbs = { "changes", "series" }, without_range = true, stray = "; --catalog DIR names the traces",
	options = { catalog = "text", unit = "text", order = "text", timeout = "text", measure = "flag" } })

local plain = { mean = true, min = true, max = true, total = true, count = true }
local percentile = statistic and tonumber(statistic:match("^p(%d+%.?%d*)$"))

local function check_words()
	for name in pairs(threads.options) do
		if a[name] then
			yore.misuse("first: --" .. name .. " has no meaning here: a unit names its threads, 'syscall read of nginx*'")
		end
	end
	if not statistic then
		yore.misuse("first: what is looked at is missing: 'p99(unit)', or mean, min, max, total or count of (unit)")
	elseif not plain[statistic] and not (percentile and percentile <= 100) then
		yore.misuse("first: '" .. statistic .. "(unit)' is none of p50(unit), p99.9(unit), mean(unit), min(unit), max(unit), total(unit), count(unit)")
	elseif not a.unit then
		yore.misuse("first: the unit is missing: --unit 'EVENT -> EVENT by KEY': 'yore help compare' lists what a unit is")
	elseif not a.measure and not a.catalog then
		yore.misuse("first: the traces are missing: --catalog DIR")
	elseif a.order and a.order ~= "begin" and a.order ~= "listed" then
		yore.misuse("--order: '" .. a.order .. "' is none of begin, listed")
	elseif a.format == "lami" then
		yore.misuse("--format: lami has no meaning here")
	end
end

check_words()
local unit = units.parse(a.unit)
local what = statistic .. "(unit)"

-- ---- one trace: run with --measure, by ask_all() ----

-- Do all clocks of its streams count from 1970?
local function tells_day()
	for _, clock in ipairs(trace:info().clocks) do
		if not clock.epoch then
			return false
		end
	end
	return #trace:info().clocks > 0
end

-- Prints when the trace begins, whether that is a time of day, how many units there are, and the number: "-" without one.
local function measure()
	local start, stop, first = analysis.range(a.begin, a["end"])
	local found = units.numbers(side.unread(start, stop), unit, { percentile or 50 }) or { count = 0 }
	local number = found[percentile and string.format("p%g", percentile) or statistic]
	print(first, tells_day() and "day" or "own", found.count, number or "-")
end

-- ---- all traces ----

local function ask_all()
	local given = { "--measure", "--unit", a.unit, what }
	for _, name in ipairs{ "begin", "end" } do
		if a[name] then
			given[#given + 1], given[#given + 2] = "--" .. name, a[name]
		end
	end
	return basics.given(yore.ask_traces{ catalog = a.catalog, analysis = "first", words = given, timeout = a.timeout })
end

-- Parses a trace's output: {trace =, place =, damaged =, begin =, day =, count =, number =}, or {trace =, place =, error =}.
local function read_answer(answer, place)
	local run = { trace = answer.path, place = place, error = answer.error, damaged = answer.damaged > 0 }
	if answer.text then
		local begin, day, count, number = answer.text:match("^(%S+)\t(%S+)\t(%S+)\t(%S+)\n$")
		run.begin, run.day, run.count, run.number = math.tointeger(tonumber(begin)), day == "day", tonumber(count), tonumber(number)
		run.error = not run.number and "it has no whole '" .. a.unit .. "'" or nil
	end
	return run
end

-- Returns the runs that have a number, in the order of --order, and all runs, those without a number last.
local function in_order(runs)
	local good, by_begin = {}, a.order ~= "listed"
	for _, run in ipairs(runs) do
		good[#good + 1] = run.number and run or nil
		if run.number and not run.day and not a.order and by_begin then
			by_begin = false
			yore.note("first: " .. run.trace .. " does not tell the time of day: the order is that of the catalog; --order begin takes "
				.. "the times as they are")
		end
	end
	table.sort(good, by_begin and analysis.order("begin", "place") or analysis.order("place"))
	local all = table.move(good, 1, #good, 1, {})
	for i, run in ipairs(good) do
		run.run = i
	end
	for _, run in ipairs(runs) do
		all[#all + 1] = run.error and run or nil
	end
	return good, all, by_begin
end

local function tell_failures(runs)
	local told, most = 0, 10
	for _, run in ipairs(runs) do
		local why = run.error or run.damaged and "parts of it could not be read, the rest counts"
		if why then
			told = told + 1
			local text = why:sub(1, #run.trace) == run.trace and why or run.trace .. ": " .. why
			if told <= most then
				yore.note("first: " .. text)
			end
		end
	end
	if told > most then
		yore.note("first: and " .. told - most .. " more: 'series' lists all")
	end
	return told
end

-- ---- output ----

local kind = statistic == "count" and "count" or "span"

local function rounded(number)
	return number and kind == "count" and math.type(number) ~= "integer" and math.floor(number + 0.5) or number
end

local function shown(number)
	number = math.floor(number + 0.5)
	return kind == "span" and yore.span(number) or tostring(number)
end

-- Quotes a text for a shell, if that is needed.
local function quoted(text)
	return text:find("^[%w/._@%%+=:,-]+$") and text or "'" .. text:gsub("'", "'\\''") .. "'"
end

local function shift_text(one)
	local function number(x)
		return x and (one.ratio and string.format("%.4g", x) or shown(x)) or "?"
	end
	return number(one.shift) .. (one.ratio and " times" or "") .. " (" .. number(one.least) .. " to " .. number(one.most) .. ")"
end

local function run_text(one)
	local bounds = one.low < one.high and ", between " .. one.low .. " and " .. one.high or ""
	return "run " .. one.first .. bounds
end

local function say_change(series, one)
	local run, before = series[one.first], series[one.first - 1]
	a:line(string.format("%s %s at %s: %s", what, one.rises and "rose" or "fell", run_text(one), run.trace))
	a:line(string.format("  from %s to %s, %s; by chance: %s", shown(one.before), shown(one.after), shift_text(one),
		one.chance < 0.0001 and "less than 1 in 10000" or string.format("%.2g", one.chance)))
	a:line("  what differs: yore compare " .. quoted(before.trace) .. " " .. quoted(run.trace) .. " --unit " .. quoted(a.unit))
end

local function smallest_text(numbers, where)
	local step, ratio = change.smallest(numbers, where)
	return not step and "no rise" or "a rise by " .. (ratio and string.format("%.3g %%", (step - 1) * 100) or shown(step))
end

-- Prints that no change was found; for CSV and JSON, which have no row then, gives a note.
local function say_none(numbers)
	local middle, late = smallest_text(numbers, 0.5), smallest_text(numbers, 0.9)
	if a.format == "csv" or a.format == "json" then
		yore.note("first: no change was found" .. (middle == "no rise" and ", and none would have been: these are too few runs"
			or "; " .. middle .. " in the middle of the series would have been in 95 of 100 such series"))
	elseif middle == "no rise" then
		a:line("no change was found, and none would have been: these are too few runs")
	else
		a:line("no change was found; " .. middle .. " in the middle of the series would have been in 95 of 100 such series, and")
		a:line(late .. " in front of its last tenth")
	end
end

local function print_changes(series, changes)
	local rows = {}
	for i, one in ipairs(changes) do
		rows[i] = { run = one.first, low = one.low, high = one.high, way = one.rises and "rises" or "falls", before = rounded(one.before),
			after = rounded(one.after), ratio = one.ratio and one.shift or nil, ratio_low = one.ratio and one.least or nil,
			ratio_high = one.ratio and one.most or nil, chance = one.chance, trace = series[one.first].trace,
			trace_before = series[one.first - 1].trace }
	end
	a.leaving = #rows == 0 and "" or nil -- that there is none was told
	a:table("changes", { { key = "run", head = "run", kind = "count" }, { key = "low", head = "from", kind = "count" },
		{ key = "high", head = "to", kind = "count" }, { key = "way", head = "" }, { key = "before", head = "before", kind = kind },
		{ key = "after", head = "after", kind = kind }, { key = "ratio", head = "times", kind = "float" },
		{ key = "ratio_low", head = "at least", kind = "float" }, { key = "ratio_high", head = "at most", kind = "float" },
		{ key = "chance", head = "by chance", kind = "float" }, { key = "trace", head = "trace" },
		{ key = "trace_before", head = "before it" } }, rows)
end

local function print_series(all)
	a:table("series", { { key = "run", head = "run", kind = "count" }, { key = "begin", head = "begin", kind = "count" },
		{ key = "count", head = "units", kind = "count" }, { key = "number", head = what, kind = kind }, { key = "trace", head = "trace" },
		{ key = "error", head = "error" } }, all)
end

-- The first change that is a rise, else the first one.
local function most_wanted(changes)
	for _, one in ipairs(changes) do
		if one.rises then
			return one
		end
	end
	return changes[1]
end

local function decide(series, all, by_begin)
	local numbers = {}
	for i, run in ipairs(series) do
		numbers[i] = run.number
	end
	local changes = change.find(numbers)
	a:line(string.format("%d runs of '%s', in the order %s%s", #series, a.unit, by_begin and "in which they begin" or "of the catalog",
		#series < #all and ", " .. #all - #series .. " left out" or ""))
	if #changes == 0 then
		say_none(numbers)
	else
		say_change(series, most_wanted(changes))
	end
	if #changes > 1 or a.format == "csv" or a.format == "json" then
		print_changes(series, changes)
	end
end

if a.measure then
	measure()
	return
end
local runs = {}
for place, answer in ipairs(ask_all()) do
	runs[place] = read_answer(answer, place)
end
local series, all, by_begin = in_order(runs)
if #runs == 0 then
	local why = "first: " .. a.catalog .. ": there is no trace below it"
	if a.verb ~= "series" then
		error(why, 0)
	end
	yore.note(why)
end
if a.verb == "series" then
	print_series(all)
elseif #series == 0 then
	tell_failures(runs)
	error("first: none of the " .. #runs .. " traces has a number", 0)
else
	decide(series, all, by_begin)
end
return tell_failures(runs) > 0 and 3 or 0

-- compare: what differs between two traces, or two ranges of one: by unit of work and by cause
--
-- [B: the other trace|--a|--b]
--
-- TRACE is side A, B the path of the other trace. --range-a FROM..TO and --range-b FROM..TO are ranges of the two, or of
-- TRACE alone where B is left out; --begin and --end are of both.
--
-- --a GLOB... --b GLOB...   several runs on each side, in place of TRACE and B: traces, or baselines of --save. How runs of one
--                   side differ from each other counts; a run that cannot be read is left out
--
-- --unit SPEC   what is compared (repeatable); without one, request-like spans that both traces have are proposed:
--     syscall NAME [of THREAD]              a system call
--     wake-up to sleep [of THREAD]          from where a thread is woken until it sleeps again
--     EVENT -> EVENT [by KEY [until KEY]]   from one event to another one of the same key; without one, of the thread
--     PATH = VALUE                          an interval of the rules
--     --from EVENT --until EVENT --key KEY  as `yore periods` takes it
-- EVENT is a glob, perhaps with `where CONDITION` behind it, KEY as of `yore periods`: 'open -> close where fd >= 0 by tid + fd'. THREAD is a name, * and ? as in file names.
--
-- Threads of the two sides are matched by their names, their parents' names and by their rank of work; units by their order.
-- Units that only one side has count as unmatched; without --unit, kinds of units that only one side has are listed. The time of each matched unit is split by cause along its wake-up
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
--                  'p50(unit) >= 3ms && count(unit) > count(A)': of mean, p50, p99 and count of side B, with those of A
--
-- Examples:
--   $ yore compare fixtures/golden/sched-demo fixtures/golden/sched-demo
--   $ yore compare fixtures/golden/sched-demo --range-a 00:35:20.799..00:35:20.804 --range-b 00:35:20.804..00:35:20.809 --unit 'wake-up to sleep of demo-*'

local analysis = require("yore.analysis")
local baseline = require("yore.baseline")
local basics = require("yore.basics")
local differ = require("yore.differ")
local json = require("yore.json")
local lami = require("yore.lami")
local many = require("yore.many")
local report = require("yore.report")
local side = require("yore.side")
local summary = require("yore.summary")
local units = require("yore.units")

local left_out = 0.005 -- the chance of a wrong cause, over all of them
local most_proposed = 8
local most_saved = 1000 -- units whose time a baseline has
local least_of_run = 100 -- units whose time is split, of each of many runs
local options = { unit = "list", ["range-a"] = "text", ["range-b"] = "text", ["fail-if"] = "list", floor = "text",
	save = "text", baseline = "text", html = "text", ["at-once"] = "text" }

-- ---- the command line ----

-- Calls visit(word, name, value) for each word that is not the value of an option; for an option, `name` is its name without
-- dashes, and `value` the next word if it takes one.
local function each_word(all, visit)
	local i = 1
	while all[i] do
		local name = all[i]:match("^%-%-([%w-]+)$")
		local value = name and (options[name] or analysis.takes_value(name)) and all[i + 1] or nil
		visit(all[i], name, value)
		i = i + (value and 2 or 1)
	end
end

-- Removes the first word that is neither an option nor its value, the path of B; returns it and the other words.
local function take_path(all)
	local rest, path = {}, nil
	each_word(all, function(word, _, value)
		if word:sub(1, 2) ~= "--" and not path then
			path = word
		else
			rest[#rest + 1], rest[#rest + 2] = word, value
		end
	end)
	return path, rest
end

-- Removes --a and --b with the words behind them. Returns {a = list of patterns, b = list}, or nil, and the other words.
local function take_runs(all)
	local rest, patterns, list = {}, {}, nil
	each_word(all, function(word, name, value)
		local of, first = word:match("^%-%-([ab])=(.*)$")
		of = of or (name == "a" or name == "b") and name
		if of then
			list = patterns[of] or {}
			patterns[of], list[#list + 1] = list, first
		elseif list and word:sub(1, 2) ~= "--" then
			list[#list + 1] = word
		else
			list, rest[#rest + 1], rest[#rest + 2] = nil, word, value
		end
	end)
	return next(patterns) and patterns, rest
end

local patterns, words = take_runs(arg)
local path_of_b
if not patterns then
	path_of_b, words = take_path(arg)
end
local a = analysis.open(words, { name = "compare", options = options, own_losses = true, without_range = patterns and true or false })
a.tables = true
local floor = tonumber(a.floor or 3)
if not floor or floor < 0 then
	yore.misuse("--floor: '" .. a.floor .. "' is not a percentage")
end

local scales = { [""] = 1, K = 1 << 10, M = 1 << 20, G = 1 << 30 }
local at_once = side.at_once
if a["at-once"] then
	local number, unit = a["at-once"]:match("^(%d+)([KMG]?)$")
	at_once = number and math.tointeger(tonumber(number)) or 0
	if at_once < 1 or at_once > 1 << 30 then
		yore.misuse("--at-once: '" .. a["at-once"] .. "' is not a number of bytes, with K, M or G behind it")
	end
	at_once = at_once * scales[unit]
end

-- The numbers that a condition reads: NAME(unit) of side B, NAME(A) of side A; A alone is that of the one NAME(unit) there is.
local numbers = { "mean", "p50", "p99", "count", "mean_a", "p50_a", "p99_a", "count_a", "A" }

local function read_condition(text)
	local what, alone = nil, true
	local plain = text:gsub("(%w+)%(A%)", "%1_a"):gsub("(%w+)%(unit%)", function(name)
		what = (what or name) == name and name or "several"
		return name
	end)
	local good, terms = pcall(yore.condition, plain, numbers)
	for _, term in ipairs(good and terms or {}) do
		good = good and not (term.names.A and what == "several")
		for name in pairs(term.names) do
			alone = alone and name ~= "A" and not name:find("_a$")
		end
	end
	if not good or not what then
		yore.misuse("--fail-if: '" .. text .. "': a condition on mean, p50, p99 or count of (unit), compared with A or a number, is "
			.. "expected: 'p99(unit) > 1.1 * A'")
	end
	return { text = text, what = what, terms = terms, alone = alone }
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
		yore.misuse("--" .. option .. ": FROM..TO is expected, not '" .. text .. "'")
	end
	return low ~= "" and low or nil, high ~= "" and high or nil
end

local function open_b()
	if not path_of_b or lami.is_empty then
		if not (lami.is_empty or a["range-a"] and a["range-b"]) then
			yore.misuse("compare: B is missing: yore compare A B, or --range-a FROM..TO and --range-b FROM..TO of one trace")
		end
		return trace
	end
	return basics.given(yore.open(path_of_b, yore.opened()))
end

-- Makes `opened` the global trace, and returns a side of it.
local function new_side(opened, option)
	trace = opened
	local start, stop = analysis.range(range_of(a[option], option, a.begin, a["end"]))
	analysis.tell_losses("compare", option == "range-a" and "A" or "B", start, stop)
	return side.new(at_once, start, stop)
end

local own_trace = trace
local sides, order = {}, {}

-- Calls visit(name, side) for each side with a trace, which is the global one meanwhile; afterwards that is A's again.
local function each_side(visit)
	for _, name in ipairs(order) do
		trace = sides[name].trace
		visit(name, sides[name])
	end
	trace = own_trace
end

local of_one_side = {} -- kinds of units that only A has, or only B

local narrowed = false -- of a large trace only the middle is compared

-- Proposes units: pairs of events that mark units, if there are any, else system calls and wake-ups, of a large trace only those
-- in its middle. visit_all(visit) calls visit(name, side) for all sides with a trace.
local function propose(visit_all)
	local weights, kinds = { a = {}, b = {} }, { a = {}, b = {} }
	local function add(sums, found)
		for spec, weight in pairs(found) do
			sums[spec] = (sums[spec] or 0) + weight
		end
	end
	visit_all(function(name, one)
		local marked = units.marked(one)
		add(weights[name], marked)
		add(kinds[name], units.kinds(one, marked))
	end)
	of_one_side = a.save and {} or units.of_one_side(kinds.a, kinds.b)
	if not next(weights.a) and not next(weights.b) then
		visit_all(function(name, one)
			if one.large then
				narrowed = true
				one:narrow()
				yore.note("compare: of " .. one.path .. " only " .. yore.span(one.stop - one.start) .. " in its middle are compared; "
					.. "with --unit all of it is")
			end
			add(weights[name], units.unmarked(one))
		end)
	end
	return units.propose(weights.a, a.save and weights.a or weights.b, most_proposed)
end

-- The units of a baseline, all or the named ones.
local function of_baseline(one)
	local by_name, list, specs = {}, {}, {}
	for i, known in ipairs(one.units) do
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

local function need_units()
	if #named == 0 then
		a:lack("no trace has system calls, wake-ups or events that nest: name what is to be compared with --unit "
			.. "'EVENT -> EVENT by KEY'; 'yore top B --against A' compares samples, by function or by stack")
	end
end

local function note_what_is_missing(told)
	for _, kind in ipairs(summary.kinds) do
		local of_a, of_b = told.a[kind[1]], told.b[kind[1]]
		if (of_a or false) ~= (of_b or false) then
			yore.note("compare: only " .. (of_a and "A" or "B") .. " tells " .. kind[2] .. ": causes that rest on them are of one side")
		end
	end
end

local function add_causes(found, unit, list)
	for _, cause in ipairs(list) do
		cause.unit, cause.size = unit.unit, math.abs(cause.difference)
		found[#found + 1] = cause
	end
end

-- Below how many nanoseconds a difference is of no interest.
local function least_of(unit)
	return math.max(unit.a.mean or 0, unit.b.mean or 0) * floor / 100
end

local decided, found = 0, {}

-- Says which range does not hold for so many baselines of a side.
local function note_range_of_baselines(name, count)
	local given = a["range-" .. name] and "--range-" .. name or patterns and (a.begin and "--begin" or a["end"] and "--end")
	if given and count > 0 then
		yore.note(string.format("compare: %s does not hold for %d %s of side %s: they are of the range that --save was given",
			given, count, count == 1 and "baseline" or "baselines", name:upper()))
	end
end

-- ---- one run on each side ----

-- Splits the units of a side, of all lists.
local function split(name, one, told)
	local pieces = {}
	for _, unit in ipairs(named) do
		for _, chosen in ipairs(unit.list) do
			pieces[#pieces + 1] = chosen[name]
		end
	end
	for _, window in ipairs(one.windows) do
		summary.split(one, window, pieces, told)
	end
end

-- Matches the groups of both sides and chooses the pairs whose time is split.
local function choose_pairs(unit)
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

local function prepare_pairs(unit)
	local dropped
	unit.list, dropped = differ.known(unit.list)
	if dropped > 0 then
		yore.note(string.format("compare: of %d pairs of '%s' it is not known what the threads did: causes are without them",
			dropped, unit.unit))
	end
	differ.prepare(unit.list)
	decided = decided + differ.causes(unit.list)
end

local function compare_two()
	local told = { a = sides.a.told or {}, b = {} }
	each_side(function(name, one)
		for _, unit in ipairs(named) do
			unit[name] = units.find(one, unit)
			summary.name_parents(one, unit[name].groups)
		end
	end)
	for _, unit in ipairs(named) do
		choose_pairs(unit)
	end
	each_side(function(_, one)
		one:forget()
	end)
	each_side(function(name, one)
		split(name, one, told[name])
	end)
	note_what_is_missing(told)
	for _, unit in ipairs(named) do
		prepare_pairs(unit)
	end
	for _, unit in ipairs(named) do
		add_causes(found, unit, differ.differences(unit.list, left_out / math.max(decided, 1), least_of(unit)))
	end
end

-- ---- several runs on each side ----

-- A text that is equal for all paths of one recording; the file metadata of CTF stands for its folder.
local function identity_of(path)
	local folder = path == "metadata" and "." or path:match("^(.*/)metadata$") or path
	local _, identity = yore.stat(folder)
	return identity or path
end

-- The paths that match the patterns, each recording once; gives a note on duplicates.
local function paths_of(name, list)
	local paths, seen = {}, {}
	for _, pattern in ipairs(list or {}) do
		local some = yore.files(pattern)
		if #some == 0 then
			error("--" .. name .. ": '" .. pattern .. "': there is no such file", 0)
		end
		for _, path in ipairs(some) do
			local identity = identity_of(path)
			local known = seen[identity]
			if not known then
				paths[#paths + 1], seen[identity] = path, path
			elseif known ~= path then
				yore.note("compare: " .. path .. " is the same recording as " .. known .. ": it counts once")
			end
		end
	end
	if #paths == 0 then
		yore.misuse("--" .. name .. ": the runs of side " .. name:upper() .. " are missing: yore compare --a GLOB --b GLOB")
	end
	return paths
end

-- Opens the run's trace as the global one, calls visit(side), and closes it. false and an error text: it cannot be opened, or has
-- nothing in the range. Errors of visit() end the command.
local function with_run(run, option, visit)
	local opened, why = yore.open(run.path, yore.opened())
	if not opened then
		return false, why
	end
	local _ <close> = setmetatable({}, { __close = function()
		trace = own_trace
		opened:close()
		collectgarbage() -- its data is large, which Lua does not know
	end })
	trace = opened
	local start, stop = analysis.range_of(range_of(a[option], option, a.begin, a["end"]))
	if not start then
		return false, stop
	end
	visit(side.new(at_once, start, stop))
	return true
end

-- An error text without "PATH: " at its begin.
local function without_path(path, fault)
	return fault:sub(1, #path + 2) == path .. ": " and fault:sub(#path + 3) or fault
end

-- Calls read(name, run) for each run that is not left out; if it returns false and an error text, leaves the run out with a note.
local function each_run(all, read)
	for _, name in ipairs{ "a", "b" } do
		local left = {}
		for _, run in ipairs(all[name]) do
			local done, why = read(name, run)
			if done then
				left[#left + 1] = run
			else
				yore.note("compare: " .. run.path .. " is left out: " .. without_path(run.path, why))
				all.left_out[name] = all.left_out[name] + 1
			end
		end
		if #left == 0 then
			error("--" .. name .. ": no run of side " .. name:upper() .. " can be read", 0)
		end
		all[name] = left
	end
end

-- Reads the run if it is a baseline, and keeps up to `most` of its units; false and an error text: it cannot be read.
local function read_baseline(run, most)
	if yore.stat(run.path) == "other" then -- it is read several times, which a pipe cannot be
		return false, "it is neither a file nor a folder"
	elseif not baseline.is_one(run.path) then
		return true
	end
	local done, known = pcall(baseline.read, run.path)
	if done then
		run.summary, known.path = known, run.path
		summary.keep(known, named, most)
	elseif without_path(run.path, known) == known then
		error(known, 0) -- an interruption, or no memory: none of the file's
	end
	return done, known
end

-- The units that all baselines among the runs have; nil: there is no baseline.
local function of_baselines(all)
	local list
	for _, name in ipairs{ "a", "b" } do
		for _, run in ipairs(all[name]) do
			if run.summary then
				local has, left = basics.set(run.summary.units, "unit"), {}
				for _, unit in ipairs(list or of_baseline(run.summary)) do
					left[#left + 1] = has[unit.unit] and unit or nil
				end
				list = left
			end
		end
	end
	return list
end

-- Texts of the moments that may be shown, as long as the trace is there.
local function moment_texts(run)
	local texts = {}
	local function add(t)
		if t and not texts[t] then
			texts[t] = trace:text(t)
		end
	end
	for _, unit in ipairs(run.summary.units) do
		for _, group in ipairs(unit.groups) do
			for _, piece in ipairs(group.pieces) do
				add(piece.begin)
				add(piece.move_at)
				for _, part in pairs(piece.parts) do
					add(part.at)
				end
			end
		end
	end
	return texts
end

local function summarise(run, option, most)
	return with_run(run, option, function(one)
		if one.large and narrowed then
			one:narrow()
		end
		run.summary = summary.of(one, named, most)
		run.texts = moment_texts(run)
	end)
end

local function named_by(run)
	for _, unit in ipairs(named) do
		for _, known in ipairs(run.summary.units) do
			if known.unit == unit.unit then
				return true
			end
		end
	end
	return false, "the baseline has none of the units"
end

local function propose_of_runs(all)
	local common = of_baselines(all)
	if common and #common == 0 then
		error("the baselines have no unit in common: name one with --unit, or write them anew with the same --unit", 0)
	end
	return common or propose(function(visit)
		each_run(all, function(name, run)
			return with_run(run, "range-" .. name, function(one) visit(name, one) end)
		end)
	end)
end

local function read_runs()
	local all = { a = {}, b = {}, left_out = { a = 0, b = 0 } }
	for _, name in ipairs{ "a", "b" } do
		for i, path in ipairs(paths_of(name, patterns[name])) do
			all[name][i] = { path = path }
		end
	end
	local most = {}
	for name, runs in pairs{ a = all.a, b = all.b } do
		most[name] = math.max(least_of_run, differ.most_units // #runs)
	end
	each_run(all, function(name, run)
		return read_baseline(run, most[name])
	end)
	for _, name in ipairs{ "a", "b" } do
		local count = 0
		for _, run in ipairs(all[name]) do
			count = count + (run.summary and 1 or 0)
		end
		note_range_of_baselines(name, count)
	end
	if #named == 0 then
		named = propose_of_runs(all)
		need_units()
	end
	each_run(all, function(name, run)
		if run.summary then
			return named_by(run)
		end
		return summarise(run, "range-" .. name, most[name])
	end)
	return all
end

local function compare_many()
	local summaries, told = { a = {}, b = {} }, { a = {}, b = {} }
	for name, list in pairs(summaries) do
		for i, run in ipairs(sides[name]) do
			list[i] = run.summary
			for kind in pairs(run.summary.told) do
				told[name][kind] = true
			end
		end
	end
	note_what_is_missing(told)
	for i, unit in ipairs(named) do
		named[i] = many.unit(unit.unit, summaries)
		decided = decided + select(2, differ.causes_of(named[i].sides))
		if named[i].left_out > 0 then
			yore.note(string.format("compare: of %d units '%s' it is not known what the threads did: causes are without them",
				named[i].left_out, unit.unit))
		end
	end
	for _, unit in ipairs(named) do
		add_causes(found, unit, many.differences(unit, left_out / math.max(decided, 1), least_of(unit)))
	end
	if #sides.a == 1 and #sides.b == 1 then
		yore.note("compare: each side has one run: how runs differ from each other is not known")
	end
end

-- ---- what is asked for ----

local function check_words()
	local alone = a.save and "--save" or a.baseline and "--baseline"
	if patterns and alone then
		yore.misuse(alone .. ": it has no meaning with --a and --b; baselines may stand among their runs")
	elseif patterns and a.format == "lami" then
		yore.misuse("--format: lami has no meaning with --a and --b")
	elseif a.save and (a.baseline or path_of_b) then
		yore.misuse("--save: it writes what one trace has: B and --baseline have no meaning with it")
	elseif a.baseline and path_of_b then
		yore.misuse("--baseline: the file is side A, and the trace side B: there is no third one")
	end
end

check_words()
if patterns then
	sides = read_runs()
elseif a.baseline then
	sides, order = { a = baseline.read(a.baseline), b = new_side(own_trace, "range-b") }, { "b" }
	named = of_baseline(sides.a)
	note_range_of_baselines("a", 1)
elseif a.save then
	sides, order = { a = new_side(own_trace, "range-a") }, { "a" }
else
	local other = open_b()
	sides, order = { a = new_side(own_trace, "range-a"), b = new_side(other, "range-b") }, { "a", "b" }
end
trace = own_trace
if #named == 0 then
	named = propose(each_side)
	need_units()
end
if a.save then
	baseline.write(a.save, summary.of(sides.a, named, most_saved))
	yore.note("compare: " .. a.save .. " is a baseline of " .. #named .. (#named == 1 and " unit" or " units"))
	return
elseif patterns then
	compare_many()
else
	compare_two()
end
table.sort(found, analysis.order("-size", "unit", "cause", "who"))

-- ---- output ----

local function rounded(x)
	return x and math.floor(x + 0.5)
end

-- Of many runs with the path of the run.
local function times_json(list)
	local out = {}
	for i, t in ipairs(list) do
		out[i] = patterns and json.object{ { "path", json.text(t.path) }, { "time", json.value(t.time) } } or tostring(t)
	end
	return json.list(out)
end

local function side_json(one)
	if patterns then
		local list = {}
		for i, run in ipairs(one) do
			list[i] = json.object{ { "path", json.text(run.path) }, { "begin", json.value(run.summary.start) },
				{ "end", json.value(run.summary.stop) } }
		end
		return json.object{ { "runs", json.list(list) } }
	end
	return json.object{ { "path", json.value(one.path) }, { "begin", json.value(one.start) },
		{ "end", json.value(one.stop) } }
end

local function numbers_json(numbers)
	local members = {}
	for i, key in ipairs{ "count", "unmatched", "unknown", "mean", "p50", "p99", patterns and "runs" or nil } do
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
		for _, name in ipairs(cause.runs and { "a", "b" } or {}) do
			members[#members + 1] = { "runs_" .. name, json.value(cause.runs[name].with) }
		end
		all_causes[i] = json.object(members)
	end
	local only = {}
	for i, kind in ipairs(of_one_side) do
		only[i] = json.object{ { "unit", json.text(kind.unit) }, { "a", json.value(kind.count_a) }, { "b", json.value(kind.count_b) } }
	end
	print(json.object{ { "a", side_json(sides.a) }, { "b", side_json(sides.b) }, { "units", json.list(all_units) },
		{ "causes", json.list(all_causes) }, { "of_one_side", json.list(only) } })
end

-- Times as text are those of their own trace.
local as_text = a.format == "table" or a.format == "bars"

local function text_of_run(path, t)
	for _, name in ipairs{ "a", "b" } do
		for _, run in ipairs(sides[name]) do
			if run.path == path then
				return path .. " " .. (run.texts and run.texts[t] or yore.text(t))
			end
		end
	end
end

local function time_cell(one, t)
	if patterns then
		return t and as_text and text_of_run(t.path, t.time) or t and t.path .. " " .. t.time
	end
	return t and as_text and (one.trace or trace):text(t) or t
end

-- In how many of its runs a side has the cause.
local function runs_cell(runs)
	return runs and runs.with .. " of " .. runs.all
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
		columns[#columns + 1] = patterns and { key = "runs_" .. name, kind = "count", head = "runs" .. mark } or nil
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
			at_a = time_cell(sides.a, cause.moments.a[1]), at_b = time_cell(sides.b, cause.moments.b[1]),
			runs_a = cause.runs and runs_cell(cause.runs.a), runs_b = cause.runs and runs_cell(cause.runs.b) }
	end
	a.limit = a.limit or 10
	local kind = not as_text and not patterns and "time" or nil
	a:table("what differs, per unit", analysis.columns({ { key = "cause", head = "cause" }, { key = "who", head = "who" },
		{ key = "difference", head = "B - A", kind = "span", bar = true }, { key = "low", head = "at least", kind = "span" },
		{ key = "high", head = "at most", kind = "span" }, { key = "a", head = "A", kind = "span" },
		{ key = "b", head = "B", kind = "span" } }, patterns and { { key = "runs_a", head = "runs A" },
			{ key = "runs_b", head = "runs B" } } or {}, { { key = "at_a", head = "look at A", kind = kind },
		{ key = "at_b", head = "look at B", kind = kind }, { key = "unit", head = "unit" } }), rows)
end

-- Kinds that only one side has: nothing of the other one can be compared with them.
local function print_of_one_side()
	if #of_one_side == 0 then
		return
	end
	local limit, sort = a.limit, a.sort
	a.limit, a.sort = limit or 10, nil
	a:table("kinds of units that only one side has", { { key = "unit", head = "unit" },
		{ key = "count_a", head = "in A", kind = "count" }, { key = "count_b", head = "in B", kind = "count" } }, of_one_side)
	a.limit, a.sort = limit, sort
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

-- What the runs of a side are: a path and how many more.
local function runs_text(name)
	local list, left_out = sides[name], sides.left_out[name]
	local text = #list .. (#list == 1 and " run: " or " runs: ") .. list[1].path
	if #list > 1 then
		text = text .. (#list > 2 and " ... " or ", ") .. list[#list].path
	end
	return text .. (left_out > 0 and ", " .. left_out .. " left out" or "")
end

local function side_text(name)
	if patterns then
		return runs_text(name)
	end
	local one = sides[name]
	local own = one.trace or trace
	return one.path .. ", " .. own:text(one.start) .. " to " .. own:text(one.stop) .. ", " .. yore.span(one.stop - one.start)
end

local function texts_of(one, times)
	local list = {}
	for i, t in ipairs(times) do
		list[i] = patterns and text_of_run(t.path, t.time) or (one.trace or trace):text(t)
	end
	return list
end

local function draw()
	for _, unit in ipairs(named) do
		unit.totals = patterns and many.totals(unit) or differ.totals(unit.list)
	end
	for _, cause in ipairs(found) do
		cause.at = { a = texts_of(sides.a, cause.moments.a), b = texts_of(sides.b, cause.moments.b) }
	end
	basics.given(yore.save(a.html, report.page{
		title = "What differs between " .. (patterns and runs_text("a") .. " and " .. runs_text("b") or sides.a.path .. " and " .. sides.b.path),
		sides = { { name = "A", text = side_text("a") }, { name = "B", text = side_text("b") } }, units = named,
		of_one_side = of_one_side, causes = found, limit = a.limit or 10, note = nothing_said() }))
end

-- Of many runs the count of one, on average.
local function number_of(numbers, what)
	return what == "count" and numbers.runs and numbers.count / math.max(1, numbers.runs) or numbers[what]
end

local function holds(condition, unit)
	local row = {}
	for _, what in ipairs{ "mean", "p50", "p99", "count" } do
		row[what], row[what .. "_a"] = number_of(unit.b, what), number_of(unit.a, what)
	end
	row.A = row[condition.what .. "_a"]
	if not row.mean or not row.mean_a and not condition.alone then
		error("--fail-if: " .. (row.mean and "A" or "B") .. " has no whole '" .. unit.unit .. "'", 0)
	end
	for _, term in ipairs(condition.terms) do
		if not term.test(row) then
			return false
		end
	end
	return true
end

local function failed()
	local status
	for _, condition in ipairs(conditions) do
		for _, unit in ipairs(named) do
			if holds(condition, unit) then
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
		a:line(name:upper() .. ": " .. side_text(name))
	end
	print_units()
	print_of_one_side()
	print_causes()
	if #found == 0 then
		a:line(nothing_said())
	end
end
return failed()

-- analysis: what all analyses share
--
-- Options of every analysis:
--   --begin TIME        from TIME on
--   --end TIME          and before TIME
--   --where EXPR        only what the condition on columns holds for, in the expressions of the rule language
--   --cpu N...          only of these CPUs; 0-3 is a range
--   --tid N|NAME...     only of these threads
--   --pid N...          only of threads of these processes
--   --comm GLOB...      only of threads of these names
--   --limit N           at most N rows of each table
--   --all --budget N    of a short range of a large trace also what does not change in it; packets of each stream
--                       that are read around it (see rules.md)
--   --sort COLUMN       in the order of a column: numbers falling, texts rising; -COLUMN the other way
--   --format table|csv|json|bars|lami   bars: the table with a bar for each row; lami: for other programs
--   --chunk I/N --partial FILE, then --merge FILE...   of cputop, switches and top: each of N processes counts a part of
--                       the range, and the last command joins them; --slurm N prints a script that does this by Slurm
--   --mi-version --metadata --test-compatibility   the phases of LAMI 1.0, of which the first two need no trace
--
-- Times and lengths are nanoseconds in csv and json.

local basics = require("yore.basics")
local json = require("yore.json")
local lami = require("yore.lami")
local sums = require("yore.sums")
local threads = require("yore.threads")

local analysis = {}
local methods = {}
methods.__index = methods

-- ---- options ----

local common = { begin = true, ["end"] = true, where = true, limit = true, sort = true, format = true,
	["mi-version"] = "flag", metadata = "flag", ["test-compatibility"] = "flag", ["output-progress"] = "flag" }
for name, kind in pairs(threads.options) do
	common[name] = kind
end
local formats = { table = true, csv = true, json = true, bars = true, lami = true }

-- `did you mean "x"?` and a blank if some name is similar to the wanted one, else "".
function analysis.hint(wanted, names)
	local words = yore.nearest(wanted, names)
	return words and words .. " " or ""
end

-- Returns f(...), whose arguments come from the user: an error that it raises is raised again without its place in the
-- script and the lines of an excerpt, and with the name of `option` before it (nil: none). A table has the names of options by
-- the first word of the error, in whose place they stand.
function analysis.asked(option, f, ...)
	local function told(done, ...)
		if not done then
			local why = ...
			local text = tostring(why):gsub("^[^\n:]*:%d+: ", ""):gsub("\n.*", "")
			if type(option) == "table" then
				text = text:gsub("^[%w_]+", option, 1)
			elseif option then
				text = option .. ": " .. text:gsub("^finish_key:", "key behind until:")
			end
			yore.misuse(text, why)
		end
		return ...
	end
	return told(pcall(f, ...))
end

-- Is it an option of all analyses (given without dashes) that takes a value?
function analysis.takes_value(name)
	return common[name] == true or common[name] == "list"
end

local function read_option(self, spec, words, i)
	local name, value = words[i]:match("^%-%-([%w-]+)=(.*)$")
	name = name or words[i]:sub(3)
	local kind = spec.options and spec.options[name] or common[name]
	if not kind then
		local known = basics.keys(common, spec.options or {})
		for k, option in ipairs(known) do
			known[k] = "--" .. option
		end
		yore.misuse(spec.name .. ": unknown option --" .. name .. ": " .. analysis.hint("--" .. name, known)
			.. "'yore help " .. spec.name .. "' lists them")
	end
	if kind == "flag" then
		if value then
			yore.misuse(spec.name .. ": --" .. name .. " takes no value")
		end
		self[name] = true
		return i
	end
	if not value then
		i = i + 1
		value = words[i]
	end
	if not value or value:find("^,*$") then
		yore.misuse(spec.name .. ": --" .. name .. " needs a value")
	end
	if kind == "list" then
		self[name] = self[name] or {}
		table.insert(self[name], value)
	else
		self[name] = value
	end
	return i
end

-- The option as an integer from 0 on; nil: it is not given.
local function number_option(self, name)
	local number = math.tointeger(tonumber(self[name]))
	if self[name] and not (number and number >= 0) then
		yore.misuse("--" .. name .. ": '" .. self[name] .. "' is not a number from 0 on")
	end
	return number
end

-- Returns start and stop of [start, stop) from `from` to `till` (texts, times, or nil: as far as the trace goes), and the times
-- of the first and last event. nil and an error text: the trace has nothing there. Raises an error for a text that is no time.
function analysis.range_of(from, till)
	local first, last = trace:bounds()
	if not first then
		return nil, last
	elseif first > last then
		return nil, "this trace has no event with a time"
	end
	local start = from and (math.type(from) and from or basics.given(trace:time(from))) or first
	local stop = till and (math.type(till) and till or basics.given(trace:time(till))) or last + 1
	if from and till and start >= stop then
		yore.misuse("the range from " .. trace:text(start) .. " to " .. trace:text(stop)
			.. " is empty: it must end after it begins")
	end
	local low, high = math.max(start, first), math.min(stop, last + 1)
	if low >= high then
		local asked = from and till and "from " .. trace:text(start) .. " to " .. trace:text(stop)
			or from and "from " .. trace:text(start) .. " on" or "before " .. trace:text(stop)
		return nil, "nothing was recorded " .. asked .. ": the trace goes from " .. trace:text(first) .. " to "
			.. trace:text(last)
	end
	return low, high, first, last
end

-- The same, but raises an error if the trace has nothing there.
function analysis.range(from, till)
	return basics.given(analysis.range_of(from, till))
end

-- The range that --begin and --end name, else the session's, else all of the trace.
local function read_range(self)
	local first, last
	local start, stop = yore.range()
	self.start, self.stop, first, last = analysis.range(self.begin or start, self["end"] or stop)
	self.length = self.stop - self.start
	self.whole = self.start == first and self.stop == last + 1
end

-- Raises an error for a trace of several hosts, whose CPUs and threads have the same numbers.
local function need_one_host(spec)
	local hosts = trace:info().hosts
	if #hosts > 1 then
		error(spec.name .. ": the trace is of the hosts " .. table.concat(hosts, ", ") .. ", and this analysis is of one: name the "
			.. "folder of one of them ('yore info " .. trace:info().path .. "' lists them)", 0)
	end
end

-- At the end of a recording perf writes the total of lost events. Gives a note if it is more than the sum of all losses in the
-- trace: the rest was lost behind the last event of a CPU, or at unknown times.
local function tell_untold_losses(self)
	local untold = 0
	if #analysis.present{ "perf_lost_samples" } == 0 then
		return
	end
	for ev in trace:events{ name = "perf_lost_samples", stream = "side" } do
		untold = untold + ev.fields.lost
	end
	if untold > 0 then
		for ev in trace:events{ losses = "only" } do
			untold = untold - (math.type(ev.lost) == "integer" and ev.lost or 0)
		end
	end
	if untold > 0 then
		yore.note(self.spec.name .. ": perf counted " .. untold .. " more lost events when the recording ended, and does not tell when they "
			.. "were: what CPUs did behind their last event may be other than it seems")
	end
end

-- Calls visit(t, till, lost) with each loss of the global trace in [start, stop), by time. `lost` is ev.lost, or nil for losses
-- that begin before `start`, which come first.
function analysis.each_loss(start, stop, visit)
	for _, place in ipairs(trace:losses_around(start)) do
		if place.ts < start then
			visit(place.ts, place.till)
		end
	end
	for ev in trace:events{ losses = "only", from = start, to = stop } do
		visit(ev.ts, ev.lost_until, ev.lost)
	end
end

-- Gives a note on how many events the global trace lost from `start` to `stop`; `range` is the text for this range.
function analysis.tell_losses(name, range, start, stop)
	local places, events, uncounted = 0, 0, false
	analysis.each_loss(start, stop, function(_, _, lost)
		places = places + 1
		if math.type(lost) == "integer" then
			events = events + lost
		else
			uncounted = true
		end
	end)
	if places > 0 then
		yore.note(name .. ": " .. (uncounted and "at least " or "") .. events .. " events were lost at " .. places
			.. (places == 1 and " place" or " places") .. " of " .. range .. ", and what they would tell is missing: 'yore gaps "
			.. trace:info().path .. " losses' lists them")
	end
end

-- Raises an error for options without effect on this verb, and gives a note on those without effect on a picture.
local function check_effects(self, spec, given)
	for name, verbs in pairs(spec.verbs_of or {}) do
		if self[name] and not verbs[self.verb] then
			yore.misuse("--" .. name .. ": it is of '" .. spec.name .. " "
				.. table.concat(basics.keys(verbs), "' and '" .. spec.name .. " ") .. "'")
		end
	end
	for _, name in ipairs{ "limit", "sort", "format" } do
		if self.svg and given[name] and not (spec.draws and spec.draws[name]) then
			yore.note(spec.name .. ": --" .. name .. " has no effect on --svg")
		end
	end
	if self["output-progress"] and self.format ~= "lami" then
		yore.note(spec.name .. ": --output-progress has no effect without --format lami")
	end
end

-- Raises an error if --where has a column that the verb's rows lack.
local function check_terms(self, spec)
	local columns = spec.columns_of and spec.columns_of[self.verb]
	for _, term in ipairs(columns and self.terms or {}) do
		local known = basics.set(columns)
		for _, name in ipairs(basics.keys(term.names)) do
			if not known[name] then
				yore.misuse("--" .. (term.option or "where") .. ": '" .. name .. "' has no meaning for '" .. self.verb .. "': there are "
					.. table.concat(columns, ", "))
			end
		end
	end
end

-- The condition of --where, in the expressions of the rule language: {test = function(row), names = {...}} for each part that && joins.
-- `known` has the names of columns; a comparison with one that has no value is unknown, which is not true.
local function parse_where(text, known)
	local good, terms = pcall(yore.condition, text, basics.keys(known))
	if not good then
		yore.misuse("--where: " .. tostring(terms):match("^[^\n]*"):gsub("^condition: ", ""))
	end
	return terms
end

-- Calls use() with the trace at `path` as the global `trace`.
function analysis.with_trace(path, use)
	local before = trace
	trace = basics.given(yore.open(path, yore.opened()))
	use()
	trace = before
end

-- Raises an error if --where has one of these columns, which only rows of two traces have, without --against.
function methods:need_against(columns)
	for _, term in ipairs(self.against and {} or self.terms) do
		for _, name in ipairs(columns) do
			if term.names[name] then
				yore.misuse("--where: '" .. name .. "' has no meaning without --against TRACE")
			end
		end
	end
end

-- Options that only change how sums are shown.
local shows = { limit = true, sort = true, format = true, svg = true }

-- The verb and options as a text for yore.parts(), in the same order however they were given.
local function question_of(self, spec)
	local lines = { spec.name .. (self.verb and " " .. self.verb or "") }
	for _, name in ipairs(basics.keys(common, spec.options or {})) do
		local value = not shows[name] and self[name]
		if value then
			lines[#lines + 1] = "--" .. name .. " " .. (type(value) == "table" and table.concat(value, ",") or tostring(value))
		end
	end
	return table.concat(lines, "\n")
end

-- With --chunk or --merge: the part that is counted, or those that are joined; else nil. Raises an error if the verb is not made
-- of sums.
local function read_parts(self, spec)
	if not yore.parts or not yore.parts() then
		return
	end
	local names = spec.sums
	if names ~= true and not (names and names[self.verb]) then
		yore.misuse("--chunk and --merge: '" .. spec.name .. (self.verb and " " .. self.verb or "") .. "' is not made of sums"
			.. (names and ": " .. table.concat(basics.keys(names), " and ") .. " are" or ", and so cannot be counted in parts"))
	end
	return yore.parts(question_of(self, spec))
end

-- Reads the words of the command line. spec: name; verbs, of which the first is meant without one; tables,
-- the set of verbs that print several tables; options, by name "text", "list" or "flag"; columns that
-- --where may name; columns_of, those of single verbs, where rows do not have all of them; verbs_of, the verbs that an option is
-- for, where it is not for all; draws, the common options that --svg heeds, too; without_range, where there is no global trace; any_host, where threads of several hosts may be meant;
-- own_losses, where the analysis lists them or tells them itself; sums, true or the set of verbs that methods:sums() counts; format, one of its own that is meant without --format, and write(row), which gives
-- a row's line in it; stray, what follows the error of a word that is no verb.
function analysis.open(words, spec)
	local self = setmetatable({ spec = spec }, methods)
	local i, list = 1, nil -- the list of --cpu and the like, if such an option was the last
	while words[i] do
		if words[i]:sub(1, 2) == "--" then
			list = words[i]:match("^%-%-(%l+)")
			i = read_option(self, spec, words, i)
			list = threads.options[list] and self[list]
		else
			local known = basics.set(spec.verbs or {})
			if list and not known[words[i]] then
				list[#list + 1] = words[i]
			elseif self.verb or not known[words[i]] then
				yore.misuse(spec.name .. ": '" .. words[i] .. "' is too much"
					.. (next(known) and ": " .. analysis.hint(words[i], spec.verbs) .. "one of "
					.. table.concat(spec.verbs, ", ") .. " may stand there" or "") .. (spec.stray or ""))
			else
				self.verb = words[i]
			end
		end
		i = i + 1
	end
	self.verb = self.verb or spec.verbs and spec.verbs[1]
	local given = { limit = self.limit, sort = self.sort, format = self.format }
	lami.begin(self)
	self.tables = spec.tables and spec.tables[self.verb]
	self.limit = number_option(self, "limit")
	self.format = self.format or spec.format or "table"
	if not formats[self.format] and self.format ~= spec.format then
		local list = basics.keys(formats, spec.format and { [spec.format] = true } or {})
		local meant = yore.nearest(self.format, list)
		yore.misuse("--format: '" .. self.format .. "' is none of " .. table.concat(list, ", ")
			.. (meant and ": " .. meant or ""))
	end
	local known = basics.set(spec.columns or {})
	if self.where and not next(known) then
		yore.misuse(spec.name .. ": --where has no meaning here")
	end
	self.terms = self.where and parse_where(self.where, known) or {}
	check_terms(self, spec)
	check_effects(self, spec, given)
	self.part = read_parts(self, spec)
	self.leaving = self.where and "--where"
	if not spec.without_range or lami.is_empty then
		read_range(self)
		if not spec.any_host and not lami.is_empty then
			need_one_host(spec)
		end
		local asked = not spec.samples and threads.add_terms(self, known)
		if asked then
			self.leaving = (self.where and "--where " or "") .. asked
			check_terms(self, spec)
		end
		local tells = not lami.is_empty and not (self.part and self.part.chunk)
		if tells then
			tell_untold_losses(self)
		end
		if tells and not spec.own_losses then
			analysis.tell_losses(spec.name, "the range", self.start, self.stop)
		end
	end
	return self
end

-- ---- what the trace has ----

local function bare(name)
	return name:match("([^:]*)$")
end

-- The glob and the condition of GLOB where CONDITION; nil: there is none.
local function event_of(text)
	local at, last = text:find("%s+where%f[%W]%s*")
	return at and text:sub(1, at - 1) or text, at and text:sub(last + 1)
end

-- The condition that events must meet of which each is one of GLOB where CONDITION; nil: none.
function analysis.condition_of(events)
	local terms, any = {}, nil
	for i, text in ipairs(events) do
		local glob, condition = event_of(text)
		any = any or condition
		glob = glob:gsub('[\\"]', "\\%0")
		terms[i] = string.format('(name ~ "%s" || name ~ "*:%s") && (%s)', glob, glob, condition or "true")
	end
	return #terms > 1 and any and table.concat(terms, " || ") or any
end

-- The names of the trace's event classes that one of the globs matches, as a whole or behind the last colon. A glob may have a
-- condition behind it.
function analysis.present(globs)
	if lami.knows_all then
		return globs
	end
	local found, matching = {}, {}
	for i, glob in ipairs(globs) do
		matching[i] = basics.glob((event_of(glob)))
	end
	for _, class in ipairs(trace:info().classes) do
		for _, matches in ipairs(matching) do
			if matches(class.name) or matches(bare(class.name)) then
				found[#found + 1] = class.name
				break
			end
		end
	end
	return found
end

-- The first of the names (...) that is a field of event class events[1]; nil: none is.
function analysis.field_of(events, ...)
	for _, class in ipairs(trace:info().classes) do
		for _, field in ipairs(class.name == events[1] and class.fields or {}) do
			for _, name in ipairs{ ... } do
				if field == name then
					return name
				end
			end
		end
	end
end

-- Advice for missing events: `advice`, or another text if the trace has tracepoints without names, which may be these.
function analysis.advice(advice)
	for _, class in ipairs(trace:info().classes) do
		if class.name == "unknown tracepoint" then
			return "it has tracepoints without names, which may be these events: what perf record writes at the end is missing"
		end
	end
	return advice
end

-- The text `when` and how to record events[1] with LTTng, perf and trace-cmd; one of the others may be LTTng's name for it.
local function how_to_record(events, when)
	local event, call = events[1], events[1]:match("^sys_enter_(.+)")
	local lttng = call and "--syscall " .. call or event
	for _, other in ipairs(events) do
		lttng = other:sub(-#event - 1) == "_" .. event and other or lttng
	end
	return analysis.advice((when or "") .. "record it with lttng enable-event --kernel " .. lttng .. ", perf record -e '*:" .. (call and "sys_*_" .. call or event)
		.. "' or trace-cmd record -e " .. event .. (call and " -e sys_exit_" .. call or ""))
end

-- analysis.hint() with the names of the trace's event classes.
local function like_an_event(wanted)
	local names = {}
	for i, class in ipairs(trace:info().classes) do
		names[i] = class.name
	end
	return analysis.hint(wanted, names)
end

-- The event classes that match the names of an option. Raises an error for a name that matches none.
function methods:need_named(option, events)
	for _, event in ipairs(events) do
		if #analysis.present({ event }) == 0 then
			event = event_of(event)
			error("--" .. option .. ": the trace has no event '" .. event .. "': " .. like_an_event(event)
				.. "'yore info' lists event classes", 0)
		end
	end
	local found = analysis.present(events)
	self.needed = self.needed or {}
	table.insert(self.needed, { found = found })
	return found
end

-- The event classes that match; raises an error if there is none, which says that they are needed for `what`.
function methods:need(events, what)
	local found = analysis.present(events)
	self.needed = self.needed or {}
	table.insert(self.needed, { found = found, events = events })
	if #found == 0 then
		error(self.spec.name .. ": the trace has no " .. table.concat(events, " or ") .. ", which tells " .. what
			.. ": " .. how_to_record(events), 0)
	end
	return found
end

-- Raises an error on what the trace lacks, unless it is the empty trace for LAMI's metadata.
function methods:lack(text)
	if not lami.is_empty then
		error(self.spec.name .. ": " .. text, 0)
	end
end

-- For a table without rows: gives a note if the trace describes the needed events, but has none in the range.
local function tell_unrecorded(self)
	local needed = not lami.is_empty and self.needed or {}
	self.needed = nil
	for _, one in ipairs(needed) do
		if #trace:count_by{ name = one.found, from = self.start, to = self.stop, by = { "name" } } == 0 then
			yore.note(self.spec.name .. ": the trace describes " .. table.concat(one.found, " and ") .. ", and none was recorded"
				.. (self.whole and (one.events and ": " .. how_to_record(one.events, "if it was not enabled, ") or "") or " in this range"))
			return
		end
	end
end

-- Says what is missing when the trace has none of the events.
function methods:want(events, what)
	local found = analysis.present(events)
	if #found == 0 then
		yore.note(self.spec.name .. ": without " .. table.concat(events, " or ") .. " " .. what
			.. "; " .. how_to_record(events))
		return nil
	end
	return found
end

-- CPUs of which the trace has a stream, and the keys of other rows, rising.
function analysis.cpus(rows)
	local found, cpus = {}, {}
	local function add(cpu)
		if cpu and not found[cpu] then
			found[cpu] = true
			cpus[#cpus + 1] = cpu
		end
	end
	for _, stream in ipairs(trace:info().streams or {}) do
		add(stream.cpu)
	end
	for _, row in ipairs(rows) do
		add(row.key)
	end
	table.sort(cpus)
	return cpus
end

-- Returns the CPUs whose thread is unknown for some time of the range, the sum of these times, and the number of CPUs.
local function unknown_runs(self)
	local known, unknown, time = {}, {}, 0
	for _, group in ipairs(self.known_runs) do
		known[group.key] = (known[group.key] or 0) + group.total
	end
	local cpus = analysis.cpus(self.known_runs)
	for _, cpu in ipairs(cpus) do
		local missing = self.length - (known[cpu] or 0)
		time = time + missing
		unknown[#unknown + 1] = missing > 0 and cpu or nil
	end
	return unknown, time, #cpus
end

-- Gives a note, once, why a table is empty that needs to know which threads ran.
local function tell_empty(self)
	local cpus = self.known_runs and not self.told_empty and unknown_runs(self) or {}
	if #cpus > 0 then
		self.told_empty = true
		yore.note(self.spec.name .. ": for a part of the range it is not known who runs on CPU " .. table.concat(cpus, ", ")
			.. ", so threads may have run unseen: 'yore gaps " .. trace:info().path .. " unknown' lists when")
	end
end

-- ---- names of threads ----

-- Reads segments of paths, {path=, value=, whole=, groups=, totals=}, over the range in one pass, and returns a collection or a
-- list of groups for each. The same pass reads cpu[*]/thread, for head(), and over a whole trace without timelines also names
-- of threads, for names().
function methods:segments(...)
	local paths, runs = { ... }, nil
	for i, path in ipairs(paths) do
		runs = path.path == "cpu[*]/thread" and i or runs
	end
	local count = #paths
	if not runs then
		paths[count + 1] = { path = "cpu[*]/thread", optional = true, totals = true }
	end
	local found = { self:segments_over(self.start, self.stop, table.unpack(paths)) }
	if not runs then
		self.known_runs = found[count + 1]
	elseif not paths[runs].groups and not paths[runs].totals then
		self.known_runs = found[runs]:groups{ by = { "key" } }
	end
	return table.unpack(found, 1, count)
end

-- The same from `from` to `to` instead of the range, without cpu[*]/thread; names are read along if that is all of the trace.
function methods:segments_over(from, to, ...)
	local paths = { from = from, to = to, ... }
	local along = self.whole and from <= self.start and to == self.stop and not trace:timelines()
	if along then
		paths[#paths + 1] = { path = "thread[*]/name", optional = true }
	end
	local found = { trace:segments(paths) }
	self.told = along and found[#paths]
	return table.unpack(found, 1, along and #paths - 1 or #paths)
end

-- If the range is the whole trace, reads all names of threads, for an analysis that needs many names at different moments.
function methods:read_names()
	if self.whole then
		self.told = trace:segments{ path = "thread[*]/name", optional = true, from = self.start, to = self.stop }
	end
end

-- For more threads than this, one pass over the range reads their names, unless there are timelines: otherwise each thread that
-- ended, and each reused id, needs a query of its own. Names that no event of the range has are looked up afterwards.
local THREADS_ASKED = 1000

-- Returns names by tid, for a list of tids, at the end of the range.
function methods:names(list)
	local last = {}
	for _, tid in ipairs(list) do
		last[tid] = self.stop
	end
	return self:names_at(last)
end

-- Returns names by tid, for a table {[tid] = last time}, by one query at the end of the range. If a name is newer than the
-- thread's last time, the id may have been reused, and the name is looked up again at that time, or just before it, since the
-- event that ends a thread's run may set its name.
function methods:names_at(times)
	local tids, last = {}, {}
	for tid, time in pairs(times) do
		if math.type(tid) == "integer" then
			tids[#tids + 1], last[tid] = tid, time
		end
	end
	if not self.told and #tids > THREADS_ASKED and not trace:timelines() then
		self.told = trace:segments{ path = "thread[*]/name", optional = true, from = self.start, to = self.stop }
	end
	if self.told then
		return self:names_told(last)
	end
	local names, told = basics.given(trace:comm(tids, self.stop))
	for tid, since in pairs(told) do
		if since > last[tid] then
			names[tid] = trace:comm(tid, last[tid]) or names[tid]
		end
	end
	names[0] = names[0] or "swapper"
	return names
end

-- A name as trace:comm() returns it: nil if it is empty, control characters replaced.
local function shown_name(value)
	if type(value) == "string" and value ~= "" then
		return (value:gsub("%c", "?"))
	end
end

-- Like names(), from self.told, the names that segments() or read_names() read. As in trace:comm(), names that damaged packets
-- have after the end of the recording are ignored.
function methods:names_told(last)
	local names, untold = {}, {}
	local stop = math.min(self.stop, select(2, trace:recorded()))
	for tid, time in pairs(last) do
		time = math.min(time, stop)
		local told = self.told:find(tid, stop)
		if told and told.begin > time then
			told = self.told:find(tid, time) or self.told:find(tid, time - 1) or told
		end
		names[tid] = told and shown_name(told.value)
		untold[#untold + 1] = not told and tid or nil
	end
	if not self.whole and #untold > 0 and #untold <= THREADS_ASKED then
		for tid, name in pairs(trace:comm(untold, stop) or {}) do
			names[tid] = name
		end
	end
	names[0] = trace:comm(0, stop) or "swapper"
	return names
end

-- Sets row.comm of each row to the name of thread row.tid. last_time(row): the last moment at which the row shows the thread.
function methods:name_threads(rows, last_time)
	local last = {}
	for _, row in ipairs(rows) do
		if row.tid then
			local time = last_time(row)
			last[row.tid] = math.max(last[row.tid] or time, time)
		end
	end
	local names = self:names_at(last)
	for _, row in ipairs(rows) do
		row.comm = names[row.tid]
	end
end

-- ---- sums ----

-- The rows of collect(from, to) for the range; shape: which columns are keys and which add up, see sums.lua. nil: with --chunk,
-- this process has counted its part, and there is nothing to show.
function methods:sums(shape, collect)
	local part = self.part
	if not part then
		return collect(self.start, self.stop)
	elseif not part.chunk then
		return sums.join(shape, self, part)
	end
	local from, to = sums.window(self, part.chunk, part.of)
	yore.save_part(sums.text(shape, from, to, from < to and collect(from, to) or {}))
end

-- ---- conditions ----

local limits = { ["end"] = true, begin = true, dur = true }

-- Returns the segments for which --where holds. columns: for each column of --where, the column of the segments, or
-- {column, function of its value}.
function methods:filter(segments, columns)
	for _, term in ipairs(self.terms) do
		local names, single, same = {}, nil, true
		for name in pairs(term.names) do
			local column = columns[name] or yore.misuse("--where: '" .. name .. "' has no meaning for '"
				.. tostring(self.verb) .. "'")
			column = type(column) == "table" and column or { column }
			names[name] = column
			same = same and (single == nil or single == column[1]) and not limits[column[1]]
			single = column[1]
		end
		local row = {}
		local function test(value_of)
			for name, column in pairs(names) do
				local value = value_of(column[1])
				row[name] = column[2] and value ~= nil and column[2](value) or not column[2] and value or nil
			end
			return term.test(row)
		end
		if same and single then
			segments = segments:select{ [single] = function(value)
				return test(function() return value end)
			end }
		else
			segments = segments:select{ row = function(r)
				return test(function(column) return r[column] end)
			end }
		end
	end
	return segments
end

-- Can --where hold for rows with this value of the column? Only terms that read no other column are tested.
function methods:leaves(column, value)
	for _, term in ipairs(self.terms) do
		if term.names[column] and not next(term.names, next(term.names)) and not term.test{ [column] = value } then
			return false
		end
	end
	return true
end

-- Returns the rows (tables) for which --where holds.
function methods:filter_rows(rows)
	if #self.terms == 0 then
		return rows
	end
	local kept = {}
	for _, row in ipairs(rows) do
		local pass = true
		for _, term in ipairs(self.terms) do
			pass = pass and term.test(row)
		end
		kept[#kept + 1] = pass and row or nil
	end
	return kept
end

-- ---- columns and rows that many tables have ----

-- The columns of several lists, one after the other.
function analysis.columns(...)
	local columns = {}
	for _, list in ipairs{ ... } do
		table.move(list, 1, #list, #columns + 1, columns)
	end
	return columns
end

-- The columns of a thread.
function analysis.thread_columns()
	return { { key = "tid", head = "TID", kind = "count" }, { key = "comm", head = "name" } }
end

local statistics = {
	total = { head = "in all", kind = "span" }, min = { head = "shortest", kind = "span" },
	mean = { head = "average", kind = "span" }, p50 = { head = "p50", kind = "span" },
	p99 = { head = "p99", kind = "span" }, max = { head = "longest", kind = "span" },
	max_begin = { head = "which began", kind = "time" },
}

-- Columns for lengths in groups of segments:groups(): the count, with the head `count`, and those of a list of keys ("total",
-- "max", ...). `bar` is the key of the column that --format bars shows.
function analysis.statistics(count, keys, bar)
	local columns = { { key = "count", head = count, kind = "count" } }
	for i, key in ipairs(keys) do
		columns[i + 1] = { key = key, head = statistics[key].head, kind = statistics[key].kind, bar = key == bar }
	end
	return columns
end

local function before(a, b)
	if type(a) == type(b) then
		return a < b
	end
	return tostring(a) < tostring(b)
end

-- Returns a comparison for table.sort: by the first key, then by the second, and so on; "-KEY" is falling. Rows without a value
-- come last.
function analysis.order(...)
	local names, falls = {}, {}
	for i, key in ipairs{ ... } do
		names[i], falls[i] = key:match("^-?(.*)$"), key:sub(1, 1) == "-"
	end
	return function(x, y)
		for i = 1, #names do
			local a, b = x[names[i]], y[names[i]]
			if a ~= b then
				if a == nil or b == nil then
					return b == nil
				elseif falls[i] then
					return before(b, a)
				end
				return before(a, b)
			end
		end
		return false
	end
end

-- Puts rows that are sorted by one column, whose values have the same places afterwards, into the order.
local function sort_equals(rows, column, order)
	local first = 1
	for i = 2, #rows + 1 do
		if not rows[i] or rows[i][column] ~= rows[first][column] then
			if i - first > 1 then
				local equals = table.move(rows, first, i - 1, 1, {})
				table.sort(equals, order)
				table.move(equals, 1, #equals, first, rows)
			end
			first = i
		end
	end
end

-- One list of the rows of lists that are each in the order.
local function merge(lists, order)
	local rows, places = {}, {}
	repeat
		local from
		for i = 1, #lists do
			local row = lists[i][places[i] or 1]
			if row and (not from or order(row, lists[from][places[from] or 1])) then
				from = i
			end
		end
		if from then
			rows[#rows + 1], places[from] = lists[from][places[from] or 1], (places[from] or 1) + 1
		end
	until not from
	return rows
end

-- Returns rows of collections ({segments =, ...}), and how many rows there are in all. The verb `top` has the longest segments
-- (10 without --limit), any other verb all in order of time; with --limit and without --sort, only the first rows are made.
-- fill(row, collection) completes each row.
function methods:listed(collections, fill)
	local top, lists, all = self.verb == "top", {}, 0
	local most = top and (self.limit or 10) or not self.sort and self.limit or nil
	for i, collection in ipairs(collections) do
		all = all + #collection.segments
		lists[i] = collection.segments:sorted(top and "-dur" or "begin", most)
		for _, row in ipairs(fill and lists[i] or {}) do
			fill(row, collection)
		end
	end
	local rows = lists[1] or {}
	if #lists > 1 then
		local order = analysis.order(table.unpack(top and { "-dur", "begin", "key", "kind" } or { "begin", "key", "kind" }))
		for _, list in ipairs(lists) do
			sort_equals(list, top and "dur" or "begin", order)
		end
		rows = merge(lists, order)
	end
	if top then
		all = math.min(most, all)
	end
	return most and table.move(rows, 1, math.min(most, #rows), 1, {}) or rows, all
end

-- Prints rows of listed(), with begin, end and length before the given columns. what: their name, in the
-- plural.
function methods:listing(what, columns, rows, all)
	self:table(self.verb == "top" and "longest " .. what or what, analysis.columns({
		{ key = "begin", head = "from", kind = "time" }, { key = "end", head = "until", kind = "time" },
		{ key = "dur", head = "length", kind = "span", bar = true } }, columns), rows, all)
end

-- ---- output ----

local function is_left(column)
	return column.kind == "text" or column.kind == nil
end

-- The number of the column that bars show: the one that rows are sorted by, else the first that is marked; nil: none.
local function bar_column(self, columns)
	local marked
	for c, column in ipairs(columns) do
		if self.sorted_by == column.key and not is_left(column) then
			return c
		end
		marked = marked or column.bar and c
	end
	return marked
end

-- The column of --sort; nil: this table lacks it, but another table of the analysis may have it.
local function find_sort(self, columns)
	local name = self.sort:match("^[+-]?(.*)$")
	self.sort_keys = self.sort_keys or {}
	for _, column in ipairs(columns) do
		if column.key == name then
			self.sort_known = true
			return column, self.sort:sub(1, 1) == "-"
		end
		self.sort_keys[column.key] = true
	end
	local function complain()
		local list = {}
		for _, column in ipairs(columns) do
			list[#list + 1] = column.key
		end
		list = self.tables and basics.keys(self.sort_keys) or list
		yore.misuse("--sort: there is no column '" .. name .. "': " .. analysis.hint(name, list) .. "there are "
			.. table.concat(list, ", "))
	end
	if not self.tables or self.format == "lami" then
		complain()
	end
	yore.at_end(function(message)
		if not message and not self.sort_known then
			complain()
		end
	end)
end

local function sort_rows(self, columns, rows)
	if not self.sort or self.sort_done then
		return
	end
	local column, turned = find_sort(self, columns)
	if not column then
		return
	end
	local rising = is_left(column) ~= turned
	local key, place = column.key, {}
	for i, row in ipairs(rows) do
		place[row] = i
	end
	table.sort(rows, function(a, b)
		if a[key] == b[key] then
			return place[a] < place[b]
		elseif a[key] == nil or b[key] == nil then
			return b[key] == nil
		elseif rising then
			return before(a[key], b[key])
		end
		return before(b[key], a[key])
	end)
	self.sorted_by = key
end

-- Sorts a part of a table's rows by `order`, a comparison, and then by --sort, which is not applied to the whole table then.
function methods:sort_list(columns, rows, order)
	self.sort_done = false
	table.sort(rows, order)
	sort_rows(self, columns, rows)
	self.sort_done = true
end

-- Sets the global `_`, for the prompt, to the rows; with several tables, to {[title] = rows}.
local function keep_last(self, title, rows)
	if self.tables then
		self.last = self.last or {}
		self.last[title] = rows
	end
	_G._ = self.last or rows
end

-- Prints rows. columns: {key=, head=, kind=, bar=, indent=}, the last one a column that tells how far a table indents the text; kinds: text (as it is, left), count, span, exact,
-- time, percent, float, hex, size (bytes). Raw values in csv and json. The title stands above a table, and is the column
-- "table" of csv and json where an analysis prints several tables. `all` is how many rows there are, where only
-- the first of them are given.
function methods:table(title, columns, rows, all)
	sort_rows(self, columns, rows)
	keep_last(self, title, rows)
	all = all or #rows
	if all == 0 and not self.leaving then
		tell_unrecorded(self)
		if self.format ~= "lami" then
			tell_empty(self)
		end
	end
	if self.limit and all > self.limit then
		rows = table.move(rows, 1, self.limit, 1, {})
	end
	if self.format == "lami" then
		lami.table(self, title, columns, rows)
		return
	elseif self.format == self.spec.format then
		for _, row in ipairs(rows) do
			print(self.spec.write(row))
		end
		return
	elseif self.format == "csv" then
		local heads = { self.tables and "table" or nil }
		for _, column in ipairs(columns) do
			heads[#heads + 1] = column.key
		end
		local head = table.concat(heads, ",")
		if head ~= self.csv_head then
			print(head) -- once for tables of the same columns
			self.csv_head = head
		end
	elseif self.format ~= "json" then
		if self.printed then
			print()
		end
		self.printed = true
		if title then
			print(title)
		end
		if all == 0 then
			print("nothing" .. (self.leaving and " that " .. self.leaving .. " leaves" or ""))
			return
		end
	end
	local is_raw = self.format == "csv" or self.format == "json"
	yore.write_rows{ format = is_raw and self.format or "table", columns = columns, rows = rows,
		title = is_raw and self.tables and title or nil, bar = self.format == "bars" and bar_column(self, columns) or nil }
	if not is_raw and #rows < all then
		print("and " .. all - #rows .. " more")
	end
end

-- Prints a line of text, unless the format is csv or json.
function methods:line(text)
	if self.format == "table" or self.format == "bars" then
		print(text)
		self.printed = true
	end
end

-- Prints the range as the first line, and for how long the threads of CPUs are unknown.
function methods:head()
	self:line("range " .. trace:text(self.start) .. " to " .. trace:text(self.stop) .. ", "
		.. yore.span(self.length))
	if self.known_runs then
		local _, time, cpus = unknown_runs(self)
		if time > 0 then
			self:line(string.format("unknown who ran: %s of %s (%.2f %%)", yore.span(time),
				yore.span(self.length * cpus), time * 100 / (self.length * cpus)))
		end
	end
end

-- Buckets of powers of two, as segments:hist() gives them.
function methods:histogram(title, buckets)
	local rows, total, sum = {}, 0, 0
	for _, bucket in ipairs(buckets) do
		total = total + bucket.count
	end
	for _, bucket in ipairs(buckets) do
		sum = sum + bucket.count
		rows[#rows + 1] = { low = bucket.low, high = bucket.high, count = bucket.count,
			percent = bucket.count * 100 / total, cumulated = sum * 100 / total }
	end
	if self.format == "table" then
		self.format = "bars"
	end
	self:table(title, {
		{ key = "low", head = "from", kind = "exact" }, { key = "high", head = "below", kind = "exact" },
		{ key = "count", head = "count", kind = "count", bar = true },
		{ key = "percent", head = "%", kind = "percent" },
		{ key = "cumulated", head = "cumulated %", kind = "percent" },
	}, rows)
end

-- Raises an error if --svg has nothing to draw: `count` of `what` is 0.
function methods:need_drawn(count, what)
	if count == 0 then
		error(self.spec.name .. ": there is nothing to draw: no " .. what
			.. (self.leaving and " that " .. self.leaving .. " leaves" or ""), 0)
	end
end

-- With --svg FILE, draws a list of collections of segments: for the verb freq a histogram of their lengths, else a heat map over
-- time. True: a picture was written, and nothing is to be printed.
function methods:draw(collections, what)
	if not self.svg then
		return false
	end
	local draw, all = require("yore.draw"), collections[1]
	for i = 2, #collections do
		all:append(collections[i])
	end
	self:need_drawn(#all, what)
	-- 1,000 rows at a time: the picture only needs counts
	local function each(visit)
		for first = 1, #all, 1000 do
			for _, row in ipairs(all:rows(first, first + 999)) do
				visit(row)
			end
		end
	end
	local title, text = self.spec.name .. " of " .. trace:info().path .. ": " .. what, nil
	if self.verb == "freq" then
		text = draw.histogram{ title = title, what = what, summary = all:groups{ by = {}, percentiles = { 50, 99 } }[1],
			values = function(add)
				each(function(row) add(row.dur) end)
			end }
	else
		text = draw.heatmap{ from = self.start, to = self.stop, title = title, what = what,
			time = function(t) return trace:text(t) end,
			points = function(add)
				each(function(row) add(row.begin, row.dur) end)
			end }
	end
	return basics.given(yore.save(self.svg, text))
end

-- Draws or prints collections, see listed(); `what`: their name in the plural. by_verb[verb] is called for verbs with output of
-- their own. `freq` prints a histogram for each collection, titled by its `kind`; all other verbs print listing().
function methods:show(what, collections, columns, fill, by_verb)
	local drawn = {}
	for i, of in ipairs(collections) do
		drawn[i] = of.segments
	end
	if self:draw(drawn, what) then
		return
	end
	self:head()
	if by_verb[self.verb] then
		by_verb[self.verb]()
	elseif self.verb == "freq" then
		for _, of in ipairs(collections) do
			self:histogram(of.kind or what, of.segments:hist())
		end
	else
		self:listing(what, columns, self:listed(collections, fill))
	end
end

-- Reasons of segments:left() in the order of the note, and their texts.
local left_out = {
	{ "lost", "%d lasted while events were lost" },
	{ "unrecorded", "%d lasted while a CPU was not recorded" },
	{ "switch", "%d lasted while a switch is missing, and their events do not name the thread (see 'yore check')" },
	{ "thread", "%d are of an unknown thread: their events do not name it, and it is not known who ran" },
	{ "key", "%d have no key" },
	{ "other", "%d are followed by the end of another one" },
	{ "open", "%d have no end of their own in the range" },
}

local much_left = 0.05 -- the note lists names of which more than this share is left out

-- " (read 20 of 30, ...)": the three names with most pairs left out; column and name_of: see tell_pairs().
local function most_left(segments, by, column, name_of)
	local rows = {}
	for _, row in ipairs(segments:groups{ by = { column } }) do
		local value = row[column]
		rows[#rows + 1] = value and by[value] and { value = value, left = by[value], all = by[value] + row.count } or nil
		by[value or false] = nil
	end
	for value, left in pairs(by) do
		rows[#rows + 1] = { value = value, left = left, all = left }
	end
	table.sort(rows, analysis.order("-left", "value"))
	local list = {}
	for _, row in ipairs(rows) do
		if #list < 3 and row.left > much_left * row.all then
			list[#list + 1] = string.format("%s %d of %d", name_of(row.value), row.left, row.all)
		end
	end
	return #list > 0 and " (" .. table.concat(list, ", ") .. ")" or ""
end

-- The begin of a note that counts pairs left out. It counts those of all threads, without --tid and the like, because the
-- thread of some is unknown.
function methods:counting()
	return self.spec.name .. ": " .. (self.leaving and "counted without " .. self.leaving .. ", " or "")
end

-- Gives one note on how many pairs are left out, and why. `column`: the column of the option left_by, or of the names of begins,
-- and name_of(value) its text; without them the note has no names.
function methods:tell_pairs(segments, what, column, name_of)
	local left, reasons, all = segments:left(), {}, 0
	for _, reason in ipairs(left_out) do
		local count = left[reason[1]]
		all = all + count
		reasons[#reasons + 1] = count > 0 and string.format(reason[2], count) or nil
	end
	local unbegun = segments.unbegun > 0 and segments.unbegun .. " ends have no begin of their own in it" or nil
	if all > 0 then
		yore.note(string.format("%s%d of %d %s are left out%s: %s%s", self:counting(), all, all + #segments, what,
			column and most_left(segments, left.by, column, name_of) or "", table.concat(reasons, "; "),
			unbegun and "; " .. unbegun or ""))
	elseif unbegun then
		yore.note(self:counting() .. what .. ": " .. unbegun)
	end
end

return analysis

-- periods: stretches between events of one's own choice
--
-- [stats|top|log|freq]
--
--   --from EVENT     events that begin a period (repeatable): GLOB, or GLOB where CONDITION
--   --until EVENT    events that end it (repeatable)
--   --key KEY        which belong together: a column, a | b the first that the event has, a + b both; without it
--                    those of one stream, which mostly is a CPU or a thread
--   --until-key KEY  the same of the events that end it, where it is another one
--   --field NAME=begin:COLUMN or NAME=end:COLUMN   a column of the table (repeatable)
--   --by NAME        one row for each value of a field, in `stats` (repeatable)
--   --nested         an end belongs to the last begin that is open, not to the only one
--
-- A column is an expression as in --where of events: cpu, stream, name, a field, fd & 0xff, the state such as cpu[cpu]/thread,
-- that of the thread of an event of ovni: thread[section/tid]/nosv/type. Beside | and + one with operators stands in brackets.
--
-- --svg FILE draws the periods: a histogram with `freq`, else a heat map over time.
--
-- Columns of --where: key, dur, begin, and the fields.
--
-- Examples:
--   $ yore periods fixtures/golden/sched-demo --from sched_waking --until sched_wakeup --key payload/pid
--   $ yore periods fixtures/golden/sched-demo top --from sched_switch --until sched_switch --key payload/prev_pid --until-key payload/next_pid --limit 3
--   $ yore periods fixtures/golden/sched-demo --from 'sched_switch where prev_state == 1' --until sched_wakeup --key 'thread[prev_pid]/name' --until-key comm

local analysis = require("yore.analysis")

local function fields_of(words)
	local fields, names = {}, { "key", "dur", "begin" }
	for i, word in ipairs(words) do
		local text = word == "--field" and words[i + 1] or word:match("^%-%-field=(.*)$")
		if text then
			local name, at, field = text:match("^([%w_]+)=(%a+):(.+)$")
			if at ~= "begin" and at ~= "end" then
				yore.misuse("--field: NAME=begin:FIELD or NAME=end:FIELD is expected, not '" .. text .. "'")
			end
			fields[name] = at .. " " .. field
			names[#names + 1] = name
		end
	end
	return fields, names
end

local fields, columns = fields_of(arg)
local a = analysis.open(arg, {
	any_host = true,
	name = "periods", verbs = { "stats", "top", "log", "freq" }, columns = columns,
	options = { from = "list", ["until"] = "list", key = "text", ["until-key"] = "text", field = "list", by = "list",
		nested = "flag", svg = "text" },
	verbs_of = { by = { stats = true } },
})
for _, name in ipairs{ "from", "until" } do
	if not a[name] then
		yore.misuse("periods: --" .. name .. " is missing: 'yore help periods' says what it is")
	end
end
for i, name in ipairs(a.by or {}) do
	if not fields[name] and name ~= "key" then
		yore.misuse("--by: there is no field '" .. name .. "': " .. analysis.hint(name, columns)
			.. "--field " .. name .. "=begin:FIELD makes one")
	end
end

local events = { begin = a:need_named("from", a.from), ["end"] = a:need_named("until", a["until"]) }
-- Raises an error for a field that no such event has; of alternatives one must exist.
for name, field in pairs(fields) do
	local at, column = field:match("^(%a+) (.+)$")
	local good, why = pcall(trace.segments, trace, { at = events[at], key = column, from = a.start, to = a.start })
	if not good then
		yore.misuse("--field " .. name .. ": " .. why:gsub("^key: ", ""):gsub("\n.*", ""), why)
	end
end

local periods = analysis.asked({ key = "--key", finish_key = "--until-key" }, trace.segments, trace, { begin = events.begin,
	begin_where = analysis.condition_of(a.from), finish = events["end"], finish_where = analysis.condition_of(a["until"]),
	key = a.key or "stream", finish_key = a["until-key"], fields = fields, nested = a.nested, from = a.start, to = a.stop })
a:tell_pairs(periods, "periods")
local where = { key = "key", dur = "dur", begin = "begin" }
for name in pairs(fields) do
	where[name] = name
end
periods = a:filter(periods, where)

local captured = {}
for i = 4, #columns do
	captured[#captured + 1] = { key = columns[i], head = columns[i], kind = "text" }
end

a:show("periods", { { segments = periods } }, analysis.columns({ { key = "key", head = "key", kind = "text" } }, captured), nil, { stats = function()
	local by, shown = a.by or { "key" }, {}
	for i, name in ipairs(by) do
		shown[i] = { key = name, head = name, kind = "text" }
	end
	local rows = periods:groups{ by = by, percentiles = { 50, 99 } }
	table.sort(rows, analysis.order("-total", "max_begin"))
	a:table("periods", analysis.columns(shown, analysis.statistics("periods",
		{ "total", "min", "mean", "p50", "p99", "max", "max_begin" }, "total")), rows)
end })

-- periods: stretches between events of one's own choice
--
-- [stats|top|log|freq]
--
--   --from GLOB      events that begin a period (repeatable)
--   --until GLOB     events that end it (repeatable)
--   --key COLUMNS    which belong together: a column of the event, a | b the first that it has, a + b both; without it
--                    those of one stream, which mostly is a CPU or a thread
--   --until-key COLUMNS   the same of the events that end it, where it is another column
--   --field NAME=begin:FIELD or NAME=end:FIELD   a column of the table (repeatable)
--   --by NAME        one row for each value of a field, in `stats` (repeatable)
--   --nested         an end belongs to the last begin that is open, not to the only one
--
-- A column is cpu, stream, name, a field of the event, or an expression of the state such as cpu[cpu]/thread,
-- or of the thread of an event of ovni: thread[section/tid]/nosv/type.
--
-- --svg FILE draws the periods: a histogram with `freq`, else a heat map over time.
--
-- Columns of --where: key, dur, begin, and the fields.
--
-- Examples:
--   $ yore periods fixtures/golden/sched-demo --from sched_waking --until sched_wakeup --key payload/pid
--   $ yore periods fixtures/golden/sched-demo top --from sched_switch --until sched_switch --key payload/prev_pid --until-key payload/next_pid --limit 3

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

-- Raises an error for a field that no event has; of alternatives one must exist.
for name, field in pairs(fields) do
	local has, why
	for column in field:gsub("^%a+ ", ""):gmatch("[^|]+") do
		local found, message = pcall(trace.count_by, trace, { by = { column:match("^%s*(.-)%s*$") }, from = a.start, to = a.start })
		has, why = has or found, why or message
	end
	if not has then
		error("--field " .. name .. ": " .. why:gsub("^by: ", ""), 0)
	end
end

local periods = analysis.asked(nil, trace.segments, trace, { begin = a:need_named("from", a.from), finish = a:need_named("until", a["until"]),
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

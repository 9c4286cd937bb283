-- lami: results for other programs, by version 1.0 of the LTTng analyses machine interface (github.com/lttng/lami-spec)
--
-- A consumer, such as Trace Compass, runs one command several times: with --mi-version, with --metadata (both without a
-- trace), with --test-compatibility TRACE, and with TRACE alone for the results. The layout of tables does not depend on the trace:
-- the metadata are the tables that the analysis makes of an empty trace, to which all events are known. The test of a
-- trace is a run over its event classes without an event.

local basics = require("yore.basics")
local json = require("yore.json")

local lami = {}

-- ---- an empty trace ----

local segments = setmetatable({ lost = 0, unbegun = 0, unfinished = 0 }, { __len = function() return 0 end })
for _, name in ipairs{ "select", "join", "rekey", "append", "between" } do
	segments[name] = function() return segments end
end
for _, name in ipairs{ "groups", "rows", "sorted", "hist", "distinct" } do
	segments[name] = function() return {} end
end
function segments.find() return nil end
function segments.left() return { lost = 0, unrecorded = 0, switch = 0, thread = 0, key = 0, other = 0, open = 0, by = {} } end
function segments.look() return nil end

-- Of the range and the event classes of `real`, if there is one.
local function empty_trace(real)
	local empty = {}
	function empty:info() return real and real:info() or { classes = {} } end
	for _, name in ipairs{ "bounds", "recorded", "time" } do
		empty[name] = function(_, ...)
			if real then
				return real[name](real, ...)
			end
			return 0, 0
		end
	end
	function empty:text(t) return tostring(t) end
	function empty:timelines() return true end
	function empty:losses() return 0 end
	function empty:losses_around() return {} end
	function empty:at() return nil end
	function empty:comm() return {}, {} end
	function empty:count_by(options)
		local rows = {}
		for i = 1, type(options.by[1]) == "table" and #options.by or 0 do
			rows[i] = {}
		end
		return rows
	end
	function empty:call_events(options)
		return real and real:call_events(options) or { { kind = "lttng", enter = { "syscall_entry_*" }, leave = { "syscall_exit_*" } } }
	end
	function empty:segments(options)
		local found = {}
		for i = 1, math.max(1, #options) do
			found[i] = segments
		end
		return table.unpack(found)
	end
	for _, name in ipairs{ "events", "batch", "intervals" } do
		empty[name] = function() return function() end end
	end
	return empty
end

lami.is_empty = false   -- is `trace` an empty one?
lami.knows_all = false  -- and has it all events?

-- ---- data objects: section "Data objects" of the specification ----

local classes = { span = "duration", exact = "duration", time = "timestamp", percent = "ratio", count = "number",
	float = "number", size = "size" }

local function number(value)
	if math.type(value) == "float" then
		return value == value and math.abs(value) < math.huge and string.format("%.15g", value) or nil
	end
	return math.type(value) and tostring(value)
end

local function object(class, members)
	table.insert(members, 1, { "class", json.text(class) })
	return json.object(members)
end

local function plain_cell(column, class)
	return function(row)
		local value = row[column.key]
		if value == nil then
			return "null"
		elseif class == "string" then
			return object(class, { { "value", json.text(column.kind == "hex" and yore.hex(value) or tostring(value)) } })
		end
		local text = number(column.kind == "percent" and value / 100 or value)
		return text and object(class, { { "value", text } }) or object("unknown", {})
	end
end

local function named_cell(column, class)
	return function(row)
		local value = row[column.key]
		return value ~= nil and object(class, { { "name", json.text(tostring(value)) } }) or "null"
	end
end

local function cpu_cell(column)
	return function(row)
		local id = math.tointeger(row[column.key])
		return id and object("cpu", { { "id", tostring(id) } }) or "null"
	end
end

local function process_cell(column, name_key)
	return function(row)
		local tid, name, members = math.tointeger(row[column.key]), row[name_key], {}
		if name ~= nil then
			members[1] = { "name", json.text(tostring(name)) }
		end
		members[#members + 1] = tid and { "tid", tostring(tid) }
		return #members > 0 and object("process", members) or "null"
	end
end

local function irq_cell()
	return function(row)
		local members = { { "hard", tostring(row.kind == "irq") }, { "nr", tostring(row.irq) } }
		members[3] = row.name ~= nil and { "name", json.text(row.name) } or nil
		return object("irq", members)
	end
end

-- ---- tables ----

-- The name that stands in another column, by the key of a thread's.
local names = { tid = "comm", waker = "waker_comm", sleeper = "sleeper_comm", instead = "instead_comm", instead2 = "instead_comm2", instead3 = "instead_comm3",
	after = "next" }

-- Columns of a table as those of the interface, {title, class, cell}; columns that are part of another one's objects are left out.
local function layout_of(columns)
	local has, part, layout = basics.set(columns, "key"), {}, {}
	for _, column in ipairs(columns) do
		local name = names[column.key]
		if name and has[name] then
			part[name] = true
		end
		if column.key == "irq" then
			part.kind, part.name = true, true
		end
	end
	for _, column in ipairs(columns) do
		local key, name = column.key, names[column.key]
		local class, cell = column.class, nil
		if class == "cpu" or key == "cpu" then
			class, cell = "cpu", cpu_cell(column)
		elseif class then
			cell = named_cell(column, class)
		elseif key == "irq" then
			class, cell = "irq", irq_cell()
		elseif key == "tid" or name and has[name] then
			class, cell = "process", process_cell(column, name)
		else
			class = classes[column.kind] or "string"
			cell = plain_cell(column, class)
		end
		if not part[key] then
			local title = class == "process" and column.head == "TID" and "thread" or column.head
			layout[#layout + 1] = { title = title, class = class, cell = cell }
		end
	end
	return layout
end

local function timestamp(t)
	return object("timestamp", { { "value", tostring(t) } })
end

-- A line of progress. How much is left is not told: an analysis takes a number of passes that it learns on the way.
local function progress(a, message)
	if a["output-progress"] and not lami.is_empty then
		print("* " .. message:gsub("%c", "?"))
		io.flush()
	end
end

-- The rows of a table, of which the consumer gets to know at the end. Where several tables are alike, a.table_class is the title of
-- their common class.
function lami.table(a, title, columns, rows)
	local layout, data, described = layout_of(columns), {}, {}
	progress(a, title .. ": " .. #rows .. (#rows == 1 and " row" or " rows"))
	local common = a.table_class or title
	local class = (a.verb and a.verb .. "-" or "") .. common:lower():gsub("[^%w]+", "-")
	for i, row in ipairs(rows) do
		local cells = {}
		for c, column in ipairs(layout) do
			cells[c] = column.cell(row)
		end
		data[i] = json.list(cells)
	end
	for c, column in ipairs(layout) do
		described[c] = json.object{ { "title", json.text(column.title) }, { "class", json.text(column.class) } }
	end
	local out = a.lami
	out.classes[#out.classes + 1] = { class,
		json.object{ { "title", json.text(common) }, { "column-descriptions", json.list(described) } } }
	out.tables[#out.tables + 1] = json.object{
		{ "time-range", object("time-range", { { "begin", timestamp(a.start) }, { "end", timestamp(a.stop) } }) },
		{ "class", common == title and json.text(class)
			or json.object{ { "inherit", json.text(class) }, { "title", json.text(title) } } }, { "data", json.list(data) } }
end

-- ---- the phases ----

-- What the first line of a script says of it.
local function summary(path)
	local file = io.open(path)
	local line = file and file:read() or ""
	if file then
		file:close()
	end
	return line:match("^%-%- *[%w-]+: *(.*)$") or line
end

-- yore's own version, "MAJOR.MINOR[.PATCH][EXTRA]".
local function version()
	local major, minor, rest = yore.version:match("^(%d+)%.(%d+)(.*)$")
	local patch, extra = rest:match("^%.(%d+)(.*)$")
	local members = { { "major", major }, { "minor", minor }, patch and { "patch", patch } or nil }
	extra = extra or rest
	if extra ~= "" then
		members[#members + 1] = { "extra", json.text(extra) }
	end
	return json.object(members)
end

local function metadata(a)
	local title = a.spec.name .. (a.verb and " " .. a.verb or "")
	return json.object{
		{ "mi-version", json.object{ { "major", "1" }, { "minor", "0" } } },
		{ "version", version() },
		{ "title", json.text(title) }, { "description", json.text(summary(a.script)) },
		{ "authors", json.list{ json.text("yore") } },
		{ "tags", json.list{ json.text("yore"), json.text(a.spec.name), a.verb and json.text(a.verb) } },
		{ "table-classes", json.object(a.lami.classes) },
	}
end

local function finish(a, message)
	if message then
		print(json.object{ { "error-message", json.text(message) } })
	elseif a["mi-version"] then
		print("1.0")
	elseif a.metadata then
		print(metadata(a))
	elseif not a["test-compatibility"] then
		progress(a, "done")
		print(json.object{ { "results", json.list(a.lami.tables) } })
	end
end

-- Begins the phase that the options ask for, if they do; what it prints comes when the script ends. Times are nanoseconds here.
function lami.begin(a)
	local asks = a["mi-version"] or a.metadata or a["test-compatibility"]
	if not asks and a.format ~= "lami" then
		return
	end
	local real = trace
	a.format, a.script, a.lami = "lami", arg[0], { classes = {}, tables = {} }
	for _, name in ipairs{ "begin", "end" } do
		a[name] = a[name] and a[name]:gsub("^%-?%d+$", "@%0")
	end
	a.limit = a.limit ~= "unlimited" and a.limit or nil
	if asks then
		trace = empty_trace(a["test-compatibility"] and real)
		lami.is_empty, lami.knows_all = true, not a["test-compatibility"]
	end
	progress(a, "reading " .. (trace and trace:info().path or "the traces"))
	yore.at_end(function(message)
		trace, lami.is_empty, lami.knows_all = real, false, false
		finish(a, message)
	end)
end

return lami

-- count_by(), which counts on all threads, has the rows of a loop over all events, in the same order: that of the first
-- events of the groups. Columns of fields that the first events of each class have, of labels, of heads; conditions; parts
-- of the range. Two lists of columns have the rows of each alone. With an expression as last column a cursor counts, and finds the same rows, too.
-- An argument is the number of fields at most.
local most = math.tointeger(arg[1]) or 40
-- bytes, which a loop has as texts, and count_by() not at all
local bytes = { data = true, raw = true, stack_user = true }
local names, seen = {}, {}
for ev in trace:events{} do
	local times = seen[ev.name] or 0
	seen[ev.name] = times + 1
	if times < 3 then
		for name in pairs(ev.fields) do
			names[name] = true
		end
	end
end
local fields = {}
for name in pairs(names) do
	if name:find("^[%a_][%w_]*$") and not bytes[name] then
		fields[#fields + 1] = name
	end
end
table.sort(fields)

-- a value as count_by() has it: none where it is a list or a structure
local function plain(value)
	return type(value) ~= "table" and value or nil
end

local function value_of(ev, column)
	if column == "ts" or column == "name" or column == "cpu" or column == "stream" then
		return ev[column]
	end
	return plain(ev.fields[column:match("^field/(.*)$") or column])
end

-- Did a time fall? Packets that lie about their times make a loop find events late. Then rows are compared in any order.
local fell = false

local function looped(by, options)
	local rows, found, time = {}, {}, nil
	for ev in trace:events(options) do
		fell = fell or (time and ev.ts and ev.ts < time)
		time = ev.ts
		local key = {}
		local row = { count = 0 }
		for i, column in ipairs(by) do
			row[column] = value_of(ev, column)
			key[i] = math.type(row[column]) == "float" and string.pack("n", row[column]) or type(row[column]) .. tostring(row[column])
		end
		key = table.concat(key, "\0")
		if not found[key] then
			found[key] = row
			rows[#rows + 1] = row
		end
		found[key].count = found[key].count + 1
		local last = found[key].last_ts
		found[key].last_ts = last and ev.ts and math.max(last, ev.ts) or last or ev.ts
	end
	return rows
end

local function same(a, b)
	return a == b or (a ~= a and b ~= b)
end

local function sort_rows(by, rows)
	local texts = {}
	for _, row in ipairs(rows) do
		local words = {}
		for i, column in ipairs(by) do
			words[i] = tostring(row[column])
		end
		texts[row] = table.concat(words, "\0")
	end
	table.sort(rows, function(a, b) return texts[a] < texts[b] end)
end

local function compare(by, options, expected, more)
	local asked = { by = { table.unpack(by) } }
	for name, value in pairs(options) do
		asked[name] = value
	end
	asked.by[#asked.by + 1] = more
	local rows = trace:count_by(asked)
	local text = table.concat(asked.by, " ")
	asked.by = { { "name" }, asked.by }
	local lists = trace:count_by(asked)
	assert(#lists == 2 and #lists[1] > 0 == (#rows > 0), text .. ": two lists")
	assert(#rows == #lists[2], text .. ": the second of two lists has " .. #lists[2] .. " rows, not " .. #rows)
	for n, row in ipairs(lists[2]) do
		for name, value in pairs(rows[n]) do
			assert(same(row[name], value), text .. ": row " .. n .. " of the second list has " .. tostring(row[name]))
		end
	end
	if fell then
		sort_rows(by, rows)
		sort_rows(by, expected)
	end
	assert(#rows == #expected, text .. ": " .. #rows .. " rows, not " .. #expected)
	for n, row in ipairs(rows) do
		for name, value in pairs(expected[n]) do
			assert(same(row[name], value), text .. ": row " .. n .. " has " .. tostring(row[name]) .. ", not " .. tostring(value))
		end
		for name in pairs(row) do
			assert(name == more or expected[n][name] ~= nil, text .. ": row " .. n .. " has " .. name)
		end
	end
	return #rows
end

local groups = { {}, { "name" }, { "cpu", "name" }, { "stream" }, { "stream", "cpu", "name" }, { "ts" } }
for i, name in ipairs(fields) do
	if i <= most then
		groups[#groups + 1] = { "field/" .. name }
		groups[#groups + 1] = { "name", "field/" .. name, fields[#fields + 1 - i] }
	end
end
local first, last = trace:bounds()
local options = { {} }
if first and last > first + 8 then
	local half = first + (last - first) // 2
	options[2] = { from = first + 1, to = half }
	options[3] = { from = half, where = 'name ~ "*s*"' }
end
local n = 0
for _, by in ipairs(groups) do
	for _, option in ipairs(options) do
		local expected = looped(by, option)
		n = n + compare(by, option, expected)
		if #by < 3 and #fields < 40 then
			n = n + compare(by, option, expected, '"[" == ""')
		end
	end
end
print(#groups, n, fell)

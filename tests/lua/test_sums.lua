-- Parts of sums: joined parts have the rows of the whole; a text that was cut or changed is an error that names its part.

local sums = require("yore.sums")

local shape = { key = { "cpu", "comm" }, sum = { "count" }, last = { "t" }, first = { "note" } }
local range = { start = -5, length = 17 }
math.randomseed(20261130)

local function rows_of(n)
	local rows, found = {}, {}
	for _ = 1, n do
		local row = { cpu = math.random(0, 3), comm = ({ "a", "b\0\1", "" })[math.random(4)], count = math.random(-9, 9), t = math.random(-99, 99),
			note = math.random() < 0.5 and math.random() or nil }
		local key = row.cpu .. "/" .. tostring(row.comm)
		rows[#rows + 1] = not found[key] and row or nil
		found[key] = true
	end
	return rows
end

local function text_of(parts, i)
	local from, to = sums.window(range, i - 1, #parts)
	return sums.text(shape, from, to, parts[i])
end

-- The same by a table of rows.
local function added(parts)
	local found, list = {}, {}
	for _, rows in ipairs(parts) do
		for _, row in ipairs(rows) do
			local key = row.cpu .. "/" .. tostring(row.comm)
			local all = found[key]
			if all then
				all.count, all.t = all.count + row.count, math.max(all.t, row.t)
			else
				found[key] = { cpu = row.cpu, comm = row.comm, count = row.count, t = row.t, note = row.note }
				list[#list + 1] = found[key]
			end
		end
	end
	return list
end

for n = 1, 40 do
	local parts, texts, stop = {}, {}, range.start
	for i = 1, n do
		local from, to = sums.window(range, i - 1, n)
		assert(from == stop and to >= from)
		stop, parts[i] = to, rows_of(math.random(0, 12))
	end
	assert(stop == range.start + range.length)
	for i = 1, n do
		texts[i] = text_of(parts, i)
	end
	local joined, wanted = sums.join(shape, range, texts), added(parts)
	assert(#joined == #wanted)
	for i, row in ipairs(wanted) do
		for _, column in ipairs{ "cpu", "comm", "count", "t", "note" } do
			assert(joined[i][column] == row[column], column)
		end
	end
end

local function refused(texts, part)
	local good, why = pcall(sums.join, shape, range, texts)
	assert(not good and why == "--merge: part " .. part .. " is not what this question makes: make it again", why)
end

local rows = rows_of(5)
local whole = text_of({ rows, rows }, 1)
local second = text_of({ rows, rows }, 2)
for at = 1, #second - 1 do
	local cut = second:sub(1, at)
	local good, why = pcall(sums.join, shape, range, { whole, cut })
	assert(good or why:find("^%-%-merge: part 1/2 is not"), why) -- a cut between two rows is a shorter part
end
refused({ whole, second:sub(1, 3) }, "1/2")
refused({ second, whole }, "2/2")
refused({ whole }, "1/1")
local other = { key = { "cpu", "comm" }, sum = { "count" }, last = { "time" }, first = { "note" } } -- as of another version
local from, to = sums.window(range, 0, 2)
refused({ sums.text(other, from, to, {}), second }, "2/2")
for at = 1, #second do
	local changed = second:sub(1, at - 1) .. string.char(second:byte(at) ~ 1 << math.random(0, 7)) .. second:sub(at + 1)
	local good, why = pcall(sums.join, shape, range, { whole, changed })
	assert(good or why:find("^%-%-merge: part 1/2 is not"), why)
end

-- sums: rows that add up, which several processes count in parts and one joins
--
-- With --chunk I/N --partial FILE each process counts one part of the range, with --merge FILE... the rows of all parts are added
-- up. The text of a part has the begin and end of its time, the names of the columns, and then all columns of each row, in order
-- of `shape`:
--   key    rows with the same values of these are added up to one
--   sum    these are added
--   last   of these the greatest remains
--   first  of these those of the first row remain

local sums = {}

-- The time of chunk `chunk` (from 0) of `of`: all parts of the range are of the same length.
function sums.window(range, chunk, of)
	local each, more = range.length // of, range.length % of
	local from = range.start + each * chunk + math.min(chunk, more)
	return from, from + each + (chunk < more and 1 or 0)
end

local formats = { i = "<i8", f = "<d", s = "<s4" } -- by the first letter of the type; "n" is nil, which has no bytes

local function pack(value)
	local letter = (math.type(value) or type(value)):sub(1, 1)
	return letter .. (value ~= nil and string.pack(formats[letter], value) or "")
end

local function unpack(text, at)
	local letter = text:sub(at, at)
	if letter == "n" then
		return nil, at + 1
	end
	return string.unpack(formats[letter], text, at + 1)
end

local function columns_of(shape)
	local columns = {}
	for _, list in ipairs{ shape.key, shape.sum, shape.last or {}, shape.first or {} } do
		table.move(list, 1, #list, #columns + 1, columns)
	end
	return columns
end

-- The rows that were counted from `from` to `to` as the text of a part.
function sums.text(shape, from, to, rows)
	local columns = columns_of(shape)
	local texts = { pack(from) .. pack(to) .. pack(table.concat(columns, " ")) }
	for _, row in ipairs(rows) do
		for _, column in ipairs(columns) do
			texts[#texts + 1] = pack(row[column])
		end
	end
	return table.concat(texts)
end

-- Calls visit(row, key) for each row of a part. Returns the begin and end of its time. Raises an error for a text that is no part.
local function each_row(shape, text, visit)
	local from, at = unpack(text, 1)
	local to, names, columns = nil, nil, columns_of(shape)
	to, at = unpack(text, at)
	names, at = unpack(text, at)
	if names ~= table.concat(columns, " ") then
		error("other columns")
	end
	while at <= #text do
		local row, first, behind_key = {}, at, nil
		for i, column in ipairs(columns) do
			row[column], at = unpack(text, at)
			behind_key = i == #shape.key and at or behind_key
		end
		visit(row, text:sub(first, behind_key - 1))
	end
	return from, to
end

-- Joins the texts of all parts of the range to rows, in the order in which the parts have them first.
function sums.join(shape, range, texts)
	local found, rows = {}, {}
	local function add(row, key)
		local all = found[key]
		if not all then
			found[key], rows[#rows + 1] = row, row
			return
		end
		for _, column in ipairs(shape.sum) do
			all[column] = all[column] + row[column]
		end
		for _, column in ipairs(shape.last or {}) do
			all[column] = math.max(all[column], row[column])
		end
	end
	for i, text in ipairs(texts) do
		local good, from, to = pcall(each_row, shape, text, add)
		local begin, stop = sums.window(range, i - 1, #texts)
		if not good or from ~= begin or to ~= stop then
			error(string.format("--merge: part %d/%d is not what this question makes: make it again", i > 1 and i - 1 or #texts, #texts), 0)
		end
	end
	return rows
end

return sums

-- baseline: a side of a comparison in a small file, which stands for it without its trace
--
-- Lines of words, separated by tabs, in which a percent sign stands before two hexadecimal digits of a byte:
--
--     yore-compare 1
--     trace PATH BEGIN END
--     tells WORD...
--     unit SPEC PROPOSED COUNT UNKNOWN MEAN P50 P99      what follows is of this unit
--     group NAME PARENT TID TOTAL COUNT                  a thread; the pieces that follow are of its units
--     piece NUMBER BEGIN END CYCLES CLOCKED MOVES MOVED
--     part CAUSE WHO TIME LONGEST AT                     of the piece
--     clock LABEL TIME                                   of the piece
--     end LINES CHECKSUM                                 of all lines before it
--
-- A word that is empty has no value.

local basics = require("yore.basics")

local baseline = {}

local version = "1"

-- ---- writing ----

local function escaped(value)
	if value == nil then
		return ""
	elseif math.type(value) == "float" then
		return string.format("%.17g", value)
	end
	return (tostring(value):gsub("[%c%%]", function(c) return string.format("%%%02x", c:byte()) end))
end

-- FNV-1a, of 64 bits.
local function checksum(text, sum)
	sum = sum or 0xcbf29ce484222325
	for i = 1, #text do
		sum = (sum ~ text:byte(i)) * 0x100000001b3
	end
	return sum
end

local function put_piece(put, piece)
	put("piece", piece.i, piece.begin, piece["end"], piece.cycles, piece.clocked, piece.moves, piece.moved)
	for _, key in ipairs(basics.keys(piece.parts)) do
		local part = piece.parts[key]
		put("part", part.cause, part.who, part.time, part.longest, part.at)
	end
	for _, label in ipairs(basics.keys(piece.clocks)) do
		put("clock", label, piece.clocks[label])
	end
end

-- Writes a side's summary (yore.summary).
function baseline.write(path, one)
	local lines = {}
	local function put(...)
		local words = table.pack(...)
		for i = 1, words.n do
			words[i] = escaped(words[i])
		end
		lines[#lines + 1] = table.concat(words, "\t")
	end
	put("yore-compare", version)
	put("trace", one.path, one.start, one.stop)
	put("tells", table.unpack(basics.keys(one.told)))
	for _, own in ipairs(one.units) do
		put("unit", own.unit, own.proposed or false, own.count, own.unknown, own.mean, own.p50, own.p99)
		for _, group in ipairs(own.groups) do
			put("group", group.name, group.parent, group.tid, group.total, group.count)
			for _, piece in ipairs(group.pieces) do
				put_piece(put, piece)
			end
		end
	end
	local text = table.concat(lines, "\n") .. "\n"
	basics.given(yore.save(path, text .. string.format("end\t%d\t%016x\n", #lines, checksum(text))))
end

-- ---- reading ----

local function words_of(line)
	local words, n = {}, 0
	for word in (line .. "\t"):gmatch("([^\t]*)\t") do
		n = n + 1
		words[n] = word ~= "" and word:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end) or nil
	end
	return words
end

local readers = {}

-- What is wrong with a line, apart from all other errors.
local function wrong(why)
	error({ wrong = why })
end

local function number(word)
	return word and (math.tointeger(tonumber(word)) or tonumber(word) or wrong("'" .. word .. "' is no number")) or nil
end

local function needed(word)
	return number(word) or wrong("a number is missing")
end

function readers.trace(to, words)
	to.path, to.start, to.stop = words[2] or "", needed(words[3]), needed(words[4])
end

function readers.tells(to, words)
	for i = 2, 9 do
		to.told[words[i] or ""] = true
	end
end

function readers.unit(to, words)
	to.unit = { unit = words[2] or wrong("a unit without a name"), proposed = words[3] == "true", groups = {},
		count = needed(words[4]), unknown = needed(words[5]), mean = number(words[6]), p50 = number(words[7]), p99 = number(words[8]) }
	to.group, to.piece = nil, nil
	to.units[#to.units + 1] = to.unit
end

function readers.group(to, words)
	to.group = { name = words[2] or "", parent = words[3], tid = number(words[4]), total = needed(words[5]),
		count = needed(words[6]), pieces = {} }
	to.piece = nil
	table.insert((to.unit or wrong("a group without a unit")).groups, to.group)
end

function readers.piece(to, words)
	to.piece = { i = needed(words[2]), begin = needed(words[3]), ["end"] = needed(words[4]), cycles = needed(words[5]),
		clocked = needed(words[6]), moves = needed(words[7]), moved = needed(words[8]), parts = {}, clocks = {} }
	table.insert((to.group or wrong("a piece without a group")).pieces, to.piece)
end

function readers.part(to, words)
	local part = { cause = words[2] or wrong("a part without a cause"), who = words[3], time = needed(words[4]),
		longest = needed(words[5]), at = number(words[6]) }
	local piece = to.piece or wrong("a part without a piece")
	piece.parts[part.cause .. "\0" .. (part.who or "")] = part
end

function readers.clock(to, words)
	local piece = to.piece or wrong("a clock without a piece")
	piece.clocks[words[2] or ""] = needed(words[3])
end

-- The whole text but its last line, which must tell how long it is.
local function checked(path, text)
	if not text:find("^yore%-compare\t") then
		error(path .. ": this is no baseline of yore compare", 0)
	elseif text:match("^yore%-compare\t([^\n]*)\n") ~= version then
		error(path .. ": a baseline of version " .. text:match("^yore%-compare\t([^\n]*)") .. ", not " .. version
			.. ": write it anew with --save", 0)
	end
	local body, count, sum = text:match("^(.*\n)end\t(%d+)\t(%x+)\n$")
	if not body or string.format("%016x", checksum(body)) ~= sum or select(2, body:gsub("\n", "")) ~= tonumber(count) then
		error(path .. ": the baseline is damaged: write it anew with --save", 0)
	end
	return body
end

-- Is the file a baseline? What is not readable is none.
function baseline.is_one(path)
	local file = io.open(path, "rb")
	local head = file and file:read(13)
	if file then
		file:close()
	end
	return head == "yore-compare\t"
end

-- What a file has: {path =, start =, stop =, told =, units =}.
function baseline.read(path)
	local file = basics.given(io.open(path, "rb"))
	local text = file:read("a")
	file:close()
	basics.given(text, path .. ": cannot be read")
	local to, n = { units = {}, told = {} }, 0
	for line in checked(path, text):gmatch("([^\n]*)\n") do
		n = n + 1
		local words = words_of(line)
		local reader = readers[words[1]]
		if n > 1 then
			local ok, fault = pcall(reader or function() wrong("it begins with no known word") end, to, words)
			if not ok then
				error(type(fault) == "table" and path .. ": line " .. n .. ": " .. fault.wrong or fault, 0)
			end
		end
	end
	if not to.start then
		error(path .. ": the baseline names no trace", 0)
	elseif #to.units == 0 then
		error(path .. ": the baseline has no units: write it anew with --save", 0)
	end
	return to
end

return baseline

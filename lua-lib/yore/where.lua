-- where: conditions on the columns of an analysis, in the operators of the rule language
--
--     comm ~ "demo-*" && (dur > 1ms || tid in (42, 43)) && !(state == "sleeping")
--
-- Numbers may have a unit: ns us ms s. ~ matches a glob, a comparison with a column that has no value
-- is false. A condition is a list of terms that must all hold; a term names its columns.

local where = {}

local units = { ns = 1, us = 1000, ms = 1000000, s = 1000000000 }
local symbols = { "&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "~", "(", ")", "," }

local function fail(at, why)
	error("--where: column " .. at .. ": " .. why, 0)
end

local function number_at(text, at)
	local from, to, digits, unit = text:find("^(%-?%d[%d_%.]*)(%a*)", at)
	if not from then
		return
	end
	local scale = unit == "" and 1 or units[unit]
	local number = tonumber((digits:gsub("_", "")))
	if not number or not scale then
		fail(at, "'" .. digits .. unit .. "' is not a number with a unit of ns, us, ms or s")
	end
	number = number * scale
	return math.tointeger(number) or number, to + 1
end

local function symbol_at(text, at)
	for _, symbol in ipairs(symbols) do
		if text:sub(at, at + #symbol - 1) == symbol then
			return symbol
		end
	end
end

local function scan(text)
	local tokens, at = {}, 1
	while true do
		at = text:find("%S", at)
		if not at then
			return tokens
		end
		local number, after = number_at(text, at)
		local quoted = text:match('^"([^"]*)"', at)
		local name = text:match("^[%a_][%w_]*", at)
		local symbol = symbol_at(text, at)
		if number then
			tokens[#tokens + 1] = { at = at, value = number }
			at = after
		elseif quoted then
			tokens[#tokens + 1] = { at = at, value = quoted }
			at = at + #quoted + 2
		elseif name then
			tokens[#tokens + 1] = { at = at, name = name }
			at = at + #name
		elseif symbol then
			tokens[#tokens + 1] = { at = at, symbol = symbol }
			at = at + #symbol
		elseif text:sub(at, at) == "=" then
			fail(at, "'=' is no operator: did you mean \"==\"?")
		else
			fail(at, "an operator, a name, a number or a text in double quotes is expected, as in comm == \"make\"")
		end
	end
end

local magic = "[%^%$%(%)%%%.%[%]%+%-]"

-- The pattern of Lua that matches what the glob matches: * and ? alone are special.
function where.glob(glob)
	return "^" .. glob:gsub(magic, "%%%0"):gsub("%*", ".*"):gsub("%?", ".") .. "$"
end

local compare = {
	["=="] = function(a, b) return a == b end,
	["!="] = function(a, b) return a ~= b end,
	["<"] = function(a, b) return a < b end,
	["<="] = function(a, b) return a <= b end,
	[">"] = function(a, b) return a > b end,
	[">="] = function(a, b) return a >= b end,
}

local function comparison(operator, read, value)
	if operator == "~" then
		local pattern = where.glob(tostring(value))
		return function(row)
			local own = read(row)
			return own ~= nil and tostring(own):find(pattern) ~= nil
		end
	end
	local holds = compare[operator]
	return function(row)
		local own = read(row)
		return own ~= nil and (operator == "==" or operator == "!=" or math.type(own) ~= nil
			and math.type(value) ~= nil or type(own) == type(value)) and holds(own, value)
	end
end

-- Parses the text; `known` has the names of columns. Returns {test = function(row), names = {...}}
-- for each part that && joins.
function where.parse(text, known)
	local tokens, i, names = scan(text), 1, nil
	local any

	local function take(symbol)
		if tokens[i] and tokens[i].symbol == symbol then
			i = i + 1
			return true
		end
	end

	local function expect(what)
		local token = tokens[i]
		fail(token and token.at or #text + 1, what .. " is expected")
	end

	local function constant()
		local token = tokens[i]
		if not token or token.value == nil then
			expect("a number or a text in double quotes")
		end
		i = i + 1
		return token.value
	end

	local function column()
		local token = tokens[i]
		if not token or not token.name then
			expect("a column")
		end
		if not known[token.name] then
			local list = {}
			for name in pairs(known) do
				list[#list + 1] = name
			end
			table.sort(list)
			local meant = yore.nearest(token.name, list)
			fail(token.at, "there is no column '" .. token.name .. "': " .. (meant and meant .. " " or "")
				.. "there are " .. table.concat(list, ", "))
		end
		i = i + 1
		local name = token.name
		names[name] = true
		return function(row) return row[name] end
	end

	local function set(read)
		local values = {}
		if not take("(") then
			expect("(")
		end
		repeat
			values[constant()] = true
		until not take(",")
		if not take(")") then
			expect(")")
		end
		return function(row)
			local own = read(row)
			return own ~= nil and values[own] == true
		end
	end

	local function single()
		if take("!") then
			local inner = single()
			return function(row) return not inner(row) end
		elseif take("(") then
			local inner = any()
			if not take(")") then
				expect(")")
			end
			return inner
		end
		local read, token = column(), tokens[i]
		if token and token.name == "in" then
			i = i + 1
			return set(read)
		elseif not token or not (compare[token.symbol] or token.symbol == "~") then
			expect("one of == != < <= > >= ~ in")
		end
		i = i + 1
		return comparison(token.symbol, read, constant())
	end

	local function all()
		local left = single()
		while take("&&") do
			local a, b = left, single()
			left = function(row) return a(row) and b(row) end
		end
		return left
	end

	function any()
		local left = all()
		while take("||") do
			local a, b = left, all()
			left = function(row) return a(row) or b(row) end
		end
		return left
	end

	local terms = {}
	names = {}
	local whole = any() -- first as one, to know whether || joins the outermost parts
	if tokens[i] then
		expect("&& or ||")
	end
	local outer_or, depth = false, 0
	for _, token in ipairs(tokens) do
		depth = depth + (token.symbol == "(" and 1 or token.symbol == ")" and -1 or 0)
		outer_or = outer_or or depth == 0 and token.symbol == "||"
	end
	if outer_or then
		return { { test = whole, names = names } }
	end
	i = 1
	repeat
		names = {}
		local test = single()
		terms[#terms + 1] = { test = test, names = names }
	until not take("&&")
	return terms
end

return where

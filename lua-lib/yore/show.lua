-- show: prints values as the prompt does, tables with all that is in them

local function key_text(key)
	if type(key) == "string" and key:match("^[%a_][%w_]*$") then
		return key
	end
	return "[" .. (type(key) == "string" and string.format("%q", key) or tostring(key)) .. "]"
end

local function before(a, b)
	if type(a) == type(b) and (type(a) == "number" or type(a) == "string") then
		return a < b
	end
	return type(a) == type(b) and tostring(a) < tostring(b) or type(a) < type(b)
end

local function sorted_keys(t)
	local keys = {}
	for key in next, t do
		keys[#keys + 1] = key
	end
	table.sort(keys, before)
	return keys
end

-- Short tables stand on one line, others have one entry a line.
local function text(value, indent, above)
	if type(value) == "string" then
		return above and string.format("%q", value) or value
	elseif type(value) ~= "table" or (getmetatable(value) or {}).__tostring then
		return tostring(value)
	elseif above and above[value] then
		return "(above)"
	end
	above = setmetatable({ [value] = true }, { __index = above })
	local items, length, count = {}, 0, rawlen(value)
	local inner = indent .. "  "
	for _, key in ipairs(sorted_keys(value)) do
		local item = text(value[key], inner, above)
		if not (math.type(key) == "integer" and key >= 1 and key <= count) then
			item = key_text(key) .. " = " .. item
		end
		items[#items + 1] = item
		length = length + #item + 2
	end
	if length + #indent <= 90 then
		return "{" .. table.concat(items, ", ") .. "}"
	end
	return "{\n" .. inner .. table.concat(items, ",\n" .. inner) .. "\n" .. indent .. "}"
end

return function(...)
	local values = table.pack(...)
	for i = 1, values.n do
		values[i] = text(values[i], "")
	end
	print(table.concat(values, "\t", 1, values.n))
end

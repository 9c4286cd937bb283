-- json: values as JSON

local json = {}

local escapes = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\t"] = "\\t", ["\r"] = "\\r" }

-- Bytes that are no UTF-8 are question marks.
function json.text(text)
	if not utf8.len(text) then
		text = text:gsub("[\128-\255]", "?")
	end
	return '"' .. text:gsub('[%c"\\]', function(c)
		return escapes[c] or string.format("\\u%04x", c:byte())
	end) .. '"'
end

-- A float with six digits, and with those up to the thousandth where that is more.
function json.float(value)
	local size = math.abs(value)
	if size < 1e3 or size >= 1e15 then
		return string.format("%.6g", value)
	end
	return (string.format("%.3f", value):gsub("%.?0+$", ""))
end

-- Text, numbers, true and false; nil is null, and so is a number that is none.
function json.value(value)
	if value == nil then
		return "null"
	elseif math.type(value) == "float" then
		return value == value and math.abs(value) < math.huge and json.float(value) or "null"
	elseif type(value) == "string" then
		return json.text(value)
	end
	return tostring(value)
end

-- The object of a list of {key, text of JSON}, in that order.
function json.object(members)
	local out = {}
	for i, member in ipairs(members) do
		out[i] = json.text(member[1]) .. ":" .. member[2]
	end
	return "{" .. table.concat(out, ",") .. "}"
end

function json.list(texts)
	return "[" .. table.concat(texts, ",") .. "]"
end

return json

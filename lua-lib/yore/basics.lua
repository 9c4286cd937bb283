-- basics: what Lua has no function for

local basics = {}

-- The keys of tables, sorted and each once, in one list.
function basics.keys(...)
	local list, seen = {}, {}
	for _, set in ipairs{ ... } do
		for key in pairs(set) do
			list[#list + 1], seen[key] = not seen[key] and key or nil, true
		end
	end
	table.sort(list)
	return list
end

-- The items of a list, or of each its member `key`, as the keys of a table whose values are true.
function basics.set(list, key)
	local set = {}
	for _, item in ipairs(list) do
		set[key == nil and item or item[key]] = true
	end
	return set
end

-- Makes a row of a list that of a key in `found`, for `found[key] or basics.add(found, key, list, row)`; returns it.
function basics.add(found, key, list, row)
	found[key], list[#list + 1] = row, row
	return row
end

-- The first i of 1 to `count` that `holds` is true of, which then is true of all behind it; count + 1: of none.
function basics.first(count, holds)
	local low, high = 1, count + 1
	while low < high do
		local middle = (low + high) // 2
		if holds(middle) then high = middle else low = middle + 1 end
	end
	return low
end

-- A function of a text: does the glob match it? As `~` of a condition does.
function basics.glob(glob)
	local test = yore.condition('text ~ "' .. glob:gsub('[\\"]', "\\%0"):gsub("%c", function(byte)
		return ("\\x%02x"):format(byte:byte())
	end) .. '"', { "text" })[1].test
	return function(text) return test{ text = text } end
end

-- What a function gives that gives nil and why it has nothing: then that is raised.
function basics.given(value, ...)
	if not value then
		error((...), 0)
	end
	return value, ...
end

return basics

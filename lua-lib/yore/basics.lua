-- basics: small functions that Lua lacks

local basics = {}

-- A sorted list of the keys of all tables, without duplicates.
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

-- Appends `row` to the list, stores it as found[key] and returns it: `found[key] or basics.add(found, key, list, row)`.
function basics.add(found, key, list, row)
	found[key], list[#list + 1] = row, row
	return row
end

-- Bisection: the first i from 1 to `count` for which holds(i) is true; it must be true for all later ones. count + 1: none.
function basics.first(count, holds)
	local low, high = 1, count + 1
	while low < high do
		local middle = (low + high) // 2
		if holds(middle) then high = middle else low = middle + 1 end
	end
	return low
end

-- Returns a function that tests whether the glob matches a text, like `~` in a condition.
function basics.glob(glob)
	local test = yore.condition('text ~ "' .. glob:gsub('[\\"]', "\\%0"):gsub("%c", function(byte)
		return ("\\x%02x"):format(byte:byte())
	end) .. '"', { "text" })[1].test
	return function(text) return test{ text = text } end
end

-- Returns its arguments; if they are nil and an error text, raises the text.
function basics.given(value, ...)
	if not value then
		error((...), 0)
	end
	return value, ...
end

-- For conditions of segments:select(): is there no value, is there one?
function basics.is_nil(value)
	return value == nil
end

function basics.is_some(value)
	return value ~= nil
end

return basics

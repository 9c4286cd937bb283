-- where: conditions on the columns of an analysis, in the expressions of the rule language
--
--     comm ~ "demo-*" && (dur > 1ms || tid in (42, 43)) && !(state == "sleeping")
--
-- A comparison with a column that has no value is unknown, which is not true. A condition is a list of terms that
-- must all hold; a term names its columns.

local sorted_keys = require("yore.keys")

local where = {}

local magic = "[%^%$%(%)%%%.%[%]%+%-]"

-- The pattern of Lua that matches what the glob matches: * and ? alone are special.
function where.glob(glob)
	return "^" .. glob:gsub(magic, "%%%0"):gsub("%*", ".*"):gsub("%?", ".") .. "$"
end

-- Parses the text; `known` has the names of columns. Returns {test = function(row), names = {...}}
-- for each part that && joins.
function where.parse(text, known)
	local good, terms = pcall(yore.condition, text, sorted_keys(known))
	if not good then
		error("--where: " .. tostring(terms):match("^[^\n]*"):gsub("^condition: ", ""), 0)
	end
	return terms
end

return where

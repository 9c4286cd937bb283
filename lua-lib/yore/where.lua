-- where: conditions on the columns of an analysis, in the expressions of the rule language
--
--     comm ~ "demo-*" && (dur > 1ms || tid in (42, 43)) && !(state == "sleeping")
--
-- A comparison with a column that has no value is unknown, which is not true. A condition is a list of terms that
-- must all hold; a term names its columns.

local basics = require("yore.basics")

local where = {}

-- A function of a text: does the glob match it? As `~` of a condition does.
function where.glob(glob)
	local test = yore.condition('text ~ "' .. glob:gsub('[\\"]', "\\%0"):gsub("%c", function(byte)
		return ("\\x%02x"):format(byte:byte())
	end) .. '"', { "text" })[1].test
	return function(text) return test{ text = text } end
end

-- Parses the text; `known` has the names of columns. Returns {test = function(row), names = {...}}
-- for each part that && joins.
function where.parse(text, known)
	local good, terms = pcall(yore.condition, text, basics.keys(known))
	if not good then
		error("--where: " .. tostring(terms):match("^[^\n]*"):gsub("^condition: ", ""), 0)
	end
	return terms
end

return where

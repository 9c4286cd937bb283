-- frames: how the frames of call chains are called, as stackcollapse-perf calls them

local frames = {}

-- A function's name without arguments and quotes; Go's methods, "x.(*T).f", stay whole.
local function tidy(name)
	name = name:gsub(";", ":")
	if not name:find("%.%(.*%)%.") then
		local from = 1
		while true do
			local at = name:find("(", from, true)
			if not at then
				break
			elseif name:sub(at, at + 20) ~= "(anonymous namespace)" then
				name = name:sub(1, at - 1)
				break
			end
			from = at + 1
		end
	end
	return (name:gsub("[\"']", ""))
end

-- Names of functions by their symbols.
frames.tidied = setmetatable({}, { __index = function(cache, name)
	cache[name] = tidy(name)
	return cache[name]
end })

-- A function without its arguments, or the file's name in brackets.
function frames.name(frame)
	if frame.symbol then
		return frames.tidied[frame.symbol]
	elseif frame.object then
		return "[" .. frame.object:gsub(".*/", "") .. "]"
	end
	return "[unknown]"
end

-- The names of a chain, the outermost first, behind those of `list`; and how many frames are the kernel's, which are the
-- innermost ones.
function frames.names(chain, list)
	for i = #chain, 1, -1 do
		list[#list + 1] = frames.name(chain[i])
	end
	local inside = 0
	while inside < #chain and chain[inside + 1].kernel do
		inside = inside + 1
	end
	return list, inside
end

return frames

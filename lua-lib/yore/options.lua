-- options: what the analyses read from their arguments

local options = {}

-- The range [start, stop) that --begin and --end in `arg` name, else the session's, else all of
-- the trace; the moment after its last event then ends it. Other arguments are an error.
function options.range(trace, arg)
	local first, last = trace:bounds()
	if not first then
		error(last, 0)
	end
	local start, stop = yore.range()
	local i = 1
	while arg[i] do
		local name, value = arg[i]:match("^(%-%-%a+)=(.*)$")
		if not name then
			name, value = arg[i], arg[i + 1]
			i = i + 1
		end
		if name ~= "--begin" and name ~= "--end" then
			error("unknown argument '" .. name .. "': --begin TIME and --end TIME are known", 0)
		end
		local t, why = trace:time(value or error(name .. " needs a time", 0))
		if not t then
			error(why, 0)
		end
		if name == "--begin" then start = t else stop = t end
		i = i + 1
	end
	return { start = start or first, stop = stop or last + 1 }
end

return options

-- Batches have what a loop's events have: columns of every field that the first events of each class have, losses among
-- them, of blocks smaller and larger than what a batch holds before its tables are made.
local names, seen, losses = {}, {}, 0
for ev in trace:events{ losses = true } do
	losses = losses + (ev.name and 0 or 1)
	local times = seen[ev.name or ""] or 0
	seen[ev.name or ""] = times + 1
	if ev.name and times < 3 then
		for name in pairs(ev.fields) do
			names[name] = true
		end
	end
end
local fields = { "name", "cpu", "stream" }
for name in pairs(names) do
	if #fields < 60 and name:find("^[%a_][%w_]*$") and not names["field/" .. name] then
		fields[#fields + 1] = "field/" .. name
	end
end

local function same(a, b)
	if type(a) == "table" and type(b) == "table" then
		return #a == #b
	end
	return a == b or (a ~= a and b ~= b)
end

-- the last one goes event by event
for _, options in ipairs{ { size = 7 }, { size = 1024 }, { size = 5000 }, { size = 7, reuse = true },
		{ size = 1000, reuse = true }, { size = 5000, reuse = true }, { size = 64, reverse = true } } do
	options.fields, options.losses = fields, true
	local n, each = 0, trace:events{ losses = true, reverse = options.reverse }
	for b in trace:batch(options) do
		assert(b.n >= 1 and b.n <= options.size)
		for c = 1, #fields do
			assert(#b[fields[c]] == b.n, fields[c])
		end
		for k = 1, b.n do
			local ev = each()
			assert((b.ts[k] or nil) == ev.ts)
			assert(b.name[k] == (ev.name or false) and b.cpu[k] == (ev.cpu or false))
			assert(b.stream[k] == ev.stream)
			local values = ev.fields
			for c = 4, #fields do
				local value = values and values[fields[c]:sub(7)]
				assert(same(b[fields[c]][k], value or false), fields[c])
			end
		end
		n = n + b.n
	end
	assert(each() == nil)
	print(options.size, n, #fields, losses)
end

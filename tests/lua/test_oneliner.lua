-- One-liners: their maps against loops over the events in Lua.

local function raises(pattern, f, ...)
	local ok, message = pcall(f, ...)
	assert(not ok, "no error")
	assert(tostring(message):find(pattern), tostring(message))
end

-- Every key of one is in the other, all the way down.
local function same(a, b, where)
	where = where or "maps"
	if type(a) ~= "table" or type(b) ~= "table" then
		assert(a == b and math.type(a) == math.type(b), where .. ": " .. tostring(a) .. ", not " .. tostring(b))
		return
	end
	for key in pairs(a) do same(a[key], b[key], where .. "." .. tostring(key)) end
	for key in pairs(b) do assert(a[key] ~= nil, where .. " lacks " .. tostring(key)) end
end

local function add(t, key, more)
	t[key] = (t[key] or 0) + more
end

-- The buckets of powers of two from the first used one to the last.
local function power_buckets(numbers)
	local counts, least, most = {}, math.maxinteger, 0
	for _, n in ipairs(numbers) do
		local i = 0 -- [0, 1), [1, 2), [2, 4) ...
		while n >= 1 << i do i = i + 1 end
		add(counts, i, 1)
		least, most = math.min(least, i), math.max(most, i)
	end
	local out = {}
	for i = least, most do
		out[#out + 1] = { low = i == 0 and 0 or 1 << i - 1, high = 1 << i, count = counts[i] or 0 }
	end
	return out
end

-- numbers, texts, several keys, sums, histograms of all switches
local counts, pairs_of, pids, prios, sum = {}, {}, {}, {}, 0
for ev in trace:events{ name = "sched_switch" } do
	local comm = ev.fields.prev_comm
	add(counts, comm, 1)
	pairs_of[comm] = pairs_of[comm] or {}
	add(pairs_of[comm], ev.cpu, 1)
	table.insert(pids, ev.fields.next_pid)
	prios[ev.cpu] = prios[ev.cpu] or { count = 0, total = 0 }
	add(prios[ev.cpu], "count", 1)
	add(prios[ev.cpu], "total", ev.fields.prev_prio)
	sum = sum + ev.fields.prev_prio
end
for _, of in pairs(prios) do of.average = of.total // of.count end
local maps, printed = trace:oneliner[[
	sched_switch {
		@[prev_comm] = count(); @two[prev_comm, cpu] = count(); @next = hist(next_pid);
		@prio[cpu] = stats(prev_prio); @sum = sum(prev_prio); @least = min(next_pid);
	}]]
assert(#pids > 200)
same(maps, { ["@"] = counts, ["@two"] = pairs_of, ["@next"] = power_buckets(pids), ["@prio"] = prios, ["@sum"] = sum,
	["@least"] = math.min(table.unpack(pids)) })
assert(printed == "")

-- linear buckets: below, steps, above
local linear = trace:oneliner[[END { @ = lhist(-5, 0, 20, 10); @ = lhist(10, 0, 20, 10); @ = lhist(10, 0, 20, 10);
	@ = lhist(99, 0, 20, 10); }]]
same(linear, { ["@"] = { { high = 0, count = 1 }, { low = 0, high = 10, count = 0 }, { low = 10, high = 20, count = 2 },
	{ low = 20, count = 1 } } })

-- as rows: in the order of `yore do`, rising
local rows = trace:oneliner{ program = "sched_switch { @[prev_comm, cpu] = count(); @n = count(); }", rows = true }
local seen = 0
for i, row in ipairs(rows["@"]) do
	assert(pairs_of[row[1]][row[2]] == row.value)
	assert(i == 1 or rows["@"][i - 1].value <= row.value)
	seen = seen + row.value
end
same(rows["@n"], { { value = #pids } })
assert(seen == #pids)

-- what passes: times, CPUs, names, conditions with the state and without
for _, options in ipairs{ { from = "@2120801126657", to = "@2120803000000" }, { cpu = 1 }, { stream = "perf_stream_0" },
	{ where = "prev_prio < 120" }, { where = 'cpu[cpu]/name ~ "demo-*" && next_pid != 0', cpu = { 0 } },
	{ name = "sched_wak*", from = "+1ms" } } do
	local expected = 0
	for ev in trace:events(options) do
		if ev.name == "sched:sched_switch" then expected = expected + 1 end
	end
	options.program = "sched_switch { @ = count(); }"
	assert((trace:oneliner(options)["@"] or 0) == expected)
	assert((expected == 0) == (options.name ~= nil))
end

-- in order, with the state, and what is printed
local names = {}
for ev in trace:events{ name = "sched_switch" } do
	local name = ev.state["cpu[cpu]/name"]
	if name then add(names, name, 1) end
end
maps, printed = trace:oneliner[[sched_switch { @[cpu[cpu]/name] = count(); @n++; } END { printf("%d\n", @n); print(@n); clear(@n) }]]
same(maps, { ["@"] = names })
assert(printed == #pids .. "\n@n: " .. #pids .. "\n")

-- large numbers: the same 64 bits; sums and bounds beyond them are floats
maps = trace:oneliner[[END { @u[18446744073709551615] = 1; @v = 18446744073709551615; @s = sum(18446744073709551615);
	@h = hist(18446744073709551615); }]]
same(maps, { ["@u"] = { [-1] = 1 }, ["@v"] = -1, ["@s"] = 2.0 ^ 64,
	["@h"] = { { low = 2.0 ^ 63, high = 2.0 ^ 64, count = 1 } } })

-- nothing, and mistakes
same(trace:oneliner("BEGIN { }"), {})
same(yore.oneliner("END { @ = 3 }"), { ["@"] = 3 })
raises("column 20: there is no function cout.*\n.*%^", trace.oneliner, trace, "sched_switch { @ = cout(); }")
raises("the trace has no event 'sched_swich': did you mean", trace.oneliner, trace, "sched_swich { }")
raises("program: a text is expected", trace.oneliner, trace, { cpu = 0 })
raises("there is no option 'frm': did you mean \"from\"", trace.oneliner, trace, { program = "BEGIN { }", frm = 1 })
raises("column 8: expected", trace.oneliner, trace, { program = "BEGIN { }", where = "has(cpu:" })
raises("1000000 keys", trace.oneliner, trace, [[
	* { unroll(100) { unroll(10) { @i++; @big[@i] = 1; } } }
	* { unroll(100) { unroll(10) { @i++; @big[@i] = 1; } } }]])
print("ok")

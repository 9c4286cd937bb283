-- irq: interrupts and softirqs: how often, how long, on which CPU
--
-- [stats|top|log|freq]
--
--   stats   of each interrupt and softirq on each CPU: count, time in all, least, average, p99, greatest
--   top     the longest ones
--   log     each, in order of time
--   freq    how many were how long
--
-- One lasts from the entry of its handler to the exit on the same CPU. What had begun before the range, or had
-- not ended at its end, does not count.
--
-- Columns of --where: irq, name, cpu, dur, begin, kind ("irq" or "softirq").
--
-- Examples:
--   $ yore info fixtures/golden/sched-demo

local analysis = require("yore.analysis")
local a = analysis.open(arg, {
	name = "irq", verbs = { "stats", "top", "log", "freq" }, tables = { freq = true },
	columns = { "irq", "name", "cpu", "dur", "begin", "kind" },
})

local kinds = {
	{ kind = "irq", enter = { "irq_handler_entry" }, leave = { "irq_handler_exit" }, number = "irq" },
	{ kind = "softirq", enter = { "softirq_entry", "irq_softirq_entry" },
		leave = { "softirq_exit", "irq_softirq_exit" }, number = "vec" },
}

a:need({ "irq_handler_entry", "softirq_entry", "irq_softirq_entry" }, "when interrupts are handled")

local found = {}
for _, kind in ipairs(kinds) do
	local enter, leave = analysis.present(kind.enter), analysis.present(kind.leave)
	if #enter > 0 and #leave > 0 then
		local segments = trace:segments{ begin = enter, finish = leave, key = "cpu",
			fields = { number = "begin " .. kind.number }, from = a.start, to = a.stop }
		a:tell_pairs(segments, kind.kind == "irq" and "interrupts" or "softirqs")
		local names = {}
		for _, number in ipairs(segments:distinct("number")) do
			names[number] = trace:at(a.stop - 1, kind.kind .. "[" .. number .. "]/name")
		end
		found[#found + 1] = { kind = kind.kind, names = names, segments = a:filter(segments, {
			irq = "number", name = { "number", function(n) return names[n] end }, cpu = "key",
			dur = "dur", begin = "begin", kind = { "value", function() return kind.kind end },
		}) }
	end
end

local function fill(row, of)
	row.kind, row.irq, row.cpu, row.name = of.kind, row.number, row.key, of.names[row.number]
	return row
end

local what = {
	{ key = "kind", head = "kind" }, { key = "irq", head = "number", kind = "count" },
	{ key = "name", head = "name" }, { key = "cpu", head = "CPU", kind = "count" },
}

local function with(first, last)
	local columns = {}
	for _, list in ipairs{ first, what, last } do
		table.move(list, 1, #list, #columns + 1, columns)
	end
	return columns
end

a:head()
if a.verb == "stats" then
	local rows = {}
	for _, of in ipairs(found) do
		for _, row in ipairs(of.segments:groups{ by = { "number", "key" }, percentiles = { 99 } }) do
			rows[#rows + 1] = fill(row, of)
			row.percent = row.total * 100 / a.length
		end
	end
	table.sort(rows, function(x, y)
		if x.kind ~= y.kind then
			return x.kind < y.kind
		end
		return x.irq < y.irq or x.irq == y.irq and x.cpu < y.cpu
	end)
	a:table("interrupts", with({}, {
		{ key = "count", head = "times", kind = "count" }, { key = "total", head = "in all", kind = "span", bar = true },
		{ key = "percent", head = "% of the CPU", kind = "percent" },
		{ key = "min", head = "least", kind = "span" }, { key = "mean", head = "average", kind = "span" },
		{ key = "p99", head = "p99", kind = "span" }, { key = "max", head = "greatest", kind = "span" },
		{ key = "max_begin", head = "which began", kind = "time" },
	}), rows)
elseif a.verb == "freq" then
	for _, of in ipairs(found) do
		a:histogram(of.kind, of.segments:hist())
	end
else
	local rows = {}
	for _, of in ipairs(found) do
		for _, row in ipairs(of.segments:sorted(a.verb == "top" and "-dur" or "begin",
				a.verb == "top" and (a.limit or 10) or nil)) do
			rows[#rows + 1] = fill(row, of)
		end
	end
	table.sort(rows, function(x, y)
		if a.verb == "top" and x.dur ~= y.dur then
			return x.dur > y.dur
		elseif x.begin ~= y.begin then
			return x.begin < y.begin
		end
		return x.cpu < y.cpu or x.cpu == y.cpu and x.kind < y.kind
	end)
	if a.verb == "top" then
		rows = table.move(rows, 1, math.min(a.limit or 10, #rows), 1, {})
	end
	a:table(a.verb == "top" and "longest interrupts" or "interrupts", with({
		{ key = "begin", head = "from", kind = "time" }, { key = "end", head = "until", kind = "time" },
		{ key = "dur", head = "length", kind = "span", bar = true } }, {}), rows)
end

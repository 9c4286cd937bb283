-- irq: interrupts and softirqs: how often, how long, on which CPU
--
-- [stats|top|log|freq]
--
--   stats   of each interrupt and softirq on each CPU: count, time in all, shortest, average, p99, longest
--   top     the longest ones
--   log     each, in order of time
--   freq    how many were how long
--
-- One lasts from the entry of its handler to the exit on the same CPU. What had begun before the range, or had
-- not ended at its end, does not count.
--
-- --svg FILE draws them: a histogram with `freq`, else a heat map over time.
--
-- Columns of --where: irq, name, cpu, dur, begin, kind ("irq" or "softirq").
--
-- Examples:
--   $ yore info fixtures/golden/sched-demo

local analysis = require("yore.analysis")
local kernel = require("yore.kernel")
local a = analysis.open(arg, {
	name = "irq", verbs = { "stats", "top", "log", "freq" }, tables = { freq = true },
	columns = { "irq", "name", "cpu", "dur", "begin", "kind" }, options = { svg = "text" },
})

local kinds = {
	{ kind = "irq", what = "interrupts", pairs = { begin = { "irq_handler_entry" }, finish = { "irq_handler_exit" }, key = "cpu",
		fields = { number = "begin irq" } } },
	{ kind = "softirq", what = "softirqs", pairs = { begin = { "softirq_entry", "irq_softirq_entry" },
		finish = { "softirq_exit", "irq_softirq_exit" }, key = "cpu", fields = { number = "begin vec" } } },
}

a:need({ "irq_handler_entry", "softirq_entry", "irq_softirq_entry" }, "when interrupts are handled")

local read, found = kernel.pairs(a.start, a.stop, { kinds[1].pairs, kinds[2].pairs }), {}
for i, kind in ipairs(kinds) do
	if read[i] then
		a:tell_pairs(read[i], kind.what)
		local names = {}
		for _, number in ipairs(read[i]:distinct("number")) do
			names[number] = trace:at(a.stop - 1, kind.kind .. "[" .. number .. "]/name")
		end
		found[#found + 1] = { kind = kind.kind, names = names, segments = a:filter(read[i], {
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

a:show("interrupts", found, what, fill, { stats = function()
	local rows = {}
	for _, of in ipairs(found) do
		for _, row in ipairs(of.segments:groups{ by = { "number", "key" }, percentiles = { 99 } }) do
			rows[#rows + 1] = fill(row, of)
			row.percent = row.total * 100 / a.length
		end
	end
	table.sort(rows, analysis.order("kind", "irq", "cpu"))
	local numbers = analysis.statistics("times", { "total", "min", "mean", "p99", "max", "max_begin" }, "total")
	table.insert(numbers, 3, { key = "percent", head = "% of the CPU", kind = "percent" })
	a:table("interrupts", analysis.columns(what, numbers), rows)
end })

-- switches: context switches of each CPU and each thread, and their rates
--
-- [all|cpus|threads]
--
-- Counts the events of sched_switch. A thread switches in when it is the next one.
--
-- Columns of --where: cpu, tid, comm.
--
-- Examples:
--   $ yore switches fixtures/golden/sched-demo
--   $ yore switches fixtures/golden/sched-perf/perf.data threads --limit 5

local analysis = require("yore.analysis")
local basics = require("yore.basics")
local a = analysis.open(arg, {
	name = "switches", verbs = { "all", "cpus", "threads" }, tables = { all = true }, columns = { "cpu", "tid", "comm" },
	sums = true,
})

local events = a:need({ "sched_switch" }, "when threads switch")

local tid, comm = analysis.field_of(events, "next_tid", "next_pid"), analysis.field_of(events, "next_comm")
local together = a.part ~= nil or a.leaving ~= nil -- parts and conditions need all columns of a row
local lists = together and { { "cpu", tid, comm } } or { { "cpu" }, { tid, comm } }
local counts = a:sums({ key = { "cpu", tid, comm }, sum = { "count" }, last = { "last_ts" } }, function(from, to)
	local counted = trace:count_by{ name = events, from = from, to = to, by = lists }
	return together and counted[1] or counted
end)
if not counts then
	return
end
local of_cpus, of_threads = counts[1], counts[2]
if together then
	for _, row in ipairs(counts) do
		row.tid, row.comm = row[tid], row[comm]
	end
	of_cpus = a:filter_rows(counts)
	of_threads = of_cpus
end

-- Adds rows up by the values of `field`, which become `column`, with the name in the last event.
local function by(column, field, rows)
	local found, list, total = {}, {}, 0
	for _, row in ipairs(rows) do
		local key = row[field]
		if key ~= nil then
			local one = found[key] or basics.add(found, key, list, { [column] = key, count = 0, last_ts = row.last_ts })
			one.count, total = one.count + row.count, total + row.count
			if row.last_ts >= one.last_ts then
				one.comm, one.last_ts = row[comm], row.last_ts
			end
		end
	end
	for _, one in ipairs(list) do
		one.rate = one.count * 1e9 / a.length
	end
	table.sort(list, analysis.order("-count", column))
	return list, total
end

local count = { key = "count", head = "switches", kind = "count", bar = true }
local rate = { key = "rate", head = "per second", kind = "float" }

a:head()
if a.verb ~= "threads" then
	local rows, total = by("cpu", "cpu", of_cpus)
	a:table("cpus", { { key = "cpu", head = "CPU", kind = "count" }, count, rate }, rows)
	a:line("all " .. total .. string.format(", %.2f per second", total * 1e9 / a.length))
end
if a.verb ~= "cpus" then
	a:table("threads", { { key = "tid", head = "TID", kind = "count" }, count, rate,
		{ key = "comm", head = "name" } }, (by("tid", tid, of_threads)))
end

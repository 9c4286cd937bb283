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
local counts = a:sums({ key = { "cpu", tid, comm }, sum = { "count" } }, function(from, to)
	return trace:count_by{ name = events, from = from, to = to, by = { "cpu", tid, comm } }
end)
if not counts then
	return
end
for _, row in ipairs(counts) do
	row.tid, row.comm = row[tid], row[comm]
end
counts = a:filter_rows(counts)

-- Counts by one column, with the name that was counted last.
local function by(column)
	local found, list, total = {}, {}, 0
	for _, row in ipairs(counts) do
		local key = row[column]
		if key ~= nil then
			local one = found[key] or basics.add(found, key, list, { [column] = key, count = 0 })
			one.count, one.comm = one.count + row.count, row.comm
			total = total + row.count
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
	local rows, total = by("cpu")
	a:table("cpus", { { key = "cpu", head = "CPU", kind = "count" }, count, rate }, rows)
	a:line("all " .. total .. string.format(", %.2f per second", total * 1e9 / a.length))
end
if a.verb ~= "cpus" then
	a:table("threads", { { key = "tid", head = "TID", kind = "count" }, count, rate,
		{ key = "comm", head = "name" } }, (by("tid")))
end

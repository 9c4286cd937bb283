-- migrations: how often threads were moved from one CPU to another
--
-- [stats|moves|log]
--
--   stats   of each thread: how often
--   moves   from which CPU to which
--   log     each, in order of time
--
-- These are the events sched_migrate_task, which `perf sched timehist --summary` counts, too.
--
-- Columns of --where: tid, comm, from, to, begin.
--
-- Examples:
--   $ yore migrations fixtures/golden/sched-demo
--   $ yore migrations fixtures/golden/sched-demo moves

local analysis = require("yore.analysis")
local a = analysis.open(arg, {
	name = "migrations", verbs = { "stats", "moves", "log" }, columns = { "tid", "comm", "from", "to", "begin" },
})

local events = a:need({ "sched_migrate_task" }, "when threads are moved")
local rows = {}
for _, tid in ipairs{ "payload/tid", "payload/pid" } do
	for b in trace:batch{ name = events, from = a.start, to = a.stop,
			fields = { tid, "orig_cpu", "dest_cpu" } } do
		for i = 1, b.n do
			if b[tid][i] then
				rows[#rows + 1] = { begin = b.t[i], tid = b[tid][i], from = b.orig_cpu[i], to = b.dest_cpu[i] }
			end
		end
	end
end
a:name_threads(rows, function(row)
	return row.begin
end)
rows = a:filter_rows(rows)

local function counted(key, ...)
	local found, list = {}, {}
	for _, row in ipairs(rows) do
		local name = key(row)
		local one = found[name]
		if not one then
			one = { count = 0 }
			for _, column in ipairs{ ... } do
				one[column] = row[column]
			end
			found[name] = one
			list[#list + 1] = one
		end
		one.count = one.count + 1
	end
	table.sort(list, function(x, y)
		if x.count ~= y.count then
			return x.count > y.count
		end
		return key(x) < key(y)
	end)
	return list
end

local thread = analysis.thread_columns()
local count = { key = "count", head = "moves", kind = "count", bar = true }
local from = { key = "from", head = "from CPU", kind = "count", class = "cpu" }
local to = { key = "to", head = "to CPU", kind = "count", class = "cpu" }

a:head()
if a.verb == "stats" then
	a:table("migrations of each thread", { thread[1], thread[2], count },
		counted(function(row) return row.tid end, "tid", "comm"))
elseif a.verb == "moves" then
	a:table("migrations", { from, to, count },
		counted(function(row) return row.from * 65536 + row.to end, "from", "to"))
else
	table.sort(rows, analysis.order("begin"))
	a:table("migrations", { { key = "begin", head = "at", kind = "time" }, thread[1], thread[2], from, to }, rows)
end

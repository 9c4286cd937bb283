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
local moves = trace:segments{ at = events, key = "payload/tid | payload/pid",
	fields = { from = "begin orig_cpu", to = "begin dest_cpu" }, from = a.start, to = a.stop }
local last = {}
for _, row in ipairs(moves:groups{ by = { "key" } }) do
	last[row.key] = row.last_end
end
a:read_names()
local names = a:names_at(last)
moves = a:filter(moves, { tid = "key", comm = { "key", function(tid) return names[tid] end }, from = "from", to = "to",
	begin = "begin" })

local function named(row)
	row.tid, row.comm = row.key, names[row.key]
end

local function counted(by, ...)
	local rows = moves:groups{ by = by }
	for _, row in ipairs(rows) do
		named(row)
	end
	table.sort(rows, analysis.order("-count", ...))
	return rows
end

local thread = analysis.thread_columns()
local count = { key = "count", head = "moves", kind = "count", bar = true }
local from = { key = "from", head = "from CPU", kind = "count", class = "cpu" }
local to = { key = "to", head = "to CPU", kind = "count", class = "cpu" }

a:head()
if a.verb == "stats" then
	a:table("migrations of each thread", { thread[1], thread[2], count }, counted({ "key" }, "tid"))
elseif a.verb == "moves" then
	a:table("migrations", { from, to, count }, counted({ "from", "to" }, "from", "to"))
else
	a:table("migrations", { { key = "begin", head = "at", kind = "time" }, thread[1], thread[2], from, to },
		a:listed({ { segments = moves } }, named))
end

-- gaps: where the recording does not tell: lost events, and CPUs of which it is not known who runs
--
-- [all|losses|unknown]
--
--   losses    where the tracer lost events, and how many
--   unknown   stretches in which it is not known which thread runs on a CPU
--
-- Columns of --where: cpu, dur, begin.
--
-- Examples:
--   $ yore gaps fixtures/golden/sched-demo unknown --limit 5
--   $ yore gaps fixtures/golden/sched-perf/perf.data --format csv

local analysis = require("yore.analysis")
local a = analysis.open(arg, {
	name = "gaps", verbs = { "all", "losses", "unknown" }, tables = { all = true }, columns = { "cpu", "dur", "begin" },
})

local place = {
	{ key = "begin", head = "from", kind = "time" }, { key = "end", head = "until", kind = "time" },
	{ key = "dur", head = "length", kind = "span", bar = true }, { key = "cpu", head = "CPU", kind = "count" },
}

-- Losses come with the events of any class: one is enough.
local function losses()
	local rows, classes = {}, trace:info().classes
	for ev in trace:events{ name = classes[1] and classes[1].name, losses = true, from = a.start, to = a.stop } do
		if not ev.name then
			local stop = math.min(ev.lost_until, a.stop)
			rows[#rows + 1] = { begin = ev.t, ["end"] = stop, dur = stop - ev.t, cpu = ev.cpu, stream = ev.stream,
				lost = math.type(ev.lost) == "integer" and ev.lost or nil }
		end
	end
	local columns = table.move(place, 1, #place, 1, {})
	columns[5] = { key = "stream", head = "stream" }
	columns[6] = { key = "lost", head = "events", kind = "count", empty = "?" }
	a:table("losses", columns, a:filter_rows(rows))
end

local function unknown()
	local rows, at = {}, {}
	local function gap(cpu, from, to)
		if to > from then
			rows[#rows + 1] = { cpu = cpu, begin = from, ["end"] = to, dur = to - from }
		end
	end
	for _, run in ipairs(trace:segments{ path = "cpu[*]/thread", from = a.start, to = a.stop }:rows()) do
		gap(run.key, at[run.key] or a.start, run.begin)
		at[run.key] = run["end"]
	end
	for cpu, t in pairs(at) do
		gap(cpu, t, a.stop)
	end
	table.sort(rows, function(x, y)
		if x.begin ~= y.begin then
			return x.begin < y.begin
		end
		return x.cpu < y.cpu
	end)
	a:table("unknown", place, a:filter_rows(rows))
end

a:head()
if a.verb ~= "unknown" then
	losses()
end
if a.verb ~= "losses" then
	unknown()
end

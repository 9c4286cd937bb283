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
local basics = require("yore.basics")
local a = analysis.open(arg, {
	name = "gaps", verbs = { "all", "losses", "unknown" }, tables = { all = true }, columns = { "cpu", "dur", "begin" },
	own_losses = true,
})

local place = {
	{ key = "begin", head = "from", kind = "time" }, { key = "end", head = "until", kind = "time" },
	{ key = "dur", head = "length", kind = "span", bar = true }, { key = "cpu", head = "CPU", kind = "count" },
}

local function losses()
	local rows = {}
	for ev in trace:events{ losses = "only", from = a.start, to = a.stop } do
		local stop = math.min(ev.lost_until, a.stop)
		rows[#rows + 1] = { begin = ev.ts, ["end"] = stop, dur = stop - ev.ts, cpu = ev.cpu, stream = ev.stream,
			lost = math.type(ev.lost) == "integer" and ev.lost or nil }
	end
	local columns = table.move(place, 1, #place, 1, {})
	columns[5] = { key = "stream", head = "stream" }
	columns[6] = { key = "lost", head = "events", kind = "count", empty = "?" }
	a:table("losses", columns, a:filter_rows(rows))
end

local function unknown()
	local rows = {}
	local function gap(cpu, from, to)
		if to > from then
			rows[#rows + 1] = { cpu = cpu, begin = from, ["end"] = to, dur = to - from }
		end
	end
	local runs = trace:segments{ path = "cpu[*]/thread", optional = true, from = a.start, to = a.stop }
	for _, run in ipairs(runs:select{ before = basics.is_nil }:rows()) do
		local last = runs:find(run.key, run.begin - 1)
		gap(run.key, last and last["end"] or a.start, run.begin)
	end
	local last = {}
	local cpus = runs:groups{ by = { "key" } }
	for _, cpu in ipairs(cpus) do
		last[cpu.key] = cpu.last_end
	end
	for _, cpu in ipairs(analysis.cpus(cpus)) do
		gap(cpu, last[cpu] or a.start, a.stop)
	end
	table.sort(rows, analysis.order("begin", "cpu"))
	a:table("unknown", place, a:filter_rows(rows))
end

a:head()
if a.verb ~= "unknown" then
	losses()
end
if a.verb ~= "losses" and a:want({ "sched_switch", "perf_switch_cpu_wide", "perf_switch" }, "it is never known who runs") then
	unknown()
end

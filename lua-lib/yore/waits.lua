-- waits: which waits of threads are left out, and why
--
-- A wait ends when sched_switch brings the thread to a CPU. It is left out if the state does not know what the thread did just
-- before: events were lost, a CPU was not recorded, or a switch is missing. Waits that have not ended at the end of the range are
-- counted apart from these.

local analysis = require("yore.analysis")
local basics = require("yore.basics")

local waits = {}

local asleep = { "sleeping", "blocked", "stopped", "traced", "parked" }

-- Paths for a:segments(), whose collections waits.left_out() needs: threads that run after sleep; threads that run after an
-- unknown state; threads off the CPU whose next state is unknown.
waits.paths = {
	{ path = "thread[*]/state", value = "running", before = asleep },
	{ path = "thread[*]/state", value = "running", unknown = "before" },
	{ path = "thread[*]/state", value = { "ready", table.unpack(asleep) }, unknown = "after" },
}

-- Where the recording is incomplete: lost, a list of losses by time, {t =, till = the latest end so far}; edges, {[t] = true} for
-- their begins and ends in the range; begun, until when some CPU was not recorded yet; ended, since when one no longer was.
local function read_places(a)
	local places = { lost = {}, edges = {}, begun = math.mininteger, ended = math.maxinteger }
	local lost, last = places.lost, math.mininteger
	analysis.each_loss(a.start - 1, a.stop, function(t, till)
		lost[#lost + 1] = { t = math.max(t, a.start - 1), till = math.max(till, #lost > 0 and lost[#lost].till or till) }
		for _, edge in ipairs{ t, till } do
			places.edges[edge] = edge >= a.start and edge < a.stop or nil
		end
	end)
	local streams, first = trace:info().streams or {}, trace:bounds()
	for _, stream in ipairs(streams) do
		local begin = stream.cpu and stream.begin or first
		places.begun = begin > first and math.max(places.begun, begin - 1) or places.begun
		last = math.max(last, stream["end"] or last)
	end
	for _, stream in ipairs(streams) do
		local stop = stream.cpu and stream["end"] or last
		places.ended = stop < last and math.min(places.ended, stop + 1) or places.ended
	end
	return places
end

-- Does one of the losses overlap [from, till]?
local function touches(places, from, till)
	local behind = basics.first(#places, function(i) return places[i].t > till end)
	return behind > 1 and places[behind - 1].till >= from
end

-- Why the state of a thread is unknown in [from, till]; from nil: it was unknown since the begin of the range.
local function reason_of(a, places, from, till)
	local since = from or a.start - 1
	if touches(places.lost, since, till) then
		return "lost"
	elseif since <= places.begun or till >= places.ended then
		return "unrecorded"
	end
	return trace:info().tasks and "tasks" or from and "switch" or "before"
end

local windows = 200 -- single switches are read in at most so many parts of the range

-- Calls visit(cpu, tid, t) for each sched_switch at one of the times, {[t] = true}, that brings thread tid to the CPU. If the
-- switch before or after it is missing, only the event itself, not the state, has the thread.
function waits.each_switch(a, times, visit)
	local names, list = analysis.present{ "sched_switch" }, basics.keys(times)
	local first, apart = 1, a.length // windows
	for i = 1, #names > 0 and #list or 0 do
		if not list[i + 1] or list[i + 1] - list[i] > apart then
			for ev in trace:events{ name = names, from = list[first], to = list[i] + 1 } do
				local tid = times[ev.ts] and (ev.fields.next_tid or ev.fields.next_pid) or 0
				if tid ~= 0 then
					visit(ev.cpu, tid, ev.ts)
				end
			end
			first = i + 1
		end
	end
end

-- The times, {[t] = true}, at which a thread may have come to a CPU without a run in the state to show it, added to `edges`; and
-- {["CPU t"] = thread} for runs that begin after an unknown one.
local function doubtful(runs, edges, stop)
	local times, found = edges, {}
	for _, row in ipairs(runs:select{ begun = true, before = basics.is_nil, value = function(tid) return tid ~= 0 end }:rows()) do
		times[row.begin], found[row.key .. " " .. row.begin] = true, row.value
	end
	for _, row in ipairs(runs:select{ ["end"] = { max = stop - 1 }, after = basics.is_nil }:rows()) do
		times[row["end"]] = true
	end
	return times, found
end

-- Reads the switches at these times: `unseen`, a set by thread and time of those that begin a run; `cut`, a list of {tid =, t =}
-- of those that begin none in the state, because events are missing behind them.
local function events_of(a, runs, edges)
	local times, found = doubtful(runs, edges, a.stop)
	local unseen, cut = {}, {}
	waits.each_switch(a, times, function(cpu, tid, t)
		local begin, _, runs_then = runs:look(cpu, t)
		if found[cpu .. " " .. t] == tid then
			unseen[tid .. " " .. t] = true
		elseif begin ~= t or runs_then ~= tid then
			cut[#cut + 1] = { tid = tid, t = t }
		end
	end)
	return unseen, cut
end

-- Calls visit(tid, t) for each segment of `stretches` that begins with a switch.
local function each_begin(stretches, runs, by_thread, unseen, visit)
	for first = 1, #stretches, 1000 do
		for _, row in ipairs(stretches:rows(first, first + 999)) do
			local begin, _, cpu = by_thread:look(row.key, row.begin)
			local run = begin == row.begin and row.begun and runs:find(cpu, begin)
			if run and run.begin == begin and (run.before ~= nil or unseen[row.key .. " " .. begin]) then
				visit(row.key, begin)
			end
		end
	end
end

-- Returns how many ends of waits in the range are left out, {[reason] = count}, and how many are not. needs_wakeup: also those
-- whose thread slept until it ran. runs: segments of cpu[*]/thread; by_thread: runs:rekey(); found: collections of waits.paths.
function waits.left_out(a, needs_wakeup, runs, by_thread, found)
	local from_sleep, unknown, until_unknown = table.unpack(found)
	local left, all, places = {}, 0, read_places(a)
	local function add(why)
		left[why], all = (left[why] or 0) + 1, all - 1
	end
	local function add_sleep()
		add("wakeup")
	end
	local function add_unknown(tid, t)
		local before = by_thread:find(tid, t - 1)
		add(reason_of(a, places, before and math.min(before["end"], t), t))
	end
	local unseen, cut = events_of(a, runs, places.edges)
	all = all + #cut + #runs:select{ begun = true, before = basics.is_some, value = function(tid) return tid ~= 0 end }
	for _ in pairs(unseen) do
		all = all + 1
	end
	if needs_wakeup then
		each_begin(from_sleep, runs, by_thread, unseen, add_sleep)
	end
	each_begin(unknown, runs, by_thread, unseen, add_unknown)
	for _, moment in ipairs(cut) do
		local before = until_unknown:find(moment.tid, moment.t - 1)
		if not before or before["end"] ~= moment.t then
			add_unknown(moment.tid, moment.t)
		elseif needs_wakeup and before.value ~= "ready" then
			add_sleep()
		end
	end
	-- the last run of each CPU: the thread may have no state behind the CPU's last switch
	for _, cpu in ipairs(runs:distinct("key")) do
		local run = runs:find(cpu, a.stop)
		if run.value ~= 0 and run.begun and (run.before ~= nil or unseen[run.value .. " " .. run.begin])
				and unknown:look(run.value, run.begin) ~= run.begin
				and trace:at(run.begin - 1, "thread[" .. run.value .. "]/state") == nil then
			add_unknown(run.value, run.begin)
		end
	end
	return left, all
end

-- Returns how many of the waits `started` (segments) last at the end of the range, and how many have no known end: the state
-- became unknown, and the thread did not run then or later. by_thread: runs by thread; seen: the switches of each_switch(), by
-- thread and time.
function waits.unended(a, started, by_thread, seen)
	local missing = 0
	for _, row in ipairs(started:select{ ended = false, ["end"] = { max = a.stop - 1 } }:rows()) do
		local later = by_thread:find(row.key, a.stop)
		if not seen[row.key .. " " .. row["end"]] and (not later or later.begin < row["end"]) then
			missing = missing + 1
		end
	end
	return #started:select{ ["end"] = { min = a.stop } }, missing
end

-- Reasons in the order of the note, and their texts.
local texts = {
	{ "lost", "%d lasted while events were lost" },
	{ "unrecorded", "%d lasted while a CPU was not recorded" },
	{ "tasks", "%d lasted while their thread was not followed (single tasks were recorded, not CPUs)" },
	{ "switch", "%d lasted while a switch is missing (see 'yore check')" },
	{ "wakeup", "the wake-up of %d is missing" },
	{ "before", "%d began before the range" },
	{ "open", "%d had not ended at its end" },
	{ "unended", "the end of %d is missing" },
}

-- Gives a note on how many waits are left out, and why; `what`: their name in the plural; `told`: how many are not left out.
function waits.tell(a, left, told, what)
	local reasons, all = {}, 0
	for _, reason in ipairs(texts) do
		local count = left[reason[1]] or 0
		all = all + count
		reasons[#reasons + 1] = count > 0 and string.format(reason[2], count) or nil
	end
	if all > 0 then
		yore.note(string.format("%s%d of %d %s are left out: %s", a:counting(), all, all + told, what, table.concat(reasons, "; ")))
	end
end

return waits

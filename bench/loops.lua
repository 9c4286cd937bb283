-- loops: CPU seconds of one way to go through a trace from Lua; what `make bench` measures
--
-- loop|values|batch: three fields of each sched_switch, by name, given by the loop, in batches; every|all: the same of all
-- events, where most have none, given by the loop, in batches; at: moments.
-- Prints how many events or moments there were, and the seconds.

local mode = arg[1]
local fields = { "next_tid", "prev_tid", "prev_prio" }
local begin = os.clock()

local ways = {}

function ways.loop()
	local n, sum = 0, 0
	for ev in trace:events{ name = "sched_switch" } do
		local f = ev.fields
		n, sum = n + 1, sum + f.next_tid + f.prev_tid + f.prev_prio
	end
	return n, sum
end

local function values(name)
	local n, sum = 0, 0
	for _, next_tid, prev_tid, prev_prio in trace:events{ name = name, fields = fields } do
		n, sum = n + 1, sum + (next_tid or 0) + (prev_tid or 0) + (prev_prio or 0)
	end
	return n, sum
end

function ways.values()
	return values("sched_switch")
end

function ways.every()
	return values()
end

local function batches(name)
	local n, sum = 0, 0
	for b in trace:batch{ name = name, fields = fields, reuse = true } do
		local next_tid, prev_tid, prev_prio = b.next_tid, b.prev_tid, b.prev_prio
		for i = 1, b.n do
			if next_tid[i] then
				sum = sum + next_tid[i] + prev_tid[i] + prev_prio[i]
			end
		end
		n = n + b.n
	end
	return n, sum
end

function ways.batch()
	return batches("sched_switch")
end

function ways.all()
	return batches()
end

function ways.at()
	local first, last = trace:bounds()
	local n, sum = 20000, 0
	trace:at(first, "cpu[3]/thread")
	begin = os.clock()
	for i = 1, n do
		sum = sum + (trace:at(first + (last - first) * i // (n + 1), "cpu[3]/thread") or 0)
	end
	return n, sum
end

local n, sum = ways[mode]()
print(n, os.clock() - begin, sum)

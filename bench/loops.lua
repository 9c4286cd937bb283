-- loops: CPU seconds of one way to go through a trace from Lua; what `make bench` measures
--
-- loop|batch: three fields of each sched_switch; all: the same of all events, where most have none; at: moments.
-- Prints how many events or moments there were, and the seconds.

local mode = arg[1]
local fields = { "next_tid", "prev_tid", "prev_prio" }
local n, sum, begin = 0, 0, os.clock()

local ways = {}

function ways.loop()
	for ev in trace:events{ name = "sched_switch" } do
		local f = ev.fields
		n, sum = n + 1, sum + f.next_tid + f.prev_tid + f.prev_prio
	end
end

local function batches(options)
	options.fields = fields
	for b in trace:batch(options) do
		local next_tid, prev_tid, prev_prio = b.next_tid, b.prev_tid, b.prev_prio
		for i = 1, b.n do
			n, sum = n + 1, sum + (next_tid[i] or 0) + (prev_tid[i] or 0) + (prev_prio[i] or 0)
		end
	end
end

function ways.batch()
	batches{ name = "sched_switch" }
end

function ways.all()
	batches{}
end

function ways.at()
	local first, last = trace:bounds()
	trace:at(first, "cpu[3]/thread")
	begin = os.clock()
	for i = 1, 20000 do
		n, sum = n + 1, sum + (trace:at(first + (last - first) * i // 20001, "cpu[3]/thread") or 0)
	end
end

ways[mode]()
print(n, os.clock() - begin, sum)

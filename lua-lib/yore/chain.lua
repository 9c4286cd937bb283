-- chain: the wake-up chain of a thread, from the end of a range back to its begin
--
-- While a thread runs or waits for a CPU, it is itself on the chain. Where it sleeps, the chain goes on with the thread
-- that woke it, at the moment of the wake-up. Where it was made, the chain goes on with the thread that made it. Where no thread woke it (a timer, a device, another interrupt), or it is not known who did,
-- the thread's sleep is on the chain.

local chain = {}
local methods = {}
methods.__index = methods

chain.asleep = { sleeping = true, blocked = true, stopped = true, traced = true, parked = true }

local most = 100 -- wake-ups one behind the other without any time between them, or one inside the other

-- states: segments of thread[*]/state, with the column `waker`: what thread[T]/waker is at their end. creations: those of
-- kernel.creations(), and whether a new thread waits until it runs; nil: it is not known who makes threads.
function chain.new(states, creations, waits)
	return setmetatable({ states = states, creations = creations, waits = waits }, methods)
end

-- The stretch of the thread that holds just before t; nil: nothing is known of it then. The second
-- result is the last stretch that began before t.
function methods:before(thread, t)
	local row = self.states:find(thread, t - 1)
	return row and row["end"] >= t and row or nil, row
end

-- Does the interval `row` of a thread's state end at t with a wake-up?
function chain.is_woken(row, t)
	return row ~= nil and chain.asleep[row.value] == true and row["end"] == t and row.ended
end

-- The thread that ended the sleep of `row` at t by a wake-up, with which the chain goes on; nil: none.
function methods:waker(thread, row, t)
	local waker = chain.is_woken(row, t) and row.waker
	return math.type(waker) and waker ~= 0 and waker ~= thread and self:before(waker, t) and waker or nil
end

-- When the thread that is there just before t was made, and by which thread, where nothing is known of it between the two, or where that is at t;
-- row and earlier: what before() gives. nil: it was made before, or it is not known by whom.
function methods:made(thread, t, row, earlier)
	local made = self.creations and self.creations:find(thread, t)
	if not made or made.begin < t and (row or earlier and earlier["end"] > made.begin)
			or not made.creator or made.creator == 0 or made.creator == thread then
		return
	end
	return made.begin, made.creator
end

-- The thread that ended the last sleep of the thread in [from, t), when, and the stretch of the sleep. The first is nil where no
-- thread ended it or nobody knows, all are where it did not sleep or that is not known.
function methods:last_waker(thread, from, t)
	while t > from do
		local row = self:before(thread, t)
		if not row or row.begin < from then
			return
		elseif chain.asleep[row.value] then
			return self:waker(thread, row, t), t, row
		end
		t = row.begin
	end
end

-- The begin of the interval that ends at t, or `from` if it begins before that.
local function begin_of(row, earlier, from)
	return math.max(row and row.begin or earlier and earlier["end"] or from, from)
end

-- The chain back from t as one path: it does not return to a thread when its sleep began, nor when the one that it made was made.
-- visit(thread, state, begin, end, row): row is the stretch that it is part of, nil where nothing is known.
function methods:path(thread, from, t, visit)
	local visited = 0
	while t > from do
		local row, earlier = self:before(thread, t)
		local waker = visited < most and self:waker(thread, row, t)
		local made, creator = self:made(thread, t, row, earlier)
		if made and made > from and visited < most then
			if made < t then
				local first = self.states:find(thread, t)
				visit(thread, self.waits and first and first.begin == t and first.value == "running" and "ready" or "unknown", made, t, nil)
				visited = 0
			end
			thread, t, visited = creator, made, visited + 1
		elseif waker then
			thread, visited = waker, visited + 1
		else
			local begin = row and row.begin or begin_of(row, earlier, from)
			visit(thread, row and row.value or "unknown", begin, t, row)
			t, visited = begin, 0
		end
	end
end

-- All of the thread's own time in [from, t), back from t: each sleep is explained by the chain of the thread that ended
-- it, from the sleep's end to its begin. explained(thread, row): the sleep needs none, its cause is known.
-- visit(thread, row, begin, end, sleep): row is nil where nothing is known, sleep the stretch of the thread that waits for
-- this one, nil for the thread itself.
function methods:split(thread, from, t, explained, visit, sleep, depth)
	depth = depth or 0
	while t > from do
		local row, earlier = self:before(thread, t)
		local begin = begin_of(row, earlier, from)
		local waker = depth < most and self:waker(thread, row, t)
		if waker and not explained(thread, row) then
			self:split(waker, begin, t, explained, visit, { thread = thread, row = row }, depth + 1)
		else
			visit(thread, row, begin, t, sleep)
		end
		t = begin
	end
end

-- Gives a note that the waker of `count` sleeps is unknown; `name` is the analysis, `which` describes the sleeps.
function chain.tell_unknown(name, count, which)
	if count > 0 then
		yore.note(string.format("%s: of %d wake-ups %s nothing tells whether a thread or an interrupt woke: record the events "
			.. "irq_handler_*, softirq_* and hrtimer_expire_*, too", name, count, which))
	end
end

return chain

-- causes: where the time of a thread went, by cause and by who is behind it
--
--     running    it computed                      frequency  what a slower CPU made of it (who: the CPU and its frequency)
--     ready      it waited for a CPU (who: the thread that ran there)
--     lock       it waited for a lock (who: the thread that held it)
--     wait       it waited for another thread (who: that thread)
--     io         it waited for a block device (who: the device)
--     interrupt  handlers ran in its place (who: the interrupt)
--     migration  what changes of CPU cost        sleep  it waited for its own timer
--     blocked    it waited, the trace does not tell for what        unknown  the trace does not tell what it did
--
-- A sleep that another thread ended is explained by what that thread did meanwhile (yore.chain). All parts together are the
-- time that was asked for.

local analysis = require("yore.analysis")
local basics = require("yore.basics")
local chain = require("yore.chain")
local kernel = require("yore.kernel")

local causes = {}
local methods = {}
methods.__index = methods

-- System calls that sleep until a time, and those that may.
local timed = { nanosleep = true, clock_nanosleep = true }
local may_time_out = { poll = true, ppoll = true, select = true, pselect6 = true, epoll_wait = true, epoll_pwait = true,
	epoll_pwait2 = true, rt_sigtimedwait = true, futex = true, futex_wait = true, semtimedop = true }
local futexes = { futex = true, futex_wait = true, futex_waitv = true }
local wait_after_io = 50000 -- ns: at most so much later the thread is woken whose request is complete

-- ---- reading a trace ----

local requests = { begin = { "block_rq_issue" }, finish = { "block_rq_complete" }, key = "dev + sector", fields = { dev = "begin dev" } }
local contentions = { begin = { "contention_begin" }, finish = { "contention_end" }, key = kernel.thread }

local function disk_name(dev)
	return math.type(dev) and string.format("%d:%d", dev >> 20, dev & 0xfffff) or tostring(dev)
end

-- Segments of completed requests of block devices as three lists, {ends =, begins =, devs =}, by the time of their end; nil for nil.
local function requests_of(found)
	if not found then
		return
	end
	local ends, begins, devs = {}, {}, {}
	for i, row in ipairs(found:sorted("end")) do
		ends[i], begins[i], devs[i] = row["end"], row.begin, disk_name(row.dev)
	end
	return { ends = ends, begins = begins, devs = devs }
end

-- The completed requests of the global trace in [start, stop), as requests_of() says; nil: the trace has no such events.
function causes.read_requests(start, stop)
	return requests_of(kernel.pairs(start, stop, { requests })[1])
end

-- Reads states, names, interrupts and requests of the global trace from `start` to `stop`; see its members.
function causes.read(start, stop)
	local self = setmetatable({ start = start, stop = stop, irq_names = {}, known_names = {}, ran = {} }, methods)
	local function optional(path)
		return { path = path, optional = true }
	end
	self.states, self.wakers, self.on_cpu, self.calls, self.names, self.irqs, self.softirqs, self.frequencies =
		trace:segments{ from = start, to = stop, optional("thread[*]/state"), optional("thread[*]/waker"),
			optional("cpu[*]/thread"), optional("thread[*]/syscall"), optional("thread[*]/name"),
			optional("cpu[*]/irq"), optional("cpu[*]/softirq"), optional("cpu[*]/frequency") }
	self.states:join(self.wakers, { waker = "value" }, { at = "end" })
	self.states:join(self.calls, { syscall = "value" })
	self.wakers = nil
	self.runs = self.on_cpu:rekey()
	self.chain = chain.new(self.states)
	local found = kernel.pairs(start, stop, { requests, contentions })
	self.requests, self.contentions = requests_of(found[1]), found[2] and found[2]:rekey():rekey()
	self.has_frequency = #self.frequencies > 0
	return self
end

-- The text for a thread without a known name.
function causes.nameless(tid)
	return tid == 0 and "swapper" or "thread " .. tostring(tid)
end

function methods:name(tid, t)
	local known = self.known_names[tid]
	if known and known.from <= t and t < known.till then
		return known.name
	end
	local from, till, name = self.names:look(tid, t)
	if name then
		self.known_names[tid] = { from = from, till = till, name = name }
	else
		_, _, name = self.names:look(tid, self.stop)
	end
	return name or causes.nameless(tid)
end

-- ---- interrupts, CPUs ----

local function irq_label(self, kind, number)
	local key = kind .. number
	local label = self.irq_names[key]
	if not label then
		local name = trace:at(self.stop - 1, kind .. "[" .. number .. "]/name")
		label = kind == "softirq" and "softirq " .. (name and name:upper() or number)
			or "irq " .. number .. (name and " " .. name or "")
		self.irq_names[key] = label
	end
	return label
end

-- The CPU on which the thread ran at t or last before it.
local function cpu_at(self, tid, t)
	local _, _, cpu = self.runs:look(tid, t)
	return cpu
end

-- ---- one piece of time ----

-- A cache of keys of parts, which are looked up millions of times: keys[cause][who] is cause, a zero byte, who.
local keys = setmetatable({}, { __index = function(all, cause)
	all[cause] = setmetatable({}, { __index = function(own, who)
		own[who] = cause .. "\0" .. who
		return own[who]
	end })
	return all[cause]
end })

-- The part of a unit's time with this cause and `who`, made if there is none.
function causes.part_of(unit, cause, who)
	local key = keys[cause][who or ""]
	local part = unit.parts[key]
	if not part then
		part = { cause = cause, who = who, time = 0, longest = 0 }
		unit.parts[key] = part
	end
	return part
end

local function add(unit, cause, who, begin, stop)
	local time = stop - begin
	if time <= 0 then
		return
	end
	local part = unit.parts[keys[cause][who or ""]] or causes.part_of(unit, cause, who)
	part.time = part.time + time
	if time > part.longest then
		part.longest, part.at = time, begin
	end
end

-- Interrupts in [begin, stop) of the CPU become their own; returns how much they took. An interrupt within a softirq
-- counts alone.
local function add_interrupts(self, unit, cpu, begin, stop)
	local taken = 0
	kernel.overlaps(self.irqs, cpu, begin, stop, function(number, from, till)
		add(unit, "interrupt", irq_label(self, "irq", number), from, till)
		taken = taken + (till - from)
	end)
	kernel.overlaps(self.softirqs, cpu, begin, stop, function(number, from, till)
		local label, at = irq_label(self, "softirq", number), till
		kernel.overlaps(self.irqs, cpu, from, till, function(_, inner, outer)
			add(unit, "interrupt", label, outer, at)
			taken, at = taken + (at - outer), inner
		end)
		add(unit, "interrupt", label, from, at)
		taken = taken + (at - from)
	end)
	return taken
end

-- The unit's own cycles, as far as the frequency of its CPU was recorded.
local function add_cycles(self, unit, cpu, begin, stop)
	kernel.overlaps(self.frequencies, cpu, begin, stop, function(khz, from, till)
		if khz > 0 then
			unit.cycles = unit.cycles + (till - from) * khz
			unit.clocked = unit.clocked + (till - from)
			local label = string.format("CPU %d at %d kHz", cpu, khz)
			unit.clocks[label] = (unit.clocks[label] or 0) + (till - from)
		end
	end)
end

local function add_running(self, unit, thread, begin, stop, waiting)
	local left = stop
	kernel.overlaps(self.runs, thread, begin, stop, function(cpu, from, till, began)
		add(unit, waiting and waiting.cause or "running", waiting and waiting.who, till, left)
		left = from
		local taken = add_interrupts(self, unit, cpu, from, till)
		if waiting then
			add(unit, waiting.cause, waiting.who, from, till - taken)
			return
		end
		add(unit, "running", nil, from, till - taken)
		if self.has_frequency then
			add_cycles(self, unit, cpu, from, till)
		end
		local last = began >= unit.begin and cpu_at(self, thread, began - 1)
		if last and last ~= cpu then
			unit.moves = unit.moves + 1
			unit.moved = unit.moved + (till - from - taken)
			unit.move_at = from
			unit.move = string.format("CPU %d -> CPU %d", last, cpu)
		end
	end)
	add(unit, waiting and waiting.cause or "running", waiting and waiting.who, begin, left)
end

-- Who had the CPU in the range, the last first: {begins =, ends =, threads =, names =}; names are filled in when they are asked for.
local function runs_on(self, cpu)
	local ran = self.ran[cpu]
	if not ran then
		local begins, ends, threads = {}, {}, {}
		kernel.overlaps(self.on_cpu, cpu, self.start, self.stop, function(thread, begin, stop)
			local i = #begins + 1
			begins[i], ends[i], threads[i] = begin, stop, thread
		end)
		ran = { begins = begins, ends = ends, threads = threads, names = {} }
		self.ran[cpu] = ran
	end
	return ran
end

-- Of runs, the last first, the first that begins before t.
local function first_before(begins, t)
	local low, high = 1, #begins + 1
	while low < high do
		local middle = (low + high) // 2
		if begins[middle] < t then high = middle else low = middle + 1 end
	end
	return low
end

-- The thread could run from begin to stop and did not: who had the CPU that it then got, else the one it had.
local function add_ready(self, unit, thread, begin, stop)
	local cpu = cpu_at(self, thread, stop)
	if not cpu then
		add(unit, "ready", nil, begin, stop)
		return
	end
	local ran = runs_on(self, cpu)
	local begins, ends, threads, names, left = ran.begins, ran.ends, ran.threads, ran.names, stop
	for i = first_before(begins, stop), #begins do
		local from, till, running = begins[i], ends[i], threads[i]
		if till <= begin then
			break
		end
		if till < left then
			add(unit, "ready", nil, till, left)
			left = till
		end
		local name = names[i]
		if not name and running ~= 0 then
			name = self:name(running, from)
			names[i] = name
		end
		from = from > begin and from or begin
		add(unit, "ready", running ~= thread and name or nil, from, left)
		left = from
	end
	add(unit, "ready", nil, begin, left)
end

-- The device of the last request that completed before the sleep `row` ended at t.
function causes.device(requests, row, t)
	if not requests or row.value ~= "blocked" then
		return
	end
	local i = basics.first(#requests.ends, function(k) return requests.ends[k] > t end) - 1
	if i > 0 and requests.ends[i] > row.begin and requests.ends[i] >= t - wait_after_io then
		return requests.devs[i]
	end
end

local function in_lock(self, thread, row)
	if futexes[row.syscall] then
		return true
	end
	if not self.contentions then
		return false
	end
	local _, till = self.contentions:look(thread, row.begin)
	return till ~= nil and till > row.begin
end

-- The cause of a sleep that needs no other thread as explanation; nil: it needs one.
local function cause_of(self, thread, row)
	local stop = row["end"]
	if not chain.asleep[row.value] then
		return
	end
	if timed[row.syscall] then
		return "sleep"
	end
	if not row.ended or in_lock(self, thread, row) then
		return
	end
	local disk = causes.device(self.requests, row, stop)
	if disk then
		return "io", disk
	end
	local thread_number, interrupt, kind = kernel.waker_of(row.waker)
	if not kind or kind == "thread" and thread_number ~= 0 then
		return
	end
	local is_timer = interrupt == "timer" or interrupt == "softirq TIMER" or interrupt == "softirq HRTIMER"
	if may_time_out[row.syscall] and (is_timer or interrupt == "interrupt" or not interrupt) then
		return "sleep"
	end
	return "blocked", interrupt
end

-- ---- a unit ----

-- Splits the time of a thread: unit.parts by cause and who, {cause =, who =, time =, longest =, at =}; unit.cycles, .clocked,
-- .clocks: cycles, time and CPUs of known frequency; unit.moves, .moved: stretches behind a change of CPU, their time.
function methods:split(unit)
	unit.parts, unit.cycles, unit.clocked, unit.clocks, unit.moves, unit.moved = {}, 0, 0, {}, 0, 0
	if not unit.thread then
		add(unit, "unknown", nil, unit.begin, unit["end"])
		return unit
	end
	local function explained(thread, row)
		return cause_of(self, thread, row) ~= nil
	end
	self.chain:split(unit.thread, unit.begin, unit["end"], explained, function(thread, row, begin, stop, sleep)
		local state = row and row.value
		local waiting = sleep and { cause = in_lock(self, sleep.thread, sleep.row) and "lock" or "wait",
			who = self:name(thread, begin) }
		if not state then
			add(unit, "unknown", nil, begin, stop)
		elseif state == "running" or state == "exiting" then
			add_running(self, unit, thread, begin, stop, waiting)
		elseif state == "ready" then
			add_ready(self, unit, thread, begin, stop)
		else
			local cause, who = cause_of(self, thread, row)
			if waiting and cause ~= "io" then
				cause, who = waiting.cause, waiting.who
			elseif not cause then
				cause = in_lock(self, thread, row) and "lock" or "blocked"
			end
			add(unit, cause, who, begin, stop)
		end
	end)
	return unit
end

return causes

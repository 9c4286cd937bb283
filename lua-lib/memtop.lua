-- memtop: which threads allocate and free memory, and how much is resident
--
-- [threads|calls|rss]
--
--   threads   of each thread: pages that it took and gave back, and in how many allocations
--   calls     of each process: bytes that it mapped and unmapped, and by how much its heap grew and shrank
--   rss       of each address space: how much of it was resident, at the end and at most
--
-- `threads` counts mm_page_alloc and mm_page_free, by the thread that ran: an event of order N is of 2^N pages.
-- lttng-memtop counts events alone, which are the columns "allocations" and "frees". Pages that a thread frees
-- may be those of another one. An allocation that failed is counted as failed alone.
--
-- `calls` reads the system calls mmap, munmap, mremap and brk, by their own events or by raw ones whose numbers have names, in the order in which they return. Bytes are whole pages
-- of 4 KiB. Where addresses were mapped is remembered: a mapping in place of another one (MAP_FIXED) unmaps that one, a part that
-- is unmapped leaves the rest, and mremap maps and unmaps what it adds, cuts off or moves. Memory that was unmapped and was not seen to be
-- mapped is in "unmapped", and in "not seen" once more: it was mapped before the range, by a parent or by exec, or nothing was there.
-- What a mapping took the place of without having been seen, what exec and exit give back, and shared memory (shmat) are
-- not counted. The heap grows by the difference between what two calls of brk returned: the first one of a process that changes it is counted in "unknown" where no
-- call before it told the heap's end. Calls that failed are counted as failed alone. Where it is not known of which
-- process a thread is, the thread stands for it.
--
-- `rss` reads rss_stat, which tells how much of one kind (file, anonymous, swap, shared) an address space has once that
-- changed: what had not changed within the range is not known and not in the sum. The thread is the last one that was
-- seen to run with the address space. Swapped memory is not resident.
--
-- Columns of --where: tid, comm; of `threads` also allocated, freed, net, allocations, frees; of `rss` also
-- resident, max, file, anon, shmem, swap; of `calls` pid, comm, mapped, unmapped, unseen, grown, shrunk, net.
--
-- Examples:
--   $ yore memtop fixtures/golden/memory-demo calls

local analysis = require("yore.analysis")
local basics = require("yore.basics")
local kernel = require("yore.kernel")
local a = analysis.open(arg, {
	name = "memtop", verbs = { "threads", "calls", "rss" },
	columns = { "tid", "comm", "allocated", "freed", "allocations", "frees", "failed", "resident", "max", "file",
		"anon", "shmem", "swap", "pid", "mapped", "unmapped", "unseen", "grown", "shrunk", "net" },
	columns_of = { threads = { "tid", "comm", "allocated", "freed", "net", "allocations", "frees", "failed" },
		calls = { "pid", "comm", "mapped", "unmapped", "unseen", "grown", "shrunk", "net" },
		rss = { "tid", "comm", "resident", "max", "file", "anon", "shmem", "swap" } },
})

-- A condition for events without a page, by the field that has the page; nil: no such field.
local function no_page(events)
	local page = analysis.field_of(events, "pfn", "page")
	return page == "pfn" and "pfn == 0xffffffffffffffff" or page and "page == 0"
end

local function threads()
	local allocs = a:need({ "mm_page_alloc", "kmem_mm_page_alloc" }, "which pages threads allocate")
	local frees = a:want({ "mm_page_free", "kmem_mm_page_free", "mm_page_free_direct" },
		"it is not known which pages are given back")
	local found, list = {}, {}

	local function each(events, where, add)
		for _, group in ipairs(kernel.count_by_thread(a, events, { "order" }, where)) do
			local row = found[group.tid or false] or basics.add(found, group.tid or false, list,
				{ tid = group.tid, allocated = 0, freed = 0, allocations = 0, frees = 0, failed = 0 })
			add(row, group.count, group.count << (group.order or 0))
		end
	end

	each(allocs, nil, function(row, count, pages)
		row.allocations, row.allocated = row.allocations + count, row.allocated + pages
	end)
	local failed = no_page(allocs)
	if failed then
		each(allocs, failed, function(row, count, pages)
			row.failed, row.allocations = row.failed + count, row.allocations - count
			row.allocated = row.allocated - pages
		end)
	end
	if frees then
		each(frees, nil, function(row, count, pages)
			row.frees, row.freed = row.frees + count, row.freed + pages
		end)
	end
	for _, row in ipairs(list) do
		row.net = row.allocated - row.freed
	end
	return list
end

-- ---- system calls ----

local PAGE = 4096

local function whole_pages(bytes)
	return (bytes or 0) + PAGE - 1 & -PAGE
end

-- The mapped addresses of a process are a rising list {begin, end, begin, end, ...}, in which no two ranges touch. Returns the
-- index of the first range that ends at `address` or after it.
local function find_range(list, address)
	local low, high = 1, #list // 2 + 1
	while low < high do
		local middle = (low + high) // 2
		if list[2 * middle] >= address then
			high = middle
		else
			low = middle + 1
		end
	end
	return 2 * low - 1
end

-- Replaces the ranges at indices [first, last) of the list by `values`.
local function replace(list, first, last, values)
	local behind = first + #values
	if behind ~= last then
		table.move(list, last, #list + math.max(0, last - behind), behind)
	end
	table.move(values, 1, #values, first, list)
end

-- Removes [from, to) from the ranges; returns how many bytes of it were mapped.
local function take(list, from, to)
	local first, taken, left = find_range(list, from + 1), 0, {}
	local last = first
	while list[last] and list[last] < to do
		local begin, stop = list[last], list[last + 1]
		taken = taken + math.min(stop, to) - math.max(begin, from)
		if begin < from then
			table.move({ begin, from }, 1, 2, #left + 1, left)
		end
		if stop > to then
			table.move({ to, stop }, 1, 2, #left + 1, left)
		end
		last = last + 2
	end
	replace(list, first, last, left)
	return taken
end

-- Adds [from, to), of which no byte is mapped, to the ranges.
local function put(list, from, to)
	local first = find_range(list, from)
	local last = first
	if list[first + 1] == from then
		from, last = list[first], first + 2
	end
	if list[last] == to then
		to, last = list[last + 1], last + 2
	end
	replace(list, first, last, { from, to })
end

local function map(row, address, size)
	row.mapped = row.mapped + size
	if size > 0 then
		row.unmapped = row.unmapped + take(row.maps, address, address + size)
		put(row.maps, address, address + size)
	end
end

local function unmap(row, address, size)
	row.unmapped = row.unmapped + size
	row.unseen = row.unseen + size - (address and size > 0 and take(row.maps, address, address + size) or 0)
end

local DONTUNMAP = 4 -- of mremap

-- What a call says when it has returned `ret`; of brk see below.
local effects = {
	mmap = function(row, call) map(row, call.ret, whole_pages(call.len)) end,
	munmap = function(row, call) unmap(row, call.addr, whole_pages(call.len)) end,
	mremap = function(row, call)
		local old, new = whole_pages(call.old), whole_pages(call.new)
		if call.addr ~= call.ret or (call.flags or 0) & DONTUNMAP ~= 0 then
			unmap(row, call.addr, (call.flags or 0) & DONTUNMAP == 0 and old or 0)
			map(row, call.ret, new)
		elseif new > old then
			map(row, call.addr + old, new - old)
		else
			unmap(row, call.addr + new, old - new)
		end
	end,
}
effects.mmap2 = effects.mmap

-- The heap's end is what brk returns; it has moved where that is what was asked for.
function effects.brk(row, call)
	if call.brk ~= 0 and call.ret == call.brk then
		local by = row.heap and call.ret - row.heap
		row.unknown = row.unknown + (by and 0 or 1)
		row.grown, row.shrunk = row.grown + math.max(by or 0, 0), row.shrunk + math.max(-(by or 0), 0)
	elseif call.brk ~= 0 then
		row.failed = row.failed + 1
	end
	row.heap = call.ret
end

-- The names of the events that enter, and of those that leave, the calls that map memory.
local function call_events()
	local enter, leave, found = {}, {}, {}
	for _, name in ipairs{ "mmap", "mmap2", "munmap", "mremap", "brk" } do
		local from = analysis.present{ "syscall_entry_" .. name, "compat_syscall_entry_" .. name, "sys_enter_" .. name }
		local to = analysis.present{ "syscall_exit_" .. name, "compat_syscall_exit_" .. name, "sys_exit_" .. name }
		if #from > 0 and #to > 0 then
			table.move(from, 1, #from, #enter + 1, enter)
			table.move(to, 1, #to, #leave + 1, leave)
			found[name:match("^mmap") or name] = true
		end
	end
	if #enter == 0 then
		error("memtop: the trace has no events of mmap, munmap and brk by name, which tell how processes map memory: " .. analysis.advice("record them with lttng "
			.. "enable-event --kernel --syscall mmap,munmap,mremap,brk, perf record -e 'syscalls:sys_*_mmap,syscalls:sys_*_munmap,"
			.. "syscalls:sys_*_mremap,syscalls:sys_*_brk' or trace-cmd record -e syscalls:sys_enter_mmap and so on"), 0)
	end
	for _, name in ipairs{ "mmap", "munmap", "brk" } do
		if not found[name] then
			yore.note("memtop: without events of " .. name .. " its part of the memory is not known")
		end
	end
	return enter, leave
end

-- Returns a function that gives the process of a call: of the event, else thread[T]/process at its end, else the thread.
local function process_of()
	local told
	return function(call)
		if not call.pid and not told then
			told = trace:segments{ path = "thread[*]/process", optional = true, from = a.start, to = a.stop }
		end
		local pid = call.pid
		if not pid then
			_, _, pid = told:look(call.key, call["end"])
		end
		return pid or call.key
	end
end

-- The arguments of each call, in the order of the raw system call's.
local arguments = {
	mmap = { "addr", "len", "prot", "flags" }, munmap = { "addr", "len" }, mremap = { "addr", "old", "new", "flags" }, brk = { "brk" },
}

-- The calls from events with their name; nil: the range has none of these, but raw system calls.
local function named_calls()
	if #analysis.present{ "sys_enter" } > 0 and #analysis.present{ "sys_exit" } > 0 then
		local named = analysis.present{ "sys_enter_mmap", "sys_enter_munmap", "sys_enter_brk", "syscall_entry_mmap" }
		if #named == 0 or not next(kernel.recorded(a, named)) then
			return nil
		end
	end
	local enter, leave = call_events()
	local found = kernel.pairs_by_thread(a, { begin = enter, finish = leave, not_idle = true, fields = { addr = "begin addr", len = "begin len", flags = "begin flags",
		brk = "begin brk", old = "begin old_len", new = "begin new_len", ret = "end ret",
		pid = "begin context/pid | perf_pid" } })
	a:tell_pairs(found, "system calls")
	local names = {} -- by the name of the event
	return found, function(call)
		local name = names[call.value]
		if not name then
			name = call.value:match("_([%l%d]+)$")
			names[call.value] = name
		end
		return name
	end
end

local function raw_calls()
	local fields = { call = "begin label(id) | id", pid = "begin context/pid | perf_pid" }
	for i = 0, 3 do
		fields["arg" .. i] = "begin field/args[" .. i .. "]"
	end
	local found, name_column, name_of = kernel.syscalls(a, fields)
	local named = false
	found = found:select{ [name_column] = function(id)
		named = named or type(id) == "string"
		return arguments[name_of(id)] ~= nil
	end }
	if not named then
		a:lack("the trace has raw system calls alone, and does not tell which machine's numbers they have")
	end
	return found, function(call)
		local name = name_of(call[name_column])
		for i, argument in ipairs(arguments[name]) do
			call[argument] = call["arg" .. i - 1]
		end
		return name
	end
end

local function calls()
	local found, name_of = named_calls()
	if not found then
		found, name_of = raw_calls()
	end
	local process, of, list = process_of(), {}, {}
	for first = 1, #found, 1000 do
		for _, call in ipairs(found:rows(first, first + 999)) do
			local pid, name = process(call), name_of(call)
			local row = of[pid] or basics.add(of, pid, list, { pid = pid, tid = pid, mapped = 0, unmapped = 0, unseen = 0,
				maps = {}, grown = 0, shrunk = 0, unknown = 0, failed = 0, calls = 0 })
			local failed = not call.ret or call.ret < 0 and call.ret >= -4095
			row.calls, row.seen = row.calls + 1, call["end"]
			if failed then
				row.failed = row.failed + 1
			else
				effects[name](row, call)
			end
		end
	end
	for _, row in ipairs(list) do
		row.net = row.mapped - row.unmapped + row.grown - row.shrunk
	end
	return list
end

-- ---- resident memory ----

-- Kinds of memory by their number in rss_stat (include/linux/mm_types_task.h).
local kinds = { [0] = "file", [1] = "anon", [2] = "swap", [3] = "shmem" }

local function spaces()
	local events = a:need({ "rss_stat", "kmem_rss_stat" }, "how much is resident")
	local columns = kernel.thread_columns(a, events)
	local found, list = {}, {}
	local fields = analysis.columns(columns, { "mm_id", "curr", "member", "size" })
	for b in trace:batch{ name = events, from = a.start, to = a.stop, fields = fields } do
		for i = 1, b.n do
			local mm = b.mm_id[i]
			local row = found[mm] or basics.add(found, mm, list, { mm = mm, resident = 0, max = 0, max_begin = b.ts[i] })
			local curr, kind, size = b.curr[i], kinds[b.member[i]], b.size[i]
			if curr == true or curr == 1 then
				row.tid = kernel.thread_of(columns, function(column) return b[column][i] end) or row.tid
				row.seen = b.ts[i]
			end
			if kind then
				row.resident = row.resident + (kind ~= "swap" and size - (row[kind] or 0) or 0)
				row[kind] = size
			end
			if row.resident > row.max then
				row.max, row.max_begin = row.resident, b.ts[i]
			end
		end
	end
	return list
end

local rows = a.verb == "threads" and threads() or a.verb == "calls" and calls() or spaces()
a:name_threads(rows, function(row)
	return row.seen or a.stop
end)
rows = a:filter_rows(rows)

a:head()
if a.verb == "threads" then
	local allocated, freed = 0, 0
	for _, row in ipairs(rows) do
		allocated, freed = allocated + row.allocated, freed + row.freed
	end
	table.sort(rows, analysis.order("-allocated", "tid"))
	a:table("pages of each thread", analysis.columns(analysis.thread_columns(), {
		{ key = "allocated", head = "pages taken", kind = "count", bar = true },
		{ key = "freed", head = "given back", kind = "count" }, { key = "net", head = "net", kind = "count" },
		{ key = "allocations", head = "allocations", kind = "count" }, { key = "frees", head = "frees", kind = "count" },
		{ key = "failed", head = "failed", kind = "count" },
	}), rows)
	a:line("all " .. allocated .. " pages taken, " .. freed .. " given back")
elseif a.verb == "calls" then
	table.sort(rows, analysis.order("-net", "pid"))
	a:table("memory of each process", {
		{ key = "pid", head = "PID", kind = "count" }, { key = "comm", head = "name" },
		{ key = "mapped", head = "mapped", kind = "size", bar = true }, { key = "unmapped", head = "unmapped", kind = "size" },
		{ key = "unseen", head = "not seen", kind = "size" },
		{ key = "grown", head = "heap grown", kind = "size" }, { key = "shrunk", head = "shrunk", kind = "size" },
		{ key = "net", head = "net", kind = "size" }, { key = "calls", head = "calls", kind = "count" },
		{ key = "failed", head = "failed", kind = "count" }, { key = "unknown", head = "unknown", kind = "count" },
	}, rows)
else
	table.sort(rows, analysis.order("-max", "tid"))
	a:table("resident memory of each address space", analysis.columns(analysis.thread_columns(), {
		{ key = "resident", head = "resident", kind = "size" }, { key = "max", head = "at most", kind = "size", bar = true },
		{ key = "max_begin", head = "first at", kind = "time" }, { key = "file", head = "file", kind = "size" },
		{ key = "anon", head = "anonymous", kind = "size" }, { key = "shmem", head = "shared", kind = "size" },
		{ key = "swap", head = "swapped", kind = "size" },
	}), rows)
end

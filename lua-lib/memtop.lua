-- memtop: which threads allocate and free memory, and how much is resident
--
-- [threads|rss]
--
--   threads   of each thread: pages that it took and gave back, and in how many allocations
--   rss       of each address space: how much of it was resident, at the end and at most
--
-- `threads` counts mm_page_alloc and mm_page_free, by the thread that ran: an event of order N is of 2^N pages.
-- lttng-memtop counts events alone, which are the columns "allocations" and "frees". Pages that a thread frees
-- may be those of another one. An allocation that failed is counted as failed alone.
--
-- `rss` reads rss_stat, which tells how much of one kind (file, anonymous, swap, shared) an address space has once that
-- changed: what had not changed within the range is not known and not in the sum. The thread is the last one that was
-- seen to run with the address space. Swapped memory is not resident.
--
-- Columns of --where: tid, comm; of `threads` also allocated, freed, net, allocations, frees; of `rss` also
-- resident, max, file, anon, shmem, swap.
--
-- Examples:
--   $ yore help memtop

local analysis = require("yore.analysis")
local kernel = require("yore.kernel")
local a = analysis.open(arg, {
	name = "memtop", verbs = { "threads", "rss" },
	columns = { "tid", "comm", "allocated", "freed", "net", "allocations", "frees", "failed", "resident", "max", "file",
		"anon", "shmem", "swap" },
})

-- The field that tells which page it is, and a condition for that there is none.
local function no_page(events)
	for _, class in ipairs(trace:info().classes) do
		for _, field in ipairs(class.name == events[1] and class.fields or {}) do
			if field == "pfn" or field == "page" then
				return field == "pfn" and "pfn == 0xffffffffffffffff" or "page == 0"
			end
		end
	end
end

local function threads()
	local allocs = a:need({ "mm_page_alloc", "kmem_mm_page_alloc" }, "which pages threads allocate")
	local frees = a:want({ "mm_page_free", "kmem_mm_page_free", "mm_page_free_direct" },
		"it is not known which pages are given back")
	local found, list = {}, {}

	local function each(events, where, add)
		for _, group in ipairs(kernel.count_by_thread(a, events, { "order" }, where)) do
			local row = found[group.tid or false]
			if not row then
				row = { tid = group.tid, allocated = 0, freed = 0, allocations = 0, frees = 0, failed = 0 }
				found[group.tid or false] = row
				list[#list + 1] = row
			end
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

-- Kinds of memory by their number in rss_stat (include/linux/mm_types_task.h).
local kinds = { [0] = "file", [1] = "anon", [2] = "swap", [3] = "shmem" }

local function spaces()
	local events = a:need({ "rss_stat", "kmem_rss_stat" }, "how much is resident")
	local columns = kernel.thread_columns(a, events)
	local found, list = {}, {}
	local fields = analysis.columns(columns, { "mm_id", "curr", "member", "size" })
	for b in trace:batch{ name = events, from = a.start, to = a.stop, fields = fields } do
		for i = 1, b.n do
			local row = found[b.mm_id[i]]
			if not row then
				row = { mm = b.mm_id[i], resident = 0, max = 0, max_begin = b.t[i] }
				found[b.mm_id[i]] = row
				list[#list + 1] = row
			end
			local curr, kind, size = b.curr[i], kinds[b.member[i]], b.size[i]
			if curr == true or curr == 1 then
				row.tid = kernel.thread_of(columns, function(column) return b[column][i] end) or row.tid
				row.seen = b.t[i]
			end
			if kind then
				row.resident = row.resident + (kind ~= "swap" and size - (row[kind] or 0) or 0)
				row[kind] = size
			end
			if row.resident > row.max then
				row.max, row.max_begin = row.resident, b.t[i]
			end
		end
	end
	return list
end

local rows = a.verb == "threads" and threads() or spaces()
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
else
	table.sort(rows, analysis.order("-max", "tid"))
	a:table("resident memory of each address space", analysis.columns(analysis.thread_columns(), {
		{ key = "resident", head = "resident", kind = "size" }, { key = "max", head = "at most", kind = "size", bar = true },
		{ key = "max_begin", head = "first at", kind = "time" }, { key = "file", head = "file", kind = "size" },
		{ key = "anon", head = "anonymous", kind = "size" }, { key = "shmem", head = "shared", kind = "size" },
		{ key = "swap", head = "swapped", kind = "size" },
	}), rows)
end

-- top: functions by the samples in them: self, and with all that they call
--
-- [functions|tree|lines|modules|threads|callers|callees]
--
--   functions   of each function: samples in it (self), and in it or what it called (total)
--   tree        of each stack of functions, from the outermost down: a row below the one that called it, what weighs more first.
--               Rows of less than --min PERCENT of all (1) are left out, which a note tells
--   lines       of each source line, where the file has DWARF's; else of each function without a line
--   modules     of each file that is mapped
--   threads     of each thread
--   callers     of the function --of NAME: who called it
--   callees     of the function --of NAME: whom it called
--
-- --against TRACE compares functions, lines, modules and the tree with those of another recording: `change` is the difference of self
-- (of the tree of total), in percent of all, as `perf diff TRACE` has it; what changed most comes first. `at least` and `at most`
-- hold the difference with 99.5 %, over all rows: where zero lies between them, it may be chance. --begin and --end are of the first one.
--
-- Samples are weighted by their period, also those of tracepoints (sched_stat_runtime's is a time). A sample without one counts
-- once (--count: always that). Without --event GLOB those of one event count: of the first counter, before tracepoints; a note tells
-- the others. Of samples without call chains (perf record without -g) total is self. Self is that of `perf report
-- --no-children`, total that of `perf report --children`: a function counts once for each sample.
--
-- Columns of --where: self, total, function, module; of `tree` also depth and stack; of `lines` also line; of `threads` total, tid, comm; of
-- `modules` no function; with --against also change, low, high: 'low > 0 || high < 0' leaves what is certain.
--
-- Examples:
--   $ yore help top

local analysis = require("yore.analysis")
local basics = require("yore.basics")
local shares = require("yore.shares")
local stacks = require("yore.frames")
local threads = require("yore.threads")
local left_out = 0.005 -- the chance of a wrong difference, over all of them
local compared = { functions = true, tree = true, lines = true, modules = true }
local a = analysis.open(arg, {
	any_host = true, samples = true,
	name = "top", verbs = { "functions", "tree", "lines", "modules", "threads", "callers", "callees" },
	options = { event = "text", count = "flag", of = "text", against = "text", min = "text" },
	columns = { "self", "total", "function", "module", "line", "tid", "comm", "depth", "stack", "change", "low", "high" },
	columns_of = { functions = { "self", "total", "function", "module", "change", "low", "high" },
		tree = { "self", "total", "function", "module", "depth", "stack", "change", "low", "high" },
		lines = { "self", "total", "function", "module", "line", "change", "low", "high" },
		modules = { "self", "total", "module", "change", "low", "high" }, threads = { "total", "tid", "comm" },
		callers = { "self", "total", "function", "module" }, callees = { "self", "total", "function", "module" } },
	sums = true,
	verbs_of = { of = { callers = true, callees = true }, against = compared, min = { tree = true } },
})
local relative = a.verb == "callers" or a.verb == "callees"
if relative and not a.of then
	yore.misuse("top " .. a.verb .. ": --of FUNCTION is missing")
end

local least = tonumber(a.min or 1)
if not least or not (least >= 0 and least <= 100) then
	yore.misuse("--min: '" .. a.min .. "' is not a percentage")
end
a:need_against{ "change", "low", "high" }
if a.part and a.against then
	yore.misuse("--chunk and --merge: they do not go with --against")
end

local found, list = {}, {}
local side = "" -- prefix of the columns for the trace that is read: "", or "against_"
local sides = { [""] = shares.new(), against_ = shares.new() }

-- The row of that key in the table `parts`, made if there is none.
local function entry_in(parts, key, make)
	local one = parts[key]
	if not one then
		one = basics.add(parts, key, list, make())
		one.self, one.total, one.against_self, one.against_total, one.seen, one.path = 0, 0, 0, 0, 0, tostring(key)
	end
	return one
end

local function entry(key, make)
	return entry_in(found, key, make)
end

local function module_of(frame)
	return frame.object and frame.object:gsub(".*/", "") or "[unknown]"
end

-- The name of a frame's function, else its offset in the file, which is the same in each process.
local function function_of(frame)
	return frame.symbol or yore.hex(frame.file_offset or frame.ip)
end

-- Adds the samples of a stack, {frames =, weight =, sums = weights by block}, to a row, but only once if the function is several
-- times in it. With --against, blocks are those of the compared column: total for the verb tree, else self.
local function add(one, stack, is_self)
	local self, total, sums = side .. "self", side .. "total", side .. "sums"
	if is_self then
		one[self] = one[self] + stack.weight
	end
	if one.seen ~= stack then
		one.seen = stack
		one[total] = one[total] + stack.weight
	end
	if a.against and (is_self or a.verb == "tree") then
		one[sums] = one[sums] or shares.sums()
		sides[side]:join(one[sums], stack.sums)
	end
end

local function of_frame(frame)
	if a.verb == "modules" then
		local module = module_of(frame)
		return entry(module, function() return { module = module } end)
	end
	local name, module = function_of(frame), module_of(frame)
	if a.verb == "lines" then
		local line = frame.file and frame.file .. ":" .. frame.line
		return entry(line or name .. "\0" .. module, function()
			return { line = line, ["function"] = name, module = module }
		end)
	end
	return entry(name .. "\0" .. module, function() return { ["function"] = name, module = module } end)
end

-- A row of the tree for each function of the chain, below the one that called it.
local function fold_tree(stack)
	local above, frames = { kids = found, depth = -1 }, stack.frames
	for i = #frames, 1, -1 do
		local name, module = function_of(frames[i]), module_of(frames[i])
		local node = entry_in(above.kids, name .. "\0" .. module, function()
			return { ["function"] = name, module = module, kids = {}, depth = above.depth + 1, above = above }
		end)
		node.path = above.path and above.path .. "\1" .. name .. "\0" .. module or node.path
		add(node, stack, i == 1)
		above = node
	end
end

local functions = {} -- by name, where those that call or are called by one are wanted

local function fold(stack)
	if stack.tid then
		return add(entry(stack.tid, function() return { tid = stack.tid } end), stack, true)
	elseif a.verb == "tree" then
		return fold_tree(stack)
	end
	local frames = stack.frames
	for i, frame in ipairs(frames) do
		if not relative then
			add(of_frame(frame), stack, i == 1)
		else
			functions[function_of(frame)] = true
		end
		if relative and function_of(frame) == a.of then
			local other = frames[a.verb == "callers" and i + 1 or i - 1]
			if other then
				add(of_frame(other), stack, a.verb == "callees" and i == 2)
			end
		end
	end
end

-- The frames of an event without those at the outer end that have no address.
local function frames_of(ev)
	local frames = a.verb == "lines" and ev.lines or ev.frames
	while #frames > 1 and frames[#frames].ip == 0 do
		frames[#frames] = nil
	end
	return frames
end

local meant -- does a sample count, by --tid and the like? nil: all do

-- The event of the global trace that counts: `preferred` where the trace has it and none was asked for.
local function event_of(from, to, preferred)
	meant = threads.of_samples(a)
	local counted = a.event or stacks.choose("top", from, to, meant, preferred)
	if a.event and #analysis.present{ counted } == 0 then
		a:need_named("event", { a.event })
	end
	return counted
end

local stacks_most = 10000 -- stacks whose samples are summed up before they are folded

-- Folds the samples of the global trace, those of each stack together; gives their weight, and how many they are.
local function gather(from, to, counted)
	local all, sampled, known, list = 0, 0, {}, {}
	local function fold_all()
		for _, stack in ipairs(list) do
			fold(stack)
		end
		known, list = {}, {}
	end
	local kind = a.verb == "lines" and "lines" or "frames"
	for ev in trace:events{ name = analysis.present{ counted }, from = from, to = to } do
		local number = (a.event or counted == ev.name) and (not meant or meant(ev)) and ev:stack(kind)
		if number then
			local tid = a.verb == "threads" and (ev.context.tid or ev.context.vtid or ev.state["cpu[cpu]/thread"] or -1) or nil
			local stack = known[tid or number] or basics.add(known, tid or number, list,
				{ tid = tid, frames = not tid and frames_of(ev), weight = 0, sums = a.against and shares.sums() })
			local weight = not a.count and ev.context.period or 1
			sampled, all, stack.weight = sampled + 1, all + weight, stack.weight + weight
			if a.against then
				sides[side]:sample(weight)
				sides[side]:add(stack.sums, weight)
			end
			if #list == stacks_most then
				fold_all()
			end
		end
	end
	fold_all()
	return all, sampled
end

local function tell_lack(sampled)
	if sampled == 0 then
		a:lack("no event" .. (side == "" and " of this range" or " of " .. a.against) .. (meant and " and of these threads and CPUs" or "")
			.. " is a sample or has a call chain: record them with perf record -g")
	end
end

-- Paths of rows of a part that are no functions: what all samples weigh and how many they are; that --of FUNCTION is in some chain.
local of_all, of_known = "", "\1"

local counted = event_of(a.start, a.stop)
local rows = a:sums({ key = { "path" }, sum = { "self", "total" }, first = { "function", "module", "line", "tid", "depth" } }, function(from, to)
	local all, sampled = gather(from, to, counted)
	list[#list + 1] = { path = of_all, self = all, total = sampled }
	list[#list + 1] = functions[a.of] and { path = of_known, self = 0, total = 0 } or nil
	return list
end)
if not rows then
	return
end

local all, sampled, by_path = 0, 0, {}
list = {}
-- Puts a row of a part at its place in the tree.
local function place(row)
	local above = by_path[row.path:match("^(.*)\1")] or { kids = found }
	row.against_self, row.against_total, row.kids, row.above = 0, 0, {}, above
	above.kids[row.path], by_path[row.path] = row, row
end
for _, row in ipairs(rows) do
	if row.path == of_all then
		all, sampled = row.self, row.total
	elseif row.path == of_known then
		functions[a.of] = true
	else
		list[#list + 1] = row
		if a.part then
			place(row)
		end
	end
end
tell_lack(sampled)

local all_against, sampled_against, counted_against = 0, 0, nil
if a.against then
	side = "against_"
	analysis.with_trace(a.against, function()
		counted_against = event_of(nil, nil, counted)
		all_against, sampled_against = gather(nil, nil, counted_against)
		tell_lack(sampled_against)
	end)
	side = ""
end

if relative and not functions[a.of] then
	a:lack("no call chain of this range has the function " .. a.of .. ": " .. analysis.hint(a.of, basics.keys(functions))
		.. "'yore top TRACE functions' lists functions")
elseif relative and #list == 0 then
	yore.note("top: " .. a.of .. (a.verb == "callers" and " is the outermost function of all call chains that have it"
		or " is the innermost function of all call chains that have it: it calls none"))
end

local names = a:names((function()
	local tids = {}
	for _, one in ipairs(list) do
		tids[#tids + 1] = one.tid
	end
	return tids
end)())
for _, one in ipairs(list) do
	one.comm = one.tid and names[one.tid]
	one.self_percent, one.total_percent = one.self * 100 / all, one.total * 100 / all
end

-- The rows that have samples in the compared column, on some side.
local function compared_rows(rows)
	local own = {}
	for _, one in ipairs(rows) do
		own[#own + 1] = (one.sums or one.against_sums) and one or nil -- others only call functions that changed
	end
	return own
end

-- Sets the difference between both sides in each row, in percent of all, with its confidence interval.
local function compare(rows)
	local what = a.verb == "tree" and "total" or "self"
	for _, one in ipairs(rows) do
		one.against_percent = one["against_" .. what] * 100 / math.max(all_against, 1)
		one.change = one[what .. "_percent"] - one.against_percent
		one.changed = math.abs(one.change)
		local low, high = shares.bounds(sides.against_, one.against_sums, sides[""], one.sums, left_out / #rows)
		one.low, one.high = low and low * 100, high and high * 100
	end
end

-- The rows of the tree that are large enough, with their stacks.
local function large_rows()
	local large = {}
	for _, one in ipairs(list) do -- callers come before the functions that they call
		local share = math.max(one.total_percent, one.against_total * 100 / math.max(all_against, 1))
		if share >= least then
			one.stack = (one.above.stack and one.above.stack .. ";" or "") .. one["function"]
			large[#large + 1] = one
		end
	end
	if #large < #list then
		yore.note(string.format("top: %d of %d functions of the tree are left out, each of less than %s %% of all (--min 0: none is)",
			#list - #large, #list, a.min or "1"))
	end
	return large
end

-- The rows of the tree in its order.
local function in_tree_order(rows, columns, order)
	local shown, ordered = basics.set(rows), {}
	local function add_kids(kids)
		local own = {}
		for _, kid in pairs(kids) do
			own[#own + 1] = kid
		end
		a:sort_list(columns, own, order)
		for _, kid in ipairs(own) do
			ordered[#ordered + 1] = shown[kid] and kid or nil
			add_kids(kid.kids)
		end
	end
	add_kids(found)
	return ordered
end

local columns = {
	{ key = "self_percent", head = "self %", kind = "percent", bar = not relative },
	{ key = "total_percent", head = "total %", kind = "percent", bar = relative },
	{ key = "self", head = "self", kind = "count" }, { key = "total", head = "total", kind = "count" },
}
if a.verb == "tree" then
	columns = { columns[2], columns[1], columns[4], columns[3] }
end
if a.against then
	local what = a.verb == "tree" and "total" or "self"
	columns = {
		{ key = what .. "_percent", head = what .. " %", kind = "percent", bar = true }, { key = "against_percent", head = "against %", kind = "percent" },
		{ key = "change", head = "change", kind = "percent" }, { key = "low", head = "at least", kind = "percent" },
		{ key = "high", head = "at most", kind = "percent" }, { key = what, head = what, kind = "count" },
		{ key = "against_" .. what, head = "against", kind = "count" },
	}
end
if a.verb == "threads" then
	columns = { columns[2], columns[4], { key = "tid", head = "TID", kind = "count" }, { key = "comm", head = "name" } }
elseif a.verb == "modules" then
	table.insert(columns, { key = "module", head = "module" })
else
	table.insert(columns, { key = "function", head = "function", indent = a.verb == "tree" and "depth" or nil })
	table.insert(columns, { key = "module", head = "module" })
	table.insert(columns, a.verb == "lines" and { key = "line", head = "line" } or nil)
end
if a.verb == "tree" and a.format ~= "table" and a.format ~= "bars" then
	table.insert(columns, { key = "depth", head = "depth", kind = "count" })
	table.insert(columns, { key = "stack", head = "stack" })
end

if a.verb == "tree" then
	list = large_rows()
end
if a.against then
	list = compared_rows(list)
	compare(list)
end
list = a:filter_rows(list)
local by = a.against and "changed" or (relative or a.verb == "tree") and "total" or "self"
local order = analysis.order("-" .. by, "-total", "function", "module", "line", "tid")
if a.verb == "tree" then
	list = in_tree_order(list, columns, order)
else
	table.sort(list, order)
end
a:head()
a:line(sampled .. " samples of " .. (counted or "no event") .. ", weight " .. all
	.. (a.against and "; against " .. sampled_against .. (counted_against ~= counted and " of " .. (counted_against or "no event") or "")
		.. ", weight " .. all_against or ""))
a:table(a.verb .. (a.of and " of " .. a.of or ""), columns, list)

-- summary: the units of a side without its trace: counts, and the parts (by cause) of some of them
--
-- {path =, start =, stop =, told = {[kind] = true}, units = {{unit =, proposed =, count =, unknown =, mean =, p50 =, p99 =,
-- groups = {{name =, parent =, tid =, total =, count =, pieces = {units whose time is split}}}}}}. baseline.read() gives the same.

local basics = require("yore.basics")
local differ = require("yore.differ")
local units = require("yore.units")

local summary = {}

-- Kinds of data, with their names: if only one side recorded a kind, it has causes that the other side cannot have.
summary.kinds = { { "on_cpu", "who runs" }, { "calls", "system calls" }, { "irqs", "interrupts" },
	{ "softirqs", "softirqs" }, { "frequencies", "frequencies of CPUs" } }

-- Sets group.parent, the name of the parent, in groups of threads that share their name.
function summary.name_parents(one, groups)
	local seen = {}
	for _, group in ipairs(groups) do
		seen[group.name] = (seen[group.name] or 0) + 1
	end
	for _, group in ipairs(groups) do
		group.parent = seen[group.name] > 1 and group.tid and one:parent_name(group.tid) or nil
	end
end

-- Splits the time of the pieces that lie in the window; sets in `told` which kinds of data the window has.
function summary.split(one, window, pieces, told)
	local data
	for _, piece in ipairs(pieces) do
		if piece.window == window then
			data = data or one:detail(window)
			piece.thread = piece.thread or piece.thread_of and piece.thread_of(data, piece.i)
			data:split(piece)
		end
	end
	for _, kind in ipairs(summary.kinds) do
		told[kind[1]] = told[kind[1]] or data and #data[kind[1]] > 0 or nil
	end
end

-- Chooses up to `most` of `all` units, from each group in proportion to count_of(group), and calls visit(group, number) with the
-- number to choose from it.
local function share(own, all, most, count_of, visit)
	local part, rest = math.min(1, most / math.max(all, 1)), 0.5
	for _, group in ipairs(own.groups) do
		local exact = count_of(group) * part
		local some = math.floor(rest + exact)
		rest = rest + exact - some
		visit(group, some)
	end
end

-- Reduces a baseline to the named units (none named: all), and to at most `most` of their split units, evenly chosen.
function summary.keep(one, named, most)
	local wanted, left = basics.set(named, "unit"), {}
	for _, own in ipairs(one.units) do
		left[#left + 1] = (#named == 0 or wanted[own.unit]) and own or nil
	end
	one.units = left
	for _, own in ipairs(left) do
		local all = 0
		for _, group in ipairs(own.groups) do
			all = all + #group.pieces
		end
		share(own, all, most // #left, function(group) return #group.pieces end, function(group, some)
			group.pieces = differ.choose_some(group, {}, some)
		end)
	end
end

-- Makes the summary of a side of the global trace, with the parts of up to `most` units of all kinds together.
function summary.of(one, named, most)
	local all, pieces = { path = one.path, start = one.start, stop = one.stop, told = {}, units = {} }, {}
	for k, unit in ipairs(named) do
		local own = units.find(one, unit)
		own.unit, own.proposed, all.units[k] = unit.unit, unit.proposed, own
		summary.name_parents(one, own.groups)
		share(own, own.count, most // #named, function(group) return group.count end, function(group, some)
			group.chosen = differ.choose_some(group, one.windows, some)
			table.move(group.chosen, 1, #group.chosen, #pieces + 1, pieces)
		end)
	end
	for _, window in ipairs(one.windows) do
		summary.split(one, window, pieces, all.told)
	end
	for _, own in ipairs(all.units) do
		for i, group in ipairs(own.groups) do
			own.groups[i] = { name = group.name, parent = group.parent, tid = group.tid, total = group.total,
				count = group.count, pieces = group.chosen }
			for _, piece in ipairs(group.chosen) do
				piece.window, piece.thread_of = nil, nil -- they refer to data of the trace
			end
		end
	end
	return all
end

return summary

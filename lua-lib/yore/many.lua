-- many: several runs on each side, by how much each cause differs between the sides
--
-- A run is a summary (yore.summary). Threads of the two sides are matched by name, else by name without numbers; units are
-- weighted, so that each matched thread name counts as much on both sides. The bootstrap draws runs first, then blocks of
-- units within each run that was drawn: what differs from run to run widens the bounds.

local analysis = require("yore.analysis")
local differ = require("yore.differ")

local many = {}

local most_blocks = 20 -- blocks of consecutive units of one run

-- ---- units of both sides ----

-- The number of runs in which each text_of(name of a thread) occurs; nil is not counted.
local function names_in(runs, text_of)
	local found = {}
	for _, own in ipairs(runs) do
		local seen = {}
		for _, group in ipairs(own.groups) do
			local text = text_of(group.name)
			if text then
				seen[text] = true
			end
		end
		for text in pairs(seen) do
			found[text] = (found[text] or 0) + 1
		end
	end
	return found
end

local function itself(name)
	return name
end

-- Returns a function from a thread's name to a label that both sides have: the name if at least half of the runs of each side
-- have it, else the name without its numbers; nil: only one side has it.
local function labels_of(sides)
	local exact, general = {}, {}
	for name, runs in pairs(sides) do
		local seen = names_in(runs, itself)
		for text, count in pairs(seen) do
			seen[text] = 2 * count >= #runs or nil
		end
		exact[name] = seen
	end
	local function is_exact(text)
		return exact.a[text] and exact.b[text]
	end
	for name, runs in pairs(sides) do
		general[name] = names_in(runs, function(text)
			return not is_exact(text) and differ.without_numbers(text) or nil
		end)
	end
	return function(text)
		local short = differ.without_numbers(text)
		return is_exact(text) and text or general.a[short] and general.b[short] and "\0" .. short or nil
	end
end

-- Counts, and the mean of all units; p50 and p99 are medians of the runs'.
local function numbers_of(runs, label_of)
	local all = { runs = #runs, count = 0, unknown = 0, unmatched = 0, by_label = {} }
	local sum, p50, p99 = 0, {}, {}
	for _, own in ipairs(runs) do
		all.count, all.unknown = all.count + own.count, all.unknown + own.unknown
		sum = sum + (own.mean or 0) * own.count
		p50[#p50 + 1], p99[#p99 + 1] = own.p50, own.p99
		for _, group in ipairs(own.groups) do
			local label = label_of(group.name)
			if label then
				all.by_label[label] = (all.by_label[label] or 0) + group.count
			else
				all.unmatched = all.unmatched + group.count
			end
		end
	end
	all.mean, all.p50, all.p99 = all.count > 0 and sum / all.count or nil, differ.median(p50), differ.median(p99)
	return all
end

-- The pieces of each run in order of time, with their label.
local function pieces_of(own, label_of)
	local found = {}
	for _, group in ipairs(own.groups) do
		local label = label_of(group.name)
		for _, piece in ipairs(label and group.pieces or {}) do
			piece.label = label
			found[#found + 1] = piece
		end
	end
	table.sort(found, analysis.order("begin", "end"))
	return found
end

-- The number of pieces of each label in each run, {[run] = {[label] = count}}, and the number of runs with each label.
local function labels_in(runs)
	local counts, with = {}, {}
	for _, run in ipairs(runs) do
		local own = {}
		for _, piece in ipairs(run.pieces) do
			own[piece.label] = (own[piece.label] or 0) + 1
		end
		for label in pairs(own) do
			with[label] = (with[label] or 0) + 1
		end
		counts[run] = own
	end
	return counts, with
end

-- Each label weighs on both sides what it has of all units on the side where that is less. Its runs share that weight: a run
-- without the label leaves it to the label's other runs, not to its own other labels. The weights of a side add up to the number of its runs.
local function weigh(unit)
	local counts, with, sums = {}, {}, {}
	for name, runs in pairs(unit.runs) do
		counts[name], with[name] = labels_in(runs)
		sums[name] = math.max(1, unit[name].count - unit[name].unmatched)
	end
	local function share_of(label)
		return with.a[label] and with.b[label]
			and math.min(unit.a.by_label[label] / sums.a, unit.b.by_label[label] / sums.b) or 0
	end
	for name, runs in pairs(unit.runs) do
		local all = 0
		for _, run in ipairs(runs) do
			for _, piece in ipairs(run.pieces) do
				piece.weight = share_of(piece.label) / counts[name][run][piece.label] / with[name][piece.label]
				all = all + piece.weight
			end
		end
		for _, run in ipairs(runs) do
			run.weight = 0
			for _, piece in ipairs(run.pieces) do
				piece.weight = all > 0 and piece.weight * #runs / all or 0
				run.weight = run.weight + piece.weight
			end
		end
	end
end

-- Leaves out pieces of which more than a hundredth is unknown, unless most are so; how many.
local function leave_out_unknown(unit)
	local all, known, left = 0, 0, 0
	for _, list in pairs(unit.runs) do
		for _, run in ipairs(list) do
			run.known = {}
			for _, piece in ipairs(run.pieces) do
				run.known[#run.known + 1] = differ.is_known(piece) and piece or nil
			end
			all, known = all + #run.pieces, known + #run.known
		end
	end
	if known < all / 2 then
		return 0
	end
	for _, list in pairs(unit.runs) do
		for _, run in ipairs(list) do
			left, run.pieces = left + #run.pieces - #run.known, run.known
		end
	end
	return left
end

-- The unit of all runs, {a = list of summaries, b = list}: {unit =, a = numbers, b = numbers, matched =, runs = {a = list of
-- {path =, pieces =}, b = list}, sides = {a = all pieces, b = all}, left_out =}.
function many.unit(spec, summaries)
	local of, unit = { a = {}, b = {} }, { unit = spec, runs = { a = {}, b = {} }, sides = { a = {}, b = {} } }
	for name, list in pairs(summaries) do
		for _, one in ipairs(list) do
			for _, own in ipairs(one.units) do
				if own.unit == spec then
					own.path, unit.proposed = one.path, own.proposed
					table.insert(of[name], own)
				end
			end
		end
	end
	local label_of = labels_of(of)
	for name, list in pairs(of) do
		unit[name] = numbers_of(list, label_of)
		for _, own in ipairs(list) do
			local pieces = pieces_of(own, label_of)
			if #pieces > 0 then
				table.insert(unit.runs[name], { path = own.path, pieces = pieces })
			end
		end
	end
	unit.matched = math.min(unit.a.count - unit.a.unmatched, unit.b.count - unit.b.unmatched)
	unit.left_out = leave_out_unknown(unit)
	for name, list in pairs(unit.runs) do
		for i = #list, 1, -1 do
			if #list[i].pieces == 0 then
				table.remove(list, i)
			end
		end
		for _, run in ipairs(list) do
			table.move(run.pieces, 1, #run.pieces, #unit.sides[name] + 1, unit.sides[name])
		end
	end
	differ.prepare_sides(unit.sides)
	weigh(unit)
	return unit
end

-- ---- differences ----

-- A run's mean time of some causes per unit, as blocks whose mean it is; and whether the first of them occurs.
local function blocks_of(run, keys)
	local pieces, blocks, occurs = run.pieces, {}, false
	local count = math.min(most_blocks, #pieces)
	for k = 1, count do
		blocks[k] = 0
	end
	for i, piece in ipairs(pieces) do
		local k = (i - 1) * count // #pieces + 1
		for n, key in ipairs(keys) do
			local part = piece.parts[key]
			if part then
				blocks[k] = blocks[k] + part.time * piece.weight * count
				occurs = occurs or n == 1
			end
		end
	end
	return blocks, occurs
end

local function mean_of(list)
	local sum = 0
	for _, x in ipairs(list) do
		sum = sum + x
	end
	return sum / #list
end

-- Blocks of all runs of a side, the mean of the runs' means, their variance (nil of one run), and in how many the cause occurs.
local function side_of(runs, keys)
	local blocks, means, with = {}, {}, 0
	for i, run in ipairs(runs) do
		local occurs
		blocks[i], occurs = blocks_of(run, keys)
		means[i], with = mean_of(blocks[i]), with + (occurs and 1 or 0)
	end
	local mean, squares = mean_of(means), 0
	for i, run in ipairs(runs) do -- that a run weighs more or less than others is no difference in time
		local rest = (1 - run.weight) * mean
		means[i] = means[i] + rest
		for k, x in ipairs(blocks[i]) do
			blocks[i][k] = x + rest
		end
	end
	for _, x in ipairs(means) do
		squares = squares + (x - mean) ^ 2
	end
	return { blocks = blocks, mean = mean, count = #runs, with = with, variance = #runs > 1 and squares / (#runs - 1) or nil }
end

-- Half the width of Welch's interval of the difference of two means of runs; a side of one run has the variance of the other
-- one's. nil: both have one run.
local function welch(a, b, left_out)
	local of_a, of_b = a.variance or b.variance, b.variance or a.variance
	if not of_a then
		return
	end
	local x, y = of_a / a.count, of_b / b.count
	if x + y == 0 then
		return 0
	end
	local spread = 0 -- of the estimated variance; a variance that was taken over does not add certainty
	spread = spread + (a.variance and x ^ 2 / (a.count - 1) or 0) + (b.variance and y ^ 2 / (b.count - 1) or 0)
	local degrees = spread > 0 and (x + y) ^ 2 / spread or math.max(a.count, b.count) - 1
	return differ.quantile(left_out / 2, math.max(1, math.min(degrees, a.count + b.count - 2))) * math.sqrt(x + y)
end

-- The bounds of the difference: the wider of the bootstrap's percentiles and of Welch's interval.
local function bounds_of(a, b, left_out)
	local difference, low, high, deviation = yore.resample_runs(a.blocks, b.blocks, left_out, differ.rounds, differ.seed)
	local half = welch(a, b, left_out)
	if not half then
		local least = math.min(#a.blocks[1], #b.blocks[1])
		half = least > 1 and differ.quantile(left_out / 2, least - 1) * deviation or math.huge
	end
	return math.min(low, difference - half), math.max(high, difference + half)
end

-- Of each run the piece in which the cause takes the most time, or the least; of these `most` runs, as {path =, time =}.
local function moments_of(runs, key, falls, most)
	local found = {}
	for i, run in ipairs(runs) do
		local best
		for _, piece in ipairs(run.pieces) do
			local part = piece.parts[key]
			local time = part and part.time or 0
			if not best or (falls and time > best.part_time) or (not falls and time < best.part_time) then
				best = { path = run.path, time = part and part.at or piece.begin, part_time = time, i = i }
			end
		end
		found[i] = best
	end
	table.sort(found, analysis.order(falls and "-part_time" or "part_time", "i"))
	return table.move(found, 1, math.min(most, #found), 1, {})
end

-- As differ.differences(), of a unit of many.unit(); `runs` = {a = {with =, all =}, b = ...} says in how many runs the cause is.
function many.differences(unit, left_out, floor)
	local found, runs = {}, unit.runs
	if #unit.sides.a < differ.fewest or #unit.sides.b < differ.fewest then
		return found
	end
	for key, one in pairs(differ.causes_of(unit.sides)) do
		local a, b = side_of(runs.a, { key }), side_of(runs.b, { key })
		local difference = b.mean - a.mean
		if math.abs(difference) >= floor then
			local wide_a, wide_b, shift = a, b, 0
			if one.cause == "migration" then -- estimated from running: how sure it is, both tell together
				wide_a, wide_b = side_of(runs.a, { key, "running\0" }), side_of(runs.b, { key, "running\0" })
				shift = wide_b.mean - wide_a.mean - difference
			end
			local low, high = bounds_of(wide_a, wide_b, left_out)
			low, high = low - shift, high - shift
			if low > 0 or high < 0 then
				one.difference, one.low, one.high, one.a, one.b = difference, low, high, a.mean, b.mean
				one.runs = { a = { with = a.with, all = a.count }, b = { with = b.with, all = b.count } }
				one.moments = { a = moments_of(runs.a, key, difference < 0, 3), b = moments_of(runs.b, key, difference > 0, 3) }
				if one.cause == "frequency" then
					one.who = differ.slow_clock(unit.sides[difference > 0 and "b" or "a"])
				end
				found[#found + 1] = one
			end
		end
	end
	return found
end

-- The time of each cause per unit, whoever is behind it: {a = {[cause] = ns}, b = ...}.
function many.totals(unit)
	local totals = { a = {}, b = {} }
	for name, sums in pairs(totals) do
		for _, run in ipairs(unit.runs[name]) do
			for _, piece in ipairs(run.pieces) do
				for _, part in pairs(piece.parts) do
					sums[part.cause] = (sums[part.cause] or 0) + part.time * piece.weight / #unit.runs[name]
				end
			end
		end
	end
	return totals
end

return many

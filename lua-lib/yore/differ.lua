-- differ: units of two sides matched with each other, and by how much each cause differs
--
-- A side's units are grouped by thread. Threads are matched by name, those of one name by their parent's name, then by rank
-- of work; what is left by name without its numbers. The units of two threads are matched in their order.

local analysis = require("yore.analysis")
local basics = require("yore.basics")
local causes = require("yore.causes")

local differ = {}

local part_of = causes.part_of

local most_units = 4000  -- units of all kinds whose time is split by cause; of more, they are evenly chosen
local most_blocks = 200  -- blocks of consecutive pairs, which are resampled
local long_blocks = 40   -- number of long blocks, for phases that are longer than a short block
local fewest_blocks = 5
local rounds, seed = 4000, 19
local known_part = 0.01

-- ---- matching ----

local function without_numbers(name)
	return (name:gsub("%d+", "N"))
end

-- Lists of groups by text_of(group), each with the most work first.
local function listed(groups, text_of)
	local found, order = {}, {}
	for _, group in ipairs(groups) do
		local text = not group.matched and text_of(group)
		if text then
			if not found[text] then
				found[text] = {}
				order[#order + 1] = text
			end
			table.insert(found[text], group)
		end
	end
	for _, list in pairs(found) do
		table.sort(list, function(x, y)
			if x.total ~= y.total then
				return x.total > y.total
			end
			return (x.tid or 0) < (y.tid or 0)
		end)
	end
	return found, order
end

local function match_by(a, b, text_of, pairs_of_groups)
	local left, order = listed(a, text_of)
	local right = listed(b, text_of)
	for _, text in ipairs(order) do
		for i = 1, math.min(#left[text], right[text] and #right[text] or 0) do
			local x, y = left[text][i], right[text][i]
			x.matched, y.matched = true, true
			pairs_of_groups[#pairs_of_groups + 1] = { a = x, b = y, count = math.min(x.count, y.count) }
		end
	end
end

-- Matches groups of both sides: a list of {a =, b =, count =}; count: the smaller number of units.
function differ.match(a, b)
	local found = {}
	match_by(a, b, function(group) return group.parent and group.name .. "\0" .. group.parent end, found)
	match_by(a, b, function(group) return group.name end, found)
	match_by(a, b, function(group) return without_numbers(group.name) end, found)
	return found
end

-- ---- pairs of units ----

-- The first i of 1 to `count` whose unit begins (`edge` is 1) or ends (2) at t or later; count + 1: none does. Units are in order of
-- their begin, so nearly in that of their end.
local function first_from(group, count, edge, t)
	return basics.first(count, function(i) return select(edge, group.times(i)) >= t end)
end

-- The numbers of the group's units, up to `count`, that are whole in one of the windows, as stretches {first, last, window}; of
-- a baseline, those that it has.
local function in_windows(group, count, windows)
	if group.pieces then
		local n = 0
		while group.pieces[n + 1] and group.pieces[n + 1].i <= count do
			n = n + 1
		end
		return { { 1, n } }, n, 0
	elseif #windows == 1 then
		return { { 1, count, windows[1] } }, count, 0
	end
	local found, all, long = {}, 0, 0
	for _, window in ipairs(windows) do
		local first, last = first_from(group, count, 2, window.from), first_from(group, count, 2, window.high) - 1
		local whole = math.min(last + 1, math.max(first, first_from(group, count, 1, window.low)))
		found[#found + 1] = { whole, last, window }
		all, long = all + last - whole + 1, long + whole - first
	end
	return found, all, long
end

-- The n-th of these units.
local function nth_in(group, stretches, n)
	for _, stretch in ipairs(stretches) do
		local size = stretch[2] - stretch[1] + 1
		if n <= size then
			local i = stretch[1] + n - 1
			if group.pieces then
				return group.pieces[i]
			end
			local begin, stop = group.times(i)
			return { i = i, begin = begin, ["end"] = stop, window = stretch[3], thread = group.tid,
				thread_of = group.thread_of }
		end
		n = n - size
	end
end

-- Of a group up to `most` units, evenly chosen, as in differ.choose().
function differ.choose_some(group, windows, most)
	local places, all = in_windows(group, group.count, windows)
	local chosen, list = math.min(all, most), {}
	for n = 1, chosen do
		list[n] = nth_in(group, places, (2 * n - 1) * all // (2 * chosen) + 1)
	end
	return list
end

-- Of matched groups, one of several kinds of unit, the units whose time is split, evenly chosen: a list of {a =, b =} with {i =, begin =, end =, window =,
-- thread =, thread_of =}; and how many end in a window and are longer than it.
function differ.choose(matched, windows_of_a, windows_of_b, kinds)
	local places, all, long = {}, 0, 0
	for k, pair in ipairs(matched) do
		local a, of_a, long_a = in_windows(pair.a, pair.count, windows_of_a)
		local b, of_b, long_b = in_windows(pair.b, pair.count, windows_of_b)
		long = long + long_a + long_b
		places[k] = { a = a, b = b, of_a = of_a, of_b = of_b, count = math.min(of_a, of_b) }
		all = all + places[k].count
	end
	local list, part, rest = {}, math.min(1, most_units // kinds / math.max(all, 1)), 0.5
	for k, pair in ipairs(matched) do
		local count = places[k].count
		local chosen = math.min(count, math.floor(rest + count * part))
		rest = rest + count * part - chosen
		for n = 1, chosen do
			local part_done = (2 * n - 1) / (2 * chosen)
			list[#list + 1] = { a = nth_in(pair.a, places[k].a, math.floor(part_done * places[k].of_a) + 1),
				b = nth_in(pair.b, places[k].b, math.floor(part_done * places[k].of_b) + 1) }
		end
	end
	return list, long
end

local function move(unit, cause, time, at)
	local running = unit.parts["running\0"]
	if running then
		running.time = running.time - time
		local part = part_of(unit, cause)
		part.time, part.at = part.time + time, part.at or at or unit.begin
	end
end

-- Moves the cost of a lower frequency to its own cause: running time beyond that of the same cycles at the mean frequency of A.
local function split_frequency(sides)
	local cycles, clocked = 0, 0
	for _, unit in ipairs(sides.a) do
		cycles, clocked = cycles + unit.cycles, clocked + unit.clocked
	end
	if clocked == 0 or cycles == 0 then
		return
	end
	local mean = cycles / clocked
	for _, list in pairs(sides) do
		for _, unit in ipairs(list) do
			if unit.clocked > 0 then
				local extra = unit.clocked - unit.cycles / mean
				move(unit, "frequency", extra)
			end
		end
	end
end

-- By how much running grows with each change of CPU: among the units of each side where these differ in their changes,
-- else between the sides (least squares).
local function cost_of_move(lists)
	local xx, xy = 0, 0
	for _, units in ipairs(lists) do
		local n, x, y = #units, 0, 0
		local function running(unit)
			local part = unit.parts["running\0"]
			return part and part.time or 0
		end
		for _, unit in ipairs(units) do
			x, y = x + unit.moves, y + running(unit)
		end
		for _, unit in ipairs(units) do
			xx = xx + (unit.moves - x / n) ^ 2
			xy = xy + (unit.moves - x / n) * (running(unit) - y / n)
		end
	end
	return xx > 0 and xy / xx or 0, xx
end

local function split_migration(sides)
	local cost, spread = cost_of_move{ sides.a, sides.b }
	if spread < 5 then
		cost = cost_of_move{ table.move(sides.b, 1, #sides.b, #sides.a + 1, table.move(sides.a, 1, #sides.a, 1, {})) }
	end
	if cost <= 0 then
		return
	end
	for _, list in pairs(sides) do
		for _, unit in ipairs(list) do
			if unit.moves > 0 then
				move(unit, "migration", math.min(cost * unit.moves, unit.moved), unit.move_at)
			end
		end
	end
end

-- New names for parts whose `who` only one side has: the name without numbers, if both sides have such parts.
local function unify_names(sides)
	local seen = { a = {}, b = {} }
	for side, names in pairs(seen) do
		for _, unit in ipairs(sides[side]) do
			for key, part in pairs(unit.parts) do
				names[key] = part.who and part
			end
		end
	end
	local general = { a = {}, b = {} }
	for side, names in pairs(seen) do
		local other = seen[side == "a" and "b" or "a"]
		for key, part in pairs(names) do
			if not other[key] and part.cause ~= "interrupt" and part.cause ~= "io" then
				general[side][part.cause .. "\0" .. without_numbers(part.who)] = true
			end
		end
	end
	local new = {}
	for side, names in pairs(seen) do
		for key, part in pairs(names) do
			local text = part.cause .. "\0" .. without_numbers(part.who)
			if general.a[text] and general.b[text] and not seen[side == "a" and "b" or "a"][key] then
				new[key] = without_numbers(part.who)
			end
		end
	end
	return new
end

local function rename(sides, new)
	for _, list in pairs(sides) do
		for _, unit in ipairs(list) do
			local renamed = {}
			for key in pairs(unit.parts) do
				renamed[#renamed + 1] = new[key] and key
			end
			for _, key in ipairs(renamed) do
				local part = unit.parts[key]
				unit.parts[key] = nil
				local one = part_of(unit, part.cause, new[key])
				one.time = one.time + part.time
				if part.longest >= one.longest then
					one.longest, one.at = part.longest, part.at
				end
			end
		end
	end
end

function differ.is_known(unit)
	local unknown = unit.parts["unknown\0"]
	return not unknown or unknown.time <= known_part * (unit["end"] - unit.begin)
end

-- The pairs whose units have at most 1 % of unknown time, and how many pairs are left out: unknown time would be missing in other
-- causes. If most pairs have more, returns all.
function differ.known(list)
	local found = {}
	for _, pair in ipairs(list) do
		found[#found + 1] = differ.is_known(pair.a) and differ.is_known(pair.b) and pair or nil
	end
	if #found < #list / 2 then
		return list, 0
	end
	return found, #list - #found
end

-- Adds to split units of both sides, {a = list, b = list}, the causes that are computed from all units: frequency, migration.
function differ.prepare_sides(sides)
	split_frequency(sides)
	split_migration(sides)
	rename(sides, unify_names(sides))
end

-- Both sides of a list of pairs.
local function sides_of(list)
	local sides = { a = {}, b = {} }
	for i, pair in ipairs(list) do
		sides.a[i], sides.b[i] = pair.a, pair.b
	end
	return sides
end

-- The same of pairs, {a =, b =}.
function differ.prepare(list)
	differ.prepare_sides(sides_of(list))
	table.sort(list, function(x, y)
		if x.a.begin ~= y.a.begin then
			return x.a.begin < y.a.begin
		end
		return x.b.begin < y.b.begin
	end)
end

-- ---- differences ----

-- The normal quantile for a tail of p (Abramowitz and Stegun 26.2.23).
local function normal_quantile(p)
	local t = math.sqrt(-2 * math.log(p))
	return t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)))
end

-- The integral of sin(x)^(n - 1) from 0 to `high` by Simpson's rule, over v with x = high * v^4: smooth at 0 for all n from 1 on.
local function sine_integral(high, n)
	local intervals, sum = 64, 0
	for i = 1, intervals do
		local v = i / intervals
		local height = v ^ 3 * math.sin(high * v ^ 4) ^ (n - 1)
		sum = sum + height * (i == intervals and 1 or i % 2 == 1 and 4 or 2)
	end
	return 4 * high * sum / (3 * intervals)
end

-- Student's quantile for a tail of p with n degrees of freedom, from 1 on. With x = sqrt(n) / tan(angle) the tail beyond x is
-- the part of the integral of sin^(n - 1) that lies below the angle, which Newton's method finds.
local function quantile_of_few(p, n)
	local area = 2 * p * sine_integral(math.pi / 2, n)
	local angle = (area * n) ^ (1 / n)
	for _ = 1, 8 do
		angle = angle - (sine_integral(angle, n) - area) / math.sin(angle) ^ (n - 1)
	end
	return math.sqrt(n) / math.tan(angle)
end

-- Student's quantile for a tail of p, at most 0.1, with n degrees of freedom (Hill 1970, algorithm 396 of the ACM, which is for
-- more than 2).
local function quantile(p, n)
	local both = 2 * p
	if n < 2.5 then
		return quantile_of_few(p, n)
	end
	local a = 1 / (n - 0.5)
	local b = 48 / a ^ 2
	local c = ((20700 * a / b - 98) * a - 16) * a + 96.36
	local d = ((94.5 / (b + c) - 3) / b + 1) * math.sqrt(a * math.pi / 2) * n
	local y = (d * both) ^ (2 / n)
	if y > 0.05 + a then
		local x = -normal_quantile(p)
		y = x ^ 2
		c = n < 5 and c + 0.3 * (n - 4.5) * (x + 0.6) or c
		c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c
		y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x
		y = math.exp(a * y ^ 2) - 1
	else
		y = ((1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1) * (n + 1) / (n + 2) + 1 / y
	end
	return math.sqrt(n * y)
end

-- Sums of each cause by block of consecutive pairs: {[key] = {cause =, who =, a =, b =, differences of blocks per unit}}.
local function sums_of(list, blocks)
	local found, n = {}, #list
	for i, pair in ipairs(list) do
		local block = (i - 1) * blocks // n + 1
		for side, sign in pairs{ a = -1, b = 1 } do
			for key, part in pairs(pair[side].parts) do
				local sum = found[key]
				if not sum then
					sum = { key = key, cause = part.cause, who = part.who, a = 0, b = 0 }
					for k = 1, blocks do
						sum[k] = 0
					end
					found[key] = sum
				end
				sum[side] = sum[side] + part.time / n
				sum[block] = sum[block] + sign * part.time * blocks / n
			end
		end
	end
	return found
end

-- The moments, on both sides, of the pairs in which the cause differs most.
local function moments_of(list, sum, most)
	local sign = sum.b >= sum.a and 1 or -1
	local order = {}
	for i, pair in ipairs(list) do
		local a, b = pair.a.parts[sum.key], pair.b.parts[sum.key]
		order[i] = { pair = pair, by = sign * ((b and b.time or 0) - (a and a.time or 0)), i = i, a = a, b = b }
	end
	table.sort(order, analysis.order("-by", "i"))
	local found = { a = {}, b = {} }
	for k = 1, math.min(most, #order) do
		found.a[k] = order[k].a and order[k].a.at or order[k].pair.a.begin
		found.b[k] = order[k].b and order[k].b.at or order[k].pair.b.begin
	end
	return found
end

-- The CPU and frequency on which units of the slower side computed the longest.
function differ.slow_clock(list)
	local sums, best = {}, nil
	for _, unit in ipairs(list) do
		for label, time in pairs(unit.clocks) do
			sums[label] = (sums[label] or 0) + time
		end
	end
	for label, time in pairs(sums) do
		if not best or time > sums[best] or time == sums[best] and label < best then
			best = label
		end
	end
	return best
end

-- The mean time of each cause per unit, summed over `who`: {a = {[cause] = ns}, b = ...}.
function differ.totals(list)
	local totals = { a = {}, b = {} }
	for _, pair in ipairs(list) do
		for name, sums in pairs(totals) do
			for _, part in pairs(pair[name].parts) do
				sums[part.cause] = (sums[part.cause] or 0) + part.time / #list
			end
		end
	end
	return totals
end

-- The causes of split units of both sides, {[key] = {key =, cause =, who =}}, and how many.
function differ.causes_of(sides)
	local found, count = {}, 0
	for _, list in pairs(sides) do
		for _, unit in ipairs(list) do
			for key, part in pairs(unit.parts) do
				count = count + (found[key] and 0 or 1)
				found[key] = { key = key, cause = part.cause, who = part.who }
			end
		end
	end
	return found, count
end

-- The number of different causes in a list of pairs.
function differ.causes(list)
	return select(2, differ.causes_of(sides_of(list)))
end

-- The mean of blocks and its confidence interval, the wider of the bootstrap's percentiles and Student's; `left_out`: the chance
-- outside of it.
local function bounds_of(blocks, left_out)
	local mean, low, high, deviation = yore.resample(blocks, left_out, rounds, seed)
	local student = quantile(left_out / 2, #blocks - 1)
	return mean, math.min(low, mean - student * deviation), math.max(high, mean + student * deviation)
end

-- The same from fewer and longer blocks.
local function joined(blocks, count)
	local found = {}
	for i = 1, count do
		local first, last = (i - 1) * #blocks // count + 1, i * #blocks // count
		local sum = 0
		for k = first, last do
			sum = sum + blocks[k]
		end
		found[i] = sum / (last - first + 1)
	end
	return found
end

-- What a change of CPU costs is estimated from running time: how sure it is, both tell together. Their blocks, and by how
-- much these differ from those of `sum`.
local function added(sum, running)
	local both = {}
	for i, difference in ipairs(sum) do
		both[i] = difference + running[i]
	end
	return both, running.b - running.a
end

-- The causes that differ: {cause =, who =, difference =, low =, high =, a =, b =, moments =}. The interval leaves out
-- `left_out` of the chances; differences below `floor` ns per unit are of no interest.
function differ.differences(list, left_out, floor)
	local found, blocks = {}, math.min(most_blocks, #list)
	if blocks < fewest_blocks then
		return found
	end
	local sums = sums_of(list, blocks)
	for _, sum in pairs(sums) do
		local mean = sum.b - sum.a
		if math.abs(mean) >= floor then
			local spread, shift = sum, 0
			if sum.cause == "migration" and sums["running\0"] then
				spread, shift = added(sum, sums["running\0"])
			end
			local _, low, high = bounds_of(spread, left_out)
			if blocks > long_blocks then
				local _, lower, higher = bounds_of(joined(spread, long_blocks), left_out)
				low, high = math.min(low, lower), math.max(high, higher)
			end
			low, high = low - shift, high - shift
			if low > 0 or high < 0 then
				sum.difference, sum.low, sum.high = mean, low, high
				sum.moments = moments_of(list, sum, 3)
				if sum.cause == "frequency" then
					sum.who = differ.slow_clock(sides_of(list)[mean > 0 and "b" or "a"])
				end
				found[#found + 1] = sum
			end
		end
	end
	return found
end

-- The median of a list, which is sorted; nil of none.
function differ.median(list)
	table.sort(list)
	local n = #list
	return n > 0 and (list[(n + 1) // 2] + list[n // 2 + 1]) / 2 or nil
end

differ.fewest, differ.rounds, differ.seed, differ.most_units = fewest_blocks, rounds, seed, most_units
differ.quantile, differ.normal_quantile, differ.without_numbers = quantile, normal_quantile, without_numbers
differ.bounds_of, differ.joined = bounds_of, joined
return differ

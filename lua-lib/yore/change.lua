-- change: where a series of numbers, one of each run, goes from one level to another one
--
-- Is there a change: the sum of the ranks of the first t numbers, in standard deviations off what is expected, at most over all t (the
-- Wilcoxon rank sum of the best split), against the same of random orders of the ranks (permutation test). Only order counts, so that
-- neither outliers nor the distribution of the numbers matter. Runs that follow each other may be alike for another reason than a
-- change: what numbers beside each other have in common (the autocorrelation of ranks within a level) widens what chance may do.
--
-- Where: the split with the highest likelihood of Student's distribution with 4 degrees of freedom about two medians, which is as sure as the
-- normal one and heeds no outliers. Splits whose log likelihood is less by no more than c are within the bounds: of a random walk
-- with drift both sides stay below c with a chance of (1 - exp(-c))^2.
--
-- By how much: the median of all differences of two numbers, one of each level (Hodges and Lehmann), with Wilcoxon's bounds.
--
-- Where all numbers are above 0 their logarithms are compared, and a change is a ratio.

local basics = require("yore.basics")
local differ = require("yore.differ")

local median = differ.median

local change = {}

change.level = 0.001 -- the chance of a change in a series that has none
change.sure = 0.99 -- of bounds
local rounds, seed = 20000, 7
local normal_of_sure, normal_of_seen = 2.576, 1.645 -- quantiles: both tails of `sure`, one of 95 %
local never_below = 3 -- what is nearer is more likely than `level` in series of any length: nothing need be drawn
local degrees = 4
local most_of_level = 150 -- numbers of a level that are compared with those of the other one

-- ---- numbers ----

local function part(list, from, to)
	return table.move(list, from, to, 1, {})
end

-- The ranks of list[from .. to] less their mean, by place, those of equal numbers the same; and the sum of t^3 - t over `t` equal ones.
local function ranks_of(list, from, to)
	local places, ranks, ties, i = {}, {}, 0, 1
	for place = from, to do
		places[#places + 1] = place
	end
	table.sort(places, function(a, b) return list[a] < list[b] end)
	while i <= #places do
		local last = i
		while last < #places and list[places[last + 1]] == list[places[i]] do
			last = last + 1
		end
		for k = i, last do
			ranks[places[k]] = (i + last) / 2 - (#places + 1) / 2
		end
		ties, i = ties + (last - i + 1) ^ 3 - (last - i + 1), last + 1
	end
	return ranks, ties
end

-- ---- is there one ----

-- The split of list[from .. to] whose rank sum lies farthest off: its last place on the left, and how far in standard deviations.
local function farthest(list, from, to)
	local ranks, ties = ranks_of(list, from, to)
	local n, sum, best, at = to - from + 1, 0, 0, from
	local variance = (n + 1 - ties / (n * (n - 1))) / 12
	for place = from, variance > 0 and to - 1 or from - 1 do
		local t = place - from + 1
		sum = sum + ranks[place]
		local off = math.abs(sum) / math.sqrt(variance * t * (n - t))
		if off > best then
			best, at = off, place
		end
	end
	return at, best
end

-- By how much wider chance is than for numbers that have nothing in common: from what neighbours have, both sides of the split apart.
local function widening(list, from, at, to)
	local products, squares = 0, 0
	for _, side in ipairs{ { from, at }, { at + 1, to } } do
		local ranks = ranks_of(list, side[1], side[2])
		for place = side[1], side[2] do
			squares = squares + ranks[place] ^ 2
			products = products + (place > side[1] and ranks[place] * ranks[place - 1] or 0)
		end
	end
	local common = squares > 0 and math.min(0.95, math.max(0, products / squares)) or 0
	return math.sqrt((1 + common) / (1 - common)), common
end

local maxima_of = {} -- by the number of runs

local function maxima(n)
	maxima_of[n] = maxima_of[n] or yore.rank_maxima(n, rounds, seed)
	return maxima_of[n]
end

-- The chance that a series of n numbers without a change goes as far.
local function chance(n, off)
	local list = maxima(n)
	local at = basics.first(#list, function(i) return list[i] >= off end)
	return (#list - at + 2) / (#list + 1)
end

-- ---- where ----

-- The medians on both sides, and how far numbers are off them: of normal ones the standard deviation.
local function levels_of(list, from, at, to)
	local before, after, off, sum = median(part(list, from, at)), median(part(list, at + 1, to)), {}, 0
	for place = from, to do
		off[#off + 1] = math.abs(list[place] - (place <= at and before or after))
		sum = sum + off[#off]
	end
	local spread = 1.4826 * median(off)
	return before, after, spread > 0 and spread or 1.2533 * sum / #off
end

local function surprise(off)
	return (degrees + 1) / 2 * math.log(1 + off ^ 2 / degrees)
end

-- The likeliest split, and the first and last one within its bounds.
local function locate(list, from, at, to)
	local likely, best
	for _ = 1, 10 do
		local before, after, spread = levels_of(list, from, at, to)
		if spread == 0 then
			return at, at, at
		end
		local sum = 0
		likely, best = {}, from
		for place = from, to - 1 do
			sum = sum + surprise((list[place] - after) / spread) - surprise((list[place] - before) / spread)
			likely[place] = sum
			best = sum > likely[best] and place or best
		end
		if best == at then
			break
		end
		at = best
	end
	local low, high, least = best, best, likely[best] + math.log(1 - math.sqrt(change.sure))
	for place = from, to - 1 do
		if likely[place] >= least then
			low, high = math.min(low, place), math.max(high, place)
		end
	end
	return best, low, high
end

-- ---- by how much ----

-- The median of the differences between the levels, and its bounds; nil where there are too few.
local function shift_of(list, from, at, to, wider)
	local first, last = math.max(from, at - most_of_level + 1), math.min(to, at + most_of_level)
	local n, m, differences = at - first + 1, last - at, {}
	for a = first, at do
		for b = at + 1, last do
			differences[#differences + 1] = list[b] - list[a]
		end
	end
	local middle = median(differences)
	local cut = math.floor(n * m / 2 - wider * normal_of_sure * math.sqrt(n * m * (n + m + 1) / 12))
	return middle, differences[cut], cut > 0 and differences[#differences + 1 - cut] or nil
end

-- ---- all changes ----

-- Does list[from .. to] change? The split, and the chance.
local function split(list, from, to)
	local n = to - from + 1
	if n < 2 then
		return
	end
	local at, off = farthest(list, from, to)
	off = off / widening(list, from, at, to)
	if off >= never_below and chance(n, off) <= change.level then
		return (locate(list, from, at, to))
	end
end

-- Adds the last places before changes in list[from .. to], the left ones first (binary segmentation).
local function add_splits(list, from, to, found)
	local at = split(list, from, to)
	if at then
		add_splits(list, from, at, found)
		found[#found + 1] = at
		add_splits(list, at + 1, to, found)
	end
end

-- Each change once more, between its neighbours: one that is none there is dropped.
local function settled(list, found)
	local kept, i = {}, 1
	while i <= #found do
		local from, to = (kept[#kept] or 0) + 1, found[i + 1] or #list
		local at = split(list, from, to)
		if at then
			kept[#kept + 1], i = at, i + 1
		else
			table.remove(found, i)
		end
	end
	return kept
end

-- Logarithms, where all numbers have one; and what makes a difference of these what is shown.
local function scaled(numbers)
	local list = {}
	for i, number in ipairs(numbers) do
		if number <= 0 then
			return numbers, false
		end
		list[i] = math.log(number)
	end
	return list, true
end

-- The changes of a list of numbers, in order: {first =, low =, high =, before =, after =, chance =, shift =, least =, most =, ratio =}. `first` is
-- the place of the first number of the new level, `low` and `high` the bounds of it; before and after the medians of the levels on both
-- sides; shift the difference with its bounds, of ratio true a quotient.
function change.find(numbers)
	local list, ratio = scaled(numbers)
	local found, changes = {}, {}
	add_splits(list, 1, #list, found)
	found = #found > 1 and settled(list, found) or found
	for i, at in ipairs(found) do
		local from, to = (found[i - 1] or 0) + 1, found[i + 1] or #list
		local _, low, high = locate(list, from, at, to)
		local wider = widening(list, from, at, to)
		local _, off = farthest(list, from, to)
		local shift, least, most = shift_of(list, from, at, to, wider)
		if ratio then
			shift, least, most = math.exp(shift), least and math.exp(least), most and math.exp(most)
		end
		changes[i] = { first = at + 1, low = low + 1, high = high + 1, before = median(part(numbers, from, at)),
			after = median(part(numbers, at + 1, to)), chance = chance(to - from + 1, off / wider), shift = shift, least = least, most = most,
			ratio = ratio, rises = shift > (ratio and 1 or 0) }
	end
	return changes
end

-- ---- what would have been found ----

-- How likely a number behind the change must be above one before it, so that the rank sum of a split into parts a and 1 - a of n numbers goes
-- so far in 95 of 100 series; nil: it never does. The nearer to 1, the less the sum varies.
local function odds_to_go(far, n, a)
	local function reach(odds)
		return (odds - 0.5) * math.sqrt(12 * n * a * (1 - a)) - normal_of_seen * 2 * math.sqrt(odds * (1 - odds))
	end
	local low, high = 0.5, 0.9999
	if reach(high) < far then
		return
	end
	for _ = 1, 50 do
		local middle = (low + high) / 2
		if reach(middle) < far then low = middle else high = middle end
	end
	return high
end

-- The smallest change behind this part of the series that would be found in 95 of 100 such series, and whether it is a ratio; nil: none
-- would. How far numbers are off their level is taken from neighbours, so that a change itself does not matter.
function change.smallest(numbers, where)
	local list, ratio = scaled(numbers)
	local n, steps = #list, {}
	if n < 3 then
		return
	end
	for i = 2, n do
		steps[#steps + 1] = math.abs(list[i] - list[i - 1])
	end
	local at = farthest(list, 1, n)
	local wider, common = widening(list, 1, at, n)
	local spread = 1.4826 * median(steps) / math.sqrt(2 * (1 - common))
	local far = maxima(n)[math.ceil(rounds + 2 - change.level * (rounds + 1))] -- see chance()
	local odds = chance(n, far) <= change.level and odds_to_go(wider * far, n, where)
	if not odds then
		return
	end
	local step = math.sqrt(2) * spread * differ.normal_quantile(1 - odds)
	return ratio and math.exp(step) or step, ratio
end

return change

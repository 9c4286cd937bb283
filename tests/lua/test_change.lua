-- Changes of series whose numbers are drawn here: where they change is known. A number has the exact distribution of the 99th
-- percentile of 4,000 units of lognormal length (sigma 0.25): it varies by 1.5 % from run to run; or is normal in its logarithm.
-- YORE_CHANGE_SERIES: how many series of the first two kinds (100), a quarter of it of the others.

local change = require("yore.change")

local series = tonumber(os.getenv("YORE_CHANGE_SERIES") or 100)
local all, runs = series, 500
math.randomseed(20261130)

local function exponentials(n)
	local product, sum = 1, 0
	for i = 1, n do
		product = product * (1 - math.random())
		if i % 20 == 0 or i == n then
			sum, product = sum - math.log(product), 1
		end
	end
	return sum
end

local function normal()
	return math.sqrt(-2 * math.log(1 - math.random())) * math.cos(2 * math.pi * math.random())
end

-- The normal quantile of 1 - tail, by Newton's method from a start near by; the density is that of the tail's end.
local function quantile(tail)
	local t = math.sqrt(-2 * math.log(tail))
	return t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)))
end

-- The 3960th of 4,000 ordered numbers leaves a part above it that is a quotient of sums of exponential ones.
local function p99_of_run()
	local above = exponentials(41)
	local below = 3960 + math.sqrt(3960) * normal() -- a sum of 3,960: normal as nearly as counts
	return 5e6 * math.exp(0.25 * quantile(above / (above + below)))
end

local function like_normal(noise)
	return function()
		return 5e6 * math.exp(noise * normal())
	end
end

-- With a run in twenty that something disturbed, by up to a half.
local function disturbed(draw)
	return function()
		return draw() * (math.random() < 0.05 and 1 + math.random() / 2 or 1)
	end
end

-- What follows each other has `part` in common.
local function alike(noise, part)
	local last = normal()
	return function()
		last = part * last + math.sqrt(1 - part * part) * normal()
		return 5e6 * math.exp(noise * last)
	end
end

local function drawn(draw, n, at, step)
	local numbers = {}
	for i = 1, n do
		numbers[i] = draw() * (at and i >= at and step or 1)
	end
	return numbers
end

local function check(good, what, why)
	print((good and "PASS: " or "FAIL: ") .. what .. ": " .. why)
	assert(good, what)
end

-- Of series with one step: those in which it alone is found, at the right run or beside it, and those whose bounds hold the truth.
local function hits(draw, n, step)
	local near, covered, told = 0, 0, 0
	for _ = 1, series do
		local at = math.random(n // 20 + 1, n - n // 20)
		local found = change.find(drawn(draw, n, at, step))
		local one = found[1]
		near = near + (#found == 1 and math.abs(one.first - at) <= 1 and 1 or 0)
		covered = covered + (one and one.low <= at and at <= one.high and 1 or 0)
		told = told + (one and one.least and one.least <= step and step <= one.most and one.rises == (step > 1) and 1 or 0)
	end
	return near, covered, told
end

local function claimed(draw, n)
	local count = 0
	for _ = 1, series do
		count = count + (#change.find(drawn(draw, n)) > 0 and 1 or 0)
	end
	return count
end

local function finds(what, draw, step, most)
	local near, covered, told = hits(draw, runs, step)
	check(near >= most * series and covered >= 0.92 * series and told >= 0.92 * series,
		string.format("a step of %g %% among %d runs, %s", (step - 1) * 100, runs, what),
		string.format("of %d series %d at the right run or beside it, %d within the bounds, the ratio within its own %d", series, near,
			covered, told))
end

local function claims_nothing(what, draw, n, most)
	local count = claimed(draw, n)
	check(count <= most * series, string.format("%d runs without a step, %s", n, what), string.format("%d of %d series claim one", count, series))
end

finds("p99 of 4,000 units", p99_of_run, 1.05, 0.95)
claims_nothing("p99 of 4,000 units", p99_of_run, runs, 0)
series = all // 4
finds("p99 of 4,000 units", p99_of_run, 1 / 1.05, 0.92)
finds("noise of 1 %", like_normal(0.01), 1.05, 0.96)
finds("noise of 1 %, one in twenty disturbed", disturbed(like_normal(0.01)), 1.05, 0.92)
claims_nothing("noise of 1 %, one in twenty disturbed", disturbed(like_normal(0.01)), runs, 0)
claims_nothing("0.4 in common with the run before", alike(0.02, 0.4), runs, 0.04)
claims_nothing("noise of 1 %", like_normal(0.01), 30, 0.01)

-- Two steps up and one down between them; the first rise is the right one.
local two = 0
for _ = 1, series do
	local numbers = drawn(like_normal(0.01), 300)
	for i, number in ipairs(numbers) do
		numbers[i] = number * (i >= 220 and 1.09 or i >= 150 and 0.98 or i >= 60 and 1.06 or 1)
	end
	local found = change.find(numbers)
	two = two + (#found == 3 and found[1].rises and math.abs(found[1].first - 60) <= 1 and not found[2].rises
		and math.abs(found[2].first - 150) <= 1 and math.abs(found[3].first - 220) <= 1 and 1 or 0)
end
check(two >= 0.9 * series, "three steps", two .. " of " .. series)

-- What is said to be the smallest step that would be found is found, and one of half its size is not always.
for _, where in ipairs{ 0.5, 0.9 } do
	local step = change.smallest(drawn(like_normal(0.02), 100), where)
	local whole, half = 0, 0
	for _ = 1, series do
		whole = whole + (#change.find(drawn(like_normal(0.02), 100, math.floor(100 * where) + 1, step)) > 0 and 1 or 0)
		half = half + (#change.find(drawn(like_normal(0.02), 100, math.floor(100 * where) + 1, 1 + (step - 1) / 2)) > 0 and 1 or 0)
	end
	check(whole >= 0.85 * series and half < 0.8 * series, string.format("the smallest step that would be found, at %g", where),
		string.format("%.2f %%: %d of %d, of half of it %d", (step - 1) * 100, whole, series, half))
end

-- Few numbers, equal ones, zeros.
assert(#change.find({}) == 0 and #change.find({ 1 }) == 0 and #change.find({ 1, 2 }) == 0)
assert(change.smallest({ 1, 2 }, 0.5) == nil and change.smallest({ 3, 3, 3, 3 }, 0.5) == nil)
local equal = {}
for i = 1, 40 do
	equal[i] = 7
end
assert(#change.find(equal) == 0)
for i = 26, 40 do
	equal[i] = 8
end
local found = change.find(equal)
assert(#found == 1 and found[1].first == 26 and found[1].low == 26 and found[1].high == 26 and found[1].before == 7 and found[1].after == 8)
for i = 1, 25 do
	equal[i] = 0
end
found = change.find(equal)
assert(#found == 1 and not found[1].ratio and found[1].shift == 8 and found[1].rises)

-- shares: the difference of a part's share between two profiles, with its confidence interval
--
-- A side is the samples of one recording. Consecutive samples form blocks; at 400 blocks, each two neighbours are joined. Blocks
-- make the bounds valid if neighbouring samples are alike, and limit the memory. For a part (a function, a stack) its weight in
-- each block is stored. Its share is a ratio of two sums. The bounds are computed from the linearisation of this ratio, whose
-- mean over all blocks is the share:
--
--     share + (weight of the part - share * weight of all) * blocks / weight of all blocks
--
-- The sides are independent, so the variance of the difference is that of the differences of blocks.

local differ = require("yore.differ")

local shares = {}
local methods = {}
methods.__index = methods

local most_blocks = 200
local long_blocks = 40 -- number of long blocks, for phases of a program that are longer than a short block

-- A side without samples.
function shares.new()
	return setmetatable({ samples = 0, weight = 0, width = 1, all = shares.sums() }, methods)
end

-- An empty list of a part's weights by block.
function shares.sums()
	return { width = 1, blocks = {} }
end

-- Joins blocks until each has `width` samples.
local function widen(sums, width)
	while sums.width < width do
		local joined = {}
		for block, weight in pairs(sums.blocks) do
			joined[block // 2] = (joined[block // 2] or 0) + weight
		end
		sums.width, sums.blocks = sums.width * 2, joined
	end
end

-- Adds weight to a part, in the block of the current sample.
function methods:add(sums, weight)
	widen(sums, self.width)
	local block = (self.samples - 1) // self.width
	sums.blocks[block] = (sums.blocks[block] or 0) + weight
end

-- Adds the weights of a part to those of another part of the same side.
function methods:join(sums, part)
	widen(sums, self.width)
	widen(part, self.width)
	for block, weight in pairs(part.blocks) do
		sums.blocks[block] = (sums.blocks[block] or 0) + weight
	end
end

-- Begins the next sample.
function methods:sample(weight)
	if self.samples == 2 * most_blocks * self.width then
		self.width = self.width * 2
	end
	self.samples, self.weight = self.samples + 1, self.weight + weight
	self:add(self.all, weight)
end

local function blocks_of(side)
	return (side.samples + side.width - 1) // side.width
end

-- The share of a part, linearised, in `count` blocks.
local function linearised(side, sums, count)
	local blocks, own, all, part = blocks_of(side), {}, {}, 0
	widen(sums, side.width)
	for block = 0, blocks - 1 do
		local i, weight = block * count // blocks + 1, sums.blocks[block] or 0
		own[i], all[i], part = (own[i] or 0) + weight, (all[i] or 0) + (side.all.blocks[block] or 0), part + weight
	end
	local share = part / side.weight
	for i = 1, count do
		own[i] = share + (own[i] - share * all[i]) * count / side.weight
	end
	return own
end

-- Student's confidence interval of the mean; `left_out` is the chance that the mean lies outside.
local function student(numbers, left_out)
	local sum, squares, count = 0, 0, #numbers
	for _, number in ipairs(numbers) do
		sum = sum + number
	end
	local mean = sum / count
	for _, number in ipairs(numbers) do
		squares = squares + (number - mean) ^ 2
	end
	local half = differ.quantile(left_out / 2, count - 1) * math.sqrt(squares / (count - 1) / count)
	return mean - half, mean + half
end

-- The wider of the intervals of short blocks and of long ones.
local function widest(numbers, left_out, bounds)
	local low, high = bounds(numbers, left_out)
	if #numbers > long_blocks then
		local lower, higher = bounds(differ.joined(numbers, long_blocks), left_out)
		low, high = math.min(low, lower), math.max(high, higher)
	end
	return low, high
end

local function resampled(numbers, left_out)
	local _, low, high = differ.bounds_of(numbers, left_out)
	return low, high
end

-- The confidence interval of a part's share on side `b` less that on side `a`: Student's; if it does not contain 0, extended to
-- the bootstrap's. `left_out`: the chance outside. nil: too few samples. sums_of_a or sums_of_b nil: that side lacks the part.
function shares.bounds(a, sums_of_a, b, sums_of_b, left_out)
	local count = math.min(most_blocks, blocks_of(a), blocks_of(b))
	if count < differ.fewest or a.weight <= 0 or b.weight <= 0 then
		return nil
	end
	local of_a, numbers = linearised(a, sums_of_a or shares.sums(), count), linearised(b, sums_of_b or shares.sums(), count)
	for i, share in ipairs(of_a) do
		numbers[i] = numbers[i] - share
	end
	local low, high = widest(numbers, left_out, student)
	if low > 0 or high < 0 then
		local lower, higher = widest(numbers, left_out, resampled)
		low, high = math.min(low, lower), math.max(high, higher)
	end
	return low, high
end

return shares

-- draw: pictures of numbers, each the text of one SVG file that needs no other
--
-- draw.flamegraph{stacks=, title=, unit=}      who was on the stack, and for how much
-- draw.histogram{values=, title=, unit=}       how often each length came
-- draw.heatmap{points=, from=, to=, unit=}     the same over time
--
-- yore.save(path, text) writes a file that replaces what is there when it is whole.

local basics = require("yore.basics")

local draw = {}

local text = yore.drawing.text
local format = string.format

-- A number with its unit: lengths of time as the program writes them.
local function amount(number, unit)
	if unit == "ns" then
		return yore.span(math.tointeger(number) or math.floor(number + 0.5))
	end
	return format("%.14g", number) .. (unit and unit ~= "" and " " .. unit or "")
end

-- A round number of at least `number`: 1, 2 or 5 times a power of ten.
local function round_up(number)
	local power = 1
	while power * 10 <= number do
		power = power * 10
	end
	for _, step in ipairs{ 1, 2, 5, 10 } do
		if step * power >= number then
			return step * power
		end
	end
end

local function need(options, known, name)
	for key in pairs(options) do
		if not known[key] then
			error(name .. ": unknown option '" .. tostring(key) .. "'", 3)
		end
	end
end

local function head(title, line)
	return format('<g id="head"><rect class="page" width="100%%" height="80"/>\n'
		.. '<text class="title" x="10" y="18">%s</text>\n<text id="range" x="10" y="34">%s</text>\n',
		text(title), text(line))
end

-- ---- flame graphs ----

local WIDTH, ROW, MARGIN, TOP, CHAR, FRAMES_MOST = 1200, 18, 10, 106, 7.3, 20000

local function new_node(name, kind)
	return { name = name, kind = kind, weight = 0, against = 0, kids = {}, order = {} }
end

-- The kid of that name; a kernel's frame is another than a user's of the same name.
local function kid_of(node, name, kind)
	local key = kind .. ":" .. name
	return node.kids[key] or basics.add(node.kids, key, node.order, new_node(name, kind))
end

local function kind_of(stack, level)
	return level == 1 and stack.thread and "thread" or stack.kernel and level >= stack.kernel and "kernel" or "user"
end

-- What stacks weigh in the other profile that this one does not have; gives how much of it is on frames that this one does not have.
local function add_gone(root, stacks)
	local gone = 0
	for _, stack in ipairs(stacks) do
		local node = stack.weight == 0 and stack.against and root or nil
		local level = 0
		while node do
			node.against = node.against + stack.against
			level = level + 1
			local name = stack.frames[level]
			local kid = name and node.kids[kind_of(stack, level) .. ":" .. name]
			gone = gone + (name and not kid and stack.against or 0)
			node = kid
		end
	end
	return gone
end

local function tree_of(stacks)
	local root, depth, count = new_node("all", "thread"), 0, 1
	for _, stack in ipairs(stacks) do
		local node = root
		if stack.weight > 0 then
			root.weight, root.against = root.weight + stack.weight, root.against + (stack.against or 0)
			for level, name in ipairs(stack.frames) do
				node = kid_of(node, name, kind_of(stack, level))
				count = count + (node.weight == 0 and 1 or 0)
				node.weight, node.against = node.weight + stack.weight, node.against + (stack.against or 0)
			end
			depth = math.max(depth, #stack.frames)
		end
	end
	return root, depth, count, add_gone(root, stacks)
end

-- The least weight of a frame that is drawn; smaller ones are too many.
local function least_weight(root, count)
	if count <= FRAMES_MOST then
		return 0
	end
	local weights = {}
	local function walk(node)
		weights[#weights + 1] = node.weight
		for _, kid in ipairs(node.order) do
			walk(kid)
		end
	end
	walk(root)
	table.sort(weights, function(a, b) return a > b end)
	return weights[FRAMES_MOST] + 1
end

local function by_name(a, b)
	if a.name ~= b.name then
		return a.name < b.name
	end
	return a.kind < b.kind
end

-- By how many hundredths of all the share of a frame changed, for its colour.
local steps = { { 10, "3" }, { 2, "2" }, { 0.5, "1" } }

local function change_of(node, root)
	return node.weight * 100 / root.weight - node.against * 100 / root.against
end

local function kind_of_change(change)
	for _, step in ipairs(steps) do
		if math.abs(change) >= step[1] then
			return (change > 0 and "grew" or "shrank") .. step[2]
		end
	end
	return "alike"
end

local function add_frames(out, root, height, unit, least)
	local scale = (WIDTH - 2 * MARGIN) / root.weight
	local kinds, drawn = {}, 0
	local function box(node, from, level)
		if node.weight < least then
			return
		end
		local x, width = MARGIN + from * scale, node.weight * scale
		local y = height - (level + 1) * ROW
		local name, kind, attributes, more = text(node.name), node.kind, "", ""
		if root.against > 0 then
			local change = change_of(node, root)
			kind = kind_of_change(change)
			attributes = format(' data-against="%d" data-change="%.4f"', node.against, change)
			more = format("; %.2f%% in the other, %+.2f", node.against * 100 / root.against, change)
		end
		kinds[kind] = true
		drawn = drawn + 1
		out[#out + 1] = format('<g class="frame %s" data-weight="%d"%s><title>%s\n%s, %.2f%%%s</title>'
			.. '<rect x="%.6f" y="%d" width="%.6f" height="%d"/>', kind, node.weight, attributes, name,
			text(amount(node.weight, unit)), node.weight * 100 / root.weight, more, x, y, width, ROW - 1)
		if width > #name * CHAR + 6 then
			out[#out + 1] = format('<text class="on" x="%.1f" y="%d">%s</text>', x + 3, y + 13, name)
		end
		out[#out + 1] = "</g>\n"
		table.sort(node.order, by_name)
		for _, kid in ipairs(node.order) do
			box(kid, from, level + 1)
			from = from + kid.weight
		end
	end
	box(root, 0, 0)
	return kinds, drawn
end

local function legend(kinds)
	local out, x = {}, MARGIN
	for _, item in ipairs{ { "kernel", "kernel" }, { "user", "user" }, { "thread", "thread" }, { "shrank3", "-10 % of all" }, { "shrank2", "-2 %" },
		{ "shrank1", "-0.5 %" }, { "alike", "alike" }, { "grew1", "+0.5 %" }, { "grew2", "+2 %" }, { "grew3", "+10 % of all" } } do
		if kinds[item[1]] then
			out[#out + 1] = format('<g class="%s"><rect x="%d" y="60" width="22" height="14"/></g>'
				.. '<text x="%d" y="72">%s</text>', item[1], x, x + 28, item[2])
			x = x + 28 + (#item[2] + 2) * 8
		end
	end
	return table.concat(out)
end

-- stacks: a list of {frames = {outermost, ...}, weight = integer, kernel = place of the outermost frame of
-- the kernel (nil: none), thread = true when the first frame is a thread's name, against = the weight in another profile, by which
-- frames are coloured then}. unit: "ns", "samples", ...
function draw.flamegraph(options)
	need(options, { stacks = true, title = true, unit = true }, "flamegraph")
	local unit = options.unit or "samples"
	local root, depth, count, gone = tree_of(options.stacks)
	if root.weight <= 0 then
		error("flamegraph: nothing to draw", 2)
	end
	local least = least_weight(root, count)
	local height = TOP + (depth + 1) * ROW
	local frames = {}
	local kinds, drawn = add_frames(frames, root, height, unit, least)
	local line = amount(root.weight, unit) .. " in all, " .. drawn .. " frames"
	if drawn < count then
		line = line .. format("; %d frames of less than %s are left out", count - drawn, amount(least, unit))
	end
	if gone > 0 then
		line = line .. format("; %.2f%% of the other is on frames that are not here", gone * 100 / root.against)
	end
	local ticks, step = {}, round_up(root.weight / 6)
	for weight = 0, root.weight, step do
		local x = MARGIN + (WIDTH - 2 * MARGIN) * weight / root.weight
		ticks[#ticks + 1] = format('<path class="tick" d="M%.1f 82v8"/><text class="faint" x="%.1f" y="98" '
			.. 'text-anchor="%s">%s</text>', x, x, weight == 0 and "start" or x > WIDTH - 5 * MARGIN and "end" or "middle",
			text(amount(weight, unit)))
	end
	return table.concat{
		yore.drawing.begin(WIDTH, height + MARGIN, options.title or "flame graph"),
		format('<g id="frames" data-margin="%d" data-unit="%s" data-total="%d">\n', MARGIN, text(unit), root.weight),
		table.concat(frames), "</g>\n", head(options.title or "flame graph", line), legend(kinds),
		'<g id="axis">', table.concat(ticks), "</g>\n</g>\n", yore.drawing.finish("flamegraph"),
	}
end

-- ---- histograms and heat maps ----

-- The bucket of a number: 0, then [1, 2), [2, 5), [5, 10), [10, 20) ...
local function bucket_of(number)
	if number < 1 then
		return 0
	end
	local power, exponent = 1, 0
	while number // power >= 10 and exponent < 18 do
		power, exponent = power * 10, exponent + 1
	end
	local digit = number // power
	return exponent * 3 + (digit >= 5 and 3 or digit >= 2 and 2 or 1)
end

local function bucket_begin(bucket)
	if bucket == 0 then
		return 0
	end
	local step = ({ 1, 2, 5 })[(bucket - 1) % 3 + 1]
	return step * math.tointeger(10 ^ ((bucket - 1) // 3))
end

-- What segments:groups() says of lengths, of a list of integers.
local function summary_of(values)
	local sorted = table.move(values, 1, #values, 1, {})
	table.sort(sorted)
	local function quantile(share)
		return sorted[math.max(1, math.ceil(#sorted * share))]
	end
	return { count = #sorted, min = sorted[1], max = sorted[#sorted], p50 = quantile(0.5), p99 = quantile(0.99) }
end

local function chart(title, line, width, height, parts)
	return table.concat{ yore.drawing.begin(width, height, title), head(title, line), "</g>\n",
		table.concat(parts), yore.drawing.finish("chart") }
end

local LEFT, BASE, HIGH = 110, 380, 280

local function add_counts(parts, most)
	local steps = math.min(most, 5)
	for i = 0, steps do
		local y = BASE - HIGH * i / steps
		parts[#parts + 1] = format('<path class="tick" d="M%d %.1fH%d"/><text class="faint" x="%d" y="%.1f" '
			.. 'text-anchor="end">%.14g</text>\n', LEFT, y, WIDTH - MARGIN, LEFT - 8, y + 4, most * i / steps)
	end
end

-- values: a list of integers that are not negative; the buckets are 1, 2, 5 times powers of ten. Or a function that calls
-- add(number) for each; `summary` is then their count, min, max, p50 and p99.
function draw.histogram(options)
	need(options, { values = true, summary = true, title = true, unit = true, what = true }, "histogram")
	local unit, title, what = options.unit or "ns", options.title or "histogram", options.what or "intervals"
	local listed = type(options.values) == "table"
	local summary = listed and summary_of(options.values) or options.summary
	if not summary or summary.count == 0 then
		error("histogram: nothing to draw", 2)
	end
	local counts, first, last, most = {}, bucket_of(summary.min), bucket_of(summary.max), 0
	local function add(number)
		local bucket = bucket_of(number)
		counts[bucket] = (counts[bucket] or 0) + 1
		most = math.max(most, counts[bucket])
	end
	if listed then
		for _, number in ipairs(options.values) do
			add(number)
		end
	else
		options.values(add)
	end
	local parts, top = {}, round_up(most)
	local wide = math.min(120, (WIDTH - MARGIN - LEFT) / (last - first + 1))
	add_counts(parts, top)
	for bucket = first, last do
		local x, count = LEFT + (bucket - first) * wide, counts[bucket] or 0
		local from, to = bucket_begin(bucket), bucket_begin(bucket + 1)
		local high = HIGH * count / top
		parts[#parts + 1] = format('<rect class="bar" data-count="%d" x="%.1f" y="%.1f" width="%.1f" '
			.. 'height="%.1f"><title>%s to %s\n%d %s, %.2f%%</title></rect>\n', count, x + 1, BASE - high,
			wide - 2, high, text(amount(from, unit)), text(amount(to, unit)), count, text(what), count * 100 / summary.count)
		if (bucket - first) % math.ceil(70 / wide) == 0 then
			parts[#parts + 1] = format('<text class="faint" x="%.1f" y="%d">%s</text>\n', x, BASE + 18,
				text(amount(from, unit)))
		end
	end
	parts[#parts + 1] = format('<text class="faint" x="%d" y="%d">%s of that length</text>\n', MARGIN, BASE - HIGH - 14,
		text(what))
	local line = format("%d %s; half up to %s, 99%% up to %s, longest %s", summary.count, what,
		amount(summary.p50, unit), amount(summary.p99, unit), amount(summary.max, unit))
	return chart(title, line, WIDTH, BASE + 40, parts)
end

-- Counts of points by column of time and bucket of value.
local function grid_of(points, from, to, columns)
	local grid, first, last, most, count = {}, math.huge, 0, 0, 0
	local function add(t, number)
		if t >= from and t < to then
			local bucket = bucket_of(number)
			local column = math.floor((t - from) / (to - from) * columns)
			local cells = grid[bucket] or {}
			grid[bucket] = cells
			cells[column] = (cells[column] or 0) + 1
			most, count = math.max(most, cells[column]), count + 1
			first, last = math.min(first, bucket), math.max(last, bucket)
		end
	end
	if type(points) == "function" then
		points(add)
	else
		for _, point in ipairs(points) do
			add(point[1], point[2])
		end
	end
	return grid, first, last, most, count
end

-- Ticks at round moments below a picture; their fractions have the digits that the step needs.
local function add_moments(parts, from, to, left, width, y, time)
	local step = math.tointeger(round_up(math.max(1, (to - from) // 5)))
	local first, digits = from + (-from) % step, 9
	while digits > 0 and step % 10 ^ (10 - digits) == 0 do
		digits = digits - 1
	end
	for t = first, to, step do
		local x, words = left + width * (t - from) / (to - from), time(t)
		if words:find("%.%d%d%d%d%d%d%d%d%d$") then
			words = words:sub(1, digits > 0 and #words - 9 + digits or #words - 10)
		end
		parts[#parts + 1] = format('<path class="tick" d="M%.1f %dv6"/><text class="faint moment" x="%.1f" y="%d" '
			.. 'text-anchor="%s">%s</text>\n', x, y, x, y + 20,
			x > left + width - #words * CHAR / 2 + MARGIN and "end" or "middle", text(words))
	end
end

-- points: a list of {time, number}, or a function that calls add(time, number) for each, drawn over [from, to). Darker is more; the steps are logarithmic.
function draw.heatmap(options)
	need(options, { points = true, from = true, to = true, title = true, unit = true, what = true, columns = true,
		time = true }, "heatmap")
	local unit, title, what = options.unit or "ns", options.title or "heat map", options.what or "intervals"
	local columns, from, to = options.columns or 120, options.from, options.to
	local time = options.time or function(t) return trace and trace:text(t) or tostring(t) end
	local grid, first, last, most, count = grid_of(options.points, from, to, columns)
	if count == 0 then
		error("heatmap: nothing to draw", 2)
	end
	local parts, wide = {}, (WIDTH - MARGIN - LEFT) / columns
	local high, top = 22, 100
	local bottom = top + (last - first + 1) * high
	local function moment(column)
		return from + math.floor((to - from) * column / columns)
	end
	for bucket = last, first, -1 do
		local y = top + (last - bucket) * high
		parts[#parts + 1] = format('<text class="faint" x="%d" y="%d" text-anchor="end">%s</text>'
			.. '<rect class="band" x="%d" y="%d" width="%.1f" height="%d"/>\n', LEFT - 8, y + 15,
			text(amount(bucket_begin(bucket), unit)), LEFT, y, wide * columns, high - 1)
		for column = 0, columns - 1 do
			local cell = grid[bucket] and grid[bucket][column]
			if cell then
				parts[#parts + 1] = format('<rect class="bar heat" data-count="%d" x="%.2f" y="%d" width="%.2f" '
					.. 'height="%d" fill-opacity="%.2f"><title>%d %s of %s to %s\n%s to %s</title></rect>\n',
					cell, LEFT + column * wide, y, wide, high - 1,
					0.2 + 0.8 * math.log(cell + 1) / math.log(most + 1), cell, text(what),
					text(amount(bucket_begin(bucket), unit)), text(amount(bucket_begin(bucket + 1), unit)),
					text(time(moment(column))), text(time(moment(column + 1))))
			end
		end
	end
	add_moments(parts, from, to, LEFT, wide * columns, bottom, time)
	local steps = most > 3 and { 1, math.floor(math.sqrt(most)), most } or most > 1 and { 1, most } or { 1 }
	local x = LEFT
	for i, step in ipairs(steps) do
		local words = i < #steps and tostring(step) or step .. " of the " .. what
		parts[#parts + 1] = format('<rect class="bar" x="%d" y="60" width="22" height="14" fill-opacity="%.2f"/>'
			.. '<text class="faint legend" x="%d" y="72">%s</text>\n', x,
			0.2 + 0.8 * math.log(step + 1) / math.log(most + 1), x + 28, text(words))
		x = x + 28 + math.ceil((#words + 2) * CHAR)
	end
	return chart(title, format("%d %s, %s to %s", count, what, time(from), time(to)), WIDTH, bottom + 40, parts)
end

return draw

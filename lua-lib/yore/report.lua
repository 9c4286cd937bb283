-- report: what `yore compare` found as one page of HTML that needs no other file
--
-- report.page{title=, sides=, units=, of_one_side=, causes=, limit=, note=}: its text. sides: {name=, text=}; units: {unit=, matched=,
-- a=, b=, totals=} with count unmatched unknown mean p50 p99 of each side, and totals = {a = {[cause] = ns per unit}, b = ...};
-- of_one_side: {unit=, count_a=, count_b=}; causes as of differ.differences() or many.differences(), with `unit`, and
-- at = {a = {texts}, b = {texts}}. limit: at most so many causes and kinds of one side are shown.

local report = {}

local text = yore.drawing.text
local format = string.format

local kinds = { "running", "frequency", "migration", "interrupt", "ready", "lock", "wait", "io", "sleep", "blocked", "unknown" }
local style = [[
:root { color-scheme: light dark; --page: #fff; --ink: #1c2024; --pale: #667; --line: #d8dce2;
	--running: #3f9a54; --frequency: #8aa829; --migration: #2b8f96; --interrupt: #c2453c; --ready: #d98a1f; --lock: #8a5cc2;
	--wait: #4477c4; --io: #a5643a; --sleep: #9aa4b0; --blocked: #c46a9b; --unknown: #c9ced6; }
@media (prefers-color-scheme: dark) { :root { --page: #16191d; --ink: #e4e7eb; --pale: #98a2ae; --line: #343a42; --unknown: #4a525c; } }
body { margin: 2rem auto; max-width: 72rem; padding: 0 1rem; background: var(--page); color: var(--ink);
	font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; } p.side, td.pale, .pale { color: var(--pale); }
table { border-collapse: collapse; width: 100%; } th { text-align: left; font-weight: 600; }
th, td { padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
svg { display: block; } svg text { fill: var(--ink); font: 12px system-ui, sans-serif; } .axis { stroke: var(--pale); }
.whisker { stroke: var(--ink); stroke-width: 1.5; } .key { display: inline-block; margin-right: 1rem; }
.key i { display: inline-block; width: .8em; height: .8em; margin-right: .3em; } .scroll { overflow-x: auto; }
code { font-size: .9em; }
]]

local function colour(cause)
	return format("fill:var(--%s)", cause)
end

local function span(ns)
	return ns and yore.span(math.floor(ns + 0.5)) or "-"
end

local function cells(out, kind, ...)
	for _, cell in ipairs{ ... } do
		out[#out + 1] = format('<%s class="number">%s</%s>', kind, text(tostring(cell)), kind)
	end
end

-- A bar from 0 to the difference, with its bounds; `most` is the greatest number of all of them.
local function difference(cause, most)
	local middle, scale = 130, 120 / most
	local function x(value)
		return format("%.1f", middle + value * scale)
	end
	local from, to = math.min(0, cause.difference), math.max(0, cause.difference)
	return format('<svg width="260" height="20" role="img" aria-label="%s"><line class="axis" x1="%d" x2="%d" y1="0" y2="20"/>'
		.. '<rect x="%s" y="4" width="%.1f" height="12" style="%s"/><line class="whisker" x1="%s" x2="%s" y1="10" y2="10"/></svg>',
		text(span(cause.difference)), middle, middle, x(from), (to - from) * scale, colour(cause.cause), x(cause.low), x(cause.high))
end

-- Says how many rows are not shown.
local function put_more(out, count, limit)
	if count > limit then
		out[#out + 1] = format('<p class="pale">and %d more</p>\n', count - limit)
	end
end

local function put_causes(out, causes, limit, note)
	out[#out + 1] = "<h2>What differs, per unit</h2>\n"
	if #causes == 0 then
		out[#out + 1] = "<p>Nothing: " .. text(note) .. ".</p>\n"
		return
	end
	local most = 1
	for i = 1, math.min(#causes, limit) do
		most = math.max(most, math.abs(causes[i].low), math.abs(causes[i].high))
	end
	out[#out + 1] = '<div class="scroll"><table>\n<tr><th>cause</th><th>who</th><th>B - A, with its bounds</th><th class="number">B - A</th>'
		.. '<th class="number">A</th><th class="number">B</th><th>look at A</th><th>look at B</th><th>unit</th></tr>\n'
	for i = 1, math.min(#causes, limit) do
		local cause = causes[i]
		out[#out + 1] = format("<tr><td>%s</td><td>%s</td><td>%s%s</td>", text(cause.cause), text(cause.who or ""),
			difference(cause, most), cause.runs and format('<span class="pale">in %d of %d runs of A, %d of %d of B</span>',
				cause.runs.a.with, cause.runs.a.all, cause.runs.b.with, cause.runs.b.all) or "")
		cells(out, "td", span(cause.difference), span(cause.a), span(cause.b))
		for _, name in ipairs{ "a", "b" } do
			out[#out + 1] = "<td><code>" .. text(table.concat(cause.at[name], " ")) .. "</code></td>"
		end
		out[#out + 1] = format('<td class="pale">%s</td></tr>\n', text(cause.unit))
	end
	out[#out + 1] = "</table></div>\n"
	put_more(out, #causes, limit)
end

-- Where the time of a unit goes, on both sides.
local function put_split(out, unit)
	local most = 1
	for _, name in ipairs{ "a", "b" } do
		local sum = 0
		for _, cause in ipairs(kinds) do
			sum = sum + math.max(0, unit.totals[name][cause] or 0)
		end
		most = math.max(most, sum)
	end
	out[#out + 1] = format("<h2>%s</h2>\n", text(unit.unit))
	out[#out + 1] = '<svg width="100%" viewBox="0 0 1000 56" role="img" aria-label="time of a unit by cause">\n'
	for row, name in ipairs{ "a", "b" } do
		local x, y = 24, (row - 1) * 28
		out[#out + 1] = format('<text x="0" y="%d">%s</text>', y + 16, name:upper())
		for _, cause in ipairs(kinds) do
			local time = math.max(0, unit.totals[name][cause] or 0)
			local width = time * 970 / most
			if width > 0 then
				out[#out + 1] = format('<rect x="%.1f" y="%d" width="%.1f" height="22" style="%s"><title>%s %s</title></rect>', x, y, width,
					colour(cause), cause, text(span(time)))
			end
			x = x + width
		end
		out[#out + 1] = "\n"
	end
	out[#out + 1] = "</svg>\n"
end

local function put_units(out, list)
	out[#out + 1] = '<h2>Units</h2>\n<div class="scroll"><table>\n<tr><th>unit</th><th class="number">matched</th>'
	for _, mark in ipairs{ " A", " B" } do
		cells(out, "th", "in" .. mark, "only" .. mark, "unknown" .. mark, "mean" .. mark, "p50" .. mark, "p99" .. mark)
	end
	out[#out + 1] = "</tr>\n"
	for _, unit in ipairs(list) do
		out[#out + 1] = "<tr><td>" .. text(unit.unit) .. "</td>"
		cells(out, "td", unit.matched)
		for _, name in ipairs{ "a", "b" } do
			local own = unit[name]
			cells(out, "td", own.count, own.unmatched, own.unknown, span(own.mean), span(own.p50), span(own.p99))
		end
		out[#out + 1] = "</tr>\n"
	end
	out[#out + 1] = "</table></div>\n"
end

-- Kinds that only one side has: nothing of the other one can be compared with them.
local function put_of_one_side(out, list, limit)
	if #list == 0 then
		return
	end
	out[#out + 1] = "<h2>Kinds of units that only one side has</h2>\n<table>\n<tr><th>unit</th>"
	cells(out, "th", "in A", "in B")
	out[#out + 1] = "</tr>\n"
	for i = 1, math.min(#list, limit) do
		out[#out + 1] = "<tr><td>" .. text(list[i].unit) .. "</td>"
		cells(out, "td", list[i].count_a, list[i].count_b)
		out[#out + 1] = "</tr>\n"
	end
	out[#out + 1] = "</table>\n"
	put_more(out, #list, limit)
end

function report.page(what)
	local out = { '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>\n<meta name="viewport" content="width=device-width"/>\n<title>'
		.. text(what.title) .. "</title>\n<style>\n" .. style .. "</style></head>\n<body>\n<h1>" .. text(what.title) .. "</h1>\n" }
	for _, one in ipairs(what.sides) do
		out[#out + 1] = format('<p class="side">%s: %s</p>\n', one.name, text(one.text))
	end
	put_causes(out, what.causes, what.limit, what.note)
	put_units(out, what.units)
	put_of_one_side(out, what.of_one_side, what.limit)
	out[#out + 1] = "<p>"
	for _, cause in ipairs(kinds) do
		out[#out + 1] = format('<span class="key"><i style="background:var(--%s)"></i>%s</span>', cause, cause)
	end
	out[#out + 1] = "</p>\n"
	for _, unit in ipairs(what.units) do
		if unit.matched > 0 then
			put_split(out, unit)
		end
	end
	out[#out + 1] = "</body></html>\n"
	return table.concat(out)
end

return report

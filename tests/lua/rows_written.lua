-- Prints values of all kinds, odd ones among them; rows_written.out has the lines
local columns = {
	{ key = "text", head = "text", indent = "deep" }, { key = "count", head = "n", kind = "count" },
	{ key = "span", head = "span", kind = "span" }, { key = "exact", head = "exact", kind = "exact" },
	{ key = "time", head = "time", kind = "time" }, { key = "percent", head = "%", kind = "percent" },
	{ key = "float", head = "float", kind = "float", empty = "none" }, { key = "hex", head = "hex", kind = "hex" },
	{ key = "size", head = "size", kind = "size" },
}
local rows = {
	{ text = "a\"b,c", deep = 1, count = 7, span = 999, exact = 1500, time = 2120797350827, percent = 0.5, float = 1234.5, hex = 255, size = 1023 },
	{ text = "é\n\xff", deep = 0, count = -1, span = 999950, exact = 1.4, percent = 100 / 3, float = 1 / 0, hex = -1, size = 1024 },
	{ text = true, deep = 0, span = -12345, percent = 1e15, float = 1e15, size = 1.5 * 1024 ^ 4 },
	{ deep = 2, span = 1234567890, exact = 0 },
}
for _, format in ipairs{ "table", "csv", "json" } do
	yore.write_rows{ columns = columns, rows = rows, format = format, title = format ~= "table" and "t" or nil,
		bar = format == "table" and 3 or nil }
end
yore.write_rows{ columns = {}, rows = { {}, {} }, format = "csv" }
for _, wrong in ipairs{ { format = "xml" }, { rows = 1 }, { columns = { { key = "text", kind = "sum" } } },
	{ columns = { { key = "percent", kind = "hex" } } }, { columns = { { key = "text", kind = "span" } }, format = "table" },
	{ columns = { { key = "float", kind = "exact" } }, format = "table" } } do
	local what = { columns = columns, rows = rows, format = "csv" }
	for key, value in pairs(wrong) do
		what[key] = value
	end
	print(select(2, pcall(yore.write_rows, what)))
end

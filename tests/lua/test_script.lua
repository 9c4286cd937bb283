-- The program around a script: arguments, limits, times, numbers, commands, what print and exit do.

local function raises(pattern, f, ...)
	local ok, message = pcall(f, ...)
	assert(not ok, "no error")
	assert(tostring(message):find(pattern), tostring(message))
end

assert(arg[0]:find("test_script.lua$") and arg[1] == "one" and arg[2] == "two" and #arg == 2)
assert(require("yore") == yore)
assert(trace:info().format == "ctf" and #trace:info().streams == 2)
assert(trace:info().begin == 2120797350827 and trace:info()["end"] == 2120811069283)

-- memory: an error, and Lua goes on
raises("memory", function()
	local s = "x"
	while true do
		s = s .. s
	end
end)
collectgarbage()
assert(collectgarbage("count") < 100 * 1024)

-- times are exact integers
assert(trace:time("@9007199254740993") == 9007199254740993)
assert(trace:time("+1ns") == 2120797350828 and trace:time("-1ns") == 2120811069282)
assert(trace:time("2120.797350827") == 2120797350827)
local none, why = trace:time("soon")
assert(none == nil and why:find("soon"))
assert(trace:text(2120797350827) == "00:35:20.797350827")
assert(trace:text(2120797350827, "relative") == "+0.000000000")
assert(yore.text(trace:time("+1us"), "ns") == "2120797351827")
assert(yore.time("00:35:20.797350827") == 2120797350827)
assert(yore.span(1500) == "1.5 us")
assert(yore.u64(-1) == "18446744073709551615" and yore.u64(5) == "5")
assert(yore.hex(-1) == "0xffffffffffffffff" and yore.hex(255) == "0xff")
assert(yore.range() == nil and yore.moment() == nil)
raises("sundial", trace.text, trace, 5, "sundial")

-- files
local demo = trace:info().path
local kind, identity = yore.stat(demo)
assert(kind == "folder" and select(2, yore.stat(demo .. "/.")) == identity)
assert(yore.stat(demo .. "/metadata") == "file" and select(2, yore.stat(demo .. "/metadata")) ~= identity)
assert(yore.stat("/dev/null") == "other")
none, why = yore.stat(demo .. "/none")
assert(none == nil and why == demo .. "/none: No such file or directory")

-- commands
raises("run", yore.command, { name = "x" })
raises("name", yore.command, { name = "two words", run = print })
raises("no option", yore.command, { name = "x", run = print, helf = "" })
yore.command{ name = "x", run = print }
yore.command{ name = "x", help = "again", run = print }

-- os.exit ends the script with that status and loses no output
print("printed before the exit")
io.write("and written", "\n")
pcall(os.exit, 0)
while true do
end

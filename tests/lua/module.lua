-- The module in a plain Lua: the same functions, without a program around them.
local yore = require("yore")

assert(type(yore.version) == "string")
assert(trace == nil and yore.command == nil)
local trace <close> = assert(yore.open(arg[1], { no_index = true }))
local first, last = trace:bounds()
assert(first == 2120797350827 and last == 2120811069283)
local n = 0
for ev in trace:events{ name = "sched_switch" } do
	n = n + 1
end
assert(n == 261)
assert(trace:at("@2120801126657", "cpu[0]/thread") == 10892)
assert(trace:text(2120801126657) == "00:35:20.801126657")
assert(yore.time("@5") == 5 and select("#", yore.time("+1s")) == 2)

-- A start-up file: the example of docs/lua.md.
yore.command{
	name = "wakeups", args = "[GLOB]", help = "counts wake-ups of threads with such names",
	run = function(glob)
		local n = 0
		for ev in trace:events{ name = "sched_wakeup" } do
			if not glob or ev.fields.comm:find(glob:gsub("%-", "%%-"):gsub("%*", ".*")) then
				n = n + 1
			end
		end
		print(n)
	end,
}

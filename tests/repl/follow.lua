-- follow.lua PATH follow|read: events of a trace, while it is written or at once; for follow.py
local path, how, name, where = arg[1], arg[2], arg[3], arg[4]
local options = { name = name ~= "" and name or nil, where = where ~= "" and where or nil, losses = true, fields = { "next_tid" } }
local walk
if how == "follow" then
	options.patience = 1.5
	walk = function() return yore.follow(path, options) end
else
	local finished = yore.open(path, { no_index = true })
	walk = function() return finished:events(options) end
end
local n = 0
for event, tid in walk() do
	print(event.ts, event.name, event.cpu, event.stream, tid, event.lost)
	n = n + 1
end
print(n)

-- Reads all that a script can reach of the trace, and prints sums of it.
local events, fields, losses = 0, 0, 0
local function count(value)
	fields = fields + 1
	if type(value) == "table" then
		for _, item in pairs(value) do
			count(item)
		end
	end
end

local info = trace:info()
print(info.format, #info.streams, #info.classes)
for ev in trace:events { losses = true } do
	if ev.name then
		events = events + 1
		count(ev:table())
		if events <= 20 then
			print(ev.ts, ev.name, ev.cpu, ev.stream, ev.text)
		end
	else
		losses = losses + 1
	end
end
print(events, fields, losses)
for ev in trace:events { reverse = true } do
	print(ev.ts, ev.name, ev.cpu)
	break
end
for b in trace:batch { fields = { "name", "cpu" }, size = 100 } do
	events = events - b.n
end
print(events)
local first, last = trace:bounds()
if first then
	print(trace:at(first, "cpu[0]/thread"))
	print(trace:at(last, "cpu[0]/thread"))
end

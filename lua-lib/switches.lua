-- switches: context switches of each CPU and each thread, and their rates (--begin --end)
--
-- Counts the events of sched_switch, under LTTng's names of its fields or perf's. A thread switches
-- in when it is the next one.

local options = require("yore.options")
local range = options.range(trace, arg)
local length = range.stop - range.start

local function field_names()
	for _, class in ipairs(trace:info().classes) do
		if class.name:match("sched_switch$") then
			for _, field in ipairs(class.fields) do
				if field == "next_tid" or field == "next_pid" then
					return field, (field:gsub("tid", "comm"):gsub("pid", "comm"))
				end
			end
		end
	end
end

local tid_field, comm_field = field_names()
if not tid_field then
	error("this trace has no sched_switch: switches cannot be counted", 0)
end

local cpus, threads, names, total = {}, {}, {}, 0
for b in trace:batch{ name = "sched_switch", from = range.start, to = range.stop,
		      fields = { "cpu", tid_field, comm_field } } do
	local cpu, tid, comm = b.cpu, b[tid_field], b[comm_field]
	for i = 1, b.n do
		cpus[cpu[i]] = (cpus[cpu[i]] or 0) + 1
		threads[tid[i]] = (threads[tid[i]] or 0) + 1
		names[tid[i]] = comm[i]
	end
	total = total + b.n
end

local function rate(count)
	return length > 0 and string.format("%10.1f/s", count * 1e9 / length) or "         -"
end

local function by_count(set)
	local keys = {}
	for key in pairs(set) do
		keys[#keys + 1] = key
	end
	table.sort(keys, function(a, b)
		if set[a] ~= set[b] then
			return set[a] > set[b]
		end
		return tostring(a) < tostring(b)
	end)
	return keys
end

print("range " .. trace:text(range.start) .. " to " .. trace:text(range.stop) .. ", "
	.. yore.span(length))
print()
print("   CPU   switches         rate")
for _, cpu in ipairs(by_count(cpus)) do
	print(string.format("%6s   %8d %s", cpu or "?", cpus[cpu], rate(cpus[cpu])))
end
print(string.format("%6s   %8d %s", "all", total, rate(total)))
print()
print("   TID   switches         rate   name")
for _, tid in ipairs(by_count(threads)) do
	print((string.format("%6s   %8d %s   %s", tid, threads[tid], rate(threads[tid]),
		tid == 0 and "(idle)" or names[tid] or ""):gsub("%s+$", "")))
end

-- threads: --cpu, --tid, --pid and --comm of analyses
--
-- A name of --tid, or a process of --pid, selects the threads that have it at some time of the range, as thread["make"]/state
-- does, and all their rows. --comm tests the name in the row, or the thread's name at the time of the event. --cpu tests the
-- row's column cpu; without one, the CPU of its thread when the row begins.

local basics = require("yore.basics")
local lami = require("yore.lami")

local threads = {}

threads.options = { cpu = "list", tid = "list", pid = "list", comm = "list" }
local order = { "cpu", "tid", "pid", "comm" }
local columns = { cpu = "cpu", tid = "tid", pid = "tid", comm = "comm" } -- the column that each option tests

-- The words of an option, separated by commas outside of brackets.
local function words_of(values)
	local words = {}
	for _, value in ipairs(values) do
		local word, inside = "", false
		for char in value:gmatch(".") do
			inside = char == "[" or inside and char ~= "]"
			if char == "," and not inside then
				words[#words + 1], word = word ~= "" and word or nil, ""
			else
				word = word .. char
			end
		end
		words[#words + 1] = word ~= "" and word or nil
	end
	return words
end

-- Numbers and ranges of the words as a list of {low, high}; words without a leading digit go to `names`, unless it is nil.
local function ranges_of(option, words, names)
	local ranges = {}
	for _, word in ipairs(words) do
		local low, high = word:match("^(%d+)$"), nil
		if not low then
			low, high = word:match("^(%d+)%-(%d+)$")
		end
		low, high = math.tointeger(tonumber(low)), math.tointeger(tonumber(high or low))
		if low and high and low <= high then
			ranges[#ranges + 1] = { low, high }
		elseif names and not word:find("^%d") then
			names[#names + 1] = word
		else
			yore.misuse("--" .. option .. ": '" .. word .. "' is neither a number nor a range like 0-3")
		end
	end
	return ranges
end

local function inside(ranges, number)
	for _, range in ipairs(ranges) do
		if number >= range[1] and number <= range[2] then
			return true
		end
	end
	return false
end

-- The set of threads whose attribute `name` has, at some time of the range, a value for which `meant` is true; and all segments.
local function of_attribute(self, name, meant)
	local told = trace:segments{ path = "thread[*]/" .. name, optional = true, from = self.start, to = self.stop }
	return basics.set(told:select{ value = meant }:distinct("key")), told
end

-- The set of threads that have one of these names; gives a note for a name that no thread has.
local function called(self, words)
	local wanted, met = basics.set(words), {}
	local found, told = of_attribute(self, "name", function(name)
		met[name] = true
		return wanted[name] == true
	end)
	for _, word in ipairs(words) do
		if not met[word] and not lami.is_empty then
			local meant = yore.nearest(word, told:distinct("value"))
			yore.note(self.spec.name .. ": --tid: no thread is called '" .. word .. "' here"
				.. (meant and ": " .. meant or ""))
		end
	end
	return found
end

-- Returns a function that tests whether one of the words (globs) matches a name.
local function name_test(words)
	local tests, known = {}, {}
	for i, word in ipairs(words) do
		tests[i] = basics.glob((word:gsub("\\(.)", "[%1]"))) -- a backslash makes the next character literal
	end
	return function(name)
		if type(name) == "string" and known[name] == nil then
			known[name] = false
			for _, matches in ipairs(tests) do
				known[name] = known[name] or matches(name)
			end
		end
		return known[name or false] == true
	end
end

-- Says of a value whether the option's words mean it: of --cpu a CPU, of --comm a name, of the others a thread.
local function test_of(self, option, words)
	if option == "comm" then
		return name_test(words)
	elseif option == "pid" then
		local ranges = ranges_of(option, words)
		local found, told = of_attribute(self, "process", function(pid)
			return math.type(pid) == "integer" and inside(ranges, pid)
		end)
		if #told == 0 then
			yore.note(self.spec.name .. ": --pid: it is not known of any thread which process it is of")
		end
		return function(tid) return found[tid] == true end
	end
	local names = {}
	local ranges = ranges_of(option, words, option == "tid" and names or nil)
	local found = #names > 0 and called(self, names) or {}
	return function(number)
		return math.type(number) == "integer" and (found[number] == true or inside(ranges, number))
	end
end

-- A function of a thread and a time that gives its name: the last that was told then, else the first.
local function names_at()
	local first, last = trace:bounds()
	local told = trace:segments{ path = "thread[*]/name", optional = true, from = first, to = last and last + 1 }
	return function(tid, t)
		local row = tid ~= nil and (told:find(tid, t) or told:find(tid, last))
		return row and row.value
	end
end

-- The threads that are called so in the range of an analysis, rising.
function threads.named(self, name)
	return basics.keys((called(self, { name })))
end

-- What --cpu asks of a row that tells no CPU itself.
local function by_place(self, meant)
	local places = trace:segments{ path = "thread[*]/cpu", optional = true, from = self.start, to = self.stop }
	local noted
	return { names = { tid = true, begin = true }, option = "cpu", test = function(row)
		local place = row.tid ~= nil and (places:find(row.tid, row.begin) or places:find(row.tid, row.begin + 1))
		if not place and not noted then
			noted = true
			yore.note(self.spec.name .. ": --cpu: what is left out has rows of which it is not known on which CPU their thread was")
		end
		return place and meant(place.value) or false
	end }
end

local function no_meaning(self, option)
	yore.misuse("--" .. option .. ": it has no meaning for '" .. self.spec.name
		.. (self.spec.verbs and " " .. self.verb or "") .. "', whose rows are not of " .. (option == "cpu" and "CPUs" or "threads"))
end

-- Of an analysis of samples: a function of an event, and of its thread where another one tells it, that says whether the options
-- mean it; and one of a thread and a time. nil: there are no options.
function threads.of_samples(self)
	local tests, given, name_at = {}, false, nil
	for _, option in ipairs(order) do
		if self[option] then
			given = true
			tests[option] = test_of(self, option, words_of(self[option]))
		end
	end
	if not given then
		return
	end
	name_at = tests.comm and names_at()
	local function of_thread(tid, t)
		return (not tests.tid or tests.tid(tid)) and (not tests.pid or tests.pid(tid)) and (not tests.comm or tests.comm(name_at(tid, t)))
	end
	return function(ev, tid)
		return (not tests.cpu or tests.cpu(ev.cpu)) and of_thread(tid or ev.context.tid or ev.state["cpu[cpu]/thread"], ev.ts)
	end, of_thread
end

-- Adds to the terms of --where what the options ask of rows, and returns them as they were given; nil: none was. known: the
-- columns that rows have.
function threads.add_terms(self, known)
	local given = {}
	for _, option in ipairs(order) do
		local words = self[option] and type(self[option]) == "table" and words_of(self[option])
		if words then
			given[#given + 1] = "--" .. option .. " " .. table.concat(words, ",")
			local column = columns[option]
			local by_thread = option == "cpu" and not known.cpu and known.tid and known.begin
			if not known[column] and not by_thread then
				no_meaning(self, option)
			end
			local meant = test_of(self, option, words)
			table.insert(self.terms, by_thread and by_place(self, meant)
				or { names = { [column] = true }, option = option, test = function(row) return meant(row[column]) end })
		end
	end
	return given[1] and table.concat(given, " ")
end

return threads

-- ev:stack() is the same number for events whose frames have the same functions, objects and places, and another for all others.
-- Prints how many events with a chain there are.

local function text_of(frames)
	local texts = {}
	for i, frame in ipairs(frames) do
		texts[i] = table.concat({ frame.symbol or "?" .. (frame.file_offset or frame.ip), frame.object or "?", frame.file or "?", frame.line or 0,
			tostring(frame.kernel), tostring(frame.nameless), tostring(frame.ip ~= 0) }, "\0")
	end
	return table.concat(texts, "\1")
end

local count = 0
for _, kind in ipairs{ "frames", "lines" } do
	local numbers, texts = {}, {}
	for ev in trace:events() do
		local frames, number = ev[kind], ev:stack(kind)
		assert((number ~= nil) == (frames ~= nil and #frames > 0))
		if number then
			local text = text_of(frames)
			assert((numbers[text] or number) == number, "one chain has two numbers")
			assert((texts[number] or text) == text, "two chains have one number")
			numbers[text], texts[number], count = number, text, count + 1
		end
	end
end
print(count)

-- kernel: names of the same events and fields in traces of LTTng, perf and ftrace

local analysis = require("yore.analysis")
local basics = require("yore.basics")

local kernel = {}

-- The states of a thread that has a CPU: it runs while it exits, too.
kernel.has_cpu = { running = true, exiting = true }

-- A key (see trace:segments()) for the thread of an event: its own fields, else the thread that runs on its CPU.
kernel.thread = "context/tid | perf_tid | common_pid | context/vtid | cpu[cpu]/thread"

-- Pairs of events in [from, to), read at once: a collection for each of `kinds`, the options of trace:segments() without range, in
-- which lists of names have events that the trace may lack. nil for a kind without begins or ends.
function kernel.pairs(from, to, kinds)
	local found, asked, places = {}, { from = from, to = to }, {}
	for i, kind in ipairs(kinds) do
		local enter, leave = analysis.present(kind.begin), analysis.present(kind.finish)
		if #enter > 0 and #leave > 0 then
			asked[#asked + 1] = { begin = enter, finish = leave, key = kind.key, fields = kind.fields }
			places[#asked] = i
		end
	end
	for n, segments in ipairs(#asked > 0 and { trace:segments(asked) } or {}) do
		found[places[n]] = segments
	end
	return found
end

-- Pairs of events by thread; takes the options of trace:segments() without key and range. If events lack a field of their
-- thread, one pass reads cpu[*]/thread, and with it the names of threads.
function kernel.pairs_by_thread(a, options)
	options.key, options.from, options.to = kernel.thread, a.start, a.stop
	options.threads = function()
		return a:segments_over(a.start - 1, a.stop, { path = "cpu[*]/thread", optional = true })
	end
	local found = trace:segments(options)
	options.threads = nil
	collectgarbage() -- intervals of CPUs are large, which Lua does not see
	return found
end

-- Calls visit(value, begin, end, where it began) with what `segments` have for the key in [begin, stop), the last first.
function kernel.overlaps(segments, key, begin, stop, visit)
	local t, look = stop, segments.look
	while t > begin do
		local from, till, value = look(segments, key, t - 1)
		if not from then
			return
		end
		if till > begin then
			visit(value, from > begin and from or begin, till < t and till or t, from)
		end
		t = from
	end
end

-- When threads were made in the range and by which thread, in order of (key, begin): segments of no length with the column `creator`.
-- An event of the kernel says so, or perf's own record; where it names no creator, the thread that runs there is it. The second result: from
-- when it is made until it is seen to run a thread waits for its CPU, though no event that the rules read says so. Lost events might say else.
-- runs: what cpu[*]/thread has in the range, if the caller has read it, and the range is the whole trace.
function kernel.creations(a, runs)
	local told = analysis.present{ "sched_process_fork", "sched_wakeup_new" } -- of these the rules say that it waits
	local events = #told > 0 and told or analysis.present{ "task_newtask", "perf_fork" }
	if #events == 0 then
		return nil, false
	end
	local found = trace:segments{ at = events, from = a.start, to = a.stop,
		key = "payload/child_tid | payload/child_pid | payload/tid | payload/pid",
		fields = { creator = "begin payload/parent_tid | payload/parent_pid | payload/ptid | " .. kernel.thread },
		threads = function()
			return runs or trace:segments{ path = "cpu[*]/thread", optional = true, from = a.start - 1, to = a.stop }
		end }
	return found:rekey():rekey(), #told == 0 and trace:losses() == 0 -- the second one brings them into order
end

-- What thread[T]/waker says: the thread, nil where it was none; what else it was, nil where it was one; and the kind of it: "thread",
-- "timer", "irq", "softirq", or "interrupt" where it is not known which. All are nil where nobody knows.
function kernel.waker_of(value)
	if math.type(value) then
		return value, nil, "thread"
	elseif value then
		return nil, value, value:match("^%S+")
	end
end

-- The columns of an event's thread, the most reliable first: `kernel.thread` for batches and counts. The column that reads the
-- state is included only if some event of the range lacks all fields.
function kernel.thread_columns(a, events)
	local own = { "context/tid", "perf_tid", "common_pid", "context/vtid" }
	for _, group in ipairs(trace:count_by{ name = events, from = a.start, to = a.stop, by = own, optional = true }) do
		if not kernel.thread_of(own, group) then
			own[#own + 1] = "cpu[cpu]/thread"
			break
		end
	end
	return own
end

-- The first of these columns that the row has; `row` is a table, or a function of a column's name.
function kernel.thread_of(columns, row)
	for _, column in ipairs(columns) do
		local tid = type(row) == "table" and row[column] or type(row) == "function" and row(column)
		if tid then
			return tid
		end
	end
end

-- Counts events by thread and the given columns: rows with `tid`, these columns, and `count`.
function kernel.count_by_thread(a, events, columns, condition)
	local of_thread = kernel.thread_columns(a, events)
	local rows = trace:count_by{ name = events, from = a.start, to = a.stop, where = condition, optional = true,
		by = analysis.columns(of_thread, columns) }
	for _, row in ipairs(rows) do
		row.tid = kernel.thread_of(of_thread, row)
	end
	return rows
end

-- How the events of each kind (trace:call_events) pair: `prefix` and `left` stand before the name of the call in that of its entry and
-- exit; without one the number's label is the name. Both events are of one call: `same` is its number, which both
-- have, or the names tell it. The exit of x86's rt_sigreturn has -1, which fits.
local syscall_kinds = {
	lttng = { prefix = "syscall_entry_", left = "syscall_exit_" },
	raw = { same = "payload/id" },
	named = { prefix = "sys_enter_", left = "sys_exit_", same = "payload/__syscall_nr" },
	old = { prefix = "sys_" },
}

-- The set of those names whose events occur in the range; a trace may describe events that it does not have.
function kernel.recorded(a, names)
	return basics.set(trace:count_by{ name = names, from = a.start, to = a.stop, by = { "name" }, optional = true }, "name")
end

-- The events that tell the system calls of the range, {kind = of the table above, enter = names, leave = names}; nil: the trace describes
-- none. needs_exits: both of a pair are needed. Where traces of several recorders tell calls in different ways, the first kind alone is read.
local function calls_told(a, needs_exits)
	local told = trace:call_events{ from = a.start, to = a.stop, exits = needs_exits }
	if #told > 1 and needs_exits then
		local others = {}
		for i = 2, #told do
			others[#others + 1] = told[i].enter[1]
		end
		yore.note(a.spec.name .. ": one of the traces tells system calls by " .. told[1].enter[1] .. ", another by "
			.. table.concat(others, ", ") .. ": calls of the latter are left out; ask that trace alone for them")
	end
	return told[1] and { kind = syscall_kinds[told[1].kind], enter = told[1].enter, leave = told[1].leave }
end

-- Does the trace describe events that enter and leave system calls?
function kernel.has_calls(a)
	return #trace:call_events{ from = a.start, to = a.start, exits = true } > 0
end

-- How often each system call was entered in the range, {[name] = count}, by the events of calls_told().
function kernel.calls_entered(a)
	local found, calls = {}, calls_told(a, false)
	if not calls then
		return found
	end
	local prefix = calls.kind.prefix
	for _, row in ipairs(trace:count_by{ name = calls.enter, from = a.start, to = a.stop, optional = true,
			by = prefix and { "name" } or { "label(id)", "id" } }) do
		local name = prefix and row.name:gsub("^.*" .. prefix, "") or tostring(row["label(id)"] or row.id)
		found[name] = (found[name] or 0) + row.count
	end
	return found
end

-- Those event names that are `prefix` and the name of a call in `wanted`; all names if prefix or wanted is nil.
local function only(names, prefix, wanted)
	if not prefix or not wanted then
		return names
	end
	local found = {}
	for _, name in ipairs(names) do
		found[#found + 1] = wanted[name:gsub("^.*" .. prefix, "")] and name or nil
	end
	return found
end

-- The system calls of the range as segments with the columns key (the thread), name, ret, and `fields`; of the calls that are
-- keys of `wanted` alone, without ret, if it is given and the names of events tell them. `fields` may be a function of whether
-- they are raw system calls, whose arguments have numbers.
function kernel.syscalls(a, fields, wanted)
	local calls = calls_told(a, true)
	if not calls then
		error(a.spec.name .. " needs the events of system calls, and the trace has none: " .. analysis.advice("record them with "
			.. "lttng enable-event --kernel --syscall --all, perf trace record or trace-cmd record -e raw_syscalls"), 0)
	end
	local kind = calls.kind
	local enter, leave = only(calls.enter, kind.prefix, wanted), only(calls.leave, kind.left, wanted)
	fields = type(fields) == "function" and fields(not kind.prefix) or fields or {}
	fields.ret = not wanted and "end ret" or nil
	fields.id = not kind.prefix and "begin label(id) | id" or nil
	local column = kind.prefix and "value" or "id"
	local found = kernel.pairs_by_thread(a, { begin = enter, finish = leave, fields = fields, left_by = column, not_idle = true,
		same = kind.same, same_name = kind.left and { kind.prefix, kind.left } })
	local function name_of(name)
		return kind.prefix and (name:gsub("^.*" .. kind.prefix, "")) or tostring(name)
	end
	a:tell_pairs(found, "system calls", column, name_of)
	return found, column, name_of
end

-- Names of errors of Linux on most architectures.
kernel.errors = { "EPERM", "ENOENT", "ESRCH", "EINTR", "EIO", "ENXIO", "E2BIG", "ENOEXEC", "EBADF", "ECHILD",
	"EAGAIN", "ENOMEM", "EACCES", "EFAULT", "ENOTBLK", "EBUSY", "EEXIST", "EXDEV", "ENODEV", "ENOTDIR", "EISDIR",
	"EINVAL", "ENFILE", "EMFILE", "ENOTTY", "ETXTBSY", "EFBIG", "ENOSPC", "ESPIPE", "EROFS", "EMLINK", "EPIPE",
	"EDOM", "ERANGE", "EDEADLK", "ENAMETOOLONG", "ENOLCK", "ENOSYS", "ENOTEMPTY", "ELOOP",
	[42] = "ENOMSG", [43] = "EIDRM", [44] = "ECHRNG", [45] = "EL2NSYNC", [46] = "EL3HLT", [47] = "EL3RST",
	[48] = "ELNRNG", [49] = "EUNATCH", [50] = "ENOCSI", [51] = "EL2HLT", [52] = "EBADE", [53] = "EBADR",
	[54] = "EXFULL", [55] = "ENOANO", [56] = "EBADRQC", [57] = "EBADSLT", [59] = "EBFONT", [60] = "ENOSTR",
	[61] = "ENODATA", [62] = "ETIME", [63] = "ENOSR", [64] = "ENONET", [65] = "ENOPKG", [66] = "EREMOTE",
	[67] = "ENOLINK", [68] = "EADV", [69] = "ESRMNT", [70] = "ECOMM", [71] = "EPROTO", [72] = "EMULTIHOP",
	[73] = "EDOTDOT", [74] = "EBADMSG", [75] = "EOVERFLOW", [76] = "ENOTUNIQ", [77] = "EBADFD", [78] = "EREMCHG",
	[79] = "ELIBACC", [80] = "ELIBBAD", [81] = "ELIBSCN", [82] = "ELIBMAX", [83] = "ELIBEXEC", [84] = "EILSEQ",
	[85] = "ERESTART", [86] = "ESTRPIPE", [87] = "EUSERS", [88] = "ENOTSOCK", [89] = "EDESTADDRREQ",
	[90] = "EMSGSIZE", [91] = "EPROTOTYPE", [92] = "ENOPROTOOPT", [93] = "EPROTONOSUPPORT", [94] = "ESOCKTNOSUPPORT",
	[95] = "EOPNOTSUPP", [96] = "EPFNOSUPPORT", [97] = "EAFNOSUPPORT", [98] = "EADDRINUSE", [99] = "EADDRNOTAVAIL",
	[100] = "ENETDOWN", [101] = "ENETUNREACH", [102] = "ENETRESET", [103] = "ECONNABORTED", [104] = "ECONNRESET",
	[105] = "ENOBUFS", [106] = "EISCONN", [107] = "ENOTCONN", [108] = "ESHUTDOWN", [109] = "ETOOMANYREFS",
	[110] = "ETIMEDOUT", [111] = "ECONNREFUSED", [112] = "EHOSTDOWN", [113] = "EHOSTUNREACH", [114] = "EALREADY",
	[115] = "EINPROGRESS", [116] = "ESTALE", [117] = "EUCLEAN", [118] = "ENOTNAM", [119] = "ENAVAIL",
	[120] = "EISNAM", [121] = "EREMOTEIO", [122] = "EDQUOT", [123] = "ENOMEDIUM", [124] = "EMEDIUMTYPE",
	[125] = "ECANCELED", [126] = "ENOKEY", [127] = "EKEYEXPIRED", [128] = "EKEYREVOKED", [129] = "EKEYREJECTED",
	[130] = "EOWNERDEAD", [131] = "ENOTRECOVERABLE", [132] = "ERFKILL", [133] = "EHWPOISON", [512] = "ERESTARTSYS",
	[513] = "ERESTARTNOINTR", [514] = "ERESTARTNOHAND", [515] = "ENOIOCTLCMD", [516] = "ERESTART_RESTARTBLOCK",
	[517] = "EPROBE_DEFER", [524] = "ENOTSUPP" }

return kernel

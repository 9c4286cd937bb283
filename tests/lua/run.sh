#!/bin/sh
# Scripts that check the binding by assertions, the examples of the docs, the analyses against
# babeltrace2, and the module in a plain Lua.
. "${srcdir:-.}/tests/shell.sh"
demo=fixtures/golden/sched-demo
cd "$top" || exit 99

for script in tests/lua/test_*.lua; do
	"$yore" run "$script" $demo one two >"$work/printed" 2>&1
	result $? "$script"
done

"$yore" run tests/lua/rows_written.lua $demo >"$work/out" 2>"$work/printed"
diff -u tests/lua/rows_written.out "$work/out" >>"$work/printed"
result $? "yore.write_rows prints all kinds of values"

"$build/fixtures/yore-gen" --out "$work/lossy" --size 600K --lose 0.2 --no-truth >"$work/printed" 2>&1 &&
	"$yore" run tests/lua/batches_agree.lua "$work/lossy" --no-index >"$work/printed" 2>&1 &&
	grep -q '[1-9]$' "$work/printed"
result $? "batches have what a loop has, losses among it"
for trace in $demo "${YORE_CORPUS:-/}"/perf-data/*/perf.data "${YORE_CORPUS:-/}"/trace-dat/*/trace.dat; do
	case $trace in */corrupt-*) continue ;; esac
	[ -e "$trace" ] && [ "$(du -k "$trace" | sed 's/\t.*//')" -le 1000 ] || continue
	"$yore" run tests/lua/batches_agree.lua "$trace" --no-index >"$work/printed" 2>&1
	result $? "batches have what a loop has: $trace"
	"$yore" run tests/lua/counts_agree.lua "$trace" 8 --no-index >"$work/printed" 2>&1
	result $? "counts are those of a loop: $trace"
done

"$yore" run tests/lua/stacks_agree.lua fixtures/golden/memory-demo >"$work/printed" 2>&1 && grep -q '[1-9]$' "$work/printed"
result $? "equal call chains have the same number: fixtures/golden/memory-demo"
for trace in "${YORE_CORPUS:-/}"/perf-data/*/perf.data; do
	case $trace in */corrupt-*) continue ;; esac
	[ -e "$trace" ] && [ "$(du -k "$trace" | sed 's/\t.*//')" -le 1000 ] || continue
	"$yore" run tests/lua/stacks_agree.lua "$trace" --no-index >"$work/printed" 2>&1
	result $? "equal call chains have the same number: $trace"
done

# Each ```lua block of the manual, and the ```output block below it.
awk -v dir="$work" '
	/^```lua$/ { n++; to = dir "/example" n ".lua"; print "" >(dir "/example" n ".out"); close(dir "/example" n ".out"); first = 1; next }
	/^```output$/ { to = dir "/example" n ".out"; first = 1; next }
	/^```$/ { if (to) close(to); to = ""; next }
	to { if (first) print >to; else print >>to; first = 0 }
' docs/lua.md docs/pictures.md
n=1
while [ -f "$work/example$n.lua" ]; do
	"$yore" run "$work/example$n.lua" $demo >"$work/out" 2>"$work/printed"
	ran=$?
	[ -s "$work/out" ] || echo >"$work/out"
	diff -u "$work/example$n.out" "$work/out" >>"$work/printed" && [ $ran = 0 ]
	result $? "docs/lua.md and docs/pictures.md, example $n"
	n=$((n + 1))
done
[ "$n" -gt 8 ]
result $? "docs/lua.md has examples"

# How often each thread was switched to, as babeltrace2 says.
if command -v babeltrace2 >/dev/null; then
	babeltrace2 $demo | sed -n 's/.* sched:sched_switch: .* next_pid = \([0-9]*\),.*/\1/p' |
		sort -n | uniq -c | awk '{print $2, $1}' | sort >"$work/expected"
	"$yore" run switches $demo >"$work/all" 2>"$work/printed"
	sed '1,/^ *TID/d' "$work/all" | awk '{print $1, $2}' | sort >"$work/counted"
	diff -u "$work/expected" "$work/counted" >>"$work/printed"
	result $? "switches agrees with babeltrace2"
fi

# Busy time per thread: what lies between the switches of a CPU, before its first one from where the
# CPU's stream begins, after its last one to where it ends. Where a switch says that another thread leaves
# than came, the one that came ran until its last event there, the other one from its first one on.
if command -v babeltrace2 >/dev/null; then
	babeltrace2 --clock-cycles $demo | awk '
		{ t = substr($1, 2) + 0; if (NR == 1) first = t; last = t }
		match($0, /cpu_id = [0-9]+/) {
			cpu = substr($0, RSTART + 9, RLENGTH - 9)
			match($0, /perf_tid = [0-9]+/); tid = substr($0, RSTART + 11, RLENGTH - 11)
			switched = /sched:sched_switch: /
			if (!switched && (!(cpu in run) || run[cpu] != tid)) { run[cpu] = tid; from[cpu] = t }
			if (!switched && (cpu in since) && tid == on[cpu]) seen[cpu] = t
			final[cpu] = t
		}
		/sched:sched_switch: / {
			match($0, /prev_pid = [0-9]+/); prev = substr($0, RSTART + 11, RLENGTH - 11)
			match($0, /next_pid = [0-9]+/); next_pid = substr($0, RSTART + 11, RLENGTH - 11)
			told = (cpu in run) && run[cpu] == prev && prev != before[cpu] ? from[cpu] : t - 1
			if ((cpu in since) && on[cpu] == prev) busy[prev] += t - since[cpu]
			else {
				if (cpu in since) busy[on[cpu]] += seen[cpu] - since[cpu]
				busy[prev] += t - told
			}
			since[cpu] = seen[cpu] = t; on[cpu] = next_pid; before[cpu] = prev; delete run[cpu]
		}
		END {
			for (cpu in since) busy[on[cpu]] += final[cpu] + 1 - since[cpu]
			for (tid in busy) if (tid != 0) printf "%s %.2f\n", tid, busy[tid] * 100 / (last + 1 - first)
		}' | sort >"$work/expected"
	"$yore" run cputop $demo >"$work/all" 2>"$work/printed"
	sed '1,/^ *TID/d' "$work/all" | awk '{print $1, $2}' | sort >"$work/counted"
	diff -u "$work/expected" "$work/counted" >>"$work/printed"
	result $? "cputop agrees with babeltrace2"
fi

# The manual names what there is: functions of yore, methods of a trace, an event, segments.
cat >"$work/names.lua" <<'L'
local function names(prefix, t)
	for name, value in pairs(t) do
		if type(value) == "function" and not name:find("^__") then
			print(prefix .. name)
		end
	end
end
names("yore.", yore)
names("trace:", getmetatable(trace).__index)
names("segments:", debug.getregistry()["yore.segments"])
names("event:", debug.getregistry()["yore.event"])
L
"$yore" run "$work/names.lua" $demo 2>"$work/printed" | sort >"$work/there"
awk '/^\.SH EXAMPLES/ { exit } { print }' docs/yore-lua.3 | grep -o '\(yore\.\|trace:\|event:\|segments:\)[a-z_0-9]*[({]' |
	sed 's/[({]$//' | sort -u >"$work/named"
diff -u "$work/there" "$work/named" >>"$work/printed" && [ "$(wc -l <"$work/there")" -gt 35 ]
result $? "the manual of Lua names all functions and methods"
if command -v man >/dev/null; then
	man --warnings -E UTF-8 -l -Tutf8 -Z docs/yore-lua.3 2>"$work/printed" >/dev/null && [ ! -s "$work/printed" ]
	result $? "the manual of Lua is well formed"
else
	echo "SKIP: the manual of Lua is well formed: there is no man"
fi

# Its examples.
sed -n '/^\.nf$/,/^\.fi$/p' docs/yore-lua.3 | sed '1,/^\.fi$/d; /^\.[nf][fi]$/d; s/\\(dq/"/g' >"$work/manual.lua"
"$yore" run "$work/manual.lua" $demo >"$work/printed" 2>&1 && [ "$(grep -c . "$work/printed")" -gt 190 ]
result $? "the examples of the manual of Lua run"

# Names of many threads that are gone, as the last sched_switch tells them: in one question, each alone, in an analysis.
"$build/fixtures/yore-gen" --out "$work/gone" --size 3M --threads 200 --no-truth >/dev/null || exit 99
"$build/fixtures/yore-gen" --out "$work/crowd" --size 3M --threads 3000 --no-truth >/dev/null || exit 99
"$build/fixtures/yore-gen" --out "$work/group" --size 2M --threads 600 --no-truth >/dev/null || exit 99
cat >"$work/gone.lua" <<'L'
local last = select(2, trace:bounds())
local tids, expected, gone = {}, {}, 0
for line in io.lines(arg[1]) do
	local tid, name = line:match("^(%d+) (.*)$")
	tids[#tids + 1] = math.tointeger(tid)
	expected[tids[#tids]] = name
end
local names, told = trace:comm(tids, last)
for _, tid in ipairs(tids) do
	local name, at = trace:comm(tid, last)
	assert(names[tid] == expected[tid] and name == expected[tid], tid)
	assert(told[tid] == at)
	gone = gone + (trace:at(last, "thread[" .. tid .. "]/name") and 0 or 1)
end
assert(gone > 100, gone)
-- thread 1 among them is no list
local a = require("yore.analysis").open({}, { name = "names" })
assert(a:names_at{ [1] = last, [tids[1]] = last }[tids[1]] == names[tids[1]])
assert(a:names{ tids[1] }[tids[1]] == names[tids[1]])
L
if command -v babeltrace2 >/dev/null; then
	for made in gone crowd group; do
		babeltrace2 "$work/$made" | sed -n 's/.* sched_switch: .*prev_comm = "\([^"]*\)", prev_tid = \([0-9]*\),.*next_comm = "\([^"]*\)", next_tid = \([0-9]*\),.*/\2 \1\n\4 \3/p' |
			awk '$1 != 0 { name[$1] = substr($0, length($1) + 2) } END { for (tid in name) print tid, name[tid] }' |
			sort >"$work/$made.names"
	done
	"$yore" run --no-index "$work/gone.lua" "$work/gone" "$work/gone.names" >"$work/printed" 2>&1
	result $? "names of many threads that are gone, asked for at once"
	"$yore" index "$work/gone" --timelines >"$work/printed" 2>&1 &&
		"$yore" run "$work/gone.lua" "$work/gone" "$work/gone.names" >"$work/printed" 2>&1
	result $? "likewise from timelines"
	names_in_range() { # FOLDER LEAST-THREADS
		"$yore" cputop --no-index "$work/$1" threads --begin +1us --format csv 2>"$work/printed" |
			awk -F, 'NR > 1 { print $1, $NF }' | sort >"$work/shown"
		join -j 1 "$work/shown" "$work/$1.names" >"$work/both"
		[ "$(wc -l <"$work/both")" -gt "$2" ] && awk '$2 != $3 { print; bad = 1 } END { exit bad }' "$work/both" >>"$work/printed"
	}
	names_in_range crowd 1000
	result $? "names of over 1000 threads in a range"
	names_in_range group 500
	result $? "names of fewer threads in a range"
fi

# A command of the start-up file on the command line.
mkdir -p "$work/own/yore"
cp tests/repl/init.lua "$work/own/yore/init.lua"
printed=$(XDG_CONFIG_HOME="$work/own" "$yore" wakeups $demo 'demo-lock-*' 2>"$work/printed")
[ "$printed" = 51 ]
result $? "a command of the start-up file on the command line"
"$yore" wakeups $demo >"$work/printed" 2>&1
[ $? = 2 ]
result $? "without it the word is neither a command nor a trace"

# A script that fails, and one that Ctrl-C ends.
echo 'local function f() error("boom") end f()' >"$work/fails.lua"
"$yore" run "$work/fails.lua" $demo >"$work/printed" 2>&1
[ $? = 1 ] && grep -q "^stack traceback:" "$work/printed" && grep -q "^yore: .*:1: boom$" "$work/printed"
result $? "a traceback and exit status 1"
echo 'error("range: no such moment", 0)' >"$work/fails.lua"
printed=$("$yore" run "$work/fails.lua" $demo 2>&1)
[ $? = 1 ] && [ "$printed" = "yore: range: no such moment" ]
result $? "a message for the user has no traceback"
echo 'yore.at_end(function(message) print("ended: " .. tostring(message)) end) if arg[1] then error("so", 0) end' >"$work/ends.lua"
printed=$("$yore" run "$work/ends.lua" $demo; "$yore" run "$work/ends.lua" $demo fails 2>/dev/null; echo $?)
[ "$printed" = "ended: nil
ended: so
1" ]
result $? "yore.at_end is called after a script, and after one that fails"
echo 'while true do pcall(function() while true do end end) end' >"$work/endless.lua"
interrupted_after 1 "$yore" run "$work/endless.lua" $demo >"$work/printed" 2>&1
[ $? = 130 ]
result $? "Ctrl-C ends a script"

# The module in a plain Lua; a sanitized one needs its runtime to be there first.
module=$build/lua-lib/.libs/yore.so
if command -v lua5.4 >/dev/null && [ -f "$module" ]; then
	if nm -D "$module" | grep -q __asan_init; then
		preload="$(${CC:-gcc} -print-file-name=libasan.so) $(${CC:-gcc} -print-file-name=libubsan.so)"
	fi
	LD_PRELOAD="$preload" ASAN_OPTIONS=detect_leaks=0 LUA_CPATH="$build/lua-lib/.libs/?.so" \
		lua5.4 tests/lua/module.lua $demo >"$work/printed" 2>&1
	result $? "require \"yore\" in a plain Lua"
	exported=$(nm -D --defined-only "$module" | awk '$2 == "T" {print $3}' | grep -v '^_')
	echo "exported: $exported" >"$work/printed"
	[ "$exported" = luaopen_yore ]
	result $? "the module exports luaopen_yore only"
fi
exit $status

#!/bin/sh
# What the process does to its surroundings: closed descriptors, planted links, modes of files,
# signals, outputs, names that would steer a terminal, wide times, scripts in the sandbox.
. "${srcdir:-.}/tests/shell.sh"
cd "$top" || exit 99
trace=fixtures/golden/sched-demo
export LC_ALL=C
esc=$(printf '\033')

row() # NAME STATUS: the status of what was just done is $got
{
	[ "$got" = "$2" ] || echo "exit status $got, not $2" >>"$work/printed"
	[ "$got" = "$2" ]
	result $? "$1"
	: >"$work/printed"
}

# ---- closed descriptors ----
for n in 1 2 3; do
	"$yore" events $trace --index-dir "$work/closed" >&- 2>"$work/printed"
	got=$?
	grep -q 'standard output is closed' "$work/printed" || got=none
	row "with standard output closed there is an error, run $n" 1
done
grep -l ' sched_switch: ' "$work/closed"/* >"$work/printed"
[ ! -s "$work/printed" ]
result $? 'the answer is not written into the index'
"$yore" events $trace --index-dir "$work/closed" --count >"$work/one" 2>&1
"$yore" events $trace --no-index --count >"$work/two" 2>&1
cmp "$work/one" "$work/two" >"$work/printed" 2>&1
result $? 'and the index answers rightly afterwards'
"$yore" index $trace --index-dir "$work/all" <&- >&- 2>&-
got=$?
row 'an index is built with 0, 1 and 2 closed, its line has no place' 1
"$yore" convert $trace "$work/all.db" --index-dir "$work/all" <&- >&- 2>&- --no-state
got=$?
row 'a conversion with 0, 1 and 2 closed' 0
"$yore" --version >&- 2>/dev/null
got=$?
row 'the version with standard output closed' 1

# ---- files that are ours alone ----
"$yore" index $trace --index-dir "$work/own" >/dev/null 2>&1
find "$work/own" \( -type f -perm /077 -o -type d -perm /022 \) -exec ls -ld {} + >"$work/printed"
[ ! -s "$work/printed" ]
result $? 'no other user reads an index'
for name in catalog.mdb catalog.lock '*.seg' '*.writer'; do
	rm -rf "$work/planted" && cp -r "$work/own" "$work/planted"
	echo precious >"$work/precious"
	for file in "$work/planted"/$name; do
		rm "$file" && ln -s "$work/precious" "$file"
	done
	"$yore" events $trace --count --index-dir "$work/planted" >"$work/one" 2>"$work/printed"
	[ "$(cat "$work/precious")" = precious ] && cmp -s "$work/one" "$work/two"
	result $? "a link planted as $name has its target left alone"
done
mkdir -m 777 "$work/shared" && chmod 777 "$work/shared"
"$yore" events $trace --count --index-dir "$work/shared" >"$work/one" 2>"$work/printed"
grep -q 'other users may write there' "$work/printed" && [ -z "$(ls -A "$work/shared")" ] &&
	cmp -s "$work/one" "$work/two"
result $? 'an index folder that others may write is not used'

# ---- signals and outputs ----
"$build/fixtures/yore-gen" --out "$work/large" --size 40M --seed 3 --no-truth >/dev/null || exit 99
interrupted() # TO SIGNAL: whether nothing is left; a machine that is faster is given less time once the output is begun
{
	for seconds in 0.2 0.05 0.01 0; do
		rm -rf "$work/to" && mkdir "$work/to"
		"$yore" convert "$work/large" "$work/to/out" --to "$1" --no-state --no-index >"$work/printed" 2>&1 &
		child=$!
		catches_int $child
		until ls -A "$work/to" | grep -q . || ls -l /proc/$child/fd 2>/dev/null | grep -q "$work/to" || ! kill -0 $child 2>/dev/null; do
			sleep 0.01
		done
		sleep $seconds
		kill "-$2" $child 2>/dev/null
		ends $child
		[ $? != 0 ] || continue
		# it was done when the signal came: then it is whole
		[ ! -e "$work/to/out" ] || ! diff -rq "$work/to/out" "$work/whole-$1" >/dev/null || continue
		ls -A "$work/to" >>"$work/printed"
		[ -z "$(ls -A "$work/to")" ]
		return
	done
	echo "it was never interrupted" >>"$work/printed"
	false
}
for to in csv parquet sqlite chrome perfetto ctf; do
	"$yore" convert "$work/large" "$work/whole-$to" --to $to --no-state --no-index >"$work/printed" 2>&1
	for signal in TERM HUP INT; do
		interrupted $to $signal
		result $? "SIG$signal leaves nothing of a conversion to $to"
	done
done
echo before >"$work/drawn.svg"
"$yore" timeline $trace 'cpu[*]/thread' --svg "$work/drawn.svg" --no-index 2>"$work/printed" &&
	grep -q '</svg>' "$work/drawn.svg"
result $? 'a drawing replaces the file'
(ulimit -f 1; trap '' XFSZ; "$yore" timeline $trace 'thread[*]/state' --svg "$work/drawn.svg" --no-index --width 3000 \
	>/dev/null 2>"$work/printed")
got=$?
grep -q '</svg>' "$work/drawn.svg" || got=cut
row 'a drawing that does not fit leaves the one that is there' 1
mkdir "$work/links" && cp "$work/drawn.svg" "$work/links/real" && ln -s real "$work/links/link"
echo old >"$work/links/real"
"$yore" timeline $trace 'cpu[*]/thread' --svg "$work/links/link" --no-index 2>"$work/printed"
[ -L "$work/links/link" ] && grep -q '</svg>' "$work/links/real"
result $? 'an output that is a link goes to the file it leads to'
(ulimit -n 12 && "$yore" convert fixtures/golden/sched-demo "$work/few" --to csv --no-state --no-index) 2>"$work/printed" &&
	"$yore" convert fixtures/golden/sched-demo "$work/many" --to csv --no-state --no-index 2>>"$work/printed" &&
	diff -r "$work/few" "$work/many" >>"$work/printed"
result $? 'more files are written than there are descriptors'

has_begun() # PID: until it has printed that
{
	for _ in $(seq 2400); do
		grep -q begun "$work/printed" && break
		kill -0 "$1" 2>/dev/null || break
		sleep 0.05
	done
}
# A pattern that takes longer than anybody waits: nothing in it looks at the flag of Ctrl-C.
cat >"$work/pattern.lua" <<'END'
print("begun")
io.flush()
string.find(string.rep("a", 40), string.rep("a?", 40) .. string.rep("a", 41) .. "b")
print(string.find(string.rep("a", 200000), string.rep(".-", 12) .. "b"))
END
"$yore" run "$work/pattern.lua" $trace --no-index >"$work/printed" 2>&1 &
child=$!
has_begun $child
sleep 0.2
kill -INT $child
sleep 0.5
kill -INT $child
ends $child
got=$?
row 'a second Ctrl-C ends the process whatever runs' 130

# One Ctrl-C ends Lua that asks no trace, wherever it loops, and when it catches errors.
for loop in 'while true do end' 'while true do pcall(function() while true do end end) end' \
	'coroutine.wrap(function() while true do end end)()' \
	'while true do coroutine.resume(coroutine.create(function() while true do end end)) end'; do
	printf 'print("begun")\nio.flush()\n%s\n' "$loop" >"$work/loop.lua"
	"$yore" run "$work/loop.lua" $trace --no-index >"$work/printed" 2>&1 &
	child=$!
	has_begun $child
	kill -INT $child
	ends $child
	got=$?
	row "one Ctrl-C ends $loop" 130
done
echo 'coroutine.wrap(function() pcall(os.exit, 3) end)() while true do end' >"$work/leave.lua"
timeout 120 "$yore" run "$work/leave.lua" $trace --no-index >"$work/printed" 2>&1
got=$?
row 'os.exit() in a coroutine ends the script' 3

# ---- names that would steer a terminal ----
names=${YORE_ATTACKS:-$top/../shared/attacks}/escape-names/trace
if [ -d "$names" ]; then
	for question in info events stats check 'sql:select name from classes' 'state:cpu[0]/thread' \
		'timeline:cpu[0]/thread' 'longest:cpu[0]/thread' 'at:+1s'; do
		command=${question%%:*} word=${question#"$command"}
		word=${word#:}
		"$yore" "$command" "$names" ${word:+"$word"} --no-index >"$work/said" 2>&1
		grep -a "$esc\|$(printf '\302[\200-\237]')" "$work/said" >"$work/printed"
		[ ! -s "$work/printed" ] && iconv -f UTF-8 -t UTF-8 "$work/said" >/dev/null 2>"$work/printed"
		result $? "escape-names: $command"
	done
	"$yore" events "$names" --no-index --color always >"$work/said" 2>&1
	sed "s/$esc\[[0-9;]*m//g" "$work/said" | grep -a "$esc" >"$work/printed"
	grep -q "$esc\[32m" "$work/said" && [ ! -s "$work/printed" ]
	result $? 'escape-names: our own colours stay'
	"$yore" info "$names" --no-index --format json | python3 -c '
import json, sys
names = [c["name"] for c in json.load(sys.stdin)["classes"]]
sys.exit(not any("\x1b" in name for name in names))' 2>"$work/printed"
	result $? 'escape-names: JSON has the very names'
else
	echo "SKIP: $names is missing: names that would steer a terminal"
fi

# ---- --debug ----
"$yore" at $trace +2ms 'cpu[0]/thread' --no-index --debug=index,state >"$work/one" 2>"$work/printed"
"$yore" at $trace +2ms 'cpu[0]/thread' --no-index >"$work/two" 2>/dev/null
cmp "$work/one" "$work/two" && grep -q '^yore: debug: index: stream perf_stream_0: 1 packets, scanned' "$work/printed" &&
	grep -q '^yore: debug: state: 1 attributes by name, .* backward pass' "$work/printed" && ! grep -q 'debug: cursor' "$work/printed"
result $? 'what the topics of --debug name is told, and nothing else'

# ---- wide times ----
wide=${YORE_ATTACKS:-$top/../shared/attacks}/wide-times
if [ -d "$wide" ]; then
	for command in info stats; do
		"$yore" $command "$wide" --no-index >"$work/printed" 2>&1
		grep -q ', 18446744071.709551605 s' "$work/printed" &&
			! grep -q 'runtime error' "$work/printed"
		result $? "wide-times: $command tells the range as it is"
	done
	for words in 'timeline cpu[*]/thread' 'state **' 'longest cpu[*]/thread' 'check --state' \
		'events --time relative' 'convert - --to chrome'; do
		command=${words%% *}
		set -f
		"$yore" "$command" "$wide" ${words#* } --no-index >"$work/said" 2>&1
		set +f
		! grep 'runtime error' "$work/said" >"$work/printed"
		result $? "wide-times: $command"
	done
else
	echo "SKIP: $wide is missing: wide times"
fi

# ---- the sandbox ----
cat >"$work/guest.lua" <<'END'
for _, name in ipairs{"io", "os", "package", "debug", "require", "dofile", "loadfile"} do
	assert(_G[name] == nil, name)
end
assert(yore.open == nil and string.dump == nil)
assert(load("return 6 * 7")() == 42)
assert(load("return x", "chunk", "b", {x = 1})() == 1)
assert(load("\27Lua") == nil)
assert(getmetatable(trace) == false and getmetatable("") == false)
assert(getmetatable(setmetatable({}, {__metatable = 3})) == 3)
local n = 0
for ev in trace:events{name = "sched_switch"} do n = n + 1 end
print(n > 0, yore.version ~= nil)
END
"$yore" run --sandbox "$work/guest.lua" $trace --no-index >"$work/printed" 2>&1
got=$?
grep -q '^true	true$' "$work/printed" || got=other
row 'a script in the sandbox asks the trace, and nothing else' 0
printf '\033Lua' >"$work/bytes.lua"
"$yore" run --sandbox "$work/bytes.lua" $trace --no-index >"$work/printed" 2>&1
got=$?
grep -q 'binary chunk' "$work/printed" || got=other
row 'bytecode is refused in the sandbox' 1
printf 'print("\\027[31m")\n' >"$work/red.lua"
"$yore" run --sandbox "$work/red.lua" $trace --no-index >"$work/printed" 2>&1
got=$?
grep -q "$esc" "$work/printed" && got=steers
row 'what it prints steers no terminal' 0
"$yore" run --sandbox cputop $trace --no-index >"$work/printed" 2>&1
got=$?
row 'an analysis that comes with yore needs no sandbox' 2
exit $status

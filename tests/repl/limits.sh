#!/bin/sh
# What has a limit says so, and what is long is cut: rules, lines of errors, columns, notes, what waits for a reader, names
# of files and of analyses, bytes that steer a terminal.
. "${srcdir:-.}/tests/shell.sh"
cd "$top" || exit 99
trace=$top/fixtures/golden/sched-demo
ftrace=$top/fixtures/golden/sched-ftrace/trace.dat

# says NAME STATUS TEXT COMMAND...: its status, and what it says somewhere
says() {
	name=$1 wanted=$2 text=$3
	shift 3
	"$@" >"$work/printed" 2>&1 </dev/null
	got=$?
	[ $got -eq "$wanted" ] || echo "status $got, not $wanted" >>"$work/printed"
	[ $got -eq "$wanted" ] && grep -qF -- "$text" "$work/printed"
	result $? "$name"
}

# ---- rules ----
endless() {
	ulimit -v 2000000
	"$yore" "$@"
}
case $(nm "$yore" 2>/dev/null) in
*__asan_init*) ;; # the sanitizer needs more addresses than that
*)
	says "rules without an end" 1 "longer than 16 MiB" endless rules --check /dev/zero
	says "of a question, too" 1 "error in the rules" endless state "$trace" x --rules /dev/zero --no-index
	;;
esac
printf 'event x\n\tthread[%01000000d = 3\n' 0 >"$work/long.rules"
"$yore" rules --check "$work/long.rules" >"$work/printed" 2>&1
[ "$(wc -c <"$work/printed")" -lt 1000 ] && grep -qF "...0000" "$work/printed" && grep -qF "^" "$work/printed"
result $? "of a long line of rules, what is around the error"
printf 'event x\n\tthread[3 = 4\n' >"$work/short.rules"
says "a short line is whole" 1 "  	thread[3 = 4" "$yore" rules --check "$work/short.rules"

# ---- columns ----
fields() { # FOLDER N: one class of N fields of a byte, two events
	mkdir "$1"
	{
		printf '/* CTF 1.8 */\ntypealias integer { size = 8; align = 8; } := u8;\ntrace { major = 1; minor = 8; byte_order = le; };\n'
		printf 'event { name = "e"; fields := struct { %s }; };\n' "$(seq -f 'u8 x%.0f;' -s ' ' "$2")"
	} >"$1/metadata"
	head -c $((2 * $2)) /dev/zero >"$1/s0"
}
fields "$work/many" 60000
timeout 20 "$yore" convert "$work/many" "$work/csv" --to csv --no-index >"$work/printed" 2>&1
result $? "60,000 columns are made in seconds"
[ "$(head -n 1 "$work"/csv/*.csv | tr ',' '\n' | wc -l)" -ge 60000 ]
result $? "and all of them"
fields "$work/wide" 2500
says "SQL says how many columns are too many" 2 "a table of SQLite has" "$yore" sql "$work/wide" 'SELECT * FROM e' --no-index
says "and there is another table" 0 "x2500" "$yore" sql "$work/wide" 'SELECT fields FROM events LIMIT 1' --no-index
fields "$work/none" 1
sed -i '/^event/d' "$work/none/metadata"
says "probes of a trace without event classes" 0 "no event matches" "$yore" do "$work/none" --probes --no-index

# ---- notes ----
says "one note for many names that are not there" 0 "nothing is found of 4997 more words" \
	"$yore" events "$trace" --name "$(seq -f 'none%.0f*' -s , 5000)" --count --no-index
[ "$(wc -l <"$work/printed")" -le 6 ]
result $? "and no other ones"
# shellcheck disable=SC2046 # words
says "one note for many paths" 0 "holds for 47 more paths" "$yore" state "$trace" $(seq -f 'thread[%.0f]/comm' 50) --no-index

# ---- files ----
mkfifo "$work/pipe"
says "a database is not written to a pipe" 1 "a database must be a file" \
	timeout 120 "$yore" convert "$trace" "$work/pipe" --to sqlite --no-index
says "nor to standard output" 1 "a database must be a file" timeout 120 "$yore" convert "$trace" - --to sqlite --no-index
mkdir "$work/here" && cd "$work/here" && mkdir cputop irq && cp -r "$trace" copy || exit 99
says "a folder that is called like an analysis" 0 "of a CPU %" "$yore" cputop copy --no-index
says "and one behind options" 0 "of a CPU %" "$yore" cputop --no-index copy threads
says "such a folder alone is a trace" 1 "irq: no reader knows this folder" "$yore" irq --no-index
says "the usage, when nothing is asked" 2 "yore TRACE opens the prompt" "$yore"

# ---- a line of the prompt that holds a zero byte ----
printf 'at +5ms cpu[0]/thread\nat +5ms cpu[1]/thread\0, more\nat +6ms cpu[0]/thread\n' |
	"$yore" "$top/fixtures/golden/sched-demo" --no-index >"$work/printed" 2>&1
[ $? = 1 ] && [ "$(grep -c '^cpu\[0\]/thread' "$work/printed")" = 2 ] && ! grep -q '^cpu\[1\]' "$work/printed" &&
	grep -q "^yore: a line has a zero byte behind 'at +5ms cpu\[1\]/thread': it is left out" "$work/printed"
result $? "a line of the prompt with a zero byte is left out, and told"

# ---- what steers a terminal ----
python3 - "$work/steers" "$top/tests/lua" <<'END' || exit 99
import struct, sys
sys.path.insert(0, sys.argv[2])
import kernel_ctf
name = "bad\u200b\u202e\u009b31m\x1b[2J".encode() + b"\xc3\0"
switch = lambda t, before, after: struct.pack("<IQ", 0, t) + name + struct.pack("<iiq", before, 20, 1) + name + struct.pack("<ii", after, 20)
kernel_ctf.write(sys.argv[1], {}, "", {0: switch(1000, 0, 5) + switch(2000, 5, 6) + switch(3000, 6, 0)})
END
steers() { # raw bytes that a terminal would heed
	LC_ALL=C grep -qe "$(printf '\342\200\256')" -e "$(printf '\342\200\213')" -e "$(printf '\302\233')" -e "$(printf '\033')" "$1"
}
for asked in cputop sched offcpu switches 'cputop --format bars' flamegraph events 'sched log'; do
	# shellcheck disable=SC2086 # words
	"$yore" $asked "$work/steers" --no-index >"$work/printed" 2>/dev/null </dev/null
	! steers "$work/printed"
	result $? "through a pipe: $asked"
done
for asked in "cputop --format csv" "events --format csv"; do
	# shellcheck disable=SC2086 # words
	"$yore" $asked "$work/steers" --no-index >"$work/printed" 2>/dev/null </dev/null
	steers "$work/printed"
	result $? "bytes as they are: $asked"
done
if command -v script >/dev/null; then
	for asked in "events STEERS --format csv" "cputop STEERS --format csv" "sql STEERS 'SELECT * FROM sched_switch' --format csv" \
		"sql STEERS 'SELECT * FROM sched_switch' --format json" "events STEERS --format json"; do
		line=$(echo "$asked" | sed "s|STEERS|$work/steers|")
		script -qc "$yore $line --no-index" /dev/null </dev/null >"$work/printed" 2>&1
		grep -q bad "$work/printed" && ! steers "$work/printed"
		result $? "on a terminal: $asked"
	done
fi
exit $status

#!/bin/sh
# Analyses: the examples of docs/analyses.md and docs/compare.md print what stands there; commands, help and man page name the
# same analyses; options and their mistakes.
. "${srcdir:-.}/tests/shell.sh"
cd "$top" || exit 99
mkdir "$work/bin"
ln -s "$yore" "$work/bin/yore"
export PATH="$work/bin:$PATH"
demo=fixtures/golden/sched-demo

# Each ```console block: a command and what it prints, messages too.
awk -v dir="$work" '
	/^```console$/ { n++; out = dir "/example" n ".out"; getline; print substr($0, 3) >(dir "/example" n ".sh"); printf "" >out; in_block = 1; next }
	/^```$/ { in_block = 0; next }
	in_block { print >out }
' docs/analyses.md docs/compare.md
n=1
while [ -f "$work/example$n.sh" ]; do
	sh "$work/example$n.sh" >"$work/out" 2>&1
	diff -u "$work/example$n.out" "$work/out" >"$work/printed"
	result $? "example: $(cat "$work/example$n.sh")"
	n=$((n + 1))
done
[ "$n" -gt 15 ]
result $? "docs/analyses.md has examples"

# One table: files, yore run --list, yore help, the manual.
ls lua-lib/*.lua | sed 's,.*/,,; s,\.lua$,,' >"$work/files"
yore run --list | sed 's/ .*//' >"$work/listed"
yore help | sed -n '/^Analyses:/,/^$/s/^  \([a-z-]*\) .*/\1/p' >"$work/helped"
awk '/^\.SH/ { on = /ANALYSES/ } on && last == ".TP" { sub(/^\.B /, ""); gsub(/\\/, ""); print } { last = $0 }' docs/yore.1 >"$work/manual"
for list in listed helped manual; do
	diff -u "$work/files" "$work/$list" >"$work/printed"
	result $? "analyses that are $list are the files"
done
while read -r name; do
	yore help "$name" >"$work/printed" 2>&1 && grep -q "^$name: " "$work/printed" &&
		yore "$name" --help | cmp -s - "$work/printed" &&
		grep -q -e '--limit' "$work/printed" && grep -q "Examples:" "$work/printed"
	result $? "help $name"
done <"$work/files"

# says STATUS PATTERN WORDS...
says() {
	wanted=$1 pattern=$2
	shift 2
	"$@" >"$work/printed" 2>&1
	[ $? = "$wanted" ] && grep -q -e "$pattern" "$work/printed"
	result $? "$*"
}
says 2 'latency: TRACE is missing: yore latency TRACE' yore latency
says 2 'did you mean "latency"' yore latncy $demo
"$yore" sched $demo top --tid 10887 10890 --format csv >"$work/words" && "$yore" sched --tid 10887,10890 $demo --format csv >"$work/commas" &&
	[ "$(wc -l <"$work/words")" = 3 ] && cmp -s "$work/words" "$work/commas"
result $? "--tid takes several words, as that of commands"
says 2 "unknown option --lmit: did you mean \"--limit\"? 'yore help latency'" yore latency $demo --lmit 3
says 2 "'tpo' is too much: did you mean \"top\"? one of stats, top, log, freq" yore latency $demo tpo
says 2 "'x' is not a number" yore latency $demo --limit x
says 2 "--limit needs a value" yore latency $demo --limit
says 2 "'xml' is none of bars, csv, json, lami, table" yore latency $demo --format xml
says 2 "'cvs' is none of bars, csv, json, lami, table: did you mean \"csv\"" yore latency $demo --format cvs
says 2 "there is no column 'wait': there are comm, count" yore latency $demo --sort wait
says 2 "there is no column 'cont': did you mean \"count\"? there are comm, count" yore latency $demo --sort cont
says 2 "there is no column 'dr': did you mean \"dur\"? there are begin, end, dur" yore latency $demo log --sort dr
says 0 '^10887 .* demo-main' yore cputop $demo --sort comm
says 2 "column 1: there is no column 'tdi': did you mean \"tid\"? there are begin, comm" yore latency $demo --where 'tdi == 3'
says 2 "column 5: expected an operator such as '==' or the end, found '='" yore latency $demo --where 'tid = 3'
says 2 "column 8: expected a value (a constant" yore latency $demo --where 'tid == '
says 2 "there is no column 'demo': .*a text stands in double quotes" yore latency $demo --where 'comm == demo-main'
says 2 "units of time are ns us ms s" yore latency $demo --where 'dur > 3min'
says 1 "irq: the trace has no irq_handler_entry or softirq_entry" yore irq $demo
says 2 "'cpu' is none of thread, state, syscall, stack" yore offcpu $demo --by cpu
says 1 "no sched_switch of this range has a call chain" yore offcpu $demo --by stack
says 1 "nothing was recorded from 00:35:30.000000000 on: the trace goes from 00:35:20" yore latency $demo --begin 00:35:30
says 1 "nothing was recorded before 00:35:10" yore latency $demo --end 00:35:10
says 2 "the range from 00:35:20.799350827 to 00:35:20.798350827 is empty: it must end after it begins" yore latency $demo --begin +2ms --end +1ms
says 1 "no event 'sched_wakin': did you mean \"sched:sched_waking\"" yore periods $demo --from sched_wakin --until sched_wakeup --key pid
says 1 "key: no event of the trace has a field 'pidd': did you mean \"pid\"" yore periods $demo --from sched_waking --until sched_wakeup --key pidd
says 2 "^yore: --key: column 5: expected an operator or the end, found ','$" yore periods $demo --from sched_waking --until sched_wakeup --key 'pid , cpu'
says 2 "^yore: --key: column 7: this needs brackets: cpu + (pid & 3), columns of a key, or (cpu + pid & 3), one value$" yore periods $demo --from sched_waking --until sched_wakeup --key 'cpu + pid & 3'
says 2 "^yore: --key: column 7: a constant is no column of a key: (pid + 1) is one value$" yore periods $demo --from sched_waking --until sched_wakeup --key 'pid + 1'
says 1 "^yore: expression: column 8: no event of the trace has a field 'pidd': did you mean \"pid\"" yore periods $demo --from sched_waking --until sched_wakeup --key 'cpu + (pidd & 3)'
says 0 "^demo-pass-2 .* 21 " yore periods $demo --from sched_waking --until sched_wakeup --key 'thread[pid]/name'
says 0 "^10893 .* 24 " yore periods $demo --from 'sched_switch where prev_state == 1' --until sched_wakeup --key prev_pid --until-key pid
says 2 "^yore: condition: column 12: a number is never true" yore periods $demo --from 'sched_switch where prev_state & 2' --until sched_wakeup --key cpu
says 2 "^yore: condition: column 12: expected an operator such as '==' or the end, found '='$" yore periods $demo --from 'sched_switch where prev_state = 1' --until sched_wakeup --key cpu
says 1 "no event 'sched_swich': did you mean" yore periods $demo --from 'sched_swich where prev_state == 1' --until sched_wakeup --key cpu
says 1 "key: no event that begins one has the column 'prev_pid'" yore periods $demo --from sched_waking --until sched_switch --key prev_pid
says 2 "no field 'cal': did you mean \"call\"" yore periods $demo --from sched_waking --until sched_wakeup --key pid --field call=begin:pid --by cal
says 1 "^yore: --field x: no event of the trace has a field 'prioo': did you mean \"prio\"" yore periods $demo --from sched_waking --until sched_wakeup --key pid --field x=begin:prioo
yore periods $demo --from sched_waking --until sched_wakeup --key pidd 2>&1 | grep -c . >"$work/printed"
[ "$(cat "$work/printed")" = 1 ]
result $? "a mistake in the words of periods has no traceback"
says 1 "^yore: path 'cpu\[\*\]/nosuch': cpu\[\*\] has no attribute" yore flamegraph $demo --stack 'cpu[*]/nosuch'
[ "$(grep -c . "$work/printed")" = 1 ]
result $? "nor has one in the words of flamegraph"
tests/lua/no_tracebacks.py "$yore" >"$work/printed" 2>&1
result $? "no mistake in the words of an analysis has a traceback"
says 2 "^yore: --by: it is of 'periods stats'" yore periods top $demo --from sched_waking --until sched_wakeup --key pid --by key
says 2 "^yore: --of: it is of 'top callees' and 'top callers'" yore top $demo --of main
says 2 "^yore: --where: 'tid' has no meaning for 'functions': there are self, total" yore top $demo --where 'tid == 3'
says 2 "^yore: --where: 'pid' has no meaning for 'rss': there are tid, comm, resident" yore memtop rss $demo --where 'pid == 3'
says 0 "^yore: note: periods: 2 of 2 periods are left out: 2 have no key$" yore periods fixtures/golden/ovni-demo --from VTx --until VTe --key cpu
says 0 "^loom.node0.demo/proc.40/thread.40 .* 1 .* 80 ns" yore periods fixtures/golden/ovni-demo --from VTx --until VTe
says 2 "^yore: periods: --nested takes no value" yore periods $demo --nested=no
says 2 "flamegraph: --event and --stack" yore flamegraph $demo --event sched_switch --stack 'thread[*]/stack'
says 0 '^yore: note: latency: 17 of 204 waits are left out' yore latency $demo
says 0 '^yore: note: latency: counted without --tid 10893, 17 of 204 waits are left out' yore latency $demo --tid 10893
says 0 '^yore: note: latency: counted without --where --cpu 1, 17 of 204 waits are left out' yore latency $demo --cpu 1 --where 'tid == 10893'
says 0 '^yore: note: syscalls: counted without --comm demo-\*, 3 of 129 system calls are left out' yore syscalls fixtures/golden/sched-ftrace/trace.dat --comm 'demo-*'
says 0 "note: latency: --limit has no effect on --svg" yore latency $demo --svg "$work/x.svg" --limit 3
says 0 "note: sched: --format has no effect on --svg" yore sched $demo --svg "$work/x.svg" --format csv
says 0 "note: latency: --output-progress has no effect without --format lami" yore latency $demo --output-progress --limit 1
says 0 "note: migrations: the trace describes sched:sched_migrate_task, and none was recorded in this range" yore migrations $demo --begin -1us
says 0 "note: periods: the trace describes sched:sched_wait_task, and none was recorded$" yore periods $demo --from sched_wait_task --until sched_wakeup --key pid
says 0 "^0x560dfbae512c  futex  *19 " yore locks fixtures/golden/demo/trace.dat
says 2 "of which thread?: 'yore cputop TRACE threads' lists" yore critical-path $demo
says 1 "'x' is neither a number nor the name of a thread here: 'yore cputop TRACE threads' lists" yore critical-path $demo --tid x
says 1 "nothing is known of thread 99999 in this range: 'yore cputop TRACE threads' lists" yore critical-path $demo --tid 99999
says 1 "the trace has no event 'sched_swich': did you mean" yore top $demo --event sched_swich
says 0 '^yore latency TRACE \[stats|top|log|freq\]' yore latency $demo --help
tests/lua/made_stacks.py "$work/stacked" >"$work/printed" 2>&1
says 1 "^yore: flamegraph: there is nothing to draw: no stack that --where leaves" yore flamegraph "$work/stacked/trace" --svg "$work/x.svg" --where 'comm == "nobody"'
says 1 "^yore: .*x.svg: No such file or directory" yore flamegraph "$work/stacked/trace" --svg "$work/no/such/x.svg"
chains=${YORE_CORPUS-}/perf-data/cpu-clock-callchain/perf.data
lone=${YORE_CORPUS-}/perf-data/cpu-clock/perf.data
if [ -f "$chains" ]; then
	says 0 '^ 42.00 .* 0x12f2 ' yore top "$chains" --no-index --limit 1
	says 1 "no call chain of this range has the function nosuch: 'yore top TRACE functions' lists" yore top "$chains" callers --of nosuch --no-index
	says 0 '^ 42.00 .* 0.00 .* 0x12f2 ' yore top "$chains" --against "$chains" --no-index --sort self --limit 1
	says 0 '^250 samples of cpu-clock.*; against 254, weight' yore top "$chains" modules --against "$lone" --no-index
	says 2 "^yore: --against: it is of 'top functions' and 'top lines' and 'top modules'" yore top "$chains" threads --against "$lone" --no-index
	says 1 "^yore: .*nosuch: No such file or directory" yore top "$chains" --against "$work/nosuch" --no-index
	says 2 "^yore: --min: 'x' is not a percentage" yore top "$chains" tree --min x --no-index
	says 2 "^yore: --min: it is of 'top tree'" yore top "$chains" --min 3 --no-index
	says 2 "^yore: --where: 'low' has no meaning without --against TRACE" yore top "$chains" tree --where 'low > 0' --no-index
	says 0 '^ *29.20 .*      0x137f  *demo$' yore top "$chains" tree --no-index
	says 0 "note: top: [0-9]* of [0-9]* functions of the tree are left out, each of less than 1 % of all" yore top "$chains" tree --no-index
	says 1 "^yore: .*nosuch: No such file or directory" yore flamegraph "$chains" --against "$work/nosuch" --no-index
	says 1 "no event has a call chain.*: $demo" yore flamegraph "$chains" --against $demo --no-index
	says 1 "compares samples, by function or by stack$" yore compare "$chains" "$lone" --no-index
fi
if [ -f "$lone" ]; then
	says 0 '^254 samples of cpu-clock' yore top "$lone" --no-index --limit 1
	yore convert "$lone" "$work/lone.folded" --no-index && yore flamegraph "$lone" --no-index >"$work/printed" &&
		[ "$(LC_ALL=C sort "$work/printed")" = "$(LC_ALL=C sort "$work/lone.folded")" ]
	result $? "flamegraph and convert fold samples without chains alike"
fi
# words before TRACE and behind it; a trace may be called as one of them
cp -r $demo "$work/top"
yore latency top $demo --limit 1 >"$work/one" 2>&1
yore latency $demo top --limit 1 >"$work/two" 2>&1
(cd "$work" && yore latency top top --limit 1 --no-index >three 2>&1)
grep -q "^longest waits" "$work/one" && cmp -s "$work/one" "$work/two" && cmp -s "$work/one" "$work/three"
result $? "the word of an analysis may stand before the trace"
# what an event at the end of a range ends does not count: --end is not in it
for words in 'latency log' 'sched log' 'sched freq'; do
	yore $words $demo --end @2120802418493 --format csv >"$work/until" 2>"$work/printed"
	yore $words $demo --end @2120802418494 --format csv >"$work/behind" 2>>"$work/printed"
	! cmp -s "$work/until" "$work/behind" && [ "$(wc -l <"$work/until")" -le "$(wc -l <"$work/behind")" ] &&
		! grep -q 2120802418493 "$work/until"
	result $? "$words ends before --end"
done
# options before TRACE and behind it; those of the trace
yore latency --limit 2 --sort p99 --time ns $demo log --no-index >"$work/one" 2>&1
yore latency $demo log --limit 2 --time ns >"$work/two" 2>&1
yore latency --limit 2 --time ns $demo log --no-index >"$work/three" 2>&1
grep -q "there is no column 'p99'" "$work/one" && cmp -s "$work/two" "$work/three" && [ "$(wc -l <"$work/two")" = 9 ]
result $? "options may stand before the trace, too"
# so may options that only the script declares, with a value of two words and without one
yore periods --from sched_waking --until sched_wakeup --key payload/pid --limit 3 $demo >"$work/one" 2>&1
yore periods $demo --from=sched_waking --until=sched_wakeup --key=payload/pid --limit 3 >"$work/two" 2>&1
grep -q '^10887  ' "$work/one" && cmp -s "$work/one" "$work/two"
result $? "options of a script alone may stand before the trace with their values"
cat >"$work/own.lua" <<'END'
local analysis = require("yore.analysis")
local a = analysis.open(arg, { name = "own", options = { what = "text", some = "list", loud = "flag" } })
print(a.what, table.concat(a.some or {}, "+"), a.loud, trace:info().path)
END
mkdir "$work/lua" && cp -r lua-lib/. "$work/lua" && cp "$work/own.lua" "$work/lua"
(YORE_LUA_DIR="$work/lua" yore own --some a --what 'b c' --loud --some d $demo) >"$work/printed" 2>&1
grep -q "^b c	a+d	true	.*sched-demo" "$work/printed"
result $? "an option that is a flag takes no word"
# --where is what a filter of the rows would leave
yore latency $demo log --format csv >"$work/all"
yore latency $demo log --format csv --where 'dur > 50us && !(kind == "new") && tid in (10887, 10891)' >"$work/some"
awk -F, 'NR == 1 || ($3 > 50000 && $4 != "new" && ($6 == 10887 || $6 == 10891))' "$work/all" |
	diff -u - "$work/some" >"$work/printed"
result $? "--where leaves the rows that awk leaves"
yore latency $demo log --format json >"$work/json"
python3 -c '
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1])))
objects = [json.loads(line) for line in open(sys.argv[2])]
assert len(rows) == len(objects) > 100
for row, item in zip(rows, objects):
    assert {k: "" if v is None else str(v) for k, v in item.items()} == row, (row, item)
' "$work/all" "$work/json" >"$work/printed" 2>&1
result $? "csv and json have the same"
yore offcpu $demo --format csv --where 'tid == 15' | cut -d, -f 4-6 >"$work/printed"
printf 'count,total,mean\n2,11456684,5728342\n' | diff - "$work/printed" >"$work/differs"
result $? "csv has averages to the nanosecond"
yore latency $demo --quiet --svg "$work/heat.svg" >"$work/printed" 2>&1 && yore latency $demo freq --quiet --svg "$work/hist.svg" >>"$work/printed" 2>&1 &&
	[ ! -s "$work/printed" ] && python3 -c '
import sys, xml.etree.ElementTree as tree
for path in sys.argv[1:]: assert tree.parse(path).getroot().tag.endswith("svg")' "$work/heat.svg" "$work/hist.svg" &&
	[ "$(grep -o 'class="bar"' "$work/hist.svg" | wc -l)" -gt 4 ] && ! cmp -s "$work/heat.svg" "$work/hist.svg"
result $? "latency --svg draws a heat map, and a histogram with freq"
# what is folded while it comes is what a list of all gives
cat >"$work/folded.lua" <<'END'
local draw = require("yore.draw")
local waits = trace:segments{ path = "thread[*]/state", value = "ready", whole = true }
local values, points, first, last = {}, {}, trace:bounds()
for i, row in ipairs(waits:rows()) do
	values[i], points[i] = row.dur, { row.begin, row.dur }
end
assert(#values > 100)
assert(yore.save(arg[1] .. "/list.svg", draw.heatmap{ points = points, from = first, to = last + 1, title = "latency: waits" }))
assert(yore.save(arg[1] .. "/folded.svg", draw.heatmap{ from = first, to = last + 1, title = "latency: waits",
	points = function(add) for _, point in ipairs(points) do add(point[1], point[2]) end end }))
local listed = draw.histogram{ values = values }
assert(listed == draw.histogram{ summary = waits:groups{ by = {}, percentiles = { 50, 99 } }[1],
	values = function(add) for _, value in ipairs(values) do add(value) end end })
table.sort(values)
assert(listed:find(#values .. " intervals; half up to " .. yore.span(values[(#values + 1) // 2]) .. ", 99% up to "
	.. yore.span(values[math.ceil(#values * 99 / 100)]) .. ", longest " .. yore.span(values[#values]), 1, true))
END
yore run "$work/folded.lua" $demo "$work" >"$work/printed" 2>&1 && cmp "$work/list.svg" "$work/folded.svg" >>"$work/printed"
result $? "pictures of values that come one by one are those of a list"
# offcpu --by state adds up what the threads' rows say
yore offcpu $demo --format csv >"$work/all"
yore offcpu $demo --by state --format csv >"$work/some"
python3 -c '
import collections, csv, sys
rows, groups = (list(csv.DictReader(open(path))) for path in sys.argv[1:])
sums = collections.Counter()
for row in rows: sums[row["state"]] += int(row["total"])
assert len(groups) > 1 and {row["state"]: int(row["total"]) for row in groups} == sums, (groups, sums)
' "$work/all" "$work/some" >"$work/printed" 2>&1
result $? "offcpu --by state adds up what threads have"
ftrace=fixtures/golden/sched-ftrace/trace.dat
for words in "syscalls $ftrace" "io $ftrace" "sched $ftrace" "periods $demo --from sched_waking --until sched_wakeup --key pid"; do
	# shellcheck disable=SC2086
	yore $words --svg "$work/heat.svg" >"$work/printed" 2>&1 && yore $words freq --svg "$work/hist.svg" >>"$work/printed" 2>&1 &&
		[ "$(grep -o 'class="bar"' "$work/hist.svg" | wc -l)" -gt 2 ] && [ -s "$work/heat.svg" ] && ! cmp -s "$work/heat.svg" "$work/hist.svg"
	result $? "${words%% *} --svg draws a heat map, and a histogram with freq"
done
# the histogram counts what the log lists
yore io $ftrace freq --format csv 2>"$work/printed" | awk -F, 'NR > 1 { n += $3 } END { print n }' >"$work/one"
yore io $ftrace log --format csv 2>>"$work/printed" | awk 'NR > 1' | wc -l | diff - "$work/one" >>"$work/printed"
result $? "io freq counts the calls of io log"
# A join that asks for the calls of each thread apart tells of three of them.
yore sql fixtures/golden/demo/trace.dat 'SELECT count(*) FROM threads t JOIN syscalls s USING (tid)' >"$work/printed" 2>&1
[ "$(grep -c 'note: syscalls: 1 of' "$work/printed")" = 3 ] && [ "$(grep -c 'note: syscalls: more threads' "$work/printed")" = 1 ] &&
	[ "$(tail -n 1 "$work/printed")" = 482 ]
result $? "notes of the calls of many threads are few"
# A thread that exits has its CPU until another one gets it.
tests/lua/exit_preempted.py "$work/exits"
says 0 "note: migrations: the trace describes sched_migrate_task, and none was recorded: if it was not enabled, record it with lttng enable-event --kernel sched_migrate_task," yore migrations "$work/exits"
{
	yore latency "$work/exits" log --no-index --format csv
	yore sched "$work/exits" log --no-index --format csv
	yore sql "$work/exits" 'SELECT tid FROM wakeups' --no-index --format csv
} >"$work/printed" 2>&1
diff - "$work/printed" >"$work/differs" <<'EOF'
yore: note: latency: 2 of 4 waits are left out: the wake-up of 1 is missing; 1 began before the range
begin,end,dur,kind,cpu,tid,comm
2500,3000,500,woken,0,20,t20
3000,5000,2000,preempted,0,10,t10
end,cpu,tid,comm,wait,delay,dur,after,next
5000,0,20,t20,,500,2000,10,t10
6000,0,10,t10,2000,,1000,1,t1
tid
20
EOF
result $? "a thread that loses its CPU while it exits is preempted, not woken"
# An exit of another call than the one that was entered tells that events are missing: the two are no call.
tests/lua/torn_calls.py "$work/torn"
yore syscalls "$work/torn" log --no-index --format csv >"$work/printed" 2>&1
diff - "$work/printed" >"$work/differs" <<'EOF'
yore: note: syscalls: 3 of 7 system calls are left out (16 1 of 1, 60 1 of 1, 203 1 of 1): 1 are followed by the end of another one; 2 have no end of their own in the range; 1 ends have no begin of their own in it
begin,end,dur,tid,comm,name,ret
2000,2100,100,10,t10,0,0
5000,5300,300,10,t10,15,0
6000,6200,200,10,t10,0,0
6400,6500,100,10,t10,0,0
EOF
result $? "a call whose exit is missing does not end with another one's"
says 1 "^yore: locks: the trace's raw system calls have no arguments" yore locks "$work/torn"
tests/lua/torn_calls.py "$work/torn-names" named
yore syscalls "$work/torn-names" log --no-index --format csv >"$work/printed" 2>&1
diff - "$work/printed" >"$work/differs" <<'EOF'
yore: note: syscalls: 3 of 7 system calls are left out (exit 1 of 1, ioctl 1 of 1, sched_setaffinity 1 of 1): 1 are followed by the end of another one; 2 have no end of their own in the range; 1 ends have no begin of their own in it
begin,end,dur,tid,comm,name,ret
2000,2100,100,10,t10,read,0
5000,5300,300,10,t10,rt_sigreturn,0
6000,6200,200,10,t10,read,0
6400,6500,100,10,t10,read,0
EOF
result $? "nor does it where names of events tell which call it is"
for made in torn torn-names; do
	yore sql "$work/$made" 'SELECT name, begin, end, dur FROM syscalls ORDER BY begin' --no-index --format csv
done >"$work/printed" 2>&1
diff - "$work/printed" >"$work/differs" <<'EOF'
yore: note: syscalls: 3 of 7 calls have no end that is known, and their dur is NULL: 2 have no end of their own in the range; 1 are followed by the end of another one
name,begin,end,dur
0,2000,2100,100
203,3000,,
15,5000,5300,300
0,6000,6200,200
16,6300,,
0,6400,6500,100
60,6600,,
yore: note: syscalls: 3 of 7 calls have no end that is known, and their dur is NULL: 2 have no end of their own in the range; 1 are followed by the end of another one
name,begin,end,dur
read,2000,2100,100
sched_setaffinity,3000,,
rt_sigreturn,5000,5300,300
read,6000,6200,200
ioctl,6300,,
read,6400,6500,100
exit,6600,,
EOF
result $? "in SQL a call without an exit of its own has no end"
# A switch is missing, from 11 to 12: events that name their thread need none, whatever the context is called.
for context in tid vtid; do
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tests/lua python3 - "$work/named-$context" $context <<'EOF'
import struct, sys
import kernel_ctf
events = {1: ("syscall_entry_read", ""), 2: ("syscall_exit_read", "s64 ret;")}
def switch(t, before, after):
    return (struct.pack("<IQi", 0, t, before) + b"t%d\0" % before + struct.pack("<iiq", before, 20, 1)
            + b"t%d\0" % after + struct.pack("<ii", after, 20))
def enter(t, tid):
    return struct.pack("<IQi", 1, t, tid)
def leave(t, tid, ret):
    return struct.pack("<IQiq", 2, t, tid, ret)
kernel_ctf.write(sys.argv[1], events, " event.context := struct { s32 %s; };" % sys.argv[2], {0: b"".join((
    switch(1000, 1, 10), enter(1100, 10), switch(1200, 10, 11), enter(1300, 12), leave(1350, 12, 5), switch(1500, 12, 10),
    leave(1600, 10, 7), switch(1700, 10, 1)))})
EOF
	{
		yore syscalls "$work/named-$context" log --no-index --format csv
		yore sql "$work/named-$context" 'SELECT tid, begin, end, ret FROM syscalls ORDER BY begin' 'SELECT count(*) AS notes FROM notes' \
			--no-index --format csv
		yore state "$work/named-$context" 'thread[10]/syscall' --no-index --format csv
		yore do "$work/named-$context" 'syscall_exit_read { @[tid] = sum(args.ret); }' --no-index
	} >"$work/printed" 2>"$work/notes"
	diff - "$work/printed" >"$work/differs" <<'EOF'
begin,end,dur,tid,comm,name,ret
1100,1600,500,10,t10,read,7
1300,1350,50,12,t12,read,5
tid,begin,end,ret
10,1100,1600,7
12,1300,1350,5
notes
0
begin,end,dur,path,value,comm
1100,1600,500,thread[10]/syscall,read,t10
@[12]: 5
@[10]: 7
EOF
	result $? "a missing switch costs no call where the context $context names the thread"
done
# perf and ftrace have no exit of x86's rt_sigreturn by name: the thread is not in that call until the next one is entered.
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tests/lua python3 - "$work/sigreturn" <<'EOF'
import struct, sys
import kernel_ctf
names = ["sys_enter_poll", "sys_exit_poll", "sys_enter_rt_sigreturn"]
kernel_ctf.write(sys.argv[1], {i + 1: (name, "s32 common_pid; s64 ret;") for i, name in enumerate(names)}, "", {0: b"".join(
    struct.pack("<IQiq", number, t, 7, 0) for t, number in ((1000, 1), (1400, 2), (1500, 3), (1900, 1), (1990, 2)))})
EOF
yore state "$work/sigreturn" 'thread[7]/syscall' --no-index --format csv >"$work/printed" 2>&1
yore sql "$work/sigreturn" 'SELECT * FROM syscalls' --no-index --format csv >>"$work/printed" 2>&1
diff - "$work/printed" >"$work/differs" <<'EOF'
begin,end,dur,path,value,comm
1000,1400,400,thread[7]/syscall,poll,
1900,1990,90,thread[7]/syscall,poll,
yore: note: syscalls: 1 of 3 calls have no end that is known, and their dur is NULL: 1 have no end of their own in the range
tid,cpu,comm,begin,end,dur,name,ret
7,0,,1000,1400,400,poll,0
7,0,,1500,,,rt_sigreturn,
7,0,,1900,1990,90,poll,0
EOF
result $? "rt_sigreturn does not last until the next call"
# Of calls whose exits were not recorded nothing tells how long they lasted.
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tests/lua python3 - "$work/entries" <<'EOF'
import struct, sys
import kernel_ctf
for name in ("sys_enter", "sys_enter_poll"):
    kernel_ctf.write(sys.argv[1] + "/" + name, {1: (name, "s32 common_pid; s64 id;")}, "",
                     {0: b"".join(struct.pack("<IQiq", 1, t, tid, 7) for t, tid in ((1000, 3), (1400, 4), (1500, 3), (1900, 4)))})
EOF
for made in sys_enter sys_enter_poll; do
	yore sql "$work/entries/$made" 'SELECT count(*) > 0, count(end) FROM syscalls' --no-index --format csv --quiet
done >"$work/printed" 2>&1
diff - "$work/printed" >"$work/differs" <<'EOF'
count(*) > 0,count(end)
1,0
count(*) > 0,count(end)
1,0
EOF
result $? "calls without exits have no end"
# A damaged packet may tell any CPU: what is kept per CPU costs what CPUs there are, not the greatest number.
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tests/lua python3 - "$work/any-cpu" >"$work/printed" 2>&1 <<'EOF'
import resource, struct, subprocess, sys
import kernel_ctf

kernel_ctf.write(sys.argv[1], {1: ("syscall_entry_read", "u32 fd;"), 2: ("syscall_exit_read", "s64 ret;")}, "", {100000000:
    struct.pack("<IQ", 0, 1000) + b"a\0" + struct.pack("<iiq", 1, 20, 1) + b"b\0" + struct.pack("<ii", 2, 20) +
    struct.pack("<IQI", 1, 2000, 3) + struct.pack("<IQq", 2, 3000, 7) +
    struct.pack("<IQ", 0, 4000) + b"b\0" + struct.pack("<iiq", 2, 20, 1) + b"a\0" + struct.pack("<ii", 1, 20)})
said = subprocess.run(["yore", "syscalls", "log", "--no-index", "--format", "csv", sys.argv[1]], capture_output=True, text=True)
print(said.stdout, said.stderr)
assert said.stdout.splitlines()[1:] == ["2000,3000,1000,2,b,read,7"], said.stdout
assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 600 << 10
EOF
result $? "a CPU of any number costs no memory"
# CPUs of which nothing is known, and losses
gen=$build/fixtures/yore-gen
"$gen" --out "$work/begun" --size 2M --overwritten 3 --no-truth && "$gen" --out "$work/lossy" --size 2M --lose 0.1 --no-truth || exit 99
yore cputop "$work/begun" cpus --format csv >"$work/cpus" 2>"$work/printed"
yore gaps "$work/begun" unknown --format csv >"$work/gaps" 2>>"$work/printed"
yore sql "$work/begun" 'SELECT DISTINCT cpu FROM events ORDER BY cpu' --format csv >"$work/seen" 2>>"$work/printed"
python3 -c '
import csv, sys
cpus, gaps, seen = (list(csv.DictReader(open(path))) for path in sys.argv[1:])
silent = {row["cpu"] for row in cpus} - {row["cpu"] for row in seen}
assert len(cpus) == 8 and len(silent) == 1, (cpus, seen)
for row in cpus:
    own = sum(int(gap["dur"]) for gap in gaps if gap["cpu"] == row["cpu"])
    assert own == int(row["unknown_time"]), (row, own)
    assert row["cpu"] not in silent or float(row["unknown"]) == 100, row
' "$work/cpus" "$work/gaps" "$work/seen" >>"$work/printed" 2>&1
result $? "cputop and gaps name a CPU that has a stream without events"
yore cputop $demo cpus --where 'cpu == 1' --format csv >"$work/one" 2>"$work/printed"
yore cputop $demo cpus --format csv | awk -F, 'NR == 1 || $1 == 1' | diff - "$work/one" >>"$work/printed"
result $? "cputop --where leaves out CPUs, and does not call them idle"
says 0 "not known who runs on CPU 1, 2, 3, 4, 5, 6, 7," yore latency "$work/begun"
says 0 "not known who runs on CPU 1, 2, 3, 4, 5, 6, 7," yore latency "$work/begun" --format csv
says 0 "^unknown who ran: .* of .* (.* %)$" yore sched "$work/lossy"
lost=$(yore info "$work/lossy" | sed -n 's/^losses *\([0-9]*\) events.*/\1/p')
for words in irq 'offcpu log' 'switches --format csv' 'periods --from sched_waking --until sched_wakeup --key tid'; do
	says 0 ": $lost events were lost at 2 places of the range" yore $words "$work/lossy"
done
# what was lost from before a range into it, and what each side of a comparison lost
first=$(yore sql "$work/lossy" 'SELECT min(ts) + 1 FROM losses' --format csv | tail -1)
until=$(yore sql "$work/lossy" 'SELECT min(until) FROM losses' --format csv | tail -1)
says 0 ": at least 0 events were lost at 1 place of the range" yore irq "$work/lossy" --begin "@$first" --end "@$until"
says 0 ": at least 0 events were lost at 1 place of A" yore compare "$work/lossy" --range-a "@$first..@$until" --range-b "@$until..@$((until + 1000))"
yore compare "$work/lossy" --range-a "@$until..@$((until + 1000))" --range-b "@$((until + 1000))..@$((until + 2000))" 2>"$work/printed" >/dev/null
! grep -q "were lost" "$work/printed"
result $? "and not what is lost elsewhere"
# no switch beside a loss before the range is one of the range's waits
"$gen" --out "$work/lossier" --size 6M --lose 0.3 --no-truth || exit 99
for range in '--begin +20ms' '--begin +30ms' '--begin +10ms --end +12ms' '--begin +40ms'; do
	count=$(yore events "$work/lossier" $range --name sched_switch --where 'next_tid != 0' --count 2>"$work/said")
	says 0 " of $count waits are left out" yore latency "$work/lossier" $range
done
# perf counts losses when it ends, also those behind the last event of a CPU: two records of that kind behind the others
python3 - fixtures/golden/sched-perf/perf.data "$work/ended.data" <<'EOF'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
attr_size, attrs, _, at, size = struct.unpack_from("<QQQQQ", data, 16)
sample_type, = struct.unpack_from("<Q", data, attrs + 24)
ids, = struct.unpack_from("<Q", data, attrs + attr_size - 16)
number, = struct.unpack_from("<Q", data, ids)
trailer = b"".join(struct.pack("<Q", number if bit in (6, 9, 16) else 0) for bit in (1, 2, 6, 9, 7, 16) if sample_type >> bit & 1)
record = struct.pack("<IHHQ", 13, 0, 16 + len(trailer), 21) + trailer
features = sum(bin(byte).count("1") for byte in data[72:104])
for i in range(features):
    place = at + size + 16 * i
    struct.pack_into("<Q", data, place, struct.unpack_from("<Q", data, place)[0] + 2 * len(record))
struct.pack_into("<Q", data, 48, size + 2 * len(record))
open(sys.argv[2], "wb").write(data[:at + size] + 2 * record + data[at + size:])
EOF
says 0 "note: gaps: perf counted 42 more lost events when the recording ended" yore gaps losses "$work/ended.data"
says 0 "note: sched: perf counted 42 more lost events" yore sched "$work/ended.data" --begin +10ms --end +20ms
says 0 "^           42 events more by perf's count when the recording ended: when they were lost is not told$" yore info "$work/ended.data"
says 0 "^losses     none at a place that is known$" yore info "$work/ended.data"
says 0 "^losses     none$" yore info fixtures/golden/sched-perf/perf.data
says 0 '"lost_untold":42,' yore info "$work/ended.data" --format json
says 0 "^lost: 42 events more by perf's count" yore check "$work/ended.data"
says 0 " 0 events lost at 0 places and 42 nobody knows when, " yore check "$work/ended.data"
says 0 '"lost":0,"lost_untold":42,' yore check "$work/ended.data" --format json
mkdir "$work/hosts"
"$gen" --out "$work/hosts/a" --size 1M --host alpha --no-truth && "$gen" --out "$work/hosts/b" --size 1M --seed 2 --host beta --no-truth || exit 99
says 1 "sched: the trace is of the hosts alpha, beta, and this analysis is of one" yore sched "$work/hosts"
says 0 "^periods" yore periods "$work/hosts" --from sched_waking --until sched_wakeup --key tid
# memtop: what a small machine did, told by the machine
for threads in switches context; do
	rm -rf "$work/made"
	tests/lua/made_kernel.py "$work/made" $threads >"$work/printed"
	for verb in threads rss; do
		yore memtop "$work/made/trace" $verb --no-index --format csv >"$work/told" 2>"$work/printed"
		python3 -c '
import csv, sys
told, truth = ([row for row in csv.DictReader(open(path))] for path in sys.argv[1:])
told = sorted(({key: row[key] for key in truth[0]} for row in told), key=lambda row: int(row["tid"]))
assert len(truth) > 3 and told == truth, (told, truth)' "$work/told" "$work/made/$verb.csv" >>"$work/printed" 2>&1
		result $? "memtop $verb is what the machine did, threads by $threads"
	done
done
for seed in 1 2 3; do
	rm -rf "$work/made"
	tests/lua/made_maps.py "$work/made" $seed
	yore memtop "$work/made/trace" calls --no-index --format csv >"$work/told" 2>"$work/printed"
	python3 -c '
import csv, sys
told, truth = ([row for row in csv.DictReader(open(path))] for path in sys.argv[1:])
told = sorted(({key: row[key] for key in truth[0]} for row in told), key=lambda row: int(row["pid"]))
assert len(truth) == 2 and int(truth[0]["net"]) > 0 < int(truth[1]["unseen"]) and told == truth, (told, truth)
' "$work/told" "$work/made/maps.csv" >>"$work/printed" 2>&1
	result $? "memtop calls has the pages that are mapped in the end, seed $seed"
done
# raw system calls, whose numbers have names: two pages are mapped and one of them unmapped, the heap grows by three
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tests/lua python3 - "$work/raw" <<'EOF'
import struct, sys
import kernel_ctf
calls = ((9, (0, 8100, 3, 34), 0x10000), (11, (0x11000, 4096), 0), (12, (0,), 0x50000), (12, (0x53000,), 0x53000), (0, (3, 0x10000), -11),
         (9, (0, 4096, 3, 34), -12))
body = b""
for n, (number, args, ret) in enumerate(calls):
    body += struct.pack("<IQiq6q", 1, 1000 * n + 100, 7, number, *args, *[0] * (6 - len(args)))
    body += struct.pack("<IQiqq", 2, 1000 * n + 200, 7, number, ret)
number = "enum : s64 { read = 0, mmap = 9, munmap = 11, brk = 12 } id;"
kernel_ctf.write(sys.argv[1], {1: ("sys_enter", "s32 common_pid; " + number + " s64 args[6];"), 2: ("sys_exit", "s32 common_pid; " + number + " s64 ret;")},
                 "", {0: body})
EOF
yore memtop calls "$work/raw" --no-index --format csv >"$work/printed" 2>&1
diff - "$work/printed" >"$work/differs" <<'EOF'
pid,comm,mapped,unmapped,unseen,grown,shrunk,net,calls,failed,unknown
7,,8192,4096,0,12288,0,16384,5,1,0
EOF
result $? "memtop calls reads raw system calls whose numbers have names"
cat >"$work/errors.lua" <<'EOF'
for number, name in pairs(require("yore.kernel").errors) do print(number, name) end
EOF
yore run "$work/errors.lua" $demo >"$work/printed" && python3 -c '
import errno, sys
told = {int(n): name for n, name in map(str.split, open(sys.argv[1]))}
assert all(n in told for n in errno.errorcode) and all(getattr(errno, name, n) == n for n, name in told.items()), told' "$work/printed" 2>>"$work/printed"
result $? "errors of system calls have the names of Linux"
# stacks of LTTng's contexts, of all events and of switches alone: what was written; and names where this kernel wrote them
for where in "" event alone here; do
	rm -rf "$work/made"
	# shellcheck disable=SC2086
	tests/lua/made_stacks.py "$work/made" $where
	yore offcpu "$work/made/trace" --by stack --no-index --format csv >"$work/off" 2>"$work/printed"
	yore flamegraph "$work/made/trace" --event sched_switch --no-index >"$work/flames" 2>>"$work/printed"
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tests/lua python3 - "$work/off" "$work/flames" "$work/made/stacks.csv" "$where" >>"$work/printed" 2>&1 <<'EOF'
import bisect, collections, csv, os, re, sys

off, truth = (list(csv.DictReader(open(path))) for path in (sys.argv[1], sys.argv[3]))
lines = open("/proc/kallsyms") if os.access("/proc/kallsyms", os.R_OK) else []
kernel = sorted((int(line.split()[0], 16), line.split()[2]) for line in lines if line.split()[1] in "TtWwDdBb")
seen = sys.argv[4] == "here" and kernel and kernel[-1][0]

def named(frame):
    """The kernel's functions have names where addresses of this kernel are shown; which of several at one address is another test's."""
    at = bisect.bisect(kernel, (int(frame, 16), "~")) - 1
    return kernel[at][0] if seen and int(frame, 16) >> 63 else frame

def key(text, between):
    """Names as the least address that has the name, so that aliases are one."""
    return tuple(named(frame) if frame.startswith("0x") else places[frame] for frame in text.split(between) if frame)

places = {name: at for at, name in reversed(kernel)}
wanted, graph, counted = collections.Counter(), collections.Counter(), collections.Counter()
for row in truth:
    wanted[row["state"], key(row["stack"], " < ")] += int(row["count"])
    if row["stack"]:
        graph["task-" + row["tid"], key(row["stack"], " < ")[::-1]] += int(row["count"])
told = {(row["state"], key(row["stack"], " < ")): int(row["count"]) for row in off}
for line in open(sys.argv[2]):
    stack, weight = line.rsplit(" ", 1)
    name, frames = stack.split(";", 1)
    counted[name, key(frames, ";")] += int(weight)
if sys.argv[4] == "alone":  # who runs before the first switch of a CPU is not known
    first = {name: n for name, n in counted.items() if name[0] == "[unknown]"}
    assert 0 < sum(first.values()) <= 2
    for (name, stack), n in first.items():
        counted[next(other for other in graph if other[1] == stack and counted[other] < graph[other])] += n
        del counted[name, stack]
assert len(wanted) > 20 and counted == graph, (counted, graph)
if seen:
    assert not any("0xffffffff" in row["stack"] for row in off)
# a thread that is not seen to have left is off the CPU without a stack, too
assert {k: n for k, n in told.items() if k[1]} == {k: n for k, n in wanted.items() if k[1]}, (told, wanted)
EOF
	result $? "stacks of LTTng's contexts are what was written${where:+: $where}"
done
yore flamegraph "$work/made/trace" >"$work/all"
yore flamegraph "$work/made/trace" --limit 3 >"$work/some" 2>"$work/printed"
sort -t ' ' -k 2,2nr -k 1,1 "$work/all" | head -3 | LC_ALL=C sort | diff - "$work/some" >>"$work/printed" &&
	grep -q "leaves out $(($(wc -l <"$work/all") - 3)) of $(wc -l <"$work/all") stacks" "$work/printed"
result $? "flamegraph --limit leaves the stacks that weigh most, and says what it leaves out"
yore flamegraph "$work/made/trace" --format csv >"$work/some" 2>"$work/printed"
python3 -c '
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
folded = ["%s;%s %s" % (row["comm"], row["stack"], row["weight"]) for row in rows]
assert sorted(folded) == sorted(open(sys.argv[2]).read().splitlines()) and len(folded) > 20
assert abs(sum(float(row["percent"]) for row in rows) - 100) < 0.1
weights = [int(row["weight"]) for row in rows]
assert weights == sorted(weights, reverse=True)' "$work/some" "$work/all" 2>>"$work/printed"
result $? "flamegraph --format csv has the same stacks, the heaviest first"
name=$(head -1 "$work/all" | sed 's/;.*//')
yore flamegraph "$work/made/trace" --where "comm == \"$name\"" 2>"$work/printed" >"$work/some" &&
	grep "^$name;" "$work/all" | diff - "$work/some" >>"$work/printed" && [ -s "$work/some" ]
result $? "flamegraph --where leaves the stacks of a thread"
yore flamegraph "$work/made/trace" --sort weight 2>"$work/printed" | sed 's/.* //' >"$work/some" &&
	sort -nr "$work/some" | diff - "$work/some" >>"$work/printed" && [ -s "$work/some" ]
result $? "flamegraph --sort weight"
says 1 "no event 'sched_swich': did you mean" yore flamegraph $demo --event sched_swich
says 1 "offcpu: there is nothing to draw: no stretches off the CPU that --where leaves" \
	yore offcpu "$work/made/trace" --by stack --where 'dur > 1s' --svg "$work/none.svg"
says 1 "latency: there is nothing to draw: no " yore latency $demo --where 'dur > 10s' --svg "$work/none.svg"
# a trace with more switches than are kept at a time
sed 's/range(400)/range(70000)/' tests/lua/made_stacks.py >"$work/made_stacks.py"
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=tests/lua python3 "$work/made_stacks.py" "$work/large"
yore offcpu "$work/large/trace" --by stack --no-index --format csv >"$work/off" 2>"$work/printed"
python3 -c '
import collections, csv, sys
off, truth = ([row for row in csv.DictReader(open(path)) if row["stack"]] for path in sys.argv[1:])
wanted = collections.Counter()
for row in truth: wanted[row["state"], row["stack"]] += int(row["count"])
told = {(row["state"], row["stack"]): int(row["count"]) for row in off}
assert sum(told.values()) > 50000 and told == wanted, (told, wanted)' "$work/off" "$work/large/stacks.csv" >>"$work/printed" 2>&1
result $? "offcpu --by stack has all stretches, of which a part is kept at a time"
says 1 "nothing is on thread\[\*\]/stack: record call chains with perf record -g" yore flamegraph $demo
says 1 "memtop: the trace has no mm_page_alloc" yore memtop $demo
says 1 "memtop: the trace has no events of mmap, munmap and brk by name" yore memtop $demo calls
says 1 "no rss_stat or kmem_rss_stat, which tells how much is resident" yore memtop $demo rss
# a thread whose name is empty has none, whether names come from timelines or from the trace
printf 'include linux\nevent sched_switch\n thread[field/next_pid]/name = ""\n thread[field/prev_pid]/name = ""\n' >"$work/empty.rules"
yore index $demo --timelines --rules "$work/empty.rules" --index-dir "$work/empty" >/dev/null
yore sched $demo --rules "$work/empty.rules" --index-dir "$work/empty" --quiet >"$work/some" 2>&1
yore sched $demo --rules "$work/empty.rules" --no-index --quiet 2>&1 | diff "$work/some" - >"$work/printed" && grep -q '^10893  - ' "$work/some"
result $? "an empty name is none, with timelines and without"
printf 'latency top --limit 1\nlatency\n' | yore $demo 2>&1 | grep -c '^longest waits\|^woken' >"$work/printed"
[ "$(cat "$work/printed")" = 2 ]
result $? "an analysis is a command of the prompt"
exit $status

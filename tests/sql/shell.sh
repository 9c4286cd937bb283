#!/bin/sh
# yore sql as a program among others: queries as arguments, from a pipe and from files, Ctrl-C, the
# progress of a long one, exit statuses.
. "${srcdir:-.}/tests/shell.sh"
demo=fixtures/golden/sched-demo
cd "$top" || exit 99

says() { # expected, name, then the command; standard input goes along
	expected=$1 name=$2
	shift 2
	"$@" >"$work/printed" 2>&1
	[ "$(cat "$work/printed")" = "$expected" ]
	result $? "$name"
}

says "955
261" "several queries" "$yore" sql $demo "SELECT count(*) FROM events" "SELECT count(*) FROM sched_switch"
printf 'SELECT count(*)\n-- a comment; with a semicolon\nFROM events; SELECT 1;\nSELECT\n2' >"$work/query.sql"
says "955
1
2" "statements over several lines, from standard input" "$yore" sql $demo <"$work/query.sql"
says '{"n":955}' "--format json" "$yore" sql --format json $demo "SELECT count(*) AS n FROM events"
says "yore: --format: only 'sql' writes a line per value" "--format line is of sql alone" \
	"$yore" events --format line $demo
"$yore" sql $demo "SELECT 1" "SELECT FROM" "SELECT 3" >"$work/printed" 2>&1
[ $? = 2 ] && [ "$(head -n 1 "$work/printed")" = 1 ] && ! grep -q '^3$' "$work/printed"
result $? "a wrong query ends it, and is told with its place"
head -c 65536 /dev/zero | "$yore" sql $demo >"$work/printed" 2>&1
[ $? = 2 ] && grep -q "no text" "$work/printed"
result $? "standard input that is no text"
"$yore" sql $demo "SELECT * FROM events a, events b" 2>"$work/printed" | head -n 1 >/dev/null
[ ! -s "$work/printed" ]
result $? "a reader that leaves is no error"
says 955 "a table of one's own lasts, in a file that is attached" "$yore" sql $demo \
	"ATTACH '$work/out.db' AS out; CREATE TABLE out.events AS SELECT ts, name FROM events;" \
	"SELECT count(*) FROM out.events"

# One-liners as a table: what SQL counts of the same events.
switches="FROM yore_do('sched_switch { @[prev_comm, cpu] = count(); @h = hist(next_pid); @s[cpu] = stats(prev_prio); }')"
same() { # name, two queries that give the same rows
	"$yore" sql $demo "$2" >"$work/first" 2>"$work/printed" && "$yore" sql $demo "$3" >"$work/second" 2>>"$work/printed"
	ran=$?
	diff -u "$work/first" "$work/second" >>"$work/printed" && [ $ran = 0 ] && [ -s "$work/first" ]
	result $? "$1"
}
same "yore_do: counts by two keys" "SELECT key1, key2, value $switches WHERE map = '@' ORDER BY 1, 2" \
	"SELECT prev_comm, cpu, count(*) FROM sched_switch GROUP BY 1, 2 ORDER BY 1, 2"
same "yore_do: keys as a text, in the order of their counts" "SELECT keys, value $switches WHERE map = '@'" \
	"SELECT prev_comm || ', ' || cpu, count(*) FROM sched_switch GROUP BY 1 ORDER BY 2, prev_comm, cpu"
same "yore_do: buckets of a histogram" "SELECT low, high, count $switches WHERE map = '@h' AND count" \
	"WITH RECURSIVE b(low, high) AS (SELECT 0, 1 UNION ALL SELECT high, 2 * high FROM b WHERE high < 1 << 30)
		SELECT low, high, count(*) FROM sched_switch JOIN b ON next_pid >= low AND next_pid < high GROUP BY 1 ORDER BY 1"
same "yore_do: stats" "SELECT keys, count, total, value $switches WHERE map = '@s' ORDER BY 1" \
	"SELECT cpu, count(*), sum(prev_prio), sum(prev_prio) / count(*) FROM sched_switch GROUP BY 1 ORDER BY 1"
same "yore_do: a program for each class, in a join" \
	"SELECT c.name, d.value FROM classes c, yore_do(c.name || ' { @ = count(); }') d ORDER BY 1" \
	"SELECT name, count(*) FROM events GROUP BY 1 ORDER BY 1"
same "yore_do: the state" "SELECT keys, value FROM do('sched_switch { @[thread[next_pid]/state] = count() }') ORDER BY 1" \
	"SELECT state_at('thread[' || next_pid || ']/state', ts - 1) AS s, count(*) FROM sched_switch WHERE s IS NOT NULL GROUP BY 1 ORDER BY 1"
same "yore_do: another trace" "SELECT value FROM yore_do('sched_switch { @ = count(); }', 'fixtures/golden/sched-demo/')" \
	"SELECT count(*) FROM sched_switch"
"$yore" sql $demo "SELECT count(*) FROM do('sched_switch { @[thread[next_pid]/state] = count() }')" >"$work/printed" 2>&1
grep -q "^yore: note: 74 times a value was not known" "$work/printed"
result $? "yore_do: what was not known is noted"
says "NULL  NULL  7 x
@u  -1  1" "yore_do: printed lines, and numbers of 64 bits" "$yore" sql $demo \
	"SELECT map, keys, value FROM do('END { printf(\"%d x\", 7); @u[18446744073709551615] = 1; }')"
says 'yore: column 20: there is no function cout(): did you mean "count"? '"'yore help do' lists them
  sched_switch { @ = cout(); }
                     ^" "yore_do: a mistake is shown with its place" \
	"$yore" sql $demo "SELECT * FROM yore_do('sched_switch { @ = cout(); }')"
says "yore: the program, as in yore_do('sched_switch { @ = count(); }'), is missing" "yore_do without a program" \
	"$yore" sql $demo "SELECT * FROM yore_do"
says "yore: do: the program is NULL" "yore_do of NULL" "$yore" sql $demo "SELECT * FROM yore_do(NULL)"

# endless, without and with packets to read
for query in "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n" \
	"SELECT count(*) FROM events a, events b, events c, events d WHERE a.fields > b.fields || c.ts"; do
	interrupted_after 1 "$yore" sql $demo "$query" >"$work/printed" 2>&1
	[ $? = 130 ] && [ ! -s "$work/printed" ]
	result $? "Ctrl-C ends a query"
done
"$yore" sql --progress $demo \
	"SELECT count(*) FROM events a, events b, events c WHERE a.fields > b.fields || c.ts" >"$work/printed" 2>&1 &
child=$!
for _ in $(seq 2400); do
	grep -q "^yore: progress: " "$work/printed" && break
	kill -0 $child 2>/dev/null || break
	sleep 0.05
done
kill -INT $child 2>/dev/null
ends $child
grep -q "^yore: progress: " "$work/printed"
result $? "a long query shows its progress"

# damage is told with file and offset, and the rest is answered
cp -r $demo "$work/cut"
chmod -R u+w "$work/cut"
truncate -s 40000 "$work/cut/perf_stream_0"
"$yore" sql "$work/cut" "SELECT count(*) > 300 FROM events" >"$work/printed" 2>"$work/said"
code=$?
cat "$work/said" >>"$work/printed"
[ $code = 3 ] && [ "$(head -n 1 "$work/printed")" = 1 ] && grep -q "perf_stream_0.*offset\|perf_stream_0.*at byte" "$work/said"
result $? "damage is told with its place"

"$yore" sql $demo "SELECT count(*), time('12:03:04') FROM events WHERE ts > time('+1ms')" >"$work/printed" 2>"$work/said"
grep -q "^0  12:03:04$" "$work/printed" && grep -q "ts('+1ms')" "$work/said"
result $? "time() of a time of the trace: what is meant"
exit $status

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
says "955
1
2
3" "from files, and what follows" "$yore" sql $demo ".read $work/query.sql" "SELECT 3"
says "4" ".once puts one answer elsewhere" "$yore" sql $demo ".once $work/kept
SELECT 3 AS x;
SELECT 4;"
[ "$(cat "$work/kept")" = 3 ]
result $? ".once wrote the file"
says '{"n":955}' "--format json" "$yore" sql --format json $demo "SELECT count(*) AS n FROM events"
says "yore: --format: only 'sql' writes a line per value" "--format line is of sql alone" \
	"$yore" events --format line $demo
printf '.read %s\n' "$work/loop.sql" >"$work/loop.sql"
"$yore" sql $demo ".read $work/loop.sql" >"$work/printed" 2>&1
[ $? = 2 ] && grep -q "too dee" "$work/printed"
result $? "a file that reads itself"
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

# endless, without and with packets to read
for query in "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n" \
	"SELECT count(*) FROM events a, events b, events c, events d WHERE a.fields > b.fields || c.ts"; do
	timeout --preserve-status -s INT 2 "$yore" sql $demo "$query" >"$work/printed" 2>&1
	[ $? = 130 ] && [ ! -s "$work/printed" ]
	result $? "Ctrl-C ends a query"
done
timeout --preserve-status -s INT 4 "$yore" sql --progress $demo \
	"SELECT count(*) FROM events a, events b, events c WHERE a.fields > b.fields || c.ts" >"$work/printed" 2>&1
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
exit $status

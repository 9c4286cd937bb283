#!/bin/sh
# The module in other programs: the manual's examples in Debian's sqlite3 give what `yore sql` gives,
# virtual tables that are created, errors; connections and threads in Python's sqlite3.
. "${srcdir:-.}/tests/shell.sh"
module=$build/.libs/mod_yore.so
command -v sqlite3 >/dev/null && [ -f "$module" ] || { echo "sqlite3 or the module is missing"; exit 77; }
export ASAN_OPTIONS=detect_leaks=0
preload=
if nm -D "$module" | grep -q __asan_init; then
	preload="$(${CC:-gcc} -print-file-name=libasan.so) $(${CC:-gcc} -print-file-name=libubsan.so)"
fi
cd "$top" || exit 99

lite() { # statements on standard input
	{
		echo ".bail on"
		echo ".load $module"
		cat
	} | LD_PRELOAD="$preload" sqlite3 -init /dev/null -batch -csv ${1-} 2>&1
}

# The examples: $ yore sql TRACE "QUERY" ["QUERY"...]
sed -n 's/^ *\$ yore sql \(.*\)/\1/p' docs/yore-sql.7 | sed 's/\\-/-/g' >"$work/examples"
n=0
while IFS= read -r line; do
	trace=${line%% *}
	n=$((n + 1))
	{
		echo ".headers on"
		echo ".once /dev/null"
		echo "SELECT yore_open('$trace');"
		echo "${line#* }" | sed 's/^"//; s/"$//; s/" "/;\n/g; s/$/;/'
	} | lite | tr -d '\r' | tr -d '"' >"$work/there"
	# the words of a plan begin with EXPLAIN's own tree there
	eval "set -- $line"
	shift
	"$yore" sql "$trace" --format csv "$@" 2>&1 | tr -d '"' >"$work/here"
	case $line in *EXPLAIN*) grep -o 'VIRTUAL TABLE.*' "$work/here" | sed 's/, on all threads//' >"$work/words" &&
		grep -o 'VIRTUAL TABLE.*' "$work/there" | diff "$work/words" - >"$work/printed" ;;
	*) # sqlite3 prints no head where there are no rows
		grep -v '^what,severity' "$work/here" | diff - "$work/there" >"$work/printed" ;;
	esac
	result $? "example $n in sqlite3"
done <"$work/examples"
[ "$n" -ge 12 ]
result $? "yore-sql(7) has examples"

demo=fixtures/golden/sched-demo
other=fixtures/golden/sched-ftrace/trace.dat
says() { # expected output, name; statements on standard input
	lite >"$work/printed"
	[ "$(tr -d '\r' <"$work/printed")" = "$1" ]
	result $? "$2"
}
says 955 "a table that takes a path" <<END
SELECT count(*) FROM yore_events('$demo');
END
says "261
955" "CREATE VIRTUAL TABLE of a class, and of all" <<END
CREATE VIRTUAL TABLE temp.s USING yore('$demo', 'sched_switch');
CREATE VIRTUAL TABLE temp.e USING yore("$demo");
SELECT count(*) FROM s WHERE next_pid >= 0;
SELECT count(*) FROM e;
END
says "1,0" "two traces joined" <<END
CREATE VIRTUAL TABLE temp.a USING yore('$demo');
CREATE VIRTUAL TABLE temp.b USING yore('$other');
SELECT (SELECT count(*) FROM a) > 0, count(*) FROM a JOIN b ON a.ts = b.ts;
END
says "cpu[0]/thread,10891" "states of a path" <<END
SELECT path, value FROM yore_state_at('$demo', 'cpu[0]/thread', 2120802363000);
END
lite <<END >"$work/printed"
SELECT * FROM yore_events('/nowhere/at/all');
END
grep -q "/nowhere/at/all" "$work/printed"
result $? "an error names the file"
lite <<END >"$work/printed"
CREATE VIRTUAL TABLE temp.s USING yore('$demo', 'nothing');
END
grep -q "no event class 'nothing'" "$work/printed"
result $? "an error names the class"
lite <<END >"$work/printed"
SELECT * FROM yore_events;
END
grep -q "the path of a trace" "$work/printed"
result $? "a path that is missing"
# what a database keeps may not open files by itself
lite "$work/kept.db" <<END >/dev/null
CREATE VIEW v AS SELECT count(*) FROM yore_events('$demo');
END
echo "SELECT * FROM v;" | lite "$work/kept.db" >"$work/printed"
grep -q "unsafe use of" "$work/printed"
result $? "a view opens no files"

exported=$(nm -D --defined-only "$module" | awk '$2 == "T" {print $3}' | grep -v '^_' | sort | tr '\n' ' ')
echo "exported: $exported" >"$work/printed"
[ "$exported" = "sqlite3_extension_init sqlite3_modyore_init " ]
result $? "the module exports its entry points only"

if /usr/bin/python3 -c 'import sqlite3; sqlite3.Connection.enable_load_extension' 2>/dev/null; then
	LD_PRELOAD="$preload" /usr/bin/python3 tests/sql/extension.py "$module" $demo $other >"$work/printed" 2>&1
	result $? "connections and threads in Python"
fi
exit $status

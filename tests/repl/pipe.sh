#!/bin/sh
# A reader who leaves ends the work at once, and is no error: with rows on their way, and while a
# filter lets none through.
. "${srcdir:-.}/tests/shell.sh"

"$build/fixtures/yore-gen" --out "$work/trace" --size 30M --seed 5 --no-truth >/dev/null || exit 99
all=$("$yore" events "$work/trace" --no-index --count) || exit 99
mkfifo "$work/pipe" || exit 99

decoded() # of the last run
{
	sed -n 's/.*"events_decoded":\([0-9]*\).*/\1/p' "$work/said"
}

for format in text json csv table; do
	"$yore" events "$work/trace" --no-index --format $format --stats 2>"$work/said" >"$work/pipe" &
	lines=$(head -n 3 "$work/pipe" | wc -l)
	wait $!
	ended=$? some=$(decoded)
	if [ "$lines" -ne 3 ] || [ $ended -ne 0 ] || [ "$some" -gt $((all / 4)) ]; then
		echo "FAIL: $format: $lines lines, status $ended, $some of $all events decoded"
		status=1
	fi
done

# no row was read, and none comes
"$yore" events "$work/trace" --no-index --where 'next_tid == 999999999' --stats \
	2>"$work/said" >"$work/pipe" &
: <"$work/pipe"
wait $!
ended=$?
if [ $ended -ne 0 ]; then
	echo "FAIL: without rows: status $ended"
	status=1
fi

# a file that is a FIFO: it is said that nothing reads it, and what is written comes whole
rm -f "$work/said"
"$yore" convert "$work/trace" "$work/pipe" --to chrome --no-index 2>"$work/said" &
writer=$!
tries=0
until [ -s "$work/said" ] || [ $tries -gt 1200 ]; do
	sleep 0.1
	tries=$((tries + 1))
done
lines=$(tail -n 1 "$work/pipe")
wait $writer
ended=$?
if [ $ended -ne 0 ] || [ "$(cat "$work/said")" != "yore: note: $work/pipe is a FIFO that nothing reads: it is written when something does" ] ||
	[ -z "$lines" ] || ! [ -p "$work/pipe" ]; then
	echo "FAIL: a FIFO: status $ended, $(cat "$work/said")"
	status=1
fi
exit $status

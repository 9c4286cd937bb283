#!/bin/sh
# What `timeline` draws does not depend on what is stored: with timelines of one part and of several,
# whose sums are read in place of changes, it is byte for byte what is drawn without them.
. "${srcdir:-.}/tests/shell.sh"
trace=$work/trace
"$build/fixtures/yore-gen" --out "$trace" --size 16M --seed 4 --no-truth --lose 0.01 || exit 99

draw() # FOLDER
{
	for range in '' '--begin +20ms --end -9ms'; do
		for look in "--svg $work/svg" '--width 20' '--width 30' '--format json --width 20'; do
			for path in 'cpu[*]/thread' 'thread[*]/state' 'thread[*]/syscall'; do
				echo "$path $look $range"
				# shellcheck disable=SC2086
				"$yore" timeline "$trace" "$path" $range $look --index-dir "$1" || exit 1
				case $look in --svg*) cat "$work/svg" ;; esac
			done
		done
	done
}

read_for() # WIDTH: changes
{
	"$yore" timeline "$work/long" 'cpu[*]/thread' --format json --width "$1" \
		--index-dir "$work/long.index" --stats 2>&1 >/dev/null |
		sed -n 's/.*"changes_read":\([0-9]*\).*/\1/p'
}

"$yore" index "$trace" --index-dir "$work/none" >/dev/null || exit 1
draw "$work/none" >"$work/expected" || fail "without timelines"
for jobs in 1 5; do
	"$yore" index "$trace" --timelines --jobs $jobs --index-dir "$work/$jobs" >/dev/null || exit 1
	draw "$work/$jobs" >"$work/got" || fail "$jobs jobs"
	cmp "$work/expected" "$work/got" || {
		diff "$work/expected" "$work/got" | head -5
		fail "$jobs jobs: another picture"
	}
done

# Some fifty slices: a dozen columns cut as many of them, hundreds all.
"$build/fixtures/yore-gen" --out "$work/long" --size 80M --seed 4 --no-truth || exit 99
"$yore" index "$work/long" --timelines --index-dir "$work/long.index" >/dev/null || exit 1
# A picture of more than 64 MB of a trace is filled part by part, where timelines are stored.
for stored in long.index none; do
	"$yore" timeline "$work/long" 'thread[*]/state' --svg "$work/$stored.svg" \
		--index-dir "$work/$stored" || exit 1
done
cmp "$work/long.index.svg" "$work/none.svg" || fail "parts make another picture"
few=$(read_for 20) all=$(read_for 400)
echo "of $all changes $few are read for few columns"
test "$few" -gt 0 && test "$few" -lt $((all / 2)) || fail "nothing is saved"

#!/bin/sh
# What `timeline` draws does not depend on what is stored: with timelines of one part and of several,
# whose sums are read in place of changes, it is byte for byte what is drawn without them.
. "${srcdir:-.}/tests/shell.sh"
trace=$work/trace
"$build/fixtures/yore-gen" --out "$trace" --size 16M --seed 4 --no-truth --lose 0.01 || exit 99

draw() # FOLDER
{
	for range in '' '--begin +20ms --end -9ms'; do
		for look in "--svg $work/svg --width 2" "--svg $work/svg --width 5" '--width 30' \
			'--format json --width 20'; do
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
	"$yore" timeline "$trace" 'cpu[*]/thread' --svg "$work/svg" --width "$1" \
		--index-dir "$work/1" --stats 2>&1 >/dev/null |
		sed -n 's/.*"changes_read":\([0-9]*\).*/\1/p'
}

"$yore" index "$trace" --index-dir "$work/none" >/dev/null || exit 1
draw "$work/none" >"$work/expected" || fail "without timelines"
for jobs in 1 3; do
	"$yore" index "$trace" --timelines --jobs $jobs --index-dir "$work/$jobs" >/dev/null || exit 1
	draw "$work/$jobs" >"$work/got" || fail "$jobs jobs"
	cmp "$work/expected" "$work/got" || {
		diff "$work/expected" "$work/got" | head -5
		fail "$jobs jobs: another picture"
	}
done

# A dozen slices: two columns cut one of them, a hundred all.
few=$(read_for 2) all=$(read_for 100)
echo "of $all changes $few are read for two columns"
test "$few" -gt 0 && test "$few" -lt $((all / 2)) || fail "nothing is saved"

#!/bin/sh
# Killed at any instant, asked again: `yore index`, and a pass over everything that leaves
# checkpoints, are ended by SIGKILL at random instants; the next run answers as an undisturbed one.
# So do two processes that index at once. YORE_KILLS says how often (8; the oracles' run asks for 50).
. "${srcdir:-.}/tests/shell.sh"
kills=${YORE_KILLS:-8}

"$build/fixtures/yore-gen" --out "$work/small" --size 3M --packet-size 8192 --flush 0.2 --lose 0.02 \
	--seed 5 --no-truth >/dev/null || exit 99
# checkpoints are a million events apart
"$build/fixtures/yore-gen" --out "$work/large" --size 60M --seed 6 --no-truth >/dev/null || exit 99

# Answers on standard output; what is said counts only when the question failed.
ask() # TRACE INDEX-DIR
{
	"$yore" at "$1" -1ms '**' --format json --index-dir "$2" 2>"$work/said" ||
		cat "$work/said"
	"$yore" at "$1" +3ms 'cpu[*]/thread' --format json --index-dir "$2" 2>"$work/said" ||
		cat "$work/said"
}

seconds() # COMMAND...: how long it takes, undisturbed
{
	begin=$(date +%s.%N)
	"$@" >/dev/null 2>&1
	echo "$begin $(date +%s.%N)" | awk '{ printf "%.4f", $2 - $1 }'
}

killed() # NAME TRACE COMMAND...
{
	name=$1 trace=$2
	shift 2
	rm -rf "$work/whole" "$work/killed"
	takes=$(seconds "$@" --index-dir "$work/whole")
	ask "$trace" "$work/whole" >"$work/expected"
	[ -s "$work/expected" ] || { echo "FAIL: $name: nothing to compare with"; status=1; }
	bad=0
	for instant in $(awk -v n="$kills" -v takes="$takes" \
		'BEGIN { srand(11); for (i = 0; i < n; i++) printf "%.4f ", rand() * takes * 1.1 }'); do
		rm -rf "$work/killed"
		timeout --foreground -s KILL "$instant" "$@" --index-dir "$work/killed" >/dev/null 2>&1
		ask "$trace" "$work/killed" >"$work/after"
		cmp -s "$work/expected" "$work/after" && continue
		bad=$((bad + 1))
		diff "$work/expected" "$work/after" | head -n 3
	done
	echo "$name: $kills kills within $takes s, $bad answers differ"
	[ $bad = 0 ] || status=1
}

killed 'a pass that leaves checkpoints' "$work/large" "$yore" at "$work/large" -1ms 'thread[*]/state'
killed index "$work/small" "$yore" index "$work/small"

rm -rf "$work/both"
"$yore" index "$work/small" --index-dir "$work/both" >"$work/one" 2>&1 &
first=$!
"$yore" index "$work/small" --index-dir "$work/both" >"$work/two" 2>&1 || status=1
ask "$work/small" "$work/both" >"$work/during"
wait $first || status=1
ask "$work/small" "$work/both" >"$work/after"
cmp -s "$work/expected" "$work/during" && cmp -s "$work/expected" "$work/after" ||
	{ echo "two at once: answers differ"; status=1; }
[ $status = 0 ] && echo "PASS: kills and rivals leave right answers"
exit $status

#!/bin/sh
# Packet filters change no answer: against replay on generated traces of small packets, asked
# again, after kills and damage, by several processes at once, of a trace that grew, by other rules.
. "${srcdir:-.}/tests/shell.sh"
gen=$build/fixtures/yore-gen
real=$build/tests/state/real_state

seed=1
for options in "" "--overlap" "--lose 0.05" "--flush 0.3 --late-losses" "--large-headers --big-endian"; do
	# shellcheck disable=SC2086
	"$gen" --out "$work/t" --seed $seed --size 600K --packet-size 1024 --cpus 3 --no-truth $options || exit 1
	"$real" "$work/t" 4 $seed || fail "seed $seed $options"
	rm -rf "$work/t"
	seed=$((seed + 1))
done

trace=$work/trace
"$gen" --out "$trace" --seed 11 --size 2M --packet-size 1024 --cpus 4 --no-truth || exit 1
"$yore" at "$trace" -1ms 'thread[*]/state' --no-index --names --format json >"$work/all" || exit 1
awk 'NR % 12 == 1' "$work/all" >"$work/list"
test "$(wc -l <"$work/list")" -gt 10 || fail "too few threads"

# Each thread alone, from an index folder; what a run from the start said of all of them is expected.
threads() { # FOLDER [STATS]
	sed 's/.*"path":"\([^"]*\)".*/\1/' "$work/list" | while read -r path; do
		"$yore" at "$trace" -1ms "$path" --index-dir "$1" --names --format json --stats 2>>"${2:-/dev/null}" || exit 1
	done
}

threads "$work/index" "$work/stats" >"$work/got" || fail "asking failed"
cmp "$work/list" "$work/got" || fail "asked for the first time"
threads "$work/index" "$work/stats" >"$work/got" || fail "asking failed"
cmp "$work/list" "$work/got" || fail "asked again"
grep -q '"packets_skipped":[1-9][0-9][0-9]' "$work/stats" || fail "no packet was skipped"

threads "$work/many" >"$work/one" &
threads "$work/many" >"$work/two" &
threads "$work/many" >"$work/got"
wait
for file in one two got; do
	cmp "$work/list" "$work/$file" || fail "several at once: $file"
done

path=$(sed -n '1s/.*"path":"\([^"]*\)".*/\1/p' "$work/list")
startup
for after in 0.005 0.01 0.02 0.03 0.04 0.06; do
	after=$(later $after)
	timeout --foreground -s KILL $after "$yore" at "$trace" -1ms "$path" --index-dir "$work/killed" >/dev/null 2>&1
	timeout --foreground -s KILL $after "$yore" at "$trace" -2ms 'thread[99999]/state' --index-dir "$work/killed" >/dev/null 2>&1
done
threads "$work/killed" >"$work/got" || fail "asking failed"
cmp "$work/list" "$work/got" || fail "after kills"

for at in 3 5 7; do
	for segment in "$work"/index/*.seg; do
		size=$(stat -c %s "$segment")
		printf 'damaged damaged damaged damaged!' | dd of="$segment" bs=1 seek=$((size * at / 10)) conv=notrunc 2>/dev/null
	done
	threads "$work/index" >"$work/got" 2>/dev/null
	cmp "$work/list" "$work/got" || fail "damage at $at tenths"
done

# A run over all leaves packet filters, too: what was not asked yet is near then. Not where nothing is to be left.
"$yore" at "$trace" -1ms 'thread[*]/state' --index-dir "$work/run" --names --format json >"$work/got" || exit 1
cmp "$work/all" "$work/got" || fail "a run over all"
: >"$work/stats"
threads "$work/run" "$work/stats" >"$work/got" || fail "asking failed"
cmp "$work/list" "$work/got" || fail "asked behind a run"
head -n 1 "$work/stats" | grep -q '"packets_skipped":[1-9]' || fail "no packet was skipped behind a run"

# Timelines leave them for questions that timelines cannot answer.
"$yore" index "$trace" --timelines --index-dir "$work/lines" >/dev/null || exit 1
sed 's/.*"path":"\([^"]*\)".*/\1/' "$work/list" | while read -r path; do
	"$yore" at "$trace" -1ms "$path" --why --index-dir "$work/lines" --stats >"$work/why" 2>"$work/stats" || exit 1
	"$yore" at "$trace" -1ms "$path" --why --no-index | cmp - "$work/why" || exit 1
done || fail "why, behind timelines"
grep -q '"packets_skipped":[1-9]' "$work/stats" || fail "no packet was skipped behind timelines"

# A run of all rules leaves checkpoints.
"$yore" at "$trace" -1ms '**' --index-dir "$work/run" >/dev/null || exit 1

# A short range, of all threads or of one: what goes on behind it is looked for, and most packets are not read.
thread=$(sed -n '2s/.*"path":"\([^"]*\]\).*/\1/p' "$work/list")
for path in 'thread[*]/parent' "$thread/**"; do
	# as text: JSON has the threads' names besides, which are questions of their own
	"$yore" state "$trace" "$path" --begin -20ms --end -19ms --no-index --time ns >"$work/expected" || exit 1
	"$yore" state "$trace" "$path" --begin -20ms --end -19ms --index-dir "$work/run" --stats --time ns >"$work/got" 2>"$work/stats" || exit 1
	test "$path" = "$thread/**" || cp "$work/stats" "$work/all-threads"
	cmp "$work/expected" "$work/got" || fail "a short range of $path"
done
decoded=$(sed -n 's/.*"events_decoded":\([0-9]*\).*/\1/p' "$work/all-threads")
test "$decoded" -lt $(($("$yore" events "$trace" --count --no-index) / 2)) || fail "a short range reads $decoded events"

# A computed attribute reads what it needs: of the idle thread, which no switch names, what the packet filters leave.
for again in first again; do
	"$yore" state "$trace" 'cpu[1]/name' --begin -20ms --end -19.9ms --index-dir "$work/views" --stats --format json >"$work/got" 2>"$work/$again" || exit 1
	"$yore" state "$trace" 'cpu[1]/name' --begin -20ms --end -19.9ms --no-index --format json | cmp - "$work/got" || fail "a computed attribute, $again"
done
decoded=$(sed -n 's/.*"events_decoded":\([0-9]*\).*/\1/p' "$work/again")
test "$decoded" -lt $(($("$yore" events "$trace" --count --no-index) / 4)) || fail "a computed attribute reads $decoded events"
"$yore" at "$trace" -1ms 'thread[0]/name' --index-dir "$work/run" --stats 2>"$work/stats" | grep -q swapper || fail "the idle thread has no name"
decoded=$(sed -n 's/.*"events_decoded":\([0-9]*\).*/\1/p' "$work/stats")
test "$decoded" -lt $(($("$yore" events "$trace" --count --no-index) / 10)) || fail "the idle thread's name reads $decoded events"

printf 'event sched_switch\nbox[field/prev_tid]/left = field/next_tid\n' >"$work/rules"
"$yore" at "$trace" -1ms 'box[*]/left' --rules "$work/rules" --no-index --format json | awk 'NR % 12 == 1' >"$work/boxes"
test -s "$work/boxes" || exit 1
sed 's/.*"path":"\([^"]*\)".*/\1/' "$work/boxes" | while read -r box; do
	"$yore" at "$trace" -1ms "$box" --rules "$work/rules" --index-dir "$work/index" --format json || exit 1
done >"$work/got"
cmp "$work/boxes" "$work/got" || fail "other rules"

# Half a trace, with packet filters of it; then all of it.
cp -r "$trace" "$work/grown"
for file in "$work"/grown/channel*; do
	truncate -s $(($(stat -c %s "$file") / 2048 * 1024)) "$file"
done
"$yore" at "$work/grown" -0s 'thread[99999]/state' --index-dir "$work/growing" >/dev/null || exit 1
for file in "$trace"/channel*; do
	cat "$file" >"$work/grown/$(basename "$file")"
done
trace=$work/grown
threads "$work/growing" >"$work/got" || fail "asking failed"
cmp "$work/list" "$work/got" || fail "a trace that grew"

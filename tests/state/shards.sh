#!/bin/sh
# Timelines made chunk by chunk, also by processes that are killed, and by threads, answer what no timelines answer.
. "${srcdir:-.}/tests/shell.sh"
trace=$top/fixtures/golden/sched-demo
real=${YORE_CORPUS:-$top/../shared/corpus}/ctf/real/many-threads
export YORE_INDEX_DIR="$work/index"

# All that the timelines say: states at moments, and all intervals.
answers() {
	for t in +1ms +50ms +200ms +700ms -1ms; do
		"$yore" at "$1" "$t" || return 1
		"$yore" at "$1" "$t" --before || return 1
	done
	"$yore" state "$1" 'cpu[*]/**' 'thread[*]/state' --format json
}

# --foreground: it waits for what it killed, so that the next one finds no writer.
chunks() { # TRACE N [KILL]
	for i in $(seq 1 "$2"); do
		if test -n "$3"; then
			timeout --foreground -s KILL 0.02 "$yore" index "$1" --timelines --chunk "$i/$2" --pass 1 >/dev/null 2>&1
		fi
		"$yore" index "$1" --timelines --chunk "$i/$2" --pass 1 >/dev/null || return 1
	done
	if test -n "$3"; then
		timeout --foreground -s KILL 0.03 "$yore" index "$1" --timelines --join >/dev/null 2>&1
	fi
	"$yore" index "$1" --timelines --join >/dev/null || return 1
	for i in $(seq "$2" -1 1); do
		if test -n "$3"; then
			timeout --foreground -s KILL 0.04 "$yore" index "$1" --timelines --chunk "$i/$2" --pass 2 >/dev/null 2>&1
		fi
		"$yore" index "$1" --timelines --chunk "$i/$2" --pass 2 >/dev/null || return 1
	done
}

check() { # TRACE WHAT
	answers "$1" >"$work/got" || fail "$2: no answer"
	cmp -s "$work/expected" "$work/got" || {
		diff "$work/expected" "$work/got" | head -5
		fail "$2 differs"
	}
	"$yore" at "$1" +1ms --stats 2>&1 >/dev/null | grep -q '"evaluation":"slices"' ||
		fail "$2: timelines are not used"
	"$yore" index "$1" --drop || fail "$2: drop"
	test -z "$(find "$work/index" -name '*timelines*')" || fail "$2: drop leaves files"
}

check_trace() { # TRACE COUNTS
	answers "$1" >"$work/expected" || fail "$1: no answer"
	for n in $2; do
		chunks "$1" "$n" || fail "$1 in $n chunks"
		check "$1" "$1 in $n chunks"
	done
	chunks "$1" 3 kill || fail "$1 in chunks, killed"
	check "$1" "$1 in chunks, killed"
}

check_trace "$trace" "1 2 3 7 64"

# All at once, as a cluster would.
for pass in 1 2; do
	workers=
	for i in 1 2 3 4; do
		"$yore" index "$trace" --timelines --chunk "$i/4" --pass "$pass" >/dev/null 2>"$work/error.$i" &
		workers="$workers $!"
	done
	for worker in $workers; do
		wait "$worker" || fail "pass $pass side by side: $(cat "$work"/error.*)"
	done
	test "$pass" = 2 || "$yore" index "$trace" --timelines --join >/dev/null || fail "join"
done
check "$trace" "chunks made side by side"
"$yore" index "$trace" --timelines --join >/dev/null 2>&1 && fail "a join without passes 1"
# What some began is ended by threads of one process, also when there are more chunks than threads.
"$yore" index "$trace" --timelines --chunk 2/150 --pass 1 >/dev/null || fail "pass 1 of 150"
"$yore" index "$trace" --timelines >/dev/null || fail "the rest of 150 chunks"
check "$trace" "150 chunks by threads"
"$yore" index "$trace" --timelines --chunk 1/2 --pass 1 >/dev/null || fail "pass 1"
"$yore" index "$trace" --timelines --join >/dev/null 2>"$work/error" && fail "a join of one pass 1 of two"
grep -q 'pass 1 of chunk 2/2 is missing' "$work/error" || fail "what is missing is not said"
"$yore" index "$trace" --timelines --chunk 1/2 --pass 2 >/dev/null 2>"$work/error" && fail "pass 2 before the join"
"$yore" index "$trace" --timelines --chunk 3/2 --pass 2 >/dev/null 2>/dev/null && fail "chunk 3 of 2"
"$yore" index "$trace" --chunk 1/2 --pass 2 >/dev/null 2>/dev/null && fail "chunks of no timelines"
"$yore" index "$trace" --drop || fail "drop"
if test -d "$real"; then
	real=$(dirname "$(find "$real" -name metadata | head -n 1)")
	check_trace "$real" "3"
fi
echo "PASS: chunks answer what replay answers"

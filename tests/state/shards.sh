#!/bin/sh
# Timelines made chunk by chunk, also by processes that are killed, and by threads, answer what no timelines answer.
. "${srcdir:-.}/tests/shell.sh"
trace=$top/fixtures/golden/sched-demo
real=${YORE_CORPUS:-$top/../shared/corpus}/ctf/real/many-threads
export YORE_INDEX_DIR="$work/index"

startup

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
			timeout --foreground -s KILL "$(later 0.01)" "$yore" index "$1" --timelines --chunk "$i/$2" --pass 1 >/dev/null 2>&1
		fi
		"$yore" index "$1" --timelines --chunk "$i/$2" --pass 1 >/dev/null || return 1
	done
	if test -n "$3"; then
		timeout --foreground -s KILL "$(later 0.02)" "$yore" index "$1" --timelines --join >/dev/null 2>&1
	fi
	"$yore" index "$1" --timelines --join >/dev/null || return 1
	for i in $(seq "$2" -1 1); do
		if test -n "$3"; then
			timeout --foreground -s KILL "$(later 0.03)" "$yore" index "$1" --timelines --chunk "$i/$2" --pass 2 >/dev/null 2>&1
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
	test -z "$(find "$YORE_INDEX_DIR" -name '*timelines*')" || fail "$2: drop leaves files"
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

# Files of steps in which a byte is another, or that were cut, do not count: their steps are done again.
damage() { # WHERE: a byte at WHERE of 8 parts of each file; 8 cuts them there
	for file in "$work"/index/*.shard; do
		size=$(stat -c %s "$file")
		if test "$1" = 8; then
			truncate -s $((size / 2)) "$file"
			continue
		fi
		at=$((size * $1 / 8))
		byte=$(od -An -tu1 -j "$at" -N 1 "$file")
		printf "\\$(printf %o $((byte ^ 16)))" | dd of="$file" bs=1 seek="$at" conv=notrunc status=none
	done
}

for where in 0 1 2 3 4 5 6 7 8; do
	for step in "1/3 --pass 1" "2/3 --pass 1" "3/3 --pass 1" damage \
		"1/3 --pass 1" "2/3 --pass 1" "3/3 --pass 1" join damage \
		"1/3 --pass 1" "2/3 --pass 1" "3/3 --pass 1" join \
		"1/3 --pass 2" "2/3 --pass 2" "3/3 --pass 2" damage \
		"1/3 --pass 1" "2/3 --pass 1" "3/3 --pass 1" join \
		"1/3 --pass 2" "2/3 --pass 2" "3/3 --pass 2"; do
		case $step in
		damage) damage $where ;;
		join) "$yore" index "$trace" --timelines --join >/dev/null || fail "a join after damage at $where/8" ;;
		*) "$yore" index "$trace" --timelines --chunk $step >/dev/null || fail "chunk $step after damage at $where/8" ;;
		esac
	done
	check "$trace" "chunks whose files were damaged at $where/8"
done
# --verify finds such damage, and removes the files.
"$yore" index "$trace" --timelines --chunk 1/2 --pass 1 >/dev/null || fail "pass 1"
"$yore" index --verify >/dev/null || fail "whole files of shards are damaged"
damage 4
"$yore" index --verify >/dev/null && fail "damaged files of shards are sound"
test -z "$(find "$work/index" -name '*.shard')" || fail "damaged files of shards stay"

# Files of passes 1 are good for a copy of the trace, in another folder; a plan is not for another trace.
shard_files() { # INDEX END: the name of the files that end so, without that
	set -- "$1"/*"$2"
	echo "${1%.*-*.shard}"
}
for i in 1 2 3; do
	"$yore" index "$trace" --timelines --chunk $i/3 --pass 1 >/dev/null || fail "pass 1"
done
cp -r "$trace" "$work/copy" || fail "no copy"
answers "$work/copy" >"$work/expected" || fail "the copy: no answer"
"$yore" index "$work/copy" --timelines --chunk 3/3 --pass 1 --index-dir "$work/other" >/dev/null || fail "the copy: pass 1"
"$yore" index "$work/copy" --timelines --join --index-dir "$work/other" >/dev/null 2>&1 && fail "the copy: a join of nothing"
for i in 0 1; do
	cp "$(shard_files "$work/index" .pass1-$i.shard).pass1-$i.shard" \
		"$(shard_files "$work/other" .plan-0.shard).pass1-$i.shard" || fail "no file of pass 1"
done
export YORE_INDEX_DIR="$work/other"
"$yore" index "$work/copy" --timelines --join >/dev/null || fail "the copy: a join of what was copied"
for i in 1 2 3; do
	"$yore" index "$work/copy" --timelines --chunk $i/3 --pass 2 >/dev/null || fail "the copy: pass 2"
done
check "$work/copy" "chunks of a copy whose passes 1 were copied"
"$yore" index "$top/fixtures/golden/sched-perf/perf.data" --timelines --chunk 1/2 --pass 1 >/dev/null || fail "another trace: pass 1"
cp "$(shard_files "$work/index" .plan-0.shard).plan-0.shard" "$(shard_files "$work/other" .plan-0.shard).plan-0.shard"
"$yore" index "$top/fixtures/golden/sched-perf/perf.data" --timelines --join >/dev/null 2>"$work/error" && fail "another trace's plan counts"
grep -q 'no shards were begun' "$work/error" || fail "another trace's plan: $(cat "$work/error")"
export YORE_INDEX_DIR="$work/index"
answers "$trace" >"$work/expected"
"$yore" index "$trace" --drop || fail "drop"

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

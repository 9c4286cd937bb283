#!/bin/sh
# Stores that were damaged change no answer: a few of what tests/state/damaged.py does by thousands. Of a
# recording with names before all events it also builds shards, one without any change.
. "${srcdir:-.}/tests/shell.sh"
command -v python3 >/dev/null || exit 77
for trace in sched-demo sched-ftrace/trace.dat; do
	python3 "$srcdir/tests/state/damaged.py" "$yore" "$srcdir/fixtures/golden/$trace" "${YORE_DAMAGED:-30}" 7 ||
		fail "damaged stores of $trace"
done

# A value that holds since before all, found in a slice of a shard by walking back along its changes.
trace=$srcdir/fixtures/golden/sched-ftrace/trace.dat
"$yore" index "$trace" --timelines --index-dir "$work/i" --exchange "$work/exchange" --workers 1 >/dev/null || fail "shards"
"$yore" state "$trace" '**' --begin +2770us --end +2961us --no-index >"$work/expected" || fail "replay"
timeout 120 "$yore" state "$trace" '**' --begin +2770us --end +2961us --index-dir "$work/i" >"$work/got" ||
	fail "values since before all: no answer"
cmp "$work/expected" "$work/got" || fail "values since before all"

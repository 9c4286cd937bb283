#!/bin/sh
# run.sh BUILD - events and state against oracles that are not our code
#
# Corpus traces from $YORE_CORPUS, where it is there; the recording in fixtures/ and generated
# traces always. An optimized build is expected: everything is compared, to the last field.
set -u
build=$1
top=$(cd "$(dirname "$0")/../.." && pwd)
yore=$build/yore
corpus=${YORE_CORPUS-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export YORE_INDEX_DIR="$work/index" YORE_JOBS_MOST=64
failed=0

say()
{
	"$@" || failed=$((failed + 1))
}

other_formats()
{
	say "$top/tests/oracle/kernel.sh" "$yore"
	if [ -d "$corpus/ovni" ]; then
		say "$top/tests/oracle/ovni_agree.py" "$yore" "$corpus/ovni"
		say "$top/tests/oracle/ovni_state_agree.py" "$yore" "$corpus/ovni" "$top/docs/ovni.md"
		say "$top/tests/oracle/ovni_prv_agree.py" "$yore" "$corpus/ovni"
	else
		echo "oracles: ovni traces skipped: no folder ${corpus:-named by YORE_CORPUS}"
	fi
	say "$top/tests/oracle/compare_agree.py" "$yore" --pairs 10
	say "$top/tests/oracle/compare_many.py" "$yore" --sets 4
	say env srcdir="$top" "$top/tests/state/windows.py" "$yore" "$build/fixtures/yore-gen"
	say "$top/tests/state/truth_agree.py" "$yore" "$build/fixtures/yore-gen" \
		"$build/tests/state/real_state" 200
	return "$failed"
}

# Each half takes about as long as the other. The log of the first is printed when the second is done.
other_formats >"$work/other" 2>&1 &
other=$!

ctf()
{
	say "$top/tests/oracle/events_agree.py" "$yore" "$top/fixtures/golden/sched-demo"
	say "$top/tests/oracle/stats_agree.py" "$yore" "$top/fixtures/golden/sched-demo"
	say "$top/tests/oracle/ctf_written.py" "$yore" "$top/fixtures/golden/sched-demo"
	say "$top/tests/oracle/state_agree.py" "$yore" switches "$top/fixtures/golden/sched-demo"
	say "$top/tests/oracle/analyses_agree.py" "$yore" ctf "$top/fixtures/golden/sched-demo"
	say "$top/tests/oracle/analyses_agree.py" "$yore" ctf --memory "$top/fixtures/golden/memory-demo"
	say "$top/tests/oracle/tables_agree.py" "$yore" ctf "$top/fixtures/golden/sched-demo"
	say "$top/tests/oracle/wakers_agree.py" "$yore" ctf "$top/fixtures/golden/sched-demo"
	say "$top/tests/oracle/lua_agree.py" "$yore" ctf "$top/fixtures/golden/sched-demo"
	say "$top/tests/oracle/options_agree.py" "$yore" "$top/fixtures/golden/sched-demo"
	say "$top/tests/oracle/do_agree.py" "$yore" ctf "$top/fixtures/golden/sched-demo"
	"$top/tests/lua/made_maps.py" "$work/maps" 4
	say "$top/tests/oracle/analyses_agree.py" "$yore" ctf --memory "$work/maps/trace"
	say "$top/tests/oracle/tables_agree.py" "$yore" ctf "$work/maps/trace"
	"$top/tests/lua/made_stacks.py" "$work/stacks"
	say "$top/tests/oracle/analyses_agree.py" "$yore" ctf --stacks "$work/stacks/trace"
	say "$top/tests/oracle/tables_agree.py" "$yore" ctf "$work/stacks/trace"
	for options in '--size 2M' '--size 2M --lose 0.5 --packet-size 16384' \
		'--size 2M --lose 0.3 --seed 9' '--size 1M --large-headers' \
		'--size 1M --big-endian' '--size 4M --overlap --seed 7' '--size 2M --contexts --flush 0.1'; do
		rm -rf "$work/t"*
		# shellcheck disable=SC2086
		"$build/fixtures/yore-gen" --out "$work/t" $options >/dev/null || exit 1
		echo "generated with $options"
		say "$top/tests/oracle/events_agree.py" "$yore" "$work/t"
		say "$top/tests/oracle/state_agree.py" "$yore" truth "$work/t"
	done
	rm -rf "$work/t"*
	"$build/fixtures/yore-gen" --out "$work/t" --size 4M --seed 3 --threads-truth >/dev/null || exit 1
	say "$top/tests/oracle/analyses_agree.py" "$yore" ctf "$work/t"
	say "$top/tests/oracle/do_agree.py" "$yore" ctf "$work/t"
	say "$top/tests/oracle/state_agree.py" "$yore" threads "$work/t"
	rm -rf "$work/t"*
	"$build/fixtures/yore-gen" --out "$work/t" --size 500K --seed 5 >/dev/null || exit 1
	say "$top/tests/oracle/tables_agree.py" "$yore" ctf "$work/t"
	say "$top/tests/oracle/wakers_agree.py" "$yore" ctf "$work/t"
	say "$top/tests/oracle/lua_agree.py" "$yore" ctf "$work/t"
	rm -rf "$work/t"*
	# two CPUs, recorded from near the same moment on: many threads leave in a call
	"$build/fixtures/yore-gen" --out "$work/t" --size 300K --seed 5 --cpus 2 >/dev/null || exit 1
	say "$top/tests/oracle/tables_agree.py" "$yore" ctf "$work/t"
	say "$top/tests/oracle/wakers_agree.py" "$yore" ctf "$work/t"
	rm -rf "$work/t"*

	if [ -d "$corpus/ctf" ]; then
		say "$top/tests/oracle/ctf_written.py" "$yore" --corpus "$corpus"
		list=$(awk -F'\t' -v top="$corpus/ctf/real" 'NR > 1 && $2 == "1.8" && $3 == "pass" {print top "/" $1}' \
			"$corpus/ctf/real/MANIFEST.tsv")
		# shellcheck disable=SC2086
		say "$top/tests/oracle/events_agree.py" "$yore" $list "$corpus"/lttng-ust/* \
			"$corpus"/perf-to-ctf/*/ctf*
		# shellcheck disable=SC2086
		say "$top/tests/oracle/stats_agree.py" "$yore" $list "$corpus"/lttng-ust/* \
			"$corpus"/perf-to-ctf/*/ctf*
		list=$(awk -F'\t' -v top="$corpus/ctf/testsuite-1.8" \
			'NR > 1 && $9 == "pass" && $6 == "yes" && $5 > 0 {print top "/" $1}' \
			"$corpus/ctf/testsuite-1.8/MANIFEST.tsv")
		# shellcheck disable=SC2086
		say "$top/tests/oracle/events_agree.py" "$yore" $list
		say "$top/tests/oracle/analyses_agree.py" "$yore" ctf "$corpus/ctf/real/bug446190"
		say "$top/tests/oracle/lua_agree.py" "$yore" ctf "$corpus/ctf/real/bug446190"
		say "$top/tests/oracle/tables_agree.py" "$yore" ctf "$corpus/ctf/real/bug446190" "$corpus/perf-to-ctf/sched-syscalls/ctf" \
			"$corpus/lttng-ust/lost" "$corpus/lttng-ust/per-uid" "$corpus/lttng-ust/two-channels"
		say "$top/tests/oracle/analyses_agree.py" "$yore" ctf --memory "$corpus/ctf/real/many-threads"
		say "$top/tests/oracle/do_agree.py" "$yore" ctf "$corpus/ctf/real/bug446190"
		for trace in many-threads bug446190 synctraces/scp_src synctraces/scp_dest; do
			say "$top/tests/oracle/state_agree.py" "$yore" switches "$corpus/ctf/real/$trace"
		done
		srcdir=$top top_builddir=$build SHARDS='1 2 3 7 64' say "$top/tests/state/real_shards.sh"
	else
		echo "oracles: corpus traces skipped: no folder ${corpus:-named by YORE_CORPUS}"
	fi
}

if /usr/bin/python3 -c 'import bt2' 2>/dev/null; then
	ctf
else
	echo "oracles: CTF skipped: python3-bt2 is not installed"
fi
srcdir=$top top_builddir=$build say "$top/tests/repl/relay.py"
srcdir=$top top_builddir=$build YORE_KILLS=50 say "$top/tests/repl/kills.sh"
wait "$other" || failed=$((failed + $?))
cat "$work/other"
echo "oracles: $failed failed"
[ "$failed" = 0 ]

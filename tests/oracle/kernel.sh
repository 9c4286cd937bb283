#!/bin/sh
# kernel.sh YORE - perf.data and trace.dat files against perf and trace-cmd, logs of seL4 against their
# generator, trace files of GDB against transcripts of GDB
#
# Corpus files from $YORE_CORPUS, where it is there; recordings made now, where that is allowed.
set -u
yore=$1
here=$(cd "$(dirname "$0")" && pwd)
corpus=${YORE_CORPUS-}
failed=0

say()
{
	"$@" || [ $? = 77 ] || failed=$((failed + 1)) # 77: it said why it was skipped
}

good() # FOLDER: its cases that are not damaged
{
	for case in "$1"/*/; do
		case $case in */corrupt-*) ;; *) echo "${case%/}" ;; esac
	done
}

say "$here/analyses_agree.py" "$yore" perf "$here/../../fixtures/golden/sched-perf/perf.data"
say "$here/analyses_agree.py" "$yore" ftrace "$here/../../fixtures/golden/sched-ftrace/trace.dat"
golden=$here/../../fixtures/golden
say "$here/calls_agree.py" "$yore" ftrace "$golden/sched-ftrace/trace.dat"
say "$here/tables_agree.py" "$yore" perf "$golden/sched-perf/perf.data"
say "$here/tables_agree.py" "$yore" ftrace "$golden/sched-ftrace/trace.dat"
say "$here/lua_agree.py" "$yore" perf "$golden/sched-perf/perf.data"
say "$here/lua_agree.py" "$yore" ftrace "$golden/sched-ftrace/trace.dat"
say "$here/options_agree.py" "$yore" "$golden/sched-perf/perf.data" "$golden/sched-ftrace/trace.dat" "$golden/memory-demo"
say "$here/do_agree.py" "$yore" perf "$here/../../fixtures/golden/sched-perf/perf.data"
say "$here/do_agree.py" "$yore" ftrace "$here/../../fixtures/golden/sched-ftrace/trace.dat"
if [ -d "$corpus/perf-data" ]; then
	# shellcheck disable=SC2046
	say "$here/perf_agree.py" "$yore" $(good "$corpus/perf-data")
	for case in sched-syscalls clockid-mono zstd pipe pipe-zstd lost overwrite threads-dir switch-events; do
		for file in "$corpus/perf-data/$case"/perf.data "$corpus/perf-data/$case"/perf.pipe; do
			[ ! -e "$file" ] || say "$here/sched_agree.py" "$yore" perf "$file"
			[ ! -e "$file" ] || say "$here/run_times.py" "$yore" perf "$file"
		done
	done
	for case in sched-syscalls syscalls-named clockid-mono zstd cpu-clock-callchain; do
		say "$here/analyses_agree.py" "$yore" perf "$corpus/perf-data/$case/perf.data"
		say "$here/do_agree.py" "$yore" perf "$corpus/perf-data/$case/perf.data"
	done
	say "$here/calls_agree.py" "$yore" perf "$corpus/perf-data/sched-syscalls/perf.data" "$corpus/perf-data/syscalls-named/perf.data"
	for case in sched-syscalls zstd; do
		say "$here/timehist_agree.py" "$yore" "$corpus/perf-data/$case/perf.data"
		say "$here/wakers_agree.py" "$yore" perf "$corpus/perf-data/$case/perf.data"
	done
	for case in sched-syscalls syscalls-named clockid-mono zstd threads-dir lost; do
		say "$here/tables_agree.py" "$yore" perf "$corpus/perf-data/$case/perf.data"
	done
	say "$here/tables_agree.py" "$yore" perf --samples "$corpus/perf-data/sched-callchain/perf.data" \
		"$corpus/perf-data/cpu-clock-callchain/perf.data"
	say "$here/options_agree.py" "$yore" "$corpus/perf-data/cpu-clock-callchain/perf.data"
	say "$here/lua_agree.py" "$yore" perf "$corpus/perf-data/sched-syscalls/perf.data" "$corpus/perf-data/zstd/perf.data"
	say "$here/do_agree.py" "$yore" perf "$corpus/perf-data/cpu-clock/perf.data"
	say "$here/tasks_agree.py" "$yore" "$corpus/perf-data/sched-callchain/perf.data" \
		"$corpus/perf-data/mixed-attrs/perf.data"
	say "$here/stats_agree.py" "$yore" "$corpus"/perf-data/[!c]*/perf.data
	say "$here/aux_agree.py" "$yore" "$corpus/perf-data/synth-intel-pt/perf.data"
else
	echo "oracles: perf.data files skipped: no folder ${corpus:-named by YORE_CORPUS}"
fi
if [ -d "$corpus/trace-dat" ]; then
	# shellcheck disable=SC2046
	say "$here/ftrace_agree.py" "$yore" $(good "$corpus/trace-dat") "$corpus/sel4/merged/merged.dat" \
		"$corpus/sel4/merged/merged-fixed.dat" "$corpus/sel4/merged/ftrace-v6.dat"
	say "$here/analyses_agree.py" "$yore" ftrace "$corpus/trace-dat/v6-sched-irq-syscalls/trace.dat" \
		"$corpus/trace-dat/v6-syscalls-named/trace.dat"
	say "$here/calls_agree.py" "$yore" ftrace "$corpus/trace-dat/v6-sched-irq-syscalls/trace.dat" \
		"$corpus/trace-dat/v6-syscalls-named/trace.dat" "$corpus/trace-dat/v7-multi-buffer/trace.dat"
	say "$here/wakers_agree.py" "$yore" ftrace "$corpus/trace-dat/v6-sched-irq-syscalls/trace.dat" \
		"$corpus/trace-dat/v7-zstd/trace.dat"
	say "$here/analyses_agree.py" "$yore" ftrace --stacks "$corpus/trace-dat/v6-stacktrace/trace.dat"
	say "$here/lua_agree.py" "$yore" ftrace "$corpus/trace-dat/v6-sched-irq-syscalls/trace.dat"
	for case in v6-sched-irq-syscalls v6-syscalls-named v6-stacktrace v7-zstd v6-missed-overwrite; do
		say "$here/tables_agree.py" "$yore" ftrace "$corpus/trace-dat/$case/trace.dat"
	done
	say "$here/do_agree.py" "$yore" ftrace "$corpus/trace-dat/v6-sched-irq-syscalls/trace.dat" \
		"$corpus/trace-dat/v7-zstd/trace.dat"
	say "$here/ftrace_agree.py" "$yore" --same "$corpus/trace-dat/v6-sched-irq-syscalls" \
		"$corpus/trace-dat/v7-none" "$corpus/trace-dat/v7-zstd" "$corpus/trace-dat/v6-from-v7"
	for case in $(good "$corpus/trace-dat"); do
		case $case in *v7-none | *v6-from-v7 | */synth-*) continue ;; esac
		say "$here/sched_agree.py" "$yore" ftrace "$case/trace.dat"
		say "$here/run_times.py" "$yore" ftrace "$case/trace.dat"
	done
	# shellcheck disable=SC2046
	say "$here/stats_agree.py" "$yore" $(good "$corpus/trace-dat" | sed 's,$,/trace.dat,')
	say "$here/damage_agree.py" "$yore" "$corpus"
else
	echo "oracles: trace.dat files skipped: no folder ${corpus:-named by YORE_CORPUS}"
fi
if [ -d "$corpus/sel4" ]; then
	say "$here/sel4_agree.py" "$yore" "$corpus/sel4"
else
	echo "oracles: logs of seL4 skipped: no folder ${corpus:-named by YORE_CORPUS}"
fi
if [ -d "$corpus/gdb" ]; then
	say "$here/gdb_agree.py" "$yore" "$corpus/gdb"
else
	echo "oracles: trace files of GDB skipped: no folder ${corpus:-named by YORE_CORPUS}"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
say "$here/fresh.sh" "$yore" "$work"
if [ -d "$corpus/perf-data" ]; then
	say "$here/symbols_agree.py" "$yore" "$corpus/perf-data/sched-callchain/perf.data" \
		"$corpus/perf-data/cpu-clock-callchain/perf.data" \
		"$corpus/perf-data/switch-events/perf.data" "$corpus/perf-data/cpu-clock/perf.data" \
		"$corpus/perf-data/dwarf-stack/perf.data"
fi
say "$here/symbols_agree.py" "$yore"
echo "oracles of kernel traces: $failed failed"
[ "$failed" = 0 ]

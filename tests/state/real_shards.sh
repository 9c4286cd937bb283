#!/bin/sh
# Digests and joins against replay on real kernel traces of all formats, cut at random times.
# SEED says which times, SHARDS into how many; 77 (skipped) when the corpus is not there.
corpus=${YORE_CORPUS:-${srcdir:-.}/../shared/corpus}/ctf/real
if ! test -d "$corpus/many-threads"; then
	echo "skipped: no corpus at $corpus (YORE_CORPUS says where it is)"
	exit 77
fi
status=0
for trace in bug446190 many-threads synctraces; do
	echo "$trace:"
	find "$corpus/$trace" -name metadata | sort | while read -r metadata; do
		"${top_builddir:-.}/tests/state/real_shards" "${metadata%/metadata}" "${SEED:-1}" \
			${SHARDS:-7} ||
			exit 1
	done || status=1
done
for case in perf-data/sched-syscalls perf-data/switch-events perf-data/lost perf-data/overwrite \
	trace-dat/v6-sched-irq-syscalls trace-dat/v7-multi-buffer trace-dat/v6-missed-overwrite; do
	for file in "$corpus/../../$case/perf.data" "$corpus/../../$case/trace.dat"; do
		test -f "$file" || continue
		echo "$case:"
		"${top_builddir:-.}/tests/state/real_shards" "$file" "${SEED:-1}" \
			${SHARDS:-7} || status=1
	done
done
exit $status

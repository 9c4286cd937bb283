#!/bin/sh
# Backward pass against replay on real kernel traces: every attribute at random moments.
# MOMENTS says how many; 77 (skipped) when the corpus is not there.
corpus=${YORE_CORPUS:-${srcdir:-.}/../shared/corpus}/ctf/real
if ! test -d "$corpus/many-threads"; then
	echo "skipped: no corpus at $corpus (YORE_CORPUS says where it is)"
	exit 77
fi
status=0
for trace in bug446190 many-threads synctraces; do
	echo "$trace:"
	find "$corpus/$trace" -name metadata | sort | while read -r metadata; do
		"${top_builddir:-.}/tests/state/real_state" "${metadata%/metadata}" "${MOMENTS:-20}" ||
			exit 1
	done || status=1
done
exit $status

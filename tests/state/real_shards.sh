#!/bin/sh
# Digests and joins against replay on real kernel traces of all formats, cut at random times.
# SEED says which times, SHARDS into how many; 77 (skipped) when the corpus is not there.
. "${srcdir:-.}/tests/state/real_traces.sh"
each_trace "${top_builddir:-.}/tests/state/real_shards" "${SEED:-1}" ${SHARDS:-7}
exit $status

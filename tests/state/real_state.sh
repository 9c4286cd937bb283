#!/bin/sh
# Backward pass against replay on real kernel traces of all formats: every attribute at random moments.
# MOMENTS says how many; 77 (skipped) when the corpus is not there.
. "${srcdir:-.}/tests/state/real_traces.sh"
each_trace "${top_builddir:-.}/tests/state/real_state" "${MOMENTS:-20}"
exit $status

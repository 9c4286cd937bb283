#!/bin/sh
# Stores that were damaged change no answer: a few of what tests/state/damaged.py does by thousands.
. "${srcdir:-.}/tests/shell.sh"
command -v python3 >/dev/null || exit 77
python3 "$srcdir/tests/state/damaged.py" "$yore" "$srcdir/fixtures/golden/sched-demo" "${YORE_DAMAGED:-40}" 7 ||
	fail "damaged stores"

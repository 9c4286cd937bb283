#!/bin/sh
# The Python package as it is installed, with Debian's Python: against the program's JSON, numpy and pandas.
. "${srcdir:-.}/tests/shell.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL
variable() { sed -n "s/^$1 = //p" "$build/Makefile" | head -n 1; }
if [ -n "$(variable SANITIZE)" ]; then
	echo "SKIP: Python has no sanitizer's runtime"
	exit 77
elif ! [ -x /usr/bin/python3 ]; then
	echo "SKIP: /usr/bin/python3 is not installed"
	exit 77
fi
prefix=$work/prefix
make -s -C "$build" prefix="$prefix" install-libLTLIBRARIES install-sqlmodLTLIBRARIES install-dist_yore_pythonDATA \
	>"$work/printed" 2>&1
result $? "make install of the package"
PYTHONPATH=$(dirname "$(dirname "$(find "$prefix" -path '*/yore/__init__.py')")")
export PYTHONPATH PYTHONDONTWRITEBYTECODE=1
golden=$top/fixtures/golden
"$build/fixtures/yore-gen" --out "$work/made" --size 2M --no-truth --lose 0.2 --contexts >/dev/null
for trace in sched-demo sched-perf/perf.data sched-ftrace/trace.dat ovni-demo gdb-demo/trace.tf "$work/made"; do
	case $trace in /*) ;; *) trace=$golden/$trace ;; esac
	/usr/bin/python3 "$top/tests/lib/python_package.py" "$yore" "$trace" "$work/index" >"$work/printed" 2>&1
	result $? "$(basename "$trace"): $(tail -n 1 "$work/printed")"
done
/usr/bin/python3 -c '
import sys, yore
from itertools import islice
path = sys.argv[1]
followed = list(yore.follow(path, patience=0.1, timeout=1))
assert followed == list(yore.open(path, no_index=True).events()) and len(followed) == 955
assert len(list(islice(yore.follow(path, "*sched_switch", patience=0.1, timeout=1), 3))) == 3
print(len(followed), "events")' "$golden/sched-demo" >"$work/printed" 2>&1
result $? "follow(): $(tail -n 1 "$work/printed")"
if /usr/bin/python3 -c 'import pandas' 2>/dev/null; then
	sed -n '/^```python/,/^```$/p' "$top/docs/python.md" | sed '/^```/d' >"$work/manual.py"
	(cd "$top" && /usr/bin/python3 "$work/manual.py") >"$work/printed" 2>&1 && [ "$(wc -l <"$work/printed")" -gt 6 ]
	result $? "docs/python.md: its example"
	/usr/bin/python3 "$top/examples/notebook.py" "$golden/sched-demo" >"$work/printed" 2>&1 &&
		grep -q '^CPU 0: 192 switches' "$work/printed" && grep -q 'cpu\[0\]/thread' "$work/printed"
	result $? "examples/notebook.py"
else
	echo "SKIP: examples/notebook.py: python3-pandas is not installed"
fi
/usr/bin/python3 -c 'import yore' >"$work/printed" 2>&1 && YORE_LIBRARY=/nowhere /usr/bin/python3 -c 'import yore' \
	>"$work/printed" 2>&1
[ $? = 1 ] && grep -q 'say where libyore-state.so.0 is with YORE_LIBRARY' "$work/printed"
result $? "no library: an error that says what to do"
exit $status

#!/bin/sh
# duckdb.sh BUILD [--install] - the extension in DuckDB itself, against the commands of yore and its Parquet files
#
# YORE_NPM names the folder in which npm put @duckdb/node-api (default: ~/.cache/yore-npm); --install puts it there. What is missing is
# said, and is no failure. Of a sanitized build name the sanitizers to node: LD_PRELOAD="$(gcc -print-file-name=libasan.so)".
set -u
build=$(cd "$1" && pwd)
top=$(cd "$(dirname "$0")/../.." && pwd)
corpus=${YORE_CORPUS-}
YORE_NPM=${YORE_NPM:-$HOME/.cache/yore-npm}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export YORE_NPM YORE_INDEX_DIR="$work/index"
failed=0

if [ "${2-}" = --install ]; then
	mkdir -p "$YORE_NPM" && npm install --no-fund --no-audit --prefix "$YORE_NPM" @duckdb/node-api || exit 1
fi
if ! command -v node >/dev/null; then
	echo "oracles: DuckDB skipped: node is not installed"
	exit 0
elif ! [ -d "$YORE_NPM/node_modules/@duckdb/node-api" ]; then
	echo "oracles: DuckDB skipped: no DuckDB in $YORE_NPM (duckdb.sh BUILD --install)"
	exit 0
fi

agree()
{
	node --expose-gc "$top/tests/oracle/duckdb_agree.mjs" "$build/yore" "$build/yore.duckdb_extension" "$@" || failed=$((failed + 1))
}

golden=$top/fixtures/golden
for options in '--size 2M' '--size 1M --big-endian' '--size 2M --contexts' '--size 1M --lose 0.3'; do
	rm -rf "$work/t"
	# shellcheck disable=SC2086
	"$build/fixtures/yore-gen" --out "$work/t" --no-truth $options >/dev/null || exit 1
	echo "generated with $options"
	agree events "$work/t"
done
agree events "$golden/sched-demo" "$golden/memory-demo" "$golden/ovni-demo" "$golden/demo/trace.dat" "$golden/sched-perf/perf.data" \
	"$golden/sched-ftrace/trace.dat"
agree questions "$golden/demo/trace.dat"
agree tables "$golden/sched-demo" "$golden/demo/trace.dat" "$golden/sched-perf/perf.data" "$golden/sched-ftrace/trace.dat" "$golden/ovni-demo" "$work/t"
libduckdb=$(find "$YORE_NPM/node_modules/@duckdb/" -name libduckdb.so | head -n 1)
if grep -q '^SANITIZE = .' "$build/Makefile"; then
	echo "oracles: Arrow skipped: Python has no sanitizer's runtime"
elif ! [ -x /usr/bin/python3 ] || ! [ "$libduckdb" ]; then
	echo "oracles: Arrow skipped: no /usr/bin/python3, or no libduckdb.so in $YORE_NPM"
else
	make -s -C "$build" prefix="$work/prefix" install-libLTLIBRARIES install-sqlmodLTLIBRARIES install-dist_yore_pythonDATA >/dev/null || exit 1
	PYTHONPATH=$(dirname "$(dirname "$(find "$work/prefix" -path '*/yore/__init__.py')")")
	export PYTHONPATH LIBDUCKDB="$libduckdb" PYTHONDONTWRITEBYTECODE=1
	agree arrow "$golden/sched-demo" "$golden/memory-demo" "$golden/demo/trace.dat" "$golden/sched-perf/perf.data" "$golden/ovni-demo" "$work/t"
	unset PYTHONPATH
fi
agree mistakes "$golden/sched-demo"
agree memory "$golden/sched-demo"
if [ -d "$corpus/ctf" ]; then
	list=$(awk -F'\t' -v top="$corpus/ctf/real" 'NR > 1 && $2 == "1.8" && $3 == "pass" {print top "/" $1}' \
		"$corpus/ctf/real/MANIFEST.tsv")
	# shellcheck disable=SC2086
	agree events $list "$corpus"/lttng-ust/* "$corpus"/perf-to-ctf/*/ctf* "$corpus"/perf-data/*/perf.data "$corpus"/trace-dat/*/*.dat \
		"$corpus"/ovni/*/ovni "$corpus"/gdb/*/*.tf
	agree tables "$corpus"/perf-data/*/perf.data "$corpus"/trace-dat/*/*.dat "$corpus"/lttng-ust/* "$corpus"/ovni/*/ovni
else
	echo "oracles: DuckDB over the corpus skipped: no folder ${corpus:-named by YORE_CORPUS}"
fi
echo "oracles: $failed of DuckDB failed"
[ "$failed" = 0 ]

#!/bin/sh
# partition.sh BUILD [--install] - a folder of `yore convert --partition` as DuckDB, Polars and ClickHouse read it
#
# YORE_NPM names the folder in which npm put them (default: ~/.cache/yore-npm); --install puts them there: chDB, ClickHouse in a library,
# takes 560 MB. What is missing is said, and is no failure.
set -u
build=$(cd "$1" && pwd)
top=$(cd "$(dirname "$0")/../.." && pwd)
YORE_NPM=${YORE_NPM:-$HOME/.cache/yore-npm}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export YORE_NPM YORE_INDEX_DIR="$work/index" YORE_LUA_DIR="$top/lua-lib"

if [ "${2-}" = --install ]; then
	# npm leaves out Polars' library where it has no libc in its description of the system
	mkdir -p "$YORE_NPM" && npm install --no-fund --no-audit --prefix "$YORE_NPM" @duckdb/node-api nodejs-polars@0.26.1 \
		nodejs-polars-linux-x64-gnu@0.26.1 chdb || exit 1
fi
if ! command -v node >/dev/null; then
	echo "oracles: partitions skipped: node is not installed"
	exit 0
fi

fleet=$work/fleet
mkdir -p "$fleet"
seed=1
for options in '' '--ctf2' '--big-endian' '--lose 0.3' '--contexts' '--lose 0.1'; do
	# shellcheck disable=SC2086
	"$build/fixtures/yore-gen" --out "$fleet/t$seed" --seed $seed --host "web$((seed % 3))" --size 120K --no-truth $options >/dev/null || exit 1
	seed=$((seed + 1))
done
for trace in demo/trace.dat sched-perf/perf.data sched-demo ovni-demo; do
	mkdir -p "$fleet/$(dirname "$trace")" && cp -r "$top/fixtures/golden/$trace" "$fleet/$trace" || exit 1
done
# two at a time, then all once more: nothing is there twice
for trace in "$fleet/t1" "$fleet/demo/trace.dat"; do
	"$build/yore" convert "$trace" "$work/out" --to parquet --partition --quiet &
done
wait
"$build/yore" convert --catalog "$fleet" "$work/out" --to parquet --partition || exit 1
node "$top/tests/oracle/partition_agree.mjs" "$build/yore" "$work/out" "$fleet"

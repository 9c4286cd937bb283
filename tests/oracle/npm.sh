#!/bin/sh
# npm.sh BUILD [--install] - what `yore convert` writes, against readers that are not ours
#
# DuckDB and hyparquet read Parquet, protobufjs and Chromium what is for Perfetto; s3rver serves a trace as S3 does.
# All but Chromium come from npm: YORE_NPM names the folder in which they are (default: ~/.cache/yore-npm); --install puts
# them there. What is missing is said, and is no failure. An optimized build is expected.
set -u
build=$(cd "$1" && pwd)
top=$(cd "$(dirname "$0")/../.." && pwd)
yore=$build/yore
corpus=${YORE_CORPUS-}
YORE_NPM=${YORE_NPM:-$HOME/.cache/yore-npm}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export YORE_NPM YORE_INDEX_DIR="$work/index"
failed=0

say()
{
	"$@" || failed=$((failed + 1))
}

if [ "${2-}" = --install ]; then
	mkdir -p "$YORE_NPM" && npm install --no-fund --no-audit --prefix "$YORE_NPM" \
		@duckdb/node-api hyparquet hyparquet-compressors s3rver@3.7.1 protobufjs || exit 1
fi

# ---- Parquet ----
parquet()
{
	if ! command -v node >/dev/null; then
		echo "oracles: Parquet skipped: node is not installed"
		return
	elif ! [ -d "$YORE_NPM/node_modules/@duckdb/node-api" ] ||
		! [ -d "$YORE_NPM/node_modules/hyparquet-compressors" ]; then
		echo "oracles: Parquet skipped: no DuckDB and hyparquet in $YORE_NPM (npm.sh BUILD --install)"
		return
	fi
	for options in '--size 2M' '--size 1M --big-endian' '--size 2M --contexts' '--size 1M --lose 0.3'; do
		rm -rf "$work/t"
		# shellcheck disable=SC2086
		"$build/fixtures/yore-gen" --out "$work/t" --no-truth $options >/dev/null || exit 1
		echo "generated with $options"
		say node "$top/tests/oracle/parquet_agree.mjs" "$yore" "$work/t"
	done
	say node "$top/tests/oracle/parquet_agree.mjs" "$yore" "$top/fixtures/golden/sched-demo"
	if ! [ -d "$corpus/ctf" ]; then
		echo "oracles: Parquet of the corpus skipped: no folder ${corpus:-named by YORE_CORPUS}"
		return
	fi
	list=$(awk -F'\t' -v top="$corpus/ctf/real" 'NR > 1 && $2 == "1.8" && $3 == "pass" {print top "/" $1}' \
		"$corpus/ctf/real/MANIFEST.tsv")
	# shellcheck disable=SC2086
	say node "$top/tests/oracle/parquet_agree.mjs" "$yore" $list "$corpus"/ctf/testsuite-1.8/regression \
		"$corpus"/lttng-ust/* "$corpus"/perf-to-ctf/*/ctf* "$corpus"/perf-data/*/perf.data \
		"$corpus"/trace-dat/*/*.dat "$corpus"/ovni/[j-z]*
}

# ---- a page that loads the JSON ----
chrome()
{
	for browser in chromium chromium-browser google-chrome; do
		command -v "$browser" >/dev/null && break
	done
	if ! command -v "$browser" >/dev/null; then
		echo "oracles: Chrome JSON skipped: Chromium is not installed"
		return
	fi
	"$yore" convert "$top/fixtures/golden/sched-demo" "$work/demo.json" || return 1
	{
		echo '<!doctype html><pre id=out></pre><script type="application/json" id=trace>'
		sed 's/</\\u003c/g' "$work/demo.json"
		cat <<'PAGE'
</script><script>
// what chrome://tracing's importer wants of each phase
const trace = JSON.parse(document.getElementById("trace").textContent), counts = {};
let bad = Array.isArray(trace.traceEvents) ? "" : "no traceEvents";
for (const e of trace.traceEvents) {
	counts[e.ph] = (counts[e.ph] ?? 0) + 1;
	const ok = Number.isInteger(e.pid) && Number.isInteger(e.tid) && typeof e.name === "string" &&
		{ X: () => Number.isFinite(e.ts) && e.dur >= 0, i: () => Number.isFinite(e.ts) && e.s === "t",
			C: () => Number.isFinite(e.ts) && typeof e.args.kHz === "number",
			M: () => typeof (e.args.name ?? e.args.sort_index) !== "undefined" }[e.ph]();
	if (!ok) bad = JSON.stringify(e);
}
document.getElementById("out").textContent = bad ? "FAIL: " + bad : "PASS: " + JSON.stringify(counts);
</script>
PAGE
	} >"$work/page.html"
	timeout 60 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/profile" \
		--virtual-time-budget=10000 --dump-dom "file://$work/page.html" 2>/dev/null |
		sed -n 's/.*<pre id="out">\([^<]*\)<.*/\1/p' | sed 's/^/Chrome JSON in '"$browser"': /' >"$work/said"
	cat "$work/said"
	grep -q ': PASS: .*"i":' "$work/said"
}

# ---- stretches of time: the state of a large trace, with timelines and without ----
stretches()
{
	"$build/fixtures/yore-gen" --out "$work/large" --size 60M --seed 6 --no-truth >/dev/null || exit 1
	"$yore" convert "$work/large" "$work/whole" --to csv --name 'none*' || return 1
	"$yore" index "$work/large" --timelines || return 1
	"$yore" convert "$work/large" "$work/parts" --to csv --name 'none*' || return 1
	for name in whole parts; do
		LC_ALL=C sort "$work/$name/state.csv" | md5sum >"$work/$name.md5"
	done
	if cmp -s "$work/whole.md5" "$work/parts.md5"; then
		echo "PASS: the state in stretches: $(wc -l <"$work/parts/state.csv") rows"
	else
		echo "FAIL: the state in stretches differs"
		return 1
	fi
}

# ---- Perfetto's format ----
perfetto()
{
	if ! command -v node >/dev/null || ! [ -d "$YORE_NPM/node_modules/protobufjs" ]; then
		echo "oracles: protobufjs skipped: it is not in $YORE_NPM (npm.sh BUILD --install)"
		return
	fi
	set -- "$top/fixtures/golden/sched-demo" "$top/fixtures/golden/sched-perf/perf.data"
	if [ -d "$corpus/perf-data" ]; then
		set -- "$@" "$corpus/perf-data/cpu-clock-callchain/perf.data" "$corpus/trace-dat/v6-sched-irq-syscalls/trace.dat" \
			"$corpus/lttng-ust/two-channels/trace"
	fi
	YORE_LUA_DIR=$top/lua-lib python3 -B "$top/tests/convert/perfetto.py" "$yore" "$@"
}

parquet
say perfetto
say chrome
say stretches
echo "oracles: $failed failed"
[ "$failed" = 0 ]

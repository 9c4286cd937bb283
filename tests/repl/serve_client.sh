#!/bin/sh
# yore serve and the client of VS Code's Trace Viewer: tsp-typescript-client of npm, as it is published.
# YORE_NPM names a folder in which it is installed already, YORE_CORPUS a corpus of traces (YORE_CLIENT_MOST of each kind); YORE_SERVE_LARGE=TRACE[,INDEX] adds a trace, and measures.
set -eu
src=$(cd "${srcdir:-.}" && pwd)
yore=$(cd "${top_builddir:-.}" && pwd)/yore
work=$(mktemp -d) || exit 1
pid=
trap '[ -z "$pid" ] || kill -INT "$pid" 2>/dev/null || :; rm -rf "$work"' EXIT
skip() { echo "SKIP: $1: the client's test did not run"; exit 77; }
command -v node >/dev/null || skip "no node"
modules=${YORE_NPM-}
if [ -z "$modules" ]; then
	command -v npm >/dev/null || skip "no npm"
	modules=$work/npm
	mkdir "$modules"
	# json-bigint is named by a commit of its repository; what npm has is the same
	echo '{"private":true,"dependencies":{"tsp-typescript-client":"0.9.0"},"overrides":{"json-bigint":"1.0.0"}}' >"$modules/package.json"
	(cd "$modules" && timeout 120 npm install --no-audit --no-fund >log 2>&1) || skip "npm has no tsp-typescript-client here"
fi
failed=0
# TRACE, options of yore serve
client()
{
	rm -f "$work/url"
	YORE_LUA_DIR=$src/lua-lib "$yore" serve "$@" --quiet >"$work/url" &
	pid=$!
	for _ in $(seq 240); do
		[ ! -s "$work/url" ] || break
		sleep 0.5
	done
	timeout 500 node "$src/tests/repl/serve_client.mjs" "$modules" "$(cat "$work/url")tsp/api" "$1" || failed=1
	kill -INT "$pid"
	wait "$pid" || :
	pid=
}
for trace in sched-demo memory-demo ovni-demo sched-ftrace/trace.dat sched-perf/perf.data; do
	client "$src/fixtures/golden/$trace" --no-index
done
if [ -d "${YORE_CORPUS-}" ]; then
	export YORE_CORPUS_TRACE=1
	most=${YORE_CLIENT_MOST:-6} # of each kind
	for trace in $(find "$YORE_CORPUS/perf-data" -name perf.data -size -300k | sort | head -n "$most") \
		$(find "$YORE_CORPUS/trace-dat" -name trace.dat -size -600k | sort | head -n "$most") \
		$(find "$YORE_CORPUS/ctf/real" -name metadata -size -200k | sort | head -n "$most" | xargs -n1 dirname); do
		# what is damaged may be no trace; what has no event cannot be served
		"$yore" events "$trace" --no-index --limit 1 2>/dev/null | grep -q . || continue
		client "$trace" --no-index
	done
	unset YORE_CORPUS_TRACE
fi
if [ -n "${YORE_SERVE_LARGE-}" ]; then
	client "${YORE_SERVE_LARGE%%,*}" --index-dir "${YORE_SERVE_LARGE##*,}"
fi
exit $failed

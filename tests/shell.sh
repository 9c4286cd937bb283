# Sourced by tests in sh: where sources and build are ($top, $build, $yore, whole paths), a folder
# of the test's own that goes when it ends ($work), surroundings that no user's files reach into, and
# how a row is told.
#
#     result STATUS NAME     PASS or FAIL; after a FAIL what $work/printed holds, and status=1
#     fail WORDS             FAIL, and nothing more is tried
#
# and waiting for processes: catches_int PID, ends PID, interrupted_after SECONDS COMMAND, startup, later SECONDS.
#
# Ends the test with 99, which no automake takes for a pass, when there is no such folder.
top=$(cd "${srcdir:-.}" && pwd)
build=$(cd "${top_builddir:-.}" && pwd)
yore=$build/yore
work=$(mktemp -d "${TMPDIR:-/tmp}/yore-test-XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
export TZ=UTC HOME="$work" YORE_LUA_DIR="$top/lua-lib"
export XDG_CACHE_HOME="$work/cache" XDG_CONFIG_HOME="$work/config" XDG_STATE_HOME="$work/state"
unset YORE_COLOR YORE_INDEX_DIR
status=0

result() {
	if [ "$1" = 0 ]; then
		echo "PASS: $2"
	else
		echo "FAIL: $2"
		cat "$work/printed" 2>/dev/null
		status=1
	fi
}

fail() {
	echo "FAIL: $*"
	exit 1
}

# catches_int PID: waits until the program catches SIGINT. One that a background shell starts ignores it until then, and would
# not hear it.
catches_int() {
	for _ in $(seq 2400); do
		grep -q '^SigCgt:.*[2367abef]$' "/proc/$1/status" 2>/dev/null && return
		grep -q '^State:.[^ZX]' "/proc/$1/status" 2>/dev/null || return
		sleep 0.05
	done
}

# ends PID: waits until the child has ended, and kills one that does not. Its status.
ends() {
	for _ in $(seq 2400); do
		kill -0 "$1" 2>/dev/null || break
		sleep 0.05
	done
	kill -KILL "$1" 2>/dev/null
	wait "$1"
}

# interrupted_after SECONDS COMMAND...: Ctrl-C, so long after the program has begun. Its status.
interrupted_after() {
	seconds=$1
	shift
	"$@" &
	child=$!
	catches_int $child
	sleep "$seconds"
	kill -INT $child 2>/dev/null
	ends $child
}

# startup: $begins is what yore takes here to begin and to end, the least of three; later SECONDS is that and so much more: a moment
# of a run that is to be disturbed.
startup() {
	begins=
	for _ in 1 2 3; do
		begin=$(date +%s%N)
		"$yore" --version >/dev/null
		took=$(($(date +%s%N) - begin))
		[ "${begins:-$took}" -lt $took ] || begins=$took
	done
}
later() {
	awk -v after="$1" -v begins="$begins" 'BEGIN { printf "%.4f", after + begins / 1e9 }'
}

# Sourced by the tests over real kernel traces of all formats.
#
#     each_trace COMMAND [ARGUMENT...]    runs COMMAND TRACE ARGUMENT...; sets status to 1 on a failure
#
# Ends the test as skipped when the corpus is not there.
corpus=${YORE_CORPUS:-${srcdir:-.}/../shared/corpus}
if ! test -d "$corpus/ctf/real/many-threads"; then
	echo "skipped: no corpus at $corpus (YORE_CORPUS says where it is)"
	exit 77
fi
status=0

each_trace() {
	command=$1
	shift
	for trace in bug446190 many-threads synctraces; do
		echo "$trace:"
		find "$corpus/ctf/real/$trace" -name metadata | sort | while read -r metadata; do
			"$command" "${metadata%/metadata}" "$@" || exit 1
		done || status=1
	done
	for case in perf-data/sched-syscalls perf-data/switch-events perf-data/lost \
		perf-data/overwrite trace-dat/v6-sched-irq-syscalls trace-dat/v7-multi-buffer \
		trace-dat/v6-missed-overwrite; do
		for file in "$corpus/$case/perf.data" "$corpus/$case/trace.dat"; do
			test -f "$file" || continue
			echo "$case:"
			"$command" "$file" "$@" || status=1
		done
	done
}

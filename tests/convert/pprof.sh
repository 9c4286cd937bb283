#!/bin/sh
# yore convert --to pprof: what functions, modules and threads weigh in the profile, as protoc and a decoder of the
# test's own read it, is what `top` says. pprof.py compares, pprof.proto has the fields.
. "${srcdir:-.}/tests/shell.sh"
cd "$work" || exit 99
corpus=${YORE_CORPUS-}/perf-data

"$yore" convert "$top/fixtures/golden/sched-ftrace/trace.dat" none.pb.gz >printed 2>&1
[ $? = 1 ] && [ ! -e none.pb.gz ] && grep -q 'no event is a sample' printed
result $? "a trace without samples"
python3 -B "$top/tests/convert/pprof.py" "$yore" "$top/fixtures/golden/memory-demo" 2>printed || status=1
cat printed
if [ -d "$corpus" ]; then
	python3 -B "$top/tests/convert/pprof.py" "$yore" "$corpus/cpu-clock-callchain/perf.data" "$corpus/dwarf-stack/perf.data" \
		"$corpus/cpu-clock/perf.data" "$corpus/group-read/perf.data" "$corpus/synth-sw-le/perf.data" \
		"$corpus/synth-sw-be/perf.data" "$corpus/mixed-attrs/perf.data" "$corpus/corrupt-interrupted/perf.data" 2>printed || status=1
	cat printed
	"$yore" convert "$corpus/cpu-clock-callchain/perf.data" - --to pprof | gzip -dc | md5sum >one
	"$yore" convert "$corpus/cpu-clock-callchain/perf.data" two.pprof && gzip -dc <two.pprof | md5sum | cmp - one >printed
	result $? "standard output, and the ending .pprof"
	"$yore" convert "$corpus/cpu-clock-callchain/perf.data" /dev/full --to pprof >printed 2>&1
	[ $? = 1 ] && grep -q 'No space left' printed
	result $? "a full disk"
else
	echo "SKIP: recordings of the corpus: no folder named by YORE_CORPUS"
fi
exit $status

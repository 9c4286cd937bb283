#!/bin/sh
# yore convert --to perfetto: every event, its time and values, switches, wake-ups, states, counters, losses, threads'
# names and stacks in the file, as protoc and a decoder of the test's own read it, are what `events`, `state` and `at`
# say. perfetto.py compares, perfetto.proto has the fields.
. "${srcdir:-.}/tests/shell.sh"
cd "$work" || exit 99
corpus=${YORE_CORPUS-}
golden=$top/fixtures/golden

agrees() { # WORDS of perfetto.py
	python3 "$top/tests/convert/perfetto.py" "$yore" "$@" 2>printed || status=1
	if [ -s printed ]; then
		cat printed
		status=1
	fi
}

python3 "$top/tests/convert/perfetto_scene.py" scene 100
python3 "$top/tests/convert/perfetto_scene.py" before-zero -5
agrees scene before-zero "$golden/sched-demo" "$golden/sched-ftrace/trace.dat" "$golden/sched-perf/perf.data" \
	"$golden/memory-demo" "$golden/ovni-demo"
first=$("$yore" events "$golden/sched-demo" --limit 1 --format json | sed 's/{"ts":\([0-9]*\),.*/\1/')
agrees "$golden/sched-demo" -- --begin "@$((first + 5000000))" --end "@$((first + 9000000))"
agrees "$golden/sched-demo" -- --cpu 0
agrees "$golden/sched-demo" -- --where 'next_pid != 0'
if [ -d "$corpus/perf-data" ]; then
	agrees "$corpus/perf-data/cpu-clock-callchain/perf.data" "$corpus/perf-data/dwarf-stack/perf.data" \
		"$corpus/perf-data/synth-sw-be/perf.data" "$corpus/trace-dat/v6-missed-overwrite/trace.dat" \
		"$corpus/trace-dat/v6-sched-irq-syscalls/trace.dat" "$corpus/lttng-ust/lost/trace" \
		"$corpus/lttng-ust/two-channels/trace" "$corpus/perf-to-ctf/sched-callchain/ctf" "$corpus/ctf/real/ros2"
else
	echo "SKIP: traces of the corpus: no folder named by YORE_CORPUS"
fi

# ---- more different texts than tables hold ----
python3 "$top/tests/convert/perfetto_scene.py" many 100 70000
"$yore" state many 'thread[*]/name' --format json --no-index >names.json &&
	"$yore" convert many names.pftrace 'thread[*]/name' --name sched_waking --no-index >printed 2>&1 &&
	PYTHONPATH=$top/tests/convert python3 -B - >printed 2>&1 <<'P'
import json, re
import perfetto_read
begun = sum(packet["sequence_flags"] == [3] for packet in perfetto_read.packets("names.pftrace") if "sequence_flags" in packet)
assert begun == 3, begun  # of events, of states, and of states once more
read = perfetto_read.Reader("names.pftrace")
got = {read.track_path(uuid)[0]: [name for _, name, _ in changes if name] for uuid, changes in read.states.items()
       if read.track_path(uuid)[1:] == ("name",)}
want = {}
for line in open("names.json"):
    row = json.loads(line)
    want.setdefault(int(re.search(r"\d+", row["path"])[0]), []).append(row["value"])
want.pop(0, None)
assert got == want and len(want) > 70000, (len(got), len(want))
P
result $? "tables begin anew when they are full"

# ---- compression, names of files, what is refused ----
"$yore" convert "$golden/sched-demo" plain.pftrace 2>printed && "$yore" convert "$golden/sched-demo" same.perfetto-trace &&
	cmp plain.pftrace same.perfetto-trace >printed
result $? "either ending means perfetto"
for coding in gzip zstd; do
	if [ $coding = zstd ] && ! command -v zstd >/dev/null; then
		echo "SKIP: zstd is not installed: its packets are not read"
		continue
	fi
	"$yore" convert "$golden/sched-demo" $coding.pftrace --compress $coding >printed 2>&1 &&
		[ $(($(wc -c <$coding.pftrace) * 4)) -lt "$(wc -c <plain.pftrace)" ] &&
		PYTHONPATH=$top/tests/convert python3 -B -c "
import perfetto_read
assert list(perfetto_read.packets('$coding.pftrace')) == list(perfetto_read.packets('plain.pftrace'))" >printed 2>&1
	result $? "$coding: the same packets, in a quarter of the size"
done
"$yore" convert "$golden/sched-demo" none.pftrace --compress bzip2 >printed 2>&1
[ $? = 2 ] && [ ! -e none.pftrace ] && grep -q "'bzip2' is none of gzip, zstd" printed
result $? "a compression of another name"
"$yore" convert before-zero early.pftrace >printed 2>&1 && grep -q 'begins before 0: in early.pftrace' printed
result $? "that a trace is shifted is told"
[ "$("$yore" convert "$golden/sched-demo" - --to perfetto | md5sum)" = "$(md5sum <plain.pftrace)" ]
result $? "standard output has the same bytes"
"$yore" index "$golden/sched-ftrace/trace.dat" --timelines --index-dir stored >printed 2>&1 &&
	"$yore" convert "$golden/sched-ftrace/trace.dat" stored.pftrace '**' --index-dir stored 2>printed &&
	"$yore" convert "$golden/sched-ftrace/trace.dat" read.pftrace '**' --no-index 2>printed &&
	cmp stored.pftrace read.pftrace >printed
result $? "what is unknown behind an interval is the same from timelines"
# ---- readings: for the timelines of these questions alone, and for the events; names come from the former ----
"$build/fixtures/yore-gen" --out large --size 24M --seed 6 --no-truth >/dev/null || exit 99
events=$("$yore" sql large 'SELECT count(*) FROM events' --format json | tr -cd '0-9\n') &&
	"$yore" convert large large.pftrace --stats >printed 2>&1 &&
	decoded=$(sed -n 's/.*"events_decoded":\([0-9]*\).*/\1/p' printed) && [ "$decoded" -lt $((events * 13 / 4)) ]
result $? "the state of a large trace takes no reading for names"
mkdir temporary && TMPDIR=$PWD/temporary "$yore" convert large again.pftrace --no-index >printed 2>&1 && [ -z "$(ls temporary)" ]
result $? "timelines of these questions alone leave nothing in TMPDIR"
exit $status

#!/bin/sh
# Rows that several threads make are those of one, byte by byte, and so are messages and status:
# in each format, with filters, backward, around a moment, to a limit, and where packets are damaged.
. "${srcdir:-.}/tests/shell.sh"

# compare TRACE WORDS...
compare()
{
	"$yore" events "$@" --no-index --jobs 1 >"$work/one" 2>"$work/one.said"
	echo $? >>"$work/one.said"
	for jobs in 2 5; do
		"$yore" events "$@" --no-index --jobs $jobs >"$work/more" 2>"$work/more.said"
		echo $? >>"$work/more.said"
		cmp -s "$work/one" "$work/more" && cmp -s "$work/one.said" "$work/more.said" && continue
		echo "FAIL: $*: --jobs $jobs is not --jobs 1"
		diff "$work/one.said" "$work/more.said" | head -5
		status=1
	done
}

# all that is asked of a trace of more than the few thousand rows which one thread makes anyway
ask()
{
	for format in text json csv table line; do
		compare "$1" --format $format
	done
	compare "$1" --time clock --reverse
	compare "$1" --time relative --limit 20000
	compare "$1" --format json --reverse --limit 9000
	compare "$1" --around +100ms --context 7000
	compare "$1" --format csv --cpu 0 --time iso
}

"$build/fixtures/yore-gen" --out "$work/good" --size 3M --seed 7 --lose 0.3 \
	--flush 0.2 --no-truth >/dev/null || exit 99
ask "$work/good"
compare "$work/good" --where 'next_tid % 3 == 0'
compare "$work/good" --where 'cpu[cpu]/thread % 2 == 0' --name 'sched_*'
compare "$work/good" --tid 1000-2000 --format json
compare "$work/good" --name sched_switch --format csv
[ "$(head -n 1 "$work/one")" = ts,stream,cpu,name,prev_comm,prev_tid,prev_prio,prev_state,next_comm,next_tid,next_prio ] || {
	echo "FAIL: fields of one class are columns: $(head -n 1 "$work/one")"
	status=1
}

# many streams, a few events each
"$build/fixtures/yore-gen" --out "$work/many" --cpus 300 --size 3M --seed 8 --no-truth \
	>/dev/null || exit 99
ask "$work/many"

# damage in the middle of packets, in a packet's head, at a file's end
cp -r "$work/good" "$work/bad" || exit 99
n=0
for stream in "$work"/bad/channel*; do
	n=$((n + 1))
	size=$(wc -c <"$stream")
	for at in $((size / 5)) $((size / 3 + 77)) $((size / 2)) $((size - 3000)); do
		printf '\377\377\377\377\377\377\377\377\377\377\377\377' |
			dd of="$stream" bs=1 seek=$at conv=notrunc 2>/dev/null
	done
	[ $((n % 3)) -ne 0 ] || truncate -s $((size - 1234)) "$stream"
done
ask "$work/bad"
[ "$(grep -c damaged "$work/one.said")" -gt 1 ] || {
	echo "FAIL: nothing was damaged"
	status=1
}

corpus=${YORE_CORPUS:-${srcdir:-.}/../shared/corpus}
for trace in "$corpus"/ctf/real/many-threads "$corpus"/ctf/real/ros2 "$corpus"/lttng-ust/lost; do
	[ -d "$trace" ] || continue
	compare "$trace" --format text --begin +1ms
	compare "$trace" --format json --limit 50000
done
exit $status

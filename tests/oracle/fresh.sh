#!/bin/sh
# fresh.sh YORE FOLDER - recordings of this machine, made now, through the same comparisons
#
# perf records all CPUs while a few processes run: plain, with call chains, compressed, through a pipe.
# Kernel trace pages are read from a private instance of tracefs and made a file by `trace-cmd restore`,
# as trace-cmd's own recorder may be refused. What the machine does not allow is skipped aloud.
set -u
yore=$1
folder=$2
here=$(cd "$(dirname "$0")" && pwd)
failed=0
# shellcheck disable=SC2016
work='for i in 1 2 3 4 5 6; do /bin/true; (sleep 0.01; /bin/true) & done; wait; seq 1 3000 | sort | tail -n 1 >/dev/null'

try()
{
	"$@" || failed=$((failed + 1))
}

record() # NAME OPTION...
{
	name=$1
	shift
	mkdir -p "$folder/$name"
	if perf record -q -a "$@" -o "$folder/$name/perf.data" -- sh -c "$work" >/dev/null 2>&1; then
		try "$here/perf_agree.py" "$yore" "$folder/$name"
		try "$here/sched_agree.py" "$yore" perf "$folder/$name/perf.data"
		try "$here/run_times.py" "$yore" perf "$folder/$name/perf.data"
	else
		echo "fresh.sh: skipped: perf record $* is refused here"
	fi
}

tasks() # NAME OPTION...: of the processes alone, not of the CPUs
{
	name=$1
	shift
	mkdir -p "$folder/$name"
	if perf record -q "$@" -o "$folder/$name/perf.data" -- sh -c "$work" >/dev/null 2>&1; then
		try "$here/tasks_agree.py" "$yore" "$folder/$name/perf.data"
	else
		echo "fresh.sh: skipped: perf record $* is refused here"
	fi
}

instance=/sys/kernel/tracing/instances/yore-oracle-$$

pages() # what trace-cmd restore needs of tracefs: format files, names
{
	tree=$folder/tracefs
	mkdir -p "$tree/events" "$tree/options"
	cat /sys/kernel/tracing/events/header_page >"$tree/events/header_page"
	cat /sys/kernel/tracing/events/header_event >"$tree/events/header_event"
	for system in ftrace sched raw_syscalls kmem block; do
		for format in "/sys/kernel/tracing/events/$system/"*/format; do
			mkdir -p "$tree/events/$system/$(basename "$(dirname "$format")")"
			cat "$format" >"$tree/events/$system/$(basename "$(dirname "$format")")/format"
		done
	done
	for file in printk_formats trace_clock saved_cmdlines; do
		cat /sys/kernel/tracing/$file >"$tree/$file" 2>/dev/null
	done
	for raw in "$folder"/ftrace/cpu*.raw; do
		mkdir -p "$tree/per_cpu/$(basename "$raw" .raw)"
		: >"$tree/per_cpu/$(basename "$raw" .raw)/stats"
	done
	: >"$folder/kallsyms"
	trace-cmd restore -c -t "$tree" -k "$folder/kallsyms" -o "$folder/head.dat" >/dev/null 2>&1 &&
		trace-cmd restore -i "$folder/head.dat" -o "$folder/ftrace/trace.dat" \
			"$folder"/ftrace/cpu*.raw >/dev/null 2>&1
}

if ! command -v perf >/dev/null; then
	echo "fresh.sh: skipped: perf is not installed"
else
	try "$here/two_recorders.py" "$yore" 7
	record fresh -e 'sched:*'
	# texts that name kernel functions
	if perf record -q -a -e 'timer:*' -e 'irq:*' -e 'workqueue:*' -o "$folder/names.data" \
		-- sleep 0.3 >/dev/null 2>&1; then
		try "$here/perf_agree.py" "$yore" "$folder/names.data"
	else
		echo "fresh.sh: skipped: perf record -e timer:* is refused here"
	fi
	record fresh-chains -g -e sched:sched_switch -e cpu-clock
	record fresh-zstd -z --synth=task -e sched:sched_switch -e sched:sched_waking
	mkdir -p "$folder/stacks"
	if perf record -q -a -g -e 'sched:*' -o "$folder/stacks/perf.data" -- sh -c "$work" >/dev/null 2>&1; then
		try "$here/analyses_agree.py" "$yore" perf --stacks "$folder/stacks/perf.data"
	else
		echo "fresh.sh: skipped: perf record -g -e sched:* is refused here"
	fi
	mkdir -p "$folder/memory"
	if perf record -q -a -e kmem:mm_page_alloc -e kmem:mm_page_free -e kmem:rss_stat -o "$folder/memory/perf.data" \
		-- sh -c "$work" >/dev/null 2>&1; then
		try "$here/analyses_agree.py" "$yore" perf "$folder/memory/perf.data"
	else
		echo "fresh.sh: skipped: perf record -e kmem:* is refused here"
	fi
	try "$here/calls_agree.py" "$yore" --fresh 3
	try "$here/timehist_agree.py" "$yore" --fresh 4
	mkdir -p "$folder/wakers"
	if perf record -q -a -m 4M -e 'sched:*' -e 'irq:*' -e 'timer:hrtimer_expire_*' -e 'timer:timer_expire_*' \
		-o "$folder/wakers/perf.data" -- sh -c "$work" >/dev/null 2>&1; then
		try "$here/wakers_agree.py" "$yore" perf "$folder/wakers/perf.data"
	else
		echo "fresh.sh: skipped: perf record -e irq:* is refused here"
	fi
	tasks fresh-tasks -e 'sched:*'
	tasks fresh-calls -e sched:sched_switch -e raw_syscalls:sys_enter -e cpu-clock
fi

if ! command -v trace-cmd >/dev/null; then
	echo "fresh.sh: skipped: trace-cmd is not installed"
elif mkdir "$instance" 2>/dev/null; then
	trap 'echo 0 >"$instance/tracing_on"; rmdir "$instance"' EXIT
	mkdir -p "$folder/ftrace"
	echo 6000 >"$instance/buffer_size_kb" # of a recording that lost events little is compared
	for events in sched raw_syscalls kmem/mm_page_alloc kmem/mm_page_free kmem/rss_stat \
		block/block_rq_issue block/block_rq_complete; do
		echo 1 >"$instance/events/$events/enable" || echo "fresh.sh: skipped: $events is refused here"
	done
	# requests of a disk, where the folder is on one
	dd if=/dev/zero of="$folder/disk" bs=64k count=8 oflag=direct conv=fsync 2>/dev/null
	dd if="$folder/disk" of=/dev/null bs=64k iflag=direct 2>/dev/null
	sh -c "$work"
	echo 0 >"$instance/tracing_on"
	for cpu in "$instance"/per_cpu/cpu*; do
		dd if="$cpu/trace_pipe_raw" of="$folder/ftrace/$(basename "$cpu").raw" bs=4096 \
			iflag=nonblock 2>/dev/null
	done
	echo 0 >"$instance/events/enable"
	if pages; then
		try "$here/ftrace_agree.py" "$yore" "$folder/ftrace"
		try "$here/sched_agree.py" "$yore" ftrace "$folder/ftrace/trace.dat"
		try "$here/run_times.py" "$yore" ftrace "$folder/ftrace/trace.dat"
		try "$here/analyses_agree.py" "$yore" ftrace --memory "$folder/ftrace/trace.dat"
		try "$here/tables_agree.py" "$yore" ftrace "$folder/ftrace/trace.dat"
		try "$here/wakers_agree.py" "$yore" ftrace "$folder/ftrace/trace.dat"
		mv "$folder"/ftrace/cpu*.raw "$tree" # the pages themselves, beside their formats
		mv "$folder/kallsyms" "$tree"
		try "$here/ftrace_agree.py" "$yore" --same "$folder/ftrace/trace.dat" "$tree"
	else
		echo "fresh.sh: skipped: trace-cmd restore made no file"
	fi
else
	echo "fresh.sh: skipped: no instance of tracefs can be made here"
fi

# two recorders at once: one question, both of their answers
try "$here/mixed_fresh.py" "$yore" "$folder/mixed"
try "$here/ust_fresh.py" "$yore" "$folder/ust"
try "$here/crash_fresh.py" "$yore" "$folder/crash"
[ "$failed" = 0 ]

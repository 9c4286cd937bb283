#!/bin/sh
# No output takes the place of a file that is read: its name, a link to it, another name of it, before the file is
# opened or after; what is read has the same bytes afterwards.
. "${srcdir:-.}/tests/shell.sh"
golden=$top/fixtures/golden
cd "$work" || exit 99

# The recordings anew, and their sums.
begin() {
	rm -rf p.data link hard ctf own.rules sums
	cp "$golden/sched-perf/perf.data" p.data
	cp -r "$golden/sched-demo" ctf
	chmod -R u+w p.data ctf
	ln -s p.data link
	ln p.data hard
	"$yore" rules linux >own.rules
	find p.data ctf own.rules -type f | sort | xargs cksum >sums
}

# refuses NAME COMMAND...: status 2 (1 of a script), the reason, and nothing has changed
refuses() {
	name=$1
	shift
	begin
	"$@" >out 2>err </dev/null
	got=$?
	{
		[ $got -eq 2 ] || [ $got -eq 1 ] || echo "status $got"
		grep -q "is a file of what is read" err || cat err
		find p.data ctf own.rules -type f | sort | xargs cksum | cmp - sums
		ls | grep '[.]......$' # no temporary file stays
	} >printed 2>&1
	[ ! -s printed ]
	result $? "$name"
}

for format in chrome perfetto sqlite trace.dat; do
	for out in p.data ./p.data link hard "$work/p.data" /proc/self/cwd/p.data; do
		refuses "convert --to $format $out" "$yore" convert p.data "$out" --to $format --no-index
	done
	refuses "convert --to $format, a file of a folder" "$yore" convert ctf ctf/metadata --to $format --no-index
	refuses "convert --to $format, another trace" "$yore" convert ctf p.data --with p.data --offset p.data=+0s --to $format --no-index
	refuses "convert --to $format, rules" "$yore" convert p.data own.rules --to $format --rules own.rules --no-index
done
refuses "timeline --svg" "$yore" timeline p.data 'cpu[*]/thread' --svg link --no-index
refuses "timeline --svg, rules" "$yore" timeline p.data 'cpu[*]/thread' --svg own.rules --rules own.rules --no-index
refuses "an analysis' --svg" "$yore" latency p.data --svg hard --no-index
refuses "an analysis' --svg, a stream" "$yore" latency ctf --svg ctf/perf_stream_0 --no-index

# the prompt goes on: its status is that of its last line
prompt() {
	printf '%s\n' "$@" "nonsense" | "$yore" p.data --no-index --rules own.rules
	return 2
}
refuses "the prompt: .output" prompt '.output p.data' 'SELECT 1;'
refuses "the prompt: > FILE" prompt 'info > hard'
refuses "the prompt: >> FILE" prompt 'info >> p.data'
refuses "the prompt: rules" prompt '.output own.rules'
sql() {
	printf '%s\n' "$@" | "$yore" sql ctf --no-index
}
refuses "SQL: .output before the trace is read" sql '.output ctf/perf_stream_0' 'SELECT 1;'
appended() {
	"$yore" events p.data --no-index >>p.data
}
refuses "standard output" appended

for words in "convert ctf ctf/new.json --to chrome" "convert ctf ctf/new --to ctf" "latency ctf --svg ctf/new.svg"; do
	begin
	# shellcheck disable=SC2086
	"$yore" $words --no-index >printed 2>&1
	[ $? -ne 0 ] && grep -q "lies in a folder of the trace" printed && [ "$(ls ctf | wc -l)" -eq 3 ]
	result $? "$words: a new file in the folder of the trace is refused"
done

begin
"$yore" index ctf --index-dir ctf >printed 2>&1
[ $? -eq 2 ] && grep -q "is a folder of the trace" printed && [ "$(ls ctf | wc -l)" -eq 3 ]
result $? "an index in the folder of the trace is refused"
"$yore" index p.data --index-dir . >printed 2>&1
result $? "beside a file it is not"

begin
"$yore" convert p.data new.json --to chrome --no-index 2>/dev/null && "$yore" convert p.data new.json --to chrome --no-index
result $? "a file that is not read is replaced"
exit $status

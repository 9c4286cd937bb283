#!/bin/sh
# Runs each fuzzer for SECONDS, with the fixtures and the corpus (YORE_CORPUS, if there) as seeds.
#     tests/fuzz/run.sh [BUILD] SECONDS
# FUZZERS names those to run, if not all; each takes SECONDS, as many at once as there are
# processors. What a fuzzer finds, and what it learnt, stays in BUILD/tests/fuzz.
set -eu
case $# in
1) build=. seconds=$1 ;;
2) build=$1 seconds=$2 ;;
*) echo "usage: $0 [BUILD] SECONDS" >&2; exit 2 ;;
esac
source=$(cd "$(dirname "$0")/../.." && pwd)
work=$build/tests/fuzz/work
mkdir -p "$work/tsdl" "$work/ctf2" "$work/packet" "$work/rules" "$work/made" \
	"$work/perf" "$work/perf_turns" "$work/ftrace" "$work/ovni" "$work/intel_pt" "$work/formats" "$work/slices" \
	"$work/store" "$work/sel4" "$work/gdb" "$work/rfc" "$work/gather" "$work/variables" "$work/gdb_ctf" "$work/oneliner" "$work/live" "$work/serve" "$work/remote" "$work/partial"

# Sources of traces: golden files, one made now, the corpus' small ones.
traces() {
	find "$source/fixtures/golden" -type f -size -64k
	[ ! -d "$work/made" ] || find "$work/made" -type f
	[ ! -d "${YORE_CORPUS-}" ] ||
		find "$YORE_CORPUS/ctf" "$YORE_CORPUS/lttng-ust" -type f -size -20k
}

gen=$build/fixtures/yore-gen
if [ -x "$gen" ]; then
	for more in "" --big-endian --large-headers --text-metadata "--ctf2 --text-metadata"; do
		# shellcheck disable=SC2086
		"$gen" --out "$work/made/t$(echo "$more" | tr -d " ")" --size 12K --packet-size 4096 --cpus 1 --no-truth $more
	done
fi
# Field classes of every kind, in both languages.
python3 "$source/tests/engine/ctf2_classes.py" --write "$work/made/classes" 1 12 || :
traces | while read -r file; do
	name=$(printf %s "$file" | cksum | tr ' ' -)
	case $file in
	*/metadata)
		# a packet of each stream behind metadata, but not where the metadata is in packets
		case $(head -c 1 "$file" | od -An -tx1) in
		*1e) kind=ctf2 ;;
		*) kind=tsdl ;;
		esac
		cp "$file" "$work/$kind/$name"
		case $(head -c 4 "$file" | od -An -tx1) in
		*"57 1d d1 75" | *"75 d1 1d 57") ;;
		*)
			{
				printf '\377'
				find "$(dirname "$file")" -maxdepth 1 -type f ! -name metadata -exec \
					head -q -c 4096 {} +
			} >>"$work/$kind/$name"
			;;
		esac
		;;
	*.idx | *.txt | *.gz | *.tsv | *.md) ;;
	*)
		# the first byte says which description: LTTng's, big-endian, without times, any
		for kind in 000 001 002 010; do
			{ printf "\\$kind"; cat "$file"; } > "$work/packet/$name-$kind"
		done
		;;
	esac
done
# A packet of each of the CTF 2 descriptions of fuzz_packet.
printf '\013\000\070\001\000\000\270\002\001\011\000\000\001\001\002a\000bcdefghijk\003\002\002\003\001\001\011\005\001q\000xy' \
	>"$work/packet/ctf2"
printf '\014\030abcdefghijkl' >"$work/packet/ctf2-bits"
for file in "$source"/state/rules/*.rules; do
	[ ! -f "$file" ] || cp "$file" "$work/rules/"
done
printf 'include linux\ninclude "a.rules"\nmap m for ctf { 1 = 2 }\nmap m { & 4 = 3 }\nevent a, "b*"\n x[y] = m(z)\n' \
	>"$work/rules/include"
printf 'let n = 3\nlet m = (n + n)\nevent a when m == 6 && has(n)\n x[m] = -n\nview v[?k] = n\n' >"$work/rules/let"

# The programs of the language's page, and a few that run without an event.
sed -n "s/^ *\$ yore do [^']*'\(.*\)'$/\1/p" "$source/docs/do.md" | while read -r program; do
	printf '%s' "$program" >"$work/oneliner/$(printf %s "$program" | cksum | tr ' ' -)"
done
printf 'BEGIN{@a[1,"x"]=3;@h=hist(5,2);@l=lhist(7,0,10,5);$x=1?2:3;printf("%%-5s %%05x\n","a",$x++)}END{unroll(3){@a[len(@a),substr("abc",1)]++}print(@a,2,3);}' \
	>"$work/oneliner/plain"
printf 'BEGIN{@s=stats(3);@m=min(-1);@c=captures("B|1|n","(\\d+)");@t=split("a|b","|",1);if(@m<0){delete(@m)}else if 1{zero(@s)}time("%%H:%%M");exit()}' \
	>"$work/oneliner/others"

# Whole files of kernel traces, and their hardware traces: a first byte 0 means no chunks.
kernel_traces() {
	find "$source/fixtures" -name '*.data' -o -name '*.dat'
	[ ! -d "${YORE_CORPUS-}" ] || find "$YORE_CORPUS/perf-data" "$YORE_CORPUS/trace-dat" \
		-type f \( -name 'perf.*' -o -name trace.dat -o -name '*.pt' \) -size -128k
}
kernel_traces | while read -r file; do
	name=$(printf %s "$file" | cksum | tr ' ' -)
	case $file in
	*/expected/*.pt) { printf '\0'; cat "$file"; } > "$work/intel_pt/$name" ;;
	*/expected/*) ;;
	*.dat)
		cp "$file" "$work/ftrace/$name"
		# the formats at its beginning, as a block
		{ printf '\004'; head -c 60000 "$file"; } > "$work/formats/$name"
		;;
	*)
		cp "$file" "$work/perf/$name"
		# twice, as two files of one recording
		{ cat "$file"; printf NEXTTURN; cat "$file"; } > "$work/perf_turns/$name"
		;;
	esac
done
# Streams of ovni: stream.json, a zero, stream.obs.
{
	printf '{"version":3,"ovni":{"part":"thread","tid":1,"pid":1,"loom":"n.l","loom_cpus":[{"index":0,"phyid":2}],"finished":1}}\0'
	printf 'ovni\001\000\000\000\017OHx12345678\000\000\000\000\001\000\000\000\001\000\000\000\001\000\000\000'
	printf '\023VYc22345678\006\000\000\000\001\000\000\000a\000'
} > "$work/ovni/made"
[ ! -d "${YORE_CORPUS-}" ] || find "$YORE_CORPUS/ovni" -name stream.obs -size -8k | while read -r file; do
	name=$(printf %s "$file" | cksum | tr ' ' -)
	{ cat "${file%obs}json"; printf '\0'; cat "$file"; } > "$work/ovni/$name"
done
# Logs of seL4: one entry in text and one in binary, the corpus' small ones.
printf '            Entry_VMFault --           7 --            3 -- 0x      3031\n' > "$work/sel4/text"
{ printf '\007\0\0\0\0\0\0\0\003\0\0\0\004\061\060'; head -c 9 /dev/zero; } > "$work/sel4/binary"
if [ -d "${YORE_CORPUS-}" ]; then
	find "$YORE_CORPUS/sel4" -name 'log.*' -size -64k | while read -r file; do
		cp "$file" "$work/sel4/$(printf %s "$file" | cksum | tr ' ' -)"
	done
fi
# Scenes of the 2010 proposal, metadata and one stream of each.
for more in "" "--order be --word 64 --rich" "--word 32 --rich --text --event-size" \
	"--compress gzip --sum md5" "--compress bzip2 --sum sha1 --text" "--cpu-context --text --rules"; do
	rm -rf "$work/scene" "$work/scene.truth"
	# shellcheck disable=SC2086
	python3 "$source/tests/engine/rfc2010.py" write "$work/scene" --events 60 --short-names $more || continue
	{
		cat "$work/scene/metadata"
		printf '\377\377\377\377'
		cat "$work/scene/s_0"
	} > "$work/rfc/$(echo "made$more" | tr -d ' ')"
done
# CTF whose packets are searched, with 8 bytes before each, and in datagrams, of one file or several.
for trace in "$work"/made/t "$work"/made/t--big-endian; do
	for how in 000 021 375 376; do
		[ ! -d "$trace" ] || {
			printf "\\$how"
			cat "$trace/metadata"
			printf '\377\377\377\377'
			[ $how != 021 ] || printf 12345678
			for packet in 0 1 2; do # of 4096 bytes
				[ $how != 375 ] || printf '\020\000'
				tail -c +$((packet * 4096 + 1)) "$trace/channel0_0" | head -c 4096
			done
		} > "$work/gather/$(basename "$trace")-$how"
	done
done
# Ring buffers of LTTng-UST, one recorded and some written.
for seed in 1 2 3 4; do
	python3 "$source/tests/repl/ring_files.py" "$work/made-ring-$seed" "$seed" || :
done
for shm in "$source/fixtures/golden/crash-demo/shm" "$work"/made-ring-*/shm; do
	for ring in "$shm"/ch*_0; do
		[ ! -f "$ring" ] || {
			printf '\377'
			cat "$shm/metadata"
			printf '\377\377\377\377'
			cat "$ring"
		} > "$work/gather/$(printf %s "$ring" | cksum | tr ' ' -)"
	done
done
# A program and the address of its main, and operations of a location in two pieces.
printf 'int g;struct s{int a:3;char t[5];}x;int main(int c,char**v){struct s y=x;int n=c,z[n];{double d=g;z[0]=(int)d+y.a;}return z[0]+**v;}' \
	>"$work/seed.c"
for options in "-O0 -no-pie" "-O2 -no-pie -gdwarf-4"; do
	# shellcheck disable=SC2086
	cc -g -w $options -nostdlib -Wl,-e,main,-z,noseparate-code -o "$work/seed" "$work/seed.c" || continue
	at=$(nm "$work/seed" | awk '$3 == "main" { print $1 }')
	{
		printf '\001'
		python3 -c 'import sys; sys.stdout.buffer.write(int(sys.argv[1], 16).to_bytes(8, "little"))' "$at"
		cat "$work/seed"
	} >"$work/variables/program$(echo "$options" | tr -d ' ')"
done
printf '\0\120%18s\223\004%17s\221\020%17s\223\004%17s' '' '' '' '' | tr ' ' '\0' >"$work/variables/pieces"
# Trace files of GDB: one of two frames, and the corpus'.
printf '\177TRACE0\nR 4\nstatus 0;tstop::0;tframes:2;notes:61\ntsv 2:5:0:61\ntp T1:40:E:1:0\ntp Z1:40:at:0:1:61\ntdesc <reg name="pc" bitsize="32" type="code_ptr"/>\n\n\001\0\044\0\0\0Rabcd' > "$work/gdb/made"
printf 'M\001\0\0\0\0\0\0\0\001\0xV\002\0\0\0\001\0\0\0\0\0\0\0S\001\0\0\0a\001\0\0\0\0\0\0\0\0\0' >> "$work/gdb/made"
printf 'byte_order = le; name = "frame" traceframe_usage name = "register" contents[4]\0' > "$work/gdb_ctf/made"
printf '\301\037\374\301\360\0\0\0\020\001\0\0\001\0\0\0\003\0\0\0\0\0\0\0abcd\0\0' >> "$work/gdb_ctf/made"
if [ -d "${YORE_CORPUS-}" ]; then
	find "$YORE_CORPUS/gdb" -name datastream -size -128k | while read -r file; do
		{ cat "${file%datastream}metadata"; printf '\0'; cat "$file"; } >"$work/gdb_ctf/$(printf %s "$file" | cksum | tr ' ' -)"
	done
	find "$YORE_CORPUS/gdb" -name trace.tf -size -128k | while read -r file; do
		cp "$file" "$work/gdb/$(printf %s "$file" | cksum | tr ' ' -)"
	done
fi
# Replies of a relay: what a mirror is given, on one connection and on two.
python3 "$source/tests/live/replies.py" "$work/live"
# Requests of viewers, of the page, and of others.
python3 "$source/tests/repl/serve_requests.py" "$work/serve"
# Archives of each form that tar writes, a manifest, and a list of S3; the first byte says which.
python3 - "$work/remote" "$source" <<'SEEDS'
import io, sys, tarfile
for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as tar:
        for name in ("a", "b/c", "d" * 90 + "/" + "e" * 90):
            info = tarfile.TarInfo(name)
            info.size = 5
            tar.addfile(info, io.BytesIO(b"bytes"))
    open("%s/tar%d" % (sys.argv[1], form), "wb").write(b"\1" + out.getvalue())
open(sys.argv[1] + "/manifest", "wb").write(b'\0{"yore-manifest": 1, "files": [{"path": "a/b", "size": 10}]}')
open(sys.argv[1] + "/page", "wb").write(b'\2<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><IsTruncated>true</IsTruncated>'
                                        b"<NextContinuationToken>t</NextContinuationToken><Contents><Key>p/a&amp;b</Key><Size>10</Size></Contents></ListBucketResult>")
SEEDS
# Partial files of two questions, as they are and with a checksum that is made right.
if [ -x "$build/yore" ]; then
	"$build/yore" stats "$source/fixtures/golden/sched-demo" --chunk 1/1 --partial "$work/made-stats.part" >/dev/null &&
		"$build/yore" do "$source/fixtures/golden/sched-demo" 'sched_switch { @[prev_comm] = hist(next_pid, 1); }' \
			--chunk 1/1 --partial "$work/made-do.part" >/dev/null || :
fi
for file in "$work"/made-*.part; do
	for how in 000 001; do
		[ ! -f "$file" ] || { printf "\\$how"; cat "$file"; } >"$work/partial/$(basename "$file")-$how"
	done
done
# An empty slice, which fuzzing fills: magic, then offsets and length of its parts.
{
	printf '\000YSL1'
	head -c 44 /dev/zero
	printf '\110\000\000\000\110\000\000\000\110\000\000\000\110\000\000\000\130\000\000\000'
	head -c 20 /dev/zero
} > "$work/slices/empty"
# One edit of the first page of each kind of store.
for kind in 000 001 002; do
	printf "\\$kind\\000\\000\\030\\000\\000\\000\\001" > "$work/store/$kind"
done
# Single formats of the corpus, little- and big-endian, each with a record behind it.
if [ -d "${YORE_CORPUS-}" ]; then
	for file in "$YORE_CORPUS"/trace-dat/synth-*/trace.dat \
		"$YORE_CORPUS/trace-dat/v6-sched-irq-syscalls/trace.dat"; do
		tr '\000' '\n' < "$file" |
			LC_ALL=C grep -a -o \
				'name: .*\|^ID: .*\|^format:\|^	field:.*\|^$\|^print fmt: .*'
	done | LC_ALL=C awk -v work="$work/formats" '
		/^name: / { text = $0; next }
		text != "" { text = text "\n" $0 }
		/^print fmt: / && text != "" {
			for (kind = 0; kind < 2; kind++) {
				out = sprintf("%s/%d-%d", work, ++count, kind)
				printf "%c%s\n%c0123456789abcdef0123456789abcdef", kind + 8, text, 0 > out
				close(out)
			}
			text = ""
		}'
fi
chmod -R u+w "$work"

fuzz() # KIND: whether it found nothing
{
	kind=$1
	program=$build/tests/fuzz/fuzz_$kind
	[ -x "$program" ] || { echo "fuzz_$kind: not built" >&2; return 1; }
	case $kind in
	perf | ftrace | gdb) most=131072 ;;
	perf_turns) most=262152 ;;
	*) most=65536 ;;
	esac
	dictionary=$source/tests/fuzz/$kind.dict
	[ -f "$dictionary" ] && set -- "-dict=$dictionary" || set --
	found=0
	"$program" "$@" -max_total_time="$seconds" -max_len=$most -timeout=10 -rss_limit_mb=2048 \
		-print_final_stats=1 -artifact_prefix="$work/$kind-" "$work/$kind" \
		> "$work/$kind.log" 2>&1 || found=1
	[ $found -eq 0 ] || tail -n 40 "$work/$kind.log" >&2
	echo "fuzz_$kind: $seconds s"
	grep -E 'stat::(number_of_executed_units|slowest_unit_time_sec)' "$work/$kind.log" || :
	return $found
}

# As many at once as there are processors: each takes the same time.
failed=0 running=
finish()
{
	for pid in $running; do
		wait "$pid" || failed=1
	done
	running=
}
for kind in ${FUZZERS-packet rules tsdl ctf2 rfc gather intel_pt perf perf_turns ftrace ovni sel4 gdb gdb_ctf variables formats slices store oneliner live serve remote partial}; do
	fuzz $kind &
	running="$running $!"
	[ "$(echo $running | wc -w)" -lt "$(nproc)" ] || finish
done
finish
exit $failed

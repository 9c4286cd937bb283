#!/bin/sh
# A scene written as the 2010 proposal, by a writer that shares nothing with yore (rfc2010.py): events are
# as written, in each byte order, alignment, compression, checksum and cypher, and the answers are those
# that the same scene gives as CTF 1.8.
. "${srcdir:-.}/tests/shell.sh"
command -v python3 >/dev/null || { echo "SKIP: no python3"; exit 77; }
scene="python3 $top/tests/engine/rfc2010.py"
cd "$work" || exit 99
key=00112233445566778899aabbccddeeff0123456789abcdef
printf '%s\n' $key >key.24
printf %.32s $key >key.16

# Options of the writer in $1, of yore in $2: events are those that were written.
as_written() {
	rm -rf trace trace.truth
	# shellcheck disable=SC2086
	$scene write trace --events 200 $1 &&
		"$yore" events trace --format json $2 2>told >rows &&
		$scene compare trace.truth <rows >printed && [ ! -s told ]
	result $? "events as written:$1"
}
python3 -c 'import cryptography' 2>/dev/null && cypher=1 || cypher=0
[ $cypher = 1 ] || echo "SKIP: rows of AES: python3-cryptography is missing"
seed=0
for order in le be; do
	for word in 8 32 64; do
		seed=$((seed + 1))
		each="--order $order --word $word --seed $seed"
		as_written " $each --rich --context --event-size --pages"
		case $order$word in
		le8) as_written " $each --rich --compress gzip --sum md5 --pages" ;;
		le32 | be64) as_written " $each --cpu-context --text" ;;
		be32) as_written " $each --rich --compress bzip2 --sum sha1" ;;
		esac
		case $order$word$cypher in
		le641) as_written " $each --compress bzip2 --key key.24 --sum sha1" "--key-file key.24" ;;
		be81) as_written " $each --key key.16 --rich --text" "--key-file key.16" ;;
		esac
	done
done

# An id that the metadata leaves out is passed over by the size in its context, and told once.
for more in "--word 8" "--word 32 --order be"; do
	rm -rf trace trace.truth
	# shellcheck disable=SC2086
	$scene write trace --events 300 $more --context --event-size --forget 2
	"$yore" events trace --format json >rows 2>printed && $scene compare trace.truth <rows &&
		[ "$(grep -c 'section sched have the id 2, which the metadata does not know' printed)" = 1 ]
	result $? "an unknown id is passed over: $more"
done
rm -rf trace trace.truth
$scene write trace --events 100 --forget 2
"$yore" events trace >rows 2>printed
[ $? = 3 ] && grep -q 'has id 2, which the metadata does not know$' printed
result $? "an unknown id without a size ends its packet"

# What a trace says: events without the packets' own headers, questions through an index, tables.
say() {
	"$yore" events "$1" --format json | sed 's/"packet":{[^}]*},//'
	for question in "state %s cpu[*]/thread" "longest %s thread[*]/state --limit 20" \
		"at %s +4ms cpu[*]/thread --why" "timeline %s cpu[*]/thread" \
		"events %s --name sched_switch --begin +2ms" "events %s --reverse --limit 50" \
		"events %s --stream sched --name sched/irq*" "when %s thread[12]/state=running" "check %s"; do
		# shellcheck disable=SC2059,SC2046
		"$yore" $(printf "$question" "$1") 2>&1 | sed "s#$1#TRACE#g"
	done
	"$yore" sql "$1" 'SELECT name, stream, count(*), max(length(fields)) FROM events GROUP BY name, stream' 2>&1
	"$yore" sql "$1" 'SELECT next_tid, count(*), avg(ts) FROM sched_switch GROUP BY next_tid' 2>&1
}
twin() {
	rm -rf old new old.truth new.truth
	# shellcheck disable=SC2086
	$scene write old --events 800 --ctf18 $1 && $scene write new --events 800 $1 $2 || fail "rfc2010.py $1 $2"
	say old | sed 's/old/TRACE/g' >said.old
	say new | sed 's/new/TRACE/g' >said.new
	diff said.old said.new >printed && [ "$(wc -l <said.old)" -gt 1000 ]
	result $? "as CTF 1.8: $1 | $2, $(wc -l <said.old) lines"
}
twin "--order le --word 8 --context" "--pages"
twin "--order be --word 8 --seed 2" "--compress gzip --sum sha1"
twin "--order le --word 64 --seed 3" "--compress bzip2 --text"
twin "--order be --word 32 --seed 4 --context" "--sum md5"

# A packet that fails its checksum is damage of that packet alone.
rm -rf trace trace.truth
$scene write trace --events 1000 --sum sha1 --only sched_0
"$yore" sql trace 'SELECT count(*) FROM events' >whole
python3 -c '
import struct
data = bytearray(open("trace/sched_0", "rb").read())
at = struct.unpack_from("<I", data, 12)[0]
data[at + 100] ^= 1
open("trace/sched_0", "wb").write(data)
print(at)' >place
"$yore" events trace --format json >rows 2>printed
[ $? = 3 ] && [ "$(grep -c damaged: printed)" = 1 ] &&
	grep -q "packet at offset $(cat place): its content has the checksum 0x" printed &&
	python3 -c '
import json
rows = [json.loads(line)["ts"] for line in open("rows")]
truth = [json.loads(line)["ts"] for line in open("trace.truth")]
missing = sorted(set(truth) - set(rows))
first = truth.index(missing[0])
assert set(rows) < set(truth) and truth[first:first + len(missing)] == missing and len(missing) < 200'
result $? "a packet that fails its checksum"

# Packets of another session, of unknown schemes, and without a key
for what in "4 002 session id" "45 011 compression scheme 9 is not known" \
	"46 011 encryption scheme 9 is not known" "47 011 checksum scheme 9 is not known"; do
	# shellcheck disable=SC2086
	set -- $what
	rm -rf trace trace.truth
	$scene write trace --events 1000 --only sched_0
	printf "\\$2" | dd of=trace/sched_0 bs=1 seek="$1" conv=notrunc 2>/dev/null
	shift 2
	"$yore" events trace >rows 2>printed
	[ $? = 3 ] && grep -q "offset 0: .*$*" printed && [ "$(wc -l <rows)" -gt 50 ]
	result $? "a header that is refused: $*"
done
if [ $cypher = 1 ]; then
	rm -rf trace trace.truth
	$scene write trace --events 300 --key key.16 --text
	"$yore" events trace >rows 2>printed
	[ $? = 3 ] && [ ! -s rows ] && grep -q 'offset 0: it is encrypted: --key-file gives its key' printed
	result $? "an encrypted trace without its key"
	"$yore" events trace --key-file key.24 >rows 2>printed
	[ $? = 3 ] && [ ! -s rows ] && grep -q 'it does not decrypt' printed
	result $? "an encrypted trace with another key"
	"$yore" index trace --timelines >/dev/null 2>&1
	"$yore" state trace 'cpu[*]/thread' --key-file key.16 >rows 2>printed && [ "$(wc -l <rows)" -gt 50 ]
	result $? "what was stored without a key is none of the answers with it"
	printf 'no key' >key.6
	"$yore" info trace --key-file key.6 >rows 2>printed
	[ $? != 0 ] && grep -q 'key.6: no key of AES: want 16, 24 or 32 bytes' printed
	result $? "a file that is no key"
fi

# Rules of the metadata stand where none are named.
printf 'event "sched_switch" in section "sched"\n cpu[section/cpu]/ran = field/next_tid\n ran[field/next_tid]/on = section/cpu\n' >own.rules
rm -rf trace trace.truth plain plain.truth
$scene write trace --rules --text
$scene write plain --ctf18
"$yore" state trace '**' >said.new 2>&1
"$yore" state plain '**' --rules own.rules >said.old 2>&1
[ "$(wc -l <said.old)" -gt 500 ] && diff said.old said.new >printed
result $? "rules of the metadata, $(wc -l <said.new) lines"
"$yore" state trace 'cpu[*]/thread' --rules linux >said.new 2>&1
"$yore" state plain 'cpu[*]/thread' >said.old 2>&1
[ "$(wc -l <said.old)" -gt 500 ] && diff said.old said.new >printed
result $? "--rules instead of the metadata's"
sed -i 's/rule = "cpu\[section/rule = "cpu[[section/' trace/metadata
"$yore" state trace '**' >rows 2>printed
[ $? != 0 ] && grep -q '^rules in .*metadata:2:' printed
result $? "a rule that is none"

# Sequence numbers of 4 bits wrap; one that is missing is told.
rm -rf trace trace.truth
$scene write trace --events 3000 --only sched_0
"$yore" info trace >printed && grep -q 'losses *none' printed
result $? "sequence numbers that wrap"

# What was discarded before packets (a counter that wraps, too), and a packet that is missing
rm -rf trace trace.truth
$scene write trace --events 1000 --only sched_0 --discard 9
packets=$("$yore" sql trace 'SELECT count(*) FROM packets')
"$yore" check trace >printed 2>&1
[ "$packets" -gt 3 ] && [ "$(grep -c '^lost: sched_0: .*, 9 events$' printed)" = $((packets - 1)) ]
result $? "events discarded before packets"
rm -rf trace trace.truth
$scene write trace --events 1000 --only sched_0 --drop 2 --seq-bits 8
"$yore" check trace >printed 2>&1
[ "$(grep -c '^lost: sched_0: from .*, 1 packets$' printed)" = 1 ]
result $? "a packet that is missing"

# It is read in pieces.
rm -rf trace trace.truth
$scene write trace --events 60000 --packet-events 200000 --only sched_0 &&
	[ "$("$yore" sql trace "SELECT sum(bytes) FROM packets WHERE flags LIKE 'piece%'")" -gt 1048576 ] &&
	"$yore" events trace --format json >rows 2>printed && $scene compare trace.truth <rows
result $? "a packet of more than a megabyte"

# What yore writes of the scene of CTF 1.8 is what an independent reader finds in it.
rm -rf old old.truth
$scene write old --ctf18 --word 64 --events 400 --context --seed 5
cat >same.py <<'PYTHON'
import json, sys
rows, truth = ([json.loads(line) for line in open(path)] for path in sys.argv[1:])
assert len(rows) > 400 and all(row.pop("packet") == {"pad": 0} for row in rows)
assert rows == truth, next(pair for pair in zip(rows, truth) if pair[0] != pair[1])
PYTHON
for coding in "" "--compress gzip" "--compress bzip2 --checksum md5" "--compress gzip --checksum sha1"; do
	rm -rf written
	# shellcheck disable=SC2086
	"$yore" convert old written --to ctf2010 $coding >printed 2>&1 &&
		python3 "$top/tests/engine/rfc2010_read.py" written >rows 2>>printed &&
		python3 same.py rows old.truth 2>>printed && [ ! -s printed ]
	result $? "written by convert: ${coding:-plain}"
done
python3 "$top/tests/engine/rfc2010_read.py" written >rows
python3 - >wanted <<'PYTHON'
import json
rows = [json.loads(line) for line in open("rows")]
first, begin, end = (rows[i]["ts"] for i in (0, 100, 300))
with open("range", "w") as out:
    print("--begin +%dns --end +%dns" % (begin - first, end - first), file=out)
for row in rows:
    if begin <= row["ts"] < end and row["name"].startswith("sched_"):
        print(json.dumps(row))
PYTHON
rm -rf again
# shellcheck disable=SC2046
"$yore" convert written again --to ctf2010 $(cat range) --name 'sched_*' >printed 2>&1 &&
	python3 "$top/tests/engine/rfc2010_read.py" again >part 2>>printed
[ "$(wc -l <wanted)" -gt 20 ] && diff wanted part >printed
result $? "written by convert: a part, filtered, of the proposal itself, $(wc -l <wanted) events"
"$yore" convert old none --to ctf --checksum md5 >printed 2>&1
[ $? != 0 ] && [ ! -e none ] && grep -q -e 'is for ctf2010' printed
result $? "a checksum of packets that have none"
"$yore" convert old none --to ctf2010 --compress lz4 >printed 2>&1
[ $? != 0 ] && [ ! -e none ] && grep -q "'lz4' is none of gzip, bzip2" printed
result $? "a compression of another name"
exit $status

#!/bin/sh
# The same simulated machine in CTF 1.8 and in CTF 2 gives the same events, state and answers; text,
# packets and byte orders of the metadata make no difference.
. "${srcdir:-.}/tests/shell.sh"
gen=$build/fixtures/yore-gen
[ -x "$gen" ] || { echo "SKIP: no $gen"; exit 77; }

# What a trace says: events, questions through an index, tables.
say() {
	for question in "events %s --format json" "state %s cpu[*]/thread" \
		"longest %s thread[*]/state --limit 20" "at %s +4ms cpu[*]/thread --why" \
		"stats %s" "timeline %s cpu[*]/thread" "events %s --name sched_switch --begin +2ms" \
		"events %s --reverse --limit 50" "check %s"; do
		# shellcheck disable=SC2059,SC2046
		"$yore" $(printf "$question" "$1") 2>&1 | sed "s#$1#TRACE#g"
	done
	"$yore" sql "$1" 'SELECT name, count(*), max(length(fields)) FROM events GROUP BY name' 2>&1
}

scene() {
	rm -rf "$work/old" "$work/new"
	"$gen" --out "$work/old" --no-truth "$@" && "$gen" --out "$work/new" --no-truth --ctf2 "$@" ||
		fail "yore-gen $*"
	say "$work/old" >"$work/said.old"
	say "$work/new" >"$work/said.new"
	[ "$(wc -l <"$work/said.old")" -gt 500 ] && diff "$work/said.old" "$work/said.new" >"$work/printed"
	result $? "the same scene: yore-gen ${*:-} --ctf2, $(wc -l <"$work/said.old") lines"
}
scene --size 200K
scene --size 200K --large-headers --text-metadata --lose 0.1 --packet-size 4096
scene --size 200K --big-endian --index --flush 0.2 --seed 2
scene --size 200K --big-endian --large-headers --contexts --overwritten 5 --seed 3
scene --size 3M --packet-size 2M --cpus 1 --text-metadata --seed 4

# Bytes of the packets' magic numbers, versions 2.0 and 1.8: the text decides
"$gen" --out "$work/packets" --size 20K --no-truth --ctf2
"$yore" info "$work/packets" >"$work/printed" 2>&1 && grep -q 'format     ctf 2.0' "$work/printed"
result $? "metadata in packets of version 2.0"
printf '\001\010' | dd of="$work/packets/metadata" bs=1 seek=35 conv=notrunc 2>/dev/null
"$yore" info "$work/packets" >"$work/printed" 2>&1 && grep -q 'format     ctf 2.0' "$work/printed"
result $? "metadata in packets, one of version 1.8"

# Without streams there is nothing to ask, and nothing wrong
for more in "" --ctf2; do
	"$gen" --out "$work/bare$more" --size 20K --no-truth $more
	rm -rf "$work/bare$more"/chan* "$work/bare$more/index"
	"$yore" info "$work/bare$more" >"$work/printed" 2>&1
	result $? "metadata without streams $more"
done

# A packet of another metadata stream is left out among those of its own; where all are, they are damage
"$gen" --out "$work/other" --size 40K --no-truth --ctf2 --packet-size 4096 --cpus 1 --text-metadata
"$yore" events "$work/other" --time ns >"$work/whole"
printf x | dd of="$work/other/channel0_0" bs=1 seek=4100 conv=notrunc 2>/dev/null
"$yore" events "$work/other" --time ns >"$work/events" 2>"$work/printed"
[ $? = 0 ] && "$yore" info "$work/other" | grep -q '1 of another session' &&
	diff "$work/whole" "$work/events" | grep -v '^>.* lost until' >"$work/gone" &&
	! grep -q '^>' "$work/gone" && [ "$(grep -c '^<' "$work/gone")" -gt 50 ] &&
	[ "$(grep -c '^[0-9]' "$work/gone")" = 1 ] && [ "$(wc -l <"$work/events")" -gt 500 ]
result $? "a packet with another UUID"
dd if="$work/other/channel0_0" of="$work/stranger" bs=4096 skip=1 count=1 2>/dev/null
cp "$work/stranger" "$work/other/channel0_0"
"$yore" events "$work/other" >"$work/events" 2>"$work/printed"
[ $? = 3 ] && [ ! -s "$work/events" ] &&
	grep -q 'offset 0: the packet has the UUID of another metadata stream' "$work/printed"
result $? "a file of packets with another UUID"

# Chunks of one trace class are one trace
mkdir "$work/chunks"
"$gen" --out "$work/chunks/1" --size 20K --no-truth --ctf2 --text-metadata
cp -r "$work/chunks/1" "$work/chunks/2"
"$yore" info "$work/chunks" >"$work/printed" 2>&1 && [ "$(grep -c '^trace ' "$work/printed")" = 1 ]
result $? "two folders of one trace class"
sed -i 's/"uid":"generated-[0-9a-f]*"/"uid":"other"/' "$work/chunks/2/metadata"
"$yore" info "$work/chunks" >"$work/printed" 2>&1 && [ "$(grep -c '^trace ' "$work/printed")" = 2 ]
result $? "two folders of two trace classes"
exit $status

#!/bin/sh
# Small traces that were read wrongly once: what must be shown is what babeltrace2 2.0.4 reads there.
. "${srcdir:-.}/tests/shell.sh"

# trace NAME OCTETS: a folder with the metadata from standard input, and one stream of these bytes
trace()
{
	mkdir "$work/$1" || exit 99
	cat >"$work/$1/metadata"
	printf "$2" >"$work/$1/s"
}

# shows NAME EXPECTED WORDS...: standard output of yore WORDS, with "T" for the trace's path
shows()
{
	name=$1 expected=$2
	shift 2
	"$yore" "$@" >"$work/out" 2>&1
	ended=$?
	sed 's/ *$//' "$work/out" >"$work/printed"
	[ $ended -eq 0 ] && [ "$(cat "$work/printed")" = "$expected" ]
	result $? "$name"
}

trace order '\160\0\0\0\160\0\0\0\275\020\167\177\0\0' <<'EOF'
/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; };
stream { packet.context := struct { integer { size = 32; align = 8; } content_size;
	integer { size = 32; align = 8; } packet_size; }; };
event { name = e; fields := struct {
	integer { size = 8; align = 8; byte_order = be; } b;
	struct { integer { size = 7; align = 8; byte_order = le; } v; } f[1];
	integer { size = 1; align = 1; byte_order = le; } t; }; };
EOF
shows "a bit behind an array of structures has the order of the bits in it" \
	"0 s e: b = 189, f = [{v = 16}], t = 0
1 s e: b = 119, f = [{v = 127}], t = 0
2 s e: b = 0, f = [{v = 0}], t = 0" events --no-index "$work/order"

trace mixed '\160\0\0\0\160\0\0\0\275\020\167\177\0\0' <<'EOF'
/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; };
stream { packet.context := struct { integer { size = 32; align = 8; } content_size;
	integer { size = 32; align = 8; } packet_size; }; };
event { name = e; fields := struct {
	integer { size = 8; align = 8; byte_order = le; } b;
	struct { integer { size = 7; align = 8; byte_order = be; } v; } f[1];
	integer { size = 1; align = 1; byte_order = le; } t; }; };
EOF
"$yore" events --no-index "$work/mixed" >"$work/printed" 2>&1
[ $? -eq 3 ] && grep -q 'a field that begins inside a byte of the other byte order' "$work/printed"
result $? "a byte of two byte orders is damage, and said to be that"

trace unknown_id '\360\0\0\0\360\0\0\0\001\007\011\0' <<'EOF'
/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; };
stream { packet.context := struct { integer { size = 32; align = 8; } content_size;
	integer { size = 32; align = 8; } packet_size; };
	event.header := struct { integer { size = 8; align = 8; } id; }; };
event { name = e; id = 1; fields := struct { integer { size = 8; align = 8; } n; }; };
EOF
"$yore" events --no-index "$work/unknown_id" >"$work/printed" 2>&1
[ $? -eq 3 ] && grep -q 'event 1 at byte 10 of the packet has id 9, which the metadata does not know$' "$work/printed"
result $? "an id that is not known is told as that, also in a packet that is cut off"

trace empty '\0\007\0\011' <<'EOF'
/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; };
event { name = e; fields := struct { integer { size = 8; align = 8; } n;
	struct { integer { size = 8; align = 8; } x[n]; } two[2]; struct { } three[3];
	integer { size = 8; align = 8; } z; }; };
EOF
shows "elements without size are all shown" \
	"0 s e: n = 0, two = [{x = []}, {x = []}], three = [{}, {}, {}], z = 7
1 s e: n = 0, two = [{x = []}, {x = []}], three = [{}, {}, {}], z = 9" \
	events --no-index "$work/empty"
shows "in SQL, too" '[{},{},{}]' sql --no-index --format text "$work/empty" \
	"SELECT json_extract(fields, '\$.three') FROM events LIMIT 1"

trace many '\377\377\377\377' <<'EOF'
/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; };
event { name = e; fields := struct { integer { size = 16; align = 8; } n;
	struct { struct { } x[n]; } y[n]; }; };
EOF
"$yore" events --no-index "$work/many" >"$work/printed" 2>&1
[ $? -eq 3 ] && grep -q 'has over 4,096 elements that take no space' "$work/printed"
result $? "more elements without size than anybody could read are damage"

trace contexts '\001\002\003\004\005\006\007\010' <<'EOF'
/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; };
stream { event.context := struct { integer { size = 8; align = 8; } value;
	integer { size = 8; align = 8; } other; }; };
event { name = e; context := struct { integer { size = 8; align = 8; } value; };
	fields := struct { integer { size = 8; align = 8; } z; }; };
EOF
shows "a name that both contexts have is shown twice" \
	"0 s e: {context_value = 1, other = 2, value = 3} z = 4
1 s e: {context_value = 5, other = 6, value = 7} z = 8" \
	events --no-index "$work/contexts"
shows "in JSON, too" \
	'{"ts":0,"t":0,"stream":"s","cpu":null,"name":"e","packet":{},"context":{"context_value":1,"other":2,"value":3},"fields":{"z":4}}' \
	events --no-index "$work/contexts" --format json --limit 1
shows "in SQL's JSON, too" '1 3' sql --no-index --format text "$work/contexts" \
	"SELECT (context->>'context_value') || ' ' || (context->>'value') FROM events LIMIT 1"
shows "and can be asked for by the name that is shown" 1 \
	events --no-index "$work/contexts" --where 'context/context_value == 5' --count
cat >"$work/pairs.lua" <<'EOF'
for ev in trace:events() do
	local names = {}
	for name, value in pairs(ev.context) do names[#names + 1] = name .. "=" .. value end
	table.sort(names)
	print(table.concat(names, " ") .. " " .. ev.context.context_value)
end
EOF
shows "scripts see both" "context_value=1 other=2 value=3 1
context_value=5 other=6 value=7 5" run --no-index "$work/pairs.lua" "$work/contexts"

# events around a moment, by what all of them are
"$build/fixtures/yore-gen" --out "$work/lossy" --size 400K --packet-size 4K --seed 3 --lose 0.9 \
	--no-truth >/dev/null || exit 99
"$yore" events --no-index "$work/lossy" --time ns >"$work/all" 2>/dev/null
grep -v ' lost' "$work/all" >"$work/events"
n=0
for line in $(grep -n ' lost' "$work/all" | sed -n '2~7p' | cut -d: -f1); do
	at=$(sed -n "${line}p" "$work/all" | cut -d' ' -f1)
	for more in 0 1 -1 777 -777; do
		moment=$((at + more)) n=$((n + 1))
		awk -v t=$moment '{ if ($1 "" < t "") { b[n++] = $0 } else if (k < 4) { a[k++] = $0 } }
			END { for (i = n < 4 ? 0 : n - 4; i < n; i++) print b[i]
			for (i = 0; i < k; i++) print a[i] }' "$work/events" >"$work/wanted"
		"$yore" events --no-index "$work/lossy" --time ns --around @$moment --context 4 \
			2>/dev/null >"$work/around"
		grep -v ' lost' "$work/around" >"$work/printed"
		cmp -s "$work/printed" "$work/wanted" || result 1 "--around @$moment --context 4"
		grep -q ' lost' "$work/around" && shown=1
	done
done
[ $n -gt 20 ] && [ "$shown" = 1 ]
result $? "--context counts events, and losses are shown besides"
for jobs in 1 2; do
	printed=$("$yore" do --no-index --jobs $jobs "$work/lossy" '* { @[1] = count(); }' 2>/dev/null)
	[ "$printed" = "@[1]: $(wc -l <"$work/events")" ]
	result $? "one-liners count events beside losses, --jobs $jobs"
done

# two snapshots of one session, of which the second has packets of the first
"$build/fixtures/yore-gen" --out "$work/whole" --size 300K --packet-size 4K --cpus 3 --seed 4 \
	--no-truth >/dev/null || exit 99
packets="SELECT * FROM packets ORDER BY stream, first"
"$yore" sql --index-dir "$work/looked" "$work/whole" "$packets" >"$work/found"
"$yore" index --index-dir "$work/scanned" "$work/whole" >"$work/out" &&
	"$yore" sql --index-dir "$work/scanned" "$work/whole" "$packets" >"$work/printed" &&
	[ -s "$work/found" ] && cmp -s "$work/found" "$work/printed"
result $? "packets of one size are told alike, looked up in their file or scanned"
# snapshots FIRST SECOND: how many packets the first one has, where the second begins
snapshots()
{
	rm -rf "$work/shots"
	mkdir -p "$work/shots/1" "$work/shots/2" || exit 99
	cp "$work/whole/metadata" "$work/shots/1" && cp "$work/whole/metadata" "$work/shots/2"
	for file in "$work"/whole/channel*; do
		name=$(basename "$file")
		head -c $(($1 * 4096)) "$file" >"$work/shots/1/$name"
		tail -c +$(($2 * 4096 + 1)) "$file" >"$work/shots/2/$name"
	done
}
# without the streams' names, which begin with the folder
listed()
{
	"$yore" events "$@" --format json 2>"$work/said" | sed 's/"stream":"[^"]*"/S/'
}
listed --no-index "$work/whole" >"$work/wanted"
for shots in '7 5' '7 7' '12 0' '3 2'; do
	snapshots $shots
	listed --no-index "$work/shots" >"$work/printed"
	cmp -s "$work/printed" "$work/wanted" || result 1 "snapshots $shots"
done
grep -q ': 3 packets are in two of its folders' "$work/said"
result $? "packets of two snapshots count once"
snapshots 7 5
for i in 1 2; do
	listed --index-dir "$work/shots-index" "$work/shots" >"$work/printed"
	cmp -s "$work/printed" "$work/wanted"
	result $? "with an index, run $i"
done
for i in 1 2 1 2; do # of one UUID
	listed --index-dir "$work/two-index" "$work/shots/$i" >/dev/null
	cat "$work/said"
done >"$work/printed"
! grep -q 'indexed anew' "$work/printed"
result $? "two traces of one UUID keep an index each"
printf '\377' | dd of="$work/shots/2/channel0_0" bs=1 seek=200 conv=notrunc 2>/dev/null
"$yore" events --no-index "$work/shots" --count >/dev/null 2>"$work/printed"
grep -q ': 5 packets are in two' "$work/printed"
result $? "packets that differ are two"
# as perf's converter wrote before it knew of CPUs
trace cpus '\012\000\000\000\000\000\000\000\050\000\000\000\000\000\000\000\000\003\000\000\000\000'\
'\000\000\000\003\000\000\000\000\000\000\012\000\000\000\000\000\000\000\000\000\000\000'\
'\007\000\000\000\024\000\000\000\000\000\000\000\001\000\000\000\010\000\000\000\036\000'\
'\000\000\000\000\000\000\000\000\000\000\011\000\000\000\050\000\000\000\000\000\000\000'\
'\002\000\000\000\005\000\000\000' <<'EOF'
/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; };
clock { name = c; freq = 1000000000; };
stream { event.header := struct {
		integer { size = 64; align = 8; map = clock.c.value; } timestamp; };
	packet.context := struct {
		integer { size = 64; align = 8; } timestamp_begin;
		integer { size = 64; align = 8; } timestamp_end;
		integer { size = 64; align = 8; } content_size;
		integer { size = 64; align = 8; } packet_size; }; };
event { name = "sched:sched_switch"; fields := struct {
	integer { size = 32; align = 8; } perf_cpu; integer { size = 32; align = 8; } next_pid; }; };
EOF
"$yore" events --no-index "$work/cpus" --format json |
	sed 's/.*"ts":\([0-9]*\).*"cpu":\([0-9a-z]*\).*"perf_cpu":\([0-9]*\).*/\1 \2 \3/' \
		>"$work/printed"
[ "$(cat "$work/printed")" = "10 0 0
20 1 1
30 0 0
40 2 2" ]
result $? "an event's CPU may stand in its payload"
shows "and can be chosen by" 2 events --no-index "$work/cpus" --cpu 0 --count
"$yore" at --no-index "$work/cpus" @29 'cpu[*]/thread' 2>/dev/null >"$work/printed"
[ "$(sed 's, since.*,,' "$work/printed" | tr -s ' ' | sed 's, $,,')" = "cpu[0]/thread 7
cpu[1]/thread 8" ]
result $? "of which the state is known"
# more events of each CPU than one batch of all holds: forward, and backward from the end
mkdir -p "$work/many"
cp "$work/cpus/metadata" "$work/many/metadata"
python3 - "$work/many/channel0_0" "$work/expected" <<'EOF'
import struct, sys
events = [(10 * i + 10, (i * 7 + i // 5) % 3, 1000 + i) for i in range(3000)]
body = b"".join(struct.pack("<QII", *event) for event in events)
bits = (32 + len(body)) * 8
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<QQQQ", events[0][0], events[-1][0], bits, bits) + body)
own = [event for event in events if event[1] == 1]
with open(sys.argv[2], "w") as file:
    for i, (time, _, pid) in enumerate(own):
        file.write("%d %s %d\n" % (time, own[i + 1][0] if i + 1 < len(own) else "null", pid))
EOF
"$yore" state --no-index "$work/many" 'cpu[1]/thread' --format json 2>/dev/null |
	sed 's/.*"begin":\([0-9]*\),"end":\([0-9a-z]*\).*"value":\([0-9]*\).*/\1 \2 \3/' >"$work/printed"
cmp "$work/printed" "$work/expected"
result $? "of many events, none is passed over"
good=true
for line in 1 2 63 64 65 500 1000; do
	read -r t end pid <<EOF
$(sed -n "${line}p" "$work/expected")
EOF
	"$yore" at --no-index "$work/many" "@$t" 'cpu[1]/thread' 2>/dev/null | grep -q "  $pid  since" ||
		good=false
done
$good
result $? "nor backward"
exit $status

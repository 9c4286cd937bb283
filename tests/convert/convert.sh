#!/bin/sh
# yore convert: what comes out against what `events`, `state` and SQL answer; and that nothing
# half-written is left behind. Parquet is judged by tests/oracle/npm.sh.
. "${srcdir:-.}/tests/shell.sh"
trace=$top/fixtures/golden/sched-demo
cd "$work" || exit 99

says() # NAME STATUS TEXT COMMAND...: how it ends, and what it says
{
	name=$1 want=$2 text=$3
	shift 3
	"$@" >out 2>err
	got=$?
	if [ $got != "$want" ] || ! { [ -z "$text" ] || grep -qF -- "$text" err; }; then
		echo "FAIL: $name: status $got: $(head -n 1 err)"
		status=1
	else
		echo "PASS: $name"
	fi
}

is() # NAME EXPECTED GOT
{
	if [ "$2" = "$3" ]; then
		echo "PASS: $1"
	else
		echo "FAIL: $1: '$3' is not '$2'"
		status=1
	fi
}

left() # what stands beside finished output
{
	find "$work" -maxdepth 1 -name '*.??????' | wc -l
}

python() # NAME, the script on standard input
{
	if python3 - >out 2>&1; then
		echo "PASS: $1"
	else
		echo "FAIL: $1"
		tail -n 5 out
		status=1
	fi
}

# ---- csv, against JSON of the same events and intervals ----
says "csv" 0 "" "$yore" convert "$trace" csv --to csv
"$yore" events "$trace" --format json >events.json
"$yore" state "$trace" '**' --format json >state.json
python "csv: each event, each interval" <<'P'
import csv, json
events = [json.loads(line) for line in open("events.json")]
tables = {}
for e in events:
    name = e["name"].replace(":", ".")
    if name not in tables:
        tables[name] = csv.DictReader(open(f"csv/{name}.csv", newline=""))
    row = next(tables[name])
    want = {"ts": e["ts"], "stream": e["stream"], "cpu": e["cpu"]}
    for key, value in {**e["fields"], **e["context"]}.items():
        want["field_" + key if key in want else key] = value
    for key, value in want.items():
        assert row.pop(key) == ("" if value is None else str(value)), (e, key)
    assert not any(row.values()), row
for name, rows in tables.items():
    assert next(rows, None) is None, name
state = [json.loads(line) for line in open("state.json")]
rows = list(csv.DictReader(open("csv/state.csv", newline="")))
assert len(rows) == len(state)
text = lambda value: "" if value is None else str(value)
for s, row in zip(state, rows):
    known = s["begin"] is not None and s["end"] is not None
    assert row["path"] == s["path"] and row["ts"] == text(s["begin"]), row
    assert row["dur"] == (str(s["end"] - s["begin"]) if known else ""), row
    assert row["value"] == str(s["value"]), row
    assert row["value_int"] == (str(s["value"]) if type(s["value"]) is int else ""), row
P

# ---- sqlite, against yore sql ----

# Addresses are hexadecimal in yore's CSV; SQLite has their 64 bits with a sign.
signed() {
	python3 -c 'import re, sys
sys.stdout.write(re.sub(r"0x([0-9a-f]+)", lambda m: str((int(m[1], 16) ^ 1 << 63) - (1 << 63)), sys.stdin.read()))'
}

says "sqlite" 0 "" "$yore" convert "$trace" demo.db
for query in 'SELECT ts, stream, cpu, name, context, fields FROM events ORDER BY ts, stream' \
	'SELECT * FROM sched_switch ORDER BY ts' \
	'SELECT next_comm, count(*), sum(perf_period) FROM "sched:sched_switch" GROUP BY 1 ORDER BY 1' \
	'SELECT cpu, max(ts) FROM events GROUP BY cpu ORDER BY cpu'; do
	is "sqlite: $query" "$("$yore" sql "$trace" "$query" --format csv | tail -n +2 | signed | md5sum)" \
		"$(sqlite3 -csv demo.db "$query" | tr -d '\r' | md5sum)"
done
is "sqlite: the state's values have their types" "integer text" \
	"$(sqlite3 demo.db 'SELECT DISTINCT typeof(value) FROM state ORDER BY 1' | tr '\n' ' ' | sed 's/ $//')"

python "a trace whose event classes have no name, SQLite's own and a table's" <<'P'
import os, struct
os.makedirs("named")
names = ["", "sqlite_step", "events", "_"]
with open("named/metadata", "w") as file:
    file.write("""/* CTF 1.8 */
typealias integer { size = 8; align = 8; } := u8;
trace { major = 1; minor = 8; byte_order = le; };
stream { event.header := struct { u8 id; }; };
""")
    for i, name in enumerate(names):
        file.write('event { id = %d; name = "%s"; fields := struct { u8 n; }; };\n' % (i, name))
open("named/s", "wb").write(b"".join(struct.pack("BB", i, 10 + i) for i in range(len(names))))
P
says "sqlite: names of all kinds" 0 "" "$yore" convert named named.db --no-index
is "sqlite: each class has a table" "10 11 12 13" "$(for table in '' _sqlite_step events_2 _; do
	sqlite3 named.db "SELECT n FROM \"$table\""; done | tr '\n' ' ' | sed 's/ $//')"

# ---- chrome ----
says "chrome" 0 "" "$yore" convert "$trace" demo.json
"$yore" state "$trace" 'cpu[*]/thread' --format json >threads.json
python "chrome: slices are who ran, instants the events" <<'P'
import json
from decimal import Decimal
text = open("demo.json").read()
trace = json.loads(text, parse_float=Decimal)
zero = int(trace["otherData"]["zero_ns"])
ns = lambda us: int(us * 1000)
events = [json.loads(line) for line in open("events.json")]
end = events[-1]["ts"]
entries = trace["traceEvents"]
instants = [e for e in entries if e["ph"] == "i"]
assert [(zero + ns(i["ts"]), i["name"]) for i in instants] == [(e["ts"], e["name"]) for e in events]
assert all(i["args"] == e["fields"] for i, e in zip(instants, events))
names = {(e["pid"], e["tid"]): e["args"]["name"] for e in entries
         if e["ph"] == "M" and e["name"] == "thread_name"}
groups = {e["pid"]: e["args"]["name"] for e in entries
          if e["ph"] == "M" and e["name"] == "process_name"}
cpus = [p for p, name in groups.items() if name == "CPUs"][0]
assert names[(cpus, 0)] == "CPU 0"
got = [(e["tid"], zero + ns(e["ts"]), ns(e["dur"]), e["name"].split()[-1]) for e in entries
       if e["ph"] == "X" and e["pid"] == cpus]
want = []
for line in open("threads.json"):
    s = json.loads(line)
    if s["value"]:
        begin = max(s["begin"] or zero, zero)
        stop = min(s["end"] or end, end)
        want.append((int(s["path"][4:-8]), begin, stop - begin, str(s["value"])))
assert got == want, (got[:3], want[:3])
P

python "chrome: no stacks where there are none" <<'P'
import json
trace = json.load(open("demo.json"))
assert trace["stackFrames"] == {} and not any("sf" in e for e in trace["traceEvents"])
P

python "chrome: entries are as speedscope and the Firefox Profiler want them" <<'P'
import json
entries = json.load(open("demo.json"))["traceEvents"]
wants = {"M": set(), "i": {"ts"}, "X": {"ts", "dur"}, "C": {"ts"}}
wrong = [e for e in entries if not {"pid", "tid", "name", "ph"} | wants[e["ph"]] <= e.keys() or not isinstance(e["name"], str)]
assert not wrong and len(entries) > 100, wrong[:3]
P

# ---- folded ----
says "folded: no call chain" 1 "no event is a sample" "$yore" convert "$trace" demo.folded
perf=${YORE_CORPUS-}/perf-data/cpu-clock-callchain/perf.data
if [ -f "$perf" ]; then
	says "chrome: a recording with call chains" 0 "" "$yore" convert "$perf" chains.json
	"$yore" events "$perf" --name cpu-clock --format json >chains-events.json
	python "chrome: samples have their stacks, each frame its caller" <<'P'
import json
trace = json.load(open("chains.json"))
frames = trace["stackFrames"]
def stack(number):
    found = []
    while number:
        found.append((frames[str(number)]["name"], frames[str(number)].get("category")))
        number = frames[str(number)].get("parent")
    return found
MARKS = (1 << 64) - 4096  # whose addresses follow
def chain(event):
    found = [address for address in event["context"]["callchain"] if address < MARKS]
    while len(found) > 1 and not found[-1]:
        found.pop()
    return found
got = [stack(e.get("sf")) for e in trace["traceEvents"] if e["ph"] == "i" and e["name"] == "cpu-clock"]
want = [chain(json.loads(line)) for line in open("chains-events.json")]
assert len(got) == 250 and [len(g) for g in got] == [len(w) for w in want], (got[:1], want[:1])
assert len({number for number in frames}) == len({(json.dumps(f, sort_keys=True)) for f in frames.values()})
P
	is "folded, counted: a line's number is how many samples, as the Firefox Profiler reads it" 250 \
		"$("$yore" flamegraph "$perf" --count | awk '{ n += $NF } END { print n }')"
	is "folded is what the analysis prints" "$("$yore" run flamegraph "$perf" | md5sum)" \
		"$("$yore" convert "$perf" - --to folded | md5sum)"
else
	echo "SKIP: folded: no folder named by YORE_CORPUS"
fi

# ---- filters ----
says "filters" 0 "" "$yore" convert "$trace" few --to csv --no-state --name '*sched_switch' \
	--cpu 0 --begin +10ms --end +20ms --where 'next_pid != 0'
is "filters: one table" "sched.sched_switch.csv" "$(ls few)"
is "filters: as many rows as events" \
	"$("$yore" events "$trace" --name '*sched_switch' --cpu 0 --begin +10ms --end +20ms \
		--where 'next_pid != 0' --count)" "$(($(wc -l <few/sched.sched_switch.csv) - 1))"
says "attributes" 0 "" "$yore" convert "$trace" attributes --to csv --name 'none*' 'cpu[0]/**'
is "attributes: as many as state has" "$("$yore" state "$trace" 'cpu[0]/**' --format json | wc -l)" \
	"$(($(wc -l <attributes/state.csv) - 1))"

# ---- names that differ in upper and lower case alone ----
ovni=$top/fixtures/golden/ovni-demo
says "csv of names that SQL has as one" 0 "" "$yore" convert "$ovni" ovni --to csv
is "they share a table" "VAs.csv VHw.csv" "$(cd ovni && echo VA[sS].csv VH[wW].csv)"
is "a column says which it is" "$("$yore" sql "$ovni" 'SELECT ts, stream, cpu, name FROM VAs' --format csv)" "$(cat ovni/VAs.csv)"
is "other tables have none" "ts,stream,cpu" "$(head -n 1 ovni/OHe.csv)"
says "sqlite of such names" 0 "" "$yore" convert "$ovni" ovni.db
is "sqlite: it says so too" "$("$yore" sql "$ovni" 'SELECT name, count(*) FROM VHw GROUP BY name' --format csv | tail -n +2)" \
	"$(sqlite3 -csv ovni.db 'SELECT name, count(*) FROM VHw GROUP BY name' | tr -d '\r')"

# ---- CTF ----
events() # what a trace says, without what a writer of packets makes anew
{
	"$yore" events "$@" --format json --no-index 2>said |
		sed -e 's/"packet":{[^}]*},//' -e '/"name":"yore:state"/d'
	grep damaged said
}
equal() # NAME TRACE OUT [FILTERS...]: OUT has the events that the filters leave of TRACE
{
	name=$1 of=$2 out=$3
	shift 3
	events "$of" "$@" >want
	events "$out" >got
	cmp -s want got && [ -s want ]
	is "$name: each event" 0 $?
}
for to in ctf ctf2 ctf2010; do
	says "$to" 0 "" "$yore" convert "$trace" $to --to $to
	equal $to "$trace" $to
	says "$to: again" 0 "" "$yore" convert $to $to-again --to ctf1.8
	equal "$to: again" "$trace" $to-again
	says "$to: filtered" 0 "" "$yore" convert "$trace" $to-few --to $to --begin +5ms --end +9ms \
		--name '*sched_switch' --where 'next_pid != 0'
	equal "$to: filtered" "$trace" $to-few --begin +5ms --end +9ms --name '*sched_switch' \
		--where 'next_pid != 0'
	says "$to: a CPU" 0 "" "$yore" convert "$trace" $to-cpu --to $to --cpu 1
	equal "$to: a CPU" "$trace" $to-cpu --cpu 1
	is "$to: a CPU is a file" "perf_stream_1" "$(cd $to-cpu && ls perf_stream_*)"
	says "$to: with state" 0 "" "$yore" convert "$trace" $to-state --to $to --begin +5ms --end +9ms \
		--with-state
	is "$to: with state, the state at the beginning" "$("$yore" at "$trace" +5ms '**' --before --format json |
		python3 -c 'import json,sys
for line in sys.stdin:
    a = json.loads(line)
    if a.get("known", True): print(a["path"], json.dumps(a["value"]), a["since"])')" \
		"$("$yore" events $to-state --stream yore_state --format json | python3 -c 'import json,sys
for line in sys.stdin:
    e = json.loads(line)["fields"]
    if e["value"] != "null": print(e["path"], json.dumps(json.loads(e["value"])), e["since"] if e["since"] > -2**63 else None)')"
	equal "$to: with state" "$trace" $to-state --begin +5ms --end +9ms
done
is "ctf: lossless copies keep the UUID" "$("$yore" info "$trace" | grep ^uuid)" "$("$yore" info ctf | grep ^uuid)"
is "ctf: parts do not" 0 "$("$yore" info "$trace" | grep -c "$("$yore" info ctf-few | grep ^uuid)")"
if command -v babeltrace2 >/dev/null; then
	babeltrace2 --clock-seconds "$trace" | sed 's/ {.*//' >want
	babeltrace2 --clock-seconds ctf | sed 's/ {.*//' >got
	cmp -s want got
	is "ctf: babeltrace2 reads the same" 0 $?
else
	echo "SKIP: ctf: babeltrace2 is not installed"
fi
"$build/fixtures/yore-gen" --out whole --size 1M --seed 5 --no-truth >/dev/null || exit 99
if command -v python3 >/dev/null; then
	python3 "$top/tests/convert/with_state.py" "$yore" whole --missing "$trace" || status=1
else
	echo "SKIP: with state, asked: no python3"
fi
"$build/fixtures/yore-gen" --out lossy --size 2M --lose 0.5 --packet-size 16384 --no-truth >/dev/null || exit 99
for to in ctf ctf2 ctf2010; do
	says "$to: losses" 0 "" "$yore" convert lossy lossy-$to --to $to --no-index
	equal "$to: losses" lossy lossy-$to
	is "$to: losses, packets are not the source's" 1 "$("$yore" info lossy-$to | grep -c '^losses')"
done
(ulimit -n 16 && "$yore" convert lossy lossy-narrow --to ctf --no-index) 2>err &&
	diff -r lossy-ctf lossy-narrow >/dev/null
is "ctf: more files than descriptors" 0 $?
mkdir merged
"$yore" convert "$trace" merged/out --with lossy --offset lossy=+0s --to ctf --no-index 2>err
is "ctf: of two traces a folder each" 2 "$(find merged/out -name metadata | wc -l)"
is "ctf: of two traces all events" "$("$yore" events "$trace" --with lossy --offset lossy=+0s --count --no-index 2>err)" \
	"$("$yore" events merged/out --count --no-index 2>err)"
says "ctf has no intervals" 2 "no place for attributes" "$yore" convert "$trace" what 'cpu[0]/**' --to ctf
says "csv has no events of state" 2 "--with-state is for ctf" "$yore" convert "$trace" what --to csv \
	--with-state

# ---- names, and what is left ----
says "a folder that is not empty" 1 "there is something already" "$yore" convert "$trace" csv --to csv
mkdir empty
says "an empty folder is taken" 0 "" "$yore" convert "$trace" empty --to parquet
echo old >old.json
says "a file is replaced" 0 "" "$yore" convert "$trace" old.json
is "a file is replaced, whole" "{\"traceEvents\":[" "$(head -n 1 old.json)"
says "no format" 2 "--to FORMAT" "$yore" convert "$trace" what
says "an unknown format" 2 "none of csv, sqlite, chrome, perfetto, folded, pprof, parquet" \
	"$yore" convert "$trace" what --to xml
says "no such folder" 1 "No such file" "$yore" convert "$trace" no/such/x.json
says "folders do not go to a pipe" 2 "folder of files" "$yore" convert "$trace" - --to csv
says "a full disk" 1 "No space left" "$yore" convert "$trace" /dev/full --to chrome
says "a full disk, perfetto" 1 "No space left" "$yore" convert "$trace" /dev/full --to perfetto
if [ -w /dev/shm ]; then
	shared=$(mktemp -d /dev/shm/yore.XXXXXX)
	says "a file in /dev/shm" 0 "" "$yore" convert "$trace" "$shared/x.json"
	is "a file in /dev/shm, whole" "{\"traceEvents\":[" "$(head -n 1 "$shared/x.json")"
	rm -r "$shared"
fi
is "a closed pipe is no error" 0 "$( ("$yore" convert "$trace" - --to chrome; echo $? >code) |
	head -c 10 >/dev/null; cat code)"
is "nothing is left" 0 "$(left)"

"$build/fixtures/yore-gen" --out large --size 66M --seed 6 --no-truth >/dev/null || exit 99
says "chrome: the state of a large trace, which comes in stretches" 0 "" "$yore" convert large large.json 'thread[*]/state' --name 'none*'
says "events of a short range of a large trace" 0 "" "$yore" convert large short --to csv --no-state --begin +100ms --end +110ms --no-index --stats
is "a few packets hold them" yes "$(python3 -c 'import json, sys; print("yes" if json.loads(sys.stdin.readlines()[-1])["bytes_read"] < 20e6 else "no")' <err)"
says "its state takes all of the trace, which is told" 0 "so all of the trace is read, 6" "$yore" convert large short-state --to csv --name 'none*' --begin +100ms --end +110ms --no-index
says "where timelines are stored it does not" 0 "" "$yore" index large --timelines --index-dir "$work/timelines"
"$yore" convert large short-stored --to csv --name 'none*' --begin +100ms --end +110ms --index-dir "$work/timelines" 2>err
is "and nothing is told" 0 "$(grep -c 'all of the trace' err)"
is "the intervals are the same" "$(md5sum <short-state/state.csv)" "$(md5sum <short-stored/state.csv)"
is "chrome: one track for each path" "$("$yore" state large 'thread[*]/state' --format csv | cut -d, -f4 | tail -n +2 | sort -u | wc -l)" \
	"$(grep -c '"thread_name".*"thread\[' large.json)"
for to in parquet sqlite chrome perfetto csv ctf; do
	"$yore" convert large interrupted --to $to >/dev/null 2>err &
	pid=$!
	catches_int $pid
	sleep 0.3
	kill -INT $pid
	wait $pid
	is "interrupted: $to" 130 $?
	is "interrupted: $to leaves nothing" 0 "$(find . -maxdepth 1 -name 'interrupted*' | wc -l)"
done
exit $status

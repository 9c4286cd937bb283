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
    want = {"ts": e["t"], "stream": e["stream"], "cpu": e["cpu"]}
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
says "sqlite" 0 "" "$yore" convert "$trace" demo.db
for query in 'SELECT ts, stream, cpu, name, context, fields FROM events ORDER BY ts, stream' \
	'SELECT * FROM sched_switch ORDER BY ts' \
	'SELECT next_comm, count(*), sum(perf_period) FROM "sched:sched_switch" GROUP BY 1 ORDER BY 1' \
	'SELECT cpu, max(ts) FROM events GROUP BY cpu ORDER BY cpu'; do
	is "sqlite: $query" "$("$yore" sql "$trace" "$query" --format csv | tail -n +2 | md5sum)" \
		"$(sqlite3 -csv demo.db "$query" | tr -d '\r' | md5sum)"
done
is "sqlite: the state's values have their types" "integer text" \
	"$(sqlite3 demo.db 'SELECT DISTINCT typeof(value) FROM state ORDER BY 1' | tr '\n' ' ' | sed 's/ $//')"

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
end = events[-1]["t"]
entries = trace["traceEvents"]
instants = [e for e in entries if e["ph"] == "i"]
assert [(zero + ns(i["ts"]), i["name"]) for i in instants] == [(e["t"], e["name"]) for e in events]
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

# ---- folded ----
says "folded: no call chain" 1 "no event has a call chain" "$yore" convert "$trace" demo.folded
perf=${YORE_CORPUS-}/perf-data/cpu-clock-callchain/perf.data
if [ -f "$perf" ]; then
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

# ---- names, and what is left ----
says "a folder that is not empty" 1 "there is something already" "$yore" convert "$trace" csv --to csv
mkdir empty
says "an empty folder is taken" 0 "" "$yore" convert "$trace" empty --to parquet
echo old >old.json
says "a file is replaced" 0 "" "$yore" convert "$trace" old.json
is "a file is replaced, whole" "{\"traceEvents\":[" "$(head -n 1 old.json)"
says "no format" 2 "--to FORMAT" "$yore" convert "$trace" what
says "an unknown format" 2 "none of csv, sqlite, chrome, folded, parquet" \
	"$yore" convert "$trace" what --to xml
says "no such folder" 1 "No such file" "$yore" convert "$trace" no/such/x.json
says "folders do not go to a pipe" 2 "folder of files" "$yore" convert "$trace" - --to csv
says "a full disk" 1 "No space left" "$yore" convert "$trace" /dev/full --to chrome
is "a closed pipe is no error" 0 "$( ("$yore" convert "$trace" - --to chrome; echo $? >code) |
	head -c 10 >/dev/null; cat code)"
is "nothing is left" 0 "$(left)"

"$build/fixtures/yore-gen" --out large --size 60M --seed 6 --no-truth >/dev/null || exit 99
for to in parquet sqlite chrome csv; do
	"$yore" convert large interrupted --to $to >/dev/null 2>err &
	pid=$!
	sleep 0.3
	kill -INT $pid
	wait $pid
	is "interrupted: $to" 130 $?
	is "interrupted: $to leaves nothing" 0 "$(find . -maxdepth 1 -name 'interrupted*' | wc -l)"
done
exit $status

#!/bin/sh
# Names beside threads. The judges: a trace whose events are written below, and what the simulator
# of yore-gen writes into sched_switch, which no rule deletes.
. "${srcdir:-.}/tests/shell.sh"
export YORE_LUA_DIR="$top/lua-lib"
"$build/fixtures/yore-gen" --out "$work/t" --size 2M --seed 3 --no-truth >"$work/printed" 2>&1 ||
	fail "yore-gen: $(cat "$work/printed")"

# tid → the names that sched_switch gives it, when it is switched out of a CPU
"$yore" events "$work/t" --name sched_switch --format json | python3 -c '
import json, sys
told, died = {}, []
for line in sys.stdin:
    event = json.loads(line)
    if "fields" not in event:
        continue
    fields = event["fields"]
    for side in ("prev", "next"):
        if fields[side + "_tid"]:
            told.setdefault(fields[side + "_tid"], []).append((event["ts"], fields[side + "_comm"]))
        if side == "prev" and fields["prev_state"] & 0x70:
            died.append((fields["prev_tid"], event["ts"], fields["prev_comm"]))
json.dump(told, open(sys.argv[1], "w"))
json.dump(sorted(died), open(sys.argv[2], "w"))' "$work/told.json" "$work/died.json" || fail "events --format json"

"$yore" cputop "$work/t" threads --format csv >"$work/top" 2>"$work/printed"
python3 - "$work/told.json" "$work/top" >"$work/printed" 2>&1 <<'PY'
import csv, json, sys
told = json.load(open(sys.argv[1]))
rows = list(csv.DictReader(open(sys.argv[2])))
wrong = 0
for row in rows:
    if row["comm"] not in [n for _, n in told[row["tid"]]][-2:]:
        wrong += 1
        print("thread", row["tid"], "is", repr(row["comm"]), "and was told", told[row["tid"]][-1])
print(len(rows), "threads,", wrong, "wrong")
sys.exit(wrong or len(rows) < 50)
PY
result $? "cputop names threads that were freed before the range's end"

"$yore" state "$work/t" 'cpu[*]/thread' 'thread[*]/state' --format json >"$work/rows" 2>"$work/printed"
cat >"$work/judge.py" <<'PY'
import json, sys, bisect
told = {int(k): [tuple(n) for n in v] for k, v in json.load(open(sys.argv[1])).items()}
rows = wrong = unnamed = 0
for line in open(sys.argv[2]):
    row = json.loads(line)
    path = row["path"]
    tid = row["value"] if path.endswith("/thread") else int(path[7:path.index("]")])
    t = row["begin"]
    if path.endswith("/thread") and tid == 0 and row["comm"] != "swapper":
        sys.exit("the idle thread has no name: " + line)
    if t is None or tid == 0 or tid not in told:
        continue
    rows += 1
    # at that moment or before it, or, of who was not told of before, the first one told
    names = told[tid]
    i = bisect.bisect_right(names, (t, "\x7f" * 16))
    near = {names[i - 1][1] if i else names[0][1], names[min(i, len(names) - 1)][1]}
    unnamed += not row.get("comm")
    if row.get("comm") and row["comm"] not in near:
        wrong += 1
        print(line.strip(), "was told", near)
print(rows, "rows,", wrong, "wrong,", unnamed, "without a name")
sys.exit(wrong or rows < 1000 or unnamed * 50 > rows)
PY
python3 "$work/judge.py" "$work/told.json" "$work/rows" >"$work/printed" 2>&1
result $? "state: every row of a thread has the name that it had then"

# A thread that calls exec, or renames itself, while it runs: the switch to it told the older name.
"$yore" at "$top/fixtures/golden/sched-demo" $(seq -f +%.0fus 0 31 9000) 'cpu[*]/thread' 'thread[*]/name' \
	--format json --no-index >"$work/plain" 2>"$work/printed" &&
	python3 - "$work/plain" >"$work/printed" 2>&1 <<'PY'
import json, sys
names, threads = {}, []
for line in open(sys.argv[1]):
    row = json.loads(line)
    if row["path"].endswith("/name") and row["value"]:
        names[row["ts"], int(row["path"][7:row["path"].index("]")])] = row["value"]
    elif row["path"].startswith("cpu[") and row["value"]:
        threads.append(row)
wrong = [row for row in threads if row.get("comm") != names.get((row["ts"], row["value"]))]
print(len(threads), "rows,", len(wrong), "wrong", *wrong[:3])
sys.exit(bool(wrong) or len(threads) < 200)
PY
result $? "at: a thread that is a value has its name of that moment"
"$yore" index "$top/fixtures/golden/sched-demo" --timelines --index-dir "$work/i" >"$work/printed" 2>&1 &&
	"$yore" at "$top/fixtures/golden/sched-demo" $(seq -f +%.0fus 0 31 9000) 'cpu[*]/thread' 'thread[*]/name' \
		--format json --index-dir "$work/i" >"$work/stored" 2>"$work/printed" &&
	cmp "$work/plain" "$work/stored" >"$work/printed" 2>&1
result $? "at: so it has from timelines"

# Where names are asked for anyway, thousands of rows take theirs from the rows themselves.
"$yore" state "$work/t" 'cpu[*]/thread' 'thread[*]/**' --end +3ms --no-index --format json >"$work/rows" 2>"$work/printed"
[ "$(wc -l <"$work/rows")" -gt 5000 ] && [ "$(wc -l <"$work/rows")" -lt 16384 ] &&
	python3 "$work/judge.py" "$work/told.json" "$work/rows" >"$work/printed" 2>&1
result $? "state: so has every row beside thread[*]/name"
"$yore" state "$work/t" 'cpu[*]/thread' 'thread[*]/**' --end +3ms --no-index --format json --limit 16384 >"$work/asked" 2>"$work/printed"
cmp "$work/rows" "$work/asked" >"$work/printed" 2>&1
result $? "state: these are the names that a question for them gives"

# SQL: a row per life of a thread id. The judge of ends: the switches out of threads that died.
"$yore" sql "$work/t" 'SELECT tid, end, comm, begin FROM threads' --format json >"$work/lives" 2>"$work/printed"
python3 - "$work/died.json" "$work/lives" >"$work/printed" 2>&1 <<'PY'
import json, sys
died = [tuple(d) for d in json.load(open(sys.argv[1]))]
lives = [json.loads(line) for line in open(sys.argv[2])]
ended = sorted((l["tid"], l["end"], l["comm"]) for l in lives if l["end"] is not None)
print([d for d in died if d not in ended][:5], "not in the table")
print([l for l in ended if l not in died][:5], "did not die")
bad = [l for l in lives if l["end"] is not None and l["begin"] is not None and l["begin"] >= l["end"]]
print(bad[:5], "end before they begin")
sys.exit(died != ended or len(died) < 50 or bool(bad))
PY
result $? "threads: a row per life, which ends when the thread dies"

# The name of each interval's thread by table, function and judge.
"$yore" sql "$work/t" "SELECT path, ts AS begin, value, comm FROM state('cpu[*]/thread')" \
	--format json >"$work/rows" 2>"$work/printed"
python3 "$work/judge.py" "$work/told.json" "$work/rows" >"$work/printed" 2>&1
result $? "state.comm: every row of a thread has the name that it had then"
"$yore" sql "$work/t" "SELECT count(*) > 1000, count(comm) - count(comm(value, ts)),
	sum(comm(value, ts) <> comm) FROM state('cpu[*]/thread') WHERE ts IS NOT NULL AND value <> 0" \
	>"$work/printed" 2>&1
[ "$(cat "$work/printed")" = "1  0  0" ]
result $? "comm(tid, ts) says what state.comm says"

# Thread 7 lives twice: as old until 500 (its last switch; freed at 600), as new from 700 on, and is
# not on a CPU after 800. Thread 8 is told of and freed before anything else runs.
mkdir "$work/twice"
python3 - "$work/twice" <<'PY'
import struct, sys
events = {0: ("sched_switch", "prev_comm[16] prev_tid prev_prio prev_state next_comm[16] next_tid next_prio"),
          1: ("sched_process_fork", "parent_comm[16] parent_tid child_comm[16] child_tid"),
          2: ("sched_process_free", "comm[16] tid prio"),
          3: ("sched_wakeup", "comm[16] tid prio target_cpu")}
text = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := char8;
typealias integer { size = 32; align = 8; signed = true; } := i32;
trace { major = 1; minor = 8; byte_order = le; };
clock { name = c; freq = 1000000000; };
stream {
	packet.context := struct { integer { size = 32; align = 8; signed = false; } cpu_id; };
	event.header := struct { integer { size = 8; align = 8; signed = false; } id;
		integer { size = 64; align = 8; signed = false; map = clock.c.value; } timestamp; }; };
"""
for number, (name, fields) in events.items():
    members = "".join(("char8 %s; " if "[" in f else "i32 %s; ") % f for f in fields.split())
    text += "event { name = %s; id = %d; fields := struct { %s}; };\n" % (name, number, members)
open(sys.argv[1] + "/metadata", "w").write(text)
data = struct.pack("<I", 0)
def event(number, t, *values):
    global data
    data += struct.pack("<BQ", number, t)
    for value in values:
        data += value.encode().ljust(16, b"\0") if isinstance(value, str) else struct.pack("<i", value)
event(1, 100, "init", 1, "early", 8)
event(2, 200, "early", 8, 120)
event(1, 300, "init", 1, "old", 7)
event(0, 400, "idle", 0, 120, 0, "old", 7, 120)
event(0, 500, "old", 7, 120, 0x20, "idle", 0, 120)
event(2, 600, "old", 7, 120)
event(1, 700, "init", 1, "new", 7)
event(0, 710, "idle", 0, 120, 0, "new", 7, 120)
event(0, 800, "new", 7, 120, 1, "idle", 0, 120)
event(3, 900, "renamed", 7, 120, 0)
event(2, 950, "renamed", 7, 120)
event(1, 970, "named-in-between", 1, "late", 9)
open(sys.argv[1] + "/stream", "wb").write(data)
PY
printf 'event sched_switch\n  last/thread = field/prev_tid when field/prev_tid != 0\n' >"$work/last.rules"
check() { # NAME EXPECTED COMMAND...
	name=$1 expected=$2
	shift 2
	"$yore" "$@" >"$work/printed" 2>&1
	[ "$(sed 's/  *$//' "$work/printed")" = "$expected" ]
	result $? "$name"
}
check "threads: an id that is used again has a row per life" \
	"7  old  300  500
7  renamed  700  950
8  early  100  200" \
	sql "$work/twice" 'SELECT tid, comm, begin, end FROM threads WHERE tid IN (7, 8) ORDER BY 1, 3'
check "comm(): the name is that of the life which is there, or was last" \
	"NULL  old  old  old  new  renamed  renamed  early" \
	sql "$work/twice" 'SELECT comm(7, 299), comm(7, 599), comm(7, 600), comm(7, 699), comm(7, 700),
		comm(7, 949), comm(7, 5000), comm(8, 5000)'
"$yore" run cputop "$work/twice" --begin @100 --end @650 | tail -1 | grep -q '^ *7 .* old$'
result $? "cputop: the name is the one that the thread had when it ran"
"$yore" run cputop "$work/twice" --begin @100 --end @1000 | tail -1 | grep -q ' new$'
result $? "cputop: a name that was told after its last time on a CPU is not taken"
check "at: a value that is a thread has its name when it was freed meanwhile" \
	'{"ts":650,"t":650,"path":"last/thread","value":7,"comm":"old","since":500}
{"ts":750,"t":750,"path":"last/thread","value":7,"comm":"new","since":500}
{"ts":949,"t":949,"path":"last/thread","value":7,"comm":"renamed","since":800}' \
	at "$work/twice" @650 @750 @949 last/thread --format json --rules linux \
	--rules "$work/last.rules"

check "thread[T]/name is what any event told last: a fork tells the parent's" \
	'thread[1]/name  "init"
thread[1]/name  "named-in-between"' \
	sql "$work/twice" "SELECT 'thread[1]/name', '\"' || state_at('thread[1]/name', 969) || '\"' UNION ALL
		SELECT 'thread[1]/name', '\"' || state_at('thread[1]/name', 970) || '\"'"

# The idle thread is told by what it was called from the start, however many names are asked for.
cat >"$work/idle.rules" <<'RULES'
initial thread[0]/name = "nobody"
event sched_switch
	thread[field/next_pid]/name = field/next_comm
	cpu[section/cpu]/thread     = field/next_pid
RULES
check "comm(): the idle thread's name is that of the start, for the first moment and for the hundredth" "nobody" \
	sql "$top/fixtures/golden/sched-demo" "SELECT DISTINCT comm(0, ts) FROM sched_switch" --rules "$work/idle.rules"
"$yore" state "$top/fixtures/golden/sched-demo" 'cpu[*]/thread' --rules "$work/idle.rules" 2>&1 | sed -n 's/.* 0 //p' | sort -u >"$work/printed"
[ "$(cat "$work/printed")" = nobody ]
result $? "state: the idle thread's name is that of the start"

# Lines of kernel traces; the corpus has names that COMM and FORK records alone tell.
corpus=${YORE_CORPUS:-$top/../shared/corpus}
set -- fixtures/golden/sched-perf/perf.data fixtures/golden/sched-ftrace/trace.dat
stacks=$corpus/perf-data/dwarf-stack/perf.data
if [ -f "$stacks" ]; then
	"$yore" events "$stacks" --name cpu-clock --no-index >"$work/text" 2>"$work/printed"
	"$yore" events "$stacks" --name cpu-clock --no-index --format json >"$work/json" 2>>"$work/printed"
	! grep -q 'stack_user =' "$work/text" && grep -q 'stack_user_used = 512' "$work/text" && grep -q '"stack_user":"[^"]' "$work/json"
	result $? "lines of text leave the user's stack out, and JSON has it"
fi
if [ -d "$corpus/perf-data" ]; then
	for case in mixed-attrs sched-syscalls cpu-clock overwrite; do
		set -- "$@" "$corpus/perf-data/$case/perf.data"
	done
	set -- "$@" "$corpus/trace-dat/v6-sched-irq-syscalls/trace.dat"
else
	echo "SKIP: filtered lines of the corpus: no folder $corpus"
fi
cd "$top" && python3 "$top/tests/repl/filtered.py" "$yore" "$@" >"$work/printed" 2>&1
result $? "events: a filtered line has the name that it has without the filter"

# Of many rows as of few: the name at a row's begin, else the first one behind it.
perf=$top/fixtures/golden/sched-perf/perf.data demo=$top/fixtures/golden/sched-demo
"$yore" state "$perf" '**' --format json --no-index 2>/dev/null | grep -F '/parent"' >"$work/many"
for path in $(grep -o 'thread\[[0-9]*\]/parent' "$work/many" | sort -u | head -n 30); do
	"$yore" state "$perf" "$path" --format json --no-index >"$work/few" 2>/dev/null
	grep -F "\"$path\"" "$work/many" | diff - "$work/few"
done >"$work/printed"
[ -s "$work/many" ] && [ ! -s "$work/printed" ]
result $? "a thread beside one row has the name that it has beside many"

# Of a part of the trace as of all: also a row that began before it has the name of its begin.
for stored in no yes; do
	[ $stored = no ] || "$yore" index "$demo" --timelines --index-dir "$work/$stored" >/dev/null 2>&1
	for path in 'cpu[*]/**' 'cpu[0]/thread thread[*]/state' 'thread[*]/cpu cpu[*]/thread'; do
		# shellcheck disable=SC2086
		"$yore" state "$demo" $path --format json --index-dir "$work/$stored" >"$work/all" 2>/dev/null
		# shellcheck disable=SC2086
		"$yore" state "$demo" $path --begin +1ms --end +3ms --format json --index-dir "$work/$stored" 2>/dev/null |
			grep -vF '"end":null' | grep -vxF -f "$work/all" -
	done
done >"$work/printed"
[ -s "$work/all" ] && [ ! -s "$work/printed" ]
result $? "a thread that began before the range has the name that it had then"
exit $status

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
told = {}
for line in sys.stdin:
    event = json.loads(line)
    if "fields" not in event:
        continue
    fields = event["fields"]
    for side in ("prev", "next"):
        if fields[side + "_tid"]:
            told.setdefault(fields[side + "_tid"], []).append((event["t"], fields[side + "_comm"]))
json.dump(told, open(sys.argv[1], "w"))' "$work/told.json" || fail "events --format json"

"$yore" run cputop "$work/t" >"$work/top" 2>"$work/printed"
python3 - "$work/told.json" "$work/top" >"$work/printed" 2>&1 <<'PY'
import json, sys
told = json.load(open(sys.argv[1]))
rows = open(sys.argv[2]).read().split("   TID ")[1].splitlines()[1:]
wrong = 0
for row in rows:
    words = row.split()
    name = " ".join(words[5:])
    if name not in [n for _, n in told[words[0]]][-2:]:
        wrong += 1
        print("thread", words[0], "is", repr(name), "and was told", told[words[0]][-1])
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
    if t is None or tid == 0 or tid not in told:
        continue
    rows += 1
    # at that moment or before it, or, of who was not told of before, the first one told
    names = told[tid]
    i = bisect.bisect_right(names, (t, "\x7f" * 16))
    near = {names[i - 1][1] if i else names[0][1], names[min(i, len(names) - 1)][1]}
    unnamed += "comm" not in row
    if "comm" in row and row["comm"] not in near:
        wrong += 1
        print(line.strip(), "was told", near)
print(rows, "rows,", wrong, "wrong,", unnamed, "without a name")
sys.exit(wrong or rows < 1000 or unnamed * 50 > rows)
PY
python3 "$work/judge.py" "$work/told.json" "$work/rows" >"$work/printed" 2>&1
result $? "state: every row of a thread has the name that it had then"
exit $status

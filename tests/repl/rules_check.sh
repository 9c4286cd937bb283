#!/bin/sh
# What is wrong with rules is said: by `rules --check` with its place, and by a warning when the rules
# are used. Sets and files mix, files include others, and a prompt keeps its rules and its range.
. "${srcdir:-.}/tests/shell.sh"
cd "$work" || exit 99
demo=$top/fixtures/golden/sched-demo
export YORE_INDEX_DIR="$work/index"

# rules TEXT: into mine.rules
rules()
{
	printf "$1" >mine.rules
}

# says NAME WORDS: what was printed has the words
says()
{
	grep -qF -- "$2" printed
	result $? "$1"
}

# silent NAME WORDS: it has not
silent()
{
	! grep -qF -- "$2" printed
	result $? "$1"
}

# checked NAME TEXT STATUS WORDS: --check of rules with the demo says the words and ends so
checked()
{
	rules "$2"
	"$yore" rules --check mine.rules "$demo" >printed 2>&1
	[ $? = "$3" ] && grep -qF -- "$4" printed
	result $? "check: $1"
}

# used NAME TEXT WORDS: the same rules warn in these words when they are used, once
used()
{
	rules "$2"
	printf 'at +5ms\nat +6ms\n' | "$yore" "$demo" --rules mine.rules >printed 2>&1
	[ "$(grep -cF -- "yore: warning: mine.rules:$3" printed)" = 1 ]
	result $? "use: $1"
}

# unused NAME TEXT: they say nothing
unused()
{
	rules "$2"
	"$yore" at "$demo" +5ms --rules mine.rules 2>printed >/dev/null
	! grep -q warning printed
	result $? "use: $1"
}

swich='event sched_swich\n x = 1\n'
checked "an event that is mistyped" "$swich" 0 \
	'mine.rules:1:7: warning: the trace has no event called sched_swich; did you mean "sched:sched_switch"?'
used "an event that is mistyped" "$swich" '1:7: the trace has no event called sched_swich'
checked "the caret stands below the event" "$swich" 0 '
        ^'
star='event "sched:sched_sw*"\n x = 1\n'
checked "a glob in double quotes" "$star" 0 'taken literally, and no event is called "sched:sched_sw*"'
used "a glob in double quotes" "$star" '1:7: in double quotes a name is taken literally'
lone='event sched_switch\n x = next_pid\n'
checked "a lone name is no field" "$lone" 0 "the event's field is field/next_pid"
used "a lone name is no field" "$lone" '2:6: a lone name is an attribute of the state'
never='event sched_switch\n cpu[1]/thread = 3\n x = cpu[1]/tread\n'
checked "state that is never written" "$never" 0 \
	'3:6: warning: no line writes cpu[*]/tread, which is read here; did you mean "cpu[*]/thread"?'
used "state that is never written" "$never" '3:6: no line writes cpu[*]/tread'
when='event sched_switch\n x = 1 when sate == 1\n'
checked "state of a condition" "$when" 0 '2:13: warning: no line writes sate'
used "state of a condition" "$when" '2:13: no line writes sate'
head='event sched_switch when modus == 1\n x = 1\n y = 1\n'
used "state of a head's condition, once for all lines" "$head" '1:25: no line writes modus'
view='event sched_switch\n x[1] = 1\nview y[?k] = z[?k]\n'
used "state of a view" "$view" '3:14: no line writes z[*]'
key='event sched_switch\n x[curent] = 1\n'
used "state of a key" "$key" '2:4: no line writes curent'
field='event sched_switch\n x = field/next_pidd\n'
checked "a field that is mistyped" "$field" 0 \
	'2:6: warning: no event that matches has field/next_pidd; did you mean "next_pid" or "next_prio"?'
used "a field that is mistyped" "$field" '2:6: no event that matches has field/next_pidd'
env='event sched_switch\n x = env/releas\n'
checked "an environment value that is not there" "$env" 0 'has no env/releas; did you mean "release"?'
used "an environment value that is not there" "$env" '2:6: the trace has no env/releas'
section='event sched_switch\n x = section/cpuu\n'
used "a section value that nothing gives" "$section" '2:6: no section block writes section/cpuu'
stream='section nosuch\n section/a = 1\n'
used "a section that no stream has" "$stream" '1:9: the trace has no section called nosuch'
checked "a glob without an event" 'event nosuch_*\n x = 1\n' 0 'no event that matches nosuch_*'
two='event sched_switch, sched_swich\n x = 1\n'
checked "one of two events" "$two" 0 '1:21: warning: the trace has no event called sched_swich'

map='map m { 1 = 2 }\nmap m { 1 = 3 }\nevent sched_switch\n x = m(1)\n'
checked "two maps of one name" "$map" 1 "mine.rules:2:1: a map 'm' is there already, at mine.rules:1"
"$yore" at "$demo" +5ms --rules mine.rules >printed 2>&1
[ $? = 1 ] && grep -qF "a map 'm' is there already" printed
result $? "use: two maps of one name"
checked "a map that is mistyped" 'map states { }\nevent a\n x = state(1)\n' 1 'did you mean "states"?'
checked "a line that fails, how often and why" 'event sched_switch\n x = 1 / 0\n' 0 \
	'mine.rules:2: this line failed 261 times: a number does not fit'
# A backward question sees one event of them: the check goes over all of the trace.
backward='event sched_switch\n cpu[section/cpu]/x = 1 / (field/next_pid - field/next_pid)\n'
checked "a line that is asked backward" "$backward" 0 'failed 261 times'
expected=$("$yore" events "$demo" --name sched_switch --count)
[ "$expected" = 261 ]
result $? "as many as there are such events"
checked "nothing is wrong" 'event sched_switch\n x = 1\n y = x\n' 0 'no error, no warning'

i=0
: >mine.rules
while [ $i -lt 30 ]; do
	printf 'event nosuch%d\n x = 1\n' $i >>mine.rules
	i=$((i + 1))
done
"$yore" at "$demo" +5ms --rules mine.rules >printed 2>&1
[ "$(grep -c 'the trace has no event' printed)" = 20 ] && grep -qF 'mine.rules: 10 more such warnings' printed
result $? "use: many warnings are cut short"
"$yore" rules --check mine.rules "$demo" >printed 2>&1
[ "$(grep -c 'the trace has no event' printed)" = 30 ]
result $? "check: they are all told"

unused "what all tracers call it" 'event sched_switch, lttng_sched_switch\n x = 1\n'
unused "a glob may match nothing" 'event nosuch_*\n x = 1\n'
unused "what an initial value gives" 'initial a = 1\nevent sched_switch\n x = a\n'
unused "what a stack gives" 'event sched_switch\n push s = 1\n x = s + s[1]\n y = top(s)\n'
unused "what has() asks for" 'event sched_switch\n x = has(env/nothing) || has(field/nothing)\n'
unused "what an included set writes" 'include linux\nevent sched_switch\n x = cpu[0]/thread\n'
"$yore" at "$demo" +5ms >printed 2>&1
silent "the set that comes with yore warns of nothing" warning

rules "$field"
"$yore" rules --check mine.rules >printed 2>&1
says "without a trace nothing is said of its fields" 'no error, no warning'
"$yore" rules --check mine.rules "$demo" --format json >printed 2>&1
says "in JSON" '{"kind":"warning","file":"mine.rules","line":2,"column":6,"text":"no event that matches has field/next_pidd; did you mean \"next_pid\" or \"next_prio\"?","count":1}'
"$yore" rules --check mine.rules "$demo" --format csv >printed 2>&1
says "in CSV" 'failed,mine.rules,2,2,the event has no such field,261'
"$yore" rules linus >printed 2>&1
[ $? = 2 ] && grep -qF 'did you mean "linux"?' printed
result $? "a set that is mistyped"
"$yore" rules --check linus >printed 2>&1
says "a file that is not there" "linus: there is no such file, and no rule set 'linus': did you mean"

# Sets and files in any order, included ones.
printf 'event sched_switch\n mine = field/next_pid\n' >mine.rules
"$yore" at "$demo" +5ms mine 'cpu[0]/thread' --rules linux --rules mine.rules >printed 2>&1
[ "$(wc -l <printed)" = 2 ] && ! grep -q '?' printed
result $? "a set, then a file"
cp printed both
"$yore" at "$demo" +5ms mine 'cpu[0]/thread' --rules mine.rules --rules linux >printed 2>&1
cmp -s printed both
result $? "a file, then a set"
mkdir -p deep/er
printf 'include "../mine.rules"\ninclude linux\n' >deep/all.rules
printf 'include "deep/all.rules"\ninclude linux\ninclude "mine.rules"\n' >top.rules
"$yore" at "$demo" +5ms mine 'cpu[0]/thread' --rules top.rules >printed 2>&1
cmp -s printed both
result $? "files that include others, once each"
(cd deep/er && "$yore" at "$demo" +5ms mine 'cpu[0]/thread' --rules ../../top.rules) >printed 2>&1
cmp -s printed both
result $? "relative to the file that includes"
printf 'include "b.rules"\n' >a.rules
printf '\ninclude "a.rules"\n' >b.rules
"$yore" rules --check a.rules >printed 2>&1
[ $? = 1 ] && grep -qF 'b.rules:2:9: a.rules includes b.rules, which includes it again' printed &&
	grep -qF 'a.rules:1:9: the included file b.rules has errors' printed
result $? "a circle names both files"
printf 'include "self.rules"\n' >self.rules
"$yore" rules --check self.rules >printed 2>&1
says "a file that includes itself" 'self.rules includes itself, which includes it again'
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	printf 'include "chain%d.rules"\n' $((i + 1)) >chain$i.rules
done
: >chain21.rules
"$yore" rules --check chain1.rules >printed 2>&1
[ $? = 1 ] && grep -qF 'chain17.rules is not included: 16 files are already open' printed
result $? "a chain has an end"
printf 'include "nosuch.rules"\n' >a.rules
"$yore" rules --check a.rules >printed 2>&1
[ $? = 1 ] && grep -qF 'a.rules:1:9: nosuch.rules: No such file' printed
result $? "an included file that is not there"
mkfifo pipe.rules
printf 'include "pipe.rules"\n' >a.rules
timeout 120 "$yore" rules --check a.rules >printed 2>&1
says "an included pipe is not waited for" 'pipe.rules: this is no regular file'
printf 'event a\n x = )\n' >b.rules
printf 'include "b.rules"\n' >a.rules
"$yore" rules --check a.rules >printed 2>&1
grep -qF 'b.rules:2:6: expected a value' printed && grep -qF 'a.rules:1:9: the included file b.rules' printed
result $? "an error in an included file names both"

# A prompt keeps its rules. The answers are 7 or 8, of commands, Lua and SQL.
printf 'event sched_switch\n mine = 7\n' >mine.rules
printf 'event sched_switch\n mine = 8\n' >other.rules
cat >asks <<'EOF'
at +5ms mine
print(trace:at(trace:time("+5ms"), "mine"))
sql SELECT value FROM state_at('mine', 2120802351827);
EOF

# values NAME WORDS: first or second words of what was printed, but for the attribute's name
values()
{
	[ "$(sed 's/^mine *//; s/[[:blank:]].*//' printed | tr '\n' ' ')" = "$2 " ]
	result $? "$1"
}

"$yore" "$demo" --rules mine.rules <asks >printed 2>&1
values "--rules holds at the prompt, in Lua and in SQL" "7 7 7"
{
	cat asks
	echo '.rules other.rules'
	cat asks
} | "$yore" repl "$demo" --rules mine.rules >printed 2>&1
values ".rules changes them for all three" "7 7 7 8 8 8"
printf '.rules\n.rules linux mine.rules\n.rules\nat +5ms mine --rules other.rules\nat +5ms mine\n' |
	"$yore" "$demo" >printed 2>&1
sed -i '3s/^mine/FILE:mine/' printed
values "those in force, a command's own, and back" "linux.rules, linux FILE:mine.rules 8 7"
cat >change.lua <<'EOF'
local file = assert(io.open("mine.rules", "w"))
file:write("event sched_switch\n mine = 9\n")
file:close()
EOF
printf 'at +5ms mine\nat +5ms mine --rules mine.rules\ndofile("change.lua")\nat +5ms mine\nat +5ms mine --rules mine.rules\n.rules mine.rules\nat +5ms mine\n' |
	"$yore" "$demo" --rules mine.rules >printed 2>&1
values "a file that was changed is read anew where it is named" "7 7 7 9 9"
printf 'event x\n y = )\n' >bad.rules
printf '.rules bad.rules\nat +5ms mine\n.rules\n' | "$yore" "$demo" --rules other.rules >printed 2>&1
grep -qF 'bad.rules:2:6: expected a value' printed && grep -qF 'mine  8' printed &&
	[ "$(tail -1 printed)" = other.rules ]
result $? "rules with errors do not replace those in force"
printf 'at +5ms\n' | "$yore" "$demo" --rules bad.rules >printed 2>&1
[ $? = 1 ] && grep -qF 'bad.rules:2:6' printed
result $? "nor does a prompt begin with them"
printf 'print(trace:at(trace:time("+5ms"), "mine"))\n' >ask.lua
"$yore" run --rules other.rules ./ask.lua "$demo" >printed 2>&1
says "--rules holds in a script" 8
"$yore" sql "$demo" --rules other.rules ".rules" "SELECT path, value FROM state('mine') LIMIT 1" \
	>printed 2>&1
grep -qF other.rules printed && grep -qF 8 printed
result $? "and in sql"

# The range of a prompt limits SQL and Lua, too. The counts are those of --begin and --end.
events=$("$yore" events "$demo" --begin +1ms --end +2ms --count)
switches=$("$yore" events "$demo" --begin +1ms --end +2ms --count --name sched_switch)
intervals=$("$yore" state "$demo" 'cpu[*]/thread' --begin +1ms --end +2ms --format csv --time ns | tail -n +2 | wc -l)
cat >asks <<'EOF'
range +1ms +2ms
events --count
sql SELECT count(*) FROM events;
sql SELECT count(*) FROM (SELECT ts FROM events ORDER BY ts DESC);
sql SELECT count(*) FROM "sched:sched_switch";
sql SELECT count(*) FROM state('cpu[*]/thread');
local n = 0; for e in trace:events() do n = n + 1 end print(n)
local n = 0; for e in trace:events{name = "sched_switch"} do n = n + 1 end print(n)
local n = 0; for p, b in trace:intervals("cpu[*]/thread") do n = n + 1 end print(n)
sql SELECT count(*) FROM events WHERE ts < 0;
range off
events --count
sql SELECT count(*) FROM events;
local n = 0; for e in trace:events{from = "+1ms", to = "+2ms"} do n = n + 1 end print(n)
EOF
"$yore" "$demo" <asks 2>&1 | grep -v ' to \|trace$' | tr '\n' ' ' >printed
all=$("$yore" events "$demo" --count)
[ "$(cat printed)" = "$events $events $events $switches $intervals $events $switches $intervals 0 $all $all $events " ] ||
	echo "expected: $events $events $events $switches $intervals $events $switches $intervals 0 $all $all $events" >>printed
! grep -q expected printed && [ "$events" -gt 0 ] && [ "$events" -lt "$all" ]
result $? "a range limits SQL and Lua"
printf 'range\nevents --count\n' | "$yore" repl "$demo" --begin +1ms --end +2ms >printed 2>&1
grep -q ' to ' printed && [ "$(tail -1 printed)" = "$events" ]
result $? "a range of the command line holds at the prompt"

# An alias is another name for a field, in conditions of commands and of Lua alike; SQL has the fields.
count=$("$yore" sql "$demo" 'SELECT count(*) FROM "sched:sched_switch" WHERE next_pid = 0' --format csv | tail -1)
"$yore" events "$demo" --where 'next == 0' --count >printed 2>&1
echo 'local n = 0; for e in trace:events{where = "next == 0"} do n = n + 1 end print(n)' |
	"$yore" "$demo" >>printed 2>&1
[ "$(tr '\n' ' ' <printed)" = "$count $count " ] && [ "$count" -gt 0 ]
result $? "an alias in --where and in Lua"

# State 0x40 is what the kernel's own format says of it, and of an older kernel a thread that died: as
# many as were freed.
perf=$top/fixtures/golden/sched-perf/perf.data
grep -aq '{ 0x00000040, "P" }' "$perf"
result $? "0x40 is parked for the kernel of the recording"
printf 'include linux\nevent sched_switch\n parked = prev_state(0x40)\n dead = prev_state(0x20)\n' >mine.rules
"$yore" at "$perf" +90ms parked dead --rules mine.rules >printed 2>&1
grep -q '^parked *"parked"' printed && grep -q '^dead *"dead"' printed
result $? "and so it is here"
old=${YORE_CORPUS:-$top/../shared/corpus}/ctf/real/many-threads
if [ -f "$old/metadata" ]; then
	freed=$("$yore" sql "$old" 'SELECT count(*) FROM sched_switch WHERE prev_state = 64' --format csv | tail -1)
	"$yore" state "$old" 'thread[*]/state' --format csv 2>/dev/null | cut -d, -f5 | grep -c '^"*dead"*$' >printed
	[ "$(cat printed)" = "$freed" ] && [ "$freed" -gt 1000 ]
	result $? "0x40 is dead before Linux 4.14"
else
	echo "SKIP: 0x40 is dead before Linux 4.14: there is no $old"
fi
exit $status

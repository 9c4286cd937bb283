#!/bin/sh
# The table of mistakes, mistakes.tsv: what a command says that is mistyped, or whose answer is
# empty. Its columns, parted by tabs:
#
#     COMMAND   in sh; `yore` is the program, `prompt TRACE LINE...` its prompt with these lines;
#               $D $P $F golden traces (CTF, perf.data, trace.dat), $L a generated one with losses,
#               $E an empty range of $D
#     STATUS    the exit status
#     WRONG     what standard error must say is wrong, as it stands
#     DO        what it must say to do instead, as it stands
#
# WRONG and DO `-`: standard error must be empty. A prompt's errors and notes are standard error,
# too. Rows that need a corpus are not here.
. "${srcdir:-.}/tests/shell.sh"
cd "$top" || exit 99
D=fixtures/golden/sched-demo P=fixtures/golden/sched-perf/perf.data
F=fixtures/golden/sched-ftrace/trace.dat L=$work/generated
program=$yore rows=0
"$build/fixtures/yore-gen" --out "$L" --size 200K --cpus 2 --seed 3 --no-truth >/dev/null || exit 99

yore() {
	"$program" "$@"
}

prompt() {
	trace=$1
	shift
	printf '%s\n' "$@" | "$program" "$trace"
}

# What of a row does not hold, in $work/printed.
check() {
	(eval "$1") >"$work/out" 2>"$work/err" </dev/null
	got=$?
	{
		[ "$got" = "$2" ] || echo "exit status $got, not $2"
		if [ "$3" = - ]; then
			[ ! -s "$work/err" ] || echo "says something:"
		else
			grep -qF -- "$3" "$work/err" || echo "does not say: $3"
			grep -qF -- "$4" "$work/err" || echo "does not say what to do: $4"
		fi
	} >"$work/printed"
	[ ! -s "$work/printed" ] && return
	cat "$work/err" >>"$work/printed"
	false
}

tab=$(printf '\t')
while IFS=$tab read -r command expected wrong remedy; do
	case $command in '' | '#'*) continue ;; esac
	rows=$((rows + 1))
	if [ -z "$remedy" ]; then
		echo "four columns are expected" >"$work/printed"
		result 1 "$command"
		continue
	fi
	check "$command" "$expected" "$wrong" "$remedy"
	result $? "$command"
done <tests/repl/mistakes.tsv
[ "$rows" -ge 120 ] || fail "only $rows rows were read"
exit $status

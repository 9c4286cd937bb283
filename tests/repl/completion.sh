#!/bin/bash
# Completion in the shell: what bash offers for a command line, and that zsh takes its file. The oracle of
# options is the man page.
. "${srcdir:-.}/tests/shell.sh"
mkdir "$work/bin"
ln -s "$yore" "$work/bin/yore"
export PATH="$work/bin:$PATH"
cd "$work" || exit 99
: >trace-file
. "$top/repl/completion/yore.bash"

offers() { # words of the line; the last is completed
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	_yore
	printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' '
}

check() { # expected, name, words
	local expected=$1 name=$2
	shift 2
	offers "$@" >printed
	[ "$(cat printed)" = "$expected" ]
	result $? "$name"
}

check "longest " "a command" yore longe
check "latency " "an analysis" yore laten
check "trace-file " "a trace" yore trace-
check "trace-file " "a trace behind a command" yore events trac
check "--format " "an option" yore events trace-file --form
check "csv " "a value" yore events trace-file --format c
check "csv json line table text " "values behind =" yore events trace-file --format =
check "json " "a value behind =" yore sql trace-file --format = j
check "clock iso ns relative seconds " "all values" yore events trace-file --time ""
check "bars csv json lami table " "formats of an analysis" yore latency trace-file --format ""
check "top " "a word of an analysis" yore latency trace-file t
check "freq log stats top " "all words of an analysis" yore latency trace-file ""
check "--from " "an option of an analysis" yore periods trace-file --fr
check "trace-file " "a file behind an option of an analysis" yore latency trace-file --svg trace-
check "longest " "a command to help" yore help long
missing=
for option in $(sed -n '/^.SH OPTIONS/,/^.SH EXIT/s/^\.[BI]*R* \(\\-\\-[a-z\\-]*\).*/\1/p' "$top/docs/yore.1" | sed 's/\\-/-/g'); do
	case " $(offers yore events trace-file --)" in
	*" $option "*) ;;
	*) yore help events | grep -q -e "^  $option\b" && missing="$missing $option" ;;
	esac
done
echo "$missing" >printed
[ -z "$missing" ]
result $? "all options of events in the manual are offered"
if command -v zsh >/dev/null; then
	zsh -n "$top/repl/completion/_yore" 2>printed
	result $? "zsh reads its file"
else
	echo "SKIP: zsh reads its file: there is no zsh"
fi
# A macro of two fonts takes its words apart and joins them: a sentence behind a full stop has a line of its own.
awk '/^[.](BI|BR|IR|RB|IB|RI) / { line = $0; gsub(/"[^"]*"/, "x", line); if (line ~ / [.] ./) print FILENAME ": " $0 }' \
	"$top"/docs/*.[0-9] >printed
[ ! -s printed ]
result $? "no sentence of a man page runs into an option"
exit $status

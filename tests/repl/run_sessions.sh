#!/bin/sh
# Transcripts: the lines that begin with "> " are given to the prompt of the trace that the first
# line names ("# trace PATH"); all it prints, messages too, must be the other lines. "# init PATH"
# names a start-up file.
. "${srcdir:-.}/tests/shell.sh"
cd "$top" || exit 99
for session in ${*:-tests/repl/*.session}; do
	trace=$(sed -n '1s/^# trace //p' "$session")
	init=$(sed -n 's/^# init //p' "$session")
	rm -rf "$XDG_CONFIG_HOME"
	mkdir -p "$XDG_CONFIG_HOME/yore"
	[ -z "$init" ] || cp "$init" "$XDG_CONFIG_HOME/yore/init.lua"
	grep -v -e '^> ' -e '^>$' -e '^# ' "$session" >"$work/expected"
	sed -n 's/^> \{0,1\}//p' "$session" | "$yore" "$trace" >"$work/printed" 2>&1
	if diff -u "$work/expected" "$work/printed" >"$work/diff"; then
		echo "PASS: $session"
	else
		echo "FAIL: $session"
		cat "$work/diff"
		status=1
	fi
done
exit $status

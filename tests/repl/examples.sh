#!/bin/sh
# Every example of the manual is run: the `$ yore ...` lines of each command's help and of the man
# pages must be answered (exit status 0).
. "${srcdir:-.}/tests/shell.sh"
mkdir "$work/bin"
ln -s "$yore" "$work/bin/yore"
export PATH="$work/bin:$PATH" TMPDIR="$work" PAGER=cat
cd "$top" || exit 99
count=0

{
	for command in $(yore help | sed -n 's/^  \([a-z]\{2,\}\)  *.*/\1/p' | sort -u); do
		yore help "$command" 2>/dev/null
	done
	cat docs/yore.1 docs/yore-rules.5 docs/yore-sql.7 2>/dev/null
} | sed -n 's/^ *\$ \(\(.*| *\)\{0,1\}yore .*\)/\1/p' | sed 's/\\-/-/g; s/\\(aq/'"'"'/g; s/\\e/\\/g' | sort -u >"$work/examples"

while read -r line; do
	count=$((count + 1))
	if ! (cd "$top" && timeout 60 sh -c "$line") </dev/null >"$work/out" 2>"$work/err"; then
		echo "FAIL: $line"
		head -n 3 "$work/err"
		status=1
	fi
done <"$work/examples"
if [ "$count" -lt 15 ]; then
	echo "FAIL: only $count examples found"
	status=1
fi
[ $status = 0 ] && echo "PASS: $count examples of the manual"
exit $status

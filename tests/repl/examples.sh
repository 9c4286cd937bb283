#!/bin/sh
# Every example of the manual is run: the `$ yore ...` lines of each command's help and of the man
# pages must be answered (exit status 0). Those of `yore view` and `serve` wait for a browser: tests/repl/view.py and serve.py run them.
. "${srcdir:-.}/tests/shell.sh"
mkdir "$work/bin"
ln -s "$yore" "$work/bin/yore"
export PATH="$work/bin:$PATH" TMPDIR="$work" PAGER=cat
cd "$top" || exit 99
count=0

# A relay for the examples that ask one, in place of one on its usual port.
rm -rf /tmp/yore-requests /tmp/yore-exchange
"$build/fixtures/yore-gen" --out "$work/requests" --size 40K --packet-size 4K --index --no-truth >/dev/null || exit 99
PYTHONDONTWRITEBYTECODE=1 python3 tests/live/made_relay.py "$work/requests" web1 requests >"$work/port" &
relay=$!
for _ in $(seq 600); do
	[ -s "$work/port" ] && break
	sleep 0.2
done
port=$(cat "$work/port")

{
	for command in $(yore help | sed -n 's/^  \([a-z]\{2,\}\)  *.*/\1/p' | sort -u); do
		yore help "$command" 2>/dev/null
	done
	cat docs/yore.1 docs/yore-rules.5 docs/yore-sql.7 2>/dev/null
} | sed -n 's/^ *\$ \(\(.*| *\)\{0,1\}yore .*\)/\1/p' | sed 's/\\-/-/g; s/\\(aq/'"'"'/g; s/\\e/\\/g' | grep -v '^yore view\|^yore serve' | sort -u >"$work/examples"

while read -r line; do
	count=$((count + 1))
	line=$(printf '%s\n' "$line" | sed "s|net://localhost|net://127.0.0.1:$port|")
	if ! (cd "$top" && timeout 120 sh -c "$line") </dev/null >"$work/out" 2>"$work/err"; then
		echo "FAIL: $line"
		head -n 3 "$work/err"
		status=1
	fi
done <"$work/examples"
kill $relay
rm -rf /tmp/yore-requests /tmp/yore-exchange
if [ "$count" -lt 15 ]; then
	echo "FAIL: only $count examples found"
	status=1
fi
[ $status = 0 ] && echo "PASS: $count examples of the manual"
exit $status

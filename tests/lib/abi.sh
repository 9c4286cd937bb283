#!/bin/sh
# abi.sh [--renew] - the binary interface of the libraries against tests/lib/*.abi, by abidiff of abigail-tools
#
# `make abi` runs it in a build with debugging information (-g), `make abi-renew` writes the dumps anew. They say how exported functions
# are called and how the structures of yore.h and yore-state.h lie in memory, on x86-64. Ends with 77 where it cannot be told here.
. "${srcdir:-.}/tests/shell.sh"

skip() # WORDS
{
	echo "skipped: the binary interface: $*"
	exit 77
}

command -v abidw >/dev/null && command -v abidiff >/dev/null || skip "no abidw and abidiff (apt install abigail-tools)"
[ "$(uname -m)" = x86_64 ] || skip "the dumps are of x86-64, and this machine is $(uname -m)"
mkdir "$work/headers"
cp "$top/yore.h" "$top/yore-state.h" "$work/headers"

dump() # LIBRARY
{
	abidw --headers-dir "$work/headers" --drop-private-types --no-corpus-path --no-comp-dir-path --no-show-locs --no-parameter-names \
		"$build/.libs/$1.so" >"$work/whole" 2>"$work/printed" &&
		python3 -B "$top/tests/lib/public_abi.py" <"$work/whole" >"$work/$1.abi" 2>"$work/printed"
}

for library in libyore libyore-state; do
	readelf -S "$build/.libs/$library.so" 2>/dev/null | grep -q '\.debug_info' || skip "$library.so has no debugging information (CFLAGS with -g)"
	dump $library || fail "abidw of $library"
	grep -q '<class-decl name="yore_events_options"' "$work/$library.abi" || skip "$library.so has no debugging information of types (CFLAGS with -g, not -g1)"
	if [ "${1-}" = --renew ]; then
		cp "$work/$library.abi" "$top/tests/lib/$library.abi" && echo "tests/lib/$library.abi is written anew"
		continue
	fi
	abidiff "$top/tests/lib/$library.abi" "$work/$library.abi" >"$work/printed" 2>&1 ||
		echo "'make abi-renew' writes the dump anew; docs/library.md says which changes break programs that are linked." >>"$work/printed"
	[ ! -s "$work/printed" ]
	result $? "$library has the interface of tests/lib/$library.abi"
	# that a change would be found
	sed '/<elf-symbol name="yore_event_time"/d' "$work/$library.abi" >"$work/less"
	! abidiff "$work/$library.abi" "$work/less" >"$work/printed" 2>&1 && grep -q "yore_event_time" "$work/printed"
	result $? "$library: a function that is gone is found"
	sed '/<class-decl name="yore_events_options"/s/size-in-bits="\([0-9]*\)"/size-in-bits="1\1"/' "$work/$library.abi" >"$work/other"
	! abidiff "$work/$library.abi" "$work/other" >"$work/printed" 2>&1 && grep -q "yore_events_options" "$work/printed"
	result $? "$library: a structure of another size is found"
done
exit $status

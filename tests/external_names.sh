#!/bin/sh
# Names of functions and variables that files share, by the archives of the rooms: the linker takes the first archive that has a
# name, and says nothing of a second one.
command -v nm >/dev/null || { echo "nm is not installed" >&2; exit 77; }
set -- libengine.a libindex.a libstate.a libaggregate.a liboneliner.a librows.a libsql.a libsqltables.a libconvert.a liblive.a libscript.a librepl.a
for archive in "$@"; do
	[ -f "$archive" ] || { echo "FAIL: $archive is not here: run it where yore was built"; exit 1; }
done
names=$(nm -g --defined-only "$@" | awk 'NF == 3 && $2 ~ /[TDBR]/ { print $3 }')
[ "$(echo "$names" | wc -l)" -gt 500 ] || { echo "FAIL: the archives have no names"; exit 1; }
twice=$(echo "$names" | sort | uniq -d)
[ -z "$twice" ] && { echo "ok: no name stands in two files"; exit 0; }
for name in $twice; do
	echo "FAIL: $name stands in more than one file"
	nm -A -g --defined-only "$@" | grep " $name\$"
done
exit 1

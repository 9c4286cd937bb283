#!/bin/sh
# libyore as it is installed: what it links and exports, and programs built with pkg-config that print
# what yore prints.
. "${srcdir:-.}/tests/shell.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL
so=$build/.libs/libyore.so.0
variable() { sed -n "s/^$1 = //p" "$build/Makefile" | head -n 1; }
sanitize=$(variable SANITIZE)
cc="$(variable CC) $sanitize"

# What is in it ---------------------------------------------------------------------------------

ldd "$so" >"$work/printed" 2>&1 && ! grep -E 'sqlite|lua|readline|pcre' "$work/printed"
result $? "libyore needs no SQLite, Lua, readline or PCRE"

# Names that the room state gives to others and no room below it has.
defined() { nm "$@" 2>/dev/null | awk '$2 ~ /^[A-TV-Za-tv-z]$/ && $3 != "" {print $3}' | sort -u; }
defined -g "$build"/libstate.a >"$work/state"
defined "$build"/libindex.a "$build"/libengine.a "$build"/libfollow.a "$build"/liblive.a >"$work/rooms"
comm -23 "$work/state" "$work/rooms" | grep -v '^[._$]\|^\(__\|yore_\)\|\.' >"$work/only"
defined "$so" >"$work/own"
{ comm -12 "$work/only" "$work/own"; echo "$(wc -l <"$work/only") names of state"; } >"$work/printed"
[ "$(wc -l <"$work/only")" -gt 300 ] && [ "$(wc -l <"$work/printed")" = 1 ] &&
	grep -qx state_open "$work/only" && grep -qx events_open "$work/own"
result $? "libyore has nothing of the room state"

sed -n 's/^	\(yore_[a-z_]*\);$/\1/p' "$top/lib/libyore.map" | sort >"$work/listed"
nm -D --defined-only "$so" | sed -n 's/.* T //p' | sort >"$work/printed"
sed 's/$/@@YORE_1/' "$work/listed" | cmp -s - "$work/printed"
result $? "libyore exports what libyore.map lists, all of version YORE_1"
$cc -E -P "$top/yore.h" | tr -d '\n' | tr ';' '\n' |
	sed -n 's/.*visibility("default").*[ *]\(yore_[a-z_]*\)(.*/\1/p' | sort >"$work/printed"
[ -s "$work/printed" ] && cmp -s "$work/listed" "$work/printed"
result $? "libyore.map lists the functions of yore.h"
nm -D --defined-only "$build/.libs/libyore-state.so.0" | sed -n 's/.* T //p' | sort >"$work/printed"
{ sed 's/$/@@YORE_1/' "$work/listed"
	sed -n 's/^	\(yore_[a-z_]*\);$/\1@@YORE_STATE_1/p' "$top/lib/libyore-state.map"; } |
	sort | cmp -s - "$work/printed"
result $? "libyore-state exports these and its own"
nm --defined-only "$build/libyore.a" | awk '$2 ~ /^[A-Z]$/ && $2 != "U" {print $3}' |
	grep -v '^__\(asan\|ubsan\|odr_asan\)\|^DW.ref\|^$' | sort >"$work/printed"
cmp -s "$work/listed" "$work/printed"
result $? "libyore.a defines these alone for others"

# Installed -------------------------------------------------------------------------------------

make -s -C "$build" DESTDIR="$work/root" install-libLTLIBRARIES install-includeHEADERS \
	install-nodist_pkgconfigDATA install-nodist_lib_archiveDATA install-man3 >"$work/printed" 2>&1
result $? "make install of the library"
prefix=$(variable prefix)
libdir=$(find "$work/root" -name libyore.so -exec dirname {} +)
export PKG_CONFIG_PATH="$libdir/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$work/root" LD_LIBRARY_PATH="$libdir"
[ -f "$work/root$prefix/share/man/man3/libyore.3" ] &&
	[ "$(pkg-config --modversion yore)" = "$(variable PACKAGE_VERSION)" ]
result $? "its manual page and version"
flags="-Wall -Wextra -Werror -O1"
for standard in "-xc -std=c99 -pedantic" "-xc++ -std=c++11 -pedantic"; do
	printf '#include <yore-state.h>\nint main(void) { struct yore_events_options o = YORE_EVENTS_ALL; return o.backward; }\n' >"$work/one.c"
	# shellcheck disable=SC2086,SC2046
	$cc $flags $standard -fsyntax-only $(pkg-config --cflags yore) "$work/one.c" >"$work/printed" 2>&1
	result $? "the headers alone, $standard"
done
for name in events window describe; do
	# shellcheck disable=SC2086,SC2046
	$cc $flags "$top/examples/$name.c" $(pkg-config --cflags --libs yore) -lm -o "$work/$name" \
		>"$work/printed" 2>&1
	result $? "examples/$name.c with pkg-config"
done
# shellcheck disable=SC2086,SC2046
$cc $flags "$top/examples/events.c" -o "$work/events-static" \
	$(pkg-config --static --cflags --libs yore | sed 's/-lyore\>/-l:libyore.a/') >"$work/printed" 2>&1 &&
	! ldd "$work/events-static" | grep libyore >"$work/printed"
result $? "examples/events.c with libyore.a"

# What the examples print -------------------------------------------------------------------------

same() { # TRACE...: lines and status of the example and of yore
	"$work/events" "$@" >"$work/ours" 2>"$work/printed"
	ours=$?
	first=$1
	shift
	for more in "$@"; do
		set -- "$@" --with "$more" --offset "$more=+0s"
		shift
	done
	"$yore" events "$first" "$@" --all --format json --no-index --no-symbols >"$work/theirs" 2>>"$work/printed"
	theirs=$?
	lines=$(($(wc -l <"$work/ours")))
	cmp "$work/ours" "$work/theirs" >>"$work/printed" 2>&1 && [ $ours = $theirs ]
}
golden=$top/fixtures/golden
for trace in sched-demo sched-perf/perf.data sched-ftrace/trace.dat intel-pt/perf.data ovni-demo \
	gdb-demo/trace.tf; do
	same "$golden/$trace"
	result $? "the events of $trace, $lines lines"
done
same "$golden/sched-demo" "$golden/sched-perf/perf.data"
result $? "two traces merged, $lines lines"
"$work/events-static" "$golden/sched-demo" >"$work/ours" 2>"$work/printed" &&
	"$yore" events "$golden/sched-demo" --format json --no-index >"$work/theirs" &&
	cmp "$work/ours" "$work/theirs" >>"$work/printed"
result $? "the same with libyore.a"

count=$("$build/fixtures/yore-gen" --out "$work/lossy" --size 300K --lose 0.3 --packet-size 4096 --no-truth \
	>/dev/null && "$work/events" "$work/lossy" | grep -c '"lost":')
same "$work/lossy"
result $? "a trace with $count losses, $lines lines"

"$work/window" "$golden/sched-demo" perf_stream_1 2120800000000 2120805000000 | sort >"$work/ours" &&
	"$yore" events "$golden/sched-demo" --stream perf_stream_1 --begin @2120800000000 \
		--end @2120805000000 --format json --no-index |
	sed 's/.*"name":"\([^"]*\)".*/\1/' | sort | uniq -c | sed 's/^ *//' | sort >"$work/theirs" &&
	[ -s "$work/ours" ] && diff "$work/ours" "$work/theirs" >"$work/printed"
result $? "examples/window.c: one stream between two moments"
"$work/window" "$golden/sched-demo" none 0 1 >"$work/printed" 2>&1
[ $? = 1 ] && grep -q 'no stream none' "$work/printed"
result $? "examples/window.c: no such stream"

if /usr/bin/python3 -c 'import bt2' 2>/dev/null; then
	/usr/bin/python3 "$top/tests/lib/describe_agree.py" "$work/describe" "$golden/sched-demo" >"$work/printed" 2>&1
	result $? "examples/describe.c: the classes that babeltrace2 finds"
	printf '#!/bin/sh\nexec "%s" "$2"\n' "$work/events" >"$work/as-yore"
	chmod +x "$work/as-yore"
	/usr/bin/python3 "$top/tests/oracle/events_agree.py" "$work/as-yore" "$golden/sched-demo" "$work/lossy" \
		>"$work/printed" 2>&1
	result $? "examples/events.c: the events that babeltrace2 finds"
else
	echo "SKIP: babeltrace2 as an oracle: python3-bt2 is not installed"
fi

corpus=${YORE_CORPUS-}
if [ ! -d "$corpus" ]; then
	echo "SKIP: the corpus: no folder ${corpus:-named by YORE_CORPUS}"
	exit $status
fi
corpus_traces() {
	find "$corpus/ctf" "$corpus/lttng-ust" "$corpus/perf-to-ctf" -name metadata -size -100k -exec dirname {} +
	find "$corpus/perf-data" -name perf.data -size -400k
	find "$corpus/trace-dat" -name trace.dat -size -400k
	find "$corpus/gdb" -name trace.tf
	find "$corpus/ovni" -maxdepth 2 -name ovni
	find "$corpus/sel4" -name 'log.*' -size -400k
}
# Under a sanitizer a quarter of them: processes that end after few events take most of the time.
every=1
[ -z "$sanitize" ] || every=4
corpus_traces | sort | awk -v every=$every 'NR % every == 0' >"$work/traces"
all=0 good=0
while read -r trace; do
	[ "$(du -sk "$trace" | cut -f 1)" -le 400 ] || continue
	all=$((all + 1))
	if same "$trace"; then
		good=$((good + 1))
	else
		echo "$trace: $ours, $theirs"
		head -n 3 "$work/printed"
	fi
done <"$work/traces" >"$work/differ"
mv "$work/differ" "$work/printed"
[ $all -gt $((200 / every)) ] && [ $good = $all ]
result $? "the corpus: $good of $all traces give the lines and the status of yore"

# All of it, in another prefix ---------------------------------------------------------------------

other=$work/other
make -s -C "$build" prefix="$other" install >"$work/printed" 2>&1
result $? "make install prefix=DIR, another one than configure's"
unset PKG_CONFIG_SYSROOT_DIR YORE_LUA_DIR
export PKG_CONFIG_PATH="$other/lib/pkgconfig" LD_LIBRARY_PATH="$other/lib"
[ "$(pkg-config --variable=prefix yore)" = "$other" ] && [ "$(pkg-config --variable=libdir yore-state)" = "$other/lib" ] &&
	pkg-config --cflags yore | grep -qF -- "-I$other/include"
result $? "yore.pc and yore-state.pc have that prefix"
[ "$(pkg-config --define-variable=prefix=/moved --variable=libdir yore)" = /moved/lib ]
result $? "and may be moved to a further one"
for page in man1/yore.1 man3/libyore.3 man3/yore-lua.3 man5/yore-rules.5 man7/yore-sql.7; do
	[ -s "$other/share/man/$page" ] || echo "$page is not there"
done >"$work/printed"
[ ! -s "$work/printed" ]
result $? "manual pages"
[ -s "$other/share/bash-completion/completions/yore" ] && [ -s "$other/share/zsh/site-functions/_yore" ]
result $? "completion of bash and zsh"
pages=$other/share/doc/yore
diff -r "$top/docs" "$pages/docs" | grep -v '\.[1357]$\|local\.mk$' >"$work/printed"
[ ! -s "$work/printed" ]
result $? "all pages of docs/"
cd "$pages" || exit 99
# shellcheck disable=SC2046
$cc $flags examples/events.c $(pkg-config --cflags --libs yore) -lm -o "$work/events-other" >"$work/printed" 2>&1 &&
	"$work/events-other" fixtures/golden/sched-demo >"$work/c" &&
	"$other/bin/yore" events fixtures/golden/sched-demo --format json --no-index | wc -l >"$work/n" &&
	[ "$(wc -l <"$work/c")" = "$(cat "$work/n")" ]
result $? "the installed example over the installed recording"
srcdir=$pages top_builddir=$other/bin python3 "$top/tests/repl/tutorial.py" >"$work/said" 2>&1
status_of_pages=$?
grep -A 5 -v '^PASS' "$work/said" >"$work/printed"
[ "$status_of_pages" = 0 ] && [ "$(grep -c '^PASS' "$work/said")" -gt 100 ]
result $? "the tutorial and the cookbook as they are installed"
cd "$top" || exit 99
make -s -C "$build" yore.pc yore-state.pc >"$work/printed" 2>&1
exit $status

#!/bin/sh
# bare-system.sh [PACKAGE.deb...] - the packages on a system that has nothing else
#
# Makes a minimal Debian 12 in a folder (debootstrap), and has autopkgtest install the packages there and run debian/tests. Without packages those
# beside the source's folder are meant, where dpkg-buildpackage puts them. YORE_MIRROR names another mirror than deb.debian.org.
# Needs root, debootstrap and autopkgtest, and about three minutes; ends with 77 where it cannot be done.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)

skip()
{
	echo "skipped: a bare system: $*"
	exit 77
}

[ "$(id -u)" = 0 ] || skip "it takes root to make one"
for tool in debootstrap autopkgtest; do
	command -v $tool >/dev/null || skip "no $tool (apt install $tool)"
done
[ $# -gt 0 ] || set -- "$source"/../*.deb
[ -f "$1" ] || skip "no packages: dpkg-buildpackage -b -us -uc makes them"
work=$(mktemp -d "${TMPDIR:-/var/tmp}/yore-bare-XXXXXX")
system=$work/system

leave()
{
	umount "$system/proc" 2>/dev/null || true
	rm -rf --one-file-system "$work"
}
trap leave EXIT
trap 'exit 130' INT TERM

debootstrap --variant=minbase bookworm "$system" "${YORE_MIRROR:-http://deb.debian.org/debian}" >"$work/log" 2>&1 || {
	tail -n 5 "$work/log"
	skip "debootstrap failed"
}
# yore links the files of its index into their folder by /proc, which each system has
mountpoint -q "$system/proc" || mount -t proc proc "$system/proc"
mkdir "$work/source"
(cd "$source" && tar -cf - debian tests/repl/tutorial.py) | tar -xf - -C "$work/source"
for package; do
	case $package in
	*-dbgsym_*) ;;
	*) packages="${packages-} $(realpath "$package")" ;;
	esac
done
# shellcheck disable=SC2086
autopkgtest --no-built-binaries ${packages-} "$work/source/" -- chroot "$system" >"$work/log" 2>&1 || status=$?
grep '^FAIL' -A 10 "$work/log" || true
sed -n '/@@@ summary/,/^autopkgtest/p' "$work/log" | grep -v '^autopkgtest'
exit "${status:-0}"

#!/bin/sh
# Names in docs/architecture.md and docs/glossary.md are true: each `file` `function()` of the walks is
# defined there, and each file that a page names exists.
cd "${srcdir:-.}" || exit 1
status=0
tr '\n' ' ' <docs/architecture.md | grep -oE '`[a-z0-9_/-]+\.c` +`[a-z0-9_]+\(\)`' | tr -d '`()' | sort -u |
	{
		count=0 bad=0
		while read -r file function; do
			count=$((count + 1))
			grep -qE "^[a-z].*[ *]$function\(" "$file" ||
				{ echo "docs/architecture.md: $file does not define $function()"; bad=1; }
		done
		[ "$count" -ge 20 ] || { echo "docs/architecture.md: only $count functions are named"; bad=1; }
		exit $bad
	} || status=1
for page in docs/architecture.md docs/glossary.md docs/extending.md docs/design/*.md; do
	for file in $(grep -oE '`[a-z-]+/[a-z0-9_/.-]+\.(c|h|sh|md|rules|mk|py)`' "$page" | tr -d '`' | sort -u); do
		[ -f "$file" ] || { echo "$page: $file does not exist"; status=1; }
	done
done
[ $status = 0 ] && echo "PASS: what the pages name is there"
exit $status

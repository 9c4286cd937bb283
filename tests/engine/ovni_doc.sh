#!/bin/sh
# The tables of events in docs/ovni.md are those that the reader is made of.
top=$(cd "${srcdir:-.}" && pwd)
models=$top/engine/ovni/models
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for model in ovni nosv nanos6 nodes openmp mpi tampi kernel; do
	awk -v doc=1 -f "$top/engine/ovni/models.awk" "$models/$model.model" || exit 1
done >"$work/made"
sed 1d "$work/made" >"$work/wanted"
sed -n '/^## Events/,$p' "$top/docs/ovni.md" | sed -n '/^### /,$p' >"$work/told"
if ! cmp -s "$work/wanted" "$work/told"; then
	echo "FAIL: docs/ovni.md has other tables than engine/ovni/models"
	diff -u "$work/told" "$work/wanted" | sed -n 1,20p
	exit 1
fi
echo "PASS: $(grep -c '^| `' "$work/told") rows of events in docs/ovni.md"

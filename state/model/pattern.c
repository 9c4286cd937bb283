/* pattern.c - see pattern.h */
#include "state/model/pattern.h"

#include "engine/base/varint.h"
#include "state/model/value_bytes.h"

enum cover pattern_covers(const struct pattern *pattern, const struct attrs *attrs, uint32_t attr,
			  bool subtree)
{
	uint32_t depth = attr_depth(attrs, attr);
	bool maybe = false;

	if (subtree ? depth < pattern->natoms + pattern->below : depth != pattern->natoms)
		return COVER_NO;
	for (; depth > pattern->natoms; depth--)
		attr = attr_parent(attrs, attr);
	for (uint32_t i = pattern->natoms; i-- > 0; attr = attr_parent(attrs, attr)) {
		const struct pattern_atom *atom = &pattern->atoms[i];
		if (attr_is_key(attrs, attr) == (atom->kind == PATTERN_NAME))
			return COVER_NO;
		if (atom->kind == PATTERN_OPEN)
			maybe = true;
		else if (atom->kind != PATTERN_ANY &&
			 !value_equal(&atom->value, attr_atom(attrs, attr)) &&
			 attr_atom(attrs, attr)->kind != VALUE_NONE) /* a shape's [*] */
			return COVER_NO;
	}
	return maybe ? COVER_MAYBE : COVER_YES;
}

uint32_t pattern_attr(const struct pattern *pattern, struct attrs *attrs)
{
	uint32_t attr = pattern->below ? ATTR_ABSENT : ATTR_ROOT;

	for (uint32_t i = 0; i < pattern->natoms && attr != ATTR_ABSENT; i++) {
		const struct pattern_atom *atom = &pattern->atoms[i];
		attr = atom->kind > PATTERN_KEY
			       ? ATTR_ABSENT
			       : attr_child(attrs, attr, atom->kind == PATTERN_KEY, &atom->value);
	}
	return attr;
}

bool pattern_equal(const struct pattern *a, const struct pattern *b)
{
	if (a->natoms != b->natoms || a->below != b->below)
		return false;
	for (uint32_t i = 0; i < a->natoms; i++)
		if (a->atoms[i].kind != b->atoms[i].kind ||
		    (a->atoms[i].kind != PATTERN_ANY &&
		     !value_equal(&a->atoms[i].value, &b->atoms[i].value)))
			return false;
	return true;
}

size_t pattern_find(const struct pattern *items, size_t count, const struct pattern *wanted)
{
	size_t i = 0;

	while (i < count && !pattern_equal(&items[i], wanted))
		i++;
	return i;
}

void pattern_write(struct buf *out, const struct pattern *pattern)
{
	buf_add_varint(out, pattern->natoms);
	for (uint32_t i = 0; i < pattern->natoms; i++) {
		buf_add_varint(out, pattern->atoms[i].kind);
		if (pattern->atoms[i].kind != PATTERN_ANY)
			value_write(out, &pattern->atoms[i].value);
	}
}

const uint8_t *pattern_read(const uint8_t *at, const uint8_t *end, struct attrs *attrs,
			    struct pattern *out)
{
	uint64_t natoms, kind;

	*out = (struct pattern){.any = true, .attr = ATTR_ABSENT};
	at = varint_get(at, end, &natoms);
	if (!at || natoms > PATH_ATOMS)
		return NULL;
	out->natoms = (uint32_t)natoms;
	for (uint32_t i = 0; i < natoms; i++) {
		at = varint_get(at, end, &kind);
		if (!at || kind > PATTERN_ANY)
			return NULL;
		out->atoms[i].kind = (__typeof__(out->atoms[i].kind))kind;
		if (kind != PATTERN_ANY)
			at = value_read(at, end, attrs, &out->atoms[i].value);
		if (!at)
			return NULL;
	}
	return at;
}

/* pattern.c - see pattern.h */
#include "state/model/pattern.h"

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
		else if (atom->kind != PATTERN_ANY && !attr_has_step(attrs, attr, &atom->value))
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

void io_pattern(struct io *io, struct pattern *pattern)
{
	size_t natoms = io_count(io, pattern->natoms);

	io->failed = io->failed || natoms > PATH_ATOMS;
	if (!io->out)
		*pattern = (struct pattern){
			.any = true, .attr = ATTR_ABSENT, .natoms = (uint32_t)natoms};
	for (size_t i = 0; i < natoms && !io->failed; i++) {
		struct pattern_atom *atom = &pattern->atoms[i];
		uint64_t kind = io_number(io, atom->kind);

		io->failed = io->failed || kind > PATTERN_ANY;
		atom->kind = (__typeof__(atom->kind))kind;
		if (kind != PATTERN_ANY)
			atom->value = io_value(io, atom->value);
	}
}

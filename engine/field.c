/* field.c - finding members and labels in a tree of field classes */
#include "engine/field.h"

#include "engine/base/search.h"

#include <string.h>

/* Compares the first bytes before it calls strcmp(): most names differ there. */
static inline bool same_name(const char *a, const char *b)
{
	return *a == *b && !strcmp(a, b);
}

const struct member *field_member(const struct field_class *structure, const char *name)
{
	for (uint32_t i = 0; i < structure->nmembers; i++)
		if (!structure->members[i].hidden && same_name(structure->members[i].name, name))
			return &structure->members[i];
	for (uint32_t i = 0; i < structure->nmembers; i++)
		if (!structure->members[i].hidden && same_name(structure->members[i].written, name))
			return &structure->members[i];
	return NULL;
}

const char *field_context_name(const struct field_class *own, const struct field_class *other,
			       const char *name, struct buf *scratch)
{
	if (!other || !field_member(other, name))
		return name;
	buf_clear(scratch);
	buf_printf(scratch, "context_%s", name);
	for (unsigned n = 2; field_member(own, buf_text(scratch)) ||
			     field_member(other, buf_text(scratch));
	     n++) {
		buf_clear(scratch);
		buf_printf(scratch, "context_%s_%u", name, n);
	}
	return buf_text(scratch);
}

const struct member *field_context_member(const struct field_class *own,
					  const struct field_class *other, const char *shown)
{
	const struct member *found = NULL;
	struct buf scratch = {0};

	for (uint32_t i = 0; other && !found && i < own->nmembers; i++) {
		const struct member *member = &own->members[i];
		if (!member->hidden && field_member(other, member->name) &&
		    !strcmp(field_context_name(own, other, member->name, &scratch), shown))
			found = member;
	}
	buf_release(&scratch);
	return found;
}

bool enum_label_holds(const struct enum_label *label, bool is_signed, uint64_t value)
{
	if (is_signed)
		return (int64_t)value >= (int64_t)label->low &&
		       (int64_t)value <= (int64_t)label->high;
	return value >= label->low && value <= label->high;
}

/* Binary search for the label that may hold `value`, compared unsigned; nlabels: none. */
static uint32_t rising_label(const struct field_class *integer, uint64_t value)
{
	uint32_t low = search_first(i, 0, integer->nlabels, integer->labels[i].low <= value);

	return low && integer->labels[low - 1].high >= value ? low - 1 : integer->nlabels;
}

const char *field_label(const struct field_class *integer, uint64_t value, uint32_t *next)
{
	if (integer->labels_rise) {
		uint32_t found = *next ? integer->nlabels : rising_label(integer, value);
		*next = integer->nlabels;
		return found < integer->nlabels ? integer->labels[found].name : NULL;
	}
	while (*next < integer->nlabels) {
		const struct enum_label *label = &integer->labels[(*next)++];
		if (integer->form == FORM_FLAGS ? (label->low & value) != 0
						: enum_label_holds(label, integer->is_signed, value))
			return label->name;
	}
	return NULL;
}

const char *field_labels(const struct field_class *integer, uint64_t value, struct buf *scratch)
{
	uint32_t next = 0;
	const char *label = field_label(integer, value, &next);
	const char *more = label ? field_label(integer, value, &next) : NULL;

	if (!more)
		return label;
	buf_clear(scratch);
	buf_add_text(scratch, label);
	for (; more; more = field_label(integer, value, &next))
		buf_printf(scratch, "|%s", more);
	return buf_text(scratch);
}

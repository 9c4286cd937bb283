/* column.c - see column.h; eight bytes are loaded and masked, except at the end of the input */
#include "engine/columns/column.h"

#include "engine/layout_internal.h"

#include <string.h>

enum {
	AHEAD = 32 /* entries that are prefetched: events are in no cache if their heads are old */
};

/* The step that decodes the field, and its offset, if all steps before it have constant sizes. */
static const struct layout_step *find_step(const struct event_class *class,
					   const struct field_path *path, uint32_t *offset)
{
	const struct layout *layout = class->layout;
	uint32_t slot = class->slot_base[path->scope] + path->slot;
	uint64_t at = 0, bits;

	if (!layout || !layout->bytewise || path->scope <= SCOPE_EVENT_HEADER)
		return NULL;
	for (const struct layout_step *step = layout->steps; layout_step_bits(step, &bits); step++) {
		*offset = (uint32_t)at;
		if (step->class == path->class && step->slot == slot)
			return step;
		at += bits / 8;
		if (at > UINT16_MAX)
			return NULL;
	}
	return NULL;
}

bool column_place(const struct event_class *class, const struct field_path *path,
		  struct column_place *out)
{
	const struct layout_step *step;
	uint32_t offset;
	uint64_t bits;

	if (path->class->kind != FIELD_INT && path->class->kind != FIELD_FLOAT)
		return false;
	step = find_step(class, path, &offset);
	if (!step || !layout_step_bits(step, &bits))
		return false;
	*out = (struct column_place){offset, (uint32_t)(bits / 8), step->class};
	return true;
}

static bool is_plain_text(const struct field_class *class)
{
	const struct field_class *element = class->element;

	return class->kind == FIELD_ARRAY && class->place == PLACE_HERE && !class->is_wide &&
	       class->encoding == ENCODING_UTF8 && !class->element_layout &&
	       element->kind == FIELD_INT && element->is_text && element->bits == 8 &&
	       layout_stride(element) == 8;
}

size_t column_text_places(const struct event_class *class, const struct field_path *path,
			  struct column_place *places, size_t most)
{
	static const struct field_class words[] = {{.kind = FIELD_INT, .align = 8, .bits = 8},
						   {.kind = FIELD_INT, .align = 8, .bits = 16},
						   {.kind = FIELD_INT, .align = 8, .bits = 24},
						   {.kind = FIELD_INT, .align = 8, .bits = 32},
						   {.kind = FIELD_INT, .align = 8, .bits = 40},
						   {.kind = FIELD_INT, .align = 8, .bits = 48},
						   {.kind = FIELD_INT, .align = 8, .bits = 56},
						   {.kind = FIELD_INT, .align = 8, .bits = 64}};
	const struct field_class *text = path->class;
	uint32_t offset;
	size_t n = 0;

	if (!is_plain_text(text) || !text->length || text->length > 8 * most ||
	    !find_step(class, path, &offset))
		return 0;
	for (uint32_t left = (uint32_t)text->length, bytes; left; left -= bytes) {
		bytes = left < 8 ? left : 8;
		places[n++] = (struct column_place){offset, bytes, &words[bytes - 1]};
		offset += bytes;
	}
	return n;
}

/* Can the value be loaded by a load, a mask and a sign extension? */
static bool column_is_plain(const struct field_class *class)
{
	return (class->kind == FIELD_INT || class->bits == 64) && !class->big_endian &&
	       !class->is_reversed && class->form != FORM_BOOL;
}

static inline uint64_t load8(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof value);
	return value;
}
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "load8() swaps elsewhere");

uint64_t column_value(const struct column_place *place, const struct column_input *in, uint64_t at)
{
	return layout_scalar(place->class, in->data, (at + place->offset) * 8);
}

/* Byte offset of the layout of an entry. */
static inline uint64_t body_of(const struct batch *batch, uint32_t entry)
{
	return (batch->at[entry] + batch->head[entry] + 7) / 8;
}

void column_load(const struct column_place *place, const struct column_input *in,
		 const struct batch *batch, const uint16_t *entries, uint32_t n, uint64_t *values)
{
	const struct field_class *class = place->class;
	const uint64_t mask = UINT64_MAX >> (64 - class->bits);
	const uint64_t sign =
		class->is_signed && class->kind == FIELD_INT ? UINT64_C(1) << (class->bits - 1) : 0;
	const uint64_t safe = column_is_plain(class) && in->size >= 8 ? in->size - 8 : 0;

	for (uint32_t k = 0; k < n; k++) {
		uint64_t at = body_of(batch, entries[k]);
		if (k + AHEAD < n)
			__builtin_prefetch(in->data + body_of(batch, entries[k + AHEAD]) +
					   place->offset);
		if (__builtin_expect(at + place->offset < safe, 1))
			values[k] = ((load8(in->data + at + place->offset) & mask) ^ sign) - sign;
		else
			values[k] = column_value(place, in, at);
	}
}

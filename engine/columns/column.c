/* column.c - see column.h; eight bytes are loaded and masked, except at the end of the input */
#include "engine/columns/column.h"

#include "engine/layout_internal.h"

#include <string.h>

enum { AHEAD = 32 /* entries: events whose heads were not just read lie in no cache */ };

bool column_place(const struct event_class *class, const struct field_path *path,
		  struct column_place *out)
{
	const struct layout *layout = class->layout;
	uint32_t slot = class->slot_base[path->scope] + path->slot;
	uint64_t at = 0, bits;

	if (!layout || !layout->bytewise || path->scope <= SCOPE_EVENT_HEADER ||
	    (path->class->kind != FIELD_INT && path->class->kind != FIELD_FLOAT))
		return false;
	for (const struct layout_step *step = layout->steps; layout_step_bits(step, &bits); step++) {
		if (step->class == path->class && step->slot == slot) {
			*out = (struct column_place){(uint32_t)at, (uint32_t)(bits / 8), step->class};
			return true;
		}
		at += bits / 8;
		if (at > UINT16_MAX)
			return false;
	}
	return false;
}

/* Needs no more than a load, a mask and a sign. */
static bool is_plain(const struct field_class *class)
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

/* Where the layout of an entry begins, in bytes. */
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
	const uint64_t safe = is_plain(class) && in->size >= 8 ? in->size - 8 : 0;

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

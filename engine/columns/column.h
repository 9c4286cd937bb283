/*
 * column.h - one value of many events of one class, without decoding the events
 *
 * A scalar that stands in front of everything of unknown size is as many bytes behind the header in
 * all events of its class. Its values are loaded from there into an array, which a loop
 * then compares.
 */
#ifndef ENGINE_COLUMNS_COLUMN_H
#define ENGINE_COLUMNS_COLUMN_H

#include "engine/batch.h"
#include "engine/event.h"

struct column_place {
	uint32_t offset; /* bytes from where the layout begins */
	uint32_t bytes;
	const struct field_class *class; /* INT or FLOAT */
};

/* False: the field is no scalar, or its place differs from event to event. */
bool column_place(const struct event_class *class, const struct field_path *path,
		  struct column_place *out);

/*
 * A text of a fixed number of bytes, such as the name of a thread, as the numbers that it is loaded
 * as, eight bytes each, the first byte being the least one of its number. How many they are; 0: it
 * is no such text, or of more than 8 * `most` bytes. Behind the text's first zero is what the
 * tracer left there.
 */
size_t column_text_places(const struct event_class *class, const struct field_path *path,
			  struct column_place *places, size_t most);

struct column_input {
	const uint8_t *data;
	size_t size; /* bytes readable from there */
};

/* The value as decoding stores it in slot.u. Its bytes must be readable. */
uint64_t column_value(const struct column_place *place, const struct column_input *in, uint64_t at);

/*
 * Values of entries[0..n) of the batch, whose bodies begin at `at + head`. The batch's events lie
 * whole in the input.
 */
void column_load(const struct column_place *place, const struct column_input *in,
		 const struct batch *batch, const uint16_t *entries, uint32_t n, uint64_t *values);

#endif

/*
 * column.h - loads one field of many events of one class, without decoding the events
 *
 * A scalar with only fields of constant size before it has the same offset from the event header in
 * all events of its class. Its values are loaded from there into an array, which conditions then
 * test in a loop.
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

/* Finds the place of a field. False: it is no scalar, or its offset differs from event to event. */
bool column_place(const struct event_class *class, const struct field_path *path,
		  struct column_place *out);

/*
 * Finds the places of a text of fixed size, such as the name of a thread, as integers of up to
 * eight bytes each, little-endian. Returns how many; 0: it is no such text, or has more than 8 *
 * `most` bytes. Bytes behind the text's first zero are undefined.
 */
size_t column_text_places(const struct event_class *class, const struct field_path *path,
			  struct column_place *places, size_t most);

struct column_input {
	const uint8_t *data;
	size_t size; /* bytes readable from there */
};

/* One value, as decoding stores it in slot.u. Its bytes must be in the input. */
uint64_t column_value(const struct column_place *place, const struct column_input *in, uint64_t at);

/*
 * Loads the values of entries[0..n) of the batch, whose layouts begin at `at + head`. The events
 * must be completely in the input.
 */
void column_load(const struct column_place *place, const struct column_input *in,
		 const struct batch *batch, const uint16_t *entries, uint32_t n, uint64_t *values);

#endif

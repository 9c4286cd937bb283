/* run_column.h - loads one scalar field of many events of a run, by its place or by decoding them
 */
#ifndef INDEX_FILTERS_RUN_COLUMN_H
#define INDEX_FILTERS_RUN_COLUMN_H

#include "engine/columns/column.h"
#include "index/events.h"

struct run_field {
	struct field_path field; /* INT or FLOAT, of the event's own scopes */
	struct column_place place;
	bool placed; /* loaded from `place`; else the events are decoded */
};

void run_field_init(struct run_field *field, const struct event_class *class,
		    const struct field_path *path);

/*
 * values[]: slot.u of entries[0..n) of the run's batch, which are all of the field's class. Returns
 * how many events could not be decoded: their values are 0, and bad[] (room for n) has their
 * indexes in values[].
 */
uint32_t run_column(const struct run *run, const struct run_field *field, const uint16_t *entries,
		    uint32_t n, uint64_t *values, uint16_t *bad);

#endif

/*
 * held.h - values of the state that are the same for the events of a CPU for a while
 *
 * What an expression such as cpu[cpu]/thread reads (where_is_of_cpu()) stays until the state
 * changes: interval_window_mark() and interval_window_holds() tell how long. Events come in order
 * of time.
 */
#ifndef ONELINER_HELD_H
#define ONELINER_HELD_H

#include "engine/timebase.h"
#include "state/model/value.h"

struct held_values;

struct held_values *held_values_new(void);
void held_values_free(struct held_values *held); /* NULL is fine */
/* NULL: none is held. A text lives until another value is held for the CPU. */
const struct value *held_find(const struct held_values *held, int32_t cpu, nstime t);
/* For events from `from` to `until`, both inclusive; a value that does not exist is not held. */
void held_set(struct held_values *held, int32_t cpu, nstime from, nstime until,
	      const struct value *value);

#endif

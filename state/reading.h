/*
 * reading.h - the value of an expression beside each event of a pass in order of time
 *
 * What is the same for all events of a CPU while the state stays, such as cpu[cpu]/thread
 * (where_is_of_cpu()), is evaluated once until it may change.
 */
#ifndef STATE_READING_H
#define STATE_READING_H

#include "state/interval_window.h"

struct reading;

/* The condition was parsed of one expression, and compiled. Both are borrowed. */
struct reading *reading_new(const struct where *where, struct interval_window *window);
void reading_free(struct reading *reading); /* NULL is fine */
/*
 * At an entry of the run, just before it; unknown where it has none. A text lives until the
 * next call with the same reading. interval_window_failed() says what went wrong.
 */
void reading_value(struct reading *reading, const struct run *run, uint32_t entry,
		   struct value *out);

#endif

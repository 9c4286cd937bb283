/*
 * reading.h - the value of an expression at each event of a pass in order of time
 *
 * What is the same for all events of a CPU while the state does not change, such as cpu[cpu]/thread
 * (where_is_of_cpu()), is evaluated once per change.
 */
#ifndef STATE_READING_H
#define STATE_READING_H

#include "state/interval_window.h"

struct reading;

/* `where` was parsed from one expression, and compiled. Both are borrowed. */
struct reading *reading_new(const struct where *where, struct interval_window *window);
void reading_free(struct reading *reading); /* NULL is fine */
/*
 * The value just before an entry of the run; VALUE_UNKNOWN if it has none. A text lives until the
 * next call with this reading. Errors: see interval_window_failed().
 */
void reading_value(struct reading *reading, const struct run *run, uint32_t entry,
		   struct value *out);

#endif

/*
 * known.h - values of attributes while a pass goes through events: a window of intervals
 *
 * A condition such as cpu[cpu]/thread == 42 asks at every event what was true just before it.
 * Asking the state per event would be a pass per event, so intervals are fetched for a window of
 * time at once; its width follows how many intervals there were, so that memory is bounded whatever
 * the trace.
 */
#ifndef STATE_KNOWN_H
#define STATE_KNOWN_H

#include "state/state.h"
#include "state/filter/where.h"

struct known;

/*
 * `program`: whose attributes will be asked for, compiled from the state's rules. `backward`: in
 * which order of time. All is borrowed until known_free().
 */
struct known *known_new(struct state *state, const struct program *program, bool backward);
void known_free(struct known *known); /* NULL is fine */

/* For where_pass_new(); an attribute that cannot be had is unknown, and known_failed() says why. */
struct where_reads known_reads(struct known *known);
/* The first error of a question, and what came of it; false: there was none. */
bool known_failed(const struct known *known, struct error *err);

#endif

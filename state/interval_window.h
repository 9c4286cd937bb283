/*
 * interval_window.h - values of attributes while a pass goes through events: a window of intervals
 *
 * A condition such as cpu[cpu]/thread == 42 asks at every event what was true just before it.
 * Asking the state per event would be a pass per event, so intervals are fetched for a window of
 * time at once; its width follows how many intervals there were, so that memory is bounded whatever
 * the trace.
 */
#ifndef STATE_INTERVAL_WINDOW_H
#define STATE_INTERVAL_WINDOW_H

#include "state/filter/where.h"
#include "state/rules/rules.h"

struct state;
struct interval_window;

/*
 * `program`: whose attributes will be asked for, compiled from the state's rules. `backward`: in
 * which order of time. All is borrowed until interval_window_free().
 */
struct interval_window *interval_window_new(struct state *state, const struct program *program,
					    bool backward);
void interval_window_free(struct interval_window *known); /* NULL is fine */
/* Events that are asked for lie in [begin, end), of all times before it is told. NULL is fine. */
void interval_window_within(struct interval_window *known, nstime begin, nstime end);

/* For where_pass_new(); an attribute that cannot be had is unknown, and interval_window_failed()
 * says why. */
struct where_reads interval_window_reads(struct interval_window *known);
/*
 * What was read since `mark` for an event of a CPU is the same for its later events up to and with
 * the time that `holds` gives.
 */
void interval_window_mark(struct interval_window *known);
nstime interval_window_holds(const struct interval_window *known);

/* The first error of a question, and what came of it; false: there was none. */
MUST_CHECK bool interval_window_failed(const struct interval_window *known, struct error *err);

#endif

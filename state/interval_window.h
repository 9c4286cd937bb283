/*
 * interval_window.h - values of attributes beside each event of a pass, from a window of intervals
 *
 * A condition such as cpu[cpu]/thread == 42 needs, at every event, a value just before it.
 * Evaluating the state at each event would take a pass each, so the intervals of a window of time
 * are fetched at once. The window's width follows the number of intervals, so that memory is
 * bounded.
 */
#ifndef STATE_INTERVAL_WINDOW_H
#define STATE_INTERVAL_WINDOW_H

#include "state/filter/where.h"
#include "state/rules/rules.h"

struct state;
struct interval_window;

/*
 * `program` has the attributes that will be read, compiled from the state's rules. `backward`:
 * events come from the last to the first. All is borrowed until interval_window_free().
 */
struct interval_window *interval_window_new(struct state *state, const struct program *program,
					    bool backward);
void interval_window_free(struct interval_window *known); /* NULL is fine */
/*
 * Limits windows to [begin, end), where all events lie; without this call to all times. NULL is
 * fine.
 */
void interval_window_within(struct interval_window *known, nstime begin, nstime end);

/*
 * For where_pass_new(). After an error values are unknown, and interval_window_failed() has the
 * error.
 */
struct where_reads interval_window_reads(struct interval_window *known);
/*
 * Values read since interval_window_mark() for an event hold for later events of its CPU, up to the
 * time that interval_window_holds() returns (inclusive).
 */
void interval_window_mark(struct interval_window *known);
nstime interval_window_holds(const struct interval_window *known);

/* Copies the first error to *err; false: there was none. */
MUST_CHECK bool interval_window_failed(const struct interval_window *known, struct error *err);

#endif

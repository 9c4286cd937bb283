/*
 * handover.h - lets a replay of a growing trace continue after the trace was opened anew
 *
 *     state of the trace at step 1          state of the trace at step 2
 *     @start ──── run ────> until 1  ═════>  until 1 ──── run ────> until 2  ═════> ...
 *                          handover: the cells, as bytes; which streams, which lines
 *
 * A growing trace is opened anew in each step, and its rules are compiled anew. The next step's run
 * starts from the cells that the last run left at the step's end, encoded as in a checkpoint, with
 * stream numbers translated. If lines mean something else for classes that were there before, as
 * has(event/NAME) may, nothing is taken over, and the run begins at the trace's begin.
 */
#ifndef STATE_CONTEXT_HANDOVER_H
#define STATE_CONTEXT_HANDOVER_H

#include "state/context/context.h"

/* handover_new() and handover_free() are in state.h. */

/*
 * Reads the cells that the last step left, and sets *at to their time. False: there are none that
 * `program`, compiled for the state's trace, can continue from.
 */
bool handover_take(const struct handover *handover, const struct state *state,
		   const struct program *program, struct cells *cells, nstime *at);
/* Writes the cells at time `at`. handover_end() puts them in place of the last step's. */
void handover_leave(struct handover *handover, const struct state *state,
		    const struct program *program, const struct cells *cells, nstime at);
void handover_end(struct handover *handover);

#endif

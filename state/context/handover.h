/*
 * handover.h - a replay that goes on in the trace as it was opened anew
 *
 *     state of the trace at step 1          state of the trace at step 2
 *     @start ──── run ────> until 1  ═════>  until 1 ──── run ────> until 2  ═════> ...
 *                          handover: the cells, as bytes; which streams, which lines
 *
 * A trace that grows is opened anew in each step, and rules are compiled for it anew. What a run
 * left at the end of what was final is taken over by the next step's run: cells as they are in a
 * checkpoint, with the numbers that its streams have now. Where lines mean something else for
 * classes that were there before, as has(event/NAME) may, nothing is taken over: the run begins
 * at the trace's begin.
 */
#ifndef STATE_CONTEXT_HANDOVER_H
#define STATE_CONTEXT_HANDOVER_H

#include "state/context/context.h"

/* handover_new() and handover_free() are in state.h. */

/*
 * Reads what the last step left, of which *at is the time. False: there is nothing that `program`,
 * compiled for the state's trace, can go on with.
 */
bool handover_take(const struct handover *handover, const struct state *state,
		   const struct program *program, struct cells *cells, nstime *at);
/* Writes what a run of the program left at time `at`; handover_end() makes it the step's. */
void handover_leave(struct handover *handover, const struct state *state,
		    const struct program *program, const struct cells *cells, nstime at);
void handover_end(struct handover *handover);

#endif

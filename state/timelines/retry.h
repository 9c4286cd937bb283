/* retry.h - answering a question again, after reading found disorder or damage */
#ifndef STATE_TIMELINES_RETRY_H
#define STATE_TIMELINES_RETRY_H

#include "state/context/context.h"

/*
 * A cursor that finds an event out of order of time notes it in struct findings, and the question
 * is answered again: now the event is read at its time, whatever its place in the packet. Damaged
 * timelines are dropped, and the question is answered from the trace.
 */
struct retry {
	uint64_t disorder;
	unsigned tries;
};
/* Begins a question: forgets what earlier questions found. */
void retry_forget(struct state *state);
struct retry retry_begin(struct state *state);
/* Call after an attempt, before giving out its answer. True: discard it and try again. */
bool retry_wanted(struct state *state, struct retry *retry);

#endif

/* retry.h - questions that are asked once more, because of what reading showed */
#ifndef STATE_TIMELINES_RETRY_H
#define STATE_TIMELINES_RETRY_H

#include "state/context/context.h"

/*
 * An event that is given after a later one means that what was read so far was out
 * of order. The question remembers why (struct findings), so that its next reading has it in its
 * place: what an event means is what its time says, in whatever order its packet has it. Timelines
 * that turn out to be damaged are dropped, and the trace is asked.
 */
struct retry {
	uint64_t disorder;
	unsigned tries;
};
/* A question begins, which knows nothing of what others found. */
void retry_forget(struct state *state);
struct retry retry_begin(struct state *state);
/* After an attempt, before anything of it is given: true when it does not count. */
bool retry_wanted(struct state *state, struct retry *retry);

#endif

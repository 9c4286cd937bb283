/* reach.h - questions that read no further than a horizon around a window */
#ifndef STATE_CONTEXT_REACH_H
#define STATE_CONTEXT_REACH_H

#include "state/context/context.h"

struct state_reach {
	struct horizon horizon;
	struct backward_limits limits; /* that the state had before */
};

/* Of each stream so many are read on either side of a window; `packets` 0: the state's usual
 * number. */
uint64_t reach_packets(const struct state *state, uint64_t packets);
/* Packets that a question which is not worth a run opens in one go, at most. */
enum { REACH_OPENED = 64 };
/* After so many events of a backward pass, a replay from the horizon's floor costs less. */
uint64_t reach_visits(const struct state *state);
/*
 * Up to reach_end() the state reads no more than `packets` of each stream before [begin, end) and
 * behind it. False: *err, and nothing is to be ended.
 */
MUST_CHECK bool reach_begin(struct state *state, nstime begin, nstime end, uint64_t packets,
			    struct state_reach *reach, struct error *err);
void reach_end(struct state *state, struct state_reach *reach);

#endif

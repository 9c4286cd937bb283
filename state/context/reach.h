/* reach.h - limits questions to a horizon around a window */
#ifndef STATE_CONTEXT_REACH_H
#define STATE_CONTEXT_REACH_H

#include "state/context/context.h"

struct state_reach {
	struct horizon horizon;
	struct backward_limits limits; /* the state's limits before */
};

/* Packets of each stream to read on each side of a window; `packets` 0: the state's usual count. */
uint64_t reach_packets(const struct state *state, uint64_t packets);
/* Most packets that an event filter may open for a question that is not worth a run. */
enum { REACH_OPENED = 64 };
/* Events of a backward pass after which a replay from the horizon's floor costs less. */
uint64_t reach_visits(const struct state *state);
/*
 * Until reach_end(), the state reads at most `packets` packets of each stream before [begin, end)
 * and after it. False: *err; do not call reach_end().
 */
MUST_CHECK bool reach_begin(struct state *state, nstime begin, nstime end, uint64_t packets,
			    struct state_reach *reach, struct error *err);
void reach_end(struct state *state, struct state_reach *reach);

#endif

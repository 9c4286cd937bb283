/* planner.h - chooses between a backward pass and replay */
#ifndef STATE_ANSWER_PLANNER_H
#define STATE_ANSWER_PLANNER_H

#include "state/context/wanted.h"

struct choice {
	bool backward;
	const char *reason;
	struct listed *listed; /* owned, as is the closure */
	size_t nlisted;
	struct closure *closure;
};
MUST_CHECK bool choose_at(struct state *state, struct wanted *wanted, struct choice *out,
			  struct error *err);
void choice_release(struct choice *choice);
/* Can a backward pass decide every line of the closure? */
bool looks_back(const struct closure *closure);

#endif

/* again.c - see again.h */
#include "state/timelines/again.h"

#include "state/context/run.h"
#include "state/timelines/stored.h"

enum { AGAIN_MOST = 4 };

struct again again_begin(const struct state *state)
{
	return (struct again){.disorder = trace_disorder(state->event_source->trace)};
}

/* What earlier readings left behind may have been made out of order, too. */
static void forget(struct state *state)
{
	checkpoints_forget(state->checkpoints);
	runs_forget(state->runs);
	cells_free(state->base);
	state->base = NULL;
}

bool again_wanted(struct state *state, struct again *again)
{
	uint64_t disorder = trace_disorder(state->event_source->trace);

	if (stored_drop_damaged(state))
		return true;
	if (disorder == again->disorder)
		return false;
	forget(state);
	again->disorder = disorder;
	return again->tries++ < AGAIN_MOST;
}

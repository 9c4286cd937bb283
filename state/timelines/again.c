/* again.c - see again.h */
#include "state/timelines/again.h"

#include "state/context/run.h"
#include "state/timelines/stored.h"

enum { AGAIN_MOST = 4 };

/*
 * What earlier readings left behind may have been made out of order, too; and what the last one
 * leaves rests on findings that another question does not have.
 */
static void forget(struct state *state)
{
	checkpoints_forget(state->checkpoints);
	runs_forget(state->runs);
	cells_free(state->base);
	state->base = NULL;
}

void again_forget(struct state *state)
{
	uint64_t disorder = trace_disorder(state->event_source->trace);

	if (disorder != state->disorder) {
		forget(state);
		contradictions_forget(state->found);
	}
	state->disorder = disorder;
	event_source_forget(state->event_source);
}

struct again again_begin(struct state *state)
{
	again_forget(state);
	return (struct again){.disorder = state->disorder};
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

/* retry.c - see retry.h */
#include "state/timelines/retry.h"

#include "index/cursor/first_events.h"
#include "state/context/run.h"
#include "state/program/gaps.h"
#include "state/timelines/stored.h"

enum { RETRY_MOST = 4 };

/*
 * Drops cached states: those of earlier questions may have been built out of order, and those of
 * this question depend on its own findings.
 */
static void timelines_retry_forget(struct state *state)
{
	checkpoints_forget(state->checkpoints);
	runs_forget(state->runs);
	cells_free(state->base);
	state->base = NULL;
}

void retry_forget(struct state *state)
{
	uint64_t disorder = trace_disorder(state->event_source->trace);

	if (disorder != state->disorder) {
		timelines_retry_forget(state);
		contradictions_forget(state->found);
		gaps_forget(state->gaps);
		first_events_forget(state->firsts);
	}
	state->disorder = disorder;
	event_source_forget(state->event_source);
}

struct retry retry_begin(struct state *state)
{
	retry_forget(state);
	return (struct retry){.disorder = state->disorder};
}

bool retry_wanted(struct state *state, struct retry *retry)
{
	uint64_t disorder = trace_disorder(state->event_source->trace);

	if (stored_drop_damaged(state))
		return true;
	if (disorder == retry->disorder)
		return false;
	timelines_retry_forget(state);
	retry->disorder = disorder;
	return retry->tries++ < RETRY_MOST;
}

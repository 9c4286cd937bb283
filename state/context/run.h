/* run.h - a run of replay: where it begins, and what it leaves behind */
#ifndef STATE_CONTEXT_RUN_H
#define STATE_CONTEXT_RUN_H

#include "state/context/context.h"
#include "state/events/closure.h"
#include "state/replay/replay.h"

/* An event at `at` says what an attribute was, since cell.since. */
struct fill {
	nstime at;
	uint32_t attr;
	struct cell cell;
};

struct runs *runs_new(struct index *index, const uint64_t identity[2]);
void runs_free(struct runs *runs); /* NULL is fine */
void runs_forget(struct runs *runs); /* what it left behind */
/*
 * A replay whose state is the newest checkpoint at or before t, or empty. With another program than
 * the state's, a subset of it, it begins at the trace's begin and leaves nothing behind. Of a trace
 * that grows it begins where the last step's run ended (handover.h).
 */
struct replay *run_begin(struct state *state, const struct replay_options *options, nstime t,
			 struct order *from);
/*
 * The statements of the closure, which a run is to evaluate that tells [begin, end], or a moment,
 * where both are one. To be freed with program_subset_free(). NULL: all rules, so that the run
 * begins at a checkpoint and leaves others. That takes about three times as long, and is done where
 * replay from a checkpoint is still less work than the statements from the trace's begin; for short
 * ranges and moments from the second such question on; and where nearly all is asked.
 */
struct program *run_subset(struct state *state, const struct closure *closure, nstime begin,
			   nstime end);
void run_end(struct state *state, struct replay *replay); /* counts failures, frees */
/* To be called from moment(): leaves checkpoints behind. */
void run_passes(struct state *state, struct replay *replay, nstime next);
/* Has an earlier run left a checkpoint behind t? */
bool run_went_on(struct state *state, nstime t);
/* To be called from change(): remembers fills. */
void run_changes(struct state *state, const struct change *change);
/* No event that the run has not seen fills what is at or before t. */
void run_seals(struct state *state, nstime t);
/* The first time behind t of which it is stored what later events fill; NSTIME_MAX: none. */
nstime run_told(struct state *state, nstime t);
/* Calls `each` for what events at such a time or later fill from before it. False: it is not
 * stored. */
typedef void run_filled(void *arg, uint32_t attr, const struct cell *cell);
bool run_fills(struct state *state, nstime t, run_filled *each, void *arg);

#endif

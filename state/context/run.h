/* run.h - a run of replay: where it begins, and which checkpoints and fills it stores */
#ifndef STATE_CONTEXT_RUN_H
#define STATE_CONTEXT_RUN_H

#include "state/context/context.h"
#include "state/events/closure.h"
#include "state/replay/replay.h"

/* An event at `at` fills an attribute with cell.value, since cell.since. */
struct fill {
	nstime at;
	uint32_t attr;
	struct cell cell;
};

struct runs *runs_new(struct index *index, const uint64_t identity[2]);
void runs_free(struct runs *runs); /* NULL is fine */
void runs_forget(struct runs *runs); /* deletes stored fills */
/*
 * Makes a replay with the state of the newest checkpoint at or before t, or empty; *from is where
 * to start it. With a subset of the state's program it starts at the trace's begin and stores
 * nothing. In a growing trace it starts where the last step's run ended (handover.h).
 */
struct replay *run_begin(struct state *state, const struct replay_options *options, nstime t,
			 struct order *from);
/*
 * The statements that a run for [begin, end] (or a moment, begin == end) should evaluate: those of
 * the closure, to be freed with program_subset_free(), or NULL: all rules, so that the run can
 * begin at a checkpoint and leaves others. All rules take about three times as long. They are
 * chosen if replay from a checkpoint is still less work than the closure's statements from the
 * trace's begin; for short ranges and moments, from the second such question on; and if the closure
 * has nearly all statements.
 */
struct program *run_subset(struct state *state, const struct closure *closure, nstime begin,
			   nstime end);
void run_end(struct state *state, struct replay *replay); /* stores, counts failures, frees */
/* To be called from moment(): adds a checkpoint, if due. */
void run_passes(struct state *state, struct replay *replay, nstime next);
/* Is there a checkpoint after t? */
bool run_went_on(struct state *state, nstime t);
/* To be called from change(): remembers fills. */
void run_changes(struct state *state, const struct change *change);
/* Tells that no event after the run's last one fills time at or before t. */
void run_seals(struct state *state, nstime t);
/* Returns the first time after t whose fills by later events are stored; NSTIME_MAX: none. */
nstime run_told(struct state *state, nstime t);
/* Calls `each` for what events at or after such a time fill before it. False: nothing is stored. */
typedef void run_filled(void *arg, uint32_t attr, const struct cell *cell);
bool run_fills(struct state *state, nstime t, run_filled *each, void *arg);

#endif

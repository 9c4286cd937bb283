/*
 * shard_merge.h - from the summaries of shards to the complete state at every shard's start
 *
 * Serial, shard after shard: a pass over what the state and the summary hold, and a replay of what
 * could not be decided without the state.
 */
#ifndef STATE_TIMELINES_SHARD_MERGE_H
#define STATE_TIMELINES_SHARD_MERGE_H

#include "state/timelines/shard_summary.h"

struct shard_merge {
	struct event_source *event_source;
	struct program *program;
	/*
	 * The state after the shards that were added: values, since, named, writers, tombstones,
	 * section values, ends of losses. What only replay's own ranges need (run, last, named_at)
	 * is not in it. That of an earlier join may be put in its place.
	 */
	struct cells *state;
	nstime *until;       /* by stream: before the shard that is added */
	struct cells *named; /* by attribute: the last replayed write that made lists name it */
	uint64_t replayed;   /* events, because lines could not be decided in their shard */
};

/* Both are borrowed until shard_merge_free(). The state is the one before the first shard. */
struct shard_merge *shard_merge_new(struct event_source *event_source, struct program *program);
void shard_merge_free(struct shard_merge *merge); /* NULL is fine */
/* Forgets writers, and what is not promised: of no use to work that goes on from here. */
void shard_merge_forget(struct shard_merge *merge);
/* Lays the summary of the next shard, which begins at `begin`, over the state. */
MUST_CHECK bool shard_merge_add(struct shard_merge *merge, nstime begin, const void *summary,
				size_t len, struct error *err);

#endif

/*
 * shard_merge.h - computes the complete state at every shard's start from the summaries
 *
 * Serial, one shard after the other: replays the lines that the shard could not decide without the
 * state, then passes over state and summary once.
 */
#ifndef STATE_TIMELINES_SHARD_MERGE_H
#define STATE_TIMELINES_SHARD_MERGE_H

#include "state/events/closure.h"
#include "state/timelines/shard_summary.h"

struct shard_merge {
	struct event_source *event_source;
	struct program *program;
	struct catalog *catalog; /* of the program */
	/*
	 * The state after the shards that were added: values, since, named, writers, tombstones,
	 * section values, ends of losses; not run, last and named_at, which only replay needs. To
	 * continue an earlier join, the caller loads its state here.
	 */
	struct cells *state;
	nstime *until;       /* by stream: end of its last loss before the current shard */
	struct cells *named; /* by attribute: the last replayed write that lists it */
	uint64_t replayed;   /* events replayed for lines that shards could not decide */
};

/* Both are borrowed until shard_merge_free(). Begins with the state before the first shard. */
struct shard_merge *shard_merge_new(struct event_source *event_source, struct program *program);
void shard_merge_free(struct shard_merge *merge); /* NULL is fine */
/* Clears writers, run, last and named_at, which nothing needs after a start is stored. */
void shard_merge_forget(struct shard_merge *merge);
/* Applies the summary of the next shard, which begins at `begin`, to the state. */
MUST_CHECK bool shard_merge_add(struct shard_merge *merge, nstime begin, const void *summary,
				size_t len, struct error *err);

#endif

/* shards_internal.h - the files that the steps leave for one another */
#ifndef STATE_TIMELINES_SHARDS_INTERNAL_H
#define STATE_TIMELINES_SHARDS_INTERNAL_H

#include "state/timelines/shards.h"

enum shard_file { SHARD_SUMMARY, SHARD_START, SHARD_BUILT, SHARD_STRAYED, SHARD_PLAN };

struct shard_note {      /* stored as it is, beside a file's bytes */
	uint64_t events; /* SUMMARY: of the shard; START: before it; BUILT: after it */
	uint64_t extent; /* BUILT: of the trace's files */
	uint64_t changes, slices, bytes; /* BUILT */
};

/* Whole or not at all. `note` and `bytes` may be NULL. */
MUST_CHECK bool shard_file_write(const struct shards_plan *plan, enum shard_file kind, uint32_t i,
				 const struct shard_note *note, const struct buf *bytes,
				 struct error *err);
/* False: it is not there, not of the plan, or not whole; *bytes may have some of it. Likewise. */
bool shard_file_read(const struct shards_plan *plan, enum shard_file kind, uint32_t i,
		     struct shard_note *note, struct buf *bytes);
/* There is one of the plan, or one that is not whole, so that its plan cannot be told. */
bool shard_file_may_be(const struct shards_plan *plan, enum shard_file kind, uint32_t i);
/* Removes all shards of a trace in disorder: see timelines_build_part(). */
MUST_CHECK bool shards_give_up(const struct shards_plan *plan, struct timelines_built *out,
			       struct error *err);
void shard_file_remove(const struct shards_plan *plan, enum shard_file kind, uint32_t i);

#endif

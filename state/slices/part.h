/* part.h - a store of slices to be built: of what, and between which moments */
#ifndef STATE_SLICES_PART_H
#define STATE_SLICES_PART_H

#include "state/events/event_source.h"
#include "state/program/program.h"

enum { TIMELINES_FORMAT = 6 };

/* What a store is of; another one is made anew. */
struct timelines_key {
	uint64_t rules[2]; /* rules_identity() and TIMELINES_FORMAT */
	uint64_t extent;   /* of the files: a trace that grew is caught up */
	uint64_t bytes;    /* of all files: one that is shorter now is another */
};

struct timelines_part {
	struct event_source *event_source; /* borrowed */
	struct program *program; /* likewise; it and its attributes belong to the calling thread */
	const char *path;
	struct timelines_key key;
	uint32_t shard, of; /* 0 of 1: the whole */
	nstime begin, end;  /* [begin, end); NSTIME_MIN, NSTIME_MAX: with @start, with @end */
	const void *start;  /* what cells_write() wrote of all before begin; NULL: nothing was */
	size_t nstart;
	/* Called once per slice; false: interrupted. May be NULL. */
	bool (*progress)(void *arg, nstime at);
	void *progress_arg;
	/*
	 * Of a trace that grows: what is before `until` is final. Slices that are full are stored,
	 * and nothing of the one behind them. `tie` writes what later tells whether the slices up
	 * to `next`, behind their last change, still hold.
	 */
	bool grows;
	nstime until;
	bool (*tie)(void *arg, nstime next, struct buf *out, struct error *err);
	void *tie_arg;
	struct tombstones_known *known; /* by builds before of this process; NULL: nothing is */
	bool thread;    /* a second one reads ahead, encodes slices and stores them */
	uint32_t least; /* changes of a slice; 0: as many as is usual. For tests */
	uint32_t looks; /* events of a shard before it looks back; 0 likewise */
};

/*
 * Tombstones of the slices that were stored, which a build that goes on needs: who goes on with a
 * store again and again has them looked for in new slices alone.
 */
struct tombstones_known;
struct tombstones_known *tombstones_known_new(void);
void tombstones_known_free(struct tombstones_known *known); /* NULL is fine */

static inline struct order timelines_part_end(const struct timelines_part *part)
{
	return part->end == NSTIME_MAX ? order_after(NSTIME_MAX) : order_before(part->end);
}

struct timelines_built {
	uint64_t events, changes; /* of the whole store, also what was there already */
	uint64_t bytes;           /* of its slices */
	uint32_t slices;
	bool disorderly; /* nothing is stored: events are not where packets claim them */
};

/*
 * Builds, goes on with, or catches up the slices of [begin, end) at `path`; nothing to do is done
 * at once. Interrupted or failed, what was committed stays. Where events come late, or lie outside
 * of what their packets claim, all of it is removed: a build reads every packet and knows better
 * than a question that reads a few, and both have to give one answer.
 */
MUST_CHECK bool timelines_build_part(const struct timelines_part *part, struct timelines_built *out,
				     struct error *err);

#endif

/* part.h - parameters and results of building one store of slices */
#ifndef STATE_SLICES_PART_H
#define STATE_SLICES_PART_H

#include "state/events/event_source.h"
#include "state/program/program.h"
#include "state/replay/write_log.h"

enum { TIMELINES_FORMAT = 6 };

/* Identifies what a store was built from; a store with another key is built again. */
struct timelines_key {
	uint64_t rules[2]; /* rules_identity() and TIMELINES_FORMAT */
	uint64_t extent;   /* hash of file sizes: if the trace grew, the build continues */
	uint64_t bytes;    /* of all files: a trace that is shorter now is another one */
};

struct timelines_part {
	struct event_source *event_source; /* borrowed */
	struct program *program; /* likewise; it and its attributes belong to the calling thread */
	const char *path;
	struct timelines_key key;
	uint32_t shard, of; /* 0 of 1: the whole */
	nstime begin, end;  /* [begin, end); NSTIME_MIN, NSTIME_MAX: with @start, with @end */
	const void *start;  /* the state at `begin` as cells_write() writes it; NULL: none */
	size_t nstart;
	/* Called once per slice; false: interrupted. May be NULL. */
	bool (*progress)(void *arg, nstime at);
	void *progress_arg;
	/*
	 * For a growing trace, whose events before `until` are final: stores full slices alone.
	 * `tie` appends what is compared later to see whether slices up to `next` (behind their
	 * last change) are still right.
	 */
	bool grows;
	nstime until;
	bool (*tie)(void *arg, nstime next, struct buf *out, struct error *err);
	void *tie_arg;
	struct tombstones_known *known; /* from earlier builds of this process; NULL: none */
	bool thread;    /* use a second thread, which reads ahead, encodes and stores slices */
	uint32_t least; /* changes per slice; 0: the usual number. For tests */
	/*
	 * Pass 1 of a shard records what it writes; the build applies it, if by the same program
	 * (write_log.h). NULL: none.
	 */
	struct write_log *log;
	/* Is given the state at the end, as by `start`, if the build began at `begin`. NULL: none
	 */
	struct buf *left;
	uint32_t looks; /* events of a shard before its first backward pass; 0 likewise */
};

/*
 * Tombstones of the stored slices, which a resumed build needs. A process that continues a store
 * again and again passes it on, so that only new slices are searched.
 */
struct tombstones_known;
struct tombstones_known *tombstones_known_new(void);
void tombstones_known_free(struct tombstones_known *known); /* NULL is fine */

static inline struct order timelines_part_end(const struct timelines_part *part)
{
	return part->end == NSTIME_MAX ? order_after(NSTIME_MAX) : order_before(part->end);
}

struct timelines_built {
	uint64_t events, changes; /* of the whole store, with what earlier builds stored */
	uint64_t bytes;           /* of its slices */
	uint32_t slices;
	bool disorderly; /* nothing is stored: events lie outside of their packets' time ranges */
};

/*
 * Builds, resumes or extends the slices of [begin, end) at `path`; returns at once if they are
 * complete. After an interruption or error, committed slices stay. If events come late or lie
 * outside of their packets' time ranges, removes the store and sets out->disorderly: a build reads
 * every packet, a question only a few, and both must give the same answer.
 */
MUST_CHECK bool timelines_build_part(const struct timelines_part *part, struct timelines_built *out,
				     struct error *err);

#endif

/*
 * exchange.h - timelines by processes of any machines, through a folder on any file system
 *
 *     records ──> plan ──> pass 1 of each shard ──> join ──> pass 2 of each ──> manifest
 *     └ each step is a file of the folder, claimed by its maker (claims.h)    ┘   └ all import
 *
 * Each process has an index folder of its own, where it builds slices before they are copied to the
 * exchange folder, and where all slices are imported in the end. Files of the exchange folder get
 * their names when they are whole, are read, not mapped, and compared with their checksums. Every
 * process makes the same bytes of a step, so that a step may be done twice.
 */
#ifndef STATE_TIMELINES_EXCHANGE_H
#define STATE_TIMELINES_EXCHANGE_H

#include "state/timelines/shards.h"

enum { EXCHANGE_SHARDS = 4 /* for each worker, so that all end at about the same time */ };

struct exchange_options {
	const char *dir;
	uint32_t workers; /* a plan that is made here is cut for so many */
	unsigned lapse;   /* ms, see claims.h */
	/* Asked now and then; false: interrupted. */
	bool (*goes_on)(void *arg);
	void *arg;
};

/*
 * The packet records, before any table of the index is asked for: imported, or scanned and exported
 * by the first. Where neither can be, index_build() scans them.
 */
MUST_CHECK bool exchange_records(struct index *index, const struct exchange_options *options,
				 struct error *err);
/*
 * The plan of the folder, made by the first; `files` is there. False: *err. The caller ends *out
 * with shards_plan_release(), also after false.
 */
MUST_CHECK bool exchange_plan(struct state *state, const struct exchange_options *options,
			      struct shards_plan *out, struct error *err);
/* Does steps until all are done, here or by other processes, and imports the slices. */
MUST_CHECK bool exchange_build(struct state *state, const struct exchange_options *options,
			       struct timelines_built *out, struct error *err);

#endif

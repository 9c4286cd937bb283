/*
 * exchange.h - builds timelines by processes on any machines, through a shared folder
 *
 *     records ──> plan ──> pass 1 of each shard ──> join ──> pass 2 of each ──> manifest
 *     └ each step is a file of the folder, claimed by its maker (claims.h)    ┘   └ all import
 *
 * Each process has an index folder of its own: it builds slices there, copies them to the exchange
 * folder, and imports all slices in the end. Files in the exchange folder are written under another
 * name and renamed; they are read, not mapped, and their checksums verified. A step gives the same
 * bytes in every process, so it may be done twice.
 */
#ifndef STATE_TIMELINES_EXCHANGE_H
#define STATE_TIMELINES_EXCHANGE_H

#include "state/timelines/shards.h"

enum { EXCHANGE_SHARDS = 4 /* shards per worker, so that all end at about the same time */ };

struct exchange_options {
	const char *dir;
	uint32_t workers; /* how many processes a new plan is made for */
	unsigned lapse;   /* ms, see claims.h */
	/* Called now and then; false interrupts. */
	bool (*goes_on)(void *arg);
	void *arg;
};

/*
 * Gets the packet records; call it before reading any table of the index. The first process scans
 * the trace and exports them, the others import them. A process whose import fails scans later, in
 * index_build().
 */
MUST_CHECK bool exchange_records(struct index *index, const struct exchange_options *options,
				 struct error *err);
/*
 * Reads the folder's plan; the first process makes it. out->files is in the folder. False: *err.
 * The caller frees *out with shards_plan_release(), also after false.
 */
MUST_CHECK bool exchange_plan(struct state *state, const struct exchange_options *options,
			      struct shards_plan *out, struct error *err);
/* Does steps until this and other processes have done all, then imports the slices. */
MUST_CHECK bool exchange_build(struct state *state, const struct exchange_options *options,
			       struct timelines_built *out, struct error *err);

#endif

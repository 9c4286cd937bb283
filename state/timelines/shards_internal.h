/* shards_internal.h - files between the steps, and the plan */
#ifndef STATE_TIMELINES_SHARDS_INTERNAL_H
#define STATE_TIMELINES_SHARDS_INTERNAL_H

#include "state/timelines/shards.h"

enum shard_file {
	SHARD_SUMMARY,
	SHARD_START,
	SHARD_BUILT,
	SHARD_STRAYED,
	SHARD_PLAN,
	SHARD_SLICES,   /* of an exchange folder, like the two below: a store as one segment, */
	SHARD_MANIFEST, /* the notes of all shards; empty: the shards do not count, */
	SHARD_RECORDS   /* and records of all packets, for all rules */
};

struct shard_note {      /* stored as it is, beside a file's bytes */
	uint64_t events; /* SUMMARY: of the shard; START: before it; BUILT: after it */
	uint64_t extent; /* BUILT: of the trace's files */
	uint64_t changes, slices, bytes; /* BUILT */
	uint64_t size, check;            /* BUILT for an exchange folder: of the file of slices */
};

/* A random suffix for the name of a file that is being written. */
enum { SHARD_SUFFIX = 32 };
const char *shard_suffix(char out[SHARD_SUFFIX]);
/* Appends the path of a file; returns the name that its head has, which points into *path. */
const char *shard_file_path(const struct shards_plan *plan, enum shard_file kind, uint32_t i,
			    struct buf *path);
/* Writes a file atomically. `note` and `bytes` may be NULL. */
MUST_CHECK bool shard_file_write(const struct shards_plan *plan, enum shard_file kind, uint32_t i,
				 const struct shard_note *note, const struct buf *bytes,
				 struct error *err);
/* False: missing, of another plan, or damaged; *bytes may have part of it. Both may be NULL. */
bool shard_file_read(const struct shards_plan *plan, enum shard_file kind, uint32_t i,
		     struct shard_note *note, struct buf *bytes);
/* Is there a file of the plan? Verifies its head and table, not its values. */
bool shard_file_there(const struct shards_plan *plan, enum shard_file kind, uint32_t i);
/* Is there a file of the plan, or a damaged one whose plan is not known? */
bool shard_file_may_be(const struct shards_plan *plan, enum shard_file kind, uint32_t i);
/* Removes all shards of a trace with events out of order: see timelines_build_part(). */
MUST_CHECK bool shards_give_up(const struct shards_plan *plan, struct timelines_built *out,
			       struct error *err);
/* All shards are built: removes the store of one part that they replace. */
void shards_end(const struct shards_plan *plan);
void shard_file_remove(const struct shards_plan *plan, enum shard_file kind, uint32_t i);

/* ---- shards_plan.c ---- */

/* Sets path, files, seed, id and key. False: there is no place for timelines. */
bool shards_place(struct state *state, struct shards_plan *plan);
/* timelines_prepare() by the process that may write the index; the others wait for it. */
MUST_CHECK bool shards_prepare(struct state *state, const char *path, struct error *err);
/* Reads the plan stored at plan->files; false: there is none. */
bool shards_plan_read(struct shards_plan *plan);
MUST_CHECK bool shards_plan_write(const struct shards_plan *plan, struct error *err);
/*
 * Makes a new plan of n shards and stores it. `first`: how much work the first one is, each other
 * being 1.
 */
MUST_CHECK bool shards_plan_make(struct state *state, uint32_t n, double first,
				 struct shards_plan *plan, struct error *err);
/* Fills in the cuts. */
MUST_CHECK bool shards_cut(struct state *state, struct shards_plan *plan, double first,
			   struct error *err);

#endif

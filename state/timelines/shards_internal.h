/* shards_internal.h - the files that the steps leave for one another */
#ifndef STATE_TIMELINES_SHARDS_INTERNAL_H
#define STATE_TIMELINES_SHARDS_INTERNAL_H

#include "state/timelines/shards.h"

enum shard_file {
	SHARD_SUMMARY,
	SHARD_START,
	SHARD_BUILT,
	SHARD_STRAYED,
	SHARD_PLAN,
	SHARD_SLICES,   /* of an exchange folder, as the two below: a store as one segment, */
	SHARD_MANIFEST, /* what was built, and whether it counts, */
	SHARD_RECORDS   /* and records of all packets, for all rules */
};

struct shard_note {      /* stored as it is, beside a file's bytes */
	uint64_t events; /* SUMMARY: of the shard; START: before it; BUILT: after it */
	uint64_t extent; /* BUILT: of the trace's files */
	uint64_t changes, slices, bytes; /* BUILT */
	uint64_t size, check;            /* BUILT for an exchange folder: of the file of slices */
};

/* Room for what ends the name of a file until it is whole: no other process has it. */
enum { SHARD_SUFFIX = 32 };
const char *shard_suffix(char out[SHARD_SUFFIX]);
/* *path is the caller's to release; returns the name in the file's head, which is in it. */
const char *shard_file_path(const struct shards_plan *plan, enum shard_file kind, uint32_t i,
			    struct buf *path);
/* Whole or not at all. `note` and `bytes` may be NULL. */
MUST_CHECK bool shard_file_write(const struct shards_plan *plan, enum shard_file kind, uint32_t i,
				 const struct shard_note *note, const struct buf *bytes,
				 struct error *err);
/* False: it is not there, not of the plan, or not whole; *bytes may have some of it. Likewise. */
bool shard_file_read(const struct shards_plan *plan, enum shard_file kind, uint32_t i,
		     struct shard_note *note, struct buf *bytes);
/* There is one of the plan whose table is whole. */
bool shard_file_there(const struct shards_plan *plan, enum shard_file kind, uint32_t i);
/* There is one of the plan, or one that is not whole, so that its plan cannot be told. */
bool shard_file_may_be(const struct shards_plan *plan, enum shard_file kind, uint32_t i);
/* Removes all shards of a trace in disorder: see timelines_build_part(). */
MUST_CHECK bool shards_give_up(const struct shards_plan *plan, struct timelines_built *out,
			       struct error *err);
/* The shards count: a store of one part goes, they are used in its place. */
void shards_end(const struct shards_plan *plan);
void shard_file_remove(const struct shards_plan *plan, enum shard_file kind, uint32_t i);

/* ---- shards_plan.c ---- */

/* Where it will be, and `seed`; false: there is no place for timelines. */
bool shards_place(struct state *state, struct shards_plan *plan);
/*
 * timelines_prepare(); of commands that begin at once only one may write the index, and the others
 * wait for it.
 */
MUST_CHECK bool shards_prepare(struct state *state, const char *path, struct error *err);
/* The plan that is stored at plan->files; false: none is. */
bool shards_plan_read(struct shards_plan *plan);
MUST_CHECK bool shards_plan_write(const struct shards_plan *plan, struct error *err);
/* In the place of what the plan was: n shards, stored. */
MUST_CHECK bool shards_plan_make(struct state *state, uint32_t n, struct shards_plan *plan,
				 struct error *err);
/* Fills in the cuts. */
MUST_CHECK bool shards_cut(struct state *state, struct shards_plan *plan, struct error *err);

#endif

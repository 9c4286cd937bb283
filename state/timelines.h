/*
 * timelines.h - all state changes of a trace, stored once: building, and where they are kept
 *
 * A store is one file, or several (shards, each of a stretch of time) and a manifest that lists
 * them. Building may be killed at any moment: what was committed is kept, and the next build goes
 * on from there, to the same bytes. docs/timelines.md has the format.
 */
#ifndef STATE_TIMELINES_H
#define STATE_TIMELINES_H

#include "state/feed.h"
#include "state/program.h"
#include "state/state.h"

/* What a store is of; another one is made anew. */
struct timelines_key {
	uint64_t rules[2]; /* rules_identity() and the version of the language */
	uint64_t extent;   /* of the files: a trace that grew is caught up */
	uint64_t bytes;    /* of all files: one that is shorter now is another */
};

void timelines_key_of(const struct rules *rules, const struct trace *trace,
		      struct timelines_key *out);

struct timelines_part {
	struct feed *feed;       /* borrowed */
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
	bool thread;    /* a second one reads ahead, encodes slices and stores them */
	uint32_t least; /* changes of a slice; 0: as many as is usual. For tests */
};

struct timelines_built {
	uint64_t events, changes; /* of the whole store, also what was there already */
	uint64_t bytes;           /* of its slices */
	uint32_t slices;
};

/*
 * Builds, goes on with, or catches up the slices of [begin, end) at `path`; nothing to do is done
 * at once. Interrupted or failed, what was committed stays.
 */
bool timelines_build_part(const struct timelines_part *part, struct timelines_built *out,
			  struct error *err);

struct timelines_shard {
	const char *path; /* relative to the manifest, or absolute; without blanks */
	nstime begin, end;
	uint64_t first_event, changes;
	uint32_t slices;
	uint64_t start_hash, end_hash; /* of the states at both ends */
};

/* Makes the shards one store; atomically. */
bool timelines_write_manifest(const char *path, const struct timelines_key *key,
			      const struct timelines_shard *shards, size_t count,
			      struct error *err);
bool timelines_is_manifest(const char *path);

/* ---- of an opened state ---- */

/* Where its timelines are; to be freed with mem_free(). NULL: the index is in memory only. */
char *timelines_path(struct state *state);
/*
 * To be called before anything is built for it: makes sure that files at that path are of this
 * trace, and removes them where they cannot be.
 */
bool timelines_prepare(struct state *state, const char *path, struct error *err);
/* Was that done, by this process or another? */
bool timelines_prepared(struct state *state);
/*
 * Of the whole trace: one store by one thread or two, which is what a second one gains most by;
 * shards (shards.h) by more.
 */
bool timelines_build(struct state *state, unsigned threads, struct timelines_built *out,
		     struct error *err);
/* Removes the timelines of a trace, of all rules. */
bool timelines_drop(struct trace *trace, const struct index_options *options, struct error *err);
/* Removes the files at `path` and all whose names begin so. */
bool timelines_remove(const char *path, struct error *err);
/* Are there any, complete and of these files? */
bool timelines_there(struct state *state);

#endif

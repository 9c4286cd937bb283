/*
 * shards.h - builds timelines in parts: by threads, or by processes on any machines (exchange.h)
 *
 *     plan ──> pass 1 of each shard ──> join ──> pass 2 of each shard
 *
 * Each step writes a file beside the timelines and is skipped when the file exists, so a killed
 * build can be started again. The plan says where shards begin; files of another plan are ignored.
 * docs/shards.md explains why the result is exact.
 */
#ifndef STATE_TIMELINES_SHARDS_H
#define STATE_TIMELINES_SHARDS_H

#include "state/timelines/timelines.h"

enum { SHARDS_MAX = 4096 };

struct shards_plan {
	uint32_t n;
	nstime *cuts; /* [0] NSTIME_MIN, rising, [n] NSTIME_MAX */
	uint64_t seed; /* hash of the rules and the trace (not of its path); */
	uint64_t id;   /* hash of seed and cuts; equals `seed` until the cuts are known */
	char *path;    /* of the timelines */
	char *files;   /* prefix of the files of steps: `path`, or in an exchange folder */
	struct timelines_key key;
};

/* Reads the stored plan; if it has not n shards, makes and stores one. n = 0: any stored plan. */
MUST_CHECK bool shards_plan(struct state *state, uint32_t n, struct shards_plan *out,
			    struct error *err);
void shards_plan_release(struct shards_plan *plan);
/* Reads the stored plan. False: there is none; out->path is where timelines go (or NULL). */
bool shards_plan_stored(struct state *state, struct shards_plan *out);

struct shard_merge;

/* What one thread needs for steps. */
struct shards_work {
	struct state *state;
	const struct shards_plan *plan;
	struct event_source *event_source;
	struct program *program;
	/*
	 * Other processes do steps, too; the caller has checked that this step is not done yet. Its
	 * file depends on trace and plan alone if the program is new.
	 */
	bool exchange;
	struct shard_kept *kept; /* by shard: what threads of one process hand on; NULL: files do */
	struct buf *left;        /* as in struct timelines_part */
};

/*
 * What steps of a shard leave in memory. Each is used by one thread at a time. Files are written
 * all the same, for a build that is killed: but that of a start by pass 2, for which no other shard
 * waits.
 */
struct shard_kept {
	struct write_log log; /* of pass 1, for pass 2 by the same thread and program */
	struct buf summary;   /* until it is joined; `events` of the shard */
	struct buf start;     /* until pass 2; `before` of all earlier shards */
	uint64_t events, before;
};
void shard_kept_release(struct shard_kept *kept);

/* With the state's own event source and program. */
struct shards_work shards_work_of(struct state *state, const struct shards_plan *plan);
/* With an event source and a program of its own. Call shards_work_end(), also after false. */
MUST_CHECK bool shards_work_begin(struct state *state, const struct shards_plan *plan,
				  struct shards_work *out, struct error *err);
void shards_work_end(struct shards_work *work);

/*
 * Pass 1 of shard i: writes its summary. Nothing needs that of the last shard: for it there is only
 * the log, where it is wanted.
 */
MUST_CHECK bool shards_summarize(const struct shards_work *work, uint32_t i, struct error *err);

/* The join: merges summaries shard by shard and stores the starts. */
struct shards_join {
	struct shard_merge *merge;
	uint32_t next;   /* the shard whose summary is merged next; starts up to it are known */
	uint64_t events; /* before the last known start */
};
/* `first` as for shards_merge(). shards_join_end() is called also where it fails. */
MUST_CHECK bool shards_join_begin(const struct shards_work *work, uint32_t first,
				  struct shards_join *out, struct error *err);
/* What pass 2 of the first shard left and how many events it had: takes the place of its join. */
MUST_CHECK bool shards_join_left(const struct shards_work *work, struct shards_join *join,
				 const struct buf *left, uint64_t events, struct error *err);
/* Merges the next summary, not for the last shard. *any: the summary was there. */
MUST_CHECK bool shards_join_next(const struct shards_work *work, struct shards_join *join, bool *any,
				 struct error *err);
void shards_join_end(struct shards_join *join);

/*
 * Joins from start `first` (0: the first missing one) as far as there are summaries; with an
 * exchange folder only one. *replayed: events replayed for lines that shards could not decide.
 */
MUST_CHECK bool shards_merge(const struct shards_work *work, uint32_t first, uint64_t *replayed,
			     struct error *err);
/*
 * Pass 2 of shard i: builds its slices. After the last one the shards replace a store of one part,
 * but not with an exchange folder.
 */
MUST_CHECK bool shards_build(const struct shards_work *work, uint32_t i,
			     struct timelines_built *out, struct error *err);
/* Adds up what was built so far. True: all shards are built, for the files as they are. */
bool shards_built(const struct shards_plan *plan, struct timelines_built *out);
/* Was an event outside of its packet's time range? Then the shards do not count. */
bool shards_strayed(const struct shards_plan *plan);
/* The path of shard i's store; to be freed. */
char *shards_path(const struct shards_plan *plan, uint32_t i);

/* All steps, in n shards (0: those of the stored plan), one thread per shard. */
MUST_CHECK bool shards_build_all(struct state *state, uint32_t n, struct timelines_built *out,
				 struct error *err);

#endif

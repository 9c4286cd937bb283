/*
 * shards.h - timelines of a trace in parts: by threads, or by processes of any machines
 * (exchange.h)
 *
 *     plan ──> pass 1 of each shard ──> join ──> pass 2 of each shard
 *
 * Each step leaves a file beside the timelines and is skipped when its file is there, so whatever
 * is killed is started again. The plan says where shards begin; files of another plan do not count.
 * docs/shards.md tells why it is exact.
 */
#ifndef STATE_TIMELINES_SHARDS_H
#define STATE_TIMELINES_SHARDS_H

#include "state/timelines/timelines.h"

enum { SHARDS_MAX = 4096 };

struct shards_plan {
	uint32_t n;
	nstime *cuts; /* [0] NSTIME_MIN, rising, [n] NSTIME_MAX */
	uint64_t seed; /* of the rules and the trace, wherever it lies; */
	uint64_t id;   /* of all this; until the cuts are known that one */
	char *path;    /* of the timelines */
	char *files;   /* begins the names of what steps leave: `path`, or in an exchange folder */
	struct timelines_key key;
};

/* The plan of n shards, stored for all processes that work on it; n = 0: the one that is stored. */
MUST_CHECK bool shards_plan(struct state *state, uint32_t n, struct shards_plan *out,
			    struct error *err);
void shards_plan_release(struct shards_plan *plan);
/* The plan that is stored; false: there is none, and out->path is where timelines are (or NULL). */
bool shards_plan_stored(struct state *state, struct shards_plan *out);

struct shard_merge;

/* What a step works with: its thread's own. */
struct shards_work {
	struct state *state;
	const struct shards_plan *plan;
	struct event_source *event_source;
	struct program *program;
	/*
	 * Other processes do steps, too. The caller has looked: this one is not done yet.
	 * What it leaves depends on the trace and the plan alone where the program is new.
	 */
	bool exchange;
};

/* By the state's own feed and program. */
struct shards_work shards_work_of(struct state *state, const struct shards_plan *plan);
/* By an event source and a program of its own. It is ended with shards_work_end(), also after
 * false.
 */
MUST_CHECK bool shards_work_begin(struct state *state, const struct shards_plan *plan,
				  struct shards_work *out, struct error *err);
void shards_work_end(struct shards_work *work);

/* Pass 1 of shard i, but not of the last one: no shard needs it. */
MUST_CHECK bool shards_summarize(const struct shards_work *work, uint32_t i, struct error *err);

/* The join, shard by shard. */
struct shards_join {
	struct shard_merge *merge;
	uint32_t next;   /* the shard whose summary is merged next: starts up to it are known */
	uint64_t events; /* before the one that is known last */
};
/* `first` as for shards_merge(). shards_join_end() is called also where it fails. */
MUST_CHECK bool shards_join_begin(const struct shards_work *work, uint32_t first,
				  struct shards_join *out, struct error *err);
/* Not of the last shard. *any: there was its summary. */
MUST_CHECK bool shards_join_next(const struct shards_work *work, struct shards_join *join, bool *any,
				 struct error *err);
void shards_join_end(struct shards_join *join);

/*
 * From the first start that is missing, as far as there are summaries: the next ones, or for an
 * exchange folder the next one. `first`: that start, 0: it is looked for. *replayed: events that
 * could not be decided in their shard.
 */
MUST_CHECK bool shards_merge(const struct shards_work *work, uint32_t first, uint64_t *replayed,
			     struct error *err);
/* Pass 2 of shard i. When all are done the shards are one store, but for an exchange folder. */
MUST_CHECK bool shards_build(const struct shards_work *work, uint32_t i,
			     struct timelines_built *out, struct error *err);
/* What was built so far; true: all shards, of the files as they are. */
bool shards_built(const struct shards_plan *plan, struct timelines_built *out);
/* Was an event met outside of what its packet claims? Then the shards do not count. */
bool shards_strayed(const struct shards_plan *plan);
/* The file of shard i's slices; to be freed. */
char *shards_path(const struct shards_plan *plan, uint32_t i);

/* Everything, in n shards (0: as the plan that is stored says), by a thread each. */
MUST_CHECK bool shards_build_all(struct state *state, uint32_t n, struct timelines_built *out,
				 struct error *err);

#endif

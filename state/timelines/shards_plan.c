/*
 * shards_plan.c - storing and reading plans
 *
 * All processes use the stored cuts, also when the trace grows meanwhile: the last shard has no
 * end.
 */
#include "engine/base/mem.h"
#include "index/tables/identity.h"
#include "state/context/context.h"
#include "state/timelines/shards_internal.h"

#include <string.h>
#include <time.h>
#include <xxhash.h>

enum { TICK_MS = 20, WAIT_MS = 60000 };

/* Of threads: the first shard is built while the others are in pass 1, which takes less. */
static const double FIRST_WORK = 0.9;

bool shards_place(struct state *state, struct shards_plan *plan)
{
	*plan = (struct shards_plan){
		.key = timelines_key_of(state->options.rules, state->event_source->trace)};
	plan->path = timelines_path(state, &plan->key);
	plan->files = plan->path ? mem_strdup(plan->path) : NULL;
	plan->id = plan->seed = XXH3_64bits_withSeed(plan->key.rules, sizeof plan->key.rules,
						     identity_anywhere(state->event_source->trace));
	return plan->path != NULL;
}

void shards_plan_release(struct shards_plan *plan)
{
	mem_free(plan->cuts);
	mem_free(plan->path);
	mem_free(plan->files);
	*plan = (struct shards_plan){0};
}

/* ---- stored ---- */

static void begin_plan(struct shards_plan *plan, uint32_t n)
{
	mem_free(plan->cuts);
	plan->n = n;
	plan->cuts = mem_new_array((size_t)n + 1, sizeof *plan->cuts);
	plan->cuts[0] = NSTIME_MIN;
	plan->cuts[n] = NSTIME_MAX;
}

static size_t cuts_size(const struct shards_plan *plan)
{
	return ((size_t)plan->n + 1) * sizeof *plan->cuts;
}

/* Sets the plan's id, which its files have to have. */
static void identify(struct shards_plan *plan)
{
	plan->id = XXH3_64bits_withSeed(plan->cuts, cuts_size(plan), plan->seed);
}

/* Copies stored cuts; false: they are not in order. */
static bool take_cuts(struct shards_plan *plan, const struct buf *cuts)
{
	size_t count = cuts->len / sizeof *plan->cuts;

	if (count < 2 || count > SHARDS_MAX + 1 || cuts->len % sizeof *plan->cuts)
		return false;
	begin_plan(plan, (uint32_t)count - 1);
	memcpy(plan->cuts, cuts->data, cuts->len);
	for (uint32_t i = 0; i < plan->n; i++)
		if (plan->cuts[i] > plan->cuts[i + 1])
			return false;
	return plan->cuts[0] == NSTIME_MIN && plan->cuts[plan->n] == NSTIME_MAX;
}

bool shards_plan_read(struct shards_plan *plan)
{
	struct buf cuts = {0};
	bool ok = shard_file_read(plan, SHARD_PLAN, 0, NULL, &cuts) && take_cuts(plan, &cuts);

	if (ok)
		identify(plan);
	buf_release(&cuts);
	return ok;
}

bool shards_plan_write(const struct shards_plan *plan, struct error *err)
{
	struct shards_plan begun = *plan; /* readers of the plan do not know its id yet */
	struct buf cuts = {0};
	bool ok;

	begun.id = plan->seed;
	buf_add(&cuts, plan->cuts, cuts_size(plan));
	ok = shard_file_write(&begun, SHARD_PLAN, 0, NULL, &cuts, err);
	buf_release(&cuts);
	return ok;
}

bool shards_plan_make(struct state *state, uint32_t n, double first, struct shards_plan *plan,
		      struct error *err)
{
	plan->id = plan->seed;
	begin_plan(plan, n);
	if (!shards_cut(state, plan, first, err))
		return false;
	identify(plan);
	return shards_plan_write(plan, err);
}

/*
 * Of processes that start at once the one that may write the index prepares; the others wait, and
 * must not remove what it builds.
 */
bool shards_prepare(struct state *state, const char *path, struct error *err)
{
	struct timespec tick = {.tv_nsec = TICK_MS * 1000000L};

	if (!state->index || index_writable(state->index))
		return timelines_prepare(state, path, err);
	for (int i = 0; i < WAIT_MS / TICK_MS; i++) {
		if (timelines_prepared(state))
			return true;
		nanosleep(&tick, NULL);
	}
	return error_set(err, ERR_IO, "another process writes the index: run it again afterwards");
}

bool shards_plan(struct state *state, uint32_t n, struct shards_plan *out,
		 struct error *err)
{
	if (!shards_place(state, out))
		return error_set(err, ERR_IO, "timelines need an index that is kept");
	if (!shards_prepare(state, out->path, err))
		return false;
	if (shards_plan_read(out) && (n == 0 || out->n == n))
		return true;
	if (n == 0)
		return error_set(err, ERR_IO, "%s: the plan of shards is gone", out->path);
	return shards_plan_make(state, n, FIRST_WORK, out, err);
}

bool shards_plan_stored(struct state *state, struct shards_plan *out)
{
	return shards_place(state, out) && shards_plan_read(out);
}

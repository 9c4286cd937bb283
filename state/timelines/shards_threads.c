/*
 * shards_threads.c - all steps of shards.h by threads of one process
 *
 *     caller    pass 2 of shard 0 ──────────────────────────────────────>
 *     thread 1  pass 1 of shard 0 ─────────> join, pass 2 of shard 1 ───>
 *     thread 2  pass 1 of shard 1 ────> wait      pass 2 of shard 2 ────>
 *
 * The first shard begins with nothing, so it is built at once, and is as much longer as the others
 * wait. The thread that ends pass 1 last does the merge. Each thread has an event source and a
 * program of its own; only the caller's thread reports progress, and hears of an interruption.
 */
#include "engine/base/workers.h"
#include "state/context/context.h"
#include "state/state.h"
#include "state/timelines/shards_internal.h"

#include <stdatomic.h>

enum { TICK_MS = 100 };

/* How much the first shard is, if pass 1 costs 0.7 of pass 2: the others have 0.3 of the time. */
static const double ahead = 1 / 0.3;

struct shard_pool {
	struct state *state;
	struct shards_plan plan;
	_Atomic bool stop;
	nstime first, last; /* of the trace, when they are known */
	bool ranged;
	struct workers workers; /* its lock is that of all below */
	unsigned count;         /* of them */
	unsigned summarizing;   /* how many are still in pass 1 */
	bool joined;
};

static void pool_fail(struct shard_pool *pool, const struct error *err)
{
	atomic_store(&pool->stop, true);
	workers_fail(&pool->workers, err);
}

static bool goes_on(void *arg, nstime at, nstime first, nstime last)
{
	(void)at;
	(void)first;
	(void)last;
	return !atomic_load(&((struct shard_pool *)arg)->stop);
}

/* Also the caller's, for what it does itself. */
static bool reports(void *arg, nstime at, nstime first, nstime last)
{
	struct shard_pool *pool = arg;
	const struct state_options *options = &pool->state->options;

	return !atomic_load(&pool->stop) &&
	       (!options->progress || options->progress(options->progress_arg, at, first, last));
}

static bool begin_work(struct shard_pool *pool, bool caller, struct shards_work *out,
		       struct error *err)
{
	bool ok = shards_work_begin(pool->state, &pool->plan, out, err);

	out->event_source->progress = caller ? reports : goes_on;
	out->event_source->progress_arg = pool;
	return ok;
}

/* Waits for all summaries; the thread that made the last one merges them. */
static bool join_or_wait(struct shard_pool *pool, const struct shards_work *work, struct error *err)
{
	struct workers *workers = &pool->workers;
	uint64_t replayed;
	bool last, ok = true;

	pthread_mutex_lock(&workers->lock);
	last = --pool->summarizing == 0;
	while (!last && !pool->joined && !workers->failed)
		pthread_cond_wait(&workers->changed, &workers->lock);
	ok = !workers->failed;
	pthread_mutex_unlock(&workers->lock);
	if (!last || !ok)
		return ok || error_set(err, ERR_INTERRUPTED, "interrupted");
	if (!shards_merge(work, 0, &replayed, err))
		return false;
	pthread_mutex_lock(&workers->lock);
	pool->joined = true;
	pthread_cond_broadcast(&workers->changed);
	pthread_mutex_unlock(&workers->lock);
	return true;
}

static bool build_each(struct shard_pool *pool, const struct shards_work *work, uint32_t first,
		       struct error *err)
{
	struct timelines_built built;

	for (uint32_t i = first; i + 1 < pool->plan.n; i += pool->count)
		if (!shards_summarize(work, i, err))
			return false;
	if (!join_or_wait(pool, work, err))
		return false;
	for (uint32_t i = first; i + 1 < pool->plan.n; i += pool->count)
		if (!shards_build(work, i + 1, &built, err))
			return false;
	return true;
}

/* Worker i summarizes shard i and builds the one behind it; of many shards each `count`th. */
static void build_some(void *arg, unsigned i)
{
	struct shard_pool *pool = arg;
	struct shards_work work;
	struct error err;

	if (!begin_work(pool, false, &work, &err) || !build_each(pool, &work, i, &err))
		pool_fail(pool, &err);
	shards_work_end(&work);
}

/* Hears of an interruption while others work. */
static void hear(void *arg)
{
	struct shard_pool *pool = arg;
	struct error err;

	if (!pool->ranged || atomic_load(&pool->stop) ||
	    reports(pool, pool->last, pool->first, pool->last))
		return;
	error_set(&err, ERR_INTERRUPTED, "interrupted");
	pool_fail(pool, &err);
}

static bool run_pool(struct shard_pool *pool, struct error *err)
{
	struct timelines_built built;
	struct shards_work work;
	struct error ignored, own;

	workers_init(&pool->workers);
	pool->ranged = events_range(pool->state->index, &pool->first, &pool->last, &ignored);
	pool->count = pool->plan.n - 1 < WORKERS_MAX ? pool->plan.n - 1 : WORKERS_MAX;
	pool->summarizing = pool->count;
	if (workers_start(&pool->workers, pool->count, build_some, pool) < pool->count) {
		error_set(&own, ERR_IO, "no more threads can be started");
		pool_fail(pool, &own);
	}
	if (!begin_work(pool, true, &work, &own) || !shards_build(&work, 0, &built, &own))
		pool_fail(pool, &own);
	shards_work_end(&work);
	workers_watch(&pool->workers, TICK_MS, hear, pool);
	return workers_end(&pool->workers, err);
}

bool shards_build_all(struct state *state, uint32_t n, struct timelines_built *out,
		      struct error *err)
{
	struct shard_pool pool = {.state = state};
	bool ok = shards_plan(state, n, ahead, &pool.plan, err);
	uint64_t before = trace_disorder(state->event_source->trace);

	if (ok) {
		ok = run_pool(&pool, err);
		if (ok)
			shards_built(&pool.plan, out);
		if ((ok || err->kind != ERR_INTERRUPTED) &&
		    (trace_disorder(state->event_source->trace) != before ||
		     shards_strayed(&pool.plan)))
			ok = shards_give_up(&pool.plan, out, err);
	}
	shards_plan_release(&pool.plan);
	return ok;
}

/*
 * shards_threads.c - all steps of shards.h by threads of one process
 *
 *     caller    pass 2 of shard 0 ────────>
 *     thread 1  pass 1 of shard 1 ───────> join ─ pass 2 of shard 1 ──>
 *     thread 2  pass 1 of shard 2 ─────────> wait, join ─ pass 2 of shard 2 ──>
 *
 * The start of the first shard is known, so its pass 2 begins at once, and the state that it leaves
 * is the start of the next one. The other shards are of equal work, and it is of less: all wait for
 * it. An idle thread joins the next summary as soon as it is there; pass 2 of a shard begins once
 * its start is known. The same thread did pass 1, whose log (write_log.h) it has in memory. Each
 * thread has an event source and a program of its own; only the caller's thread reports progress
 * and notices interruption.
 */
#include "engine/base/mem.h"
#include "engine/base/workers.h"
#include "state/context/context.h"
#include "state/state.h"
#include "state/timelines/shards_internal.h"

#include <stdatomic.h>

enum { TICK_MS = 100 };

struct shard_pool {
	struct state *state;
	struct shards_plan plan;
	_Atomic bool stop;
	nstime first, last; /* of the trace, once known */
	bool ranged;
	struct workers workers; /* its lock protects all below */
	unsigned count;         /* of them */
	struct shard_kept *kept; /* by shard */
	bool *summarized;        /* likewise */
	bool joining;           /* a thread does what is next: */
	struct shards_work work;
	struct shards_join join;
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

/* Progress callback, also for the steps of the caller's thread. */
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

	out->kept = pool->kept;
	out->event_source->progress = caller ? reports : goes_on;
	out->event_source->progress_arg = pool;
	return ok;
}

/* May the join go on? Call with the lock held. */
static bool may_join(const struct shard_pool *pool)
{
	return !pool->joining && pool->join.next + 1 < pool->plan.n &&
	       pool->summarized[pool->join.next];
}

/* Call with the lock held; releases it while joining. */
static bool join_next(struct shard_pool *pool, struct error *err)
{
	struct workers *workers = &pool->workers;
	bool any;

	pool->joining = true;
	pthread_mutex_unlock(&workers->lock);
	struct shards_join join = pool->join;
	bool ok = shards_join_next(&pool->work, &join, &any, err);
	ok = ok && (any || error_set(err, ERR_IO, "%s: the summary of a shard is gone",
				     pool->plan.files));
	pthread_mutex_lock(&workers->lock);
	pool->join = join;
	pool->joining = false;
	pthread_cond_broadcast(&workers->changed);
	return ok;
}

static void mark_summarized(struct shard_pool *pool, uint32_t shard)
{
	pthread_mutex_lock(&pool->workers.lock);
	pool->summarized[shard] = true;
	pthread_cond_broadcast(&pool->workers.changed);
	pthread_mutex_unlock(&pool->workers.lock);
}

/* Waits for the start of the shard, and joins what it can meanwhile. */
static bool await_start(struct shard_pool *pool, uint32_t shard, struct error *err)
{
	struct workers *workers = &pool->workers;
	bool ok = true;

	pthread_mutex_lock(&workers->lock);
	while (ok && pool->join.next < shard && !workers->failed) {
		if (may_join(pool))
			ok = join_next(pool, err);
		else
			pthread_cond_wait(&workers->changed, &workers->lock);
	}
	if (ok && pool->join.next < shard)
		ok = error_set(err, ERR_INTERRUPTED, "interrupted");
	pthread_mutex_unlock(&workers->lock);
	return ok;
}

static bool build_each(struct shard_pool *pool, const struct shards_work *work, uint32_t first,
		       struct error *err)
{
	struct timelines_built built;

	for (uint32_t i = first; i < pool->plan.n; i += pool->count) {
		if (!shards_summarize(work, i, err))
			return false;
		mark_summarized(pool, i);
	}
	for (uint32_t i = first; i < pool->plan.n; i += pool->count) {
		if (!await_start(pool, i, err) || !shards_build(work, i, &built, err))
			return false;
		write_log_release(&pool->kept[i].log); /* its summary may not be joined yet */
	}
	return true;
}

/* Worker i summarizes and builds shard i + 1, then goes on `count` shards further. */
static void build_some(void *arg, unsigned i)
{
	struct shard_pool *pool = arg;
	struct shards_work work;
	struct error err;

	if (!begin_work(pool, false, &work, &err) || !build_each(pool, &work, i + 1, &err))
		pool_fail(pool, &err);
	shards_work_end(&work);
}

/*
 * Pass 2 of the first shard. The state that it leaves is the next start, unless it was built or
 * begun by a process that was killed: then pass 1 is needed.
 */
static bool build_first(struct shard_pool *pool, struct shards_work *work, struct error *err)
{
	struct timelines_built built;
	struct buf left = {0};
	bool joined = pool->join.next > 0, ok;

	work->left = joined ? NULL : &left;
	ok = shards_build(work, 0, &built, err);
	if (ok && !joined && left.len) {
		pthread_mutex_lock(&pool->workers.lock);
		ok = shards_join_left(&pool->work, &pool->join, &left, built.events, err);
		pthread_cond_broadcast(&pool->workers.changed);
		pthread_mutex_unlock(&pool->workers.lock);
	} else if (ok && !joined) {
		ok = shards_summarize(work, 0, err);
		if (ok)
			mark_summarized(pool, 0);
	}
	buf_release(&left);
	return ok;
}

/* Checks for interruption while others work. */
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

static void run_workers(struct shard_pool *pool)
{
	struct shards_work work;
	struct error own;

	if (workers_start(&pool->workers, pool->count, build_some, pool) < pool->count) {
		error_set(&own, ERR_IO, "no more threads can be started");
		pool_fail(pool, &own);
	}
	if (!begin_work(pool, true, &work, &own) || !build_first(pool, &work, &own))
		pool_fail(pool, &own);
	shards_work_end(&work);
	workers_watch(&pool->workers, TICK_MS, hear, pool);
}

static bool run_pool(struct shard_pool *pool, struct error *err)
{
	struct error ignored;

	workers_init(&pool->workers);
	pool->ranged = events_range(pool->state->index, &pool->first, &pool->last, &ignored);
	pool->count = pool->plan.n - 1 < WORKERS_MAX ? pool->plan.n - 1 : WORKERS_MAX;
	pool->kept = mem_new_array(pool->plan.n, sizeof *pool->kept);
	pool->summarized = mem_new_array(pool->plan.n, sizeof *pool->summarized);
	bool ok = begin_work(pool, false, &pool->work, err) &&
		  shards_join_begin(&pool->work, 0, &pool->join, err);
	if (ok)
		run_workers(pool);
	ok = workers_end(&pool->workers, ok ? err : &ignored) && ok;
	if (pool->join.merge)
		shards_join_end(&pool->join);
	shards_work_end(&pool->work);
	for (uint32_t i = 0; i < pool->plan.n; i++)
		shard_kept_release(&pool->kept[i]);
	mem_free(pool->kept);
	mem_free(pool->summarized);
	return ok;
}

bool shards_build_all(struct state *state, uint32_t n, struct timelines_built *out,
		      struct error *err)
{
	struct shard_pool pool = {.state = state};
	bool ok = shards_plan(state, n, &pool.plan, err);
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

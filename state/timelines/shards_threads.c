/*
 * shards_threads.c - all steps of shards.h by threads of one process
 *
 *     caller    pass 2 of shard 0 ────────>
 *     thread 1  pass 1 of shard 1 ───────> join 1 ─ pass 2 of shard 1 ──>
 *     thread 2  pass 1 of shard 2 ─────────> wait, join 2 ─ pass 2 of shard 2 ──>
 *
 * The start of the first shard is known, so its pass 2 begins at once, and the state that it leaves
 * is the start of the next one. The other shards are of equal work, and it is of less: all wait for
 * it. Once the start of a shard is known, its thread joins its summary, which gives the next start,
 * and then goes on with pass 2, for which it has the log of pass 1 (write_log.h). Each thread has
 * an event source and a program of its own; only the caller's thread reports progress and notices
 * interruption.
 */
#include "engine/base/budget.h"
#include "engine/base/mem.h"
#include "engine/base/workers.h"
#include "state/context/context.h"
#include "state/state.h"
#include "state/timelines/shards_internal.h"

#include <stdatomic.h>

enum {
	TICK_MS = 100,
	LOG_PART = 4,         /* logs of all threads may take a fourth of the memory, */
	LOG_MOST = 256 << 20, /* or so many bytes each where that has no limit */
};

struct shard_pool {
	struct state *state;
	struct shards_plan plan;
	_Atomic bool stop;
	nstime first, last; /* of the trace, once known */
	bool ranged;
	struct workers workers; /* its lock protects all below */
	unsigned count;         /* of them */
	struct shard_kept *kept; /* by shard */
	struct shards_join join; /* by the thread whose shard is next, */
	struct shards_work work; /* with this */
};

static void pool_fail(struct shard_pool *pool, const struct error *err)
{
	atomic_store(&pool->stop, true);
	workers_fail(&pool->workers, err);
}

static bool shards_threads_goes_on(void *arg, nstime at, nstime first, nstime last)
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
	out->event_source->progress = caller ? reports : shards_threads_goes_on;
	out->event_source->progress_arg = pool;
	return ok;
}

/* Waits for the start of the shard. */
static bool await_start(struct shard_pool *pool, uint32_t shard, struct error *err)
{
	struct workers *workers = &pool->workers;
	bool ok;

	pthread_mutex_lock(&workers->lock);
	while (pool->join.next < shard && !workers->failed)
		pthread_cond_wait(&workers->changed, &workers->lock);
	ok = pool->join.next >= shard || error_set(err, ERR_INTERRUPTED, "interrupted");
	pthread_mutex_unlock(&workers->lock);
	return ok;
}

/* Publishes how far the join has come. */
static void set_join(struct shard_pool *pool, const struct shards_join *join)
{
	pthread_mutex_lock(&pool->workers.lock);
	pool->join = *join;
	pthread_cond_broadcast(&pool->workers.changed);
	pthread_mutex_unlock(&pool->workers.lock);
}

static struct shards_join get_join(struct shard_pool *pool)
{
	pthread_mutex_lock(&pool->workers.lock);
	struct shards_join join = pool->join;
	pthread_mutex_unlock(&pool->workers.lock);
	return join;
}

/* Joins the summary of a shard of this thread, if the join is there and not further. */
static bool join_own(struct shard_pool *pool, uint32_t shard, struct error *err)
{
	struct shards_join join = get_join(pool);
	bool any;

	if (join.next != shard || shard + 1 == pool->plan.n)
		return true;
	if (!shards_join_next(&pool->work, &join, &any, err))
		return false;
	if (!any)
		return error_set(err, ERR_IO, "%s: the summary of a shard is gone",
				 pool->plan.files);
	set_join(pool, &join);
	return true;
}

static bool build_each(struct shard_pool *pool, const struct shards_work *work, uint32_t first,
		       struct error *err)
{
	struct timelines_built built;

	for (uint32_t i = first; i < pool->plan.n; i += pool->count)
		if (!shards_summarize(work, i, err))
			return false;
	for (uint32_t i = first; i < pool->plan.n; i += pool->count) {
		if (!await_start(pool, i, err) || !join_own(pool, i, err) ||
		    !shards_build(work, i, &built, err))
			return false;
		shard_kept_release(&pool->kept[i]);
		pool->kept[i] = (struct shard_kept){0};
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
	struct shards_join join = get_join(pool);
	struct buf left = {0};
	bool joined = join.next > 0, ok;

	work->left = joined ? NULL : &left;
	ok = shards_build(work, 0, &built, err);
	if (ok && !joined && left.len) {
		ok = shards_join_left(&pool->work, &join, &left, built.events, err);
		set_join(pool, &join);
	} else if (ok && !joined) {
		ok = shards_summarize(work, 0, err) && join_own(pool, 0, err);
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

/* Bytes of one shard's log: it ends there, and pass 2 reads events again. */
static size_t log_most(uint32_t shards)
{
	size_t all = budget_most() / LOG_PART;

	return budget_most() == SIZE_MAX ? (size_t)LOG_MOST : all / shards + 1;
}

static bool run_pool(struct shard_pool *pool, struct error *err)
{
	struct error ignored;

	workers_init(&pool->workers);
	pool->ranged = events_range(pool->state->index, &pool->first, &pool->last, &ignored);
	pool->count = pool->plan.n - 1 < WORKERS_MAX ? pool->plan.n - 1 : WORKERS_MAX;
	pool->kept = mem_new_array(pool->plan.n, sizeof *pool->kept);
	for (uint32_t i = 0; i < pool->plan.n; i++)
		pool->kept[i].log.most = log_most(pool->plan.n);
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

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
#include "engine/base/mem.h"
#include "engine/base/wait.h"
#include "state/context/context.h"
#include "state/timelines/shards_internal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { TICK_MS = 100 };

/* How much the first shard is, if pass 1 costs 0.7 of pass 2: the others have 0.3 of the time. */
static const double ahead = 1 / 0.3;

struct pool {
	struct state *state;
	struct shards_plan plan;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t changed;
	uint32_t summaries; /* still to be made */
	bool joined;
	uint32_t working;
	bool failed;
	struct error error;
	_Atomic bool stop;
};

struct worker {
	struct pool *pool;
	uint32_t i; /* its shard */
	pthread_t thread;
	bool started;
};

static void pool_fail(struct pool *pool, const struct error *err)
{
	pthread_mutex_lock(&pool->lock);
	if (!pool->failed)
		pool->error = *err;
	pool->failed = true;
	atomic_store(&pool->stop, true);
	pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
}

static bool goes_on(void *arg, nstime at, nstime first, nstime last)
{
	(void)at;
	(void)first;
	(void)last;
	return !atomic_load(&((struct pool *)arg)->stop);
}

static bool goes_on_at(void *arg, nstime at)
{
	(void)at;
	return !atomic_load(&((struct pool *)arg)->stop);
}

/* Also the caller's, for what it does itself. */
static bool reports(void *arg, nstime at, nstime first, nstime last)
{
	struct pool *pool = arg;
	const struct state_options *options = &pool->state->options;

	return !atomic_load(&pool->stop) &&
	       (!options->progress || options->progress(options->progress_arg, at, first, last));
}

static bool work_begin(struct pool *pool, bool caller, struct shards_work *out, struct error *err)
{
	struct notices silent = {0}; /* the state's own program has said it */

	*out = (struct shards_work){.state = pool->state,
				    .plan = &pool->plan,
				    .event_source = event_source_over_index(pool->state->index),
				    .one_process = true,
				    .progress = goes_on_at,
				    .progress_arg = pool};
	out->event_source->progress = caller ? reports : goes_on;
	out->event_source->progress_arg = pool;
	out->event_source->packet_filters = pool->state->event_source->packet_filters;
	out->event_source->inferred = pool->state->event_source->inferred;
	if (!program_compile(pool->state->options.rules, out->event_source->trace, &silent,
			     &out->program, err))
		return false;
	program_set_gaps(out->program, pool->state->gaps);
	return true;
}

static void work_end(struct shards_work *work)
{
	program_free(work->program);
	event_source_over_index_free(work->event_source);
}

/* Waits for all summaries; the thread that made the last one joins. */
static bool join_or_wait(struct pool *pool, const struct shards_work *work, struct error *err)
{
	uint64_t replayed;
	bool last, ok = true;

	pthread_mutex_lock(&pool->lock);
	last = --pool->summaries == 0;
	while (!last && !pool->joined && !pool->failed)
		pthread_cond_wait(&pool->changed, &pool->lock);
	ok = !pool->failed;
	pthread_mutex_unlock(&pool->lock);
	if (!last || !ok)
		return ok || error_set(err, ERR_INTERRUPTED, "interrupted");
	if (!shards_merge(work, &replayed, err))
		return false;
	pthread_mutex_lock(&pool->lock);
	pool->joined = true;
	pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
	return true;
}

static void *worker_run(void *arg)
{
	struct worker *worker = arg;
	struct pool *pool = worker->pool;
	struct timelines_built built;
	struct shards_work work;
	struct error err;

	if (!work_begin(pool, false, &work, &err) ||
	    !shards_summarize(&work, worker->i - 1, &err) || !join_or_wait(pool, &work, &err) ||
	    !shards_build(&work, worker->i, &built, &err))
		pool_fail(pool, &err);
	work_end(&work);
	pthread_mutex_lock(&pool->lock);
	pool->working--;
	pthread_cond_broadcast(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* Until all are done; hears of an interruption meanwhile. */
static void wait_for_all(struct pool *pool)
{
	nstime first, last;
	struct error ignored;
	bool ranged = events_range(pool->state->index, &first, &last, &ignored);

	pthread_mutex_lock(&pool->lock);
	while (pool->working) {
		wait_ms(&pool->changed, &pool->lock, TICK_MS);
		pthread_mutex_unlock(&pool->lock);
		if (ranged && !atomic_load(&pool->stop) && !reports(pool, last, first, last)) {
			struct error err;

			error_set(&err, ERR_INTERRUPTED, "interrupted");
			pool_fail(pool, &err);
		}
		pthread_mutex_lock(&pool->lock);
	}
	pthread_mutex_unlock(&pool->lock);
}

static void start_workers(struct pool *pool, struct worker *workers)
{
	pool->summaries = pool->working = pool->plan.n - 1;
	for (uint32_t i = 1; i < pool->plan.n; i++) {
		workers[i] = (struct worker){.pool = pool, .i = i};
		workers[i].started =
			!pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]);
		if (!workers[i].started) {
			struct error err;

			error_set(&err, ERR_IO, "no thread can be started");
			pthread_mutex_lock(&pool->lock);
			pool->working--;
			pthread_mutex_unlock(&pool->lock);
			pool_fail(pool, &err);
		}
	}
}

static void run_pool(struct pool *pool)
{
	struct worker *workers = mem_new_array(pool->plan.n, sizeof *workers);
	struct timelines_built built;
	struct shards_work work;
	struct error err;

	start_workers(pool, workers);
	if (!work_begin(pool, true, &work, &err) || !shards_build(&work, 0, &built, &err))
		pool_fail(pool, &err);
	work_end(&work);
	wait_for_all(pool);
	for (uint32_t i = 1; i < pool->plan.n; i++)
		if (workers[i].started)
			pthread_join(workers[i].thread, NULL);
	mem_free(workers);
}

/* What one thread found of a packet another one may have needed to know before. */
static bool build_whole(struct pool *pool, struct timelines_built *out, struct error *err)
{
	struct shards_work work = shards_work_of(pool->state, &pool->plan);

	work.one_process = true;
	return shards_build_whole(&work, out, err);
}

bool shards_build_all(struct state *state, uint32_t n, struct timelines_built *out,
		      struct error *err)
{
	struct pool pool = {.state = state};
	bool ok = shards_plan(state, n, ahead, &pool.plan, err);
	uint64_t before = trace_disorder(state->event_source->trace);
	struct shard_note note;

	if (ok) {
		pthread_mutex_init(&pool.lock, NULL);
		pthread_cond_init(&pool.changed, NULL);
		run_pool(&pool);
		pthread_cond_destroy(&pool.changed);
		pthread_mutex_destroy(&pool.lock);
		ok = !pool.failed;
		if (ok)
			shards_built(&pool.plan, out);
		else
			*err = pool.error;
		if ((ok || err->kind != ERR_INTERRUPTED) &&
		    (trace_disorder(state->event_source->trace) != before ||
		     shard_file_read(&pool.plan, SHARD_STRAYED, 0, &note, NULL)))
			ok = build_whole(&pool, out, err);
	}
	shards_plan_release(&pool.plan);
	return ok;
}

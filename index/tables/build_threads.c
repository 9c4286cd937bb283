/*
 * build_threads.c - index_build(): streams are scanned by several threads, one commits
 *
 *     worker ─┐
 *     worker ─┼─ steps ──> queue (bounded) ──> the caller's thread: one transaction for all that
 *     worker ─┘                                 came in GROUP_NS, progress, interruption
 *
 * A commit waits for the disk, so there are few of them; each leaves a state that the next run can
 * go on from. Callbacks want one thread, and so does the store: one writes.
 */
#include "engine/base/mem.h"
#include "engine/base/wait.h"
#include "index/tables/build.h"
#include "index/tables/scan.h"
#include "index/tables/write.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS_MAX = 16, TICK_MS = 50, GROUP_MS = 300, QUEUE_STEPS = 4 };

struct queued {
	struct build_step step;
	struct queued *next;
};

struct pool {
	struct index *index;
	const struct stream **streams; /* to be scanned */
	size_t nstreams;
	_Atomic size_t next;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t filled, drained;
	struct queued *first, **last;
	size_t steps, records;
	unsigned working;
	bool failed;
	struct error error;
};

static void pool_fail(struct pool *pool, const struct error *err)
{
	pthread_mutex_lock(&pool->lock);
	if (!pool->failed)
		pool->error = *err;
	pool->failed = true;
	pool->index->stop = 1;
	pthread_cond_broadcast(&pool->drained);
	pthread_cond_broadcast(&pool->filled);
	pthread_mutex_unlock(&pool->lock);
}

static void enqueue(struct pool *pool, const struct build_step *step)
{
	struct queued *queued = mem_new(sizeof *queued);

	queued->step = *step;
	pthread_mutex_lock(&pool->lock);
	while (pool->records >= QUEUE_STEPS * pool->index->step_records && !pool->failed)
		pthread_cond_wait(&pool->drained, &pool->lock);
	*pool->last = queued;
	pool->last = &queued->next;
	pool->steps++;
	pool->records += step->record_list.count;
	pthread_cond_signal(&pool->filled);
	pthread_mutex_unlock(&pool->lock);
}

static bool scan_stream(struct pool *pool, const struct stream *stream, struct error *err)
{
	struct stored stored;
	struct scanner scanner;
	struct build_step step;
	bool usable, complete = false, good = true;

	if (!build_needs_scan(pool->index, stream, &stored, &usable)) {
		stored_release(&stored);
		return true;
	}
	scanner_init(&scanner, pool->index, stream, usable ? &stored : NULL);
	stored_release(&stored);
	while (!complete && good) {
		good = scanner_step(&scanner, pool->index->step_records * pool->index->step_factor,
				    &step, err);
		if (!good)
			break;
		complete = step.complete;
		enqueue(pool, &step);
	}
	scanner_release(&scanner);
	return good;
}

static void *work(void *arg)
{
	struct pool *pool = arg;
	struct error err;

	for (;;) {
		size_t i = pool->next++;
		if (i >= pool->nstreams || pool->index->stop)
			break;
		if (!scan_stream(pool, pool->streams[i], &err)) {
			pool_fail(pool, &err);
			break;
		}
	}
	pthread_mutex_lock(&pool->lock);
	pool->working--;
	pthread_cond_signal(&pool->filled);
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool commit(struct pool *pool, struct queued *group, size_t count, struct error *err)
{
	struct build_step **steps = mem_new_array(count, sizeof(struct build_step *));
	size_t i = 0;
	bool again;

	for (struct queued *one = group; one; one = one->next)
		steps[i++] = &one->step;
	bool good = write_steps(pool->index, steps, count, &again, err);
	mem_free(steps);
	return good;
}

static void group_free(struct queued *group)
{
	for (struct queued *next; group; group = next) {
		next = group->next;
		step_release(&group->step);
		mem_free(group);
	}
}

/* Called with the lock; gives it up while the disk works. */
static void commit_queue(struct pool *pool)
{
	struct queued *group = pool->first;
	size_t count = pool->steps;
	struct error err;

	pool->first = NULL;
	pool->last = &pool->first;
	pool->steps = 0;
	pool->records = 0;
	pthread_cond_broadcast(&pool->drained);
	pthread_mutex_unlock(&pool->lock);
	bool good = !count || commit(pool, group, count, &err);
	group_free(group);
	if (!good)
		pool_fail(pool, &err);
	pthread_mutex_lock(&pool->lock);
}

static void tell_progress(struct pool *pool)
{
	struct index *index = pool->index;
	struct error err;

	uint64_t done = index->scanned < index->all ? index->scanned : index->all;
	if (!index->options.progress ||
	    index->options.progress(index->options.progress_arg, done, index->all))
		return;
	error_set(&err, ERR_INTERRUPTED, "interrupted");
	pthread_mutex_unlock(&pool->lock);
	pool_fail(pool, &err);
	pthread_mutex_lock(&pool->lock);
}

static void commit_while_working(struct pool *pool)
{
	uint64_t last = now_ms();

	pthread_mutex_lock(&pool->lock);
	while (pool->working) {
		wait_ms(&pool->filled, &pool->lock, TICK_MS);
		tell_progress(pool);
		bool full = pool->records >= 2 * pool->index->step_records;
		if (pool->steps && (full || now_ms() - last >= GROUP_MS)) {
			commit_queue(pool);
			last = now_ms();
		}
	}
	commit_queue(pool);
	pthread_mutex_unlock(&pool->lock);
}

static unsigned worker_count(const struct index *index, size_t nstreams)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	size_t count = index->options.jobs ? index->options.jobs
					   : (processors > 0 ? (size_t)processors : 1);

	if (count > nstreams)
		count = nstreams;
	return count < WORKERS_MAX ? (unsigned)count : WORKERS_MAX;
}

static bool pool_run(struct pool *pool, struct error *err)
{
	pthread_t threads[WORKERS_MAX];
	unsigned count = worker_count(pool->index, pool->nstreams), started = 0;

	pool->working = count;
	while (started < count && pthread_create(&threads[started], NULL, work, pool) == 0)
		started++;
	pthread_mutex_lock(&pool->lock);
	pool->working -= count - started;
	pthread_mutex_unlock(&pool->lock);
	commit_while_working(pool);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	if (count && !started)
		return error_set(err, ERR_IO, "no thread can be started");
	if (pool->failed)
		*err = pool->error;
	return !pool->failed;
}

static bool build_stored(struct index *index, struct error *err)
{
	struct pool pool = {.index = index};

	pool.last = &pool.first;
	pthread_mutex_init(&pool.lock, NULL);
	pthread_cond_init(&pool.filled, NULL);
	pthread_cond_init(&pool.drained, NULL);
	pool.streams = mem_new_array(index->trace->nstreams, sizeof(struct stream *));
	for (size_t i = 0; i < index->trace->nstreams; i++)
		pool.streams[pool.nstreams++] = index->trace->streams[i];
	bool good = pool_run(&pool, err);
	mem_free(pool.streams);
	pthread_cond_destroy(&pool.filled);
	pthread_cond_destroy(&pool.drained);
	pthread_mutex_destroy(&pool.lock);
	return good;
}

bool index_build(struct index *index, struct error *err)
{
	struct table *table;

	index->stop = 0;
	if (build_may_store(index))
		return build_flush(index, err) && build_stored(index, err);
	for (size_t i = 0; i < index->trace->nstreams; i++)
		if (!index_table(index, index->trace->streams[i], &table, err))
			return false;
	return true;
}

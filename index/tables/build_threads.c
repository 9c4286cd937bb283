/*
 * build_threads.c - index_build(): streams are scanned by several threads, one commits
 *
 *     worker ─┐
 *     worker ─┼─ steps ──> queue (bounded) ──> the caller's thread: one transaction for all that
 *     worker ─┘                                 came in GROUP_NS, progress, interruption
 *
 * A commit waits for the disk, so there are few of them; the next run can resume from each. Only
 * the caller's thread makes callbacks and writes the store.
 */
#include "engine/base/mem.h"
#include "engine/base/wait.h"
#include "engine/base/workers.h"
#include "index/tables/build.h"
#include "index/tables/scan.h"
#include "index/tables/write.h"

enum { SCANNERS_MAX = 16, TICK_MS = 50, GROUP_MS = 300, QUEUE_STEPS = 4 };

struct build_pool {
	struct index *index;
	_Atomic size_t next; /* stream to be scanned */
	int64_t committed;      /* ms; when the caller's thread committed last */
	struct workers workers; /* its lock is that of all below; woken when the queue changes */
	struct steps *first, **last;
	size_t records;
};

static void pool_fail(struct build_pool *pool, const struct error *err)
{
	pool->index->stop = 1;
	workers_fail(&pool->workers, err);
}

static void enqueue(struct build_pool *pool, const struct build_step *step)
{
	struct steps *queued = mem_new(sizeof *queued);

	queued->step = *step;
	pthread_mutex_lock(&pool->workers.lock);
	while (pool->records >= QUEUE_STEPS * pool->index->step_records && !pool->workers.failed)
		pthread_cond_wait(&pool->workers.changed, &pool->workers.lock);
	*pool->last = queued;
	pool->last = &queued->next;
	pool->records += step->record_list.count;
	pthread_cond_broadcast(&pool->workers.changed);
	pthread_mutex_unlock(&pool->workers.lock);
}

static bool scan_stream(struct build_pool *pool, const struct stream *stream, struct error *err)
{
	struct stored_table stored;
	struct scanner scanner;
	struct build_step step;
	bool complete = false, good = true;

	if (!build_needs_scan(pool->index, stream, &stored)) {
		stored_release(&stored);
		return true;
	}
	scanner_init(&scanner, pool->index, stream, &stored);
	stored_release(&stored);
	while (!complete && good) {
		good = scanner_step(&scanner, pool->index->step_records, &step, err);
		if (!good)
			break;
		complete = step.complete;
		enqueue(pool, &step);
	}
	return good;
}

static void scan_some(void *arg, unsigned worker)
{
	struct build_pool *pool = arg;
	const struct trace *trace = pool->index->trace;
	struct error err;
	size_t i;

	(void)worker;
	while (!pool->index->stop && (i = pool->next++) < trace->nstreams)
		if (!scan_stream(pool, trace->streams[i], &err))
			pool_fail(pool, &err);
}

static void commit_queue(struct build_pool *pool)
{
	struct workers *workers = &pool->workers;
	struct error err;
	bool again;

	pthread_mutex_lock(&workers->lock);
	struct steps *group = pool->first;
	pool->first = NULL;
	pool->last = &pool->first;
	pool->records = 0;
	pthread_cond_broadcast(&workers->changed);
	pthread_mutex_unlock(&workers->lock);
	if (group && !write_steps(pool->index, group, false, &again, &err))
		pool_fail(pool, &err);
	steps_free(group);
	pool->committed = clock_ms();
}

static void commit_some(void *arg)
{
	struct build_pool *pool = arg;
	bool some, full;

	build_tell_progress(pool->index, &pool->workers);
	pthread_mutex_lock(&pool->workers.lock);
	some = pool->first != NULL;
	full = pool->records >= 2 * pool->index->step_records;
	pthread_mutex_unlock(&pool->workers.lock);
	if (some && (full || clock_ms() - pool->committed >= GROUP_MS))
		commit_queue(pool);
}

static unsigned worker_count(const struct index *index)
{
	size_t count = index_jobs(index), nstreams = index->trace->nstreams;

	if (count > nstreams)
		count = nstreams;
	return count < SCANNERS_MAX ? (unsigned)count : SCANNERS_MAX;
}

static bool pool_run(struct build_pool *pool, struct error *err)
{
	struct workers *workers = &pool->workers;
	unsigned count = worker_count(pool->index), started;
	struct error none;

	workers_init(workers);
	pool->committed = clock_ms();
	started = workers_start(workers, count, scan_some, pool);
	if (count && !started) {
		error_set(&none, ERR_IO, "no thread can be started");
		workers_fail(workers, &none);
	}
	workers_watch(workers, TICK_MS, commit_some, pool);
	commit_queue(pool);
	return workers_end(workers, err);
}

static bool build_stored(struct index *index, struct error *err)
{
	struct build_pool pool = {.index = index};

	pool.last = &pool.first;
	return pool_run(&pool, err);
}

bool index_build(struct index *index, struct error *err)
{
	struct table *table;

	index->stop = 0;
	if (!build_in_memory(index) && build_may_store(index)) {
		bool good = build_flush(index, err) && build_stored(index, err);
		if (!store_damaged(index->store))
			return good;
	}
	if (index->store && store_damaged(index->store) && index_begin_anew(index) &&
	    build_may_store(index))
		return build_stored(index, err);
	for (size_t i = 0; i < index->trace->nstreams; i++)
		if (!index_table(index, index->trace->streams[i], &table, err))
			return false;
	return true;
}

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
#include "engine/base/workers.h"
#include "index/tables/build.h"
#include "index/tables/scan.h"
#include "index/tables/write.h"

#include <unistd.h>

enum { SCANNERS_MAX = 16, TICK_MS = 50, GROUP_MS = 300, QUEUE_STEPS = 4 };

struct queued {
	struct build_step step;
	struct queued *next;
};

struct pool {
	struct index *index;
	const struct stream **streams; /* to be scanned */
	size_t nstreams;
	_Atomic size_t next;
	int64_t committed;      /* ms; when the caller's thread committed last */
	struct workers workers; /* its lock is that of all below; woken when the queue changes */
	struct queued *first, **last;
	size_t steps, records;
};

static void pool_fail(struct pool *pool, const struct error *err)
{
	pool->index->stop = 1;
	workers_fail(&pool->workers, err);
}

static void enqueue(struct pool *pool, const struct build_step *step)
{
	struct queued *queued = mem_new(sizeof *queued);

	queued->step = *step;
	pthread_mutex_lock(&pool->workers.lock);
	while (pool->records >= QUEUE_STEPS * pool->index->step_records && !pool->workers.failed)
		pthread_cond_wait(&pool->workers.changed, &pool->workers.lock);
	*pool->last = queued;
	pool->last = &queued->next;
	pool->steps++;
	pool->records += step->record_list.count;
	pthread_cond_broadcast(&pool->workers.changed);
	pthread_mutex_unlock(&pool->workers.lock);
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

static void scan_some(void *arg, unsigned worker)
{
	struct pool *pool = arg;
	struct error err;

	(void)worker;
	for (;;) {
		size_t i = pool->next++;
		if (i >= pool->nstreams || pool->index->stop)
			break;
		if (!scan_stream(pool, pool->streams[i], &err)) {
			pool_fail(pool, &err);
			break;
		}
	}
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

static void commit_queue(struct pool *pool)
{
	struct workers *workers = &pool->workers;
	struct error err;

	pthread_mutex_lock(&workers->lock);
	struct queued *group = pool->first;
	size_t count = pool->steps;
	pool->first = NULL;
	pool->last = &pool->first;
	pool->steps = 0;
	pool->records = 0;
	pthread_cond_broadcast(&workers->changed);
	pthread_mutex_unlock(&workers->lock);
	if (count && !commit(pool, group, count, &err))
		pool_fail(pool, &err);
	group_free(group);
	pool->committed = clock_ms();
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
	pool_fail(pool, &err);
}

static void commit_some(void *arg)
{
	struct pool *pool = arg;
	bool some, full;

	tell_progress(pool);
	pthread_mutex_lock(&pool->workers.lock);
	some = pool->steps > 0;
	full = pool->records >= 2 * pool->index->step_records;
	pthread_mutex_unlock(&pool->workers.lock);
	if (some && (full || clock_ms() - pool->committed >= GROUP_MS))
		commit_queue(pool);
}

static unsigned worker_count(const struct index *index, size_t nstreams)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	size_t count = index->options.jobs ? index->options.jobs
					   : (processors > 0 ? (size_t)processors : 1);

	if (count > nstreams)
		count = nstreams;
	return count < SCANNERS_MAX ? (unsigned)count : SCANNERS_MAX;
}

static bool pool_run(struct pool *pool, struct error *err)
{
	struct workers *workers = &pool->workers;
	unsigned count = worker_count(pool->index, pool->nstreams), started;
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
	struct pool pool = {.index = index};

	pool.last = &pool.first;
	pool.streams = mem_new_array(index->trace->nstreams, sizeof(struct stream *));
	for (size_t i = 0; i < index->trace->nstreams; i++)
		pool.streams[pool.nstreams++] = index->trace->streams[i];
	bool good = pool_run(&pool, err);
	mem_free(pool.streams);
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

/*
 * tables.c - the tables of many streams at once, each found by one of several threads
 *
 * Only the caller's thread tells progress and is asked whether to go on.
 */
#include "index/tables/build.h"

#include "engine/base/wait.h"

#include <time.h>

enum { TICK_MS = 50, WORKERS_MAX = 16 };

struct finders {
	struct index *index;
	const struct stream *const *streams;
	size_t nstreams;
	_Atomic size_t next;
	_Atomic bool failed;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t changed;
	unsigned working;
	struct error error;
};

static void fail(struct finders *finders, const struct error *err)
{
	pthread_mutex_lock(&finders->lock);
	if (!finders->failed)
		finders->error = *err;
	finders->failed = true;
	pthread_mutex_unlock(&finders->lock);
}

static void *work(void *arg)
{
	struct finders *finders = arg;
	struct table *table;
	struct error err;
	size_t i;

	while (!finders->failed && (i = finders->next++) < finders->nstreams)
		if (!index_table(finders->index, finders->streams[i], &table, &err))
			fail(finders, &err);
	pthread_mutex_lock(&finders->lock);
	finders->working--;
	pthread_cond_signal(&finders->changed);
	pthread_mutex_unlock(&finders->lock);
	return NULL;
}

static void tell_progress(struct finders *finders)
{
	struct index *index = finders->index;
	const struct index_options *options = &index->options;
	struct error err;

	uint64_t done = index->scanned < index->all ? index->scanned : index->all;
	if (options->progress && !options->progress(options->progress_arg, done, index->all)) {
		error_set(&err, ERR_INTERRUPTED, "interrupted");
		fail(finders, &err);
	}
	if (finders->failed) /* taken back where a table is begun */
		index->stop = 1;
}

static void watch(struct finders *finders)
{
	pthread_mutex_lock(&finders->lock);
	while (finders->working) {
		wait_ms(&finders->changed, &finders->lock, TICK_MS);
		pthread_mutex_unlock(&finders->lock);
		tell_progress(finders);
		pthread_mutex_lock(&finders->lock);
	}
	pthread_mutex_unlock(&finders->lock);
}

bool build_tables(struct index *index, const struct stream *const *streams, size_t nstreams,
		  unsigned workers, struct error *err)
{
	struct finders finders = {.index = index, .streams = streams, .nstreams = nstreams};
	pthread_t threads[WORKERS_MAX];
	unsigned started = 0;

	workers = workers < WORKERS_MAX ? workers : WORKERS_MAX;
	workers = workers < nstreams ? workers : (unsigned)nstreams;
	if (workers < 2)
		return true;
	pthread_mutex_init(&finders.lock, NULL);
	pthread_cond_init(&finders.changed, NULL);
	finders.working = workers;
	index->quiet++;
	while (started < workers && pthread_create(&threads[started], NULL, work, &finders) == 0)
		started++;
	pthread_mutex_lock(&finders.lock);
	finders.working -= workers - started;
	pthread_mutex_unlock(&finders.lock);
	watch(&finders);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	index->quiet--;
	index->stop = 0;
	pthread_cond_destroy(&finders.changed);
	pthread_mutex_destroy(&finders.lock);
	if (finders.failed)
		*err = finders.error;
	return !finders.failed;
}

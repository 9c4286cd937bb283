/*
 * tables.c - makes the tables of many streams by several threads
 *
 * Only the caller's thread calls progress().
 */
#include "engine/base/workers.h"
#include "index/tables/build.h"

enum { TICK_MS = 50 };

struct finders {
	struct index *index;
	const struct stream *const *streams;
	size_t nstreams;
	_Atomic size_t next;
	struct workers workers;
};

static void find_some(void *arg, unsigned worker)
{
	struct finders *finders = arg;
	struct table *table;
	struct error err;
	size_t i;

	(void)worker;
	while (!finders->workers.failed && (i = finders->next++) < finders->nstreams)
		if (!index_table(finders->index, finders->streams[i], &table, &err))
			workers_fail(&finders->workers, &err);
}

void build_tell_progress(struct index *index, struct workers *workers)
{
	const struct index_options *options = &index->options;
	struct error err;

	uint64_t done = index->scanned < index->all ? index->scanned : index->all;
	if (options->progress && !options->progress(options->progress_arg, done, index->all)) {
		error_set(&err, ERR_INTERRUPTED, "interrupted");
		workers_fail(workers, &err);
	}
	if (workers->failed) /* taken back where a table is begun */
		index->stop = 1;
}

static void tell_progress(void *arg)
{
	struct finders *finders = arg;

	build_tell_progress(finders->index, &finders->workers);
}

bool build_tables(struct index *index, const struct stream *const *streams, size_t nstreams,
		  unsigned workers, struct error *err)
{
	struct finders finders = {.index = index, .streams = streams, .nstreams = nstreams};

	workers = workers < nstreams ? workers : (unsigned)nstreams;
	if (workers < 2)
		return true;
	workers_init(&finders.workers);
	index->quiet++;
	workers_start(&finders.workers, workers, find_some, &finders);
	workers_watch(&finders.workers, TICK_MS, tell_progress, &finders);
	bool good = workers_end(&finders.workers, err);
	index->quiet--;
	index->stop = 0;
	return good;
}

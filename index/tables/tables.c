/*
 * tables.c - makes the tables of many streams by several threads
 *
 * Only the caller's thread calls progress().
 */
#include "engine/base/workers.h"
#include "index/tables/build.h"

enum { TICK_MS = 50, BUILDERS_MAX = 16 };

struct builders {
	struct index *index;
	const struct stream *const *streams;
	size_t nstreams;
	bool (*make)(struct index *index, const struct stream *stream, struct error *err);
	_Atomic size_t next;
	struct workers workers;
};

static void make_some(void *arg, unsigned worker)
{
	struct builders *builders = arg;
	struct error err;
	size_t i;

	(void)worker;
	while (!builders->workers.failed && (i = builders->next++) < builders->nstreams)
		if (!builders->make(builders->index, builders->streams[i], &err))
			workers_fail(&builders->workers, &err);
}

/* Reports progress, and stops all workers when that returns false or one of them failed. */
static void tell_progress(void *arg)
{
	struct builders *builders = arg;
	struct index *index = builders->index;
	const struct index_options *options = &index->options;
	struct error err;

	uint64_t done = index->scanned < index->all ? index->scanned : index->all;
	if (options->progress && !options->progress(options->progress_arg, done, index->all)) {
		error_set(&err, ERR_INTERRUPTED, "interrupted");
		workers_fail(&builders->workers, &err);
	}
	if (builders->workers.failed) /* taken back where a table is begun */
		index->stop = 1;
}

/* Calls make() for all streams, by at most so many threads besides the caller's. */
static bool make_all(struct builders *builders, unsigned workers, struct error *err)
{
	struct index *index = builders->index;
	size_t nstreams = builders->nstreams;
	bool good = true;

	if (workers < 2 || nstreams < 2) {
		for (size_t i = 0; i < nstreams && good; i++)
			good = builders->make(index, builders->streams[i], err);
		return good;
	}
	workers_init(&builders->workers);
	index->quiet++;
	workers_start(&builders->workers, workers < nstreams ? workers : (unsigned)nstreams,
		      make_some, builders);
	workers_watch(&builders->workers, TICK_MS, tell_progress, builders);
	good = workers_end(&builders->workers, err);
	index->quiet--;
	index->stop = 0;
	return good;
}

static bool make_table(struct index *index, const struct stream *stream, struct error *err)
{
	struct table *table;

	return index_table(index, stream, &table, err);
}

bool build_tables(struct index *index, const struct stream *const *streams, size_t nstreams,
		  unsigned workers, struct error *err)
{
	struct builders builders = {
		.index = index, .streams = streams, .nstreams = nstreams, .make = make_table};

	return workers < 2 || nstreams < 2 || make_all(&builders, workers, err);
}

/* What was scanned is stored also when the build is interrupted: the next one goes on there. */
static bool store_all(struct index *index, struct error *err)
{
	const struct trace *trace = index->trace;
	struct builders builders = {.index = index,
				    .streams = (const struct stream *const *)trace->streams,
				    .nstreams = trace->nstreams,
				    .make = build_stored};
	unsigned workers = index_jobs(index) < BUILDERS_MAX ? index_jobs(index) : BUILDERS_MAX;
	struct error later;
	bool good = build_flush(index, err) && make_all(&builders, workers, err);

	if (build_flush(index, &later))
		return good;
	if (good)
		*err = later;
	return false;
}

bool index_build(struct index *index, struct error *err)
{
	struct table *table;

	index->stop = 0;
	if (!build_in_memory(index) && build_may_store(index)) {
		bool good = store_all(index, err);
		if (!store_damaged(index->store))
			return good;
	}
	if (index->store && store_damaged(index->store) && index_begin_anew(index) &&
	    build_may_store(index))
		return store_all(index, err);
	for (size_t i = 0; i < index->trace->nstreams; i++)
		if (!index_table(index, index->trace->streams[i], &table, err))
			return false;
	return true;
}

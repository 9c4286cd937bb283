/*
 * sweep.c - see sweep.h
 *
 * All records of the range are cut into pieces, several for each thread; threads take one after the
 * other. With `jobs` 1 no thread is started. If a table's records are renumbered meanwhile (a
 * computed table proved irregular), the whole sweep begins again.
 */
#include "index/sweep/sweep_internal.h"

#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "index/tables/build.h"
#include "index/tables/internal.h"
#include "index/tables/losses.h"

#include <stdlib.h>

enum { TICK_MS = 50, ATTEMPTS = 4 };

static void sweep_fail(struct sweeper *sweeper, const struct error *err)
{
	sweeper->stop = true;
	workers_fail(&sweeper->workers, err);
}

/* Work */

static bool is_renumbered(struct sweeper *sweeper, const struct sweep_stream *of)
{
	if (table_generation(of->table) == of->generation)
		return false;
	pthread_mutex_lock(&sweeper->workers.lock);
	sweeper->again = true;
	sweeper->stop = true;
	pthread_mutex_unlock(&sweeper->workers.lock);
	return true;
}

static void step_done(struct sweep_worker *pool, bool alone)
{
	struct sweeper *sweeper = pool->sweeper;
	const struct sweep *sweep = sweeper->sweep;
	uint64_t done = ++sweeper->done;
	struct error err;

	if (!alone || !sweep->progress || sweep->progress(sweep->arg, done, sweeper->all))
		return;
	error_set(&err, ERR_INTERRUPTED, "interrupted");
	sweep_fail(sweeper, &err);
}

static bool sweep_piece(struct sweep_worker *pool, const struct sweep_piece *piece, bool alone,
			struct error *err)
{
	struct sweeper *sweeper = pool->sweeper;
	const struct sweep_stream *of = piece->of;
	struct packet_info info;

	for (uint64_t i = piece->from; i < piece->to && !sweeper->stop; i++) {
		bool wanted;
		if (!sweep_record(sweeper, of, i, &info, &wanted, err))
			return false;
		if (is_renumbered(sweeper, of))
			return true;
		if (!sweep_chunk_has(sweeper, of, &info.rec)) {
			step_done(pool, alone);
			continue;
		}
		sweeper->taken++;
		if (wanted && !sweep_packet(pool, of, &info, err))
			return false;
		step_done(pool, alone);
	}
	return true;
}

static bool give_loss(struct sweep_worker *pool, const struct stream *stream,
		      const struct loss *loss, struct error *err)
{
	struct sweep_run run = {
		.run = {.stream = stream,
			.cpu = loss->cpu,
			.reader = pool->sweeper->trace->parts[stream->part]->reader}};

	run.run.loss = loss_event(stream, loss);
	return pool->sweeper->sweep->run(pool->own, &run, err);
}

static bool sweep_losses(struct sweep_worker *pool, const struct sweep_stream *of,
			 struct error *err)
{
	struct losses losses;
	const struct loss *loss;

	losses_init(&losses, of->stream, false);
	losses.table = of->table;
	bool good = losses_begin(&losses, of->begin, of->end, err) &&
		    losses_read(&losses, of->end - 1, err);
	while (good && (loss = losses_head(&losses))) {
		good = give_loss(pool, of->stream, loss, err);
		losses_drop(&losses);
	}
	losses_release(&losses);
	is_renumbered(pool->sweeper, of);
	return good;
}

static void work(struct sweep_worker *pool, bool alone)
{
	struct sweeper *sweeper = pool->sweeper;
	struct error err;
	size_t i;

	while (!sweeper->stop && (i = sweeper->next++) < sweeper->npieces) {
		const struct sweep_piece *piece = &sweeper->pieces[i];
		bool good = piece->losses ? sweep_losses(pool, piece->of, &err)
					  : sweep_piece(pool, piece, alone, &err);
		if (!good)
			sweep_fail(sweeper, &err);
	}
}

static void work_beside(void *arg, unsigned i)
{
	struct sweeper *sweeper = arg;
	struct sweep_worker *reader = &sweeper->readers[i];

	reader->own = sweeper->sweep->begin(sweeper->sweep->arg);
	work(reader, false);
	sweep_workers_release(reader);
}

static void tell_progress(void *arg)
{
	struct sweeper *sweeper = arg;
	const struct sweep *sweep = sweeper->sweep;
	struct error err;

	if (sweep->progress && !sweep->progress(sweep->arg, sweeper->done, sweeper->all)) {
		error_set(&err, ERR_INTERRUPTED, "interrupted");
		sweep_fail(sweeper, &err);
	}
}

static void end_all(struct sweeper *sweeper, struct sweep_worker *readers, unsigned count)
{
	const struct sweep *sweep = sweeper->sweep;

	for (unsigned i = 0; i < count; i++)
		sweep->end(sweep->arg, readers[i].own, !sweeper->workers.failed && !sweeper->again);
}

static void work_together(struct sweeper *sweeper, unsigned workers)
{
	struct sweep_worker readers[INDEX_JOBS_MAX] = {{0}};
	struct error err;
	unsigned started;

	for (unsigned i = 0; i < workers; i++)
		readers[i].sweeper = sweeper;
	sweeper->readers = readers;
	started = workers_start(&sweeper->workers, workers, work_beside, sweeper);
	if (!started) {
		error_set(&err, ERR_IO, "no thread can be started");
		sweep_fail(sweeper, &err);
	}
	workers_watch(&sweeper->workers, TICK_MS, tell_progress, sweeper);
	end_all(sweeper, readers, started);
}

static void work_alone(struct sweeper *sweeper)
{
	struct sweep_worker worker = {.sweeper = sweeper};

	worker.own = sweeper->sweep->begin(sweeper->sweep->arg);
	work(&worker, true);
	sweep_workers_release(&worker);
	end_all(sweeper, &worker, 1);
}

/* The end */

static int sweep_by_place(const void *a, const void *b)
{
	const struct sweep_damage *p = a, *q = b;

	return three_way(p->stream->index, q->stream->index) ?: three_way(p->source, q->source) ?:
	       three_way(p->offset, q->offset);
}

static void tell_damages(struct sweeper *sweeper)
{
	if (sweeper->ndamages)
		qsort(sweeper->damages, sweeper->ndamages, sizeof *sweeper->damages,
		      sweep_by_place);
	for (size_t i = 0; i < sweeper->ndamages; i++) {
		struct sweep_damage *damage = &sweeper->damages[i];
		struct error cause;
		error_set(&cause, damage->kind, "%s", damage->text);
		if (!sweeper->again)
			trace_damage_at(sweeper->trace, damage->stream, damage->source,
					damage->offset, &cause);
		mem_free(damage->text);
	}
	mem_free(sweeper->damages);
}

/* Sweeps once. *again: records were renumbered, and all states were discarded. */
static bool attempt(struct index *index, const struct sweep *sweep, bool *again, struct error *err)
{
	struct sweeper sweeper = {.index = index,
				  .trace = index_trace(index),
				  .sweep = sweep,
				  .options = sweep->events};
	unsigned workers = index_jobs(index);

	workers_init(&sweeper.workers);
	if (sweep->events->keep && !sweep->bits && !sweep->packet)
		sweeper.head_cache =
			head_cache_hold(index_head_cache(index), sweep->events->classes);
	bool good = sweep_plan(&sweeper, workers, err);
	if (good) {
		if (workers > sweeper.npieces)
			workers = (unsigned)sweeper.npieces;
		if (workers > 1)
			work_together(&sweeper, workers);
		else
			work_alone(&sweeper);
		tell_damages(&sweeper);
	}
	if (sweep->chunk) {
		sweep->chunk->records = sweeper.all;
		sweep->chunk->taken = sweeper.taken;
	}
	good = workers_end(&sweeper.workers, err) && good;
	*again = good && sweeper.again;
	head_cache_drop(sweeper.head_cache);
	sweep_plan_release(&sweeper);
	return good;
}

bool sweep(struct index *index, const struct sweep *sweep, struct error *err)
{
	bool again = false;

	for (int i = 0; i < ATTEMPTS; i++) {
		if (!attempt(index, sweep, &again, err))
			return false;
		if (!again)
			return true;
	}
	return error_set(err, ERR_IO, "the trace changes while it is read");
}

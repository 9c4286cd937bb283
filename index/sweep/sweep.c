/*
 * sweep.c - see sweep.h
 *
 * All records of the range are cut into pieces, some for each thread, and each thread takes one
 * after the other. With one thread nothing is started. A table whose records get other numbers
 * meanwhile (a computed one that proved irregular) lets the whole sweep begin again.
 */
#include "index/sweep/sweep_internal.h"

#include "engine/base/mem.h"
#include "index/tables/build.h"
#include "index/tables/internal.h"
#include "index/tables/losses.h"

#include <stdlib.h>

enum { TICK_MS = 50, PIECES_EACH = 16, ATTEMPTS = 4 };

/* Records [from, to) of a stream; beyond `high`, of its wide ones. Or its losses. */
struct sweep_piece {
	const struct sweep_stream *of;
	uint64_t from, to;
	bool losses;
};

static void sweep_fail(struct sweeper *sweeper, const struct error *err)
{
	sweeper->stop = true;
	workers_fail(&sweeper->workers, err);
}

/* Plan */

/* Streams without time: whole or not at all, unless no stream has any. */
static void set_range(const struct sweeper *sweeper, struct sweep_stream *of, bool any_timed)
{
	of->begin = sweeper->options->begin;
	of->end = sweeper->options->end;
	if (of->stream->has_time || !any_timed)
		return;
	if (of->end == NSTIME_MAX)
		of->begin = NSTIME_MIN;
	else
		of->begin = of->end = 0;
}

static bool find_tables(struct sweeper *sweeper, unsigned workers, struct error *err)
{
	const struct stream **streams = mem_new_array(sweeper->nstreams + 1, sizeof *streams);

	for (size_t i = 0; i < sweeper->nstreams; i++)
		streams[i] = sweeper->streams[i].stream;
	bool good = build_tables(sweeper->index, streams, sweeper->nstreams, workers, err);
	mem_free(streams);
	return good;
}

/* Once the tables are there, which say of what CPUs packets are. */
static void drop_other_cpus(struct sweeper *sweeper)
{
	size_t n = 0;

	for (size_t i = 0; i < sweeper->nstreams; i++)
		if (events_want_cpu(sweeper->index, sweeper->options, sweeper->streams[i].stream))
			sweeper->streams[n++] = sweeper->streams[i];
	sweeper->nstreams = n;
}

static bool find_streams(struct sweeper *sweeper, unsigned workers, struct error *err)
{
	const struct trace *trace = sweeper->trace;
	struct sweep_worker pool = {.sweeper = sweeper};
	bool any_timed = false;

	for (size_t i = 0; i < trace->nstreams; i++)
		any_timed |= trace->streams[i]->has_time;
	sweeper->streams = mem_new_array(trace->nstreams + 1, sizeof *sweeper->streams);
	for (size_t i = 0; i < trace->nstreams; i++) {
		if (!events_want(sweeper->options, trace->streams[i]))
			continue;
		struct sweep_stream *of = &sweeper->streams[sweeper->nstreams++];
		of->stream = trace->streams[i];
		set_range(sweeper, of, any_timed);
	}
	bool good = find_tables(sweeper, workers, err);
	drop_other_cpus(sweeper);
	for (size_t i = 0; good && i < sweeper->nstreams; i++) {
		struct sweep_stream *of = &sweeper->streams[i];
		good = index_table(sweeper->index, of->stream, &of->table, err);
		if (!good)
			break;
		of->generation = table_generation(of->table);
		good = sweep_records(sweeper, of, &pool, err);
	}
	sweep_workers_release(&pool);
	return good;
}

static void add_piece(struct sweeper *sweeper, struct sweep_piece piece)
{
	*mem_push(sweeper->pieces, sweeper->npieces, sweeper->pieces_capacity) = piece;
}

static void cut_pieces(struct sweeper *sweeper, unsigned workers)
{
	for (size_t i = 0; i < sweeper->nstreams; i++) {
		const struct sweep_stream *of = &sweeper->streams[i];
		sweeper->all += of->high - of->low + of->nmore;
	}
	uint64_t each = workers > 1 ? sweeper->all / (workers * PIECES_EACH) + 1 : UINT64_MAX;
	for (size_t i = 0; i < sweeper->nstreams; i++) {
		const struct sweep_stream *of = &sweeper->streams[i];
		uint64_t end = of->high + of->nmore;
		for (uint64_t from = of->low; from < end;) {
			uint64_t to = end - from > each ? from + each : end;
			add_piece(sweeper, (struct sweep_piece){of, from, to, false});
			from = to;
		}
		if (sweeper->options->losses && of->begin < of->end && table_count(of->table) &&
		    sweep_chunk_has_stream(sweeper, of))
			add_piece(sweeper, (struct sweep_piece){.of = of, .losses = true});
	}
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
		uint64_t record = i < of->high ? i : of->more[i - of->high];
		if (!table_get(of->table, record, &info, err))
			return error_while(err, "stream %s", of->stream->name);
		if (is_renumbered(sweeper, of))
			return true;
		if (!sweep_chunk_has(sweeper, of, &info.rec)) {
			step_done(pool, alone);
			continue;
		}
		sweeper->taken++;
		bool early = record < of->sure && record >= of->low && info.rec.max < of->begin &&
			     !(info.rec.flags & PACKET_SUSPECT);
		if (!early && events_want_packet(sweeper->options, of->stream, &info.rec) &&
		    !sweep_packet(pool, of, &info, err))
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

static int by_place(const void *a, const void *b)
{
	const struct sweep_damage *p = a, *q = b;

	if (p->stream != q->stream)
		return p->stream->index < q->stream->index ? -1 : 1;
	if (p->source != q->source)
		return p->source < q->source ? -1 : 1;
	return p->offset < q->offset ? -1 : p->offset > q->offset;
}

static void tell_damages(struct sweeper *sweeper)
{
	if (sweeper->ndamages)
		qsort(sweeper->damages, sweeper->ndamages, sizeof *sweeper->damages, by_place);
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

static void release_sweeper(struct sweeper *sweeper)
{
	for (size_t i = 0; i < sweeper->nstreams; i++) {
		mem_free(sweeper->streams[i].more);
		mem_free(sweeper->streams[i].bases);
	}
	head_cache_drop(sweeper->head_cache);
	mem_free(sweeper->streams);
	mem_free(sweeper->pieces);
}

/* *again: nothing was given that counts. */
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
	bool good = find_streams(&sweeper, workers, err);
	if (good) {
		sweep_chunks_begin(&sweeper);
		cut_pieces(&sweeper, workers);
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
	release_sweeper(&sweeper);
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

/* sweep_packet.c - decodes the packet of a record and passes its wanted events on */
#include "index/sweep/sweep_internal.h"

#include "engine/base/mem.h"

#include <stdatomic.h>

enum { VALUE_SLOTS = 8192 };

void sweep_workers_release(struct sweep_worker *pool)
{
	if (pool->decoder)
		pool->sweeper->trace->parts[pool->stream->part]->reader->decoder_free(
			pool->decoder);
	batch_free(pool->batch);
	head_cache_fill_free(pool->head_cache_fill);
	mem_free(pool->bits);
	mem_free(pool->index);
	filter_making_free(pool->filter_making);
	filter_room_free(pool->room);
}

static const struct reader *sweep_packet_turn_to(struct sweep_worker *pool,
						 const struct stream *stream)
{
	struct part **parts = pool->sweeper->trace->parts;

	if (!pool->batch) {
		bool values = pool->sweeper->options->values;
		pool->batch = batch_new(BATCH_MAX, values ? VALUE_SLOTS : 0,
					pool->sweeper->options->classes);
		pool->bits = mem_new_array(BATCH_MAX, sizeof *pool->bits);
		pool->index = mem_new_array(BATCH_MAX, sizeof *pool->index);
		if (pool->sweeper->sweep->run)
			pool->room = filter_room_new(pool->sweeper->index, pool->sweeper->options);
		pool->filter_making = pool->room ? filter_making_new(pool->room) : NULL;
	}
	if (pool->stream != stream) {
		if (pool->decoder)
			parts[pool->stream->part]->reader->decoder_free(pool->decoder);
		pool->decoder = parts[stream->part]->reader->decoder_new(stream);
		pool->stream = stream;
	}
	return parts[stream->part]->reader;
}

bool sweep_look(struct sweep_worker *pool, const struct stream *stream,
		const struct packet_info *info, nstime *least, nstime *greatest)
{
	const struct reader *reader = sweep_packet_turn_to(pool, stream);
	struct batch *batch = pool->batch;
	struct error ignored;
	bool any = false;
	enum step step = STEP_ITEM;

	if (!reader->decoder_open(pool->decoder, info, &ignored))
		return false;
	while (step == STEP_ITEM) {
		batch->count = 0;
		batch->capacity = BATCH_MAX;
		step = reader->decoder_next(pool->decoder, batch, &ignored);
		if (!batch->count)
			continue;
		const struct batch_times times = batch_times(batch);
		*least = !any || times.least < *least ? times.least : *least;
		*greatest = !any || times.greatest > *greatest ? times.greatest : *greatest;
		any = true;
	}
	reader->decoder_leave(pool->decoder);
	return any;
}

/* Sets the size of each event: the distance to the next one, where the format is gapless. */
static void find_bits(struct sweep_worker *pool, const struct reader *reader, bool shared)
{
	struct batch *batch = pool->batch;
	uint32_t i = 0;

	if (reader->gapless && !shared)
		for (; i + 1 < batch->count; i++)
			pool->bits[i] = batch->at[i + 1] - batch->at[i];
	for (; i < batch->count; i++)
		pool->bits[i] = reader->event_bits(pool->decoder, batch, i);
}

static bool is_bounded(const struct sweep_stream *of)
{
	return of->begin != NSTIME_MIN || of->end != NSTIME_MAX;
}

static bool lies_in_range(const struct batch *batch, const struct sweep_stream *of)
{
	if (!is_bounded(of))
		return true;
	const struct batch_times times = batch_times(batch);
	return times.least >= of->begin && times.greatest < of->end;
}

/* Moves entry `from` to the place of entry `to`, with what is known of it beside the batch. */
static void move_entry(struct sweep_worker *pool, uint32_t to, uint32_t from, uint32_t index)
{
	pool->index[to] = index;
	pool->bits[to] = pool->bits[from];
	batch_move(pool->batch, to, from);
}

/* Moves those that lie in the range to the front. */
static void keep_in_range(struct sweep_worker *pool)
{
	const struct sweep_stream *of = pool->of;
	struct batch *batch = pool->batch;
	uint32_t n = 0;

	if (!batch->count || lies_in_range(batch, of))
		return;
	for (uint32_t i = 0; i < batch->count; i++) {
		nstime time = batch->time[i];
		move_entry(pool, n, i, pool->index[i]);
		n += time >= of->begin && time < of->end;
	}
	batch->count = n;
}

/* Moves the entries that were asked for to the front; false: all of them were. */
static bool keep_wanted(struct sweep_worker *pool)
{
	const uint64_t *wanted = pool->sweeper->options->classes;
	struct batch *batch = pool->batch;
	uint16_t entries[BATCH_MAX];

	if (pool->sweeper->sweep->packet || (!wanted && lies_in_range(batch, pool->of)))
		return false;
	uint32_t n = batch_of_classes(batch, 0, batch->count, wanted, entries);
	if (pool->head_cache_fill)
		head_cache_fill_add(pool->head_cache_fill, batch, entries, n);
	for (uint32_t k = 0; k < n; k++)
		move_entry(pool, k, entries[k], batch->first + entries[k]);
	batch->count = n;
	keep_in_range(pool);
	return true;
}

/* What the batch holds; `index`: its numbers in the packet, NULL: one after the other. */
static struct run run_of(const struct sweep_worker *pool, const uint32_t *index)
{
	const struct stream *stream = pool->stream;

	return (struct run){.stream = stream,
			    .cpu = pool->info.rec.cpu >= 0 ? pool->info.rec.cpu : stream->cpu,
			    .batch = pool->batch,
			    .count = pool->batch->count,
			    .decoder = pool->decoder,
			    .reader = pool->sweeper->trace->parts[stream->part]->reader,
			    .packet = &pool->info,
			    .index = index};
}

static void note_damage(struct sweeper *sweeper, const struct stream *stream,
			const struct packet *rec, const struct error *cause)
{
	pthread_mutex_lock(&sweeper->workers.lock);
	*mem_push(sweeper->damages, sweeper->ndamages, sweeper->damages_capacity) =
		(struct sweep_damage){stream, rec->source, rec->off, mem_strdup(cause->text),
				      cause->kind};
	pthread_mutex_unlock(&sweeper->workers.lock);
}

static void count_work(const struct sweep_worker *pool, uint64_t packets, uint64_t events)
{
	struct trace *trace = pool->sweeper->trace;

	atomic_fetch_add_explicit(&trace->packets_decoded, packets, memory_order_relaxed);
	atomic_fetch_add_explicit(&trace->events_decoded, events, memory_order_relaxed);
}

/*
 * The packet's wanted heads in the head cache; NULL: they are not there. The packet must then be
 * decoded, and pool->head_cache_fill collects them if they are to be cached.
 */
static const struct head_cache_packet *find_kept(struct sweep_worker *pool)
{
	struct head_cache_set *set = pool->sweeper->head_cache;
	const struct head_cache_packet *kept =
		set ? head_cache_find(set, pool->stream, &pool->info) : NULL;

	if (!set || kept)
		return kept;
	if (!pool->head_cache_fill)
		pool->head_cache_fill = head_cache_fill_new(set);
	head_cache_fill_begin(pool->head_cache_fill, pool->stream, &pool->info);
	return NULL;
}

/* Adds the decoded events, before filters, to the packet's packet filter. */
static void packet_filter_batch(struct sweep_worker *pool)
{
	struct packet_range *range = &pool->range;
	const struct run run = run_of(pool, NULL);

	if (!run.count)
		return;
	const struct batch_times times = batch_times(pool->batch);
	pool->rise &= !times.fall && times.least >= range->greatest;
	range->least = times.least < range->least ? times.least : range->least;
	range->greatest = times.greatest > range->greatest ? times.greatest : range->greatest;
	filter_making_add(pool->filter_making, &run);
}

/* Of a packet that contradicts its record none is made, see struct findings. */
static bool is_filtered(const struct sweep_worker *pool)
{
	const struct packet_range *range = &pool->range;
	const struct packet *rec = &pool->info.rec;

	return pool->filtered && range->least <= range->greatest && range->least >= rec->min &&
	       range->greatest <= rec->max &&
	       (pool->rise || rec->flags & (PACKET_UNSORTED | PACKET_DESCENDING));
}

/* The next heads of the packet, and where they are wanted and the format can, their values. */
static enum step next_batch(struct sweep_worker *pool, const struct reader *reader,
			    struct error *cause)
{
	struct batch *batch = pool->batch;

	batch->count = 0;
	batch->capacity = BATCH_MAX;
	if (batch->slots)
		batch->values.ends = true;
	enum step step = reader->decoder_next(pool->decoder, batch, cause);
	batch_no_values(batch, reader->values);
	return step;
}

enum step sweep_packet_open(struct sweep_worker *pool, const struct sweep_stream *of,
			    const struct packet_info *info, struct error *cause)
{
	const struct reader *reader = sweep_packet_turn_to(pool, of->stream);

	pool->of = of;
	pool->info = *info;
	pool->kept = find_kept(pool);
	pool->at = (struct head_cache_at){0};
	if (pool->kept && (!pool->kept->count || pool->kept->least >= of->end ||
			   pool->kept->greatest < of->begin))
		return STEP_END;
	count_work(pool, 1, pool->kept ? pool->kept->count : 0);
	if (!reader->decoder_open(pool->decoder, &pool->info, cause)) {
		reader->decoder_leave(pool->decoder);
		return STEP_ERROR;
	}
	pool->filtered = !pool->kept && pool->filter_making &&
			 filter_making_begin(pool->filter_making, of->stream, info);
	pool->range = (struct packet_range){NSTIME_MAX, NSTIME_MIN};
	pool->rise = true;
	return STEP_ITEM;
}

static enum step next_kept(struct sweep_worker *pool, struct run *out)
{
	bool more = head_cache_next(pool->kept, &pool->at, pool->batch, pool->index);

	keep_in_range(pool);
	*out = run_of(pool, pool->index);
	return more ? STEP_ITEM : STEP_END;
}

enum step sweep_packet_next(struct sweep_worker *pool, struct run *out, struct error *cause)
{
	const struct reader *reader = pool->sweeper->trace->parts[pool->stream->part]->reader;

	if (pool->kept)
		return next_kept(pool, out);
	enum step step = next_batch(pool, reader, cause);
	count_work(pool, 0, pool->batch->count);
	if (pool->filtered)
		packet_filter_batch(pool);
	if (pool->sweeper->sweep->bits)
		find_bits(pool, reader, pool->stream->shared);
	bool some = pool->batch->count && keep_wanted(pool);
	*out = run_of(pool, some ? pool->index : NULL);
	if (step == STEP_END && is_filtered(pool))
		filter_making_end(pool->filter_making, &pool->range);
	if (step == STEP_END && pool->head_cache_fill)
		head_cache_fill_end(pool->head_cache_fill);
	return step;
}

void sweep_packet_leave(struct sweep_worker *pool)
{
	pool->sweeper->trace->parts[pool->stream->part]->reader->decoder_leave(pool->decoder);
}

bool sweep_packet(struct sweep_worker *pool, const struct sweep_stream *of,
		  const struct packet_info *info, struct error *err)
{
	const struct sweep *sweep = pool->sweeper->sweep;
	struct sweep_run run;
	struct error cause;
	bool good = true;

	if (sweep->packet && !sweep->packet(pool->own, of->stream, info))
		return true;
	enum step step = sweep_packet_open(pool, of, info, &cause);
	bool open = step == STEP_ITEM;
	while (good && step == STEP_ITEM) {
		step = sweep_packet_next(pool, &run.run, &cause);
		run.bits = sweep->bits ? pool->bits : NULL;
		good = !run.run.count || sweep->run(pool->own, &run, err);
	}
	if (sweep->packet)
		sweep->packet_end(pool->own, good && step == STEP_END);
	else if (step == STEP_ERROR)
		note_damage(pool->sweeper, of->stream, &info->rec, &cause);
	if (open)
		sweep_packet_leave(pool);
	return good;
}

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
	pool->filter_making = NULL;
	pool->room = NULL;
	pool->decoder = NULL;
	pool->batch = NULL;
	pool->head_cache_fill = NULL;
	pool->bits = NULL;
	pool->index = NULL;
}

static const struct reader *turn_to(struct sweep_worker *pool, const struct stream *stream)
{
	struct part **parts = pool->sweeper->trace->parts;

	if (!pool->batch) {
		bool values = pool->sweeper->options->values;
		pool->batch = batch_new(BATCH_MAX, values ? VALUE_SLOTS : 0,
					pool->sweeper->options->classes);
		pool->bits = mem_new_array(BATCH_MAX, sizeof *pool->bits);
		pool->index = mem_new_array(BATCH_MAX, sizeof *pool->index);
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
	const struct reader *reader = turn_to(pool, stream);
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
static void keep_in_range(struct sweep_worker *pool, const struct sweep_stream *of)
{
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
static bool keep_wanted(struct sweep_worker *pool, const struct sweep_stream *of)
{
	const uint64_t *wanted = pool->sweeper->options->classes;
	struct batch *batch = pool->batch;
	uint16_t entries[BATCH_MAX];

	if (pool->sweeper->sweep->packet || (!wanted && lies_in_range(batch, of)))
		return false;
	uint32_t n = batch_of_classes(batch, 0, batch->count, wanted, entries);
	if (pool->head_cache_fill)
		head_cache_fill_add(pool->head_cache_fill, batch, entries, n);
	for (uint32_t k = 0; k < n; k++)
		move_entry(pool, k, entries[k], batch->first + entries[k]);
	batch->count = n;
	keep_in_range(pool, of);
	return true;
}

/* What the batch holds; `index`: its numbers in the packet, NULL: one after the other. */
static struct run run_of(const struct sweep_worker *pool, const struct sweep_stream *of,
			 const struct packet_info *info, const uint32_t *index)
{
	return (struct run){.stream = of->stream,
			    .cpu = info->rec.cpu >= 0 ? info->rec.cpu : of->stream->cpu,
			    .batch = pool->batch,
			    .count = pool->batch->count,
			    .decoder = pool->decoder,
			    .reader = pool->sweeper->trace->parts[of->stream->part]->reader,
			    .packet = info,
			    .index = index};
}

static bool give_run(struct sweep_worker *pool, const struct sweep_stream *of,
		     const struct packet_info *info, const uint32_t *index, struct error *err)
{
	const struct sweep *sweep = pool->sweeper->sweep;
	struct sweep_run run = {
		.run = run_of(pool, of, info, index),
		.bits = sweep->bits ? pool->bits : NULL,
	};

	return !pool->batch->count || sweep->run(pool->own, &run, err);
}

static bool give_batch(struct sweep_worker *pool, const struct sweep_stream *of,
		       const struct packet_info *info, struct error *err)
{
	if (pool->sweeper->sweep->bits)
		find_bits(pool, pool->sweeper->trace->parts[of->stream->part]->reader,
			  of->stream->shared);
	bool some = keep_wanted(pool, of);
	return give_run(pool, of, info, some ? pool->index : NULL, err);
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

bool sweep_packet_kept(const struct sweep_stream *of, const struct head_cache_packet *head_cache)
{
	return head_cache->count && head_cache->least < of->end &&
	       head_cache->greatest >= of->begin;
}

bool sweep_packet_next_kept(struct sweep_worker *pool, const struct sweep_stream *of,
			    const struct packet_info *info,
			    const struct head_cache_packet *head_cache, struct head_cache_at *at,
			    struct run *out)
{
	bool more = head_cache_next(head_cache, at, pool->batch, pool->index);

	keep_in_range(pool, of);
	*out = run_of(pool, of, info, pool->index);
	return more;
}

/* Passes on the events of a packet whose wanted heads are in the head cache. */
static bool give_kept(struct sweep_worker *pool, const struct sweep_stream *of,
		      const struct packet_info *info, const struct head_cache_packet *head_cache,
		      struct error *err)
{
	const struct reader *reader = turn_to(pool, of->stream);
	struct head_cache_at at = {0};
	struct error cause;
	struct run run;
	bool good = true;

	if (!sweep_packet_kept(of, head_cache))
		return true;
	count_work(pool, 1, head_cache->count);
	if (!reader->decoder_open(pool->decoder, info, &cause)) {
		note_damage(pool->sweeper, of->stream, &info->rec, &cause);
		return true;
	}
	while (good && sweep_packet_next_kept(pool, of, info, head_cache, &at, &run))
		good = give_run(pool, of, info, pool->index, err);
	reader->decoder_leave(pool->decoder);
	return good;
}

const struct head_cache_packet *sweep_find_kept(struct sweep_worker *pool,
						const struct stream *stream,
						const struct packet_info *info)
{
	struct head_cache_set *set = pool->sweeper->head_cache;
	const struct head_cache_packet *head_cache =
		set ? head_cache_find(set, stream, info) : NULL;

	if (!set || head_cache)
		return head_cache;
	if (!pool->head_cache_fill)
		pool->head_cache_fill = head_cache_fill_new(set);
	head_cache_fill_begin(pool->head_cache_fill, stream, info);
	return NULL;
}

/* Adds the decoded events, before filters, to the packet's packet filter; false: times fall. */
static bool packet_filter_batch(struct sweep_worker *pool, const struct packet_info *info,
				struct packet_range *range)
{
	const struct run run = {
		.stream = pool->stream,
		.batch = pool->batch,
		.count = pool->batch->count,
		.decoder = pool->decoder,
		.reader = pool->sweeper->trace->parts[pool->stream->part]->reader,
		.packet = info,
	};

	if (!run.count)
		return true;
	const struct batch_times times = batch_times(pool->batch);
	bool rise = !times.fall && times.least >= range->greatest;
	range->least = times.least < range->least ? times.least : range->least;
	range->greatest = times.greatest > range->greatest ? times.greatest : range->greatest;
	filter_making_add(pool->filter_making, &run);
	return rise;
}

/* Of a packet that contradicts its record none is made, see struct findings. */
static bool is_filtered(const struct packet *rec, const struct packet_range *range, bool rise)
{
	return range->least <= range->greatest && range->least >= rec->min &&
	       range->greatest <= rec->max &&
	       (rise || rec->flags & (PACKET_UNSORTED | PACKET_DESCENDING));
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

bool sweep_packet_open(struct sweep_worker *pool, const struct sweep_stream *of,
		       const struct packet_info *info, struct error *cause)
{
	return turn_to(pool, of->stream)->decoder_open(pool->decoder, info, cause);
}

enum step sweep_packet_next(struct sweep_worker *pool, const struct sweep_stream *of,
			    const struct packet_info *info, struct run *out, struct error *cause)
{
	const struct reader *reader = pool->sweeper->trace->parts[of->stream->part]->reader;
	enum step step = next_batch(pool, reader, cause);

	count_work(pool, step == STEP_ITEM ? 0 : 1, pool->batch->count);
	bool some = pool->batch->count && keep_wanted(pool, of);
	*out = run_of(pool, of, info, some ? pool->index : NULL);
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
	const struct reader *reader = turn_to(pool, of->stream);
	struct batch *batch = pool->batch;
	enum step step = STEP_ITEM;
	struct error cause;
	struct packet_range range = {NSTIME_MAX, NSTIME_MIN};
	uint64_t events = 0;
	bool good = true, rise = true, filtered_by_packet;

	if (sweep->packet && !sweep->packet(pool->own, of->stream, info))
		return true;
	const struct head_cache_packet *head_cache = sweep_find_kept(pool, of->stream, info);
	if (head_cache)
		return give_kept(pool, of, info, head_cache, err);
	if (!reader->decoder_open(pool->decoder, info, &cause))
		step = STEP_ERROR;
	filtered_by_packet =
		pool->filter_making && filter_making_begin(pool->filter_making, of->stream, info);
	while (good && step == STEP_ITEM) {
		step = next_batch(pool, reader, &cause);
		events += batch->count;
		if (filtered_by_packet)
			rise &= packet_filter_batch(pool, info, &range);
		good = !batch->count || give_batch(pool, of, info, err);
	}
	if (filtered_by_packet && step == STEP_END && is_filtered(&info->rec, &range, rise))
		filter_making_end(pool->filter_making, &range);
	if (sweep->packet)
		sweep->packet_end(pool->own, good && step == STEP_END);
	else if (step == STEP_ERROR)
		note_damage(pool->sweeper, of->stream, &info->rec, &cause);
	if (pool->head_cache_fill && good && step == STEP_END)
		head_cache_fill_end(pool->head_cache_fill);
	reader->decoder_leave(pool->decoder);
	count_work(pool, 1, events);
	return good;
}

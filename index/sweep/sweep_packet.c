/* sweep_packet.c - a record, its packet, and the events of it that were asked for */
#include "index/sweep/sweep_internal.h"

#include "engine/base/mem.h"

#include <stdatomic.h>

enum { VALUE_SLOTS = 8192 };

void sweep_hands_release(struct sweep_hands *hands)
{
	if (hands->decoder)
		hands->sweeper->trace->parts[hands->stream->part]->reader->decoder_free(
			hands->decoder);
	batch_free(hands->batch);
	keeper_free(hands->keeper);
	mem_free(hands->bits);
	mem_free(hands->index);
	sketching_free(hands->sketching);
	sketch_room_free(hands->room);
	hands->sketching = NULL;
	hands->room = NULL;
	hands->decoder = NULL;
	hands->batch = NULL;
	hands->keeper = NULL;
	hands->bits = NULL;
	hands->index = NULL;
}

static const struct reader *turn_to(struct sweep_hands *hands, const struct stream *stream)
{
	struct part **parts = hands->sweeper->trace->parts;

	if (!hands->batch) {
		bool values = hands->sweeper->options->values;
		hands->batch = batch_new(BATCH_MAX, values ? VALUE_SLOTS : 0,
					 hands->sweeper->options->classes);
		hands->bits = mem_new_array(BATCH_MAX, sizeof *hands->bits);
		hands->index = mem_new_array(BATCH_MAX, sizeof *hands->index);
		hands->room = sketch_room_new(hands->sweeper->index, hands->sweeper->options);
		hands->sketching = hands->room ? sketching_new(hands->room) : NULL;
	}
	if (hands->stream != stream) {
		if (hands->decoder)
			parts[hands->stream->part]->reader->decoder_free(hands->decoder);
		hands->decoder = parts[stream->part]->reader->decoder_new(stream);
		hands->stream = stream;
	}
	return parts[stream->part]->reader;
}

bool sweep_look(struct sweep_hands *hands, const struct stream *stream,
		const struct packet_info *info, nstime *least, nstime *greatest)
{
	const struct reader *reader = turn_to(hands, stream);
	struct batch *batch = hands->batch;
	struct error ignored;
	bool any = false;
	enum step step = STEP_ITEM;

	if (!reader->decoder_open(hands->decoder, info, &ignored))
		return false;
	while (step == STEP_ITEM) {
		batch->count = 0;
		batch->capacity = BATCH_MAX;
		step = reader->decoder_next(hands->decoder, batch, &ignored);
		if (!batch->count)
			continue;
		const struct batch_times times = batch_times(batch);
		*least = !any || times.least < *least ? times.least : *least;
		*greatest = !any || times.greatest > *greatest ? times.greatest : *greatest;
		any = true;
	}
	reader->decoder_leave(hands->decoder);
	return any;
}

/* What each event takes: up to the next one, where the format has no gaps. */
static void find_bits(struct sweep_hands *hands, const struct reader *reader, bool shared)
{
	struct batch *batch = hands->batch;
	uint32_t i = 0;

	if (reader->gapless && !shared)
		for (; i + 1 < batch->count; i++)
			hands->bits[i] = batch->at[i + 1] - batch->at[i];
	for (; i < batch->count; i++)
		hands->bits[i] = reader->event_bits(hands->decoder, batch, i);
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
static void move_entry(struct sweep_hands *hands, uint32_t to, uint32_t from, uint32_t index)
{
	hands->index[to] = index;
	hands->bits[to] = hands->bits[from];
	batch_move(hands->batch, to, from);
}

/* Moves those that lie in the range to the front. */
static void keep_in_range(struct sweep_hands *hands, const struct sweep_stream *of)
{
	struct batch *batch = hands->batch;
	uint32_t n = 0;

	if (!batch->count || lies_in_range(batch, of))
		return;
	for (uint32_t i = 0; i < batch->count; i++) {
		nstime time = batch->time[i];
		move_entry(hands, n, i, hands->index[i]);
		n += time >= of->begin && time < of->end;
	}
	batch->count = n;
}

/* Moves the entries that were asked for to the front; false: all of them were. */
static bool keep_wanted(struct sweep_hands *hands, const struct sweep_stream *of)
{
	const uint64_t *wanted = hands->sweeper->options->classes;
	struct batch *batch = hands->batch;
	uint16_t entries[BATCH_MAX];

	if (hands->sweeper->sweep->packet || (!wanted && lies_in_range(batch, of)))
		return false;
	uint32_t n = batch_of_classes(batch, 0, batch->count, wanted, entries);
	if (hands->keeper)
		keeper_add(hands->keeper, batch, entries, n);
	for (uint32_t k = 0; k < n; k++)
		move_entry(hands, k, entries[k], batch->first + entries[k]);
	batch->count = n;
	keep_in_range(hands, of);
	return true;
}

/* What the batch holds; `index`: its numbers in the packet, NULL: one after the other. */
static bool give_run(struct sweep_hands *hands, const struct sweep_stream *of,
		     const struct packet_info *info, const uint32_t *index, struct error *err)
{
	const struct sweep *sweep = hands->sweeper->sweep;
	struct sweep_run run = {
		.run = {.stream = of->stream,
			.cpu = info->rec.cpu >= 0 ? info->rec.cpu : of->stream->cpu,
			.batch = hands->batch,
			.count = hands->batch->count,
			.decoder = hands->decoder,
			.reader = hands->sweeper->trace->parts[of->stream->part]->reader,
			.packet = info,
			.index = index},
		.bits = sweep->bits ? hands->bits : NULL,
	};

	return !hands->batch->count || sweep->run(hands->own, &run, err);
}

static bool give_batch(struct sweep_hands *hands, const struct sweep_stream *of,
		       const struct packet_info *info, struct error *err)
{
	if (hands->sweeper->sweep->bits)
		find_bits(hands, hands->sweeper->trace->parts[of->stream->part]->reader,
			  of->stream->shared);
	bool some = keep_wanted(hands, of);
	return give_run(hands, of, info, some ? hands->index : NULL, err);
}

static void note_damage(struct sweeper *sweeper, const struct stream *stream,
			const struct packet *rec, const struct error *cause)
{
	pthread_mutex_lock(&sweeper->lock);
	sweeper->damages = mem_grow(sweeper->damages, sweeper->ndamages, &sweeper->damages_capacity,
				    sizeof *sweeper->damages);
	sweeper->damages[sweeper->ndamages++] = (struct sweep_damage){
		stream, rec->source, rec->off, mem_strdup(cause->text), cause->kind};
	pthread_mutex_unlock(&sweeper->lock);
}

static void count_work(const struct sweep_hands *hands, uint64_t events)
{
	struct trace *trace = hands->sweeper->trace;

	atomic_fetch_add_explicit(&trace->packets_decoded, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&trace->events_decoded, events, memory_order_relaxed);
}

/* A packet whose wanted events are known: its heads are not passed over again. */
static bool give_kept(struct sweep_hands *hands, const struct sweep_stream *of,
		      const struct packet_info *info, const struct kept_packet *kept,
		      struct error *err)
{
	const struct reader *reader = turn_to(hands, of->stream);
	struct batch *batch = hands->batch;
	struct kept_at at = {0};
	struct error cause;
	bool good = true;

	if (!kept->count || kept->least >= of->end || kept->greatest < of->begin)
		return true;
	count_work(hands, kept->count);
	if (!reader->decoder_open(hands->decoder, info, &cause)) {
		note_damage(hands->sweeper, of->stream, &info->rec, &cause);
		return true;
	}
	while (good && kept_next(kept, &at, batch, hands->index)) {
		keep_in_range(hands, of);
		good = give_run(hands, of, info, hands->index, err);
	}
	reader->decoder_leave(hands->decoder);
	return good;
}

/* What is kept of the packet; NULL: nothing yet, and it is found while the packet is read. */
static const struct kept_packet *find_kept(struct sweep_hands *hands, const struct stream *stream,
					   const struct packet_info *info)
{
	struct kept_set *set = hands->sweeper->kept;
	const struct kept_packet *kept = set ? kept_find(set, stream, info) : NULL;

	if (!set || kept)
		return kept;
	if (!hands->keeper)
		hands->keeper = keeper_new(set);
	keeper_begin(hands->keeper, stream, info);
	return NULL;
}

/* What was decoded, before filters, for the packet's sketch. */
static void sketch_batch(struct sweep_hands *hands, const struct packet_info *info,
			 struct packet_range *range)
{
	const struct run run = {
		.stream = hands->stream,
		.batch = hands->batch,
		.count = hands->batch->count,
		.decoder = hands->decoder,
		.reader = hands->sweeper->trace->parts[hands->stream->part]->reader,
		.packet = info,
	};

	if (!run.count)
		return;
	const struct batch_times times = batch_times(hands->batch);
	range->least = times.least < range->least ? times.least : range->least;
	range->greatest = times.greatest > range->greatest ? times.greatest : range->greatest;
	sketching_add(hands->sketching, &run);
}

bool sweep_packet(struct sweep_hands *hands, const struct sweep_stream *of,
		  const struct packet_info *info, struct error *err)
{
	const struct sweep *sweep = hands->sweeper->sweep;
	const struct reader *reader = turn_to(hands, of->stream);
	struct batch *batch = hands->batch;
	enum step step = STEP_ITEM;
	struct error cause;
	struct packet_range range = {NSTIME_MAX, NSTIME_MIN};
	uint64_t events = 0;
	bool good = true, sketched;

	if (sweep->packet && !sweep->packet(hands->own, of->stream, info))
		return true;
	const struct kept_packet *kept = find_kept(hands, of->stream, info);
	if (kept)
		return give_kept(hands, of, info, kept, err);
	if (!reader->decoder_open(hands->decoder, info, &cause))
		step = STEP_ERROR;
	sketched = hands->sketching && sketching_begin(hands->sketching, of->stream, info);
	while (good && step == STEP_ITEM) {
		batch->count = 0;
		batch->capacity = BATCH_MAX;
		if (batch->slots)
			batch->values.ends = true;
		step = reader->decoder_next(hands->decoder, batch, &cause);
		events += batch->count;
		batch_no_values(batch, reader->values);
		if (sketched)
			sketch_batch(hands, info, &range);
		good = !batch->count || give_batch(hands, of, info, err);
	}
	if (sketched && step == STEP_END && range.least <= range.greatest)
		sketching_end(hands->sketching, &range);
	if (sweep->packet)
		sweep->packet_end(hands->own, good && step == STEP_END);
	else if (step == STEP_ERROR)
		note_damage(hands->sweeper, of->stream, &info->rec, &cause);
	if (hands->keeper && good && step == STEP_END)
		keeper_end(hands->keeper);
	reader->decoder_leave(hands->decoder);
	count_work(hands, events);
	return good;
}

/*
 * open_packet.c - see open_packet.h
 *
 *     segments   32 | 64 | 128 | 256 | 256 | ...          each with its mark and times
 *     forward         ^ segment of `begin` ------>          those behind the last one are new
 *     backward        <------------ ^ segment of `end`      survey: new ones until `end` is passed
 *     sorted     all heads, sorted by (time, place); then slices of them
 *
 * Segments without a wanted class, or known to lie outside the range, are not decoded again.
 */
#include "engine/base/mem.h"
#include "index/packets/open_packet_internal.h"

#include <stdatomic.h>

#define STANDS_NOWHERE SIZE_MAX /* its decoder has to be turned to a mark first */

enum {
	SEGMENT = 256 /* events between two marks, backward */
};

struct open_packet *open_packet_new(const struct packet_view *view)
{
	struct open_packet *packet = mem_new(sizeof *packet);

	packet->view = view;
	packet->batch = batch_new(BATCH_MIN, view->value_slots, view->classes);
	return packet;
}

void open_packet_free(struct open_packet *packet)
{
	if (!packet)
		return;
	if (packet->known)
		open_packet_leave(packet);
	known_packet_free(packet->spare);
	filter_making_free(packet->filter_making);
	batch_free(packet->batch);
	head_cache_fill_free(packet->head_cache_fill);
	mem_free(packet->index);
	mem_free(packet->heads);
	mem_free(packet);
}

/* False: none of its events has a wanted class. True: some may have. */
static bool may_be_wanted(const struct packet_view *view, const struct cached_segment *segment)
{
	uint64_t wanted = 0;

	if (!view->classes)
		return true;
	for (size_t i = 0; i * 64 < view->trace->nclasses; i++)
		wanted |= view->classes[i];
	return wanted & segment->classes;
}

/* Looks at the times of a batch in file order: range, and whether they ever fall. */
static void note_times(struct open_packet *packet, const struct batch *batch)
{
	struct packet_facts *facts = &packet->facts;
	const struct batch_times times = batch_times(batch);

	facts->fell |= times.fall || (facts->any && batch->time[0] < packet->known->last);
	packet->known->last = batch->time[batch->count - 1];
	if (!facts->any || times.least < facts->least)
		facts->least = times.least;
	if (!facts->any || times.greatest > facts->greatest)
		facts->greatest = times.greatest;
	facts->any = true;
}

/*
 * Do its events contradict its record? Then nothing of it is cached, since each question must find
 * that out by its own reading, see struct findings.
 */
static bool contradicts(const struct open_packet *packet)
{
	const struct packet_facts *facts = &packet->facts;
	const struct packet *rec = &packet->info.rec;

	return (facts->any && (facts->least < rec->min || facts->greatest > rec->max)) ||
	       (facts->fell && !(rec->flags & (PACKET_UNSORTED | PACKET_DESCENDING))) ||
	       rec->flags & PACKET_CONTRADICTED;
}

/* ---- the packet's packet filter, made on the way ---- */

static void packet_filter_begin(struct open_packet *packet)
{
	const struct packet_view *view = packet->view;

	if (!view->room || packet->head_cache) /* then nothing of it is decoded */
		return;
	if (!packet->filter_making)
		packet->filter_making = filter_making_new(view->room);
	packet->filtered_by_packet =
		filter_making_begin(packet->filter_making, view->stream, &packet->info);
}

static void packet_filter_batch(struct open_packet *packet, const struct batch *batch)
{
	const struct run run = {
		.stream = packet->view->stream,
		.batch = batch,
		.count = batch->count,
		.decoder = packet->decoder,
		.reader = packet->view->reader,
		.packet = &packet->info,
	};

	if (packet->filtered_by_packet && batch->count)
		filter_making_add(packet->filter_making, &run);
}

/* A packet from the cache may have been read whole before: has this pass read all segments, too? */
static bool all_was_read(const struct open_packet *packet)
{
	return packet->facts.whole &&
	       (packet->owned || packet->segment == packet->known->nsegments);
}

static void packet_filter_end(struct open_packet *packet)
{
	const struct packet_facts *facts = &packet->facts;
	const struct packet_range range = {facts->least, facts->greatest};

	if (packet->filtered_by_packet && all_was_read(packet) && facts->any &&
	    !packet->known->damaged && !contradicts(packet))
		filter_making_end(packet->filter_making, &range);
	packet->filtered_by_packet = false;
}

/* Decodes the next batch. False: the packet has ended, also by damage. */
static bool decode_batch(struct open_packet *packet, struct batch *batch, uint32_t capacity)
{
	const struct packet_view *view = packet->view;
	struct error err;

	batch_room(batch, capacity);
	batch->count = 0;
	batch->capacity = capacity;
	enum step step = view->reader->decoder_next(packet->decoder, batch, &err);
	batch_no_values(batch, view->reader->values);
	if (step == STEP_ERROR) {
		packet->known->damaged = true;
		view->damaged(view->arg, packet->record, &packet->info, &err);
	}
	if (step != STEP_ITEM)
		packet->facts.whole = true;
	packet_filter_batch(packet, batch);
	atomic_fetch_add_explicit(&view->trace->events_decoded, batch->count, memory_order_relaxed);
	return batch->count > 0;
}

/* Decodes segment i of those that are known once more. */
static bool decode_known(struct open_packet *packet, size_t i)
{
	struct known_packet *known = packet->known;
	const struct cached_segment *segment = &known->segments[i];

	if (known->stands != i)
		packet->view->reader->decoder_seek(packet->decoder, &segment->mark);
	known->stands = i + 1;
	if (packet->batch->slots) /* exactly those of the segment */
		packet->batch->values.ends = false;
	return decode_batch(packet, packet->batch, segment->count);
}

/*
 * Decodes events not seen before and makes them a segment, unless their times fall: then all must
 * be sorted.
 */
static bool decode_new(struct open_packet *packet, struct batch *batch, uint32_t capacity)
{
	struct known_packet *known = packet->known;
	const struct reader *reader = packet->view->reader;

	if (known->stands != known->nsegments)
		reader->decoder_seek(packet->decoder, &known->end);
	known->stands = STANDS_NOWHERE;
	if (batch->slots)
		batch->values.ends = true;
	if (!decode_batch(packet, batch, capacity))
		return false;
	note_times(packet, batch);
	if (packet->facts.fell)
		return true;
	known->segments = mem_grow(known->segments, known->nsegments, &known->segments_capacity,
				   sizeof *known->segments);
	struct cached_segment *segment = &known->segments[known->nsegments];
	*segment = (struct cached_segment){.mark = known->end,
					   .first = batch->time[0],
					   .last = batch->time[batch->count - 1],
					   .count = batch->count};
	for (uint32_t i = 0; i < batch->count; i++)
		segment->classes |= UINT64_C(1) << batch->class_index[i] % 64;
	known->stands = ++known->nsegments;
	reader->decoder_mark(packet->decoder, &known->end);
	return true;
}

/* Cuts [pos, end) to the range; the batch is in order. True when something lies at or after it. */
static bool trim(struct open_packet *packet, uint32_t count)
{
	const struct packet_view *view = packet->view;
	const nstime *time = packet->batch->time;

	packet->pos = 0;
	packet->end = count;
	if (count && time[0] < view->begin)
		packet->pos = times_lower_bound(time, 0, count, view->begin);
	if (!count || time[count - 1] < view->end)
		return false;
	packet->end = times_lower_bound(time, packet->pos, count, view->end);
	return true;
}

void open_packet_index_room(struct open_packet *packet)
{
	packet->indexed = true;
	if (!packet->index)
		packet->index = mem_new_array(BATCH_MAX, sizeof *packet->index);
}

/* Moves these of the batch's entries, which rise, to its front; they are [pos, end) then. */
static void keep_entries(struct open_packet *packet, const uint16_t *entries, uint32_t n)
{
	struct batch *batch = packet->batch;
	bool indexed = packet->indexed;

	open_packet_index_room(packet);
	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = entries[k];
		packet->index[k] = indexed ? packet->index[i] : batch->first + i;
		batch_move(batch, k, i);
	}
	packet->pos = 0;
	packet->end = batch->count = n;
}

void open_packet_select(struct open_packet *packet)
{
	const struct packet_view *view = packet->view;
	struct batch *batch = packet->batch;
	int32_t cpu = packet->info.rec.cpu;
	uint16_t entries[BATCH_MAX];
	uint32_t n;

	if (!view->select || packet->pos == packet->end)
		return;
	const struct run run = {
		.stream = view->stream,
		.cpu = cpu >= 0 ? cpu : view->stream->cpu,
		.batch = batch,
		.first = packet->pos,
		.count = packet->end - packet->pos,
		.decoder = packet->decoder,
		.reader = view->reader,
		.packet = &packet->info,
		.index = packet->indexed ? packet->index : NULL,
	};
	n = view->select(view->select_arg, &run, entries);
	keep_entries(packet, entries, n);
}

/* Moves the wanted entries of [pos, end) to the front. */
static void keep_wanted(struct open_packet *packet)
{
	struct batch *batch = packet->batch;
	const uint64_t *wanted = packet->view->classes;
	uint16_t entries[BATCH_MAX];

	packet->indexed = false;
	if (wanted) {
		uint32_t n = batch_of_classes(batch, packet->pos, packet->end, wanted, entries);

		keep_entries(packet, entries, n);
	}
	open_packet_select(packet);
}

/* Sorted packets: all heads first */

/* Decodes what is left, behind `given` (a batch in hand, or NULL), and puts all in order. */
static void sort_rest(struct open_packet *packet, const struct batch *given, uint32_t first)
{
	packet->nheads = 0;
	if (given)
		sorted_packet_add(packet, given);
	while (!packet->facts.whole)
		if (decode_batch(packet, packet->batch, BATCH_MAX)) {
			note_times(packet, packet->batch);
			sorted_packet_add(packet, packet->batch);
		}
	packet->known->stands = STANDS_NOWHERE;
	sorted_packet_end(packet, first);
}

static void sort_all(struct open_packet *packet)
{
	struct known_packet *known = packet->known;

	if (known->stands)
		packet->view->reader->decoder_seek(packet->decoder, &known->start);
	known->nsegments = 0;
	known->end = known->start;
	known->last = NSTIME_MIN;
	packet->facts.whole = false;
	sort_rest(packet, NULL, 0);
}

/* Forward */

static uint32_t next_capacity(const struct open_packet *packet, uint32_t limit)
{
	size_t n = packet->known->nsegments;
	uint32_t capacity = n < 6 ? (uint32_t)BATCH_MIN << n : BATCH_MAX;

	return capacity < limit ? capacity : limit;
}

/* The first segment that has an event of the range, as far as is known. */
static size_t segment_of_begin(const struct open_packet *packet)
{
	const struct known_packet *known = packet->known;
	return search_first(i, 0, known->nsegments, known->segments[i].last < packet->view->begin);
}

bool open_packet_looks_on(const struct open_packet *packet)
{
	const uint32_t exact = PACKET_EXACT_MIN | PACKET_EXACT_MAX;

	return packet->view->reader->falls && (packet->info.rec.flags & exact) != exact &&
	       packet_bytes(&packet->info) <= PACKET_LOOKED_ON;
}

/*
 * Must the packet be read on behind the range's end? If times fall, an event of the range may
 * follow. Records made by a scan of the events have a flag for that; other packets are read on if
 * small.
 */
static bool looks_on(const struct open_packet *packet)
{
	return !packet->facts.whole && !packet->facts.fell &&
	       (packet->view->whole || open_packet_looks_on(packet));
}

/* Behind the range's end; true: times fall there, and the first that do are in packet->batch. */
static bool look_on(struct open_packet *packet)
{
	const struct packet_view *view = packet->view;
	struct batch *batch = *view->scratch;

	while (looks_on(packet))
		if (decode_new(packet, batch, next_capacity(packet, SEGMENT)) &&
		    packet->facts.fell) {
			*view->scratch = packet->batch;
			packet->batch = batch;
			return true;
		}
	return false;
}

/* Fills the window from segment i; false: the range or the packet has ended. */
static bool read_forward(struct open_packet *packet, size_t i)
{
	const struct packet_view *view = packet->view;
	struct known_packet *known = packet->known;

	packet->batch->count = 0;
	if (i && known->segments[i - 1].last >= view->end)
		return look_on(packet);
	if (i == known->nsegments)
		return !packet->facts.whole &&
		       decode_new(packet, packet->batch, next_capacity(packet, *view->batch_limit));
	if (known->segments[i].first >= view->end)
		return look_on(packet);
	if (may_be_wanted(view, &known->segments[i]))
		return decode_known(packet, i);
	packet->filtered_by_packet = false; /* these events are not seen */
	return true;
}

/* Finds what is to be kept of a segment; the batch is empty where it has no wanted class. */
static void keep_segment(struct open_packet *packet, const struct cached_segment *segment)
{
	const struct batch *batch = packet->batch;
	uint16_t entries[BATCH_MAX];

	if (!packet->keeping)
		return;
	if (!batch->count)
		head_cache_fill_pass(packet->head_cache_fill, segment->first, segment->last,
				     segment->count);
	else
		head_cache_fill_add(
			packet->head_cache_fill, batch, entries,
			batch_of_classes(batch, 0, batch->count, packet->view->classes, entries));
}

static void end_keeping(struct open_packet *packet)
{
	const struct known_packet *known = packet->known;

	if (packet->keeping && packet->facts.whole && !known->damaged &&
	    packet->segment == known->nsegments)
		head_cache_fill_end(packet->head_cache_fill);
	packet->keeping = false;
}

static bool more_forward(struct open_packet *packet)
{
	while (read_forward(packet, packet->segment)) {
		if (packet->facts.fell) {
			sort_rest(packet, packet->batch, packet->batch->first);
			return sorted_packet_next(packet);
		}
		keep_segment(packet, &packet->known->segments[packet->segment++]);
		trim(packet, packet->batch->count);
		keep_wanted(packet);
		if (packet->pos < packet->end)
			return true;
	}
	end_keeping(packet);
	return false;
}

static bool begin_forward(struct open_packet *packet)
{
	const struct packet_view *view = packet->view;

	packet->segment = segment_of_begin(packet);
	if (!packet->owned && packet->segment == 0)
		packet_filter_begin(packet);
	packet->keeping = view->head_cache && packet->segment == 0;
	if (packet->keeping && !packet->head_cache_fill)
		packet->head_cache_fill = head_cache_fill_new(view->head_cache);
	if (packet->keeping)
		head_cache_fill_begin(packet->head_cache_fill, view->stream, &packet->info);
	return more_forward(packet);
}

/* Backward */

/* True when new segments were seen, the last of which is in packet->batch. */
static bool survey(struct open_packet *packet)
{
	const struct packet_view *view = packet->view;
	const struct known_packet *known = packet->known;
	bool any = false;

	while (!packet->facts.whole && !packet->facts.fell) {
		struct batch *batch = *view->scratch;
		size_t n = known->nsegments;
		if (n && known->segments[n - 1].last >= view->end && !looks_on(packet))
			break;
		if (!decode_new(packet, batch, next_capacity(packet, SEGMENT)))
			break;
		*view->scratch = packet->batch;
		packet->batch = batch;
		any = true;
	}
	return any;
}

/* How many segments begin in front of the range's end. */
static size_t segments_before_end(const struct open_packet *packet)
{
	const struct known_packet *known = packet->known;
	return search_first(i, 0, known->nsegments, known->segments[i].first < packet->view->end);
}

/* The window is in packet->batch. */
static bool cut(struct open_packet *packet)
{
	trim(packet, packet->batch->count);
	keep_wanted(packet);
	return packet->pos < packet->end;
}

static bool more_backward(struct open_packet *packet)
{
	const struct known_packet *known = packet->known;

	while (packet->segment > 0) {
		const struct cached_segment *segment = &known->segments[packet->segment - 1];
		if (segment->last < packet->view->begin)
			break;
		packet->segment--;
		if (may_be_wanted(packet->view, segment) && decode_known(packet, packet->segment) &&
		    cut(packet))
			return true;
	}
	return false;
}

static bool begin_backward(struct open_packet *packet)
{
	bool in_hand = survey(packet);

	if (packet->facts.fell) {
		sort_all(packet);
		return sorted_packet_next(packet);
	}
	packet->segment = segments_before_end(packet);
	if (in_hand && packet->segment == packet->known->nsegments) {
		packet->segment--;
		if (cut(packet))
			return true;
	}
	return more_backward(packet);
}

/* Takes the packet out of the packet cache, or opens it. */
static bool find_known(struct open_packet *packet, const struct packet_info *info)
{
	const struct packet_view *view = packet->view;
	struct error err;

	packet->known = packet_cache_take(view->cache, view->stream, info);
	packet->owned = !packet->known;
	if (packet->known)
		return true;
	packet->known =
		packet->spare ? packet->spare : known_packet_new(view->stream, view->reader);
	packet->spare = NULL;
	atomic_fetch_add_explicit(&view->trace->packets_decoded, 1, memory_order_relaxed);
	if (known_packet_open(packet->known, info, &err)) {
		packet_filter_begin(packet);
		return true;
	}
	packet->known->facts.whole = true;
	view->damaged(view->arg, packet->record, info, &err);
	return false;
}

static bool is_to_be_sorted(const struct open_packet *packet)
{
	const struct packet_facts *facts = &packet->facts;

	if (packet->info.rec.flags & (PACKET_UNSORTED | PACKET_DESCENDING) || facts->fell)
		return true;
	/* it was, for somebody who had seen times fall elsewhere: there are no segments */
	if (facts->whole && facts->any && !packet->known->nsegments)
		return true;
	return packet->view->falls && !facts->whole;
}

bool open_packet_begin(struct open_packet *packet, uint64_t record, const struct packet_info *info)
{
	const struct packet_view *view = packet->view;
	const struct head_cache_packet *head_cache =
		view->head_cache ? head_cache_find(view->head_cache, view->stream, info) : NULL;

	if (head_cache &&
	    (head_cache->least < info->rec.min || head_cache->greatest > info->rec.max))
		head_cache = NULL; /* as contradicts() says */
	packet->record = record;
	packet->pos = packet->end = 0;
	packet->sorted = packet->indexed = packet->keeping = false;
	packet->info = *info;
	packet->head_cache = head_cache != NULL;
	if (head_cache && !sorted_packet_take(packet, head_cache))
		return false;
	bool some = find_known(packet, info);
	packet->decoder = packet->known->decoder;
	packet->info.extents = packet->known->extents;
	if (!head_cache)
		packet->facts = packet->known->facts;
	if (head_cache) {
		some = some && sorted_packet_next(packet);
	} else if (some && is_to_be_sorted(packet)) {
		sort_all(packet);
		some = sorted_packet_next(packet);
	} else if (some) {
		some = view->backward ? begin_backward(packet) : begin_forward(packet);
	}
	if (!some)
		open_packet_leave(packet);
	return some;
}

/* True when the range begins or ends in it, or may. */
static bool is_cut(const struct open_packet *packet)
{
	const struct packet_facts *facts = &packet->facts;

	return !facts->whole || (facts->any && (facts->least < packet->view->begin ||
						facts->greatest >= packet->view->end));
}

/* Was the packet only read through, from begin to end, and so need not stay in the cache? */
static bool is_passed(const struct open_packet *packet)
{
	const struct packet_view *view = packet->view;

	return packet->owned && !packet->spare && view->begin == NSTIME_MIN &&
	       view->end == NSTIME_MAX && packet->facts.whole;
}

static void leave(struct open_packet *packet, bool used_up)
{
	struct known_packet *known = packet->known;

	packet_filter_end(packet);
	packet->pos = packet->end = 0;
	packet->known = NULL;
	packet->info.extents = NULL;
	if (!packet->head_cache)
		known->facts = packet->facts;
	known->damaged |= contradicts(packet);
	if (used_up && is_passed(packet))
		known->reader->decoder_leave(known->decoder);
	else
		known = packet_cache_give(packet->view->cache, known, is_cut(packet));
	if (packet->spare)
		known_packet_free(known);
	else
		packet->spare = known;
}

void open_packet_leave(struct open_packet *packet)
{
	leave(packet, false);
}

void open_packet_prefetch(const struct open_packet *packet)
{
	const struct known_packet *known = packet->known;
	const struct reader *reader = packet->view->reader;

	if (!known || packet->sorted)
		return;
	if (known->nsegments < known->segments_capacity)
		__builtin_prefetch(&known->segments[known->nsegments], 1);
	if (reader->decoder_prefetch)
		reader->decoder_prefetch(packet->decoder);
}

bool open_packet_more(struct open_packet *packet)
{
	bool some = packet->sorted           ? sorted_packet_next(packet)
		    : packet->view->backward ? more_backward(packet)
					     : more_forward(packet);

	if (!some)
		leave(packet, true);
	return some;
}

/*
 * open_packet.c - see open_packet.h
 *
 *     forward    32 | 64 | 128 | ... | limit | limit |          each decoded once
 *     backward   m0    m1    m2    m3 --------> end             survey: marks, the last one kept
 *                                   <- m3, m2 again, m1 ...     only segments with wanted classes
 *     sorted     all heads, sorted by (time, place); then slices of them
 *
 * In a bounded range the survey stops at the first event at or after its end.
 */
#include "index/open_packet.h"

#include "engine/base/mem.h"

#include <stdatomic.h>
#include <string.h>

enum { SEGMENT = 512 /* events between two marks */ };

struct packet_head {
	nstime time;
	uint64_t at;
	uint32_t class_index, index;
	uint16_t size, flags;
};

struct segment {
	struct mark mark;
	nstime first;
	uint32_t count;
	bool wanted;
};

struct open_packet *open_packet_new(const struct packet_view *view)
{
	struct open_packet *packet = mem_new(sizeof *packet);

	packet->view = view;
	packet->batch = mem_new(sizeof *packet->batch);
	packet->decoder = view->reader->decoder_new(view->stream);
	return packet;
}

void open_packet_free(struct open_packet *packet)
{
	if (!packet)
		return;
	packet->view->reader->decoder_free(packet->decoder);
	mem_free(packet->batch);
	mem_free(packet->index);
	mem_free(packet->extents);
	mem_free(packet->heads);
	mem_free(packet->segments);
	mem_free(packet);
}

static bool is_wanted(const struct packet_view *view, uint32_t class_index)
{
	return !view->classes || (view->classes[class_index / 64] >> class_index % 64 & 1);
}

/* Looks at the times of a batch in file order: range, and whether they ever fall. */
static void note_times(struct open_packet *packet, const struct batch *batch)
{
	const nstime *time = batch->time;
	nstime least = time[0], greatest = time[batch->count - 1];
	int fell = packet->any && time[0] < packet->last;

	for (uint32_t i = 1; i < batch->count; i++)
		fell |= time[i] < time[i - 1];
	packet->last = greatest;
	for (uint32_t i = 0; fell && i < batch->count; i++) {
		least = time[i] < least ? time[i] : least;
		greatest = time[i] > greatest ? time[i] : greatest;
	}
	if (!packet->any || least < packet->least)
		packet->least = least;
	if (!packet->any || greatest > packet->greatest)
		packet->greatest = greatest;
	packet->any = true;
	packet->fell |= fell != 0;
}

/* False: no event came. Damage ends the packet as its end does. */
static bool decode(struct open_packet *packet, struct batch *batch, uint32_t capacity)
{
	const struct packet_view *view = packet->view;
	struct error err;

	batch->count = 0;
	batch->capacity = capacity;
	enum step step = view->reader->decoder_next(packet->decoder, batch, &err);
	if (step == STEP_ERROR)
		view->damaged(view->arg, packet->record, &packet->info, &err);
	if (step != STEP_ITEM)
		packet->ended = packet->whole = true;
	atomic_fetch_add_explicit(&view->trace->events_decoded, batch->count, memory_order_relaxed);
	return batch->count > 0;
}

/* As above, of events not seen before. */
static bool decode_new(struct open_packet *packet, struct batch *batch, uint32_t capacity)
{
	if (!decode(packet, batch, capacity))
		return false;
	note_times(packet, batch);
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

/* Moves the wanted entries of [pos, end) to the front. */
static void keep_wanted(struct open_packet *packet)
{
	struct batch *batch = packet->batch;
	const uint64_t *wanted = packet->view->classes;
	uint32_t n = 0;

	packet->indexed = wanted != NULL;
	if (!wanted)
		return;
	if (!packet->index)
		packet->index = mem_new_array(BATCH_MAX, sizeof *packet->index);
	for (uint32_t i = packet->pos; i < packet->end; i++) {
		uint32_t class_index = batch->class_index[i];
		packet->index[n] = batch->first + i;
		batch->time[n] = batch->time[i];
		batch->at[n] = batch->at[i];
		batch->class_index[n] = class_index;
		batch->head[n] = batch->head[i];
		batch->flags[n] = batch->flags[i];
		n += (uint32_t)(wanted[class_index / 64] >> class_index % 64) & 1;
	}
	packet->pos = 0;
	packet->end = batch->count = n;
}

/* Sorted packets: all heads first */

static void add_heads(struct open_packet *packet, const struct batch *batch)
{
	for (uint32_t i = 0; i < batch->count; i++) {
		packet->heads = mem_grow(packet->heads, packet->nheads, &packet->heads_capacity,
					 sizeof *packet->heads);
		packet->heads[packet->nheads++] = (struct packet_head){
			.time = batch->time[i],
			.at = batch->at[i],
			.class_index = batch->class_index[i],
			.size = batch->head[i],
			.flags = batch->flags[i],
		};
	}
}

static void reverse_heads(struct packet_head *heads, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		struct packet_head head = heads[i];
		heads[i] = heads[n - 1 - i];
		heads[n - 1 - i] = head;
	}
}

static void merge_halves(struct packet_head *heads, struct packet_head *room, size_t half, size_t n)
{
	size_t a = 0, b = half, out = 0;

	memcpy(room, heads, half * sizeof *heads);
	while (a < half && b < n)
		heads[out++] = heads[b].time < room[a].time ? heads[b++] : room[a++];
	memcpy(heads + out, room + a, (half - a) * sizeof *heads);
}

/* Stable; heads that are almost in order cost one look. Recursion is as deep as n has bits. */
static void sort_heads(struct packet_head *heads, struct packet_head *room, size_t n)
{
	size_t half = n / 2, ordered = 1;

	while (ordered < n && heads[ordered - 1].time <= heads[ordered].time)
		ordered++;
	if (ordered >= n)
		return;
	sort_heads(heads, room, half);
	sort_heads(heads + half, room, n - half);
	if (heads[half].time < heads[half - 1].time)
		merge_halves(heads, room, half, n);
}

static void keep_wanted_heads(struct open_packet *packet, uint32_t first)
{
	const struct packet_view *view = packet->view;
	size_t n = 0;

	for (size_t i = 0; i < packet->nheads; i++) {
		struct packet_head *head = &packet->heads[i];
		head->index = first + (uint32_t)i;
		if (head->time >= view->begin && head->time < view->end &&
		    is_wanted(view, head->class_index))
			packet->heads[n++] = *head;
	}
	packet->nheads = n;
}

/* Decodes what is left, behind `given` (a batch in hand, or NULL), and puts all in order. */
static void sort_rest(struct open_packet *packet, const struct batch *given, uint32_t first)
{
	packet->nheads = 0;
	if (given)
		add_heads(packet, given);
	while (!packet->ended)
		if (decode_new(packet, packet->batch, BATCH_MAX))
			add_heads(packet, packet->batch);
	if (packet->info.rec.flags & PACKET_DESCENDING)
		reverse_heads(packet->heads, packet->nheads);
	struct packet_head *room = mem_new_array(packet->nheads / 2 + 1, sizeof *room);
	sort_heads(packet->heads, room, packet->nheads);
	mem_free(room);
	keep_wanted_heads(packet, first);
	packet->sorted = packet->ended = true;
	packet->head_pos = 0;
	packet->head_end = packet->nheads;
}

static bool slice_sorted(struct open_packet *packet)
{
	struct batch *batch = packet->batch;
	size_t left = packet->head_end - packet->head_pos;
	uint32_t n = left < BATCH_MAX ? (uint32_t)left : BATCH_MAX;
	const struct packet_head *heads = packet->heads + packet->head_pos;

	if (packet->view->backward)
		heads = packet->heads + (packet->head_end -= n);
	else
		packet->head_pos += n;
	if (!packet->index)
		packet->index = mem_new_array(BATCH_MAX, sizeof *packet->index);
	for (uint32_t i = 0; i < n; i++) {
		packet->index[i] = heads[i].index;
		batch->time[i] = heads[i].time;
		batch->at[i] = heads[i].at;
		batch->class_index[i] = heads[i].class_index;
		batch->head[i] = heads[i].size;
		batch->flags[i] = heads[i].flags;
	}
	batch->first = 0;
	batch->count = packet->end = n;
	packet->pos = 0;
	packet->indexed = true;
	return n > 0;
}

/* Forward */

static bool more_forward(struct open_packet *packet)
{
	while (!packet->ended) {
		uint32_t capacity = packet->capacity, limit = *packet->view->batch_limit;
		packet->capacity = capacity * 2 < limit ? capacity * 2 : limit;
		if (!decode_new(packet, packet->batch, capacity))
			break;
		if (packet->fell) {
			sort_rest(packet, packet->batch, packet->batch->first);
			return slice_sorted(packet);
		}
		if (trim(packet, packet->batch->count))
			packet->ended = true;
		keep_wanted(packet);
		if (packet->pos < packet->end)
			return true;
	}
	return false;
}

/* Backward */

static bool any_wanted(const struct packet_view *view, const struct batch *batch)
{
	bool any = !view->classes;

	for (uint32_t i = 0; !any && i < batch->count; i++)
		any = is_wanted(view, batch->class_index[i]);
	return any;
}

/* Leaves the last segment in packet->batch. */
static void survey(struct open_packet *packet)
{
	const struct packet_view *view = packet->view;
	uint32_t capacity = BATCH_MIN;

	packet->nsegments = 0;
	while (!packet->ended) {
		packet->segments = mem_grow(packet->segments, packet->nsegments,
					    &packet->segments_capacity, sizeof *packet->segments);
		struct segment *segment = &packet->segments[packet->nsegments];
		struct batch *batch = *view->scratch;
		view->reader->decoder_mark(packet->decoder, &segment->mark);
		if (!decode_new(packet, batch, capacity))
			break;
		if (packet->fell)
			break;
		*view->scratch = packet->batch;
		packet->batch = batch;
		segment->count = batch->count;
		segment->first = batch->time[0];
		segment->wanted = any_wanted(view, batch);
		packet->nsegments++;
		if (batch->time[batch->count - 1] >= view->end)
			break;
		capacity = capacity * 2 < SEGMENT ? capacity * 2 : SEGMENT;
	}
}

static bool more_backward(struct open_packet *packet)
{
	const struct reader *reader = packet->view->reader;

	while (packet->segment > 0) {
		if (packet->segments[packet->segment].first < packet->view->begin)
			break;
		struct segment *segment = &packet->segments[--packet->segment];
		if (!segment->wanted)
			continue;
		reader->decoder_seek(packet->decoder, &segment->mark);
		packet->batch->count = 0;
		if (!decode(packet, packet->batch, segment->count))
			continue;
		trim(packet, packet->batch->count);
		keep_wanted(packet);
		if (packet->pos < packet->end)
			return true;
	}
	return false;
}

static bool begin_backward(struct open_packet *packet)
{
	survey(packet);
	packet->segment = packet->nsegments;
	if (packet->fell) {
		packet->ended = packet->whole = false;
		packet->view->reader->decoder_seek(packet->decoder, &packet->segments[0].mark);
		sort_rest(packet, NULL, 0);
		return slice_sorted(packet);
	}
	if (!packet->nsegments)
		return false;
	packet->segment--;
	trim(packet, packet->batch->count);
	keep_wanted(packet);
	return packet->pos < packet->end || more_backward(packet);
}

/* Extents are the table's until its next call, and the decoder's until its next open. */
static void copy_info(struct open_packet *packet, const struct packet_info *info)
{
	packet->info = *info;
	if (!info->nextents)
		return;
	if (packet->extents_capacity < info->nextents) {
		packet->extents =
			mem_resize(packet->extents, info->nextents, sizeof *packet->extents);
		packet->extents_capacity = info->nextents;
	}
	memcpy(packet->extents, info->extents, info->nextents * sizeof *packet->extents);
	packet->info.extents = packet->extents;
}

bool open_packet_begin(struct open_packet *packet, uint64_t record, const struct packet_info *info)
{
	const struct packet_view *view = packet->view;
	struct error err;
	bool some;

	packet->record = record;
	packet->pos = packet->end = 0;
	packet->any = packet->whole = packet->ended = packet->fell = false;
	packet->sorted = packet->indexed = false;
	packet->capacity = BATCH_MIN;
	copy_info(packet, info);
	atomic_fetch_add_explicit(&view->trace->packets_decoded, 1, memory_order_relaxed);
	if (!view->reader->decoder_open(packet->decoder, &packet->info, &err)) {
		view->damaged(view->arg, record, &packet->info, &err);
		packet->whole = true;
		some = false;
	} else if (view->falls || info->rec.flags & (PACKET_UNSORTED | PACKET_DESCENDING)) {
		sort_rest(packet, NULL, 0);
		some = slice_sorted(packet);
	} else {
		some = view->backward ? begin_backward(packet) : more_forward(packet);
	}
	if (!some)
		open_packet_leave(packet);
	return some;
}

bool open_packet_more(struct open_packet *packet)
{
	bool some = packet->sorted           ? slice_sorted(packet)
		    : packet->view->backward ? more_backward(packet)
					     : more_forward(packet);

	if (!some)
		open_packet_leave(packet);
	return some;
}

void open_packet_leave(struct open_packet *packet)
{
	packet->pos = packet->end = 0;
	packet->view->reader->decoder_leave(packet->decoder);
}

/*
 * open_packet_sorted.c - packets whose heads are all in memory: their times fall, or somebody kept
 * them; windows are slices of the heads in order
 */
#include "engine/base/mem.h"
#include "index/packets/open_packet_internal.h"

#include <stdatomic.h>
#include <string.h>

struct packet_head {
	nstime time;
	uint64_t at;
	uint32_t class_index, index;
	uint16_t size, flags;
};

/* ---- a merge sort that sees what is in order already ---- */

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

/* Recursion is as deep as n has bits. */
static void merge_sort(struct packet_head *heads, struct packet_head *room, size_t n)
{
	size_t half = n / 2, ordered = 1;

	while (ordered < n && heads[ordered - 1].time <= heads[ordered].time)
		ordered++;
	if (ordered >= n)
		return;
	merge_sort(heads, room, half);
	merge_sort(heads + half, room, n - half);
	if (heads[half].time < heads[half - 1].time)
		merge_halves(heads, room, half, n);
}

/* By time; stable. Heads that are almost in order cost one look. */
static void sort_heads(struct packet_head *heads, size_t n)
{
	struct packet_head *room = mem_resize(NULL, n / 2 + 1, sizeof *room); /* no zeros */

	merge_sort(heads, room, n);
	mem_free(room);
}

/* ---- the packet ---- */

void sorted_packet_add(struct open_packet *packet, const struct batch *batch)
{
	if (packet->nheads + batch->count > packet->heads_capacity) {
		packet->heads_capacity = 2 * packet->heads_capacity + BATCH_MAX;
		packet->heads =
			mem_resize(packet->heads, packet->heads_capacity, sizeof *packet->heads);
	}
	for (uint32_t i = 0; i < batch->count; i++) {
		packet->heads[packet->nheads++] = (struct packet_head){
			.time = batch->time[i],
			.at = batch->at[i],
			.class_index = batch->class_index[i],
			.size = batch->head[i],
			.flags = batch->flags[i],
		};
	}
}

static void keep_wanted_heads(struct open_packet *packet, uint32_t first)
{
	const struct packet_view *view = packet->view;
	size_t n = 0;

	for (size_t i = 0; i < packet->nheads; i++) {
		struct packet_head *head = &packet->heads[i];
		head->index = first + (uint32_t)i;
		if (head->time >= view->begin && head->time < view->end &&
		    view_wants(view, head->class_index))
			packet->heads[n++] = *head;
	}
	packet->nheads = n;
}

void sorted_packet_end(struct open_packet *packet, uint32_t first)
{
	if (packet->info.rec.flags & PACKET_DESCENDING)
		reverse_heads(packet->heads, packet->nheads);
	sort_heads(packet->heads, packet->nheads);
	keep_wanted_heads(packet, first);
	packet->sorted = true;
	packet->head_pos = 0;
	packet->head_end = packet->nheads;
}

static void add_kept_heads(struct open_packet *packet, const struct head_cache_packet *head_cache)
{
	struct head_cache_at at = {0};

	packet->nheads = 0;
	batch_room(packet->batch, BATCH_MAX);
	open_packet_index_room(packet);
	while (head_cache_next(head_cache, &at, packet->batch, packet->index)) {
		size_t first = packet->nheads;
		sorted_packet_add(packet, packet->batch);
		for (uint32_t i = 0; i < packet->batch->count; i++)
			packet->heads[first + i].index = packet->index[i];
	}
	atomic_fetch_add_explicit(&packet->view->trace->events_decoded, packet->nheads,
				  memory_order_relaxed);
}

bool sorted_packet_take(struct open_packet *packet, const struct head_cache_packet *head_cache)
{
	const struct packet_view *view = packet->view;

	packet->facts = (struct packet_facts){.any = true,
					      .whole = true,
					      .least = head_cache->least,
					      .greatest = head_cache->greatest};
	if (head_cache->least >= view->end || head_cache->greatest < view->begin)
		return false;
	add_kept_heads(packet, head_cache);
	packet->sorted = true;
	packet->head_pos = 0;
	packet->head_end = packet->nheads;
	while (packet->head_pos < packet->head_end &&
	       packet->heads[packet->head_pos].time < view->begin)
		packet->head_pos++;
	while (packet->head_pos < packet->head_end &&
	       packet->heads[packet->head_end - 1].time >= view->end)
		packet->head_end--;
	return packet->head_pos < packet->head_end;
}

/* The next heads, in order; false: none are left. */
static bool slice_heads(struct open_packet *packet)
{
	struct batch *batch = packet->batch;
	size_t left = packet->head_end - packet->head_pos;
	uint32_t n = left < BATCH_MAX ? (uint32_t)left : BATCH_MAX;

	packet->pos = 0;
	batch_room(batch, n);
	batch->first = 0;
	batch->count = packet->end = n;
	if (!n)
		return false; /* there may be no heads at all */
	const struct packet_head *heads = packet->heads + packet->head_pos;
	if (packet->view->backward)
		heads = packet->heads + (packet->head_end -= n);
	else
		packet->head_pos += n;
	open_packet_index_room(packet);
	for (uint32_t i = 0; i < n; i++) {
		packet->index[i] = heads[i].index;
		batch->time[i] = heads[i].time;
		batch->at[i] = heads[i].at;
		batch->class_index[i] = heads[i].class_index;
		batch->head[i] = heads[i].size;
		batch->flags[i] = heads[i].flags;
		if (batch->slots)
			batch->slot[i] = BATCH_NO_VALUES;
	}
	return true;
}

bool sorted_packet_next(struct open_packet *packet)
{
	while (slice_heads(packet)) {
		open_packet_select(packet);
		if (packet->pos < packet->end)
			return true;
	}
	return false;
}

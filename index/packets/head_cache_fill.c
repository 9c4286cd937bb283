/* head_cache_fill.c - encodes the wanted heads of a packet's batches for the head cache */
#include "index/packets/head_cache_internal.h"

#include "engine/base/mem.h"

#include <string.h>

enum {
	KINDS_MAX = UINT16_MAX,
	NOT_RARE = 2 /* if more than one event in so many is wanted, the packet is not cached */
};

struct head_cache_fill {
	struct head_cache_set *set;
	struct head_cache_packet found; /* its arrays are those below */
	bool refused;                   /* this packet is not to be kept */
	uint64_t events;                /* wanted or not */
	size_t stretches_capacity, kinds_capacity, heads_capacity;
	uint32_t nkinds;
	uint16_t *kind_of; /* by class: one more than the kind it had last, 0: none yet */
};

struct head_cache_fill *head_cache_fill_new(struct head_cache_set *set)
{
	struct head_cache_fill *head_cache_fill = mem_new(sizeof *head_cache_fill);

	head_cache_fill->set = set;
	head_cache_fill->kind_of =
		mem_new_array(head_cache_classes(set) + 1, sizeof *head_cache_fill->kind_of);
	return head_cache_fill;
}

void head_cache_fill_free(struct head_cache_fill *head_cache_fill)
{
	if (!head_cache_fill)
		return;
	mem_free(head_cache_fill->found.stretches);
	mem_free(head_cache_fill->found.kinds);
	mem_free(head_cache_fill->found.heads);
	mem_free(head_cache_fill->kind_of);
	mem_free(head_cache_fill);
}

void head_cache_fill_begin(struct head_cache_fill *head_cache_fill, const struct stream *stream,
			   const struct packet_info *info)
{
	struct head_cache_packet *found = &head_cache_fill->found;

	for (uint32_t i = 0; i < head_cache_fill->nkinds; i++)
		head_cache_fill->kind_of[found->kinds[i].class_index] = 0;
	head_cache_fill->refused =
		info->rec.flags & (PACKET_OPEN | PACKET_UNSORTED | PACKET_DESCENDING);
	head_cache_fill->events = head_cache_fill->nkinds = 0;
	found->greatest = NSTIME_MIN;
	found->least = NSTIME_MAX;
	found->count = found->nstretches = 0;
	found->stream = stream;
	found->off = info->rec.off;
	found->digest = head_cache_fill->refused ? 0 : head_cache_digest(stream, info);
}

void head_cache_fill_pass(struct head_cache_fill *head_cache_fill, nstime first, nstime last,
			  uint32_t count)
{
	head_cache_fill->refused |= first < head_cache_fill->found.greatest;
	if (!head_cache_fill->events)
		head_cache_fill->found.least = first;
	head_cache_fill->found.greatest = last;
	head_cache_fill->events += count;
}

/* The number of a kind; KINDS_MAX: there are too many. */
static uint16_t head_cache_fill_kind_of(struct head_cache_fill *head_cache_fill,
					struct head_cache_kind kind)
{
	struct head_cache_packet *found = &head_cache_fill->found;
	uint16_t *last = &head_cache_fill->kind_of[kind.class_index];
	uint32_t i = *last ? *last - 1u : head_cache_fill->nkinds;

	if (*last && !memcmp(&found->kinds[i], &kind, sizeof kind))
		return (uint16_t)i;
	for (i = *last ? 0 : head_cache_fill->nkinds; i < head_cache_fill->nkinds; i++)
		if (!memcmp(&found->kinds[i], &kind, sizeof kind))
			break;
	if (i == KINDS_MAX)
		return KINDS_MAX;
	if (i == head_cache_fill->nkinds) {
		found->kinds =
			mem_grow(found->kinds, i, &head_cache_fill->kinds_capacity, sizeof kind);
		found->kinds[head_cache_fill->nkinds++] = kind;
	}
	*last = (uint16_t)(i + 1);
	return (uint16_t)i;
}

static struct head_cache_stretch *begin_stretch(struct head_cache_fill *head_cache_fill,
						nstime time, uint64_t at, uint32_t index)
{
	struct head_cache_packet *found = &head_cache_fill->found;

	*mem_push(found->stretches, found->nstretches, head_cache_fill->stretches_capacity) =
		(struct head_cache_stretch){time, at, index, 0};
	return &found->stretches[found->nstretches - 1];
}

static void add_head(struct head_cache_fill *head_cache_fill, const struct batch *batch, uint32_t i)
{
	const struct head_cache_kind kind = {batch->class_index[i], batch->head[i],
					     batch->flags[i]};
	struct head_cache_packet *found = &head_cache_fill->found;
	struct head_cache_stretch *stretch = NULL;
	uint64_t time = (uint64_t)batch->time[i];
	uint32_t index = batch->first + i;
	uint16_t number = head_cache_fill_kind_of(head_cache_fill, kind);

	if (found->nstretches)
		stretch = &found->stretches[found->nstretches - 1];
	if (!stretch || time - (uint64_t)stretch->time > UINT32_MAX ||
	    batch->at[i] - stretch->at > UINT32_MAX || index - stretch->index > UINT16_MAX)
		stretch = begin_stretch(head_cache_fill, batch->time[i], batch->at[i], index);
	head_cache_fill->refused |= number == KINDS_MAX;
	stretch->count++;
	found->heads[found->count++] =
		(struct head_cache_head){.at = (uint32_t)(batch->at[i] - stretch->at),
					 .time = (uint32_t)(time - (uint64_t)stretch->time),
					 .index = (uint16_t)(index - stretch->index),
					 .kind = number};
}

void head_cache_fill_add(struct head_cache_fill *head_cache_fill, const struct batch *batch,
			 const uint16_t *entries, uint32_t n)
{
	struct head_cache_packet *found = &head_cache_fill->found;

	if (head_cache_fill->refused || !batch->count)
		return;
	const struct batch_times times = batch_times(batch);
	head_cache_fill->refused |= times.fall;
	head_cache_fill_pass(head_cache_fill, times.least, times.greatest, batch->count);
	head_cache_fill->refused |=
		head_cache_fill->events >= BATCH_MAX &&
		(found->count + n) * (uint64_t)NOT_RARE > head_cache_fill->events;
	if (head_cache_fill->refused)
		return;
	while (head_cache_fill->heads_capacity < found->count + n)
		found->heads = mem_grow(found->heads, head_cache_fill->heads_capacity,
					&head_cache_fill->heads_capacity, sizeof *found->heads);
	for (uint32_t k = 0; k < n; k++)
		add_head(head_cache_fill, batch, entries[k]);
}

/* One block: the packet, its stretches, kinds and heads. */
static struct head_cache_packet *pack(const struct head_cache_fill *head_cache_fill, size_t *size)
{
	const struct head_cache_packet *found = &head_cache_fill->found;
	const size_t stretches = found->nstretches * sizeof *found->stretches;
	const size_t kinds = head_cache_fill->nkinds * sizeof *found->kinds;
	const size_t heads = found->count * sizeof *found->heads;
	struct head_cache_packet *packet;

	*size = sizeof *packet + stretches + kinds + heads;
	packet = mem_new(*size);
	*packet = *found;
	packet->stretches = (void *)(packet + 1);
	packet->kinds = (void *)((char *)packet->stretches + stretches);
	packet->heads = (void *)((char *)packet->kinds + kinds);
	if (found->count) {
		memcpy(packet->stretches, found->stretches, stretches);
		memcpy(packet->kinds, found->kinds, kinds);
		memcpy(packet->heads, found->heads, heads);
	}
	return packet;
}

void head_cache_fill_end(struct head_cache_fill *head_cache_fill)
{
	struct head_cache_packet *packet;
	size_t size;

	if (head_cache_fill->refused || !head_cache_fill->events)
		return;
	packet = pack(head_cache_fill, &size);
	if (!head_cache_put(head_cache_fill->set, packet, size))
		mem_free(packet);
}

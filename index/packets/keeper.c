/* keeper.c - a packet's batches → what is kept of it */
#include "index/packets/kept_internal.h"

#include "engine/base/mem.h"

#include <string.h>

enum {
	KINDS_MAX = UINT16_MAX,
	NOT_RARE = 2 /* more than one event in so many: reading all costs little more */
};

struct keeper {
	struct kept_set *set;
	struct kept_packet found; /* its arrays are those below */
	bool refused;             /* this packet is not to be kept */
	uint64_t events;          /* wanted or not */
	size_t stretches_capacity, kinds_capacity, heads_capacity;
	uint32_t nkinds;
	uint16_t *kind_of; /* by class: one more than the kind it had last, 0: none yet */
};

struct keeper *keeper_new(struct kept_set *set)
{
	struct keeper *keeper = mem_new(sizeof *keeper);

	keeper->set = set;
	keeper->kind_of = mem_new_array(kept_classes(set) + 1, sizeof *keeper->kind_of);
	return keeper;
}

void keeper_free(struct keeper *keeper)
{
	if (!keeper)
		return;
	mem_free(keeper->found.stretches);
	mem_free(keeper->found.kinds);
	mem_free(keeper->found.heads);
	mem_free(keeper->kind_of);
	mem_free(keeper);
}

void keeper_begin(struct keeper *keeper, const struct stream *stream,
		  const struct packet_info *info)
{
	struct kept_packet *found = &keeper->found;

	for (uint32_t i = 0; i < keeper->nkinds; i++)
		keeper->kind_of[found->kinds[i].class_index] = 0;
	keeper->refused = info->rec.flags & (PACKET_OPEN | PACKET_UNSORTED | PACKET_DESCENDING);
	keeper->events = keeper->nkinds = 0;
	found->greatest = NSTIME_MIN;
	found->least = NSTIME_MAX;
	found->count = found->nstretches = 0;
	found->stream = stream;
	found->off = info->rec.off;
	found->digest = keeper->refused ? 0 : kept_digest(stream, info);
}

void keeper_pass(struct keeper *keeper, nstime first, nstime last, uint32_t count)
{
	keeper->refused |= first < keeper->found.greatest;
	if (!keeper->events)
		keeper->found.least = first;
	keeper->found.greatest = last;
	keeper->events += count;
}

/* The number of a kind; KINDS_MAX: there are too many. */
static uint16_t kind_of(struct keeper *keeper, struct kept_kind kind)
{
	struct kept_packet *found = &keeper->found;
	uint16_t *last = &keeper->kind_of[kind.class_index];
	uint32_t i = *last ? *last - 1u : keeper->nkinds;

	if (*last && !memcmp(&found->kinds[i], &kind, sizeof kind))
		return (uint16_t)i;
	for (i = *last ? 0 : keeper->nkinds; i < keeper->nkinds; i++)
		if (!memcmp(&found->kinds[i], &kind, sizeof kind))
			break;
	if (i == KINDS_MAX)
		return KINDS_MAX;
	if (i == keeper->nkinds) {
		found->kinds = mem_grow(found->kinds, i, &keeper->kinds_capacity, sizeof kind);
		found->kinds[keeper->nkinds++] = kind;
	}
	*last = (uint16_t)(i + 1);
	return (uint16_t)i;
}

static struct kept_stretch *begin_stretch(struct keeper *keeper, nstime time, uint64_t at,
					  uint32_t index)
{
	struct kept_packet *found = &keeper->found;

	found->stretches = mem_grow(found->stretches, found->nstretches,
				    &keeper->stretches_capacity, sizeof *found->stretches);
	found->stretches[found->nstretches] = (struct kept_stretch){time, at, index, 0};
	return &found->stretches[found->nstretches++];
}

static void add_head(struct keeper *keeper, const struct batch *batch, uint32_t i)
{
	const struct kept_kind kind = {batch->class_index[i], batch->head[i], batch->flags[i]};
	struct kept_packet *found = &keeper->found;
	struct kept_stretch *stretch = NULL;
	uint64_t time = (uint64_t)batch->time[i];
	uint32_t index = batch->first + i;
	uint16_t number = kind_of(keeper, kind);

	if (found->nstretches)
		stretch = &found->stretches[found->nstretches - 1];
	if (!stretch || time - (uint64_t)stretch->time > UINT32_MAX ||
	    batch->at[i] - stretch->at > UINT32_MAX || index - stretch->index > UINT16_MAX)
		stretch = begin_stretch(keeper, batch->time[i], batch->at[i], index);
	keeper->refused |= number == KINDS_MAX;
	stretch->count++;
	found->heads[found->count++] =
		(struct kept_head){.at = (uint32_t)(batch->at[i] - stretch->at),
				   .time = (uint32_t)(time - (uint64_t)stretch->time),
				   .index = (uint16_t)(index - stretch->index),
				   .kind = number};
}

void keeper_add(struct keeper *keeper, const struct batch *batch, const uint16_t *entries,
		uint32_t n)
{
	struct kept_packet *found = &keeper->found;

	if (keeper->refused || !batch->count)
		return;
	const struct batch_times times = batch_times(batch);
	keeper->refused |= times.fall;
	keeper_pass(keeper, times.least, times.greatest, batch->count);
	keeper->refused |= keeper->events >= BATCH_MAX &&
			   (found->count + n) * (uint64_t)NOT_RARE > keeper->events;
	if (keeper->refused)
		return;
	while (keeper->heads_capacity < found->count + n)
		found->heads = mem_grow(found->heads, keeper->heads_capacity,
					&keeper->heads_capacity, sizeof *found->heads);
	for (uint32_t k = 0; k < n; k++)
		add_head(keeper, batch, entries[k]);
}

/* One block: the packet, its stretches, kinds and heads. */
static struct kept_packet *pack(const struct keeper *keeper, size_t *size)
{
	const struct kept_packet *found = &keeper->found;
	const size_t stretches = found->nstretches * sizeof *found->stretches;
	const size_t kinds = keeper->nkinds * sizeof *found->kinds;
	const size_t heads = found->count * sizeof *found->heads;
	struct kept_packet *packet;

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

void keeper_end(struct keeper *keeper)
{
	struct kept_packet *packet;
	size_t size;

	if (keeper->refused || !keeper->events)
		return;
	packet = pack(keeper, &size);
	if (!kept_put(keeper->set, packet, size))
		mem_free(packet);
}

/*
 * shard_side.c - gathers tombstones and fills of all slices in memory, sorted by number
 *
 * Both are rare, so searching for one reads many slices. After some hundred slices it pays to
 * gather all of them. If there are too many, searching continues slice by slice.
 */
#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "state/slices/bits.h"
#include "state/slices/shard.h"

#include <stdlib.h>

enum { SIDE_MOST = 1 << 20 };

static bool add_item(void *arg, const struct side_item *item)
{
	struct side *side = arg;

	if (side->count == SIDE_MOST)
		return false;
	*mem_push(side->items, side->count, side->capacity) = *item;
	return true;
}

typedef bool each_tombstone(void *arg, const struct side_item *tombstone);

/* Calls `each` for the tombstones of one chunk: CHUNK numbers from `first` on. */
static bool chunk_tombstones(const struct slice *slice, uint64_t first, each_tombstone *each,
			     void *arg)
{
	uint64_t from = first << slice->tick_bits, to = (first + CHUNK) << slice->tick_bits;
	struct slice_opened open = {.j = 0};
	uint32_t j;

	if (!slice_run_find(&slice->changes, from, &j))
		j = 0;
	for (; j < slice->changes.nblocks && slice_run_first(&slice->changes, j) < to; j++) {
		if (!slice_opened_at(&open, &slice->changes, j))
			return false;
		for (uint32_t i = 0; i < open.block.count; i++) {
			uint64_t key = open.keys[i];
			struct side_item item = {.fill.attr = (uint32_t)(key >> slice->tick_bits)};

			if (key < from || key >= to)
				continue;
			item.fill.value = slice_block_value(&open.block, i);
			item.at = slice_tick_time(slice, key & bits_mask(slice->tick_bits));
			if (!each(arg, &item))
				return false;
		}
	}
	return true;
}

bool shard_each_tombstone(struct shard *shard, uint32_t first, each_tombstone *each, void *arg)
{
	for (uint32_t s = first; s < shard->nslices; s++) {
		const struct slice *slice = shard_slice(shard, s);

		if (!slice)
			return false;
		for (uint32_t n = 0; n < shard_numbers(shard); n += CHUNK)
			if (numbers_is_tombstone(shard->numbers, n) &&
			    !chunk_tombstones(slice, n, each, arg))
				return false;
	}
	return true;
}

static bool add_fills(const struct slice *slice, struct side *out)
{
	struct slice_fills fills = {.open.j = 0};
	struct side_item item;

	while (slice_fills_next(slice, &fills, &item.fill)) {
		item.at = slice_tick_time(slice, item.fill.tick);
		if (!add_item(out, &item))
			return false;
	}
	return true;
}

static int by_number_and_time(const void *a, const void *b)
{
	const struct side_item *x = a, *y = b;

	if (x->fill.attr != y->fill.attr)
		return x->fill.attr < y->fill.attr ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static bool shard_side_gather(struct shard *shard)
{
	for (uint32_t s = 0; s < shard->nslices; s++) {
		const struct slice *slice = shard_slice(shard, s);

		if (!slice || !add_fills(slice, &shard->fills))
			return false;
	}
	return shard_each_tombstone(shard, 0, add_item, &shard->tombstones);
}

bool shard_side(struct shard *shard, uint32_t steps)
{
	if (shard->side != SIDE_NONE)
		return shard->side == SIDE_GATHERED;
	shard->steps += steps;
	if (shard->steps < (uint64_t)shard->nslices * 2 + 64)
		return false;
	shard->side = shard_side_gather(shard) ? SIDE_GATHERED : SIDE_REFUSED;
	if (shard->side == SIDE_REFUSED) {
		shard_side_release(shard);
		return false;
	}
	if (shard->tombstones.count)
		qsort(shard->tombstones.items, shard->tombstones.count,
		      sizeof *shard->tombstones.items, by_number_and_time);
	if (shard->fills.count)
		qsort(shard->fills.items, shard->fills.count, sizeof *shard->fills.items,
		      by_number_and_time);
	return true;
}

const struct side_item *side_find(const struct side *side, uint32_t number, nstime t, bool back)
{
	const struct side_item *items = side->items;
	size_t i = search_first(n, 0, side->count,
				items[n].fill.attr < number ||
					(items[n].fill.attr == number && items[n].at <= t));

	i -= back; /* may wrap: then there is none */
	return i < side->count && items[i].fill.attr == number ? &items[i] : NULL;
}

void shard_side_release(struct shard *shard)
{
	mem_free(shard->tombstones.items);
	mem_free(shard->fills.items);
	shard->tombstones = shard->fills = (struct side){0};
}

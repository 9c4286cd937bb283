/*
 * shard_moment.c - the values of all numbers of a shard at one moment, and since when they hold
 *
 * Snapshots say how many slices ago each number was written, so items are grouped by the older
 * slice that has their change.
 */
#include "engine/base/mem.h"
#include "state/slices/shard.h"

bool shard_moment(struct shard *shard, nstime t, struct slice_items *out)
{
	const struct slice *slice;
	uint32_t tick;

	out->count = 0;
	if (shard->nslices == 0)
		return true;
	slice = shard_slice(shard, shard_slice_at(shard, t));
	if (!slice)
		return false;
	if (!slice->nticks || t < slice->begin)
		return slice_moment(slice, NULL, out);
	tick = slice_tick_at(slice, t);
	return slice_moment(slice, &tick, out);
}

/* Items linked by age, in the order of `items`. */
struct ages {
	uint32_t *first, *next; /* 1 + place; 0: none */
	uint32_t most;
};

static bool group(const struct slice_items *items, uint32_t most, struct ages *out)
{
	out->first = mem_new_array((size_t)most + 1, sizeof *out->first);
	out->next = mem_new_array(items->count + 1, sizeof *out->next);
	out->most = 0;
	for (size_t i = items->count; i-- > 0;) {
		const struct slice_item *item = &items->items[i];

		if (item->of != ITEM_BEFORE)
			continue;
		if (item->at > most)
			return false;
		out->next[i] = out->first[item->at];
		out->first[item->at] = (uint32_t)i + 1;
		out->most = item->at > out->most ? (uint32_t)item->at : out->most;
	}
	return true;
}

static bool since_older(struct shard *shard, uint32_t at, struct slice_items *items)
{
	struct ages ages = {0};
	bool ok = group(items, at, &ages);

	for (uint32_t age = 0; age <= ages.most && ok; age++)
		for (uint32_t i = ages.first[age]; i; i = ages.next[i - 1]) {
			struct slice_item *item = &items->items[i - 1];

			item->since = shard_since_before(shard, item->number, at, age);
		}
	mem_free(ages.first);
	mem_free(ages.next);
	return ok;
}

/* Sets `since` of items that the moment's own slice changed. */
static void since_here(const struct slice *slice, struct slice_items *items)
{
	for (size_t i = 0; i < items->count; i++) {
		struct slice_item *item = &items->items[i];

		if (item->of == ITEM_CHANGED)
			item->since = shard_tick_since(slice, item->number, (uint32_t)item->at);
	}
}

bool shard_moment_since(struct shard *shard, nstime t, struct slice_items *items)
{
	uint32_t at = shard_slice_at(shard, t);
	const struct slice *slice;

	if (!items->count)
		return true;
	slice = shard_slice(shard, at);
	if (!slice)
		return false;
	since_here(slice, items);
	return since_older(shard, at, items) && !shard->damaged;
}

/*
 * slice_moment.c - the values of all attributes at one moment, in one pass over a slice
 *
 *     changes    a a a a a . b b . d .     keys rise: attribute, then tick; a point is a later one
 *     snapshot   a           b   c d       what held when the slice began: c alone still counts
 *
 * Of an attribute's changes only the last one up to the tick matters. The keys alone show which
 * these are; no other value is decoded, and a block is skipped if all its changes are of one
 * attribute, and all behind the tick or all before another one up to it.
 */
#include "engine/base/mem.h"
#include "state/slices/bits.h"
#include "state/slices/slice.h"

/* Makes room for `count` more items. */
static void slice_moment_make_room(struct slice_items *items, size_t count)
{
	if (items->capacity - items->count >= count)
		return;
	items->capacity = (items->count + count) * 2;
	items->items = mem_resize(items->items, items->capacity, sizeof *items->items);
}

/* Can block j be skipped: has it changes of one attribute only, and not the last up to the tick? */
static bool is_between(const struct slice *slice, uint32_t j, uint32_t tick)
{
	const struct slice_run *run = &slice->changes;
	unsigned bits = slice->tick_bits;
	uint64_t first = slice_run_first(run, j), behind;

	if (j + 1 == run->nblocks)
		return false;
	behind = slice_run_first(run, j + 1);
	if (first >> bits != behind >> bits)
		return false;
	return (first & bits_mask(bits)) > tick || (behind & bits_mask(bits)) <= tick;
}

/* The last changes of the open block's attributes at or before the tick. False: damage. */
static bool put_block(struct slice_opened *open, unsigned tick_bits, uint32_t tick,
		      struct slice_items *out)
{
	const struct slice_block *block = &open->block;
	uint64_t mask = bits_mask(tick_bits), *keys = open->keys;
	uint32_t lasts[SLICE_BLOCK], count = 0;

	if (keys[block->count - 1] >> tick_bits > UINT32_MAX)
		return false;
	keys[block->count] = UINT64_MAX;
	for (uint32_t i = 0; i < block->count; i++) { /* branches would be mispredicted */
		uint64_t end = keys[i] | mask;

		lasts[count] = i;
		count += (uint32_t)((keys[i] & mask) <= tick) &
			 (uint32_t)(keys[i + 1] > end || (keys[i + 1] & mask) > tick);
	}
	slice_moment_make_room(out, count);
	for (uint32_t i = 0; i < count; i++) {
		struct slice_value value = slice_block_value(block, lasts[i]);
		uint32_t number = (uint32_t)(keys[lasts[i]] >> tick_bits);

		/* replaces the attribute's change of the block before */
		out->count -= out->count && out->items[out->count - 1].number == number;
		out->items[out->count++] = (struct slice_item){
			.number = number,
			.kind = value.kind,
			.of = ITEM_CHANGED,
			.value = value.number,
			.at = keys[lasts[i]] & mask,
		};
	}
	return true;
}

static bool put_changes(const struct slice *slice, uint32_t tick, struct slice_items *out)
{
	struct slice_opened open = {.j = 0};

	for (uint32_t j = 0; j < slice->changes.nblocks; j++)
		if (!is_between(slice, j, tick) && (!slice_opened_at(&open, &slice->changes, j) ||
						    !put_block(&open, slice->tick_bits, tick, out)))
			return false;
	return true;
}

/* Merges a block of the snapshot with the changed items from `next` on, which replace it. */
static const struct slice_item *put_before(const struct slice_block *block, const uint64_t *keys,
					   const struct slice_item *next,
					   const struct slice_item *end, struct slice_items *out)
{
	struct slice_value values[SLICE_BLOCK];

	slice_block_values(block, values);
	for (uint32_t i = 0; i < block->count; i++) {
		for (; next < end && next->number < keys[i]; next++) {
			slice_moment_make_room(out, SLICE_BLOCK + 1);
			out->items[out->count++] = *next;
		}
		if (next < end && next->number == keys[i])
			continue;
		out->items[out->count++] = (struct slice_item){
			.number = (uint32_t)keys[i],
			.kind = values[i].kind,
			.of = ITEM_BEFORE,
			.value = values[i].number,
			.at = slice_block_extra(block, i),
		};
	}
	return next;
}

static bool put_snapshot(const struct slice *slice, const struct slice_items *changed,
			 struct slice_items *out)
{
	const struct slice_item *next = changed->items; /* NULL where nothing changed */
	const struct slice_item *end = changed->count ? next + changed->count : next;
	uint64_t keys[SLICE_BLOCK];
	struct slice_block block;

	for (uint32_t j = 0; j < slice->snapshot.nblocks; j++) {
		if (!slice_block_open(&slice->snapshot, j, &block) ||
		    !slice_block_keys(&block, keys) || keys[block.count - 1] > UINT32_MAX)
			return false;
		slice_moment_make_room(out, SLICE_BLOCK);
		next = put_before(&block, keys, next, end, out);
	}
	slice_moment_make_room(out, (size_t)(end - next));
	while (next < end)
		out->items[out->count++] = *next++;
	return true;
}

bool slice_moment(const struct slice *slice, const uint32_t *tick, struct slice_items *out)
{
	struct slice_items changed = {0};
	bool ok = !tick || !slice->changes.count || put_changes(slice, *tick, &changed);

	out->count = 0;
	ok = ok && put_snapshot(slice, &changed, out);
	mem_free(changed.items);
	*slice->damaged |= !ok;
	return ok;
}

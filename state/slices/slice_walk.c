/*
 * slice_walk.c - from change to change of a slice, with the blocks kept open that these lead to
 *
 * A follower's keys are places among the changes of its leader. Neighbours follow neighbours, so
 * the leader's block that is open is mostly the one that comes next.
 */
#include "state/slices/bits.h"
#include "state/slices/slice.h"

void slice_walk_begin(struct slice_walk *walk, const struct slice *slice)
{
	walk->slice = slice;
	walk->changes.j = walk->followers.j = walk->leader.j = 0;
}

enum slice_found slice_walk_leader(struct slice_walk *walk, uint64_t attr, uint64_t *start)
{
	const struct slice_run *run = &walk->slice->followers;
	struct slice_opened *open = &walk->followers;
	uint32_t j, low = 0, high;

	*start = 0;
	if (!open->j || attr < open->keys[0] || attr > open->keys[open->block.count - 1]) {
		if (!run->count || !slice_run_find(run, attr, &j))
			return SLICE_ABSENT;
		if (!slice_opened_at(open, run, j))
			return SLICE_DAMAGED;
	}
	for (high = open->block.count; high - low > 1;) {
		uint32_t middle = low + (high - low) / 2;

		if (open->keys[middle] <= attr)
			low = middle;
		else
			high = middle;
	}
	if (open->keys[low] != attr)
		return SLICE_ABSENT;
	*start = slice_block_extra(&open->block, low);
	return *start < walk->slice->changes.count ? SLICE_FOUND : SLICE_DAMAGED;
}

/* Ticks for places: of keys[from..to), all of one follower. */
static bool follow(struct slice_walk *walk, uint64_t start, uint32_t from, uint32_t to)
{
	const struct slice_run *run = &walk->slice->changes;
	uint64_t mask = bits_mask(walk->slice->tick_bits), *keys = walk->changes.keys;

	for (uint32_t i = from; i < to; i++) {
		uint64_t at = start + (keys[i] & mask);

		if (at >= run->count ||
		    !slice_opened_at(&walk->leader, run, (uint32_t)(at / SLICE_BLOCK)))
			return false;
		keys[i] = (keys[i] & ~mask) | (walk->leader.keys[at % SLICE_BLOCK] & mask);
	}
	return true;
}

bool slice_walk_open(struct slice_walk *walk, uint32_t j)
{
	unsigned bits = walk->slice->tick_bits;
	const uint64_t *keys = walk->changes.keys;

	if (walk->changes.j == j + 1)
		return true;
	if (!slice_opened_at(&walk->changes, &walk->slice->changes, j))
		return false;
	for (uint32_t i = 0, next; i < walk->changes.block.count; i = next) {
		uint64_t attr = keys[i] >> bits, start;
		enum slice_found found = slice_walk_leader(walk, attr, &start);

		for (next = i + 1; next < walk->changes.block.count && keys[next] >> bits == attr;)
			next++;
		if (found == SLICE_DAMAGED ||
		    (found == SLICE_FOUND && !follow(walk, start, i, next))) {
			walk->changes.j = 0;
			return false;
		}
	}
	return true;
}

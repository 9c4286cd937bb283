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

/* Opens the block of followers that may have the attribute. */
static enum slice_found open_followers(struct slice_walk *walk, uint64_t attr)
{
	const struct slice_run *run = &walk->slice->followers;
	uint32_t j;

	if (!run->count || !slice_run_find(run, attr, &j))
		return SLICE_ABSENT;
	walk->follower = 0;
	return slice_opened_at(&walk->followers, run, j) ? SLICE_FOUND : SLICE_DAMAGED;
}

enum slice_found slice_walk_leader(struct slice_walk *walk, uint64_t attr, uint64_t *start)
{
	const struct slice_opened *open = &walk->followers;
	const uint64_t *keys = open->keys;

	*start = 0;
	if (!open->j || attr < keys[0] || attr > keys[open->block.count - 1]) {
		enum slice_found found = open_followers(walk, attr);

		if (found != SLICE_FOUND)
			return found;
	}
	if (attr < keys[walk->follower])
		walk->follower = 0;
	while (walk->follower + 1 < open->block.count && keys[walk->follower + 1] <= attr)
		walk->follower++;
	if (keys[walk->follower] != attr)
		return SLICE_ABSENT;
	*start = slice_block_extra(&open->block, walk->follower);
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

/* The last block that begins below `end`, from the one that is open on. False: there is none. */
static bool block_below(const struct slice_walk *walk, uint64_t end, uint32_t *out)
{
	const struct slice_run *run = &walk->slice->changes;
	uint32_t low = 0, high, step = 1;

	if (walk->leader.j && walk->leader.keys[0] < end)
		low = walk->leader.j - 1;
	else if (!run->nblocks || slice_run_first(run, 0) >= end)
		return false;
	for (; low + step < run->nblocks && slice_run_first(run, low + step) < end; step *= 2)
		low += step;
	high = low + step < run->nblocks ? low + step : run->nblocks;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (slice_run_first(run, middle) < end)
			low = middle;
		else
			high = middle;
	}
	*out = low;
	return true;
}

enum slice_found slice_walk_last(struct slice_walk *walk, uint32_t attr, uint32_t *tick)
{
	const struct slice_run *run = &walk->slice->changes;
	unsigned bits = walk->slice->tick_bits;
	uint64_t end = ((uint64_t)attr + 1) << bits, start, key;
	struct slice_opened *open = &walk->leader;
	enum slice_found found;
	uint32_t j, i;

	if (!block_below(walk, end, &j))
		return SLICE_ABSENT;
	if (!slice_opened_at(open, run, j))
		return SLICE_DAMAGED;
	for (i = open->block.count - 1; i > 0 && open->keys[i] >= end;)
		i--;
	key = open->keys[i];
	if (key >> bits != attr)
		return SLICE_ABSENT;
	found = slice_walk_leader(walk, attr, &start);
	if (found == SLICE_FOUND) {
		start += key & bits_mask(bits);
		if (start >= run->count ||
		    !slice_opened_at(open, run, (uint32_t)(start / SLICE_BLOCK)))
			return SLICE_DAMAGED;
		key = open->keys[start % SLICE_BLOCK];
	}
	*tick = (uint32_t)(key & bits_mask(bits));
	return found == SLICE_DAMAGED ? found : SLICE_FOUND;
}

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
	walk->changes.j = walk->shared_ticks.j = walk->leader.j = 0;
	walk->free_from = walk->free_to = 0;
}

/* Opens the block of the last follower at or before an attribute. Is it this one, and where? */
static bool find_follower(struct slice_walk *walk, uint64_t attr, uint32_t *place)
{
	const struct slice_run *run = &walk->slice->shared_ticks;
	const uint64_t *keys = walk->shared_ticks.keys;
	uint32_t j, i;

	if (!slice_run_find(run, attr, &j)) {
		walk->free_from = 0;
		walk->free_to = run->nblocks ? slice_run_first(run, 0) : UINT64_MAX;
		return false;
	}
	if (!slice_opened_at(&walk->shared_ticks, run, j))
		return false;
	for (i = walk->shared_ticks.block.count - 1; i > 0 && keys[i] > attr;)
		i--;
	walk->free_from = keys[i] + 1;
	walk->free_to = UINT64_MAX;
	if (i + 1 < walk->shared_ticks.block.count)
		walk->free_to = keys[i + 1];
	else if (j + 1 < run->nblocks)
		walk->free_to = slice_run_first(run, j + 1);
	*place = i;
	return keys[i] == attr;
}

bool slice_walk_leader(struct slice_walk *walk, uint64_t attr, uint64_t *start)
{
	uint32_t place;

	if ((attr >= walk->free_from && attr < walk->free_to) || !find_follower(walk, attr, &place))
		return false;
	*start = slice_block_extra(&walk->shared_ticks.block, place);
	if (*start >= walk->slice->changes.count)
		*walk->slice->damaged = true;
	return true;
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

		for (next = i + 1; next < walk->changes.block.count && keys[next] >> bits == attr;)
			next++;
		if (slice_walk_leader(walk, attr, &start) && !follow(walk, start, i, next)) {
			walk->changes.j = 0;
			*walk->slice->damaged = true;
			return false;
		}
	}
	return true;
}

/*
 * slice_moment.c - what every attribute was at one moment, in one pass over a slice
 *
 *     changes    a a a a a . b b . d .     keys rise: attribute, then tick; a point is a later one
 *     snapshot   a           b   c d       what held when the slice began: c alone still counts
 *
 * Of an attribute's changes one matters, the last that is not behind the tick. Where these are the
 * keys alone tell; no other value is looked at, and no block between two keys of one attribute
 * that lie both before or both behind. A follower's keys are places among its leader's changes: so
 * many of these are not behind the tick, so many places count.
 */
#include "engine/base/mem.h"
#include "state/slices/bits.h"
#include "state/slices/slice.h"

struct pass {
	const struct slice *slice;
	uint64_t ticks; /* so many count */
	struct slice_block block;
	uint64_t keys[SLICE_BLOCK + 1]; /* of the block, and the one behind it */
	struct slice_opened shared_ticks, leader;
	uint32_t next;          /* the first follower that is not below where the pass is */
	uint64_t follower;      /* its attribute; UINT64_MAX: there is none */
	uint64_t start, places; /* its leader's first change, and how many count */
	struct slice_items *out;
};

/* How many of a leader's changes count, which begin at `start`. False: damage. */
static bool count_places(struct pass *pass, uint64_t start, uint64_t *places)
{
	const struct slice_run *run = &pass->slice->changes;
	uint32_t j = (uint32_t)(start / SLICE_BLOCK), i = start % SLICE_BLOCK, n = i;
	const uint64_t *keys = pass->leader.keys;
	struct slice_block block;
	uint64_t end, key, last;

	if (start >= run->count || !slice_opened_at(&pass->leader, run, j))
		return false;
	end = (keys[i] >> pass->slice->tick_bits << pass->slice->tick_bits) + pass->ticks;
	while (n < pass->leader.block.count && keys[n] < end)
		n++;
	*places = n - i;
	if (n < pass->leader.block.count || j + 1 == run->nblocks ||
	    slice_run_first(run, j + 1) >= end)
		return true;
	if (slice_run_before(run, end - 1, &block, &last, &key) != SLICE_FOUND || last < start)
		return false;
	*places = last + 1 - start;
	return true;
}

/* Reads the follower `pass->next`. False: damage. */
static bool read_follower(struct pass *pass)
{
	const struct slice_run *run = &pass->slice->shared_ticks;

	pass->follower = UINT64_MAX;
	if (pass->next >= run->count)
		return true;
	if (!slice_opened_at(&pass->shared_ticks, run, pass->next / SLICE_BLOCK))
		return false;
	pass->follower = pass->shared_ticks.keys[pass->next % SLICE_BLOCK];
	pass->start = slice_block_extra(&pass->shared_ticks.block, pass->next % SLICE_BLOCK);
	return count_places(pass, pass->start, &pass->places);
}

/* Goes on to an attribute, of which so many ticks or places count. */
static bool go_to(struct pass *pass, uint64_t attr, uint64_t *counting)
{
	while (pass->follower < attr) {
		pass->next++;
		if (!read_follower(pass))
			return false;
	}
	*counting = attr == pass->follower ? pass->places : pass->ticks;
	return true;
}

/* Room for so many more. */
static void make_room(struct slice_items *items, size_t count)
{
	if (items->capacity - items->count >= count)
		return;
	items->capacity = (items->count + count) * 2;
	items->items = mem_resize(items->items, items->capacity, sizeof *items->items);
}

static void put_change(struct pass *pass, uint32_t i)
{
	unsigned bits = pass->slice->tick_bits;
	uint64_t attr = pass->keys[i] >> bits, at = pass->keys[i] & bits_mask(bits);
	struct slice_value value = slice_block_value(&pass->block, i);

	pass->out->items[pass->out->count++] = (struct slice_item){
		.number = (uint32_t)attr,
		.kind = value.kind,
		.of = attr == pass->follower ? ITEM_FOLLOWS : ITEM_CHANGED,
		.value = value.number,
		.at = attr == pass->follower ? pass->start + at : at,
	};
}

/* The last keys in [from, to) of each attribute, of which all have so many that count. */
static void put_lasts(struct pass *pass, uint32_t from, uint32_t to, uint64_t counting)
{
	uint64_t mask = bits_mask(pass->slice->tick_bits);
	const uint64_t *keys = pass->keys;
	uint8_t lasts[SLICE_BLOCK];
	uint32_t count = 0;

	for (uint32_t i = from; i < to; i++) { /* without branches: none could be guessed */
		uint64_t end = (keys[i] & ~mask) + counting;

		lasts[count] = (uint8_t)i;
		count += (uint32_t)(keys[i] < end) & (uint32_t)(keys[i + 1] >= end);
	}
	make_room(pass->out, count);
	for (uint32_t i = 0; i < count; i++)
		put_change(pass, lasts[i]);
}

static bool put_block(struct pass *pass, uint32_t j, uint64_t behind)
{
	unsigned bits = pass->slice->tick_bits;
	uint64_t counting;
	uint32_t count;

	if (!slice_block_open(&pass->slice->changes, j, &pass->block) ||
	    !slice_block_keys(&pass->block, pass->keys))
		return false;
	count = pass->block.count;
	if (pass->keys[count - 1] >> bits > UINT32_MAX)
		return false;
	pass->keys[count] = behind;
	for (uint32_t from = 0, to; from < count; from = to) {
		uint64_t attr = pass->keys[from] >> bits, end = UINT64_MAX;

		if (!go_to(pass, attr, &counting))
			return false;
		if (pass->follower != UINT64_MAX)
			end = (attr == pass->follower ? attr + 1 : pass->follower) << bits;
		for (to = count; to > from + 1 && pass->keys[to - 1] >= end;)
			to--;
		put_lasts(pass, from, to, counting);
	}
	return true;
}

/* The last changes at or before a tick. */
static bool put_changes(const struct slice *slice, uint32_t tick, struct slice_items *out)
{
	struct pass pass = {.slice = slice, .ticks = (uint64_t)tick + 1, .out = out};
	const struct slice_run *run = &slice->changes;
	uint64_t first = slice_run_first(run, 0), behind = 0, counting;

	if (!read_follower(&pass))
		return false;
	for (uint32_t j = 0; j < run->nblocks; j++, first = behind) {
		uint64_t attr = first >> slice->tick_bits, end;

		behind = j + 1 < run->nblocks ? slice_run_first(run, j + 1) : UINT64_MAX;
		if (!go_to(&pass, attr, &counting))
			return false;
		end = (attr << slice->tick_bits) + counting;
		if (attr == behind >> slice->tick_bits && (first >= end || behind < end))
			continue;
		if (!put_block(&pass, j, behind))
			return false;
	}
	return true;
}

/* A block of the snapshot, but for what is among those that changed, from `next` on. */
static const struct slice_item *put_before(const struct slice_block *block, const uint64_t *keys,
					   const struct slice_item *next,
					   const struct slice_item *end, struct slice_items *out)
{
	struct slice_value values[SLICE_BLOCK];

	slice_block_values(block, values);
	for (uint32_t i = 0; i < block->count; i++) {
		for (; next < end && next->number < keys[i]; next++) {
			make_room(out, SLICE_BLOCK + 1);
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
		make_room(out, SLICE_BLOCK);
		next = put_before(&block, keys, next, end, out);
	}
	make_room(out, (size_t)(end - next));
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
	return ok;
}

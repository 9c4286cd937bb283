/* slice_get.c - reading a slice in place: its parts, ticks, and what one attribute is */
#include "state/slices/bits.h"
#include "state/slices/slice.h"

static bool damaged(struct error *err, const char *what)
{
	return error_set(err, ERR_FORMAT, "timelines: a slice is damaged: %s", what);
}

static bool open_parts(const uint8_t *data, const struct slice_head *head, struct slice *out)
{
	uint64_t fills = head->froms_at + (uint64_t)head->nfroms * 8;
	uint64_t end = head->size - SLICE_TAIL;

	if (head->changes_at < sizeof *head || head->snapshot_at < head->changes_at ||
	    head->froms_at < head->snapshot_at || head->shared_ticks_at < fills ||
	    head->shared_ticks_at > end)
		return false;
	out->froms = data + head->froms_at;
	out->ticks.count = head->nticks;
	out->changes = (struct slice_run){.count = head->nchanges, .values = true};
	out->snapshot = (struct slice_run){.count = head->nsnapshot, .values = true, .extra = true};
	out->fills = (struct slice_run){.count = head->nfills, .values = true, .extra = true};
	out->shared_ticks = (struct slice_run){.count = head->nshared_ticks, .extra = true};
	return slice_run_open(data, sizeof *head, head->changes_at, &out->ticks) &&
	       slice_run_open(data, head->changes_at, head->snapshot_at, &out->changes) &&
	       slice_run_open(data, head->snapshot_at, head->froms_at, &out->snapshot) &&
	       slice_run_open(data, fills, head->shared_ticks_at, &out->fills) &&
	       slice_run_open(data, head->shared_ticks_at, end, &out->shared_ticks);
}

bool slice_open(const void *data, size_t size, struct slice *out, struct error *err)
{
	struct slice_head head = {0};

	if (size >= sizeof head + SLICE_TAIL)
		memcpy(&head, data, sizeof head);
	if (head.magic != SLICE_MAGIC)
		return damaged(err, "no slice begins here");
	if (head.tick_bits > 32 || head.size != size)
		return damaged(err, "its head contradicts itself");
	*out = (struct slice){.number = head.number,
			      .nticks = head.nticks,
			      .tick_bits = head.tick_bits,
			      .begin = head.begin,
			      .nfroms = head.nfroms};
	return open_parts(data, &head, out) || damaged(err, "its parts do not fit");
}

/* ---- ticks ---- */

bool slice_tick_at(const struct slice *slice, nstime t, uint32_t *out)
{
	struct slice_block block;
	uint64_t i, found;

	if (t < slice->begin ||
	    slice_run_before(&slice->ticks, (uint64_t)t - (uint64_t)slice->begin, &block, &i,
			     &found) != SLICE_FOUND)
		return false;
	*out = (uint32_t)i;
	return true;
}

bool slice_tick_behind(const struct slice *slice, nstime t, uint32_t *out)
{
	*out = 0;
	if (!slice->nticks || t < slice->begin)
		return true;
	if (!slice_tick_at(slice, t, out))
		return false;
	++*out;
	return true;
}

bool slice_tick_time(const struct slice *slice, uint64_t tick, nstime *out)
{
	uint64_t distance;

	if (!slice_run_key(&slice->ticks, tick, &distance))
		return false;
	*out = (nstime)((uint64_t)slice->begin + distance);
	return true;
}

/* ---- questions about one attribute ---- */

/*
 * A follower's keys are places among its leader's changes, which begin at `start`. Is this one, and
 * where do they begin?
 */
static enum slice_found find_leader(const struct slice *slice, uint64_t attr, uint64_t *start)
{
	struct slice_block block;
	enum slice_found found;
	uint64_t i, key;

	*start = 0;
	if (!slice->shared_ticks.count)
		return SLICE_ABSENT;
	found = slice_run_before(&slice->shared_ticks, attr, &block, &i, &key);
	if (found != SLICE_FOUND)
		return found;
	if (key != attr)
		return SLICE_ABSENT;
	*start = slice_block_extra(&block, (uint32_t)(i % SLICE_BLOCK));
	return *start < slice->changes.count ? SLICE_FOUND : SLICE_DAMAGED;
}

/* Which tick, or which of its leader's changes, is the last at or before a tick. */
static enum slice_found place_at(const struct slice *slice, uint32_t attr, uint32_t tick,
				 bool *follows, uint64_t *start, uint64_t *place)
{
	enum slice_found found = find_leader(slice, attr, start);
	struct slice_block block;
	uint64_t key, i;

	*follows = found == SLICE_FOUND;
	*place = tick;
	if (found == SLICE_DAMAGED || !*follows)
		return found == SLICE_DAMAGED ? found : SLICE_FOUND;
	if (!slice_run_key(&slice->changes, *start, &key))
		return SLICE_DAMAGED;
	key = key >> slice->tick_bits << slice->tick_bits | tick;
	found = slice_run_before(&slice->changes, key, &block, &i, &key);
	if (found != SLICE_FOUND || i < *start)
		return found == SLICE_FOUND ? SLICE_ABSENT : found;
	*place = i - *start;
	return SLICE_FOUND;
}

static enum slice_found tick_of(const struct slice *slice, bool follows, uint64_t start,
				uint64_t key, uint32_t *at)
{
	uint64_t mask = bits_mask(slice->tick_bits);

	if (follows && !slice_run_key(&slice->changes, start + (key & mask), &key))
		return SLICE_DAMAGED;
	*at = (uint32_t)(key & mask);
	return SLICE_FOUND;
}

/* An attribute's last change up to a tick, in the column that has it. */
struct last_change {
	uint64_t key, i;
	uint64_t start; /* `follows`: where its leader's changes begin */
	bool follows;
	struct slice_value value;
};

static enum slice_found last_change(const struct slice *slice, uint32_t attr, uint32_t tick,
				    struct last_change *out)
{
	struct slice_block block;
	uint64_t place;
	enum slice_found found = place_at(slice, attr, tick, &out->follows, &out->start, &place);

	if (found != SLICE_FOUND)
		return found;
	out->key = (uint64_t)attr << slice->tick_bits | place;
	found = slice_run_before(&slice->changes, out->key, &block, &out->i, &out->key);
	if (found != SLICE_FOUND || out->key >> slice->tick_bits != attr)
		return found == SLICE_FOUND ? SLICE_ABSENT : found;
	out->value = slice_block_value(&block, (uint32_t)(out->i % SLICE_BLOCK));
	return SLICE_FOUND;
}

enum slice_found slice_change(const struct slice *slice, uint32_t attr, uint32_t tick,
			      struct slice_value *value, uint32_t *at)
{
	struct last_change last;
	enum slice_found found = last_change(slice, attr, tick, &last);

	if (found != SLICE_FOUND)
		return found;
	*value = last.value;
	return tick_of(slice, last.follows, last.start, last.key, at);
}

enum slice_found slice_change_from(const struct slice *slice, uint32_t attr, uint32_t tick,
				   struct slice_value *value, uint32_t *at)
{
	uint64_t start, place, least, key, i = 0;
	struct slice_block block;
	enum slice_found found;
	bool follows;

	/* the place behind the last one before the tick, where it is no tick itself */
	found = tick ? place_at(slice, attr, tick - 1, &follows, &start, &place) : SLICE_ABSENT;
	if (found == SLICE_DAMAGED)
		return found;
	least = (uint64_t)attr << slice->tick_bits | (found == SLICE_FOUND ? place + 1 : 0);
	if (least) {
		found = slice_run_before(&slice->changes, least - 1, &block, &i, &key);
		i += found == SLICE_FOUND;
	}
	if (found == SLICE_DAMAGED)
		return found;
	if (i >= slice->changes.count)
		return SLICE_ABSENT;
	if (!slice_block_open(&slice->changes, (uint32_t)(i / SLICE_BLOCK), &block) ||
	    !slice_block_key(&block, (uint32_t)(i % SLICE_BLOCK), &key))
		return SLICE_DAMAGED;
	if (key >> slice->tick_bits != attr)
		return SLICE_ABSENT;
	*value = slice_block_value(&block, (uint32_t)(i % SLICE_BLOCK));
	found = find_leader(slice, attr, &start);
	return found == SLICE_DAMAGED ? found
				      : tick_of(slice, found == SLICE_FOUND, start, key, at);
}

enum slice_found slice_change_behind(const struct slice *slice, uint32_t attr, nstime t,
				     struct slice_value *value, uint32_t *at)
{
	uint32_t tick;

	if (!slice_tick_behind(slice, t, &tick))
		return SLICE_DAMAGED;
	return tick < slice->nticks ? slice_change_from(slice, attr, tick, value, at)
				    : SLICE_ABSENT;
}

enum slice_found slice_row(const struct slice *slice, uint32_t attr, uint32_t tick, bool back,
			   struct slice_value *value, uint32_t *out)
{
	const uint64_t step = back ? UINT64_MAX : 1;
	struct slice_value values[SLICE_BLOCK];
	struct slice_opened open = {.j = 0};
	struct last_change last;
	enum slice_found found = last_change(slice, attr, tick, &last);

	if (found != SLICE_FOUND)
		return found;
	*value = last.value;
	for (uint64_t at = last.i; (at += step) < slice->changes.count;) {
		uint32_t j = (uint32_t)(at / SLICE_BLOCK), i = at % SLICE_BLOCK;

		if (open.j != j + 1) {
			if (!slice_opened_at(&open, &slice->changes, j))
				return SLICE_DAMAGED;
			slice_block_values(&open.block, values);
		}
		if (open.keys[i] >> slice->tick_bits != attr || values[i].kind != value->kind ||
		    values[i].number != value->number)
			break;
		last.key = open.keys[i];
	}
	return tick_of(slice, last.follows, last.start, last.key, out);
}

enum slice_found slice_before(const struct slice *slice, uint32_t attr, struct slice_value *value,
			      uint64_t *age)
{
	struct slice_block block;
	uint64_t key, i;
	enum slice_found found = slice_run_before(&slice->snapshot, attr, &block, &i, &key);

	if (found != SLICE_FOUND)
		return found;
	if (key != attr)
		return SLICE_ABSENT;
	*value = slice_block_value(&block, (uint32_t)(i % SLICE_BLOCK));
	*age = slice_block_extra(&block, (uint32_t)(i % SLICE_BLOCK));
	return SLICE_FOUND;
}

enum slice_found slice_fills_next(const struct slice *slice, struct slice_fills *fills,
				  struct slice_fill *out)
{
	uint32_t j = fills->next / SLICE_BLOCK, i = fills->next % SLICE_BLOCK;
	uint64_t key, extra;

	if (fills->next >= slice->fills.count)
		return SLICE_ABSENT;
	if (!slice_opened_at(&fills->open, &slice->fills, j))
		return SLICE_DAMAGED;
	fills->next++;
	key = fills->open.keys[i];
	extra = slice_block_extra(&fills->open.block, i);
	if (extra >> 1 >= slice->nfroms || key >> slice->tick_bits > UINT32_MAX)
		return SLICE_DAMAGED;
	out->attr = (uint32_t)(key >> slice->tick_bits);
	out->tick = (uint32_t)(key & bits_mask(slice->tick_bits));
	out->final = extra & 1;
	out->from = (nstime)bits_load(slice->froms + (extra >> 1) * 8);
	out->value = slice_block_value(&fills->open.block, i);
	return SLICE_FOUND;
}

enum slice_found slice_fill(const struct slice *slice, uint32_t attr, uint32_t tick,
			    struct slice_fill *out)
{
	struct slice_fills fills = {.open.j = 0};
	enum slice_found found;
	uint32_t j;

	if (slice_run_find(&slice->fills, (uint64_t)attr << slice->tick_bits | tick, &j))
		fills.next = j * SLICE_BLOCK;
	do
		found = slice_fills_next(slice, &fills, out);
	while (found == SLICE_FOUND &&
	       (out->attr < attr || (out->attr == attr && out->tick < tick)));
	return found == SLICE_FOUND && out->attr != attr ? SLICE_ABSENT : found;
}

/* slice_get.c - reading a slice in place: its parts, ticks, and what one attribute is */
#include "state/slices/bits.h"
#include "state/slices/slice.h"

static bool refuse(struct error *err, const char *what)
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
	bool *damaged = out->damaged;
	return slice_run_open(data, sizeof *head, head->changes_at, damaged, &out->ticks) &&
	       slice_run_open(data, head->changes_at, head->snapshot_at, damaged, &out->changes) &&
	       slice_run_open(data, head->snapshot_at, head->froms_at, damaged, &out->snapshot) &&
	       slice_run_open(data, fills, head->shared_ticks_at, damaged, &out->fills) &&
	       slice_run_open(data, head->shared_ticks_at, end, damaged, &out->shared_ticks);
}

bool slice_open(const void *data, size_t size, bool *damaged, struct slice *out, struct error *err)
{
	struct slice_head head = {0};

	if (size >= sizeof head + SLICE_TAIL)
		memcpy(&head, data, sizeof head);
	if (head.magic != SLICE_MAGIC)
		return refuse(err, "no slice begins here");
	if (head.tick_bits > 32 || head.size != size)
		return refuse(err, "its head contradicts itself");
	*out = (struct slice){.number = head.number,
			      .nticks = head.nticks,
			      .tick_bits = head.tick_bits,
			      .begin = head.begin,
			      .nfroms = head.nfroms,
			      .damaged = damaged};
	return open_parts(data, &head, out) || refuse(err, "its parts do not fit");
}

/* ---- ticks ---- */

uint32_t slice_tick_at(const struct slice *slice, nstime t)
{
	struct slice_block block;
	uint64_t i, found;

	if (slice_run_before(&slice->ticks, (uint64_t)t - (uint64_t)slice->begin, &block, &i,
			     &found))
		return (uint32_t)i;
	*slice->damaged = true; /* the first one is at begin */
	return 0;
}

uint32_t slice_tick_behind(const struct slice *slice, nstime t)
{
	return slice->nticks && t >= slice->begin ? slice_tick_at(slice, t) + 1 : 0;
}

nstime slice_tick_time(const struct slice *slice, uint64_t tick)
{
	return (nstime)((uint64_t)slice->begin + slice_run_key(&slice->ticks, tick));
}

/* ---- questions about one attribute ---- */

/* A change of an attribute, in the column that has it. */
struct found_change {
	bool follows;   /* its key is of a place among its leader's changes, */
	uint64_t start; /* which begin here; else it is of a tick */
	uint64_t key, i;
	struct slice_value value;
};

/* Does the attribute follow, and whom? */
static void find_leader(const struct slice *slice, uint64_t attr, struct found_change *out)
{
	const struct slice_run *run = &slice->shared_ticks;
	struct slice_block block;
	uint64_t i, key;

	out->follows = run->count && slice_run_before(run, attr, &block, &i, &key) && key == attr;
	if (!out->follows)
		return;
	out->start = slice_block_extra(&block, (uint32_t)(i % SLICE_BLOCK));
	if (out->start >= slice->changes.count)
		*slice->damaged = true;
}

/* Which tick, or which of its leader's changes, is the last at or before a tick. */
static bool place_at(const struct slice *slice, const struct found_change *of, uint32_t tick,
		     uint64_t *place)
{
	struct slice_block block;
	uint64_t key, i;

	*place = tick;
	if (!of->follows)
		return true;
	key = slice_run_key(&slice->changes, of->start) >> slice->tick_bits << slice->tick_bits |
	      tick;
	if (!slice_run_before(&slice->changes, key, &block, &i, &key) || i < of->start)
		return false;
	*place = i - of->start;
	return true;
}

static uint32_t tick_of(const struct slice *slice, const struct found_change *change)
{
	uint64_t mask = bits_mask(slice->tick_bits), key = change->key;

	if (change->follows)
		key = slice_run_key(&slice->changes, change->start + (key & mask));
	return (uint32_t)(key & mask);
}

static bool last_change(const struct slice *slice, uint32_t attr, uint32_t tick,
			struct found_change *out)
{
	struct slice_block block;
	uint64_t place;

	find_leader(slice, attr, out);
	if (!place_at(slice, out, tick, &place) ||
	    !slice_run_before(&slice->changes, (uint64_t)attr << slice->tick_bits | place, &block,
			      &out->i, &out->key) ||
	    out->key >> slice->tick_bits != attr)
		return false;
	out->value = slice_block_value(&block, (uint32_t)(out->i % SLICE_BLOCK));
	return true;
}

bool slice_change(const struct slice *slice, uint32_t attr, uint32_t tick,
		  struct slice_value *value, uint32_t *at)
{
	struct found_change last;

	if (!last_change(slice, attr, tick, &last))
		return false;
	*value = last.value;
	*at = tick_of(slice, &last);
	return true;
}

bool slice_change_from(const struct slice *slice, uint32_t attr, uint32_t tick,
		       struct slice_value *value, uint32_t *at)
{
	uint64_t place, least = (uint64_t)attr << slice->tick_bits;
	struct found_change next = {.i = 0};
	struct slice_block block;

	find_leader(slice, attr, &next);
	/* the place behind the last one before the tick, where it is no tick itself */
	if (tick && place_at(slice, &next, tick - 1, &place))
		least |= place + 1;
	if (least && slice_run_before(&slice->changes, least - 1, &block, &next.i, &next.key))
		next.i++;
	if (next.i >= slice->changes.count ||
	    !slice_run_at(&slice->changes, next.i, &block, &next.key) ||
	    next.key >> slice->tick_bits != attr)
		return false;
	*value = slice_block_value(&block, (uint32_t)(next.i % SLICE_BLOCK));
	*at = tick_of(slice, &next);
	return true;
}

bool slice_change_behind(const struct slice *slice, uint32_t attr, nstime t,
			 struct slice_value *value, uint32_t *at)
{
	uint32_t tick = slice_tick_behind(slice, t);

	return tick < slice->nticks && slice_change_from(slice, attr, tick, value, at);
}

bool slice_row(const struct slice *slice, uint32_t attr, uint32_t tick, bool back,
	       struct slice_value *value, uint32_t *out)
{
	const uint64_t step = back ? UINT64_MAX : 1;
	struct slice_value values[SLICE_BLOCK];
	struct slice_opened open = {.j = 0};
	struct found_change last;

	if (!last_change(slice, attr, tick, &last))
		return false;
	*value = last.value;
	for (uint64_t at = last.i; (at += step) < slice->changes.count;) {
		uint32_t j = (uint32_t)(at / SLICE_BLOCK), i = at % SLICE_BLOCK;

		if (open.j != j + 1) {
			if (!slice_opened_at(&open, &slice->changes, j))
				return false;
			slice_block_values(&open.block, values);
		}
		if (open.keys[i] >> slice->tick_bits != attr || values[i].kind != value->kind ||
		    values[i].number != value->number)
			break;
		last.key = open.keys[i];
	}
	*out = tick_of(slice, &last);
	return true;
}

bool slice_before(const struct slice *slice, uint32_t attr, struct slice_value *value,
		  uint64_t *age)
{
	struct slice_block block;
	uint64_t key, i;

	if (!slice_run_before(&slice->snapshot, attr, &block, &i, &key) || key != attr)
		return false;
	*value = slice_block_value(&block, (uint32_t)(i % SLICE_BLOCK));
	*age = slice_block_extra(&block, (uint32_t)(i % SLICE_BLOCK));
	return true;
}

bool slice_fills_next(const struct slice *slice, struct slice_fills *fills, struct slice_fill *out)
{
	uint32_t j = fills->next / SLICE_BLOCK, i = fills->next % SLICE_BLOCK;
	uint64_t key, extra;

	if (fills->next >= slice->fills.count || !slice_opened_at(&fills->open, &slice->fills, j))
		return false;
	fills->next++;
	key = fills->open.keys[i];
	extra = slice_block_extra(&fills->open.block, i);
	if (extra >> 1 >= slice->nfroms || key >> slice->tick_bits > UINT32_MAX) {
		*slice->damaged = true;
		return false;
	}
	out->attr = (uint32_t)(key >> slice->tick_bits);
	out->tick = (uint32_t)(key & bits_mask(slice->tick_bits));
	out->final = extra & 1;
	out->from = (nstime)bits_load(slice->froms + (extra >> 1) * 8);
	out->value = slice_block_value(&fills->open.block, i);
	return true;
}

bool slice_fill(const struct slice *slice, uint32_t attr, uint32_t tick, struct slice_fill *out)
{
	struct slice_fills fills = {.open.j = 0};
	uint32_t j;

	if (slice_run_find(&slice->fills, (uint64_t)attr << slice->tick_bits | tick, &j))
		fills.next = j * SLICE_BLOCK;
	while (slice_fills_next(slice, &fills, out))
		if (out->attr > attr || (out->attr == attr && out->tick >= tick))
			return out->attr == attr;
	return false;
}

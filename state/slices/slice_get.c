/* slice_get.c - reading a slice in place: its parts, ticks, and single attributes */
#include "state/slices/bits.h"
#include "state/slices/slice.h"

static bool slice_get_refuse(struct error *err, const char *what)
{
	return error_set(err, ERR_FORMAT, "timelines: a slice is damaged: %s", what);
}

static bool open_parts(const uint8_t *data, const struct slice_head *head, struct slice *out)
{
	uint64_t fills = head->froms_at + (uint64_t)head->nfroms * 8;
	uint64_t end = head->size - SLICE_TAIL;

	if (head->changes_at < sizeof *head || head->snapshot_at < head->changes_at ||
	    head->froms_at < head->snapshot_at || fills > end)
		return false;
	out->froms = data + head->froms_at;
	out->ticks.count = head->nticks;
	out->changes = (struct slice_run){.count = head->nchanges, .values = true};
	out->snapshot = (struct slice_run){.count = head->nsnapshot, .values = true, .extra = true};
	out->fills = (struct slice_run){.count = head->nfills, .values = true, .extra = true};
	bool *damaged = out->damaged;
	return slice_run_open(data, sizeof *head, head->changes_at, damaged, &out->ticks) &&
	       slice_run_open(data, head->changes_at, head->snapshot_at, damaged, &out->changes) &&
	       slice_run_open(data, head->snapshot_at, head->froms_at, damaged, &out->snapshot) &&
	       slice_run_open(data, fills, end, damaged, &out->fills);
}

bool slice_open(const void *data, size_t size, bool *damaged, struct slice *out, struct error *err)
{
	struct slice_head head = {0};

	if (size >= sizeof head + SLICE_TAIL)
		memcpy(&head, data, sizeof head);
	if (head.magic != SLICE_MAGIC)
		return slice_get_refuse(err, "no slice begins here");
	if (head.tick_bits > 32 || head.size != size)
		return slice_get_refuse(err, "its head contradicts itself");
	*out = (struct slice){.number = head.number,
			      .nticks = head.nticks,
			      .tick_bits = head.tick_bits,
			      .begin = head.begin,
			      .nfroms = head.nfroms,
			      .damaged = damaged};
	return open_parts(data, &head, out) || slice_get_refuse(err, "its parts do not fit");
}

/* ---- ticks ---- */

uint32_t slice_tick_at(const struct slice *slice, nstime t)
{
	struct slice_block block;
	uint64_t i, found;

	if (slice_run_before(&slice->ticks, (uint64_t)t - (uint64_t)slice->begin, &block, &i,
			     &found))
		return (uint32_t)i;
	*slice->damaged = true; /* a whole slice has a tick at begin */
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

static uint32_t tick_of(const struct slice *slice, uint64_t key)
{
	return (uint32_t)(key & bits_mask(slice->tick_bits));
}

/* The last change at or before a tick, its key and its place in the column. */
static bool last_change(const struct slice *slice, uint32_t attr, uint32_t tick,
			struct slice_value *value, uint64_t *key, uint64_t *i)
{
	struct slice_block block;

	if (!slice_run_before(&slice->changes, (uint64_t)attr << slice->tick_bits | tick, &block, i,
			      key) ||
	    *key >> slice->tick_bits != attr)
		return false;
	*value = slice_block_value(&block, (uint32_t)(*i % SLICE_BLOCK));
	return true;
}

bool slice_change(const struct slice *slice, uint32_t attr, uint32_t tick,
		  struct slice_value *value, uint32_t *at)
{
	uint64_t key, i;

	if (!last_change(slice, attr, tick, value, &key, &i))
		return false;
	*at = tick_of(slice, key);
	return true;
}

bool slice_change_from(const struct slice *slice, uint32_t attr, uint32_t tick,
		       struct slice_value *value, uint32_t *at)
{
	uint64_t least = (uint64_t)attr << slice->tick_bits | tick, key, i = 0;
	struct slice_block block;

	if (least && slice_run_before(&slice->changes, least - 1, &block, &i, &key))
		i++;
	if (i >= slice->changes.count || !slice_run_at(&slice->changes, i, &block, &key) ||
	    key >> slice->tick_bits != attr)
		return false;
	*value = slice_block_value(&block, (uint32_t)(i % SLICE_BLOCK));
	*at = tick_of(slice, key);
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
	uint64_t key, at;

	if (!last_change(slice, attr, tick, value, &key, &at))
		return false;
	while ((at += step) < slice->changes.count) {
		uint32_t j = (uint32_t)(at / SLICE_BLOCK), i = at % SLICE_BLOCK;

		if (open.j != j + 1) {
			if (!slice_opened_at(&open, &slice->changes, j))
				return false;
			slice_block_values(&open.block, values);
		}
		if (open.keys[i] >> slice->tick_bits != attr || values[i].kind != value->kind ||
		    values[i].number != value->number)
			break;
		key = open.keys[i];
	}
	*out = tick_of(slice, key);
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

/*
 * stored_walk.c - from change to change of one attribute, forward and back
 *
 * Going forward, snapshots show which slices can be skipped: they say how many slices ago each
 * attribute was written last.
 */
#include "state/timelines/stored.h"

#include "engine/base/search.h"

/* Did slices [from, slice) change the number? It must be in the snapshot of `from`. */
static bool changed_before(struct shard *shard, uint32_t number, uint32_t from, uint32_t slice)
{
	const struct slice *read = shard_slice(shard, slice);
	struct slice_value value;
	uint64_t age;

	return !read || !slice_before(read, number, &value, &age) || age <= slice - from;
}

/* The first slice at `from` or behind that may change the number; searches with doubling steps. */
static uint32_t next_slice(struct shard *shard, uint32_t number, uint32_t from)
{
	uint32_t count = shard->nslices, low = from, step = 1;
	const struct slice *read = from < count ? shard_slice(shard, from) : NULL;
	struct slice_value value;
	uint64_t age;

	if (!read || !slice_before(read, number, &value, &age))
		return from;
	while (low + step < count && !changed_before(shard, number, from, low + step)) {
		low += step;
		step *= 2;
	}
	uint32_t high = low + step < count ? low + step : count;
	/* no change before low; one before high, or high is the end */
	return search_first(i, low + 1, high, !changed_before(shard, number, from, i)) - 1;
}

/* The change at a tick of the slice, and its fill. False: damage. */
static bool change_at(struct shard *shard, const struct slice *slice, uint32_t number,
		      uint32_t tick, struct slice_value value, struct stored_change *out)
{
	struct slice_fill fill;

	out->at = slice_tick_time(slice, tick);
	out->deleted = value.kind == SLICE_DELETED;
	out->filled =
		slice->fills.count && slice_fill(slice, number, tick, &fill) && fill.tick == tick;
	if (out->filled) {
		out->from = fill.from;
		out->final = fill.final;
		shard_value_of(shard, fill.value, &out->was);
	}
	return shard_value_of(shard, value, &out->value) && !shard->damaged;
}

/* The first change behind `after` in one shard. */
static bool next_in(struct shard *shard, uint32_t number, nstime after, struct stored_change *out)
{
	uint32_t first = shard_slice_at(shard, after), tick;
	const struct slice *slice;
	struct slice_value value;

	for (uint32_t s = first; s < shard->nslices; s++) {
		if (s > first)
			s = next_slice(shard, number, s);
		slice = shard_slice(shard, s);
		if (!slice)
			return false;
		if (slice_change_behind(slice, number, after, &value, &tick))
			return change_at(shard, slice, number, tick, value, out);
	}
	return false;
}

bool stored_next(struct stored *stored, uint32_t attr, nstime after, struct stored_change *out)
{
	for (size_t i = stored_shard_at(stored, after); i < stored->count; i++) {
		struct shard *shard = stored->items[i].shard;
		uint32_t number = shard_number(shard, attr);

		if (number != NUMBER_ABSENT && next_in(shard, number, after, out))
			return true;
		if (shard->damaged)
			return false;
	}
	return false;
}

nstime stored_row(struct stored *stored, uint32_t attr, const struct value *value, nstime t,
		  bool back)
{
	struct shard *shard = stored->items[stored_shard_at(stored, t)].shard;
	uint32_t number = shard_number(shard, attr);
	struct slice_value stored_value;
	struct value same;
	nstime end;

	return number != NUMBER_ABSENT && shard_row(shard, number, t, back, &stored_value, &end) &&
			       shard_value_of(shard, stored_value, &same) &&
			       value_equal(&same, value)
		       ? end
		       : t;
}

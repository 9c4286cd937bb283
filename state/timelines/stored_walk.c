/*
 * stored_walk.c - from change to change of one attribute, forward and back
 *
 * Forward, snapshots tell which slices can be passed over: they say how many slices ago an
 * attribute was written last.
 */
#include "state/timelines/stored.h"

#include "engine/base/search.h"

/* Was the number changed in [from, slice)? Only of one that lived when `from` began. */
static bool changed_before(struct shard *shard, uint32_t number, uint32_t from, uint32_t slice)
{
	struct error ignored;
	const struct slice *read = shard_slice(shard, slice, &ignored);
	struct slice_value value;
	uint64_t age;

	return !read || slice_before(read, number, &value, &age) != SLICE_FOUND ||
	       age <= slice - from;
}

/*
 * The first slice at `from` or behind that may hold a change: snapshots say how many slices ago the
 * last one was, so the search doubles its steps.
 */
static uint32_t next_slice(struct shard *shard, uint32_t number, uint32_t from)
{
	uint32_t count = shard_slices(shard), low = from, step = 1;
	struct error ignored;
	const struct slice *read = from < count ? shard_slice(shard, from, &ignored) : NULL;
	struct slice_value value;
	uint64_t age;

	if (!read || slice_before(read, number, &value, &age) != SLICE_FOUND)
		return from;
	while (low + step < count && !changed_before(shard, number, from, low + step)) {
		low += step;
		step *= 2;
	}
	uint32_t high = low + step < count ? low + step : count;
	/* not changed before low; before high it was, or it is the end */
	return search_first(i, low + 1, high, !changed_before(shard, number, from, i)) - 1;
}

/* The change at a tick of the slice, and what is filled with it. */
static enum slice_found change_at(struct shard *shard, const struct slice *slice, uint32_t number,
				  uint32_t tick, struct slice_value value,
				  struct stored_change *out)
{
	struct slice_fill fill;

	if (!slice_tick_time(slice, tick, &out->at) || !shard_value_of(shard, value, &out->value))
		return SLICE_DAMAGED;
	out->deleted = value.kind == SLICE_DELETED;
	out->filled = slice->fills.count && slice_fill(slice, number, tick, &fill) == SLICE_FOUND &&
		      fill.tick == tick;
	if (!out->filled)
		return SLICE_FOUND;
	out->from = fill.from;
	out->final = fill.final;
	return shard_value_of(shard, fill.value, &out->was) ? SLICE_FOUND : SLICE_DAMAGED;
}

/* In one shard, behind `after`. */
static enum slice_found next_in(struct shard *shard, uint32_t number, nstime after,
				struct stored_change *out)
{
	uint32_t s = shard_slice_at(shard, after), tick;
	struct slice_value value;
	struct error ignored;
	enum slice_found found;

	for (bool first = true; s < shard_slices(shard); s++, first = false) {
		const struct slice *slice;

		if (!first)
			s = next_slice(shard, number, s);
		slice = s < shard_slices(shard) ? shard_slice(shard, s, &ignored) : NULL;
		if (!slice)
			return SLICE_DAMAGED;
		tick = 0;
		if (first && slice->nticks && after >= slice->begin) {
			if (!slice_tick_at(slice, after, &tick))
				return SLICE_DAMAGED;
			tick++;
		}
		found = tick < slice->nticks ? slice_change_from(slice, number, tick, &value, &tick)
					     : SLICE_ABSENT;
		if (found == SLICE_FOUND)
			return change_at(shard, slice, number, tick, value, out);
		if (found == SLICE_DAMAGED)
			return found;
	}
	return SLICE_ABSENT;
}

bool stored_next(struct stored *stored, uint32_t attr, nstime after, struct stored_change *out)
{
	for (size_t i = stored_shard_at(stored, after); i < stored->count; i++) {
		struct shard *shard = stored->items[i].shard;
		uint32_t number = shard_number(shard, attr);
		enum slice_found found;

		if (number == NUMBER_ABSENT)
			continue;
		found = next_in(shard, number, after, out);
		stored->damaged |= found == SLICE_DAMAGED;
		if (found != SLICE_ABSENT)
			return found == SLICE_FOUND;
	}
	return false;
}

nstime stored_row(struct stored *stored, uint32_t attr, const struct value *value, nstime t,
		  bool back)
{
	struct shard *shard = stored->items[stored_shard_at(stored, t)].shard;
	uint32_t number = shard_number(shard, attr);
	enum slice_found found = SLICE_ABSENT;
	struct slice_value stored_value;
	struct value same;
	nstime end;

	if (number != NUMBER_ABSENT)
		found = shard_row(shard, number, t, back, &stored_value, &end);
	if (found == SLICE_DAMAGED ||
	    (found == SLICE_FOUND && !shard_value_of(shard, stored_value, &same)))
		stored->damaged = true;
	return found == SLICE_FOUND && !stored->damaged && value_equal(&same, value) ? end : t;
}

/* When a tombstone of the number was first placed. */
static void first_tombstone(struct stored *stored, struct shard *shard, uint32_t number,
			    nstime *first)
{
	struct stored_change next = {0};
	struct slice_value value;
	enum slice_found found;
	nstime since;

	if (number == NUMBER_ABSENT)
		return;
	found = shard_tombstone_at(shard, number, NSTIME_MIN, &value, &since);
	if (found != SLICE_FOUND) {
		found = next_in(shard, number, NSTIME_MIN, &next);
		since = next.at;
	}
	stored->damaged |= found == SLICE_DAMAGED;
	if (found == SLICE_FOUND && since < *first)
		*first = since;
}

nstime stored_first_tombstone(struct stored *stored, uint32_t attr)
{
	const struct attrs *attrs = stored->state->attrs;
	const struct pattern *pattern;
	nstime first = NSTIME_MAX;
	uint32_t number;

	for (size_t i = 0; i < stored->count && first == NSTIME_MAX; i++) {
		struct shard *shard = stored->items[i].shard;

		for (uint32_t a = attr; a != ATTR_ABSENT; a = attr_parent(attrs, a)) {
			first_tombstone(stored, shard, shard_tombstone(shard, a, false), &first);
			if (a != attr)
				first_tombstone(stored, shard, shard_tombstone(shard, a, true),
						&first);
		}
		for (size_t p = 0; (pattern = shard_pattern(shard, p, &number)); p++)
			if (pattern_covers(pattern, attrs, attr, true) == COVER_YES)
				first_tombstone(stored, shard, number, &first);
	}
	return first;
}

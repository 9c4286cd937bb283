/*
 * stored_walk.c - from change to change of one attribute, forward and back
 *
 * Forward, snapshots tell which slices can be passed over: they say how many slices ago an
 * attribute was written last.
 */
#include "state/intervals/stored_tracks.h"

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

/* In one shard, behind `after`. */
enum slice_found walk_next_in(struct shard *shard, uint32_t number, nstime after,
			      struct next_change *out)
{
	uint32_t s = shard_slice_at(shard, after), tick;
	struct slice_value value;
	struct slice_fill fill;
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
		if (found == SLICE_ABSENT)
			continue;
		if (found == SLICE_DAMAGED || !slice_tick_time(slice, tick, &out->at) ||
		    !shard_value_of(shard, value, &out->value))
			return SLICE_DAMAGED;
		out->deleted = value.kind == SLICE_DELETED;
		out->filled = slice->fills.count &&
			      slice_fill(slice, number, tick, &fill) == SLICE_FOUND &&
			      fill.tick == tick;
		if (!out->filled)
			return SLICE_FOUND;
		out->from = fill.from;
		out->final = fill.final;
		return shard_value_of(shard, fill.value, &out->fill) ? SLICE_FOUND : SLICE_DAMAGED;
	}
	return SLICE_ABSENT;
}

bool walk_next(struct feeding *feeding, uint32_t attr, nstime after, struct next_change *out)
{
	for (size_t i = stored_shard_at(feeding->stored, after); i < feeding->stored->count; i++) {
		struct shard *shard = feeding->stored->items[i].shard;
		uint32_t number = shard_number(shard, attr);
		enum slice_found found;

		if (number == NUMBER_ABSENT)
			continue;
		found = walk_next_in(shard, number, after, out);
		if (found == SLICE_DAMAGED)
			feeding->failed = true;
		if (found != SLICE_ABSENT)
			return found == SLICE_FOUND;
	}
	return false;
}

/*
 * From t, when the attribute is `value`, past the changes of the slice that say so again, as those
 * of a name at every switch do: to the first of them, or the last.
 */
static nstime pass_row(struct feeding *feeding, uint32_t attr, const struct value *value, nstime t,
		       bool back)
{
	struct shard *shard = feeding->stored->items[stored_shard_at(feeding->stored, t)].shard;
	uint32_t number = shard_number(shard, attr);
	enum slice_found found = SLICE_ABSENT;
	struct slice_value stored;
	struct value same;
	nstime end;

	if (number != NUMBER_ABSENT)
		found = shard_row(shard, number, t, back, &stored, &end);
	if (found == SLICE_DAMAGED ||
	    (found == SLICE_FOUND && !shard_value_of(shard, stored, &same)))
		feeding->failed = true;
	return found == SLICE_FOUND && !feeding->failed && value_equal(&same, value) ? end : t;
}

void walk_on(struct feeding *feeding, struct track *track)
{
	nstime end = feeding->tracks->end, after = feeding->high, asked = NSTIME_MIN;
	struct stored_fill fill;
	struct next_change next;

	while (!feeding->failed) {
		const struct span *last = &track->spans[track->count - 1];
		bool over = last->begin < end, again;

		if (over && value_exists(&last->value)) {
			if (feeding->tracks->within ||
			    !walk_next(feeding, track->attr, after, &next))
				return;
		} else if (last->value.kind <= VALUE_NONE && last->begin > asked &&
			   (over || (track->count > 1 && last[-1].begin < end &&
				     value_exists(&last[-1].value)))) {
			/* unknown, or deleted and then made so: it may turn out to be known */
			asked = last->begin;
			nstime t = over ? end - 1 : last->begin;
			if (!stored_fill(feeding->stored, track->attr, t, &fill) ||
			    (!over && fill.from > t))
				return;
			if (!walk_next(feeding, track->attr, fill.until - 1, &next))
				return;
		} else {
			return;
		}
		again = !next.filled && value_exists(&next.value) &&
			value_equal(&last->value, &next.value);
		feed_next_change(feeding, track, &next);
		after = next.at;
		if (again)
			after = pass_row(feeding, track->attr, &next.value, after, false);
	}
}

/* The true beginning of a value that holds at t. */
static nstime begin_of(struct feeding *feeding, uint32_t attr, const struct value *value, nstime t)
{
	nstime begin = BEFORE_ALL;
	struct fact fact;

	while (!feeding->failed) {
		if (!stored_fact(feeding->stored, attr, t, &fact)) {
			feeding->failed = true;
			break;
		}
		if (!value_equal(&fact.value, value))
			break;
		begin = fact.since;
		if (begin > NSTIME_MIN)
			begin = pass_row(feeding, attr, value, begin, true);
		if (begin == NSTIME_MIN) /* a row may begin before all, as its first change does */
			break;
		t = begin - 1;
	}
	return begin;
}

void walk_back(struct feeding *feeding, struct track *track)
{
	const struct tracks *tracks = feeding->tracks;

	for (size_t i = 0; i < track->count && track->spans[i].begin < feeding->low; i++) {
		struct span *span = &track->spans[i];
		nstime t = span->begin > BEFORE_ALL ? span->begin : feeding->low - 1;

		if (span->begin == NSTIME_MIN)
			continue;
		if (!tracks->within && value_exists(&span->value) && span->end > tracks->begin &&
		    span->begin < tracks->end)
			span->begin = begin_of(feeding, track->attr, &span->value, t);
		else if (span->begin == BEFORE_ALL)
			span->begin = NSTIME_MIN;
	}
	for (size_t i = 0; i < track->count && track->spans[i].begin <= BEFORE_ALL; i++)
		track->spans[i].begin = NSTIME_MIN;
}

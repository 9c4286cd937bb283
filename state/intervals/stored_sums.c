/*
 * stored_sums.c - reads the sums of slices in place of their changes
 *
 *     columns   |                         |
 *     slices      s0  |  s1  |  s2  |  s3  |  s4
 *     sums            [sums  |  sums]
 *
 * A slice lasts until the next one begins. If it lies in one column, and is neither the first nor
 * the last of the range, attributes with sums in it get these, and VALUE_NONE as their span. The
 * first slice after such ones feeds their values from its snapshot.
 */
#include "state/intervals/stored_tracks.h"

#include "engine/base/mem.h"

#include <string.h>

void summing_release(struct summing *summing)
{
	mem_free(summing->in);
	mem_free(summing->open);
	*summing = (struct summing){0};
}

/* May sums replace its changes? Not of an operand, whose spans views read. */
static bool is_summable(const struct feeding *feeding, uint32_t number)
{
	uint32_t shape = shard_shape(feeding->shard, number);

	return shape != ATTR_ABSENT && !is_operand_shape(feeding->tracks, shape);
}

/* Does the slice lie in one column? False for the first of a shard, whose changes are fed. */
static bool is_within(const struct feeding *feeding, uint32_t s)
{
	const struct intervals_range *range = &feeding->tracks->range;
	nstime begin = feeding->shard->records[s].begin;

	if (s == 0 || begin < feeding->begin)
		return false;
	nstime end = feeding->shard->records[s + 1].begin;
	size_t at = nstime_last(range->edges, range->nedges, sizeof *range->edges, begin);

	return range->edges[at] <= begin && at + 1 < range->nedges && end <= range->edges[at + 1];
}

static bool add_sums(struct feeding *feeding, struct track *track, uint32_t s,
		     const struct top *top)
{
	const struct slice_record *record = &feeding->shard->records[s];
	struct track_more *more = track_make_more(feeding->tracks, track);
	struct track_sums *out;

	more->sums = mem_grow(more->sums, more->nsums, &more->sums_capacity, sizeof *more->sums);
	out = &more->sums[more->nsums];
	*out = (struct track_sums){.sums = {.begin = record->begin,
					    .end = record[1].begin,
					    .count = top->count,
					    .none = top->none,
					    .others = top->others,
					    .most = top->most}};
	for (uint32_t i = 0; i < top->count; i++) {
		if (!shard_value_of(feeding->shard, top->values[i].value, &out->values[i].value))
			return false;
		out->values[i].time = top->values[i].time;
	}
	if (top->count == 1 && !top->none && !top->others)
		out->values[0].time = (uint64_t)out->sums.end - (uint64_t)out->sums.begin;
	else /* times are rounded, and the time after the last tick is not counted */
		out->sums.slack = (uint64_t)record[1].begin - (uint64_t)record->end + top->unit;
	more->nsums++;
	return true;
}

static void take_sums(struct feeding *feeding, uint32_t s, const struct top *top)
{
	struct summing *summing = &feeding->summing;
	struct value none = {.kind = VALUE_NONE};
	struct track *track;

	if (!is_summable(feeding, top->number))
		return;
	track = feed_track(feeding, top->number);
	if (!track || !add_sums(feeding, track, s, top))
		return;
	feed_value(feeding, track, feeding->shard->records[s].begin, &none, true);
	if (summing->in[top->number] != s) {
		*mem_push(summing->open, summing->nopen, summing->capacity) = top->number;
	}
	summing->in[top->number] = s + 1;
}

/* Reads sums of the attributes that are wanted by name. */
static void take_named(struct feeding *feeding, uint32_t s, const struct dominant *dominant)
{
	struct top top;

	for (size_t i = 0; i < feeding->nnamed; i++)
		if (dominant_find(dominant, feeding->named[i], &top))
			take_sums(feeding, s, &top);
}

void summing_begin(struct feeding *feeding)
{
	struct summing *summing = &feeding->summing;

	summing_release(summing);
	if (feeding->tracks->range.nedges)
		summing->in = mem_new_array((size_t)shard_numbers(feeding->shard) + 1,
					    sizeof *summing->in);
}

bool summing_slice(struct feeding *feeding, uint32_t s)
{
	struct dominant dominant;
	struct top top;
	size_t left = feeding->nnamed;

	if (!is_within(feeding, s) || !shard_dominant(feeding->shard, s, &dominant))
		return false;
	if (feeding->all)
		while (dominant_next(&dominant, &top) && !feeding->stored->damaged)
			if (feed_takes(feeding, top.number))
				take_sums(feeding, s, &top);
	if (feeding->all)
		return false;
	take_named(feeding, s, &dominant);
	for (size_t i = 0; i < feeding->nnamed; i++)
		left -= summing_has(feeding, feeding->named[i], s);
	return left == 0;
}

void summing_resume(struct feeding *feeding, uint32_t s)
{
	struct summing *summing = &feeding->summing;
	size_t kept = 0;

	for (size_t i = 0; i < summing->nopen && !feeding->stored->damaged; i++) {
		uint32_t number = summing->open[i];
		struct slice_value value;
		uint64_t age;

		if (summing_has(feeding, number, s)) {
			summing->open[kept++] = number;
			continue;
		}
		if (slice_before(&feeding->slice, number, &value, &age))
			feed_stored(feeding, number, feeding->slice.begin, value);
		else
			feeding->stored->damaged = true;
	}
	summing->nopen = kept;
}

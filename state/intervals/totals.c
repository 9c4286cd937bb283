/*
 * totals.c - how long an attribute had each value, in place of its intervals
 *
 *     spans of a track    a | b | a | b | c | a       the last two may still change
 *                         └──── added ────┘
 *     totals              a 2, b 2, ...
 */
#include "state/intervals/intervals.h"

#include "engine/base/hash_index.h"
#include "engine/base/mem.h"

enum { FEW = 8 /* values: so many are searched without an index */ };

struct totals {
	struct value_total *items; /* each value once, by first appearance */
	size_t count, capacity;
	struct hash_index index;
};

bool totals_wanted(struct tracks *tracks, struct track *track)
{
	const struct sums_sink *sink = tracks->sink;
	struct buf path = {0};

	if (!track->totals_asked && sink && sink->wants_totals) {
		attr_add_text(tracks->state->attrs, track->attr, &path);
		if (sink->wants_totals(sink->arg, buf_text(&path)))
			track_make_more(tracks, track)->totals = mem_new(sizeof(struct totals));
		buf_release(&path);
	}
	track->totals_asked = true;
	const struct track_more *more = track_more(tracks, track);
	return more && more->totals;
}

void totals_free(struct totals *totals)
{
	if (!totals)
		return;
	mem_free(totals->items);
	hash_index_release(&totals->index);
	mem_free(totals);
}

/* Returns the total of the value; adds it if it is missing. */
static struct value_total *find_total(struct totals *totals, const struct value *value)
{
	uint64_t hash = value_hash(value);
	uint32_t at = 0;

	if (totals->index.count)
		at = hash_index_find(&totals->index, hash, i,
				     value_equal(&totals->items[i].value, value));
	else
		while (at < totals->count && !value_equal(&totals->items[at].value, value))
			at++;
	if (at < totals->count)
		return &totals->items[at];
	totals->items =
		mem_grow(totals->items, totals->count, &totals->capacity, sizeof *totals->items);
	totals->items[totals->count] =
		(struct value_total){.value = *value, .last_end = NSTIME_MIN};
	at = (uint32_t)totals->count++;
	for (size_t i = totals->count > FEW ? totals->index.count : totals->count;
	     i < totals->count; i++)
		hash_index_add(&totals->index, value_hash(&totals->items[i].value), i);
	return &totals->items[at];
}

void totals_add(const struct tracks *tracks, struct track *track, size_t count)
{
	nstime begin = tracks->sink->begin, end = tracks->sink->end;
	nstime named = track_shown(tracks, track);
	struct totals *totals = track_more(tracks, track)->totals;

	for (size_t i = 0; i < count; i++) {
		const struct span *span = track_spans(track) + i;
		struct interval interval;
		struct value_total *total;

		if (!track_interval(tracks, track, named, span, span_end(tracks, track, span),
				    &interval) ||
		    interval.end <= begin || interval.begin >= end)
			continue;
		total = find_total(totals, &interval.value);
		total->begun += interval.begin >= begin && interval.begin > NSTIME_MIN;
		total->count++;
		if (interval.begin < begin)
			interval.begin = begin;
		total->last_end = interval.end < end ? interval.end : end;
		total->time += (uint64_t)total->last_end - (uint64_t)interval.begin;
	}
}

bool totals_give(const struct tracks *tracks, const struct track *track, const char *path)
{
	const struct totals *totals = track_more(tracks, track)->totals;

	for (size_t i = 0; i < totals->count; i++)
		if (!tracks->sink->total(tracks->sink->arg, path, &totals->items[i]))
			return false;
	return true;
}

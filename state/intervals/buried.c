/*
 * buried.c - deletes and unknowns that may cover an operand which nothing wrote
 *
 * An operand that no event wrote has no track: its value is unknown. When a `delete` or `unknown`
 * covers it, it is added to the named attributes and gets a track like the others.
 */
#include "engine/base/mem.h"
#include "state/intervals/intervals.h"
#include "state/timelines/stored.h"

void buried_add(struct buried *buried, const struct pattern *pattern)
{
	if (!pattern->any)
		number_map_set(&buried->at, pattern->attr, 1);
	else if (pattern_find(buried->patterns, buried->npatterns, pattern) == buried->npatterns)
		*mem_push(buried->patterns, buried->npatterns, buried->capacity) = *pattern;
}

static bool stored_covers(const struct tracks *tracks, uint32_t attr)
{
	struct stored *stored = tracks->buried.stored;
	struct fact ignored;
	struct error err;
	bool covers;

	if (!stored_begin(stored, &err))
		return false;
	covers = stored_tombstone(stored, attr, time_earlier(tracks->range.end, 1), &ignored);
	stored_end(stored);
	return covers;
}

bool buried_covers(const struct tracks *tracks, uint32_t attr)
{
	const struct buried *buried = &tracks->buried;
	const struct attrs *attrs = tracks->state->attrs;

	if (!program_views_tell_none(tracks->state->program))
		return false;
	if (buried->stored)
		return stored_covers(tracks, attr);
	for (uint32_t a = attr; a != ATTR_ABSENT; a = attr_parent(attrs, a))
		if (number_map_get(&buried->at, a))
			return true;
	for (size_t i = 0; i < buried->npatterns; i++)
		if (pattern_covers(&buried->patterns[i], attrs, attr, true) == COVER_YES)
			return true;
	return false;
}

void buried_release(struct buried *buried)
{
	mem_free(buried->at.items);
	mem_free(buried->patterns);
	*buried = (struct buried){0};
}

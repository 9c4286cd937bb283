/* segments_group.c - groups of segments: counts, sums, extremes, percentiles */
#include "lua-lib/segments/segments.h"

#include "engine/base/mem.h"

void segment_groups_init(struct segment_groups *groups, const uint32_t *columns, size_t ncolumns,
			 const uint32_t *sums, size_t nsums, bool lengths)
{
	*groups =
		(struct segment_groups){.groups = {.nkeys = (uint32_t)ncolumns,
						   .naggregates = (uint32_t)(LENGTH_TOTALS + nsums),
						   .aggregates = groups->aggregates},
					.aggregates = {[LENGTH_TOTAL] = {.kind = AGGREGATE_SUM},
						       [LENGTH_LEAST] = {.kind = AGGREGATE_MIN},
						       [LENGTH_MOST] = {.kind = AGGREGATE_MAX}},
					.nsums = nsums,
					.lengths = lengths};
	for (size_t i = 0; i < ncolumns; i++)
		groups->columns[i] = columns[i];
	for (size_t i = 0; i < nsums; i++) {
		groups->summed[i] = sums[i];
		groups->aggregates[LENGTH_TOTALS + i].kind = AGGREGATE_SUM;
	}
}

static void keep_length(struct segment_groups *groups, uint32_t group, int64_t length)
{
	size_t room = groups->lengths_capacity;

	if (groups->nlengths == room) {
		room = room ? room * 2 : 64;
		paged_resize(&groups->all, room * sizeof length);
		paged_resize(&groups->of, room * sizeof group);
		groups->lengths_capacity = room;
	}
	((int64_t *)groups->all.bytes)[groups->nlengths] = length;
	((uint32_t *)groups->of.bytes)[groups->nlengths++] = group;
}

void segment_groups_gather(struct segment_groups *groups)
{
	int64_t *to = paged_resize(&groups->gathered, groups->nlengths * sizeof *to);
	const int64_t *all = groups->all.bytes;
	const uint32_t *of = groups->of.bytes;
	size_t *ends = mem_new_array(groups->nitems + 1, sizeof *ends);

	for (size_t i = 0, before = 0; i < groups->groups.count; i++) {
		groups->items[i].lengths = to + before;
		ends[i] = before;
		before += groups->groups.items[i]->totals[LENGTH_TOTAL].count;
	}
	for (size_t i = 0; i < groups->nlengths; i++)
		to[ends[of[i]]++] = all[i];
	mem_free(ends);
	paged_free(&groups->all);
	paged_free(&groups->of);
}

static void add_length(struct segment_groups *groups, struct group *group,
		       const struct time_segment *segment, size_t number)
{
	int64_t length = segment_length(segment);
	const struct accumulator *most = &group->totals[LENGTH_MOST];

	groups->items =
		mem_reach(groups->items, group->number, &groups->nitems, sizeof *groups->items);
	struct segment_group *own = &groups->items[group->number];
	double step = (double)length - own->mean;
	if (!most->count || segment->end > own->last_end)
		own->last_end = segment->end;
	if (!most->count || length > most->number) {
		own->longest = number;
		own->longest_begin = segment->begin;
	}
	if (groups->lengths)
		keep_length(groups, group->number, length);
	for (size_t i = 0; i < LENGTH_TOTALS; i++)
		accumulate(&groups->aggregates[i], &group->totals[i], length);
	own->begun += segment->begun;
	own->mean += step / (double)most->count;
	own->squares += step * ((double)length - own->mean);
}

void segment_groups_count(struct segment_groups *groups, const struct segments *segments,
			  const struct time_segment *segment, const uint32_t *cells, size_t number)
{
	struct value keys[SEGMENTS_COLUMNS_MAX];
	struct group *group;

	for (size_t k = 0; k < groups->groups.nkeys; k++)
		keys[k] = value_u64(cells[groups->columns[k]]);
	group = groups_at(&groups->groups, keys);
	add_length(groups, group, segment, number);
	for (size_t k = LENGTH_TOTALS; k < LENGTH_TOTALS + groups->nsums; k++) {
		const struct value *value =
			segments_atom(segments, cells[groups->summed[k - LENGTH_TOTALS]]);
		if (value->kind == VALUE_INT)
			accumulate(&groups->aggregates[k], &group->totals[k], (int64_t)value->u);
	}
}

void segment_groups_release(struct segment_groups *groups)
{
	paged_free(&groups->all);
	paged_free(&groups->of);
	paged_free(&groups->gathered);
	mem_free(groups->items);
	groups_clear(&groups->groups);
	*groups = (struct segment_groups){0};
}

/* segments_group.c - groups of segments: counts, sums, extremes, percentiles */
#include "lua-lib/segments/segments.h"

#include "engine/base/mem.h"

#include <math.h>
#include <string.h>

void segment_groups_init(struct segment_groups *groups, const uint32_t *columns, size_t ncolumns,
			 const uint32_t *sums, size_t nsums, bool lengths)
{
	*groups = (struct segment_groups){
		.ncolumns = ncolumns, .nsums = nsums, .lengths = lengths, .arena = arena_new()};
	for (size_t i = 0; i < ncolumns; i++)
		groups->columns[i] = columns[i];
	for (size_t i = 0; i < nsums; i++)
		groups->summed[i] = sums[i];
}

struct segment_group *segment_groups_of(struct segment_groups *groups, const uint32_t *cells)
{
	size_t bytes = groups->ncolumns * sizeof *cells;
	uint64_t hash = hash_bytes(cells, bytes);
	uint32_t at = hash_index_find(&groups->index, hash, i,
				      !memcmp(groups->items[i].cells, cells, bytes));

	if (at != HASH_INDEX_NONE)
		return &groups->items[at];
	struct segment_group *group = mem_push(groups->items, groups->count, groups->capacity);
	hash_index_add(&groups->index, hash, groups->count - 1);
	*group = (struct segment_group){
		.cells = arena_copy(groups->arena, cells, groups->ncolumns, sizeof *cells),
		.sums = arena_array(groups->arena, groups->nsums + 1, sizeof(int64_t))};
	return group;
}

/* Adds, and stays at the least or greatest number where the sum does not fit. */
static void sum_add(int64_t *sum, int64_t number)
{
	if (__builtin_add_overflow(*sum, number, sum))
		*sum = number < 0 ? INT64_MIN : INT64_MAX;
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
	size_t *ends = mem_new_array(groups->count + 1, sizeof *ends);

	for (size_t i = 0, before = 0; i < groups->count; before += groups->items[i++].count) {
		groups->items[i].lengths = to + before;
		ends[i] = before;
	}
	for (size_t i = 0; i < groups->nlengths; i++)
		to[ends[of[i]]++] = all[i];
	mem_free(ends);
	paged_free(&groups->all);
	paged_free(&groups->of);
}

static void add_length(struct segment_groups *groups, struct segment_group *group,
		       const struct time_segment *segment, size_t number)
{
	int64_t length = segment_length(segment);
	double step = (double)length - group->mean;

	if (!group->count) {
		group->least = INT64_MAX;
		group->most = INT64_MIN;
		group->last_end = segment->end;
	}
	if (segment->end > group->last_end)
		group->last_end = segment->end;
	if (length > group->most) {
		group->most = length;
		group->longest = number;
		group->longest_begin = segment->begin;
	}
	if (length < group->least)
		group->least = length;
	if (groups->lengths)
		keep_length(groups, (uint32_t)(group - groups->items), length);
	group->count++;
	group->begun += segment->begun;
	sum_add(&group->total, length);
	group->mean += step / (double)group->count;
	group->squares += step * ((double)length - group->mean);
}

void segment_groups_count(struct segment_groups *groups, const struct segments *segments,
			  const struct time_segment *segment, const uint32_t *cells, size_t number)
{
	uint32_t key[SEGMENTS_COLUMNS_MAX];
	struct segment_group *group;

	for (size_t k = 0; k < groups->ncolumns; k++)
		key[k] = cells[groups->columns[k]];
	group = segment_groups_of(groups, key);
	add_length(groups, group, segment, number);
	for (size_t k = 0; k < groups->nsums; k++) {
		const struct value *value = segments_atom(segments, cells[groups->summed[k]]);
		if (value->kind == VALUE_INT)
			sum_add(&group->sums[k], (int64_t)value->u);
	}
}

void segment_groups_release(struct segment_groups *groups)
{
	paged_free(&groups->all);
	paged_free(&groups->of);
	paged_free(&groups->gathered);
	mem_free(groups->items);
	hash_index_release(&groups->index);
	arena_free(groups->arena);
	*groups = (struct segment_groups){0};
}

/* Moves those whose byte at `shift` is `byte` to the front: how many there are. */
static size_t gather(int64_t *lengths, size_t count, unsigned shift, unsigned byte)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		int64_t length = lengths[i];

		if (((uint64_t)length >> shift & 0xff) != byte)
			continue;
		lengths[i] = lengths[n];
		lengths[n++] = length;
	}
	return n;
}

/*
 * The length that has `rank` others before it in rising order: byte by byte from the highest in
 * which they differ, of each the bucket that has the rank. Lengths are never negative.
 */
static int64_t length_of_rank(int64_t *lengths, size_t count, size_t rank, uint64_t differing)
{
	unsigned shift = differing ? (63 - (unsigned)__builtin_clzll(differing)) / 8 * 8 : 0;

	for (; count > 1; shift -= 8) {
		size_t counts[256] = {0};
		unsigned byte = 0;

		for (size_t i = 0; i < count; i++)
			counts[(uint64_t)lengths[i] >> shift & 0xff]++;
		while (rank >= counts[byte])
			rank -= counts[byte++];
		count = gather(lengths, count, shift, byte);
		if (!shift)
			break;
	}
	return lengths[0];
}

int64_t segment_group_percentile(struct segment_group *group, double percent)
{
	double rank = ceil(percent / 100 * (double)group->count);
	size_t at = rank < 1 ? 0 : (size_t)rank - 1;

	return length_of_rank(group->lengths, group->count,
			      at < group->count ? at : group->count - 1,
			      (uint64_t)group->least ^ (uint64_t)group->most);
}

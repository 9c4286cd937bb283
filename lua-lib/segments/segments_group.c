/*
 * segments_group.c - groups of segments: counts, sums, extremes, percentiles
 *
 *     segments     | part 0        | part 1        | ...   each is counted by a thread,
 *     groups       read, write     write, close            and then joined, the first part first
 *     lengths      | read: of part 0, of part 1 | write: of part 0, of part 1 | ...
 *
 * A mean depends on the order of lengths, since it is a float. It is computed at the end, of the
 * lengths of a group, which are in order of segments. So it is the same with any number of parts.
 */
#include "lua-lib/segments/segments.h"

#include "engine/base/mem.h"
#include "engine/base/thread_pool.h"

enum { PART_LEAST = 1 << 14 }; /* segments of a part, of several */

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
	if (groups->gathered.bytes)
		return;
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

/* Welford's algorithm; `count` with this length. */
static void add_to_mean(struct segment_group *own, uint64_t count, int64_t length)
{
	double step = (double)length - own->mean;

	own->mean += step / (double)count;
	own->squares += step * ((double)length - own->mean);
}

static struct segment_group *own_of(struct segment_groups *groups, const struct group *group)
{
	groups->items =
		mem_reach(groups->items, group->number, &groups->nitems, sizeof *groups->items);
	return &groups->items[group->number];
}

static void add_length(struct segment_groups *groups, struct group *group,
		       const struct time_segment *segment, size_t number)
{
	int64_t length = segment_length(segment);
	const struct accumulator *most = &group->totals[LENGTH_MOST];
	struct segment_group *own = own_of(groups, group);

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
	if (!groups->is_part)
		add_to_mean(own, most->count, length);
}

static bool has_keys(const struct segment_groups *groups, const struct group *group,
		     const uint32_t *cells)
{
	uint32_t same = 0;

	while (same < groups->groups.nkeys && group->keys[same].u == cells[groups->columns[same]])
		same++;
	return same == groups->groups.nkeys;
}

static struct group *segments_group_find(struct segment_groups *groups, const uint32_t *cells)
{
	struct value keys[SEGMENTS_COLUMNS_MAX];
	uint64_t hash = 0;

	for (size_t k = 0; k < groups->groups.nkeys; k++)
		hash = hash_number(hash + cells[groups->columns[k]]);
	struct group **recent = &groups->recent[hash % GROUPS_RECENT];
	if (*recent && has_keys(groups, *recent, cells))
		return *recent;
	for (size_t k = 0; k < groups->groups.nkeys; k++)
		keys[k] = value_u64(cells[groups->columns[k]]);
	return *recent = groups_at(&groups->groups, keys);
}

/* Adds a segment, and returns its group. */
static struct group *count_segment(struct segment_groups *groups, const struct segments *segments,
				   const struct time_segment *segment, const uint32_t *cells,
				   size_t number)
{
	struct group *group = segments_group_find(groups, cells);

	add_length(groups, group, segment, number);
	for (size_t k = LENGTH_TOTALS; k < LENGTH_TOTALS + groups->nsums; k++) {
		const struct value *value =
			segments_atom(segments, cells[groups->summed[k - LENGTH_TOTALS]]);
		if (value->kind == VALUE_INT)
			accumulate(&groups->aggregates[k], &group->totals[k], (int64_t)value->u);
	}
	return group;
}

void segment_groups_count(struct segment_groups *groups, const struct segments *segments,
			  const struct time_segment *segment, const uint32_t *cells, size_t number)
{
	count_segment(groups, segments, segment, cells, number);
}

/* ---- all segments of a collection ---- */

struct groups_part {
	const struct segments *segments;
	size_t first, past;           /* its segments */
	struct segment_groups groups; /* of these */
	uint32_t *of;                 /* by number of a segment: its group of the part */
	struct group **whole;         /* by group of the part: that of all parts */
	int64_t **to;                 /* likewise: where the lengths of the part begin */
	/* For the means: these of all groups, every `step`th from `from` on. */
	struct segment_groups *all;
	size_t from, step;
};

static void count_part(void *arg)
{
	struct groups_part *part = arg;
	const struct segments *segments = part->segments;

	for (size_t i = part->first; i < part->past; i++)
		part->of[i] = count_segment(&part->groups, segments, segments_item(segments, i),
					    segments_cells(segments, i), i)
				      ->number;
}

/* Adds the part's groups to those of all parts. */
static void join_part(struct segment_groups *groups, struct groups_part *part)
{
	size_t count = part->groups.groups.count;

	part->whole = mem_new_array(count + 1, sizeof *part->whole);
	part->to = mem_new_array(count + 1, sizeof *part->to);
	for (size_t i = 0; i < count; i++) {
		const struct group *from = part->groups.groups.items[i];
		struct group *to = groups_at(&groups->groups, from->keys);
		const struct segment_group *own = &part->groups.items[i];
		struct segment_group *sum = own_of(groups, to);
		const struct accumulator *most = &to->totals[LENGTH_MOST];

		part->whole[i] = to;
		if (!most->count || own->last_end > sum->last_end)
			sum->last_end = own->last_end;
		if (!most->count || from->totals[LENGTH_MOST].number > most->number) {
			sum->longest = own->longest;
			sum->longest_begin = own->longest_begin;
		}
		sum->begun += own->begun;
		for (size_t k = 0; k < LENGTH_TOTALS + groups->nsums; k++)
			accumulator_join(&groups->aggregates[k], &to->totals[k], &from->totals[k]);
	}
}

/* Finds where the lengths of each group begin, and of each part within them. */
static void place_lengths(struct segment_groups *groups, struct groups_part *parts, size_t nparts,
			  int64_t *lengths)
{
	int64_t **ends = mem_new_array(groups->groups.count + 1, sizeof *ends);

	for (size_t i = 0; i < groups->groups.count; i++) {
		groups->items[i].lengths = ends[i] = lengths;
		lengths += groups->groups.items[i]->totals[LENGTH_TOTAL].count;
	}
	for (size_t p = 0; p < nparts; p++)
		for (size_t i = 0; i < parts[p].groups.groups.count; i++) {
			const struct group *group = parts[p].groups.groups.items[i];
			int64_t **end = &ends[parts[p].whole[i]->number];
			parts[p].to[i] = *end;
			*end += group->totals[LENGTH_TOTAL].count;
		}
	mem_free(ends);
}

static void move_lengths(void *arg)
{
	struct groups_part *part = arg;

	for (size_t i = part->first; i < part->past; i++)
		*part->to[part->of[i]]++ = segment_length(segments_item(part->segments, i));
}

static void compute_means(void *arg)
{
	struct groups_part *part = arg;
	struct segment_groups *all = part->all;

	for (size_t i = part->from; i < all->groups.count; i += part->step) {
		struct segment_group *own = &all->items[i];
		uint64_t count = all->groups.items[i]->totals[LENGTH_TOTAL].count;

		for (uint64_t k = 0; k < count; k++)
			add_to_mean(own, k + 1, own->lengths[k]);
	}
}

static void run_parts(struct thread_pool *pool, void (*run)(void *), struct groups_part *parts,
		      size_t nparts)
{
	for (size_t i = 0; i < nparts; i++)
		thread_pool_add(pool, run, &parts[i]);
	thread_pool_wait(pool);
}

void segment_groups_fill(struct segment_groups *groups, const struct segments *segments)
{
	size_t count = segments->count, most = count / PART_LEAST;
	size_t nparts = most > segments->jobs ? segments->jobs : most;

	nparts += !nparts;
	struct groups_part *parts = mem_new_array(nparts, sizeof *parts);
	struct thread_pool *pool =
		nparts > 1 ? thread_pool_new((unsigned)nparts - 1, (unsigned)nparts) : NULL;
	int64_t *lengths = paged_resize(&groups->gathered, (count + 1) * sizeof *lengths);
	uint32_t *of = paged_resize(&groups->of, (count + 1) * sizeof *of);
	for (size_t i = 0; i < nparts; i++) {
		parts[i] = (struct groups_part){.segments = segments,
						.first = count * i / nparts,
						.past = count * (i + 1) / nparts,
						.of = of,
						.all = groups,
						.from = i,
						.step = nparts};
		segment_groups_init(&parts[i].groups, groups->columns, groups->groups.nkeys,
				    groups->summed, groups->nsums, false);
		parts[i].groups.is_part = true;
	}
	run_parts(pool, count_part, parts, nparts);
	for (size_t i = 0; i < nparts; i++)
		join_part(groups, &parts[i]);
	place_lengths(groups, parts, nparts, lengths);
	run_parts(pool, move_lengths, parts, nparts);
	run_parts(pool, compute_means, parts, nparts);
	thread_pool_free(pool);
	for (size_t i = 0; i < nparts; i++) {
		mem_free(parts[i].whole);
		mem_free(parts[i].to);
		segment_groups_release(&parts[i].groups);
	}
	mem_free(parts);
	paged_free(&groups->of);
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

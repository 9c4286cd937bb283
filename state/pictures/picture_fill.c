/* picture_fill.c - see picture_fill.h */
#include "state/pictures/picture_fill.h"

#include "engine/base/mem.h"
#include "state/intervals/sums.h"
#include "state/timelines/timelines.h"

enum { PART_BYTES = 64 << 20 /* of the trace */ };

struct picture_filler {
	const struct picture_asking *asking;
	struct picture *picture;
};

uint64_t picture_parts(struct state *state, uint64_t most)
{
	uint64_t parts = trace_bytes(index_trace(state_index(state))) / PART_BYTES + 1;

	if (!timelines_there(state))
		return 1;
	return parts < most ? parts : most;
}

static bool add_interval(void *arg, const struct interval *interval)
{
	struct picture_filler *filling = arg;

	const struct picture_asking *asking = filling->asking;

	if (!asking->passes || asking->passes(asking->passes_arg, interval))
		picture_add(filling->picture, interval);
	return true;
}

static bool add_sums(void *arg, const char *path, const struct sums *sums)
{
	struct picture_filler *filling = arg;

	picture_add_sums(filling->picture, path, sums);
	return true;
}

/* Fills all columns of a part, from stored sums or from intervals. */
static bool fill_part(struct picture_filler *filling, uint32_t first, uint32_t end,
		      struct error *err)
{
	const struct picture_asking *asking = filling->asking;
	struct picture *picture = filling->picture;
	struct sums_sink sink = {.interval = add_interval, .sums = add_sums, .arg = filling};
	nstime *edges = mem_new_array((size_t)(end - first) + 1, sizeof *edges);

	for (uint32_t i = first; i <= end; i++)
		edges[i - first] = picture_time(picture, i);
	picture_part(picture, first, end);
	bool good = asking->passes ? state_intervals(asking->state, edges[0], edges[end - first],
						     INTERVALS_CUT, asking->queries, asking->count,
						     add_interval, filling, err)
				   : state_sums(asking->state, edges, (size_t)(end - first) + 1,
						asking->queries, asking->count, &sink, err);
	picture_part_end(picture);
	mem_free(edges);
	return good;
}

/* Fills the open cells of a column from the intervals of their rows. */
static bool fill_column(struct picture_filler *filling, uint32_t column, struct error *err)
{
	struct picture *picture = filling->picture;
	struct query **queries = NULL;
	size_t count = 0, capacity = 0;
	bool good = true;

	for (size_t i = 0; i < picture->nrows && good; i++) {
		if (!picture->rows[i].cells[column].open)
			continue;
		queries = mem_grow(queries, count, &capacity, sizeof(struct query *));
		good = query_parse(picture->rows[i].asked, &queries[count], err);
		count += good;
	}
	picture_part(picture, column, column + 1);
	if (good && count)
		good = state_intervals(filling->asking->state, picture_time(picture, column),
				       picture_time(picture, column + 1), INTERVALS_WHOLE,
				       (const struct query *const *)queries, count, add_interval,
				       filling, err);
	while (count > 0)
		query_free(queries[--count]);
	mem_free(queries);
	return good;
}

/* Reads stored sums first, then the intervals of cells that sums leave open. */
bool picture_fill(const struct picture_asking *asking, struct picture *picture, struct error *err)
{
	struct picture_filler filling = {.asking = asking, .picture = picture};
	uint64_t columns = picture->columns, parts = picture_parts(asking->state, columns);

	for (uint64_t i = 0; i < parts; i++) {
		uint32_t first = (uint32_t)(columns * i / parts);
		uint32_t end = (uint32_t)(columns * (i + 1) / parts);
		bool good = fill_part(&filling, first, end, err);

		for (uint32_t column = first; column < end && good; column++)
			good = fill_column(&filling, column, err);
		if (!good)
			return false;
		if (asking->stopped && asking->stopped())
			return error_set(err, ERR_INTERRUPTED, "interrupted");
	}
	picture_finish(picture);
	return true;
}

/* samples.c - see samples.h */
#include "state/pictures/samples.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "state/context/context.h"
#include "state/timelines/retry.h"
#include "state/timelines/stored.h"

#include <stdlib.h>
#include <string.h>

enum {
	FEW_SLICES = 64,    /* up to so many, rows are also found by changes */
	UNKNOWN_MOST = 4000 /* unknown values looked up in later fills */
};

struct sample_row {
	uint32_t attr, number; /* NUMBER_ABSENT: the shard does not have it */
	char *path;
	struct slice_value *cells; /* by column; SLICE_DELETED: no value */
	uint8_t *mixed;
};

struct sampling {
	struct state *state;
	struct stored *stored;
	struct picture *picture;
	struct sample_row *rows;
	size_t nrows;
	struct shard *shard;
	uint32_t unknown; /* looked up so far */
};

/* ---- what there is ---- */

static struct stored *timelines_of(struct state *state)
{
	bool may = (state->force == FORCE_NONE || state->force == FORCE_SLICES) &&
		   !state->options.replay_only;

	return may ? stored_of(state) : NULL;
}

/* How many slices of all shards the range touches. */
static uint64_t slices_in(const struct stored *stored, nstime begin, nstime end)
{
	uint64_t count = 0;

	for (size_t i = 0; i < stored->count; i++) {
		const struct shard *shard = stored->items[i].shard;
		nstime until = i + 1 < stored->count ? stored->items[i + 1].begin : NSTIME_MAX;

		if (shard->nslices && stored->items[i].begin < end && until > begin)
			count += shard_slice_at(shard, end - 1) - shard_slice_at(shard, begin) + 1;
	}
	return count;
}

/* Is it neither computed by a view nor given by `initial`, so that timelines have its values? */
static bool is_stored(const struct state *state, uint32_t attr)
{
	struct value values[ENV_VARIABLES], initial;

	return !program_view_of(state->program, attr, values) &&
	       !program_initial(state->program, attr, &initial);
}

static int samples_by_number(const void *a, const void *b)
{
	const struct sample_row *p = a, *q = b;

	return p->number < q->number ? -1 : p->number > q->number;
}

static nstime middle_of(const struct picture *picture, uint32_t column)
{
	nstime begin = picture_time(picture, column), end = picture_time(picture, column + 1);

	return begin + (nstime)(((uint64_t)end - (uint64_t)begin) / 2);
}

/* ---- one snapshot ---- */

/* The slice that begins last in [begin, end); false: none does. */
static bool last_begin(const struct shard *shard, nstime begin, nstime end, uint32_t *out)
{
	uint32_t s = shard_slice_at(shard, end - 1);

	*out = s;
	return shard->records[s].begin >= begin && shard->records[s].begin < end;
}

/* Rows are sorted by number, like the keys of the snapshot, so each block is opened once. */
static void take_snapshot(struct sampling *sampling, const struct slice *slice, uint32_t s,
			  uint32_t column, uint32_t first)
{
	struct slice_opened open = {.j = 0};
	uint32_t j = 0, i = 0;

	for (size_t r = 0; r < sampling->nrows; r++) {
		struct sample_row *row = &sampling->rows[r];

		if (row->number == NUMBER_ABSENT)
			return;
		if (!open.j || i >= open.block.count ||
		    row->number > open.keys[open.block.count - 1]) {
			if (!slice_run_find(&slice->snapshot, row->number, &j))
				continue;
			if (open.j != j + 1) {
				i = 0;
				if (!slice_opened_at(&open, &slice->snapshot, j))
					return;
			}
		}
		while (i < open.block.count && open.keys[i] < row->number)
			i++;
		if (i == open.block.count || open.keys[i] != row->number)
			continue;
		uint64_t age = slice_block_extra(&open.block, i);
		row->cells[column] = slice_block_value(&open.block, i);
		row->mixed[column] = age <= s && s - age >= first;
	}
}

/* ---- inside of one slice ---- */

/* Columns whose moments lie in one slice, as ticks of the slice. */
struct inside {
	const struct slice *slice;
	struct slice_opened open; /* a block of its changes */
	uint32_t from, to; /* columns */
	uint32_t *last;    /* by column - from: 1 + the last tick up to its moment; 0: none */
	uint32_t *edge; /* likewise, and one more: the first tick at or behind the column's begin */
};

static void find_ticks(const struct sampling *sampling, struct inside *inside)
{
	const struct picture *picture = sampling->picture;
	const struct slice *slice = inside->slice;
	uint32_t count = inside->to - inside->from;

	for (uint32_t i = 0; i <= count; i++) {
		nstime begin = picture_time(picture, inside->from + i);

		inside->edge[i] = slice->nticks ? slice_tick_behind(slice, begin - 1) : 0;
		if (i == count)
			break;
		nstime t = middle_of(picture, inside->from + i);
		inside->last[i] =
			slice->nticks && t >= slice->begin ? slice_tick_at(slice, t) + 1 : 0;
	}
}

/* Position in the slice's changes, which are sorted by attribute and tick. */
struct change_walk {
	uint32_t j, i;  /* block, and index in it */
	uint64_t first; /* first key of the next block; UINT64_MAX: none */
};

static void walk_to(const struct slice_run *run, struct change_walk *walk, uint32_t j)
{
	walk->j = j;
	walk->i = 0;
	walk->first = j + 1 < run->nblocks ? slice_run_first(run, j + 1) : UINT64_MAX;
}

/*
 * Moves behind the changes before `bound`, which never falls. Opens only the block of the last
 * change that it passes. False: damage.
 */
static bool walk_before(struct inside *inside, struct change_walk *walk, uint64_t bound)
{
	const struct slice_run *run = &inside->slice->changes;
	const struct slice_opened *open = &inside->open;

	while (walk->first < bound)
		walk_to(run, walk, walk->j + 1);
	if (!slice_opened_at(&inside->open, run, walk->j))
		return false;
	while (walk->i < open->block.count && open->keys[walk->i] < bound)
		walk->i++;
	return true;
}

/* Key of the next change; UINT64_MAX: none. The run must have changes. */
static uint64_t next_change(const struct inside *inside, const struct change_walk *walk)
{
	const struct slice_opened *open = &inside->open;

	return walk->i < open->block.count ? open->keys[walk->i] : walk->first;
}

/*
 * Fills a row: the last change up to a column's moment gives its value; the cell is mixed if that
 * change or the next one lies in the column. Reads no other change. Rows are sorted by number, so
 * blocks are opened once.
 */
static void take_row(struct inside *inside, struct change_walk *walk, struct sample_row *row)
{
	const struct slice_opened *open = &inside->open;
	const uint64_t least = (uint64_t)row->number << inside->slice->tick_bits;
	struct slice_value value = row->cells[inside->from];
	uint32_t count = inside->to - inside->from;
	bool good = walk_before(inside, walk, least);
	uint64_t last = 0, next = good ? next_change(inside, walk) : UINT64_MAX; /* last: 1 + key */
	uint32_t c = 0;

	for (; c < count && (last || next < least + inside->edge[count]); c++) {
		uint64_t begin = least + inside->edge[c], end = least + inside->edge[c + 1];

		if (next < least + inside->last[c]) {
			if (!walk_before(inside, walk, least + inside->last[c]))
				return;
			value = slice_block_value(&open->block, walk->i - 1);
			last = open->keys[walk->i - 1] + 1;
			next = next_change(inside, walk);
		}
		last = last > begin ? last : 0;
		row->cells[inside->from + c] = value;
		row->mixed[inside->from + c] = last || (next >= begin && next < end);
	}
	for (; c < count; c++) {
		row->cells[inside->from + c] = value;
		row->mixed[inside->from + c] = 0;
	}
}

static void take_changes(struct sampling *sampling, struct inside *inside)
{
	const struct slice_run *changes = &inside->slice->changes;
	struct change_walk walk;

	walk_to(changes, &walk, 0);
	for (size_t r = 0; r < sampling->nrows; r++) {
		struct sample_row *row = &sampling->rows[r];

		if (row->number == NUMBER_ABSENT)
			return;
		if (changes->count) {
			take_row(inside, &walk, row);
			continue;
		}
		memset(row->mixed + inside->from, 0, inside->to - inside->from);
		for (uint32_t c = inside->from + 1; c < inside->to; c++)
			row->cells[c] = row->cells[inside->from];
	}
}

static void take_inside(struct sampling *sampling, uint32_t s, uint32_t from, uint32_t to)
{
	struct inside inside = {.slice = shard_slice(sampling->shard, s),
				.from = from,
				.to = to,
				.last = mem_new_array(to - from + 1, sizeof(uint32_t)),
				.edge = mem_new_array(to - from + 1, sizeof(uint32_t))};

	if (inside.slice) {
		find_ticks(sampling, &inside);
		take_snapshot(sampling, inside.slice, s, from, s + 1);
		take_changes(sampling, &inside);
	}
	mem_free(inside.last);
	mem_free(inside.edge);
}

/* ---- all columns of one shard ---- */

static void take_columns(struct sampling *sampling, uint32_t from, uint32_t to)
{
	struct shard *shard = sampling->shard;
	const struct picture *picture = sampling->picture;

	for (uint32_t c = from; c < to && !shard->damaged;) {
		nstime begin = picture_time(picture, c), end = picture_time(picture, c + 1);
		uint32_t s, first, next = c + 1;

		if (last_begin(shard, begin, end, &s) && s > 0) {
			const struct slice *slice = shard_slice(shard, s);
			first = shard_slice_at(shard, begin);
			first += shard->records[first].begin < begin;
			if (slice)
				take_snapshot(sampling, slice, s, c, first);
		} else {
			s = shard_slice_at(shard, begin);
			while (next < to &&
			       (s + 1 >= shard->nslices ||
				picture_time(picture, next + 1) <= shard->records[s + 1].begin))
				next++;
			take_inside(sampling, s, c, next);
		}
		c = next;
	}
}

/* Looks up an unknown value in later fills. */
static bool find_unknown(struct sampling *sampling, const struct sample_row *row, uint32_t column,
			 struct value *out)
{
	struct stored_change later;

	if (sampling->unknown++ >= UNKNOWN_MOST ||
	    !stored_fill(sampling->stored, row->attr, middle_of(sampling->picture, column), &later))
		return false;
	*out = later.was;
	return value_exists(out);
}

static void show_row(struct sampling *sampling, struct sample_row *row, uint32_t from, uint32_t to)
{
	for (uint32_t c = from, end; c < to; c = end) {
		const struct slice_value cell = row->cells[c];
		struct value value = {.kind = VALUE_NONE};

		for (end = c + 1;
		     end < to && row->mixed[end] == row->mixed[c] &&
		     row->cells[end].kind == cell.kind && row->cells[end].number == cell.number &&
		     cell.kind != SLICE_UNKNOWN;
		     end++)
			;
		if (cell.kind == SLICE_UNKNOWN && !find_unknown(sampling, row, c, &value))
			continue;
		if (cell.kind > SLICE_UNKNOWN && !shard_value_of(sampling->shard, cell, &value))
			continue; /* damage: the caller notices and stops */
		if (value_exists(&value))
			picture_set(sampling->picture, row->path, c, end, &value, row->mixed[c]);
	}
}

static void take_shard(struct sampling *sampling, size_t i)
{
	const struct stored *stored = sampling->stored;
	const struct picture *picture = sampling->picture;
	nstime begin = stored->items[i].begin;
	nstime end = i + 1 < stored->count ? stored->items[i + 1].begin : NSTIME_MAX;
	uint32_t from = 0, to = picture->columns;

	sampling->shard = stored->items[i].shard;
	while (from < to && picture_time(picture, from + 1) <= begin)
		from++;
	while (to > from && picture_time(picture, to - 1) >= end)
		to--;
	if (from == to || !sampling->shard->nslices)
		return;
	for (size_t r = 0; r < sampling->nrows; r++) {
		struct sample_row *row = &sampling->rows[r];
		row->number = shard_number(sampling->shard, row->attr);
		memset(row->cells, 0, picture->columns * sizeof *row->cells);
		memset(row->mixed, 0, picture->columns);
	}
	qsort(sampling->rows, sampling->nrows, sizeof *sampling->rows, samples_by_number);
	take_columns(sampling, from, to);
	for (size_t r = 0; r < sampling->nrows && !sampling->shard->damaged; r++)
		show_row(sampling, &sampling->rows[r], from, to);
}

/* ---- questions ---- */

static bool samples_add_rows(struct sampling *sampling, const struct query *const *queries,
			     size_t count)
{
	struct buf path = {0};

	sampling->rows = mem_new_array(count + 1, sizeof *sampling->rows);
	for (size_t i = 0; i < count; i++) {
		uint32_t attr = query_attr(queries[i], sampling->state->attrs);

		if (attr == ATTR_ABSENT || !is_stored(sampling->state, attr)) {
			buf_release(&path);
			return false;
		}
		buf_clear(&path);
		attr_add_text(sampling->state->attrs, attr, &path);
		sampling->rows[sampling->nrows++] =
			(struct sample_row){.attr = attr,
					    .path = mem_strdup(buf_text(&path)),
					    .cells = mem_new_array(sampling->picture->columns,
								   sizeof(struct slice_value)),
					    .mixed = mem_new(sampling->picture->columns)};
	}
	buf_release(&path);
	return true;
}

static void release_sampling(struct sampling *sampling)
{
	for (size_t i = 0; i < sampling->nrows; i++) {
		mem_free(sampling->rows[i].path);
		mem_free(sampling->rows[i].cells);
		mem_free(sampling->rows[i].mixed);
	}
	mem_free(sampling->rows);
}

/* Ends reading. False: the timelines were damaged and are dropped now; the caller may ask again. */
static bool end_reading(struct state *state, struct stored *stored, struct error *err)
{
	stored_end(stored);
	if (!stored->damaged)
		return true;
	stored_drop_damaged(state);
	return error_set(err, ERR_FORMAT, "the timelines are damaged: ask again");
}

bool samples_fill(struct state *state, const struct query *const *queries, size_t count,
		  struct picture *picture, bool *done, struct error *err)
{
	struct sampling sampling = {
		.state = state, .stored = timelines_of(state), .picture = picture};

	*done = false;
	if (!sampling.stored)
		return true;
	if (!stored_begin(sampling.stored, err))
		return false;
	if (samples_add_rows(&sampling, queries, count)) {
		for (size_t i = 0; i < sampling.stored->count; i++)
			take_shard(&sampling, i);
		*done = true;
	}
	release_sampling(&sampling);
	if (*done)
		picture_finish(picture);
	return end_reading(state, sampling.stored, err);
}

/* ---- lists ---- */

struct marking {
	struct state *state;
	struct shard *shard;
	const struct query *query;
	uint64_t *marks;  /* by number */
	uint8_t *choices; /* by chunk: 0 not checked yet, 1 no, 2 its shape may match */
};

static bool may_match(struct marking *marking, uint64_t number)
{
	uint8_t *choice = &marking->choices[number / CHUNK];

	if (!*choice) {
		uint32_t shape = shard_shape(marking->shard, (uint32_t)number);
		bool may = shape != ATTR_ABSENT &&
			   query_matches_shape(marking->query, marking->state->attrs, shape);
		*choice = may ? 2 : 1;
	}
	return *choice == 2;
}

static void mark_block(struct marking *marking, const struct slice_opened *open, unsigned bits)
{
	for (uint32_t i = 0; i < open->block.count; i++) {
		uint64_t number = open->keys[i] >> bits;

		if (number >= shard_numbers(marking->shard))
			marking->shard->damaged = true;
		else if (may_match(marking, number) && !bitset_has(marking->marks, number) &&
			 slice_block_value(&open->block, i).kind > SLICE_UNKNOWN)
			bitset_add(marking->marks, number);
	}
}

/* Marks the numbers of a column; opens no block of chunks that cannot match. */
static void mark_run(struct marking *marking, const struct slice_run *run, unsigned bits)
{
	struct slice_opened open = {.j = 0};

	for (uint32_t j = 0; j < run->nblocks && !marking->shard->damaged; j++) {
		uint64_t first = slice_run_first(run, j) >> bits;
		uint64_t next =
			j + 1 < run->nblocks ? slice_run_first(run, j + 1) >> bits : UINT64_MAX;

		if (first / CHUNK == next / CHUNK && first < shard_numbers(marking->shard) &&
		    !may_match(marking, first))
			continue;
		if (!slice_opened_at(&open, run, j))
			return;
		mark_block(marking, &open, bits);
	}
}

static void tell_marked(struct marking *marking, void (*each)(void *arg, const char *path),
			void *arg)
{
	struct buf path = {0};

	for (uint32_t n = 0; n < shard_numbers(marking->shard) && !marking->shard->damaged; n++) {
		if (!bitset_has(marking->marks, n))
			continue;
		uint32_t attr = shard_attr(marking->shard, n);
		if (attr == ATTR_ABSENT ||
		    !query_matches(marking->query, marking->state->attrs, attr))
			continue;
		buf_clear(&path);
		attr_add_text(marking->state->attrs, attr, &path);
		each(arg, buf_text(&path));
	}
	buf_release(&path);
}

static void list_shard(struct state *state, const struct stored_shard *item, nstime begin,
		       nstime end, const struct query *query, bool few,
		       void (*each)(void *arg, const char *path), void *arg)
{
	struct shard *shard = item->shard;
	uint32_t count = shard_numbers(shard);
	struct marking marking = {.state = state,
				  .shard = shard,
				  .query = query,
				  .marks = bitset_new(count + 1),
				  .choices = mem_new(count / CHUNK + 1)};

	uint32_t first = shard_slice_at(shard, begin), last = shard_slice_at(shard, end - 1);
	for (uint32_t s = first; s <= last && !shard->damaged; s++) {
		const struct slice *slice = shard_slice(shard, s);
		if (slice)
			mark_run(&marking, &slice->snapshot, 0);
		if (slice && few)
			mark_run(&marking, &slice->changes, slice->tick_bits);
	}
	tell_marked(&marking, each, arg);
	mem_free(marking.marks);
	mem_free(marking.choices);
}

/* Does a view compute attributes that match the query? */
static bool is_computed(const struct state *state, const struct query *query)
{
	uint32_t shapes = shape_count(state->attrs);

	for (uint32_t shape = 1; shape < shapes; shape++)
		if (query_matches_shape(query, state->attrs, shape) &&
		    program_views_shape(state->program, shape))
			return true;
	return false;
}

bool samples_list(struct state *state, nstime begin, nstime end, const struct query *query,
		  void (*each)(void *arg, const char *path), void *arg, bool *done,
		  struct error *err)
{
	struct stored *stored = timelines_of(state);

	*done = false;
	if (!stored || is_computed(state, query))
		return true;
	if (!stored_begin(stored, err))
		return false;
	bool few = slices_in(stored, begin, end) <= FEW_SLICES;
	for (size_t i = 0; i < stored->count; i++) {
		nstime until = i + 1 < stored->count ? stored->items[i + 1].begin : NSTIME_MAX;
		if (stored->items[i].shard->nslices && stored->items[i].begin < end &&
		    until > begin)
			list_shard(state, &stored->items[i], begin, end, query, few, each, arg);
	}
	*done = true;
	return end_reading(state, stored, err);
}

/* ---- edges ---- */

/* Begin of the slice that holds t, or of the next one, whichever is nearer to t. */
static nstime nearest_begin(const struct stored *stored, nstime t)
{
	const struct shard *shard = stored->items[stored_shard_at(stored, t)].shard;

	if (!shard->nslices)
		return t;
	uint32_t s = shard_slice_at(shard, t);
	nstime before = shard->records[s].begin;
	if (s + 1 >= shard->nslices || before > t)
		return before;
	nstime behind = shard->records[s + 1].begin;
	return t - before <= behind - t ? before : behind;
}

bool samples_align(struct state *state, nstime *edges, size_t count)
{
	struct stored *stored = timelines_of(state);

	if (!stored || count < 3 || slices_in(stored, edges[0], edges[count - 1]) < 2 * count)
		return false;
	for (size_t i = 1; i + 1 < count; i++) {
		nstime at = nearest_begin(stored, edges[i]);
		if (at > edges[i - 1] && at < edges[i + 1])
			edges[i] = at;
	}
	return true;
}

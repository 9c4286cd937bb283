/* lanes.c - see lanes.h */
#include "repl/render/lanes.h"

#include "engine/base/mem.h"
#include "repl/render/names.h"
#include "state/comms.h"

#include <stdlib.h>
#include <string.h>

void lanes_init(struct lanes *lanes, nstime begin, nstime end, size_t limit)
{
	*lanes = (struct lanes){.begin = begin, .end = end, .limit = limit, .arena = arena_new()};
}

void lanes_release(struct lanes *lanes)
{
	for (size_t i = 0; i < lanes->nrows; i++) {
		struct lane *row = &lanes->rows[i];

		for (size_t k = 0; k < row->count; k++)
			mem_free(row->items[k].shares);
		mem_free(row->items);
	}
	mem_free(lanes->rows);
	mem_free(lanes->values);
	hash_index_release(&lanes->value_index);
	nameset_release(&lanes->paths);
	arena_free(lanes->arena);
	*lanes = (struct lanes){0};
}

/* Values */

/* Returns the index of a new value; `value` may point into lanes->values. */
static uint32_t lanes_add_value(struct lanes *lanes, const struct value *value, bool has_name)
{
	const struct value own = value_copy(lanes->arena, value);

	*mem_push(lanes->values, lanes->nvalues, lanes->values_capacity) =
		(struct lane_value){.value = own, .tone = value_tone(&own), .has_name = has_name};
	return (uint32_t)lanes->nvalues - 1;
}

static uint32_t lane_place(struct lanes *lanes, const struct value *value, bool has_name)
{
	uint64_t hash = value_hash(value);
	uint32_t place = hash_index_find(&lanes->value_index, hash, i,
					 lanes->values[i].has_name == has_name &&
						 value_equal(&lanes->values[i].value, value));

	return place != HASH_INDEX_NONE ? place
					: hash_index_add(&lanes->value_index, hash,
							 lanes_add_value(lanes, value, has_name));
}

/* Merging */

static uint64_t cell_of(const struct lanes *lanes, nstime t)
{
	return ((uint64_t)t - (uint64_t)lanes->begin) / (uint64_t)lanes->grain;
}

/* Do both pieces lie within one cell of the grid? */
static bool same_cell(const struct lanes *lanes, const struct lane_piece *a,
		      const struct lane_piece *b)
{
	return lanes->grain && cell_of(lanes, a->begin) == cell_of(lanes, b->end - 1);
}

static struct lane_shares *shares_of(const struct lanes *lanes, struct lane_piece *piece)
{
	if (!piece->shares) {
		piece->shares = mem_new(sizeof *piece->shares);
		piece->shares->count = 1;
		piece->shares->time[lanes->values[piece->value].tone] =
			(uint64_t)piece->end - (uint64_t)piece->begin;
		piece->value = 0;
	}
	return piece->shares;
}

static void merge(const struct lanes *lanes, struct lane_piece *into, struct lane_piece *from)
{
	struct lane_shares *a = shares_of(lanes, into), *b = shares_of(lanes, from);

	a->count += b->count;
	for (size_t i = 0; i < TONES; i++)
		a->time[i] += b->time[i];
	into->end = from->end;
	mem_free(b);
	from->shares = NULL;
}

static void coarsen_row(const struct lanes *lanes, struct lane *row)
{
	size_t count = 0;

	for (size_t i = 0; i < row->count; i++) {
		if (count && same_cell(lanes, &row->items[count - 1], &row->items[i]))
			merge(lanes, &row->items[count - 1], &row->items[i]);
		else
			row->items[count++] = row->items[i];
	}
	row->count = count;
}

/* Doubles the grid until there are few enough pieces. */
static void coarsen(struct lanes *lanes)
{
	uint64_t span = (uint64_t)lanes->end - (uint64_t)lanes->begin;

	while (lanes->total > PIECES_MOST && (uint64_t)lanes->grain < span) {
		lanes->grain = lanes->grain ? lanes->grain * 2 : (nstime)(span >> 22) + 1;
		lanes->total = 0;
		for (size_t i = 0; i < lanes->nrows; i++) {
			coarsen_row(lanes, &lanes->rows[i]);
			lanes->total += lanes->rows[i].count;
		}
	}
}

/* Appends the pending piece to the row's pieces. */
static void commit(struct lanes *lanes, struct lane *row)
{
	struct lane_piece *pending = &row->pending;

	if (pending->begin == pending->end)
		return;
	if (row->count && same_cell(lanes, &row->items[row->count - 1], pending)) {
		merge(lanes, &row->items[row->count - 1], pending);
	} else {
		*mem_push(row->items, row->count, row->capacity) = *pending;
		lanes->total++;
	}
	*pending = (struct lane_piece){0};
	if (lanes->total > PIECES_MOST)
		coarsen(lanes);
}

/* Rows */

static struct lane *add_lane(struct lanes *lanes, const char *path, bool lost)
{
	*mem_push(lanes->rows, lanes->nrows, lanes->capacity) =
		(struct lane){.path = arena_strdup(lanes->arena, path), .lost = lost};
	return &lanes->rows[lanes->nrows - 1];
}

/* Finds or adds the row of a path; NULL: `limit` leaves it out. */
static struct lane *find_row(struct lanes *lanes, const char *path)
{
	uint32_t place;

	if (lanes->last && !strcmp(lanes->rows[lanes->last - 1].path, path))
		return &lanes->rows[lanes->last - 1];
	if (!nameset_find(&lanes->paths, path, &place)) {
		size_t lost = lanes->nrows && lanes->rows[0].lost;
		bool room = lanes->nrows - lost < lanes->limit;

		if (room)
			add_lane(lanes, path, false);
		else
			lanes->left_out++;
		place = room ? (uint32_t)lanes->nrows : 0;
		nameset_add(&lanes->paths, path, place);
	}
	if (!place)
		return NULL;
	lanes->last = place;
	return &lanes->rows[place - 1];
}

static void add_to(struct lanes *lanes, struct lane *row, nstime begin, nstime end,
		   const struct value *value)
{
	bool has_name = !row->lost && (comm_is_thread(row->path, value) ||
				       functions_is_address(row->path, value));
	uint32_t place = lane_place(lanes, value, has_name);

	if (row->pending.end == begin && row->pending.begin < begin &&
	    row->pending.value == place) {
		row->pending.end = end;
		return;
	}
	commit(lanes, row);
	row->pending = (struct lane_piece){.begin = begin, .end = end, .value = place};
}

void lanes_add(struct lanes *lanes, const struct interval *interval)
{
	nstime begin = interval->begin > lanes->begin ? interval->begin : lanes->begin;
	nstime end = interval->end < lanes->end ? interval->end : lanes->end;
	struct lane *row = begin < end ? find_row(lanes, interval->path) : NULL;

	if (row)
		add_to(lanes, row, begin, end, &interval->value);
}

void lanes_add_loss(struct lanes *lanes, nstime begin, nstime end, const char *text)
{
	struct value value = value_text(text, strlen(text));

	begin = begin > lanes->begin ? begin : lanes->begin;
	end = end < lanes->end ? end : lanes->end;
	if (begin >= end)
		return;
	if (!lanes->nrows)
		add_lane(lanes, "lost events", true);
	add_to(lanes, &lanes->rows[0], begin, end, &value);
}

static int lanes_by_path(const void *a, const void *b)
{
	const struct lane *p = a, *q = b;

	if (p->lost != q->lost)
		return p->lost ? -1 : 1;
	return strverscmp(p->path, q->path);
}

void lanes_finish(struct lanes *lanes)
{
	for (size_t i = 0; i < lanes->nrows; i++)
		commit(lanes, &lanes->rows[i]);
	if (lanes->nrows)
		qsort(lanes->rows, lanes->nrows, sizeof *lanes->rows, lanes_by_path);
}

void lanes_name(struct lanes *lanes, struct lane_piece *piece, const char *name)
{
	uint32_t at = piece->value;

	for (;; at = lanes->values[at].other - 1) {
		struct lane_value *value = &lanes->values[at];

		if (!value->name)
			value->name = name;
		if (!strcmp(value->name, name))
			break;
		if (value->other)
			continue;
		uint32_t other = lanes_add_value(lanes, &value->value, true);
		lanes->values[at].other = other + 1;
		lanes->values[other].name = name;
	}
	piece->value = at;
}

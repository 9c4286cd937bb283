/* segments.c - see segments.h */
#include "repl/segments.h"

#include "engine/base/mem.h"
#include "state/comms.h"

#include <stdlib.h>
#include <string.h>

void segments_init(struct segments *segments, nstime begin, nstime end, size_t limit)
{
	*segments =
		(struct segments){.begin = begin, .end = end, .limit = limit, .arena = arena_new()};
}

void segments_release(struct segments *segments)
{
	for (size_t i = 0; i < segments->nrows; i++) {
		struct segment_row *row = &segments->rows[i];

		for (size_t k = 0; k < row->count; k++)
			mem_free(row->items[k].shares);
		mem_free(row->items);
	}
	mem_free(segments->rows);
	mem_free(segments->values);
	mem_free(segments->slots);
	nameset_release(&segments->paths);
	arena_free(segments->arena);
	*segments = (struct segments){0};
}

/* Values */

static void grow_slots(struct segments *segments)
{
	size_t count = segments->nslots ? segments->nslots * 2 : 64;

	segments->slots = mem_resize(segments->slots, count, sizeof *segments->slots);
	memset(segments->slots, 0, count * sizeof *segments->slots);
	segments->nslots = count;
	for (size_t i = 0; i < segments->nvalues; i++) {
		size_t at = value_hash(&segments->values[i].value) & (count - 1);
		while (segments->slots[at])
			at = (at + 1) & (count - 1);
		segments->slots[at] = (uint32_t)i + 1;
	}
}

enum drawing_tone value_tone(const struct value *value)
{
	bool still =
		(value->kind == VALUE_INT && !value->u) || (value->kind == VALUE_BOOL && !value->b);

	return drawing_tone(value->kind == VALUE_STRING ? value->text : NULL, value->len, still,
			    value_hash(value));
}

static uint32_t add_value(struct segments *segments, const struct value *value, bool thread)
{
	struct value own = *value;

	if (own.kind == VALUE_STRING)
		own.text = arena_strndup(segments->arena, own.text, own.len);
	segments->values = mem_grow(segments->values, segments->nvalues, &segments->values_capacity,
				    sizeof *segments->values);
	segments->values[segments->nvalues] =
		(struct segment_value){.value = own, .tone = value_tone(value), .thread = thread};
	return (uint32_t)segments->nvalues++;
}

static uint32_t place_of(struct segments *segments, const struct value *value, bool thread)
{
	if (segments->nvalues * 2 >= segments->nslots)
		grow_slots(segments);
	size_t at = value_hash(value) & (segments->nslots - 1);
	for (; segments->slots[at]; at = (at + 1) & (segments->nslots - 1)) {
		uint32_t place = segments->slots[at] - 1;

		if (segments->values[place].thread == thread &&
		    value_equal(&segments->values[place].value, value))
			return place;
	}
	uint32_t place = add_value(segments, value, thread);
	segments->slots[at] = place + 1;
	return place;
}

/* Merging */

static uint64_t cell_of(const struct segments *segments, nstime t)
{
	return ((uint64_t)t - (uint64_t)segments->begin) / (uint64_t)segments->grain;
}

/* Do both lie within one cell? */
static bool same_cell(const struct segments *segments, const struct segment *a,
		      const struct segment *b)
{
	return segments->grain && cell_of(segments, a->begin) == cell_of(segments, b->end - 1);
}

static struct segment_shares *shares_of(const struct segments *segments, struct segment *segment)
{
	if (!segment->shares) {
		segment->shares = mem_new(sizeof *segment->shares);
		segment->shares->count = 1;
		segment->shares->time[segments->values[segment->value].tone] =
			(uint64_t)segment->end - (uint64_t)segment->begin;
		segment->value = 0;
	}
	return segment->shares;
}

static void merge(const struct segments *segments, struct segment *into, struct segment *from)
{
	struct segment_shares *a = shares_of(segments, into), *b = shares_of(segments, from);

	a->count += b->count;
	for (size_t i = 0; i < TONES; i++)
		a->time[i] += b->time[i];
	into->end = from->end;
	mem_free(b);
	from->shares = NULL;
}

static void coarsen_row(const struct segments *segments, struct segment_row *row)
{
	size_t count = 0;

	for (size_t i = 0; i < row->count; i++) {
		if (count && same_cell(segments, &row->items[count - 1], &row->items[i]))
			merge(segments, &row->items[count - 1], &row->items[i]);
		else
			row->items[count++] = row->items[i];
	}
	row->count = count;
}

/* Doubles the grid until there are few enough segments. */
static void coarsen(struct segments *segments)
{
	uint64_t span = (uint64_t)segments->end - (uint64_t)segments->begin;

	while (segments->total > SEGMENTS_MOST && (uint64_t)segments->grain < span) {
		segments->grain = segments->grain ? segments->grain * 2 : (nstime)(span >> 22) + 1;
		segments->total = 0;
		for (size_t i = 0; i < segments->nrows; i++) {
			coarsen_row(segments, &segments->rows[i]);
			segments->total += segments->rows[i].count;
		}
	}
}

/* Puts the pending segment behind the others. */
static void commit(struct segments *segments, struct segment_row *row)
{
	struct segment *pending = &row->pending;

	if (pending->begin == pending->end)
		return;
	if (row->count && same_cell(segments, &row->items[row->count - 1], pending)) {
		merge(segments, &row->items[row->count - 1], pending);
	} else {
		row->items = mem_grow(row->items, row->count, &row->capacity, sizeof *row->items);
		row->items[row->count++] = *pending;
		segments->total++;
	}
	*pending = (struct segment){0};
	if (segments->total > SEGMENTS_MOST)
		coarsen(segments);
}

/* Rows */

static struct segment_row *add_row(struct segments *segments, const char *path, bool lost)
{
	segments->rows = mem_grow(segments->rows, segments->nrows, &segments->capacity,
				  sizeof *segments->rows);
	segments->rows[segments->nrows] =
		(struct segment_row){.path = arena_strdup(segments->arena, path), .lost = lost};
	return &segments->rows[segments->nrows++];
}

/* NULL: the row is one too many. */
static struct segment_row *find_row(struct segments *segments, const char *path)
{
	uint32_t place;

	if (segments->last && !strcmp(segments->rows[segments->last - 1].path, path))
		return &segments->rows[segments->last - 1];
	if (!nameset_find(&segments->paths, path, &place)) {
		size_t lost = segments->nrows && segments->rows[0].lost;
		bool room = segments->nrows - lost < segments->limit;

		if (room)
			add_row(segments, path, false);
		else
			segments->left_out++;
		place = room ? (uint32_t)segments->nrows : 0;
		nameset_add(&segments->paths, path, place);
	}
	if (!place)
		return NULL;
	segments->last = place;
	return &segments->rows[place - 1];
}

static void add_to(struct segments *segments, struct segment_row *row, nstime begin, nstime end,
		   const struct value *value)
{
	uint32_t place = place_of(segments, value, !row->lost && comm_is_thread(row->path, value));

	if (row->pending.end == begin && row->pending.begin < begin &&
	    row->pending.value == place) {
		row->pending.end = end;
		return;
	}
	commit(segments, row);
	row->pending = (struct segment){.begin = begin, .end = end, .value = place};
}

void segments_add(struct segments *segments, const struct interval *interval)
{
	nstime begin = interval->begin > segments->begin ? interval->begin : segments->begin;
	nstime end = interval->end < segments->end ? interval->end : segments->end;
	struct segment_row *row = begin < end ? find_row(segments, interval->path) : NULL;

	if (row)
		add_to(segments, row, begin, end, &interval->value);
}

void segments_add_loss(struct segments *segments, nstime begin, nstime end, const char *text)
{
	struct value value = {.kind = VALUE_STRING, .text = text, .len = (uint32_t)strlen(text)};

	begin = begin > segments->begin ? begin : segments->begin;
	end = end < segments->end ? end : segments->end;
	if (begin >= end)
		return;
	if (!segments->nrows)
		add_row(segments, "lost events", true);
	add_to(segments, &segments->rows[0], begin, end, &value);
}

static int by_path(const void *a, const void *b)
{
	const struct segment_row *p = a, *q = b;

	if (p->lost != q->lost)
		return p->lost ? -1 : 1;
	return strverscmp(p->path, q->path);
}

void segments_finish(struct segments *segments)
{
	for (size_t i = 0; i < segments->nrows; i++)
		commit(segments, &segments->rows[i]);
	if (segments->nrows)
		qsort(segments->rows, segments->nrows, sizeof *segments->rows, by_path);
}

void segments_name(struct segments *segments, struct segment *segment, const char *name)
{
	uint32_t at = segment->value;

	for (;; at = segments->values[at].other - 1) {
		struct segment_value *value = &segments->values[at];

		if (!value->name)
			value->name = name;
		if (!strcmp(value->name, name))
			break;
		if (value->other)
			continue;
		uint32_t other = add_value(segments, &value->value, true);
		segments->values[at].other = other + 1;
		segments->values[other].name = name;
	}
	segment->value = at;
}

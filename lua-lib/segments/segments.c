/* segments.c - collections of segments: atoms, selecting, joining, sorting */
#include "lua-lib/segments/segments.h"

#include "engine/base/hash_index.h"
#include "engine/base/mem.h"
#include "engine/base/search.h"
#include "state/model/number_map.h"

#include <stdlib.h>
#include <string.h>

enum { RECENT_TEXTS = 64 };

struct atoms {
	size_t references;
	struct arena *arena;  /* of texts */
	struct value *values; /* by atom, from 1 on; there may be as many as segments */
	size_t count, capacity;
	struct paged values_memory;
	struct hash_index index;       /* of atoms by their values */
	struct number_map numbers;     /* atoms of small integers, the most frequent values */
	uint32_t recent[RECENT_TEXTS]; /* a cache of texts, by address; 0: none */
};

static void grow_atoms(struct atoms *atoms)
{
	atoms->capacity = atoms->capacity ? atoms->capacity * 2 : 16;
	atoms->values =
		paged_resize(&atoms->values_memory, atoms->capacity * sizeof *atoms->values);
}

static struct atoms *atoms_new(void)
{
	struct atoms *atoms = mem_new(sizeof *atoms);

	atoms->references = 1;
	atoms->arena = arena_new();
	atoms->index.paged = true;
	grow_atoms(atoms);
	atoms->values[0] = (struct value){.kind = VALUE_NONE};
	atoms->count = 1;
	return atoms;
}

static void drop_atoms(struct atoms *atoms)
{
	if (!atoms || --atoms->references)
		return;
	paged_free(&atoms->values_memory);
	hash_index_release(&atoms->index);
	mem_free(atoms->numbers.items);
	arena_free(atoms->arena);
	mem_free(atoms);
}

static struct segment_table *table_new(void)
{
	struct segment_table *table = mem_new(sizeof *table);

	table->references = 1;
	return table;
}

static void drop_table(struct segment_table *table)
{
	if (!table || --table->references)
		return;
	paged_free(&table->items_memory);
	paged_free(&table->cells_memory);
	mem_free(table);
}

void segments_init(struct segments *segments)
{
	*segments = (struct segments){.table = table_new(), .atoms = atoms_new()};
	segments->arena = segments->atoms->arena;
	segments_add_column(segments, "key");
	segments_add_column(segments, "value");
}

void segments_of_intervals(struct segments *segments)
{
	segments_add_column(segments, "before");
	segments_add_column(segments, "after");
}

/* For each change of a collection. */
static void forget_stretches(struct segments *segments)
{
	mem_free(segments->stretches);
	segments->stretches = NULL;
}

void segments_release(struct segments *segments)
{
	drop_table(segments->table);
	drop_atoms(segments->atoms);
	paged_free(&segments->places_memory);
	paged_free(&segments->left_memory);
	forget_stretches(segments);
	*segments = (struct segments){0};
}

size_t segments_bytes(const struct segments *segments)
{
	const struct segment_table *table = segments->table;
	size_t own =
		table->references == 1 ? table->items_memory.size + table->cells_memory.size : 0;

	return own + segments->places_memory.size;
}

uint32_t segments_column(const struct segments *segments, const char *name)
{
	for (uint32_t i = 0; i < segments->ncolumns; i++)
		if (!strcmp(segments->names[i], name))
			return i;
	return UINT32_MAX;
}

/* Makes room for `capacity` rows of `ncolumns` cells; rows keep their bytes, not their columns. */
static void reserve(struct segment_table *table, size_t capacity, uint32_t ncolumns)
{
	table->capacity = capacity;
	table->items = paged_resize(&table->items_memory, capacity * sizeof *table->items);
	table->cells =
		paged_resize(&table->cells_memory, capacity * ncolumns * sizeof *table->cells);
}

/* Copies the segments, with room for `more` and in each row for `columns`, which are 0. */
static void copy_rows(struct segments *segments, size_t more, uint32_t columns)
{
	uint32_t old = segments->ncolumns, new = old + columns;
	struct segment_table *own = table_new();

	reserve(own, segments->count + more, new);
	for (size_t i = 0; i < segments->count; i++) {
		uint32_t *cells = own->cells + i * new;

		own->items[i] = *segments_item(segments, i);
		memcpy(cells, segments_cells(segments, i), old * sizeof *cells);
		memset(cells + old, 0, columns * sizeof *cells);
	}
	drop_table(segments->table);
	paged_free(&segments->places_memory);
	segments->table = own;
	segments->places = NULL;
}

static bool is_shared(const struct segments *segments)
{
	return segments->table->references > 1 || segments->places;
}

uint32_t segments_add_column(struct segments *segments, const char *name)
{
	uint32_t column = segments->ncolumns;

	if (segments->count || is_shared(segments))
		copy_rows(segments, 0, 1);
	else
		segments->table->capacity = 0;
	segments->names[column] = arena_strdup(segments->arena, name);
	segments->ncolumns++;
	return column;
}

/* ---- atoms ---- */

/* The atom of a value; HASH_INDEX_NONE: there is none. */
static uint32_t find_atom(const struct atoms *atoms, const struct value *value, uint64_t hash)
{
	return hash_index_find(&atoms->index, hash, i, value_equal(&atoms->values[i], value));
}

enum { SMALL_NUMBERS = 1 << 16 };

static inline bool is_small(const struct value *value)
{
	return value->kind == VALUE_INT && !value->negative && value->u < SMALL_NUMBERS;
}

static uint32_t intern_new(struct segments *segments, const struct value *value)
{
	struct atoms *atoms = segments->atoms;
	uint64_t hash = value_hash(value);
	uint32_t atom = find_atom(atoms, value, hash);

	if (atom != HASH_INDEX_NONE)
		return atom;
	if (atoms->count == atoms->capacity)
		grow_atoms(atoms);
	atoms->values[atoms->count] = value_copy(atoms->arena, value);
	atom = hash_index_add(&atoms->index, hash, atoms->count++);
	if (is_small(value))
		number_map_set(&atoms->numbers, value->u, atom);
	return atom;
}

/* Uses a cache by address, since most texts are at the same address as last time. */
static uint32_t intern_text(struct segments *segments, const struct value *value)
{
	struct atoms *atoms = segments->atoms;
	uint32_t *recent = &atoms->recent[(uintptr_t)value->text / 8 % RECENT_TEXTS];

	if (!*recent || !value_equal(&atoms->values[*recent], value))
		*recent = intern_new(segments, value);
	return *recent;
}

uint32_t segments_intern(struct segments *segments, const struct value *value)
{
	uint32_t atom = 0;

	if (!value_exists(value))
		return 0;
	if (value->kind == VALUE_STRING)
		return intern_text(segments, value);
	if (is_small(value))
		atom = number_map_get(&segments->atoms->numbers, value->u);
	return atom ? atom : intern_new(segments, value);
}

uint32_t segments_find(const struct segments *segments, const struct value *value)
{
	uint32_t atom = value_exists(value) ? find_atom(segments->atoms, value, value_hash(value))
					    : HASH_INDEX_NONE;

	return atom != HASH_INDEX_NONE ? atom : 0;
}

uint32_t segments_atoms(const struct segments *segments)
{
	return (uint32_t)segments->atoms->count - 1;
}

const struct value *segments_atom(const struct segments *segments, uint32_t atom)
{
	return &segments->atoms->values[atom];
}

/* ---- segments ---- */

uint32_t *segments_add(struct segments *segments, const struct time_segment *segment)
{
	struct segment_table *table = segments->table;
	uint32_t *cells;

	if (is_shared(segments)) {
		copy_rows(segments, segments->count / 2 + 1, 0);
		table = segments->table;
	}
	if (segments->count == table->capacity)
		reserve(table, table->capacity ? table->capacity * 2 : 16, segments->ncolumns);
	if (segments->stretches)
		forget_stretches(segments);
	table->items[segments->count] = *segment;
	cells = segments_cells(segments, segments->count++);
	memset(cells, 0, segments->ncolumns * sizeof *cells);
	return cells;
}

static bool segments_passes(const struct time_segment *segment, const uint32_t *cells,
			    const struct segment_limit *limit)
{
	int64_t number = 0;

	switch (limit->of) {
	case LIMIT_BEGIN:
		number = segment->begin;
		break;
	case LIMIT_END:
		number = segment->end;
		break;
	case LIMIT_LENGTH:
		number = segment_length(segment);
		break;
	case LIMIT_BEGUN:
		number = segment->begun;
		break;
	case LIMIT_ENDED:
		number = segment->ended;
		break;
	case LIMIT_CELL:
		return limit->atoms[cells[limit->column]];
	}
	return number >= limit->least && number <= limit->most;
}

void segments_take_shape(struct segments *segments, const struct segments *of)
{
	of->atoms->references++;
	drop_atoms(segments->atoms);
	segments->atoms = of->atoms;
	segments->arena = of->arena;
	memcpy(segments->names, of->names, sizeof segments->names);
	segments->ncolumns = of->ncolumns;
}

/* The same, and the counts of `segments`. */
static void take_all_but_rows(struct segments *out, const struct segments *segments)
{
	segments_take_shape(out, segments);
	memcpy(out->left, segments->left, sizeof out->left);
	out->unbegun = segments->unbegun;
	out->losses = segments->losses;
	out->jobs = segments->jobs;
}

void segments_select(const struct segments *segments, const struct segment_limit *limits,
		     size_t nlimits, struct segments *out)
{
	size_t *places = paged_resize(&out->places_memory, segments->count * sizeof *places + 1);

	take_all_but_rows(out, segments);
	drop_table(out->table);
	out->table = segments->table;
	out->table->references++;
	for (size_t i = 0; i < segments->count; i++) {
		const uint32_t *cells = segments_cells(segments, i);
		bool pass = true;

		for (size_t k = 0; k < nlimits && pass; k++)
			pass = segments_passes(segments_item(segments, i), cells, &limits[k]);
		if (pass)
			places[out->count++] = segments_place(segments, i);
	}
	out->places = paged_resize(&out->places_memory, out->count * sizeof *places + 1);
}

void segments_keep(struct segments *segments, const size_t *kept, size_t count)
{
	for (size_t i = 0; i < count; i++)
		segments->places[i] = segments->places[kept[i]];
	segments->count = count;
	forget_stretches(segments);
}

void segments_append(struct segments *segments, const struct segments *other)
{
	uint32_t to[SEGMENTS_COLUMNS_MAX];
	bool same = segments->atoms == other->atoms;

	for (uint32_t c = 0; c < other->ncolumns; c++)
		to[c] = segments_column(segments, other->names[c]);
	if (is_shared(segments))
		copy_rows(segments, other->count, 0);
	for (size_t i = 0; i < other->count; i++) {
		const uint32_t *from = segments_cells(other, i);
		uint32_t *cells = segments_add(segments, segments_item(other, i));

		for (uint32_t c = 0; c < other->ncolumns; c++)
			if (to[c] != UINT32_MAX)
				cells[to[c]] =
					same ? from[c]
					     : segments_intern(segments,
							       segments_atom(other, from[c]));
	}
}

void segments_between(const struct segments *segments, const uint8_t *outer, struct segments *out)
{
	bool open = false; /* a segment of `outer` ended at `begin`; no gap since then */
	nstime begin = 0, last = 0;
	uint32_t key = 0;

	for (size_t i = 0; i < segments->count; i++) {
		const struct time_segment *segment = segments_item(segments, i);
		const uint32_t *cells = segments_cells(segments, i);

		open = open && cells[COLUMN_KEY] == key && segment->begin == last;
		last = segment->end;
		if (!outer[cells[COLUMN_VALUE]])
			continue;
		if (open && segment->begin > begin) {
			struct time_segment found = {begin, segment->begin, true, true};

			segments_add(out, &found)[COLUMN_KEY] =
				segments_intern(out, segments_atom(segments, cells[COLUMN_KEY]));
		}
		open = segment->ended;
		begin = segment->end;
		key = cells[COLUMN_KEY];
	}
}

/* ---- joining ---- */

struct segment_range { /* the segments of one key */
	size_t first, last;
};

/* The segments of the key, an atom. */
static struct segment_range stretch_of(struct segments *segments, uint32_t key)
{
	if (segments->stretches)
		return key < segments->nstretches ? segments->stretches[key]
						  : (struct segment_range){0};
	segments->nstretches = (size_t)segments_atoms(segments) + 1;
	segments->stretches = mem_new_array(segments->nstretches, sizeof *segments->stretches);
	for (size_t i = 0; i < segments->count; i++) {
		struct segment_range *one =
			&segments->stretches[segments_cells(segments, i)[COLUMN_KEY]];
		if (one->last != i)
			one->first = i;
		one->last = i + 1;
	}
	return segments->stretches[key];
}

/* The segment of the range that matches t; SIZE_MAX: none. */
static size_t find_at(const struct segments *other, struct segment_range range, nstime t,
		      enum join_match match)
{
	nstime ends = match == MATCH_ENDS ? t - 1 : t; /* skips segments that end until then */
	size_t at = match == MATCH_BEGINS              /* it may have no length */
			    ? search_first(k, range.first, range.last,
					   segments_item(other, k)->begin < t)
			    : search_first(k, range.first, range.last,
					   segments_item(other, k)->end <= ends);
	const struct time_segment *found = at < range.last ? segments_item(other, at) : NULL;

	if (!found || found->begin > t || (match == MATCH_BEGINS && found->begin != t) ||
	    (match == MATCH_ENDS && found->end != t))
		return SIZE_MAX;
	return at;
}

size_t segments_find_before(struct segments *segments, uint32_t key, nstime t)
{
	struct segment_range range = stretch_of(segments, key);
	size_t at =
		search_first(k, range.first, range.last, segments_item(segments, k)->begin <= t);

	return at == range.first ? SIZE_MAX : at - 1;
}

/* Adds the columns, and returns the number of the first. */
static uint32_t add_columns(struct segments *segments, const struct segment_join *joins,
			    size_t njoins)
{
	uint32_t first = segments->ncolumns;

	copy_rows(segments, 0, (uint32_t)njoins);
	for (size_t k = 0; k < njoins; k++)
		segments->names[segments->ncolumns++] =
			arena_strdup(segments->arena, joins[k].name);
	return first;
}

void segments_join(struct segments *segments, struct segments *other,
		   const struct segment_join *joins, size_t njoins, bool at_end,
		   enum join_match match)
{
	uint32_t first = add_columns(segments, joins, njoins);
	bool same = segments->atoms == other->atoms;

	for (size_t i = 0; i < segments->count; i++) {
		const struct time_segment *segment = segments_item(segments, i);
		uint32_t *cells = segments_cells(segments, i);
		uint32_t key = cells[COLUMN_KEY];
		nstime t = at_end ? segment->end : segment->begin;

		if (!same)
			key = segments_find(other, segments_atom(segments, key));
		size_t at = key ? find_at(other, stretch_of(other, key), t, match) : SIZE_MAX;

		for (size_t k = 0; k < njoins && at != SIZE_MAX; k++) {
			uint32_t atom = segments_cells(other, at)[joins[k].from];
			cells[first + k] =
				same ? atom : segments_intern(segments, segments_atom(other, atom));
		}
	}
}

/* ---- another key ---- */

/*
 * Counting sort: places[] are the numbers of segments, stably sorted by value; counts[v] becomes
 * the end of the part with value v.
 */
static void by_value(const struct segments *segments, size_t *counts, size_t *places)
{
	size_t before = 0;

	for (size_t i = 0; i < segments->count; i++)
		counts[segments_cells(segments, i)[COLUMN_VALUE]]++;
	for (uint32_t v = 0; v <= segments_atoms(segments); v++) {
		size_t own = counts[v];
		counts[v] = before;
		before += own;
	}
	for (size_t i = 0; i < segments->count; i++)
		places[counts[segments_cells(segments, i)[COLUMN_VALUE]]++] = i;
}

static nstime segments_begin_of(const struct segments *segments, size_t i)
{
	return segments_item(segments, i)->begin;
}

/* Merges the sorted runs [from, middle) and [middle, to) into `out`, stably. */
static void merge(const struct segments *segments, const size_t *places, size_t from, size_t middle,
		  size_t to, size_t *out)
{
	size_t a = from, b = middle;

	for (size_t i = from; i < to; i++) {
		bool second =
			a == middle || (b < to && segments_begin_of(segments, places[b]) <
							  segments_begin_of(segments, places[a]));
		out[i] = places[second ? b++ : a++];
	}
}

/* The end of the sorted run that begins at `from`. */
static size_t rising(const struct segments *segments, const size_t *places, size_t from, size_t to)
{
	while (++from < to && segments_begin_of(segments, places[from - 1]) <=
				      segments_begin_of(segments, places[from]))
		;
	return from < to ? from : to;
}

/* Natural merge sort by begin: there are few sorted runs, one for each key that has the value. */
static void sort_rising(const struct segments *segments, size_t *places, size_t from, size_t to,
			size_t *spare)
{
	bool merged = to - from > 1;

	while (merged) {
		merged = false;
		for (size_t first = from, middle, last; first < to; first = last) {
			middle = rising(segments, places, first, to);
			last = middle < to ? rising(segments, places, middle, to) : to;
			if (middle == last)
				break;
			merge(segments, places, first, middle, last, spare);
			memcpy(places + first, spare + first, (last - first) * sizeof *places);
			merged = true;
		}
	}
}

void segments_rekey(const struct segments *segments, struct segments *out)
{
	size_t *ends = mem_new_array((size_t)segments_atoms(segments) + 1, sizeof *ends);
	struct paged places_memory = {0}, spare_memory = {0};
	size_t *places = paged_resize(&places_memory, (segments->count + 1) * sizeof *places);
	size_t *spare = paged_resize(&spare_memory, (segments->count + 1) * sizeof *spare);

	take_all_but_rows(out, segments);
	reserve(out->table, segments->count + 1, out->ncolumns);
	by_value(segments, ends, places);
	for (uint32_t v = 0; v <= segments_atoms(segments); v++)
		sort_rising(segments, places, v ? ends[v - 1] : 0, ends[v], spare);
	for (size_t i = 0; i < segments->count; i++) {
		const uint32_t *from = segments_cells(segments, places[i]);
		uint32_t *cells = segments_add(out, segments_item(segments, places[i]));

		memcpy(cells, from, segments->ncolumns * sizeof *cells);
		cells[COLUMN_KEY] = from[COLUMN_VALUE];
		cells[COLUMN_VALUE] = from[COLUMN_KEY];
	}
	mem_free(ends);
	paged_free(&places_memory);
	paged_free(&spare_memory);
}

/* ---- order ---- */

struct group_order {
	int64_t by;
	size_t number;
};

static int compare_places(const void *a, const void *b)
{
	const struct group_order *x = a, *y = b;

	if (x->by != y->by)
		return x->by < y->by ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int64_t order_value(const struct time_segment *segment, enum segment_order order)
{
	switch (order) {
	case ORDER_BEGIN:
		return segment->begin;
	case ORDER_END:
		return segment->end;
	case ORDER_LENGTH:
		return segment_length(segment);
	case ORDER_LENGTH_FALLING:
		return -segment_length(segment);
	}
	return 0;
}

/* Sifts down in a max-heap, which has the least `most` segments so far. */
static void sift(struct group_order *heap, size_t count, size_t at)
{
	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		struct group_order moved = heap[at];

		if (child + 1 < count && compare_places(&heap[child + 1], &heap[child]) > 0)
			child++;
		if (compare_places(&heap[child], &moved) <= 0)
			return;
		heap[at] = heap[child];
		heap[child] = moved;
	}
}

size_t *segments_sorted(const struct segments *segments, enum segment_order order, size_t most,
			size_t *count)
{
	size_t room = most < segments->count ? most : segments->count, used = 0;
	struct group_order *heap = mem_new_array(room + 1, sizeof *heap);
	size_t *numbers = mem_new_array(room + 1, sizeof *numbers);

	for (size_t i = 0; i < segments->count && room; i++) {
		struct group_order place = {order_value(segments_item(segments, i), order), i};

		if (used < room) {
			heap[used++] = place;
			for (size_t k = used == room ? room / 2 : 0; k-- > 0;)
				sift(heap, used, k);
		} else if (compare_places(&place, &heap[0]) < 0) {
			heap[0] = place;
			sift(heap, used, 0);
		}
	}
	if (used)
		qsort(heap, used, sizeof *heap, compare_places);
	for (size_t i = 0; i < used; i++)
		numbers[i] = heap[i].number;
	mem_free(heap);
	*count = used;
	return numbers;
}

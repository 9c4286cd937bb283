/*
 * key_index.c - rows of a class's events by the value of one integer field
 *
 *     SELECT min(s.ts) FROM sched_switch s WHERE s.next_pid = w.pid AND s.ts >= w.ts
 *
 *     key    rows in the scan's order
 *      371   t=12, t=90, t=450
 *      990   t=14, t=15
 *
 * A join looks up one value after the other, and each scan reads packets from a moment on to the
 * first event with the value. Once these scans have cost as much as reading the whole trace, one
 * scan reads all events of the class into the index. Each further lookup is two binary searches.
 */
#include "sql/tables/events_internal.h"

#include "engine/base/mem.h"
#include "engine/base/search.h"

#include <stdlib.h>
#include <string.h>

struct keyed {
	int64_t key;
	uint32_t row;
};

struct key_index {
	size_t nvalues;
	struct keyed *order; /* after key_index_sort(): by key, then row */
	struct key_row *rows;
	int64_t *values; /* nvalues per row */
	size_t count, order_capacity, rows_capacity, values_capacity;
};

struct key_index *key_index_new(size_t nvalues)
{
	struct key_index *index = mem_new(sizeof *index);

	index->nvalues = nvalues;
	return index;
}

void key_index_free(struct key_index *index)
{
	if (!index)
		return;
	mem_free(index->order);
	mem_free(index->rows);
	mem_free(index->values);
	mem_free(index);
}

static size_t bytes_per_row(const struct key_index *index)
{
	return sizeof(struct keyed) + sizeof(struct key_row) + index->nvalues * sizeof(int64_t);
}

bool key_index_add(struct key_index *index, int64_t key, const struct key_row *row,
		   const int64_t *values)
{
	size_t n = index->count, nvalues = index->nvalues;

	if (n >= KEY_INDEX_BYTES / bytes_per_row(index))
		return false;
	index->order = mem_grow(index->order, n, &index->order_capacity, sizeof *index->order);
	index->rows = mem_grow(index->rows, n, &index->rows_capacity, sizeof *index->rows);
	if ((n + 1) * nvalues > index->values_capacity) {
		index->values_capacity = 2 * index->values_capacity + 1024 * nvalues;
		index->values =
			mem_resize(index->values, index->values_capacity, sizeof *index->values);
	}
	index->order[n] = (struct keyed){key, (uint32_t)n};
	index->rows[n] = *row;
	if (nvalues)
		memcpy(index->values + n * nvalues, values, nvalues * sizeof *values);
	index->count++;
	return true;
}

static int by_key(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

void key_index_sort(struct key_index *index)
{
	if (index->count)
		qsort(index->order, index->count, sizeof *index->order, by_key);
}

void key_index_find(const struct key_index *index, int64_t key, nstime begin, nstime end,
		    bool falling, size_t *first, size_t *past)
{
	const struct keyed *order = index->order;
	size_t from = search_first(i, (size_t)0, index->count, order[i].key < key);
	size_t to = search_first(i, from, index->count, order[i].key == key);

	if (falling) {
		*first = search_first(i, from, to, index->rows[order[i].row].time >= end);
		*past = search_first(i, *first, to, index->rows[order[i].row].time >= begin);
	} else {
		*first = search_first(i, from, to, index->rows[order[i].row].time < begin);
		*past = search_first(i, *first, to, index->rows[order[i].row].time < end);
	}
}

const struct key_row *key_index_row(const struct key_index *index, size_t i)
{
	return &index->rows[index->order[i].row];
}

int64_t key_index_value(const struct key_index *index, size_t i, size_t value)
{
	return index->values[index->order[i].row * index->nvalues + value];
}

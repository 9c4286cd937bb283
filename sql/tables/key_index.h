/*
 * key_index.h - rows of a class's events by the value of one integer field
 *
 *     SELECT min(s.ts) FROM sched_switch s WHERE s.next_pid = w.pid AND s.ts >= w.ts
 *
 *     key    rows in the scan's order
 *      371   t=12, t=90, t=450
 *      990   t=14, t=15
 *
 * A join asks for one value after the other, and each question reads packets from the moment on to
 * the first event that has the value. Once that cost as much as reading the class as a whole, the
 * class is read as a whole, and each further question is two binary searches.
 */
#ifndef SQL_TABLES_KEY_INDEX_H
#define SQL_TABLES_KEY_INDEX_H

#include "engine/timebase.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream;
struct key_index;

enum { KEY_INDEX_BYTES = 64 << 20, KEY_VALUES_MAX = 63 };

struct key_row {
	nstime time;
	const struct stream *stream;
	uint64_t nulls; /* bit per value that the event has not */
	int32_t cpu;
	uint32_t class;
};

/* Each row has `nvalues` integers, KEY_VALUES_MAX at most. */
struct key_index *key_index_new(size_t nvalues);
void key_index_free(struct key_index *index); /* NULL is fine */
/* Rows come in the order of the scan. False: there is no room for more. */
bool key_index_add(struct key_index *index, int64_t key, const struct key_row *row,
		   const int64_t *values);
void key_index_sort(struct key_index *index); /* after the last row */

/*
 * The rows of `key` with begin <= time < end are number *first to *past - 1. Times must rise in the
 * order of the scan, or with `falling` fall, unless all rows lie between begin and end.
 */
void key_index_find(const struct key_index *index, int64_t key, nstime begin, nstime end,
		    bool falling, size_t *first, size_t *past);
const struct key_row *key_index_row(const struct key_index *index, size_t i);
int64_t key_index_value(const struct key_index *index, size_t i, size_t value);

#endif

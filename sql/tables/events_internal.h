/* events_internal.h - what the files of the tables of events share; not for others */
#ifndef SQL_TABLES_EVENTS_INTERNAL_H
#define SQL_TABLES_EVENTS_INTERNAL_H

#include "sql/sql_internal.h"
#include "sql/tables/plan.h"
#include "sql/tables/sources.h"
#include "state/condition.h"

/* ---- told_condition.c: the hidden column yore_where, a condition of a scan ---- */

struct told_condition { /* {0}: none */
	struct condition own;
	char *text;      /* NULL: there is none */
	uint64_t number; /* changes with each text */
};

/*
 * Reads what the terms of a scan tell, of which all must hold, and narrows the constraints. What
 * the scan before was told stays compiled. False: *err, and there is none.
 */
MUST_CHECK bool told_condition_begin(struct told_condition *told, struct sql_host *host,
				     const struct plan *plan, sqlite3_value **argv,
				     struct constraints *constraints, struct error *err);
void told_condition_end(struct told_condition *told);

/* ---- key_index.c ---- */

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

/* ---- the tables ---- */

/*
 * Of a plan with a key: what its scans cost so far, and the index. A correlated subquery opens a
 * cursor for each row, so that they belong to the table.
 */
struct keyed_plan {
	const struct plan *plan;
	struct buf constants;    /* of which the index is */
	nstime begin, end;       /* the range, likewise */
	struct key_index *index; /* NULL: there is none */
	bool refused;            /* and there will be none */
	uint64_t work, enough;   /* in events passed over; when to make the index */
};

struct events_table {
	struct sql_table table;
	struct shape *shape;
	struct plans plans;
	struct keyed_plan *keyed;
	size_t nkeyed, keyed_capacity;
};

/* How the index's cursor was opened: a scan that differs in its times alone turns it. */
struct opened {
	struct arena *arena;
	uint64_t *classes, *streams;
	int32_t *cpus;
	size_t ncpus;
	uint64_t condition; /* told.number */
	bool unordered, backward, selects;
};

struct events_cursor {
	sqlite3_vtab_cursor base;
	struct sql_host *host;
	const struct shape *shape;
	const struct plan *plan;
	struct constraints constraints;
	struct column_source *filters; /* of the constraints's conditions on fields */
	bool untested;                 /* some row that comes may not hold them */
	struct told_condition told;
	struct events *events;
	struct findings *findings; /* of the statement, which may seek a lot; NULL: no `events` */
	struct opened opened;

	struct run run;
	const nstime *time;
	uint32_t at, left; /* entry of the run's batch; how many follow */
	uint32_t step;     /* 1, backward all ones */
	bool done, untimed;
	bool any_timed; /* in the trace */
	uint64_t rows;  /* given so far */
	/*
	 * Where conditions leave few events, and the first rows may be all that are read: windows
	 * of time, each four times as long as the one before. Else the merge would look for the
	 * first event of each stream, which may be its last.
	 */
	nstime begin, end; /* of the window */
	uint64_t width;    /* of the next one; 0: this is the last */

	enum { FIELDS_NOT_YET, FIELDS_THERE, FIELDS_FAILED } decoded;
	struct fields fields;
	struct buf text; /* of the last JSON */

	const struct key_index *serving; /* rows come from it; NULL: from the trace */
	size_t key_at, key_past;
};

/* Decodes the fields of the event that the cursor is at, once; false: they cannot be, which is
 * told. */
bool events_decode(struct events_cursor *cursor);
/* Where that event has a field of the shape. */
const struct value_place *events_place(const struct events_cursor *cursor, uint32_t field);
/* xColumn: the value of column i of the row that the cursor is at. */
int events_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int i);

#endif

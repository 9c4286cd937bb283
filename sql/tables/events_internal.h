/* events_internal.h - shared by the files of the tables of events: cursor, condition, key index */
#ifndef SQL_TABLES_EVENTS_INTERNAL_H
#define SQL_TABLES_EVENTS_INTERNAL_H

#include "sql/sql_internal.h"
#include "sql/tables/plan.h"
#include "sql/tables/sources.h"
#include "state/condition.h"

/* ---- told_condition.c: the hidden column yore_where, a condition of a scan ---- */

struct told_condition { /* {0}: none */
	struct condition own; /* compiled from `text` */
	char *text;           /* NULL: there is no condition */
	uint64_t number;      /* changes with each text */
};

/*
 * Reads the condition of a scan, all terms of yore_where joined by AND, and narrows the constraints
 * by it. The condition is compiled only if it differs from that of the last scan. False: *err, and
 * *told has no condition.
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
	uint64_t nulls; /* bit per value: the event has none, NULL in SQL */
	int32_t cpu;
	uint32_t class;
};

/* Each row has `nvalues` integers, KEY_VALUES_MAX at most. */
struct key_index *key_index_new(size_t nvalues);
void key_index_free(struct key_index *index); /* NULL is fine */
/* Adds a row; rows are added in the order of the scan. False: KEY_INDEX_BYTES are used up. */
bool key_index_add(struct key_index *index, int64_t key, const struct key_row *row,
		   const int64_t *values);
void key_index_sort(struct key_index *index); /* after the last row, before key_index_find() */

/*
 * Rows [*first, *past) have the key and begin <= time < end. Times must have risen in the order of
 * the scan (with `falling`: fallen), unless all rows lie between begin and end.
 */
void key_index_find(const struct key_index *index, int64_t key, nstime begin, nstime end,
		    bool falling, size_t *first, size_t *past);
const struct key_row *key_index_row(const struct key_index *index, size_t i);
int64_t key_index_value(const struct key_index *index, size_t i, size_t value);

/* ---- the tables ---- */

/*
 * The key index of a plan, and the cost of the plan's scans so far. The table owns it, because a
 * correlated subquery opens a new cursor for each row.
 */
struct keyed_plan {
	const struct plan *plan;
	struct buf constants;    /* arguments that are equal in all scans; the index is valid for */
	nstime begin, end;       /* these and this range */
	struct key_index *index; /* NULL: not made */
	bool refused;            /* making it failed, for lack of room say: not tried again */
	uint64_t work, enough;   /* events that scans decoded; above `enough` the index is made */
};

struct events_table {
	struct sql_table table;
	struct shape *shape;
	struct plans plans;
	struct keyed_plan *keyed;
	size_t nkeyed, keyed_capacity;
};

struct events_cursor {
	sqlite3_vtab_cursor base;
	struct sql_host *host;
	const struct shape *shape;
	const struct plan *plan;
	struct constraints constraints;
	struct column_source *filters; /* of constraints.filters, for each row of the shape */
	bool untested;                 /* rows must still be tested: some filter was not loaded */
	struct told_condition told;
	struct events *events;
	struct findings *findings; /* shared by all seeks of `events`; NULL: no `events` */
	struct events_options opened; /* what `events` was opened with */
	uint64_t condition;           /* likewise: told.number */
	struct arena *arena;          /* of `opened` */

	struct run run;
	const nstime *time;
	uint32_t at, left; /* entry of the run's batch; how many follow */
	uint32_t step;     /* added to `at`: 1, or backward UINT32_MAX */
	bool done, untimed; /* untimed: the run's stream has no times */
	bool any_timed;     /* some stream of the trace has times */
	uint64_t rows;      /* returned so far */
	/*
	 * A scan with conditions on fields, of which the first rows may be enough, reads windows
	 * of time, each four times as long as the one before. Without windows, the merge would
	 * first search every stream for its first event that passes, perhaps to its end.
	 */
	nstime begin, end; /* the window */
	uint64_t width;    /* ns, of the next window; 0: this is the last */

	enum { FIELDS_NOT_YET, FIELDS_THERE, FIELDS_FAILED } decoded;
	struct fields fields;
	struct buf text; /* the last JSON value */

	const struct key_index *serving; /* rows come from this index; NULL: from `events` */
	size_t key_at, key_past;
};

/* Decodes the fields of the current event, once. False: they are damaged; the trace notes it. */
bool events_decode(struct events_cursor *cursor);
/* Where the current event has a field of the shape. */
const struct value_place *events_place(const struct events_cursor *cursor, uint32_t field);
/* xColumn: the value of column i of the current row. */
int events_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int i);

#endif

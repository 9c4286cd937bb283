/*
 * duckdb_internal.h - what the table functions share: an opened trace, arguments, vectors
 *
 *     bind   opens the trace of the call, reads its arguments, says which columns there are
 *     init   once for a scan: what all threads of it share
 *     local  once for each thread
 *     scan   fills a chunk of rows; none ends the thread's part
 *
 * DuckDB ends what each step leaves, also of a scan that nobody reads to its end. A trace is looked
 * at for each call, and is one call's alone, so that a query sees the files as they are then.
 */
#ifndef DUCKDB_DUCKDB_INTERNAL_H
#define DUCKDB_DUCKDB_INTERNAL_H

#include "duckdb/api.h"
#include "engine/columns/sheet.h"
#include "index/index.h"
#include "state/model/value.h"

struct query;
struct rules;
struct row_table;
struct state;
struct thread_rows_kind;

/* ---- host.c: the trace of a call, and its arguments ---- */

struct duck_host {
	struct trace *trace;
	struct index *index;
	struct rules *rules; /* NULL: no state was asked for */
	struct state *state;
	bool skip_damage; /* else what cannot be read ends the query */
	bool scan_all;    /* the index is one of these */
	uint64_t marks;   /* of the trace's files when it was opened; 0: they may change */
};

/* `scan_all`: as in struct index_options. False: nothing is open. */
MUST_CHECK bool duck_host_open(struct duck_host *host, const char *path, bool scan_all,
			       struct error *err);
MUST_CHECK bool duck_host_state(struct duck_host *host,
				struct error *err); /* by rules of its own */
void duck_host_close(struct duck_host *host);
/* Was something damaged that the query is not to pass over? Then *err is the first of it. */
MUST_CHECK bool duck_host_sound(const struct duck_host *host, struct error *err);

/* Argument i as a text; NULL: it is NULL. The caller frees it with mem_free(). */
char *duck_text_argument(struct duck_bind *info, uint64_t i);
/* A moment: nanoseconds, a timestamp, or a text as ts() of SQL reads it. Takes the value. */
MUST_CHECK bool duck_moment(const struct duck_host *host, struct duck_value *value, nstime *out,
			    struct error *err);
/* Opens the trace that the first argument names. */
MUST_CHECK bool duck_open_argument(struct duck_host *host, struct duck_bind *info, bool scan_all,
				   struct error *err);
/* What `begin` and `until` name, a half-open range; unbounded where they are not there. */
MUST_CHECK bool duck_range(const struct duck_host *host, struct duck_bind *info, nstime *begin,
			   nstime *end, struct error *err);

/* The columns that a scan is asked for, *count numbers; the caller frees them. */
uint64_t *duck_wanted_columns(struct duck_init *info, uint64_t *count);
void duck_add_column(struct duck_bind *info, const char *name, enum cell_kind kind, unsigned bits,
		     bool list);

/* ---- vectors.c: a column of a chunk ---- */

struct duck_column {
	struct duck_vector *vector;
	void *data;
	uint64_t *valid;          /* a bit for each row; NULL: all are */
	struct duck_string *last; /* the text that was put last; NULL: none */
};

struct duck_column duck_column_of(struct duck_chunk *chunk, uint64_t i);
void duck_put_null(struct duck_column *column, uint64_t row);
/* `count` rows from `row` on. */
void duck_put_nulls(struct duck_column *column, uint64_t row, uint64_t count);
/* Bytes that are not UTF-8 become the characters U+0080 to U+00FF. */
void duck_put_text(struct duck_column *column, uint64_t row, const void *bytes, size_t len);
void duck_put_blob(struct duck_column *column, uint64_t row, const void *bytes, size_t len);
/* Copies the text of row `from` to `count` rows from `to` on. */
void duck_repeat_text(struct duck_column *column, uint64_t from, uint64_t to, uint64_t count);
/* Null where it is not known: NSTIME_MIN, NSTIME_MAX. */
void duck_put_time(struct duck_column *column, uint64_t row, nstime t);
/* Numbers of 1, 2, 4 or 8 bytes. */
void duck_put_numbers(struct duck_column *column, uint64_t row, unsigned bytes,
		      const uint64_t *numbers, uint64_t count);
static inline void duck_put_int64(struct duck_column *column, uint64_t row, int64_t number)
{
	((int64_t *)column->data)[row] = number;
}
/* A value of the state as text; null of one that is unknown or nothing. */
void duck_put_value(struct duck_column *column, uint64_t row, const struct value *value,
		    struct buf *scratch);

/* ---- the tables: each registers its function; false: DuckDB refused it ---- */

struct duck_table {
	const char *name;
	unsigned count;     /* of arguments: texts, */
	unsigned is_moment; /* but for those whose bit is set */
	bool range;         /* `begin` and `until` can be named */
	duck_bind_call *bind;
	duck_init_call *init, *local; /* local: NULL, one thread */
	duck_function_call *scan;
	const struct thread_rows_kind *thread_rows; /* of duck_rows: one of these two */
	const struct row_table *list;
};
extern const struct duck_table duck_events, duck_state, duck_at;
extern const struct duck_table duck_rows[]; /* ended by a NULL name */

#endif

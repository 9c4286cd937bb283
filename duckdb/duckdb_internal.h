/*
 * duckdb_internal.h - shared by the table functions: an opened trace, arguments, vectors
 *
 *     bind   opens the trace of the call, reads its arguments, declares the columns
 *     init   once for a scan: creates what its threads share
 *     local  once for each thread
 *     scan   fills a chunk of rows; an empty chunk ends the thread's part
 *
 * DuckDB frees the data of each step, also if the query stops early. Each call opens the trace
 * anew, or takes one from a cache if its files did not change (host.c). No two calls share an open
 * trace.
 */
#ifndef DUCKDB_DUCKDB_INTERNAL_H
#define DUCKDB_DUCKDB_INTERNAL_H

#include "duckdb/api.h"
#include "engine/columns/sheet.h"
#include "index/index.h"
#include "state/model/value.h"

struct rules;
struct row_table;
struct state;

/* ---- host.c: the trace of a call, and its arguments ---- */

struct duck_host {
	struct trace *trace;
	struct index *index;
	struct rules *rules; /* NULL: duck_host_state() was not called */
	struct state *state;
	bool skip_damage; /* damaged parts are left out; else they end the query with an error */
	bool scan_all;    /* index_options.scan_all of the index */
	uint64_t marks;   /* marks_fold() of the trace's files when it was opened; 0: not cached */
};

/* Opens the trace and its index; `scan_all` as in struct index_options. False: nothing is open. */
MUST_CHECK bool duck_host_open(struct duck_host *host, const char *path, bool scan_all,
			       struct error *err);
MUST_CHECK bool duck_host_state(struct duck_host *host,
				struct error *err); /* opens the state, with built-in rules */
void duck_host_close(struct duck_host *host);
/* False: the trace is damaged and skip_damage is not set; *err describes the first damage. */
MUST_CHECK bool duck_host_sound(const struct duck_host *host, struct error *err);

/* Argument i as a text, or NULL for SQL's NULL. The caller frees it with mem_free(). */
char *duck_text_argument(struct duck_bind *info, uint64_t i);
/* Reads a moment: nanoseconds, a timestamp, or a text as ts() of SQL reads it. Destroys `value`. */
MUST_CHECK bool duck_moment(const struct duck_host *host, struct duck_value *value, nstime *out,
			    struct error *err);
/* Opens the trace that the first argument names. */
MUST_CHECK bool duck_open_argument(struct duck_host *host, struct duck_bind *info, bool scan_all,
				   struct error *err);
/* The half-open range of the named arguments `begin` and `until`; unbounded if they are missing. */
MUST_CHECK bool duck_range(const struct duck_host *host, struct duck_bind *info, nstime *begin,
			   nstime *end, struct error *err);

/* The numbers of the *count columns that the query reads; the caller frees them by mem_free(). */
uint64_t *duck_wanted_columns(struct duck_init *info, uint64_t *count);
void duck_add_column(struct duck_bind *info, const char *name, enum cell_kind kind, unsigned bits,
		     bool list);

/* ---- vectors.c: a column of a chunk ---- */

struct duck_column {
	struct duck_vector *vector;
	void *data;
	uint64_t *valid;          /* bit per row: it is not NULL; NULL: no row is NULL yet */
	struct duck_string *last; /* the text stored last, for equal ones to share; NULL: none */
};

struct duck_column duck_column_of(struct duck_chunk *chunk, uint64_t i);
void duck_put_null(struct duck_column *column, uint64_t row);
/* Makes `count` rows NULL, from `row` on. */
void duck_put_nulls(struct duck_column *column, uint64_t row, uint64_t count);
/* Bytes that are not UTF-8 become the characters U+0080 to U+00FF. */
void duck_put_text(struct duck_column *column, uint64_t row, const void *bytes, size_t len);
void duck_put_blob(struct duck_column *column, uint64_t row, const void *bytes, size_t len);
/* Copies the text of row `from` to `count` rows from `to` on. */
void duck_repeat_text(struct duck_column *column, uint64_t from, uint64_t to, uint64_t count);
/* Stores the low 1, 2, 4 or 8 `bytes` of each of `count` numbers. */
void duck_put_numbers(struct duck_column *column, uint64_t row, unsigned bytes,
		      const uint64_t *numbers, uint64_t count);
static inline void duck_put_int64(struct duck_column *column, uint64_t row, int64_t number)
{
	((int64_t *)column->data)[row] = number;
}
/* Stores a value of the state as text; unknown and none become NULL. */
void duck_put_value(struct duck_column *column, uint64_t row, const struct value *value,
		    struct buf *scratch);

/* ---- the table functions, which extension.c registers ---- */

struct duck_table {
	const char *name;
	unsigned count;     /* number of arguments, which are texts, */
	unsigned is_moment; /* except for these, a bit each: moments */
	bool range;         /* it has the named arguments `begin` and `until` */
	duck_bind_call *bind;
	duck_init_call *init, *local; /* local: NULL, one thread */
	duck_function_call *scan;
	const struct row_table *rows; /* in duck_rows: which table of rows/ */
};
extern const struct duck_table duck_events;
extern const struct duck_table duck_rows[]; /* ended by a NULL name */

#endif

/*
 * host.h - a stand-in for DuckDB, as far as a table function sees it: arguments, chunks of rows,
 * threads in turn
 *
 * It passes the extension a table of functions (duckdb/api.h) of its own, calls registered
 * functions as DuckDB does, and counts objects that are made and not freed. So sanitizers find
 * leaks and bad accesses without DuckDB.
 */
#ifndef TESTS_DUCKDB_HOST_H
#define TESTS_DUCKDB_HOST_H

#include "duckdb/api.h"

enum { HOST_ROWS = 64, HOST_COLUMNS_MOST = 64 }; /* most rows and columns of a chunk */

/*
 * Loads the extension for good, as DuckDB does, and calls its entry point; a failure fails the
 * test.
 */
void host_load(const char *path);
/*
 * The same with a host that lacks the requested version of the interface; returns the entry point's
 * result.
 */
bool host_load_refused(const char *path);

struct host_value {       /* an argument */
	const char *name; /* NULL: a positional argument */
	int type;         /* DUCK_VARCHAR, DUCK_BIGINT, DUCK_BOOLEAN, ...; 0: NULL */
	const char *text;
	int64_t number;
};

struct host_call {
	const char *function;
	const struct host_value *values; /* ended by a value without type, name and text */
	const char *const *columns;      /* wanted columns, ended by NULL; NULL: only count rows */
	unsigned threads;                /* threads that read chunks in turn; 0: one */
	size_t chunks;                   /* most chunks to read; 0: all */
	void (*row)(void *arg, const struct host_call *call, size_t row); /* may be NULL */
	void *arg;
};

/* Returns the number of rows; -1: host_error() has the error. */
long host_run(const struct host_call *call);
const char *host_error(void);
size_t host_threads(void); /* threads that the last call could use */
/* Values of the current row, by the index of the column among the wanted ones. */
bool host_is_null(size_t column, size_t row);
int64_t host_number(size_t column, size_t row);
const char *host_text(size_t column, size_t row); /* valid until the next call of this function */
/* The type of a column of the table that was called last; 0: no such column. */
int host_type(const char *column);
/* Number of values, types and so on that were made and not freed, and of data of calls. */
long host_alive(void);

#endif

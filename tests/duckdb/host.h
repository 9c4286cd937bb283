/*
 * host.h - as much of DuckDB as a table function sees: arguments, chunks of rows, threads in turn
 *
 * It hands the extension DuckDB's table of functions (duckdb/api.h) with its own in their places,
 * calls what is registered as DuckDB does, and counts what is made and not ended. So leaks and bad
 * accesses are found by sanitizers, where DuckDB itself is not there.
 */
#ifndef TESTS_DUCKDB_HOST_H
#define TESTS_DUCKDB_HOST_H

#include "duckdb/api.h"

enum { HOST_ROWS = 64, HOST_COLUMNS_MOST = 64 }; /* of a chunk */

/* Loads the file, for good as DuckDB does, and calls its entry point; where that fails the test
 * ends. */
void host_load(const char *path);
/* The same with a host that does not have the version that is asked for: its answer. */
bool host_load_refused(const char *path);

struct host_value {       /* an argument */
	const char *name; /* NULL: by its place */
	int type;         /* DUCK_VARCHAR, DUCK_BIGINT, DUCK_BOOLEAN, ...; 0: NULL */
	const char *text;
	int64_t number;
};

struct host_call {
	const char *function;
	const struct host_value *values; /* ended by one without type, name and text */
	const char *const *columns; /* that are wanted, ended by NULL; NULL: rows are counted */
	unsigned threads;           /* that take chunks in turn; 0: one */
	size_t chunks;              /* that are read; 0: all */
	void (*row)(void *arg, const struct host_call *call, size_t row); /* may be NULL */
	void *arg;
};

/* Rows that came; -1: host_error() says why not. */
long host_run(const struct host_call *call);
const char *host_error(void);
size_t host_threads(void); /* how many threads the last call had use for */
/* Of the row that is being shown, by the number of the column among those wanted. */
bool host_is_null(size_t column, size_t row);
int64_t host_number(size_t column, size_t row);
const char *host_text(size_t column, size_t row); /* until the next call of this function */
/* The type of a column of the table that was called last; 0: it has none of that name. */
int host_type(const char *column);
/* Values, types and so on that were made and not ended, and data of calls. */
long host_alive(void);

#endif

/*
 * row_table.h - a table: its columns, what a scan takes of a query's conditions, and its rows
 *
 *     columns    ──> the database declares the table, and finds conditions that a scan can use
 *     row_ask    ──> row_scan_begin() ── row_scan_more(), _cell(), _next() ──> rows
 *
 * A table that is small makes all its rows at once: it has a fill() alone.
 */
#ifndef ROWS_ROW_TABLE_H
#define ROWS_ROW_TABLE_H

#include "engine/base/arena.h"
#include "rows/row_host.h"
#include "state/model/value.h"

enum row_type {
	ROW_INTEGER, /* of 64 bits */
	ROW_TIME,    /* nanoseconds, as an integer */
	ROW_TEXT,
	ROW_FLOAT,
	ROW_BOOL,
	ROW_ANY /* any value */
};

/* Which conditions on a column a scan takes: a member of struct row_ask each. */
enum row_use {
	ROW_PLAIN,  /* none */
	ROW_STARTS, /* when the row begins; bounds: low, high */
	ROW_ENDS,   /* when it ends; lower bounds: least_end */
	ROW_TID,    /* = */
	ROW_NAME,   /* =, GLOB and LIKE: named() */
	ROW_PATH,   /* the same, and MATCH: told, a PATH with wildcards */
	/* Arguments, by =. A scan gives no cells of these columns. */
	ROW_TRACE,
	ROW_TOLD, /* told */
	ROW_AT,   /* at */
	ROW_RANGE_BEGIN,
	ROW_RANGE_END
};

enum row_flag {
	ROW_HIDDEN = 1,    /* SQL: SELECT * leaves it out */
	ROW_SQL = 2,       /* DuckDB has no such column */
	ROW_DUCKDB = 4,    /* SQL has no such column */
	ROW_FOREIGN = 8,   /* SQL: the tables of the connection's own trace lack it */
	ROW_INEXACT = 16,  /* a scan may give rows that do not meet conditions on it */
	ROW_COMM = 32,     /* a name of a thread: row_ask.shows_names */
	ROW_OPTIONAL = 64, /* SQL: without this path, the connection's first trace is read */
	ROW_ARGUMENT = ROW_HIDDEN | ROW_SQL
};

struct row_column {
	const char *name;
	enum row_type type;
	enum row_use use;
	unsigned flags;     /* enum row_flag, a bit each */
	const char *needed; /* of an argument without which there are no rows: how to write it */
	const char *note;   /* said if a query uses the column; NULL: nothing */
};
#define ROW_TRACE_COLUMN                                            \
	{                                                           \
		"trace", ROW_TEXT, ROW_TRACE, .flags = ROW_ARGUMENT \
	}

/* What is asked for. Texts, *tid and `arg` are borrowed while the scan lasts. */
struct row_ask {
	nstime begin, end;  /* the range, half-open */
	nstime low, high;   /* only rows that begin in [low, high]; NSTIME_MIN, _MAX: no bound */
	nstime least_end;   /* only rows that end then or later; NSTIME_MIN: no bound */
	nstime at;          /* the moment */
	const char *told;   /* a PATH or a program; NULL: not given */
	const int64_t *tid; /* only rows of this thread; NULL: of all */
	uint64_t limit;     /* more rows than this are not needed */
	bool shows_names;   /* columns with ROW_COMM will be read */
	bool (*named)(void *arg, const char *name); /* does it pass? NULL: all do */
	void *arg;
};

static inline struct row_ask row_ask_all(void)
{
	return (struct row_ask){.begin = NSTIME_MIN,
				.end = NSTIME_MAX,
				.low = NSTIME_MIN,
				.high = NSTIME_MAX,
				.least_end = NSTIME_MIN,
				.limit = UINT64_MAX};
}

/* The head of each table's scan: `count` rows of it are made, of which `at` is the current one. */
struct row_scan {
	const struct row_table *table;
	struct row_host *host;
	struct row_ask ask;
	size_t at, count;
};

struct row_list;
struct row_table {
	const struct row_column *columns;
	size_t ncolumns;
	double rows;  /* how many there are, about */
	bool in_time; /* rows of one name or path come in order of when they begin */
	/* Adds all rows to `list`. Texts live as long as list->arena or the trace. NULL: */
	bool (*fill)(struct row_host *host, struct row_list *list, struct error *err);
	size_t size;      /* of the scan; all zero before the first begin() */
	const void *kind; /* for tables that share functions */
	/* Begins anew, in place of what was asked before; may make the first rows. */
	bool (*begin)(void *scan, struct error *err);
	/* Makes the next rows; count == at: there are no more. */
	bool (*more)(void *scan, struct error *err);
	/* A cell of the current row; *out is unknown before. A text lives until the next call. */
	bool (*cell)(void *scan, size_t column, struct value *out, struct error *err);
	/* A hash that identifies the current row: equal in every scan of the same trace. */
	uint64_t (*key)(const void *scan);
	void (*release)(void *scan); /* frees the scan's own members; also after a failed begin() */
};

struct row_scan *row_scan_new(const struct row_table *table);
void row_scan_free(struct row_scan *scan); /* NULL is fine */
/*
 * Starts a scan in place of the one before, and moves to its first row. After an error there are no
 * rows.
 */
MUST_CHECK bool row_scan_begin(struct row_scan *scan, struct row_host *host,
			       const struct row_ask *ask, struct error *err);
MUST_CHECK bool row_scan_next(struct row_scan *scan, struct error *err);
MUST_CHECK bool row_scan_cell(struct row_scan *scan, size_t column, struct value *out,
			      struct error *err);
uint64_t row_scan_key(const struct row_scan *scan);
static inline bool row_scan_more(const struct row_scan *scan) /* is there a current row? */
{
	return scan->at < scan->count;
}

/* ---- small tables ---- */

struct row_list {
	struct arena *arena;
	const struct row_ask *ask;
	size_t ncolumns;     /* cells per row; a fill() may lower it before it adds rows */
	struct value *cells; /* row by row */
	size_t ncells, capacity;
};

/* Adds a row and returns its cells, all unknown; valid until the next call. */
struct value *row_list_add(struct row_list *list);
void cell_text(struct value *cell, const char *text); /* borrowed; NULL: no value */
void cell_integer(struct value *cell, int64_t integer);
void cell_time(struct value *cell, nstime t); /* NSTIME_MIN, _MAX: no value */

/*
 * thread_state, wakeups and syscalls: see thread_rows.h
 * state: the intervals of PATH, `state_at`: its values at a moment (states.c)
 */
extern const struct row_table row_streams, row_classes, row_info, row_losses, row_threads,
	row_packets, row_state, row_state_at, row_thread_state, row_wakeups, row_syscalls;

/* The rows of table `threads`, made once per host (threads.c). NULL is fine. */
struct threads;
void threads_free(struct threads *threads);

#endif

/*
 * rows.h - rows that a scan makes all at once: cells in an arena
 *
 * For tables whose rows are few: one module, sql_rows_module, and a `struct rows_kind` for each.
 */
#ifndef SQL_TABLES_ROWS_H
#define SQL_TABLES_ROWS_H

#include "engine/base/arena.h"
#include "sql/sql_internal.h"

struct row_cell {
	enum { CELL_NULL, CELL_INTEGER, CELL_REAL, CELL_TEXT } kind;
	uint32_t len; /* TEXT */
	union {
		int64_t integer;
		double real;
		const char *text; /* lives as long as the rows or the trace */
	};
};

struct row_list {
	struct arena *arena;
	size_t ncolumns;    /* as many have cells; a fill() may take fewer before it adds rows */
	const char *told;   /* see rows_kind; NULL: NULL was told */
	struct row_cell *cells; /* ncolumns a row */
	size_t ncells, capacity;
};

/* The next row's cells, all NULL; good until the next call. */
struct row_cell *row_list_add(struct row_list *list);
void cell_text(struct row_cell *cell, const char *text); /* borrowed; NULL stays NULL */
void cell_integer(struct row_cell *cell, int64_t integer);

struct rows_kind {
	const char *declaration; /* CREATE TABLE x(...); the last column is trace HIDDEN */
	size_t ncolumns;
	/* Fills the rows; may leave out none that it was not asked to. */
	bool (*fill)(struct sql_host *host, struct row_list *list, struct error *err);
	/*
	 * Of a table that must be told a text besides: what it is, for the error that it is
	 * missing, and its hidden column; trace HIDDEN follows that one, and needs not be told
	 * where the connection has a trace.
	 */
	const char *told_what;
	size_t told;
};

extern const struct rows_kind rows_streams, rows_classes, rows_info, rows_losses, rows_threads,
	rows_do, rows_notes;

/* The rows of `threads` that a connection keeps; freeing NULL is fine. */
struct threads;
void threads_free(struct threads *threads);

#endif

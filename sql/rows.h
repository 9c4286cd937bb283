/*
 * rows.h - rows that a scan makes all at once: cells in an arena
 *
 * For tables whose rows are few, or come by a callback. A table's module is rows_module() over its
 * own `struct rows_kind`: the columns, what it can take, and how a scan is filled.
 */
#ifndef SQL_ROWS_H
#define SQL_ROWS_H

#include "engine/base/arena.h"
#include "sql/sql_internal.h"

struct cell {
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
	size_t ncolumns;
	struct cell *cells; /* ncolumns a row */
	size_t ncells, capacity;
};

/* The next row's cells, all NULL; good until the next call. */
struct cell *row_list_add(struct row_list *list);
void cell_text(struct cell *cell, const char *text); /* borrowed; NULL stays NULL */
void cell_integer(struct cell *cell, int64_t integer);

struct rows_kind {
	const char *declaration; /* CREATE TABLE x(...); the last column is trace HIDDEN */
	size_t ncolumns;
	/* Fills the rows; may leave out none that it was not asked to. */
	bool (*fill)(struct sql_host *host, struct row_list *list, struct error *err);
};

int rows_connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out,
		 char **message, const struct rows_kind *kind);
int rows_disconnect(sqlite3_vtab *base);
int rows_best_index(sqlite3_vtab *base, sqlite3_index_info *info);
int rows_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out);
int rows_close(sqlite3_vtab_cursor *base);
int rows_filter(sqlite3_vtab_cursor *base, int number, const char *words, int argc,
		sqlite3_value **argv);
int rows_next(sqlite3_vtab_cursor *base);
int rows_eof(sqlite3_vtab_cursor *base);
int rows_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int i);
int rows_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out);
void cell_result(const struct cell *cell, sqlite3_context *out);

#endif

/*
 * rows.h - tables whose rows a scan makes all at once
 *
 * For tables whose rows are few: one module, sql_rows_module, and a `struct rows_kind` for each.
 */
#ifndef SQL_TABLES_ROWS_H
#define SQL_TABLES_ROWS_H

#include "rows/row_list.h"
#include "sql/sql_internal.h"

struct rows_kind {
	const struct row_table *table; /* columns and rows are those; NULL: the rest counts */
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

extern const struct rows_kind rows_do, rows_notes;

#endif

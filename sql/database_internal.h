/* database_internal.h - a connection: for database.c, plain.c and suggest.c, linked with SQLite */
#ifndef SQL_DATABASE_INTERNAL_H
#define SQL_DATABASE_INTERNAL_H

#include "sql/extension.h"
#include "sql/sql.h"

#include <sqlite3.h>

struct sql {
	sqlite3 *db;
	struct sql_options options;  /* index NULL: a database without a trace */
	struct sql_context *context; /* referenced by SQLite's modules, which free it */
};

/* Sets *err from SQLite's message on its last call, which returned `code`. Returns false. */
bool sql_failed(const struct sql *sql, int code, struct error *err);
/*
 * Appends a hint to *out if SQLite's message says that a name is unknown ("no such column: nam"):
 * ": did you mean ...", and the command that lists all. False: no hint. *in_trace: the name is that
 * of a table or a column, which would come from the trace.
 */
bool sql_suggest(const struct sql *sql, const char *message, const char *statement, struct buf *out,
		 bool *in_trace);

#endif

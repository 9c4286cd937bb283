/* database_internal.h - a connection, for the files of the room that are linked with SQLite */
#ifndef SQL_DATABASE_INTERNAL_H
#define SQL_DATABASE_INTERNAL_H

#include "sql/extension.h"
#include "sql/sql.h"

#include <sqlite3.h>

struct sql {
	sqlite3 *db;
	struct sql_options options;  /* index NULL: it has no trace */
	struct sql_context *context; /* SQLite's modules hold it */
};

/* What SQLite says of its last call. Returns false. */
bool sql_failed(const struct sql *sql, int code, struct error *err);
/*
 * Of SQLite's message about a statement: "no such column: nam". Adds ": did you mean ...", and what
 * lists all. False: the message is of something else. *in_trace is set when the name is one that
 * the trace would give: a table's or a column's.
 */
bool sql_suggest(const struct sql *sql, const char *message, const char *statement, struct buf *out,
		 bool *in_trace);

#endif

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

#endif

/*
 * extension.h - registers tables and functions with a connection, in yore or as a loaded module
 *
 * This header uses no type of SQLite's: database.c includes sqlite3.h, other files sqlite3ext.h.
 */
#ifndef SQL_EXTENSION_H
#define SQL_EXTENSION_H

#include "sql/sql.h"

struct sqlite3;

/* ERR_RANGE as an extended code of SQLITE_ERROR: the trace or the rules have no such name. */
enum { SQL_CODE_RANGE = 1 | 100 << 8 };

struct sqlite3_api_routines;
struct sql_context;

/* An entry point for sqlite3_auto_extension(): stores the table of SQLite's functions. */
int sql_extension_take(struct sqlite3 *db, char **message, const struct sqlite3_api_routines *api);
/*
 * Registers functions, tables that take a path (yore_events('PATH')), and with options->index the
 * tables of that trace. *out is borrowed and lives as long as the connection. Returns an SQLite
 * code.
 */
int sql_extension_open(struct sqlite3 *db, const struct sql_options *options,
		       struct sql_context **out);
/*
 * To be called before a statement is prepared. If the trace has many event classes, registers the
 * tables of those that `text` names. Returns an SQLite code.
 */
int sql_extension_names(struct sqlite3 *db, struct sql_context *context, const char *text);
/*
 * Rewrites the statement to read from a folded table (sql/fold/fold.h), which is registered until
 * sql_extension_unfold(*out). NULL: it cannot be folded. The caller frees the text with mem_free().
 */
struct fold;
char *sql_extension_fold(struct sqlite3 *db, struct sql_context *context, const char *text,
			 size_t len, struct fold **out);
void sql_extension_in_parts(struct sql_context *context, bool on);
void sql_extension_set_partials(struct fold *fold, struct partial_work *partials);
void sql_extension_unfold(struct sqlite3 *db, struct fold *fold); /* NULL is fine */
/* As sql_follows(), for the text of a statement. */
MUST_CHECK bool sql_extension_follows(struct sqlite3 *db, struct sql_context *context,
				      const char *text, struct error *err);
const char *sql_extension_table(const struct sql_context *context, size_t i);

#endif

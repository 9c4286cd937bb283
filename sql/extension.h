/*
 * extension.h - how the tables come to a connection: as a module that SQLite loads, or in yore
 *
 * No type of SQLite's headers stands here: one user includes sqlite3.h, the other sqlite3ext.h.
 */
#ifndef SQL_EXTENSION_H
#define SQL_EXTENSION_H

#include "sql/sql.h"

struct sqlite3;

/* An extended code of SQLITE_ERROR: the trace or the rules have no such name, ERR_RANGE. */
enum { SQL_CODE_RANGE = 1 | 100 << 8 };

struct sqlite3_api_routines;
struct sql_context;

/* An entry point for sqlite3_auto_extension(): only takes SQLite's functions. */
int sql_extension_take(struct sqlite3 *db, char **message, const struct sqlite3_api_routines *api);
/*
 * The functions and the tables that are told paths, and with options->index the tables of that
 * trace; borrowed *out lives as long as the connection.
 */
int sql_extension_open(struct sqlite3 *db, const struct sql_options *options,
		       struct sql_context **out);
/*
 * Before a statement is prepared: of a trace with many event classes the tables that it names are
 * registered. An SQLite code.
 */
int sql_extension_names(struct sqlite3 *db, struct sql_context *context, const char *text);
/*
 * The statement over a folded table (sql/fold/fold.h), which is registered until
 * sql_extension_unfold(); NULL: it is not of that form. The caller frees the text with mem_free().
 */
struct fold;
char *sql_extension_fold(struct sqlite3 *db, struct sql_context *context, const char *text,
			 size_t len, struct fold **out);
void sql_extension_in_parts(struct sql_context *context, bool on);
void sql_extension_set_partials(struct fold *fold, struct partial_work *partials);
void sql_extension_unfold(struct sqlite3 *db, struct fold *fold); /* NULL is fine */
/* As sql_follows(), of a statement's text. */
MUST_CHECK bool sql_extension_follows(struct sqlite3 *db, struct sql_context *context,
				      const char *text, struct error *err);
const char *sql_extension_table(const struct sql_context *context, size_t i);

#endif

/* suggest.h - names like one that a statement has and the database has not */
#ifndef SQL_SUGGEST_H
#define SQL_SUGGEST_H

#include "engine/base/buf.h"

#include <stdbool.h>

struct sqlite3;
struct sql_context;

/*
 * Of SQLite's message about a statement: "no such column: nam". Adds ": did you mean ...", and what
 * lists all. False: the message is of something else. *in_trace is set when the name is one that
 * the trace would give: a table's or a column's.
 */
bool sql_suggest(struct sqlite3 *db, const struct sql_context *context, const char *message,
		 const char *statement, struct buf *out, bool *in_trace);

/* Does the text have the word, in any case, with no letter, digit or _ beside it? */
bool sql_has_word(const char *statement, const char *word);

/*
 * SQLite's functions of dates take days, and a time of a trace has none that they know: NULL. The
 * function that the statement gives one to, "time", and its column, "ts"; NULL: it gives none.
 */
const char *sql_time_misused(const char *statement, const char **column);

/* Columns of the tables that the text has the names of, and functions. */
void sql_suggest_names(struct sqlite3 *db, const struct sql_context *context, const char *text,
		       void (*each)(void *arg, const char *name), void *arg);

#endif

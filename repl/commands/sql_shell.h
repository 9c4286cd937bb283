/*
 * sql_shell.h - runs SQL as people type it: statements, and dot-commands such as .tables
 *
 * A session has one shell, so that `.format`, `.timer` and temporary tables last from line to line.
 */
#ifndef REPL_COMMANDS_SQL_SHELL_H
#define REPL_COMMANDS_SQL_SHELL_H

#include "repl/render/render.h"
#include "repl/session.h"
#include "sql/sql.h"

#include <sys/resource.h>
#include <time.h>

struct sql_shell;

/* The session's shell, which is opened, with the trace, in the first call. The session frees it. */
MUST_CHECK struct sql_shell *sql_shell_get(struct session *session, struct error *err);
void sql_shell_free(struct sql_shell *shell); /* NULL is fine */

/* Runs statements and dot-commands; a statement may go over several lines. */
MUST_CHECK bool sql_shell_run(struct sql_shell *shell, const char *text, struct sink *sink,
			      struct error *err);
/* The same with text from an open file; runs each statement once it is read. */
MUST_CHECK bool sql_shell_read(struct sql_shell *shell, int fd, const char *name, struct sink *sink,
			       struct error *err);
/* .timer on: sql_shell_took() prints the time since took_begin(). `shell` may be NULL. */
struct took {
	struct timespec real;
	struct rusage used;
};
void took_begin(struct took *took);
void sql_shell_took(const struct sql_shell *shell, const struct took *begin, struct sink *sink);

/*
 * Calls `each` for the arguments of the dot-command `name`, or with "" for all dot-commands. False:
 * its arguments are file names.
 */
bool sql_shell_setting_words(struct session *session, const char *name,
			     void (*each)(void *arg, const char *word), void *arg);
/* sql_dot.c: runs a line that begins with a dot. */
MUST_CHECK bool sql_shell_dot(struct sql_shell *shell, const char *line, struct sink *sink,
			      struct error *err);

/* shared with the dot-commands */

struct sql_shell {
	struct session *session;
	struct sql *sql;
	bool has_format; /* `format` is set, by .format; else --format holds */
	enum format format;
	bool timer;
};

/* The format of rows: as set by .format or --format, else a table on a terminal. */
enum format sql_shell_format(const struct sql_shell *shell, const struct sink *sink);
/* Writes rows of statements with the same columns. Set sink and format, zero the rest. */
struct sql_rows {
	struct sink *sink;
	enum format format;

	bool begun, any, cells;
	struct arena *arena; /* holds the columns, with copies of their names */
	struct table_column *columns;
	size_t ncolumns;
	struct rows rows;
};
/* Writes all rows of the statement. False: *err; if the first row failed, nothing was written. */
MUST_CHECK bool sql_rows_add(struct sql_rows *out, struct sql_statement *statement,
			     struct error *err);
/* Does the statement have the columns of the rows before? */
bool sql_rows_fit(const struct sql_rows *out, const struct sql_statement *statement);
void sql_rows_end(struct sql_rows *out,
		  struct session *session); /* also without rows, if `sink` is set */

/* Writes all rows of a statement in the shell's format. */
MUST_CHECK bool sql_rows_write(const struct sql_shell *shell, struct sql_statement *statement,
			       struct sink *sink, struct error *err);
/* Appends the text in quotes; quotes within it are doubled. */
void sql_quote(struct buf *out, const char *text, char quote);

#endif

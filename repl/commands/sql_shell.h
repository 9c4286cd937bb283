/*
 * sql_shell.h - SQL as people type it: statements, and words that begin with a dot
 *
 * One per session, so that `.format`, `.timer` and temporary tables last from line to line.
 */
#ifndef REPL_COMMANDS_SQL_SHELL_H
#define REPL_COMMANDS_SQL_SHELL_H

#include "repl/render/render.h"
#include "repl/session.h"
#include "sql/sql.h"

#include <sys/resource.h>
#include <time.h>

struct sql_shell;

/* The session's, opened with its trace when first asked for; ends with the session. */
MUST_CHECK struct sql_shell *sql_shell_get(struct session *session, struct error *err);
void sql_shell_free(struct sql_shell *shell); /* NULL is fine */

/* Runs statements and dot-commands; a statement may go over several lines. */
MUST_CHECK bool sql_shell_run(struct sql_shell *shell, const char *text, struct sink *sink,
			      struct error *err);
/* The same from a file that is open, as it comes. */
MUST_CHECK bool sql_shell_read(struct sql_shell *shell, int fd, const char *name, struct sink *sink,
			       struct error *err);
/* With `.timer on`: how long what is done between the two took. NULL: there is no shell. */
struct took {
	struct timespec real;
	struct rusage used;
};
void took_begin(struct took *took);
void sql_shell_took(const struct sql_shell *shell, const struct took *begin, struct sink *sink);

/*
 * What may stand behind `name`, a word that begins with a dot, or, with "", all such words. False:
 * names of files.
 */
bool sql_shell_setting_words(struct session *session, const char *name,
			     void (*each)(void *arg, const char *word), void *arg);
/* repl/commands/sql_dot.c: a line that begins with a dot. */
MUST_CHECK bool sql_shell_dot(struct sql_shell *shell, const char *line, struct sink *sink,
			      struct error *err);

/* What the shell and its dot-commands share */

struct sql_shell {
	struct session *session;
	struct sql *sql;
	bool has_format; /* .format was said; else --format */
	enum format format;
	bool timer;
};

/* How rows are written there: a table on a terminal, unless something else was asked for. */
enum format sql_shell_format(const struct sql_shell *shell, const struct sink *sink);
/* Rows of one statement, or of the same one run again and again: fill the upper part, zero the
 * rest. */
struct sql_rows {
	struct sink *sink;
	enum format format;

	bool begun, any, cells;
	struct arena *arena; /* of the columns, whose names are copies */
	struct table_column *columns;
	size_t ncolumns;
	struct rows rows;
};
/* All rows that the statement has. False: *err; nothing was written if the first one failed. */
MUST_CHECK bool sql_rows_add(struct sql_rows *out, struct sql_statement *statement,
			     struct error *err);
/* Has the statement the columns of the rows that were written? */
bool sql_rows_fit(const struct sql_rows *out, const struct sql_statement *statement);
void sql_rows_end(struct sql_rows *out,
		  struct session *session); /* of zeroed bytes, too, with a sink */

/* Writes all rows of a statement as the shell has them. */
MUST_CHECK bool sql_rows_write(const struct sql_shell *shell, struct sql_statement *statement,
			       struct sink *sink, struct error *err);
/* The text in quotes, which are doubled in it. */
void sql_quote(struct buf *out, const char *text, char quote);

#endif

/*
 * sql_shell.h - SQL as people type it: statements, and words that begin with a dot
 *
 * One per session, so that `.mode`, `.timer` and temporary tables last from line to line.
 */
#ifndef REPL_SQL_SHELL_H
#define REPL_SQL_SHELL_H

#include "repl/session.h"
#include "repl/sink.h"

struct sql_shell;

/* The session's, opened with its trace when first asked for; ends with the session. */
struct sql_shell *sql_shell_get(struct session *session, struct error *err);
void sql_shell_free(struct sql_shell *shell); /* NULL is fine */

/* Runs statements and dot-commands; a statement may go over several lines. */
MUST_CHECK bool sql_shell_run(struct sql_shell *shell, const char *text, struct sink *sink,
			      struct error *err);
/* The same from a file that is open, as it comes. */
MUST_CHECK bool sql_shell_read(struct sql_shell *shell, int fd, const char *name, struct sink *sink,
			       struct error *err);
/* repl/sql_dot.c: a line that begins with a dot. */
MUST_CHECK bool sql_shell_dot(struct sql_shell *shell, const char *line, struct sink *sink,
			      struct error *err);

#endif

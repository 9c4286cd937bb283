/* sql_shell_internal.h - what the shell and its dot-commands share */
#ifndef REPL_SQL_SHELL_INTERNAL_H
#define REPL_SQL_SHELL_INTERNAL_H

#include "repl/sql_shell.h"
#include "sql/sql.h"

struct sql_shell {
	struct session *session;
	struct sql *sql;
	bool has_mode; /* .mode was said; else --format */
	enum format mode;
	bool timer;
	char *null;     /* what stands for NULL; NULL: nothing else than usual */
	unsigned width; /* columns that tables have at most; 0: the terminal's */
	char *once;     /* file that the next answer goes to */
	unsigned depth; /* of .read */
};

/* How rows are written there: a table on a terminal, unless something else was asked for. */
enum format sql_shell_format(const struct sql_shell *shell, const struct sink *sink);
/* Writes all rows of a statement as the shell has them. */
MUST_CHECK bool sql_rows_write(const struct sql_shell *shell, struct sql_statement *statement,
			       struct sink *sink, struct error *err);

#endif

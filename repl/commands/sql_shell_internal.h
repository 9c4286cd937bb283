/* sql_shell_internal.h - what the shell and its dot-commands share */
#ifndef REPL_COMMANDS_SQL_SHELL_INTERNAL_H
#define REPL_COMMANDS_SQL_SHELL_INTERNAL_H

#include "repl/render/render.h"
#include "repl/commands/sql_shell.h"
#include "sql/sql.h"

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

#endif

/* catalog.h - finds the traces for `catalog` and `sql --catalog`, and describes one as a row */
#ifndef REPL_COMMANDS_CATALOG_H
#define REPL_COMMANDS_CATALOG_H

#include "engine/base/folder.h"
#include "repl/session.h"
#include "sql/sql.h"

/* The table in which `catalog --to` writes, and its column of paths. */
#define CATALOG_TABLE "traces"
#define CATALOG_PATH "path"

/*
 * Adds the paths of the traces that `word` means: a trace, a folder (see find_traces()), or a file
 * of `catalog --to`. The caller ends *out with folder_release(), also after false.
 */
MUST_CHECK bool catalog_traces(const char *word, struct folder_names *out, struct error *err);

/*
 * False, ERR_QUERY: an option makes no sense with many traces, or the command runs in the prompt.
 * `what`: the command for the message, such as "catalog".
 */
MUST_CHECK bool catalog_check(const struct session *session, const char *what, struct error *err);

/* How many parts of the session's trace could not be read so far. */
uint64_t catalog_damaged(const struct session *session);

/* Columns of the table `traces`, in this order. */
enum catalog_column {
	CATALOG_AT_PATH,
	CATALOG_FORMAT,
	CATALOG_VERSION,
	CATALOG_HOST,
	CATALOG_IDENTITY,
	CATALOG_UUID,
	CATALOG_CLOCK,
	CATALOG_CLOCK_OFFSET,
	CATALOG_BEGIN,
	CATALOG_END,
	CATALOG_DURATION,
	CATALOG_EVENTS,
	CATALOG_BYTES,
	CATALOG_STREAMS,
	CATALOG_PACKETS,
	CATALOG_LOST,
	CATALOG_DAMAGED,
	CATALOG_CAN,
	CATALOG_GATHERED, /* a worker sends the columns above; the parent fills in the others */
	CATALOG_INDEX_BYTES = CATALOG_GATHERED,
	CATALOG_TIMELINES_BYTES,
	CATALOG_ERROR,
	CATALOG_COLUMNS
};
extern const struct sql_column catalog_columns[CATALOG_COLUMNS];

/*
 * Opens the session's trace, and fills values[0 .. CATALOG_GATHERED). Texts live in the session's
 * arena. `count`: if packets do not say how many events there are, reads the trace to count them.
 */
MUST_CHECK bool catalog_describe(struct session *session, bool count, struct sql_value *values,
				 struct error *err);

#endif

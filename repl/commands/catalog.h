/* catalog.h - which traces `catalog` and `sql --catalog` are of, and what a catalog says of one */
#ifndef REPL_COMMANDS_CATALOG_H
#define REPL_COMMANDS_CATALOG_H

#include "engine/base/folder.h"
#include "repl/session.h"
#include "sql/sql.h"

/* The table, and the column of it, in which `catalog --to` writes paths. */
#define CATALOG_TABLE "traces"
#define CATALOG_PATH "path"

/*
 * Adds the paths of the traces that a word names: a folder or trace, see find_traces(), or a file
 * of `catalog --to`. The caller ends *out with folder_release(), also after false.
 */
MUST_CHECK bool catalog_traces(const char *word, struct folder_names *out, struct error *err);

/*
 * Options that make no sense with many traces, and the prompt, whose trace is open: ERR_QUERY.
 * `what` is the command: "catalog".
 */
MUST_CHECK bool catalog_check(const struct session *session, const char *what, struct error *err);

/* Parts of the session's trace that could not be read so far. */
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
	CATALOG_GATHERED, /* a worker gives those above, the parent knows the others */
	CATALOG_INDEX_BYTES = CATALOG_GATHERED,
	CATALOG_TIMELINES_BYTES,
	CATALOG_ERROR,
	CATALOG_COLUMNS
};
extern const struct sql_column catalog_columns[CATALOG_COLUMNS];

/*
 * Fills values[0 .. CATALOG_GATHERED) of the session's trace, which is opened for it. Texts live in
 * the session's arena. `count`: all events are counted, where their number is not known.
 */
MUST_CHECK bool catalog_describe(struct session *session, bool count, struct sql_value *values,
				 struct error *err);

#endif

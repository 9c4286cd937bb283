/* catalog_rows.h - what a catalog says of one trace */
#ifndef REPL_COMMANDS_CATALOG_ROWS_H
#define REPL_COMMANDS_CATALOG_ROWS_H

#include "repl/session.h"
#include "sql/sql.h"

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

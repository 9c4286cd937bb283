/*
 * lookup.h - the value of one attribute at one moment after the other
 *
 * A value alone costs what `yore at` does for it. A query asks row after row, though, and its rows
 * mostly rise or fall in time: where the next moment lies near (80 us), the intervals around it are
 * kept, in a window that grows while the next moment lies just behind it.
 */
#ifndef SQL_TABLES_LOOKUP_H
#define SQL_TABLES_LOOKUP_H

#include "sql/sql_internal.h"

struct lookups;

void lookups_free(struct lookups *lookups); /* NULL is fine */
/*
 * The interval of `path` (without wildcards) that holds `t`; *out is NULL where there is none or
 * it is not known, else borrowed until the next call.
 */
MUST_CHECK bool lookup_at(struct sql_host *host, const char *path, nstime t,
			  const struct interval **out, struct error *err);

/* The value alone; *out is NULL where it is not known, else borrowed until the next call. */
MUST_CHECK bool lookup_value_at(struct sql_host *host, const char *path, nstime t,
				const struct value **out, struct error *err);

/* A value as SQL has it: integers are the 64 bits, booleans 1 and 0, unknown and none NULL. */
void sql_result_state(sqlite3_context *out, const struct value *value);

#endif

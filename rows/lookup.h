/*
 * lookup.h - values of attributes at moments, with a cache of windows of time
 *
 * A single value costs as much as `yore at`. But a query looks up row after row, mostly in order of
 * time. If a moment lies near the last one (80 us at first), the intervals around it are read into
 * a window, which grows while the next moments lie just outside of it.
 */
#ifndef ROWS_LOOKUP_H
#define ROWS_LOOKUP_H

#include "rows/row_host.h"
#include "state/model/value.h"

struct interval;

/*
 * The interval of `path` (without wildcards) that contains `t`, borrowed until the next call; *out
 * is NULL if the attribute has no value or an unknown one.
 */
MUST_CHECK bool lookup_at(struct row_host *host, const char *path, nstime t,
			  const struct interval **out, struct error *err);
/* The value at `t`, borrowed until the next call; *out is NULL if there is none. */
MUST_CHECK bool lookup_value_at(struct row_host *host, const char *path, nstime t,
				const struct value **out, struct error *err);
void lookups_free(struct lookups *lookups); /* NULL is fine */

#endif

/* call_counts.h - of calls whose end is not known: how many there are, and why it is not known */
#ifndef ROWS_CALL_COUNTS_H
#define ROWS_CALL_COUNTS_H

#include "rows/calls.h"

struct call_counts {
	uint64_t all, without[PAIR_ENDS];
	uint64_t nameless; /* entries of no known thread, which are no rows */
};

/* A call became unknown at `t`: counts it by what the streams lack then. */
MUST_CHECK bool call_counts_unknown(struct call_counts *counts, const struct row_host *host,
				    nstime t, struct error *err);
/* Notes how many calls have no end, and why; of one thread, or (`tid` NULL) of all. */
void call_counts_note(const struct call_counts *counts, struct row_host *host, const int64_t *tid);

#endif

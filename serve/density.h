/* density.h - numbers of events, and use of CPUs, per column of a range */
#ifndef SERVE_DENSITY_H
#define SERVE_DENSITY_H

#include "serve/serving.h"

/*
 * [begin, end) in columns of equal time; columns_of() makes fewer than `count` rather than columns
 * below 1 ns.
 */
struct time_columns {
	nstime begin, end;
	uint32_t count;
};
struct time_columns columns_of(nstime begin, nstime end, uint32_t count);
nstime columns_time(const struct time_columns *columns,
		    uint32_t i); /* begin of column i; i == count: the end of the range */

/*
 * Sets out[i] to the number of events in column i; with `where` (may be NULL) of those for which it
 * is true. In a long range of a large trace, an event may be counted in the column beside its own.
 */
MUST_CHECK bool density_events(struct served_request *request, const struct time_columns *columns,
			       const char *where, double *out);

/* The share of each column's time in which a CPU ran a thread. */
struct cpu_use {
	char *path;    /* cpu[0]/thread */
	double *share; /* NAN: not known */
};
struct cpu_uses {
	struct cpu_use *items;
	size_t count, capacity;
};
/* The caller frees *out with cpu_uses_release(), also on failure. */
MUST_CHECK bool density_cpus(struct served_request *request, const struct time_columns *columns,
			     struct cpu_uses *out);
void cpu_uses_release(struct cpu_uses *uses);

#endif

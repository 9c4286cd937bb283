/* density.h - how many events, and how busy CPUs, in each of many stretches of a range */
#ifndef SERVE_DENSITY_H
#define SERVE_DENSITY_H

#include "serve/serving.h"

/* [begin, end) in columns of equal time; none is shorter than 1 ns. */
struct time_columns {
	nstime begin, end;
	uint32_t count;
};
struct time_columns columns_of(nstime begin, nstime end, uint32_t count);
nstime columns_time(const struct time_columns *columns,
		    uint32_t i); /* where it begins; i == count: the end */

/*
 * Into out[], of columns->count: events in each; with `where` (may be NULL) those for which it is
 * true. Of a long range of a large trace an event may be in the column beside its own.
 */
MUST_CHECK bool density_events(struct served_request *request, const struct time_columns *columns,
			       const char *where, double *out);

/* Of a CPU: which share of each column's time a thread ran. */
struct cpu_use {
	char *path;    /* cpu[0]/thread */
	double *share; /* NAN: not known */
};
struct cpu_uses {
	struct cpu_use *items;
	size_t count, capacity;
};
/* The caller ends *out with cpu_uses_release(), also when it fails. */
MUST_CHECK bool density_cpus(struct served_request *request, const struct time_columns *columns,
			     struct cpu_uses *out);
void cpu_uses_release(struct cpu_uses *uses);

#endif

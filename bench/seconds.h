/* seconds.h - what rounds took, for the programs here */
#ifndef BENCH_SECONDS_H
#define BENCH_SECONDS_H

#include <time.h>

static inline double seconds_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* For qsort(). */
static inline int seconds_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

#endif

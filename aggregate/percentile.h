/* percentile.h - percentiles of numbers by nearest rank: always one of the numbers */
#ifndef AGGREGATE_PERCENTILE_H
#define AGGREGATE_PERCENTILE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * The least of `count` (> 0) numbers that `percent` percent of them do not exceed. Reorders the
 * array; takes linear time.
 */
int64_t percentile(int64_t *numbers, size_t count, double percent);

/* The rank of that percentile among `count` (> 0) sorted numbers, from 0. */
size_t percentile_rank(size_t count, double percent);

/* Maps a double to an integer that sorts in the same order, and back. */
static inline int64_t real_to_ordered(double real)
{
	int64_t bits;

	memcpy(&bits, &real, sizeof bits);
	return bits ^ (bits >> 63 & INT64_MAX);
}

static inline double real_from_ordered(int64_t bits)
{
	double real;

	bits ^= bits >> 63 & INT64_MAX;
	memcpy(&real, &bits, sizeof real);
	return real;
}

#endif

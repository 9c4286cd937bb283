/* percentile.h - percentiles of numbers by nearest rank: always one of the numbers */
#ifndef AGGREGATE_PERCENTILE_H
#define AGGREGATE_PERCENTILE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * The least of `count` numbers, at least one, that `percent` percent of them do not exceed. Moves
 * them; takes time in proportion to their number.
 */
int64_t percentile(int64_t *numbers, size_t count, double percent);

/* Which of `count` numbers that is, at least one, from 0 in rising order. */
size_t percentile_rank(size_t count, double percent);

/* A real number as an integer, in the same order, and back again. */
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

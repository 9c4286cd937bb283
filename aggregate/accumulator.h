/*
 * accumulator.h - counts, sums, extremes and histograms of the numbers of one group
 *
 * Sums are exact: 128 bits hold the sum of more 64-bit numbers than a trace can have events.
 */
#ifndef AGGREGATE_ACCUMULATOR_H
#define AGGREGATE_ACCUMULATOR_H

#include "state/model/value.h"

enum aggregate_kind {
	AGGREGATE_COUNT,
	AGGREGATE_SUM,
	AGGREGATE_MAGNITUDE, /* sum of |x| */
	AGGREGATE_MIN,
	AGGREGATE_MAX,
	AGGREGATE_LOG2,   /* a histogram: each power of two has 2^bits buckets */
	AGGREGATE_LINEAR, /* a histogram: buckets of `step` from `low` to below `high` */
	AGGREGATE_VALUE   /* one value, set by the owner of the accumulator; no numbers */
};

struct aggregate {
	enum aggregate_kind kind;
	unsigned bits;
	int64_t low, high, step;
};

/* Zero-filled it is empty. The owner of a histogram provides aggregate_buckets() zeroed buckets. */
struct accumulator {
	uint64_t count; /* how many numbers were accumulated */
	uint64_t
		*buckets; /* borrowed; the first and last count numbers below and above the range */
	union {
		__int128 number;    /* the sum, or the least or greatest where `count` is not 0 */
		struct value value; /* VALUE */
	};
};

/* How many buckets the aggregate has; 0: it is no histogram. */
uint32_t aggregate_buckets(const struct aggregate *of);
/* The bucket of a LOG2 or LINEAR histogram that counts the number. */
uint32_t aggregate_bucket(const struct aggregate *of, __int128 number);

/* Adds one number. Not for kind VALUE. */
static inline void accumulate(const struct aggregate *of, struct accumulator *to, __int128 number)
{
	switch (of->kind) {
	case AGGREGATE_SUM:
		to->number += number;
		break;
	case AGGREGATE_MAGNITUDE:
		to->number += number < 0 ? -number : number;
		break;
	case AGGREGATE_MIN:
		to->number = !to->count || number < to->number ? number : to->number;
		break;
	case AGGREGATE_MAX:
		to->number = !to->count || number > to->number ? number : to->number;
		break;
	case AGGREGATE_LOG2:
	case AGGREGATE_LINEAR:
		to->buckets[aggregate_bucket(of, number)]++;
		break;
	case AGGREGATE_COUNT:
	case AGGREGATE_VALUE:
		break;
	}
	to->count++;
}

/* Adds all numbers of `from` to `to`. VALUEs that are integers are added, and wrap around. */
void accumulator_join(const struct aggregate *of, struct accumulator *to,
		      const struct accumulator *from);
/* Empties the accumulator: count, number and buckets become 0. */
void accumulator_clear(const struct aggregate *of, struct accumulator *total);

struct bucket { /* [low, high) */
	bool has_low, has_high;
	__int128 low, high;
	uint64_t count;
};
struct bucket accumulator_bucket(const struct aggregate *of, const struct accumulator *total,
				 uint32_t i);
/* Returns the first bucket that is not empty; *end is one behind the last that is not empty. */
uint32_t accumulator_buckets(const struct aggregate *of, const struct accumulator *total,
			     uint32_t *end);

#endif

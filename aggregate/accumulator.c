/* accumulator.c - see accumulator.h */
#include "aggregate/accumulator.h"

#include <string.h>

uint32_t aggregate_buckets(const struct aggregate *of)
{
	if (of->kind == AGGREGATE_LOG2)
		return ((65 - of->bits) << of->bits) + 1;
	if (of->kind == AGGREGATE_LINEAR)
		return (uint32_t)(((__int128)of->high - of->low) / of->step) + 2;
	return 0;
}

/* Bucket 0 is of what is below 0. */
static uint32_t log2_bucket(__int128 number, unsigned bits)
{
	uint32_t n = 1U << bits;

	if (number < 0)
		return 0;
	if (number < 2 * n)
		return (uint32_t)number + 1;
	unsigned power = 63 - (unsigned)__builtin_clzll((uint64_t)number) - bits;
	return ((power + 1) << bits) + ((uint32_t)(number >> power) & (n - 1)) + 1;
}

uint32_t aggregate_bucket(const struct aggregate *of, __int128 number)
{
	if (of->kind == AGGREGATE_LOG2)
		return log2_bucket(number, of->bits);
	if (number < of->low)
		return 0;
	if (number >= of->high)
		return aggregate_buckets(of) - 1;
	return (uint32_t)((number - of->low) / of->step) + 1;
}

/* The least number of a LOG2 bucket, i > 0. */
static __int128 log2_low(uint32_t i, unsigned bits)
{
	uint32_t n = 1U << bits, at = i - 1;

	return at <= 2 * n ? at : ((__int128)1 << ((at >> bits) - 1)) * (n + (at & (n - 1)));
}

struct bucket accumulator_bucket(const struct aggregate *of, const struct accumulator *total,
				 uint32_t i)
{
	bool is_last = i + 1 == aggregate_buckets(of);
	struct bucket out = {.has_low = i > 0, .has_high = true, .count = total->buckets[i]};

	if (of->kind == AGGREGATE_LOG2) {
		out.low = i ? log2_low(i, of->bits) : 0;
		out.high = !i ? 0 : is_last ? (__int128)1 << 64 : log2_low(i + 1, of->bits);
		return out;
	}
	out.low = of->low + ((__int128)i - 1) * of->step;
	out.high = out.low + of->step;
	if (out.high > of->high) {
		out.has_high = !is_last;
		out.high = of->high;
	}
	return out;
}

uint32_t accumulator_buckets(const struct aggregate *of, const struct accumulator *total,
			     uint32_t *end)
{
	uint32_t first = 0;

	*end = aggregate_buckets(of);
	while (first < *end && !total->buckets[first])
		first++;
	while (*end > first && !total->buckets[*end - 1])
		--*end;
	return first;
}

void accumulator_join(const struct aggregate *of, struct accumulator *to,
		      const struct accumulator *from)
{
	bool is_first = from->count && !to->count;

	switch (of->kind) {
	case AGGREGATE_SUM:
	case AGGREGATE_MAGNITUDE:
		to->number += from->number;
		break;
	case AGGREGATE_MIN:
		if (is_first || (from->count && from->number < to->number))
			to->number = from->number;
		break;
	case AGGREGATE_MAX:
		if (is_first || (from->count && from->number > to->number))
			to->number = from->number;
		break;
	case AGGREGATE_LOG2:
	case AGGREGATE_LINEAR:
		for (uint32_t i = 0; i < aggregate_buckets(of); i++)
			to->buckets[i] += from->buckets[i];
		break;
	case AGGREGATE_VALUE:
		to->value = value_wrapped(value_integer(&to->value) + value_integer(&from->value));
		break;
	case AGGREGATE_COUNT:
		break;
	}
	to->count += from->count;
}

void accumulator_clear(const struct aggregate *of, struct accumulator *total)
{
	uint64_t *buckets = total->buckets;

	if (buckets)
		memset(buckets, 0, aggregate_buckets(of) * sizeof *buckets);
	*total = (struct accumulator){.buckets = buckets};
}

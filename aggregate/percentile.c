/* percentile.c - see percentile.h */
#include "aggregate/percentile.h"

#include <math.h>

/* The byte at `shift`, with the sign bit flipped, so that bytes sort as the numbers do. */
static inline unsigned byte_of(int64_t number, unsigned shift)
{
	return ((uint64_t)number ^ UINT64_C(1) << 63) >> shift & 0xff;
}

/* Moves the numbers whose byte at `shift` is `byte` to the front; returns how many. */
static size_t percentile_gather(int64_t *numbers, size_t count, unsigned shift, unsigned byte)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		int64_t number = numbers[i];

		if (byte_of(number, shift) != byte)
			continue;
		numbers[i] = numbers[n];
		numbers[n++] = number;
	}
	return n;
}

/* The shift of the highest byte in which the numbers differ. */
static unsigned first_shift(const int64_t *numbers, size_t count)
{
	uint64_t differing = 0;

	for (size_t i = 1; i < count; i++)
		differing |= (uint64_t)(numbers[i] ^ numbers[0]);
	return differing ? (63 - (unsigned)__builtin_clzll(differing)) / 8 * 8 : 0;
}

size_t percentile_rank(size_t count, double percent)
{
	double exact = ceil(percent / 100 * (double)count);
	size_t rank = exact < 1 ? 0 : (size_t)exact - 1;

	return rank < count ? rank : count - 1;
}

/* Radix selection: from the highest differing byte down, keeps the bucket that holds the rank. */
int64_t percentile(int64_t *numbers, size_t count, double percent)
{
	size_t rank = percentile_rank(count, percent);

	for (unsigned shift = first_shift(numbers, count); count > 1; shift -= 8) {
		size_t counts[256] = {0};
		unsigned byte = 0;

		for (size_t i = 0; i < count; i++)
			counts[byte_of(numbers[i], shift)]++;
		while (rank >= counts[byte])
			rank -= counts[byte++];
		count = percentile_gather(numbers, count, shift, byte);
		if (!shift)
			break;
	}
	return numbers[0];
}

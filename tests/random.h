/* random.h - random numbers of tests: the same on every run */
#ifndef TESTS_RANDOM_H
#define TESTS_RANDOM_H

#include <stdint.h>

/* The next one of splitmix64; *state is any seed. */
static inline uint64_t next_random(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

#endif

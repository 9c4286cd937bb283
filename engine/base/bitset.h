/* bitset.h - sets of small numbers: a bit each, 64 of them in a word */
#ifndef ENGINE_BASE_BITSET_H
#define ENGINE_BASE_BITSET_H

#include "engine/base/mem.h"

#include <stdbool.h>
#include <stdint.h>

/* An empty set of numbers below `count`; to be freed with mem_free(). */
static inline uint64_t *bitset_new(size_t count)
{
	return mem_new_array(count / 64 + 1, sizeof(uint64_t));
}

static inline void bitset_add(uint64_t *set, size_t i)
{
	set[i / 64] |= UINT64_C(1) << i % 64;
}

static inline void bitset_remove(uint64_t *set, size_t i)
{
	set[i / 64] &= ~(UINT64_C(1) << i % 64);
}

static inline bool bitset_has(const uint64_t *set, size_t i)
{
	return set[i / 64] >> i % 64 & 1;
}

/*
 * Sets *i to the least number of the set that is *i or more; false: there is none. `words`: length
 * of the set in 64-bit words.
 *
 *     for (size_t i = 0; bitset_next(set, words, &i); i++)
 */
static inline bool bitset_next(const uint64_t *set, size_t words, size_t *i)
{
	size_t word = *i / 64;
	uint64_t bits = word < words ? set[word] & UINT64_MAX << *i % 64 : 0;

	while (!bits) {
		if (++word >= words)
			return false;
		bits = set[word];
	}
	*i = word * 64 + (unsigned)__builtin_ctzll(bits);
	return true;
}

#endif

/*
 * exp_golomb.h - rising numbers as what lies between neighbours: exponential Golomb codes of order
 * k
 *
 *     gap g, x = (g >> k) + 1 of n + 1 bits:   n zeros, a one, then the low n bits of x and k of g
 *
 * A gap near 2^k takes k + 1 to k + 3 bits, one that is far larger two for each bit more, so that
 * one jump in a block does not widen what stands around it.
 */
#ifndef STATE_SLICES_EXP_GOLOMB_H
#define STATE_SLICES_EXP_GOLOMB_H

#include "state/slices/bits.h"

#include <stdbool.h>

enum { EXP_GOLOMB_ZEROS = 32 }; /* at most: k is chosen so */

/* A gap is less than 2^64 - 1. */
static inline unsigned exp_golomb_zeros(uint64_t gap, unsigned k)
{
	return 63 - (unsigned)__builtin_clzll((gap >> k) + 1);
}

static inline void exp_golomb_put(struct bits_out *out, uint64_t gap, unsigned k)
{
	unsigned zeros = exp_golomb_zeros(gap, k), width = k + 2 * zeros + 1;
	uint64_t low = gap - (((UINT64_C(1) << zeros) - 1) << k);

	if (width <= BITS_AT_ONCE) {
		bits_add(out, (low << 1 | 1) << zeros, width);
		return;
	}
	bits_put(out, UINT64_C(1) << zeros, zeros + 1);
	bits_put(out, low, k + zeros);
}

struct exp_golomb { /* where reading is */
	const uint8_t *bits;
	uint64_t at, end; /* bits; 16 bytes behind the end can be loaded */
	unsigned k;
	uint64_t word; /* the next `have` bits */
	unsigned have;
};

/* A code that the word does not hold as a whole. */
static inline bool exp_golomb_refill(struct exp_golomb *gaps, uint64_t *gap)
{
	unsigned zeros, width;

	if (gaps->at >= gaps->end)
		return false;
	gaps->word = bits_load(gaps->bits + gaps->at / 8) >> (gaps->at & 7);
	gaps->have = 64 - (unsigned)(gaps->at & 7);
	if (!gaps->word)
		return false;
	zeros = (unsigned)__builtin_ctzll(gaps->word);
	width = gaps->k + zeros;
	if (zeros > EXP_GOLOMB_ZEROS || width > 64)
		return false;
	gaps->at += zeros + 1;
	*gap = bits_get(gaps->bits, gaps->at, width) + (bits_mask(zeros) << gaps->k);
	gaps->at += width;
	if (zeros + 1 + width < gaps->have) {
		gaps->word >>= zeros + 1 + width;
		gaps->have -= zeros + 1 + width;
	} else {
		gaps->have = 0;
	}
	return true;
}

/* False: damage. Bits behind the end may be taken for codes: exp_golomb_is_whole() tells. */
static inline bool exp_golomb_get(struct exp_golomb *gaps, uint64_t *gap)
{
	unsigned zeros = gaps->word ? (unsigned)__builtin_ctzll(gaps->word) : 64;
	unsigned width = gaps->k + zeros, size = width + zeros + 1;

	if (size >= gaps->have)
		return exp_golomb_refill(gaps, gap);
	*gap = (gaps->word >> 1 >> zeros & bits_mask(width)) + (bits_mask(zeros) << gaps->k);
	gaps->word >>= size;
	gaps->have -= size;
	gaps->at += size;
	return true;
}

/*
 * The next gaps from one load, `most` at most and as many as lie in it as a whole; there is no
 * branch that could be guessed wrong. Places behind those are written too.
 */
static inline __attribute__((always_inline)) unsigned
exp_golomb_get_many(struct exp_golomb *gaps, unsigned most, uint64_t *out)
{
	enum { LOADED = 57 }; /* bits, at least */
	unsigned k = gaps->k, sum = 0, count = 0, read = 0;
	uint64_t word;

	if (gaps->at >= gaps->end)
		return 0;
	word = bits_load(gaps->bits + gaps->at / 8) >> (gaps->at & 7);
	for (unsigned i = 0; i < most; i++) {
		unsigned zeros = (unsigned)__builtin_ctzll(word | UINT64_C(1) << 63);
		unsigned size = 2 * zeros + k + 1;

		/* shifts by 64 and more are of codes that do not lie in it */
		out[i] = (word >> 1 >> zeros & ((UINT64_C(1) << ((k + zeros) & 63)) - 1)) +
			 (((UINT64_C(1) << zeros) - 1) << k);
		word >>= size & 63;
		sum += size;
		read = sum <= LOADED ? sum : read;
		count += sum <= LOADED;
	}
	gaps->at += read;
	return count;
}

static inline bool exp_golomb_is_whole(const struct exp_golomb *gaps)
{
	return gaps->at <= gaps->end;
}

#endif

/*
 * bits.h - numbers of any width, one after the other, from the least significant bit on
 *
 * Writers must reserve room for a whole block first. Readers may load up to 16 bytes behind the
 * last bit, so these must exist.
 */
#ifndef STATE_SLICES_BITS_H
#define STATE_SLICES_BITS_H

#include "engine/base/varint.h"

#include <stdint.h>
#include <string.h>

static inline unsigned bits_width(uint64_t number)
{
	return number ? 64 - (unsigned)__builtin_clzll(number) : 0;
}

static inline uint64_t bits_mask(unsigned width)
{
	return width > 63 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
}

static inline uint64_t bits_load(const uint8_t *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof word);
	return word; /* little-endian hosts only, as all that is read in place */
}

static inline uint64_t bits_get(const uint8_t *from, uint64_t bit, unsigned width)
{
	unsigned shift = bit & 7;
	uint64_t word = bits_load(from + bit / 8) >> shift;

	if (shift + width > 64)
		word |= (uint64_t)from[bit / 8 + 8] << (64 - shift);
	return word & bits_mask(width);
}

struct bits_out {
	uint8_t *at; /* the caller reserves room: up to 8 bytes behind the last bit are written */
	uint64_t word;
	unsigned used; /* bits of the word, 7 at most */
};

enum { BITS_AT_ONCE = 56 };

/* Appends at most BITS_AT_ONCE bits without a branch; higher bits of `number` must be 0. */
static inline void bits_add(struct bits_out *out, uint64_t number, unsigned width)
{
	unsigned used = out->used + width;

	out->word |= number << out->used;
	memcpy(out->at, &out->word, 8);
	out->at += used / 8;
	out->word >>= used & ~7u;
	out->used = used & 7;
}

static inline void bits_put(struct bits_out *out, uint64_t number, unsigned width)
{
	if (width > BITS_AT_ONCE) {
		bits_add(out, number & UINT32_MAX, 32);
		number >>= 32;
		width -= 32;
	}
	bits_add(out, number, width);
}

/* Writes the last byte, padded with zero bits. */
static inline void bits_end(struct bits_out *out)
{
	memcpy(out->at, &out->word, 8);
	out->at += (out->used + 7) / 8;
	out->word = 0;
	out->used = 0;
}

#endif

/*
 * bits.h - numbers of any width, one after the other, from the least significant bit on
 *
 * Writers make room for a whole block before they put bits; readers may load up to 16 bytes behind
 * the last bit, so these must be there.
 */
#ifndef STATE_SLICES_BITS_H
#define STATE_SLICES_BITS_H

#include "engine/base/buf.h"

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

static inline uint32_t bits_load32(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof word);
	return word;
}

static inline uint64_t bits_get(const uint8_t *from, uint64_t bit, unsigned width)
{
	unsigned shift = bit & 7;
	uint64_t word = bits_load(from + bit / 8) >> shift;

	if (shift + width > 64)
		word |= (uint64_t)from[bit / 8 + 8] << (64 - shift);
	return word & bits_mask(width);
}

/* 64 of them. */
static inline uint64_t bits_word(const uint8_t *from, uint64_t bit)
{
	unsigned shift = bit & 7;

	return bits_load(from + bit / 8) >> shift | (uint64_t)from[bit / 8 + 8] << 1
										<< (63 - shift);
}

struct bits_out {
	uint8_t *at; /* room is the caller's care: up to 8 bytes behind the last bit are written */
	uint64_t word;
	unsigned used; /* bits of the word, 7 at most */
};

enum { BITS_AT_ONCE = 56 };

/* At most BITS_AT_ONCE bits, and none above them: nothing is to be guessed. */
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

/* Rounds up to whole bytes. */
static inline void bits_end(struct bits_out *out)
{
	memcpy(out->at, &out->word, 8);
	out->at += (out->used + 7) / 8;
	out->word = 0;
	out->used = 0;
}

static inline uint64_t zigzag(int64_t number)
{
	return (uint64_t)number << 1 ^ (uint64_t)(number >> 63);
}

static inline int64_t unzigzag(uint64_t number)
{
	return (int64_t)(number >> 1 ^ (0 - (number & 1)));
}

/* LEB128; 10 bytes at most. */
static inline uint8_t *varint_put(uint8_t *at, uint64_t number)
{
	for (; number > 127; number >>= 7)
		*at++ = (uint8_t)(number | 128);
	*at++ = (uint8_t)number;
	return at;
}

static inline void buf_add_varint(struct buf *out, uint64_t number)
{
	uint8_t *at = (uint8_t *)buf_room(out, 10);

	out->len += (size_t)(varint_put(at, number) - at);
}

/* NULL when it does not end before `end`. */
static inline const uint8_t *varint_get(const uint8_t *at, const uint8_t *end, uint64_t *number)
{
	*number = 0;
	for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
		uint8_t byte = *at++;

		*number |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return at;
	}
	return NULL;
}

#endif

/* elias_fano.c - see elias_fano.h */
#include "state/slices/elias_fano.h"

/* The width with the fewest bits: each low bit halves what the last one takes in the high part. */
unsigned elias_fano_width(const uint64_t *numbers, uint32_t count)
{
	uint64_t span = count > 1 ? numbers[count - 1] - numbers[0] : 0;
	unsigned width = 0;

	while (width < 63 && span >> width > span >> (width + 1) &&
	       (span >> width) - (span >> (width + 1)) > count - 1)
		width++;
	return width;
}

/* Unary: as many zeros as the high part grew, and a one. */
static void put_high(struct bits_out *out, const uint64_t *numbers, uint32_t count,
		     unsigned low_width)
{
	uint64_t last = 0;

	for (uint32_t i = 1; i < count; i++) {
		uint64_t high = (numbers[i] - numbers[0]) >> low_width, zeros = high - last;

		for (last = high; zeros > 31; zeros -= 32)
			bits_add(out, 0, 32);
		bits_add(out, UINT64_C(1) << zeros, (unsigned)zeros + 1);
	}
}

void elias_fano_put(struct bits_out *out, const uint64_t *numbers, uint32_t count,
		    unsigned low_width)
{
	for (uint32_t i = 1; i < count; i++)
		bits_put(out, (numbers[i] - numbers[0]) & bits_mask(low_width), low_width);
	put_high(out, numbers, count, low_width);
}

static uint64_t low_of(const struct elias_fano *elias_fano, uint64_t i)
{
	return bits_get(elias_fano->bits, elias_fano->low_at + i * elias_fano->low_width,
			elias_fano->low_width);
}

#define EACH(byte) ((byte)*UINT64_C(0x0101010101010101))

/* By byte, how many bits are set up to its end. */
static inline uint64_t sums_of(uint64_t word)
{
	word -= word >> 1 & UINT64_C(0x5555555555555555);
	word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
	word = (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return EACH(word);
}

/* Eight times the first byte whose sum is more than `rank`; sums are below 128, one is more. */
static inline unsigned byte_above(uint64_t sums, uint64_t rank)
{
	uint64_t more = ((sums | EACH(UINT64_C(0x80))) - EACH(rank + 1)) & EACH(UINT64_C(0x80));

	return (unsigned)__builtin_ctzll(more) & 56;
}

/* How many bits are set. */
static inline unsigned count_of(uint64_t word)
{
	return (unsigned)(sums_of(word) >> 56);
}

/* Which bit is set behind `rank` others; there is one. No branches: none could be guessed. */
static inline unsigned place_of(uint64_t word, uint64_t rank)
{
	const uint64_t highest = EACH(UINT64_C(0x80));
	uint64_t sums = sums_of(word);
	unsigned byte = byte_above(sums, rank);
	/* byte k is to have bit k of that byte alone, and then 1 where it is set */
	uint64_t bits = EACH(word >> byte & 255) & UINT64_C(0x8040201008040201);

	bits = ((bits | ((bits | highest) - EACH(UINT64_C(1)))) & highest) >> 7;
	return byte + byte_above(EACH(bits), rank - (sums << 8 >> byte & 255)) / 8;
}

bool elias_fano_get(const struct elias_fano *elias_fano, uint64_t i, uint64_t *out)
{
	uint64_t at = elias_fano->high_at, left = i, word, ones, behind;

	if (at >= elias_fano->end)
		return false;
	/* every other number is in the second word: that is computed, not guessed */
	ones = count_of(bits_word(elias_fano->bits, at));
	behind = ones <= left && at + 64 < elias_fano->end;
	left -= behind ? ones : 0;
	at += behind * 64;
	for (;; left -= ones, at += 64) {
		if (at >= elias_fano->end)
			return false;
		word = bits_word(elias_fano->bits, at);
		ones = count_of(word);
		if (ones > left)
			break;
	}
	at += place_of(word, left) - elias_fano->high_at;
	*out = (at - i) << elias_fano->low_width | low_of(elias_fano, i);
	return true;
}

bool elias_fano_all(const struct elias_fano *elias_fano, uint64_t *out)
{
	uint64_t at = 0, word = 0;

	for (uint32_t i = 0; i < elias_fano->count; i++) {
		for (; !word; at += 64) {
			if (elias_fano->high_at + at >= elias_fano->end)
				return false;
			word = bits_word(elias_fano->bits, elias_fano->high_at + at);
		}
		uint64_t high = at - 64 + (unsigned)__builtin_ctzll(word) - i;
		out[i] = high << elias_fano->low_width | low_of(elias_fano, i);
		word &= word - 1;
	}
	return true;
}

bool elias_fano_before(const struct elias_fano *elias_fano, uint64_t most, uint32_t *n,
		       uint64_t *last)
{
	uint32_t low = 0, high = elias_fano->count;
	uint64_t number;

	*last = 0;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (!elias_fano_get(elias_fano, middle, &number))
			return false;
		if (number <= most) {
			low = middle + 1;
			*last = number;
		} else {
			high = middle;
		}
	}
	*n = low;
	return true;
}

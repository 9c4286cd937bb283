/*
 * digits.h - kinds of characters, and fast conversion of numbers to text
 *
 * Writing numbers takes most of the time of output. Eight digits are computed at once, each in a
 * byte of one 64-bit word, and stored at once; leading zeros are shifted out, so that no branch
 * depends on the length. Stores reach behind the digits: NUMBER_ROOM bytes must be writable.
 */
#ifndef ENGINE_BASE_DIGITS_H
#define ENGINE_BASE_DIGITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __x86_64__
#include <emmintrin.h>
#endif

/* ASCII, whatever the locale; a word consists of letters, digits and _. */
static inline bool char_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool char_is_letter(char c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static inline bool char_begins_word(char c)
{
	return char_is_letter(c) || c == '_';
}

static inline bool char_is_word(char c)
{
	return char_begins_word(c) || char_is_digit(c);
}

/* The value of a hexadecimal digit; -1: it is none. */
static inline int hex_digit(char c)
{
	char lower = (char)(c | 0x20);

	if (char_is_digit(c))
		return c - '0';
	return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/*
 * Parses the decimal digits at *at, up to `end` (NULL: up to the first byte that is no digit), and
 * moves *at behind them. UINT64_MAX: the number does not fit; 0, and *at stays: no digit.
 */
static inline uint64_t decimal_take(const char **at, const char *end)
{
	uint64_t number = 0;

	for (; *at != end && char_is_digit(**at); ++*at)
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, **at - '0', &number))
			number = UINT64_MAX;
	return number;
}

enum { NUMBER_ROOM = 32 };

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words of digits are stored as they are");

/* Eight digits of a number below 10^8 as bytes of values 0 to 9, the highest in the lowest byte. */
static inline uint64_t decimal_word(uint32_t number)
{
	uint64_t halves = number / 10000 | (uint64_t)(number % 10000) << 32;
	uint64_t hundreds = halves * 10486 >> 20 & UINT64_C(0x7f0000007f);
	uint64_t pairs = hundreds | (halves - hundreds * 100) << 16;
	uint64_t tens = pairs * 103 >> 10 & UINT64_C(0x000f000f000f000f);

	return tens | (pairs - tens * 10) << 8;
}

#define DIGITS_ZERO UINT64_C(0x3030303030303030)

/* All eight digits of a number below 10^8. */
static inline char *decimal_put8(char *to, uint32_t number)
{
	uint64_t text = decimal_word(number) | DIGITS_ZERO;

	memcpy(to, &text, 8);
	return to + 8;
}

/* A number below 10^8 without leading zeros. */
static inline char *decimal_put_short(char *to, uint32_t number)
{
	uint64_t digits = decimal_word(number);
	/* the last digit stays, if it is 0, too */
	unsigned zeros = (unsigned)__builtin_ctzll(digits | UINT64_C(1) << 56) / 8;
	uint64_t text = (digits | DIGITS_ZERO) >> zeros * 8;

	memcpy(to, &text, 8);
	return to + 8 - zeros;
}

/* Writes the number to `to` and returns the end of its digits. */
static inline char *decimal_put(char *to, uint64_t number)
{
	const uint64_t unit = 100000000;

	if (__builtin_expect(number < unit, 1))
		return decimal_put_short(to, (uint32_t)number);
	uint64_t high = number / unit;
	if (high < unit) {
		to = decimal_put_short(to, (uint32_t)high);
	} else {
		to = decimal_put_short(to, (uint32_t)(high / unit));
		to = decimal_put8(to, (uint32_t)(high % unit));
	}
	return decimal_put8(to, (uint32_t)(number % unit));
}

static inline char *decimal_put_signed(char *to, int64_t number)
{
	*to = '-';
	return decimal_put(to + (number < 0), number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

/* All nine digits of a number below 10^9: the nanoseconds of a second. */
static inline char *decimal_put_nanos(char *to, uint32_t nanos)
{
	to = decimal_put8(to, nanos / 10);
	*to = (char)('0' + nanos % 10);
	return to + 1;
}

/*
 * All sixteen hexadecimal digits, the highest first: spreads the nibbles to bytes and converts all
 * of them to characters at once.
 */
#ifdef __x86_64__
static inline void hex_put16(char *to, uint64_t number)
{
	const __m128i four = _mm_set1_epi8(15), zero = _mm_set1_epi8('0');
	__m128i bytes = _mm_cvtsi64_si128((long long)__builtin_bswap64(number));
	__m128i nibbles = _mm_unpacklo_epi8(_mm_and_si128(_mm_srli_epi64(bytes, 4), four),
					    _mm_and_si128(bytes, four));
	__m128i letters = _mm_and_si128(_mm_cmpgt_epi8(nibbles, _mm_set1_epi8(9)),
					_mm_set1_epi8('a' - '0' - 10));

	_mm_storeu_si128((__m128i_u *)to, _mm_add_epi8(_mm_add_epi8(nibbles, zero), letters));
}
#else
static inline uint64_t hex_word(uint32_t number)
{
	uint64_t x = number;

	x = (x << 16 | x) & UINT64_C(0x0000ffff0000ffff);
	x = (x << 8 | x) & UINT64_C(0x00ff00ff00ff00ff);
	x = (x << 4 | x) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	uint64_t letters = (x + UINT64_C(0x0606060606060606)) >> 4 & UINT64_C(0x0101010101010101);
	return __builtin_bswap64(x + letters * ('a' - '0' - 10) + DIGITS_ZERO);
}

static inline void hex_put16(char *to, uint64_t number)
{
	uint64_t high = hex_word((uint32_t)(number >> 32)), low = hex_word((uint32_t)number);

	memcpy(to, &high, 8);
	memcpy(to + 8, &low, 8);
}
#endif

static inline unsigned hex_length(uint64_t number)
{
	return (67 - (unsigned)__builtin_clzll(number | 1)) / 4;
}

/* Hexadecimal, right-aligned with blanks to sixteen characters. */
static inline char *hex_put_right16(char *to, uint64_t number)
{
	/* '0' - 16 is ' '. The two loads begin so that they cover a 16 for each leading zero. */
	static const uint64_t blank[] = {UINT64_C(0x1010101010101010), UINT64_C(0x1010101010101010),
					 0, 0};
	uint64_t text[2], less[2];

	hex_put16(to, number);
	memcpy(text, to, 16);
	memcpy(less, (const char *)blank + hex_length(number), 16);
	text[0] -= less[0];
	text[1] -= less[1];
	memcpy(to, text, 16);
	return to + 16;
}

/* Hexadecimal with at least `least` digits, up to 16. */
static inline char *hex_put(char *to, uint64_t number, unsigned least)
{
	unsigned count = hex_length(number);

	count = count < least ? least : count;
	count = count < 16 ? count : 16;
	hex_put16(to, number << (64 - 4 * count));
	return to + count;
}

#endif

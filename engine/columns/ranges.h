/*
 * ranges.h - sets of integers as ranges: what conditions compare a column's values with
 *
 *     prio > 20            [21, INT64_MAX]
 *     cpu in (0, 1, 7)     [0, 1] [7, 7]
 *     ts >= 1.5            [2, INT64_MAX]       exactly, as if both sides were real numbers
 *
 * Values are the 64 bits of a column, signed or not. The conditions of `--where`, of SQL and of
 * rules are sets of this kind, so that all of them compare alike.
 */
#ifndef ENGINE_COLUMNS_RANGES_H
#define ENGINE_COLUMNS_RANGES_H

#include "engine/base/search.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range { /* low to low + span, both inclusive; modulo 2^64, so that it fits signed values, too
		*/
	uint64_t low, span;
};

struct ranges {
	const struct range *items; /* sorted, without overlap */
	uint32_t count;            /* 0: the set is empty */
	uint64_t least;            /* the least value of the column's type: 0 or INT64_MIN */
};

enum comparison { COMPARE_EQ, COMPARE_LT, COMPARE_LE, COMPARE_GT, COMPARE_GE };

/*
 * *out: the values x of a 64-bit column for which `x OP number` is true; the number is `u` or, if
 * `negative`, (int64_t)u. False: there are none.
 */
bool range_of_integer(enum comparison op, uint64_t u, bool negative, bool is_signed,
		      struct range *out);
/* The same for a real number, compared exactly; false for NaN. */
bool range_of_real(enum comparison op, double number, bool is_signed, struct range *out);

/* Sorts items[0..count) in place and joins those that overlap; *out borrows them. */
void ranges_init(struct ranges *out, struct range *items, size_t count, bool is_signed);

static inline bool range_has(const struct range *range, uint64_t value)
{
	return value - range->low <= range->span;
}

static inline bool ranges_have(const struct ranges *ranges, uint64_t value)
{
	const struct range *items = ranges->items;
	uint64_t at = value - ranges->least;

	if (ranges->count == 1)
		return range_has(items, value);
	uint32_t place = search_first(i, 0, ranges->count,
				      items[i].low - ranges->least + items[i].span < at);
	return place < ranges->count && range_has(&items[place], value);
}

/* out[i] is 1 where values[i] is in the set, else 0. */
void ranges_test(const struct ranges *ranges, const uint64_t *values, uint32_t n, uint8_t *out);

#endif

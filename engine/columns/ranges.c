/* ranges.c - see ranges.h */
#include "engine/columns/ranges.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 wide;

enum { TESTED_IN_TURN = 4 }; /* up to so many ranges, a loop for each is faster than a search */

/* ---- comparisons ---- */

/* `floored` and `ceiled`: the compared number, rounded down and up to integers. */
static bool ranges_compared(enum comparison op, wide floored, wide ceiled, bool is_signed,
			    struct range *out)
{
	wide low = is_signed ? (wide)INT64_MIN : 0;
	wide high = is_signed ? (wide)INT64_MAX : (wide)UINT64_MAX;
	wide least = low, most = high;

	if (op == COMPARE_LT)
		most = ceiled - 1;
	else if (op == COMPARE_LE)
		most = floored;
	else if (op == COMPARE_GT)
		least = floored + 1;
	else
		least = ceiled;
	if (op == COMPARE_EQ) /* empty when the number is no integer: ceiled > floored */
		most = floored;
	low = least > low ? least : low;
	high = most < high ? most : high;
	if (low > high)
		return false;
	*out = (struct range){(uint64_t)low, (uint64_t)(high - low)};
	return true;
}

bool range_of_integer(enum comparison op, uint64_t u, bool negative, bool is_signed,
		      struct range *out)
{
	wide number = negative ? (wide)(int64_t)u : (wide)u;

	return ranges_compared(op, number, number, is_signed, out);
}

bool range_of_real(enum comparison op, double number, bool is_signed, struct range *out)
{
	const double far = 0x1p65; /* beyond all values */

	if (isnan(number))
		return false;
	number = number > far ? far : number < -far ? -far : number;
	return ranges_compared(op, (wide)floor(number), (wide)ceil(number), is_signed, out);
}

/* ---- sets ---- */

static int by_low(const void *a, const void *b, void *least)
{
	const uint64_t *from = least;
	uint64_t x = ((const struct range *)a)->low, y = ((const struct range *)b)->low;

	return three_way(x - *from, y - *from);
}

void ranges_init(struct ranges *out, struct range *items, size_t count, bool is_signed)
{
	uint64_t least = is_signed ? UINT64_C(1) << 63 : 0;
	uint32_t kept = 0;

	if (count > 1)
		qsort_r(items, count, sizeof *items, by_low, &least);
	for (size_t i = 0; i < count; i++) {
		struct range *last = kept ? &items[kept - 1] : NULL;

		if (!last || items[i].low - last->low > last->span)
			items[kept++] = items[i];
		else if (items[i].low - last->low + items[i].span > last->span)
			last->span = items[i].low - last->low + items[i].span;
	}
	*out = (struct ranges){items, kept, least};
}

void ranges_test(const struct ranges *ranges, const uint64_t *values, uint32_t n, uint8_t *out)
{
	memset(out, 0, n);
	if (ranges->count > TESTED_IN_TURN) {
		for (uint32_t k = 0; k < n; k++)
			out[k] = ranges_have(ranges, values[k]);
		return;
	}
	for (uint32_t i = 0; i < ranges->count; i++) {
		uint64_t low = ranges->items[i].low, span = ranges->items[i].span;

		for (uint32_t k = 0; k < n; k++)
			out[k] |= values[k] - low <= span;
	}
}

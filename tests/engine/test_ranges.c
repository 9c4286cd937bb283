/* Comparisons with a column as ranges of its values, and sets of ranges, against what is plain. */
#include "engine/columns/ranges.h"

#include "tests/harness.h"
#include "fixtures/rng.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 2000, SET_MOST = 12, VALUES = 64 };

/* Exact for all 64-bit integers and all doubles that are no larger: 64 bits of mantissa. */
static bool compares(enum comparison op, long double x, long double number)
{
	switch (op) {
	case COMPARE_LT:
		return x < number;
	case COMPARE_LE:
		return x <= number;
	case COMPARE_GT:
		return x > number;
	case COMPARE_GE:
		return x >= number;
	default:
		return x == number;
	}
}

static long double wide(uint64_t bits, bool is_signed)
{
	return is_signed ? (long double)(int64_t)bits : (long double)bits;
}

static uint64_t near_an_edge(struct rng *seed)
{
	static const uint64_t edges[] = {0, 1, 20, UINT64_C(1) << 53, UINT64_C(1) << 63};

	return edges[rng_next(seed) % COUNT(edges)] + rng_next(seed) % 5 - 2;
}

static void check_comparison(enum comparison op, long double number, bool is_signed, bool found,
			     const struct range *range, struct rng *seed)
{
	for (int i = 0; i < VALUES; i++) {
		uint64_t x = near_an_edge(seed);

		assert_int_equal(found && range_has(range, x),
				 compares(op, wide(x, is_signed), number));
	}
}

static void comparisons_with_integers(void **state)
{
	struct rng seed = {1};

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		enum comparison op = (enum comparison)(rng_next(&seed) % 5);
		bool is_signed = rng_next(&seed) % 2, negative = rng_next(&seed) % 2;
		uint64_t number = near_an_edge(&seed);
		struct range range = {0, 0};
		bool found;

		negative &= number >> 63;
		found = range_of_integer(op, number, negative, is_signed, &range);
		check_comparison(op, wide(number, negative), is_signed, found, &range, &seed);
	}
}

static void comparisons_with_real_numbers(void **state)
{
	static const double numbers[] = {0.0,    -0.0,       0.5,      -0.5,      2.5,    20.0,
					 0x1p53, 0x1p53 + 2, 0x1p63,   -0x1p63,   0x1p64, -0x1p64,
					 1e300,  -1e300,     INFINITY, -INFINITY, -1.0,   19.999};
	struct rng seed = {2};

	(void)state;
	for (size_t i = 0; i < COUNT(numbers) * 10; i++) {
		enum comparison op = (enum comparison)(i % 5);
		double number = numbers[i / 10];
		bool is_signed = i / 5 % 2;
		struct range range = {0, 0};
		bool found = range_of_real(op, number, is_signed, &range);

		check_comparison(op, number, is_signed, found, &range, &seed);
	}
}

static void nothing_compares_with_nan(void **state)
{
	struct range range;

	(void)state;
	for (enum comparison op = COMPARE_EQ; op <= COMPARE_GE; op++)
		assert_false(range_of_real(op, NAN, true, &range));
}

static bool in_any(const struct range *items, size_t count, uint64_t value)
{
	for (size_t i = 0; i < count; i++)
		if (value - items[i].low <= items[i].span)
			return true;
	return false;
}

/* A range must not go around the end of its type. */
static struct range random_range(struct rng *seed, bool is_signed)
{
	uint64_t low = near_an_edge(seed), least = is_signed ? UINT64_C(1) << 63 : 0;
	uint64_t span = near_an_edge(seed), room = UINT64_MAX - (low - least);

	return (struct range){low, span < room ? span : room};
}

static void sets_have_what_their_ranges_have(void **state)
{
	struct range items[SET_MOST], copy[SET_MOST];
	struct rng seed = {3};
	uint64_t values[VALUES];
	uint8_t out[VALUES];

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		size_t count = rng_next(&seed) % (SET_MOST + 1);
		bool is_signed = rng_next(&seed) % 2;
		struct ranges ranges;

		for (size_t k = 0; k < count; k++)
			items[k] = random_range(&seed, is_signed);
		for (size_t k = 0; k < count; k++)
			items[k].span &= i % 2 ? UINT64_MAX : 1; /* half of them: small ones */
		memcpy(copy, items, sizeof items);
		ranges_init(&ranges, items, count, is_signed);
		for (int k = 0; k < VALUES; k++)
			values[k] = near_an_edge(&seed);
		ranges_test(&ranges, values, VALUES, out);
		for (int k = 0; k < VALUES; k++) {
			assert_int_equal(out[k], in_any(copy, count, values[k]));
			assert_int_equal(out[k], ranges_have(&ranges, values[k]));
		}
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(comparisons_with_integers),
		cmocka_unit_test(comparisons_with_real_numbers),
		cmocka_unit_test(nothing_compares_with_nan),
		cmocka_unit_test(sets_have_what_their_ranges_have),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

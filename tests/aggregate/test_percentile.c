/* test_percentile.c - percentiles against sorted numbers; reals and what they are ordered by */
#include "aggregate/percentile.h"
#include "fixtures/rng.h"

#include "tests/harness.h"

#include <math.h>
#include <stdlib.h>

enum { NUMBERS = 300 };

static int by_size(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void percentiles_are_of_the_sorted(void **state)
{
	static const double percents[] = {0, 1, 33.3, 50, 99, 99.9, 100};
	int64_t numbers[NUMBERS], sorted[NUMBERS];
	struct rng rng = {1};

	(void)state;
	for (int round = 0; round < 500; round++) {
		size_t count = 1 + rng_next(&rng) % NUMBERS;
		unsigned shift = rng_next(&rng) % 64;
		for (size_t i = 0; i < count; i++)
			numbers[i] = sorted[i] = (int64_t)rng_next(&rng) >> shift;
		qsort(sorted, count, sizeof *sorted, by_size);
		for (size_t i = 0; i < COUNT(percents); i++) {
			size_t least = 0; /* place of the least that so many do not exceed */
			while (100.0 * (double)(least + 1) < percents[i] * (double)count)
				least++;
			assert_int_equal(percentile(numbers, count, percents[i]), sorted[least]);
		}
	}
}

static void reals_keep_their_order(void **state)
{
	static const double reals[] = {-INFINITY, -1e300, -2.5, -2,  -1e-300, -0.0,
				       0.0,       1e-300, 2,    2.5, 1e300,   INFINITY};

	(void)state;
	for (size_t i = 0; i < COUNT(reals); i++) {
		double back = real_from_ordered(real_to_ordered(reals[i]));
		assert_memory_equal(&back, &reals[i], sizeof back);
		assert_true(!i || real_to_ordered(reals[i - 1]) < real_to_ordered(reals[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentiles_are_of_the_sorted),
		cmocka_unit_test(reals_keep_their_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_known_ranges.c - a set of ranges of time
 *
 * Oracle: a flag for each of a few hundred times.
 */
#include "state/replay/known_ranges.h"

#include "fixtures/rng.h"
#include "tests/harness.h"

#include <string.h>

enum { TIMES = 200, SETS = 300 };

struct set {
	struct known_ranges ranges;
	bool known[TIMES];
};

static void compare(const struct set *set)
{
	for (nstime t = 0; t < TIMES; t++) {
		nstime until = t + 1;
		bool known;

		while (until < TIMES && set->known[until] == set->known[t])
			until++;
		if (until == TIMES)
			until = NSTIME_MAX;
		/* a known range may end with the last time */
		if (known_ranges_until(&set->ranges, t, &known) != until)
			assert_true(set->known[t] && until == NSTIME_MAX);
		assert_int_equal(known, set->known[t]);
	}
	for (size_t i = 0; i < set->ranges.count; i++)
		for (size_t j = 0; j < set->ranges.count; j++)
			assert_true(i == j ||
				    set->ranges.items[i].end < set->ranges.items[j].begin ||
				    set->ranges.items[j].end < set->ranges.items[i].begin);
}

static void random_ranges_are_as_flags(void **state)
{
	struct rng rng = {7};

	(void)state;
	for (int n = 0; n < SETS; n++) {
		struct set set = {0};

		for (uint64_t left = rng_next(&rng) % 20; left > 0; left--) {
			uint64_t begin = rng_next(&rng) % TIMES;
			uint64_t end = begin + 1 + rng_next(&rng) % (TIMES - begin) % 30;

			known_ranges_add(&set.ranges, (nstime)begin, (nstime)end);
			memset(set.known + begin, 1, end - begin);
		}
		compare(&set);
		known_ranges_release(&set.ranges);
	}
}

static void ends_of_time_are_in_ranges(void **state)
{
	struct known_ranges ranges = {0};
	bool known;

	(void)state;
	assert_true(known_ranges_until(&ranges, 0, &known) == NSTIME_MAX && !known);
	known_ranges_add(&ranges, NSTIME_MIN, 5);
	assert_true(known_ranges_until(&ranges, NSTIME_MIN, &known) == 5 && known);
	known_ranges_add(&ranges, 5, NSTIME_MAX);
	assert_int_equal(ranges.count, 1);
	assert_true(known_ranges_until(&ranges, 5, &known) == NSTIME_MAX && known);
	known_ranges_release(&ranges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_ranges_are_as_flags),
		cmocka_unit_test(ends_of_time_are_in_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

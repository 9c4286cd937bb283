/* Cycles to nanoseconds: exact, floored, and an error where they do not fit. */
#include "engine/timebase.h"

#include "tests/harness.h"

#include <string.h>

#define MHZ UINT64_C(1000000)

static struct row {
	const char *name;
	struct timebase timebase;
	uint64_t cycles;
	bool fits;
	nstime ns;
} rows[] = {
	{"one second at 1 GHz", {1000 * MHZ, 0, 0}, 1000000000, true, 1000000000},
	{"rounds down below 1 ns", {3000 * MHZ, 0, 0}, 5, true, 1},
	{"before the origin", {1000 * MHZ, -2, 0}, 500, true, -1999999500},
	{"rounds down before the origin too", {3000 * MHZ, 0, -5}, 0, true, -2},
	{"cycles that cancel the offset", {3 * MHZ, 0, -7}, 7, true, 0},
	{"exact beyond 2^53", {10 * MHZ, 0, 0}, 92233720368547757, true, 9223372036854775700},
	{"overflow is an error", {1, 0, 0}, 10000000000, false, 0},
	{"underflow is an error", {1, -10000000000, 0}, 0, false, 0},
	{"the largest offsets", {UINT64_MAX, INT64_MAX, INT64_MIN}, 0, false, 0},
	{"a slow clock", {7, 1, 3}, 4, true, 2000000000},
};

static void converts(void **state)
{
	const struct row *row = *state;
	struct error err = {0};
	nstime ns = 0;

	assert_int_equal(timebase_to_ns(&row->timebase, row->cycles, &ns, &err), row->fits);
	if (row->fits)
		assert_true(ns == row->ns &&
			    timebase_to_ns_clamped(&row->timebase, row->cycles) == ns);
	else
		assert_int_equal(err.kind, ERR_RANGE);
}

static void keys_sort_as_times(void **state)
{
	static const nstime times[] = {INT64_MIN, -1, 0, 1, INT64_MAX};

	(void)state;
	for (size_t i = 1; i < COUNT(times); i++) {
		uint8_t a[8], b[8];
		nstime_to_key(times[i - 1], a);
		nstime_to_key(times[i], b);
		assert_true(memcmp(a, b, 8) < 0);
	}
}

static void a_plain_clock_only_adds(void **state)
{
	struct timebase plain = {1000 * MHZ, 1457113581, 500};
	struct timebase other = {999 * MHZ, 0, 0};
	struct error err = {0};
	nstime origin, ns;

	(void)state;
	assert_true(timebase_is_plain(&plain, &origin));
	assert_true(timebase_to_ns(&plain, 123456789, &ns, &err));
	assert_true(ns == origin + 123456789);
	assert_false(timebase_is_plain(&other, &origin));
}

static void times_may_lie_wider_apart_than_one_holds(void **state)
{
	(void)state;
	assert_true(time_span(-5, 7) == 12);
	assert_true(time_span(7, -5) == 0);
	assert_true(time_span(3, 3) == 0);
	assert_true(time_span(NSTIME_MIN + 1, NSTIME_MAX - 1) == UINT64_MAX - 2);
	assert_true(time_span(-1, NSTIME_MAX) == UINT64_C(1) << 63);
}

int main(void)
{
	enum { N = COUNT(rows) };
	struct CMUnitTest tests[N + 3];

	for (size_t i = 0; i < N; i++)
		tests[i] = (struct CMUnitTest){rows[i].name, converts, NULL, NULL, &rows[i]};
	tests[N] = (struct CMUnitTest)cmocka_unit_test(keys_sort_as_times);
	tests[N + 1] = (struct CMUnitTest)cmocka_unit_test(a_plain_clock_only_adds);
	tests[N + 2] = (struct CMUnitTest)cmocka_unit_test(times_may_lie_wider_apart_than_one_holds);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

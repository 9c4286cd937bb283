/* test_library_state.c - libyore-state on the recording of README's first example */
#include "tests/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yore-state.h>

static struct yore_error err;

static struct yore *open_recording(void)
{
	struct yore_options options = {.size = sizeof options, .no_index = 1};
	struct yore *yore;
	char path[4096];

	snprintf(path, sizeof path, "%s/fixtures/golden/sched-demo", getenv("srcdir"));
	if (yore_open(path, &options, &yore, &err) != 0)
		fail_msg("%s", err.text);
	return yore;
}

/* fixtures/golden/README.md says who ran; perf recorded it. */
static void who_ran_at_a_moment(void **test)
{
	struct yore *yore = open_recording();
	struct yore_state *state;
	struct yore_value value;
	int64_t since;

	(void)test;
	assert_int_equal(yore_state_open(yore, NULL, &state, &err), 0);
	assert_int_equal(yore_state_at(state, 2120801126657, "cpu[0]/thread", &value, &since, &err),
			 0);
	assert_int_equal(value.kind, YORE_VALUE_INT);
	assert_int_equal(value.i, 10892);
	assert_int_equal(since, 2120801126657);
	assert_int_equal(yore_state_at(state, 2120801130503, "cpu[0]/thread", &value, NULL, &err),
			 0);
	assert_int_equal(value.i, 10891);
	assert_int_equal(yore_state_at(state, 0, "cpu[0]/thread", &value, &since, &err), 0);
	assert_int_equal(value.kind, YORE_VALUE_UNKNOWN);
	assert_int_equal(since, YORE_TIME_MIN);
	assert_int_equal(yore_state_at(state, 0, "cpu[*]/thread", &value, NULL, &err), -1);
	assert_int_equal(err.kind, YORE_ERROR_QUERY);
	yore_state_close(state);
	yore_close(yore);
}

struct seen {
	int count;
	int64_t last_end;
};

static int see(void *arg, const char *attribute, int64_t from, int64_t to,
	       const struct yore_value *value)
{
	struct seen *seen = arg;

	assert_string_equal(attribute, "cpu[0]/thread");
	assert_true(from < to && (!seen->count || from == seen->last_end));
	assert_int_equal(value->kind, YORE_VALUE_INT);
	seen->last_end = to;
	return ++seen->count == 3;
}

static void intervals_end_when_told_to(void **test)
{
	struct yore *yore = open_recording();
	struct yore_state *state;
	struct seen seen = {0};

	(void)test;
	assert_int_equal(yore_state_open(yore, NULL, &state, &err), 0);
	assert_int_equal(yore_state_intervals(state, 2120801126657, YORE_TIME_MAX, "cpu[0]/thread",
					      see, &seen, &err),
			 0);
	assert_int_equal(seen.count, 3);
	yore_state_close(state);
	yore_close(yore);
}

static void rules_that_are_not_there(void **test)
{
	const char *rules = "/no/such.rules";
	struct yore_state_options options = {.size = sizeof options, .rules = &rules, .nrules = 1};
	struct yore *yore = open_recording();
	struct yore_state *state;

	(void)test;
	assert_int_equal(yore_state_open(yore, &options, &state, &err), -1);
	assert_null(state);
	assert_non_null(strstr(err.text, rules));
	yore_state_close(NULL);
	yore_close(yore);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_ran_at_a_moment),
		cmocka_unit_test(intervals_end_when_told_to),
		cmocka_unit_test(rules_that_are_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

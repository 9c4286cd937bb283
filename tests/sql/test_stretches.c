/*
 * test_stretches.c - the table `state`, asked in stretches of time, is what it is asked at once
 *
 * With paths that are found near, with those that timelines are made for, and with computed ones.
 */
#include "tests/harness.h"
#include "state/state.h"
#include "tests/sql/world.h"

#include "state/context/context.h"

#include <string.h>

static struct row {
	const char *name, *query;
} rows[] = {
	{"all attributes", "SELECT *, until FROM state"},
	{"one path", "SELECT *, until FROM state WHERE path = 'cpu[1]/thread'"},
	{"one path in order of time",
	 "SELECT * FROM state WHERE path = 'cpu[0]/thread' ORDER BY ts"},
	{"paths of CPUs", "SELECT *, until FROM state('cpu[*]/thread')"},
	{"paths of threads", "SELECT *, until FROM state('thread[*]/**')"},
	{"in a range", "SELECT *, until FROM state WHERE ts >= ts('+2ms') AND ts < ts('+6ms')"},
	{"what lasts beyond a moment", "SELECT *, until FROM state WHERE until > ts('+3ms')"},
	{"by GLOB", "SELECT *, until FROM state WHERE path GLOB 'thread*'"},
	{"sums", "SELECT path, count(*), sum(dur) FROM state GROUP BY path"},
	{"states of threads", "SELECT * FROM thread_state"},
	{"states of threads in a range", "SELECT * FROM thread_state(ts('+2ms'), ts('+6ms'))"},
	{"wake-ups", "SELECT * FROM wakeups"},
	{"wake-ups of one thread", "SELECT * FROM wakeups WHERE tid = 308"},
	{"system calls", "SELECT * FROM syscalls"},
	{"none", "SELECT * FROM state('thread[99]/prio')"},
};

static void ask(const char *query, uint64_t stretch, struct answer_text *out)
{
	struct answer_text first;
	struct world world;

	world_open(&world, world_generated());
	world_ask(&world, "SELECT count(*) FROM state_at('cpu[0]/thread', ts('+1ms'))", &first);
	answer_release(&first);
	assert_non_null(world.state);
	world.state->stretch = stretch;
	world_ask(&world, query, out);
	world_close(&world);
}

static void agrees(void **state)
{
	static const uint64_t stretches[] = {150000, 30000, 7000};
	const struct row *row = *state;
	struct answer_text whole, parts;

	ask(row->query, 0, &whole);
	if (!strstr(row->query, "ORDER BY"))
		answer_sort(&whole);
	for (size_t i = 0; i < COUNT(stretches); i++) {
		ask(row->query, stretches[i], &parts);
		if (!strstr(row->query, "ORDER BY"))
			answer_sort(&parts);
		answers_same(row->query, &parts, &whole);
		answer_release(&parts);
	}
	answer_release(&whole);
}

static void a_limit_ends_it(void **state)
{
	struct answer_text answer;

	(void)state;
	ask("SELECT * FROM state LIMIT 7", 7000, &answer);
	assert_int_equal(answer.err.kind, ERR_NONE);
	assert_int_equal(answer.count, 7);
	answer_release(&answer);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + 1];

	for (size_t i = 0; i < COUNT(rows); i++)
		tests[i] = (struct CMUnitTest){rows[i].name, agrees, NULL, NULL, &rows[i]};
	tests[COUNT(rows)] =
		(struct CMUnitTest){"a limit ends it", a_limit_ends_it, NULL, NULL, NULL};
	return cmocka_run_group_tests_name("stretches of state", tests, NULL, world_teardown);
}

/*
 * test_fold.c - which statements are answered by a sweep on all threads, and that none changes
 *
 * Each is asked as it is and with scans that take nothing, which folds nothing: rows, their order
 * where one is asked for, and names of columns must be the same.
 */
#include "tests/harness.h"
#include "tests/sql/world.h"

#include <string.h>

static struct row {
	const char *name, *query;
	bool folded;
} rows[] = {
	{"events per name", "SELECT name, count(*) FROM events GROUP BY name", true},
	{"any case, comments, a semicolon",
	 "sElEcT name /* , */, COUNT( * ) FROM Events GROUP By name -- x\n;", true},
	{"names in quotes", "SELECT \"name\", count(\"cpu\") FROM \"events\" GROUP BY [name]",
	 true},
	{"all of them", "SELECT count(*) FROM events", true},
	{"of none", "SELECT count(*), sum(cpu), min(ts) FROM events WHERE name = 'nothing'", true},
	{"groups of none", "SELECT cpu, count(*) FROM events WHERE cpu = 99 GROUP BY cpu", true},
	{"a class per field", "SELECT next_tid, count(*) FROM sched_switch GROUP BY next_tid",
	 true},
	{"per text and CPU",
	 "SELECT next_comm, cpu, count(*), sum(next_prio) FROM sched_switch GROUP BY next_comm, "
	 "cpu",
	 true},
	{"a key that is not shown", "SELECT count(*) FROM events GROUP BY stream", true},
	{"keys by their number",
	 "SELECT count(*), next_prio, cpu AS c FROM sched_switch WHERE next_tid > 0 GROUP BY 2, 3",
	 true},
	{"a key by another name",
	 "SELECT next_prio AS p, count(*) FROM sched_switch GROUP BY \"p\"", true},
	{"a column is meant before another name",
	 "SELECT next_prio AS c, cpu, count(*) FROM sched_switch GROUP BY cpu, c", true},
	{"a text is no key",
	 "SELECT next_prio / 1000 AS p, count(*) FROM sched_switch GROUP BY 'p'", false},
	{"a number that is no item", "SELECT count(*) FROM events GROUP BY 1.0", false},
	{"an aggregate's number", "SELECT cpu + 1, count(*) FROM events GROUP BY 1", false},
	{"keys alone", "SELECT cpu FROM events GROUP BY cpu", true},
	{"in a window", "SELECT cpu, max(ts) FROM events WHERE ts < ts('+1ms') GROUP BY cpu", true},
	{"conditions on fields",
	 "SELECT cpu, count(*) FROM sched_switch WHERE next_prio IN (120, 100) AND next_tid > 5 "
	 "GROUP BY cpu",
	 true},
	{"arithmetic, aliases, HAVING, ORDER BY",
	 "SELECT name AS n, (max(ts) - min(ts)) / count(*) AS apart, 'x' || name y FROM events "
	 "GROUP BY name HAVING count(*) > 3 ORDER BY apart DESC, 1 LIMIT 4",
	 true},
	{"the same value twice", "SELECT count(*), count(*) + 1, count(ts) FROM events", true},
	{"a condition on a key that SQLite tests again",
	 "SELECT name, count(*) FROM events WHERE name LIKE 'SCHED%' GROUP BY name", true},
	{"a CASE",
	 "SELECT CASE WHEN cpu < 2 THEN 'low' ELSE 'high' END, count(*) FROM events GROUP BY "
	 "cpu ORDER BY cpu",
	 true},
	{"no names of columns but the text", "SELECT  max(ts)-min(ts) , count( * ) FROM events",
	 true},
	/* planned so, and given up when SQLite asks for what groups have not */
	{"a condition that no scan takes", "SELECT count(*) FROM events WHERE fields LIKE '%tid%'",
	 true},
	{"a condition on two columns",
	 "SELECT count(*) FROM sched_switch WHERE prev_tid < next_tid", true},
	{"a column beside the keys", "SELECT name, max(ts) FROM events", false},
	{"an alias that is a column", "SELECT count(*) AS cpu FROM events GROUP BY name", false},
	{"averages and totals",
	 "SELECT name, avg(cpu), total(cpu), avg(cpu) / 2 AS half FROM events GROUP BY name", true},
	{"averages of none",
	 "SELECT avg(next_prio), total(next_prio) FROM sched_switch WHERE cpu = 99", true},
	/* given up: doubles do not hold such sums, so that it matters in which order they are */
	{"averages of what is too large", "SELECT avg(ts), count(*) FROM events", true},
	{"distinct values", "SELECT count(DISTINCT cpu) FROM events", true},
	{"distinct values per group, beside others",
	 "SELECT cpu, count(DISTINCT next_comm), sum(next_prio), count( distinct next_tid ) FROM "
	 "sched_switch GROUP BY cpu HAVING count(DISTINCT next_tid) > 1",
	 true},
	{"distinct values of none", "SELECT count(DISTINCT cpu) FROM events WHERE cpu = 99", true},
	{"either of two conditions",
	 "SELECT count(*) FROM events WHERE cpu = 0 OR name = 'sched_switch'", true},
	{"either of two beside others",
	 "SELECT name, count(*) FROM events WHERE ts < ts('+3ms') AND (cpu = 0 OR name LIKE "
	 "'%wak%') AND stream <> 'x' GROUP BY name",
	 true},
	{"either, on fields",
	 "SELECT cpu, sum(next_prio), max(ts) FROM sched_switch WHERE (next_tid = 0 OR next_comm "
	 "GLOB 's*' OR next_prio IS NULL) AND prev_tid > 0 GROUP BY cpu",
	 true},
	{"either of many times",
	 "SELECT count(*) FROM events WHERE ts < ts('+1ms') OR ts > ts('+2ms')", true},
	{"either, of what is no key",
	 "SELECT count(*) FROM events WHERE fields LIKE '%tid%' OR cpu = 0", false},
	{"neither", "SELECT count(*) FROM events WHERE NOT (cpu = 0 OR name = 'sched_switch')",
	 false},
	{"other distinct aggregates", "SELECT sum(DISTINCT cpu) FROM events", false},
	{"distinct rows", "SELECT DISTINCT cpu, count(*) FROM events GROUP BY name, cpu", false},
	{"aggregates of expressions", "SELECT sum(cpu + 1) FROM events", false},
	{"aggregates with a filter", "SELECT count(*) FILTER (WHERE cpu = 0) FROM events", false},
	{"windows", "SELECT count(*) OVER (), name FROM events LIMIT 3", false},
	{"a join", "SELECT count(*) FROM events JOIN streams ON events.stream = streams.name",
	 false},
	{"two tables", "SELECT count(*) FROM streams, events", false},
	{"a part of it", "SELECT (SELECT count(*) FROM events)", false},
	{"another collation", "SELECT count(*) FROM events GROUP BY name COLLATE NOCASE", false},
	{"another table", "SELECT count(*) FROM packets", false},
	{"the first time alone, which is no sweep", "SELECT min(ts) FROM events", false},
	{"what is the same in all rows",
	 "SELECT trace(), name, host() || '/' AS h, count(*) FROM events GROUP BY name", true},
	{"and as a key", "SELECT trace(), count(*) FROM events GROUP BY trace(), name, host()",
	 true},
	{"and as the only one", "SELECT trace(), count(*) FROM events GROUP BY trace()", false},
	{"least of two", "SELECT max(cpu, 2) FROM events GROUP BY cpu", false},
	{"names joined", "SELECT group_concat(name) FROM events GROUP BY name", false},
};

static void set_constants(struct world *world)
{
	const struct sql_value path = sql_text_value("web1/t"), host = sql_text_value("web1");
	struct error err;

	assert_true(sql_set_constant(world->sql, "trace", &path, &err));
	assert_true(sql_set_constant(world->sql, "host", &host, &err));
}

static void folds(void **state)
{
	const struct row *row = *state;
	struct answer_text plan, with, off, without;
	struct buf explain = {0};
	struct world world;
	bool folded = false;

	world_open(&world, world_generated());
	set_constants(&world);
	buf_printf(&explain, "EXPLAIN QUERY PLAN %s", row->query);
	world_ask(&world, buf_text(&explain), &plan);
	for (size_t i = 0; i < plan.count; i++)
		folded |= strstr(plan.lines[i], "on all threads") != NULL;
	assert_int_equal(folded, row->folded);
	world_ask(&world, row->query, &with);
	world_ask(&world, "SELECT yore_pushdown(0)", &off);
	world_ask(&world, row->query, &without);
	if (with.err.kind != ERR_NONE)
		fail_msg("%s", with.err.text);
	if (!strstr(row->query, "ORDER BY")) {
		answer_sort(&with);
		answer_sort(&without);
	}
	answers_same(row->query, &with, &without);
	answer_release(&plan);
	answer_release(&with);
	answer_release(&off);
	answer_release(&without);
	buf_release(&explain);
	world_close(&world);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows)];

	for (size_t i = 0; i < COUNT(rows); i++)
		tests[i] = (struct CMUnitTest){rows[i].name, folds, NULL, NULL, &rows[i]};
	return cmocka_run_group_tests_name("folded statements", tests, NULL, world_teardown);
}

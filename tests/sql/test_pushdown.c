/*
 * test_pushdown.c - what a plan says it takes changes the work and not the answer
 *
 * Each row is asked twice, of traces that were just opened: as it is, and with scans that take
 * nothing, so that SQLite tests every condition on every row. The rows must be the same, and the
 * work less.
 */
#include "tests/harness.h"
#include "tests/sql/world.h"

#include <string.h>

enum less { EVENTS = 1, PACKETS = 2, STEPS = 4 };

static struct row {
	const char *name, *query, *plan;
	unsigned less; /* enum less */
} rows[] = {
	{"a window of time", "SELECT * FROM events WHERE ts >= ts('+2ms') AND ts < ts('+3ms')",
	 "ts>=? AND ts<?", EVENTS | PACKETS | STEPS},
	{"BETWEEN", "SELECT ts, name FROM events WHERE ts BETWEEN ts('+2ms') AND ts('+2100us')",
	 "ts>=? AND ts<=?", EVENTS | PACKETS | STEPS},
	{"one nanosecond", "SELECT count(*) FROM events WHERE ts = (SELECT min(ts) FROM events)",
	 "ts=?", STEPS},
	{"a time that is no integer", "SELECT count(*) FROM events WHERE ts < ts('+1ms') + 0.5",
	 "ts<?", EVENTS | PACKETS | STEPS},
	{"a time as text",
	 "SELECT count(*) FROM events WHERE ts < CAST(ts('+1ms') AS TEXT) AND ts > '17'",
	 "ts<? AND ts>?", EVENTS | PACKETS | STEPS},
	{"no time is greater than a text", "SELECT count(*) FROM events WHERE ts > 'now'", "ts>?",
	 EVENTS | PACKETS | STEPS},
	{"every time is less than a text", "SELECT count(*) FROM events WHERE ts < 'now'", "ts<?",
	 0},
	{"nothing compares with NULL", "SELECT count(*) FROM events WHERE ts >= NULL", "ts>=?",
	 EVENTS | PACKETS | STEPS},
	{"times in a list",
	 "SELECT ts, stream FROM events WHERE ts IN (SELECT ts FROM events ORDER BY ts LIMIT 3)",
	 "ts=?", STEPS},
	{"a name", "SELECT count(*) FROM events WHERE name = 'sched_switch'", "name=?", STEPS},
	{"names", "SELECT ts, name FROM events WHERE name IN ('sched_switch', 'sched_wakeup')",
	 "name IN ?", STEPS},
	{"a name by GLOB", "SELECT ts, name FROM events WHERE name GLOB 'sched_[sw]*'",
	 "name GLOB ?", STEPS},
	{"a name by LIKE", "SELECT ts, name FROM events WHERE name LIKE 'SCHED%'", "name LIKE ?",
	 STEPS},
	{"a name that no event has", "SELECT * FROM events WHERE name = 'nothing'", "name=?",
	 EVENTS | PACKETS | STEPS},
	{"a name in another case", "SELECT * FROM events WHERE name = 'SCHED_SWITCH'", "name=?",
	 EVENTS | PACKETS | STEPS},
	{"a CPU", "SELECT ts, cpu FROM events WHERE cpu = 1", "cpu=?", EVENTS | PACKETS | STEPS},
	{"CPUs", "SELECT ts, cpu FROM events WHERE cpu IN (0, 3, 77)", "cpu IN ?",
	 EVENTS | PACKETS | STEPS},
	{"a range of CPUs", "SELECT ts, cpu FROM events WHERE cpu > 1 AND cpu <= 2",
	 "cpu>? AND cpu<=?", STEPS},
	{"a stream", "SELECT ts, stream FROM events WHERE stream = 'channel0_2'", "stream=?",
	 EVENTS | PACKETS | STEPS},
	{"streams by GLOB", "SELECT ts, stream FROM events WHERE stream GLOB '*_[01]'",
	 "stream GLOB ?", EVENTS | PACKETS | STEPS},
	{"a class's table", "SELECT * FROM sched_switch", "all events", 0},
	{"a field", "SELECT ts, next_tid FROM sched_switch WHERE next_tid = 0", "next_tid=?",
	 STEPS},
	{"a range of a field",
	 "SELECT * FROM sched_switch WHERE next_prio > 100 AND next_prio < 120",
	 "next_prio>? AND next_prio<?", STEPS},
	{"a field in a list", "SELECT * FROM sched_switch WHERE prev_state IN (1, 2, 'x')",
	 "prev_state IN ?", STEPS},
	{"a field that is a text", "SELECT * FROM sched_switch WHERE next_comm = 'swapper/1'",
	 "next_comm=?", STEPS},
	{"a field of the context", "SELECT count(*) FROM sched_switch WHERE tid = 0", "tid=?",
	 STEPS},
	{"fields of rows, the last first",
	 "SELECT ts, next_tid, prev_prio FROM sched_switch ORDER BY ts DESC LIMIT 700",
	 "ORDER BY ts DESC LIMIT ?", STEPS},
	{"a number and a text",
	 "SELECT next_tid, next_comm FROM sched_switch WHERE next_tid > 3 AND prev_comm = "
	 "'swapper/1'",
	 "next_tid>? AND prev_comm=?", STEPS},
	{"another number for each row",
	 "SELECT w.ts, s.ts, s.next_tid FROM sched_wakeup w CROSS JOIN sched_switch s WHERE "
	 "s.next_tid = w.tid AND s.ts BETWEEN w.ts AND w.ts + 100000 AND w.ts < ts('+2ms')",
	 "next_tid=?", EVENTS | PACKETS | STEPS},
	{"the first event of a thread after each wake-up",
	 "SELECT w.ts, (SELECT min(s.ts) FROM sched_switch s WHERE s.next_tid = w.tid AND s.ts >= "
	 "w.ts) FROM sched_wakeup w",
	 "next_tid=? AND ts>=? ORDER BY ts", STEPS},
	{"the last one before it",
	 "SELECT w.ts, (SELECT max(s.ts) FROM sched_switch s WHERE s.prev_tid = w.tid AND s.ts < "
	 "w.ts) FROM sched_wakeup w",
	 "prev_tid=? AND ts<? ORDER BY ts DESC", STEPS},
	{"integers of the next event of a thread",
	 "SELECT w.ts, (SELECT s.cpu * 1000000 + s.prev_tid FROM sched_switch s WHERE s.next_tid = "
	 "w.tid AND s.ts >= w.ts AND s.cpu > 0 AND s.prev_state <= 1 ORDER BY s.ts LIMIT 1) FROM "
	 "sched_wakeup w",
	 "next_tid=? AND ts>=?", STEPS},
	{"a text of the next event of a thread",
	 "SELECT w.ts, (SELECT s.prev_comm FROM sched_switch s WHERE s.next_tid = w.tid AND s.ts "
	 ">= w.ts ORDER BY s.ts LIMIT 1) FROM sched_wakeup w",
	 "next_tid=? AND ts>=? ORDER BY ts", STEPS},
	{"the second one after each wake-up",
	 "SELECT w.ts, (SELECT s.ts FROM sched_switch s WHERE s.next_tid = w.tid AND s.ts >= w.ts "
	 "ORDER BY s.ts LIMIT 1 OFFSET 1) FROM sched_wakeup w",
	 "next_tid=? AND ts>=? ORDER BY ts", STEPS},
	{"all events of a thread, for each thread",
	 "SELECT w.tid, s.ts, s.stream, s.prev_tid FROM (SELECT DISTINCT tid FROM sched_wakeup) w "
	 "CROSS JOIN sched_switch s WHERE s.next_tid = w.tid + 0.0",
	 "next_tid=?", STEPS},
	{"a field against a real", "SELECT count(*) FROM sched_switch WHERE next_prio >= 119.5",
	 "next_prio>=?", 0},
	{"the first rows in order", "SELECT ts FROM events ORDER BY ts LIMIT 5",
	 "ORDER BY ts LIMIT ?", EVENTS | PACKETS | STEPS},
	{"the last rows in order", "SELECT ts FROM events ORDER BY ts DESC LIMIT 5",
	 "ORDER BY ts DESC LIMIT ?", EVENTS | PACKETS | STEPS},
	{"rows after others", "SELECT ts FROM events ORDER BY ts LIMIT 3 OFFSET 4",
	 "ORDER BY ts LIMIT ?", EVENTS | PACKETS | STEPS},
	{"either of two windows",
	 "SELECT ts, stream FROM events WHERE ts < ts('+500us') OR ts BETWEEN ts('+400us') AND "
	 "ts('+600us')",
	 "ts<?", EVENTS | PACKETS},
	{"packets of a stream", "SELECT * FROM packets WHERE stream = 'channel0_1'", "stream=?",
	 STEPS},
	{"packets that begin in a window",
	 "SELECT * FROM packets WHERE first BETWEEN ts('+1ms') AND ts('+2ms')",
	 "first>=? AND first<=?", STEPS},
	{"the packets of a moment",
	 "SELECT * FROM packets WHERE first <= ts('+2ms') AND last >= ts('+2ms')",
	 "first<=? AND last>=?", STEPS},
	{"a path", "SELECT * FROM state WHERE path = 'cpu[1]/thread'", "path=?", STEPS},
	{"either of two paths",
	 "SELECT * FROM state WHERE path = 'cpu[1]/thread' OR path = 'cpu[0]/thread'", "path=?",
	 STEPS},
	{"paths by GLOB", "SELECT * FROM state WHERE path GLOB 'cpu[[]2]/*'", "path GLOB ?", STEPS},
	{"paths by LIKE", "SELECT * FROM state WHERE path LIKE 'cpu[_]/thread'", "path LIKE ?",
	 STEPS},
	{"what began in a window",
	 "SELECT * FROM state('cpu[*]/thread') WHERE ts >= ts('+2ms') AND ts < ts('+3ms')",
	 "ts>=? AND ts<?", STEPS},
	{"what holds at a moment",
	 "SELECT * FROM state('cpu[*]/thread') WHERE ts <= ts('+2ms') AND until > ts('+2ms')",
	 "ts<=? AND until>?", STEPS},
	{"which call was the running thread in, at each wake-up",
	 "SELECT w.ts, s.value FROM sched_wakeup w JOIN state s ON s.path = 'cpu[' || w.cpu || "
	 "']/syscall' AND s.ts <= w.ts AND s.until > w.ts WHERE w.ts < ts('+1ms')",
	 "path=? AND ts<=? AND until>?", 0},
};

static char *plan_of(struct world *world, const char *query)
{
	struct answer_text answer;
	struct buf text = {0}, ask = {0};

	buf_printf(&ask, "EXPLAIN QUERY PLAN %s", query);
	world_ask(world, buf_text(&ask), &answer);
	for (size_t i = 0; i < answer.count; i++)
		buf_printf(&text, "%s\n", answer.lines[i]);
	answer_release(&answer);
	buf_release(&ask);
	return text.data;
}

static void ask_without(const char *query, struct answer_text *out)
{
	struct answer_text off;
	struct world world;

	world_open(&world, world_generated());
	world_ask(&world, "SELECT yore_pushdown(0)", &off);
	answer_release(&off);
	world_ask(&world, query, out);
	world_close(&world);
}

static void pushes(void **state)
{
	const struct row *row = *state;
	struct answer_text with, without;
	struct world world;

	world_open(&world, world_generated());
	char *plan = plan_of(&world, row->query);
	assert_non_null(plan);
	if (!strstr(plan, row->plan))
		fail_msg("plan: %s", plan);
	world_close(&world);
	struct buf release = {.data = plan};
	buf_release(&release);

	world_open(&world, world_generated());
	world_ask(&world, row->query, &with);
	world_close(&world);
	ask_without(row->query, &without);
	if (with.err.kind != ERR_NONE)
		fail_msg("%s", with.err.text);
	answer_sort(&with);
	answer_sort(&without);
	answers_same(row->query, &with, &without);
	if (row->less & EVENTS)
		assert_true(with.events < without.events);
	if (row->less & PACKETS)
		assert_true(with.packets < without.packets);
	if (row->less & STEPS)
		assert_true(with.steps < without.steps);
	answer_release(&with);
	answer_release(&without);
}

static void decodes_only_what_is_used(void **state)
{
	static const struct {
		const char *query, *plan;
	} facts[] = {
		{"SELECT ts, cpu, stream, name FROM events", "heads only"},
		{"SELECT count(*) FROM sched_switch", "heads only"},
		{"SELECT ts, at_file, at_offset FROM sched_switch", "heads only"},
		{"SELECT next_comm FROM sched_switch", "; fields"},
		{"SELECT ts FROM sched_switch WHERE next_tid = 1", "; fields"},
		{"SELECT fields FROM events", "; fields"},
	};
	struct world world;

	(void)state;
	world_open(&world, world_generated());
	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
		char *plan = plan_of(&world, facts[i].query);
		if (!strstr(plan, facts[i].plan))
			fail_msg("%s: %s", facts[i].query, plan);
		struct buf release = {.data = plan};
		buf_release(&release);
	}
	world_close(&world);
}

static void order_needs_no_sorting(void **state)
{
	struct world world;

	(void)state;
	world_open(&world, world_generated());
	char *plan = plan_of(&world, "SELECT ts FROM events WHERE cpu = 1 ORDER BY ts DESC");
	assert_null(strstr(plan, "B-TREE"));
	struct buf release = {.data = plan};
	buf_release(&release);
	world_close(&world);
}

/* Of a class's table, what was found for one query spares the work of those that follow. */
static void asked_again_reads_less(void **state)
{
	static const char *const queries[] = {
		"SELECT count(*) FROM sched_switch WHERE next_tid = 0",
		"SELECT next_prio, count(*) FROM sched_switch GROUP BY next_prio",
		"SELECT count(*), max(ts) FROM sched_switch WHERE ts >= ts('+1ms') AND cpu < 2",
		"SELECT ts, next_comm FROM sched_switch WHERE next_prio > 100 ORDER BY ts",
		"SELECT * FROM sched_switch",
		"SELECT ts, cpu FROM sched_switch ORDER BY ts DESC LIMIT 7",
	};
	enum { COUNT = sizeof queries / sizeof *queries };

	(void)state;
	for (size_t first = 0; first < COUNT - 1; first++) { /* the last reads too little */
		struct answer_text fresh, again;
		struct world world, other;
		world_open(&world, world_generated());
		world_ask(&world, queries[first], &again);
		answer_release(&again);
		for (size_t i = 0; i < COUNT; i++) {
			world_open(&other, world_generated());
			world_ask(&other, queries[i], &fresh);
			world_close(&other);
			world_ask(&world, queries[i], &again);
			answers_same(queries[i], &fresh, &again);
			if (first != 2)
				assert_true(again.events < fresh.events);
			answer_release(&again);
			answer_release(&fresh);
		}
		world_close(&world);
	}
}

int main(void)
{
	enum { COUNT = sizeof rows / sizeof *rows };
	struct CMUnitTest tests[COUNT + 3];

	for (size_t i = 0; i < COUNT; i++)
		tests[i] = (struct CMUnitTest){rows[i].name, pushes, NULL, NULL, &rows[i]};
	tests[COUNT] = (struct CMUnitTest)cmocka_unit_test(decodes_only_what_is_used);
	tests[COUNT + 1] = (struct CMUnitTest)cmocka_unit_test(order_needs_no_sorting);
	tests[COUNT + 2] = (struct CMUnitTest)cmocka_unit_test(asked_again_reads_less);
	return cmocka_run_group_tests_name("what scans take", tests, NULL, world_teardown);
}

/*
 * test_random.c - queries made by chance agree with SQLite's own tables of the same rows
 *
 * Each table is copied (CREATE TABLE ... AS SELECT), and every query is asked of both: conditions
 * of one to three terms, joined by AND and OR, over values that occur, values beside them, values
 * of other types and NULL; rows, aggregates, groups, orders and limits.
 */
#include "engine/base/mem.h"
#include "tests/harness.h"
#include "fixtures/rng.h"
#include "tests/sql/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUERIES = 400, COLUMNS_MAX = 48, SAMPLES = 24 };

struct column {
	char *name;             /* quoted */
	char *samples[SAMPLES]; /* literals */
	size_t nsamples;
};

struct made {
	struct world world;
	struct rng seed;
	unsigned answered; /* queries with rows */
	char *table;       /* quoted */
	struct column columns[COLUMNS_MAX];
	size_t ncolumns;
};

static unsigned chance(struct made *made, unsigned below)
{
	return (unsigned)(rng_next(&made->seed) % below);
}

static void one_row(struct made *made, const char *query, struct answer_text *out)
{
	world_ask(&made->world, query, out);
	if (out->err.kind != ERR_NONE)
		fail_msg("%s: %s", query, out->err.text);
}

static void run(struct made *made, const char *query)
{
	struct answer_text answer;

	one_row(made, query, &answer);
	answer_release(&answer);
}

/* A cell of an answer as a literal. */
static char *literal(const char *line)
{
	struct buf text = {0};
	size_t len = strlen(line) - 1; /* the | */

	for (size_t i = 0; i < len; i++) {
		buf_add_char(&text, line[i]);
		if (i && line[i] == '\'')
			buf_add_char(&text, '\'');
	}
	if (*line == '\'')
		buf_add_char(&text, '\'');
	return text.data;
}

static void sample(struct made *made, struct column *column)
{
	struct answer_text answer;
	struct buf query = {0};

	buf_printf(&query, "SELECT DISTINCT %s FROM copy ORDER BY random() LIMIT %d", column->name,
		   SAMPLES);
	one_row(made, buf_text(&query), &answer);
	for (size_t i = 0; i < answer.count; i++)
		column->samples[column->nsamples++] = literal(answer.lines[i]);
	answer_release(&answer);
	buf_release(&query);
}

/* Copies the table and learns what occurs in its columns. */
static void begin(struct made *made, const char *path, const char *table, uint64_t seed)
{
	struct answer_text answer;
	struct buf query = {0};

	memset(made, 0, sizeof *made);
	made->seed = (struct rng){seed};
	world_open(&made->world, path);
	buf_printf(&query, "\"%s\"", table);
	made->table = query.data;
	query = (struct buf){0};
	buf_printf(&query, "CREATE TABLE copy AS SELECT * FROM %s", made->table);
	run(made, buf_text(&query));
	one_row(made, "SELECT name FROM pragma_table_info('copy')", &answer);
	for (size_t i = 0; i < answer.count && i < COLUMNS_MAX; i++) {
		struct column *column = &made->columns[made->ncolumns++];
		struct buf name = {0};
		size_t len = strlen(answer.lines[i]) - 1;
		buf_printf(&name, "\"%.*s\"", (int)len - 1, answer.lines[i] + 1);
		column->name = name.data;
		sample(made, column);
	}
	answer_release(&answer);
	buf_release(&query);
}

static void end(struct made *made)
{
	for (size_t i = 0; i < made->ncolumns; i++) {
		mem_free(made->columns[i].name);
		for (size_t k = 0; k < made->columns[i].nsamples; k++)
			mem_free(made->columns[i].samples[k]);
	}
	mem_free(made->table);
	world_close(&made->world);
}

static struct column *any_column(struct made *made)
{
	if (chance(made, 3) == 0) /* the four that scans know best */
		return &made->columns[chance(made, made->ncolumns < 4 ? 1 : 4)];
	return &made->columns[chance(made, (unsigned)made->ncolumns)];
}

static void add_value(struct made *made, const struct column *column, struct buf *out)
{
	static const char *const odd[] = {"NULL",  "0",    "-1",    "'abc'",
					  "1.5",   "'12'", "x'00'", "9223372036854775807",
					  "-9e18", "1e30", "''",    "' 7 '"};
	const char *value = column->nsamples
				    ? column->samples[chance(made, (unsigned)column->nsamples)]
				    : "NULL";

	switch (chance(made, 10)) {
	case 0:
		buf_add_text(out, odd[chance(made, sizeof odd / sizeof *odd)]);
		return;
	case 1:
		buf_printf(out, "%s + %u", value, chance(made, 3));
		return;
	case 2:
		buf_printf(out, "%s - 0.5", value);
		return;
	case 3:
		buf_printf(out, "CAST(%s AS TEXT)", value);
		return;
	default:
		buf_add_text(out, value);
	}
}

static void add_pattern(struct made *made, const struct column *column, struct buf *out)
{
	static const char *const patterns[] = {"'*'",    "'sched*'", "'*_[sw]*'",
					       "'s?s*'", "'%sch%'",  "'SCHED_S%'",
					       "NULL",   "'1*'",     "'channel0_[12]'"};

	if (chance(made, 4) == 0)
		add_value(made, column, out);
	else
		buf_add_text(out, patterns[chance(made, sizeof patterns / sizeof *patterns)]);
}

static void add_term(struct made *made, struct buf *out)
{
	static const char *const comparisons[] = {"=", "<", "<=", ">", ">=", "<>", "IS"};
	const struct column *column = any_column(made);

	buf_add_text(out, column->name);
	switch (chance(made, 9)) {
	case 0:
		buf_add_text(out, " BETWEEN ");
		add_value(made, column, out);
		buf_add_text(out, " AND ");
		add_value(made, column, out);
		return;
	case 1:
	case 2:
		buf_add_text(out, " IN (");
		for (unsigned i = 0, n = chance(made, 4); i <= n; i++) {
			buf_add_text(out, i ? ", " : "");
			add_value(made, column, out);
		}
		buf_add_char(out, ')');
		return;
	case 3:
		buf_add_text(out, chance(made, 2) ? " GLOB " : " LIKE ");
		add_pattern(made, column, out);
		return;
	case 4:
		buf_add_text(out, chance(made, 2) ? " IS NULL" : " IS NOT NULL");
		return;
	default:
		buf_printf(out, " %s ",
			   comparisons[chance(made, sizeof comparisons / sizeof *comparisons)]);
		add_value(made, column, out);
		if (chance(made, 12) == 0)
			buf_add_text(out, " COLLATE NOCASE");
	}
}

static void add_where(struct made *made, struct buf *out)
{
	unsigned count = chance(made, 4);

	for (unsigned i = 0; i < count; i++) {
		buf_add_text(out, !i ? " WHERE (" : chance(made, 3) ? " AND (" : " OR (");
		add_term(made, out);
		buf_add_char(out, ')');
	}
}

/* What is asked for; `tail` is what follows the conditions. */
static void add_head(struct made *made, struct buf *head, struct buf *tail)
{
	/* no avg or total: what they add in doubles depends on the order */
	static const char *const aggregates[] = {"count", "sum", "min", "max"};
	const struct column *a = any_column(made), *b = any_column(made);
	unsigned kind = chance(made, 6);

	buf_add_text(head, "SELECT ");
	if (kind == 0) {
		buf_printf(head, "%s, %s", a->name, b->name);
	} else if (kind == 1) {
		buf_add_char(head, '*');
	} else if (kind == 2) { /* what is equal in ts may come in any order */
		buf_add_text(head, "ts");
		buf_printf(tail, " ORDER BY ts%s LIMIT %u", chance(made, 2) ? " DESC" : "",
			   chance(made, 20));
		if (chance(made, 2))
			buf_printf(tail, " OFFSET %u", chance(made, 10));
	} else {
		if (kind > 3) {
			buf_printf(head, "%s, ", b->name);
			buf_printf(tail, " GROUP BY %s", chance(made, 3) ? b->name : "1");
		}
		if (chance(made, 4))
			buf_printf(head, "%s(%s)", aggregates[chance(made, 4)], a->name);
		else
			buf_add_text(head, "count(*)");
		if (kind == 5)
			buf_add_text(tail, " HAVING count(*) > 2");
	}
}

static void ask_both(struct made *made)
{
	struct buf head = {0}, where = {0}, tail = {0}, query = {0};
	struct answer_text scanned, copied;

	add_head(made, &head, &tail);
	add_where(made, &where);
	buf_printf(&query, "%s FROM copy%s%s", buf_text(&head), buf_text(&where), buf_text(&tail));
	world_ask(&made->world, buf_text(&query), &copied);
	buf_clear(&query);
	buf_printf(&query, "%s FROM %s%s%s", buf_text(&head), made->table, buf_text(&where),
		   buf_text(&tail));
	world_ask(&made->world, buf_text(&query), &scanned);
	if (!strstr(buf_text(&query), " ORDER BY ")) {
		answer_sort(&copied);
		answer_sort(&scanned);
	}
	/* whether a sum leaves 64 bits on its way depends on the order */
	if (!strstr(copied.err.text, "overflow") && !strstr(scanned.err.text, "overflow"))
		answers_same(buf_text(&query), &scanned, &copied);
	made->answered += copied.count > 0;
	answer_release(&copied);
	answer_release(&scanned);
	buf_release(&head);
	buf_release(&where);
	buf_release(&tail);
	buf_release(&query);
}

static struct row {
	const char *name, *path, *table; /* path NULL: generated */
} rows[] = {
	{"all events, generated", NULL, "events"},
	{"sched_switch, generated", NULL, "sched_switch"},
	{"all events, CTF of perf", "fixtures/golden/sched-demo", "events"},
	{"sched_wakeup, CTF of perf", "fixtures/golden/sched-demo", "sched:sched_wakeup"},
	{"all events, perf.data", "fixtures/golden/sched-perf/perf.data", "events"},
	{"perf_mmap2, perf.data", "fixtures/golden/sched-perf/perf.data", "perf_mmap2"},
	{"all events, trace.dat", "fixtures/golden/sched-ftrace/trace.dat", "events"},
	{"sched_switch, trace.dat", "fixtures/golden/sched-ftrace/trace.dat", "sched_switch"},
};

static void agrees(void **state)
{
	const struct row *row = *state;
	const char *top = getenv("srcdir");
	struct made *made = mem_new(sizeof *made);
	struct buf path = {0};

	if (row->path)
		buf_printf(&path, "%s/%s", top ? top : ".", row->path);
	else
		buf_add_text(&path, world_generated());
	begin(made, buf_text(&path), row->table, (uint64_t)(row - rows) * 77 + 5);
	for (int i = 0; i < QUERIES; i++)
		ask_both(made);
	assert_true(made->answered > QUERIES / 8);
	end(made);
	mem_free(made);
	buf_release(&path);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows)];

	for (size_t i = 0; i < COUNT(rows); i++)
		tests[i] = (struct CMUnitTest){rows[i].name, agrees, NULL, NULL, &rows[i]};
	return cmocka_run_group_tests_name("random queries", tests, NULL, world_teardown);
}

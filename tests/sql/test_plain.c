/* test_plain.c - databases without a trace, and names of columns that become calls */
#include "engine/base/mem.h"
#include "sql/sql.h"
#include "tests/harness.h"

#include <string.h>

static struct row {
	const char *name, *text, *written;
} rows[] = {
	{"names of columns", "SELECT trace, host FROM t", "SELECT trace(), host() FROM t"},
	{"in any case of letters", "SELECT Trace FROM t", "SELECT Trace() FROM t"},
	{"in conditions and groups", "SELECT 1 FROM t WHERE host='a' GROUP BY trace",
	 "SELECT 1 FROM t WHERE host()='a' GROUP BY trace()"},
	{"inside of a call", "SELECT upper(host) FROM t", "SELECT upper(host()) FROM t"},
	{"at the end", "SELECT 1 ORDER BY trace", "SELECT 1 ORDER BY trace()"},
	{"not of a table", "SELECT t.trace, trace.x FROM t", "SELECT t.trace, trace.x FROM t"},
	{"not an alias", "SELECT 1 AS trace", "SELECT 1 AS trace"},
	{"not a call", "SELECT trace(), host(1)", "SELECT trace(), host(1)"},
	{"not in quotes", "SELECT 'trace', \"host\", [trace]", "SELECT 'trace', \"host\", [trace]"},
	{"not in comments", "SELECT 1 -- trace\n/* host */", "SELECT 1 -- trace\n/* host */"},
	{"not a part of a name", "SELECT traces, host_2", "SELECT traces, host_2"},
	{"nothing", "", ""},
	{"a quote that does not end", "SELECT trace, 'host", "SELECT trace(), 'host"},
};

static void becomes_calls(void **state)
{
	static const char *const names[] = {"trace", "host", NULL};
	const struct row *row = *state;
	char *written = sql_with_calls(row->text, names);

	assert_string_equal(written ? written : "", row->written);
	mem_free(written);
}

static struct sql *open_plain(void)
{
	struct error err = {0};
	struct sql *sql;

	if (!sql_open_plain(NULL, NULL, NULL, &sql, &err))
		fail_msg("%s", err.text);
	return sql;
}

/* The first value of the first row. */
static struct sql_statement *ask(struct sql *sql, const char *text, struct sql_value *out)
{
	struct sql_statement *statement = NULL;
	struct error err = {0};
	const char *rest;

	if (!sql_prepare(sql, text, &rest, &statement, &err) ||
	    sql_step(statement, &err) != STEP_ITEM)
		fail_msg("%s: %s", text, err.text);
	sql_column(statement, 0, out);
	return statement;
}

static void expect_text(struct sql *sql, const char *text, const char *expected)
{
	struct sql_value value;
	struct sql_statement *statement = ask(sql, text, &value);

	assert_int_equal(value.kind, SQL_TEXT);
	assert_int_equal(value.len, strlen(expected));
	assert_memory_equal(value.bytes, expected, value.len);
	sql_finish(statement);
}

static void keeps_values(void **state)
{
	static const struct sql_column columns[] = {{"a \"b\"", ""}, {"select", "INTEGER HEX"}};
	static const struct sql_column more = {"later", ""};
	const struct sql_value values[] = {{.kind = SQL_REAL, .real = 2.0},
					   sql_number_value(INT64_MIN)};
	const struct sql_value texts[] = {{.kind = SQL_TEXT, .bytes = NULL}, {.kind = SQL_NULL}};
	struct sql_inserter *inserter = NULL;
	struct error err = {0};
	struct sql *sql = open_plain();

	(void)state;
	assert_true(sql_make_table(sql, "rows", columns, 2, &err));
	assert_true(sql_inserter_new(sql, "rows", columns, 2, &inserter, &err));
	assert_true(sql_insert(inserter, 7, texts, &err));
	assert_true(sql_add_column(sql, "rows", &more, &err)); /* while rows are inserted */
	assert_true(sql_insert(inserter, 3, values, &err));
	assert_false(sql_insert(inserter, 3, values, &err));
	sql_inserter_free(inserter);
	expect_text(sql,
		    "SELECT group_concat(rowid || typeof(\"a \"\"b\"\"\") || typeof(later)) "
		    "FROM (SELECT rowid, * FROM rows ORDER BY rowid)",
		    "3realnull,7textnull");
	expect_text(sql, "SELECT max(\"select\") || hex(1) FROM rows", "-92233720368547758080x1");
	assert_true(sql_run(sql, "DELETE FROM rows", &err));
	assert_true(sql_run(sql, "COMMIT", &err));
	expect_text(sql, "SELECT 'left ' || count(*) FROM rows", "left 0");
	sql_close(sql);
}

static void tells_errors(void **state)
{
	struct sql_statement *statement;
	struct error err = {0};
	const char *rest;
	struct sql *sql = open_plain(), *other;

	(void)state;
	assert_false(sql_run(sql, "DELETE FROM absent", &err));
	if (!strstr(err.text, "no such table: absent"))
		fail_msg("%s", err.text);
	assert_false(sql_prepare(sql, "SELECT time_text(1) FROM absent", &rest, &statement, &err));
	if (!strstr(err.text, "no such table: absent"))
		fail_msg("%s", err.text);
	assert_false(sql_open_file("/nowhere/at-all.sqlite", &other, &err));
	sql_close(sql);
}

static void has_constants(void **state)
{
	struct sql *sql = open_plain();
	const struct sql_value text = sql_text_value("web1"), none = {.kind = SQL_NULL};
	struct error err = {0};

	(void)state;
	assert_true(sql_set_constant(sql, "host", &text, &err));
	assert_true(sql_set_constant(sql, "nobody", &none, &err));
	expect_text(sql, "SELECT host() || typeof(nobody())", "web1null");
	sql_close(sql);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + 3] = {cmocka_unit_test(keeps_values),
						    cmocka_unit_test(tells_errors),
						    cmocka_unit_test(has_constants)};
	size_t n = 3;

	ADD_ROWS(tests, n, rows, becomes_calls);
	return cmocka_run_group_tests_name("databases without a trace", tests, NULL, NULL);
}

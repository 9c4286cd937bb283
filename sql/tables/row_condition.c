/*
 * row_condition.c - yore_where(TEXT, value, ...): a condition on the values of a row
 *
 *     SELECT * FROM thread_state WHERE yore_where('dur > 1ms && comm ~ "make*"', dur, comm)
 *
 * The values are those of the columns in the text, in the order of their first occurrence. If the
 * text is a literal, it is parsed once per statement.
 */
#include "sql/sql_internal.h"

#include "engine/base/mem.h"
#include "state/filter/rows.h"

enum { VALUES_MAX = 100 };

static struct value row_condition_value_of(sqlite3_value *value)
{
	const char *text;

	switch (sqlite3_value_type(value)) {
	case SQLITE_INTEGER:
		return value_s64(sqlite3_value_int64(value));
	case SQLITE_FLOAT:
		return (struct value){.kind = VALUE_FLOAT, .f = sqlite3_value_double(value)};
	case SQLITE_NULL:
		return (struct value){.kind = VALUE_UNKNOWN};
	default:
		text = (const char *)sqlite3_value_text(value);
		return value_text(text ? text : "", (size_t)sqlite3_value_bytes(value));
	}
}

static void no_values(sqlite3_context *out, const struct rows_where *where, size_t given)
{
	struct buf names = {0};

	for (size_t i = 0; rows_where_column(where, i); i++)
		buf_printf(&names, ", %s", rows_where_column(where, i));
	char *text = sqlite3_mprintf("yore_where: the condition names other columns than the %d "
				     "that are given: yore_where(TEXT%s)",
				     (int)given, buf_text(&names));
	sqlite3_result_error(out, text, -1);
	sqlite3_free(text);
	buf_release(&names);
}

static bool row_condition_holds(struct rows_where *where, int count, sqlite3_value **given)
{
	struct value values[VALUES_MAX];
	bool all = true;

	for (int i = 0; i < count; i++)
		values[i] = row_condition_value_of(given[i]);
	for (size_t i = 0; i < rows_where_terms(where) && all; i++)
		all = rows_where_holds(where, i, values);
	return all;
}

static void free_where(void *where)
{
	rows_where_free(where);
}

void sql_row_condition(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	struct rows_where *kept = argc ? sqlite3_get_auxdata(out, 0) : NULL, *where = kept;
	const char *text = argc ? (const char *)sqlite3_value_text(argv[0]) : NULL;
	struct error err;

	if (!argc || argc > VALUES_MAX) {
		sqlite3_result_error(out, "yore_where: a condition and at most 99 values", -1);
		return;
	}
	if (!text)
		return;
	if (!where && !rows_where_parse(text, NULL, 0, &where, &err)) {
		error_while(&err, "yore_where");
		sql_result_error(out, &err);
		return;
	}
	if (rows_where_column(where, (size_t)argc - 1) ||
	    (argc > 1 && !rows_where_column(where, (size_t)argc - 2)))
		no_values(out, where, (size_t)argc - 1);
	else
		sqlite3_result_int(out, row_condition_holds(where, argc - 1, argv + 1));
	if (!kept) /* SQLite may free it at once, so this comes last */
		sqlite3_set_auxdata(out, 0, where, free_where);
}

/*
 * suggest.c - hints for an unknown name in a statement; names for completion
 *
 * Columns come from all tables that the statement names.
 */
#include "sql/database_internal.h"

#include "engine/base/arena.h"
#include "engine/base/mem.h"
#include "engine/base/nearest.h"
#include "sql/fold/fold_words.h"

#include <string.h>

bool sql_has_word(const char *statement, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = statement; (at = strcasestr(at, word)) != NULL; at++)
		if ((at == statement || !char_is_word(at[-1])) && !char_is_word(at[len]))
			return true;
	return false;
}

const char *sql_time_misused(const char *text, const char **column)
{
	static const char *const functions[] = {"time", "date", "datetime", "julianday", NULL};
	static const char *const columns[] = {"ts",    "begin", "end",  "since",
					      "until", "first", "last", NULL};
	struct fold_statement statement = {.text = text, .len = strlen(text)};
	const char *function = NULL;

	words_read(&statement);
	for (size_t i = 0; !function && i + 3 < statement.count; i++) {
		size_t at = i + 4 < statement.count && word_is_sign(&statement, i + 3, '.') ? i + 4
											    : i + 2;
		*column = word_is_any(&statement, at, columns);
		if (*column && word_is_sign(&statement, i + 1, '(') &&
		    word_is_sign(&statement, at + 1, ')'))
			function = word_is_any(&statement, i, functions);
	}
	mem_free(statement.words);
	return function;
}

enum { NAMES_MOST = 4096, COLUMNS_LONGEST = 300 /* bytes of the list of columns in a hint */ };

struct offers {
	struct nearest nearest;
	struct arena *arena;
};

static void offer_nearest(void *arg, const char *name)
{
	struct offers *offers = arg;

	nearest_offer(&offers->nearest, arena_strdup(offers->arena, name));
}

/* Calls `each` with the text of each row of the query, which has one column. */
static void each_row(const struct sql *sql, const char *query, const char *argument,
		     void (*each)(void *arg, const char *name), void *arg)
{
	sqlite3_stmt *rows;

	if (sqlite3_prepare_v2(sql->db, query, -1, &rows, NULL) != SQLITE_OK)
		return;
	if (argument)
		sqlite3_bind_text(rows, 1, argument, -1, SQLITE_STATIC);
	for (size_t i = 0; i < NAMES_MOST && sqlite3_step(rows) == SQLITE_ROW; i++) {
		const char *name = (const char *)sqlite3_column_text(rows, 0);
		if (name)
			each(arg, name);
	}
	sqlite3_finalize(rows);
}

static bool has_table(const struct sql *sql, const char *wanted)
{
	const char *name;

	for (size_t i = 0; (name = sql_table_name(sql, i)); i++)
		if (!strcmp(name, wanted))
			return true;
	return false;
}

/* The name to propose for a table: `sched_switch` for "sched:sched_switch", which needs quotes. */
static const char *proposed_table(const struct sql *sql, const char *name)
{
	const char *colon = strrchr(name, ':');

	return colon && has_table(sql, colon + 1) ? colon + 1 : name;
}

static void offer_tables(struct offers *offers, const struct sql *sql)
{
	const char *name;

	for (size_t i = 0; (name = sql_table_name(sql, i)); i++)
		nearest_offer(&offers->nearest, proposed_table(sql, name));
	each_row(sql, "SELECT name FROM sqlite_schema", NULL, offer_nearest, offers);
}

static void each_column(const struct sql *sql, const char *statement,
			void (*each)(void *arg, const char *name), void *arg)
{
	const char *name;

	for (size_t i = 0; (name = sql_table_name(sql, i)); i++)
		if (sql_has_word(statement, name))
			each_row(sql, "SELECT name FROM pragma_table_xinfo(?)", name, each, arg);
}

/* The name behind "no such KIND: ", without its table and database; NULL: another message. */
static const char *name_behind(const char *message, const char *kind)
{
	const char *name, *dot;

	if (strncmp(message, kind, strlen(kind)) != 0)
		return NULL;
	name = message + strlen(kind);
	dot = strrchr(name, '.');
	return dot && dot[1] ? dot + 1 : name;
}

/* A table that has the column; NULL: none has. */
static const char *table_with(const struct sql *sql, const char *column)
{
	static const char query[] =
		"SELECT 1 FROM pragma_table_xinfo(?) WHERE lower(name) = lower(?) AND hidden = 0";
	const char *found = NULL, *table;
	sqlite3_stmt *rows;

	if (sqlite3_prepare_v2(sql->db, query, -1, &rows, NULL) != SQLITE_OK)
		return NULL;
	for (size_t i = 0; !found && i < NAMES_MOST && (table = sql_table_name(sql, i)); i++) {
		sqlite3_bind_text(rows, 1, table, -1, SQLITE_TRANSIENT);
		sqlite3_bind_text(rows, 2, column, -1, SQLITE_STATIC);
		found = sqlite3_step(rows) == SQLITE_ROW ? table : NULL;
		sqlite3_reset(rows);
	}
	sqlite3_finalize(rows);
	return found ? proposed_table(sql, found) : NULL;
}

static void suggest_add_column(void *arg, const char *name)
{
	struct buf *list = arg;

	buf_printf(list, "%s%s", list->len ? ", " : "", name);
}

/* Appends ": TABLE has a, b, c" if the statement names one table. */
static void add_columns(const struct sql *sql, const char *statement, struct buf *out)
{
	static const char query[] = "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0";
	const char *name, *only = NULL;
	struct buf list = {0};

	for (size_t i = 0; (name = sql_table_name(sql, i)); i++) {
		if (!sql_has_word(statement, name))
			continue;
		if (only && strcmp(proposed_table(sql, only), proposed_table(sql, name)))
			return;
		only = name;
	}
	if (only)
		each_row(sql, query, only, suggest_add_column, &list);
	if (list.len && list.len <= COLUMNS_LONGEST)
		buf_printf(out, ": %s has %s", proposed_table(sql, only), buf_text(&list));
	buf_release(&list);
}

bool sql_suggest(const struct sql *sql, const char *message, const char *statement, struct buf *out,
		 bool *in_trace)
{
	const char *column = name_behind(message, "no such column: ");
	const char *table = name_behind(message, "no such table: ");
	const char *function = name_behind(message, "no such function: ");
	const char *name = column ? column : table ? table : function;
	struct offers offers = {.arena = arena_new()};
	char near[NEAREST_WORDS_MAX];

	*in_trace = column || table;
	if (name) {
		char *wanted = arena_strdup(offers.arena, name);
		nearest_begin(&offers.nearest, wanted);
		if (column)
			each_column(sql, statement, offer_nearest, &offers);
		else if (table)
			offer_tables(&offers, sql);
		else
			each_row(sql, "SELECT DISTINCT name FROM pragma_function_list", NULL,
				 offer_nearest, &offers);
		nearest_hint(&offers.nearest, near, sizeof near);
		const char *other = column && !*near ? table_with(sql, wanted) : NULL;
		if (other)
			buf_printf(out, ": table \"%s\" has it", other);
		if (column && !*near)
			add_columns(sql, statement, out);
		buf_printf(out, ": %s%s", near,
			   column  ? "'.schema TABLE' lists columns"
			   : table ? "'.tables' lists tables"
				   : "'SELECT name FROM pragma_function_list' lists functions");
	}
	arena_free(offers.arena);
	return name != NULL;
}

void sql_names(const struct sql *sql, const char *text, void (*each)(void *arg, const char *name),
	       void *arg)
{
	const char *table;

	for (size_t i = 0; (table = sql_table_name(sql, i)); i++)
		each(arg, table);
	each_column(sql, text, each, arg);
	each_row(sql, "SELECT DISTINCT name FROM pragma_function_list", NULL, each, arg);
}

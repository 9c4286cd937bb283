/* plain.c - ordinary tables of a database without a trace, and functions that are constants */
#include "sql/database_internal.h"

#include "engine/base/mem.h"
#include "engine/columns/shape.h"
#include "sql/fold/fold_words.h"

#include <string.h>

bool sql_run(struct sql *sql, const char *text, struct error *err)
{
	int code = sqlite3_exec(sql->db, text, NULL, NULL, NULL);

	return code == SQLITE_OK || sql_failed(sql, code, err);
}

static void plain_add_column(struct buf *out, const struct sql_column *column)
{
	shape_add_name(out, column->name);
	if (*column->type)
		buf_printf(out, " %s", column->type);
}

/* Runs the text, and frees it. */
static bool run_and_release(struct sql *sql, struct buf *text, struct error *err)
{
	bool ok = sql_run(sql, buf_text(text), err);

	buf_release(text);
	return ok;
}

bool sql_make_table(struct sql *sql, const char *table, const struct sql_column *columns,
		    size_t count, struct error *err)
{
	struct buf text = {0};

	buf_add_text(&text, "CREATE TABLE ");
	shape_add_name(&text, table);
	for (size_t i = 0; i < count; i++) {
		buf_add_text(&text, i ? ", " : "(");
		plain_add_column(&text, &columns[i]);
	}
	buf_add_char(&text, ')');
	return run_and_release(sql, &text, err);
}

bool sql_add_column(struct sql *sql, const char *table, const struct sql_column *column,
		    struct error *err)
{
	struct buf text = {0};

	buf_add_text(&text, "ALTER TABLE ");
	shape_add_name(&text, table);
	buf_add_text(&text, " ADD COLUMN ");
	plain_add_column(&text, column);
	return run_and_release(sql, &text, err);
}

struct sql_inserter {
	struct sql *sql;
	sqlite3_stmt *stmt;
	size_t count; /* columns, without the rowid */
};

bool sql_inserter_new(struct sql *sql, const char *table, const struct sql_column *columns,
		      size_t count, struct sql_inserter **out, struct error *err)
{
	struct sql_inserter *inserter = mem_new(sizeof *inserter);
	struct buf text = {0};

	*inserter = (struct sql_inserter){.sql = sql, .count = count};
	buf_add_text(&text, "INSERT INTO ");
	shape_add_name(&text, table);
	buf_add_text(&text, "(rowid");
	for (size_t i = 0; i < count; i++) {
		buf_add_text(&text, ", ");
		shape_add_name(&text, columns[i].name);
	}
	buf_add_text(&text, ") VALUES(?");
	for (size_t i = 0; i < count; i++)
		buf_add_text(&text, ",?");
	buf_add_char(&text, ')');
	int code = sqlite3_prepare_v2(sql->db, buf_text(&text), -1, &inserter->stmt, NULL);
	buf_release(&text);
	if (code != SQLITE_OK) {
		sql_failed(sql, code, err);
		sql_inserter_free(inserter);
		return false;
	}
	*out = inserter;
	return true;
}

void sql_inserter_free(struct sql_inserter *inserter)
{
	if (!inserter)
		return;
	sqlite3_finalize(inserter->stmt);
	mem_free(inserter);
}

static int bind(sqlite3_stmt *stmt, int at, const struct sql_value *value)
{
	switch (value->kind) {
	case SQL_INTEGER:
		return sqlite3_bind_int64(stmt, at, value->integer);
	case SQL_REAL:
		return sqlite3_bind_double(stmt, at, value->real);
	case SQL_TEXT:
		return sqlite3_bind_text64(stmt, at, value->bytes ? value->bytes : "", value->len,
					   SQLITE_STATIC, SQLITE_UTF8);
	case SQL_BLOB:
		return sqlite3_bind_blob64(stmt, at, value->bytes ? value->bytes : "", value->len,
					   SQLITE_STATIC);
	default:
		return sqlite3_bind_null(stmt, at);
	}
}

bool sql_insert(struct sql_inserter *inserter, int64_t rowid, const struct sql_value *values,
		struct error *err)
{
	sqlite3_stmt *stmt = inserter->stmt;
	int code = sqlite3_bind_int64(stmt, 1, rowid);

	for (size_t i = 0; code == SQLITE_OK && i < inserter->count; i++)
		code = bind(stmt, (int)i + 2, &values[i]);
	if (code == SQLITE_OK)
		code = sqlite3_step(stmt);
	bool ok = code == SQLITE_DONE || sql_failed(inserter->sql, code, err);
	sqlite3_reset(stmt);
	sqlite3_clear_bindings(stmt);
	return ok;
}

/* Constants */

struct constant {
	enum sql_kind kind;
	int64_t integer;
	char *text; /* of SQL_TEXT */
};

static void constant_free(void *arg)
{
	struct constant *constant = arg;

	mem_free(constant->text);
	mem_free(constant);
}

static void give_constant(sqlite3_context *out, int argc, sqlite3_value **argv)
{
	const struct constant *constant = sqlite3_user_data(out);

	(void)argc;
	(void)argv;
	if (constant->kind == SQL_TEXT)
		sqlite3_result_text(out, constant->text, -1, SQLITE_TRANSIENT);
	else if (constant->kind == SQL_INTEGER)
		sqlite3_result_int64(out, constant->integer);
	else
		sqlite3_result_null(out);
}

bool sql_set_constant(struct sql *sql, const char *name, const struct sql_value *value,
		      struct error *err)
{
	struct constant *constant = mem_new(sizeof *constant);

	*constant = (struct constant){.kind = value->kind, .integer = value->integer};
	if (value->kind == SQL_TEXT) {
		struct buf text = {0};
		buf_add(&text, value->bytes, value->len);
		constant->text = text.data;
	}
	int code = sqlite3_create_function_v2(sql->db, name, 0,
					      SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
					      constant, give_constant, NULL, NULL, constant_free);
	return code == SQLITE_OK || sql_failed(sql, code, err);
}

/* Is word i a plain name used like a column: no call, no quotes, not behind AS or beside a dot? */
static bool stands_alone(const struct fold_statement *statement, size_t i)
{
	if (statement->words[i].kind != WORD_NAME || word_is_sign(statement, i + 1, '(') ||
	    word_is_sign(statement, i + 1, '.'))
		return false;
	return !i || (!word_is_sign(statement, i - 1, '.') && !word_is(statement, i - 1, "as"));
}

char *sql_with_calls(const char *text, const char *const *names)
{
	struct fold_statement statement = {.text = text, .len = strlen(text)};
	size_t copied = 0;
	struct buf out = {0};

	words_read(&statement);
	for (size_t i = 0; i < statement.count && statement.words[i].kind != WORD_END; i++) {
		size_t end = statement.words[i].at + statement.words[i].len;

		if (!word_is_any(&statement, i, names) || !stands_alone(&statement, i))
			continue;
		buf_add(&out, text + copied, end - copied);
		buf_add_text(&out, "()");
		copied = end;
	}
	buf_add_text(&out, text + copied);
	mem_free(statement.words);
	return out.data;
}

/*
 * database.c - connections and statements: an empty database with the tables of a trace
 *
 * Files of libsql.a call SQLite directly. The others call it through sqlite3_api, which open_with()
 * sets as SQLite does when it loads a module.
 */
#include "sql/sql.h"

#include "engine/base/mem.h"
#include "sql/database_internal.h"

#include <string.h>

struct sql_statement {
	struct sql *sql;
	sqlite3_stmt *stmt;   /* the statement as written */
	sqlite3_stmt *folded; /* over a folded table, by all threads; NULL: it cannot be folded */
	struct fold *fold;
	bool stepped, in_parts;
};

bool sql_failed(const struct sql *sql, int code, struct error *err)
{
	enum error_kind kind = code == SQLITE_INTERRUPT                      ? ERR_INTERRUPTED
			       : code == SQLITE_CORRUPT                      ? ERR_FORMAT
			       : code == SQLITE_NOTADB                       ? ERR_FORMAT
			       : code == SQLITE_IOERR || code == SQLITE_FULL ? ERR_IO
			       : code == SQLITE_CANTOPEN                     ? ERR_IO
			       : sqlite3_extended_errcode(sql->db) == SQL_CODE_RANGE ? ERR_RANGE
										     : ERR_QUERY;
	int at = sqlite3_error_offset(sql->db);

	if (kind == ERR_INTERRUPTED)
		return error_set(err, kind, "interrupted");
	if (kind == ERR_IO && !sql->options.index)
		return error_set(err, kind, "writing the table: %s", sqlite3_errmsg(sql->db));
	if (at >= 0)
		return error_set(err, kind, "%s (at character %d)", sqlite3_errmsg(sql->db),
				 at + 1);
	return error_set(err, kind, "%s", sqlite3_errmsg(sql->db));
}

/* Like sql_failed(), with a hint if the statement has an unknown name. */
static bool fail_of(const struct sql *sql, int code, const char *text, struct error *err)
{
	char *message = mem_strdup(sqlite3_errmsg(sql->db));
	struct buf hint = {0};
	bool in_trace = false;

	sql_failed(sql, code, err);
	if (sql_suggest(sql, message, text, &hint, &in_trace)) {
		char said[sizeof err->text];
		memcpy(said, err->text, sizeof said);
		error_set(err, in_trace ? ERR_RANGE : err->kind, "%s%s", said, buf_text(&hint));
	}
	buf_release(&hint);
	mem_free(message);
	return false;
}

static int is_dead(void *arg)
{
	struct sql *sql = arg;

	return !sql->options.alive(sql->options.arg);
}

/* Opens a database (path "": a temporary one) and registers tables and functions. */
static bool open_with(const struct sql_options *options, const char *path, int flags,
		      struct sql **out, struct error *err)
{
	struct sql *sql = *out = mem_new(sizeof *sql);

	sql->options = *options;
	sqlite3_auto_extension((void (*)(void))sql_extension_take);
	int code = sqlite3_open_v2(path, &sql->db, flags, NULL);
	sqlite3_cancel_auto_extension((void (*)(void))sql_extension_take);
	if (code == SQLITE_OK)
		code = sql_extension_open(sql->db, &sql->options, &sql->context);
	if (code == SQLITE_OK) {
		if (sql->options.alive)
			sqlite3_progress_handler(sql->db, 20000, is_dead, sql);
		return true;
	}
	error_set(err, ERR_QUERY, "SQLite: %s", sqlite3_errmsg(sql->db));
	sql_close(sql);
	return false;
}

bool sql_open(const struct sql_options *options, struct sql **out, struct error *err)
{
	return open_with(options, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, out, err);
}

bool sql_open_plain(const char *path, bool (*alive)(void *arg), void *arg, struct sql **out,
		    struct error *err)
{
	const struct sql_options options = {.alive = alive, .arg = arg};

	if (!open_with(&options, path ? path : "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, out,
		       err))
		return false;
	/* a file that is incomplete after a crash is of no use: no journal */
	if (sql_run(*out, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN", err))
		return true;
	sql_close(*out);
	return false;
}

bool sql_open_file(const char *path, struct sql **out, struct error *err)
{
	const struct sql_options options = {0};

	return open_with(&options, path, SQLITE_OPEN_READONLY, out, err);
}

void sql_close(struct sql *sql)
{
	if (!sql)
		return;
	sqlite3_close(sql->db);
	mem_free(sql);
}

/* Prepares the folded form of the statement, if it has one. On any failure it runs as written. */
static void fold(struct sql_statement *statement, const char *text, size_t len)
{
	struct sql *sql = statement->sql;
	char *written = sql_extension_fold(sql->db, sql->context, text, len, &statement->fold);

	if (!written)
		return;
	if (sqlite3_prepare_v2(sql->db, written, -1, &statement->folded, NULL) != SQLITE_OK)
		statement->folded = NULL;
	mem_free(written);
}

static void unfold(struct sql_statement *statement)
{
	sqlite3_finalize(statement->folded);
	sql_extension_unfold(statement->sql->db, statement->fold);
	statement->folded = NULL;
	statement->fold = NULL;
}

bool sql_prepare(struct sql *sql, const char *text, const char **rest, struct sql_statement **out,
		 struct error *err)
{
	sqlite3_stmt *stmt;
	int code = sql_extension_names(sql->db, sql->context, text);

	*out = NULL;
	if (code == SQLITE_OK)
		code = sqlite3_prepare_v2(sql->db, text, -1, &stmt, rest);
	if (code != SQLITE_OK)
		return fail_of(sql, code, text, err);
	if (!stmt)
		return true;
	*out = mem_new(sizeof **out);
	**out = (struct sql_statement){.sql = sql, .stmt = stmt};
	fold(*out, text, (size_t)(*rest - text));
	return true;
}

/*
 * Is the statement incomplete? By SQLite's message, or as a SELECT whose columns are unknown
 * because FROM is not written yet.
 */
static bool is_cut_short(const char *message, const char *text)
{
	bool lacks = !strncmp(message, "no such column: ", 16) ||
		     !strcmp(message, "no tables specified");

	return !strcmp(message, "incomplete input") ||
	       (lacks && !sql_has_word(text, "from") && !sqlite3_complete(text));
}

enum sql_check sql_check(struct sql *sql, const char *text)
{
	sqlite3_stmt *stmt = NULL;
	int code = sql_extension_names(sql->db, sql->context, text);

	if (code == SQLITE_OK)
		code = sqlite3_prepare_v2(sql->db, text, -1, &stmt, NULL);
	bool cut = code != SQLITE_OK && is_cut_short(sqlite3_errmsg(sql->db), text);
	sqlite3_finalize(stmt);
	return code == SQLITE_OK ? SQL_CHECK_GOOD : cut ? SQL_CHECK_CUT_SHORT : SQL_CHECK_WRONG;
}

void sql_finish(struct sql_statement *statement)
{
	if (!statement)
		return;
	unfold(statement);
	sqlite3_finalize(statement->stmt);
	mem_free(statement);
}

static sqlite3_stmt *active(const struct sql_statement *statement)
{
	return statement->folded ? statement->folded : statement->stmt;
}

enum step sql_step(struct sql_statement *statement, struct error *err)
{
	int code = sqlite3_step(active(statement));

	if (statement->folded && !statement->in_parts && !statement->stepped &&
	    code != SQLITE_ROW && code != SQLITE_DONE && code != SQLITE_INTERRUPT) {
		unfold(statement);
		code = sqlite3_step(statement->stmt);
	}
	statement->stepped = true;
	if (code == SQLITE_ROW)
		return STEP_ITEM;
	if (code == SQLITE_DONE)
		return STEP_END;
	sql_failed(statement->sql, code, err);
	return STEP_ERROR;
}

bool sql_follows(const struct sql_statement *statement, struct error *err)
{
	const struct sql *sql = statement->sql;

	if (!sqlite3_stmt_readonly(statement->stmt) || sqlite3_stmt_isexplain(statement->stmt) ||
	    !sqlite3_column_count(statement->stmt))
		return error_set(err, ERR_QUERY, "--follow: it goes with a SELECT alone");
	return sql_extension_follows(sql->db, sql->context, sqlite3_sql(statement->stmt), err);
}

void sql_in_parts(struct sql *sql, bool on)
{
	sql_extension_in_parts(sql->context, on);
}

bool sql_set_partials(struct sql_statement *statement, struct partial_work *partials,
		      struct error *err)
{
	if (!statement->folded || sqlite3_stmt_isexplain(statement->stmt))
		return error_set(err, ERR_QUERY,
				 "it is not one SELECT of counts, sums, extremes, averages, "
				 "percentiles and histograms of plain columns of one table of "
				 "events");
	sql_extension_set_partials(statement->fold, partials);
	statement->in_parts = true;
	return true;
}

uint64_t sql_work(const struct sql_statement *statement)
{
	return (uint64_t)(unsigned)sqlite3_stmt_status(active(statement), SQLITE_STMTSTATUS_VM_STEP,
						       0);
}

bool sql_is_complete(const char *text)
{
	return sqlite3_complete(text);
}

size_t sql_columns(const struct sql_statement *statement)
{
	return (size_t)sqlite3_column_count(active(statement));
}

const char *sql_column_name(const struct sql_statement *statement, size_t i)
{
	return sqlite3_column_name(active(statement), (int)i);
}

const char *sql_column_type(const struct sql_statement *statement, size_t i)
{
	const char *type = sqlite3_column_decltype(active(statement), (int)i);

	return type ? type : "";
}

void sql_column(const struct sql_statement *statement, size_t at, struct sql_value *out)
{
	sqlite3_stmt *stmt = active(statement);
	int i = (int)at;

	*out = (struct sql_value){.kind = SQL_NULL};
	switch (sqlite3_column_type(stmt, i)) {
	case SQLITE_INTEGER:
		out->kind = SQL_INTEGER;
		out->integer = sqlite3_column_int64(stmt, i);
		return;
	case SQLITE_FLOAT:
		out->kind = SQL_REAL;
		out->real = sqlite3_column_double(stmt, i);
		return;
	case SQLITE_TEXT:
		out->kind = SQL_TEXT;
		out->bytes = sqlite3_column_text(stmt, i);
		break;
	case SQLITE_BLOB:
		out->kind = SQL_BLOB;
		out->bytes = sqlite3_column_blob(stmt, i);
		break;
	default:
		return;
	}
	out->len = (size_t)sqlite3_column_bytes(stmt, i);
}

const char *sql_table_name(const struct sql *sql, size_t i)
{
	return sql_extension_table(sql->context, i);
}

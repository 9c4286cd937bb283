/*
 * sql.h - a trace as tables: connections and statements, for rooms that do not know SQLite
 *
 * The tables are virtual: a query reads only packets that can meet its conditions, and decodes only
 * fields that it uses. docs/sql.md describes the tables, yore-sql(7) the functions.
 */
#ifndef SQL_SQL_H
#define SQL_SQL_H

#include "aggregate/partial.h"
#include "engine/timetext.h"
#include "index/index.h"
#include "state/rules/rules.h"

#include <string.h>

struct state;
struct sql;
struct sql_statement;

struct sql_options {
	struct index *index; /* borrowed until sql_close() */
	/* Called when a query first needs the state; *out is borrowed. */
	bool (*state)(void *arg, struct state **out, struct error *err);
	/* How times are written as text and read from it: style, UTC, first and last event. */
	bool (*times)(void *arg, struct times *out, struct error *err);
	/* Names of functions, borrowed until sql_close(); NULL: there are none. May be NULL. */
	struct symbols *(*symbols)(void *arg);
	/*
	 * Called at each scan: narrows [*begin, *end), which is unbounded before, to the range of
	 * the rows of events, intervals and losses. May be NULL.
	 */
	void (*range)(void *arg, nstime *begin, nstime *end);
	/*
	 * The trace grows, and a statement is run for one range after the other. The first range,
	 * which has no begin, also has the records without a time. Scans of events that are not in
	 * order of time, and values at moments after the range, are errors.
	 */
	bool follows;
	/* Called periodically while packets are read; false interrupts. May be NULL. */
	bool (*progress)(void *arg, nstime at, nstime first, nstime last);
	/* Called periodically while SQLite computes; false interrupts. May be NULL. */
	bool (*alive)(void *arg);
	void *arg;
};

MUST_CHECK bool sql_open(const struct sql_options *options, struct sql **out, struct error *err);
/*
 * A database without a trace, with ordinary tables: a new file, or (path NULL) a temporary database
 * that SQLite spills to a file when it grows. A transaction is open until the caller runs "COMMIT".
 * `alive` may be NULL.
 */
MUST_CHECK bool sql_open_plain(const char *path, bool (*alive)(void *arg), void *arg,
			       struct sql **out, struct error *err);
/* Opens an existing SQLite file, read-only. */
MUST_CHECK bool sql_open_file(const char *path, struct sql **out, struct error *err);
void sql_close(struct sql *sql); /* its statements must have ended; NULL is fine */

/*
 * Prepares the first statement of `text`; *rest is what follows it. *out is NULL when there is
 * only a comment or nothing. The caller ends it with sql_finish().
 */
MUST_CHECK bool sql_prepare(struct sql *sql, const char *text, const char **rest,
			    struct sql_statement **out, struct error *err);
void sql_finish(struct sql_statement *statement); /* NULL is fine */
MUST_CHECK enum step sql_step(struct sql_statement *statement, struct error *err);
/*
 * Could the first statement of the text be prepared? SQL_CHECK_CUT_SHORT: it is incomplete, more
 * words must follow. Gives no error text.
 */
enum sql_check { SQL_CHECK_GOOD, SQL_CHECK_CUT_SHORT, SQL_CHECK_WRONG };
enum sql_check sql_check(struct sql *sql, const char *text);
/*
 * With sql_options.follows: is each row made from one event, in order of time, so that the rows of
 * a range stay the same when the trace grows? False: *err (ERR_QUERY) says why not.
 */
MUST_CHECK bool sql_follows(const struct sql_statement *statement, struct error *err);
/* While on, statements are prepared to be swept in chunks, see aggregate/partial.h. */
void sql_in_parts(struct sql *sql, bool on);
/*
 * To be called before the first step of a statement that was prepared with sql_in_parts().
 * *partials is borrowed until sql_finish(). False: ERR_QUERY, it is no grouping that can be folded.
 */
MUST_CHECK bool sql_set_partials(struct sql_statement *statement, struct partial_work *partials,
				 struct error *err);
/* The number of steps of SQLite's virtual machine that the statement took so far. */
uint64_t sql_work(const struct sql_statement *statement);
/* Does the text end with a semicolon outside of quotes and comments? */
bool sql_is_complete(const char *text);

enum sql_kind { SQL_NULL, SQL_INTEGER, SQL_REAL, SQL_TEXT, SQL_BLOB };
struct sql_value {
	enum sql_kind kind;
	int64_t integer;
	double real;
	const void *bytes; /* TEXT, BLOB; borrowed until the next step */
	size_t len;
};

/* Runs statements that return no rows, in a database of sql_open_plain(). */
MUST_CHECK bool sql_run(struct sql *sql, const char *text, struct error *err);
/* A column of a new table; its texts are borrowed for the call. */
struct sql_column {
	const char *name;
	const char *type; /* declared type; "": none, SQLite converts no value */
};
/* CREATE TABLE, names in quotes. */
MUST_CHECK bool sql_make_table(struct sql *sql, const char *table, const struct sql_column *columns,
			       size_t count, struct error *err);
/* ALTER TABLE ... ADD COLUMN; existing rows have NULL in it. */
MUST_CHECK bool sql_add_column(struct sql *sql, const char *table, const struct sql_column *column,
			       struct error *err);
/* A prepared INSERT into the named columns of a table. To be freed before sql_close(). */
struct sql_inserter;
MUST_CHECK bool sql_inserter_new(struct sql *sql, const char *table,
				 const struct sql_column *columns, size_t count,
				 struct sql_inserter **out, struct error *err);
void sql_inserter_free(struct sql_inserter *inserter); /* NULL is fine */
/* Inserts a row with a new rowid and one value for each column of the inserter. */
MUST_CHECK bool sql_insert(struct sql_inserter *inserter, int64_t rowid,
			   const struct sql_value *values, struct error *err);

/*
 * Registers a function without arguments, `name()`, that always returns *value, which is copied.
 * With sql_with_calls() a statement can write it like a column.
 */
MUST_CHECK bool sql_set_constant(struct sql *sql, const char *name, const struct sql_value *value,
				 struct error *err);
/*
 * Returns the statement with `name()` in place of each `name` of the list (ended by NULL) that is
 * used like a column: without quotes, not behind AS, not beside a full stop. The caller frees it
 * with mem_free().
 */
char *sql_with_calls(const char *text, const char *const *names);

/* A text as a value, which borrows it. */
static inline struct sql_value sql_text_value(const char *text)
{
	return (struct sql_value){.kind = SQL_TEXT, .bytes = text, .len = strlen(text)};
}
static inline struct sql_value sql_number_value(int64_t number)
{
	return (struct sql_value){.kind = SQL_INTEGER, .integer = number};
}

size_t sql_columns(const struct sql_statement *statement);
const char *sql_column_name(const struct sql_statement *statement, size_t i);
/* The declared type of the column; "": none. */
const char *sql_column_type(const struct sql_statement *statement, size_t i);
void sql_column(const struct sql_statement *statement, size_t i, struct sql_value *out);

/* Does the text have the word, in any case, with no letter, digit or _ beside it? */
bool sql_has_word(const char *statement, const char *word);
/*
 * SQLite's date functions return NULL for nanoseconds. Returns the one that the statement calls
 * with a time column ("time"), and the column in *column ("ts"); NULL: it calls none so.
 */
const char *sql_time_misused(const char *statement, const char **column);

/* Calls `each` with names for completion: all tables, columns of tables in `text`, functions. */
void sql_names(const struct sql *sql, const char *text, void (*each)(void *arg, const char *name),
	       void *arg);
/* The name of table i: first the tables of every trace, then event classes. NULL: no more. */
const char *sql_table_name(const struct sql *sql, size_t i);

#endif

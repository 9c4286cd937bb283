/*
 * sql.h - a trace as tables: connections and statements, for rooms that do not know SQLite
 *
 * The tables are virtual: a query reads the packets that its conditions leave, and decodes the
 * fields that it uses. docs/sql.md has the tables; yore-sql(7) the functions.
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
	/* Opens the state when a query asks for it; borrowed. */
	bool (*state)(void *arg, struct state **out, struct error *err);
	/* The frame in which texts are times and times texts. */
	bool (*times)(void *arg, struct times *out, struct error *err);
	/* Names of functions, borrowed until sql_close(); NULL: there are none. May be NULL. */
	struct symbols *(*symbols)(void *arg);
	/*
	 * Limits rows of events, intervals and losses to [*begin, *end), which come unbounded.
	 * Asked at each scan. May be NULL.
	 */
	void (*range)(void *arg, nstime *begin, nstime *end);
	/*
	 * The trace grows, and a statement is run for one range after the other: a range without a
	 * begin has the records without a time; a scan of events in another order than that of
	 * time, and what looks behind the range, fails.
	 */
	bool follows;
	/* Called now and then; false: interrupted. May be NULL. */
	bool (*progress)(void *arg, nstime at, nstime first, nstime last);
	/* Called while rows are computed that read no packet; false: interrupted. May be NULL. */
	bool (*alive)(void *arg);
	void *arg;
};

MUST_CHECK bool sql_open(const struct sql_options *options, struct sql **out, struct error *err);
/*
 * A database without a trace, whose tables are ordinary ones: a file that is not there yet, or
 * (path NULL) one that ends with the connection, of which much does not stay in memory. All until
 * "COMMIT" is run is one transaction. `alive` may be NULL.
 */
MUST_CHECK bool sql_open_plain(const char *path, bool (*alive)(void *arg), void *arg,
			       struct sql **out, struct error *err);
/* A file of SQLite's that is there, to be read. */
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
 * Is the first statement of the text one that could be run? Nothing is said of what is wrong. Cut
 * short: it ends where more must follow.
 */
enum sql_check { SQL_CHECK_GOOD, SQL_CHECK_CUT_SHORT, SQL_CHECK_WRONG };
enum sql_check sql_check(struct sql *sql, const char *text);
/*
 * With sql_options.follows: are its rows those of events, one by one in the order of time, so that
 * those of a range do not change when the trace grows? False: ERR_QUERY, why not.
 */
MUST_CHECK bool sql_follows(const struct sql_statement *statement, struct error *err);
/* From now on statements are prepared for that, or not any more. */
void sql_in_parts(struct sql *sql, bool on);
/*
 * Before the first step of a statement that was prepared so; *partials is borrowed until the
 * statement ends. False: ERR_QUERY, it is no grouping that can be folded.
 */
MUST_CHECK bool sql_set_partials(struct sql_statement *statement, struct partial_work *partials,
				 struct error *err);
/* Steps of SQLite's machine that it took so far. */
uint64_t sql_work(const struct sql_statement *statement);
/* Does the text end a statement, outside of quotes and comments? */
bool sql_is_complete(const char *text);

enum sql_kind { SQL_NULL, SQL_INTEGER, SQL_REAL, SQL_TEXT, SQL_BLOB };
struct sql_value {
	enum sql_kind kind;
	int64_t integer;
	double real;
	const void *bytes; /* TEXT, BLOB; borrowed until the next step */
	size_t len;
};

/* Of sql_open_plain(): statements without rows. */
MUST_CHECK bool sql_run(struct sql *sql, const char *text, struct error *err);
/* A column of a table that is made; both are borrowed for the call. */
struct sql_column {
	const char *name;
	const char *type; /* "" none: values stay what they are */
};
/* CREATE TABLE, names in quotes. */
MUST_CHECK bool sql_make_table(struct sql *sql, const char *table, const struct sql_column *columns,
			       size_t count, struct error *err);
/* ALTER TABLE ... ADD COLUMN: NULL in the rows that are there. */
MUST_CHECK bool sql_add_column(struct sql *sql, const char *table, const struct sql_column *column,
			       struct error *err);
/* Rows into some columns of a table, by names; ended before the connection. */
struct sql_inserter;
MUST_CHECK bool sql_inserter_new(struct sql *sql, const char *table,
				 const struct sql_column *columns, size_t count,
				 struct sql_inserter **out, struct error *err);
void sql_inserter_free(struct sql_inserter *inserter); /* NULL is fine */
/* A row with that rowid, which no other row has; one value for each column. */
MUST_CHECK bool sql_insert(struct sql_inserter *inserter, int64_t rowid,
			   const struct sql_value *values, struct error *err);

/*
 * A function without arguments that gives always the same, copied: `name()`. With sql_with_calls()
 * it is what a column would be.
 */
MUST_CHECK bool sql_set_constant(struct sql *sql, const char *name, const struct sql_value *value,
				 struct error *err);
/*
 * The statement with `name()` where one of the names, ended by NULL, stands alone as a column
 * would: in no quotes, behind no AS, and not before or behind a full stop. The caller ends it with
 * mem_free().
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
/* The type that the column was declared with, "" none. */
const char *sql_column_type(const struct sql_statement *statement, size_t i);
void sql_column(const struct sql_statement *statement, size_t i, struct sql_value *out);

/* Does the text have the word, in any case, with no letter, digit or _ beside it? */
bool sql_has_word(const char *statement, const char *word);
/*
 * SQLite's functions of dates take days, and a time of a trace has none that they know: NULL. The
 * function that the statement gives one to, "time", and its column, "ts"; NULL: it gives none.
 */
const char *sql_time_misused(const char *statement, const char **column);

/* Names for completion: all tables, columns of those that the text has, functions. */
void sql_names(const struct sql *sql, const char *text, void (*each)(void *arg, const char *name),
	       void *arg);
/* Name i of the tables, those that every trace has first; NULL behind the last. */
const char *sql_table_name(const struct sql *sql, size_t i);

#endif

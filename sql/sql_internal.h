/*
 * sql_internal.h - what the tables and functions share: the traces of one connection
 *
 * Everything in this room but database.c calls SQLite through `sqlite3_api`, so that the same
 * objects work inside the program and in a module that some other program's SQLite loads.
 *
 *     connection ── struct sql_context ──┬── struct sql_host (a trace)
 *                                        └── struct sql_host
 *
 * Modules, tables and functions each hold a reference; the last one closes the traces.
 */
#ifndef SQL_SQL_INTERNAL_H
#define SQL_SQL_INTERNAL_H

#include "engine/base/buf.h"
#include "engine/base/nameset.h"
#include "engine/columns/ranges.h"
#include "engine/columns/shape.h"
#include "engine/timetext.h"
#include "index/events.h"
#include "index/index.h"
#include "rows/row_host.h"
#include "sql/sql.h"
#include "state/model/moment.h"
#include "state/rules/rules.h"

#include <sqlite3ext.h>

struct state;
extern const sqlite3_api_routines *sqlite3_api;

struct lookups;
struct symbols;
struct sql_notes;
struct row_table;
struct thread_rows_kind;

struct sql_host {
	struct sql_host *next; /* in the context's list */
	char *path;            /* as it was given */
	struct trace *trace;
	struct index *index;
	struct sql_options options; /* of yore; of a host that is owned, zero */
	bool owned; /* trace, index, rules, state are ended here */
	bool planned; /* options.follows: since it was cleared, a scan of events was planned */
	bool pushdown;
	bool in_parts; /* statements that are prepared are swept in parts: sql_in_parts() */
	struct rules *rules;
	struct state *state;
	struct symbols *symbols;        /* of a host that is owned; NULL: not opened */
	bool bounds_known, start_known; /* of `first` and `last`; of `first` */
	bool noted_process, noted_mapped, noted_kernel; /* why symbol() is NULL: said once */
	nstime first, last;
	uint64_t *untimed;       /* bit per class: some event has no time; NULL: not looked yet */
	struct lookups *lookups; /* values at moments, NULL: none yet */
	struct row_host rows;    /* of tables that other databases have, too */
	struct sql_notes *notes; /* what was said, NULL: nothing yet */
	struct class_group *groups; /* tables of event classes, by name */
	size_t ngroups;
	struct nameset group_of; /* names of groups, when they are registered as they are named */
	uint64_t *registered;    /* bit per group, likewise */
};

struct sql_context {
	unsigned references;
	struct sql_host *hosts; /* the one that functions speak of comes first */
};

/* Takes the host into the context, as the one that functions speak of. */
void sql_context_add(struct sql_context *context, struct sql_host *host);
/* The context's host of that path, opened when it is not yet. NULL: *err. */
MUST_CHECK struct sql_host *sql_context_open(struct sql_context *context, const char *path,
					     struct error *err);
void sql_context_hold(struct sql_context *context);
void sql_context_drop(void *context); /* one owner less; the last one closes what it opened, and frees it */
MUST_CHECK bool sql_host_state(struct sql_host *host, struct state **out, struct error *err);
struct symbols *sql_host_symbols(struct sql_host *host); /* NULL: there are none */
bool sql_host_timed(const struct sql_host *host); /* every stream has times */
/* Every event of these classes has a time; NULL: of all. Reads what is before all times, once. */
bool sql_host_all_timed(struct sql_host *host, const struct class_group *group);
/* For a sweep: is it to go on? `host` is the struct sql_host. */
bool sql_host_progress(void *host, uint64_t done, uint64_t all);
/* [*begin, *end) to which rows are limited now. */
void sql_host_range(const struct sql_host *host, nstime *begin, nstime *end);
/* Where the host follows: is all up to this moment final? Else an error. */
MUST_CHECK bool sql_host_is_final(const struct sql_host *host, nstime t, struct error *err);
MUST_CHECK bool sql_host_bounds(struct sql_host *host, nstime *first, nstime *last,
				struct error *err);
MUST_CHECK bool sql_host_times(struct sql_host *host, enum time_style style, struct times *out,
			       struct error *err);
/* A time as on the command line. */
MUST_CHECK bool sql_host_time(struct sql_host *host, const char *text, nstime *out,
			      struct error *err);
/* The moment that a value of SQL is: nanoseconds, or a text as ts() reads it. Not of NULL. */
MUST_CHECK bool sql_host_moment(struct sql_host *host, sqlite3_value *value, nstime *out,
				struct error *err);

/*
 * lookup.c: the interval of `path` (without wildcards) that holds `t`; *out is NULL where there is
 * none or it is not known, else borrowed until the next call.
 */
MUST_CHECK bool lookup_at(struct sql_host *host, const char *path, nstime t,
			  const struct interval **out, struct error *err);
/* The value alone; *out is NULL where it is not known, else borrowed until the next call. */
MUST_CHECK bool lookup_value_at(struct sql_host *host, const char *path, nstime t,
				const struct value **out, struct error *err);
void lookups_free(struct lookups *lookups); /* NULL is fine */
/* A value as SQL has it: integers are the 64 bits, booleans 1 and 0, unknown and none NULL. */
void sql_result_state(sqlite3_context *out, const struct value *value);

/*
 * What is to be said about rows: a notice, and a row of the table `notes`, since programs that load
 * the module do not see notices. What was said before is not said again.
 */
void sql_note(struct sql_host *host, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sql_notes_free(struct sql_notes *notes); /* NULL is fine */

/* The data with which a module is registered. */
struct sql_source {
	struct sql_context *context;
	struct sql_host *host;              /* NULL: the table is told a path */
	const struct class_group *group;    /* events of these classes; NULL: of all */
	const struct sql_module_name *name; /* NULL: of an event class */
};
struct sql_source *sql_source_new(const struct sql_source *source);
void sql_source_free(void *source);

/* Every table begins so. */
struct sql_table {
	sqlite3_vtab base;
	sqlite3 *db;
	struct sql_context *context;
	struct sql_host *host; /* NULL: each scan is told its path */
	uint64_t noted;        /* of the text that was noted last while this statement is planned */
};

/*
 * The part of xConnect that tables share: a table of `size` bytes, zeroed behind its head, and of
 * which trace? Arguments are those of CREATE VIRTUAL TABLE; *rest is the first one behind the path.
 * The table takes a reference. NULL: *code and *message say why.
 */
void *sql_table_begin(sqlite3 *db, void *aux, int argc, const char *const *argv, size_t size,
		      int *rest, int *code, char **message);
void sql_table_end(struct sql_table *table);
/* xDisconnect and xDestroy of a table that owns nothing else. */
int sql_table_disconnect(sqlite3_vtab *base);
/* A cursor over rows that are numbered, and its methods. */
struct sql_cursor {
	sqlite3_vtab_cursor base;
	size_t at, count; /* the row; of those that there are */
};
int sql_cursor_next(sqlite3_vtab_cursor *base);
int sql_cursor_eof(sqlite3_vtab_cursor *base);
int sql_cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out);

int sql_table_fail(struct sql_table *table, const struct error *err); /* an SQLite code */
/* The host of a scan; `path` is the value of the hidden column `trace`, NULL: not given. */
#define SQL_NEEDS_PATH "the path of a trace, as in yore_events('PATH'),"
MUST_CHECK struct sql_host *sql_table_host(struct sql_table *table, sqlite3_value *path,
					   struct error *err);
/*
 * For xBestIndex of a table that is not told what it needs: SQLITE_CONSTRAINT where another order
 * of the join may know the hidden `column`, else an error that says `what` is missing.
 */
int sql_table_untold(struct sql_table *table, const sqlite3_index_info *info, int column,
		     const char *what);
/*
 * For xBestIndex: notes where an INTEGER column of the declaration is compared with a text that is
 * no number, which is seldom what was meant.
 */
void sql_note_texts(struct sql_table *table, sqlite3_index_info *info, const char *declaration);
/* Columns as CREATE TABLE has them, separated by commas. */
void sql_declare_columns(struct buf *out, const struct row_column *columns, size_t count);
void sql_note_text(const struct trace *trace, const char *column, bool time, const char *text);
/* An operator that scans take, as it is written. */
struct sql_op {
	unsigned char op; /* SQLITE_INDEX_CONSTRAINT_... */
	const char *text;
	bool compares; /* by order: */
	enum comparison by;
};
const struct sql_op *sql_op_of(unsigned char op); /* NULL: it is none of them */
static inline bool sql_compares(unsigned char op)
{
	return sql_op_of(op) && sql_op_of(op)->compares;
}
/*
 * Narrows low..high by `column OP value`, which sql_compares(), as SQL compares an INTEGER column.
 * False: nothing is left.
 */
bool sql_narrow(int64_t *low, int64_t *high, unsigned char op, sqlite3_value *value);
/* An argument of CREATE VIRTUAL TABLE without its quotes; the caller frees it with mem_free(). */
char *sql_unquoted(const char *argument);
/* The plan's text, for xFilter and for EXPLAIN QUERY PLAN. */
void sql_set_plan(sqlite3_index_info *info, const char *text);
/* Takes a constraint for the next argument of xFilter. */
void sql_take(sqlite3_index_info *info, int i, int *nargs, bool omit);
/*
 * Tables whose plan is a letter per argument, a blank, and the plan in words: what they take, a
 * list that a letter of 0 ends.
 */
struct sql_term {
	char letter;
	int column;
	unsigned char op;
	const char *words; /* NULL: the plan does not say it */
	bool inexact;      /* SQLite tests it again */
	bool always;       /* also where nothing is to be pushed down */
};
/* NULL: the column and operator, or letter, are none of them. */
const struct sql_term *sql_term_of(const struct sql_term *terms, int column, unsigned char op);
const struct sql_term *sql_term_lettered(const struct sql_term *terms, char letter);
struct sql_taken {
	struct buf letters, words;
	int nargs;
};
void sql_take_term(sqlite3_index_info *info, int i, const struct sql_term *term,
		   struct sql_taken *taken);
/* Sets the plan, with `all` in place of no words, and ends *taken. */
void sql_taken_end(sqlite3_index_info *info, struct sql_taken *taken, const char *all);

int sql_error_code(const struct error *err);
void sql_result_error(sqlite3_context *context, const struct error *err);

extern const sqlite3_module sql_events_module, sql_packets_module, sql_rows_module,
	sql_states_module, sql_thread_rows_module;

/*
 * Of a table that must be told a text: what it is, for the error that it is missing, its hidden
 * column, and how all are declared. `trace` follows that column, and needs not be told where the
 * connection has a trace.
 */
struct sql_told {
	const char *what;
	size_t column;
	const char *declaration;
};
extern const struct sql_told told_do;
extern const struct row_table row_do, row_notes; /* made of what only SQL has: host->arg */

/* A module that bears `name` with the host's trace, or told one. */
struct sql_module_name {
	const char *name;      /* beside a trace */
	const char *free_name; /* told a path */
	const sqlite3_module *module;
	const struct row_table *rows;               /* of sql_rows_module: which table it is */
	const struct sql_told *told;                /* likewise; NULL: it must be told nothing */
	const struct thread_rows_kind *thread_rows; /* of sql_thread_rows_module: which it is */
	bool moment;                          /* of sql_states_module: state_at, else state */
};
extern const struct sql_module_name sql_modules[]; /* ended by NULL names */

/* yore_where(TEXT, value, ...): see row_condition.c. */
void sql_row_condition(sqlite3_context *out, int argc, sqlite3_value **argv);
int sql_register_functions(sqlite3 *db, struct sql_context *context);
int sql_register_aggregates(sqlite3 *db);
/* Tables that are told a path: yore_events(PATH) and so on. */
int sql_register_free_tables(sqlite3 *db, struct sql_context *context);
/*
 * The tables of one trace under their plain names. SQLite looks at all modules of a connection to
 * find one: with `lazily` those of many event classes come when a statement has their names.
 */
int sql_register_tables(sqlite3 *db, struct sql_context *context, struct sql_host *host,
			bool lazily);
int sql_register_named(sqlite3 *db, struct sql_context *context, struct sql_host *host,
		       const char *name);

#endif

/*
 * sql_internal.h - what the tables and functions share: the traces of one connection
 *
 * All files but those of libsql.a (local.mk) call SQLite through `sqlite3_api`, so that the same
 * objects work inside yore and in the module mod_yore, which other programs' SQLite loads.
 *
 *     connection ── struct sql_context ──┬── struct sql_host (a trace)
 *                                        └── struct sql_host
 *
 * Modules, tables and functions each hold a reference to the context; dropping the last reference
 * closes the traces that the context opened.
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

struct symbols;
struct sql_notes;
struct row_table;

struct sql_host {
	struct sql_host *next; /* in the context's list */
	char *path;            /* as the caller wrote it */
	struct trace *trace;
	struct index *index;
	struct sql_options options; /* from sql_open(); zero if `owned` */
	bool owned;    /* opened by a path: the host frees trace, index, rules and state */
	bool planned;  /* a scan of events was planned since sql_extension_follows() cleared it */
	bool pushdown; /* scans take constraints; else SQLite tests all. For tests */
	bool in_parts; /* see sql_in_parts() */
	struct rules *rules;
	struct state *state;
	struct symbols *symbols;        /* if `owned`; NULL: not opened */
	bool start_known;               /* `start` is set */
	bool noted_process, noted_mapped, noted_kernel; /* notes of symbol() that were given */
	nstime start;                                   /* time of the first event */
	uint64_t *untimed;          /* bit per class: some event has no time; NULL: not read yet */
	struct row_host rows;       /* for tables of rows/, which DuckDB has, too */
	struct sql_notes *notes;    /* notes that were given; NULL: none yet */
	struct class_group *groups; /* a table each: event classes of one name */
	size_t ngroups;
	struct nameset group_of; /* names of groups, if they are registered lazily */
	uint64_t *registered;    /* bit per group that was; NULL: all are registered */
};

struct sql_context {
	unsigned references;
	struct sql_host *hosts; /* the first one is the trace of functions: state_at(), comm() */
};

/* Puts the host first in the context: functions read its trace from then on. */
void sql_context_add(struct sql_context *context, struct sql_host *host);
/* The context's host of that path; opens the trace if there is none. NULL: *err. */
MUST_CHECK struct sql_host *sql_context_open(struct sql_context *context, const char *path,
					     struct error *err);
void sql_context_hold(struct sql_context *context);
void sql_context_drop(void *context); /* drops a reference; the last drop frees the context */
MUST_CHECK bool sql_host_state(struct sql_host *host, struct state **out, struct error *err);
struct symbols *sql_host_symbols(struct sql_host *host); /* NULL: there are none */
bool sql_host_timed(const struct sql_host *host); /* every stream has times */
/* Does every event of the group's classes (NULL: of all) have a time? */
bool sql_host_all_timed(struct sql_host *host, const struct class_group *group);
/* The progress callback of a sweep, with a struct sql_host; false interrupts. */
bool sql_host_progress(void *host, uint64_t done, uint64_t all);
/* [*begin, *end) to which rows are limited: sql_options.range. */
void sql_host_range(const struct sql_host *host, nstime *begin, nstime *end);
/* True unless the trace is followed and `t` lies behind the range, so that its value may change. */
MUST_CHECK bool sql_host_is_final(const struct sql_host *host, nstime t, struct error *err);
MUST_CHECK bool sql_host_bounds(struct sql_host *host, nstime *first, nstime *last,
				struct error *err);
MUST_CHECK bool sql_host_times(struct sql_host *host, enum time_style style, struct times *out,
			       struct error *err);
/* Parses a time as the command line does. */
MUST_CHECK bool sql_host_time(struct sql_host *host, const char *text, nstime *out,
			      struct error *err);
/* An SQL value, not NULL, as a moment: an integer of nanoseconds, or a text as ts() reads it. */
MUST_CHECK bool sql_host_moment(struct sql_host *host, sqlite3_value *value, nstime *out,
				struct error *err);

/* Returns a value to SQLite: integers as 64 bits, booleans as 1 or 0, unknown and none as NULL. */
void sql_result_state(sqlite3_context *out, const struct value *value);

/*
 * Gives a note about rows, once: as a notice, and as a row of the table `notes`, because programs
 * that load mod_yore do not show notices.
 */
void sql_note(struct sql_host *host, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sql_notes_free(struct sql_notes *notes); /* NULL is fine */

/* The client data of a registered module. */
struct sql_source {
	struct sql_context *context;
	struct sql_host *host;              /* NULL: the table takes a path as argument */
	const struct class_group *group;    /* the table has these event classes; NULL: all */
	const struct sql_module_name *name; /* NULL: a table of event classes */
};
struct sql_source *sql_source_new(const struct sql_source *source);
void sql_source_free(void *source);

/* The head of every table's structure. */
struct sql_table {
	sqlite3_vtab base;
	sqlite3 *db;
	struct sql_context *context;
	struct sql_host *host; /* NULL: each scan takes a path as argument */
	uint64_t noted;        /* hash of the text of the last note on a constant */
};

/*
 * The common part of xConnect: allocates a table of `size` bytes, zeroed behind its head, and opens
 * its trace if CREATE VIRTUAL TABLE has a path argument. *rest is the first argument behind the
 * path. The table holds a reference to the context. NULL: *code and *message say why.
 */
void *sql_table_begin(sqlite3 *db, void *aux, int argc, const char *const *argv, size_t size,
		      int *rest, int *code, char **message);
void sql_table_end(struct sql_table *table);
/* xDisconnect and xDestroy of a table that owns nothing else. */
int sql_table_disconnect(sqlite3_vtab *base);
/* Sets the table's error text and returns the SQLite code for it. */
int sql_table_fail(struct sql_table *table, const struct error *err);
/* The host of a scan; `path` is the argument for the hidden column `trace`, NULL: not given. */
#define SQL_NEEDS_PATH "the path of a trace, as in yore_events('PATH'),"
MUST_CHECK struct sql_host *sql_table_host(struct sql_table *table, sqlite3_value *path,
					   struct error *err);
/*
 * For xBestIndex if a needed argument, the hidden `column`, has no usable constraint. Returns
 * SQLITE_CONSTRAINT if another order of the join may provide it, else an error that `what` is
 * missing.
 */
int sql_table_untold(struct sql_table *table, const sqlite3_index_info *info, int column,
		     const char *what);
/* Notes that a number is compared with a text; `time`: it is a time. */
void sql_note_text(const struct trace *trace, const char *column, bool time, const char *text);
/* An operator that scans can take. */
struct sql_op {
	unsigned char op; /* SQLITE_INDEX_CONSTRAINT_... */
	const char *text;
	bool compares; /* it compares numbers: */
	enum comparison by;
};
const struct sql_op *sql_op_of(unsigned char op); /* NULL: scans cannot take it */
static inline bool sql_compares(unsigned char op)
{
	return sql_op_of(op) && sql_op_of(op)->compares;
}
/*
 * Narrows [*low, *high] to the integers for which `column OP value` is true in SQL;
 * sql_compares(op) must hold. False: none is left.
 */
bool sql_narrow(int64_t *low, int64_t *high, unsigned char op, sqlite3_value *value);
/* An argument of CREATE VIRTUAL TABLE without its quotes; the caller frees it with mem_free(). */
char *sql_unquoted(const char *argument);
/* The plan's text, for xFilter and for EXPLAIN QUERY PLAN. */
void sql_set_plan(sqlite3_index_info *info, const char *text);
/* Passes constraint i as the next argument of xFilter; `omit`: SQLite need not test it again. */
void sql_take(sqlite3_index_info *info, int i, int *nargs, bool omit);
int sql_error_code(const struct error *err);
void sql_result_error(sqlite3_context *context, const struct error *err);

extern const sqlite3_module sql_events_module, sql_rows_module;

extern const struct row_table row_do, row_notes; /* their row_host.arg is the sql_host */

/* A table with its two names. */
struct sql_module_name {
	const char *name;      /* reads the connection's trace: "events" */
	const char *free_name; /* takes a path: "yore_events" */
	const sqlite3_module *module;
	const struct row_table *rows; /* sql_rows_module: which table */
};
extern const struct sql_module_name sql_modules[]; /* ended by NULL names */

/* yore_where(TEXT, value, ...): see row_condition.c. */
void sql_row_condition(sqlite3_context *out, int argc, sqlite3_value **argv);
int sql_register_functions(sqlite3 *db, struct sql_context *context);
int sql_register_aggregates(sqlite3 *db);
/* Registers tables that take a path: yore_events(PATH) and so on. Returns an SQLite code. */
int sql_register_free_tables(sqlite3 *db, struct sql_context *context);
/*
 * Registers the tables of one trace under their plain names. SQLite searches all modules of a
 * connection for one; with `lazily`, and more than 1024 classes, each is registered by
 * sql_register_named() when a statement names it.
 */
int sql_register_tables(sqlite3 *db, struct sql_context *context, struct sql_host *host,
			bool lazily);
int sql_register_named(sqlite3 *db, struct sql_context *context, struct sql_host *host,
		       const char *name);

#endif

/*
 * thread_rows_vtab.c - the tables `thread_state`, `wakeups` and `syscalls`, see rows/thread_rows.h
 *
 *     thread_state(tid, cpu, comm, begin, end, dur, state; hidden: from, until, ts)
 *     wakeups(ts, tid, comm, dur, cpu, waker, waker_comm, waker_kind; hidden: from, until, latency)
 *     syscalls(tid, cpu, comm, begin, end, dur, name, ret; hidden: from, until, ts)
 *
 * The arguments `from` and `until` are the range: thread_state(ts('+1ms'), ts('+2ms')).
 * Pushed down, a letter of idxStr each: t: `tid = ?`; l and h: bounds of begin or ts; f and u: the
 * arguments; p: the trace. The bounds l and h narrow the range if that makes it a window
 * (state_set_lists()). It then ends as far behind h as a window reads events, and a row that
 * reaches its end has end NULL.
 */
#include "rows/thread_rows.h"
#include "sql/sql_internal.h"

#include "engine/base/mem.h"

#include <string.h>

struct thread_rows_table {
	struct sql_table table;
	const struct thread_rows_kind *kind;
};

struct thread_rows_cursor {
	sqlite3_vtab_cursor base;
	struct sql_host *host;
	struct thread_rows *rows;
};

/* ---- the tables ---- */

/* The last column is an alias of column ALIAS_OF: `latency` for wakeups.dur, `ts` for `begin`. */
enum { ALIAS_OF = 3 };

static const char *alias_of(const struct thread_rows_kind *kind)
{
	return kind->wakeups ? "latency" : "ts";
}

static int without_alias(const struct thread_rows_table *rows, int column)
{
	return column == (int)rows->kind->ncolumns + !rows->table.host + 2 ? ALIAS_OF : column;
}

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out,
		   char **message)
{
	int rest, code;
	struct thread_rows_table *rows =
		sql_table_begin(db, aux, argc, argv, sizeof *rows, &rest, &code, message);
	struct buf text = {0};

	if (!rows)
		return code;
	rows->kind = ((const struct sql_source *)aux)->name->thread_rows;
	buf_add_text(&text, "CREATE TABLE x(");
	sql_declare_columns(&text, rows->kind->columns, rows->kind->ncolumns);
	buf_printf(&text, "%s, \"from\" INTEGER HIDDEN, until INTEGER HIDDEN, %s INTEGER HIDDEN)",
		   rows->table.host ? "" : ", trace TEXT HIDDEN", alias_of(rows->kind));
	code = sqlite3_declare_vtab(db, buf_text(&text));
	buf_release(&text);
	*out = &rows->table.base;
	return code;
}

/* The letter for the operator on the column; 0: the scan cannot take it. */
static char letter_of(const struct thread_rows_table *rows, int column, int op)
{
	int told = !rows->table.host, hidden = (int)rows->kind->ncolumns;

	column = without_alias(rows, column);
	if (column == (int)rows->kind->begin && (told || rows->table.host->pushdown)) {
		if (op == SQLITE_INDEX_CONSTRAINT_GE || op == SQLITE_INDEX_CONSTRAINT_GT)
			return 'l';
		if (op == SQLITE_INDEX_CONSTRAINT_LE || op == SQLITE_INDEX_CONSTRAINT_LT)
			return 'h';
	}
	if (op != SQLITE_INDEX_CONSTRAINT_EQ)
		return 0;
	if (told && column == hidden)
		return 'p';
	if (column == hidden + told)
		return 'f';
	if (column == hidden + told + 1)
		return 'u';
	bool pushdown = told || rows->table.host->pushdown;
	return pushdown && column == (int)rows->kind->tid ? 't' : 0;
}

/* Are comm or waker_comm among the columns, a bit each, that the query reads? */
static bool shows_names(const struct thread_rows_kind *kind, sqlite3_uint64 columns)
{
	return columns & (kind->wakeups ? 1 << 2 | 1 << 6 : 1 << 2);
}

/* Gives a note if the query uses `latency`, the old name of wakeups.dur. */
static void note_alias(const struct thread_rows_table *rows, const sqlite3_index_info *info)
{
	if (!rows->kind->wakeups || !rows->table.host)
		return;
	for (int i = (int)rows->kind->ncolumns; i < 63; i++)
		if (info->colUsed >> i & 1 && without_alias(rows, i) != i)
			sql_note(rows->table.host,
				 "wakeups.latency is 'dur' now; 'latency' still is an alias in "
				 "this release");
}

/* As sql_note_texts(), without the arguments, which may be times as texts. */
static void note_texts(struct thread_rows_table *rows, sqlite3_index_info *info)
{
	struct buf columns = {0};

	sql_declare_columns(&columns, rows->kind->columns, rows->kind->ncolumns);
	buf_printf(&columns, ", \"from\", until, %s INTEGER", alias_of(rows->kind));
	sql_note_texts(&rows->table, info, buf_text(&columns));
	buf_release(&columns);
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct thread_rows_table *rows = (struct thread_rows_table *)base;
	struct buf letters = {0};
	int nargs = 0;

	note_alias(rows, info);
	note_texts(rows, info);
	for (int i = 0; i < info->nConstraint; i++) {
		char letter =
			letter_of(rows, info->aConstraint[i].iColumn, info->aConstraint[i].op);
		if (!letter || strchr(buf_text(&letters), letter))
			continue;
		if (!info->aConstraint[i].usable) {
			if (strchr("tlh", letter))
				continue;
			buf_release(&letters);
			return SQLITE_CONSTRAINT;
		}
		sql_take(info, i, &nargs, !strchr("tlh", letter));
		buf_add_char(&letters, letter);
	}
	bool thread = strchr(buf_text(&letters), 't');
	bool bounded = strchr(buf_text(&letters), 'l') && strchr(buf_text(&letters), 'h');
	bool path = rows->table.host || strchr(buf_text(&letters), 'p');
	info->idxNum = shows_names(rows->kind, info->colUsed);
	info->estimatedCost = (thread ? 1e4 : 1e7) / (bounded ? 100 : 1);
	info->estimatedRows = (thread ? 1000 : 1000000) / (bounded ? 100 : 1);
	buf_add_text(&letters, thread ? " tid=?" : " all threads");
	buf_add_text(&letters, bounded ? ", a range of time" : "");
	sql_set_plan(info, buf_text(&letters));
	buf_release(&letters);
	return path ? SQLITE_OK
		    : sql_table_untold(&rows->table, info, (int)rows->kind->ncolumns,
				       SQL_NEEDS_PATH);
}

/* ---- a scan ---- */

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	struct thread_rows_cursor *cursor = mem_new(sizeof *cursor);

	cursor->rows = thread_rows_new(((const struct thread_rows_table *)base)->kind);
	*out = &cursor->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct thread_rows_cursor *cursor = (struct thread_rows_cursor *)base;

	thread_rows_free(cursor->rows);
	mem_free(cursor);
	return SQLITE_OK;
}

struct thread_rows_arguments {
	struct thread_rows_ask ask;
	bool nothing;
	int64_t tid;
	sqlite3_value *from, *until, *path; /* NULL: not given */
};

/* SQLite tests rows again, so that > can be read as >=. */
static void read_bound(struct thread_rows_ask *ask, char letter, nstime t)
{
	if (letter == 'l')
		ask->low = t;
	else if (t < NSTIME_MAX)
		ask->high = t + 1;
}

static void read_arguments(struct thread_rows_arguments *asked, const char *letters,
			   sqlite3_value **argv)
{
	*asked = (struct thread_rows_arguments){.ask = {.low = NSTIME_MIN, .high = NSTIME_MAX}};
	for (size_t i = 0; letters[i] && letters[i] != ' '; i++) {
		int type = sqlite3_value_numeric_type(argv[i]);
		if (letters[i] == 'p') {
			asked->path = argv[i];
			continue;
		}
		if (letters[i] == 'l' || letters[i] == 'h') {
			if (type == SQLITE_INTEGER)
				read_bound(&asked->ask, letters[i], sqlite3_value_int64(argv[i]));
			continue;
		}
		if (letters[i] == 't') {
			asked->nothing |= type != SQLITE_INTEGER;
			asked->tid = sqlite3_value_int64(argv[i]);
			asked->ask.tid = &asked->tid;
			continue;
		}
		asked->nothing |= type != SQLITE_INTEGER && type != SQLITE_TEXT;
		*(letters[i] == 'f' ? &asked->from : &asked->until) = argv[i];
	}
}

/* The range is the common part of the arguments' and the host's. */
static bool read_range(struct sql_host *host, struct thread_rows_arguments *asked,
		       struct error *err)
{
	struct thread_rows_ask *ask = &asked->ask;
	nstime from = NSTIME_MIN, until = NSTIME_MAX;

	sql_host_range(host, &ask->begin, &ask->end);
	if (!sql_host_bounds(host, &ask->first, &ask->last, err) ||
	    (asked->from && !sql_host_moment(host, asked->from, &from, err)) ||
	    (asked->until && !sql_host_moment(host, asked->until, &until, err)))
		return false;
	ask->begin = from > ask->begin ? from : ask->begin;
	ask->end = until < ask->end ? until : ask->end;
	if (asked->nothing)
		ask->end = ask->begin;
	return true;
}

static int fail(struct thread_rows_cursor *cursor, const struct error *err)
{
	return sql_table_fail((struct sql_table *)cursor->base.pVtab, err);
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *words, int argc,
		  sqlite3_value **argv)
{
	struct thread_rows_cursor *cursor = (struct thread_rows_cursor *)base;
	struct thread_rows_arguments asked;
	struct error err;

	(void)argc;
	read_arguments(&asked, words, argv);
	asked.ask.shows_names = number;
	cursor->host = sql_table_host((struct sql_table *)base->pVtab, asked.path, &err);
	return cursor->host && read_range(cursor->host, &asked, &err) &&
			       thread_rows_begin(cursor->rows, &cursor->host->rows, &asked.ask,
						 &err)
		       ? SQLITE_OK
		       : fail(cursor, &err);
}

static int next(sqlite3_vtab_cursor *base)
{
	struct thread_rows_cursor *cursor = (struct thread_rows_cursor *)base;
	struct error err;

	return thread_rows_next(cursor->rows, &err) ? SQLITE_OK : fail(cursor, &err);
}

static int eof(sqlite3_vtab_cursor *base)
{
	return !thread_rows_more(((struct thread_rows_cursor *)base)->rows);
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *out, int i)
{
	struct thread_rows_cursor *cursor = (struct thread_rows_cursor *)base;
	const struct thread_rows_table *table = (const struct thread_rows_table *)base->pVtab;
	struct value cell;
	struct error err;

	i = without_alias(table, i);
	if ((size_t)i >= table->kind->ncolumns)
		return SQLITE_OK;
	if (!thread_rows_cell(cursor->rows, (size_t)i, &cell, &err))
		return fail(cursor, &err);
	sql_result_state(out, &cell);
	return SQLITE_OK;
}

/* A row has the same rowid in every scan: SQLite drops duplicates of two scans (OR) by it. */
static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	*out = (sqlite3_int64)thread_rows_key(((struct thread_rows_cursor *)base)->rows);
	return SQLITE_OK;
}

const sqlite3_module sql_thread_rows_module = {
	.xCreate = connect,
	.xConnect = connect,
	.xBestIndex = best_index,
	.xDisconnect = sql_table_disconnect,
	.xDestroy = sql_table_disconnect,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next,
	.xEof = eof,
	.xColumn = column,
	.xRowid = rowid,
};

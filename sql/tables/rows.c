/*
 * rows.c - all tables of rows/ as virtual tables: which conditions their scans take, and their rows
 *
 *     table of rows/ ── columns ──> CREATE TABLE, and by use the constraints that a scan takes
 *     xFilter's arguments ── struct row_ask ──> row_scan ──> xColumn
 *
 * idxStr has two characters per argument of xFilter, the column and the operator, a blank, and the
 * plan in words. idxNum is 1 if the query reads names of threads.
 */
#include "rows/row_table.h"
#include "sql/sql_internal.h"

#include "engine/base/hash_index.h"
#include "engine/base/mem.h"

#include <assert.h>
#include <string.h>

enum { COLUMNS_MAX = 32, COLUMN_LETTER = 'a', LIMIT_LETTER = '#' };
enum { EQ = SQLITE_INDEX_CONSTRAINT_EQ, GLOB = SQLITE_INDEX_CONSTRAINT_GLOB };
enum { MATCH = SQLITE_INDEX_CONSTRAINT_MATCH };

struct rows_table {
	struct sql_table table;
	const struct row_table *rows;
	uint8_t numbers[COLUMNS_MAX]; /* in rows->columns, of SQL's columns */
	int count;
};

struct rows_cursor {
	sqlite3_vtab_cursor base;
	struct sql_host *host;
	struct row_scan *scan;
	struct arena *arena; /* for what the scan borrows */
	struct name_test {
		const struct name_test *next;
		unsigned char op;
		const char *text;
	} * tests; /* of row_ask.named */
	int64_t tid;
};

/* ---- the table ---- */

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out,
		   char **message)
{
	static const char *const types[] = {
		[ROW_INTEGER] = " INTEGER", [ROW_TIME] = " INTEGER", [ROW_BOOL] = " INTEGER",
		[ROW_TEXT] = " TEXT",       [ROW_FLOAT] = " REAL",   [ROW_ANY] = ""};
	struct buf text = {0};
	int rest, code;
	struct rows_table *rows =
		sql_table_begin(db, aux, argc, argv, sizeof *rows, &rest, &code, message);

	if (!rows)
		return code;
	rows->rows = ((const struct sql_source *)aux)->name->rows;
	assert(rows->rows->ncolumns <= COLUMNS_MAX);
	for (size_t i = 0; i < rows->rows->ncolumns; i++) {
		const struct row_column *column = &rows->rows->columns[i];
		if (column->flags & (rows->table.host ? ROW_DUCKDB | ROW_FOREIGN : ROW_DUCKDB))
			continue;
		buf_printf(&text, "%s\"%s\"%s%s", rows->count ? ", " : "CREATE TABLE x(",
			   column->name, types[column->type],
			   column->flags & ROW_HIDDEN ? " HIDDEN" : "");
		rows->numbers[rows->count++] = (uint8_t)i;
	}
	buf_add_char(&text, ')');
	code = sqlite3_declare_vtab(db, buf_text(&text));
	buf_release(&text);
	*out = &rows->table.base;
	return code;
}

/* ---- planning ---- */

static bool is_argument(const struct row_column *column)
{
	return column->use >= ROW_TRACE;
}

/* Can a scan take the constraint? */
static bool can_take(const struct row_column *column, sqlite3_index_info *info, int i)
{
	unsigned char op = info->aConstraint[i].op;

	switch (column->use) {
	case ROW_PLAIN:
		return false;
	case ROW_STARTS:
		return sql_compares(op);
	case ROW_ENDS:
		return op == SQLITE_INDEX_CONSTRAINT_GT || op == SQLITE_INDEX_CONSTRAINT_GE;
	case ROW_PATH:
		if (op == EQ || op == MATCH)
			return true;
		return op == GLOB || op == SQLITE_INDEX_CONSTRAINT_LIKE;
	case ROW_NAME:
		if (op == EQ)
			return !strcmp(sqlite3_vtab_collation(info, i), "BINARY");
		return op == GLOB || op == SQLITE_INDEX_CONSTRAINT_LIKE;
	default:
		return op == EQ;
	}
}

/* Does SQLite not test it again? It compares texts by rules of its own. */
static bool is_exact(const struct row_column *column, unsigned char op)
{
	bool text = column->use == ROW_PATH || column->use == ROW_NAME;

	return !(column->flags & ROW_INEXACT) && (!text || op == GLOB || op == MATCH);
}

/* The estimated share of rows that meet it. */
static double share_of(const struct row_column *column, unsigned char op)
{
	switch (column->use) {
	case ROW_STARTS:
	case ROW_ENDS:
		return 1.0 / 30;
	case ROW_PATH:
	case ROW_NAME:
		return op == EQ ? 1e-3 : 1e-2;
	case ROW_TID:
		return 1e-3;
	case ROW_TOLD:
		return 1e-2;
	default:
		return 1;
	}
}

struct row_plan {
	struct buf letters, words;
	int nargs;
	double rows;
	bool whole;    /* SQLite tests no constraint again */
	bool one_name; /* rows are of one name or path */
	bool unusable; /* an argument comes from a table that is behind this one in the join */
	uint32_t told; /* bit per column: arguments that are there */
};

static void take(struct row_plan *plan, sqlite3_index_info *info, int i, char letter, bool exact)
{
	sql_take(info, i, &plan->nargs, exact);
	buf_printf(&plan->letters, "%c%c", letter, COLUMN_LETTER + info->aConstraint[i].op);
}

static void take_constraint(struct row_plan *plan, const struct rows_table *rows,
			    sqlite3_index_info *info, int i)
{
	int at = info->aConstraint[i].iColumn;
	unsigned char op = info->aConstraint[i].op;
	const struct row_column *column = at < 0 ? NULL : &rows->rows->columns[rows->numbers[at]];
	bool pushdown = !rows->table.host || rows->table.host->pushdown;

	if (!column || !can_take(column, info, i) ||
	    !(pushdown || is_argument(column) || op == MATCH)) {
		plan->whole = false;
		return;
	}
	plan->whole &= is_exact(column, op) && info->aConstraint[i].usable;
	plan->unusable |= is_argument(column) && !info->aConstraint[i].usable;
	if (!info->aConstraint[i].usable)
		return;
	take(plan, info, i, (char)(COLUMN_LETTER + rows->numbers[at]), is_exact(column, op));
	if (column->use != ROW_TRACE)
		buf_printf(&plan->words, "%s%s%s?", plan->words.len ? " AND " : "", column->name,
			   sql_op_of(op)->text);
	plan->told |= (uint32_t)is_argument(column) << rows->numbers[at];
	plan->one_name |= op == EQ && (column->use == ROW_PATH || column->use == ROW_NAME);
	plan->rows *= share_of(column, op);
}

static void take_limit(struct row_plan *plan, sqlite3_index_info *info)
{
	for (int i = 0; i < info->nConstraint; i++) {
		bool limit = info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_LIMIT;
		if (!info->aConstraint[i].usable ||
		    (!limit && info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_OFFSET))
			continue;
		take(plan, info, i, LIMIT_LETTER, false);
		if (limit)
			buf_add_text(&plan->words, plan->words.len ? " LIMIT ?" : "LIMIT ?");
	}
}

static bool takes_order(const struct row_plan *plan, const struct rows_table *rows,
			const sqlite3_index_info *info)
{
	int at = info->nOrderBy == 1 ? info->aOrderBy[0].iColumn : -1;

	return plan->one_name && rows->rows->in_time && at >= 0 && !info->aOrderBy[0].desc &&
	       rows->rows->columns[rows->numbers[at]].use == ROW_STARTS;
}

/*
 * `path = 'cpu[*]/thread'` compares the text as it stands, and in a GLOB `[*]` is a set of one
 * character: neither is ever true.
 */
static void note_pattern(const struct sql_table *table, bool glob, const char *text)
{
	if (strstr(text, glob ? "[*]" : "*"))
		notice(&table->host->trace->notices, NOTICE_INFO,
		       "path %s '%s' matches no path: write path MATCH '%s'", glob ? "GLOB" : "=",
		       text, text);
}

/* Gives notes on constants with which a comparison is probably a mistake, once each. */
static void note_constants(struct rows_table *rows, sqlite3_index_info *info)
{
	struct sql_table *table = &rows->table;
	sqlite3_value *value;

	for (int i = 0; table->host && i < info->nConstraint; i++) {
		unsigned char op = info->aConstraint[i].op;
		int at = info->aConstraint[i].iColumn;
		if (at < 0 || sqlite3_vtab_rhs_value(info, i, &value) != SQLITE_OK ||
		    sqlite3_value_numeric_type(value) != SQLITE_TEXT)
			continue;
		const struct row_column *column = &rows->rows->columns[rows->numbers[at]];
		const char *text = (const char *)sqlite3_value_text(value);
		bool time = column->type == ROW_TIME;
		uint64_t hash = hash_bytes(text, strlen(text)) + (uint64_t)at + 1;
		if (is_argument(column) || table->noted == hash)
			continue;
		if ((time || column->type == ROW_INTEGER) && sql_compares(op))
			sql_note_text(table->host->trace, column->name, time, text);
		else if (column->use == ROW_PATH && (op == EQ || op == GLOB))
			note_pattern(table, op == GLOB, text);
		else
			continue;
		table->noted = hash;
	}
}

/* The columns that the query reads: says their notes, and tells whether some have names. */
static bool look_at_columns(struct rows_table *rows, const sqlite3_index_info *info)
{
	bool names = false;

	for (int i = 0; i < rows->count; i++) {
		const struct row_column *column = &rows->rows->columns[rows->numbers[i]];
		if (!(info->colUsed >> i & 1))
			continue;
		names |= (column->flags & ROW_COMM) != 0;
		if (column->note && rows->table.host)
			sql_note(rows->table.host, "%s", column->note);
	}
	return names;
}

/* The trace that the table reads if the argument for `column`, a path, is not given; or NULL. */
static struct sql_host *usual_host(const struct rows_table *rows, const struct row_column *column)
{
	return column->flags & ROW_OPTIONAL && !rows->table.host ? rows->table.context->hosts
								 : rows->table.host;
}

/* Is an argument missing without which there are no rows? */
static int find_missing(struct rows_table *rows, const struct row_plan *plan,
			const sqlite3_index_info *info)
{
	for (int i = 0; i < rows->count; i++) {
		const struct row_column *column = &rows->rows->columns[rows->numbers[i]];
		bool path = column->use == ROW_TRACE && !usual_host(rows, column);
		const char *needed = path ? SQL_NEEDS_PATH : column->needed;
		if (needed && !(plan->told >> rows->numbers[i] & 1))
			return sql_table_untold(&rows->table, info, i, needed);
	}
	return plan->unusable ? SQLITE_CONSTRAINT : SQLITE_OK;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct rows_table *rows = (struct rows_table *)base;
	struct row_plan plan = {.rows = rows->rows->rows > 0 ? rows->rows->rows : 100,
				.whole = true};

	note_constants(rows, info);
	info->idxNum = look_at_columns(rows, info);
	for (int i = 0; i < info->nConstraint; i++)
		if (info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_LIMIT &&
		    info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_OFFSET)
			take_constraint(&plan, rows, info, i);
	info->orderByConsumed = takes_order(&plan, rows, info);
	if (plan.whole && (info->orderByConsumed || !info->nOrderBy) &&
	    (!rows->table.host || rows->table.host->pushdown))
		take_limit(&plan, info);
	info->estimatedCost = plan.rows < 10 ? 10 : plan.rows;
	info->estimatedRows = (sqlite3_int64)info->estimatedCost;
	buf_printf(&plan.letters, " %s", plan.words.len ? buf_text(&plan.words) : "all rows");
	sql_set_plan(info, buf_text(&plan.letters));
	buf_release(&plan.letters);
	buf_release(&plan.words);
	return find_missing(rows, &plan, info);
}

/* ---- a scan ---- */

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	struct rows_cursor *cursor = mem_new(sizeof *cursor);

	cursor->scan = row_scan_new(((const struct rows_table *)base)->rows);
	cursor->arena = arena_new();
	*out = &cursor->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct rows_cursor *cursor = (struct rows_cursor *)base;

	row_scan_free(cursor->scan);
	arena_free(cursor->arena);
	mem_free(cursor);
	return SQLITE_OK;
}

static bool rows_is_named(void *arg, const char *name)
{
	const struct rows_cursor *cursor = arg;

	for (const struct name_test *test = cursor->tests; test; test = test->next)
		if (test->op == EQ     ? strcmp(test->text, name)
		    : test->op == GLOB ? sqlite3_strglob(test->text, name)
				       : sqlite3_strlike(test->text, name, 0))
			return false;
	return true;
}

static const char *kept(struct rows_cursor *cursor, sqlite3_value *value)
{
	const char *text = (const char *)sqlite3_value_text(value);

	return text ? arena_strdup(cursor->arena, text) : NULL;
}

/* False: the name of no row passes. */
static bool read_name(struct rows_cursor *cursor, struct row_ask *ask, unsigned char op,
		      sqlite3_value *value)
{
	struct name_test *test = arena_alloc(cursor->arena, sizeof *test);

	if (op == EQ && sqlite3_value_type(value) != SQLITE_TEXT)
		return sqlite3_value_type(value) != SQLITE_NULL;
	*test = (struct name_test){cursor->tests, op, kept(cursor, value)};
	cursor->tests = test;
	ask->named = rows_is_named;
	ask->arg = cursor;
	return test->text != NULL;
}

/* Narrows the bounds. Rows of which they compare a time that is unknown do not pass. */
static bool read_bounds(nstime *low, nstime *high, unsigned char op, sqlite3_value *value)
{
	*low = *low == NSTIME_MIN ? NSTIME_MIN + 1 : *low;
	return sql_narrow(low, high, op, value);
}

static bool read_moment(struct rows_cursor *cursor, sqlite3_value *value, nstime *out,
			struct error *err)
{
	return sqlite3_value_type(value) == SQLITE_NULL ||
	       sql_host_moment(cursor->host, value, out, err);
}

struct row_reading { /* of the arguments of a scan */
	struct row_ask ask;
	const char *path; /* path = ? */
	bool twice;       /* there are two PATHs */
	bool nothing;     /* no row can meet the constraints */
};

static bool read_argument(struct rows_cursor *cursor, struct row_reading *reading,
			  const struct row_column *column, sqlite3_value *value, struct error *err)
{
	struct row_ask *ask = &reading->ask;
	nstime t = column->use == ROW_RANGE_END ? ask->end : ask->begin;

	reading->nothing |= sqlite3_value_type(value) == SQLITE_NULL && !column->needed;
	if (column->use == ROW_TOLD) {
		reading->twice |= ask->told != NULL;
		ask->told = kept(cursor, value);
		return true;
	}
	if (column->use == ROW_AT) {
		reading->nothing |= sqlite3_value_type(value) == SQLITE_NULL;
		return read_moment(cursor, value, &ask->at, err);
	}
	if (column->use == ROW_TRACE)
		return true;
	if (!read_moment(cursor, value, &t, err))
		return false;
	if (column->use == ROW_RANGE_BEGIN)
		ask->begin = t > ask->begin ? t : ask->begin;
	else
		ask->end = t < ask->end ? t : ask->end;
	return true;
}

static void read_path(struct rows_cursor *cursor, struct row_reading *reading, unsigned char op,
		      sqlite3_value *value)
{
	const char *text = kept(cursor, value);

	if (op == EQ) {
		reading->path = text;
	} else if (op == MATCH) {
		reading->twice |= reading->ask.told != NULL;
		reading->ask.told = text;
	} else {
		read_name(cursor, &reading->ask, op, value);
	}
	reading->nothing |= !text;
}

static bool read_constraint(struct rows_cursor *cursor, struct row_reading *reading,
			    const struct row_column *column, unsigned char op, sqlite3_value *value,
			    struct error *err)
{
	struct row_ask *ask = &reading->ask;
	int64_t most = INT64_MAX;
	bool some = true;

	switch (column->use) {
	case ROW_STARTS:
		some = read_bounds(&ask->low, &ask->high, op, value);
		break;
	case ROW_ENDS:
		some = read_bounds(&ask->least_end, &most, op, value);
		break;
	case ROW_TID:
		cursor->tid = INT64_MIN;
		some = sql_narrow(&cursor->tid, &most, op, value);
		ask->tid = &cursor->tid;
		break;
	case ROW_NAME:
		some = read_name(cursor, ask, op, value);
		break;
	case ROW_PATH:
		read_path(cursor, reading, op, value);
		break;
	default:
		return read_argument(cursor, reading, column, value, err);
	}
	reading->nothing |= !some;
	return true;
}

static void read_limit(struct row_ask *ask, unsigned char op, sqlite3_value *value)
{
	uint64_t count = sqlite3_value_int64(value) > 0 ? (uint64_t)sqlite3_value_int64(value) : 0;

	if (op == SQLITE_INDEX_CONSTRAINT_OFFSET)
		ask->limit = ask->limit == UINT64_MAX ? UINT64_MAX : ask->limit + count;
	else if (sqlite3_value_int64(value) >= 0)
		ask->limit = count;
}

/* Finds the trace: before other arguments, since moments are read as its times. */
static struct sql_host *find_host(struct rows_table *rows, const char *letters, int argc,
				  sqlite3_value **argv, struct error *err)
{
	struct sql_host *host = rows->table.host;

	for (size_t at = 0; at < rows->rows->ncolumns && !host; at++) {
		const struct row_column *column = &rows->rows->columns[at];
		host = column->use == ROW_TRACE ? usual_host(rows, column) : NULL;
		for (int i = 0; column->use == ROW_TRACE && i < argc; i++)
			if (letters[2 * i] == COLUMN_LETTER + (char)at)
				return sql_table_host(&rows->table, argv[i], err);
	}
	return host ? host : sql_table_host(&rows->table, NULL, err);
}

static bool tables_rows_begin(struct rows_cursor *cursor, const char *letters, int argc,
			      sqlite3_value **argv, struct row_reading *reading, struct error *err)
{
	struct rows_table *rows = (struct rows_table *)cursor->base.pVtab;
	struct row_ask *ask = &reading->ask;

	cursor->host = find_host(rows, letters, argc, argv, err);
	if (!cursor->host)
		return false;
	sql_host_range(cursor->host, &ask->begin, &ask->end);
	for (int i = 0; i < argc; i++) {
		char letter = letters[2 * i];
		unsigned char op = (unsigned char)(letters[2 * i + 1] - COLUMN_LETTER);
		if (letter == LIMIT_LETTER)
			read_limit(ask, op, argv[i]);
		else if (!read_constraint(cursor, reading,
					  &rows->rows->columns[letter - COLUMN_LETTER], op, argv[i],
					  err))
			return false;
	}
	if (reading->twice && !reading->nothing)
		return error_set(err, ERR_QUERY,
				 "one pattern of paths is enough: MATCH or the argument");
	ask->told = ask->told ? ask->told : reading->path;
	return true;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *letters, int argc,
		  sqlite3_value **argv)
{
	struct rows_cursor *cursor = (struct rows_cursor *)base;
	struct row_reading reading = {.ask = row_ask_all()};
	struct error err;

	arena_reset(cursor->arena);
	cursor->tests = NULL;
	cursor->scan->at = cursor->scan->count = 0;
	reading.ask.shows_names = number;
	if (!tables_rows_begin(cursor, letters, argc, argv, &reading, &err) ||
	    (!reading.nothing &&
	     !row_scan_begin(cursor->scan, &cursor->host->rows, &reading.ask, &err)))
		return sql_table_fail((struct sql_table *)base->pVtab, &err);
	return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
	struct error err;

	return row_scan_next(((struct rows_cursor *)base)->scan, &err)
		       ? SQLITE_OK
		       : sql_table_fail((struct sql_table *)base->pVtab, &err);
}

static int eof(sqlite3_vtab_cursor *base)
{
	return !row_scan_more(((struct rows_cursor *)base)->scan);
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *out, int i)
{
	const struct rows_table *rows = (const struct rows_table *)base->pVtab;
	struct rows_cursor *cursor = (struct rows_cursor *)base;
	size_t number = rows->numbers[i];
	struct value cell;
	struct error err;

	if (rows->rows->columns[number].use == ROW_TRACE) {
		sqlite3_result_text(out, cursor->host->path, -1, SQLITE_TRANSIENT);
	} else if (rows->rows->columns[number].use == ROW_TOLD) {
		sqlite3_result_text(out, cursor->scan->ask.told, -1, SQLITE_TRANSIENT);
	} else {
		if (!row_scan_cell(cursor->scan, number, &cell, &err))
			return sql_table_fail((struct sql_table *)base->pVtab, &err);
		sql_result_state(out, &cell);
	}
	return SQLITE_OK;
}

/* A row has the same rowid in every scan: SQLite drops duplicates of two scans (OR) by it. */
static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	*out = (sqlite3_int64)row_scan_key(((struct rows_cursor *)base)->scan);
	return SQLITE_OK;
}

const sqlite3_module sql_rows_module = {
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

/* rows.c - small tables, whose rows xFilter makes all at once: see rows/row_list.h */
#include "rows/row_list.h"
#include "sql/sql_internal.h"

#include "engine/base/mem.h"

#include <string.h>

struct rows_table {
	struct sql_table table;
	const struct row_table *rows;
	const struct sql_told *told; /* NULL: nothing */
};

struct rows_cursor {
	struct sql_cursor scan;
	struct row_list list;
	struct sql_host *host;
};

static void add_declaration(struct buf *out, const struct rows_table *rows)
{
	if (rows->told) {
		buf_add_text(out, rows->told->declaration);
		return;
	}
	buf_add_text(out, "CREATE TABLE x(");
	sql_declare_columns(out, rows->rows->columns, rows->rows->ncolumns);
	buf_add_text(out, ", trace TEXT HIDDEN)");
}

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out,
		   char **message)
{
	int rest, code;
	struct rows_table *rows =
		sql_table_begin(db, aux, argc, argv, sizeof *rows, &rest, &code, message);

	struct buf declaration = {0};

	if (!rows)
		return code;
	rows->rows = ((const struct sql_source *)aux)->name->rows;
	rows->told = ((const struct sql_source *)aux)->name->told;
	*out = &rows->table.base;
	add_declaration(&declaration, rows);
	code = sqlite3_declare_vtab(db, buf_text(&declaration));
	buf_release(&declaration);
	return code;
}

enum { TELLS_PROGRAM = 1, TELLS_PATH = 2 }; /* idxNum: the arguments of filter(), in order */

static bool take_told(sqlite3_index_info *info, size_t column, int *nargs)
{
	for (int i = 0; i < info->nConstraint; i++)
		if (info->aConstraint[i].usable &&
		    info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ &&
		    info->aConstraint[i].iColumn == (int)column) {
			sql_take(info, i, nargs, true);
			return true;
		}
	return false;
}

static size_t trace_column(const struct rows_table *rows)
{
	return rows->told ? rows->told->column + 1 : rows->rows->ncolumns;
}

/* The trace if no path is given: the table's, else the first one of the connection. */
static struct sql_host *own_host(const struct rows_table *rows)
{
	if (rows->table.host || !rows->told)
		return rows->table.host;
	return rows->table.context->hosts;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct rows_table *rows = (struct rows_table *)base;
	struct buf declaration = {0};
	int nargs = 0;

	add_declaration(&declaration, rows);
	sql_note_texts(&rows->table, info, buf_text(&declaration));
	buf_release(&declaration);
	if (rows->told && take_told(info, rows->told->column, &nargs))
		info->idxNum |= TELLS_PROGRAM;
	if (!rows->table.host && take_told(info, trace_column(rows), &nargs))
		info->idxNum |= TELLS_PATH;
	info->estimatedCost = 1000;
	info->estimatedRows = 100;
	if (rows->told && !(info->idxNum & TELLS_PROGRAM))
		return sql_table_untold(&rows->table, info, (int)rows->told->column,
					rows->told->what);
	if (!(info->idxNum & TELLS_PATH) && !own_host(rows))
		return sql_table_untold(&rows->table, info, (int)trace_column(rows),
					SQL_NEEDS_PATH);
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	struct rows_cursor *cursor = mem_new(sizeof *cursor);

	(void)base;
	cursor->list.arena = arena_new();
	*out = &cursor->scan.base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct rows_cursor *cursor = (struct rows_cursor *)base;

	arena_free(cursor->list.arena);
	mem_free(cursor->list.cells);
	mem_free(cursor);
	return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *words, int argc,
		  sqlite3_value **argv)
{
	struct rows_cursor *cursor = (struct rows_cursor *)base;
	struct rows_table *rows = (struct rows_table *)base->pVtab;
	struct row_list *list = &cursor->list;
	bool tells_path = number & TELLS_PATH;
	struct error err;

	(void)words;
	cursor->scan.at = cursor->scan.count = 0;
	list->ncells = 0;
	list->ncolumns = rows->rows->ncolumns;
	arena_reset(list->arena);
	list->told = NULL;
	if (number & TELLS_PROGRAM && sqlite3_value_text(argv[0]))
		list->told = arena_strdup(list->arena, (const char *)sqlite3_value_text(argv[0]));
	cursor->host =
		tells_path ? sql_table_host(&rows->table, argv[argc - 1], &err) : own_host(rows);
	if (cursor->host)
		sql_host_range(cursor->host, &list->begin, &list->end);
	if (!cursor->host || !rows->rows->fill(&cursor->host->rows, list, &err))
		return sql_table_fail(&rows->table, &err);
	cursor->scan.count = list->ncells / list->ncolumns;
	return SQLITE_OK;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *out, int i)
{
	const struct rows_cursor *cursor = (struct rows_cursor *)base;
	const struct rows_table *rows = (const struct rows_table *)base->pVtab;
	const struct row_list *list = &cursor->list;

	if ((size_t)i == trace_column(rows))
		sqlite3_result_text(out, cursor->host->path, -1, SQLITE_TRANSIENT);
	else if (rows->told && (size_t)i == rows->told->column)
		sqlite3_result_text(out, list->told, -1, SQLITE_TRANSIENT);
	else if ((size_t)i < list->ncolumns)
		sql_result_state(out, &list->cells[cursor->scan.at * list->ncolumns + (size_t)i]);
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
	.xNext = sql_cursor_next,
	.xEof = sql_cursor_eof,
	.xColumn = column,
	.xRowid = sql_cursor_rowid,
};

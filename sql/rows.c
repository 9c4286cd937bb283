/* rows.c - see record_list.h */
#include "sql/rows.h"

#include "engine/base/mem.h"

#include <string.h>

struct rows_table {
	struct sql_table table;
	const struct rows_kind *kind;
};

struct rows_cursor {
	sqlite3_vtab_cursor base;
	struct row_list list;
	size_t at; /* cell of the row */
	struct sql_host *host;
};

struct cell *row_list_add(struct row_list *list)
{
	if (list->capacity - list->ncells < list->ncolumns) {
		list->capacity = 2 * list->capacity + 16 * list->ncolumns;
		list->cells = mem_resize(list->cells, list->capacity, sizeof *list->cells);
	}
	struct cell *row = list->cells + list->ncells;
	memset(row, 0, list->ncolumns * sizeof *row);
	list->ncells += list->ncolumns;
	return row;
}

void cell_text(struct cell *cell, const char *text)
{
	if (text)
		*cell = (struct cell){CELL_TEXT, (uint32_t)strlen(text), {.text = text}};
}

void cell_integer(struct cell *cell, int64_t integer)
{
	*cell = (struct cell){CELL_INTEGER, 0, {.integer = integer}};
}

void cell_result(const struct cell *cell, sqlite3_context *out)
{
	if (cell->kind == CELL_INTEGER)
		sqlite3_result_int64(out, cell->integer);
	else if (cell->kind == CELL_REAL)
		sqlite3_result_double(out, cell->real);
	else if (cell->kind == CELL_TEXT)
		sqlite3_result_text64(out, cell->text, cell->len, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out,
		   char **message)
{
	const struct sql_source *source = aux;
	struct rows_table *rows = mem_new(sizeof *rows);
	int rest, code = sql_table_begin(db, aux, argc, argv, &rows->table, &rest, message);

	if (code != SQLITE_OK) {
		mem_free(rows);
		return code;
	}
	rows->kind = source->name->rows;
	*out = &rows->table.base;
	return sqlite3_declare_vtab(db, rows->kind->declaration);
}

static int disconnect(sqlite3_vtab *base)
{
	sql_table_end((struct sql_table *)base);
	return SQLITE_OK;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct rows_table *rows = (struct rows_table *)base;
	bool path = rows->table.host;
	int nargs = 0;

	for (int i = 0; i < info->nConstraint && !path; i++)
		if (info->aConstraint[i].usable &&
		    info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ &&
		    info->aConstraint[i].iColumn == (int)rows->kind->ncolumns - 1) {
			sql_take(info, i, &nargs, true);
			path = true;
		}
	info->estimatedCost = 1000;
	info->estimatedRows = 100;
	return path ? SQLITE_OK
		    : sql_table_untold(&rows->table, info, (int)rows->kind->ncolumns - 1,
				       SQL_NEEDS_PATH);
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	struct rows_cursor *cursor = mem_new(sizeof *cursor);

	cursor->list.arena = arena_new();
	cursor->list.ncolumns = ((struct rows_table *)base)->kind->ncolumns;
	*out = &cursor->base;
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
	struct error err;

	(void)number;
	(void)words;
	cursor->at = 0;
	cursor->list.ncells = 0;
	arena_reset(cursor->list.arena);
	cursor->host = sql_table_host(&rows->table, argc ? argv[0] : NULL, &err);
	if (cursor->host && rows->kind->fill(cursor->host, &cursor->list, &err))
		return SQLITE_OK;
	return sql_table_fail(&rows->table, &err);
}

static int next(sqlite3_vtab_cursor *base)
{
	struct rows_cursor *cursor = (struct rows_cursor *)base;

	cursor->at += cursor->list.ncolumns;
	return SQLITE_OK;
}

static int eof(sqlite3_vtab_cursor *base)
{
	const struct rows_cursor *cursor = (struct rows_cursor *)base;

	return cursor->at >= cursor->list.ncells;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *out, int i)
{
	const struct rows_cursor *cursor = (struct rows_cursor *)base;

	if ((size_t)i + 1 < cursor->list.ncolumns)
		cell_result(&cursor->list.cells[cursor->at + (size_t)i], out);
	else if (cursor->host->path)
		sqlite3_result_text(out, cursor->host->path, -1, SQLITE_TRANSIENT);
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	const struct rows_cursor *cursor = (struct rows_cursor *)base;

	*out = (sqlite3_int64)(cursor->at / cursor->list.ncolumns);
	return SQLITE_OK;
}

const sqlite3_module sql_rows_module = {
	.xCreate = connect,
	.xConnect = connect,
	.xBestIndex = best_index,
	.xDisconnect = disconnect,
	.xDestroy = disconnect,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next,
	.xEof = eof,
	.xColumn = column,
	.xRowid = rowid,
};

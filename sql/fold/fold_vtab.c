/*
 * fold_vtab.c - a folded table: the columns of the table that it replaces, then "fold 0", ...
 *
 * A scan sweeps all events that meet its conditions and returns one row per group. Columns that are
 * no keys exist so that conditions can name them, and have no value: reading one is an error, after
 * which sql_step() runs the statement as it was written.
 */
#include "sql/fold/fold.h"

#include "engine/base/mem.h"

#include <string.h>

struct fold_table {
	struct sql_table table;
	struct fold *fold; /* borrowed from the statement */
};

struct fold_cursor {
	sqlite3_vtab_cursor base;
	size_t at, count; /* the current group; number of groups */
	struct constraints constraints;
	struct groups groups;
};

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out,
		   char **message)
{
	struct fold *fold = aux;
	struct fold_table *folded = mem_new(sizeof *folded);
	struct buf text = {0};

	(void)argc;
	(void)argv;
	(void)message;
	folded->table.db = db;
	folded->table.host = fold->host;
	folded->fold = fold;
	fold->plans.of_groups = true;
	events_declare(fold->shape, false, &text);
	text.len -= strlen(EVENTS_KEY);
	for (unsigned i = 0; i < fold->nvalues; i++)
		buf_printf(&text, "\"fold %u\" INTEGER, ", i);
	buf_add_text(&text, "\"fold\" HIDDEN)");
	int code = sqlite3_declare_vtab(db, buf_text(&text));
	buf_release(&text);
	*out = &folded->table.base;
	return code;
}

static int disconnect(sqlite3_vtab *base)
{
	mem_free(base);
	return SQLITE_OK;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct fold_table *folded = (struct fold_table *)base;
	int norder = info->nOrderBy, code;

	info->nOrderBy = 0; /* the plan must not take the order: groups come in none */
	code = scan_plan_make(&folded->fold->plans, folded->fold->shape, &folded->table, info);
	info->nOrderBy = norder;
	if (code == SQLITE_OK) {
		char *words = sqlite3_mprintf("%s, on all threads", info->idxStr);
		sqlite3_free(info->idxStr);
		info->idxStr = words;
		info->estimatedRows = 100;
	}
	return code;
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	struct fold_cursor *cursor = mem_new(sizeof *cursor);

	cursor->constraints.arena = arena_new();
	cursor->groups = fold_groups(((struct fold_table *)base)->fold);
	*out = &cursor->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct fold_cursor *cursor = (struct fold_cursor *)base;

	arena_free(cursor->constraints.arena);
	groups_clear(&cursor->groups);
	mem_free(cursor);
	return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *words, int argc,
		  sqlite3_value **argv)
{
	struct fold_cursor *cursor = (struct fold_cursor *)base;
	struct fold_table *folded = (struct fold_table *)base->pVtab;
	const struct fold *fold = folded->fold;
	struct error err;

	(void)words;
	(void)argc;
	constraints_read(&cursor->constraints, fold->plans.items[number], fold->shape, fold->host,
			 argv);
	groups_clear(&cursor->groups);
	cursor->at = cursor->count = 0;
	if (!cursor->constraints.nothing &&
	    !(fold->partials ? fold_partial(fold, &cursor->constraints, &cursor->groups, &err)
			     : fold_sweep(fold, &cursor->constraints, NULL, &cursor->groups, &err)))
		return sql_table_fail(&folded->table, &err);
	cursor->count = cursor->groups.count;
	return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
	((struct fold_cursor *)base)->at++;
	return SQLITE_OK;
}

static int eof(sqlite3_vtab_cursor *base)
{
	const struct fold_cursor *cursor = (const struct fold_cursor *)base;

	return cursor->at >= cursor->count;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	*out = (sqlite3_int64)((struct fold_cursor *)base)->at;
	return SQLITE_OK;
}

static void put_total(sqlite3_context *out, enum aggregate_kind kind,
		      const struct accumulator *total)
{
	if (kind == AGGREGATE_COUNT)
		sqlite3_result_int64(out, (int64_t)total->count);
	else if (total->count)
		sqlite3_result_int64(out, (int64_t)total->number);
}

/* Fails, since SQLite reads a column that is no key, to test a condition itself. */
static void refuse_column(const struct fold *fold, size_t column, sqlite3_context *out)
{
	const char *name = fold->shape->columns[column].name;
	char *text = sqlite3_mprintf(
		"a condition on %s has to be tested on each event: write it by =, <, <=, >, >=, IN "
		"or GLOB, or GROUP BY %s, too",
		name, name);

	sqlite3_result_error(out, text ? text : "out of memory", -1);
	sqlite3_free(text);
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *out, int i)
{
	const struct fold_cursor *cursor = (struct fold_cursor *)base;
	const struct fold *fold = ((struct fold_table *)base->pVtab)->fold;
	const struct group *group = cursor->groups.items[cursor->at];
	size_t at = (size_t)i;

	if (at >= fold->shape->ncolumns) {
		at -= fold->shape->ncolumns;
		if (at < fold->nvalues)
			put_total(out, fold->values[at].kind, &group->totals[at]);
		return SQLITE_OK;
	}
	for (unsigned k = 0; k < fold->nkeys; k++)
		if (fold->keys[k] == at) {
			sql_result_state(out, &group->keys[k]);
			return SQLITE_OK;
		}
	refuse_column(fold, at, out);
	return SQLITE_ERROR;
}

const sqlite3_module sql_fold_module = {
	.xConnect = connect,
	.xBestIndex = best_index,
	.xDisconnect = disconnect,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next,
	.xEof = eof,
	.xColumn = column,
	.xRowid = rowid,
};

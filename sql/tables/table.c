/*
 * table.c - shared by all virtual tables: their trace, errors, notes and constraints on integers
 *
 * A module that is registered with a trace needs no argument. Any other takes a path: as an
 * argument of CREATE VIRTUAL TABLE, or in the hidden column `trace`, through which SQLite passes
 * the argument of yore_events('PATH').
 */
#include "sql/sql_internal.h"

#include "engine/base/mem.h"

#include <string.h>

char *sql_unquoted(const char *argument)
{
	char *copy = mem_strdup(argument), *to = copy;
	char quote = *argument;

	if (quote != '\'' && quote != '"' && quote != '`' && quote != '[')
		return copy;
	quote = quote == '[' ? ']' : quote;
	for (argument++; *argument; argument++) {
		if (*argument == quote && *++argument != quote)
			break;
		*to++ = *argument;
	}
	*to = '\0';
	return copy;
}

void *sql_table_begin(sqlite3 *db, void *aux, int argc, const char *const *argv, size_t size,
		      int *rest, int *code, char **message)
{
	const struct sql_source *source = aux;
	struct sql_host *host = source->host;
	struct error err;

	*rest = 3;
	if (!host && argc > 3) {
		char *path = sql_unquoted(argv[3]);
		host = sql_context_open(source->context, path, &err);
		mem_free(path);
		*rest = 4;
		if (!host) {
			*message = sqlite3_mprintf("%s", err.text);
			*code = sql_error_code(&err);
			return NULL;
		}
	}
	if (!source->host)
		sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
	struct sql_table *table = mem_new(size);
	*table = (struct sql_table){.db = db, .context = source->context, .host = host};
	sql_context_hold(table->context);
	return table;
}

void sql_table_end(struct sql_table *table)
{
	sql_context_drop(table->context);
	mem_free(table);
}

int sql_table_disconnect(sqlite3_vtab *base)
{
	sql_table_end((struct sql_table *)base);
	return SQLITE_OK;
}

int sql_table_fail(struct sql_table *table, const struct error *err)
{
	sqlite3_free(table->base.zErrMsg);
	table->base.zErrMsg = sqlite3_mprintf("%s", err->text);
	return sql_error_code(err);
}

struct sql_host *sql_table_host(struct sql_table *table, sqlite3_value *path, struct error *err)
{
	const char *text = path ? (const char *)sqlite3_value_text(path) : NULL;

	table->noted = 0;
	if (table->host)
		return table->host;
	if (text)
		return sql_context_open(table->context, text, err);
	error_set(err, ERR_QUERY, "the path of a trace is missing");
	return NULL;
}

int sql_table_untold(struct sql_table *table, const sqlite3_index_info *info, int column,
		     const char *what)
{
	for (int i = 0; i < info->nConstraint; i++)
		if (info->aConstraint[i].iColumn == column)
			return SQLITE_CONSTRAINT;
	sqlite3_free(table->base.zErrMsg);
	table->base.zErrMsg = sqlite3_mprintf("%s is missing", what);
	return SQLITE_ERROR;
}

void sql_note_text(const struct trace *trace, const char *column, bool time, const char *text)
{
	if (time)
		notice(&trace->notices, NOTICE_INFO,
		       "%s is compared with the text '%s', which SQL takes to be greater than "
		       "every "
		       "number: times are integers of nanoseconds, and ts('%s') makes one of a "
		       "text",
		       column, text, text);
	else
		notice(&trace->notices, NOTICE_INFO,
		       "%s is compared with the text '%s', which SQL takes to be greater than "
		       "every "
		       "number: leave the quotes out and write a number",
		       column, text);
}

static const struct sql_op ops[] = {{SQLITE_INDEX_CONSTRAINT_EQ, "=", true, COMPARE_EQ},
				    {SQLITE_INDEX_CONSTRAINT_LT, "<", true, COMPARE_LT},
				    {SQLITE_INDEX_CONSTRAINT_LE, "<=", true, COMPARE_LE},
				    {SQLITE_INDEX_CONSTRAINT_GT, ">", true, COMPARE_GT},
				    {SQLITE_INDEX_CONSTRAINT_GE, ">=", true, COMPARE_GE},
				    {.op = SQLITE_INDEX_CONSTRAINT_GLOB, .text = " GLOB "},
				    {.op = SQLITE_INDEX_CONSTRAINT_LIKE, .text = " LIKE "},
				    {.op = SQLITE_INDEX_CONSTRAINT_MATCH, .text = " MATCH "}};

const struct sql_op *sql_op_of(unsigned char op)
{
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		if (ops[i].op == op)
			return &ops[i];
	return NULL;
}

/*
 * The integers for which `column OP value` is true, exactly as SQL compares: `value` may be a real
 * number (ts >= 1.5), a text of a number, another text (greater than all numbers), or NULL (never
 * true). False: there are none.
 */
static bool table_range_of(unsigned char op, sqlite3_value *value, struct range *out)
{
	enum comparison by = sql_op_of(op)->by;
	int64_t number;

	switch (sqlite3_value_numeric_type(value)) {
	case SQLITE_INTEGER:
		number = sqlite3_value_int64(value);
		return range_of_integer(by, (uint64_t)number, number < 0, true, out);
	case SQLITE_FLOAT:
		return range_of_real(by, sqlite3_value_double(value), true, out);
	case SQLITE_NULL:
		return false;
	default: /* a text or blob is greater than every number */
		*out = (struct range){(uint64_t)INT64_MIN, UINT64_MAX};
		return by == COMPARE_LT || by == COMPARE_LE;
	}
}

bool sql_narrow(int64_t *low, int64_t *high, unsigned char op, sqlite3_value *value)
{
	struct range range;
	int64_t least, most;

	if (!table_range_of(op, value, &range))
		return false;
	least = (int64_t)range.low;
	most = (int64_t)(range.low + range.span);
	*low = least > *low ? least : *low;
	*high = most < *high ? most : *high;
	return *low <= *high;
}

void sql_set_plan(sqlite3_index_info *info, const char *text)
{
	info->idxStr = sqlite3_mprintf("%s", text);
	info->needToFreeIdxStr = 1;
}

void sql_take(sqlite3_index_info *info, int i, int *nargs, bool omit)
{
	info->aConstraintUsage[i].argvIndex = ++*nargs;
	info->aConstraintUsage[i].omit = omit;
}

void sql_result_state(sqlite3_context *out, const struct value *value)
{
	switch (value->kind) {
	case VALUE_INT:
		sqlite3_result_int64(out, (sqlite3_int64)value->u);
		return;
	case VALUE_FLOAT:
		sqlite3_result_double(out, value->f);
		return;
	case VALUE_STRING:
		sqlite3_result_text64(out, value->text, value->len, SQLITE_TRANSIENT, SQLITE_UTF8);
		return;
	case VALUE_BOOL:
		sqlite3_result_int(out, value->b);
		return;
	case VALUE_UNKNOWN:
	case VALUE_NONE:
		return;
	}
}

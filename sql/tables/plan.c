/*
 * plan.c - xBestIndex of the tables of events: which constraints a scan takes
 *
 *     ts       = < <= > >=          exact: packets are found by time
 *     cpu      = < <= > >= IN       exact: packets, streams
 *     name     = IN GLOB LIKE       classes; GLOB is exact, = too when compared with a text
 *     stream   = IN GLOB LIKE       streams; likewise
 *     a field  = < <= > >= IN       exact on integers; = on texts
 *     yore_where MATCH              exact: a condition as --where has it; = of an argument
 *     LIMIT                         when all else was taken exactly
 *
 * SQLite does not test exact constraints again. Rows come in order of time if ORDER BY ts requires
 * it or the query reads ts; else stream after stream, which is faster.
 */
#include "sql/tables/plan.h"

#include "engine/base/mem.h"

#include <string.h>

enum { EQ = SQLITE_INDEX_CONSTRAINT_EQ, GLOB = SQLITE_INDEX_CONSTRAINT_GLOB };

static void plan_free(struct plan *plan)
{
	mem_free(plan->terms);
	mem_free(plan->words);
	mem_free(plan);
}

void scan_plans_release(struct plans *plans)
{
	for (size_t i = 0; i < plans->count; i++)
		plan_free(plans->items[i]);
	mem_free(plans->items);
	*plans = (struct plans){0};
}

static bool is_binary(sqlite3_index_info *info, int i)
{
	const char *collation = sqlite3_vtab_collation(info, i);

	return collation && !strcmp(collation, "BINARY");
}

/* Is the other operand a literal text, so that SQLite's affinity rules convert nothing? */
static bool against_text(sqlite3_index_info *info, int i)
{
	sqlite3_value *value;

	return sqlite3_vtab_rhs_value(info, i, &value) == SQLITE_OK &&
	       sqlite3_value_type(value) == SQLITE_TEXT;
}

static bool is_constant(sqlite3_index_info *info, int i)
{
	sqlite3_value *value;

	return sqlite3_vtab_rhs_value(info, i, &value) == SQLITE_OK;
}

/* Can a scan take constraint i? *exact: SQLite need not test it again. */
static bool can_take(sqlite3_index_info *info, int i, const struct column *column, bool *exact)
{
	unsigned char op = info->aConstraint[i].op;
	bool in = op == EQ && sqlite3_vtab_in(info, i, -1);

	*exact = true;
	switch (column->kind) {
	case COLUMN_TRACE:
		return op == EQ;
	case COLUMN_WHERE:
		return op == EQ || op == SQLITE_INDEX_CONSTRAINT_MATCH;
	case COLUMN_TS:
	case COLUMN_CPU:
		return sql_compares(op);
	case COLUMN_NAME:
	case COLUMN_STREAM:
		if (op == GLOB)
			return true;
		*exact = op == EQ && !in && against_text(info, i);
		return op == SQLITE_INDEX_CONSTRAINT_LIKE || (op == EQ && is_binary(info, i));
	case COLUMN_FIELD:
		if (column->whole_number)
			return sql_compares(op);
		*exact = against_text(info, i);
		return op == EQ && !in && !strcmp(column->type, "TEXT") && is_binary(info, i);
	default:
		return false;
	}
}

static struct term *add_term(struct plan *plan)
{
	*mem_push(plan->terms, plan->count, plan->capacity) = (struct term){0};
	return &plan->terms[plan->count - 1];
}

static void say(struct buf *words, const char *text)
{
	if (words->len)
		buf_add_text(words, " AND ");
	buf_add_text(words, text);
}

static void take_term(struct plan *plan, sqlite3_index_info *info, int i,
		      const struct column *column, bool exact, struct buf *words)
{
	struct term *term = add_term(plan);
	int nargs = (int)plan->count - 1;

	term->on = column->kind;
	term->op = info->aConstraint[i].op;
	term->column = (uint32_t)info->aConstraint[i].iColumn;
	/* `ts IN (...)` is a scan for each item, IN on any other column one scan */
	term->in = term->op == EQ && column->kind != COLUMN_TS && column->kind != COLUMN_TRACE &&
		   column->kind != COLUMN_WHERE && sqlite3_vtab_in(info, i, 1);
	term->constant = is_constant(info, i);
	sql_take(info, i, &nargs, exact);
	plan->timed |= column->kind == COLUMN_TS;
	plan->fields |= column->kind == COLUMN_FIELD;
	if (column->kind == COLUMN_TRACE)
		return;
	say(words, column->name);
	if (column->kind == COLUMN_WHERE)
		buf_add_text(words, " MATCH ?");
	else
		buf_printf(words, "%s?", term->in ? " IN " : sql_op_of(term->op)->text);
}

/* The estimated share of events that a scan with this term reads. */
static double share_of(const struct term *term, const struct column *column)
{
	switch (column->kind) {
	case COLUMN_TS:
		return term->op == EQ ? 1e-6 : 0.02;
	case COLUMN_CPU:
	case COLUMN_STREAM:
		return 0.25;
	case COLUMN_NAME:
		return term->op == EQ ? 0.05 : 0.2;
	default:
		return 1;
	}
}

/* Estimates cost, in events that the scan reads, and number of rows. */
static void estimate(const struct plan *plan, const struct shape *shape,
		     const struct sql_table *table, sqlite3_index_info *info)
{
	double bytes = table->host ? (double)trace_bytes(table->host->trace) : 1e8;
	double passed = 1000 + bytes / 40, given = 1;

	for (size_t i = 0; i < plan->count; i++) {
		const struct column *column = &shape->columns[plan->terms[i].column];
		if (plan->terms[i].limit || plan->terms[i].offset)
			continue;
		passed *= share_of(&plan->terms[i], column);
		given *= column->kind == COLUMN_FIELD || column->kind == COLUMN_WHERE ? 0.1 : 1;
	}
	if (shape->group)
		passed *= 0.1;
	given *= passed;
	info->estimatedCost = 10 + passed * (plan->fields ? 2 : 1) + given;
	info->estimatedRows = given < 1 ? 1 : (sqlite3_int64)given;
}

static bool takes_order(const struct plan *plan, const struct shape *shape,
			const struct sql_table *table, const sqlite3_index_info *info)
{
	if (info->nOrderBy != 1 || info->aOrderBy[0].iColumn < 0 ||
	    (size_t)info->aOrderBy[0].iColumn >= shape->ncolumns ||
	    shape->columns[info->aOrderBy[0].iColumn].kind != COLUMN_TS)
		return false;
	/* events without a time come last in a scan, but NULLs come first in SQL */
	return plan->timed || (table->host && sql_host_timed(table->host));
}

static void take_limit(struct plan *plan, sqlite3_index_info *info, struct buf *words)
{
	for (int i = 0; i < info->nConstraint; i++) {
		unsigned char op = info->aConstraint[i].op;
		bool limit = op == SQLITE_INDEX_CONSTRAINT_LIMIT;
		if (!info->aConstraint[i].usable ||
		    (!limit && op != SQLITE_INDEX_CONSTRAINT_OFFSET))
			continue;
		struct term *term = add_term(plan);
		int nargs = (int)plan->count - 1;
		term->limit = limit;
		term->offset = !limit;
		sql_take(info, i, &nargs, false);
		if (limit)
			buf_add_text(words, words->len ? " LIMIT ?" : "LIMIT ?");
	}
}

static void note_columns(struct plan *plan, const struct shape *shape,
			 const sqlite3_index_info *info)
{
	for (size_t i = 0; i < shape->ncolumns; i++) {
		enum column_kind kind = shape->columns[i].kind;
		if (!(info->colUsed >> (i < 63 ? i : 63) & 1))
			continue;
		bool whole = kind == COLUMN_LABEL || kind == COLUMN_CONTEXT ||
			     kind == COLUMN_FIELDS || kind == COLUMN_PACKET;
		plan->fields |= whole || kind == COLUMN_FIELD;
	}
}

/* Can a key index have all columns that the query reads? */
static bool is_indexed(const struct plan *plan, const struct shape *shape)
{
	for (size_t i = 0; i < shape->ncolumns; i++) {
		const struct column *column = &shape->columns[i];
		bool head = column->kind <= COLUMN_NAME;
		if (!(plan->columns >> (i < 63 ? i : 63) & 1))
			continue;
		if (i >= 63 || (!head && (column->kind != COLUMN_FIELD || !column->whole_number)))
			return false;
	}
	return true;
}

/* Sets plan->key: the only term, besides times, whose value differs between scans; see plan.h. */
static void note_key(struct plan *plan, const struct shape *shape, const struct sql_table *table)
{
	size_t key = PLAN_NO_KEY;

	plan->key = PLAN_NO_KEY;
	if (!shape->group || !table->host || !sql_host_all_timed(table->host, shape->group))
		return;
	for (size_t i = 0; i < plan->count; i++) {
		const struct term *term = &plan->terms[i];
		const struct column *column = &shape->columns[term->column];
		if (term->limit || term->offset || term->on == COLUMN_TS)
			continue;
		if (term->constant)
			continue;
		if (key != PLAN_NO_KEY || term->on != COLUMN_FIELD || !column->whole_number ||
		    term->op != EQ || term->in)
			return;
		key = i;
	}
	for (size_t i = 0; i < plan->count && key != PLAN_NO_KEY; i++)
		if (i != key && plan->terms[i].on == COLUMN_FIELD &&
		    plan->terms[i].column == plan->terms[key].column)
			return;
	plan->key = key;
	plan->indexed = key != PLAN_NO_KEY && is_indexed(plan, shape);
}

/* The number of the plan in `plans`: adds it, or frees it if an equal one is there. */
static int number_of(struct plans *plans, struct plan *plan)
{
	for (size_t i = 0; i < plans->count; i++) {
		const struct plan *old = plans->items[i];
		if (old->count == plan->count && old->ordered == plan->ordered &&
		    old->backward == plan->backward && old->fields == plan->fields &&
		    old->columns == plan->columns && old->key == plan->key &&
		    !strcmp(old->words, plan->words) &&
		    (!plan->count ||
		     !memcmp(old->terms, plan->terms, plan->count * sizeof *plan->terms))) {
			plan_free(plan);
			return (int)i;
		}
	}
	*mem_push(plans->items, plans->count, plans->capacity) = plan;
	return (int)plans->count - 1;
}

/* Takes all constraints that a scan can. False: SQLite must test some, so LIMIT is not taken. */
static bool take_all(struct plan *plan, const struct plans *plans, const struct shape *shape,
		     const struct sql_table *table, sqlite3_index_info *info, struct buf *words)
{
	bool whole = true;

	for (int i = 0; i < info->nConstraint; i++) {
		unsigned char op = info->aConstraint[i].op;
		int at = info->aConstraint[i].iColumn;
		bool exact = false;
		if (op == SQLITE_INDEX_CONSTRAINT_LIMIT || op == SQLITE_INDEX_CONSTRAINT_OFFSET)
			continue;
		bool taken = at >= 0 && (size_t)at < shape->ncolumns &&
			     info->aConstraint[i].usable &&
			     (!table->host || table->host->pushdown ||
			      shape->columns[at].kind == COLUMN_TRACE ||
			      shape->columns[at].kind == COLUMN_WHERE) &&
			     !(plans->of_groups && shape->columns[at].kind == COLUMN_WHERE) &&
			     can_take(info, i, &shape->columns[at], &exact);
		if (taken)
			take_term(plan, info, i, &shape->columns[at], exact, words);
		whole &= taken && exact;
	}
	return whole;
}

static bool needs_path(const struct plan *plan, const struct sql_table *table)
{
	for (size_t i = 0; i < plan->count; i++)
		if (plan->terms[i].on == COLUMN_TRACE)
			return false;
	return !table->host;
}

static int path_column(const struct shape *shape)
{
	int i = 0;

	while (shape->columns[i].kind != COLUMN_TRACE)
		i++;
	return i;
}

int scan_plan_make(struct plans *plans, const struct shape *shape, struct sql_table *table,
		   sqlite3_index_info *info)
{
	bool pushdown = !table->host || table->host->pushdown;
	struct plan *plan = mem_new(sizeof *plan);
	struct buf words = {0};
	bool whole = take_all(plan, plans, shape, table, info, &words);

	if (needs_path(plan, table)) {
		plan_free(plan);
		buf_release(&words);
		return sql_table_untold(table, info, path_column(shape), SQL_NEEDS_PATH);
	}
	plan->ordered = !pushdown || info->colUsed & 1;
	if (table->host)
		table->host->planned = true;
	if (pushdown && takes_order(plan, shape, table, info)) {
		info->orderByConsumed = plan->ordered = true;
		plan->backward = info->aOrderBy[0].desc;
		buf_printf(&words, "%sORDER BY ts%s", words.len ? " " : "",
			   plan->backward ? " DESC" : "");
	}
	if (pushdown && whole && (info->orderByConsumed || !info->nOrderBy))
		take_limit(plan, info, &words);
	note_columns(plan, shape, info);
	plan->fields |= !pushdown;
	plan->columns = info->colUsed;
	note_key(plan, shape, table);
	if (!words.len)
		buf_add_text(&words, "all events");
	buf_add_text(&words, plan->fields ? "; fields" : "; heads only");
	plan->words = mem_strdup(buf_text(&words));
	buf_release(&words);
	estimate(plan, shape, table, info);
	sql_set_plan(info, plan->words);
	info->idxNum = number_of(plans, plan);
	return SQLITE_OK;
}

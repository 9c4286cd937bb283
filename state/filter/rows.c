/* rows.c - see rows.h */
#include "state/filter/rows.h"

#include "engine/base/bitset.h"
#include "engine/base/mem.h"
#include "engine/base/nearest.h"
#include "state/filter/internal.h"
#include "state/program/internal.h"
#include "state/rules/lex.h"

#include <string.h>

struct rows_where {
	struct rules *rules; /* owns the tree and copies */
	const struct rule_file *file;
	const char **columns;
	size_t ncolumns, columns_capacity;
	bool any;          /* every name is a column */
	struct trace none; /* an empty trace for program_new() */
	struct program *program;
	struct rows_term {
		const struct ast *ast;
		const struct expr *expr;
		uint64_t *reads; /* bit per column */
	} * terms;
	size_t nterms, capacity;
	struct arena *scratch;
};

static bool is_column(const struct ast_path *path)
{
	return ast_root(path) == ROOT_STATE && path->natoms == 1 && !path->below &&
	       path->atoms[0].kind == ATOM_NAME;
}

static void no_column(const struct rows_where *where, const struct ast_path *path)
{
	struct nearest nearest;
	struct buf text = {0}, all = {0};
	char hint[NEAREST_WORDS_MAX];

	ast_path_add_text(path, "[...]", &text);
	if (where->any) {
		rules_error(where->rules, where->file, path->at,
			    "'%.60s' is no name of a column, and a row has columns alone",
			    buf_text(&text));
		buf_release(&text);
		return;
	}
	nearest_begin(&nearest, buf_text(&text));
	for (size_t i = 0; i < where->ncolumns; i++) {
		nearest_offer(&nearest, where->columns[i]);
		buf_printf(&all, "%s%s", i ? ", " : "", where->columns[i]);
	}
	rules_error(where->rules, where->file, path->at,
		    "there is no column '%.60s': %sthere are %s; a text stands in double quotes",
		    buf_text(&text), nearest_hint(&nearest, hint, sizeof hint), buf_text(&all));
	buf_release(&text);
	buf_release(&all);
}

/* Is it a call that needs fields, event classes or the state? */
static bool is_of_events(const struct ast *ast)
{
	enum function function = ast->kind == AST_CALL ? ast_function(ast->name) : FUNCTION_NONE;

	return function == FUNCTION_TOP || function == FUNCTION_LABEL ||
	       function == FUNCTION_EACH_HAS;
}

/* For note_column(), which notes the columns of a term and returns true for anything else. */
struct noting {
	struct rows_where *where;
	uint64_t *reads;
};

static bool note_column(const struct ast *ast, void *arg)
{
	const struct noting *noting = arg;
	size_t column;

	if (is_of_events(ast)) {
		rules_error(noting->where->rules, noting->where->file, ast->at,
			    "%s() is of events, and rows have columns alone", ast->name);
		return true;
	}
	if (ast->kind != AST_PATH)
		return false;
	column = is_column(ast->path)
			 ? column_number(noting->where->columns, noting->where->ncolumns,
					 ast->path->atoms[0].name)
			 : noting->where->ncolumns;
	if (column < noting->where->ncolumns)
		bitset_add(noting->reads, column);
	else
		no_column(noting->where, ast->path);
	return column == noting->where->ncolumns;
}

/* When every name is a column: adds the name if it is new. */
static bool rows_add_column(const struct ast *ast, void *arg)
{
	struct rows_where *where = arg;

	if (ast->kind == AST_PATH && is_column(ast->path)) {
		const char *name = ast->path->atoms[0].name;
		if (column_number(where->columns, where->ncolumns, name) == where->ncolumns)
			*arena_push(where->rules->arena, where->columns, where->ncolumns,
				    where->columns_capacity) = name;
	}
	return false;
}

/* Reports operands of && || ! that are numbers or plain columns, which are never true. */
static void check_truth(struct rows_where *where, const struct ast *ast)
{
	if (where_is_number(ast))
		rules_error(where->rules, where->file, ast->at, "%s", where_never_true);
	else if (ast->kind == AST_PATH && is_column(ast->path))
		rules_error(where->rules, where->file, ast->at,
			    "a column alone is never true: compare it, as in '%.60s != 0'",
			    ast->path->atoms[0].name);
	for (uint32_t i = 0; where_joins(ast) && i < ast->nargs; i++)
		check_truth(where, ast->args[i]);
}

static void add_terms(struct rows_where *where, const struct ast *ast)
{
	struct noting noting = {.where = where};

	if (ast->kind == AST_BINARY && ast->op == OP_AND) {
		add_terms(where, ast->args[0]);
		add_terms(where, ast->args[1]);
		return;
	}
	noting.reads = bitset_new(where->ncolumns);
	*mem_push(where->terms, where->nterms, where->capacity) =
		(struct rows_term){.ast = ast, .reads = noting.reads};
	ast_find(ast, note_column, &noting);
}

static bool parse(struct rows_where *where, const char *text, struct error *err)
{
	const struct rule_file given = {.name = "--where", .text = text, .len = strlen(text)};
	const struct rule_error *errors;
	const struct ast *ast;
	size_t n;

	where->file = rule_file_new(where->rules, &given);
	ast = parse_expr_text(where->rules, where->file);
	ast_check(where->rules, where->file, NULL, ast, false);
	if (ast) {
		ast_check_calls(where->rules, NULL, where->file, ast);
		check_truth(where, ast);
		if (where->any)
			ast_find(ast, rows_add_column, where);
		add_terms(where, ast);
	}
	errors = rules_errors(where->rules, &n);
	return !n || where_complain(&errors[0], err) || error_while(err, "condition");
}

static void compile(struct rows_where *where)
{
	struct compile compile = {
		.on = ON_ROW, .columns = where->columns, .ncolumns = where->ncolumns};

	compile.program = where->program = program_new(where->rules, &where->none);
	for (size_t i = 0; i < where->nterms; i++)
		where->terms[i].expr = compile_expr(&compile, where->terms[i].ast);
	where->scratch = arena_new();
}

bool rows_where_parse(const char *text, const char *const *columns, size_t count,
		      struct rows_where **out, struct error *err)
{
	struct rows_where *where = mem_new(sizeof *where);

	where->rules = rules_new();
	where->columns = arena_array(where->rules->arena, count, sizeof *where->columns);
	where->ncolumns = where->columns_capacity = count;
	where->any = !columns;
	for (size_t i = 0; i < count; i++)
		where->columns[i] =
			arena_strndup(where->rules->arena, columns[i], strlen(columns[i]));
	if (!parse(where, text, err)) {
		rows_where_free(where);
		return false;
	}
	compile(where);
	*out = where;
	return true;
}

void rows_where_free(struct rows_where *where)
{
	if (!where)
		return;
	for (size_t i = 0; i < where->nterms; i++)
		mem_free(where->terms[i].reads);
	mem_free(where->terms);
	program_free(where->program);
	rules_free(where->rules);
	arena_free(where->scratch);
	mem_free(where);
}

const char *rows_where_column(const struct rows_where *where, size_t i)
{
	return i < where->ncolumns ? where->columns[i] : NULL;
}

size_t rows_where_terms(const struct rows_where *where)
{
	return where->nterms;
}

bool rows_where_reads(const struct rows_where *where, size_t term, size_t column)
{
	return bitset_has(where->terms[term].reads, column);
}

bool rows_where_holds(struct rows_where *where, size_t term, const struct value *values)
{
	struct env env = {.program = where->program, .row = values, .scratch = where->scratch};

	arena_reset(where->scratch);
	return expr_logic(where->terms[term].expr, &env) == LOGIC_YES;
}

/* ---- a row of which not all is known ---- */

/* Outcomes that an expression may still have: a bit per kind of `enum logic`. */
enum { MAYBE_NO = 1 << LOGIC_NO, MAYBE_YES = 1 << LOGIC_YES };

struct growing {
	struct env env;
	size_t least; /* the column whose number may grow */
};

static bool reads_column(const struct expr *expr, size_t column)
{
	bool reads = expr->kind == EXPR_COLUMN && expr->index == column;

	for (uint32_t i = 0; i < expr->nargs && !reads; i++)
		reads = reads_column(expr->args[i], column);
	return reads;
}

/* The possible outcomes of an expression that does not read the growing column. */
static unsigned outcome_of(const struct expr *expr, struct env *env)
{
	enum logic outcome = expr_logic(expr, env);

	return outcome == LOGIC_OPEN ? POSSIBLE_ALL : 1u << outcome;
}

/* Possible outcomes of comparing the growing column (on the left if `left`) with `other`. */
static unsigned compared(const struct expr *expr, const struct expr *other, bool left,
			 struct growing *growing)
{
	unsigned now = outcome_of(expr, &growing->env);
	bool rises = (expr->op == OP_GT || expr->op == OP_GE) == left;
	const struct value *least = &growing->env.row[growing->least];
	struct value value, above = {.kind = VALUE_UNKNOWN};

	if (now != MAYBE_NO && now != MAYBE_YES)
		return now;
	if (expr->kind == EXPR_ORDER)
		return now == (rises ? MAYBE_YES : MAYBE_NO) ? now : MAYBE_NO | MAYBE_YES;
	if (expr_eval(other, &growing->env, &value) != EVAL_VALUE || !value_is_number(&value))
		return now; /* never equal to a number */
	bool past = op_order(OP_GT, least, &value, &above, &growing->env) == EVAL_VALUE &&
		    logic_of_value(&above) == LOGIC_YES;
	return past ? now : MAYBE_NO | MAYBE_YES;
}

static bool is_growing(const struct expr *expr, const struct growing *growing)
{
	return expr->kind == EXPR_COLUMN && expr->index == growing->least;
}

/* The possible outcomes of an expression without && || or ! at its root. */
static unsigned possible_alone(const struct expr *expr, struct growing *growing)
{
	bool compares = expr->kind == EXPR_ORDER || expr->kind == EXPR_EQUAL;

	if (!reads_column(expr, growing->least))
		return outcome_of(expr, &growing->env);
	for (uint32_t i = 0; compares && i < 2; i++)
		if (is_growing(expr->args[i], growing) &&
		    !reads_column(expr->args[1 - i], growing->least))
			return compared(expr, expr->args[1 - i], i == 0, growing);
	return POSSIBLE_ALL;
}

static unsigned possible(const struct expr *expr, struct growing *growing)
{
	unsigned left;

	if (expr->kind != EXPR_NOT && expr->kind != EXPR_AND && expr->kind != EXPR_OR)
		return possible_alone(expr, growing);
	left = possible(expr->args[0], growing);
	if (expr->kind == EXPR_NOT)
		return possible_not(left);
	return possible_pairs(expr->kind == EXPR_AND ? logic_and : logic_or, left,
			      possible(expr->args[1], growing));
}

bool rows_where_surely(struct rows_where *where, const struct value *values, size_t least)
{
	struct growing growing = {
		{.program = where->program, .row = values, .scratch = where->scratch}, least};
	bool sure = true;

	arena_reset(where->scratch);
	for (size_t i = 0; i < where->nterms && sure; i++)
		sure = possible(where->terms[i].expr, &growing) == MAYBE_YES;
	return sure;
}

/*
 * compile.c - compiles to expressions of state/program, which have truth values where C has 1 and 0
 *
 *     a < b && !c     truth_number(truth(truth_number(a < b)) && truth(truth_number(!truth(c))))
 *                     of which truth(truth_number(x)) is x, where x is true or false
 *
 * Nodes that only one-liners have (fields, maps, variables, builtins) become EXPR_HOST; eval.c
 * evaluates them.
 */
#include "oneliner/tree.h"
#include "state/program/internal.h"

#include <string.h>

static bool is_truth(const struct expr *expr)
{
	return expr->kind == EXPR_NOT || expr->kind == EXPR_AND || expr->kind == EXPR_OR ||
	       expr->kind == EXPR_EQUAL || expr->kind == EXPR_ORDER || expr->kind == EXPR_IN ||
	       expr->kind == EXPR_MATCH;
}

/* Converts a truth value to 1 or 0. */
static const struct expr *truth_number(struct compile *compile, const struct expr *truth)
{
	struct expr *expr = expr_of(compile, EXPR_CONVERT, truth, NULL);

	expr->function = FUNCTION_INT;
	return compile_fold(compile, expr);
}

static const struct expr *truth(struct compile *compile, const struct ast *ast)
{
	const struct expr *expr = compile_expr(compile, ast);

	if (expr->kind == EXPR_CONVERT && is_truth(expr->args[0]))
		return expr->args[0];
	return compile_fold(compile, expr_of(compile, EXPR_TRUTH, expr, NULL));
}

static const struct expr *logic(struct compile *compile, enum expr_kind kind, const struct ast *a,
				const struct ast *b)
{
	const struct expr *right = b ? truth(compile, b) : NULL;

	return truth_number(
		compile, compile_fold(compile, expr_of(compile, kind, truth(compile, a), right)));
}

/* A copy of an expression that may fail, with the node that its error shows. */
static const struct expr *with_place(struct compile *compile, const struct expr *expr,
				     const struct ast *ast)
{
	struct expr *own = arena_copy(compile->program->arena, expr, 1, sizeof *expr);

	own->of = ast;
	return own;
}

static const struct expr *compile_binary(struct compile *compile, const struct ast *ast)
{
	struct expr *expr;

	switch (ast->op) {
	case OP_AND:
		return logic(compile, EXPR_AND, ast->args[0], ast->args[1]);
	case OP_OR:
		return logic(compile, EXPR_OR, ast->args[0], ast->args[1]);
	case OP_NOT:
		return logic(compile, EXPR_NOT, ast->args[0], NULL);
	case OP_GLOB:
	case OP_REGEX:
		return truth_number(compile, with_place(compile, compile_plain(compile, ast), ast));
	default:
		break;
	}
	expr = expr_over(compile,
			 !op_compares(ast->op) ? EXPR_ARITH
			 : ast->op <= OP_NE    ? EXPR_EQUAL
					       : EXPR_ORDER,
			 ast);
	expr->op = ast->op;
	expr->of = ast;
	expr->wraps = true;
	return expr->kind == EXPR_ARITH ? compile_fold(compile, expr)
					: truth_number(compile, compile_fold(compile, expr));
}

/* Compiles `in`. A list with values that are no constants becomes a chain of == and ||. */
static const struct expr *compile_list(struct compile *compile, const struct ast *ast)
{
	const struct expr *value, *all = NULL;
	bool constants = true;

	for (uint32_t i = 1; i < ast->nargs; i++)
		constants &= ast->args[i]->kind == AST_CONST;
	if (constants)
		return truth_number(compile, compile_plain(compile, ast));
	value = compile_expr(compile, ast->args[0]);
	for (uint32_t i = 1; i < ast->nargs; i++) {
		struct expr *one =
			expr_of(compile, EXPR_EQUAL, value, compile_expr(compile, ast->args[i]));
		one->op = OP_EQ;
		all = all ? expr_of(compile, EXPR_OR, all, one) : one;
	}
	return truth_number(compile, all);
}

static const struct expr *compile_choice(struct compile *compile, const struct ast *ast)
{
	const struct expr *args[] = {truth(compile, ast->args[0]),
				     compile_expr(compile, ast->args[1]),
				     compile_expr(compile, ast->args[2])};
	struct expr *expr = expr_of(compile, EXPR_CHOOSE, args[0], NULL);

	expr->nargs = 3;
	expr->args = arena_copy(compile->program->arena, args, 3, sizeof *args);
	return compile_fold(compile, expr);
}

static const struct expr *compile_host(struct compile *compile, const struct ast *ast)
{
	struct expr *expr = expr_over(compile, EXPR_HOST, ast);

	expr->of = ast;
	expr->n = ast->kind;
	expr->index = ast->index;
	return expr;
}

static const struct expr *compile_function(struct compile *compile, const struct ast *ast)
{
	switch (ast->function) {
	case FUNCTION_CHOOSE:
		return compile_choice(compile, ast);
	case FUNCTION_MIN:
	case FUNCTION_MAX:
		return ast->nargs > 1 ? compile_plain(compile, ast) : compile_host(compile, ast);
	case FUNCTION_INT:
	case FUNCTION_HEX:
	case FUNCTION_SUBSTR:
	case FUNCTION_SPLIT:
	case FUNCTION_CAPTURES:
		return with_place(compile, compile_plain(compile, ast), ast);
	default:
		return compile_host(compile, ast);
	}
}

static const struct expr *own(struct compile *compile, const struct ast *ast)
{
	switch (ast->kind) {
	case AST_CONST:
		return NULL;
	case AST_UNARY:
	case AST_BINARY:
		return compile_binary(compile, ast);
	case AST_IN:
		return compile_list(compile, ast);
	case AST_CHOICE:
		return compile_choice(compile, ast);
	case AST_CALL:
		return compile_function(compile, ast);
	default:
		return compile_host(compile, ast);
	}
}

static void compile_root(struct compile *compile, struct ast *ast)
{
	if (ast)
		ast->expr = compile_expr(compile, ast);
}

static void compile_condition(struct compile *compile, struct ast *ast)
{
	if (ast)
		ast->expr = truth(compile, ast);
}

static void compile_actions(struct compile *compile, const struct action *action)
{
	for (; action; action = action->next) {
		compile_root(compile, action->target);
		if (action->kind == ACTION_IF)
			compile_condition(compile, action->value);
		else
			compile_root(compile, action->value);
		compile_actions(compile, action->block);
		compile_actions(compile, action->otherwise);
	}
}

void oneliner_compile(struct oneliner *program)
{
	struct compile compile = {.on = ON_PROGRAM, .own = own};

	program->rules = rules_new();
	program->exprs =
		program_new(program->rules, arena_alloc(program->arena, sizeof(struct trace)));
	compile.program = program->exprs;
	for (size_t i = 0; i < program->nprobes; i++) {
		compile_condition(&compile, program->probes[i].predicate);
		compile_actions(&compile, program->probes[i].block);
	}
}

void oneliner_compile_release(struct oneliner *program)
{
	if (program->exprs)
		program_free(program->exprs);
	if (program->rules)
		rules_free(program->rules);
}

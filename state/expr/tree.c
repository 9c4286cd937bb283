/* tree.c - see tree.h */
#include "state/expr/tree.h"

struct ast *ast_new(struct arena *arena, enum ast_kind kind, uint32_t at)
{
	struct ast *ast = arena_alloc(arena, sizeof *ast);

	ast->kind = kind;
	ast->at = at;
	return ast;
}

struct ast *ast_of(struct arena *arena, enum op op, uint32_t at, struct ast *a, struct ast *b)
{
	struct ast *ast = ast_new(arena, b ? AST_BINARY : AST_UNARY, at);
	struct ast *args[] = {a, b};

	ast->op = op;
	ast->nargs = b ? 2 : 1;
	ast->args = arena_copy(arena, args, ast->nargs, sizeof *args);
	return ast;
}

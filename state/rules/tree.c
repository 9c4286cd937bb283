/* tree.c - names in expression trees, and searching trees */
#include "state/rules/ast.h"

#include "state/model/attr.h"

#include <string.h>

struct ast *ast_name(struct rules *rules, const char *root, const char *name, uint32_t at)
{
	struct ast *ast = ast_new(rules->arena, AST_PATH, at);
	struct ast_path *path = arena_alloc(rules->arena, sizeof *path);

	*path = (struct ast_path){.at = at, .natoms = 2, .ref = rules->nrefs++};
	path->atoms = arena_array(rules->arena, 2, sizeof *path->atoms);
	path->atoms[0] = (struct ast_atom){.kind = ATOM_NAME, .at = at, .name = root};
	path->atoms[1] = (struct ast_atom){.kind = ATOM_NAME, .at = at, .name = name};
	ast->path = path;
	return ast;
}

const struct ast *ast_path_find(const struct ast_path *path, ast_test *is, void *arg)
{
	const struct ast *found = NULL;

	for (uint32_t i = 0; i < path->natoms && !found; i++)
		found = ast_find(path->atoms[i].key, is, arg);
	return found;
}

const struct ast *ast_find(const struct ast *ast, ast_test *is, void *arg)
{
	const struct ast *found = NULL;

	if (!ast || is(ast, arg))
		return ast;
	if (ast->kind == AST_PATH)
		found = ast_path_find(ast->path, is, arg);
	for (uint32_t i = 0; i < ast->nargs && !found; i++)
		found = ast_find(ast->args[i], is, arg);
	return found;
}

void ast_path_add_text(const struct ast_path *path, const char *key, struct buf *out)
{
	for (uint32_t i = 0; i < path->natoms; i++) {
		const struct ast_atom *atom = &path->atoms[i];
		if (atom->kind == ATOM_NAME) {
			const struct value name = value_text(atom->name, strlen(atom->name));
			path_add_step(!i, false, &name, out);
		} else {
			buf_add_text(out, key);
		}
	}
}

/* NAME, if the argument of has() is root/NAME; else NULL. */
static const char *name_below(const struct ast *arg, enum root root)
{
	const struct ast_path *path = arg->path;

	if (arg->kind != AST_PATH || ast_root(path) != root || path->natoms != 2 || path->below)
		return NULL;
	return path->atoms[1].kind == ATOM_NAME ? path->atoms[1].name : NULL;
}

enum has_kind ast_has_kind(const struct ast *arg)
{
	const char *event = name_below(arg, ROOT_EVENT);
	const char *recording = name_below(arg, ROOT_RECORDING);

	if (event && strcmp(event, "name") != 0 && strcmp(event, "id") != 0 &&
	    strcmp(event, "time") != 0)
		return HAS_CLASS;
	if (recording && !strcmp(recording, "tasks"))
		return HAS_TASKS;
	if (recording && !strcmp(recording, "loss"))
		return HAS_LOSS;
	return recording && !strcmp(recording, "gap") ? HAS_GAP : HAS_VALUE;
}

/* where.c - --where: one expression, compiled per class like the lines of a rule file */
#include "state/where.h"

#include "engine/base/mem.h"
#include "state/program_internal.h"
#include "state/rule_lex.h"

#include <string.h>

struct where {
	struct rules *rules; /* holds the tree */
	const struct ast *ast;
	struct rules *empty; /* what an own program is made of */
	struct program *own; /* when no program was given */
	struct program *program;
	const struct expr **classes; /* NULL: always true */
	uint8_t *passes;             /* by class: may an event pass? */
};

bool where_parse(const char *text, struct where **out, struct error *err)
{
	struct where *where = mem_new(sizeof *where);
	struct rule_file file = {.name = "--where", .text = text, .len = strlen(text)};
	struct rule_file *kept;
	size_t n;

	where->rules = rules_new();
	kept = arena_alloc(where->rules->arena, sizeof *kept);
	*kept = file;
	kept->text = arena_strdup(where->rules->arena, text);
	where->ast = parse_expr_text(where->rules, kept);
	if (where->ast)
		ast_check(where->rules, kept, NULL, where->ast, false);
	const struct rule_error *errors = rules_errors(where->rules, &n);
	if (n) {
		error_set(err, ERR_QUERY, "condition '%.200s': column %u: %s", text,
			  errors[0].column, errors[0].text);
		where_free(where);
		return false;
	}
	*out = where;
	return true;
}

static void forget(struct where *where)
{
	program_free(where->own);
	mem_free(where->classes);
	mem_free(where->passes);
	where->own = NULL;
	where->classes = NULL;
	where->passes = NULL;
}

void where_free(struct where *where)
{
	if (!where)
		return;
	forget(where);
	rules_free(where->empty);
	rules_free(where->rules);
	mem_free(where);
}

static bool reads_state(const struct ast *ast);

static bool path_reads_state(const struct ast_path *path)
{
	if (ast_root(path) == ROOT_STATE && path->natoms > 1)
		return true;
	for (uint32_t i = 0; i < path->natoms; i++)
		if (path->atoms[i].key && reads_state(path->atoms[i].key))
			return true;
	return false;
}

static bool reads_state(const struct ast *ast)
{
	if (ast->kind == AST_PATH)
		return path_reads_state(ast->path);
	if (ast->kind == AST_CALL && ast_function(ast->name) == FUNCTION_TOP)
		return true;
	for (uint32_t i = 0; i < ast->nargs; i++)
		if (reads_state(ast->args[i]))
			return true;
	return false;
}

bool where_reads_state(const struct where *where)
{
	return reads_state(where->ast);
}

static const char *unknown_map(const struct ast *ast, const struct rules *rules)
{
	if (ast->kind == AST_CALL && ast_function(ast->name) == FUNCTION_NONE) {
		size_t i = 0;
		while (rules && i < rules->nmaps && strcmp(rules->maps[i]->name, ast->name) != 0)
			i++;
		if (!rules || i == rules->nmaps)
			return ast->name;
	}
	for (uint32_t i = 0; i < ast->nargs; i++) {
		const char *name = unknown_map(ast->args[i], rules);
		if (name)
			return name;
	}
	return NULL;
}

static void compile_classes(struct where *where, const struct rules *rules,
			    const struct trace *trace, uint8_t *refs)
{
	where->classes = mem_new_array(trace->nclasses, sizeof(struct expr *));
	where->passes = mem_new_array(trace->nclasses, 1);
	for (size_t i = 0; i < trace->nclasses; i++) {
		const struct event_class *class = trace->classes[i];
		struct compile compile = {
			.program = where->program,
			.names = rules,
			.on = ON_WHERE,
			.class = class,
			.part = class->part < trace->nparts ? trace->parts[class->part] : NULL,
			.refs = refs};
		const struct expr *expr = compile_expr(&compile, where->ast);
		where->classes[i] = expr;
		where->passes[i] = expr->kind != EXPR_FAIL &&
				   !(expr->kind == EXPR_CONST &&
				     (expr->value.kind != VALUE_BOOL || !expr->value.b));
	}
}

static void warn_paths(const struct ast *ast, const uint8_t *refs, const struct notices *notices)
{
	if (ast->kind == AST_PATH && refs[ast->path->ref] == REF_MISSING)
		notice(notices, NOTICE_WARNING, "--where: no event has the field %s",
		       ast->path->atoms[ast->path->natoms - 1].name
			       ? ast->path->atoms[ast->path->natoms - 1].name
			       : ast->path->atoms[0].name);
	for (uint32_t i = 0; i < ast->nargs; i++)
		warn_paths(ast->args[i], refs, notices);
}

bool where_compile(struct where *where, struct rules *rules, const struct trace *trace,
		   struct program *program, const struct notices *notices, struct error *err)
{
	const char *name = unknown_map(where->ast, rules);
	uint8_t *refs;

	if (name)
		return error_set(err, ERR_QUERY, "condition: no map or function is named '%s'",
				 name);
	if (!program && where_reads_state(where))
		return error_set(err, ERR_QUERY,
				 "condition: it reads the state, which is not evaluated here");
	forget(where);
	if (!where->empty)
		where->empty = rules_new();
	if (!program)
		where->own = program_new(where->empty, trace);
	where->program = program ? program : where->own;
	refs = mem_new_array(where->rules->nrefs, 1);
	compile_classes(where, rules, trace, refs);
	if (notices)
		warn_paths(where->ast, refs, notices);
	mem_free(refs);
	return true;
}

bool where_class(const struct where *where, const struct event_class *class)
{
	return where->passes[class->index];
}

bool where_test(const struct where *where, struct env *env)
{
	enum failure failure;
	const struct event_class *class = env->event->class;

	if (!class || !where->passes[class->index])
		return false;
	env->program = where->program;
	return expr_truth(where->classes[class->index], env, &failure) == TRUTH_YES;
}

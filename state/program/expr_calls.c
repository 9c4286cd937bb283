/*
 * expr_calls.c - calls of functions and maps, compiled for one event class
 *
 * Calls that depend only on classes and hosts, such as has() of a class, become constants.
 */
#include "state/program/internal.h"

#include "engine/reader.h"
#include "state/program/lookup.h"

#include <string.h>

static const struct map_def *find_map(struct compile *compile, const char *name)
{
	const struct rules *names = compile->names;
	const char *format = compile->part ? compile->part->reader->format : "";
	const struct map_def *plain = NULL;

	for (const struct map_def *map = names ? rules_map(names, name) : NULL; map;
	     map = map->before) {
		if (map->format && !strcmp(map->format, format))
			return map;
		if (!map->format && !plain)
			plain = map;
	}
	return plain;
}

static bool is_of_host(const struct compile *compile, const struct event_class *class)
{
	const struct trace *trace = compile->program->trace;

	return !compile->part || !compile->program->hosts ||
	       strcmp(trace->parts[class->part]->host, compile->part->host) == 0;
}

static bool is_same_host(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/*
 * Calls find() for a call that examines all classes, and remembers the result per host: many
 * classes and lines share such a call.
 */
static const struct expr *found_once(struct compile *compile, const struct ast *ast,
				     const struct expr *(*find)(struct compile *compile,
								const struct ast *ast))
{
	struct program *program = compile->program;
	const char *host = program->hosts && compile->part ? part_host(compile->part) : NULL;
	const uint64_t hash = hash_number((uintptr_t)ast);
	const struct expr *value;
	uint32_t at;

	if (compile->on == ON_WHERE) /* its tree may be freed before the program */
		return find(compile, ast);
	at = hash_index_find(&program->known_of, hash, i,
			     program->known[i].ast == ast &&
				     is_same_host(program->known[i].host, host));
	if (at != HASH_INDEX_NONE)
		return program->known[at].value;
	value = find(compile, ast);
	hash_index_add(&program->known_of, hash, (uint32_t)program->nknown);
	*arena_push(program->arena, program->known, program->nknown, program->known_capacity) =
		(struct known){ast, host, value};
	return value;
}

/* Has this host an event class of that name, or with that name behind its last colon? */
static bool has_class(const struct compile *compile, const char *name)
{
	const struct trace *trace = compile->program->trace;

	for (size_t i = 0; i < trace->nclasses; i++) {
		const struct event_class *class = trace->classes[i];
		if (is_called(class->name, name) && is_of_host(compile, class))
			return true;
	}
	return false;
}

static const struct expr *compile_has_class(struct compile *compile, const struct ast *ast)
{
	return expr_constant(compile,
			     value_bool(has_class(compile, ast->args[0]->path->atoms[1].name)));
}

/* Did the event's part (without a part: any part) record the events of some threads only? */
static bool is_of_tasks(const struct compile *compile)
{
	const struct trace *trace = compile->program->trace;

	if (compile->part)
		return compile->part->recording == RECORDING_TASKS;
	for (size_t i = 0; i < trace->nparts; i++)
		if (trace->parts[i]->recording == RECORDING_TASKS)
			return true;
	return false;
}

/* Only events can lie in a gap; in views it is false. */
static const struct expr *gap_expr(struct compile *compile, enum gap_bit bit)
{
	struct expr *expr;

	if (compile->on != ON_EVENT)
		return expr_constant(compile, value_bool(false));
	expr = expr_new(compile, EXPR_GAP);
	expr->index = bit;
	return expr;
}

static const struct expr *compile_has(struct compile *compile, const struct ast *ast)
{
	bool quiet = compile->quiet;
	const struct expr *of;

	switch (ast_has_kind(ast->args[0])) {
	case HAS_CLASS:
		return found_once(compile, ast, compile_has_class);
	case HAS_TASKS:
		return expr_constant(compile, value_bool(is_of_tasks(compile)));
	case HAS_GAP:
		return gap_expr(compile, GAP_OPEN);
	case HAS_LOSS:
		return gap_expr(compile, GAP_LOSS);
	case HAS_VALUE:
		break;
	}
	compile->quiet = true;
	of = compile_expr(compile, ast->args[0]);
	compile->quiet = quiet;
	if (of->kind == EXPR_LABEL && of->args[0]->kind == EXPR_FIELD &&
	    !of->args[0]->field.class->nlabels) /* no enumeration */
		return expr_constant(compile, value_bool(false));
	if (of->kind == EXPR_FIELD)
		return expr_constant(compile, value_bool(true));
	return expr_of(compile, EXPR_HAS, of, NULL);
}

static bool has_one(const struct compile *compile, const struct event_class *class,
		    const struct ast *ast)
{
	struct compile own = *compile;
	bool has = false;

	own.class = class;
	own.refs = NULL;
	for (uint32_t i = 1; i < ast->nargs && !has; i++) {
		has = compile_has_field(&own, ast->args[i]->path);
	}
	return has;
}

/* each_has("GLOB", FIELD, ...): has each event class of that name one of the fields? */
static const struct expr *compile_each_has(struct compile *compile, const struct ast *ast)
{
	const struct trace *trace = compile->program->trace;
	const char *glob = ast->args[0]->value.text;
	bool all = true;

	for (size_t i = 0; i < trace->nclasses && all; i++) {
		const struct event_class *class = trace->classes[i];

		if (lookup_glob(glob, class->name, ':') && is_of_host(compile, class))
			all = has_one(compile, class, ast);
	}
	return expr_constant(compile, value_bool(all));
}

static const struct expr *compile_label(struct compile *compile, const struct ast *ast)
{
	const struct expr *field = compile_expr(compile, ast->args[0]);

	if (field->kind == EXPR_FAIL)
		return field;
	return expr_is_field(field) ? expr_of(compile, EXPR_LABEL, field, NULL)
				    : expr_failing(compile, FAILURE_TYPE);
}

static const struct expr *compile_captures(struct compile *compile, const struct ast *ast)
{
	struct expr *expr =
		expr_of(compile, EXPR_CAPTURES, compile_expr(compile, ast->args[0]), NULL);

	expr->regex = compile_pattern(compile, compile_expr(compile, ast->args[1]));
	expr->index = ast->nargs > 2 ? (uint32_t)ast->args[2]->value.u : 1;
	return expr->regex ? expr : expr_failing(compile, FAILURE_TYPE);
}

static const struct expr *compile_map(struct compile *compile, const struct ast *ast)
{
	struct expr *expr = expr_over(compile, EXPR_MAP, ast);

	expr->map = find_map(compile, ast->name);
	if (!expr->map)
		return expr_failing(compile, FAILURE_MAP);
	expr->total = map_is_total(expr->map, expr->args[0]->kind == EXPR_EQUAL ||
						      expr->args[0]->kind == EXPR_IN ||
						      expr->args[0]->kind == EXPR_HAS);
	return expr;
}

const struct expr *compile_call(struct compile *compile, const struct ast *ast)
{
	enum function function = ast_function(ast->name);
	enum expr_kind kind = EXPR_CONVERT;
	struct expr *expr;

	switch (function) {
	case FUNCTION_NONE:
		return compile_map(compile, ast);
	case FUNCTION_HAS:
		return compile_has(compile, ast);
	case FUNCTION_EACH_HAS:
		return found_once(compile, ast, compile_each_has);
	case FUNCTION_LABEL:
		return compile_label(compile, ast);
	case FUNCTION_CAPTURES:
		return compile_captures(compile, ast);
	case FUNCTION_MIN:
	case FUNCTION_MAX:
		kind = EXPR_LEAST;
		break;
	case FUNCTION_CHOOSE:
		return compile_choose(compile, ast);
	case FUNCTION_SUBSTR:
		kind = EXPR_SUBSTR;
		break;
	case FUNCTION_SPLIT:
		kind = EXPR_SPLIT;
		break;
	case FUNCTION_TOP:
		return expr_of(compile, EXPR_TOP, compile_read(compile, ast->args[0]->path), NULL);
	default:
		break;
	}
	expr = expr_over(compile, kind, ast);
	expr->function = function;
	return expr;
}

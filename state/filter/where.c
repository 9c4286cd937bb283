/* where.c - --where: conditions that must all hold, compiled per event class */
#include "state/filter/internal.h"

#include "engine/base/mem.h"
#include "state/program/internal.h"
#include "state/program/lookup.h"
#include "state/rules/lex.h"

#include <string.h>

/* Shows only the part of a long text around the place. */
bool where_complain(const struct rule_error *error, struct error *err)
{
	enum { BEFORE = 60, SHOWN = 76 };
	uint32_t column = error->column;
	uint32_t left = column > SHOWN - 15 ? column - 1 - BEFORE : 0;
	const char *from = skip_columns(error->source, left);
	size_t len = (size_t)(skip_columns(from, SHOWN) - from);
	struct buf shown = {0}, text = {0};

	buf_add_text(&shown, left ? "..." : "");
	buf_add(&shown, from, len);
	buf_add_text(&shown, from[len] ? "..." : "");
	buf_printf(&text, "column %u: %s\n", column, error->text);
	rule_place_add_text(buf_text(&shown), left ? column - left + 3 : column, &text);
	error_set(err, ERR_QUERY, "%s", buf_text(&text));
	buf_release(&shown);
	buf_release(&text);
	return false;
}

bool where_add(struct where *where, const char *text, struct error *err)
{
	const struct rule_file given = {.name = "--where", .text = text, .len = strlen(text)};
	const struct rule_file *file = rule_file_new(where->rules, &given);
	const struct ast *ast = parse_expr_text(where->rules, file);
	size_t n;

	ast_check(where->rules, file, NULL, ast, false);
	const struct rule_error *errors = rules_errors(where->rules, &n);
	if (n)
		return where_complain(&errors[0], err);
	*mem_push(where->conditions, where->count, where->capacity) =
		(struct where_expr){ast, file};
	return true;
}

bool where_parse_key(const char *text, struct key_column *out, size_t most, size_t *count,
		     struct error *err)
{
	const struct rule_file given = {.name = "--key", .text = text, .len = strlen(text)};
	struct rules *rules = rules_new();
	size_t n;

	*count = parse_key_text(rules, rule_file_new(rules, &given), out, most);
	const struct rule_error *errors = rules_errors(rules, &n);
	bool ok = !n || where_complain(&errors[0], err);
	rules_free(rules);
	return ok;
}

bool where_parse(const char *text, struct where **out, struct error *err)
{
	struct where *where = mem_new(sizeof *where);

	where->rules = rules_new();
	if (!where_add(where, text, err)) {
		where_free(where);
		return false;
	}
	*out = where;
	return true;
}

/* Frees what where_compile() made. */
static void where_forget(struct where *where)
{
	program_free(where->own);
	arena_free(where->arena);
	where->own = NULL;
	where->arena = NULL;
}

void where_free(struct where *where)
{
	if (!where)
		return;
	where_forget(where);
	rules_free(where->rules);
	mem_free(where->conditions);
	mem_free(where);
}

static bool reads_state(const struct ast *ast, void *arg)
{
	(void)arg;
	if (ast->kind == AST_PATH)
		return ast_root(ast->path) == ROOT_STATE && ast->path->natoms > 1;
	return ast->kind == AST_CALL && ast_function(ast->name) == FUNCTION_TOP;
}

bool where_reads_state(const struct where *where)
{
	for (size_t i = 0; i < where->count; i++)
		if (ast_find(where->conditions[i].ast, reads_state, NULL))
			return true;
	return false;
}

static bool is_of_cpu(const struct ast *ast)
{
	const struct ast_path *path = ast->path;

	if (ast->kind != AST_PATH)
		return ast->kind == AST_CONST;
	if (ast_root(path) != ROOT_STATE)
		return false;
	if (path->natoms == 1)
		return !path->atoms[0].key && !strcmp(path->atoms[0].name, "cpu");
	for (uint32_t i = 0; i < path->natoms; i++)
		if (path->atoms[i].key && !is_of_cpu(path->atoms[i].key))
			return false;
	return true;
}

bool where_is_of_cpu(const struct where *where)
{
	return where->count == 1 && is_of_cpu(where->conditions[0].ast);
}

static bool know_maps(const struct where *where, const struct rules *names, struct error *err)
{
	size_t before = where->rules->nerrors;

	for (size_t i = 0; i < where->count; i++)
		ast_check_calls(where->rules, names, where->conditions[i].file,
				where->conditions[i].ast);
	return where->rules->nerrors == before ||
	       where_complain(&where->rules->errors[before], err);
}

/* Compiles all conditions for a class, joined by &&. */
static const struct expr *compile_class(const struct where *where, const struct rules *rules,
					const struct event_class *class)
{
	const struct trace *trace = where->trace;
	struct compile compile = {.program = where->program,
				  .names = rules,
				  .on = ON_WHERE,
				  .class = class,
				  .part = class->part < trace->nparts ? trace->parts[class->part]
								      : NULL,
				  .refs = where->refs};
	const struct expr *all = NULL;

	for (size_t i = 0; i < where->count; i++) {
		const struct expr *expr = compile_expr(&compile, where->conditions[i].ast);
		all = all ? compile_and(&compile, all, expr) : expr;
	}
	return all;
}

static bool may_pass(const struct class_test *test, struct env *env)
{
	return node_possible(test->early, env) & node_possible(test->late, env) & 1u << LOGIC_YES;
}

static bool is_open(const struct node *node)
{
	return node->kind != NODE_FIXED;
}

static void compile_classes(struct where *where, const struct rules *rules)
{
	const struct trace *trace = where->trace;
	struct env env = {.program = where->program};

	where->tests = arena_array(where->arena, trace->nclasses, sizeof *where->tests);
	where->early = where->late = false;
	for (size_t i = 0; i < trace->nclasses; i++) {
		const struct event_class *class = trace->classes[i];
		struct class_test *test = &where->tests[i];

		*test = node_compile(where->arena, class, compile_class(where, rules, class));
		test->passes = may_pass(test, &env);
		where->early |= test->passes && is_open(test->early);
		where->late |= test->passes && is_open(test->late);
	}
}

struct lookup { /* state of a check of one condition's names */
	const struct where *where;
	const struct rule_file *file;
	struct error *err;
	bool told_alias;
};

/* Puts the place in the text before the message. Returns false. */
static bool complain_at(const struct lookup *in, uint32_t at)
{
	return error_while(in->err, "column %u", rule_file_place(in->file, at).column);
}

/* The first name behind a root such as field/ or context/. */
static const char *member_of(const struct ast_path *path)
{
	uint32_t i = ast_root(path) == ROOT_STATE ? 0 : 1;

	return i < path->natoms ? path->atoms[i].name : NULL;
}

static bool lookup_member(const struct lookup *in, const struct ast_path *path)
{
	const struct trace *trace = in->where->trace;
	const char *name = member_of(path);

	if (!name || lookup_field(trace, name, in->err))
		error_set(in->err, ERR_RANGE,
			  "no event of the trace has %s%s there: 'yore info %s' lists fields",
			  name ? "a field " : "it", name ? name : "", trace->path);
	return complain_at(in, path->at);
}

/* Refuses a thread's name as key: several threads may have that name. */
static bool lookup_name(const struct lookup *in, const struct ast_path *path)
{
	struct query *query;
	struct error ignored;
	struct buf text = {0};
	bool named = false;

	for (uint32_t i = 0; i < path->natoms; i++) {
		const struct ast *key = path->atoms[i].key;
		const struct value *name =
			path->atoms[i].kind == ATOM_EXPR && key->kind == AST_CONST ? &key->value
										   : NULL;
		if (path->atoms[i].kind == ATOM_NAME)
			buf_printf(&text, "%s%s", i ? "/" : "", path->atoms[i].name);
		else if (name && name->kind == VALUE_STRING)
			path_add_step(false, true, name, &text);
		else
			buf_add_text(&text, "[*]");
	}
	if (query_parse(buf_text(&text), &query, &ignored)) {
		named = lookup_thread_name(in->where->program, query) != 0;
		query_free(query);
	}
	buf_release(&text);
	if (!named)
		return true;
	error_set(
		in->err, ERR_QUERY,
		"a condition reads the state of one thread, by its number, and a name may be that "
		"of several: --tid NAME takes names; \"SELECT tid, comm FROM threads\" of 'yore "
		"sql' tells numbers");
	return complain_at(in, path->at);
}

/* Checks a path of the state by its names. */
static bool lookup_state(const struct lookup *in, const struct ast_path *path)
{
	const struct program *program = in->where->program;
	struct buf text = {0};
	struct query *query;
	bool ok = true;

	buf_add_text(&text, program->hosts ? "host[*]/" : "");
	ast_path_add_text(path, "[*]", &text);
	if (query_parse(buf_text(&text), &query, in->err)) {
		ok = lookup_path(program, NULL, query, NULL, in->err) || complain_at(in, path->at);
		query_free(query);
	}
	ok = ok && lookup_name(in, path);
	buf_release(&text);
	return ok;
}

enum { KIND_BOOL = 31, KIND_LABELS }; /* beside enum field_kind */

/* The kinds of the fields of that name in all event classes, as bits. */
static uint64_t field_kinds(const struct trace *trace, const char *name)
{
	uint64_t kinds = 0;

	for (size_t i = 0; i < trace->nclasses; i++)
		for (int scope = 0; scope < SCOPE_COUNT; scope++) {
			const struct field_class *class = trace->classes[i]->scope[scope];
			const struct member *member = class ? field_member(class, name) : NULL;

			if (!member)
				continue;
			kinds |= UINT64_C(1) << member->class->kind;
			if (member->class->kind == FIELD_INT && member->class->form == FORM_BOOL)
				kinds |= UINT64_C(1) << KIND_BOOL;
			if (member->class->nlabels)
				kinds |= UINT64_C(1) << KIND_LABELS;
		}
	return kinds;
}

/* Are the fields numbers, maybe with labels, in all classes? */
static bool is_number(uint64_t kinds)
{
	return kinds && !(kinds & ~(UINT64_C(1) << FIELD_INT | UINT64_C(1) << FIELD_FLOAT |
				    UINT64_C(1) << KIND_LABELS));
}

/* The name, if the operand is a field that the trace has; else NULL. */
static const char *compared_field(const struct where *where, const struct ast *ast)
{
	static const char *const heads[] = {"ts", "t", "name", "cpu", "stream"};
	const struct ast_path *path = ast->kind == AST_PATH ? ast->path : NULL;

	if (!path || path->below || where->refs[path->ref] == REF_MISSING ||
	    (ast_root(path) == ROOT_STATE ? path->natoms != 1
					  : ast_root(path) > ROOT_PACKET || path->natoms != 2))
		return NULL;
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
		if (ast_root(path) == ROOT_STATE && !strcmp(path->atoms[0].name, heads[i]))
			return NULL;
	return member_of(path);
}

/* Reports `FIELD == CONSTANT` that is never true, since a number never equals a text. */
static bool lookup_compared(const struct lookup *in, const struct ast *field,
			    const struct ast *constant)
{
	const char *name = constant->kind == AST_CONST ? compared_field(in->where, field) : NULL;
	uint64_t kinds = name ? field_kinds(in->where->trace, name) : 0;
	bool text = constant->value.kind == VALUE_STRING;
	bool number = value_is_number(&constant->value);

	if (text && is_number(kinds) && kinds >> KIND_LABELS)
		error_set(in->err, ERR_QUERY,
			  "%s is a number and never equal to a text: compare numbers, or "
			  "label(%s), the label of its value",
			  name, name);
	else if (text && is_number(kinds))
		error_set(in->err, ERR_QUERY,
			  "%s is a number and never equal to a text: compare it with a number",
			  name);
	else if (number && kinds == UINT64_C(1) << FIELD_STRING)
		error_set(in->err, ERR_QUERY,
			  "%s is a text and never equal to a number: put the value in quotes",
			  name);
	else
		return true;
	return complain_at(in, field->at);
}

/* Prints a note that `t` is an old name of `ts`. */
static void note_alias(struct lookup *in, const struct ast_path *path)
{
	if (in->told_alias || ast_root(path) != ROOT_STATE || path->natoms != 1 ||
	    strcmp(path->atoms[0].name, "t") != 0)
		return;
	in->told_alias = true;
	notice(&in->where->trace->notices, NOTICE_INFO,
	       "condition: an event's time is 'ts' now; 't' still is an alias in this release");
}

/* Reports a path that does not exist, or a comparison that is never equal; returns true then. */
static bool is_missing(const struct ast *ast, void *arg)
{
	struct lookup *in = arg;
	const struct ast_path *path = ast->path;

	if (ast->kind == AST_BINARY && (ast->op == OP_EQ || ast->op == OP_NE))
		return !lookup_compared(in, ast->args[0], ast->args[1]) ||
		       !lookup_compared(in, ast->args[1], ast->args[0]);
	if (ast->kind != AST_PATH)
		return false;
	note_alias(in, path);
	if (in->where->refs[path->ref] == REF_MISSING)
		return !lookup_member(in, path);
	return path->natoms > 1 && ast_root(path) == ROOT_STATE && !lookup_state(in, path);
}

const char where_never_true[] = "a number is never true: compare it with one, as in '(...) != 0'";

bool where_is_number(const struct ast *ast)
{
	return (ast->kind == AST_CONST && value_is_number(&ast->value)) ||
	       (ast->kind == AST_BINARY && ast->op >= OP_BIT_AND && ast->op <= OP_MOD) ||
	       (ast->kind == AST_UNARY && (ast->op == OP_NEG || ast->op == OP_BIT_NOT));
}

bool where_joins(const struct ast *ast)
{
	return (ast->kind == AST_BINARY && (ast->op == OP_AND || ast->op == OP_OR)) ||
	       (ast->kind == AST_UNARY && ast->op == OP_NOT);
}

/* Reports numbers as conditions or as operands of && || !. */
static bool check_condition(const struct lookup *in, const struct ast *ast)
{
	const char *field = compared_field(in->where, ast);

	if (where_is_number(ast) || (field && is_number(field_kinds(in->where->trace, field)))) {
		error_set(in->err, ERR_QUERY, "%s", where_never_true);
		return complain_at(in, ast->at);
	}
	for (uint32_t n = 0; where_joins(ast) && n < ast->nargs; n++)
		if (!check_condition(in, ast->args[n]))
			return false;
	return true;
}

bool where_condition(const struct where *where, struct error *err)
{
	for (size_t i = 0; i < where->count; i++) {
		const struct lookup in = {where, where->conditions[i].file, err, false};
		if (!check_condition(&in, where->conditions[i].ast))
			return false;
	}
	return true;
}

bool where_lookup(const struct where *where, struct error *err)
{
	struct lookup in = {.where = where, .err = err};

	for (size_t i = 0; i < where->count; i++) {
		in.file = where->conditions[i].file;
		if (ast_find(where->conditions[i].ast, is_missing, &in))
			return false;
	}
	return true;
}

bool where_compile(struct where *where, struct rules *rules, const struct trace *trace,
		   struct program *program, struct error *err)
{
	if (!know_maps(where, rules, err))
		return false;
	if (!program && where_reads_state(where))
		return error_set(err, ERR_QUERY, "it reads the state, which is not evaluated here");
	where_forget(where);
	if (!program)
		where->own = program_new(where->rules, trace); /* rules without lines */
	where->program = program ? program : where->own;
	where->trace = trace;
	where->arena = arena_new();
	where->refs = arena_array(where->arena, where->rules->nrefs, 1);
	compile_classes(where, rules);
	return true;
}

/* ---- times ---- */

/* Narrows [begin, end) by comparisons of the time with constants that must hold. */
static void where_narrow(const struct expr *expr, struct arena *arena, nstime *begin, nstime *end)
{
	struct column_test test;
	const struct range *last;

	if (expr->kind == EXPR_AND) {
		where_narrow(expr->args[0], arena, begin, end);
		where_narrow(expr->args[1], arena, begin, end);
		return;
	}
	if (!column_test_of(expr, arena, &test) || test.column.of->kind != EXPR_TIME ||
	    test.column.mask != UINT64_MAX || test.negated || !test.ranges.count)
		return;
	last = &test.ranges.items[test.ranges.count - 1];
	if ((nstime)test.ranges.items[0].low > *begin)
		*begin = (nstime)test.ranges.items[0].low;
	if ((nstime)(last->low + last->span) < *end)
		*end = (nstime)(last->low + last->span + 1);
}

void where_range(const struct where *where, nstime *begin, nstime *end)
{
	const struct trace *trace = where->trace;
	nstime first = NSTIME_MAX, last = NSTIME_MIN; /* of all classes together */

	for (size_t i = 0; i < trace->nstreams; i++)
		if (!trace->streams[i]->has_time)
			return; /* events without time have one in conditions, but not in a range */
	for (size_t i = 0; i < trace->nclasses; i++) {
		nstime from = *begin, until = *end;

		if (!where->tests[i].passes)
			continue;
		where_narrow(where->tests[i].expr, where->arena, &from, &until);
		first = from < first ? from : first;
		last = until > last ? until : last;
	}
	if (last > NSTIME_MIN) { /* some class passes */
		*begin = first;
		*end = last;
	}
}

bool where_class(const struct where *where, const struct event_class *class)
{
	return where->tests[class->index].passes;
}

bool where_stream(const struct where *where, const struct stream *stream)
{
	const struct trace *trace = where->trace;
	struct event event = {.stream = stream, .cpu = stream->cpu};
	struct env env = {.program = where->program, .event = &event, .scratch = arena_new()};
	bool may = false;

	for (size_t i = 0; i < trace->nclasses && !may; i++) {
		event.class = trace->classes[i];
		may = event.class->part == stream->part && where->tests[i].passes &&
		      may_pass(&where->tests[i], &env);
	}
	arena_free(env.scratch);
	return may;
}

bool where_selects(const struct where *where)
{
	return where->early;
}

bool where_selects_by_state(const struct where *where)
{
	return where->late;
}

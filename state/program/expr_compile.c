/*
 * expr_compile.c - compiles the tree of an expression for one event class
 *
 * What the class decides becomes constant: captures, the environment, the event's name, which name
 * of an alias it has, fields that it lacks. Operators on constants are evaluated.
 */
#include "state/program/internal.h"

#include "engine/base/mem.h"

#include <string.h>

struct expr *expr_new(struct compile *compile, enum expr_kind kind)
{
	struct expr *expr = arena_alloc(compile->program->arena, sizeof *expr);

	expr->kind = kind;
	return expr;
}

struct expr *expr_of(struct compile *compile, enum expr_kind kind, const struct expr *a,
		     const struct expr *b)
{
	struct expr *expr = expr_new(compile, kind);
	const struct expr *args[] = {a, b};

	expr->nargs = b ? 2 : 1;
	expr->args = arena_copy(compile->program->arena, args, expr->nargs, sizeof *args);
	return expr;
}

struct expr *expr_over(struct compile *compile, enum expr_kind kind, const struct ast *ast)
{
	struct expr *expr = expr_new(compile, kind);
	const struct expr **args =
		arena_array(compile->program->arena, ast->nargs, sizeof(struct expr *));

	for (uint32_t i = 0; i < ast->nargs; i++)
		args[i] = compile_expr(compile, ast->args[i]);
	expr->args = args;
	expr->nargs = ast->nargs;
	return expr;
}

struct expr *expr_constant(struct compile *compile, struct value value)
{
	struct expr *expr = expr_new(compile, EXPR_CONST);

	expr->value = value;
	attrs_keep(compile->program->attrs, &expr->value);
	return expr;
}

static struct expr *compile_variable(struct compile *compile, uint32_t index)
{
	struct expr *expr = expr_new(compile, EXPR_VARIABLE);

	expr->index = index;
	return expr;
}

struct expr *expr_failing(struct compile *compile, enum failure failure)
{
	struct expr *expr = expr_new(compile, EXPR_FAIL);

	expr->failure = failure;
	return expr;
}

/* ---- fields ---- */

enum way { WAY_NONE, WAY_PLAIN, WAY_DYNAMIC };

/* May an event of this class have the field? names[i].name NULL: an element by a computed key. */
static bool may_have(const struct field_class *class, const struct field_name *names, size_t n)
{
	if (n == 0)
		return true;
	if (class->kind == FIELD_STRUCT) {
		const struct member *member =
			names[0].name ? field_member(class, names[0].name) : NULL;
		return member && may_have(member->class, names + 1, n - 1);
	}
	if (class->kind == FIELD_ARRAY || class->kind == FIELD_SEQUENCE)
		return class->element && may_have(class->element, names + 1, n - 1);
	if (class->kind != FIELD_VARIANT)
		return false;
	for (uint32_t i = 0; i < class->nmembers; i++) {
		const struct member *option = &class->members[i];
		if (names[0].name && (!strcmp(option->name, names[0].name) ||
				      !strcmp(option->written, names[0].name)))
			return true;
		if (may_have(option->class, names, n))
			return true;
	}
	return false;
}

static enum way find_way(const struct event_class *class, unsigned scopes,
			 const struct field_name *names, uint32_t n, struct field_path *out)
{
	static const enum scope order[] = {SCOPE_PAYLOAD, SCOPE_EVENT_CONTEXT,
					   SCOPE_STREAM_EVENT_CONTEXT, SCOPE_PACKET_CONTEXT,
					   SCOPE_PACKET_HEADER};
	const char *plain[PATH_ATOMS];
	bool keys = false;

	for (uint32_t i = 0; i < n; i++) {
		plain[i] = names[i].name;
		keys = keys || !names[i].name;
	}
	if (!keys && field_path_find(class, scopes, plain, n, out))
		return WAY_PLAIN;
	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		const struct field_class *scope = class->scope[order[i]];
		if ((scopes & 1u << order[i]) && scope && names[0].name &&
		    field_member(scope, names[0].name)) /* the first scope with it counts */
			return may_have(scope, names, n) ? WAY_DYNAMIC : WAY_NONE;
	}
	return WAY_NONE;
}

unsigned root_scopes(enum root root)
{
	switch (root) {
	case ROOT_PAYLOAD:
		return 1u << SCOPE_PAYLOAD;
	case ROOT_CONTEXT:
		return 1u << SCOPE_EVENT_CONTEXT | 1u << SCOPE_STREAM_EVENT_CONTEXT;
	case ROOT_PACKET:
		return 1u << SCOPE_PACKET_CONTEXT | 1u << SCOPE_PACKET_HEADER;
	default:
		return 1u << SCOPE_PAYLOAD | 1u << SCOPE_EVENT_CONTEXT |
		       1u << SCOPE_STREAM_EVENT_CONTEXT;
	}
}

/* Has the class a field of exactly this name in these scopes? */
static bool has_field(const struct event_class *class, unsigned scopes, const char *name)
{
	struct field_name names[1] = {{.name = name}};
	struct field_path found = {0};

	return find_way(class, scopes, names, 1, &found) != WAY_NONE;
}

static bool lists_itself(const struct alias_def *alias)
{
	for (size_t i = 0; i < alias->nnames; i++)
		if (!strcmp(alias->names[i], alias->name))
			return true;
	return false;
}

/*
 * Finds the class's field of that name, else of the first name of the alias that the class has. An
 * alias that lists its own name thereby sets its place in that order.
 */
static enum way find_aliased(struct compile *compile, unsigned scopes, struct field_name *names,
			     uint32_t n, struct field_path *out)
{
	const struct alias_def *alias = compile->names && names[0].name
						? rules_alias(compile->names, false, names[0].name)
						: NULL;
	enum way way;

	if (!alias || !lists_itself(alias)) {
		way = find_way(compile->class, scopes, names, n, out);
		if (!alias || way != WAY_NONE ||
		    (n > 1 && has_field(compile->class, scopes, names[0].name)))
			return way;
	}
	for (size_t i = 0; i < alias->nnames; i++) {
		names[0].name = alias->names[i];
		way = find_way(compile->class, scopes, names, n, out);
		if (way != WAY_NONE)
			return way;
	}
	return WAY_NONE;
}

static void note_ref(struct compile *compile, const struct ast_path *path, uint8_t found)
{
	if (compile->refs && !compile->quiet && !(compile->dead && found == REF_MISSING))
		compile->refs[path->ref] |= found;
}

static const struct expr *lost_field(struct compile *compile, const struct ast_path *path)
{
	static const struct {
		const char *name;
		enum expr_kind kind;
	} names[] = {{"count", EXPR_LOST_COUNT},     {"until", EXPR_LOST_UNTIL},
		     {"untold", EXPR_LOST_UNTOLD},   {"ended", EXPR_LOST_ENDED},
		     {"claimed", EXPR_LOST_CLAIMED}, {"told", EXPR_LOST_TOLD}};
	bool plain = ast_root(path) == ROOT_FIELD && path->natoms == 2 &&
		     path->atoms[1].kind == ATOM_NAME;

	for (size_t i = 0; plain && i < sizeof names / sizeof *names; i++)
		if (!strcmp(path->atoms[1].name, names[i].name))
			return expr_new(compile, names[i].kind);
	note_ref(compile, path, REF_MISSING);
	return expr_failing(compile, FAILURE_FIELD);
}

/* Collects the steps to a field; constant keys become names: a[0] is a/0. */
static void field_names(struct compile *compile, const struct ast_path *path, uint32_t first,
			struct field_name *names)
{
	for (uint32_t i = first; i < path->natoms; i++) {
		const struct ast_atom *atom = &path->atoms[i];
		struct field_name *name = &names[i - first];
		*name = (struct field_name){.name = atom->name};
		if (atom->kind == ATOM_NAME)
			continue;
		name->key = compile_expr(compile, atom->key);
		if (name->key->kind != EXPR_CONST || name->key->value.kind != VALUE_INT)
			continue;
		struct buf text = {0};
		value_add_key(&name->key->value, &text);
		name->name = attrs_text(compile->program->attrs, text.data, text.len);
		buf_release(&text);
	}
}

bool compile_has_field(struct compile *compile, const struct ast_path *path)
{
	struct field_name names[PATH_ATOMS];
	struct field_path found;

	field_names(compile, path, 1, names);
	return find_aliased(compile, root_scopes(ast_root(path)), names, path->natoms - 1,
			    &found) == WAY_PLAIN;
}

/* `first`: the atom that names the field. */
static const struct expr *compile_field(struct compile *compile, const struct ast_path *path,
					enum root root, uint32_t first)
{
	struct field_name names[PATH_ATOMS];
	struct field_path found = {0};
	uint32_t n = path->natoms - first;
	struct expr *expr;

	if (!compile->class)
		return lost_field(compile, path);
	field_names(compile, path, first, names);
	switch (find_aliased(compile, root_scopes(root), names, n, &found)) {
	case WAY_NONE:
		note_ref(compile, path, REF_MISSING);
		return expr_failing(compile, FAILURE_FIELD);
	case WAY_PLAIN:
		note_ref(compile, path, REF_FOUND);
		expr = expr_new(compile, found.scope > SCOPE_PACKET_CONTEXT ? EXPR_FIELD
									    : EXPR_FIELD_PACKET);
		expr->field = found;
		expr->index = compile->class->slot_base[found.scope] + found.class->slot;
		return expr;
	case WAY_DYNAMIC:
		break;
	}
	note_ref(compile, path, REF_FOUND);
	expr = expr_new(compile, EXPR_FIELD_GET);
	expr->names = arena_copy(compile->program->arena, names, n, sizeof *names);
	expr->n = n;
	expr->scopes = root_scopes(root);
	return expr;
}

/* ---- other roots ---- */

static const struct expr *compile_env(struct compile *compile, const char *name)
{
	for (size_t i = 0; compile->part && i < compile->part->nenv; i++) {
		const struct env_entry *entry = &compile->part->env[i];
		if (strcmp(entry->name, name) != 0)
			continue;
		if (entry->text)
			return expr_constant(compile, value_text(entry->text, strlen(entry->text)));
		return expr_constant(compile, value_s64(entry->number));
	}
	return expr_failing(compile, FAILURE_FIELD);
}

static const struct expr *event_name(struct compile *compile)
{
	const char *name = compile->class           ? compile->class->name
			   : compile->on == ON_LOSS ? "@lost"
						    : NULL;

	if (!name)
		return expr_failing(compile, FAILURE_FIELD);
	return expr_constant(compile, value_text(name, strlen(name)));
}

static const struct expr *compile_event(struct compile *compile, const char *name)
{
	if (!strcmp(name, "name"))
		return event_name(compile);
	if (!strcmp(name, "time"))
		return expr_new(compile, EXPR_TIME);
	if (!compile->class)
		return expr_failing(compile, FAILURE_FIELD);
	return expr_constant(compile, value_u64(compile->class->id));
}

static const struct expr *compile_section(struct compile *compile, const char *name)
{
	struct analysis *analysis = compile->program->analysis;
	uint32_t section = analysis_section(analysis, name);
	bool written = analysis->sections[section].written;
	struct expr *expr = expr_new(compile, written ? EXPR_SECTION : EXPR_SECTION_OWN);

	expr->index = section;
	return expr;
}

/* Names of event properties in --where. */
static const struct expr *compile_where_name(struct compile *compile, const struct ast_path *path)
{
	const char *name = path->atoms[0].name;

	if (!strcmp(name, "ts") || !strcmp(name, "t")) /* its name until this release */
		return expr_new(compile, EXPR_TIME);
	if (!strcmp(name, "name"))
		return event_name(compile);
	if (!strcmp(name, "cpu"))
		return expr_new(compile, EXPR_CPU);
	if (!strcmp(name, "stream"))
		return expr_new(compile, EXPR_STREAM);
	return compile_field(compile, path, ROOT_FIELD, 0);
}

static size_t column_named(const char *const *columns, size_t count, const char *name)
{
	size_t i = 0;

	while (i < count && strcmp(columns[i], name) != 0)
		i++;
	return i;
}

size_t column_number(const char *const *columns, size_t count, const char *name)
{
	size_t i = column_named(columns, count, name);
	const char *other = !strcmp(name, "ts") ? "begin" : !strcmp(name, "begin") ? "ts" : NULL;

	return i == count && other ? column_named(columns, count, other) : i;
}

static const struct expr *compile_column(struct compile *compile, const char *name)
{
	struct expr *expr = expr_new(compile, EXPR_COLUMN);

	expr->index = (uint32_t)column_number(compile->columns, compile->ncolumns, name);
	return expr;
}

const struct expr *compile_read(struct compile *compile, const struct ast_path *path)
{
	struct expr *expr = expr_new(compile, EXPR_READ);

	compile_path(compile, path, &expr->path);
	expr->may_view = program_views_shape(compile->program, expr->path.shape);
	return expr;
}

static const struct expr *compile_path_read(struct compile *compile, const struct ast_path *path)
{
	enum root root = ast_root(path);

	if (compile->on == ON_ROW)
		return compile_column(compile, path->atoms[0].name);
	if (root == ROOT_STATE && compile->on == ON_WHERE && path->natoms == 1)
		return compile_where_name(compile, path);
	switch (root) {
	case ROOT_STATE:
		return compile_read(compile, path);
	case ROOT_FIELD:
	case ROOT_PAYLOAD:
	case ROOT_CONTEXT:
	case ROOT_PACKET:
		return compile_field(compile, path, root, 1);
	case ROOT_SECTION:
		return compile_section(compile, path->atoms[1].name);
	case ROOT_EVENT:
		return compile_event(compile, path->atoms[1].name);
	case ROOT_ENV:
		return compile_env(compile, path->atoms[1].name);
	case ROOT_RECORDING: /* only has() may use it, checked before */
		break;
	}
	return expr_failing(compile, FAILURE_FIELD);
}

/* ---- paths of the state ---- */

static void add_host(struct compile *compile, struct atom *atoms)
{
	const char *host = compile->part ? compile->part->host : "";

	atoms[0] = (struct atom){.kind = ATOM_NAME, .value = value_text("host", 4)};
	atoms[1] = (struct atom){.kind = ATOM_KEY, .value = value_text(host, strlen(host))};
	if (compile->host_variable)
		atoms[1] = (struct atom){.kind = ATOM_VARIABLE, .variable = compile->variable};
}

static void compile_atom(struct compile *compile, const struct ast_atom *from, struct atom *to)
{
	*to = (struct atom){.kind = from->kind, .variable = from->variable};
	if (from->kind == ATOM_NAME)
		to->value = value_text(from->name, strlen(from->name));
	if (from->kind != ATOM_EXPR)
		return;
	to->expr = compile_expr(compile, from->key);
	if (expr_is_const(to->expr, VALUE_INT) || expr_is_const(to->expr, VALUE_STRING) ||
	    expr_is_const(to->expr, VALUE_BOOL)) {
		to->kind = ATOM_KEY;
		to->value = to->expr->value;
		to->expr = NULL;
	}
}

/* The host's variable is bound in a view's path, and read in its expression. */
static void bind_host(struct compile *compile, struct atom *atom)
{
	if (atom->kind == ATOM_VARIABLE && compile->on == ON_VIEW)
		*atom = (struct atom){.kind = ATOM_EXPR,
				      .expr = compile_variable(compile, atom->variable)};
}

static void find_base(struct attrs *attrs, struct path *path)
{
	bool leading = true;
	uint32_t keys = 0;

	path->base = ATTR_ROOT;
	path->shape = 0;
	for (uint32_t i = 0; i < path->natoms; i++) {
		const struct atom *atom = &path->atoms[i];
		bool name = atom->kind == ATOM_NAME;
		keys += !name;
		if (!name)
			path->only_key = keys == 1 && atom->kind == ATOM_EXPR ? i : 0;
		leading = leading && (name || atom->kind == ATOM_KEY);
		path->shape =
			name ? shape_name(attrs, path->shape, atom->value.text, atom->value.len)
			     : shape_key(attrs, path->shape);
		if (!leading)
			continue;
		path->base = attr_child(attrs, path->base, !name, &atom->value);
		path->nbase = i + 1;
	}
	if (path->only_key)
		path->keys = attrs_keys(attrs, path->shape);
}

void compile_path(struct compile *compile, const struct ast_path *path, struct path *out)
{
	struct program *program = compile->program;
	uint32_t host = program->hosts ? 2 : 0;
	struct atom *atoms = arena_array(program->arena, path->natoms + host, sizeof *atoms);

	if (host) {
		add_host(compile, atoms);
		bind_host(compile, &atoms[1]);
	}
	for (uint32_t i = 0; i < path->natoms; i++)
		compile_atom(compile, &path->atoms[i], &atoms[host + i]);
	for (uint32_t i = 0; i < path->natoms + host; i++)
		attrs_keep(program->attrs, &atoms[i].value);
	*out = (struct path){.natoms = path->natoms + host, .atoms = atoms, .below = path->below};
	find_base(program->attrs, out);
}

/* ---- operators ---- */

struct regex *compile_pattern(struct compile *compile, const struct expr *pattern)
{
	struct program *program = compile->program;
	char why[REGEX_WHY];
	size_t at;

	struct regex *regex =
		expr_is_const(pattern, VALUE_STRING) ? regex_new(&pattern->value, &at, why) : NULL;
	if (regex)
		*mem_push(program->regexes, program->nregexes, program->regexes_capacity) = regex;
	return regex;
}

/* For --where: compiles an operand that this class never evaluates, to note its fields as found. */
static void compile_dead(struct compile *compile, const struct ast *ast)
{
	bool dead = compile->dead;

	compile->dead = true;
	if (compile->on == ON_WHERE)
		compile_expr(compile, ast);
	compile->dead = dead;
}

const struct expr *compile_choose(struct compile *compile, const struct ast *ast)
{
	const struct expr *args[] = {compile_expr(compile, ast->args[0]), NULL, NULL};
	struct expr *expr;

	if (expr_is_const(args[0], VALUE_BOOL)) {
		compile_dead(compile, ast->args[args[0]->value.b ? 2 : 1]);
		return compile_expr(compile, ast->args[args[0]->value.b ? 1 : 2]);
	}
	args[1] = compile_expr(compile, ast->args[1]);
	args[2] = compile_expr(compile, ast->args[2]);
	expr = expr_new(compile, EXPR_CHOOSE);
	expr->nargs = ast->nargs;
	expr->args = arena_copy(compile->program->arena, args, expr->nargs, sizeof *args);
	return expr;
}

static enum expr_kind binary_kind(enum op op)
{
	if (op_compares(op))
		return op <= OP_NE ? EXPR_EQUAL : EXPR_ORDER;
	switch (op) {
	case OP_AND:
		return EXPR_AND;
	case OP_OR:
		return EXPR_OR;
	case OP_GLOB:
	case OP_REGEX:
		return EXPR_MATCH;
	case OP_NOT:
		return EXPR_NOT;
	default:
		return EXPR_ARITH;
	}
}

static const struct expr *compile_operator(struct compile *compile, const struct ast *ast)
{
	const struct expr *left = compile_expr(compile, ast->args[0]), *right = NULL;
	struct expr *expr;

	if (ast->op == OP_AND && expr_is_const(left, VALUE_BOOL) && !left->value.b) {
		compile_dead(compile, ast->args[1]);
		return left; /* do not warn about the right side's fields */
	}
	if (ast->nargs > 1)
		right = compile_expr(compile, ast->args[1]);
	expr = expr_of(compile, binary_kind(ast->op), left, right);
	expr->op = ast->op;
	if (expr->op == OP_REGEX)
		expr->regex = compile_pattern(compile, right);
	return expr;
}

const struct expr *compile_loss_kind(struct compile *compile, enum loss_kind kind, bool is)
{
	struct expr *expr = expr_new(compile, EXPR_LOST_KIND);

	expr->index = kind;
	return is ? expr : expr_of(compile, EXPR_NOT, expr, NULL);
}

static const struct expr *compile_in(struct compile *compile, const struct ast *ast)
{
	struct expr *expr = expr_of(compile, EXPR_IN, compile_expr(compile, ast->args[0]), NULL);
	struct value *values = arena_array(compile->program->arena, ast->nargs, sizeof *values);

	for (uint32_t i = 1; i < ast->nargs; i++)
		values[expr->n++] = ast->args[i]->value;
	expr->values = values;
	return expr;
}

const struct expr *compile_fold(struct compile *compile, const struct expr *expr)
{
	struct value value;

	if (expr->kind < EXPR_NOT || expr->kind == EXPR_TOP || expr->kind == EXPR_LABEL)
		return expr;
	for (uint32_t i = 0; i < expr->nargs; i++)
		if (expr->args[i]->kind != EXPR_CONST &&
		    !(expr->kind == EXPR_HAS && expr->args[0]->kind == EXPR_FAIL))
			return expr;
	struct env env = {.program = compile->program, .scratch = compile->program->arena};
	switch (expr_eval(expr, &env, &value)) {
	case EVAL_VALUE:
		return expr_constant(compile, value);
	case EVAL_FAIL:
		return expr_failing(compile, env.failure);
	case EVAL_OPEN:
		break;
	}
	return expr;
}

const struct expr *compile_and(struct compile *compile, const struct expr *left,
			       const struct expr *right)
{
	/* false decides alone, see logic_and */
	if (expr_is_const(left, VALUE_BOOL))
		return left->value.b ? right : left;
	if (expr_is_const(right, VALUE_BOOL))
		return right->value.b ? left : right;
	struct expr *expr = expr_of(compile, EXPR_AND, left, right);

	expr->op = OP_AND;
	return compile_fold(compile, expr);
}

static const struct expr *compile_capture(struct compile *compile, const struct ast *ast)
{
	const struct captures *captures = compile->captures;
	uint32_t i = ast->index - 1;

	if (!captures || i >= captures->n)
		return expr_failing(compile, FAILURE_FIELD);
	return expr_constant(compile, value_text(captures->text[i], captures->len[i]));
}

const struct expr *compile_expr(struct compile *compile, const struct ast *ast)
{
	const struct expr *own = compile->own ? compile->own(compile, ast) : NULL;

	return own ? own : compile_plain(compile, ast);
}

const struct expr *compile_plain(struct compile *compile, const struct ast *ast)
{
	switch (ast->kind) {
	case AST_CONST:
		return expr_constant(compile, ast->value);
	case AST_CAPTURE:
		return compile_capture(compile, ast);
	case AST_VARIABLE:
		return compile_variable(compile, ast->index);
	case AST_PATH:
		return compile_path_read(compile, ast->path);
	case AST_CALL:
		return compile_fold(compile, compile_call(compile, ast));
	case AST_CHOICE:
		return compile_fold(compile, compile_choose(compile, ast));
	case AST_UNARY:
	case AST_BINARY:
		return compile_fold(compile, compile_operator(compile, ast));
	case AST_IN:
		return compile_fold(compile, compile_in(compile, ast));
	default: /* of one-liners */
		break;
	}
	return expr_failing(compile, FAILURE_TYPE);
}

/* ---- what a compiled expression needs ---- */

bool expr_any(const struct expr *expr, bool (*is)(const struct expr *expr))
{
	if (!expr)
		return false;
	if (is(expr))
		return true;
	for (uint32_t i = 0; expr->kind == EXPR_READ && i < expr->path.natoms; i++)
		if (expr_any(expr->path.atoms[i].expr, is))
			return true;
	for (uint32_t i = 0; expr->kind == EXPR_FIELD_GET && i < expr->n; i++)
		if (expr_any(expr->names[i].key, is))
			return true;
	for (uint32_t i = 0; i < expr->nargs; i++)
		if (expr_any(expr->args[i], is))
			return true;
	return false;
}

bool expr_is_field(const struct expr *expr)
{
	return expr->kind >= EXPR_FIELD && expr->kind <= EXPR_FIELD_GET;
}

bool expr_is_read(const struct expr *expr)
{
	return expr->kind == EXPR_READ;
}

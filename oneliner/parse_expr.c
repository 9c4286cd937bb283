/* parse_expr.c - expressions: C's operators in C's order of binding */
#include "oneliner/parse.h"

#include "engine/base/mem.h"

#include <string.h>

static const struct {
	const char *text;
	enum op op;
	unsigned binds; /* the greater the tighter */
} binaries[] = {{"||", OP_OR, 1},
		{"&&", OP_AND, 2},
		{"|", OP_BIT_OR, 3},
		{"^", OP_BIT_XOR, 4},
		{"&", OP_BIT_AND, 5},
		{"==", OP_EQ, 6},
		{"!=", OP_NE, 6},
		{"~", OP_GLOB, 6},
		{"=~", OP_REGEX, 6},
		{"<", OP_LT, 7},
		{"<=", OP_LE, 7},
		{">", OP_GT, 7},
		{">=", OP_GE, 7},
		{"<<", OP_SHL, 8},
		{">>", OP_SHR, 8},
		{"+", OP_ADD, 9},
		{"-", OP_SUB, 9},
		{"*", OP_MUL, 10},
		{"/", OP_DIV, 10},
		{"%", OP_MOD, 10}};

static struct node *parse_unary(struct parser *parser);

static struct node *number_node(struct parser *parser, uint32_t at, int64_t number)
{
	struct node *node = tree_node(parser, NODE_NUMBER, at, 0);

	node->value = value_s64(number);
	return node;
}

/* ---- names ---- */

static struct node *field_node(struct parser *parser, uint32_t at, const char *const *names,
			       size_t nnames)
{
	struct oneliner *program = parser->lex.program;
	struct node *node = tree_node(parser, NODE_FIELD, at, 0);

	node->number = (uint32_t)program->nfields;
	*mem_push(program->fields, program->nfields, program->fields_capacity) = (struct field_use){
		.names = arena_copy(program->arena, names, nnames, sizeof *names),
		.nnames = nnames,
		.at = at,
		.probe = (uint32_t)program->nprobes - 1,
		.type = TYPE_ANY};
	return node;
}

enum { FIELD_NAMES_MAX = 16 };

static bool take_member(struct parser *parser, const char **out)
{
	struct lexer *lex = &parser->lex;

	if (token_is(lex, ".") || token_is(lex, "->")) {
		token_next(lex);
		if (lex->kind != TOKEN_NAME && lex->kind != TOKEN_PATH) {
			token_expected(lex, "the name of a field");
			return false;
		}
		if (lex->kind == TOKEN_PATH)
			token_error(lex, lex->at,
				    "an element of an array is written with a dot: name.0");
		*out = lex->name;
		token_next(lex);
		return true;
	}
	return false;
}

/* name.0: an element, whose number the dot does not make a part of a number. */
static bool take_element(struct parser *parser, const char **out)
{
	struct lexer *lex = &parser->lex;
	size_t from = lex->pos;

	if (!token_is(lex, ".") || from >= lex->len || !char_is_digit(lex->text[from]))
		return false;
	while (lex->pos < lex->len && char_is_digit(lex->text[lex->pos]))
		lex->pos++;
	*out = arena_strndup(lex->program->arena, lex->text + from, lex->pos - from);
	token_next(lex);
	return true;
}

static struct node *parse_members(struct parser *parser, uint32_t at, const char *first)
{
	const char *names[FIELD_NAMES_MAX];
	size_t count = 0;

	if (first)
		names[count++] = first;
	while (count < FIELD_NAMES_MAX && !parser->lex.failed &&
	       (take_element(parser, &names[count]) || take_member(parser, &names[count])))
		count++;
	if (!count)
		token_error(&parser->lex, at, "args stands for all fields: name one, args.NAME");
	return field_node(parser, at, names, count);
}

static struct node *state_node(struct parser *parser, uint32_t at, const char *text)
{
	struct oneliner *program = parser->lex.program;
	struct node *node = tree_node(parser, NODE_STATE, at, 0);

	node->number = (uint32_t)program->nstates;
	*mem_push(program->states, program->nstates, program->states_capacity) =
		(struct state_use){.text = text, .at = at};
	return node;
}

/* ---- calls ---- */

static void parse_args(struct parser *parser, struct node *node, const char *close)
{
	struct arena *arena = parser->lex.program->arena;
	struct node *args[PROBE_KEYS_MAX * 4];

	node->nargs = 0;
	while (!parser->lex.failed && !token_is(&parser->lex, close)) {
		if (node->nargs == sizeof args / sizeof *args) {
			token_error(&parser->lex, parser->lex.at, "too many values");
			break;
		}
		args[node->nargs++] = expression_parse(parser);
		if (!token_is(&parser->lex, close))
			parse_op(parser, ",", *close == ')' ? "',' or ')'" : "',' or ']'");
	}
	parse_op(parser, close, close);
	node->args = arena_copy(arena, args, node->nargs + 1, sizeof *args);
}

/* state("cpu[cpu]/thread"): any expression of the rules. */
static struct node *parse_state(struct parser *parser, uint32_t at)
{
	struct lexer *lex = &parser->lex;
	struct node *node;

	token_next(lex);
	if (lex->kind != TOKEN_STRING)
		token_expected(lex, "a text, as in state(\"cpu[cpu]/thread\")");
	node = state_node(parser, at,
			  arena_strndup(lex->program->arena,
					lex->kind == TOKEN_STRING ? lex->value.text : "",
					lex->kind == TOKEN_STRING ? lex->value.len : 0));
	token_next(lex);
	parse_op(parser, ")", "')'");
	return node;
}

static struct node *parse_call(struct parser *parser, uint32_t at, const char *name)
{
	struct oneliner *program = parser->lex.program;
	struct node *node;

	if (!strcmp(name, "state"))
		return parse_state(parser, at);
	node = tree_node(parser, NODE_CALL, at, 0);
	if (!parser->lex.failed &&
	    !function_find(program, name, at, &node->function, parser->lex.err)) {
		parser->lex.failed = true;
		parser->lex.kind = TOKEN_END;
		return node;
	}
	token_next(&parser->lex);
	parse_args(parser, node, ")");
	return node;
}

/* What scripts of bpftrace have of the kernel's headers; false: no such name. */
static bool find_constant(const char *name, int64_t *out)
{
	static const struct {
		const char *name;
		int64_t number;
	} constants[] = {{"true", 1},
			 {"false", 0},
			 {"TASK_RUNNING", 0},
			 {"TASK_INTERRUPTIBLE", 1},
			 {"TASK_UNINTERRUPTIBLE", 2}};

	for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
		if (strcmp(constants[i].name, name) != 0)
			continue;
		*out = constants[i].number;
		return true;
	}
	return false;
}

static struct node *parse_name(struct parser *parser)
{
	struct oneliner *program = parser->lex.program;
	uint32_t at = parser->lex.at;
	const char *name = parser->lex.name;
	enum builtin builtin;
	struct node *node;
	int64_t number;

	token_next(&parser->lex);
	if (token_is(&parser->lex, "("))
		return parse_call(parser, at, name);
	if (!strcmp(name, "args"))
		return parse_members(parser, at, NULL);
	if (find_constant(name, &number))
		return number_node(parser, at, number);
	if (parser->lex.failed)
		return number_node(parser, at, 0);
	parser->lex.err->kind = ERR_NONE;
	if (builtin_find(program, name, at, &builtin, parser->lex.err)) {
		node = tree_node(parser, NODE_BUILTIN, at, 0);
		node->number = builtin;
		program->uses_builtin[builtin] = true;
		return node;
	}
	if (parser->lex.err->kind != ERR_NONE) {
		parser->lex.failed = true;
		parser->lex.kind = TOKEN_END;
		return number_node(parser, at, 0);
	}
	return parse_members(parser, at, name);
}

/* ---- maps and variables ---- */

static uint32_t map_number(struct oneliner *program, const char *name, uint32_t at)
{
	for (size_t i = 0; i < program->nmaps; i++)
		if (!strcmp(program->maps[i].name, name))
			return (uint32_t)i;
	*mem_push(program->maps, program->nmaps, program->maps_capacity) =
		(struct map_use){.name = name, .at = at};
	return (uint32_t)program->nmaps - 1;
}

static uint32_t variable_number(struct oneliner *program, const char *name)
{
	for (size_t i = 0; i < program->nvariables; i++)
		if (!strcmp(program->variables[i], name))
			return (uint32_t)i;
	*mem_push(program->variables, program->nvariables, program->variables_capacity) = name;
	return (uint32_t)program->nvariables - 1;
}

static struct node *parse_map(struct parser *parser)
{
	struct lexer *lex = &parser->lex;
	struct node *node = tree_node(parser, NODE_MAP, lex->at, 0);

	node->number = map_number(lex->program, lex->name, lex->at);
	token_next(lex);
	if (token_is(lex, "[")) {
		token_next(lex);
		parse_args(parser, node, "]");
		if (!node->nargs)
			token_error(lex, node->at, "the map's key is missing");
		if (node->nargs > PROBE_KEYS_MAX)
			token_error(lex, node->at, "a map has at most %d keys", PROBE_KEYS_MAX);
	}
	return node;
}

static struct node *parse_variable(struct parser *parser)
{
	struct lexer *lex = &parser->lex;
	struct node *node = tree_node(parser, NODE_VARIABLE, lex->at, 0);

	if (char_is_digit(lex->name[1]))
		token_error(lex, lex->at,
			    "'%s': words of the command line are not passed on; "
			    "write the value into the program",
			    lex->name);
	else if (!lex->name[1])
		token_error(lex, lex->at, "a variable needs a name: $name");
	node->number = variable_number(lex->program, lex->name);
	token_next(lex);
	return node;
}

/* ---- operators ---- */

/* (uint32)x: the bits that are left, and their sign. */
static bool cast_of(const char *name, uint8_t *bits, bool *is_signed)
{
	static const struct {
		const char *name;
		uint8_t bits;
		bool is_signed;
	} casts[] = {{"int8", 8, true},     {"int16", 16, true},  {"int32", 32, true},
		     {"int64", 64, true},   {"uint8", 8, false},  {"uint16", 16, false},
		     {"uint32", 32, false}, {"uint64", 64, false}};
	size_t len = strlen(name);

	if (len > 2 && !strcmp(name + len - 2, "_t"))
		len -= 2;
	for (size_t i = 0; i < sizeof casts / sizeof *casts; i++) {
		if (strlen(casts[i].name) != len || strncmp(casts[i].name, name, len) != 0)
			continue;
		*bits = casts[i].bits;
		*is_signed = casts[i].is_signed;
		return true;
	}
	return false;
}

static struct node *parse_bracket(struct parser *parser)
{
	struct lexer *lex = &parser->lex;
	uint32_t at = lex->at;
	uint8_t bits;
	bool is_signed;
	struct node *node;

	token_next(lex);
	if (lex->kind == TOKEN_NAME && cast_of(lex->name, &bits, &is_signed)) {
		node = tree_node(parser, NODE_CAST, at, 1);
		node->bits = bits;
		node->is_signed = is_signed;
		token_next(lex);
		parse_op(parser, ")", "')'");
		node->args[0] = parse_unary(parser);
		return node;
	}
	node = expression_parse(parser);
	if (token_is(lex, ","))
		token_error(lex, lex->at, "there are no tuples: give a map several keys, @[a, b]");
	parse_op(parser, ")", "')'");
	return node;
}

static struct node *parse_primary(struct parser *parser)
{
	struct lexer *lex = &parser->lex;
	struct node *node;

	switch (lex->kind) {
	case TOKEN_NUMBER:
	case TOKEN_STRING:
		node = tree_node(parser, lex->kind == TOKEN_NUMBER ? NODE_NUMBER : NODE_TEXT,
				 lex->at, 0);
		node->value = lex->value;
		token_next(lex);
		return node;
	case TOKEN_NAME:
		return parse_name(parser);
	case TOKEN_MAP:
		return parse_map(parser);
	case TOKEN_VARIABLE:
		return parse_variable(parser);
	case TOKEN_PATH:
		node = state_node(parser, lex->at, lex->name);
		token_next(lex);
		return node;
	default:
		break;
	}
	if (token_is(lex, "("))
		return parse_bracket(parser);
	if (token_is(lex, "*"))
		token_error(lex, lex->at,
			    "a recording has no memory that a pointer could be followed to");
	token_expected(lex, "a value (a number, a text, a field, @map, $variable or a function)");
	return number_node(parser, lex->at, 0);
}

static struct node *increment(struct parser *parser, struct node *of, uint32_t at, bool prefix)
{
	struct node *node = tree_node(parser, NODE_INCREMENT, at, 1);

	node->op = token_is(&parser->lex, "++") ? OP_ADD : OP_SUB;
	node->is_prefix = prefix;
	node->is_used = true;
	node->args[0] = of;
	return node;
}

static void check_target(struct parser *parser, const struct node *node)
{
	if (node->kind != NODE_MAP && node->kind != NODE_VARIABLE)
		token_error(&parser->lex, node->at, "++ and -- are for maps and variables");
}

static struct node *parse_postfix(struct parser *parser)
{
	struct node *node = parse_primary(parser);

	if (token_is(&parser->lex, "++") || token_is(&parser->lex, "--")) {
		check_target(parser, node);
		node = increment(parser, node, node->at, false);
		token_next(&parser->lex);
	} else if (token_is(&parser->lex, ".") || token_is(&parser->lex, "->")) {
		token_error(&parser->lex, parser->lex.at, "only an event's fields have members");
	} else if (token_is(&parser->lex, "[")) {
		token_error(
			&parser->lex, parser->lex.at,
			"only maps have keys; an element of a field is written with a dot: name.0");
	}
	return node;
}

static struct node *parse_unary(struct parser *parser)
{
	static const char *const texts[] = {"!", "~", "-"};
	static const enum op ops[] = {OP_NOT, OP_BIT_NOT, OP_NEG};
	struct lexer *lex = &parser->lex;
	uint32_t at = lex->at;
	struct node *node;

	if (++parser->depth > PARSE_DEPTH_MAX)
		token_error(lex, at, "the expression is nested too deeply");
	for (size_t i = 0; i < 3; i++) {
		if (!token_is(lex, texts[i]))
			continue;
		node = tree_node(parser, NODE_UNARY, at, 1);
		node->op = ops[i];
		token_next(lex);
		node->args[0] = parse_unary(parser);
		parser->depth--;
		return node;
	}
	if (token_is(lex, "++") || token_is(lex, "--")) {
		node = increment(parser, NULL, at, true);
		token_next(lex);
		node->args[0] = parse_primary(parser);
		check_target(parser, node->args[0]);
	} else {
		node = parse_postfix(parser);
	}
	parser->depth--;
	return node;
}

static struct node *parse_binary(struct parser *parser, unsigned least);

enum { IN_BINDS = 6, IN_MOST = 64 };

/* VALUE in (A, B...): `in` is looked at. */
static struct node *parse_in(struct parser *parser, struct node *left)
{
	struct lexer *lex = &parser->lex;
	struct node *values[IN_MOST];
	uint32_t count = 0, at = lex->at;

	token_next(lex);
	parse_op(parser, "(", "'(' behind in");
	do {
		if (count == IN_MOST)
			token_error(lex, lex->at, "'in' has at most %d values", IN_MOST);
		else
			values[count++] = parse_binary(parser, IN_BINDS + 1);
	} while (!lex->failed && token_is(lex, ",") && (token_next(lex), true));
	parse_op(parser, ")", "',' or ')'");
	struct node *node = tree_node(parser, NODE_IN, at, count + 1);
	node->args[0] = left;
	for (uint32_t i = 0; i < count; i++)
		node->args[i + 1] = values[i];
	return node;
}

static struct node *parse_binary(struct parser *parser, unsigned least)
{
	struct node *left = parse_unary(parser);

	while (parser->lex.kind == TOKEN_OP || token_is_name(&parser->lex, "in")) {
		size_t i = 0;
		if (token_is_name(&parser->lex, "in")) {
			if (least > IN_BINDS)
				break;
			left = parse_in(parser, left);
			continue;
		}
		while (i < sizeof binaries / sizeof *binaries &&
		       (binaries[i].binds < least || !token_is(&parser->lex, binaries[i].text)))
			i++;
		if (i == sizeof binaries / sizeof *binaries)
			break;
		uint32_t at = parser->lex.at;
		token_next(&parser->lex);
		left = tree_binary(parser, NODE_BINARY, binaries[i].op, at, left,
				   parse_binary(parser, binaries[i].binds + 1));
	}
	return left;
}

struct node *expression_parse(struct parser *parser)
{
	struct node *node = NULL, *condition;

	if (++parser->depth > PARSE_DEPTH_MAX)
		token_error(&parser->lex, parser->lex.at, "the expression is nested too deeply");
	condition = parse_binary(parser, 0);
	if (token_is(&parser->lex, "?")) {
		node = tree_node(parser, NODE_CHOICE, parser->lex.at, 3);
		token_next(&parser->lex);
		node->args[0] = condition;
		node->args[1] = expression_parse(parser);
		parse_op(parser, ":", "':'");
		node->args[2] = expression_parse(parser);
	}
	parser->depth--;
	return node ? node : condition;
}

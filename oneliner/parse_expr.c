/* parse_expr.c - the dialect of one-liners: C's operator precedence, names, maps, casts */
#include "oneliner/parse.h"

#include "engine/base/digits.h"
#include "engine/base/mem.h"

#include <string.h>

/* ---- the dialect ---- */

enum binds { BINDS_EQUAL = 6, BINDS_UNARY = 12 };

static const struct operator prefixes[] = {{"!", OP_NOT, BINDS_UNARY, BINDS_UNARY},
					   {"~", OP_BIT_NOT, BINDS_UNARY, BINDS_UNARY},
					   {"-", OP_NEG, BINDS_UNARY, BINDS_UNARY},
					   {0}};

static const struct operator binaries[] = {{"||", OP_OR, 1, 0},
					   {"&&", OP_AND, 2, 0},
					   {"|", OP_BIT_OR, 3, 0},
					   {"^", OP_BIT_XOR, 4, 0},
					   {"&", OP_BIT_AND, 5, 0},
					   {"==", OP_EQ, BINDS_EQUAL, 0},
					   {"!=", OP_NE, BINDS_EQUAL, 0},
					   {"~", OP_GLOB, BINDS_EQUAL, 0},
					   {"=~", OP_REGEX, BINDS_EQUAL, 0},
					   {"<", OP_LT, 7, 0},
					   {"<=", OP_LE, 7, 0},
					   {">", OP_GT, 7, 0},
					   {">=", OP_GE, 7, 0},
					   {"<<", OP_SHL, 8, 0},
					   {">>", OP_SHR, 8, 0},
					   {"+", OP_ADD, 9, 0},
					   {"-", OP_SUB, 9, 0},
					   {"*", OP_MUL, 10, 0},
					   {"/", OP_DIV, 10, 0},
					   {"%", OP_MOD, 10, 0},
					   {0}};

static const char *const signs[] = {
	"<<=", ">>=", "<<", ">>", "<=", ">=", "==", "=~", "!=", "&&", "||", "++",
	"--",  "+=",  "-=", "*=", "/=", "%=", "&=", "|=", "^=", "->", NULL};

static struct ast *parse_operand(struct parser *parser);
static bool take_word(struct parser *parser);

static void tell(struct parser *parser, size_t at, const char *text)
{
	oneliner_error(own(parser)->program, (uint32_t)at, own(parser)->err, "%s", text);
}

static const struct dialect language = {.signs = signs,
					.characters = "+-*/%&|^~!<>=(){}[],;?:.",
					.integers = true,
					.sigils = true,
					.prefixes = prefixes,
					.binaries = binaries,
					.in_binds = BINDS_EQUAL,
					.what = "program",
					.nodes = PARSE_NODES_MAX,
					.depth = PARSE_DEPTH_MAX,
					.brackets = PARSE_DEPTH_MAX,
					.word = take_word,
					.operand = parse_operand,
					.error = tell};

struct program_parser program_parser_of(struct oneliner *program, struct error *err)
{
	return (struct program_parser){.in = {.dialect = &language,
					      .arena = program->arena,
					      .text = program->text,
					      .len = program->len},
				       .program = program,
				       .err = err};
}

/* Ends the parse after an error that is in own(parser)->err already. */
static void stop(struct parser *parser)
{
	parser->failed = true;
	parser->token.kind = TOKEN_END;
}

/* ---- words that only this dialect has ---- */

/* Skips from "[" to behind the "]" that closes it; false: it is not closed. */
static bool skip_key(struct parser *parser)
{
	unsigned depth = 0;
	bool quoted = false;

	for (; parser->pos < parser->len; parser->pos++) {
		char c = parser->text[parser->pos];
		if (c == '"')
			quoted = !quoted;
		else if (quoted && c == '\\')
			parser->pos++;
		depth += !quoted && c == '[';
		if (!quoted && c == ']' && --depth == 0) {
			parser->pos++;
			return true;
		}
	}
	return false;
}

/* Length of the dot or arrow at `at` that a member's name follows; 0: there is none. */
static size_t member_mark(const char *at, const char *end)
{
	size_t n = at < end && *at == '.' ? 1 : end - at > 1 && !memcmp(at, "->", 2) ? 2 : 0;

	return n && at + n < end && char_begins_word(at[n]) ? n : 0;
}

/* Behind the text in quotes, the word or the single character at `at`. */
static const char *piece_end(const char *at, const char *end)
{
	if (*at == '"') {
		for (at++; at < end && *at != '"'; at++)
			at += *at == '\\' && at + 1 < end;
		return at < end ? at + 1 : end;
	}
	if (!char_is_word(*at))
		return at + 1;
	while (at < end && char_is_word(*at))
		at++;
	return at;
}

/* Appends /name/member for .name.member or ->name->member; returns where that ends. */
static const char *add_members(struct buf *out, const char *at, const char *end)
{
	size_t mark;

	while ((mark = member_mark(at, end))) {
		const char *name = at + mark;
		at = piece_end(name, end);
		buf_add_char(out, '/');
		buf_add(out, name, (size_t)(at - name));
	}
	return at;
}

/*
 * A path's text in the words of the rules, whose fields are field/name/member: in its keys they may
 * also be args.name.member, as elsewhere in a program.
 */
static struct value path_value(struct parser *parser, const char *text, size_t len)
{
	const char *end = text + len, *at = text;
	struct buf path = {0};

	while (at < end) {
		const char *word = at;
		at = piece_end(at, end);
		if (at - word == 4 && !memcmp(word, "args", 4) && member_mark(at, end)) {
			buf_add_text(&path, "field");
			at = add_members(&path, at, end);
		} else {
			buf_add(&path, word, (size_t)(at - word));
		}
	}
	const char *kept = arena_strndup(parser->arena, path.data, path.len);
	len = path.len;
	buf_release(&path);
	return value_text(kept, len);
}

/* Reads a path name[key]/name/name[key], without blanks around slashes, as one word. */
static void take_path(struct parser *parser)
{
	size_t at = parser->pos;

	for (;;) {
		while (char_is_word(parser_char(parser, parser->pos)))
			parser->pos++;
		if (parser_char(parser, parser->pos) == '[' && !skip_key(parser)) {
			parse_error(parser, at, "the path's bracket is not closed");
			return;
		}
		if (parser_char(parser, parser->pos) != '/' ||
		    !char_begins_word(parser_char(parser, parser->pos + 1)))
			break;
		parser->pos++;
	}
	parser->token.kind = TOKEN_PATH;
	parser->token.value = path_value(parser, parser->text + at, parser->pos - at);
}

/* Does a path begin here: name[, or field/x, payload/x, context/x, packet/x? */
static bool begins_path(const struct parser *parser)
{
	static const char *const scopes[] = {"field/", "payload/", "context/", "packet/"};
	const char *text = parser->text + parser->pos;
	size_t left = parser->len - parser->pos, n = 0;

	if (!char_begins_word(*text))
		return false;
	for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) {
		n = strlen(scopes[i]);
		if (n < left && !memcmp(text, scopes[i], n))
			return char_begins_word(text[n]);
	}
	for (n = 0; n < left && char_is_word(text[n]);)
		n++;
	return n < left && text[n] == '[';
}

static bool ends_predicate(struct parser *parser)
{
	size_t at = parser->pos++;
	bool ends;

	lex_skip(parser);
	ends = parser_char(parser, parser->pos) == '{';
	parser->pos = at;
	return ends;
}

/* Is `=~` here an assignment of ~x? Before a quote it is the operator that matches a pattern. */
static bool is_assignment(const struct parser *parser)
{
	return parser_char(parser, parser->pos) == '=' &&
	       parser_char(parser, parser->pos + 1) == '~' &&
	       parser_char(parser, blanks_end(parser, parser->pos + 2)) != '"';
}

static bool take_word(struct parser *parser)
{
	bool assigns = is_assignment(parser);

	if (begins_path(parser)) {
		take_path(parser);
		return true;
	}
	if (!assigns && !(own(parser)->in_predicate && parser_char(parser, parser->pos) == '/' &&
			  ends_predicate(parser)))
		return false;
	parser->token.kind = assigns ? TOKEN_OP : TOKEN_PREDICATE;
	parser->token.op[0] = assigns ? '=' : 0;
	parser->pos++;
	return true;
}

/* ---- names ---- */

static struct ast *constant_node(struct parser *parser, size_t at, struct value value)
{
	struct ast *node = parse_node(parser, AST_CONST, at);

	node->value = value;
	return node;
}

static struct ast *node_over(struct parser *parser, enum ast_kind kind, uint32_t at, struct ast *of)
{
	struct ast *node = parse_node(parser, kind, at);

	node->args = arena_copy(parser->arena, &of, 1, sizeof of);
	node->nargs = 1;
	return node;
}

static struct ast *field_node(struct parser *parser, uint32_t at, const char *const *names,
			      size_t nnames)
{
	struct oneliner *program = own(parser)->program;
	struct ast *node = parse_node(parser, AST_FIELD, at);

	node->index = (uint32_t)program->nfields;
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
	if (lex_is_op(parser, ".") || lex_is_op(parser, "->")) {
		lex_next(parser);
		if (parser->token.kind != TOKEN_IDENT && parser->token.kind != TOKEN_PATH) {
			parse_expected(parser, "the name of a field");
			return false;
		}
		if (parser->token.kind == TOKEN_PATH)
			parse_error(parser, parser->token.at,
				    "an element of an array is written with a dot: name.0");
		*out = token_text(parser);
		lex_next(parser);
		return true;
	}
	return false;
}

/* Reads the element 0 of name.0, digits alone: in name.0.1 the lexer would find a number 0.1. */
static bool take_element(struct parser *parser, const char **out)
{
	size_t from = parser->pos;

	if (!lex_is_op(parser, ".") || from >= parser->len || !char_is_digit(parser->text[from]))
		return false;
	while (parser->pos < parser->len && char_is_digit(parser->text[parser->pos]))
		parser->pos++;
	*out = arena_strndup(parser->arena, parser->text + from, parser->pos - from);
	lex_next(parser);
	return true;
}

static struct ast *parse_members(struct parser *parser, uint32_t at, const char *first)
{
	const char *names[FIELD_NAMES_MAX];
	size_t count = 0;

	if (first)
		names[count++] = first;
	while (count < FIELD_NAMES_MAX && !parser->failed &&
	       (take_element(parser, &names[count]) || take_member(parser, &names[count])))
		count++;
	if (!count)
		parse_error(parser, at, "args stands for all fields: name one, args.NAME");
	return field_node(parser, at, names, count);
}

static struct ast *state_node(struct parser *parser, uint32_t at, const char *text)
{
	struct oneliner *program = own(parser)->program;
	struct ast *node = parse_node(parser, AST_STATE, at);

	node->index = (uint32_t)program->nstates;
	*mem_push(program->states, program->nstates, program->states_capacity) =
		(struct state_use){.text = text, .at = at};
	return node;
}

/* ---- calls ---- */

/* Parses state("cpu[cpu]/thread"), whose text may be any expression of the rule language. */
static struct ast *parse_state(struct parser *parser, uint32_t at)
{
	lex_next(parser);
	if (parser->token.kind != TOKEN_STRING)
		parse_expected(parser, "a text, as in state(\"cpu[cpu]/thread\")");
	struct ast *node = state_node(parser, at, token_text(parser));
	lex_next(parser);
	parse_op(parser, ")", "')'");
	return node;
}

static struct ast *parse_call(struct parser *parser, uint32_t at, const char *name)
{
	struct oneliner *program = own(parser)->program;
	enum function function;
	struct ast *node;

	if (!strcmp(name, "state"))
		return parse_state(parser, at);
	node = parse_node(parser, AST_CALL, at);
	if (parser->failed || !function_find(program, name, at, &function, own(parser)->err)) {
		stop(parser);
		return node;
	}
	node->function = function;
	node->name = name;
	parse_args(parser, node, ")");
	if (function == FUNCTION_HAS && node->nargs && node->args[0]->kind == AST_FIELD)
		program->fields[node->args[0]->index].is_asked = true;
	return node;
}

/* Constants of kernel headers that bpftrace's scripts use; false: no such name. */
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

static struct ast *parse_name(struct parser *parser)
{
	struct oneliner *program = own(parser)->program;
	uint32_t at = (uint32_t)parser->token.at;
	const char *name = token_text(parser);
	enum builtin builtin;
	struct ast *node;
	int64_t number;

	lex_next(parser);
	if (lex_is_op(parser, "("))
		return parse_call(parser, at, name);
	if (!strcmp(name, "args"))
		return parse_members(parser, at, NULL);
	if (find_constant(name, &number))
		return constant_node(parser, at, value_s64(number));
	if (parser->failed)
		return constant_node(parser, at, value_s64(0));
	own(parser)->err->kind = ERR_NONE;
	if (builtin_find(program, name, at, &builtin, own(parser)->err)) {
		node = parse_node(parser, AST_BUILTIN, at);
		node->index = builtin;
		program->uses_builtin[builtin] = true;
		return node;
	}
	if (own(parser)->err->kind != ERR_NONE) {
		stop(parser);
		return constant_node(parser, at, value_s64(0));
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

static struct ast *parse_map(struct parser *parser)
{
	struct ast *node = parse_node(parser, AST_MAP, parser->token.at);

	node->index = map_number(own(parser)->program, token_text(parser), node->at);
	lex_next(parser);
	if (lex_is_op(parser, "[")) {
		parse_args(parser, node, "]");
		if (!node->nargs)
			parse_error(parser, node->at, "the map's key is missing");
		if (node->nargs > PROBE_KEYS_MAX)
			parse_error(parser, node->at, "a map has at most %d keys", PROBE_KEYS_MAX);
	}
	return node;
}

static struct ast *parse_variable(struct parser *parser)
{
	struct ast *node = parse_node(parser, AST_VARIABLE, parser->token.at);

	const char *name = token_text(parser);

	if (char_is_digit(name[1]))
		parse_error(parser, node->at,
			    "'%s': words of the command line are not passed on; "
			    "write the value into the program",
			    name);
	else if (!name[1])
		parse_error(parser, node->at, "a variable needs a name: $name");
	node->index = variable_number(own(parser)->program, name);
	lex_next(parser);
	return node;
}

/* ---- operands ---- */

/* The width and signedness of the type of a cast, such as (uint32)x. */
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

static struct ast *take_bracket(struct parser *parser)
{
	uint32_t at = (uint32_t)parser->token.at;
	uint8_t bits;
	bool is_signed;
	struct ast *node;

	parse_open(parser);
	if (parser->token.kind == TOKEN_IDENT && cast_of(token_text(parser), &bits, &is_signed)) {
		lex_next(parser);
		parse_close(parser, ")", "')'");
		lex_next(parser);
		node = node_over(parser, AST_CAST, at, parse_binding(parser, BINDS_UNARY));
		node->bits = bits;
		node->is_signed = is_signed;
		return node;
	}
	node = parse_expr(parser);
	if (lex_is_op(parser, ","))
		parse_error(parser, parser->token.at,
			    "there are no tuples: give a map several keys, @[a, b]");
	parse_close(parser, ")", "')' or an operator");
	lex_next(parser);
	return node;
}

static struct ast *parse_primary(struct parser *parser)
{
	size_t at = parser->token.at;
	struct ast *node;

	switch (parser->token.kind) {
	case TOKEN_NUMBER:
	case TOKEN_STRING:
		node = constant_node(parser, at, parser->token.value);
		lex_next(parser);
		return node;
	case TOKEN_IDENT:
		return parse_name(parser);
	case TOKEN_MAP:
		return parse_map(parser);
	case TOKEN_VARIABLE:
		return parse_variable(parser);
	case TOKEN_PATH:
		node = state_node(parser, (uint32_t)at, token_text(parser));
		lex_next(parser);
		return node;
	default:
		break;
	}
	if (lex_is_op(parser, "("))
		return take_bracket(parser);
	if (lex_is_op(parser, "*"))
		parse_error(parser, at,
			    "a recording has no memory that a pointer could be followed to");
	parse_expected(parser,
		       "a value (a number, a text, a field, @map, $variable or a function)");
	return constant_node(parser, at, value_s64(0));
}

/* `op`: OP_ADD for ++, OP_SUB for --. */
static struct ast *increment(struct parser *parser, enum op op, uint32_t at, struct ast *of,
			     bool prefix)
{
	struct ast *node = node_over(parser, AST_INCREMENT, at, of);

	node->op = op;
	node->is_prefix = prefix;
	node->is_used = true;
	if (of->kind != AST_MAP && of->kind != AST_VARIABLE)
		parse_error(parser, of->at, "++ and -- are for maps and variables");
	return node;
}

static enum op step_of(const struct parser *parser)
{
	return lex_is_op(parser, "++") ? OP_ADD : lex_is_op(parser, "--") ? OP_SUB : OP_NONE;
}

static struct ast *parse_operand(struct parser *parser)
{
	size_t at = parser->token.at;
	enum op before = step_of(parser), behind;
	struct ast *node;

	if (before != OP_NONE) {
		lex_next(parser);
		return increment(parser, before, (uint32_t)at, parse_primary(parser), true);
	}
	node = parse_primary(parser);
	behind = step_of(parser);
	if (behind != OP_NONE) {
		node = increment(parser, behind, node->at, node, false);
		lex_next(parser);
	} else if (lex_is_op(parser, ".") || lex_is_op(parser, "->")) {
		parse_error(parser, parser->token.at, "only an event's fields have members");
	} else if (lex_is_op(parser, "[")) {
		parse_error(parser, parser->token.at,
			    "only maps have keys; an element of a field is written with a dot: "
			    "name.0");
	}
	return node;
}

/*
 * parse_expr.c - paths, expressions and constants, by recursive descent
 *
 * An error makes every further word END, so the functions return straight up; trees that hold an
 * error are never used. RULE_NODES, RULE_BRACKETS and RULE_KEY_DEPTH bound the recursion.
 */
#include "state/rules/lex.h"

#include "engine/base/digits.h"

#include <string.h>

static void count_node(struct parser *parser, size_t at)
{
	if (++parser->nodes > RULE_NODES)
		parse_error(parser, at, "the statement is too long: expected at most %d operands",
			    RULE_NODES);
}

static struct ast *node_new(struct parser *parser, enum ast_kind kind, size_t at)
{
	count_node(parser, at);
	return ast_new(parser->rules, kind, parser_place(parser, at));
}

static struct ast *node_of(struct parser *parser, enum op op, size_t at, struct ast *a,
			   struct ast *b)
{
	count_node(parser, at);
	return ast_of(parser->rules, op, parser_place(parser, at), a, b);
}

static bool open_bracket(struct parser *parser)
{
	if (++parser->brackets > RULE_BRACKETS)
		parse_error(parser, parser->token.at, "more than %d brackets inside brackets",
			    RULE_BRACKETS);
	lex_next(parser);
	return !parser->failed;
}

/* The bracket that was opened last; the word behind it is read outside. */
static void close_bracket(struct parser *parser, const char *op, const char *expected)
{
	if (!lex_is_op(parser, op)) {
		parse_expected(parser, expected);
		return;
	}
	parser->brackets--;
}

/* ---- constants ---- */

static void negate(struct parser *parser, size_t at, struct value *value)
{
	if (!lex_negate(value))
		parse_error(parser, at, "the number does not fit in 64 bits");
}

static bool word_constant(const struct parser *parser, struct value *out)
{
	const struct token *token = &parser->token;

	return token->kind == TOKEN_IDENT &&
	       lex_constant(token->value.text, token->value.len, out);
}

bool parse_constant(struct parser *parser, struct value *out)
{
	bool minus = lex_is_op(parser, "-");
	size_t at = parser->token.at;

	if (minus)
		lex_next(parser);
	if (parser->token.kind == TOKEN_NUMBER || (parser->token.kind == TOKEN_STRING && !minus)) {
		*out = parser->token.value;
		if (minus)
			negate(parser, at, out);
	} else if (minus || !word_constant(parser, out)) {
		parse_expected(parser, minus ? "a number" : "a constant");
		return false;
	}
	lex_next(parser);
	return !parser->failed;
}

/* ---- paths ---- */

struct path_builder {
	struct ast_atom atoms[PATH_ATOMS];
	uint32_t natoms;
};

static struct ast_atom *add_atom(struct parser *parser, struct path_builder *builder,
				 enum atom_kind kind)
{
	struct ast_atom *atom = &builder->atoms[builder->natoms];

	if (builder->natoms == PATH_ATOMS - 4) { /* room for host["NAME"] and a stack's depth */
		parse_error(parser, parser->token.at, "a path has at most %d names and keys",
			    PATH_ATOMS - 4);
		return atom;
	}
	*atom = (struct ast_atom){.kind = kind, .at = parser_place(parser, parser->token.at)};
	builder->natoms++;
	return atom;
}

static void add_name(struct parser *parser, struct path_builder *builder)
{
	const struct token *token = &parser->token;
	struct ast_atom *atom;

	if (token->kind != TOKEN_IDENT && token->kind != TOKEN_STRING) {
		parse_expected(parser, "a name");
		return;
	}
	if (token->value.len == 0 || memchr(token->value.text, 0, token->value.len)) {
		parse_error(parser, token->at,
			    "expected a name, found one that is empty or holds "
			    "a zero byte");
		return;
	}
	atom = add_atom(parser, builder, ATOM_NAME);
	atom->name = arena_strndup(parser->rules->arena, token->value.text, token->value.len);
}

static uint32_t find_variable(struct parser *parser)
{
	struct view_def *view = parser->view;
	const struct token *token = &parser->token;

	if (!view) {
		parse_error(parser, token->at, "a variable ?NAME stands only in a view");
		return 0;
	}
	if (token->kind != TOKEN_IDENT || token->blank_before) {
		parse_expected(parser, "the name of a variable right after '?'");
		return 0;
	}
	for (uint32_t i = 0; i < view->nvariables; i++)
		if (lex_is_word(parser, view->variables[i]))
			return i;
	if (!parser->declares) {
		parse_expected(parser, "a variable of the view's path");
		return 0;
	}
	if (view->nvariables == RULE_VARIABLES) {
		parse_error(parser, token->at, "a view has at most %d variables", RULE_VARIABLES);
		return 0;
	}
	view->variables[view->nvariables] =
		arena_strndup(parser->rules->arena, token->value.text, token->value.len);
	return view->nvariables++;
}

static void refuse_key(struct parser *parser, const struct ast *key)
{
	if (key->kind == AST_CONST &&
	    (key->value.kind == VALUE_NONE || key->value.kind == VALUE_FLOAT))
		parse_error(parser, key->at, "expected an integer, a string or a boolean as key");
}

/* Inside `[`: the bracket is open and its first word is looked at. */
static void parse_key(struct parser *parser, struct path_builder *builder, enum path_use use)
{
	struct ast_atom *atom;

	if (use == PATH_TARGET && lex_is_op(parser, "*")) {
		add_atom(parser, builder, ATOM_ANY);
		lex_next(parser);
	} else if (parser->declares && lex_is_op(parser, "?")) {
		atom = add_atom(parser, builder, ATOM_VARIABLE);
		lex_next(parser);
		atom->variable = find_variable(parser);
		lex_next(parser);
	} else {
		atom = add_atom(parser, builder, ATOM_EXPR);
		if (++parser->key_depth > RULE_KEY_DEPTH)
			parse_error(parser, parser->token.at, "keys nest at most %d deep",
				    RULE_KEY_DEPTH);
		bool declares = parser->declares;
		parser->declares = false;
		atom->key = parse_expr(parser);
		parser->declares = declares;
		parser->key_depth--;
		if (!parser->failed)
			refuse_key(parser, atom->key);
	}
	close_bracket(parser, "]", "']'");
}

/* Keys behind a name: `[` follows at once. The path goes on at parser->pos. */
static void parse_keys(struct parser *parser, struct path_builder *builder, enum path_use use)
{
	while (!parser->failed && parser_char(parser, parser->pos) == '[') {
		lex_next(parser); /* the bracket */
		if (open_bracket(parser))
			parse_key(parser, builder, use);
	}
}

/* Is there one more step? Its first word is then looked at. */
static bool next_step(struct parser *parser, enum path_use use, bool *below)
{
	char next = parser_char(parser, parser->pos + 1);

	if (parser->failed || parser_char(parser, parser->pos) != '/')
		return false;
	parser->pos++;
	if (use == PATH_TARGET && next == '*' && parser_char(parser, parser->pos + 1) == '*') {
		parser->pos += 2;
		*below = true;
		return false;
	}
	if (!char_begins_word(next) && next != '"') {
		size_t at = parser->pos;
		lex_next(parser);
		parse_error(parser, at,
			    "expected a name right after '/' (a division needs blanks "
			    "on both sides)");
		return false;
	}
	lex_next(parser);
	return true;
}

struct ast_path *parse_path(struct parser *parser, enum path_use use)
{
	struct ast_path *path = arena_alloc(parser->rules->arena, sizeof *path);
	struct path_builder builder;

	builder.natoms = 0;
	path->at = parser_place(parser, parser->token.at);
	path->ref = parser->rules->nrefs++;
	if (parser->token.kind == TOKEN_STRING && parser_char(parser, parser->pos) != '/' &&
	    parser_char(parser, parser->pos) != '[') {
		parser->token.at = parser->token.end;
		parse_error(parser, parser->pos, "expected '/' or '[' right after a quoted name");
	}
	do {
		add_name(parser, &builder);
		parse_keys(parser, &builder, use);
	} while (next_step(parser, use, &path->below));
	lex_next(parser);
	path->natoms = builder.natoms;
	path->atoms = arena_copy(parser->rules->arena, builder.atoms, builder.natoms,
				 sizeof *path->atoms);
	return path;
}

/* ---- expressions ---- */

static struct ast *parse_call(struct parser *parser)
{
	struct ast *ast = node_new(parser, AST_CALL, parser->token.at);
	struct ast *args[16];
	uint32_t n = 0;

	ast->name = arena_strndup(parser->rules->arena, parser->token.value.text,
				  parser->token.value.len);
	lex_next(parser); /* the bracket */
	if (!open_bracket(parser))
		return ast;
	while (!parser->failed && !lex_is_op(parser, ")")) {
		if (n == sizeof args / sizeof *args) {
			parse_error(parser, parser->token.at, "a call has at most 16 arguments");
			return ast;
		}
		args[n++] = parse_expr(parser);
		if (!lex_is_op(parser, ","))
			break;
		lex_next(parser);
		if (lex_is_op(parser, ")"))
			parse_expected(parser, "an expression");
	}
	close_bracket(parser, ")", "',' or ')'");
	lex_next(parser);
	ast->nargs = n;
	ast->args = arena_copy(parser->rules->arena, args, n, sizeof *args);
	return ast;
}

static struct ast *parse_capture(struct parser *parser)
{
	struct ast *ast = node_new(parser, AST_CAPTURE, parser->token.at);

	lex_next(parser);
	if (parser->token.kind != TOKEN_NUMBER || parser->token.blank_before ||
	    parser->token.value.kind != VALUE_INT || parser->token.value.u < 1 ||
	    parser->token.value.u > 9)
		parse_expected(parser, "a digit from 1 to 9 right after '$'");
	ast->index = (uint32_t)parser->token.value.u;
	lex_next(parser);
	return ast;
}

static struct ast *parse_variable(struct parser *parser)
{
	struct ast *ast = node_new(parser, AST_VARIABLE, parser->token.at);

	if (parser->view)
		lex_next(parser);
	ast->index = find_variable(parser);
	lex_next(parser);
	return ast;
}

/* Of a name alone: the expression that it stands for. NULL: it is a path. */
static struct ast *find_let(struct parser *parser, const struct ast_path *path, size_t at)
{
	const struct let_def *let =
		path->natoms == 1 && path->atoms[0].kind == ATOM_NAME
			? rules_let(parser->rules, parser->file, path->atoms[0].name)
			: NULL;

	if (!let)
		return NULL;
	parser->nodes += let->nodes;
	count_node(parser, at);
	/* others use what is below it, too; a minus before a constant changes the constant */
	return arena_copy(parser->rules->arena, let->value, 1, sizeof *let->value);
}

/* A name, a string or a number is looked at. */
static struct ast *parse_word(struct parser *parser)
{
	size_t at = parser->token.at;
	char next = parser_char(parser, parser->pos);
	bool path = next == '/' || next == '[';
	struct value value;

	if (parser->token.kind == TOKEN_IDENT && next == '(')
		return parse_call(parser);
	if (parser->token.kind == TOKEN_NUMBER || (parser->token.kind == TOKEN_STRING && !path) ||
	    (!path && word_constant(parser, &value))) {
		struct ast *ast = node_new(parser, AST_CONST, at);
		parse_constant(parser, &ast->value);
		return ast;
	}
	struct ast *ast = node_new(parser, AST_PATH, at);
	ast->path = parse_path(parser, PATH_PLAIN);
	struct ast *named = parser->failed ? NULL : find_let(parser, ast->path, at);
	return named ? named : ast;
}

static struct ast *parse_primary(struct parser *parser)
{
	if (parser->token.kind == TOKEN_IDENT || parser->token.kind == TOKEN_NUMBER ||
	    parser->token.kind == TOKEN_STRING)
		return parse_word(parser);
	if (lex_is_op(parser, "$"))
		return parse_capture(parser);
	if (lex_is_op(parser, "?"))
		return parse_variable(parser);
	if (lex_is_op(parser, "(")) {
		struct ast *inside;
		if (!open_bracket(parser))
			return node_new(parser, AST_CONST, parser->token.at);
		inside = parse_expr(parser);
		close_bracket(parser, ")", "')' or an operator");
		lex_next(parser);
		return inside;
	}
	parse_expected(parser, "a value (a constant, a path, a function or a bracket)");
	return node_new(parser, AST_CONST, parser->token.at);
}

static struct ast *parse_unary(struct parser *parser)
{
	size_t at = parser->token.at;
	enum op op = lex_is_op(parser, "-")    ? OP_NEG
		     : lex_is_op(parser, "~~") ? OP_BIT_NOT
					       : OP_NONE;
	struct ast *inside;

	if (op == OP_NONE)
		return parse_primary(parser);
	lex_next(parser);
	inside = parse_primary(parser);
	if (op == OP_NEG && inside->kind == AST_CONST &&
	    (inside->value.kind == VALUE_FLOAT || value_is_index(&inside->value))) {
		negate(parser, at, &inside->value);
		inside->at = parser_place(parser, at);
		return inside;
	}
	return node_of(parser, op, at, inside, NULL);
}

/* How tightly operators bind, the loosest first. */
enum binds {
	BINDS_OR,
	BINDS_AND,
	BINDS_NOT,
	BINDS_COMPARE,
	BINDS_BITS,
	BINDS_SUM,
	BINDS_TERM,
	BINDS_UNARY
};

static const struct binary {
	const char *text;
	enum op op;
	enum binds binds;
} binaries[] = {{"||", OP_OR, BINDS_OR},       {"&&", OP_AND, BINDS_AND},
		{"==", OP_EQ, BINDS_COMPARE},  {"!=", OP_NE, BINDS_COMPARE},
		{"<", OP_LT, BINDS_COMPARE},   {"<=", OP_LE, BINDS_COMPARE},
		{">", OP_GT, BINDS_COMPARE},   {">=", OP_GE, BINDS_COMPARE},
		{"~", OP_GLOB, BINDS_COMPARE}, {"=~", OP_REGEX, BINDS_COMPARE},
		{"&", OP_BIT_AND, BINDS_BITS}, {"|", OP_BIT_OR, BINDS_BITS},
		{"^", OP_BIT_XOR, BINDS_BITS}, {"<<", OP_SHL, BINDS_BITS},
		{">>", OP_SHR, BINDS_BITS},    {"+", OP_ADD, BINDS_SUM},
		{"-", OP_SUB, BINDS_SUM},      {"*", OP_MUL, BINDS_TERM},
		{"/", OP_DIV, BINDS_TERM},     {"%", OP_MOD, BINDS_TERM}};

/* NULL: the current word is none. */
static const struct binary *find_binary(const struct parser *parser)
{
	if (parser->token.kind != TOKEN_OP)
		return NULL;
	for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++)
		if (lex_is_op(parser, binaries[i].text))
			return &binaries[i];
	return NULL;
}

/* `before`: the operator that stands before it, on the same level. */
static void check_operator(struct parser *parser, enum binds binds, enum op op, enum op before)
{
	size_t at = parser->token.at;
	char next = parser_char(parser, parser->pos);

	if (binds == BINDS_COMPARE && before != OP_NONE)
		parse_error(parser, at, "expected '&&', '||' or the end: comparisons do not chain");
	else if (binds == BINDS_BITS && before != OP_NONE && op != before)
		parse_error(parser, at,
			    "mixing & | ^ << >> needs brackets to say which goes first");
	else if (op == OP_DIV && /* else it would be a path */
		 (!parser->token.blank_before || !(is_blank(next) || next == '\n')))
		parse_error(parser, at, "a division needs blanks on both sides, a path has none");
}

static struct ast *parse_in(struct parser *parser, struct ast *left)
{
	struct ast *ast = node_of(parser, OP_NONE, parser->token.at, left, NULL);
	struct arena *arena = parser->rules->arena;
	size_t capacity = 0;

	ast->kind = AST_IN;
	lex_next(parser);
	if (!lex_is_op(parser, "(")) {
		parse_expected(parser, "'(' after in");
		return ast;
	}
	open_bracket(parser);
	while (!parser->failed &&
	       parse_constant(parser, arena_push(arena, ast->values, ast->nvalues, capacity)) &&
	       lex_is_op(parser, ","))
		lex_next(parser);
	close_bracket(parser, ")", "',' or ')'");
	lex_next(parser);
	return ast;
}

/*
 * C binds & | ^ looser than comparisons. `from` is where the left operand begins, `at` where the
 * comparison's sign of `sign` bytes stands, `bits` where one of the operands has its sign; the
 * word that is looked at ends the right operand.
 */
static void ask_for_brackets(struct parser *parser, size_t from, size_t at, size_t sign,
			     size_t bits)
{
	const char *text = parser->text;
	size_t end = parser->token.at;
	size_t open = bits < at ? bits + 1 : from, close = bits < at ? end : bits;
	size_t own = bits < at ? from : at + sign, own_end = bits < at ? at : end;

	while (is_blank(parser_char(parser, open)))
		open++;
	while (is_blank(parser_char(parser, own)))
		own++;
	while (close > open && is_blank(text[close - 1]))
		close--;
	while (own_end > own && is_blank(text[own_end - 1]))
		own_end--;
	while (end > own_end && is_blank(text[end - 1]))
		end--;
	parse_error(parser, at,
		    "this needs brackets: %.*s(%.*s)%.*s, or, as C and 'do' read it, %.*s(%.*s)%.*s",
		    (int)(own - from), text + from, (int)(own_end - own), text + own,
		    (int)(end - own_end), text + own_end, (int)(open - from), text + from,
		    (int)(close - open), text + open, (int)(end - close), text + close);
}

static struct ast *parse_binary(struct parser *parser, enum binds binds);

/* `!` is looked at. */
static struct ast *parse_not(struct parser *parser)
{
	size_t at = parser->token.at;

	lex_next(parser);
	return node_of(parser, OP_NOT, at, parse_binary(parser, BINDS_COMPARE), NULL);
}

/*
 * An operand and the operators behind it that bind as tightly as `binds` or more. `bound` is how
 * tightly the last of them binds: one that binds tighter would have been read with its right side.
 */
static struct ast *parse_binary(struct parser *parser, enum binds binds)
{
	enum op before = OP_NONE;
	enum binds bound = BINDS_UNARY;
	const struct binary *binary;
	size_t from = parser->token.at, bits = 0;
	struct ast *left;

	if (binds <= BINDS_NOT && lex_is_op(parser, "!")) {
		left = parse_not(parser);
		bound = BINDS_NOT;
	} else {
		left = parse_unary(parser);
	}
	for (;;) {
		size_t at = parser->token.at;

		if (binds <= BINDS_COMPARE && bound > BINDS_COMPARE && lex_is_word(parser, "in")) {
			left = parse_in(parser, left);
			bound = BINDS_NOT;
			continue;
		}
		binary = find_binary(parser);
		if (!binary || binary->binds < binds || binary->binds > bound) {
			parser->bits = bound == BINDS_BITS ? bits : 0;
			return left;
		}
		before = binary->binds == bound ? before : OP_NONE;
		check_operator(parser, binary->binds, binary->op, before);
		size_t sign = strlen(binary->text);
		lex_next(parser);
		left = node_of(parser, binary->op, at, left,
			       parse_binary(parser, binary->binds + 1));
		bits = bound == BINDS_BITS ? bits : parser->bits;
		if (parser->asks && binary->binds == BINDS_COMPARE && bits)
			ask_for_brackets(parser, from, at, sign, bits - 1);
		bits = sign == 1 ? at + 1 : 0; /* shifts bind alike in C */
		bound = binary->binds;
		before = binary->op;
	}
}

/* `?` is looked at: a choice, as choose() makes it. */
static struct ast *parse_choice(struct parser *parser, struct ast *condition)
{
	struct ast *ast = node_new(parser, AST_CALL, parser->token.at);
	struct ast *args[] = {condition, NULL, NULL};

	ast->name = "choose";
	lex_next(parser);
	args[1] = parse_expr(parser);
	if (!lex_is_op(parser, ":"))
		parse_expected(parser, "':' and the value where the condition is false");
	lex_next(parser);
	args[2] = parse_expr(parser);
	ast->nargs = sizeof args / sizeof *args;
	ast->args = arena_copy(parser->rules->arena, args, ast->nargs, sizeof *args);
	return ast;
}

struct ast *parse_expr(struct parser *parser)
{
	struct ast *ast = parse_binary(parser, BINDS_OR);

	return lex_is_op(parser, "?") ? parse_choice(parser, ast) : ast;
}

/* What other languages write where this one has another sign. */
static const char *sign_meant(const struct parser *parser)
{
	static const struct {
		const char *written, *meant;
	} signs[] = {{"=", "=="}, {"and", "&&"}, {"AND", "&&"}, {"or", "||"},
		     {"OR", "||"}, {"like", "~"}, {"LIKE", "~"}};

	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
		if (lex_is_op(parser, signs[i].written) || lex_is_word(parser, signs[i].written))
			return signs[i].meant;
	return NULL;
}

struct ast *parse_expr_text(struct rules *rules, const struct rule_file *file)
{
	struct parser parser = {
		.rules = rules,
		.file = file,
		.text = file->text,
		.len = file->len,
		.brackets = 1,
		.asks = true};

	lex_next(&parser);
	struct ast *ast = parse_expr(&parser);
	const char *meant = sign_meant(&parser);
	struct buf what = {0};

	buf_add_text(&what, "an operator");
	if (meant)
		buf_printf(&what, " such as '%s'", meant);
	buf_add_text(&what, " or the end");
	if (parser.token.kind != TOKEN_END)
		parse_expected(&parser, buf_text(&what));
	buf_release(&what);
	return parser.failed ? NULL : ast;
}

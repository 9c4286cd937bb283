/*
 * parse_expr.c - operators of the rule language, and its operands: paths, calls, captures,
 * variables
 *
 * RULE_NODES, RULE_BRACKETS and RULE_KEY_DEPTH bound the recursion.
 */
#include "state/rules/lex.h"

#include "engine/base/digits.h"

#include <string.h>

static void tell(struct parser *parser, size_t at, const char *text)
{
	rules_error(own(parser)->rules, own(parser)->file, parser_place(parser, at), "%s", text);
}

static struct ast *parse_primary(struct parser *parser);

/* Precedence of operators, the loosest first. */
enum binds {
	BINDS_OR,
	BINDS_AND,
	BINDS_NOT,
	BINDS_COMPARE,
	BINDS_BITS,
	BINDS_SUM,
	BINDS_TERM,
	BINDS_UNARY,
	BINDS_OPERAND
};

static const struct operator prefixes[] = {{"!", OP_NOT, BINDS_NOT, BINDS_COMPARE},
					   {"-", OP_NEG, BINDS_UNARY, BINDS_OPERAND},
					   {"~~", OP_BIT_NOT, BINDS_UNARY, BINDS_OPERAND},
					   {0}};

enum { JOINS = 2 }; /* the first operators, which in a key join columns */

static const struct operator binaries[] = {{"|", OP_BIT_OR, BINDS_BITS, 0},
					   {"+", OP_ADD, BINDS_SUM, 0},
					   {"||", OP_OR, BINDS_OR, 0},
					   {"&&", OP_AND, BINDS_AND, 0},
					   {"==", OP_EQ, BINDS_COMPARE, 0},
					   {"!=", OP_NE, BINDS_COMPARE, 0},
					   {"<", OP_LT, BINDS_COMPARE, 0},
					   {"<=", OP_LE, BINDS_COMPARE, 0},
					   {">", OP_GT, BINDS_COMPARE, 0},
					   {">=", OP_GE, BINDS_COMPARE, 0},
					   {"~", OP_GLOB, BINDS_COMPARE, 0},
					   {"=~", OP_REGEX, BINDS_COMPARE, 0},
					   {"&", OP_BIT_AND, BINDS_BITS, 0},
					   {"^", OP_BIT_XOR, BINDS_BITS, 0},
					   {"<<", OP_SHL, BINDS_BITS, 0},
					   {">>", OP_SHR, BINDS_BITS, 0},
					   {"-", OP_SUB, BINDS_SUM, 0},
					   {"*", OP_MUL, BINDS_TERM, 0},
					   {"/", OP_DIV, BINDS_TERM, 0},
					   {"%", OP_MOD, BINDS_TERM, 0},
					   {0}};

static const char *const signs[] = {"||", "&&", "==", "!=", "<=", ">=", "=~",
				    "<<", ">>", "+=", "~~", "**", NULL};

static const struct dialect rule_language = {.signs = signs,
					     .lines = true,
					     .strict = true,
					     .prefixes = prefixes,
					     .binaries = binaries,
					     .in_binds = BINDS_COMPARE,
					     .what = "statement",
					     .nodes = RULE_NODES,
					     .depth = RULE_NODES,
					     .brackets = RULE_BRACKETS,
					     .operand = parse_primary,
					     .error = tell};

struct rule_parser rule_parser_of(struct rules *rules, const struct rule_file *file,
				  const char *text, size_t len)
{
	return (struct rule_parser){
		.in = {.dialect = &rule_language, .arena = rules->arena, .text = text, .len = len},
		.rules = rules,
		.file = file};
}

bool lex_is_keyword(const struct parser *parser, const char *word)
{
	char next = parser_char(parser, parser->token.end);

	return lex_is_word(parser, word) && (!next || is_blank(next) || next == '\n');
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

static void parse_expr_add_name(struct parser *parser, struct path_builder *builder)
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
	atom->name = token_text(parser);
}

static uint32_t find_variable(struct parser *parser)
{
	struct view_def *view = own(parser)->view;
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
	if (!own(parser)->declares) {
		parse_expected(parser, "a variable of the view's path");
		return 0;
	}
	if (view->nvariables == RULE_VARIABLES) {
		parse_error(parser, token->at, "a view has at most %d variables", RULE_VARIABLES);
		return 0;
	}
	view->variables[view->nvariables] = token_text(parser);
	return view->nvariables++;
}

static void refuse_key(struct parser *parser, const struct ast *key)
{
	if (key->kind == AST_CONST &&
	    (key->value.kind == VALUE_NONE || key->value.kind == VALUE_FLOAT))
		parse_error(parser, key->at, "expected an integer, a string or a boolean as key");
}

/* Parses a key; its first token, behind the `[`, is the current one. */
static void parse_key(struct parser *parser, struct path_builder *builder, enum path_use use)
{
	struct ast_atom *atom;

	if (use == PATH_TARGET && lex_is_op(parser, "*")) {
		add_atom(parser, builder, ATOM_ANY);
		lex_next(parser);
	} else if (own(parser)->declares && lex_is_op(parser, "?")) {
		atom = add_atom(parser, builder, ATOM_VARIABLE);
		lex_next(parser);
		atom->variable = find_variable(parser);
		lex_next(parser);
	} else {
		atom = add_atom(parser, builder, ATOM_EXPR);
		if (++own(parser)->key_depth > RULE_KEY_DEPTH)
			parse_error(parser, parser->token.at, "keys nest at most %d deep",
				    RULE_KEY_DEPTH);
		bool declares = own(parser)->declares;
		own(parser)->declares = false;
		atom->key = parse_expr(parser);
		own(parser)->declares = declares;
		own(parser)->key_depth--;
		if (!parser->failed)
			refuse_key(parser, atom->key);
	}
	parse_close(parser, "]", "']'");
}

/* Parses keys behind a name: each `[` must follow at once. The path goes on at parser->pos. */
static void parse_keys(struct parser *parser, struct path_builder *builder, enum path_use use)
{
	while (!parser->failed && parser_char(parser, parser->pos) == '[') {
		lex_next(parser); /* the bracket */
		if (parse_open(parser))
			parse_key(parser, builder, use);
	}
}

/* Is there one more step? Then its first token is the current one. */
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
	struct ast_path *path = arena_alloc(parser->arena, sizeof *path);
	struct path_builder builder;

	builder.natoms = 0;
	path->at = parser_place(parser, parser->token.at);
	path->ref = own(parser)->rules->nrefs++;
	if (parser->token.kind == TOKEN_STRING && parser_char(parser, parser->pos) != '/' &&
	    parser_char(parser, parser->pos) != '[') {
		parser->token.at = parser->token.end;
		parse_error(parser, parser->pos, "expected '/' or '[' right after a quoted name");
	}
	do {
		parse_expr_add_name(parser, &builder);
		parse_keys(parser, &builder, use);
	} while (next_step(parser, use, &path->below));
	lex_next(parser);
	path->natoms = builder.natoms;
	path->atoms = arena_copy(parser->arena, builder.atoms, builder.natoms, sizeof *path->atoms);
	return path;
}

/* ---- expressions ---- */

static struct ast *parse_call(struct parser *parser)
{
	struct ast *ast = parse_node(parser, AST_CALL, parser->token.at);

	ast->name = token_text(parser);
	lex_next(parser); /* the bracket */
	parse_args(parser, ast, ")");
	return ast;
}

static struct ast *parse_capture(struct parser *parser)
{
	struct ast *ast = parse_node(parser, AST_CAPTURE, parser->token.at);

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
	struct ast *ast = parse_node(parser, AST_VARIABLE, parser->token.at);

	if (own(parser)->view)
		lex_next(parser);
	ast->index = find_variable(parser);
	lex_next(parser);
	return ast;
}

/* The expression of a let with that name; NULL: the name is a path. */
static struct ast *find_let(struct parser *parser, const struct ast_path *path, size_t at)
{
	const struct let_def *let =
		path->natoms == 1 && path->atoms[0].kind == ATOM_NAME
			? rules_let(own(parser)->rules, own(parser)->file, path->atoms[0].name)
			: NULL;

	if (!let)
		return NULL;
	parser->nodes += let->nodes;
	/* a copy of the root, as a minus changes its constant; the nodes below are shared */
	struct ast *copy = parse_node(parser, let->value->kind, at);
	*copy = *let->value;
	return copy;
}

/* Parses an operand that begins with a name, string or number. */
static struct ast *parse_word(struct parser *parser)
{
	size_t at = parser->token.at;
	char next = parser_char(parser, parser->pos);
	bool path = next == '/' || next == '[';
	struct value value;

	if (parser->token.kind == TOKEN_IDENT && next == '(')
		return parse_call(parser);
	if (parser->token.kind == TOKEN_NUMBER || (parser->token.kind == TOKEN_STRING && !path) ||
	    (!path && lex_constant(parser->token.value.text, parser->token.value.len, &value))) {
		struct ast *ast = parse_node(parser, AST_CONST, at);
		parse_constant(parser, &ast->value);
		return ast;
	}
	struct ast *ast = parse_node(parser, AST_PATH, at);
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
	if (lex_is_op(parser, "("))
		return parse_bracket(parser);
	parse_expected(parser, "a value (a constant, a path, a function or a bracket)");
	return parse_node(parser, AST_CONST, parser->token.at);
}

/* The operator of this language for one of another language. */
static const char *sign_meant(const struct parser *parser)
{
	static const struct {
		const char *written, *meant;
	} words[] = {{"=", "=="},  {"and", "&&"}, {"AND", "&&"}, {"or", "||"},
		     {"OR", "||"}, {"like", "~"}, {"LIKE", "~"}};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (lex_is_op(parser, words[i].written) || lex_is_word(parser, words[i].written))
			return words[i].meant;
	return NULL;
}

/* A parser of the whole text, at its first word. */
static struct rule_parser begin_text(struct rules *rules, const struct rule_file *file)
{
	struct rule_parser own = rule_parser_of(rules, file, file->text, file->len);

	own.in.brackets = 1;
	own.in.asks = true;
	lex_next(&own.in);
	return own;
}

static void end_text(struct parser *parser)
{
	const char *meant = sign_meant(parser);
	struct buf what = {0};

	buf_add_text(&what, "an operator");
	if (meant)
		buf_printf(&what, " such as '%s'", meant);
	buf_add_text(&what, " or the end");
	if (parser->token.kind != TOKEN_END)
		parse_expected(parser, buf_text(&what));
	buf_release(&what);
}

struct ast *parse_expr_text(struct rules *rules, const struct rule_file *file)
{
	struct rule_parser own = begin_text(rules, file);
	struct ast *ast = parse_expr(&own.in);

	end_text(&own.in);
	return own.in.failed ? NULL : ast;
}

/* ---- keys ---- */

/* Inside the operand, in brackets, | and + are the operators of the rule language. */
static struct ast *parse_key_operand(struct parser *parser)
{
	const struct dialect *key = parser->dialect;

	own(parser)->operand_at = parser->token.at;
	parser->dialect = &rule_language;
	struct ast *ast = parse_primary(parser);
	parser->dialect = key;
	return ast;
}

/* Reports a column beside others that could be a part of one expression. */
static void check_alone(struct parser *parser, const struct ast *ast, const struct key_column *of)
{
	const char *text = parser->text, *end = text + of->at + of->len;

	if (ast->kind == AST_CONST)
		parse_error(parser, of->at, "a constant is no column of a key: (%s) is one value",
			    text);
	else if (own(parser)->operand_at != of->at)
		parse_error(
			parser, of->at,
			"this needs brackets: %.*s(%.*s)%s, columns of a key, or (%s), one value",
			(int)of->at, text, (int)of->len, text + of->at, end, text);
}

size_t parse_key_text(struct rules *rules, const struct rule_file *file, struct key_column *out,
		      size_t most)
{
	struct rule_parser own = begin_text(rules, file);
	struct parser *parser = &own.in;
	struct dialect key = rule_language;
	bool more = true, other = false;
	size_t n = 0;

	key.binaries += JOINS;
	key.operand = parse_key_operand;
	parser->dialect = &key;
	for (; more && n < most; n++) {
		struct key_column *column = &out[n];
		*column = (struct key_column){.at = parser->token.at, .other = other};
		const struct ast *ast = parse_expr(parser);
		size_t end = parser->token.at;
		while (end > column->at && is_blank(file->text[end - 1]))
			end--;
		column->len = end - column->at;
		other = lex_is_op(parser, "|");
		more = other || lex_is_op(parser, "+");
		if (n || more)
			check_alone(parser, ast, column);
		if (more)
			lex_next(parser);
	}
	if (more)
		parse_error(parser, parser->token.at, "a key has at most %zu columns", most);
	end_text(parser);
	return n;
}

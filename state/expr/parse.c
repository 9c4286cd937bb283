/* parse.c - expressions by precedence: the dialect gives operands and operator tables */
#include "state/expr/parse.h"

#include <string.h>

static void count_node(struct parser *parser, size_t at)
{
	if (++parser->nodes > parser->dialect->nodes)
		parse_error(parser, at, "the %s is too long: expected at most %u operands",
			    parser->dialect->what, parser->dialect->nodes);
}

struct ast *parse_node(struct parser *parser, enum ast_kind kind, size_t at)
{
	count_node(parser, at);
	return ast_new(parser->arena, kind, parser_place(parser, at));
}

static struct ast *node_of(struct parser *parser, enum op op, size_t at, struct ast *a,
			   struct ast *b)
{
	count_node(parser, at);
	return ast_of(parser->arena, op, parser_place(parser, at), a, b);
}

bool parse_op(struct parser *parser, const char *op, const char *what)
{
	bool is = lex_is_op(parser, op);

	if (is)
		lex_next(parser);
	else
		parse_expected(parser, what);
	return is;
}

/* ---- brackets ---- */

bool parse_open(struct parser *parser)
{
	if (++parser->brackets > parser->dialect->brackets)
		parse_error(parser, parser->token.at, "more than %u brackets inside brackets",
			    parser->dialect->brackets);
	lex_next(parser);
	return !parser->failed;
}

void parse_close(struct parser *parser, const char *op, const char *expected)
{
	if (lex_is_op(parser, op))
		parser->brackets--;
	else
		parse_expected(parser, expected);
}

/* Appends a value to a list. */
static void parse_add_value(struct parser *parser, struct ast *list, struct ast *value,
			    size_t *capacity)
{
	*arena_push(parser->arena, list->args, list->nargs, *capacity) = value;
}

void parse_args(struct parser *parser, struct ast *ast, const char *close)
{
	size_t capacity = 0;

	parse_open(parser);
	while (!parser->failed && !lex_is_op(parser, close)) {
		parse_add_value(parser, ast, parse_expr(parser), &capacity);
		if (!lex_is_op(parser, ","))
			break;
		lex_next(parser);
		if (lex_is_op(parser, close))
			parse_expected(parser, "an expression");
	}
	parse_close(parser, close, *close == ')' ? "',' or ')'" : "',' or ']'");
	lex_next(parser);
}

struct ast *parse_bracket(struct parser *parser)
{
	struct ast *inside;

	if (!parse_open(parser))
		return parse_node(parser, AST_CONST, parser->token.at);
	inside = parse_expr(parser);
	parse_close(parser, ")", "')' or an operator");
	lex_next(parser);
	return inside;
}

/* ---- constants ---- */

bool parse_constant(struct parser *parser, struct value *out)
{
	bool minus = lex_is_op(parser, "-");
	size_t at = parser->token.at;

	if (minus)
		lex_next(parser);
	const struct token *token = &parser->token;
	if (token->kind == TOKEN_NUMBER || (token->kind == TOKEN_STRING && !minus)) {
		*out = token->value;
		if (minus && !lex_negate(out))
			parse_error(parser, at, "the number does not fit in 64 bits");
	} else if (minus || token->kind != TOKEN_IDENT ||
		   !lex_constant(token->value.text, token->value.len, out)) {
		parse_expected(parser, minus ? "a number" : "a constant");
		return false;
	}
	lex_next(parser);
	return !parser->failed;
}

static struct ast *constant_node(struct parser *parser)
{
	struct ast *ast = ast_new(parser->arena, AST_CONST, parser_place(parser, parser->token.at));

	parse_constant(parser, &ast->value);
	return ast;
}

/* ---- operators ---- */

/* NULL: the current token is not in the table. */
static const struct operator*
	find_operator(const struct parser *parser, const struct operator* table)
{
	if (parser->token.kind != TOKEN_OP)
		return NULL;
	while (table->text && !lex_is_op(parser, table->text))
		table++;
	return table->text ? table : NULL;
}

/* Applies the prefix; a minus before a number negates the constant where that fits in 64 bits. */
static struct ast *apply_prefix(struct parser *parser, enum op op, size_t at, struct ast *of)
{
	bool number = of->kind == AST_CONST &&
		      (of->value.kind == VALUE_FLOAT || value_is_index(&of->value));

	if (op != OP_NEG || !number || !lex_negate(&of->value)) {
		if (op == OP_NEG && number && parser->dialect->strict)
			parse_error(parser, at, "the number does not fit in 64 bits");
		return node_of(parser, op, at, of, NULL);
	}
	of->at = parser_place(parser, at);
	return of;
}

/*
 * C binds ! (at `at`) tighter than the comparison behind it, whose operator stands at `sign`. The
 * current token ends the comparison.
 */
static void ask_for_not(struct parser *parser, size_t at, size_t sign)
{
	const char *text = parser->text;
	size_t from = at + 1, end = parser->token.at, left = sign;

	while (is_blank(parser_char(parser, from)))
		from++;
	while (end > sign && is_blank(text[end - 1]))
		end--;
	while (left > from && is_blank(text[left - 1]))
		left--;
	parse_error(parser, at,
		    "this needs brackets: !(%.*s), or, as C and 'do' read it, (!%.*s) %.*s",
		    (int)(end - from), text + from, (int)(left - from), text + from,
		    (int)(end - sign), text + sign);
}

/* Reports prefixes that C would read in another way than conditions do. */
static void check_prefix(struct parser *parser, enum op op, size_t at)
{
	if (parser->failed)
		return;
	if (op == OP_BIT_NOT && !parser->dialect->strict && parser_char(parser, at + 1) == '~')
		parse_error(parser, at,
			    "'~~' is one sign in conditions, and two in C: write ~x or ~(~x)");
	if (op == OP_NOT && parser->asks && parser->compared)
		ask_for_not(parser, at, parser->compared - 1);
}

/* Parses an operand with its prefixes. A prefix sets *bound to its precedence. */
static struct ast *parse_prefixed(struct parser *parser, unsigned least, unsigned *bound)
{
	const struct operator* prefix = find_operator(parser, parser->dialect->prefixes);
	size_t at = parser->token.at;
	struct ast *ast;

	if (++parser->depth > parser->dialect->depth)
		parse_error(parser, at, "the expression is nested too deeply");
	if (prefix && prefix->binds >= least) {
		lex_next(parser);
		ast = apply_prefix(parser, prefix->op, at, parse_binding(parser, prefix->operand));
		check_prefix(parser, prefix->op, at);
		*bound = prefix->binds;
	} else {
		ast = parser->dialect->operand(parser);
	}
	parser->depth--;
	return ast;
}

/* Reports what strict dialects refuse; `before`: the previous operator of the same precedence. */
static void check_operator(struct parser *parser, enum op op, enum op before)
{
	size_t at = parser->token.at;
	char next = parser_char(parser, parser->pos);
	bool bits = op >= OP_BIT_AND && op <= OP_SHR;

	if ((op_compares(op) || op == OP_GLOB || op == OP_REGEX) && before != OP_NONE)
		parse_error(parser, at, "expected '&&', '||' or the end: comparisons do not chain");
	else if (bits && before != OP_NONE && op != before)
		parse_error(parser, at,
			    "mixing & | ^ << >> needs brackets to say which goes first");
	else if (op == OP_DIV && /* else it would be a path */
		 (!parser->token.blank_before || !(is_blank(next) || next == '\n')))
		parse_error(parser, at, "a division needs blanks on both sides, a path has none");
}

static struct ast *parse_in(struct parser *parser, struct ast *left)
{
	const struct dialect *dialect = parser->dialect;
	struct ast *ast = parse_node(parser, AST_IN, parser->token.at);
	size_t capacity = 0;

	parse_add_value(parser, ast, left, &capacity);
	lex_next(parser);
	if (!lex_is_op(parser, "(")) {
		parse_expected(parser, "'(' behind in");
		return ast;
	}
	parse_open(parser);
	for (;;) {
		parse_add_value(parser, ast,
				dialect->strict ? constant_node(parser)
						: parse_binding(parser, dialect->in_binds + 1),
				&capacity);
		if (parser->failed || !lex_is_op(parser, ","))
			break;
		lex_next(parser);
	}
	parse_close(parser, ")", "',' or ')'");
	lex_next(parser);
	return ast;
}

/*
 * C binds & | ^ looser than comparisons. Offsets: `from` of the left operand, `at` of the
 * comparison (`sign` bytes long), `bits` of the & | ^ in one of the operands. The current token
 * ends the right operand.
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
	parse_error(
		parser, at,
		"this needs brackets: %.*s(%.*s)%.*s, or, as C and 'do' read it, %.*s(%.*s)%.*s",
		(int)(own - from), text + from, (int)(own_end - own), text + own,
		(int)(end - own_end), text + own_end, (int)(open - from), text + from,
		(int)(close - open), text + open, (int)(end - close), text + close);
}

/* Reports a condition that means something else as a predicate of `do`. */
static void check_readings(struct parser *parser, const struct operator* binary, size_t from,
			   size_t at, size_t bits)
{
	if (parser->asks && bits && binary->op >= OP_EQ && binary->op <= OP_REGEX)
		ask_for_brackets(parser, from, at, strlen(binary->text), bits - 1);
}

/* Reports `!comm ~ "a*"` where ! applies to comm alone, as in C, and the glob to 0 or 1. */
static void check_left(struct parser *parser, const struct ast *left, unsigned bound, size_t at)
{
	if (!parser->dialect->strict && bound != UINT32_MAX && left->kind == AST_UNARY &&
	    left->op == OP_NOT)
		parse_error(parser, at, "this needs brackets: !(a ~ b), !(a =~ b), !(a in (b))");
}

/*
 * `bound` is the precedence of the last operator: a tighter one would have become part of its right
 * side.
 */
struct ast *parse_binding(struct parser *parser, unsigned least)
{
	const struct dialect *dialect = parser->dialect;
	enum op before = OP_NONE;
	unsigned bound = UINT32_MAX;
	size_t from = parser->token.at, bits = 0, compared = 0;
	struct ast *left = parse_prefixed(parser, least, &bound);

	for (;;) {
		const struct operator* binary = find_operator(parser, dialect->binaries);
		size_t at = parser->token.at;

		if (lex_is_word(parser, "in") && dialect->in_binds >= least &&
		    bound >= dialect->in_binds + dialect->strict) {
			check_left(parser, left, bound, at);
			left = parse_in(parser, left);
			bound = dialect->in_binds - dialect->strict;
			bits = compared = 0;
			continue;
		}
		if (!binary || binary->binds < least || binary->binds > bound)
			break;
		before = binary->binds == bound ? before : OP_NONE;
		if (dialect->strict)
			check_operator(parser, binary->op, before);
		if (binary->op == OP_GLOB || binary->op == OP_REGEX)
			check_left(parser, left, bound, at);
		bool is_bits = binary->op >= OP_BIT_AND && binary->op <= OP_SHR;
		lex_next(parser);
		left = node_of(parser, binary->op, at, left,
			       parse_binding(parser, binary->binds + 1));
		check_readings(parser, binary, from, at, bits ? bits : parser->bits);
		bits = is_bits && strlen(binary->text) == 1 ? at + 1
							    : 0; /* shifts bind alike in C */
		compared = op_compares(binary->op) ? at + 1 : 0;
		bound = binary->binds;
		before = binary->op;
	}
	parser->bits = bits;
	parser->compared = compared;
	return left;
}

/* The current token is `?`. */
static struct ast *parse_choice(struct parser *parser, struct ast *condition)
{
	struct ast *ast = parse_node(parser, AST_CHOICE, parser->token.at);
	size_t capacity = 0;

	parse_add_value(parser, ast, condition, &capacity);
	lex_next(parser);
	parse_add_value(parser, ast, parse_expr(parser), &capacity);
	parse_op(parser, ":", "':' and the value where the condition is false");
	parse_add_value(parser, ast, parse_expr(parser), &capacity);
	return ast;
}

struct ast *parse_expr(struct parser *parser)
{
	struct ast *ast;

	if (++parser->depth > parser->dialect->depth)
		parse_error(parser, parser->token.at, "the expression is nested too deeply");
	ast = parse_binding(parser, 0);
	if (lex_is_op(parser, "?"))
		ast = parse_choice(parser, ast);
	parser->depth--;
	return ast;
}

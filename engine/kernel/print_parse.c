/*
 * print_parse.c - behind "print fmt:": a string, then arguments that are C expressions
 *
 *     expression: binary [? expression : expression]      binary: by precedence, from unary
 *     unary: [- + ~ !] unary | (type) unary | primary {[ expression ]}
 *     primary: number | name | strings | REC->field | helper(...) | ( expression )
 *
 * The kernel expands its macros before it writes the text; only casts and helpers remain. The text
 * comes from the trace, so depth and number of nodes are bounded. An argument of another form, or
 * with an unknown function, is NODE_UNKNOWN; the others are printed.
 */
#include "engine/kernel/print_parser.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 400, LOOKUPS_MAX = 64, ARGS_MAX = 256 };

static const struct print_node *unary(struct print_parser *p);

/* ---- casts ---- */

static uint64_t type_mask(const char *type)
{
	static const struct {
		const char *name;
		uint64_t mask;
	} masks[] = {{"u8", 0xff},        {"s8", 0xff},        {"char", 0xff},
		     {"u16", 0xffff},     {"s16", 0xffff},     {"short", 0xffff},
		     {"u32", UINT32_MAX}, {"s32", UINT32_MAX}, {"int", UINT32_MAX}};

	if (!strncmp(type, "unsigned ", 9))
		type += 9;
	for (size_t i = 0; i < sizeof masks / sizeof *masks; i++)
		if (!strcmp(masks[i].name, type))
			return masks[i].mask;
	return UINT64_MAX;
}

static bool is_type_word(const struct print_parser *p)
{
	static const char *const words[] = {
		"unsigned", "signed", "int",    "long", "char",  "short", "void", "const",
		"bool",     "struct", "u8",     "u16",  "u32",   "u64",   "s8",   "s16",
		"s32",      "s64",    "size_t", "__u8", "__u16", "__u32", "__u64"};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (parser_at(p, words[i]))
			return true;
	return false;
}

/* Parses a cast and its operand, behind the '('. NULL, and no token consumed: it is no cast. */
static const struct print_node *cast(struct print_parser *p)
{
	struct print_parser saved = *p;
	bool known = is_type_word(p);
	const char *type = p->kind == TOKEN_WORD && !parser_at(p, "REC") ? parser_type(p) : "";
	size_t len = strlen(type);

	if (!len || !parser_accept(p, ")") ||
	    (!known && p->kind != TOKEN_WORD && p->kind != TOKEN_TEXT && !parser_at(p, "("))) {
		*p = saved;
		return NULL;
	}
	struct print_node *node = parser_node(p, NODE_CAST);
	node->number = type_mask(type);
	if (type[len - 1] == '*') {
		node->number = UINT64_MAX;
		node->pointed = UINT64_MAX;
		if (len > 2)
			node->pointed = type_mask(arena_strndup(p->arena, type, len - 2));
	}
	node->a = unary(p);
	if (node->a->kind == NODE_NUMBER)
		return parser_number(p, node->a->number & node->number);
	return node;
}

static const struct print_node *parenthesis(struct print_parser *p)
{
	const struct print_node *node = cast(p);

	if (node)
		return node;
	struct print_parser saved = *p;
	if (parser_accept(p, "REC") && parser_accept(p, ")"))
		return parser_field(p);
	*p = saved;
	node = parser_expression(p);
	parser_expect(p, ")");
	return node;
}

/* A name has the value of the kernel symbol, or 0; as text it is the name itself. */
static const struct print_node *name_or_number(struct print_parser *p)
{
	const char *text = parser_word(p), *more;
	struct print_node *node = parser_node(p, NODE_NUMBER);

	node->text = text;
	if (text[0] >= '0' && text[0] <= '9') {
		node->number = strtoull(text, NULL, 0);
		return node;
	}
	node->kind = NODE_TEXT;
	while (p->kind == TOKEN_WORD && !p->failed) { /* join adjacent words */
		more = parser_word(p);
		node->text = arena_printf(p->arena, "%s %s", node->text, more);
		p->failed = p->failed || strlen(node->text) > 1000;
	}
	if (p->lookups++ >= LOOKUPS_MAX)
		return node;
	node->number = symbol_address(p->tracing, node->text);
	return node;
}

static const struct print_node *primary(struct print_parser *p)
{
	if (parser_accept(p, "("))
		return parenthesis(p);
	if (parser_accept(p, "REC"))
		return parser_field(p);
	if (p->kind == TOKEN_TEXT) {
		struct print_node *node = parser_node(p, NODE_TEXT);
		bool character = p->token[-1] == '\'' && p->len;
		uint8_t code = (uint8_t)*p->token;
		node->text = parser_strings(p);
		node->number = character ? code : strtoull(node->text, NULL, 0);
		return node;
	}
	if (p->kind == TOKEN_WORD) {
		struct print_parser saved = *p;
		const char *name = parser_word(p);
		if (parser_accept(p, "("))
			return parser_helper(p, name);
		*p = saved;
		return name_or_number(p);
	}
	p->failed = true;
	return parser_number(p, 0);
}

/* Makes a field of its own of REC->args[3]. */
static const struct print_node *item_field(struct print_parser *p, const struct kernel_field *array,
					   uint64_t index)
{
	struct kernel_field *field = arena_alloc(p->arena, sizeof *field);
	struct print_node *node = parser_node(p, NODE_FIELD);

	*field = (struct kernel_field){
		.type = array->type,
		.name = array->name,
		.offset = array->offset + (uint32_t)index * array->element_bytes,
		.size = array->element_bytes,
		.element_bytes = array->element_bytes,
		.is_item = true,
	};
	node->field = field;
	return node;
}

static const struct print_node *postfix(struct print_parser *p)
{
	const struct print_node *node = primary(p);

	while (parser_accept(p, "[")) {
		const struct print_node *index = parser_expression(p);
		parser_expect(p, "]");
		if (node->kind == NODE_FIELD && index->kind == NODE_NUMBER &&
		    node->field->element_bytes &&
		    index->number < RECORD_MAX / node->field->element_bytes) {
			node = item_field(p, node->field, index->number);
			continue;
		}
		struct print_node *item = parser_node(p, NODE_INDEX);
		item->a = node;
		item->b = index;
		node = item;
	}
	return node;
}

static const struct print_node *operated(struct print_parser *p, enum node_kind kind)
{
	struct print_node *node = parser_node(p, kind);

	node->a = unary(p);
	if (node->a->kind == NODE_NUMBER)
		return parser_number(p, kind == NODE_INVERT ? ~node->a->number : !node->a->number);
	return node;
}

static uint64_t compute(enum binary op, uint64_t a, uint64_t b)
{
	struct print_record none = {0};
	struct print_node left = {.kind = NODE_NUMBER, .number = a};
	struct print_node right = {.kind = NODE_NUMBER, .number = b};
	struct print_node node = {.kind = NODE_BINARY, .op = (uint8_t)op, .a = &left, .b = &right};

	return print_value(&none, &node);
}

static const struct print_node *binary_node(struct print_parser *p, enum binary op,
					    const struct print_node *a, const struct print_node *b)
{
	if (a->kind == NODE_NUMBER && b->kind == NODE_NUMBER)
		return parser_number(p, compute(op, a->number, b->number));
	struct print_node *node = parser_node(p, NODE_BINARY);
	node->op = (uint8_t)op;
	node->a = a;
	node->b = b;
	return node;
}

static const struct print_node *unary_inner(struct print_parser *p)
{
	if (parser_accept(p, "~"))
		return operated(p, NODE_INVERT);
	if (parser_accept(p, "!"))
		return operated(p, NODE_NOT);
	if (parser_accept(p, "+"))
		return unary(p);
	if (parser_accept(p, "-"))
		return binary_node(p, BINARY_SUBTRACT, parser_number(p, 0), unary(p));
	return postfix(p);
}

static const struct print_node *unary(struct print_parser *p)
{
	if (p->failed || p->depth >= DEPTH_MAX) {
		p->failed = true;
		return parser_number(p, 0);
	}
	p->depth++;
	const struct print_node *node = unary_inner(p);
	p->depth--;
	return node;
}

static bool binary_sign(const struct print_parser *p, enum binary *op, int *rank)
{
	static const struct {
		const char *sign;
		enum binary op;
		int rank; /* higher binds tighter */
	} signs[] = {
		{"||", BINARY_OR_ELSE, 1},
		{"&&", BINARY_AND_THEN, 2},
		{"|", BINARY_OR, 3},
		{"^", BINARY_XOR, 4},
		{"&", BINARY_AND, 5},
		{"==", BINARY_EQUAL, 6},
		{"!=", BINARY_UNEQUAL, 6},
		{"<", BINARY_LESS, 7},
		{">", BINARY_GREATER, 7},
		{"<=", BINARY_LESS_EQUAL, 7},
		{">=", BINARY_GREATER_EQUAL, 7},
		{"<<", BINARY_LEFT, 8},
		{">>", BINARY_RIGHT, 8},
		{"+", BINARY_ADD, 9},
		{"-", BINARY_SUBTRACT, 9},
		{"*", BINARY_MULTIPLY, 10},
		{"/", BINARY_DIVIDE, 10},
		{"%", BINARY_REMAINDER, 10},
	};

	if (p->kind != TOKEN_SIGN || p->failed)
		return false;
	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
		if (parser_at(p, signs[i].sign)) {
			*op = signs[i].op;
			*rank = signs[i].rank;
			return true;
		}
	return false;
}

/* Precedence climbing. The number of ranks bounds the recursion here; unary() bounds its own. */
static const struct print_node *binary(struct print_parser *p, int least)
{
	const struct print_node *node = unary(p);
	enum binary op;
	int rank;

	while (binary_sign(p, &op, &rank) && rank >= least) {
		parser_next(p);
		node = binary_node(p, op, node, binary(p, rank + 1));
	}
	return node;
}

const struct print_node *parser_expression(struct print_parser *p)
{
	if (p->depth >= DEPTH_MAX) {
		p->failed = true;
		return parser_number(p, 0);
	}
	p->depth++;
	const struct print_node *condition = binary(p, 0);
	p->depth--;
	if (!parser_accept(p, "?"))
		return condition;
	struct print_node *node = parser_node(p, NODE_CHOICE);
	node->a = condition;
	p->depth++;
	node->b = parser_expression(p);
	parser_expect(p, ":");
	node->c = parser_expression(p);
	p->depth--;
	return node;
}

/* Old kernels wrote no arguments for ftrace's own events: uses their fields, in order. */
static void fields_as_args(struct print_parser *p, const struct print_node **args, uint32_t *count)
{
	for (uint32_t i = p->text->ncommon; i < p->text->nfields && *count < ARGS_MAX; i++) {
		struct print_node *node = parser_node(p, NODE_FIELD);
		node->field = &p->text->fields[i];
		args[(*count)++] = node;
	}
}

static const struct print_node *unknown_node(struct print_parser *p, const char *name)
{
	struct print_node *node = parser_node(p, NODE_UNKNOWN);

	node->text = name ? arena_printf(p->arena, "%s(?)", name) : "?";
	return node;
}

/* Parses one argument, up to its comma. On failure the counts for limits are not reset. */
static const struct print_node *argument(struct print_parser *p)
{
	const struct print_parser saved = *p;
	const struct print_node *node;

	p->unknown = NULL;
	node = parser_expression(p);
	if (!p->failed && (p->kind == TOKEN_END || parser_at(p, ",")))
		return p->unknown ? unknown_node(p, p->unknown) : node;
	p->at = saved.at;
	p->token = saved.token;
	p->len = saved.len;
	p->kind = saved.kind;
	p->depth = saved.depth;
	p->failed = false;
	parser_skip(p, ",");
	return unknown_node(p, NULL);
}

bool print_parse(const struct tracing *tracing, const struct tracing_text *text, bool plugins,
		 struct arena *arena, struct print_args *out)
{
	struct print_parser p = {.tracing = tracing,
				 .text = text,
				 .arena = arena,
				 .at = text->print,
				 .plugins = plugins};

	*out = (struct print_args){0};
	parser_next(&p);
	if (p.kind != TOKEN_TEXT)
		return false;
	out->format = parser_strings(&p);
	out->args = arena_array(arena, ARGS_MAX, sizeof(struct print_node *));
	if (p.kind != TOKEN_END && !parser_at(&p, ","))
		return false;
	while (parser_accept(&p, ",") && out->count < ARGS_MAX)
		out->args[out->count++] = argument(&p);
	if (!out->count && text->is_ftrace)
		fields_as_args(&p, out->args, &out->count);
	return !p.failed;
}

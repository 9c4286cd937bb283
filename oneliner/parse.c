/* parse.c - from words to probes with statements */
#include "oneliner/parse.h"

#include "engine/base/mem.h"

#include <string.h>

enum { UNROLL_MAX = 100, UNROLLED_MAX = 1000 };

static bool accept(struct parser *parser, const char *op)
{
	bool is = token_is(&parser->lex, op);

	if (is)
		token_next(&parser->lex);
	return is;
}

bool parse_op(struct parser *parser, const char *op, const char *what)
{
	if (accept(parser, op))
		return true;
	token_expected(&parser->lex, what);
	return false;
}

struct node *tree_node(struct parser *parser, enum node_kind kind, uint32_t at, uint32_t nargs)
{
	struct arena *arena = parser->lex.program->arena;
	struct node *node = arena_alloc(arena, sizeof *node);

	if (++parser->nodes > PARSE_NODES_MAX)
		token_error(&parser->lex, at, "the program has more than %d parts",
			    PARSE_NODES_MAX);
	node->kind = kind;
	node->at = at;
	node->nargs = nargs;
	node->args = arena_array(arena, nargs + 1, sizeof *node->args);
	return node;
}

struct node *tree_binary(struct parser *parser, enum node_kind kind, enum op op, uint32_t at,
			 struct node *a, struct node *b)
{
	struct node *node = tree_node(parser, kind, at, 2);

	node->op = op;
	node->args[0] = a;
	node->args[1] = b;
	return node;
}

/* ---- statements ---- */

static struct node *parse_block(struct parser *parser);

static struct node *parse_if(struct parser *parser)
{
	struct node *node = tree_node(parser, NODE_IF, parser->lex.at, 1);

	token_next(&parser->lex);
	if (++parser->depth > PARSE_DEPTH_MAX)
		token_error(&parser->lex, node->at, "blocks are nested too deeply");
	node->args[0] = expression_parse(parser);
	node->block = parse_block(parser);
	if (token_is_name(&parser->lex, "else")) {
		token_next(&parser->lex);
		node->otherwise =
			token_is_name(&parser->lex, "if") ? parse_if(parser) : parse_block(parser);
	}
	parser->depth--;
	return node;
}

static struct node *parse_unroll(struct parser *parser)
{
	struct node *node = tree_node(parser, NODE_UNROLL, parser->lex.at, 0);

	token_next(&parser->lex);
	bool bracket = accept(parser, "(");
	if (parser->lex.kind != TOKEN_NUMBER)
		token_expected(&parser->lex, "how often, a number");
	else if (parser->lex.value.u < 1 || parser->lex.value.u > UNROLL_MAX)
		token_error(&parser->lex, parser->lex.at, "unroll goes from 1 to %d", UNROLL_MAX);
	node->number = (uint32_t)parser->lex.value.u;
	token_next(&parser->lex);
	if (bracket)
		parse_op(parser, ")", "')'");
	unsigned outer = parser->unrolled;
	parser->unrolled = (outer ? outer : 1) * node->number;
	if (parser->unrolled > UNROLLED_MAX)
		token_error(&parser->lex, node->at, "blocks are unrolled at most %d times in all",
			    UNROLLED_MAX);
	if (++parser->depth > PARSE_DEPTH_MAX)
		token_error(&parser->lex, node->at, "blocks are nested too deeply");
	node->block = parse_block(parser);
	parser->depth--;
	parser->unrolled = outer;
	return node;
}

static const struct {
	const char *text;
	enum op op;
} assignments[] = {{"=", OP_NONE},     {"+=", OP_ADD},  {"-=", OP_SUB},     {"*=", OP_MUL},
		   {"/=", OP_DIV},     {"%=", OP_MOD},  {"&=", OP_BIT_AND}, {"|=", OP_BIT_OR},
		   {"^=", OP_BIT_XOR}, {"<<=", OP_SHL}, {">>=", OP_SHR}};

/* An assignment, or a call for what it does. */
static struct node *parse_simple(struct parser *parser)
{
	bool declares = token_is_name(&parser->lex, "let");

	if (declares)
		token_next(&parser->lex);
	struct node *left = expression_parse(parser);
	bool target = left->kind == NODE_VARIABLE || (left->kind == NODE_MAP && !declares);

	if (declares && (!target || !token_is(&parser->lex, "=")))
		token_error(&parser->lex, left->at, "let gives a variable its value: let $x = 1");
	for (size_t i = 0; i < sizeof assignments / sizeof *assignments; i++) {
		if (!token_is(&parser->lex, assignments[i].text))
			continue;
		if (!target)
			token_error(&parser->lex, parser->lex.at,
				    "only a map (@name) or a variable ($name) can be assigned to");
		token_next(&parser->lex);
		struct node *right = expression_parse(parser);
		bool aggregates = right->kind == NODE_CALL &&
				  function_info(right->function)->use == USE_AGGREGATE;
		if (aggregates && (left->kind != NODE_MAP || assignments[i].op != OP_NONE))
			token_error(&parser->lex, right->at,
				    "%s() can only be assigned to a map: @ = %s()",
				    function_info(right->function)->name,
				    function_info(right->function)->name);
		return tree_binary(parser, aggregates ? NODE_AGGREGATE : NODE_ASSIGN,
				   assignments[i].op, left->at, left, right);
	}
	if (left->kind == NODE_INCREMENT)
		left->is_used = false;
	else if (left->kind != NODE_CALL)
		token_error(&parser->lex, left->at,
			    "a value alone does nothing: assign it, print() it or count() it");
	return left;
}

static const char *const loops[] = {"while", "for", "break", "continue"};

static struct node *parse_statement(struct parser *parser)
{
	struct lexer *lex = &parser->lex;
	struct node *node;

	for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
		if (token_is_name(lex, loops[i]))
			token_error(lex, lex->at, "'%s': there are no loops but unroll(N) { ... }",
				    loops[i]);
	if (token_is_name(lex, "if"))
		return parse_if(parser);
	if (token_is_name(lex, "unroll"))
		return parse_unroll(parser);
	if (token_is_name(lex, "return")) {
		node = tree_node(parser, NODE_RETURN, lex->at, 0);
		token_next(lex);
	} else {
		node = parse_simple(parser);
	}
	if (!token_is(lex, "}"))
		parse_op(parser, ";", "';' or '}'");
	return node;
}

/* Up to the bracket that ends it, behind which the next word is not read. */
static struct node *parse_open_block(struct parser *parser)
{
	struct node *first = NULL, **last = &first;

	parse_op(parser, "{", "'{'");
	while (!parser->lex.failed && !token_is(&parser->lex, "}")) {
		if (accept(parser, ";"))
			continue;
		*last = parse_statement(parser);
		last = &(*last)->next;
	}
	if (!token_is(&parser->lex, "}"))
		token_expected(&parser->lex, "'}'");
	return first;
}

static struct node *parse_block(struct parser *parser)
{
	struct node *first = parse_open_block(parser);

	parse_op(parser, "}", "'}'");
	return first;
}

/* ---- probes ---- */

/* uprobe:/bin/sh:main has slashes; in all others one begins the predicate. */
static bool has_path(const char *text, size_t len)
{
	static const char *const kinds[] = {"uprobe:", "uretprobe:", "usdt:", "u:", "ur:", "U:"};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (len >= strlen(kinds[i]) && memcmp(text, kinds[i], strlen(kinds[i])) == 0)
			return true;
	return false;
}

static bool ends_spec(char c, bool path)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ',' || c == '{' ||
	       (c == '/' && !path);
}

/* s:1, 1s */
static void parse_interval(struct parser *parser, struct spec *spec, const char *text)
{
	static const struct {
		const char *name;
		int64_t ns;
	} units[] = {{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"hz", 0}};
	bool number_first = char_is_digit(*text);
	const char *rest, *unit = text;
	uint64_t number = 0;
	size_t len;

	if (number_first)
		number = decimal_take(&unit, NULL);
	len = strcspn(unit, ":");
	rest = unit + len;
	if (!number_first && *rest == ':') {
		rest++;
		number = decimal_take(&rest, NULL);
	}
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if (strlen(units[i].name) != len || strncmp(unit, units[i].name, len) != 0)
			continue;
		if (*rest || number < 1 || number > 1000000000)
			break;
		spec->kind = PROBE_INTERVAL;
		spec->period =
			units[i].ns ? units[i].ns * (int64_t)number : 1000000000 / (int64_t)number;
		return;
	}
	token_error(&parser->lex, spec->at,
		    "'%s': an interval is interval:s:N, ms:N, us:N or hz:N, or interval:Ns",
		    spec->text);
}

static void name_spec(struct parser *parser, struct spec *spec)
{
	struct arena *arena = parser->lex.program->arena;
	const char *colon = strchr(spec->text, ':');

	spec->name = spec->text;
	if (!strcmp(spec->text, "BEGIN") || !strcmp(spec->text, "begin")) {
		spec->kind = PROBE_BEGIN;
	} else if (!strcmp(spec->text, "END") || !strcmp(spec->text, "end")) {
		spec->kind = PROBE_END;
	} else if (!strncmp(spec->text, "interval:", 9) || !strncmp(spec->text, "i:", 2)) {
		parse_interval(parser, spec, colon + 1);
	} else if (colon) {
		spec->provider = arena_strndup(arena, spec->text, (size_t)(colon - spec->text));
		spec->name = colon + 1;
	}
}

static void parse_spec(struct parser *parser, struct clause *probe)
{
	struct lexer *lex = &parser->lex;
	struct spec spec = {0};

	token_skip(lex);
	spec.at = (uint32_t)lex->pos;
	bool path = has_path(lex->text + lex->pos, lex->len - lex->pos);
	while (lex->pos < lex->len && !ends_spec(lex->text[lex->pos], path))
		lex->pos++;
	spec.text = arena_strndup(lex->program->arena, lex->text + spec.at, lex->pos - spec.at);
	if (!*spec.text) {
		token_error(lex, spec.at,
			    "expected the name of an event, as in sched_switch { @ = count(); }");
		return;
	}
	if (*spec.text == '#')
		token_error(lex, spec.at, "'%s': there is no preprocessor but #include at the head",
			    spec.text);
	name_spec(parser, &spec);
	*mem_push(probe->specs, probe->nspecs, probe->capacity) = spec;
	token_skip(lex);
}

static void parse_probe(struct parser *parser)
{
	struct oneliner *program = parser->lex.program;
	struct lexer *lex = &parser->lex;
	struct clause *probe;

	probe = mem_push(program->probes, program->nprobes, program->probes_capacity);
	*probe = (struct clause){.at = (uint32_t)lex->pos};
	do {
		lex->pos += probe->nspecs > 0;
		parse_spec(parser, probe);
	} while (!lex->failed && lex->pos < lex->len && lex->text[lex->pos] == ',');
	if (lex->pos < lex->len && lex->text[lex->pos] == '/') {
		lex->pos++;
		lex->in_predicate = true;
		token_next(lex);
		probe->predicate = expression_parse(parser);
		if (lex->kind != TOKEN_PREDICATE)
			token_expected(lex, "'/' and '{' behind the predicate");
		lex->in_predicate = false;
	}
	token_next(lex);
	probe->block = parse_open_block(parser);
}

/* The first line of a file that is a program, and headers of the kernel, which nothing needs. */
static void skip_head(struct lexer *lex)
{
	static const char include[] = "#include";

	if (lex->len > 1 && !memcmp(lex->text, "#!", 2))
		lex->pos = strcspn(lex->text, "\n");
	token_skip(lex);
	while (lex->len - lex->pos > sizeof include &&
	       !memcmp(lex->text + lex->pos, include, sizeof include - 1)) {
		lex->pos += strcspn(lex->text + lex->pos, "\n");
		token_skip(lex);
	}
}

bool oneliner_parse(struct oneliner *program, struct error *err)
{
	struct parser parser = {.lex = {.program = program,
					.text = program->text,
					.len = program->len,
					.err = err}};
	struct lexer *lex = &parser.lex;

	skip_head(lex);
	if (lex->pos >= lex->len)
		token_error(lex, 0, "the program is empty: sched_switch { @[comm] = count(); }");
	while (!lex->failed && lex->pos < lex->len) {
		parse_probe(&parser);
		token_skip(lex);
	}
	return !lex->failed;
}

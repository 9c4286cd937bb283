/* parse.c - parses a program into probes and statements */
#include "oneliner/parse.h"

#include "engine/base/digits.h"
#include "engine/base/mem.h"

#include <string.h>

enum { UNROLL_MAX = 100, UNROLLED_MAX = 1000 };

static bool accept(struct parser *parser, const char *op)
{
	bool is = lex_is_op(parser, op);

	if (is)
		lex_next(parser);
	return is;
}

/* ---- statements ---- */

static struct action *action_new(struct parser *parser, enum action_kind kind, uint32_t at)
{
	struct action *line = arena_alloc(parser->arena, sizeof *line);

	*line = (struct action){.kind = kind, .at = at};
	return line;
}

static struct action *parse_block(struct parser *parser);

static struct action *parse_if(struct parser *parser)
{
	struct action *line = action_new(parser, ACTION_IF, (uint32_t)parser->token.at);

	lex_next(parser);
	if (++parser->depth > PARSE_DEPTH_MAX)
		parse_error(parser, line->at, "blocks are nested too deeply");
	line->value = parse_expr(parser);
	line->block = parse_block(parser);
	if (lex_is_word(parser, "else")) {
		lex_next(parser);
		line->otherwise =
			lex_is_word(parser, "if") ? parse_if(parser) : parse_block(parser);
	}
	parser->depth--;
	return line;
}

static struct action *parse_unroll(struct parser *parser)
{
	struct action *line = action_new(parser, ACTION_UNROLL, (uint32_t)parser->token.at);

	lex_next(parser);
	bool bracket = accept(parser, "(");
	if (parser->token.kind != TOKEN_NUMBER)
		parse_expected(parser, "how often, a number");
	else if (parser->token.value.u < 1 || parser->token.value.u > UNROLL_MAX)
		parse_error(parser, parser->token.at, "unroll goes from 1 to %d", UNROLL_MAX);
	line->times = (uint32_t)parser->token.value.u;
	lex_next(parser);
	if (bracket)
		parse_op(parser, ")", "')'");
	unsigned outer = own(parser)->unrolled;
	own(parser)->unrolled = (outer ? outer : 1) * line->times;
	if (own(parser)->unrolled > UNROLLED_MAX)
		parse_error(parser, line->at, "blocks are unrolled at most %d times in all",
			    UNROLLED_MAX);
	if (++parser->depth > PARSE_DEPTH_MAX)
		parse_error(parser, line->at, "blocks are nested too deeply");
	line->block = parse_block(parser);
	parser->depth--;
	own(parser)->unrolled = outer;
	return line;
}

static const struct {
	const char *text;
	enum op op;
} assignments[] = {{"=", OP_NONE},     {"+=", OP_ADD},  {"-=", OP_SUB},     {"*=", OP_MUL},
		   {"/=", OP_DIV},     {"%=", OP_MOD},  {"&=", OP_BIT_AND}, {"|=", OP_BIT_OR},
		   {"^=", OP_BIT_XOR}, {"<<=", OP_SHL}, {">>=", OP_SHR}};

/* Parses an assignment, or an expression as a statement: a call, ++ or --. */
static struct action *parse_simple(struct parser *parser)
{
	bool declares = lex_is_word(parser, "let");

	if (declares)
		lex_next(parser);
	struct ast *left = parse_expr(parser);
	struct action *line = action_new(parser, ACTION_VALUE, left->at);
	bool target = left->kind == AST_VARIABLE || (left->kind == AST_MAP && !declares);

	if (declares && (!target || !lex_is_op(parser, "=")))
		parse_error(parser, left->at, "let gives a variable its value: let $x = 1");
	for (size_t i = 0; i < sizeof assignments / sizeof *assignments; i++) {
		if (!lex_is_op(parser, assignments[i].text))
			continue;
		if (!target)
			parse_error(parser, parser->token.at,
				    "only a map (@name) or a variable ($name) can be assigned to");
		lex_next(parser);
		struct ast *right = parse_expr(parser);
		bool aggregates = ast_aggregates(right);
		if (aggregates && (left->kind != AST_MAP || assignments[i].op != OP_NONE))
			parse_error(parser, right->at,
				    "%s() can only be assigned to a map: @ = %s()",
				    function_info(right->function)->name,
				    function_info(right->function)->name);
		line->kind = aggregates ? ACTION_AGGREGATE : ACTION_ASSIGN;
		line->op = assignments[i].op;
		line->target = left;
		line->value = right;
		return line;
	}
	line->value = left;
	if (left->kind == AST_INCREMENT)
		left->is_used = false;
	else if (left->kind != AST_CALL)
		parse_error(parser, left->at,
			    "a value alone does nothing: assign it, print() it or count() it");
	return line;
}

static const char *const loops[] = {"while", "for", "break", "continue"};

static struct action *parse_statement(struct parser *parser)
{
	struct action *line;

	for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
		if (lex_is_word(parser, loops[i]))
			parse_error(parser, parser->token.at,
				    "'%s': there are no loops but unroll(N) { ... }", loops[i]);
	if (lex_is_word(parser, "if"))
		return parse_if(parser);
	if (lex_is_word(parser, "unroll"))
		return parse_unroll(parser);
	if (lex_is_word(parser, "return")) {
		line = action_new(parser, ACTION_RETURN, (uint32_t)parser->token.at);
		lex_next(parser);
	} else {
		line = parse_simple(parser);
	}
	if (!lex_is_op(parser, "}"))
		parse_op(parser, ";", "';' or '}'");
	return line;
}

/* Parses a block up to its "}", and does not read the word behind that. */
static struct action *parse_open_block(struct parser *parser)
{
	struct action *first = NULL, **last = &first;

	parse_op(parser, "{", "'{'");
	while (!parser->failed && !lex_is_op(parser, "}")) {
		if (accept(parser, ";"))
			continue;
		*last = parse_statement(parser);
		last = &(*last)->next;
	}
	if (!lex_is_op(parser, "}"))
		parse_expected(parser, "'}'");
	return first;
}

static struct action *parse_block(struct parser *parser)
{
	struct action *first = parse_open_block(parser);

	parse_op(parser, "}", "'}'");
	return first;
}

/* ---- probes ---- */

/* Does the spec have a file's path, as uprobe:/bin/sh:main? Else a slash begins the predicate. */
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

/* Parses an interval's period: s:1 or 1s. */
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
	parse_error(parser, spec->at,
		    "'%s': an interval is interval:s:N, ms:N, us:N or hz:N, or interval:Ns",
		    spec->text);
}

static void name_spec(struct parser *parser, struct spec *spec)
{
	struct arena *arena = parser->arena;
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
	struct spec spec = {0};

	lex_skip(parser);
	spec.at = (uint32_t)parser->pos;
	bool path = has_path(parser->text + parser->pos, parser->len - parser->pos);
	while (parser->pos < parser->len && !ends_spec(parser->text[parser->pos], path))
		parser->pos++;
	spec.text = arena_strndup(parser->arena, parser->text + spec.at, parser->pos - spec.at);
	if (!*spec.text) {
		parse_error(parser, spec.at,
			    "expected the name of an event, as in sched_switch { @ = count(); }");
		return;
	}
	if (*spec.text == '#')
		parse_error(parser, spec.at,
			    "'%s': there is no preprocessor but #include at the head", spec.text);
	name_spec(parser, &spec);
	*mem_push(probe->specs, probe->nspecs, probe->capacity) = spec;
	lex_skip(parser);
}

static void parse_probe(struct parser *parser)
{
	struct oneliner *program = own(parser)->program;
	struct clause *probe;

	probe = mem_push(program->probes, program->nprobes, program->probes_capacity);
	*probe = (struct clause){.at = (uint32_t)parser->pos};
	do {
		parser->pos += probe->nspecs > 0;
		parse_spec(parser, probe);
	} while (!parser->failed && parser->pos < parser->len && parser->text[parser->pos] == ',');
	if (parser->pos < parser->len && parser->text[parser->pos] == '/') {
		parser->pos++;
		own(parser)->in_predicate = true;
		lex_next(parser);
		probe->predicate = parse_expr(parser);
		if (parser->token.kind != TOKEN_PREDICATE)
			parse_expected(parser, "'/' and '{' behind the predicate");
		own(parser)->in_predicate = false;
	}
	lex_next(parser);
	probe->block = parse_open_block(parser);
}

/* Skips a first line "#!..." and includes of kernel headers, which are not needed. */
static void skip_head(struct parser *parser)
{
	static const char include[] = "#include";

	if (parser->len > 1 && !memcmp(parser->text, "#!", 2))
		parser->pos = strcspn(parser->text, "\n");
	lex_skip(parser);
	while (parser->len - parser->pos > sizeof include &&
	       !memcmp(parser->text + parser->pos, include, sizeof include - 1)) {
		parser->pos += strcspn(parser->text + parser->pos, "\n");
		lex_skip(parser);
	}
}

bool oneliner_parse(struct oneliner *program, struct error *err)
{
	struct program_parser whole = program_parser_of(program, err);
	struct parser *parser = &whole.in;

	skip_head(parser);
	if (parser->pos >= parser->len)
		parse_error(parser, 0, "the program is empty: sched_switch { @[comm] = count(); }");
	while (!parser->failed && parser->pos < parser->len) {
		parse_probe(parser);
		lex_skip(parser);
	}
	return !parser->failed;
}

/*
 * parse.c - parses rule files: heads, statements, maps, aliases, views, lets
 *
 * After an error the parser continues at the next line (behind the map or the quoted statement), so
 * that it finds all errors of a file.
 */
#include "state/rules/lex.h"

#include "engine/reader.h"

#include <string.h>

bool parse_at_end(const struct parser *parser)
{
	return parser->token.kind == TOKEN_NEWLINE || parser->token.kind == TOKEN_END;
}

static void expect_end(struct parser *parser, const char *what)
{
	if (!parse_at_end(parser))
		parse_expected(parser, what);
}

static struct ast *parse_when(struct parser *parser)
{
	if (!lex_is_keyword(parser, "when"))
		return NULL;
	lex_next(parser);
	return parse_expr(parser);
}

/* Notes an error found behind the end of its line: no further line is skipped. */
static void line_error(struct parser *parser, uint32_t at, const char *what)
{
	rules_error(own(parser)->rules, own(parser)->file, at, "%s", what);
	parser->failed = true;
	parser->pos = parser->token.at;
}

/* ---- heads ---- */

static struct head_pattern *add_pattern(struct parser *parser, struct rule_block *block, size_t at)
{
	struct head_pattern *pattern = arena_push(parser->arena, block->patterns, block->npatterns,
						  block->patterns_capacity);

	*pattern = (struct head_pattern){.kind = HEAD_GLOB, .at = parser_place(parser, at)};
	return pattern;
}

/* A glob goes up to a blank, or to a comma outside [..]. */
static size_t glob_end(const struct parser *parser, size_t pos)
{
	bool in_class = false;

	for (; pos < parser->len; pos++) {
		char c = parser->text[pos];
		if (is_blank(c) || c == '\n' || c == '"' || (c == ',' && !in_class))
			break;
		if (c == '[')
			in_class = true;
		else if (c == ']')
			in_class = false;
	}
	return pos;
}

static void special_pattern(struct parser *parser, struct head_pattern *pattern, size_t at)
{
	static const char *const names[] = {[HEAD_START] = "@start",
					    [HEAD_LOST] = "@lost",
					    [HEAD_CONTRADICTION] = "@contradiction",
					    [HEAD_END] = "@end"};

	for (enum pattern_kind kind = HEAD_START; kind <= HEAD_END; kind++)
		if (!strcmp(pattern->text, names[kind])) {
			pattern->kind = kind;
			return;
		}
	parse_error(parser, at, "expected @start, @lost, @contradiction or @end, found '%.40s'",
		    pattern->text);
}

static void parse_glob(struct parser *parser, struct rule_block *block, size_t at)
{
	size_t end = glob_end(parser, at);
	struct head_pattern *pattern;

	if (end == at || parser->text[at] == '#') {
		lex_next(parser);
		parse_expected(parser, block->is_section ? "a pattern of section names"
							 : "a pattern of event names");
		return;
	}
	pattern = add_pattern(parser, block, at);
	pattern->text = arena_strndup(parser->arena, parser->text + at, end - at);
	for (const char *c = pattern->text; *c; c++)
		pattern->stars += *c == '*';
	parser->pos = end;
	if (*pattern->text == '@' && block->is_section)
		parse_error(parser, at, "sections have no @start, @lost or @end");
	else if (*pattern->text == '@')
		special_pattern(parser, pattern, at);
}

/* parser->pos stands behind the keyword or a comma. */
static void parse_pattern(struct parser *parser, struct rule_block *block)
{
	size_t at = parser->pos = blanks_end(parser, parser->pos);

	if (parser_char(parser, at) == '"') {
		lex_next(parser);
		if (parser->failed)
			return;
		struct head_pattern *pattern = add_pattern(parser, block, at);
		pattern->kind = HEAD_LITERAL;
		pattern->text = token_text(parser);
	} else {
		parse_glob(parser, block, at);
	}
}

/*
 * `in section GLOB` becomes the condition section/name ~ GLOB, since the section depends on the
 * stream, not the class. Captures stay those of the event's pattern.
 */
static struct ast *parse_in_section(struct parser *parser, struct rule_block *block)
{
	struct rule_block found = {0};
	struct ast *constant;

	if (!lex_is_keyword(parser, "in"))
		return NULL;
	lex_next(parser);
	if (!lex_is_keyword(parser, "section")) {
		parse_expected(parser, "section");
		return NULL;
	}
	found.is_section = true; /* for messages */
	parser->pos = parser->token.end;
	parse_pattern(parser, &found);
	lex_next(parser);
	if (!found.npatterns || parser->failed)
		return NULL;
	struct head_pattern *pattern = block->section = found.patterns;
	if (pattern->kind == HEAD_GLOB && !strcmp(pattern->text, "*"))
		return NULL; /* matches streams without a section, too */
	constant = ast_new(parser->arena, AST_CONST, pattern->at);
	constant->value = value_text(pattern->text, strlen(pattern->text));
	return ast_of(parser->arena, pattern->kind == HEAD_GLOB ? OP_GLOB : OP_EQ, pattern->at,
		      ast_name(own(parser)->rules, "section", "name", pattern->at), constant);
}

static void parse_head(struct parser *parser, bool is_section)
{
	struct rule_block *block = arena_alloc(parser->arena, sizeof *block);

	block->file = own(parser)->file;
	block->at = own(parser)->statement_at;
	block->is_section = is_section;
	RULES_APPEND(own(parser)->rules, blocks, block);
	own(parser)->block = block; /* also after an error: its lines are not "outside" */
	do {
		parse_pattern(parser, block);
		lex_next(parser);
	} while (lex_is_op(parser, ","));
	struct ast *section = is_section ? NULL : parse_in_section(parser, block);
	block->when = parse_when(parser);
	block->has_when = block->when != NULL;
	expect_end(parser, block->when      ? "an operator or the end of the line"
			   : block->section ? "when or the end of the line"
			   : is_section     ? "',', when or the end of the line"
					    : "',', in section, when or the end of the line");
	if (section)
		block->when = block->when ? ast_of(parser->arena, OP_AND, section->at, section,
						   block->when)
					  : section;
	if (!parser->failed)
		ast_check(own(parser)->rules, own(parser)->file, block, block->when, false);
}

/* ---- statements ---- */

static void refuse_wild(struct parser *parser, const struct ast_path *path)
{
	if (path->below)
		parse_error(parser, parser->token.at, "only delete and unknown take '**'");
	for (uint32_t i = 0; i < path->natoms && !parser->failed; i++)
		if (path->atoms[i].kind == ATOM_ANY)
			line_error(parser, path->atoms[i].at,
				   "expected a key: only delete and unknown take '*'");
}

/* Checks the path of an `initial` or `view`: of the state, keys constants or as `key` says. */
static void check_defined(struct parser *parser, const struct ast_path *path, const char *key)
{
	for (uint32_t i = 0; i < path->natoms && !parser->failed; i++)
		if (path->atoms[i].kind == ATOM_EXPR && path->atoms[i].key->kind != AST_CONST)
			line_error(parser, path->atoms[i].at, key);
	if (!parser->failed && ast_root(path) != ROOT_STATE)
		line_error(parser, path->at, "expected a path of the state");
}

static void check_target(struct parser *parser, const struct statement *statement)
{
	const struct ast_path *path = statement->target;
	enum root root = ast_root(path);
	bool section_path = root == ROOT_SECTION && path->natoms == 2 &&
			    path->atoms[1].kind == ATOM_NAME && !path->below;
	const char *what = NULL;

	if (parser->failed)
		return;
	if (own(parser)->block->is_section && (!section_path || statement->verb != VERB_SET))
		what = "a section block holds only lines section/NAME = EXPRESSION";
	else if (!own(parser)->block->is_section && root == ROOT_SECTION)
		what = "section/ is written in section blocks only";
	else if (root != ROOT_STATE && root != ROOT_SECTION)
		what = "expected a path of the state: this is part of the event and only read";
	if (what)
		line_error(parser, path->at, what);
}

static void add_statement(struct parser *parser, struct statement *statement)
{
	struct rules *rules = own(parser)->rules;

	if (parser->failed)
		return;
	if (!own(parser)->block) {
		line_error(parser, statement->at,
			   "expected a head (event PATTERN or section PATTERN) before this line");
		return;
	}
	statement->block = own(parser)->block;
	check_target(parser, statement);
	if (parser->failed)
		return;
	for (uint32_t i = 0; i < statement->target->natoms; i++)
		ast_check(rules, own(parser)->file, own(parser)->block,
			  statement->target->atoms[i].key, false);
	ast_check(rules, own(parser)->file, own(parser)->block, statement->value, false);
	ast_check(rules, own(parser)->file, own(parser)->block, statement->when, false);
	RULES_APPEND(rules, statements, statement);
}

/* Parses a statement behind its verb's keyword, if it has one. */
static void parse_statement(struct parser *parser, enum verb verb)
{
	struct statement *statement = arena_alloc(parser->arena, sizeof *statement);
	bool set = verb == VERB_SET, gives = set || verb == VERB_WAS || verb == VERB_PUSH;

	statement->at = own(parser)->statement_at;
	statement->verb = verb;
	statement->target = parse_path(parser, PATH_TARGET);
	if (!verb_buries(verb))
		refuse_wild(parser, statement->target);
	if (set && lex_is_op(parser, "+=")) {
		statement->verb = VERB_ADD;
		lex_next(parser);
		statement->value = parse_expr(parser);
	} else if (gives && parse_op(parser, "=", set ? "'=' or '+=' after the path" : "'='")) {
		statement->value = parse_expr(parser);
	}
	statement->when = parse_when(parser);
	expect_end(parser, statement->value || statement->when
				   ? "an operator, when or the end of the line"
				   : "when or the end of the line");
	add_statement(parser, statement);
}

/* ---- initial, view, let, alias, map ---- */

static void parse_initial(struct parser *parser)
{
	struct initial_def *initial = arena_alloc(parser->arena, sizeof *initial);

	initial->file = own(parser)->file;
	initial->path = parse_path(parser, PATH_TARGET);
	check_defined(parser, initial->path,
		      "expected a constant or '*' as the key of an initial value");
	if (parse_op(parser, "=", "'='"))
		parse_constant(parser, &initial->value);
	expect_end(parser, "the end of the line");
	if (!parser->failed)
		RULES_APPEND(own(parser)->rules, initials, initial);
}

static void parse_view(struct parser *parser)
{
	struct view_def *view = arena_alloc(parser->arena, sizeof *view);

	view->file = own(parser)->file;
	own(parser)->view = view;
	own(parser)->declares = true;
	view->path = parse_path(parser, PATH_PLAIN);
	own(parser)->declares = false;
	check_defined(parser, view->path,
		      "expected a constant or a variable ?NAME as the key of a view");
	if (parse_op(parser, "=", "'='"))
		view->value = parse_expr(parser);
	expect_end(parser, "an operator or the end of the line");
	own(parser)->view = NULL;
	if (parser->failed)
		return;
	ast_check(own(parser)->rules, own(parser)->file, NULL, view->value, true);
	RULES_APPEND(own(parser)->rules, views, view);
}

/* Parses a let: the name stands for the expression in the rest of the file. */
static void parse_let(struct parser *parser)
{
	struct let_def *let = arena_alloc(parser->arena, sizeof *let);
	size_t errors = own(parser)->rules->nerrors;
	const struct let_def *first;
	struct value value;

	let->file = own(parser)->file;
	let->at = own(parser)->statement_at;
	if (parser->token.kind != TOKEN_IDENT ||
	    lex_constant(parser->token.value.text, parser->token.value.len, &value))
		parse_expected(parser, "the name of the expression");
	let->name = parser->failed ? "" : token_text(parser);
	lex_next(parser);
	if (parse_op(parser, "=", "'='"))
		let->value = parse_expr(parser);
	let->nodes = parser->nodes;
	expect_end(parser, "an operator or the end of the line");
	if (parser->failed)
		return;
	first = rules_let(own(parser)->rules, own(parser)->file, let->name);
	if (first)
		rules_error(own(parser)->rules, own(parser)->file, let->at,
			    "an expression '%.60s' is there already, at %.100s:%u", let->name,
			    first->file->name, rule_file_place(first->file, first->at).line);
	ast_check(own(parser)->rules, own(parser)->file, NULL, let->value, false);
	if (own(parser)->rules->nerrors == errors)
		rules_add_let(own(parser)->rules, let);
}

static void parse_alias(struct parser *parser)
{
	struct alias_def *alias = arena_alloc(parser->arena, sizeof *alias);

	alias->file = own(parser)->file;
	alias->at = own(parser)->statement_at;
	alias->is_event = lex_is_word(parser, "event");
	if (!alias->is_event && !lex_is_word(parser, "field"))
		parse_expected(parser, "event or field after alias");
	lex_next(parser);
	if (parser->token.kind != TOKEN_IDENT)
		parse_expected(parser, "the name of the alias");
	alias->name = parser->failed ? "" : token_text(parser);
	lex_next(parser);
	if (!lex_is_op(parser, "="))
		parse_expected(parser, "'='");
	do {
		lex_next(parser);
		if (parser->token.kind != TOKEN_IDENT && parser->token.kind != TOKEN_STRING)
			parse_expected(parser, "a name");
		else
			*arena_push(parser->arena, alias->names, alias->nnames,
				    alias->names_capacity) = token_text(parser);
		lex_next(parser);
	} while (lex_is_op(parser, ","));
	expect_end(parser, "',' or the end of the line");
	if (!parser->failed)
		rules_add_alias(own(parser)->rules, alias);
}

/* Parses a map's result: a constant, or `unknown`. */
static void parse_result(struct parser *parser, struct value *out)
{
	if (!lex_is_word(parser, "unknown")) {
		parse_constant(parser, out);
		return;
	}
	*out = (struct value){.kind = VALUE_UNKNOWN};
	lex_next(parser);
}

static void parse_entry(struct parser *parser, struct map_def *map)
{
	struct map_case entry = {.kind = ENTRY_VALUE};

	if (lex_is_op(parser, "*")) {
		entry.kind = ENTRY_REST;
		lex_next(parser);
	} else if (lex_is_op(parser, "&")) {
		entry.kind = ENTRY_MASK;
		lex_next(parser);
		if (parser->token.kind != TOKEN_NUMBER || parser->token.value.kind != VALUE_INT)
			parse_expected(parser, "an integer after '&'");
		entry.match = parser->token.value;
		lex_next(parser);
	} else if (parser->token.kind == TOKEN_NUMBER || parser->token.kind == TOKEN_STRING ||
		   parser->token.kind == TOKEN_IDENT || lex_is_op(parser, "-")) {
		parse_constant(parser, &entry.match);
	} else {
		parse_expected(parser, "an entry (CONSTANT, & INTEGER or *) or '}'");
	}
	parse_op(parser, "=", "'='");
	parse_result(parser, &entry.result);
	if (parser->failed)
		return;
	*arena_push(parser->arena, map->entries, map->nentries, map->entries_capacity) = entry;
}

static void skip_newlines(struct parser *parser)
{
	while (parser->token.kind == TOKEN_NEWLINE)
		lex_next(parser);
}

static void parse_entries(struct parser *parser, struct map_def *map)
{
	skip_newlines(parser);
	while (!parser->failed && !lex_is_op(parser, "}")) {
		parse_entry(parser, map);
		if (lex_is_op(parser, ",") || parser->token.kind == TOKEN_NEWLINE) {
			lex_next(parser);
			skip_newlines(parser);
		} else if (!lex_is_op(parser, "}")) {
			parse_expected(parser, "',', the end of the line or '}'");
		}
	}
	lex_next(parser);
}

static void expected_format(struct parser *parser)
{
	struct buf text = {0};

	buf_add_text(&text, "a format (");
	reader_names(&text, " or ");
	buf_add_char(&text, ')');
	parse_expected(parser, buf_text(&text));
	buf_release(&text);
}

static void parse_map(struct parser *parser)
{
	struct map_def *map = arena_alloc(parser->arena, sizeof *map);

	map->file = own(parser)->file;
	map->at = own(parser)->statement_at;
	if (parser->token.kind != TOKEN_IDENT)
		parse_expected(parser, "the name of the map");
	map->name = parser->failed ? "" : token_text(parser);
	lex_next(parser);
	if (lex_is_keyword(parser, "for")) {
		lex_next(parser);
		map->format = parser->token.kind == TOKEN_IDENT ? token_text(parser) : "";
		if (!reader_named(map->format))
			expected_format(parser);
		lex_next(parser);
	}
	if (parse_op(parser, "{", map->format ? "'{'" : "for or '{'"))
		parse_entries(parser, map);
	expect_end(parser, "the end of the line");
	if (!parser->failed)
		rules_add_map(own(parser)->rules, map);
}

/* ---- include ---- */

/* Parses an include line. The lines behind it need a new head. */
static void parse_include(struct parser *parser)
{
	size_t at = parser->token.at;
	bool is_file = parser->token.kind == TOKEN_STRING;
	const char *name = "";

	if (parser->token.kind != TOKEN_IDENT && !is_file)
		parse_expected(parser, "the name of a rule set, or a file in double quotes");
	else
		name = token_text(parser);
	if (!parser->failed && (!*name || strlen(name) != parser->token.value.len))
		parse_error(parser, at, "expected the name of a file");
	lex_next(parser);
	expect_end(parser, "the end of the line");
	if (parser->failed)
		return;
	own(parser)->block = NULL;
	rules_include(own(parser)->rules, own(parser)->file, parser_place(parser, at), name,
		      is_file);
}

/* ---- lines ---- */

/*
 * Is the line's first token this keyword? It must be followed by a blank, but not by `=` or `+=`:
 * then it is a path.
 */
static bool starts_with(struct parser *parser, const char *word)
{
	size_t pos;

	if (!lex_is_keyword(parser, word))
		return false;
	pos = spaces_end(parser, parser->token.end);
	if (parser_char(parser, pos) == '+')
		pos++;
	return parser_char(parser, pos) != '=';
}

/* A definition, or a statement that begins with its verb. */
static bool parse_keyword_line(struct parser *parser)
{
	static const struct {
		const char *word;
		void (*parse)(struct parser *parser); /* NULL: a statement, */
		enum verb verb;                       /* of that verb */
	} lines[] = {{"initial", parse_initial, 0},   {"view", parse_view, 0},
		     {"alias", parse_alias, 0},       {"map", parse_map, 0},
		     {"include", parse_include, 0},   {"mirror", parse_mirror, 0},
		     {"let", parse_let, 0},           {"was", NULL, VERB_WAS},
		     {"push", NULL, VERB_PUSH},       {"delete", NULL, VERB_DELETE},
		     {"unknown", NULL, VERB_UNKNOWN}, {"pop", NULL, VERB_POP}};

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		if (!starts_with(parser, lines[i].word))
			continue;
		lex_next(parser);
		if (lines[i].parse)
			lines[i].parse(parser);
		else
			parse_statement(parser, lines[i].verb);
		return true;
	}
	return false;
}

/* Parses a line; its first token is the current one. */
static void parse_line(struct parser *parser)
{
	own(parser)->statement_at = parser_place(parser, parser->token.at);
	parser->nodes = 0;
	if (starts_with(parser, "event") || starts_with(parser, "section"))
		parse_head(parser, lex_is_word(parser, "section"));
	else if (parse_keyword_line(parser))
		return;
	else if (parser->token.kind == TOKEN_IDENT || parser->token.kind == TOKEN_STRING)
		parse_statement(parser, VERB_SET);
	else
		parse_expected(parser, "a statement or a head (event, section, map, alias, "
				       "initial, view, let, include, mirror)");
}

/* ---- quoted statements ---- */

/* Offset of the quote that closes the one at `open`, or the text's end. */
static size_t closing_quote(const struct parser *parser, size_t open)
{
	size_t pos = open + 1;

	while (pos < parser->len && parser->text[pos] != '"')
		pos += parser->text[pos] == '\\' ? 2 : 1;
	return pos < parser->len ? pos : parser->len;
}

/* Does a statement inside quotes begin at `open`? Nothing but a comment stands behind it. */
static bool is_quoted(const struct parser *parser, size_t open, size_t *close)
{
	size_t pos;

	*close = closing_quote(parser, open);
	if (*close == parser->len)
		return false;
	pos = blanks_end(parser, *close + 1);
	return pos == parser->len || parser->text[pos] == '\n' || parser->text[pos] == '#';
}

/* Unescapes the content and parses it as one line; errors have their place in the file. */
static void parse_quoted(struct parser *outer, size_t open, size_t close)
{
	char *text = arena_alloc(outer->arena, close - open);
	uint32_t *map = arena_array(outer->arena, close - open + 1, sizeof *map);
	size_t n = 0;

	for (size_t i = open + 1; i < close; i++) {
		if (outer->text[i] == '\\' &&
		    (outer->text[i + 1] == '"' || outer->text[i + 1] == '\\'))
			i++;
		map[n] = (uint32_t)i;
		text[n++] = outer->text[i];
	}
	map[n] = (uint32_t)close;
	struct rule_parser inside = rule_parser_of(own(outer)->rules, own(outer)->file, text, n);
	struct parser *inner = &inside.in;

	inner->map = map;
	inside.block = own(outer)->block;
	lex_next(inner);
	skip_newlines(inner);
	parse_line(inner);
	if (!inner->failed)
		skip_newlines(inner);
	if (inner->token.kind != TOKEN_END)
		parse_expected(inner, "the closing quote: one statement stands inside quotes");
	own(outer)->block = inside.block;
	outer->pos = close + 1;
}

/* ---- files ---- */

/* Skips to the end of the line with the error, and its continuation lines. */
static void recover(struct parser *parser)
{
	size_t next = parser->pos;

	parser->failed = false;
	parser->brackets = 0;
	own(parser)->key_depth = 0;
	own(parser)->declares = false;
	own(parser)->view = NULL;
	do {
		parser->pos = line_end(parser, next);
		next = spaces_end(parser, parser->pos);
	} while (parser_char(parser, next) == '='); /* a continuation */
}

/* Skips to the closing bracket of a map that was opened; recover() then skips that line. */
static void recover_map(struct parser *parser, size_t from)
{
	size_t pos = parser->pos;

	if (!memchr(parser->text + from, '{', pos - from))
		return;
	while (pos < parser->len && parser->text[pos] != '}')
		pos++;
	if (pos < parser->len)
		parser->pos = pos;
}

static void parse_file(struct parser *parser)
{
	while ((parser->pos = spaces_end(parser, parser->pos)) < parser->len) {
		size_t at = parser->pos, close;
		if (parser->text[at] == '#') {
			parser->pos = line_end(parser, at);
			continue;
		}
		if (parser->text[at] == '"' && is_quoted(parser, at, &close)) {
			parse_quoted(parser, at, close);
			continue;
		}
		lex_next(parser);
		bool map = starts_with(parser, "map");
		parse_line(parser);
		if (parser->failed) {
			if (map)
				recover_map(parser, at);
			recover(parser);
		} else if (parser->token.kind == TOKEN_NEWLINE) {
			parser->pos = parser->token.at;
		}
	}
}

/* Refuses bytes that editors do not show, since columns in messages would be confusing. */
static bool check_text(struct rules *rules, const struct rule_file *file)
{
	const char *zero = memchr(file->text, 0, file->len);

	if (file->len > RULES_TEXT_MAX) {
		rules_error(rules, file, 0, "the file is longer than %d MiB",
			    RULES_TEXT_MAX >> 20);
		return false;
	}
	if (zero) {
		rules_error(rules, file, (uint32_t)(zero - file->text),
			    "a zero byte: expected UTF-8 text");
		return false;
	}
	return true;
}

bool rules_parse(struct rules *rules, const struct rule_file *given, struct error *err)
{
	struct rule_file *file = rule_file_new(rules, given);
	size_t errors = rules->nerrors;

	RULES_APPEND(rules, files, file);
	if (check_text(rules, file)) {
		struct rule_parser parser = rule_parser_of(rules, file, file->text, file->len);
		if (file->len >= 3 && !memcmp(file->text, "\xef\xbb\xbf", 3))
			parser.in.pos = 3;
		parse_file(&parser.in);
	}
	return rules->nerrors == errors || rules_first_error(rules, errors, err);
}

bool rules_add(struct rules *rules, const char *name, const char *text, size_t len,
	       struct error *err)
{
	return rules_parse(rules, &(struct rule_file){.name = name, .text = text, .len = len}, err);
}

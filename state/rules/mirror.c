/*
 * mirror.c - the `mirror` statement: what a contradiction between events makes unknown
 *
 *     mirror cpu[section/cpu]/thread with thread[*]/state, idle[section/cpu]/state
 *         by field/self except 0
 *
 * `was` and `=` lines of the first path say what runs before and after an event. The next `was`
 * must agree with the last `=`; if not, events are missing. The consequences become ordinary lines,
 * so that every way of evaluation supports them:
 *
 *     event @contradiction
 *         unknown cpu[section/cpu]/thread
 *         unknown thread[field/claimed]/state
 *         unknown thread[field/told]/state
 *         unknown idle[section/cpu]/state
 */
#include "state/rules/lex.h"

/* A copy of the path with field/NAME in place of each `*`. */
static struct ast_path *with_field(struct parser *parser, const struct ast_path *from,
				   const char *name)
{
	struct arena *arena = parser->arena;
	struct ast_path *path = arena_alloc(arena, sizeof *path);

	*path = *from;
	path->atoms = arena_array(arena, from->natoms, sizeof *path->atoms);
	for (uint32_t i = 0; i < from->natoms; i++) {
		struct ast_atom *atom = &path->atoms[i];

		*atom = from->atoms[i];
		if (atom->kind != ATOM_ANY)
			continue;
		atom->kind = ATOM_EXPR;
		atom->key = ast_name(own(parser)->rules, "field", name, atom->at);
	}
	return path;
}

static bool has_any(const struct ast_path *path)
{
	for (uint32_t i = 0; i < path->natoms; i++)
		if (path->atoms[i].kind == ATOM_ANY)
			return true;
	return false;
}

/* Adds a line `unknown PATH` to the block. */
static void add_unknown(struct parser *parser, const struct rule_block *block,
			struct ast_path *path)
{
	struct statement *statement = arena_alloc(parser->arena, sizeof *statement);

	*statement = (struct statement){
		.block = block, .at = path->at, .verb = VERB_UNKNOWN, .target = path};
	RULES_APPEND(own(parser)->rules, statements, statement);
}

static void add_mirrored(struct parser *parser, const struct rule_block *block,
			 struct ast_path *path)
{
	add_unknown(parser, block, with_field(parser, path, "claimed"));
	if (has_any(path))
		add_unknown(parser, block, with_field(parser, path, "told"));
}

/* A path of the state whose keys read the section alone; `any`: or are `*`. */
static struct ast_path *parse_side(struct parser *parser, bool any)
{
	struct ast_path *path = parse_path(parser, PATH_TARGET);

	if (parser->failed)
		return path;
	if (ast_root(path) != ROOT_STATE)
		parse_error(parser, parser->token.at, "expected a path of the state before this");
	else if (path->below)
		parse_error(parser, parser->token.at, "only delete and unknown take '**'");
	else if (!any && has_any(path))
		parse_error(parser, parser->token.at,
			    "expected keys without '*' in the path that is mirrored");
	return path;
}

static struct rule_block *contradiction_block(struct parser *parser)
{
	struct rule_block *block = arena_alloc(parser->arena, sizeof *block);
	struct head_pattern *pattern = arena_alloc(parser->arena, sizeof *pattern);

	*pattern = (struct head_pattern){.kind = HEAD_CONTRADICTION,
					 .text = "@contradiction",
					 .at = own(parser)->statement_at};
	*block = (struct rule_block){.file = own(parser)->file,
				     .at = own(parser)->statement_at,
				     .patterns = pattern,
				     .npatterns = 1};
	RULES_APPEND(own(parser)->rules, blocks, block);
	return block;
}

static void parse_evidence(struct parser *parser, struct mirror_def *mirror)
{
	do {
		struct ast *evidence;

		lex_next(parser);
		evidence = parse_expr(parser);
		if (parser->failed)
			return;
		ast_check(own(parser)->rules, own(parser)->file, NULL, evidence, false);
		if (mirror->nevidence == MIRROR_EVIDENCE)
			parse_error(parser, parser->token.at, "at most %d expressions stand here",
				    MIRROR_EVIDENCE);
		else
			mirror->evidence[mirror->nevidence++] = evidence;
	} while (!parser->failed && lex_is_op(parser, ","));
}

void parse_mirror(struct parser *parser)
{
	struct mirror_def *mirror = arena_alloc(parser->arena, sizeof *mirror);
	const struct rule_block *block = contradiction_block(parser);

	if (own(parser)->rules->mirror) {
		rules_error(own(parser)->rules, own(parser)->file, own(parser)->statement_at,
			    "expected one mirror in all rule files together: %s has one",
			    own(parser)->rules->mirror->file->name);
		parser->failed = true;
		return;
	}
	mirror->file = own(parser)->file;
	mirror->path = parse_side(parser, false);
	if (!parser->failed)
		add_unknown(parser, block, mirror->path);
	if (lex_is_keyword(parser, "with")) {
		do {
			struct ast_path *path;

			lex_next(parser);
			path = parse_side(parser, true);
			if (!parser->failed)
				add_mirrored(parser, block, path);
		} while (!parser->failed && lex_is_op(parser, ","));
	}
	if (lex_is_keyword(parser, "by"))
		parse_evidence(parser, mirror);
	if (!parser->failed && lex_is_keyword(parser, "except")) {
		lex_next(parser);
		mirror->has_except = parse_constant(parser, &mirror->except);
	}
	if (!parse_at_end(parser))
		parse_expected(parser,
			       "with PATH, by EXPRESSION, except CONSTANT or the end of the line");
	if (!parser->failed)
		own(parser)->rules->mirror = mirror;
}

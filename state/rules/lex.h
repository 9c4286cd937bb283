/*
 * lex.h - the parser of the rule language, a dialect of expressions in which blanks matter
 *
 * A statement inside double quotes is parsed as its content; `map` then gives the offset in the
 * file of each byte.
 */
#ifndef STATE_RULES_LEX_H
#define STATE_RULES_LEX_H

#include "state/expr/parse.h"
#include "state/rules/ast.h"

struct rule_parser {
	struct parser in;
	struct rules *rules;
	const struct rule_file *file;
	unsigned key_depth;
	struct view_def *view; /* whose variables are in scope */
	bool declares;         /* ?x in a key makes a new variable */
	struct rule_block *block;
	uint32_t statement_at;
	size_t operand_at; /* of a key: its last operand */
};

static inline struct rule_parser *own(struct parser *parser)
{
	return (struct rule_parser *)parser;
}

/* A parser of a text in the file. */
struct rule_parser rule_parser_of(struct rules *rules, const struct rule_file *file,
				  const char *text, size_t len);
/* Is the current token that word, followed by a blank or the line's end? */
bool lex_is_keyword(const struct parser *parser, const char *word);
bool parse_at_end(const struct parser *parser); /* of the statement, or of quoted content */

/* mirror.c; behind the keyword */
void parse_mirror(struct parser *parser);

/* parse_expr.c */
enum path_use { PATH_PLAIN, PATH_TARGET /* `*` and `**` allowed */ };
struct ast_path *parse_path(struct parser *parser, enum path_use use);
/* Parses the whole text of the file as one expression; errors are noted in `rules`. */
struct ast *parse_expr_text(struct rules *rules, const struct rule_file *file);
/* Parses it as a key of at most `most` columns, see where_parse_key(); returns how many it has. */
size_t parse_key_text(struct rules *rules, const struct rule_file *file, struct key_column *out,
		      size_t most);

#endif

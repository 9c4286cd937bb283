/*
 * lex.h - words of the rule language; where blanks stand is part of the grammar
 *
 * A statement wholly inside double quotes is read as its content: then `map` says where in the
 * file each byte of the content stood.
 */
#ifndef STATE_RULES_LEX_H
#define STATE_RULES_LEX_H

#include "state/rules/ast.h"
#include "state/rules/number.h"

#include <string.h>

enum token_kind {
	TOKEN_END, /* of the text */
	TOKEN_NEWLINE,
	TOKEN_IDENT,
	TOKEN_NUMBER, /* `value` */
	TOKEN_STRING, /* `value` */
	TOKEN_OP      /* `op`: its characters */
};

struct token {
	enum token_kind kind;
	size_t at, end; /* in the parser's text */
	bool blank_before;
	char op[3];
	struct value value; /* IDENT: its text as a string */
};

struct parser {
	struct rules *rules;
	const struct rule_file *file;
	const char *text;
	size_t len, pos;
	const uint32_t *map; /* NULL: text is the file's */
	struct token token;  /* the one that is looked at; pos stands behind it */
	unsigned brackets;   /* open: newlines mean nothing */
	unsigned key_depth, nodes;
	bool failed;           /* an error was noted: every word is END until it is cleared */
	struct view_def *view; /* whose variables are in scope */
	bool declares;         /* ?x in a key makes a new variable */
	bool asks;             /* for brackets where C reads the same text in another way */
	size_t bits;           /* 1 + where the operand read last has its & | ^ without brackets */
	struct rule_block *block;
	uint32_t statement_at;
};

void lex_next(struct parser *parser);
/* Nearly all that is asked about a word differs from it in the first character. */
static inline bool lex_is_op(const struct parser *parser, const char *op)
{
	return parser->token.kind == TOKEN_OP && parser->token.op[0] == op[0] &&
	       !strncmp(parser->token.op, op, sizeof parser->token.op);
}

/* The current word is this one. */
static inline bool lex_is_word(const struct parser *parser, const char *word)
{
	const struct token *token = &parser->token;

	return token->kind == TOKEN_IDENT && token->value.text[0] == word[0] &&
	       token->value.len == strlen(word) &&
	       !memcmp(token->value.text, word, token->value.len);
}

/* Is it that word, with a blank (or the line's end) behind it? */
bool lex_is_keyword(const struct parser *parser, const char *word);
/* Notes "expected WHAT, found ..." at the current word. */
void parse_expected(struct parser *parser, const char *what);
void parse_error(struct parser *parser, size_t at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
uint32_t parser_place(const struct parser *parser, size_t at); /* offset in the file */

static inline bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Of the parser's text: a character, 0 behind the end. */
static inline char parser_char(const struct parser *parser, size_t pos)
{
	return pos < parser->len ? parser->text[pos] : 0;
}
/* Where blanks, blanks and newlines, the line end that begin, or go on, at pos. */
size_t blanks_end(const struct parser *parser, size_t pos);
size_t spaces_end(const struct parser *parser, size_t pos);
size_t line_end(const struct parser *parser, size_t pos);

/* A string whose opening quote is at text[*pos], unescaped into the arena. */
bool lex_string(const char *text, size_t len, size_t *pos, struct arena *arena, struct value *out,
		size_t *bad, const char **what);

/* true, false, none; false: it is another word. */
bool lex_constant(const char *word, size_t len, struct value *out);
/* A minus before a number; false: it does not fit in 64 bits. */
bool lex_negate(struct value *number);
bool parse_at_end(const struct parser *parser); /* of a statement, in quotes that of the content */

/* mirror.c; behind the keyword */
void parse_mirror(struct parser *parser);

/* parse_expr.c */
struct ast *parse_expr(struct parser *parser);
enum path_use { PATH_PLAIN, PATH_TARGET /* `*` and `**` allowed */ };
struct ast_path *parse_path(struct parser *parser, enum path_use use);
bool parse_constant(struct parser *parser, struct value *out);
/* The whole of `text` as one expression; errors are noted in `rules`. */
struct ast *parse_expr_text(struct rules *rules, const struct rule_file *file);

#endif

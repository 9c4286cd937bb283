/*
 * parse.h - words and expressions of all languages: rules, conditions, one-liners
 *
 *     a + b * c == d           parse_expr() ── operators of the dialect's tables ──> struct ast
 *     └ the dialect's operand()
 *
 * One lexer and one parser by precedence. What the languages do not share stands in `struct
 * dialect`: the order of binding, where blanks and lines count, and what an operand is. A language
 * puts `struct parser` first into a structure of its own.
 *
 * An error makes every further word END, so the functions return straight up; trees that hold an
 * error are never used.
 */
#ifndef STATE_EXPR_PARSE_H
#define STATE_EXPR_PARSE_H

#include "state/expr/tree.h"

#include <stddef.h>
#include <string.h>

enum token_kind {
	TOKEN_END, /* of the text */
	TOKEN_NEWLINE,
	TOKEN_IDENT,
	TOKEN_NUMBER, /* `value` */
	TOKEN_STRING, /* `value` */
	TOKEN_OP,     /* `op`: its characters */
	/* of one-liners */
	TOKEN_MAP,      /* @name */
	TOKEN_VARIABLE, /* $name */
	TOKEN_PATH,     /* of the state, name[...]/name */
	TOKEN_PREDICATE /* the `/` before `{` that ends a predicate */
};

struct token {
	enum token_kind kind;
	size_t at, end; /* in the parser's text */
	bool blank_before;
	char op[4];
	struct value value; /* all but numbers, strings and signs: their text as a string */
};

struct parser;

struct operator
{ /* how tightly it binds: the greater, the tighter */
	const char *text;
	enum op op;
	unsigned binds;
	unsigned operand; /* of prefixes: how tightly what stands behind binds at least */
};

/* Tables end with an entry without text. */
struct dialect {
	const char *const *signs; /* of several characters, the longest first */
	const char *characters;   /* signs of one; NULL: any */
	bool lines;    /* a line's end is a word, and # begins a comment; else comments are C's */
	bool integers; /* there are no other numbers */
	bool sigils;   /* @name and $name are words */
	/*
	 * Comparisons do not chain, bits mix in brackets alone, a division has blanks on both
	 * sides, the values behind `in` are constants.
	 */
	bool strict;
	const struct operator* prefixes, *binaries;
	unsigned in_binds;
	const char *what;                    /* is it that has, */
	unsigned nodes, depth, brackets;     /* at most */
	bool (*word)(struct parser *parser); /* NULL: none; a word of its own at pos: the token */
	struct ast *(*operand)(struct parser *parser);
	void (*error)(struct parser *parser, size_t at, const char *text);
};

struct parser {
	const struct dialect *dialect;
	struct arena *arena;
	const char *text;
	size_t len, pos;
	const uint32_t *map; /* of each byte of the text: where it stands; NULL: there */
	struct token token;  /* the one that is looked at; pos stands behind it */
	unsigned brackets;   /* open: newlines mean nothing */
	unsigned nodes, depth;
	bool failed; /* an error was told: every word is END until it is cleared */
	bool asks;   /* for brackets where C reads the same text in another way */
	/* 1 + where the operand read last has without brackets its & | ^, its comparison */
	size_t bits, compared;
};

/* ---- words ---- */

void lex_next(struct parser *parser);
void lex_skip(struct parser *parser); /* blanks and comments at pos */
/* Nearly all that is asked about a word differs from it in the first character. */
static inline bool lex_is_op(const struct parser *parser, const char *op)
{
	return parser->token.kind == TOKEN_OP && parser->token.op[0] == op[0] &&
	       !strncmp(parser->token.op, op, sizeof parser->token.op);
}

/* The current word is this name. */
static inline bool lex_is_word(const struct parser *parser, const char *word)
{
	const struct token *token = &parser->token;

	return token->kind == TOKEN_IDENT && token->value.text[0] == word[0] &&
	       token->value.len == strlen(word) &&
	       !memcmp(token->value.text, word, token->value.len);
}

/* Where blanks, blanks and newlines, the line end that begin, or go on, at pos. */
size_t blanks_end(const struct parser *parser, size_t pos);
size_t spaces_end(const struct parser *parser, size_t pos);
size_t line_end(const struct parser *parser, size_t pos);
/* The current word's text, ended by zero, in the arena. */
char *token_text(const struct parser *parser);

/* Tells the first error of a text, at an offset of it. */
void parse_error(struct parser *parser, size_t at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Tells "expected WHAT, found ..." at the current word. */
void parse_expected(struct parser *parser, const char *what);
/* What the offset stands for, see `map`. */
uint32_t parser_place(const struct parser *parser, size_t at);
/* A character of the text; 0 behind its end. */
static inline char parser_char(const struct parser *parser, size_t pos)
{
	return pos < parser->len ? parser->text[pos] : 0;
}

static inline bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/*
 * A string whose opening quote is at text[*pos], unescaped into the arena. False: *what is wrong,
 * at *bad. `lines`: it ends in its line.
 */
bool lex_string(const char *text, size_t len, size_t *pos, bool lines, struct arena *arena,
		struct value *out, size_t *bad, const char **what);
/* true, false, none; false: it is another word. */
bool lex_constant(const char *word, size_t len, struct value *out);
/* A minus before a number; false: it does not fit in 64 bits. */
bool lex_negate(struct value *number);

/* ---- expressions ---- */

struct ast *parse_expr(struct parser *parser);
/* How tightly its operators bind at least. */
struct ast *parse_binding(struct parser *parser, unsigned least);
/* What stands before the value of an expression. */
bool parse_constant(struct parser *parser, struct value *out);
struct ast *parse_node(struct parser *parser, enum ast_kind kind, size_t at);
/* Moves over the bracket; false: there are too many inside one another. */
bool parse_open(struct parser *parser);
/* The bracket that was opened last; the word behind it is read by lex_next(). */
void parse_close(struct parser *parser, const char *op, const char *expected);
/* Expressions between commas, up to the bracket that closes; the one that opens is looked at. */
void parse_args(struct parser *parser, struct ast *ast, const char *close);
/* (EXPRESSION) */
struct ast *parse_bracket(struct parser *parser);
/* Moves over the sign; false: another word stands there, which is told. */
bool parse_op(struct parser *parser, const char *op, const char *what);

#endif

/*
 * parse.h - words and expressions of all languages: rules, conditions, one-liners
 *
 *     a + b * c == d           parse_expr() ── operators of the dialect's tables ──> struct ast
 *     └ the dialect's operand()
 *
 * One lexer and one precedence parser. `struct dialect` has what differs between languages:
 * precedence, whether blanks and line ends count, and operands. A language embeds `struct parser`
 * as the first member of a struct of its own.
 *
 * After an error every token is TOKEN_END, so the functions return quickly; trees with an error are
 * never used.
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
	struct value value; /* of IDENT, MAP, VARIABLE and the like: the text as a string */
};

struct parser;

struct operator
{ /* a greater `binds` binds tighter */
	const char *text;
	enum op op;
	unsigned binds;
	unsigned operand; /* of prefixes: least `binds` of operators in the operand */
};

/* Tables end with an entry without text. */
struct dialect {
	const char *const *signs; /* of several characters, the longest first */
	const char *characters;   /* allowed signs of one character; NULL: any */
	bool lines;    /* a newline is a token, and # begins a comment; else comments are C's */
	bool integers; /* all numbers are integers */
	bool sigils;   /* @name and $name are tokens */
	/*
	 * Errors: chained comparisons, different bit operators without brackets, a division without
	 * blanks on both sides, values behind `in` that are not constants.
	 */
	bool strict;
	const struct operator* prefixes, *binaries;
	unsigned in_binds;
	const char *what;                    /* noun for messages about the limits: */
	unsigned nodes, depth, brackets;     /* at most */
	bool (*word)(struct parser *parser); /* may be NULL; reads a token of this language alone */
	struct ast *(*operand)(struct parser *parser);
	void (*error)(struct parser *parser, size_t at, const char *text);
};

struct parser {
	const struct dialect *dialect;
	struct arena *arena;
	const char *text;
	size_t len, pos;
	const uint32_t *map; /* by byte of the text: its offset in the file; NULL: the same */
	struct token token;  /* the current token; pos is behind it */
	unsigned brackets;   /* open brackets; inside them newlines are blanks */
	unsigned nodes, depth;
	bool failed; /* after an error: every token is END until it is cleared */
	bool asks;   /* an error where C would read the text in another way without brackets */
	/* of the operand parsed last: 1 + offset of its outer & | ^, or comparison; 0: none */
	size_t bits, compared;
};

/* ---- words ---- */

void lex_next(struct parser *parser);
void lex_skip(struct parser *parser); /* blanks and comments at pos */
/* Compares the first character before the rest: nearly all comparisons end there. */
static inline bool lex_is_op(const struct parser *parser, const char *op)
{
	return parser->token.kind == TOKEN_OP && parser->token.op[0] == op[0] &&
	       !strncmp(parser->token.op, op, sizeof parser->token.op);
}

/* Is the current token this name? */
static inline bool lex_is_word(const struct parser *parser, const char *word)
{
	const struct token *token = &parser->token;

	return token->kind == TOKEN_IDENT && token->value.text[0] == word[0] &&
	       token->value.len == strlen(word) &&
	       !memcmp(token->value.text, word, token->value.len);
}

/* Offsets behind blanks at pos, behind blanks and newlines at pos, and of the line's end. */
size_t blanks_end(const struct parser *parser, size_t pos);
size_t spaces_end(const struct parser *parser, size_t pos);
size_t line_end(const struct parser *parser, size_t pos);
/* The current token's text, zero-terminated, in the arena. */
char *token_text(const struct parser *parser);

/* Reports an error at an offset of the text; only the first one counts. */
void parse_error(struct parser *parser, size_t at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Reports "expected WHAT, found ..." at the current token. */
void parse_expected(struct parser *parser, const char *what);
/* The offset in the file, see `map`. */
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
 * Reads the string whose opening quote is at text[*pos]; *out is unescaped, in the arena. False:
 * *what says what is wrong at *bad. `lines`: it must end on its line.
 */
bool lex_string(const char *text, size_t len, size_t *pos, bool lines, struct arena *arena,
		struct value *out, size_t *bad, const char **what);
/* Reads true, false or none. Returns false for any other word. */
bool lex_constant(const char *word, size_t len, struct value *out);
/* Negates the number. False: the result does not fit in 64 bits. */
bool lex_negate(struct value *number);

/* ---- expressions ---- */

struct ast *parse_expr(struct parser *parser);
/* Parses operators that bind at least as tightly as `least`. */
struct ast *parse_binding(struct parser *parser, unsigned least);
/* Parses a constant, perhaps with a minus. False: there is none; the error is reported. */
bool parse_constant(struct parser *parser, struct value *out);
struct ast *parse_node(struct parser *parser, enum ast_kind kind, size_t at);
/* Skips the opening bracket. False: brackets are nested too deeply. */
bool parse_open(struct parser *parser);
/* Expects the closing bracket `op` as current token; the caller then calls lex_next(). */
void parse_close(struct parser *parser, const char *op, const char *expected);
/* Parses the expressions in brackets up to `close`; the current token is the opening bracket. */
void parse_args(struct parser *parser, struct ast *ast, const char *close);
/* (EXPRESSION) */
struct ast *parse_bracket(struct parser *parser);
/* Skips the sign `op`. False: another token stands there; the error is reported. */
bool parse_op(struct parser *parser, const char *op, const char *what);

#endif

/* lex.h - words of one-liners */
#ifndef ONELINER_LEX_H
#define ONELINER_LEX_H

#include "oneliner/tree.h"

enum token_kind {
	TOKEN_END,
	TOKEN_NAME,      /* text */
	TOKEN_MAP,       /* text: "@name" */
	TOKEN_VARIABLE,  /* text: "$name" */
	TOKEN_NUMBER,    /* value */
	TOKEN_STRING,    /* value */
	TOKEN_PATH,      /* text: a state, name[...]/name */
	TOKEN_PREDICATE, /* the `/` before `{` that ends a predicate */
	TOKEN_OP         /* op */
};

struct lexer {
	struct oneliner *program;
	const char *text;
	size_t len, pos;
	bool in_predicate; /* a `/` before `{` ends it */
	struct error *err;
	bool failed;
	enum token_kind kind; /* of the word that is looked at; pos stands behind it */
	uint32_t at;
	char op[4];
	const char *name; /* NAME, MAP, VARIABLE, PATH: in the program's arena */
	struct value value;
};

/* Moves to the next word. After an error every word is TOKEN_END. */
void token_next(struct lexer *lexer);
/* Over blanks and comments, from pos. */
void token_skip(struct lexer *lexer);
bool token_is(const struct lexer *lexer, const char *op);
bool token_is_name(const struct lexer *lexer, const char *name);
/* Notes the error; the first one counts. */
void token_error(struct lexer *lexer, uint32_t at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Notes "expected WHAT, found ...". */
void token_expected(struct lexer *lexer, const char *what);

#endif

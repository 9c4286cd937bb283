/* tsdl_lex.h - tokens of TSDL: 16 bytes each, all of a text in one array */
#ifndef ENGINE_CTF_TSDL_LEX_H
#define ENGINE_CTF_TSDL_LEX_H

#include <stdint.h>

/* Punctuation of one character is its own kind. */
enum token_kind {
	TOKEN_END,
	TOKEN_NAME = 128,  /* text */
	TOKEN_KEYWORD,     /* text, word */
	TOKEN_INT,         /* number */
	TOKEN_STRING,      /* text, up to its first zero */
	TOKEN_CHAR,        /* text */
	TOKEN_TYPE_ASSIGN, /* := */
	TOKEN_ELLIPSIS,    /* ... */
	TOKEN_ARROW        /* -> */
};

enum word {
	WORD_NONE,
	WORD_ALIGN,
	WORD_CALLSITE,
	WORD_CONST,
	WORD_CLOCK,
	WORD_ENUM,
	WORD_ENV,
	WORD_EVENT,
	WORD_FLOATING_POINT,
	WORD_INTEGER,
	WORD_STREAM,
	WORD_STRING,
	WORD_STRUCT,
	WORD_TRACE,
	WORD_TYPEALIAS,
	WORD_TYPEDEF,
	WORD_VARIANT,
	WORD_C_TYPE /* char, unsigned, _Bool ...: parts of the names of types */
};

struct tsdl_token {
	uint32_t at; /* offset into the text */
	uint8_t kind;
	uint8_t word;
	union {
		const char *text; /* interned */
		uint64_t number;
	};
};

#endif

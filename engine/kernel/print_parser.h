/* print_parser.h - shared by what reads a print format: tokens (print_lex.c), helpers, expressions
 */
#ifndef ENGINE_KERNEL_PRINT_PARSER_H
#define ENGINE_KERNEL_PRINT_PARSER_H

#include "engine/kernel/print.h"

enum { PARSER_NODES_MAX = 20000 };

enum token { TOKEN_END, TOKEN_WORD, TOKEN_TEXT, TOKEN_SIGN };

struct parser {
	const struct tracing *tracing;
	const struct tracing_text *text;
	struct arena *arena;
	const char *at; /* behind the token */
	const char *token;
	size_t len;
	enum token kind;
	unsigned depth, nodes;
	unsigned tall;       /* nodes that stack up without depth: a + b + c, a[b][c] */
	unsigned lookups;    /* in the table of symbols */
	bool plugins;        /* helpers that trace-cmd's plugins know */
	const char *unknown; /* a helper of the argument that is not known; NULL: there is none */
	bool failed;
};

/* print_lex.c: failure is sticky */
void parser_next(struct parser *p);
bool parser_at(const struct parser *p, const char *text); /* the token is this sign or word */
bool parser_accept(struct parser *p, const char *text);
void parser_expect(struct parser *p, const char *text);
struct node *parser_node(struct parser *p, enum node_kind kind);
const struct node *parser_number(struct parser *p, uint64_t value);
/* Passes over tokens up to that sign, those in brackets included, or to the text's end. */
void parser_skip(struct parser *p, const char *sign);
const char *parser_strings(struct parser *p); /* in a row they are one */
const char *parser_word(struct parser *p);
const char *parser_type(struct parser *p); /* up to a closing parenthesis; "": something else */
const struct node *parser_field(struct parser *p); /* behind REC */

/* print_helpers.c: from behind the opening parenthesis */
const struct node *parser_helper(struct parser *p, const char *name);
/* print_parse.c */
const struct node *parser_expression(struct parser *p);

#endif

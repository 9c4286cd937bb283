/* print_parser.h - the parser of print formats: tokens (print_lex.c), helpers, expressions */
#ifndef ENGINE_KERNEL_PRINT_PARSER_H
#define ENGINE_KERNEL_PRINT_PARSER_H

#include "engine/kernel/print.h"

enum { PARSER_NODES_MAX = 20000 };

enum token { TOKEN_END, TOKEN_WORD, TOKEN_TEXT, TOKEN_SIGN };

struct print_parser {
	const struct tracing *tracing;
	const struct tracing_text *text;
	struct arena *arena;
	const char *at; /* behind the token */
	const char *token;
	size_t len;
	enum token kind;
	unsigned depth, nodes;
	unsigned tall;       /* nodes in chains that `depth` does not count: a + b + c, a[b][c] */
	unsigned lookups;    /* of kernel symbols so far, for a limit */
	bool plugins;        /* accept helpers of trace-cmd's plugins */
	const char *unknown; /* an unknown helper in the current argument; NULL: none */
	bool failed;
};

/* print_lex.c: failure is sticky */
void parser_next(struct print_parser *p);
bool parser_at(const struct print_parser *p, const char *text); /* the token is this sign or word */
bool parser_accept(struct print_parser *p, const char *text);
void parser_expect(struct print_parser *p, const char *text);
struct print_node *parser_node(struct print_parser *p, enum node_kind kind);
const struct print_node *parser_number(struct print_parser *p, uint64_t value);
/* Skips to that sign outside of brackets, or to the text's end. */
void parser_skip(struct print_parser *p, const char *sign);
const char *parser_strings(struct print_parser *p); /* joins adjacent strings */
const char *parser_word(struct print_parser *p);
const char *parser_type(struct print_parser *p); /* up to a closing parenthesis; "": no type */
const struct print_node *parser_field(struct print_parser *p); /* behind REC */

/* print_helpers.c: parses a helper's call from behind the opening parenthesis */
const struct print_node *parser_helper(struct print_parser *p, const char *name);
/* print_parse.c */
const struct print_node *parser_expression(struct print_parser *p);

#endif

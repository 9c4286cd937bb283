/* parse.h - what the two files of the parser share */
#ifndef ONELINER_PARSE_H
#define ONELINER_PARSE_H

#include "oneliner/lex.h"

enum { PARSE_NODES_MAX = 20000, PARSE_DEPTH_MAX = 100 };

struct parser {
	struct lexer lex;
	unsigned depth, nodes;
	unsigned unrolled; /* how often the statement runs; 0: once */
};

bool parse_op(struct parser *parser, const char *op, const char *what);
struct node *tree_node(struct parser *parser, enum node_kind kind, uint32_t at, uint32_t nargs);
struct node *tree_binary(struct parser *parser, enum node_kind kind, enum op op, uint32_t at,
			 struct node *a, struct node *b);

/* parse_expr.c; never NULL: after an error it may be any node */
struct node *expression_parse(struct parser *parser);

#endif

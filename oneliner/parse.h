/* parse.h - the parser of one-liners, a dialect of state/expr: parse.c and parse_expr.c share it */
#ifndef ONELINER_PARSE_H
#define ONELINER_PARSE_H

#include "oneliner/tree.h"
#include "state/expr/parse.h"

enum { PARSE_NODES_MAX = 20000, PARSE_DEPTH_MAX = 100 };

struct program_parser {
	struct parser in;
	struct oneliner *program;
	struct error *err;
	bool in_predicate; /* a `/` before `{` then ends the expression */
	unsigned unrolled; /* how often unroll() around the statement repeats it; 0: none */
};

static inline struct program_parser *own(struct parser *parser)
{
	return (struct program_parser *)parser;
}

struct program_parser program_parser_of(struct oneliner *program, struct error *err);

#endif

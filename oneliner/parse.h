/* parse.h - one-liners as a dialect of expressions; what the two files of the parser share */
#ifndef ONELINER_PARSE_H
#define ONELINER_PARSE_H

#include "oneliner/tree.h"
#include "state/expr/parse.h"

enum { PARSE_NODES_MAX = 20000, PARSE_DEPTH_MAX = 100 };

struct program_parser {
	struct parser in;
	struct oneliner *program;
	struct error *err;
	bool in_predicate; /* a `/` before `{` ends it */
	unsigned unrolled; /* how often the statement runs; 0: once */
};

static inline struct program_parser *own(struct parser *parser)
{
	return (struct program_parser *)parser;
}

struct program_parser program_parser_of(struct oneliner *program, struct error *err);

#endif

/* pattern.h - regular expressions of captures() and =~: Perl's, with limits */
#ifndef ONELINER_PATTERN_H
#define ONELINER_PATTERN_H

#include "oneliner/tree.h"

/* Compiles the text of the node's second argument. NULL: *err shows what is wrong. */
MUST_CHECK void *pattern_new(const struct oneliner *program, const struct ast *node,
			     struct error *err);
void pattern_free(void *pattern); /* NULL is fine */

struct pattern_room; /* of a thread: where matches are kept */
struct pattern_room *pattern_room_new(void);
void pattern_room_free(struct pattern_room *room); /* NULL is fine */
/* *out: is there a match? False: it takes too many steps. */
bool pattern_matches(struct pattern_room *room, const void *pattern, const struct value *text,
		     bool *out);
/* Group `number` of the first match; "" where there is none. False: it takes too many steps. */
bool pattern_capture(struct pattern_room *room, const void *pattern, const struct value *text,
		     int64_t number, struct value *out);

#endif

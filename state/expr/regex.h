/* regex.h - regular expressions (PCRE2), with a limit on steps */
#ifndef STATE_EXPR_REGEX_H
#define STATE_EXPR_REGEX_H

#include "state/model/value.h"

#include <stddef.h>

struct regex;

enum { REGEX_STEPS = 1000000, REGEX_GROUP_MAX = 63 };

/* NULL: `why` (REGEX_WHY bytes) says what is wrong at byte *at. Free with regex_free(). */
enum { REGEX_WHY = 128 };
struct regex *regex_new(const struct value *pattern, size_t *at, char *why);
void regex_free(struct regex *regex); /* NULL is fine */

enum regex_result {
	REGEX_NO,
	REGEX_YES,
	REGEX_ENDLESS /* it takes more than REGEX_STEPS steps on this text */
};
struct regex_room; /* match buffers of one thread; free with regex_room_free() */
void regex_room_free(struct regex_room *room); /* NULL is fine */
/*
 * The first match allocates *room. *out gets what the group matched first, a part of the text; ""
 * when it matched nothing.
 */
enum regex_result regex_match(struct regex_room **room, const struct regex *regex,
			      const struct value *text, uint32_t group, struct value *out);

#endif

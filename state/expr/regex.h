/* regex.h - regular expressions of Perl's kind, with bounds */
#ifndef STATE_EXPR_REGEX_H
#define STATE_EXPR_REGEX_H

#include "state/model/value.h"

#include <stddef.h>

struct regex;

enum { REGEX_STEPS = 1000000, REGEX_GROUP_MAX = 63 };

/* NULL: `why`, of REGEX_WHY bytes, says what is wrong at byte *at. Ended by regex_free(). */
enum { REGEX_WHY = 128 };
struct regex *regex_new(const struct value *pattern, size_t *at, char *why);
void regex_free(struct regex *regex); /* NULL is fine */

enum regex_result {
	REGEX_NO,
	REGEX_YES,
	REGEX_ENDLESS /* it takes more than REGEX_STEPS steps on this text */
};
struct regex_room; /* where matches go, of one thread; ended by regex_room_free() */
void regex_room_free(struct regex_room *room); /* NULL is fine */
/* *room: made by the first match. *out: what the group matches first, a part of the text; "" where
 * nothing does. */
enum regex_result regex_match(struct regex_room **room, const struct regex *regex,
			      const struct value *text, uint32_t group, struct value *out);

#endif

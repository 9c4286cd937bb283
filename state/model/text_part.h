/* text_part.h - parts of a text, borrowed from it: substr() and split() of all languages */
#ifndef STATE_MODEL_TEXT_PART_H
#define STATE_MODEL_TEXT_PART_H

#include <stddef.h>
#include <stdint.h>

struct text_part {
	const char *text; /* not ended by zero */
	size_t len;
};

/* `count` bytes from byte `from` on, as far as there are; numbers below 0 are 0. */
struct text_part text_substr(struct text_part text, int64_t from, int64_t count);
/* Part `number`, from 0 on, between separators; "" where there are fewer. */
struct text_part text_split(struct text_part text, struct text_part separator, int64_t number);

/*
 * The digits with which it begins, 0x not among them: how many, *out is their number. SIZE_MAX: it
 * does not fit.
 */
size_t text_digits(struct text_part text, unsigned base, uint64_t *out);

#endif

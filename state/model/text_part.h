/* text_part.h - substr() and split() of all languages; results point into the text */
#ifndef STATE_MODEL_TEXT_PART_H
#define STATE_MODEL_TEXT_PART_H

#include <stddef.h>
#include <stdint.h>

struct text_part {
	const char *text; /* not zero-terminated */
	size_t len;
};

/* At most `count` bytes from byte `from` on; negative numbers count as 0. */
struct text_part text_substr(struct text_part text, int64_t from, int64_t count);
/* Part `number` (from 0) between separators; "" when there are fewer parts. */
struct text_part text_split(struct text_part text, struct text_part separator, int64_t number);

/*
 * Reads the digits with which the text begins (no 0x) into *out and returns how many there are.
 * SIZE_MAX: the number does not fit in 64 bits.
 */
size_t text_digits(struct text_part text, unsigned base, uint64_t *out);

#endif

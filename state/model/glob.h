/* glob.h - names against patterns with * ? [..] */
#ifndef STATE_MODEL_GLOB_H
#define STATE_MODEL_GLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CAPTURES = 9 };
struct captures {
	const char *text[CAPTURES];
	size_t len[CAPTURES];
	uint32_t n;
};

/* Matches the whole text. *captures (or NULL) gets what each `*` matched, borrowed from `text`. */
bool glob_match(const char *pattern, size_t npattern, const char *text, size_t len,
		struct captures *captures);

#endif

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

/* The whole text; what each `*` stands for goes to *captures (borrowed), unless that is NULL. */
bool glob_match(const char *pattern, size_t npattern, const char *text, size_t len,
		struct captures *captures);

#endif

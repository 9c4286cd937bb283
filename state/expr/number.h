/* number.h - numbers as all languages write them: 12, 1_000, 0x1f, 1.5, 1e6, 1.5ms */
#ifndef STATE_EXPR_NUMBER_H
#define STATE_EXPR_NUMBER_H

#include "state/model/value.h"

/*
 * Reads the number at text[*pos] and moves *pos behind it. With a unit (ns, us, ms, s) *out is in
 * nanoseconds, rounded to a whole one. `integers`: 1e6 is an integer, 1.5 is not a number. False:
 * malformed or too large; *what is the message. `text` need not be zero-terminated.
 */
bool lex_number(const char *text, size_t len, size_t *pos, bool integers, struct value *out,
		const char **what);

#endif

/* number.h - numbers as all languages write them: 12, 1_000, 0x1f, 1.5, 1e6, 1.5ms */
#ifndef STATE_EXPR_NUMBER_H
#define STATE_EXPR_NUMBER_H

#include "state/model/value.h"

/*
 * A number at text[*pos], with ns, us, ms or s behind it that many nanoseconds, rounded to whole
 * ones: moves *pos behind it. `integers`: 1e6 is one, too, and 1.5 is none. False: it is malformed
 * or too large, and *what says which. `text` need not be ended by zero.
 */
bool lex_number(const char *text, size_t len, size_t *pos, bool integers, struct value *out,
		const char **what);

#endif

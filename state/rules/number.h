/* number.h - numbers as rules, conditions and one-liners write them: 12, 0x1f, 1.5, 1e6, 1.5ms */
#ifndef STATE_RULES_NUMBER_H
#define STATE_RULES_NUMBER_H

#include "state/model/value.h"

/*
 * A number at text[*pos], with ns, us, ms or s behind it that many nanoseconds, rounded to whole
 * ones: moves *pos behind it. False: it is malformed or too large, and *what
 * says which. `text` need not be ended by zero.
 */
bool lex_number(const char *text, size_t len, size_t *pos, struct value *out, const char **what);

#endif

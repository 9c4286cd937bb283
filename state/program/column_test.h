/*
 * column_test.h - comparisons of an integer with constants, as sets of ranges
 *
 *     prio > 20      20 < prio      cpu in (0, 1, 7)      prev_state & 0x4f == 0x40
 *
 * `--where` tests them over many events at once, plain lines (plain.h) at each event.
 */
#ifndef STATE_PROGRAM_COLUMN_TEST_H
#define STATE_PROGRAM_COLUMN_TEST_H

#include "engine/columns/ranges.h"
#include "state/program/expr.h"

struct tested_column {
	const struct expr *of; /* an integer: a field, the event's time, the CPU of its section */
	uint64_t mask;         /* applied to its value first; UINT64_MAX: none */
	bool is_signed;
};

struct column_test {
	struct tested_column column;
	struct ranges ranges; /* the value is in these, */
	bool negated;         /* or in none of them */
};

/* Is the expression such an integer, or one masked by a constant? */
bool column_of(const struct expr *expr, struct tested_column *out);
/* Is the expression such a comparison? Ranges are allocated in the arena. */
bool column_test_of(const struct expr *expr, struct arena *arena, struct column_test *out);

#endif

/*
 * bound.c - a comparison with an integer column as a range of integers, exactly as SQL compares
 *
 * The other side may be a real number (ts >= 1.5), a text that looks like a number, a text that
 * does not (greater than any number), or NULL (nothing compares with it).
 */
#include "sql/plan.h"

#include <math.h>

enum {
	EQ = SQLITE_INDEX_CONSTRAINT_EQ,
	GT = SQLITE_INDEX_CONSTRAINT_GT,
	GE = SQLITE_INDEX_CONSTRAINT_GE,
	LT = SQLITE_INDEX_CONSTRAINT_LT,
	LE = SQLITE_INDEX_CONSTRAINT_LE
};

static bool at_least(int64_t *low, const int64_t *high, int64_t value)
{
	*low = value > *low ? value : *low;
	return *low <= *high;
}

static bool at_most(const int64_t *low, int64_t *high, int64_t value)
{
	*high = value < *high ? value : *high;
	return *low <= *high;
}

static bool by_integer(int64_t *low, int64_t *high, int op, int64_t value)
{
	switch (op) {
	case EQ:
		return at_least(low, high, value) && at_most(low, high, value);
	case GT:
		return value < INT64_MAX && at_least(low, high, value + 1);
	case GE:
		return at_least(low, high, value);
	case LT:
		return value > INT64_MIN && at_most(low, high, value - 1);
	default:
		return at_most(low, high, value);
	}
}

static bool by_real(int64_t *low, int64_t *high, int op, double value)
{
	const double limit = 9223372036854775808.0; /* 2^63 */
	double below = floor(value);

	if (value >= limit)
		return op == LT || op == LE;
	if (value < -limit)
		return op == GT || op == GE;
	if (below == value)
		return by_integer(low, high, op, (int64_t)value);
	if (op == EQ)
		return false;
	if (op == GT || op == GE) /* floor(value) + 1 fits: reals that large have no fraction */
		return at_least(low, high, (int64_t)below + 1);
	return at_most(low, high, (int64_t)below);
}

bool bound_narrow(int64_t *low, int64_t *high, int op, sqlite3_value *value)
{
	switch (sqlite3_value_numeric_type(value)) {
	case SQLITE_INTEGER:
		return by_integer(low, high, op, sqlite3_value_int64(value));
	case SQLITE_FLOAT:
		return by_real(low, high, op, sqlite3_value_double(value));
	case SQLITE_NULL:
		return false;
	default: /* a text or blob is greater than every number */
		return op == LT || op == LE;
	}
}

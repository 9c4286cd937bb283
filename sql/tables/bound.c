/*
 * bound.c - a comparison with an integer column as a range of integers, exactly as SQL compares
 *
 * The other side may be a real number (ts >= 1.5), a text that looks like a number, a text that
 * does not (greater than any number), or NULL (nothing compares with it).
 */
#include "sql/tables/plan.h"

/* False: no number of the column compares so. */
static bool range_of(unsigned char op, sqlite3_value *value, struct range *out)
{
	enum comparison by = sql_op_of(op)->by;
	int64_t number;

	switch (sqlite3_value_numeric_type(value)) {
	case SQLITE_INTEGER:
		number = sqlite3_value_int64(value);
		return range_of_integer(by, (uint64_t)number, number < 0, true, out);
	case SQLITE_FLOAT:
		return range_of_real(by, sqlite3_value_double(value), true, out);
	case SQLITE_NULL:
		return false;
	default: /* a text or blob is greater than every number */
		*out = (struct range){(uint64_t)INT64_MIN, UINT64_MAX};
		return by == COMPARE_LT || by == COMPARE_LE;
	}
}

bool bound_narrow(int64_t *low, int64_t *high, unsigned char op, sqlite3_value *value)
{
	struct range range;
	int64_t least, most;

	if (!range_of(op, value, &range))
		return false;
	least = (int64_t)range.low;
	most = (int64_t)(range.low + range.span);
	*low = least > *low ? least : *low;
	*high = most < *high ? most : *high;
	return *low <= *high;
}

/* test_op.c - operators: what comparisons turn into, and integers of 65 bits and their results */
#include "state/model/op.h"

#include "fixtures/rng.h"
#include "tests/harness.h"

#define MOST UINT64_MAX
#define LEAST INT64_MIN
#define POWER_2(n) ((__int128)1 << (n))

static const struct row {
	const char *name;
	enum op op;
	__int128 a, b;
	bool ok;
	__int128 out;
} rows[] = {
	{"a sum beyond 64 bits", OP_ADD, MOST, MOST, true, POWER_2(65) - 2},
	{"a difference below -2^63", OP_SUB, LEAST, MOST, true, -POWER_2(63) - POWER_2(64) + 1},
	{"a product beyond 64 bits", OP_MUL, POWER_2(63), LEAST, true, -POWER_2(126)},
	{"a product that does not fit is modulo 2^128", OP_MUL, MOST, MOST, false, 1 - POWER_2(65)},
	{"a quotient is cut towards zero", OP_DIV, -7, 2, true, -3},
	{"by a negative number too", OP_DIV, 7, -2, true, -3},
	{"the least number by minus one", OP_DIV, LEAST, -1, true, POWER_2(63)},
	{"the greatest number by one", OP_DIV, MOST, 1, true, MOST},
	{"a rest has the sign of the dividend", OP_MOD, -7, 2, true, -1},
	{"and not that of the divisor", OP_MOD, 7, -2, true, 1},
	{"the rest of the least number by minus one", OP_MOD, LEAST, -1, true, 0},
	{"division by zero", OP_DIV, 1, 0, false, 77},
	{"rest of a division by zero", OP_MOD, 1, 0, false, 77},
	{"zero by zero", OP_DIV, 0, 0, false, 77},
};

static void integers_are(void **state)
{
	const struct row *row = *state;
	__int128 out = 77;

	assert_int_equal(op_integers(row->op, row->a, row->b, &out), row->ok);
	assert_true(out == row->out);
}

static const struct comparison {
	const char *name;
	enum op op;
	bool less, same, more;
	enum op turned;
} comparisons[] = {
	{"== is turned into itself", OP_EQ, false, true, false, OP_EQ},
	{"!= is turned into itself", OP_NE, true, false, true, OP_NE},
	{"< is turned into >", OP_LT, true, false, false, OP_GT},
	{"<= is turned into >=", OP_LE, true, true, false, OP_GE},
	{"> is turned into <", OP_GT, false, false, true, OP_LT},
	{">= is turned into <=", OP_GE, false, true, true, OP_LE},
};

static void comparison_holds(void **state)
{
	const struct comparison *row = *state;
	struct op_orders orders = op_orders(row->op);

	assert_true(op_compares(row->op));
	assert_int_equal(op_turned(row->op), row->turned);
	assert_int_equal(orders.less, row->less);
	assert_int_equal(orders.same, row->same);
	assert_int_equal(orders.more, row->more);
	assert_int_equal(op_holds(row->op, -5), row->less);
	assert_int_equal(op_holds(row->op, 0), row->same);
	assert_int_equal(op_holds(row->op, 5), row->more);
}

static void other_operators_are_no_comparisons(void **state)
{
	size_t count = 0;

	(void)state;
	for (enum op op = OP_NONE; op <= OP_BIT_NOT; op++) {
		count += op_compares(op);
		assert_true(op_compares(op) || op_turned(op) == op);
	}
	assert_int_equal(count, COUNT(comparisons));
}

static __int128 random_integer(struct rng *rng)
{
	uint64_t bits = rng_next(rng) >> rng_below(rng, 64);

	return rng_once_in(rng, 2) ? (__int128)(int64_t)bits : (__int128)bits;
}

static int order_of(__int128 a, __int128 b)
{
	return (a > b) - (a < b);
}

static void random_integers_obey_the_laws(void **state)
{
	struct rng rng = {1};

	(void)state;
	for (int round = 0; round < 100000; round++) {
		__int128 a = random_integer(&rng), b = random_integer(&rng);
		__int128 sum, back, quotient, rest, product;

		assert_true(op_integers(OP_ADD, a, b, &sum));
		assert_true(op_integers(OP_SUB, sum, b, &back) && back == a);
		if (b == 0)
			continue;
		assert_true(op_integers(OP_DIV, a, b, &quotient));
		assert_true(op_integers(OP_MOD, a, b, &rest));
		assert_true(op_integers(OP_MUL, quotient, b, &product));
		assert_true(product + rest == a);
		assert_true((rest < 0 ? -rest : rest) < (b < 0 ? -b : b));
		for (enum op op = OP_EQ; op <= OP_GE; op++)
			assert_int_equal(op_holds(op, order_of(a, b)),
					 op_holds(op_turned(op), order_of(b, a)));
	}
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + COUNT(comparisons) + 2];
	size_t n = 0;

	ADD_ROWS(tests, n, rows, integers_are);
	ADD_ROWS(tests, n, comparisons, comparison_holds);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(other_operators_are_no_comparisons);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(random_integers_obey_the_laws);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * op.h - the operators that rules, `--where` and one-liners share
 *
 * Precedence differs between the languages, and so does a result that does not fit 64 bits: the
 * evaluation fails, or the number wraps.
 */
#ifndef STATE_MODEL_OP_H
#define STATE_MODEL_OP_H

#include <stdbool.h>

enum op {
	OP_NONE,
	OP_OR,
	OP_AND,
	OP_NOT,
	OP_EQ,
	OP_NE,
	OP_LT,
	OP_LE,
	OP_GT,
	OP_GE,
	OP_GLOB,
	OP_REGEX,
	OP_BIT_AND,
	OP_BIT_OR,
	OP_BIT_XOR,
	OP_SHL,
	OP_SHR,
	OP_ADD,
	OP_SUB,
	OP_MUL,
	OP_DIV,
	OP_MOD,
	OP_NEG,
	OP_BIT_NOT
};

static inline bool op_compares(enum op op)
{
	return op >= OP_EQ && op <= OP_GE;
}

/* Which orders of `a OP b` make the comparison true: a is less, the same, more. */
struct op_orders {
	bool less, same, more;
};

static inline struct op_orders op_orders(enum op op)
{
	return (struct op_orders){op == OP_LT || op == OP_LE || op == OP_NE,
				  op == OP_EQ || op == OP_LE || op == OP_GE,
				  op == OP_GT || op == OP_GE || op == OP_NE};
}

/* Does the comparison hold? `order` < 0: a is less, 0: the same, > 0: more. */
static inline bool op_holds(enum op op, int order)
{
	struct op_orders orders = op_orders(op);

	return order < 0 ? orders.less : order > 0 ? orders.more : orders.same;
}

/* The operator that gives for `a OP b` what this one gives for `b OP a`: OP_LT for OP_GT. */
enum op op_turned(enum op op);
/*
 * Computes + - * / % of integers of 65 bits. False: a division by zero, or a product that does not
 * fit; *out is then the product modulo 2^128.
 */
bool op_integers(enum op op, __int128 a, __int128 b, __int128 *out);

#endif

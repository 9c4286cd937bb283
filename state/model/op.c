/* op.c - see op.h */
#include "state/model/op.h"

enum op op_turned(enum op op)
{
	switch (op) {
	case OP_LT:
		return OP_GT;
	case OP_LE:
		return OP_GE;
	case OP_GT:
		return OP_LT;
	case OP_GE:
		return OP_LE;
	default:
		return op;
	}
}

bool op_integers(enum op op, __int128 a, __int128 b, __int128 *out)
{
	if (op == OP_MUL)
		return !__builtin_mul_overflow(a, b, out);
	if (op == OP_ADD || op == OP_SUB)
		*out = op == OP_ADD ? a + b : a - b;
	else if (b != 0)
		*out = op == OP_DIV ? a / b : a % b;
	return op == OP_ADD || op == OP_SUB || b != 0;
}

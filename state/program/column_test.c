/* column_test.c - see column_test.h */
#include "state/program/column_test.h"

#include "state/rules/reads.h"

static bool is_integer(const struct expr *expr, bool *is_signed)
{
	switch (expr->kind) {
	case EXPR_FIELD:
		*is_signed = expr->field.class->is_signed;
		return expr->field.class->kind == FIELD_INT;
	case EXPR_TIME:
		*is_signed = true;
		return true;
	case EXPR_SECTION_OWN:
		*is_signed = false;
		return expr->index == SECTION_CPU;
	default:
		return false;
	}
}

bool column_of(const struct expr *expr, struct tested_column *out)
{
	bool masked = expr->kind == EXPR_ARITH && expr->op == OP_BIT_AND &&
		      expr_is_const(expr->args[1], VALUE_INT) && !expr->args[1]->value.negative;

	*out = (struct tested_column){.of = expr, .mask = UINT64_MAX};
	if (masked) {
		out->of = expr->args[0];
		/* the result is not negative, even for a negative value */
		out->mask = expr->args[1]->value.u;
	}
	if (!is_integer(out->of, &out->is_signed))
		return false;
	out->is_signed = out->is_signed && out->of == expr;
	return true;
}

/* The range of values for which the comparison is true; for NE that of EQ. False: it is empty. */
static bool column_test_range_of(const struct tested_column *column, enum op op,
				 const struct value *number, struct range *out)
{
	static const enum comparison comparisons[] = {
		[OP_EQ] = COMPARE_EQ, [OP_NE] = COMPARE_EQ, [OP_LT] = COMPARE_LT,
		[OP_LE] = COMPARE_LE, [OP_GT] = COMPARE_GT, [OP_GE] = COMPARE_GE};

	if (number->kind == VALUE_INT)
		return range_of_integer(comparisons[op], number->u, number->negative,
					column->is_signed, out);
	return number->kind == VALUE_FLOAT &&
	       range_of_real(comparisons[op], number->f, column->is_signed, out);
}

bool column_test_of(const struct expr *expr, struct arena *arena, struct column_test *out)
{
	bool in = expr->kind == EXPR_IN, turned;
	const struct value *values = expr->values;
	struct range *ranges;
	enum op op = in ? OP_EQ : expr->op;
	uint32_t n = in ? expr->n : 1, count = 0;

	if (!in && expr->kind != EXPR_EQUAL && expr->kind != EXPR_ORDER)
		return false;
	turned = !in && expr->args[0]->kind == EXPR_CONST;
	if (turned)
		op = op_turned(op);
	if (!in) {
		const struct expr *number = expr->args[!turned];
		if (number->kind != EXPR_CONST || !value_is_number(&number->value))
			return false;
		values = &number->value;
	}
	if (!column_of(expr->args[turned], &out->column))
		return false;
	ranges = arena_array(arena, n, sizeof *ranges);
	for (uint32_t i = 0; i < n; i++) /* other constants never equal an integer */
		count += column_test_range_of(&out->column, op, &values[i], &ranges[count]);
	ranges_init(&out->ranges, ranges, count, out->column.is_signed);
	out->negated = op == OP_NE;
	return true;
}

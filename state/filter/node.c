/*
 * node.c - from a compiled expression to nodes
 *
 * Every rewriting keeps the outcome of every event, failures included: `!` of a failure is one, and
 * what stands behind `||` after a failure is never reached. Only among the conditions that must all
 * hold may the order change, since only YES passes.
 */
#include "state/filter/internal.h"

#include "state/program/internal.h"

#include <math.h>
#include <string.h>

__extension__ typedef __int128 wide;

enum { NO = OUTCOME_NO, YES = OUTCOME_YES, UNKNOWN = OUTCOME_UNKNOWN, FAILED = OUTCOME_FAILED };

const uint8_t node_and[OUTCOMES][OUTCOMES] = {
	[NO] = {NO, NO, NO, NO},
	[YES] = {NO, YES, UNKNOWN, FAILED},
	[UNKNOWN] = {NO, UNKNOWN, UNKNOWN, FAILED},
	[FAILED] = {FAILED, FAILED, FAILED, FAILED},
};
const uint8_t node_or[OUTCOMES][OUTCOMES] = {
	[NO] = {NO, YES, UNKNOWN, FAILED},
	[YES] = {YES, YES, YES, YES},
	[UNKNOWN] = {UNKNOWN, YES, UNKNOWN, FAILED},
	[FAILED] = {FAILED, FAILED, FAILED, FAILED},
};

struct maker {
	struct arena *arena;
	const struct event_class *class;
};

static struct node *node_new(struct maker *maker, enum node_kind kind)
{
	struct node *node = arena_alloc(maker->arena, sizeof *node);

	node->kind = kind;
	return node;
}

static struct node *fixed(struct maker *maker, uint8_t outcome)
{
	struct node *node = node_new(maker, NODE_FIXED);

	node->outcome = outcome;
	return node;
}

static uint8_t outcome_of_value(const struct value *value)
{
	if (value->kind == VALUE_BOOL)
		return value->b ? YES : NO;
	return value->kind == VALUE_UNKNOWN ? UNKNOWN : FAILED;
}

uint8_t node_outcome(const struct expr *expr, struct env *env)
{
	enum failure failure;
	struct value value;

	/* open: a read that cannot be decided is none of this evaluator's */
	return expr_eval(expr, env, &value, &failure) == EVAL_VALUE ? outcome_of_value(&value)
								    : FAILED;
}

/* ---- what does not need the event ---- */

/* Nothing but constants, stream and CPU. */
static bool is_of_run(const struct expr *expr)
{
	if (!expr)
		return true;
	switch (expr->kind) {
	case EXPR_CONST:
	case EXPR_FAIL:
	case EXPR_SECTION:
	case EXPR_SECTION_OWN:
	case EXPR_CPU:
	case EXPR_STREAM:
		return true;
	case EXPR_NOT:
	case EXPR_AND:
	case EXPR_OR:
	case EXPR_EQUAL:
	case EXPR_ORDER:
	case EXPR_ARITH:
	case EXPR_IN:
	case EXPR_MATCH:
	case EXPR_MAP:
	case EXPR_HAS:
	case EXPR_CONVERT:
	case EXPR_CAPTURES:
		return is_of_run(expr->left) && is_of_run(expr->right);
	case EXPR_LEAST:
	case EXPR_PART:
		for (uint32_t i = 0; i < expr->n; i++)
			if (!is_of_run(expr->args[i]))
				return false;
		return true;
	default:
		return false;
	}
}

/* Operators fail with any operand, whatever the other one is; logic and has() do not. */
static bool always_fails(const struct expr *expr)
{
	if (!expr)
		return false;
	switch (expr->kind) {
	case EXPR_FAIL:
		return true;
	case EXPR_NOT:
	case EXPR_EQUAL:
	case EXPR_ORDER:
	case EXPR_ARITH:
	case EXPR_IN:
	case EXPR_MATCH:
	case EXPR_MAP:
	case EXPR_CONVERT:
	case EXPR_CAPTURES:
		return always_fails(expr->left) || always_fails(expr->right);
	case EXPR_LEAST:
	case EXPR_PART:
		for (uint32_t i = 0; i < expr->n; i++)
			if (always_fails(expr->args[i]))
				return true;
		return false;
	default:
		return false;
	}
}

static struct node *of_expr(struct maker *maker, enum node_kind kind, const struct expr *expr)
{
	struct node *node = node_new(maker, kind);

	node->expr = expr;
	node->reads = expr_reads_state(expr);
	node->cost = kind == NODE_RUN ? 0 : node->reads ? 4 : expr_uses_fields(expr) ? 3 : 2;
	return node;
}

/* ---- columns ---- */

static bool integer_column(struct maker *maker, const struct expr *expr, struct node_column *out)
{
	const struct expr *mask = expr->right;

	*out = (struct node_column){.mask = UINT64_MAX};
	if (expr->kind == EXPR_TIME) {
		out->is_time = out->is_signed = true;
		return true;
	}
	if (expr->kind == EXPR_FIELD && expr->field.class->kind == FIELD_INT &&
	    expr->field.scope > SCOPE_EVENT_HEADER) {
		run_field_init(&out->of, maker->class, &expr->field);
		out->is_signed = expr->field.class->is_signed;
		return true;
	}
	if (expr->kind != EXPR_ARITH || expr->op != OP_BIT_AND || !expr->right ||
	    expr->left->kind == EXPR_ARITH)
		return false;
	if (mask->kind != EXPR_CONST || mask->value.kind != VALUE_INT || mask->value.negative ||
	    !integer_column(maker, expr->left, out))
		return false;
	out->mask = mask->value.u; /* of a negative value, too, it leaves what is not negative */
	out->is_signed = false;
	return true;
}

static bool double_column(struct maker *maker, const struct expr *expr, struct node_column *out)
{
	if (expr->kind != EXPR_FIELD || expr->field.class->kind != FIELD_FLOAT ||
	    expr->field.scope <= SCOPE_EVENT_HEADER)
		return false;
	*out = (struct node_column){.mask = UINT64_MAX};
	run_field_init(&out->of, maker->class, &expr->field);
	return true;
}

/* No event has to be decoded for it. */
static bool is_quick(const struct node_column *column)
{
	return column->is_time || column->of.placed;
}

/* ---- comparisons ---- */

static enum ast_op turned(enum ast_op op)
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

static wide widen(const struct value *value)
{
	return value->negative ? (wide)(int64_t)value->u : (wide)value->u;
}

/* NE as EQ. */
static enum comparison comparison_of(enum ast_op op)
{
	switch (op) {
	case OP_LT:
		return COMPARE_LT;
	case OP_LE:
		return COMPARE_LE;
	case OP_GT:
		return COMPARE_GT;
	case OP_GE:
		return COMPARE_GE;
	default:
		return COMPARE_EQ;
	}
}

/* The column's values that compare so; false: none do. */
static bool range_of(const struct node_column *column, enum ast_op op, const struct value *number,
		     struct range *out)
{
	enum comparison by = comparison_of(op);

	if (number->kind == VALUE_INT)
		return range_of_integer(by, number->u, number->negative, column->is_signed, out);
	return range_of_real(by, number->f, column->is_signed, out);
}

static bool is_number(const struct value *value)
{
	return value->kind == VALUE_INT || value->kind == VALUE_FLOAT;
}

static struct node *ranges_node(struct maker *maker, const struct node_column *column,
				struct range *ranges, size_t count)
{
	struct node *node = node_new(maker, NODE_RANGES);

	ranges_init(&node->ranges, ranges, count, column->is_signed);
	node->column = *column;
	node->cost = is_quick(column) ? 1 : 2;
	return node;
}

static struct node *compare_integer(struct maker *maker, const struct node_column *column,
				    enum ast_op op, const struct value *number)
{
	struct range *range = arena_array(maker->arena, 1, sizeof *range);
	struct node *node;

	if (!is_number(number))
		return NULL;
	node = ranges_node(maker, column, range, range_of(column, op, number, range));
	node->negated = op == OP_NE;
	return node;
}

static struct node *compare_double(struct maker *maker, const struct node_column *column,
				   enum ast_op op, const struct value *number)
{
	struct node *node;
	double f = number->f;

	if (!is_number(number))
		return NULL;
	if (number->kind == VALUE_INT) {
		f = (double)widen(number);
		if ((wide)f != widen(number)) /* no double is this number */
			return NULL;
	}
	node = node_new(maker, NODE_DOUBLES);
	node->column = *column;
	node->op = op;
	node->number = f;
	node->cost = is_quick(column) ? 1 : 2;
	return node;
}

/* NULL: it is none of the comparisons that have a loop. */
static struct node *compare(struct maker *maker, const struct expr *expr)
{
	const struct expr *left = expr->left, *right = expr->right;
	enum ast_op op = expr->op;
	struct node_column column, other;
	struct node *node;

	if (left->kind == EXPR_CONST) {
		left = expr->right;
		right = expr->left;
		op = turned(op);
	}
	if (right->kind == EXPR_CONST && integer_column(maker, left, &column))
		return compare_integer(maker, &column, op, &right->value);
	if (right->kind == EXPR_CONST && double_column(maker, left, &column))
		return compare_double(maker, &column, op, &right->value);
	if (!integer_column(maker, left, &column) || !integer_column(maker, right, &other))
		return NULL;
	node = node_new(maker, NODE_PAIR);
	node->op = op;
	node->column = column;
	node->other = other;
	node->cost = is_quick(&column) && is_quick(&other) ? 1 : 2;
	return node;
}

static struct node *one_of(struct maker *maker, const struct expr *expr)
{
	struct node_column column;
	struct range *ranges;
	size_t count = 0;

	if (!integer_column(maker, expr->left, &column))
		return NULL;
	ranges = arena_array(maker->arena, expr->n, sizeof *ranges);
	for (uint32_t i = 0; i < expr->n; i++) /* what is no number equals none */
		count += is_number(&expr->values[i]) &&
			 range_of(&column, OP_EQ, &expr->values[i], &ranges[count]);
	return ranges_node(maker, &column, ranges, count);
}

/* ---- logic ---- */

static const struct node *make(struct maker *maker, const struct expr *expr);

/* How many operands the chain (a && b) && c has. */
static uint32_t chain_length(const struct expr *expr)
{
	uint32_t n = 1;

	for (enum expr_kind kind = expr->kind; expr->kind == kind; expr = expr->left)
		n++;
	return n;
}

static bool all_each(const struct node *node)
{
	for (uint32_t i = 0; i < node->n; i++)
		if (node->nodes[i]->kind != NODE_EACH)
			return false;
	return true;
}

/* Operands that change nothing: x && true, x || false. One is left. */
static uint32_t drop_neutral(const struct node **nodes, uint32_t n, uint8_t neutral)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++)
		if (nodes[i]->kind != NODE_FIXED || nodes[i]->outcome != neutral)
			nodes[kept++] = nodes[i];
	if (!kept)
		kept = 1;
	return kept;
}

static const struct node *make_chain(struct maker *maker, const struct expr *expr)
{
	const struct expr *top = expr;
	bool is_and = expr->kind == EXPR_AND;
	uint32_t n = chain_length(expr);
	const struct node **nodes = arena_array(maker->arena, n, sizeof(struct node *));
	struct node *node = node_new(maker, is_and ? NODE_AND : NODE_OR);

	for (uint32_t i = n; i-- > 1; expr = expr->left)
		nodes[i] = make(maker, expr->right);
	nodes[0] = make(maker, expr);
	n = drop_neutral(nodes, n, is_and ? YES : NO);
	if (n == 1 || (nodes[0]->kind == NODE_FIXED && nodes[0]->outcome != UNKNOWN))
		return nodes[0];
	node->nodes = nodes;
	node->n = n;
	for (uint32_t i = 0; i < n; i++) {
		node->reads |= nodes[i]->reads;
		node->cost = nodes[i]->cost > node->cost ? nodes[i]->cost : node->cost;
	}
	return all_each(node) ? of_expr(maker, NODE_EACH, top) : node;
}

static const struct node *make_not(struct maker *maker, const struct expr *expr)
{
	const struct node *of = make(maker, expr->left);
	struct node *node;

	if (of->kind == NODE_FIXED)
		return fixed(maker, of->outcome <= YES ? of->outcome ^ 1 : of->outcome);
	if (of->kind == NODE_EACH)
		return of_expr(maker, NODE_EACH, expr);
	node = node_new(maker, NODE_NOT);
	node->nodes = arena_array(maker->arena, 1, sizeof(struct node *));
	node->nodes[0] = of;
	node->n = 1;
	node->reads = of->reads;
	node->cost = of->cost;
	return node;
}

static const struct node *make(struct maker *maker, const struct expr *expr)
{
	const struct node *node = NULL;

	if (always_fails(expr))
		return fixed(maker, FAILED);
	switch (expr->kind) {
	case EXPR_CONST:
		return fixed(maker, outcome_of_value(&expr->value));
	case EXPR_NOT:
		return make_not(maker, expr);
	case EXPR_AND:
	case EXPR_OR:
		return make_chain(maker, expr);
	case EXPR_EQUAL:
	case EXPR_ORDER:
		node = compare(maker, expr);
		break;
	case EXPR_IN:
		node = one_of(maker, expr);
		break;
	default:
		break;
	}
	if (node)
		return node;
	return of_expr(maker, is_of_run(expr) ? NODE_RUN : NODE_EACH, expr);
}

/* ---- the two halves ---- */

static const struct node *join(struct maker *maker, const struct node **nodes, uint32_t n)
{
	struct node *node;

	if (n < 2)
		return n ? nodes[0] : fixed(maker, YES);
	for (uint32_t i = 1; i < n; i++) { /* stable */
		const struct node *moved = nodes[i];
		uint32_t k = i;
		for (; k > 0 && nodes[k - 1]->cost > moved->cost; k--)
			nodes[k] = nodes[k - 1];
		nodes[k] = moved;
	}
	node = node_new(maker, NODE_AND);
	node->nodes = nodes;
	node->n = n;
	for (uint32_t i = 0; i < n; i++)
		node->reads |= nodes[i]->reads;
	return node;
}

static uint32_t count_parts(const struct expr *expr)
{
	return expr->kind == EXPR_AND ? count_parts(expr->left) + count_parts(expr->right) : 1;
}

static void make_parts(struct maker *maker, const struct expr *expr, const struct node **nodes,
		       const struct expr **parts, uint32_t *n)
{
	const struct node *node;

	if (expr->kind == EXPR_AND) {
		make_parts(maker, expr->left, nodes, parts, n);
		make_parts(maker, expr->right, nodes, parts, n);
		return;
	}
	node = make(maker, expr);
	if (node->kind == NODE_FIXED && node->outcome == YES)
		return;
	nodes[*n] = node;
	parts[(*n)++] = expr;
}

struct class_test node_compile(struct arena *arena, const struct event_class *class,
			       const struct expr *expr)
{
	struct maker maker = {arena, class};
	uint32_t count = count_parts(expr), n = 0, nearly = 0, nlate = 0;
	const struct node **nodes = arena_array(arena, count, sizeof(struct node *));
	const struct expr **parts = arena_array(arena, count, sizeof(struct expr *));
	const struct node **early = arena_array(arena, count, sizeof(struct node *));
	const struct node **late = arena_array(arena, count, sizeof(struct node *));

	make_parts(&maker, expr, nodes, parts, &n);
	for (uint32_t i = 0; i < n; i++) {
		if (nodes[i]->kind == NODE_FIXED) {
			const struct node *no = fixed(&maker, NO);
			return (struct class_test){no, no};
		}
		if (nodes[i]->reads) /* as a whole, so that only YES counts of what reads */
			late[nlate++] = of_expr(&maker, NODE_EACH, parts[i]);
		else
			early[nearly++] = nodes[i];
	}
	return (struct class_test){join(&maker, early, nearly), join(&maker, late, nlate)};
}

/* ---- what may come out ---- */

static unsigned possible_pairs(const uint8_t table[OUTCOMES][OUTCOMES], unsigned a, unsigned b)
{
	unsigned possible = 0;

	for (unsigned i = 0; i < OUTCOMES; i++)
		for (unsigned k = 0; k < OUTCOMES; k++)
			if (a >> i & 1 && b >> k & 1)
				possible |= 1u << table[i][k];
	return possible;
}

unsigned node_possible(const struct node *node, struct env *env)
{
	unsigned possible;

	switch (node->kind) {
	case NODE_FIXED:
		return 1u << node->outcome;
	case NODE_RUN:
		/* without a CPU of the stream's own, packets may say it */
		return env->event && env->event->cpu >= 0 ? 1u << node_outcome(node->expr, env)
							  : POSSIBLE_ALL;
	case NODE_NOT:
		possible = node_possible(node->nodes[0], env);
		return (possible & (1u << UNKNOWN | 1u << FAILED)) |
		       (possible & 1u << NO ? 1u << YES : 0) |
		       (possible & 1u << YES ? 1u << NO : 0);
	case NODE_AND:
	case NODE_OR:
		possible = node_possible(node->nodes[0], env);
		for (uint32_t i = 1; i < node->n; i++)
			possible = possible_pairs(node->kind == NODE_AND ? node_and : node_or,
						  possible, node_possible(node->nodes[i], env));
		return possible;
	default:
		return POSSIBLE_ALL;
	}
}

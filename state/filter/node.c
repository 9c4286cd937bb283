/*
 * node.c - compiles an expression to nodes
 *
 * Rewriting keeps the outcome of every event, failures included. Only operands of the outermost &&
 * may change their order, since only YES passes.
 */
#include "state/filter/internal.h"

#include "state/program/internal.h"

#include <string.h>

enum { NO = LOGIC_NO, YES = LOGIC_YES, UNKNOWN = LOGIC_UNKNOWN, FAILED = LOGIC_FAILED };

struct node_builder {
	struct arena *arena;
	const struct event_class *class;
};

static struct node *node_new(struct node_builder *maker, enum node_kind kind)
{
	struct node *node = arena_alloc(maker->arena, sizeof *node);

	node->kind = kind;
	return node;
}

static struct node *fixed(struct node_builder *maker, uint8_t outcome)
{
	struct node *node = node_new(maker, NODE_FIXED);

	node->outcome = outcome;
	return node;
}

uint8_t node_outcome(const struct expr *expr, struct env *env)
{
	enum logic outcome = expr_logic(expr, env);

	/* reads of this evaluator are always decided */
	return outcome == LOGIC_OPEN ? FAILED : (uint8_t)outcome;
}

/* ---- what does not need the event ---- */

/* Does the expression depend on more than constants, stream and CPU? */
static bool is_of_event(const struct expr *expr)
{
	switch (expr->kind) {
	case EXPR_CONST:
	case EXPR_FAIL:
	case EXPR_SECTION:
	case EXPR_SECTION_OWN:
	case EXPR_CPU:
	case EXPR_STREAM:
		return false;
	default:
		return expr->kind < EXPR_NOT;
	}
}

/* Does the expression always fail? Operators fail with any operand; && || and has() do not. */
static bool always_fails(const struct expr *expr)
{
	if (expr->kind != EXPR_NOT && expr->kind != EXPR_LEAST && !expr_is_strict(expr))
		return expr->kind == EXPR_FAIL;
	for (uint32_t i = 0; i < expr->nargs; i++)
		if (always_fails(expr->args[i]))
			return true;
	return false;
}

static struct node *of_expr(struct node_builder *maker, enum node_kind kind,
			    const struct expr *expr)
{
	struct node *node = node_new(maker, kind);

	node->expr = expr;
	node->reads = expr_any(expr, expr_is_read);
	node->cost = kind == NODE_RUN ? 0 : node->reads ? 4 : expr_any(expr, expr_is_field) ? 3 : 2;
	return node;
}

/* A node over other nodes; its cost is that of the most expensive. */
static struct node *of_nodes(struct node_builder *maker, enum node_kind kind,
			     const struct node **nodes, uint32_t n)
{
	struct node *node = node_new(maker, kind);

	node->nodes = nodes;
	node->n = n;
	for (uint32_t i = 0; i < n; i++) {
		node->reads |= nodes[i]->reads;
		node->cost = nodes[i]->cost > node->cost ? nodes[i]->cost : node->cost;
	}
	return node;
}

/* ---- columns ---- */

/* Is it the time or a field of the class's events? */
static bool integer_column(struct node_builder *maker, const struct tested_column *column,
			   struct node_column *out)
{
	*out = (struct node_column){.mask = column->mask,
				    .is_signed = column->is_signed,
				    .is_time = column->of->kind == EXPR_TIME};
	if (column->of->kind != EXPR_FIELD)
		return out->is_time;
	run_field_init(&out->of, maker->class, &column->of->field);
	return true;
}

static bool double_column(struct node_builder *maker, const struct expr *expr,
			  struct node_column *out)
{
	if (expr->kind != EXPR_FIELD || expr->field.class->kind != FIELD_FLOAT)
		return false;
	*out = (struct node_column){.mask = UINT64_MAX};
	run_field_init(&out->of, maker->class, &expr->field);
	return true;
}

/* Can the column be loaded without decoding events? */
static bool is_quick(const struct node_column *column)
{
	return column->is_time || column->of.placed;
}

/* ---- comparisons ---- */

static struct node *compare_integer(struct node_builder *maker, const struct column_test *test)
{
	struct node *node = node_new(maker, NODE_RANGES);

	if (!integer_column(maker, &test->column, &node->column))
		return NULL;
	node->ranges = test->ranges;
	node->negated = test->negated;
	node->cost = is_quick(&node->column) ? 1 : 2;
	return node;
}

static struct node *compare_double(struct node_builder *maker, const struct node_column *column,
				   enum op op, const struct value *number)
{
	struct node *node;
	double f = number->f;

	if (!value_is_number(number))
		return NULL;
	if (number->kind == VALUE_INT) {
		f = (double)value_integer(number);
		if ((__int128)f != value_integer(number)) /* no double has this value */
			return NULL;
	}
	node = node_new(maker, NODE_DOUBLES);
	node->column = *column;
	node->op = op;
	node->number = f;
	node->cost = is_quick(column) ? 1 : 2;
	return node;
}

/* NULL: there is no loop for this comparison. */
static struct node *compare(struct node_builder *maker, const struct expr *expr)
{
	const struct expr *left = expr->args[0], *right = expr->args[1];
	enum op op = expr->op;
	struct node_column column, other;
	struct column_test test;
	struct tested_column a, b;
	struct node *node;

	if (column_test_of(expr, maker->arena, &test))
		return compare_integer(maker, &test);
	if (expr->kind == EXPR_IN)
		return NULL;
	if (left->kind == EXPR_CONST) {
		left = expr->args[1];
		right = expr->args[0];
		op = op_turned(op);
	}
	if (right->kind == EXPR_CONST && double_column(maker, left, &column))
		return compare_double(maker, &column, op, &right->value);
	if (!column_of(left, &a) || !integer_column(maker, &a, &column) || !column_of(right, &b) ||
	    !integer_column(maker, &b, &other))
		return NULL;
	node = node_new(maker, NODE_PAIR);
	node->op = op;
	node->column = column;
	node->other = other;
	node->cost = is_quick(&column) && is_quick(&other) ? 1 : 2;
	return node;
}

/* ---- logic ---- */

static const struct node *make(struct node_builder *maker, const struct expr *expr);

/*
 * Collects the operands of a chain of && (or ||), whatever its brackets; any other expression is
 * its only operand. Returns how many; `out` NULL: only counts.
 */
static uint32_t operands_of(const struct expr *expr, enum expr_kind kind, const struct expr **out)
{
	uint32_t n;

	if (expr->kind != kind) {
		if (out)
			*out = expr;
		return 1;
	}
	n = operands_of(expr->args[0], kind, out);
	return n + operands_of(expr->args[1], kind, out ? out + n : NULL);
}

static bool all_each(const struct node *node)
{
	for (uint32_t i = 0; i < node->n; i++)
		if (node->nodes[i]->kind != NODE_EACH)
			return false;
	return true;
}

/* Drops neutral operands (x && true, x || false); keeps at least one. */
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

static const struct node *make_chain(struct node_builder *maker, const struct expr *expr)
{
	bool is_and = expr->kind == EXPR_AND;
	uint32_t n = operands_of(expr, expr->kind, NULL);
	const struct expr **operands = arena_array(maker->arena, n, sizeof(struct expr *));
	const struct node **nodes = arena_array(maker->arena, n, sizeof(struct node *));
	struct node *node;

	operands_of(expr, expr->kind, operands);
	for (uint32_t i = 0; i < n; i++)
		nodes[i] = make(maker, operands[i]);
	n = drop_neutral(nodes, n, is_and ? YES : NO);
	if (n == 1 || (nodes[0]->kind == NODE_FIXED && nodes[0]->outcome == (is_and ? NO : YES)))
		return nodes[0];
	node = of_nodes(maker, is_and ? NODE_AND : NODE_OR, nodes, n);
	return all_each(node) ? of_expr(maker, NODE_EACH, expr) : node;
}

static const struct node *make_not(struct node_builder *maker, const struct expr *expr)
{
	const struct node *of = make(maker, expr->args[0]);

	if (of->kind == NODE_FIXED)
		return fixed(maker, of->outcome <= YES ? of->outcome ^ 1 : of->outcome);
	if (of->kind == NODE_EACH)
		return of_expr(maker, NODE_EACH, expr);
	return of_nodes(maker, NODE_NOT, arena_copy(maker->arena, &of, 1, sizeof of), 1);
}

static const struct node *make(struct node_builder *maker, const struct expr *expr)
{
	const struct node *node = NULL;

	if (always_fails(expr))
		return fixed(maker, FAILED);
	switch (expr->kind) {
	case EXPR_CONST:
		return fixed(maker, (uint8_t)logic_of_value(&expr->value));
	case EXPR_NOT:
		return make_not(maker, expr);
	case EXPR_AND:
	case EXPR_OR:
		return make_chain(maker, expr);
	case EXPR_EQUAL:
	case EXPR_ORDER:
	case EXPR_IN:
		node = compare(maker, expr);
		break;
	default:
		break;
	}
	if (node)
		return node;
	return of_expr(maker, expr_any(expr, is_of_event) ? NODE_EACH : NODE_RUN, expr);
}

/* ---- the two halves ---- */

static const struct node *join(struct node_builder *maker, const struct node **nodes, uint32_t n)
{
	if (n < 2)
		return n ? nodes[0] : fixed(maker, YES);
	for (uint32_t i = 1; i < n; i++) { /* stable */
		const struct node *moved = nodes[i];
		uint32_t k = i;
		for (; k > 0 && nodes[k - 1]->cost > moved->cost; k--)
			nodes[k] = nodes[k - 1];
		nodes[k] = moved;
	}
	return of_nodes(maker, NODE_AND, nodes, n);
}

struct class_test node_compile(struct arena *arena, const struct event_class *class,
			       const struct expr *expr)
{
	struct node_builder maker = {arena, class};
	uint32_t n = operands_of(expr, EXPR_AND, NULL), nearly = 0, nlate = 0;
	const struct expr **parts = arena_array(arena, n, sizeof(struct expr *));
	const struct node **early = arena_array(arena, n, sizeof(struct node *));
	const struct node **late = arena_array(arena, n, sizeof(struct node *));

	operands_of(expr, EXPR_AND, parts);
	for (uint32_t i = 0; i < n; i++) {
		const struct node *node = make(&maker, parts[i]);
		if (node->kind == NODE_FIXED && node->outcome == YES)
			continue;
		if (node->kind == NODE_FIXED) {
			const struct node *no = fixed(&maker, NO);
			return (struct class_test){.expr = expr, .early = no, .late = no};
		}
		if (node->reads) /* evaluated as a whole: evaluate_reads() needs only YES or not */
			late[nlate++] = of_expr(&maker, NODE_EACH, parts[i]);
		else
			early[nearly++] = node;
	}
	return (struct class_test){.expr = expr,
				   .early = join(&maker, early, nearly),
				   .late = join(&maker, late, nlate)};
}

/* ---- what may come out ---- */

unsigned possible_pairs(const uint8_t table[LOGIC_KINDS][LOGIC_KINDS], unsigned a, unsigned b)
{
	unsigned possible = 0;

	for (unsigned i = 0; i < LOGIC_KINDS; i++)
		for (unsigned k = 0; k < LOGIC_KINDS; k++)
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
		/* if the stream has no CPU, its packets may have one */
		return env->event && env->event->cpu >= 0 ? 1u << node_outcome(node->expr, env)
							  : POSSIBLE_ALL;
	case NODE_NOT:
		return possible_not(node_possible(node->nodes[0], env));
	case NODE_AND:
	case NODE_OR:
		possible = node_possible(node->nodes[0], env);
		for (uint32_t i = 1; i < node->n; i++)
			possible = possible_pairs(node->kind == NODE_AND ? logic_and : logic_or,
						  possible, node_possible(node->nodes[i], env));
		return possible;
	default:
		return POSSIBLE_ALL;
	}
}

/*
 * eval.c - expressions: an unknown value makes unknown what is made of it
 *
 * Numbers are as large as they are: a difference below 0 is negative whether or not its sides are
 * of unsigned fields. What does not fit 64 bits wraps.
 */
#include "oneliner/runtime.h"

#include "state/model/glob.h"

#include <string.h>

static const struct value unknown;

bool runtime_fail(struct runtime *rt, const struct ast *node, const char *why)
{
	if (!rt->failed) {
		oneliner_error(rt->bound->program, node->at, &rt->error, "%s", why);
		rt->error.kind = ERR_RANGE; /* such messages have one line */
		rt->error.lines = false;
		rt->error.text[strcspn(rt->error.text, "\n")] = 0;
	}
	rt->failed = true;
	return false;
}

bool eval_key(struct runtime *rt, struct ast *const *keys, uint32_t nkeys)
{
	struct value values[PROBE_KEYS_MAX];
	bool known = true;

	/* keys may read maps, which need rt->key themselves */
	for (uint32_t i = 0; i < nkeys; i++) {
		values[i] = eval(rt, keys[i]);
		known &= values[i].kind != VALUE_UNKNOWN;
	}
	buf_clear(&rt->key);
	for (uint32_t i = 0; i < nkeys && known; i++)
		key_add(&rt->key, &values[i]);
	return known;
}

static bool is_large(const struct value *value)
{
	return !value->negative && value->u > INT64_MAX;
}

static struct value bits(enum op op, const struct value *a, const struct value *b)
{
	uint64_t value = 0;
	/* a mask of a number below 0 keeps its sign where both sides have one */
	bool is_signed = !is_large(a) && !is_large(b);

	switch (op) {
	case OP_BIT_AND:
		value = a->u & b->u;
		break;
	case OP_BIT_OR:
		value = a->u | b->u;
		break;
	case OP_BIT_XOR:
		value = a->u ^ b->u;
		break;
	case OP_SHL:
		value = a->u << (b->u & 63);
		break;
	default:
		value = is_large(a) ? a->u >> (b->u & 63)
				    : (uint64_t)((int64_t)a->u >> (b->u & 63));
		break;
	}
	return is_signed && op != OP_SHL ? value_s64((int64_t)value) : value_u64(value);
}

static struct value arithmetic(enum op op, const struct value *a, const struct value *b)
{
	__int128 number;
	bool fits = op_integers(op, value_integer(a), value_integer(b), &number);

	return fits || op == OP_MUL ? value_wrapped(number) : unknown;
}

struct value operate(enum op op, const struct value *a, const struct value *b)
{
	if (a->kind == VALUE_UNKNOWN || b->kind == VALUE_UNKNOWN || a->kind != b->kind)
		return unknown;
	if (op_compares(op))
		return value_s64(op_holds(op, value_compare(a, b)));
	if (op == OP_GLOB && a->kind == VALUE_STRING)
		return value_s64(glob_match(b->text, b->len, a->text, a->len, NULL));
	if (a->kind != VALUE_INT)
		return unknown;
	return op >= OP_ADD ? arithmetic(op, a, b) : bits(op, a, b);
}

/* Unknown where one that is the same may be among what is not known. */
static struct value is_in(struct runtime *rt, const struct ast *node)
{
	struct value a = eval(rt, node->args[0]);
	bool all_known = true;

	for (uint32_t i = 1; i < node->nargs && a.kind != VALUE_UNKNOWN; i++) {
		struct value b = eval(rt, node->args[i]);
		struct value same = operate(OP_EQ, &a, &b);
		if (same.kind == VALUE_INT && same.u)
			return value_s64(1);
		all_known &= b.kind != VALUE_UNKNOWN;
	}
	return a.kind == VALUE_UNKNOWN || !all_known ? unknown : value_s64(0);
}

/* && and || look at their right side only when the left one leaves it open. */
static struct value logic(struct runtime *rt, const struct ast *node)
{
	bool both = node->op == OP_AND;
	struct value a = eval(rt, node->args[0]);

	if (a.kind != VALUE_UNKNOWN && value_is_true(&a) != both)
		return value_s64(!both);
	struct value b = eval(rt, node->args[1]);
	if (b.kind != VALUE_UNKNOWN && value_is_true(&b) != both)
		return value_s64(!both);
	return a.kind == VALUE_UNKNOWN || b.kind == VALUE_UNKNOWN ? unknown : value_s64(both);
}

static struct value unary(struct runtime *rt, const struct ast *node)
{
	struct value a = eval(rt, node->args[0]);

	if (a.kind == VALUE_UNKNOWN)
		return unknown;
	if (node->op == OP_NOT)
		return value_s64(!value_is_true(&a));
	if (a.kind != VALUE_INT)
		return unknown;
	if (node->op == OP_BIT_NOT)
		return is_large(&a) ? value_u64(~a.u) : value_s64((int64_t)~a.u);
	return value_wrapped(-value_integer(&a));
}

static struct value cast(struct runtime *rt, const struct ast *node)
{
	struct value a = eval(rt, node->args[0]);
	unsigned shift = 64u - node->bits;

	if (a.kind != VALUE_INT)
		return unknown;
	return node->is_signed ? value_s64((int64_t)(a.u << shift) >> shift)
			       : value_u64(a.u << shift >> shift);
}

/* A key that is not there has the value 0, or "". */
static struct value read_map(struct runtime *rt, const struct ast *node)
{
	const struct map *map = &rt->maps[node->index];
	const struct map_entry *entry;
	struct value value = unknown;

	if (!eval_key(rt, node->args, node->nargs))
		return unknown;
	entry = map_find(map, &rt->key);
	if (entry)
		value = entry_value(map, entry);
	if (value.kind == VALUE_UNKNOWN)
		return map->use->is_plain && map->use->value == TYPE_TEXT ? value_text("", 0)
									  : value_s64(0);
	if (value.kind == VALUE_STRING)
		value.text = arena_strndup(rt->texts, value.text, value.len);
	return value;
}

/* ++ and -- */
static struct value runtime_step(struct runtime *rt, const struct ast *node)
{
	const struct ast *target = node->args[0];
	const struct value one = value_s64(1);
	struct value before, after;

	if (target->kind == AST_VARIABLE) {
		before = rt->variables[target->index];
		after = operate(node->op, &before, &one);
		rt->variables[target->index] = after;
		return node->is_prefix ? after : before;
	}
	struct map *map = &rt->maps[target->index];
	if (!eval_key(rt, target->args, target->nargs))
		return unknown;
	struct map_entry *entry = map_at(map, &rt->key, &rt->error);
	if (!entry) {
		rt->failed = true;
		return unknown;
	}
	before = entry_value(map, entry);
	before = before.kind == VALUE_UNKNOWN ? value_s64(0) : before;
	after = operate(node->op, &before, &one);
	if (!entry_set(map, entry, &after, &rt->error))
		rt->failed = true;
	return node->is_prefix ? after : before;
}

static struct value of_map(struct runtime *rt, const struct ast *node)
{
	const struct ast *target = node->args[0];
	const struct map *map = &rt->maps[target->index];

	if (node->function == FUNCTION_LEN)
		return value_u64(map_count(map));
	if (target->nargs ? !eval_key(rt, target->args, target->nargs)
			  : !eval_key(rt, node->args + 1, node->nargs - 1))
		return unknown;
	return value_s64(map_find(map, &rt->key) != NULL);
}

static struct value call(struct runtime *rt, const struct ast *node)
{
	struct value most = value_s64(INT32_MAX);

	switch (node->function) {
	case FUNCTION_LEN:
	case FUNCTION_HAS_KEY:
		return of_map(rt, node);
	case FUNCTION_KSTACK:
	case FUNCTION_USTACK:
		if (node->nargs)
			most = eval(rt, node->args[0]);
		return most.kind == VALUE_INT
			       ? event_stack(rt, node->function == FUNCTION_KSTACK, (int64_t)most.u)
			       : unknown;
	case FUNCTION_KSYM:
	case FUNCTION_USYM:
		return event_symbol(rt, node->function == FUNCTION_KSYM, eval(rt, node->args[0]));
	default:
		return text_call(rt, node);
	}
}

static struct value value_of(struct runtime *rt, const struct ast *node)
{
	struct value a, b;

	switch (node->kind) {
	case AST_CONST:
		return node->value;
	case AST_BUILTIN:
		return event_builtin(rt, (enum builtin)node->index);
	case AST_FIELD:
		return event_field(rt, node->index);
	case AST_VARIABLE:
		return rt->variables[node->index];
	case AST_MAP:
		return read_map(rt, node);
	case AST_STATE:
		return event_reading(rt, node->index);
	case AST_CAST:
		return cast(rt, node);
	case AST_UNARY:
		return unary(rt, node);
	case AST_BINARY:
		if (node->op == OP_AND || node->op == OP_OR)
			return logic(rt, node);
		a = eval(rt, node->args[0]);
		b = eval(rt, node->args[1]);
		return node->op == OP_REGEX ? text_matches(rt, node, &a)
					    : operate(node->op, &a, &b);
	case AST_IN:
		return is_in(rt, node);
	case AST_CHOICE:
		a = eval(rt, node->args[0]);
		return a.kind == VALUE_UNKNOWN ? unknown
					       : eval(rt, node->args[value_is_true(&a) ? 1 : 2]);
	case AST_CALL:
		return call(rt, node);
	case AST_INCREMENT:
		return runtime_step(rt, node);
	default:
		return unknown;
	}
}

struct value eval(struct runtime *rt, const struct ast *node)
{
	const struct ast *before = rt->lacking;
	struct value value;

	rt->lacking = NULL;
	value = value_of(rt, node);
	if (value.kind != VALUE_UNKNOWN)
		rt->lacking = before;
	else if (!rt->lacking)
		rt->lacking = node; /* what it is made of is known */
	return value;
}

void runtime_leave_out(struct runtime *rt, uint64_t count)
{
	if (count && rt->lacking && (!rt->lack || rt->lacking->at < rt->lack->at))
		rt->lack = rt->lacking;
	rt->unknown += count;
}

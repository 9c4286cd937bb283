/* line_key.c - see line_key.h */
#include "state/events/line_key.h"

#include "engine/base/mem.h"
#include "state/program/expr.h"

static bool same_field(const struct field_path *a, const struct field_path *b)
{
	return a->scope == b->scope && a->slot == b->slot;
}

static bool is_field(const struct expr *expr, const struct field_path *field)
{
	return expr->kind == EXPR_FIELD && same_field(&expr->field, field);
}

/*
 * Conditions of a field, as deep as the rule's brackets: `field == C`, `field in (C, ...)`, their
 * negations, and those that hold only if one such holds.
 */
static bool is_false(const struct expr *when, const struct field_path *field,
		     const struct value *value, bool negated)
{
	bool equal = false;

	switch (when->kind) {
	case EXPR_NOT:
		return is_false(when->left, field, value, !negated);
	case EXPR_AND:
	case EXPR_OR:
		if ((when->kind == EXPR_AND) != negated)
			return is_false(when->left, field, value, negated) ||
			       is_false(when->right, field, value, negated);
		return is_false(when->left, field, value, negated) &&
		       is_false(when->right, field, value, negated);
	case EXPR_EQUAL:
		if (!is_field(when->left, field) || when->right->kind != EXPR_CONST ||
		    when->right->value.kind != VALUE_INT)
			return false;
		equal = value_equal(&when->right->value, value);
		return equal == (negated != (when->op == OP_NE));
	case EXPR_IN:
		for (uint32_t i = 0; i < when->n; i++) {
			equal = equal || value_equal(&when->values[i], value);
			if (when->values[i].kind != VALUE_INT)
				return false;
		}
		return is_field(when->left, field) && equal == negated;
	default:
		return false;
	}
}

bool line_refuses(const struct line *line, const struct line_key *key, const struct value *value)
{
	return line->when && is_false(line->when, &key->field, value, false);
}

/* The first value with which the field is compared, if it makes the condition false. */
static const struct value *refused_value(const struct line *line, const struct expr *when,
					 const struct line_key *key)
{
	const struct value *value = NULL;

	if (when->kind == EXPR_NOT)
		return refused_value(line, when->left, key);
	if (when->kind == EXPR_AND || when->kind == EXPR_OR) {
		value = refused_value(line, when->left, key);
		return value ? value : refused_value(line, when->right, key);
	}
	if (when->kind == EXPR_EQUAL && is_field(when->left, &key->field) &&
	    when->right->kind == EXPR_CONST)
		value = &when->right->value;
	if (when->kind == EXPR_IN && is_field(when->left, &key->field) && when->n)
		value = &when->values[0];
	return value && value->kind == VALUE_INT && line_refuses(line, key, value) ? value : NULL;
}

bool line_key(const struct line *line, struct line_key *out)
{
	const struct path *target = &line->target;

	if (line->flags & LINE_SECTION)
		return false;
	for (uint32_t i = 1; i < target->natoms; i++) {
		const struct expr *expr = target->atoms[i].expr;

		if (target->atoms[i].kind != ATOM_EXPR || expr->kind != EXPR_FIELD ||
		    expr->field.class->kind != FIELD_INT ||
		    expr->field.scope <= SCOPE_EVENT_HEADER ||
		    target->atoms[i - 1].kind != ATOM_NAME)
			continue;
		*out = (struct line_key){.depth = i + 1,
					 .role = value_hash(&target->atoms[i - 1].value),
					 .field = expr->field};
		if (line->when)
			out->but = refused_value(line, line->when, out);
		return true;
	}
	return false;
}

struct key_list {
	const struct trace *trace;
	struct packet_filter_field *items;
	size_t count, capacity;
	uint32_t *last;   /* by class: one more than its last item's place; 0: none */
	uint32_t *before; /* by item: the same of the item before it of the class */
	size_t before_capacity;
};

/* A value as the field has it. */
static bool refuses_number(const struct line *line, const struct line_key *key, uint64_t number)
{
	struct value value = {.kind = VALUE_INT,
			      .u = number,
			      .negative = key->field.class->is_signed && number >> 63};

	return line_refuses(line, key, &value);
}

static void add_key(void *arg, uint32_t class_index, const struct line *line)
{
	struct key_list *list = arg;
	struct line_key key;

	if (line->flags & LINE_FAILS || !line_key(line, &key))
		return;
	for (uint32_t i = list->last[class_index]; i; i = list->before[i - 1]) {
		struct packet_filter_field *item = &list->items[i - 1];

		if (item->role != key.role || !same_field(&item->of.field, &key.field))
			continue;
		item->skips = item->skips && refuses_number(line, &key, item->skipped);
		return;
	}
	list->items = mem_grow(list->items, list->count, &list->capacity, sizeof *list->items);
	list->before =
		mem_grow(list->before, list->count, &list->before_capacity, sizeof *list->before);
	list->before[list->count] = list->last[class_index];
	struct packet_filter_field *item = &list->items[list->count++];
	list->last[class_index] = (uint32_t)list->count;
	item->class_index = class_index;
	item->role = key.role;
	item->skips = key.but;
	item->skipped = key.but ? key.but->u : 0;
	run_field_init(&item->of, list->trace->classes[class_index], &key.field);
}

struct packet_filters *packet_filters_of_lines(struct index *index, const struct catalog *catalog)
{
	struct key_list list = {.trace = index_trace(index)};
	struct packet_filters *packet_filters;

	list.last = mem_new_array(list.trace->nclasses + 1, sizeof *list.last);
	catalog_class_lines(catalog, add_key, &list);
	packet_filters = packet_filters_new(index, list.items, list.count);
	mem_free(list.items);
	mem_free(list.before);
	mem_free(list.last);
	return packet_filters;
}

/* line_key.c - see line_key.h */
#include "state/events/line_key.h"

#include "engine/base/mem.h"
#include "state/program/expr.h"
#include "state/program/internal.h"

static bool same_field(const struct field_path *a, const struct field_path *b)
{
	return a->scope == b->scope && a->slot == b->slot;
}

static bool is_field(const struct expr *expr, const struct field_path *field)
{
	return expr->kind == EXPR_FIELD && same_field(&expr->field, field);
}

/*
 * Is the condition (`negated`: its negation) false for this value of the field? Understands `field
 * == C`, `field in (C, ...)`, and ! && || of these. The rule's brackets bound the recursion.
 */
static bool is_false(const struct expr *when, const struct field_path *field,
		     const struct value *value, bool negated)
{
	bool equal = false;

	switch (when->kind) {
	case EXPR_NOT:
		return is_false(when->args[0], field, value, !negated);
	case EXPR_AND:
	case EXPR_OR:
		if ((when->kind == EXPR_AND) != negated)
			return is_false(when->args[0], field, value, negated) ||
			       is_false(when->args[1], field, value, negated);
		return is_false(when->args[0], field, value, negated) &&
		       is_false(when->args[1], field, value, negated);
	case EXPR_EQUAL:
		if (!is_field(when->args[0], field) || when->args[1]->kind != EXPR_CONST ||
		    when->args[1]->value.kind != VALUE_INT)
			return false;
		equal = value_equal(&when->args[1]->value, value);
		return equal == (negated != (when->op == OP_NE));
	case EXPR_IN:
		for (uint32_t i = 0; i < when->n; i++) {
			equal = equal || value_equal(&when->values[i], value);
			if (when->values[i].kind != VALUE_INT)
				return false;
		}
		return is_field(when->args[0], field) && equal == negated;
	default:
		return false;
	}
}

bool line_refuses(const struct line *line, const struct line_key *key, const struct value *value)
{
	return line->when && is_false(line->when, &key->field, value, false);
}

/* A value with which the condition compares the field and for which it is false; NULL: none. */
static const struct value *refused_value(const struct line *line, const struct expr *when,
					 const struct line_key *key)
{
	const struct value *value = NULL;

	if (when->kind == EXPR_NOT)
		return refused_value(line, when->args[0], key);
	if (when->kind == EXPR_AND || when->kind == EXPR_OR) {
		value = refused_value(line, when->args[0], key);
		return value ? value : refused_value(line, when->args[1], key);
	}
	if (when->kind == EXPR_EQUAL && is_field(when->args[0], &key->field) &&
	    when->args[1]->kind == EXPR_CONST)
		value = &when->args[1]->value;
	if (when->kind == EXPR_IN && is_field(when->args[0], &key->field) && when->n)
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
		    expr->field.class->kind != FIELD_INT || target->atoms[i - 1].kind != ATOM_NAME)
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
	struct packet_filter_field *items;
	size_t count, capacity;
};

/* line_refuses() for the bits of a field. */
static bool refuses_number(const struct line *line, const struct line_key *key, uint64_t number)
{
	struct value value =
		key->field.class->is_signed ? value_s64((int64_t)number) : value_u64(number);

	return line_refuses(line, key, &value);
}

/* Adds the line's key, or merges it with the class's equal one; its items are the last ones. */
static void add_key(struct key_list *list, const struct event_class *class, const struct line *line)
{
	struct packet_filter_field *item;
	struct line_key key;

	if (line->flags & LINE_FAILS || !line_key(line, &key))
		return;
	for (size_t i = list->count; i-- > 0 && list->items[i].class_index == class->index;) {
		item = &list->items[i];
		if (item->role != key.role || !same_field(&item->of.field, &key.field))
			continue;
		item->skips = item->skips && refuses_number(line, &key, item->skipped);
		return;
	}
	item = mem_push(list->items, list->count, list->capacity);
	*item = (struct packet_filter_field){.class_index = class->index,
					     .role = key.role,
					     .skips = key.but,
					     .skipped = key.but ? key.but->u : 0};
	run_field_init(&item->of, class, &key.field);
}

struct packet_filters *packet_filters_of_lines(struct index *index, const struct program *program)
{
	const struct trace *trace = program->trace;
	struct key_list list = {0};
	struct packet_filters *packet_filters;

	for (size_t c = 0; c < trace->nclasses && program->sections.count; c++)
		for (uint32_t i = 0; i < program->classes[c].nevent; i++)
			add_key(&list, trace->classes[c], &program->classes[c].event[i]);
	packet_filters = packet_filters_new(index, list.items, list.count);
	mem_free(list.items);
	return packet_filters;
}

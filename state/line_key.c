/* line_key.c - see line_key.h */
#include "state/line_key.h"

#include "engine/base/mem.h"
#include "state/expr.h"

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
		return true;
	}
	return false;
}

struct key_list {
	const struct trace *trace;
	struct sketch_field *items;
	size_t count, capacity;
};

static void add_key(void *arg, uint32_t class_index, const struct line *line)
{
	struct key_list *list = arg;
	struct line_key key;

	if (line->flags & LINE_FAILS || !line_key(line, &key))
		return;
	for (size_t i = 0; i < list->count; i++) {
		const struct sketch_field *item = &list->items[i];

		if (item->class_index == class_index && item->role == key.role &&
		    item->of.field.scope == key.field.scope &&
		    item->of.field.slot == key.field.slot)
			return;
	}
	list->items = mem_grow(list->items, list->count, &list->capacity, sizeof *list->items);
	struct sketch_field *item = &list->items[list->count++];
	item->class_index = class_index;
	item->role = key.role;
	run_field_init(&item->of, list->trace->classes[class_index], &key.field);
}

struct sketches *sketches_of_lines(struct index *index, const struct catalog *catalog)
{
	struct key_list list = {.trace = index_trace(index)};
	struct sketches *sketches;

	catalog_class_lines(catalog, add_key, &list);
	sketches = sketches_new(index, list.items, list.count);
	mem_free(list.items);
	return sketches;
}

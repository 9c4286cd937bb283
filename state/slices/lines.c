/*
 * lines.c - the lines of an event, evaluated (chosen.h) and written in one go
 *
 * Where what lines say was is known, too, an event goes from its fields to cells and into the slice
 * with nothing in between. Any other event is left to the replay, before anything is written.
 */
#include "state/replay/chosen.h"
#include "state/replay/writes.h"
#include "state/slices/build.h"

#include <string.h>

/* Does what was say nothing new? */
static inline bool is_known(const struct plain_choice *choice, const struct cells *cells,
			    const struct plain_loaded *event)
{
	for (uint32_t i = 0; i < choice->nwas; i++) {
		const struct cell_now *cell =
			cells_find(cells, chosen_attr(&choice->lines[i], cells->attrs, event));

		if (!cell || cell->value.kind == VALUE_UNKNOWN)
			return false;
	}
	return true;
}

/* As numbers_value(), with nothing to be guessed among the most frequent. */
static inline struct slice_value slice_value_of(struct numbers *numbers, const struct value *value)
{
	static const uint8_t kinds[] = {[VALUE_UNKNOWN] = SLICE_UNKNOWN,
					[VALUE_NONE] = SLICE_NONE,
					[VALUE_INT] = SLICE_INT};
	bool is_number = value->kind == VALUE_INT;

	if (value->kind > VALUE_INT || (is_number & (value->u > INT64_MAX)))
		return numbers_value(numbers, value);
	return (struct slice_value){(int64_t)(value->u & (0 - (uint64_t)is_number)),
				    kinds[value->kind]};
}

static inline void change(struct builder *builder, uint32_t number, struct slice_value value)
{
	builder_change(builder, number, value, 0);
	builder_set(builder, number, value);
}

/* Has the cell this text of the event already, as most often? */
static inline bool cell_has(const struct cell_now *cell, const struct value *text)
{
	return cell->value.kind == VALUE_STRING && cell->value.len == text->len &&
	       !memcmp(cell->value.text, text->text, text->len);
}

static __attribute__((noinline)) const struct value *
cell_take_new(struct cell_now *cell, const struct value *text, struct attrs *attrs)
{
	cell->value = *text;
	attrs_keep(attrs, &cell->value);
	return &cell->value;
}

/* kept: its text is the attribute table's already. */
static inline void put(struct building *building, struct cells *cells, uint32_t attr,
		       const struct value *value, bool kept, nstime time)
{
	struct numbers *numbers = building->numbers;
	struct cell_now *cell = cells_make(cells, attr);

	if (kept || value->kind != VALUE_STRING)
		value_take(&cell->value, value);
	else if (cell_has(cell, value))
		value = &cell->value;
	else
		value = cell_take_new(cell, value, numbers->attrs);
	cell->since = time;
	cell->named = true;
	change(building->builder, numbers_attr(numbers, attr), slice_value_of(numbers, value));
}

/* As replay_apply() does it, where the stack has a depth. */
static bool push(struct building *building, struct cells *cells, uint32_t attr,
		 const struct value *value, bool kept, nstime time)
{
	const struct cell_now *now = cells_find(cells, attr);
	struct value depth;

	if (!now || !is_index(&now->value))
		return false;
	depth = (struct value){.kind = VALUE_INT, .u = now->value.u + 1};
	put(building, cells, attr_key(cells->attrs, attr, &depth), value, kept, time);
	put(building, cells, attr, &depth, true, time);
	return true;
}

static inline void apply(struct building *building, struct cells *cells,
			 const struct plain_line *line, const struct plain_loaded *event,
			 nstime time)
{
	uint32_t attr = chosen_attr(line, cells->attrs, event);
	const struct value *value = chosen_value(line, event);

	if (line->verb == VERB_SET) {
		put(building, cells, attr, value, line->kept, time);
	} else if (line->verb != VERB_PUSH ||
		   !push(building, cells, attr, value, line->kept, time)) {
		struct write write = {.line = line->line,
				      .verb = line->verb,
				      .attr = attr,
				      .kept = line->kept,
				      .value = *value};
		replay_apply(building->replay, &write);
	}
}

enum replay_lines building_lines(void *arg, const struct plain *plain, struct env *env, nstime time)
{
	struct building *building = arg;
	struct cells *cells = replay_cells(building->replay);
	const struct plain_choice *choice;
	struct plain_loaded event;

	choice = chosen_lines(plain, cells, env, &event);
	if (!choice || !is_known(choice, cells, &event))
		return REPLAY_LEFT;
	if (choice->nwas < choice->count)
		builder_at(building->builder, time);
	for (uint32_t i = choice->nwas; i < choice->count; i++)
		apply(building, cells, &choice->lines[i], &event, time);
	return builder_full(building->builder) ? REPLAY_DUE : REPLAY_WRITTEN;
}

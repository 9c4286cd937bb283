/*
 * lines.c - fast path for plain lines: evaluates (chosen.h) and writes them at once
 *
 * If all values that `was` lines give are known already, the event's values go straight to cells
 * and into the slice. Any other event is left to the replay, before anything is written.
 */
#include "state/replay/chosen.h"
#include "state/replay/writes.h"
#include "state/slices/build.h"

/* `interned`: the value's text is in the attribute table already. */
static inline void lines_put(struct building *building, struct cells *cells, uint32_t attr,
			     const struct value *value, bool interned, nstime time)
{
	struct builder *builder = building->builder;
	struct cell_now *cell = cells_make(cells, attr);
	struct value own = *value;
	uint32_t number = numbers_attr(building->numbers, attr);

	if (!interned)
		cell_keep(cell, &own, cells->attrs);
	cell_write(cell, &own, time);
	builder_write(builder, number, numbers_value(building->numbers, &own));
}

static inline void lines_apply(struct building *building, struct cells *cells,
			       const struct plain_line *line, const struct plain_loaded *event,
			       nstime time)
{
	uint32_t attr = chosen_attr(line, cells->attrs, event);
	const struct value *value = chosen_value(line, event);

	if (line->verb == VERB_SET) {
		lines_put(building, cells, attr, value, line->interned, time);
	} else {
		struct write write = {.line = line->line,
				      .verb = line->verb,
				      .attr = attr,
				      .interned = line->interned,
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
	if (!choice || !chosen_was(choice, cells, &event, false))
		return REPLAY_LEFT;
	if (choice->nwas < choice->count)
		builder_at(building->builder, time);
	for (uint32_t i = choice->nwas; i < choice->count; i++)
		lines_apply(building, cells, &choice->lines[i], &event, time);
	return builder_full(building->builder) ? REPLAY_DUE : REPLAY_WRITTEN;
}

/*
 * lines.c - the lines of an event, evaluated and written in one go
 *
 * Of nearly all events the lines are plain (plain.h), their keys small integers, what they read and
 * what they say was is known. Such an event goes from its fields to cells and into the slice with
 * nothing in between. All lines see the state before the event: what they read is loaded before
 * the first one writes. Any other event is left to the replay, before anything is written.
 */
#include "state/replay/cells_internal.h"
#include "state/program/plain_load.h"
#include "state/replay/writes.h"
#include "state/slices/build.h"
#include "state/slices/builder_internal.h"
#include "state/slices/numbers_internal.h"

#include <string.h>

/* Is it a small integer, as nearly all keys? */
static inline bool is_index(const struct value *key)
{
	return key->kind == VALUE_INT && !key->negative;
}

/* Member by member: what was written just now would not be there yet for a wider copy. */
static inline void value_take(struct value *out, const struct value *value)
{
	out->kind = value->kind;
	out->negative = value->negative;
	out->len = value->len;
	out->u = value->u;
}

/* The key is a small integer; `keys` are the path's, to which the way is longer. */
static inline uint32_t attr_of_key(const struct number_map *keys, const struct path *path,
				   struct attrs *attrs, const struct value *key)
{
	uint32_t attr = number_map_get(keys, key->u);

	return attr ? attr : path_attr_new(path, attrs, key);
}

/* What lines read; false: something has no cell. */
static inline bool load_reads(const struct plain *plain, const struct cells *cells,
			      struct plain_loaded *event)
{
	for (uint32_t k = 0; k < plain->nreads; k++) {
		const struct plain_input *input = &plain->reads[k];
		uint32_t attr = input->base;
		const struct cell *cell;

		if (input->of != PLAIN_NONE) {
			const struct value *key = &event->values[input->of];

			if (!(event->had >> input->of & 1) || !is_index(key))
				return false;
			attr = attr_of_key(input->keys, input->path, cells->attrs, key);
		}
		cell = cells_find(cells, attr);
		if (!cell)
			return false;
		value_take(&event->values[input->i], &cell->value);
		event->had |= 1u << input->i;
	}
	return true;
}

static inline bool keys_are_small(const struct plain_choice *choice,
				  const struct plain_loaded *event)
{
	for (uint32_t keys = choice->keys; keys; keys &= keys - 1)
		if (!is_index(&event->values[__builtin_ctz(keys)]))
			return false;
	return true;
}

static inline uint32_t attr_of(const struct plain_line *line, struct attrs *attrs,
			       const struct plain_loaded *event)
{
	if (line->key == PLAIN_NONE)
		return line->attr;
	return attr_of_key(line->keys, &line->line->target, attrs, &event->values[line->key]);
}

/* Does what was say nothing new? */
static inline bool is_known(const struct plain_choice *choice, const struct cells *cells,
			    const struct plain_loaded *event)
{
	for (uint32_t i = 0; i < choice->nwas; i++) {
		const struct cell *cell =
			cells_find(cells, attr_of(&choice->lines[i], cells->attrs, event));

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
static inline bool cell_has(const struct cell *cell, const struct value *text)
{
	return cell->value.kind == VALUE_STRING && cell->value.len == text->len &&
	       !memcmp(cell->value.text, text->text, text->len);
}

static __attribute__((noinline)) const struct value *
cell_take_new(struct cell *cell, const struct value *text, struct attrs *attrs)
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
	struct cell *cell = cells_make(cells, attr);
	uint32_t number;

	if (kept || value->kind != VALUE_STRING)
		value_take(&cell->value, value);
	else if (cell_has(cell, value))
		value = &cell->value;
	else
		value = cell_take_new(cell, value, numbers->attrs);
	cell->since = time;
	cell->named = true;
	number = number_map_get(&numbers->attr_numbers, attr);
	number = number ? number - 1 : numbers_attr(numbers, attr);
	change(building->builder, number, slice_value_of(numbers, value));
}

/* As replay_apply() does it, where the stack has a depth. */
static bool push(struct building *building, struct cells *cells, uint32_t attr,
		 const struct value *value, bool kept, nstime time)
{
	const struct cell *now = cells_find(cells, attr);
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
	uint32_t attr = attr_of(line, cells->attrs, event);
	const struct value *value =
		line->value == PLAIN_NONE ? &line->constant : &event->values[line->value];

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

	if (!plain->choices)
		return REPLAY_LEFT;
	plain_load_event(plain, env, &event);
	if (!load_reads(plain, cells, &event))
		return REPLAY_LEFT;
	if ((event.had & plain->tested) != plain->tested)
		return REPLAY_LEFT;
	plain_load_tests(plain, &event);
	choice = &plain->choices[event.yes];
	if (plain->nmaps)
		plain_load_maps(plain, choice->needs, env, &event);
	if ((event.had & choice->needs) != choice->needs)
		return REPLAY_LEFT;
	if (!keys_are_small(choice, &event) || !is_known(choice, cells, &event))
		return REPLAY_LEFT;
	if (choice->nwas < choice->count)
		builder_at(building->builder, time);
	for (uint32_t i = choice->nwas; i < choice->count; i++)
		apply(building, cells, &choice->lines[i], &event, time);
	return builder_full(building->builder) ? REPLAY_DUE : REPLAY_WRITTEN;
}

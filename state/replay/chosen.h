/*
 * chosen.h - evaluates all plain lines of an event at once
 *
 * In nearly all events the lines are plain (plain.h), their keys small integers, and the attributes
 * that they read have cells. The outcomes of all tests of such an event are the index into a table
 * of which lines hold. Lines see the state before the event: what they read is loaded before the
 * first one writes. Other events are left to writes.h.
 */
#ifndef STATE_REPLAY_CHOSEN_H
#define STATE_REPLAY_CHOSEN_H

#include "state/program/plain_load.h"
#include "state/replay/cells_internal.h"

/* Copies member by member: a wider load would stall on stores that were made just before. */
static inline void value_take(struct value *out, const struct value *value)
{
	out->kind = value->kind;
	out->negative = value->negative;
	out->len = value->len;
	out->u = value->u;
}

/* The key is a small integer. `keys` is the path's own map, passed since it is nearer. */
static inline uint32_t attr_of_key(const struct number_map *keys, const struct path *path,
				   struct attrs *attrs, const struct value *key)
{
	uint32_t attr = number_map_get(keys, key->u);

	return attr ? attr : path_attr_new(path, attrs, key);
}

/* The attribute that an input reads; false: its key is no small integer. */
static inline bool read_attr(const struct plain_input *input, struct attrs *attrs,
			     const struct plain_loaded *event, uint32_t *out)
{
	const struct value *key;

	*out = input->base;
	if (input->of == PLAIN_NONE)
		return true;
	key = &event->values[input->of];
	if (!(event->had >> input->of & 1) || !value_is_index(key))
		return false;
	*out = attr_of_key(input->keys, input->path, attrs, key);
	return true;
}

/* Loads what lines read; false: an attribute has no cell, or is open. */
static inline bool load_reads(const struct plain *plain, const struct cells *cells,
			      struct plain_loaded *event)
{
	for (uint32_t k = 0; k < plain->nreads; k++) {
		const struct plain_input *input = &plain->reads[k];
		const struct cell_now *cell;
		uint32_t attr;

		if (!read_attr(input, cells->attrs, event, &attr))
			return false;
		cell = cells_find(cells, attr);
		if (!cell || cell_is_open(cell))
			return false;
		event->values[input->i] = cell_value(cell);
		event->had |= 1u << input->i;
	}
	return true;
}

static inline bool keys_are_small(const struct plain_choice *choice,
				  const struct plain_loaded *event)
{
	for (uint32_t keys = choice->keys; keys; keys &= keys - 1)
		if (!value_is_index(&event->values[__builtin_ctz(keys)]))
			return false;
	return true;
}

/* The attribute that the line writes. */
static inline uint32_t chosen_attr(const struct plain_line *line, struct attrs *attrs,
			       const struct plain_loaded *event)
{
	if (line->key == PLAIN_NONE)
		return line->attr;
	return attr_of_key(line->keys, &line->line->target, attrs, &event->values[line->key]);
}

/* The value that the line writes, if its verb is `=`, `was` or `push`. */
static inline const struct value *chosen_value(const struct plain_line *line,
					       const struct plain_loaded *event)
{
	return line->value == PLAIN_NONE ? &line->constant : &event->values[line->value];
}

/* Are the targets of all `was` lines known? And, if `alike`, do they have the lines' values? */
static inline bool chosen_was(const struct plain_choice *choice, const struct cells *cells,
			      const struct plain_loaded *event, bool alike)
{
	for (uint32_t i = 0; i < choice->nwas; i++) {
		const struct plain_line *line = &choice->lines[i];
		const struct cell_now *cell =
			cells_find(cells, chosen_attr(line, cells->attrs, event));

		if (!cell || cell->kind == VALUE_UNKNOWN)
			return false;
		const struct value had = cell_value(cell);
		if (alike && !value_equal(&had, chosen_value(line, event)))
			return false;
	}
	return true;
}

/* As chosen_lines(), after plain_load_event() and load_reads(). */
static inline const struct plain_choice *chosen_loaded(const struct plain *plain, struct env *env,
						       struct plain_loaded *event)
{
	const struct plain_choice *choice;

	if ((event->had & plain->tested) != plain->tested)
		return NULL;
	plain_load_tests(plain, event);
	choice = &plain->choices[event->yes];
	if (plain->nmaps)
		plain_load_maps(plain, choice->needs, env, event);
	if (plain->ntrees)
		plain_load_trees(plain, choice->needs, env, event);
	if ((event->had & choice->needs) != choice->needs || !keys_are_small(choice, event))
		return NULL;
	return choice;
}

/* Returns which lines hold; NULL: evaluate them one by one. *event gets the values they use. */
static inline const struct plain_choice *chosen_lines(const struct plain *plain,
						      const struct cells *cells, struct env *env,
						      struct plain_loaded *event)
{
	plain_load_event(plain, env, event);
	return load_reads(plain, cells, event) ? chosen_loaded(plain, env, event) : NULL;
}

#endif

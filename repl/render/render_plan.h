/*
 * render_plan.h - how the values of a class are written: what is known of them before
 *
 * A plan is a class' members flattened: ready-made text, then a value, then text ...
 *
 *     {"prev_comm": <text> ,"prev_tid": <int> ,"prev_prio": <int> ... }
 *
 * Texts are padded for copy_padded(), and the room that all of them and all numbers take is known:
 * between two values of other kinds nothing is checked.
 */
#ifndef REPL_RENDER_RENDER_PLAN_H
#define REPL_RENDER_RENDER_PLAN_H

#include "engine/base/arena.h"
#include "engine/event.h"
#include "repl/sink.h"

enum leaf { LEAF_UNSIGNED, LEAF_SIGNED, LEAF_HEX, LEAF_STRING, LEAF_ANY };

struct render_token {
	const char *text; /* what stands before the value */
	uint32_t len;
	enum leaf leaf;
	uint32_t slot, base; /* the value's slot; where its scope's slots begin */
	uint64_t mask;       /* HEX: the bits that count */
	const struct field_class *class;
	const char *name; /* of cells: the column's */
};

struct render_plan {
	struct render_token *tokens;
	size_t count, capacity;
	const char *tail;
	size_t ntail;
	size_t room; /* of all texts and numbers */
	bool json;
	bool plain; /* all values are integers or floats, so that slots can be compared */
	/* set before plan_make(): a member of this class is left out; NULL: none is */
	const struct field_class *without;
	/* and: values are cells of CSV, a comma before each, their names begin so; NULL: a text */
	const char *cells;
};

/*
 * Members of `a`, whose slots begin at base_a, under their field_context_name() where `b` has one
 * of that name, then of `b`; both may be NULL.
 * Texts live in the arena; plan->tokens is the caller's, for mem_free().
 */
void plan_make(struct arena *arena, bool json, struct render_plan *plan,
	       const struct field_class *a, uint32_t base_a, const struct field_class *b,
	       uint32_t base_b);

/* The plan over an event's slots. */
void plan_put(struct sink *out, const struct render_plan *plan, const struct fields *fields,
	      const struct slot *slots);

/* A number as its token has it; at most NUMBER_ROOM bytes are written. */
static inline char *leaf_put(char *to, enum leaf leaf, uint64_t value, uint64_t mask)
{
	if (leaf == LEAF_HEX) {
		memcpy(to, "0x", 2);
		return hex_put(to + 2, value & mask, 1);
	}
	return leaf == LEAF_SIGNED ? decimal_put_signed(to, (int64_t)value)
				   : decimal_put(to, value);
}

#endif

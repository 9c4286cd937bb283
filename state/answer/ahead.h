/*
 * ahead.h - events read forward from somewhere, to see which lines write certain attributes
 *
 * What such a line reads of the state is asked of a backward pass over all that is behind it: first
 * the answer is open, after backward_run() it is known, and the same events are read again.
 */
#ifndef STATE_ANSWER_AHEAD_H
#define STATE_ANSWER_AHEAD_H

#include "state/context/context.h"

struct ahead {
	struct state *state;
	const struct closure *closure; /* borrowed */
	nstime begin;                  /* nothing before it is read forward */
	struct backward *pass;         /* made when a line reads state */
	struct feed_pass feed;
	struct feed_item item; /* in hand */
	struct fields fields;
	struct env env;
	struct pattern pattern; /* target of the line in hand */
	struct order read_key;
	uint64_t *bits; /* shapes that are looked for */
};

void ahead_begin(struct ahead *ahead, struct state *state, const struct closure *closure,
		 nstime begin);
void ahead_end(struct ahead *ahead);

/* A line of the item in hand that may write one of the shapes. False: enough. */
typedef bool ahead_step(void *arg, const struct step_of *step);
/*
 * Such lines of a new item from the lowest slot on, which is the order in which they apply: `was`
 * lines come first, then file order. Only those whose target has a pattern, ahead->pattern, come.
 */
bool ahead_lines(struct ahead *ahead, ahead_step *each, void *arg);

/*
 * Where that begins which a `was` of the item in hand tells, of an attribute not written since
 * `since`: behind the stream's last loss before the item.
 */
bool ahead_fill_begin(struct ahead *ahead, nstime since, nstime *out, struct error *err);

#endif

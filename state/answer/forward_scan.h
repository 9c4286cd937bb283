/*
 * forward_scan.h - events read forward from somewhere, to see which lines write certain attributes
 *
 * What such a line reads of the state is asked of a backward pass over all that is behind it: first
 * the answer is open, after backward_run() it is known, and the same events are read again.
 */
#ifndef STATE_ANSWER_FORWARD_SCAN_H
#define STATE_ANSWER_FORWARD_SCAN_H

#include "state/context/context.h"

struct forward_scan {
	struct state *state;
	const struct closure *closure; /* borrowed */
	nstime begin;                  /* nothing before it is read forward */
	struct backward *pass;         /* made when a line reads state */
	struct event_pass event_source;
	struct event_item item; /* in hand */
	struct env env;
	struct pattern pattern; /* target of the line in hand */
	struct order read_key;
	uint64_t *bits; /* shapes that are looked for */
};

void forward_scan_begin(struct forward_scan *scan, struct state *state,
			const struct closure *closure, nstime begin);
void forward_scan_end(struct forward_scan *scan);

/* A line of the item in hand that may write one of the shapes. False: enough. */
typedef bool forward_scan_step(void *arg, const struct step_of *step);
/*
 * Such lines of a new item from the lowest slot on, which is the order in which they apply: `was`
 * lines come first, then file order. Only those whose target has a pattern, ahead->pattern, come.
 */
bool forward_scan_lines(struct forward_scan *scan, forward_scan_step *each, void *arg);

#endif

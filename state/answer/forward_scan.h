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
	struct event_filter *event_filter; /* passes what may write what is looked for */
	uint64_t *bits, *classes;          /* shapes of that, and classes with a line of one */
	uint64_t visits;                   /* items whose lines were looked at */
};

void forward_scan_begin(struct forward_scan *scan, struct state *state,
			const struct closure *closure, nstime begin);
void forward_scan_end(struct forward_scan *scan);

/* From now on only events pass that may write one of the attributes, which the closure has. */
void forward_scan_look_for(struct forward_scan *scan, const uint32_t *attrs, size_t count);

enum scanned { SCAN_ERROR, SCAN_OVER, SCAN_OPEN };
/*
 * Takes items by event_source_next() and looks at their lines. SCAN_OPEN: `width` of them are not
 * decided, or all items were read; then *from is where reading begins again.
 */
typedef enum scanned forward_scan_read(void *arg, struct order *from, size_t width);
/*
 * Items of [from, to). What is open is asked of the backward pass, for all of a window at once, and
 * the next window is twice as wide.
 */
MUST_CHECK enum outcome forward_scan_run(struct forward_scan *scan, struct order from,
					 struct order to, forward_scan_read *read, void *arg,
					 struct error *err);

/* A line of the item in hand that may write one of the shapes. False: enough. */
typedef bool forward_scan_step(void *arg, const struct step_of *step);
/*
 * Such lines of a new item from the lowest slot on, which is the order in which they apply: `was`
 * lines come first, then file order. Only those whose target has a pattern, scan->pattern, come.
 */
bool forward_scan_lines(struct forward_scan *scan, forward_scan_step *each, void *arg);

#endif

/*
 * forward_scan.h - events read forward from somewhere, to see what their lines write of certain
 * attributes
 *
 * What such a line reads of the state is asked of a backward pass over all that is behind it: first
 * the answer is open, after backward_run() it is known, and the same events are read again.
 */
#ifndef STATE_ANSWER_FORWARD_SCAN_H
#define STATE_ANSWER_FORWARD_SCAN_H

#include "state/context/context.h"

struct scan_write { /* what a line of the item in hand does to an attribute */
	uint32_t attr;
	uint32_t line; /* id of the statement */
	bool was;
	bool gives;  /* it gives the attribute a value, other than a `was` */
	bool beyond; /* whether, or what, it writes is beyond the horizon; the value is unknown */
	struct value value; /* its text lives until the next item */
};

struct forward_scan_reader {
	/* Is the attribute looked for, and does it matter what the item in hand writes of it? */
	bool (*concerns)(void *arg, uint32_t attr);
	/* An item in order; its writes, the reader's now, as they apply. STEP_END: enough. */
	enum step (*item)(void *arg, struct scan_write *writes, size_t count);
	/* Before the first item of a later time. True: nothing more can matter. May be NULL. */
	bool (*over)(void *arg, nstime next);
	/* Of lines other than `was` it counts that they write, not what. */
	bool no_values;
	void *arg;
};

struct forward_scan {
	struct state *state;
	const struct closure *closure;            /* borrowed, */
	const struct forward_scan_reader *reader; /* as is this */
	nstime begin;                             /* nothing before it is read forward */
	/* The owner's to set: what is open before it is decided first. NSTIME_MIN: nothing is. */
	nstime edge;
	struct event_item item; /* in hand */
	nstime *until;          /* the owner's to set: by stream, of its last loss */
	uint64_t visits;        /* items whose lines were looked at */
	struct error *err;      /* the owner's to set, before it is run */
	/* its own */
	struct backward *pass; /* made when a line reads state */
	struct event_pass event_source;
	struct env env;
	struct pattern pattern; /* target of the line in hand */
	struct order read_key;
	nstime time;     /* of the item before */
	uint32_t *attrs;  /* that are looked for, by their shapes' bits */
	uint32_t *groups; /* by bit: where its own begin; and where all end */
	struct event_filter *event_filter; /* passes what may write one */
	uint64_t *bits, *classes;          /* shapes of that, and classes with a line of one */
	uint64_t *streams;                 /* that have events of it, where */
	bool of_cpus;                      /* all that is looked for is of single CPUs */
	struct scan_write *writes;         /* of the item in hand */
	size_t nwrites, writes_capacity;
	size_t nopen; /* lines of it that are not decided */
	bool waits;   /* the line in hand reads what was not answered yet */
};

void forward_scan_begin(struct forward_scan *scan, struct state *state,
			const struct closure *closure, nstime begin,
			const struct forward_scan_reader *reader);
void forward_scan_end(struct forward_scan *scan);
/* `until` says from now on when each stream began. */
void forward_scan_begins(struct forward_scan *scan);

/* From now on only events pass that may write one of the attributes, which the closure has. */
void forward_scan_look_for(struct forward_scan *scan, const uint32_t *attrs, size_t count);
/* May a `was` of an item that is still to come begin before t? */
bool forward_scan_may_fill(const struct forward_scan *scan, nstime t);

/*
 * Items of [from, to). What is open is asked of the backward pass, for all of a window at once, and
 * the next window is twice as wide, unless much was read for few items.
 */
MUST_CHECK enum outcome forward_scan_run(struct forward_scan *scan, struct order from,
					 struct order to);
/* Where that begins which a `was` of the item in hand tells of an attribute not written since. */
MUST_CHECK bool forward_scan_fill_begin(struct forward_scan *scan, nstime since, nstime *out);

#endif

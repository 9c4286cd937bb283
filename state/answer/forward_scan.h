/*
 * forward_scan.h - reads events forward from any time, to find what lines write to certain
 * attributes
 *
 * State that such a line reads is found by a backward pass from its event. At first it is open;
 * after backward_run() it is known, and the same events are read again.
 */
#ifndef STATE_ANSWER_FORWARD_SCAN_H
#define STATE_ANSWER_FORWARD_SCAN_H

#include "state/context/context.h"

struct scan_write { /* a write of the present item to an attribute */
	uint32_t attr;
	uint32_t line; /* id of the statement */
	bool was;
	bool gives;  /* its verb gives a value (= += push pop) */
	bool beyond; /* the horizon hides whether, or what, it writes: the value is unknown */
	struct value value; /* its text lives until the next item */
};

struct forward_scan_reader {
	/* Is the attribute wanted, and does the present item's write to it matter? */
	bool (*concerns)(void *arg, uint32_t attr);
	/*
	 * Called for each item in order; its writes apply in order, and may be changed. STEP_END:
	 * enough.
	 */
	enum step (*item)(void *arg, struct scan_write *writes, size_t count);
	/* Called before the first item of a later time. True ends the scan. May be NULL. */
	bool (*over)(void *arg, nstime next);
	/* Only `was` writes need values; of others it matters only that they write. */
	bool no_values;
	void *arg;
};

struct forward_scan {
	struct state *state;
	const struct closure *closure;            /* borrowed, */
	const struct forward_scan_reader *reader; /* as is this */
	nstime begin;                             /* no earlier event is read forward */
	/* Set by the owner: open lines before it are decided first. NSTIME_MIN: no edge. */
	nstime edge;
	struct event_item item; /* the present item */
	nstime *until;          /* set by the owner: end of each stream's last loss */
	uint64_t visits;        /* number of items whose lines were evaluated */
	struct error *err;      /* set by the owner before each run */
	/* private */
	struct backward *pass; /* made when a line first reads state */
	struct event_pass event_source;
	struct env env;
	struct pattern pattern; /* target of the present line */
	struct order read_key;
	nstime time;      /* time of the last item */
	uint32_t *attrs;  /* attributes wanted, ordered by the bits of their shapes */
	uint32_t *groups; /* by bit: index of its first attribute; and the total */
	struct event_filter *event_filter; /* passes events that may write one */
	uint64_t *bits, *classes;          /* their shapes, and classes with a line of one */
	uint64_t *streams;                 /* bit per stream with such events, if */
	bool of_cpus;                      /* each wanted attribute belongs to one CPU */
	struct scan_write *writes;         /* of the present item */
	size_t nwrites, writes_capacity;
	size_t nopen; /* number of its lines that are not decided */
	bool waits;   /* the present line reads a value that is not known yet */
};

void forward_scan_begin(struct forward_scan *scan, struct state *state,
			const struct closure *closure, nstime begin,
			const struct forward_scan_reader *reader);
void forward_scan_end(struct forward_scan *scan);
/* Sets `until` to the time when each stream began. */
void forward_scan_begins(struct forward_scan *scan);

/* From now on reads only events that may write one of these attributes, which the closure has. */
void forward_scan_look_for(struct forward_scan *scan, const uint32_t *attrs, size_t count);
/* May a later `was` fill time before t? */
bool forward_scan_may_fill(const struct forward_scan *scan, nstime t);

/*
 * Reads the items of [from, to), in windows: a backward pass decides all open lines of a window at
 * once. The next window is twice as wide, unless much was decoded for few items.
 */
MUST_CHECK enum outcome forward_scan_run(struct forward_scan *scan, struct order from,
					 struct order to);
/* Where a fill by a `was` of the present item begins, of an attribute unknown since `since`. */
MUST_CHECK bool forward_scan_fill_begin(struct forward_scan *scan, nstime since, nstime *out);

#endif

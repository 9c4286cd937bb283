/*
 * changes.h - calls a function for every change of the state, in order, in one replay from the
 * start
 *
 * For checks of a whole trace: memory holds one state, however long the trace.
 */
#ifndef STATE_CHANGES_H
#define STATE_CHANGES_H

#include "state/model/attr.h"
#include "state/model/moment.h"
#include "state/rules/rules.h"

struct state;
struct change_place { /* place of an event */
	nstime time;
	const struct stream *stream; /* NULL: @start, @end */
	uint64_t packet;             /* file offset of its first byte */
	uint64_t at;                 /* offset of the event in the packet, in bits */
	bool loss;                   /* a loss and not an event: events are missing here */
};

struct told_change {
	uint32_t attr;
	const struct value
		*value; /* holds from `since` on; borrowed; its text lives as long as the state */
	nstime since;   /* a fill begins before the event; NSTIME_MIN: since ever */
	bool fill;      /* a `was` filled it */
	const struct change_place *place;
};

struct changes_sink {
	/* Called for each change. Of several in one nanosecond the last one holds. */
	void (*change)(void *arg, const struct told_change *change);
	/*
	 * Called when a `was` says `says`, but the state has `had`. attr ATTR_ABSENT: two events
	 * say this of the thread on the stream's CPU, and a loss was inferred. May be NULL.
	 */
	void (*contradiction)(void *arg, uint32_t attr, const struct value *had,
			      const struct value *says, const struct change_place *place);
	void *arg;
};

/* The attribute table for told_change.attr; borrowed until state_close(). */
struct attrs *state_attrs(struct state *state);
/* Does the trace have more than one host, so that paths begin with host["NAME"]? */
bool state_has_hosts(const struct state *state);
/*
 * Losses inferred from contradicting events, for events_options; NULL: the rules have no mirror or
 * no event tells of it. Borrowed until state_close().
 */
const struct inferred *state_inferred(const struct state *state);
MUST_CHECK bool state_changes(struct state *state, const struct changes_sink *sink,
			      struct error *err);

#endif

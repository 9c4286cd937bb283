/*
 * changes.h - every change of the state, told once, in order, by one forward run from the start
 *
 * For checks of a whole trace: memory is that of one state, however long the trace.
 */
#ifndef STATE_CHANGES_H
#define STATE_CHANGES_H

#include "state/model/attr.h"
#include "state/model/moment.h"
#include "state/rules/rules.h"

struct state;
struct change_place { /* of the event */
	nstime time;
	const struct stream *stream; /* NULL: @start, @end */
	uint64_t packet;             /* its first byte in its file */
	uint64_t at;                 /* of the event in the packet, in bits */
	bool loss;                   /* not an event: events are missing here */
};

struct told_change {
	uint32_t attr;
	const struct value
		*value; /* from `since` on; borrowed, its text lives as long as the state */
	nstime since;   /* of a fill earlier than the event, NSTIME_MIN: has no beginning */
	bool fill;      /* a `was` said so */
	const struct change_place *place;
};

struct changes_sink {
	/* Each change; of several in one nanosecond the last one counts. */
	void (*change)(void *arg, const struct told_change *change);
	/*
	 * A `was` says `says` where `had` was known; attr ATTR_ABSENT: two events say so of the
	 * thread on the stream's CPU, and a loss was inferred. May be NULL.
	 */
	void (*contradiction)(void *arg, uint32_t attr, const struct value *had,
			      const struct value *says, const struct change_place *place);
	void *arg;
};

/* The attributes that changes name; borrowed until state_close(). */
struct attrs *state_attrs(struct state *state);
/* More than one host: paths begin with host["NAME"]. */
bool state_has_hosts(const struct state *state);
/*
 * Losses that no counter tells, from events that contradict each other, for events_options. NULL:
 * no rule says which. Borrowed until state_close().
 */
const struct inferred *state_inferred(const struct state *state);
MUST_CHECK bool state_changes(struct state *state, const struct changes_sink *sink,
			      struct error *err);

#endif

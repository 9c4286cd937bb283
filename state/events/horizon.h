/*
 * horizon.h - how far around a window is read: a number of packets of each stream on either side
 *
 *     stream 0   ...|---|---|==|==|==|---|---|...      2 packets: from floors[0] on
 *     stream 1   ......|--------|====|-------|...      and up to `ceil`, where the first stream
 *                floor ┘        window       └ ceil    has had its 2
 *
 * It depends on the packets alone, never on what is stored. What an answer would need from beyond
 * is not known: questions of a backward pass stay without an answer (struct fact).
 */
#ifndef STATE_EVENTS_HORIZON_H
#define STATE_EVENTS_HORIZON_H

#include "state/events/event_source.h"

struct horizon {
	nstime *floors; /* by stream; NSTIME_MIN: all that is before may be read */
	nstime floor;   /* of what may concern any stream: the last of the floors */
	nstime ceil;    /* nothing at or behind it is read; NSTIME_MAX: all may be */
};

/*
 * Around [begin, end): `packets` of each stream. Without an index as many nanoseconds are taken
 * (tests). *out is to be released, also when it fails.
 */
MUST_CHECK bool horizon_find(struct event_source *source, nstime begin, nstime end,
			     uint64_t packets, struct horizon *out, struct error *err);
/* How many packets of all streams there are that may have events in [begin, end), and in all. */
MUST_CHECK bool horizon_packets(struct event_source *source, nstime begin, nstime end,
				uint64_t *in, uint64_t *all, struct error *err);
void horizon_release(struct horizon *horizon);
/* Up to where events are read; without a horizon all are. */
static inline struct order horizon_end(const struct horizon *horizon)
{
	return horizon && horizon->ceil < NSTIME_MAX ? order_before(horizon->ceil)
						     : order_after(NSTIME_MAX);
}
/* The floor of what concerns these streams alone (a bit per stream; NULL: any). */
nstime horizon_floor(const struct horizon *horizon, const uint64_t *streams, size_t nstreams);

#endif

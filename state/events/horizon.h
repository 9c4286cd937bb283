/*
 * horizon.h - how far around a window events are read: some packets of each stream on either side
 *
 *     stream 0   ...|---|---|==|==|==|---|---|...      2 packets: from floors[0] on
 *     stream 1   ......|--------|====|-------|...      and up to `ceil`, where the first stream
 *                floor ┘        window       └ ceil    has had its 2
 *
 * It depends on the packets alone, never on stored results. Values that depend on events beyond it
 * stay unknown: the backward pass gives no answer (struct fact).
 */
#ifndef STATE_EVENTS_HORIZON_H
#define STATE_EVENTS_HORIZON_H

#include "state/events/event_source.h"

struct horizon {
	nstime *floors; /* by stream: nothing before is read; NSTIME_MIN: no limit */
	nstime floor;   /* for questions about any stream: the latest floor */
	nstime ceil;    /* nothing at or behind it is read; NSTIME_MAX: no limit */
};

/*
 * The horizon of `packets` packets of each stream around [begin, end); without an index (tests), of
 * as many nanoseconds. Release *out also after false.
 */
MUST_CHECK bool horizon_find(struct event_source *source, nstime begin, nstime end,
			     uint64_t packets, struct horizon *out, struct error *err);
/* Counts the packets that may have events in [begin, end), and all packets. */
MUST_CHECK bool horizon_packets(struct event_source *source, nstime begin, nstime end,
				uint64_t *in, uint64_t *all, struct error *err);
void horizon_release(struct horizon *horizon);
/* The end of reading; `horizon` NULL: no limit. */
static inline struct order horizon_end(const struct horizon *horizon)
{
	return horizon && horizon->ceil < NSTIME_MAX ? order_before(horizon->ceil)
						     : order_after(NSTIME_MAX);
}
/* The floor for questions about these streams only (a bit per stream; NULL: any). */
nstime horizon_floor(const struct horizon *horizon, const uint64_t *streams, size_t nstreams);

#endif

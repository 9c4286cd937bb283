/*
 * known_ranges.h - a set of ranges of time: of which times was something found out already?
 *
 * Ranges are [begin, end), in ns. Those that overlap or touch are one.
 */
#ifndef STATE_REPLAY_KNOWN_RANGES_H
#define STATE_REPLAY_KNOWN_RANGES_H

#include "engine/timebase.h"

struct known_range {
	nstime begin, end;
};

struct known_ranges { /* zeroed: empty */
	struct known_range *items; /* in no order */
	size_t count, capacity;
};

void known_ranges_release(struct known_ranges *ranges);
/* begin < end. */
void known_ranges_add(struct known_ranges *ranges, nstime begin, nstime end);
/*
 * Is t in a range? The time from which on the answer may be another, later than t; NSTIME_MAX: it
 * holds for all times behind t.
 */
nstime known_ranges_until(const struct known_ranges *ranges, nstime t, bool *known);

#endif

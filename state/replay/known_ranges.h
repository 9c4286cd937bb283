/*
 * known_ranges.h - a set of time ranges that were searched already
 *
 * Ranges are [begin, end), in ns. Ranges that overlap or touch are joined.
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
 * Sets *known: is t in a range? Returns the first time after t at which the answer may differ;
 * NSTIME_MAX: there is none.
 */
nstime known_ranges_until(const struct known_ranges *ranges, nstime t, bool *known);

#endif

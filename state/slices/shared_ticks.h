/* shared_ticks.h - attributes that change only when another one does: for slice_put.c */
#ifndef STATE_SLICES_SHARED_TICKS_H
#define STATE_SLICES_SHARED_TICKS_H

#include "state/slices/slice.h"

struct shared_ticks {
	uint64_t *keys; /* of all changes: a follower's say which change of its leader */
	struct slice_column followers; /* extra: place of the leader's first change */
};

/* `keys` rise: attribute << tick_bits | tick, of ticks below `nticks`. */
void shared_ticks_find(const uint64_t *keys, size_t count, unsigned tick_bits, uint32_t nticks,
		       struct shared_ticks *out);
void shared_ticks_release(struct shared_ticks *shared_ticks);

#endif

/* followers.h - attributes that change only when another one does: for slice_put.c */
#ifndef STATE_SLICES_FOLLOWERS_H
#define STATE_SLICES_FOLLOWERS_H

#include <stddef.h>
#include <stdint.h>

struct followers {
	uint64_t *keys;   /* of all changes: a follower's say which change of its leader */
	uint64_t *attrs;  /* of the followers, rising */
	uint64_t *starts; /* place of the leader's first change */
	size_t count;
};

/* `keys` rise: attribute << tick_bits | tick, of ticks below `nticks`. */
void followers_find(const uint64_t *keys, size_t count, unsigned tick_bits, uint32_t nticks,
		    struct followers *out);
void followers_release(struct followers *followers);

#endif

/* summary.h - what a slice says of its busy attributes in a few bytes: for drawing a whole trace */
#ifndef STATE_SLICES_SUMMARY_H
#define STATE_SLICES_SUMMARY_H

#include "index/store.h"
#include "state/slices/slice.h"

enum { SUMMARY_LEAST = 64, SUMMARY_VALUES = 8 };

/* Of each attribute with SUMMARY_LEAST changes or more; nothing when there is none. */
void summary_put(const struct slice_parts *parts, struct buf *out);

struct summary_value {
	struct slice_value value;
	uint64_t count; /* changes to it */
	uint64_t time;  /* ns from them to the next, or the end of the slice */
};

struct summary {
	uint32_t attr;
	struct summary_value values[SUMMARY_VALUES]; /* the first that occurred */
	uint32_t nvalues;
	uint64_t other_count, other_time; /* of all others */
};

/* One after the other; start with at 0. False: the end, or damage. */
bool summary_next(struct bytes bytes, size_t *at, struct summary *out);

#endif

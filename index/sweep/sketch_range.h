/* sketch_range.h - sketches of all packets of a range */
#ifndef INDEX_SWEEP_SKETCH_RANGE_H
#define INDEX_SWEEP_SKETCH_RANGE_H

#include "index/filters/sketch.h"

/*
 * Decodes all packets of the range (events.h: begin, end, streams) that have no sketch, on all
 * threads, and makes theirs. Damaged packets, and the open end of a file, get none. `progress` as
 * in sweep.h; may be NULL.
 */
bool sketches_make(struct sketches *sketches, const struct events_options *range,
		   bool (*progress)(void *arg, uint64_t done, uint64_t all), void *arg,
		   struct error *err);

#endif

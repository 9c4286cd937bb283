/* filter_range.h - packet filters of all packets of a range */
#ifndef INDEX_SWEEP_FILTER_RANGE_H
#define INDEX_SWEEP_FILTER_RANGE_H

#include "index/filters/packet_filter.h"

/*
 * Decodes all packets of the range (events.h: begin, end, streams) that have no packet filter, on
 * all threads, and makes theirs. Damaged packets, and the open end of a file, get none. `progress`
 * as in sweep.h; may be NULL.
 */
MUST_CHECK bool packet_filters_make(struct packet_filters *packet_filters,
				    const struct events_options *range,
				    bool (*progress)(void *arg, uint64_t done, uint64_t all),
				    void *arg, struct error *err);

#endif

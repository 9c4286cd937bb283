/*
 * batch.h - event heads in arrays: when, what, where; fields are decoded only for who asks
 *
 * A head's position is bits from the start of the packet's bytes. `at` is where the event begins
 * (its header), `at + head` where its contexts and payload begin. Positions rise inside a batch.
 */
#ifndef ENGINE_BATCH_H
#define ENGINE_BATCH_H

#include "engine/timebase.h"

#include <stdint.h>

enum { BATCH_MIN = 32, BATCH_MAX = 1024 };

enum head_flag { HEAD_NO_TIME = 1 << 0 /* the event itself has no time; it inherits */ };

struct batch {
	uint32_t count, capacity; /* capacity: how many the next fill may hold, <= BATCH_MAX */
	uint32_t first;		  /* index in its packet of event 0 of the batch */
	nstime time[BATCH_MAX];
	uint64_t at[BATCH_MAX];
	uint32_t class_index[BATCH_MAX]; /* into trace->classes */
	uint16_t head[BATCH_MAX];	 /* bits of the header */
	uint16_t flags[BATCH_MAX];
};

#endif

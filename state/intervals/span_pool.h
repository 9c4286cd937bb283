/*
 * span_pool.h - room for the spans of many tracks
 *
 * Most tracks have a span or two, and there may be millions of them: room for 1, 2, 4, ... spans is
 * cut from large blocks, and what is given back waits in a list for its size. The blocks go back
 * to the system when the last room was given back.
 */
#ifndef STATE_INTERVALS_SPAN_POOL_H
#define STATE_INTERVALS_SPAN_POOL_H

#include "state/intervals/spool.h"

struct span_pool;

struct span_pool *span_pool_new(void);
void span_pool_free(struct span_pool *pool); /* NULL is fine; all that was taken is dead */
/*
 * Room for 2^*room spans, in place of that of `old` (NULL: none), whose first `count` spans are
 * copied.
 */
struct span *span_pool_resize(struct span_pool *pool, struct span *old, uint8_t old_room,
			      size_t count, uint8_t room);
void span_pool_give(struct span_pool *pool, struct span *spans, uint8_t room); /* NULL is fine */

#endif

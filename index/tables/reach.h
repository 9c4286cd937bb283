/*
 * reach.h - how far back a search must look, and which records reach further
 *
 * A record is wide when max[i] > min[i + d]: it reaches past the begin of the d-th after it. The
 * list is whole for the current d, and what is wide for 2d is wide for d: doubling d is filtering
 * the list. SUSPECT records are on it whatever their times; EMPTY ones never.
 */
#ifndef INDEX_TABLES_REACH_H
#define INDEX_TABLES_REACH_H

#include "engine/base/error.h"
#include "engine/packet.h"

#include <stddef.h>

enum { REACH_FIRST = 2, REACH_LAST = 256, REACH_WIDE = 64, REACH_SUSPECT = 1024 };

struct reach {
	uint32_t d;
	bool damaged;   /* ends say nothing in this stream: it is read whole */
	uint64_t *wide; /* rising */
	size_t nwide, capacity;
};

/* Gives record i of the table that is being looked at. */
struct reach_from {
	bool (*at)(void *arg, uint64_t i, struct packet *out, struct error *err);
	void *arg;
	uint64_t count;
};

void reach_release(struct reach *reach);
void reach_copy(struct reach *out, const struct reach *from); /* *out was released, or is new */
/* Records from `from` on are new or have moved; those before it are as they were. */
MUST_CHECK bool reach_update(struct reach *reach, uint64_t from, const struct reach_from *table,
			     struct error *err);
void reach_add(struct reach *reach, uint64_t i); /* keeps the order; none twice */

#endif
